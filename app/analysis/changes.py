"""What changed between two matched hierarchies: edges, and how far the two agree as a whole."""

from collections import Counter
from collections.abc import Iterable
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from app.analysis.comparison import Comparison, Side, other
from engine.hierarchy.tree import Edge

Kind: TypeAlias = Literal["gained", "lost", "stronger", "weaker", "same"]
KINDS: tuple[Kind, ...] = ("gained", "lost", "stronger", "weaker", "same")
FACTOR = 1.5  # an edge this many times heavier or lighter, against a flat topic, is stronger or weaker


class EdgeChange(NamedTuple):
    """An edge above the threshold on one side at least.

    ``a`` and ``b`` are the edges of both sides, None where an end has no partner there; ``ratio`` is the
    weight in ``b`` over that in ``a``, each as a multiple of a flat topic (0 and inf where one is missing).
    """

    kind: Kind
    a: Edge | None
    b: Edge | None
    ratio: float

    @property
    def layer(self) -> int:
        """Layer of the parent."""
        edge = self.a or self.b
        return edge.layer if edge else 0


class Agreement(NamedTuple):
    """How far two hierarchies agree.

    Attributes
    ----------
    scores : tuple of float
        Mean score of the pairs of each layer both have; nan for a layer without pairs.
    matched : tuple of float
        Share of each layer's popularity that lies in matched topics, the mean of both sides.
    edges : float
        F1 over the edges above the threshold: twice the kept ones over all of both sides; nan without any.
    correlation : float
        Pearson correlation of the square roots of the weights, with their signs, of all edges between matched topics.
    """

    scores: tuple[float, ...]
    matched: tuple[float, ...]
    edges: float
    correlation: float


def edge_changes(comparison: Comparison, threshold: float) -> list[EdgeChange]:
    """List every edge that one of both has above ``threshold / K``, and what became of it.

    An edge that was raised and is now lowered, or the other way round, is lost and gained.

    Order: edges of ``a`` as in the hierarchy, then the gained ones.
    """
    a, b = comparison.a, comparison.b
    kept = {(edge.above, edge.below) for edge in b.edges(threshold)}
    found, met = [], set()
    for edge in a.edges(threshold):
        twin = _carried(comparison, edge)
        turned = twin is not None and twin.weight * edge.weight < 0  # raised by the one, lowered by the other
        if twin is None or turned or (twin.above, twin.below) not in kept:
            found.append(EdgeChange("lost", edge, twin, _ratio(comparison, edge, twin)))
        else:
            met.add((twin.above, twin.below))
            ratio = _ratio(comparison, edge, twin)
            kind: Kind = "stronger" if ratio >= FACTOR else "weaker" if ratio <= 1 / FACTOR else "same"
            found.append(EdgeChange(kind, edge, twin, ratio))
    for edge in b.edges(threshold):
        if (edge.above, edge.below) not in met:
            twin = _carried(comparison, edge, back=True)
            found.append(EdgeChange("gained", twin, edge, _ratio(comparison, twin, edge)))
    return found


def counted(changes: Iterable[EdgeChange]) -> dict[Kind, int]:
    """How many edges of each kind."""
    counts = Counter(change.kind for change in changes)
    return {kind: counts[kind] for kind in KINDS}


def agreement(comparison: Comparison, changes: Iterable[EdgeChange]) -> Agreement:
    """Sum a comparison up; ``changes`` are its `edge_changes`."""
    layers = range(1, len(comparison.alignment.costs) + 1)
    scores, matched = [], []
    for layer in layers:
        pairs = [pair for pair in comparison.pairs if pair.layer == layer and pair.paired]
        scores.append(float(np.mean([pair.score for pair in pairs])) if pairs else float("nan"))
        mass = [comparison.a.share(pair.a) + comparison.b.share(pair.b) for pair in pairs if pair.a and pair.b]
        matched.append(min(1.0, float(sum(mass)) / 2))  # shares sum to 1 but for rounding
    counts = counted(changes)
    kept = counts["stronger"] + counts["weaker"] + counts["same"]
    every = 2 * kept + counts["gained"] + counts["lost"]
    f1 = 2 * kept / every if every else float("nan")
    return Agreement(tuple(scores), tuple(matched), f1, _correlation(comparison))


def _carried(comparison: Comparison, edge: Edge, *, back: bool = False) -> Edge | None:
    """The same edge on the other side, with its weight there; None when an end has no partner."""
    side: Side = "b" if back else "a"
    there = comparison.hierarchy(other(side))
    above, below = comparison.partner(side, edge.above), comparison.partner(side, edge.below)
    if above is None or below is None:
        return None
    weight = float(there.phi[edge.layer - 1][there.place(below), there.place(above)])
    return Edge(edge.layer, above.column, below.column, weight)


def _ratio(comparison: Comparison, a: Edge | None, b: Edge | None) -> float:
    before = a.size * comparison.a.widths[a.layer - 2] if a else 0.0
    now = b.size * comparison.b.widths[b.layer - 2] if b else 0.0
    return now / before if before > 0 else float("inf")


def _correlation(comparison: Comparison) -> float:
    """Over all edges between matched topics, light ones too; nan where there is nothing to correlate."""
    before, now = [np.zeros(0)], [np.zeros(0)]
    for layer in range(2, len(comparison.alignment.costs) + 1):
        upper, lower = comparison.alignment.partners(layer), comparison.alignment.partners(layer - 1)
        for values, hierarchy, rows, columns in (
            (before, comparison.a, list(lower), list(upper)),
            (now, comparison.b, list(lower.values()), list(upper.values())),
        ):
            part = hierarchy.phi[layer - 1][np.ix_(rows, columns)].astype(np.float64)
            values.append((np.sign(part) * np.sqrt(np.abs(part) * hierarchy.widths[layer - 2])).ravel())
    x, y = np.concatenate(before), np.concatenate(now)
    if len(x) < 2 or x.std() == 0 or y.std() == 0:
        return float("nan")
    return float(np.corrcoef(x, y)[0, 1])
