"""Pruned topics: when they went, what they were, and what the explore page says when it stands on one."""

import re
from types import SimpleNamespace

import feed_samples
import numpy as np
from pruned_samples import NODES, pruned

from app.analysis.hierarchy import identity
from app.analysis.pruned_topics import Pruned, last_seen_of, successors
from app.analysis.read_pruned import pruned_topics
from app.jobs import records
from app.live.ticks import Tick
from app.pages.explore import loading
from app.pages.explore import pruned as pruned_boxes
from app.pages.explore.page import Explorer
from app.pages.session import Context, View, from_query, to_query
from app.views.explore.pruned import pruned_detail
from engine.contract import Event
from engine.hierarchy.tree import Node
from store import annotations, events, runs, snapshots

GONE = Node(1, 2)


def full(seed=0):
    made = feed_samples.arrays(seed)
    return made | {"names.0": np.arange(4), "names.1": np.arange(2)}


def without(seed=0):
    """The snapshot after topic 3 of layer 1 went."""
    made, keep = full(seed), [0, 1, 3]
    fewer = {"phi.0": made["phi.0"][:, keep], "phi.1": made["phi.1"][keep] / made["phi.1"][keep].sum(axis=0)}
    return made | fewer | {"names.0": np.array(keep)}


def happen(db, row, minibatch, event, report=records.describe_event):
    """Write an event as the worker does."""
    events.append_event(db, row.number, row.attempt, minibatch, event.kind, report(event), records.convert_event(event))


def grown(db):
    """A run whose topic L1:3 was pruned at mini-batch 20; the layer above is there at once, for short."""
    row = feed_samples.run(db)
    write = lambda minibatch, made: snapshots.append_snapshot(db, row.number, row.attempt, minibatch, 1.0, made)  # noqa: E731
    write(5, full(1))
    write(15, full(2))
    happen(db, row, 20, Event("pruned", 1, (2,), 4, 3))
    happen(db, row, 30, Event("pruned", 2, (), 2, 2))
    write(20, without(2))
    write(40, without(3))
    return row


class Session:
    """An explore page on a real store; work in the background is done at once."""

    def __init__(self, db, feed, **fields):
        self.view = View(**({"page": "explore"} | fields))
        self.ticks = []
        self.context = Context(
            view=self.view,
            feed=feed,
            db=db,
            actions=None,
            on_tick=self.ticks.append,
            on_close=lambda _: None,
            later=lambda work, then, _=None: then(work()),
            in_turn=lambda work, then, _=None: then(work()),
            aside=lambda work, then, _=None: then(work()),
            soon=lambda work: work(),
            notify=lambda *_: None,
        )
        feed.look_now()
        self.page = Explorer(self.context)

    @property
    def detail(self):
        return self.page._detail.html

    @property
    def tree(self):
        return self.page._tree.svg

    def pruned_boxes(self):
        return re.findall(r'class="tp-node tp-pruned" data-id="([^"]+)"', self.tree)

    def handle(self, do, **more):
        self.page._on_message({"do": do, **more})

    def moment(self, minibatch):
        return next(each.number for each in self.page._moments if each.minibatch == minibatch)


def test_pruned_topics_are_known_with_the_mini_batch_at_which_they_went(db, feed):
    row = grown(db)
    feed.look_now()
    reader = pruned_boxes.reader(SimpleNamespace(feed=feed, db=db))
    assert pruned_topics(reader, row.number) == {GONE: Pruned(row.number, 20)}
    assert pruned_topics(reader, 99) == {}


def test_a_link_to_a_pruned_topic_says_when_it_went_and_shows_the_words_of_the_last_snapshot_that_had_it(db, feed):
    row = grown(db)
    session = Session(db, feed, run=row.number, layer=1, topic=3)
    last = feed.hierarchy(row.number, session.moment(15))
    assert "Pruned at mini-batch 20." in session.detail
    assert "mini-batch 15" in session.detail
    for word in last.top_words(GONE):
        assert f"<span>{word.text}</span>" in session.detail
    assert "L1:3" in session.detail
    assert "L1:3" not in session.page._tree.svg
    session.page._on_message({"do": "snapshot", "value": str(session.moment(15))})
    assert 'data-id="L1:3"' in session.page._tree.svg + session.page._list.html
    assert "Pruned" not in session.detail
    assert 'class="ex-detail" data-key="L1:3"' in session.detail


def test_a_link_with_a_pruned_root_says_so_and_shows_the_most_popular_topics_instead(db, feed):
    row = grown(db)
    session = Session(db, feed, run=row.number, roots=("L1:3",))
    assert "Pruned at mini-batch 20." in session.detail
    assert session.page._tree.svg


