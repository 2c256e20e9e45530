"""What a visitor may do to the store: a viewer nothing at all; and what is written down of it."""

import inspect
import time
from dataclasses import replace

import garden
import pytest
from databases import open_filled
from process_samples import NOBODY, order, small_corpus

from topiary.app.analysis.name_server import NameRequest
from topiary.app.ingest.options import ImportOptions
from topiary.app.jobs import control, launcher, logs, process, progress
from topiary.app.jobs.edit_orders import EditOrder
from topiary.app.jobs.run_rules import RunRequest
from topiary.app.live import actions as action_module
from topiary.app.live.actions import Actions, Indexing, NotAllowed, Visitor
from topiary.app.live.feed import Feed
from topiary.engine.hierarchy.tree import Node
from topiary.store import events, full_text, runs
from topiary.store.errors import NotFound
from topiary.store.notes import TAG, MatchDecision, NewNote

VIEWER = Visitor("viewer", "192.0.2.7")
ASKED = {
    "create": (None,),
    "add_corpus": ("token", ImportOptions()),
    "demo": (),
    "delete_corpus": (1,),
    "stop": (1,),
    "pause": (1,),
    "resume": (1,),
    "move": (1,),
    "retry": (1,),
    "train_seeds": (1, 4),
    "train_more": (1,),
    "steer": (1, [EditOrder("ban", words=("x",))]),
    "undo_edit": (1, 1),
    "ask_names": (1, Node(1, 0), NameRequest("http://localhost:1/v1/chat/completions", "{}")),
    "log": (1,),
    "delete": (1,),
    "rename_run": (1, "x"),
    "rename_topic": (1, 1, 1, "x"),
    "match_topics": (1, 2, MatchDecision(1, 1, 1)),
    "unmatch_topics": (1, 2, MatchDecision(1, 1, 1)),
    "add_topic_notes": (1, 1, 1, [NewNote("x")]),
    "add_document_notes": (1, 1, [NewNote("x")]),
    "change_note": (1, "x", ""),
    "delete_note": (1,),
    "carry_annotations": (None,),
    "make_map_again": (None, 1, 1),
    "refine": (1, None, "x", ("a=b",)),
    "change_kind": (1, "day", "text"),
}
OF_THE_SERVER = {
    "on_behalf_of",
    "note_damage",
    "keep_predictions",
    "place_documents",
    "make_map",
    "do_upkeep",
    "fill",
    "close",
}


@pytest.fixture
def actions(tmp_path, monkeypatch):
    monkeypatch.setattr(logs, "log_folder", lambda: tmp_path / "logs")
    db = open_filled(tmp_path / "store.db", garden.plant)
    feed = Feed(db)
    made = Actions(db.url, feed)
    yield made
    made.close()
    feed.stop()
    db.close()


def seen(actions):
    """All that the store says of its runs, but the age of their heartbeats."""
    return [replace(row, heartbeat_age=None) for row in runs.list_runs(actions.feed.db)]


def test_every_action_of_a_visitor_is_tried_here():
    verbs = {name for name, _ in inspect.getmembers(Actions, inspect.isfunction) if not name.startswith("_")}
    assert verbs - OF_THE_SERVER == set(ASKED)


@pytest.mark.parametrize("verb", ASKED)
def test_a_viewer_is_refused(actions, verb):
    before = seen(actions)
    asked = [type("Request", (), {"__getattr__": lambda *_: None})()] if verb == "create" else ASKED[verb]
    with pytest.raises(NotAllowed, match="look and change nothing"):
        getattr(actions.on_behalf_of(VIEWER), verb)(*asked)
    assert seen(actions) == before


