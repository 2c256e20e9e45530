"""Edits are tried before they are made: what is shown is what the worker does, and the run stays as it is."""

import numba
import pytest
from process_samples import WORDS, order, written

from topiary.app.jobs import edit_previews, trainer
from topiary.app.jobs.edit_orders import EditOrder
from topiary.app.jobs.edit_previews import UntriedEdit, find_hints, preview_edit
from topiary.engine.hierarchy.tree import Node
from topiary.engine.steering.edit import EditRefused
from topiary.store import edits, runs
from topiary.store.edits import NewEdit

SUBJECTS = [set(WORDS[first : first + 10]) for first in range(0, 40, 10)]


def train(db, **fields):
    """A run that has made sweeps of all documents."""
    row = order(db, inference="gibbs", **fields)
    trainer.train_run(db, row.number)
    return runs.get_run(db, row.number)


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="many sweeps, too slow with the compiler off")
def test_what_is_shown_is_what_the_worker_does(file):
    before = train(file, minibatches=20)
    stored = written(file, before.number)
    seed = preview_edit(file, before, EditOrder("seed", words=("word3", "Word4")))
    made = train(file, minibatches=21, edits=[NewEdit("seed", words=(3, 4), step=20)])
    (row,) = edits.list_edits(file, made.number)
    assert (seed.tokens, seed.documents) == (row.tokens, row.documents)
    assert tuple(each.topic.column + 1 for each in seed.topics)[:1] == (row.topic,)
    assert {each.topic.column + 1 for each in seed.topics} == set(row.changed)
    assert set(seed.topics[0].words[:4]) <= SUBJECTS[0]
    assert seed.moment == "sweep 20"

    whole = seed.topics[1].topic
    split = preview_edit(file, before, EditOrder("split", (whole,)))
    stays, goes = split.topics
    assert stays.topic == whole
    assert split.share(stays) + split.share(goes) == pytest.approx(1)
    assert goes.tokens == split.tokens
    assert written(file, before.number) == stored
    assert edits.list_edits(file, before.number) == []

    hints = find_hints(file, before)
    assert [pair for *pair, _ in hints.list_merges()] == [list(pair) for pair, n in hints.changes.items() if n > -0.02]
    assert list(hints.changes.values()) == sorted(hints.changes.values(), reverse=True)
    assert {topic for topic, _ in hints.find_partners(whole)} == {
        a if b == whole else b for a, b in hints.changes if whole in (a, b)
    }


def test_what_cannot_be_tried_says_why(file, monkeypatch):
    queued = order(file, inference="gibbs")
    assert "run 1 has not kept the topics of its tokens yet" in find_hints(file, queued)
    monkeypatch.setattr(edit_previews, "MOST_TOKENS", 100)
    with pytest.raises(UntriedEdit, match=r"the corpus has 2,400 tokens, and edits are tried on at most 100"):
        preview_edit(file, queued, EditOrder("split", (Node(1, 0),)))


def test_a_refusal_is_that_of_the_worker(file):
    run = train(file, minibatches=4)
    lone = EditOrder("seed", words=("word3", "word13"))
    with pytest.raises(EditRefused, match=r"only \d documents? ha.* two of these words") as refused:
        preview_edit(file, run, lone)
    assert not isinstance(refused.value, UntriedEdit)
    with pytest.raises(EditRefused, match="there is no topic L1:99 any more"):
        preview_edit(file, run, EditOrder("split", (Node(1, 98),)))
