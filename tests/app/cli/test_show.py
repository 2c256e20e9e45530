"""With one damaged cell in the store every command, the library and the pages go on, and say which row is damaged."""

import json
import shutil

import pytest
from process_samples import NOBODY, order, small_corpus
from store_samples import damage_rows

from topiary.app.cli import main
from topiary.app.jobs import launcher
from topiary.app.live.feed import Feed
from topiary.store import events, runs
from topiary.store.database import open_database
from topiary.store.points import Point
from topiary.stores import Store

DAMAGED, SOUND = 1, 2
DAMAGES = {  # of the row with number 1, by table
    "runs": "options = replace(options, 'minibatches', 'minjbatches')",
    "corpora": "meta = '{broken'",
    "events": "change = '{broken'",
    "points": "value = 'much'",
}


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


@pytest.mark.parametrize(
    "table", ["runs", "corpora", *(pytest.param(each, marks=pytest.mark.nightly) for each in ("events", "points"))]
)
def test_commands_go_on_without_a_damaged_row_and_say_that_it_is_left_out(capsys, path, table):
    damage_rows(path, table, f"UPDATE {table} SET {DAMAGES[table]} WHERE number = 1")

    def call(*words):
        status = main.main([*words, "--store", str(path)])
        said = capsys.readouterr()
        assert "Traceback" not in said.out + said.err
        return status, said.out, said.err

    for words in (["runs"], ["show", "2"], ["corpora"], ["corpora", "other"], ["queue"], ["points", "1"]):
        assert call(*words)[0] == 0 or table == "runs", words
    listed = [row["run"] for row in json.loads(call("runs", "--json")[1])]
    known = [row["corpus"] for row in json.loads(call("corpora", "--json")[1])]
    assert listed == [SOUND] if table == "runs" else [DAMAGED, SOUND]
    assert known == [2] if table == "corpora" else [1, 2]
    left_out = {"runs": "1 run left out", "corpora": "1 corpus left out"}.get(table, "")
    assert left_out in call("runs")[2]
    assert left_out in call("corpora")[2]
    status, out, _ = call("check")
    assert (status, f"the row of {table} with number 1 is not what was written" in out) == (1, True)
    assert call("check", "--json")[0] == 1
    if table == "runs":
        assert call("show", "1")[2].startswith("topiary show: run 1 is damaged: its row is not what was written")
    if table == "corpora":
        assert call("train", "small", "--minibatches", "5")[0] == 2
    assert call("train", "other", "--minibatches", "5")[0] == 0


def test_the_library_and_the_pages_go_on_without_a_damaged_run(path):
    damage_rows(path, "runs", f"UPDATE runs SET {DAMAGES['runs']} WHERE number = 1")
    with Store(path) as store:
        assert list(store.runs.table["state"]) == ["queued"]
    db = open_database(path, readonly=True)
    feed = Feed(db)
    feed.look_now()
    assert (feed.trouble, [row.number for row in feed.runs()]) == ("", [SOUND])
    assert feed.left_out.startswith("1 run left out because the rows are damaged")
    feed.stop()
    db.close()
