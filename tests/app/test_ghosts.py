"""Pruned topics: when they went, what they were, and what the explore page says when it stands on one."""

from types import SimpleNamespace

import feed_samples
import numpy as np

from app import measure
from app.feed import Tick
from app.frame import identity
from app.pages import explore_reading, ghosts
from app.pages.explore import Explorer
from app.session import Context, View
from engine.contract import Event
from engine.tree import Node
from store import events, runs, snapshots

GONE = Node(1, 2)


def full(seed=0):
    made = feed_samples.arrays(seed)
    return made | {"names.0": np.arange(4), "names.1": np.arange(2)}


def without(seed=0):
    """The snapshot after topic 3 of layer 1 went."""
    made, keep = full(seed), [0, 1, 3]
    fewer = {"phi.0": made["phi.0"][:, keep], "phi.1": made["phi.1"][keep] / made["phi.1"][keep].sum(axis=0)}
    return made | fewer | {"names.0": np.array(keep)}


def grown(db):
    """A run whose topic L1:3 was pruned at mini-batch 20; the layer above is there at once, for short."""
    row = feed_samples.run(db)
    write = lambda minibatch, made: snapshots.append(db, row.number, row.attempt, minibatch, 1.0, made)  # noqa: E731
    write(5, full(1))
    write(15, full(2))
    told = measure.told(Event("pruned", 1, (2,), 4, 3))
    events.append(db, row.number, row.attempt, 20, "pruned", told)
    events.append(db, row.number, row.attempt, 30, "pruned", measure.told(Event("pruned", 2, (), 2, 2)))
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
            later=lambda work, then: then(work()),
            soon=lambda work: work(),
            tell=lambda *_: None,
        )
        feed.look_now()
        self.page = Explorer(self.context)

    @property
    def detail(self):
        return self.page._detail.html

    def moment(self, minibatch):
        return next(each.number for each in self.page._moments if each.minibatch == minibatch)


def test_pruned_topics_are_known_with_the_mini_batch_at_which_they_went(db, feed):
    row = grown(db)
    feed.look_now()
    context = SimpleNamespace(feed=feed, db=db)
    assert ghosts.pruned_topics(context, row.number) == {GONE: ghosts.Pruned(row.number, 20)}
    assert ghosts.pruned_topics(context, 99) == {}


def test_a_link_to_a_pruned_topic_says_when_it_went_and_shows_the_words_of_the_last_snapshot_that_had_it(db, feed):
    row = grown(db)
    session = Session(db, feed, run=row.number, layer=1, topic=3)
    last = feed.frame(row.number, session.moment(15))
    assert "Pruned at mini-batch 20." in session.detail
    assert "mini-batch 15" in session.detail
    for word in last.top_words(GONE):
        assert f"<span>{word.text}</span>" in session.detail
    assert "L1:3" in session.detail
    assert "L1:3" not in session.page._tree.svg
    session.page._hear({"do": "snapshot", "value": str(session.moment(15))})
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
    session.page._hear({"do": "select", "id": "L1:3"})
    assert (session.view.layer, session.view.topic) == (1, 3)
    assert "Pruned at mini-batch 20." in session.detail
    session.page._hear({"do": "select", "id": "L1:9"})
    assert session.view.topic == 0
    session.page._hear({"do": "snapshot", "value": str(session.moment(5))})
    assert "pruned</summary>" not in session.page._list.html


def test_a_topic_that_never_was_and_a_layer_that_is_not_there_are_told_apart(db, feed):
    row = grown(db)
    assert f"Run {row.number} has no topic L1:99 here." in Session(db, feed, run=row.number, layer=1, topic=99).detail
    assert "Layer 5 is not there at mini-batch 40." in Session(db, feed, run=row.number, layer=5, topic=1).detail


def test_a_view_that_stands_on_a_topic_while_it_is_pruned_keeps_its_last_words(db, feed):
    row = feed_samples.run(db)
    snapshots.append(db, row.number, row.attempt, 15, 1.0, full(2))
    session = Session(db, feed, run=row.number, layer=1, topic=3)
    assert 'data-key="L1:3"' in session.detail
    words = [word.text for word in session.page._frame.top_words(GONE)]
    events.append(db, row.number, row.attempt, 20, "pruned", measure.told(Event("pruned", 1, (2,), 4, 3)))
    snapshots.append(db, row.number, row.attempt, 20, 1.0, without(2))
    feed.look_now()
    session.ticks[0](Tick(snapshots=frozenset({row.number})))
    assert "Pruned at mini-batch 20." in session.detail
    assert all(f"<span>{word}</span>" in session.detail for word in words)
    assert "Pruned since mini-batch 15: " in session.page._foot.html
    assert 'data-id="L1:3"' in session.page._foot.html


def test_a_fork_knows_what_was_pruned_in_its_parent_before_it_began(db, feed):
    parent = grown(db)
    begun = next(row for row in snapshots.every(db, parent.number) if row.minibatch == 20)
    events.append(db, parent.number, parent.attempt, 50, "pruned", measure.told(Event("pruned", 1, (3,), 3, 2)))
    fork = runs.create(
        db, corpus=parent.corpus, model="dlda", inference="tlasgr", layers=(3, 2), settings={},
        plan={"minibatches": 50}, seed=1, fork=begun.number,
    )  # fmt: skip
    session = Session(db, feed, run=fork.number, layer=1, topic=3)
    assert f"Pruned at mini-batch 20 of run {parent.number}." in session.detail
    assert "Show mini-batch" not in session.detail  # that tree is another run's
    assert set(explore_reading.frame_and_moments(session.context, fork.number, 0).pruned) == {GONE}
    assert identity(GONE) == "L1:3"
