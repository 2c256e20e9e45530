"""Whether a curve still falls, told from its points alone: no clock, no randomness, nothing of the model.

A curve of point perplexity falls steeply at first, then slowly, with a noise of about 0.3 % (the topics move; the
documents and the dice that judge them do not), of small corpora 0.7 %, and the lowest of many noisy points goes on
falling by luck.  So the mean of the last third of the steps is compared with the lowest that three neighbouring points
before it have together.
"""

import math
from collections.abc import Iterable, Sequence
from typing import TypeAlias

Curve: TypeAlias = Sequence[tuple[int, float]]

WINDOW = 1 / 3  # part of the steps that has to bring something
GAIN = 0.003  # of the lowest mean before it
LEAST_POINTS = 3  # of the window, and before it: fewer say nothing beside the noise
LEAST_SWEEPS = 150  # of a run that ends at its plateau: topics still come apart when perplexity hardly falls
SMOOTH = 3  # points of such a mean
NEAR = 0.02  # a run has burnt in where its curve first is as near to the lowest value it has reached


def plateau(curve: Curve) -> int | None:
    """The step since which a curve no longer improves, None while it still falls (or has too few points to tell).

    Parameters
    ----------
    curve : sequence of (step, value)
        Steps ascending, lower values better; values that are not finite are left out.

    Returns
    -------
    int or None
        The last step before the first window that brought less than ``GAIN``, with no window after it that brought
        more.
    """
    known = _known(curve)
    since = None
    for end in range(len(known), 0, -1):
        before = _begin(known, end)
        if not _level(known, before, end):
            break
        since = known[before - 1][0]
    return since


def settled(curve: Curve, swept: int) -> bool:
    """Whether a run that sweeps all documents may end: after ``swept`` sweeps, and its curve no longer improves."""
    return swept >= LEAST_SWEEPS and plateau(curve) is not None


def burnt_in(curve: Curve) -> int | None:
    """The step at which a curve first comes within ``NEAR`` of the lowest value it has reached; None without points."""
    known = _known(curve)
    lowest = min((value for _, value in known), default=math.nan)
    return next((step for step, value in known if value <= lowest * (1 + NEAR)), None)


def trend(curve: Curve) -> str:
    """Say it: ``still falling``, ``no longer improving since step 210``, or nothing of a curve too short to tell."""
    since = plateau(curve)
    if since is not None:
        return f"no longer improving since step {since:,}"
    known = _known(curve)
    before = _begin(known, len(known))
    return "still falling" if min(before, len(known) - before) >= LEAST_POINTS else ""


def _known(curve: Iterable[tuple[float, float]]) -> list[tuple[int, float]]:
    return [(int(step), float(value)) for step, value in curve if math.isfinite(value)]


def _begin(known: Curve, end: int) -> int:
    """Where the last window of the first ``end`` points begins."""
    if not end:
        return 0
    edge = known[end - 1][0] * (1 - WINDOW)
    return sum(step <= edge for step, _ in known[:end])


def _level(known: Curve, begin: int, end: int) -> bool:
    """Whether the points from ``begin`` to ``end`` bring next to nothing beside those before."""
    if min(begin, end - begin) < LEAST_POINTS:
        return False
    values = [value for _, value in known[:end]]
    lowest = min(_mean(values[place : place + SMOOTH]) for place in range(begin + 1 - SMOOTH))
    return _mean(values[begin:]) > lowest * (1 - GAIN)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
