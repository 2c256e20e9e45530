"""The tables of a run: topics and contexts, with the numbers of the pages."""

import garden
import numpy as np
import pytest
from databases import open_filled
from trend_samples import DOCUMENTS, plant_trends

from topiary.app.analysis.errors import ReadError
from topiary.app.cli.main import main
from topiary.app.export.run_tables import build_table, read_request
from topiary.app.export.topics import list_topics
from topiary.engine.lens import periods
from topiary.store import runs
from topiary.store.errors import NotFound


@pytest.fixture
def db(tmp_path):
    """Open a store with a finished run."""
    opened = open_filled(tmp_path / "store.db")
    row = garden.begin(opened, garden.corpus(opened).number)
    garden.advance(opened, row, 400, snapshot=True)
    runs.finish_run(opened, row.number, row.attempt, "finished")
    yield opened
    opened.close()


def read_table(db, kind, **options):
    return build_table(kind, read_request(db, runs.get_run(db, 1), kind, **options)).join()


def test_topics_have_the_shares_and_words_of_the_pages(db):
    table = read_table(db, "topics")
    facts = list_topics(read_request(db, runs.get_run(db, 1), "topics").hierarchy)
    assert table["share"].tolist() == [each["share"] for each in facts]
    assert table["words"].tolist() == [" ".join(each["words"]) for each in facts]
    top = table[table["layer"] == 3]
    assert top["parents"].tolist() == [""] * 2
    assert top["children"].str.startswith("L2:").all()
    assert set(read_table(db, "topics", layer=2)["layer"]) == {2}


def test_contexts_have_every_match_with_the_text_around_it(db):
    table = read_table(db, "contexts", query='"hedge prune"')
    assert len(table) > 0
    assert set(table["match"]) == {"hedge prune"}
    line = table.iloc[0]
    text = f"{line['before']}{line['match']}{line['after']}"
    assert garden.NASTY in text
    assert len(read_table(db, "contexts", query="nowhere")) == 0


@pytest.fixture
def dated(tmp_path):
    """Open a store whose documents have dates, sources and shares."""
    opened = open_filled(tmp_path / "dated.db", plant_trends)
    yield opened
    opened.close()


def test_documents_have_shares_that_sum_to_one_in_every_layer(dated):
    for layer, width in ((1, 8), (3, 2)):
        table = read_table(dated, "documents", layer=layer)
        shares = table[[name for name in table.columns if name.startswith(f"L{layer}:")]]
        assert shares.shape == (DOCUMENTS, width)
        assert (shares.sum(axis=1) + table["rest"]).to_numpy() == pytest.approx(np.ones(DOCUMENTS), abs=1e-3)
    chosen = read_table(dated, "documents", where=["source=herald", "day=2004-01"])
    assert chosen["document"].tolist() == list(range(0, 31, 2))


def test_time_and_groups_have_the_numbers_of_the_page(dated):
    by_group = read_table(dated, "groups", column="source").set_index(["group", "topic"])
    herald, tribune = by_group.loc[("herald", "L3:1")], by_group.loc[("tribune", "L3:1")]
    assert herald["share"] - tribune["share"] == pytest.approx(0.1, abs=0.01)
    assert herald["difference"] == pytest.approx(herald["share"] - tribune["share"])
    assert bool(herald["beyond_chance"])
    over_time = read_table(dated, "time", unit="quarter")
    first = over_time[over_time["topic"] == "L3:1"]
    assert first["period"].tolist() == ["2004-01-01", "2004-04-01", "2004-07-01", "2004-10-01", "2005-01-01"]
    assert first["share"].is_monotonic_increasing
    assert (first["low"] < first["share"]).all()


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        ("time", {"column": "source"}, "is of kind category; this needs date"),
        ("groups", {"where": ["source=ITV"]}, "has no category 'ITV'"),
        ("contexts", {}, "needs a search"),
        ("time", {"unit": "day", "where": ["day=2004..1999"]}, "ends before it begins"),
        ("topics", {"where": ["day=1999"]}, "no document meets all conditions"),
        ("documents", {"where": ["L3:9=10%.."]}, "there is no topic L3:9; topiary topics lists"),
        ("documents", {"where": ["L9:1=10%.."]}, "there is no topic L9:1"),
    ],
)
def test_what_a_table_lacks_is_one_sentence(dated, kind, options, message):
    with pytest.raises(ReadError, match=message):
        read_table(dated, kind, **options)


def test_too_many_periods_are_one_sentence(dated, monkeypatch):
    monkeypatch.setattr(periods, "MOST", 10)
    with pytest.raises(ReadError, match="above 10; take a longer unit"):
        read_table(dated, "time", unit="day")


def test_topics_of_some_documents_have_their_shares_there(dated):
    everywhere, herald = (
        read_table(dated, "topics", layer=3),
        read_table(dated, "topics", layer=3, where=["source=herald"]),
    )
    assert herald["share"].sum() == pytest.approx(1.0)
    by_group = read_table(dated, "groups", column="source").query("group == 'herald'").set_index("topic")["share"]
    assert herald["share"].tolist() == pytest.approx(by_group[herald["topic"]].tolist())
    assert herald["share"].tolist() != pytest.approx(everywhere["share"].tolist())


def test_without_stored_shares_the_command_that_computes_them_is_named(db):
    with pytest.raises(NotFound, match="topiary place 1 computes"):
        read_table(db, "documents")


def test_tables_of_a_run_that_trains_have_the_newest_topics_with_shares_and_say_so(tmp_path, capsys):
    training = open_filled(tmp_path / "training.db", plant_trends, trains=True)
    path, shares = tmp_path / "table.csv", []
    for kind in ("documents", "time", "groups"):
        request = read_request(training, runs.get_run(training, 1), kind)
        assert request.hierarchy.minibatch == 400
        assert "topics and shares of mini-batch 400, the last one whose documents have all been placed" in request.note
        shares.append(read_table(training, kind, layer=3, where=["L3:1=50%.."]))
        assert main(["export", "1", kind, "--output", str(path), "--store", training.url]) == 0
        assert "the newest topics are of mini-batch 500." in capsys.readouterr().err
        with pytest.raises(NotFound, match="computed while the run trains"):
            read_table(training, kind, minibatch=500)
    assert 0 < len(shares[0]) < DOCUMENTS
    assert (shares[0].filter(regex="^L3:1 ") >= 0.5).all(axis=None)
    newest = read_request(training, runs.get_run(training, 1), "topics")
    assert (newest.hierarchy.minibatch, newest.note) == (500, "")
    training.close()


def test_the_command_writes_what_the_library_returns_and_refuses_in_a_sentence(db, tmp_path, capsys):
    path = tmp_path / "topics.csv"
    assert main(["export", "1", "topics", "--output", str(path), "--store", db.url]) == 0
    assert path.read_text().count("\n") == 1 + len(read_table(db, "topics"))
    assert main(["export", "1", "contexts", "--output", str(path), "--store", db.url]) == 2
    assert "needs a search: --query WORDS" in capsys.readouterr().err
    with pytest.raises(ReadError, match="there is no table 'x'; choose one of topics, documents, theta, time"):
        read_table(db, "x")