def test_what_an_analyst_does_is_in_the_audit_log_line_by_line(actions, tmp_path, monkeypatch):
    monkeypatch.setattr(control, "find_state", lambda row: "paused")
    for name in ("send_request", "requeue_run"):
        monkeypatch.setattr(runs, name, lambda *_, **__: None)
    analyst = actions.on_behalf_of(Visitor("analyst", "192.0.2.8", "0123456789abcdef"))
    for verb in ("stop", "pause", "resume"):
        getattr(analyst, verb)(1)
    analyst.rename_run(1, "second spring")
    analyst.rename_topic(1, 2, 3, "tools | forged")
    analyst.add_topic_notes(1, 2, 3, [NewNote("a | b"), NewNote("sure", TAG)])
    analyst.add_document_notes(1, 7, [NewNote("read it")])
    analyst.change_note(1, "changed", "")
    for number in (2, 3):
        analyst.delete_note(number)
    analyst.delete(1)
    lines = (tmp_path / "logs" / logs.AUDIT_NAME).read_text(encoding="utf-8").splitlines()
    assert [line.split(" | ", 3)[3] for line in lines] == [
        "stopped run 1",
        "paused run 1",
        "resumed run 1",
        "renamed run 1 to second spring",
        "named topic L2:3 of run 1 tools | forged",
        "added a note to topic L2:3 of run 1",
        "added a tag to topic L2:3 of run 1",
        "added a note to document 7 of corpus 1",
        "changed the note 1 on topic L2:3 of run 1",
        "deleted the tag 2 on topic L2:3 of run 1",
        "deleted the note 3 on document 7 of corpus 1",
        "deleted run 1 (second spring)",
    ]
    assert {line.split(" | ")[2] for line in lines} == {"analyst in the browser at 192.0.2.8 (login 012345)"}


def test_edits_of_a_visitor_are_in_the_journal_with_their_author(actions, tmp_path, monkeypatch):
    monkeypatch.setattr(launcher, "start_worker", lambda url, run: NOBODY)
    made = actions.steer(1, [EditOrder("ban", words=("rose", "hedge"))], "Ada")
    assert (made.parent, made.planned) == (1, 50)
    entries = actions.feed.reader.edits(runs.get_run(actions.feed.db, made.number))
    assert [(each.number, each.author, each.what) for each in entries] == [(1, "Ada", "ban rose, hedge")]
    assert actions.undo_edit(made.number, 1).number == made.number
    lines = (tmp_path / "logs" / logs.AUDIT_NAME).read_text(encoding="utf-8").splitlines()
    assert [line.split(" | ", 3)[3] for line in lines] == [
        "added edit 1 (ban) to run 1",
        "started run 2 (first spring, continued) to make 1 edit of run 1",
        "withdrew edit 1 of run 2",
    ]


def test_the_role_is_asked_for_at_every_action(actions):
    roles = ["analyst"]
    visitor = actions.on_behalf_of(Visitor("analyst", "192.0.2.8", "0123", lambda: roles[-1]))
    visitor.rename_run(1, "while an analyst")
    roles.append("viewer")
    with pytest.raises(NotAllowed, match="look and change nothing"):
        visitor.rename_run(1, "as a viewer")
    roles.append(None)
    with pytest.raises(NotAllowed, match="Your login has ended, so nothing was changed; log in again"):
        visitor.rename_run(1, "after the login")
    assert runs.get_run(actions.feed.db, 1).name == "while an analyst"


@pytest.fixture
def acting(db, feed, monkeypatch, tmp_path):
    """Actions on a store with a small corpus, where no worker starts and logs go to the test's own folder."""
    monkeypatch.setattr(logs, "log_folder", lambda: tmp_path / "logs")
    monkeypatch.setattr(launcher, "start_worker", lambda url, run: NOBODY)
    small_corpus(db)
    made = Actions(db.url, feed)
    yield made
    made.close()


def test_a_queued_run_is_moved_to_the_front(db, acting):
    first, second, third = (order(db).number for _ in range(3))
    acting.move(third)
    assert [row.number for row in runs.list_waiting(db)] == [third, first, second]


def test_one_thread_at_a_time_starts_runs_and_the_others_do_not_wait_for_it(db, acting, monkeypatch):
    filled = []
    monkeypatch.setattr(launcher, "start_queued_runs", filled.append)
    with acting._shared.filling:  # as while the store is locked
        acting.fill()
    assert filled == []
    acting.fill()
    acting.fill()  # it is too soon
    assert len(filled) == 1


