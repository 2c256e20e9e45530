"""Decisions about the topics of two runs."""

import pytest
from sqlalchemy import text
from store_samples import new_run

from topiary.store import annotations, runs
from topiary.store.annotations import MatchDecision
from topiary.store.errors import NotFound, StoreError


@pytest.fixture
def pair(db) -> tuple[int, int]:
    return new_run(db).number, new_run(db).number


def test_a_decision_is_read_back_from_either_side(db, pair):
    one, other = pair
    annotations.save_match(db, one, other, MatchDecision(2, 3, 4))
    annotations.save_match(db, other, one, MatchDecision(1, 5, 0))
    assert annotations.list_matches(db, one, other) == [MatchDecision(1, 0, 5), MatchDecision(2, 3, 4)]
    assert annotations.list_matches(db, other, one) == [MatchDecision(1, 5, 0), MatchDecision(2, 4, 3)]


def test_a_later_decision_replaces_all_about_the_same_topics_and_no_other(db, pair):
    kept = [MatchDecision(1, 9, 9), MatchDecision(2, 3, 4), MatchDecision(1, 0, 7)]
    for decision in (*kept, MatchDecision(1, 3, 4), MatchDecision(1, 5, 6), MatchDecision(1, 3, 6)):
        annotations.save_match(db, *pair, decision)
    assert annotations.list_matches(db, *pair) == sorted([*kept, MatchDecision(1, 3, 6)])
    annotations.save_match(db, *pair, MatchDecision(1, 3, 0))
    annotations.save_match(db, *pair, MatchDecision(1, 0, 6))
    assert annotations.list_matches(db, *pair) == sorted([*kept, MatchDecision(1, 3, 0), MatchDecision(1, 0, 6)])


def test_a_decision_can_be_taken_back_by_either_topic(db, pair):
    annotations.save_match(db, *pair, MatchDecision(1, 3, 4))
    annotations.save_match(db, *pair, MatchDecision(1, 5, 6))
    annotations.undo_match(db, *pair, MatchDecision(1, 3, 0))
    annotations.undo_match(db, *pair[::-1], MatchDecision(1, 6, 0))
    annotations.undo_match(db, *pair, MatchDecision(1, 8, 8))
    assert annotations.list_matches(db, *pair) == []


def test_decisions_go_with_either_run(db, pair):
    third = new_run(db).number
    annotations.save_match(db, *pair, MatchDecision(1, 1, 1))
    annotations.save_match(db, pair[0], third, MatchDecision(1, 2, 2))
    runs.delete_run(db, pair[1])
    assert annotations.list_matches(db, *pair) == []
    assert annotations.list_matches(db, third, pair[0]) == [MatchDecision(1, 2, 2)]
    runs.delete_run(db, pair[0])
    with db.read() as connection:
        assert connection.execute(text("SELECT count(*) FROM matches")).scalar() == 0


@pytest.mark.parametrize("decision", [MatchDecision(1, 0, 0), MatchDecision(0, 1, 1), MatchDecision(1, -1, 2)])
def test_a_decision_about_nothing_is_refused(db, pair, decision):
    with pytest.raises(StoreError, match="at least one topic"):
        annotations.save_match(db, *pair, decision)


def test_one_run_and_runs_that_are_not_there_are_refused(db, pair):
    with pytest.raises(StoreError, match="the same run"):
        annotations.save_match(db, pair[0], pair[0], MatchDecision(1, 1, 1))
    with pytest.raises(NotFound, match="no run number 99"):
        annotations.save_match(db, pair[0], 99, MatchDecision(1, 1, 1))
    assert annotations.list_matches(db, pair[0], 99) == []
