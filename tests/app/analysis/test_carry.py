"""Names and notes of topics carried to another run: to the same topics, once, and nowhere else."""

import garden
import numpy as np
import pytest

from topiary.app.analysis.carry import (
    CarriedTopic,
    carry_annotations,
    describe_carried,
    find_same_topics,
    summarize_carrying,
)
from topiary.app.analysis.comparison import compare
from topiary.app.analysis.read_hierarchy import find_snapshot_at, read_hierarchy
from topiary.app.analysis.seeds import list_decisions
from topiary.engine.hierarchy.tree import Node
from topiary.store import corpora, notes, runs, snapshots
from topiary.store.errors import StoreError
from topiary.store.notes import TAG, MatchDecision, NewNote

WIDTH, TOP = 6, 2
ORDER = np.array([3, 0, 4, 1, 5, 2])  # column of run B -> column of run A
WORDS = len(garden.WORDS)
STRANGE = 5  # a topic of A; the one in its place in B shares two of its words


def make_arrays(order: np.ndarray, seed: int) -> dict[str, np.ndarray]:
    """Six topics of four words each, in an order; those of the strange one depend on the seed."""
    first = np.full((WORDS, WIDTH), 1e-3)
    for column, topic in enumerate(order.tolist()):
        start = 4 * topic if topic != STRANGE else 4 * STRANGE + 2 * seed
        first[start : start + 4, column] += [4.0, 3.0, 2.0, 1.0]
    second = np.where(order[:, None] % 2 == np.arange(TOP), 1.0, 0.01)
    return {"phi.0": first / first.sum(0), "phi.1": second / second.sum(0), "r": np.array([1.0, 0.8])}


def make_run(db, order: np.ndarray, seed: int) -> int:
    known = corpora.list_corpora(db)
    corpus = known[0].number if known else garden.corpus(db).number
    row = garden.begin(db, corpus, layers=(WIDTH, TOP))
    snapshots.append_snapshot(db, row.number, row.attempt, 10, 1.0, make_arrays(order, seed))
    return row.number


@pytest.fixture
def pair(db) -> tuple[int, int]:
    return make_run(db, np.arange(WIDTH), 0), make_run(db, ORDER, 1)


def match_runs(db, one: int, other: int):
    rows = (runs.get_run(db, number) for number in (one, other))
    hierarchies = (read_hierarchy(db, row, find_snapshot_at(db, row, None)) for row in rows)
    return compare(*hierarchies, list_decisions(db, one, other))


def test_topics_are_the_same_where_their_words_are_and_not_where_they_are_only_the_best_of_what_is_left(db, pair):
    comparison = match_runs(db, *pair)
    expected = {Node(1, topic): Node(1, column) for column, topic in enumerate(ORDER.tolist()) if topic != STRANGE}
    assert {a: b for a, b in find_same_topics(comparison).items() if a.layer == 1} == expected
    assert Node(1, STRANGE) not in find_same_topics(comparison)
    assert comparison.partner("a", Node(1, STRANGE)) is not None, "Compare pairs it, as the best of what is left"


def test_names_notes_and_tags_come_to_the_same_topics_with_authors_and_times(db, pair):
    one, other = pair
    notes.set_label(db, one, 1, 1, "roses")
    notes.add_topic_note(db, one, 1, 1, NewNote("sure", TAG, "Ada"))
    note = notes.add_topic_note(db, one, 1, 4, NewNote("two\nlines", author="Bob"))
    notes.add_topic_note(db, one, 1, STRANGE + 1, NewNote("stays"))
    notes.add_document_note(db, runs.get_run(db, one).corpus, 3, NewNote("of a document"))
    matched = match_runs(db, one, other)
    carried = carry_annotations(db, matched)
    assert carried == [
        CarriedTopic(Node(1, 0), Node(1, 1), "roses", True, 1, 1, ""),
        CarriedTopic(Node(1, 3), Node(1, 0), "", False, 1, 1, ""),
        CarriedTopic(Node(1, STRANGE), None, "", False, 1, 0, ""),
    ]
    assert notes.read_remarks(db, other).names == {(1, 2): "roses"}
    copied = {(row.topic, row.kind, row.text, row.author) for row in notes.read_remarks(db, other).notes}
    assert copied == {(2, TAG, "sure", "Ada"), (1, "note", "two\nlines", "Bob")}
    times = [row.created for row in notes.read_remarks(db, other).notes if row.author == "Bob"]
    assert abs((times[0] - note.created).total_seconds()) < 1e-3
    assert summarize_carrying(carried, other) == (
        f"run {other} got 1 name and 2 notes and tags; 1 topic is not found in it"
    )
    assert [describe_carried(matched, each) for each in carried] == [
        f"L1:1 roses is {matched.b.cite(Node(1, 1))}: got the name “roses”, got 1 note or tag",
        f"{matched.a.cite(Node(1, 3))} is {matched.b.cite(Node(1, 0))}: got 1 note or tag",
        f"{matched.a.cite(Node(1, STRANGE))} is not found there: 1 note or tag not carried",
    ]
    assert len(read_hierarchy(db, runs.get_run(db, other), snapshots.find_latest(db, other)).notes) == 2


def test_carrying_again_adds_nothing_and_a_topic_keeps_its_own_name(db, pair):
    one, other = pair
    notes.set_label(db, one, 1, 1, "roses")
    notes.set_label(db, one, 1, 2, "moons")
    notes.set_label(db, other, 1, 2, "gardens")
    notes.add_topic_note(db, one, 1, 1, NewNote("sure", TAG))
    matched = match_runs(db, one, other)
    first, second = (carry_annotations(db, match_runs(db, one, other)) for _ in range(2))
    assert [(each.is_named, each.carried, each.own_name) for each in first] == [(False, 1, "gardens"), (True, 0, "")]
    assert [(each.is_named, each.carried, each.own_name) for each in second] == [(False, 0, "gardens"), (False, 0, "")]
    assert notes.read_remarks(db, other).names == {(1, 2): "gardens", (1, 4): "moons"}
    assert len(notes.read_remarks(db, other).notes) == 1
    assert summarize_carrying(second, other) == f"run {other} got 0 names and no note; 1 topic keeps its own name"
    assert [describe_carried(matched, each) for each in second] == [
        "L1:1 roses is L1:2 gardens: keeps its name “gardens” instead of “roses”, had 1 note or tag already",
        f"L1:2 moons is {matched.b.cite(Node(1, 3))}: had the name already",
    ]


def test_a_decision_of_an_analyst_counts_whatever_the_words_are(db, pair):
    one, other = pair
    notes.add_topic_note(db, one, 1, STRANGE + 1, NewNote("goes where it is told"))
    column = ORDER.tolist().index(STRANGE)
    notes.save_match(db, one, other, MatchDecision(1, STRANGE + 1, column + 1))
    (carried,) = carry_annotations(db, match_runs(db, one, other))
    assert (carried.target, carried.carried) == (Node(1, column), 1)


def test_one_run_and_runs_on_other_corpora_are_refused(db, pair):
    one, other = pair
    with pytest.raises(StoreError, match="belong to run 1 at all of its snapshots"):
        carry_annotations(db, match_runs(db, one, one))
    row = garden.begin(db, garden.corpus(db, "elsewhere").number, layers=(WIDTH, TOP))
    snapshots.append_snapshot(db, row.number, row.attempt, 10, 1.0, make_arrays(ORDER, 1))
    with pytest.raises(StoreError, match="runs 2 and 3 are on different corpora"):
        carry_annotations(db, match_runs(db, other, row.number))
    assert summarize_carrying([], 2) == "no topic has a name, a note or a tag that could be carried"
