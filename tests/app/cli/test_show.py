"""With one damaged cell in the store every command, the library and the pages go on, and say which row is damaged."""

import json
import shutil
import sqlite3

import pytest
from process_samples import NOBODY, order, small_corpus

from topiary.app.cli import main
from topiary.app.jobs import launcher
from topiary.app.live.feed import Feed
from topiary.app.pages.new_corpus import _list_facts
from topiary.app.views.runs.corpus_form import draw_corpora
from topiary.app.views.runs.kpis import draw_details
from topiary.app.views.runs.notices import draw_failure
from topiary.app.views.runs.run_list import draw_runs
from topiary.store import corpora, events, runs
from topiary.store.database import open_database
from topiary.store.points import Point
from topiary.stores import Store

DAMAGED, SOUND = 1, 2
CELLS = [
    *(("runs", name, "'{broken'") for name in ("settings", "options", "process", "layers")),
    ("runs", "options", '\'{"minibatches": "many"}\''),
    ("runs", "message", "CAST(x'ff' AS TEXT)"),
    ("corpora", "meta", "'{broken'"),
    ("events", "change", "'{broken'"),
    ("points", "value", "'much'"),
]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A store with a run that failed and one that waits, on a corpus each."""
    db = open_database(tmp_path_factory.mktemp("made") / "store.db")
    for name in ("small", "other"):
        small_corpus(db, documents=20, name=name, labelled=True)
    row = runs.claim_run(db, order(db).number, {"pid": 1, "created": 1.0, "host": "elsewhere"})
    runs.record_progress(
        db, DAMAGED, 1, minibatch=4, seconds=1.0, points=[Point(4, 80, 1.0, "point_perplexity", 0, 30.0)]
    )
    events.append_event(db, DAMAGED, 1, 4, "pruned", "a topic", events.StructureChange(1, (1,), 3, 2))
    runs.finish_run(db, DAMAGED, row.attempt, "failed", "ValueError: no")
    order(db, corpus="other")
    db.close()
    return db.path


@pytest.fixture
def path(made, tmp_path, monkeypatch):
    """A copy of it, in which no worker is started."""
    monkeypatch.setattr(launcher, "start_worker", lambda url, run: NOBODY)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return shutil.copy(made, tmp_path / "store.db")


def plant(path, table, column, expression):
    with sqlite3.connect(path) as connection:
        connection.execute(f"UPDATE {table} SET {column} = {expression} WHERE number = 1")
    connection.close()


@pytest.mark.parametrize(("table", "column", "expression"), CELLS)
def test_commands_go_on_and_say_what_is_damaged(capsys, path, table, column, expression):
    plant(path, table, column, expression)

    def call(*words):
        status = main.main([*words, "--store", str(path)])
        said = capsys.readouterr()
        assert "Traceback" not in said.out + said.err
        return status, said.out, said.err

    for words in (["runs"], ["show", "1"], ["show", "2"], ["corpora"], ["corpora", "small"], ["corpora", "other"],
                  ["queue"], ["log", "1"], ["points", "1"], ["prune", "--dry-run"]):  # fmt: skip
        assert call(*words)[0] == 0, words
    listed = {row["run"]: row for row in json.loads(call("runs", "--json")[1])}
    known = {row["corpus"]: row for row in json.loads(call("corpora", "--json")[1])}
    assert (bool(listed[DAMAGED]["damage"]), listed[SOUND]["damage"]) == (table == "runs", "")
    assert (bool(known[1]["damage"]), known[2]["damage"]) == (table == "corpora", "")
    status, out, _ = call("check")
    assert (status, column in out) == (1, True)
    assert call("check", "--json")[0] == 1
    if table == "runs":
        assert listed[DAMAGED]["state"] == "damaged"
        assert "damaged" in call("runs")[1]
        assert f"run 1 is damaged: {column} (" in call("runs")[2]
        assert f"{column} (" in call("show", "1")[1]
    if table == "corpora":
        assert "damaged" in call("corpora")[1]
        status, _, err = call("train", "small", "--minibatches", "5")
        assert (status, err.startswith("topiary train: corpus 1 (small) is damaged: ")) == (2, True)
    needed = table == "runs" and column in ("settings", "options")
    status, _, err = call("resume", "1")
    assert (status, "run 1 is damaged" in err) == ((2, True) if needed else (0, False))
    assert call("train", "other", "--minibatches", "5")[0] == 0
    assert call("delete", "1")[0] == 0
    assert [row["run"] for row in json.loads(call("runs", "--json")[1])] == [SOUND, 3]


@pytest.mark.parametrize(("table", "column", "expression"), CELLS)
def test_the_library_and_the_pages_go_on_and_say_what_is_damaged(path, table, column, expression):
    plant(path, table, column, expression)
    with Store(path) as store:
        assert list(store.runs.table["state"]) == ["damaged" if table == "runs" else "failed", "queued"]
        assert len(store.corpora.table) == 2
        assert repr(store)
        for run in store.runs.values():
            assert run.info["run"] == run.number
            assert (repr(run), len(run.events), len(run.points)) is not None
        assert [repr(corpus) for corpus in store.corpora.values()] != []
    db = open_database(path, readonly=True)
    feed = Feed(db)
    feed.look_now()
    assert feed.trouble == ""
    page = draw_runs(feed.runs(), feed.state, feed.spark, SOUND, latest=feed.get_latest_values)
    assert ("tp-damaged" in page) is (table == "runs")
    row = feed.run(DAMAGED)
    card = draw_failure(row, feed.state(DAMAGED), [])
    assert ("Run 1 is damaged" in card) is (table == "runs")
    assert draw_details(row, [])
    assert feed.history(DAMAGED) is not None
    notes = draw_corpora([_list_facts(each) for each in corpora.list_corpora(db)])
    assert ("damaged: " in notes) is (table == "corpora")
    feed.stop()
    db.close()