def test_a_failed_run_is_ordered_again_with_half_of_its_mini_batches(db, acting):
    row = runs.claim_run(db, order(db).number, process.identify_process())
    runs.finish_run(db, row.number, row.attempt, "failed", "out of memory: use fewer topics")
    new = acting.retry(row.number)
    assert (new.state, new.settings["batch_size"]) == ("queued", row.settings["batch_size"] // 2)


def test_the_log_of_a_run_is_shown_with_its_path(db, acting):
    path = logs.find_log(db.url, 1)
    assert acting.log(1) == (str(path), [])
    path.parent.mkdir(parents=True)
    path.write_text("one\ntwo\nthree\n")
    assert acting.log(1, 2) == (str(path), ["two", "three"])


def test_no_store_is_made_in_place_of_one_that_was_deleted(db, tmp_path):
    feed = Feed(db)
    actions = Actions(db.url, feed)
    db.close()
    (tmp_path / "store.db").unlink()
    with pytest.raises(NotFound, match="there is no store at"):
        actions.stop(1)
    assert not (tmp_path / "store.db").exists()
    feed.stop()


def test_damage_is_written_down_by_the_server_whoever_found_it(db, acting):
    run = order(db).number
    acting.on_behalf_of(VIEWER)
    acting.feed.on_damage(run, 0, "a snapshot is damaged")
    told = [each.text for each in events.read_new_events(db, run)[0]]
    assert told == ["a snapshot is damaged"]


@pytest.mark.parametrize(("seeds", "groups"), [((), [None]), ((2, 5), [2, 2])])
def test_the_seeds_of_the_form_are_a_group_as_the_command_line_makes_it(actions, monkeypatch, seeds, groups):
    monkeypatch.setattr(launcher, "start_queued_runs", lambda _: [])
    asked = RunRequest(corpus=1, model="dlda", texts={"layers": "4-2"}, minibatches=3, seed=2, seeds=seeds, name="mine")
    made = actions.create(asked)
    assert [row.seed for row in made] == list(seeds or (2,))
    assert [row.name for row in made] == ([f"mine, seed {seed}" for seed in seeds] or ["mine"])
    assert [runs.get_run(actions.feed.db, row.number).run_group for row in made] == groups


@pytest.fixture
def planted(tmp_path):
    db = open_filled(tmp_path / "store.db", garden.plant)
    yield db
    db.close()


def test_missing_indexes_are_made_and_the_notice_goes_when_they_are(planted, monkeypatch):
    said, looked = [], []
    monkeypatch.setattr(progress, "post_import", said.append)
    monkeypatch.setattr(action_module, "IMPORT_PAUSE", 1e9)
    made = Indexing(planted.url, lambda: looked.append(1))
    assert full_text.list_unindexed(planted) == [1]
    made.work()  # the corpus has just been imported, and its importer makes the index
    assert said == []
    monkeypatch.setattr(action_module, "IMPORT_PAUSE", 0.0)
    made.work()
    assert full_text.list_unindexed(planted) == []
    assert said[0].notice.sentence.startswith("preparing the search, ")
    assert said[0].notice.share == 1.0
    assert said[-1].notice.sentence == ""
    assert looked == [1]


def test_it_looks_now_and_then_and_never_twice_at_once(planted, monkeypatch):
    made, calls = Indexing(planted.url, lambda: None), []
    monkeypatch.setattr(made, "work", lambda: calls.append(time.sleep(0.05)))
    for _ in range(5):
        made.keep()
    made.close()
    assert len(calls) == 1
    made.keep()  # closed
    assert len(calls) == 1


def test_a_store_that_cannot_be_written_is_no_end_of_the_server(tmp_path, caplog):
    Indexing(str(tmp_path), lambda: None).work()
    assert "an index for searching could not be made" in caplog.text


def test_closing_ends_the_work_after_the_documents_in_hand(planted, monkeypatch):
    monkeypatch.setattr(full_text, "_AT_ONCE", 1)
    monkeypatch.setattr(action_module, "IMPORT_PAUSE", 0.0)
    made = Indexing(planted.url, lambda: None)
    made._closing.set()
    made.work()
    assert full_text.list_unindexed(planted) in ([1], [])
    assert progress.list_imports() == ()


def test_classes_are_predicted_as_soon_as_a_run_that_was_training_has_ended(actions, monkeypatch):
    asked = []
    monkeypatch.setattr(actions.feed.classes, "predicts", lambda run: run != 2)
    monkeypatch.setattr(actions.feed.classes, "fetch", lambda *key: asked.append(key))
    row = runs.get_run(actions.feed.db, 1)
    before = [
        replace(row, number=number, state=state) for number, state in ((1, "running"), (2, "running"), (3, "queued"))
    ]
    for rows in (before, [replace(each, state="finished") for each in before]):
        actions.do_upkeep(rows)
    actions.feed.submit_in_turn(lambda: None).result(timeout=60)
    assert asked == [(1, 0)]