def test_the_list_of_a_layer_names_the_topics_that_are_gone_and_they_can_be_chosen(db, feed):
    row = grown(db)
    session = Session(db, feed, run=row.number, layer=1, tab="layer")
    assert "<summary>1 pruned</summary>" in session.page._list.html
    assert 'data-id="L1:3"' in session.page._list.html
    session.page._on_message({"do": "select", "id": "L1:3"})
    assert (session.view.layer, session.view.topic) == (1, 3)
    assert "Pruned at mini-batch 20." in session.detail
    session.page._on_message({"do": "select", "id": "L1:9"})
    assert session.view.topic == 0
    session.page._on_message({"do": "snapshot", "value": str(session.moment(5))})
    assert "pruned</summary>" not in session.page._list.html


def test_a_topic_that_never_was_and_a_layer_that_is_not_there_are_told_apart(db, feed):
    row = grown(db)
    assert f"Run {row.number} has no topic L1:99 here." in Session(db, feed, run=row.number, layer=1, topic=99).detail
    assert "Layer 5 is not there at mini-batch 40." in Session(db, feed, run=row.number, layer=5, topic=1).detail


def test_the_words_of_an_event_decide_nothing(db, feed):
    row = feed_samples.run(db)
    snapshots.append_snapshot(db, row.number, row.attempt, 15, 1.0, full(2))
    events.append_event(db, row.number, row.attempt, 19, "note", "layer 1 from 4 to 3 topics, without L1:2")
    happen(db, row, 20, Event("pruned", 1, (2,), 4, 3), lambda _: "le troisième sujet est parti, L1:1 reste")
    snapshots.append_snapshot(db, row.number, row.attempt, 20, 1.0, without(2))
    session = Session(db, feed, run=row.number)
    assert set(loading.hierarchy_and_moments(session.context, row.number, 0).pruned) == {GONE}


def test_a_view_that_stands_on_a_topic_while_it_is_pruned_keeps_its_last_words(db, feed):
    row = feed_samples.run(db)
    snapshots.append_snapshot(db, row.number, row.attempt, 15, 1.0, full(2))
    session = Session(db, feed, run=row.number, layer=1, topic=3)
    assert 'data-key="L1:3"' in session.detail
    words = [word.text for word in session.page._hierarchy.top_words(GONE)]
    happen(db, row, 20, Event("pruned", 1, (2,), 4, 3))
    snapshots.append_snapshot(db, row.number, row.attempt, 20, 1.0, without(2))
    feed.look_now()
    session.ticks[0](Tick(snapshots=frozenset({row.number})))
    assert "Pruned at mini-batch 20." in session.detail
    assert all(f"<span>{word}</span>" in session.detail for word in words)
    assert "Pruned since mini-batch 15: " in session.page._foot.html
    assert 'data-id="L1:3"' in session.page._foot.html


def test_a_fork_knows_what_was_pruned_in_its_parent_before_it_began(db, feed):
    parent = grown(db)
    begun = next(row for row in snapshots.list_snapshots(db, parent.number) if row.minibatch == 20)
    happen(db, parent, 50, Event("pruned", 1, (3,), 3, 2))
    fork = runs.create_run(
        db, corpus=parent.corpus, model="dlda", inference="tlasgr", layers=(3, 2), settings={},
        plan={"minibatches": 50}, seed=1, fork=begun.number,
    )  # fmt: skip
    session = Session(db, feed, run=fork.number, layer=1, topic=3)
    assert f"Pruned at mini-batch 20 of run {parent.number}." in session.detail
    assert "Show mini-batch" not in session.detail  # that tree is another run's
    assert set(loading.hierarchy_and_moments(session.context, fork.number, 0).pruned) == {GONE}
    assert identity(GONE) == "L1:3"


def test_pruned_topics_are_in_the_tree_when_they_are_asked_for_and_in_the_address(db, feed):
    row = grown(db)
    session = Session(db, feed, run=row.number, threshold=0.0)
    assert session.pruned_boxes() == []
    assert 'data-do="pruned" aria-pressed="false"' in session.page._controls.html
    assert "1 pruned topic</button>" in session.page._controls.html
    session.handle("pruned")
    assert session.pruned_boxes() == ["L1:3"]
    assert 'data-do="pruned" aria-pressed="true"' in session.page._controls.html
    assert "1 pruned topic in grey dashes" in session.page._foot.html
    assert "Pruned topic L1:3 of layer 1" in session.page._foot.html
    assert from_query(to_query(session.view))["pruned"] == "shown"
    assert Session(db, feed, **from_query(to_query(session.view))).pruned_boxes() == ["L1:3"]
    session.handle("pruned")
    assert session.pruned_boxes() == []
    assert "grey dashes" not in session.page._foot.html


