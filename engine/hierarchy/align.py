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

Recurrence: which topics, edges and words of one run come back in runs that differ from it in the seed alone.

Every other run is aligned to a reference run (:mod:`engine.hierarchy.align`).  The alignment pairs topics that are the
best for each other, however unlike they are, so a pair alone does not mean that a topic has come back.  A topic is
*found* in a run if the cosine between its words and those of its partner is at least the larger of

- ``LEAST_COSINE`` = 0.5, which lies between partners that are alike and pairs of topics that are not: on the BBC news
  (64-32-16, 300 sweeps, five seeds), 88 % of the partners of layer 1 are above it, most of them above 0.8, and of the
  pairs that are no partners 0.9 %; and
- the level of chance of the layer: the cosine that only 5 % of the pairs of the layer exceed that are no partners.
  High up all topics consist of the same frequent words, so that 0.5 would find unrelated ones: there, the level is
  about 0.6 in layer 2 and 0.8 in layer 3.

An edge is found in a run if both of its topics are, and the edge between their partners is above the threshold too.

Agreement is adjusted for chance, ``(a - b) / (1 - b)`` with b the same share if topics had partners at random: without
this, one giant topic that every run has, or parents that all children share evenly, would pass for agreement.
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import scipy
from numpy.typing import NDArray

from topiary.engine.contract import Array, FloatArray, IntArray, Topics
from topiary.engine.hierarchy import effects, topics

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


LEAST_COSINE = 0.5
CHANCE = 0.95  # quantile of the cosines of pairs that are no partners
MOST = 0.8  # share of the other runs that must have found something before most of them are said to have
_LEAST_NORM = 1e-12


class SeedTopics(NamedTuple):
    """The topics of one of several runs that differ in the seed alone.

    Attributes
    ----------
    topics : Topics
        ``phi[0]`` over the V words, then the weights of the edges, which may be negative.
    words : tuple of (V, K_l) arrays
        The topics projected to the words.
    listed : tuple of (K_l, n) int arrays
        The words that are shown of every topic.
    """

    topics: Topics
    words: tuple[Array, ...]
    listed: tuple[Array, ...]

    @property
    def n_layers(self) -> int:
        """The number of layers L."""
        return len(self.words)


class ConsensusWord(NamedTuple):
    """A word that is shown of a topic in most of the runs that have the topic.

    Attributes
    ----------
    word : int
        Number in the vocabulary.
    runs : int
        Number of runs in which it is among the words shown of the topic.
    probability : float
        Mean of its probability over all runs that have the topic.
    """

    word: int
    runs: int
    probability: float


class Recurrence(NamedTuple):
    """What of a reference run comes back in other runs; every count includes the reference itself.

    Attributes
    ----------
    n_runs : int
        Number of runs n, at least 1.
    partners : tuple of (n - 1, K_l) int arrays
        Column of the partner in each other run in which the topic is found, else `NONE`.
    cosines : tuple of (n - 1, K_l) float arrays
        Cosine between a topic and its partner, whether it counts as found or not; 0 without a partner.
    levels : tuple of (n - 1,) float arrays
        The least cosine at which a topic is found, for each other run.
    edges : tuple of (n, K_{l-1}, K_l) float32 arrays
        For l = 2 ... L and each run, the reference first: weights of the edges between the partners times K_{l-1} of
        that run, 0 where a topic is not found.
    consensus : tuple of tuple of tuple of ConsensusWord
        Words of every topic by layer and column, those of most runs first, then by probability.
    shares : tuple of (K_l,) float arrays
        Shares of the topics of the reference in their layer.
    agreements : tuple of (n - 1,) float arrays
        Share of each layer that lies in topics found in each other run, adjusted for chance.
    edge_agreements : tuple of (n - 1,) float arrays
        For l = 2 ... L, the overlap of parents in each other run (:func:`measure_parent_overlap`).
    """

    n_runs: int
    partners: tuple[IntArray, ...]
    cosines: tuple[FloatArray, ...]
    levels: tuple[FloatArray, ...]
    edges: tuple[NDArray[np.float32], ...]
    consensus: tuple[tuple[tuple[ConsensusWord, ...], ...], ...]
    shares: tuple[FloatArray, ...]
    agreements: tuple[FloatArray, ...]
    edge_agreements: tuple[FloatArray, ...]

    def count_runs(self, layer: int) -> IntArray:
        """Return the number (K_l,) of runs in which each topic of a layer is found, 1 to n."""
        return np.asarray(1 + (self.partners[layer - 1] != NONE).sum(axis=0))

    def count_edge_runs(self, layer: int, threshold: float) -> IntArray:
        """Return the number (K_{l-1}, K_l) of runs in which each edge below a layer >= 2 is above threshold / K_{l-1}.

        It is 0 for edges that the reference does not have.  An edge that raises in one run and lowers in another is
        not the same edge.
        """
        weights = self.edges[layer - 2]
        above = (np.abs(weights) > threshold) & (np.sign(weights) == np.sign(weights[0]))
        return np.asarray(above.sum(axis=0) * above[0])

    def measure_agreement(self, layer: int) -> float:
        """Return the share of a layer in topics found in another run, adjusted for chance; nan without another run.

        0: no more topics come back than with partners at random; 1: every topic comes back in all runs.
        """
        return max(float(self.agreements[layer - 1].mean()), 0.0) if self.n_runs > 1 else float("nan")

    def measure_edge_agreement(self, layer: int) -> float:
        """Return the overlap of parents in a layer >= 2, 0 if no better than chance; nan without another run."""
        return max(float(self.edge_agreements[layer - 2].mean()), 0.0) if self.n_runs > 1 else float("nan")


