"""Alignment of the topics of two hierarchies, which may differ in seed, snapshot, widths or model.

The cost of a pair of topics of one layer is

    (1 - parent_weight) * H(words) + parent_weight * H(parents),        0 <= cost <= 1,

with H the Hellinger distance ``sqrt(1 - sum_x sqrt(p(x) q(x)))``.  ``H(words)`` compares the two topics projected to
the words (``Phi^(1) ... Phi^(l)``).  ``H(parents)`` compares where their popularity comes from (the weights of the
edges to their parents times the parents' popularity); the pairs of the layer above say which parents correspond.  The
top layer is compared by words only.  The Hellinger distance is used rather than the Jensen-Shannon distance because it
is also a metric between 0 and 1, needs no logarithm of zero, and is one matrix product for all pairs of a layer.

A layer is solved as a whole (Jonker-Volgenant, through scipy), from the top down, so that parents are known when
their children are matched.  Leaving two topics without a partner costs ``threshold``, or the median cost of all pairs
of the layer where that is lower: two topics no more alike than a random pair are not matched.  But it never costs less
than `NEARLY_EQUAL`: in the top layers of a narrow model all topics are alike, so the median is tiny, and half of them
would be called missing although they have a partner that looks the same.

Pairs that are ``known`` to have been the same topic once, those of a run and its fork, cost `KNOWN_BONUS` less when a
layer is solved: among topics that are nearly equal, each keeps its own partner.  A pair that costs more than leaving
both topics alone is not matched in any case.
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import scipy
from numpy.typing import NDArray

from topiary.engine.contract import Array, FloatArray, Topics
from topiary.engine.hierarchy import effects

PARENT_WEIGHT = 0.25
THRESHOLD = 0.7
NEARLY_EQUAL = 0.2  # topics this close have 96 % in common (1 - 0.2**2), and are never reported as missing
KNOWN_BONUS = 0.05  # taken off the cost of pairs that were the same topic once
NONE = -1
_ENOUGH_TOPICS = 8  # with fewer on either side, the median cost does not tell how alike random pairs are
_ROUNDING = 1e-6  # squared distances up to this are rounding errors of single precision

Costs: TypeAlias = NDArray[np.float32]


class TopicPair(NamedTuple):
    """A pair decided by a user; `NONE` on one side means that the topic on the other has no partner."""

    layer: int
    first: int
    second: int


class TopicMatch(NamedTuple):
    """A topic and its partner.

    Attributes
    ----------
    layer : int
        Counted from 1.
    first, second : int
        Columns of ``Phi^(layer)`` in the first and the second hierarchy; `NONE` where there is no partner.
    score : float
        ``1 - cost``: 1 for equal topics under equal parents, 0 for an unmatched one.
    margin : float
        Cost of the second best choice for either topic (another partner, or none) minus the cost of this
        one.  Near 0 the pair is arbitrary; below 0 another partner would suit one of them better, but is
        taken by a topic it suits better still, or the pair was fixed or known.
    fixed : bool
        True if a user decided it.
    """

    layer: int
    first: int
    second: int
    score: float
    margin: float
    fixed: bool

    @property
    def paired(self) -> bool:
        """True if both sides are present."""
        return NONE not in (self.first, self.second)


class Alignment(NamedTuple):
    """The topics of both hierarchies, each exactly once.

    Attributes
    ----------
    matches : tuple of TopicMatch
        Layer 1 first; within a layer by the column of the first, then the unmatched ones of the second.
    costs : tuple of (K_l, K_l') float32 arrays
        Cost of every pair of a layer, for the layers that both have.
    """

    matches: tuple[TopicMatch, ...]
    costs: tuple[Costs, ...]

    def partners(self, layer: int) -> dict[int, int]:
        """Return the pairs of one layer as a map from columns of the first to columns of the second."""
        return {match.first: match.second for match in self.matches if match.layer == layer and match.paired}


def align_hierarchies(
    first: Topics,
    second: Topics,
    *,
    projected: tuple[Sequence[Array], Sequence[Array]] | None = None,
    fixed: Collection[TopicPair] = (),
    known: Collection[TopicPair] = (),
    parent_weight: float = PARENT_WEIGHT,
    threshold: float = THRESHOLD,
) -> Alignment:
    """Match the topics of two hierarchies over the same words, layer by layer from the top.

    Parameters
    ----------
    first, second : Topics
        Of any depths and widths.  Layers are counted from the words; topics of layers that only one has are unmatched.
    projected : pair of sequences of (V, K_l) arrays, optional
        The topics of both projected to the words, if the caller has them already; their columns need not sum to 1,
        for example when only the words that two corpora share are kept.
    fixed : collection of TopicPair
        Decisions of users to keep; those about topics that do not exist are ignored.
    known : collection of TopicPair
        Pairs that were one topic once, preferred unless others are better by more than `KNOWN_BONUS`.
    parent_weight : float
        Weight of the parents in the cost, 0 to 1.
    threshold : float
        Cost above which two topics are left unmatched, 0 to 1 (or the median cost, see above).

    Raises
    ------
    ValueError
        If the two have different numbers of words.
    """
    words = projected or (effects.list_topic_words(first), effects.list_topic_words(second))
    sizes = len(words[0][0]), len(words[1][0])
    if sizes[0] != sizes[1]:
        raise ValueError(f"topics over {sizes[0]} and {sizes[1]} words cannot be matched; keep the words both have")
    popularity = effects.compute_popularity(first), effects.compute_popularity(second)
    common = min(len(first.phi), len(second.phi))
    matches: dict[int, list[TopicMatch]] = {}
    costs: list[Costs] = []
    for layer in range(common, 0, -1):
        terms = [_CostTerm(1.0, _take_roots(words[0][layer - 1]), _take_roots(words[1][layer - 1]))]
        if layer < common:
            origins = (
                _trace_origins(first.phi[layer], popularity[0][layer]),
                _trace_origins(second.phi[layer], popularity[1][layer]),
            )
            terms = [
                terms[0]._replace(weight=1.0 - parent_weight),
                _match_parents(origins, matches[layer + 1], parent_weight),
            ]
        cost = np.asarray(sum(term.weight * _measure_all_pairs(term) for term in terms), dtype=np.float32)
        decisions, earlier = _select_decisions(layer, fixed, cost.shape), _select_decisions(layer, known, cost.shape)
        limit = min(threshold, max(NEARLY_EQUAL, _estimate_random_cost(cost)))
        matches[layer] = _make_matches(
            layer, cost, terms, _assign_pairs(cost, decisions, earlier, limit), decisions, limit
        )
        costs.append(cost)
    for layer in range(common + 1, max(len(first.phi), len(second.phi)) + 1):
        matches[layer] = _list_unmatched(layer, _count_topics(first, layer), _count_topics(second, layer))
    return Alignment(tuple(match for layer in sorted(matches) for match in matches[layer]), tuple(costs[::-1]))


class _CostTerm(NamedTuple):
    """A term of the cost: its weight, and the square roots of the distributions of both sides, one topic per column."""

    weight: float
    first: Array
    second: Array


def _select_decisions(layer: int, decisions: Collection[TopicPair], shape: tuple[int, ...]) -> list[TopicPair]:
    """Return the decisions about a layer whose topics exist."""
    return [
        each
        for each in decisions
        if each.layer == layer and NONE <= each.first < shape[0] and NONE <= each.second < shape[1]
    ]


def _count_topics(side: Topics, layer: int) -> int:
    return int(side.phi[layer - 1].shape[1]) if layer <= len(side.phi) else 0


def _take_roots(weights: Array) -> NDArray[np.float32]:
    """Scale the columns (n, K) to sum 1 and return their square roots, in single precision to save memory."""
    mass = weights.sum(axis=0, dtype=np.float64)
    scaled = np.asarray(weights, dtype=np.float32) / np.where(mass > 0, mass, 1.0).astype(np.float32)
    return np.sqrt(scaled, out=scaled)


def _trace_origins(phi: Array, popularity: FloatArray) -> FloatArray:
    """Return the square roots (K_{l+1}, K_l) of the share of each topic's popularity that comes from each parent."""
    flow = np.abs(np.asarray(phi, dtype=np.float64) * popularity).T
    mass = flow.sum(axis=0)
    return np.sqrt(np.where(mass > 0, flow / np.where(mass > 0, mass, 1.0), 1.0 / len(flow)))


def _match_parents(origins: tuple[FloatArray, FloatArray], above: Sequence[TopicMatch], weight: float) -> _CostTerm:
    """Return the cost term of the parents, put into the same order on both sides; unmatched parents are left out."""
    pairs = [match for match in above if match.paired]
    first = origins[0][[match.first for match in pairs]]
    return _CostTerm(weight, first, origins[1][[match.second for match in pairs]])


def _measure_all_pairs(term: _CostTerm) -> Array:
    """Return the Hellinger distances (K, K') of all pairs."""
    return np.sqrt(np.clip(1.0 - term.first.T @ term.second, 0.0, 1.0))


def _measure_pairs(term: _CostTerm, rows: Array, columns: Array) -> FloatArray:
    """Return the Hellinger distances of some pairs in double precision, exactly 0 for equal topics."""
    first = term.first[:, rows].astype(np.float64)
    second = term.second[:, columns].astype(np.float64)
    missing = 1.0 - ((first**2).sum(axis=0) + (second**2).sum(axis=0)) / 2  # mass of unmatched parents
    squared = ((first - second) ** 2).sum(axis=0) / 2 + np.where(missing > _ROUNDING, missing, 0.0)
    return np.sqrt(np.clip(squared, 0.0, 1.0))


def _estimate_random_cost(cost: Costs) -> float:
    """Return the cost of a random pair of topics; 1 where there are too few to tell."""
    return float(np.median(cost)) if min(cost.shape) >= _ENOUGH_TOPICS else 1.0


def _make_matches(
    layer: int, cost: Costs, terms: list[_CostTerm], pairs: dict[int, int], decided: list[TopicPair], threshold: float
) -> list[TopicMatch]:
    """Return a match, with score and margin, for every topic of a layer."""
    rows, columns = np.array(list(pairs), dtype=np.intp), np.array(list(pairs.values()), dtype=np.intp)
    costs = sum((term.weight * _measure_pairs(term, rows, columns) for term in terms), np.zeros(len(rows)))
    margins = _compute_margins(cost, rows, columns, threshold) - costs
    decisions = {(each.first, each.second) for each in decided}
    facts = zip(rows.tolist(), columns.tolist(), costs.tolist(), margins.tolist(), strict=True)
    matches = [TopicMatch(layer, i, j, 1.0 - price, margin, (i, j) in decisions) for i, j, price, margin in facts]
    matches += [
        _make_unmatched(layer, i, NONE, cost[i], decisions, threshold) for i in range(len(cost)) if i not in pairs
    ]
    partners = set(pairs.values())
    ordered = sorted(matches, key=lambda match: match.first)
    return ordered + [
        _make_unmatched(layer, NONE, j, cost[:, j], decisions, threshold)
        for j in range(cost.shape[1])
        if j not in partners
    ]


def _assign_pairs(cost: Costs, decided: list[TopicPair], earlier: list[TopicPair], threshold: float) -> dict[int, int]:
    """Return rows and columns of the cheapest assignment that honours the decisions.

    ``min(cost - threshold, 0)`` is the saving of a pair over two unmatched topics, so the rectangular problem
    needs no dummy partners; pairs that save nothing are separated again.
    """
    height, width = cost.shape
    fixed = {each.first: each.second for each in decided if NONE not in (each.first, each.second)}
    excluded = {each.first for each in decided}, {each.second for each in decided}
    rows = np.array([i for i in range(height) if i not in excluded[0]], dtype=np.intp)
    columns = np.array([j for j in range(width) if j not in excluded[1]], dtype=np.intp)
    adjusted = cost.copy()
    places = tuple(np.array([(each.first, each.second) for each in earlier], dtype=np.intp).reshape(-1, 2).T)
    adjusted[places] -= KNOWN_BONUS * (cost[places] < threshold)
    savings = np.minimum(adjusted[np.ix_(rows, columns)] - threshold, 0.0)
    first, second = scipy.optimize.linear_sum_assignment(savings)
    useful = savings[first, second] < 0
    return fixed | dict(zip(rows[first[useful]].tolist(), columns[second[useful]].tolist(), strict=True))


def _compute_margins(cost: Costs, rows: Array, columns: Array, threshold: float) -> FloatArray:
    """Return the cost of the second best choice for each pair: another partner for either topic, or none."""
    places = np.arange(len(rows))
    across, down = cost[rows], cost[:, columns].T
    across[places, columns] = np.inf
    down[places, rows] = np.inf
    others = np.concatenate([across, down, np.full((len(rows), 1), threshold)], axis=1)
    return np.asarray(others.min(axis=1), dtype=np.float64)


def _make_unmatched(
    layer: int, first: int, second: int, costs: Array, decisions: set[tuple[int, int]], threshold: float
) -> TopicMatch:
    second_best = float(costs.min()) if len(costs) else 1.0
    return TopicMatch(layer, first, second, 0.0, second_best - threshold, (first, second) in decisions)


def _list_unmatched(layer: int, first: int, second: int) -> list[TopicMatch]:
    """Return the topics of a layer that only one side has."""
    matches = [TopicMatch(layer, column, NONE, 0.0, 1.0, fixed=False) for column in range(first)]
    return matches + [TopicMatch(layer, NONE, column, 0.0, 1.0, fixed=False) for column in range(second)]
