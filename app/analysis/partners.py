"""Runs that are worth comparing, and the decisions of analysts about matches of their topics."""

from collections.abc import Iterable
from itertools import combinations, zip_longest

from topiary.engine.hierarchy.align import NONE, TopicPair
from topiary.store import annotations, snapshots
from topiary.store.database import Database
from topiary.store.run_rows import RunRow
from topiary.store.snapshots import SnapshotRow

MOST = 6  # pairs of seeds that are compared at most
NEAR = 1.5  # two runs are comparable if their numbers of mini-batches differ at most by this factor


def choose_partner(run: RunRow, everyone: Iterable[RunRow]) -> RunRow | None:
    """Return the run to compare a run with; None when there is no other.

    It is the run that this one was forked from, else the latest other run on its corpus, else the latest other run.
    """
    others = sorted((row for row in everyone if row.number != run.number), key=lambda row: -row.number)
    return next(
        (row for row in others if row.number == run.parent),
        next((row for row in others if row.corpus == run.corpus), others[0] if others else None),
    )


def differ_only_in_seed(one: RunRow, two: RunRow) -> bool:
    """Return True if two runs differ only in their seed and do not descend from a common run by forking.

    Their widths may differ if they are learned, or while one of a group has not tried its widths yet.  Their numbers of
    mini-batches are ignored, see `are_equally_trained`.
    """
    return (
        one.seed != two.seed
        and one.family != two.family
        and (one.corpus, one.model, one.inference) == (two.corpus, two.model, two.inference)
        and (one.settings == two.settings or _will_have_same_settings(one, two))
    )


def _will_have_same_settings(one: RunRow, two: RunRow) -> bool:
    """Return True if two runs of a group differ only in widths that one of them has not tried yet.

    The trials do not depend on the seed (`app.jobs.width_trials`), so both end with the same widths.
    """
    undecided = any(run.options.get("tries_widths") for run in (one, two))
    if not undecided or one.run_group is None or one.run_group != two.run_group:
        return False
    return {**one.settings, "layers": None} == {**two.settings, "layers": None}


def are_equally_trained(minibatch: int, other: int) -> bool:
    """Return True if two numbers of mini-batches are similar enough for their runs to serve as a baseline."""
    return max(minibatch, other) <= NEAR * max(1, min(minibatch, other))


def find_nearest_snapshot(db: Database, run: int, minibatch: int) -> SnapshotRow | None:
    """Return the snapshot of a run nearest to a mini-batch; None if none is near enough (`are_equally_trained`)."""
    rows = snapshots.list_snapshots(db, run)
    row = min(rows, key=lambda snapshot: abs(snapshot.minibatch - minibatch), default=None)
    return row if row is not None and are_equally_trained(row.minibatch, minibatch) else None


def find_other_seeds(run: RunRow, everyone: Iterable[RunRow]) -> list[RunRow]:
    """Return the runs that differ from this one only in their seed, latest first."""
    runs = [row for row in everyone if row.number != run.number and differ_only_in_seed(run, row)]
    return sorted(runs, key=lambda row: -row.number)


def list_seed_pairs(one: RunRow, two: RunRow, everyone: Iterable[RunRow]) -> list[tuple[RunRow, RunRow]]:
    """Return at most `MOST` pairs of runs that differ only in their seed, each with the settings of one of two runs.

    Pairs of either run with another one come first, alternating between the two runs, then pairs of these others.
    The pair of the two runs themselves is left out.
    """
    everyone = tuple(everyone)
    twins = [[row for row in find_other_seeds(run, everyone) if row.number not in (one.number, two.number)]
             for run in (two, one)]  # fmt: skip
    own_pairs = [[(run, twin) for twin in others] for run, others in zip((two, one), twins, strict=True)]
    in_turn = [pair for both in zip_longest(*own_pairs) for pair in both if pair is not None]
    further = [pair for others in twins for pair in combinations(others, 2)]
    return _remove_duplicates([*in_turn, *further])[:MOST]


def _remove_duplicates(pairs: Iterable[tuple[RunRow, RunRow]]) -> list[tuple[RunRow, RunRow]]:
    """Return every pair once; the order of its two runs does not matter."""
    return list({frozenset((first.number, second.number)): (first, second) for first, second in pairs}.values())


def list_decisions(db: Database, run_a: int, run_b: int) -> frozenset[TopicPair]:
    """Return the analysts' decisions about two runs; topics are counted from 0, and a missing partner is `NONE`."""
    return frozenset(
        TopicPair(each.layer, _to_column(each.a), _to_column(each.b))
        for each in annotations.list_matches(db, run_a, run_b)
    )


def _to_column(topic: int) -> int:
    return topic - 1 if topic > 0 else NONE