def count_most(others: int) -> int:
    """Return how many of so many runs with other seeds must find something that most of them find: 4 of 4, 8 of 9."""
    return max(1, -(-round(100 * MOST) * others // 100))


def measure_recurrence(
    reference: SeedTopics, others: Sequence[SeedTopics], alignments: Sequence[Alignment] | None = None
) -> Recurrence:
    """Find the topics, edges and words of a reference run in other runs of the same corpus.

    Parameters
    ----------
    reference : SeedTopics
    others : sequence of SeedTopics
        Over the same words; their widths and depths may differ from those of the reference.
    alignments : sequence of Alignment, optional
        Of the reference with each other run, if the caller has them; a pair that a user decided counts as found.

    Raises
    ------
    ValueError
        If a run has another number of words.
    """
    if alignments is None:
        alignments = [_align_pair(reference, other) for other in others]
    partners, cosines, levels, chances = [], [], [], []
    for layer in range(1, reference.n_layers + 1):
        found = [_find_partners(reference, *pair, layer) for pair in zip(others, alignments, strict=True)]
        width = reference.words[layer - 1].shape[1]
        partners.append(np.array([each.partners for each in found], dtype=np.int64).reshape(-1, width))
        cosines.append(np.array([each.cosines for each in found], dtype=np.float64).reshape(-1, width))
        levels.append(np.array([each.level for each in found], dtype=np.float64))
        chances.append(np.array([each.chances for each in found], dtype=np.float64).reshape(-1, width))
    edges = tuple(_relate_edges(reference, others, partners, layer) for layer in range(2, reference.n_layers + 1))
    popularity = effects.compute_popularity(reference.topics)
    consensus = tuple(_list_consensus(reference, others, each, layer) for layer, each in enumerate(partners, start=1))
    shares = tuple(topics.compute_shares(weights) for weights in popularity)
    agreements = tuple(
        np.array(
            [
                _adjust(float(share[row != NONE].sum()), float(share @ chance))
                for row, chance in zip(rows, by_run, strict=True)
            ]
        )
        for share, rows, by_run in zip(shares, partners, chances, strict=True)
    )
    overlaps = tuple(_compare_parents(reference, others, partners, layer) for layer in range(2, len(partners) + 1))
    return Recurrence(
        1 + len(others), tuple(partners), tuple(cosines), tuple(levels), edges, consensus, shares, agreements, overlaps
    )


def share_parents(phi: Array, popularity: Array) -> FloatArray:
    """Return for every topic (row) below a layer the share of its weight that each parent of the layer has.

    Parameters
    ----------
    phi : (K_{l-1}, K_l) array
        Weights of the edges, which may be negative.
    popularity : (K_l,) array
    """
    weights = np.abs(np.asarray(phi, dtype=np.float64)) * popularity
    return np.asarray(weights / np.maximum(weights.sum(axis=1, keepdims=True), np.finfo(float).tiny))


def measure_parent_overlap(parents: FloatArray, others: FloatArray, partners: IntArray, above: IntArray) -> float:
    """Return the overlap of topics' parents with those of their partners, the mean over topics, adjusted for chance.

    Parameters
    ----------
    parents, others : (K_{l-1}, K_l) arrays
        Of two hierarchies, from :func:`share_parents`.
    partners, above : (K_{l-1},) and (K_l,) int arrays
        The partner in ``others`` of each topic, and of each parent; `NONE` without one.

    Returns
    -------
    float
        ``(a - b) / (1 - b)``: a is the overlap with the partner, b the mean with every other's in its place.
    """
    matched = np.zeros_like(parents)
    rows, columns = np.flatnonzero(partners != NONE), np.flatnonzero(above != NONE)
    matched[np.ix_(rows, columns)] = others[np.ix_(partners[rows], above[columns])]
    raw = np.minimum(parents, matched).sum(axis=1).mean()
    chance = np.mean([np.minimum(row, matched).sum(axis=1).mean() for row in parents])
    return _adjust(float(raw), float(chance))


def _adjust(agreement: float, chance: float) -> float:
    """Return an agreement adjusted for chance; if chance alone agrees, whether the agreement is as good."""
    if chance >= 1.0 - _LEAST_NORM:
        return float(agreement >= chance - _LEAST_NORM)
    return float((agreement - chance) / (1.0 - chance))


def _compare_parents(
    reference: SeedTopics, others: Sequence[SeedTopics], partners: Sequence[IntArray], layer: int
) -> FloatArray:
    """Return ``edge_agreements`` of :class:`Recurrence` for one layer."""
    own, *rest = (
        share_parents(run.topics.phi[layer - 1], effects.compute_popularity(run.topics)[layer - 1])
        if layer <= run.n_layers
        else np.zeros((0, 0))
        for run in (reference, *others)
    )
    triples = zip(rest, partners[layer - 2], partners[layer - 1], strict=True)
    return np.array([measure_parent_overlap(own, *triple) for triple in triples])


class _FoundTopics(NamedTuple):
    """The partners (K_l,) of the topics of a layer in one run, their cosines, and the least cosine that counts.

    ``chances`` (K_l,) is the share of the other run's topics that are as like each topic as this cosine.
    """

    partners: IntArray
    cosines: FloatArray
    level: float
    chances: FloatArray


def _align_pair(reference: SeedTopics, other: SeedTopics) -> Alignment:
    return align_hierarchies(reference.topics, other.topics, projected=(reference.words, other.words))


def _find_partners(reference: SeedTopics, other: SeedTopics, alignment: Alignment, layer: int) -> _FoundTopics:
    """Return where the topics of a layer are found in another run."""
    width = reference.words[layer - 1].shape[1]
    found, similarities = np.full(width, NONE, dtype=np.int64), np.zeros(width)
    pairs = [match for match in alignment.matches if match.layer == layer and match.paired]
    if not pairs:
        return _FoundTopics(found, similarities, LEAST_COSINE, np.zeros(width))
    table = _compute_cosines(reference.words[layer - 1], other.words[layer - 1])
    rows, columns = np.array([(match.first, match.second) for match in pairs], dtype=np.intp).T
    decided = np.array([match.fixed for match in pairs])
    similarities[rows] = table[rows, columns]
    level = max(LEAST_COSINE, _estimate_chance(table, rows, columns))
    is_found = (similarities[rows] >= level) | decided
    found[rows[is_found]] = columns[is_found]
    return _FoundTopics(found, similarities, level, np.asarray((table >= level).mean(axis=1)))


def _compute_cosines(first: Array, second: Array) -> FloatArray:
    """Return the cosines (K, K') between the columns of two tables (V, K) and (V, K')."""
    scaled = [
        np.asarray(table, dtype=np.float64) / np.maximum(np.linalg.norm(table, axis=0), _LEAST_NORM)
        for table in (first, second)
    ]
    return np.asarray(np.minimum(scaled[0].T @ scaled[1], 1.0))


def _estimate_chance(table: FloatArray, rows: Array, columns: Array) -> float:
    """Return the cosine that 5 % of the pairs exceed that are no partners; 0 where all are."""
    is_random = np.ones(table.shape, dtype=bool)
    is_random[rows, columns] = False
    others = table[is_random]
    return float(np.quantile(others, CHANCE, method="lower")) if len(others) else 0.0


def _relate_edges(
    reference: SeedTopics, others: Sequence[SeedTopics], partners: Sequence[IntArray], layer: int
) -> NDArray[np.float32]:
    """Return ``edges`` of :class:`Recurrence` for one layer."""
    own = reference.topics.phi[layer - 1]
    related = np.zeros((1 + len(others), *own.shape), dtype=np.float32)
    related[0] = own * len(own)
    for index, other in enumerate(others):
        below, above = partners[layer - 2][index], partners[layer - 1][index]
        children, parents = np.flatnonzero(below != NONE), np.flatnonzero(above != NONE)
        if len(children) and len(parents):
            weights = other.topics.phi[layer - 1]
            related[index + 1][np.ix_(children, parents)] = weights[np.ix_(below[children], above[parents])] * len(
                weights
            )
    return related


def _list_consensus(
    reference: SeedTopics, others: Sequence[SeedTopics], partners: IntArray, layer: int
) -> tuple[tuple[ConsensusWord, ...], ...]:
    """Return the consensus words of every topic of a layer."""
    return tuple(
        _choose_consensus(
            [(reference, column)]
            + [(other, int(found)) for other, found in zip(others, partners[:, column], strict=True) if found != NONE],
            layer,
        )
        for column in range(reference.words[layer - 1].shape[1])
    )


def _choose_consensus(places: Sequence[tuple[SeedTopics, int]], layer: int) -> tuple[ConsensusWord, ...]:
    """Return the words shown in more than half of the runs, given the runs that have a topic and its columns there."""
    lists = [run.listed[layer - 1][column] for run, column in places]
    words, counts = np.unique(np.concatenate(lists), return_counts=True)
    kept = 2 * counts > len(places)
    words, counts = words[kept], counts[kept]
    table = np.array([run.words[layer - 1][words, column] for run, column in places], dtype=np.float64)
    weights = table.mean(axis=0)
    order = np.lexsort((words, -weights, -counts))
    triples = zip(words[order].tolist(), counts[order].tolist(), weights[order].tolist(), strict=True)
    return tuple(ConsensusWord(*each) for each in triples)