def test_a_run_that_pruned_nothing_offers_no_pruned_topics(db, feed):
    row = feed_samples.run(db)
    snapshots.append_snapshot(db, row.number, row.attempt, 15, 1.0, full(2))
    session = Session(db, feed, run=row.number, pruned="shown", threshold=0.0)
    assert 'data-do="pruned"' not in session.page._controls.html
    assert session.pruned_boxes() == []
    assert "pruned" not in session.page._foot.html


def test_a_pruned_topic_that_is_chosen_shows_its_last_words_when_and_why_it_went_and_who_has_its_words(db, feed):
    row = grown(db)
    session = Session(db, feed, run=row.number, pruned="shown", threshold=0.0)
    session.handle("select", id="L1:3")
    assert session.page._tree.selected == "L1:3"
    assert session.pruned_boxes() == ["L1:3"]
    assert "Pruned at mini-batch 20." in session.detail
    last, now = feed.hierarchy(row.number, session.moment(15)), feed.hierarchy(row.number)
    left = last_seen_of(last, GONE, Pruned(row.number, 20))
    taken = successors(left.numbers, left.weights, 1, now)
    said = session.detail.partition("Its words are now in")[2]
    assert re.findall(r'data-id="(L\d+:\d+)"', said)[: len(taken)] == [identity(successor.node) for successor in taken]
    for wish in ("toggle", "root", "hide", "pin"):
        before = dict(session.view.param.values())
        session.handle(wish, id="L1:3")
        assert session.view.param.values() == before


def test_the_reason_of_a_pruning_names_the_limit_of_that_run():
    when = Pruned(7, 650, 0.01)
    last, now, _ = pruned()
    report = pruned_detail(now, NODES[0], when, last)
    assert "Pruned at mini-batch 650: its weight r was below 0.01, so hardly any document used it." in report
    assert "It was made of" in report


def test_a_snapshot_in_which_the_topic_still_stands_has_no_pruned_topic_of_it(db, feed):
    row = grown(db)
    session = Session(db, feed, run=row.number, pruned="shown", threshold=0.0)
    for minibatch in (5, 15):
        session.handle("snapshot", value=str(session.moment(minibatch)))
        assert session.pruned_boxes() == []
        assert 'data-do="pruned"' not in session.page._controls.html
    session.handle("snapshot", value=str(session.moment(20)))
    assert session.pruned_boxes() == ["L1:3"]


def test_a_topic_that_is_pruned_while_one_looks_becomes_a_pruned_topic(db, feed):
    row = feed_samples.run(db)
    snapshots.append_snapshot(db, row.number, row.attempt, 15, 1.0, full(2))
    session = Session(db, feed, run=row.number, pruned="shown", threshold=0.0)
    happen(db, row, 20, Event("pruned", 1, (2,), 4, 3))
    snapshots.append_snapshot(db, row.number, row.attempt, 20, 1.0, without(2))
    feed.look_now()
    session.ticks[0](Tick(snapshots=frozenset({row.number})))
    assert session.pruned_boxes() == ["L1:3"]


def test_a_name_given_later_is_the_name_of_the_pruned_topic(db, feed):
    row = grown(db)
    session = Session(db, feed, run=row.number, pruned="shown", threshold=0.0)
    assert "Old favourite" not in session.tree
    annotations.set_label(db, row.number, 1, 3, "Old favourite")
    feed.relabel(row.number)
    session.ticks[0](Tick(labels=frozenset({row.number})))
    assert session.pruned_boxes() == ["L1:3"]
    assert "Old favourite" in session.tree


def test_the_saved_picture_has_the_pruned_topics_that_are_on_screen(db, feed, monkeypatch):
    row = grown(db)
    session = Session(db, feed, run=row.number, threshold=0.0)
    files = []
    monkeypatch.setattr(session.page._tree, "_send_msg", files.append)
    for wish in ("", "pruned"):
        if wish:
            session.handle(wish)
        session.handle("save", value="svg")
        session.handle("save", value="png")
    hidden, shown = files[:2], files[2:]
    assert all("grey dashes: 1 pruned topic" in file["text"] and ">L1:3</text>" in file["text"] for file in shown)
    assert all("pruned" not in file["text"] for file in hidden)


def test_a_fork_shows_the_pruned_topics_of_its_parent_and_whose_they_are(db, feed):
    parent = grown(db)
    begun = next(row for row in snapshots.list_snapshots(db, parent.number) if row.minibatch == 20)
    fork = runs.create_run(
        db, corpus=parent.corpus, model="dlda", inference="tlasgr", layers=(3, 2), settings={},
        plan={"minibatches": 50}, seed=1, fork=begun.number,
    )  # fmt: skip
    session = Session(db, feed, run=fork.number, pruned="shown", threshold=0.0)
    assert session.pruned_boxes() == ["L1:3"]
    assert f"pruned at mini-batch 20 of run {parent.number}" in session.tree
