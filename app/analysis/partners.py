"""Which runs are worth comparing, and what people decided about their topics."""

from collections.abc import Iterable
from itertools import combinations, zip_longest

from engine.hierarchy.align import NONE, TopicPair
from store import annotations
from store.database import Database
from store.run_rows import RunRow

MOST = 6  # pairs of seeds that are held against each other
NEAR = 1.5  # times the mini-batches of the other that a run may have to be like it but for the seed


def choose_partner(run: RunRow, everyone: Iterable[RunRow]) -> RunRow | None:
    """Choose what to compare with: the run it was forked from, else the latest other one, its corpus first."""
    others = sorted((row for row in everyone if row.number != run.number), key=lambda row: -row.number)
    return next(
        (row for row in others if row.number == run.parent),
        next((row for row in others if row.corpus == run.corpus), others[0] if others else None),
    )


def differ_only_in_seed(one: RunRow, two: RunRow) -> bool:
    """Return True if two runs differ in nothing but their seed, and are not of one line of forks.

    Their widths may differ where they are learnt; how long they have trained does not count, see `are_equally_trained`.
    """
    return (
        not (one.unusable or two.unusable)
        and one.seed != two.seed
        and one.family != two.family
        and (one.corpus, one.model, one.inference) == (two.corpus, two.model, two.inference)
        and one.settings == two.settings
    )


def are_equally_trained(minibatch: int, other: int) -> bool:
    """Return True if topics after so many mini-batches of either run may be held against each other as a baseline."""
    return max(minibatch, other) <= NEAR * max(1, min(minibatch, other))


def find_other_seeds(run: RunRow, everyone: Iterable[RunRow]) -> list[RunRow]:
    """Return the runs that differ from this one in nothing but the seed, latest first."""
    found = [row for row in everyone if row.number != run.number and differ_only_in_seed(run, row)]
    return sorted(found, key=lambda row: -row.number)


def list_seed_pairs(one: RunRow, two: RunRow, everyone: Iterable[RunRow]) -> list[tuple[RunRow, RunRow]]:
    """Pairs of runs that tell how far seeds of either run lie apart, at most `MOST`; not the two runs themselves.

    Each run next to others of its own settings first, in turn, then those next to each other.
    """
    everyone = tuple(everyone)
    twins = [[row for row in find_other_seeds(own, everyone) if row.number not in (one.number, two.number)]
             for own in (two, one)]  # fmt: skip
    own_pairs = [[(own, twin) for twin in found] for own, found in zip((two, one), twins, strict=True)]
    in_turn = [pair for both in zip_longest(*own_pairs) for pair in both if pair is not None]
    further = [pair for found in twins for pair in combinations(found, 2)]
    return _different([*in_turn, *further])[:MOST]


def _different(pairs: Iterable[tuple[RunRow, RunRow]]) -> list[tuple[RunRow, RunRow]]:
    """Every pair once, whichever comes first in it."""
    return list({frozenset((first.number, second.number)): (first, second) for first, second in pairs}.values())


def list_decisions(db: Database, run_a: int, run_b: int) -> frozenset[TopicPair]:
    """Return the decisions about two runs, topics counted from 0 and `NONE` instead of a missing partner."""
    return frozenset(
        TopicPair(each.layer, _column(each.a), _column(each.b)) for each in annotations.list_matches(db, run_a, run_b)
    )


def _column(topic: int) -> int:
    return topic - 1 if topic > 0 else NONE
