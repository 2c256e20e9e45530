"""How far two seeds of one model lie apart, in the JSON of a comparison: what a difference has to exceed to be one."""

import math
from collections.abc import Sequence
from typing import Any, Protocol

from app.analysis.changes import Agreement
from app.analysis.comparison import Comparison
from app.analysis.judged_seeds import JudgedPair
from app.analysis.seeds import UNKNOWN, Range, SeedSpread, at, below, spread_of


class SeedPairs(Protocol):
    """Comparisons of runs that differ in their seed only, and how well the two runs compared predict."""

    @property
    def comparisons(self) -> Sequence[Comparison]: ...  # noqa: D102
    @property
    def judged(self) -> JudgedPair | None: ...  # noqa: D102


def seed_facts(now: Agreement, seeds: SeedPairs, threshold: float) -> dict[str, Any]:
    """What two seeds of one model reach, beside what A and B reach.

    Parameters
    ----------
    now : Agreement
        Of A and B.
    seeds : SeedPairs
    threshold : float
        Edges are above ``threshold / K``.

    Returns
    -------
    dict
        ``pairs`` of run numbers, empty where there is no second seed; for every layer the ranges of ``score`` and
        ``matched_share`` and the largest difference of ``npmi``, ``worst_tenth`` and ``diversity``; the ranges of
        ``edge_f1`` and ``edge_correlation``; and ``estimate``, how well A and B predict held-out words.  A range is
        None where nothing is known.
    """
    spread = spread_of(seeds.comparisons, threshold) or UNKNOWN
    return {
        "pairs": [[each.a.run, each.b.run] for each in seeds.comparisons],
        "layers": [_layer(spread, now, place) for place in range(len(spread.scores))],
        "edge_f1": _range(spread.edges, now.edges),
        "edge_correlation": _range(spread.correlation, now.correlation),
        "estimate": None if seeds.judged is None else _estimate(seeds.judged),
    }


def _layer(spread: SeedSpread, now: Agreement, place: int) -> dict[str, Any]:
    gaps = dict(zip(("npmi", "worst_tenth", "diversity"), spread.gaps[place], strict=True))
    return {
        "layer": place + 1,
        "score": _range(at(spread.scores, place), _at(now.scores, place)),
        "matched_share": _range(at(spread.matched, place), _at(now.matched, place)),
    } | {name: gap if math.isfinite(gap) else None for name, gap in gaps.items()}


def _range(usual: Range | None, value: float) -> dict[str, Any] | None:
    """The lowest and the highest, and whether A and B lie below all of it."""
    return None if usual is None else {"low": usual.low, "high": usual.high, "below": below(value, usual)}


def _at(values: Sequence[float], place: int) -> float:
    return values[place] if place < len(values) else math.nan


def _estimate(judged: JudgedPair) -> dict[str, Any]:
    return {
        "name": judged.a.kind,
        "a": judged.a.value,
        "b": judged.b.value,
        "difference": judged.difference,
        "seeds_differ_by": judged.gap,
        "beyond": None if judged.gap is None else judged.beyond,
    }
