"""Runs that are worth comparing, and the decisions of analysts about matches of their topics."""

from collections.abc import Iterable
from itertools import combinations, zip_longest

from engine.hierarchy.align import NONE, TopicPair
from store import annotations
from store.database import Database
from store.run_rows import RunRow

MOST = 6  # pairs of seeds that are compared
NEAR = 1.5  # a run may have this many times the mini-batches of another to be comparable with it


def choose_partner(run: RunRow, everyone: Iterable[RunRow]) -> RunRow | None:
    """Choose what to compare with: the run it was forked from, else the latest other one, its corpus first."""
    others = sorted((row for row in everyone if row.number != run.number), key=lambda row: -row.number)
    return next(
        (row for row in others if row.number == run.parent),
        next((row for row in others if row.corpus == run.corpus), others[0] if others else None),
    )


def differ_only_in_seed(one: RunRow, two: RunRow) -> bool:
    """Return True if two runs differ in nothing but their seed, and are not of one line of forks.

    Their widths may differ where they are learnt; their lengths do not count, see `are_equally_trained`.
    """
    return (
        not (one.unusable or two.unusable)
        and one.seed != two.seed
        and one.family != two.family
        and (one.corpus, one.model, one.inference) == (two.corpus, two.model, two.inference)
        and one.settings == two.settings
    )


def are_equally_trained(minibatch: int, other: int) -> bool:
    """Return True if two runs have trained for so similar numbers of mini-batches that they make a baseline."""
    return max(minibatch, other) <= NEAR * max(1, min(minibatch, other))


def find_other_seeds(run: RunRow, everyone: Iterable[RunRow]) -> list[RunRow]:
    """Return the runs that differ from this one in nothing but the seed, latest first."""
    runs = [row for row in everyone if row.number != run.number and differ_only_in_seed(run, row)]
    return sorted(runs, key=lambda row: -row.number)


def list_seed_pairs(one: RunRow, two: RunRow, everyone: Iterable[RunRow]) -> list[tuple[RunRow, RunRow]]:
    """Return pairs of runs that show how much seeds of either run differ, at most `MOST`; not the two runs themselves.

    First each run with others of its own settings, in turn, then these others with each other.
    """
    everyone = tuple(everyone)
    twins = [[row for row in find_other_seeds(own, everyone) if row.number not in (one.number, two.number)]
             for own in (two, one)]  # fmt: skip
    own_pairs = [[(own, twin) for twin in others] for own, others in zip((two, one), twins, strict=True)]
    in_turn = [pair for both in zip_longest(*own_pairs) for pair in both if pair is not None]
    further = [pair for others in twins for pair in combinations(others, 2)]
    return _different([*in_turn, *further])[:MOST]


def _different(pairs: Iterable[tuple[RunRow, RunRow]]) -> list[tuple[RunRow, RunRow]]:
    """Return every pair once, in whatever order its runs are."""
    return list({frozenset((first.number, second.number)): (first, second) for first, second in pairs}.values())


def list_decisions(db: Database, run_a: int, run_b: int) -> frozenset[TopicPair]:
    """Return the decisions about two runs, topics counted from 0 and `NONE` instead of a missing partner."""
    return frozenset(
        TopicPair(each.layer, _column(each.a), _column(each.b)) for each in annotations.list_matches(db, run_a, run_b)
    )


def _column(topic: int) -> int:
    return topic - 1 if topic > 0 else NONE
