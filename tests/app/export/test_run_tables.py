"""The tables of a run: topics and contexts, with the numbers of the pages."""

import garden
import pytest

from app.cli.main import main
from app.export.run_tables import build_table, read_request
from app.export.tables import TableFileError
from app.export.topics import list_topics
from store import runs
from store.database import open_database


@pytest.fixture
def db(tmp_path):
    """Open a store with a finished run."""
    opened = open_database(str(tmp_path / "store.db"))
    row = garden.begin(opened, garden.corpus(opened).number)
    garden.advance(opened, row, 400, snapshot=True)
    runs.finish_run(opened, row.number, row.attempt, "finished")
    yield opened
    opened.close()


def read_table(db, kind, **options):
    return build_table(kind, read_request(db, runs.get_run(db, 1), **options)).join()


def test_topics_have_the_shares_and_words_of_the_pages(db):
    table = read_table(db, "topics")
    facts = list_topics(read_request(db, runs.get_run(db, 1)).hierarchy)
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


def test_the_command_writes_what_the_library_returns_and_refuses_in_a_sentence(db, tmp_path, capsys):
    path = tmp_path / "topics.csv"
    assert main(["export", "1", "topics", "--output", str(path), "--store", db.url]) == 0
    assert path.read_text().count("\n") == 1 + len(read_table(db, "topics"))
    assert main(["export", "1", "contexts", "--output", str(path), "--store", db.url]) == 2
    assert "needs a search: --query WORDS" in capsys.readouterr().err
    with pytest.raises(TableFileError, match="there is no table 'x'; choose one of topics, contexts"):
        read_table(db, "x")
