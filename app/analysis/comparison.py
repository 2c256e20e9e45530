"""Two hierarchies side by side: matched topics, their changed words, and other possible matches.

``a`` is the reference (the older run, the other seed), ``b`` the run on screen: "gained" and "entered" mean that
``b`` has something that ``a`` does not have.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from topiary.app.analysis.hierarchy import Hierarchy
from topiary.engine.contract import Topics
from topiary.engine.hierarchy.align import NONE, Alignment, TopicPair, align_hierarchies
from topiary.engine.hierarchy.tree import Edge, Node

Side: TypeAlias = Literal["a", "b"]
SIDES: tuple[Side, ...] = ("a", "b")
SHOWN_WORDS = 12
NEAR_WORDS = 24  # a word has left a topic when it is no longer among its first 24

Rows: TypeAlias = NDArray[np.intp]


class Pair(NamedTuple):
    """A topic of ``a`` and its partner in ``b``; one of them is None where there is none.

    ``score``, ``margin`` and ``fixed`` are defined in `engine.hierarchy.align.TopicMatch`.
    """

    a: Node | None
    b: Node | None
    score: float
    margin: float
    fixed: bool

    @property
    def layer(self) -> int:
        """The layer of the two topics."""
        return (self.a or self.b or Node(0, 0)).layer

    @property
    def paired(self) -> bool:
        """Return True if both sides have the topic."""
        return self.a is not None and self.b is not None

    def on(self, side: Side) -> Node | None:
        """Return the topic of one side, None where it is missing."""
        return self.a if side == "a" else self.b


Absence: TypeAlias = Literal["", "pruned", "new"]


class Partner(NamedTuple):
    """A topic that another could be matched with, and the score of that match."""

    node: Node
    score: float


class WordChange(NamedTuple):
    """The words that entered and left a topic: heavy words in ``b`` that ``a`` lacks, and the reverse."""

    entered: tuple[str, ...]
    left: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Comparison:
    """Two hierarchies and the pairs of their topics.

    Attributes
    ----------
    shared_words : int
        Number of words that both vocabularies have; only these are compared.
    """

    a: Hierarchy
    b: Hierarchy
    alignment: Alignment
    shared_words: int

    @cached_property
    def pairs(self) -> tuple[Pair, ...]:
        """The pairs of all topics of both hierarchies, layer 1 first."""
        return tuple(
            Pair(
                _find_node(self.a, match.layer, match.first),
                _find_node(self.b, match.layer, match.second),
                match.score,
                match.margin,
                match.fixed and self.a.run != self.b.run,
            )
            for match in self.alignment.matches
        )

    @cached_property
    def _by_node(self) -> tuple[Mapping[Node, Pair], Mapping[Node, Pair]]:
        """The pairs by their topics of ``a``, and by their topics of ``b``."""
        return {pair.a: pair for pair in self.pairs if pair.a}, {pair.b: pair for pair in self.pairs if pair.b}

    @property
    def mean_score(self) -> float:
        """The mean score of the pairs of all layers; 0 without pairs."""
        scores = [pair.score for pair in self.pairs if pair.paired]
        return sum(scores) / max(len(scores), 1)

    def hierarchy(self, side: Side) -> Hierarchy:
        """Return the hierarchy of one side."""
        return self.a if side == "a" else self.b

    def pair(self, side: Side, node: Node) -> Pair | None:
        """Return the pair of a topic of one side; None when that side has no such topic."""
        return self._by_node[0 if side == "a" else 1].get(node)

    def partner(self, side: Side, node: Node) -> Node | None:
        """Return the partner of a topic on the other side; None when it has none."""
        pair = self.pair(side, node)
        return None if pair is None else pair.on(get_other_side(side))

    def compute_share_change(self, pair: Pair) -> float:
        """Return the share of the layer's popularity in ``b`` minus that in ``a``; a missing topic has a share of 0."""
        now = self.b.share(pair.b) if pair.b else 0.0
        return now - (self.a.share(pair.a) if pair.a else 0.0)

    def find_absence(self, pair: Pair) -> Absence:
        """Return why a pair lacks a topic: within one run it was pruned or is new; empty in all other cases."""
        if pair.paired or self.a.run != self.b.run:
            return ""
        present_side = self.b if pair.a is None else self.a
        return "pruned" if present_side.minibatch == min(self.a.minibatch, self.b.minibatch) else "new"

    def words(self, pair: Pair) -> WordChange:
        """Return the words that entered and left a topic; none where a partner is missing.

        Among the 12 heaviest words of one side, those count that are not among the 24 heaviest of the other, so that
        a word that moves from rank 12 to 13 does not.
        """
        if pair.a is None or pair.b is None:
            return WordChange((), ())
        before, now = self.a.top_words(pair.a, NEAR_WORDS), self.b.top_words(pair.b, NEAR_WORDS)
        old_words, new_words = {word.text for word in before}, {word.text for word in now}
        return WordChange(
            tuple(word.text for word in now[:SHOWN_WORDS] if word.text not in old_words),
            tuple(word.text for word in before[:SHOWN_WORDS] if word.text not in new_words),
        )

    def find_relation(self, pair: Pair) -> str:
        """Return what the topics of a pair are to each other: ``nearest``, or ``no partner``.

        Only topics of one run are ``the same topic``, by their numbers.  Whatever was matched by words is the nearest
        to one of the two, or the ``nearest left`` where nearer ones suit others better; or it was ``matched by hand``.
        """
        if pair.a is None or pair.b is None:
            return self.find_absence(pair) or "no partner"
        if self.a.run == self.b.run:
            return "the same topic"
        if pair.fixed:
            return "matched by hand"
        costs = self.alignment.costs[pair.layer - 1]
        row, column = costs[self.a.place(pair.a)], costs[:, self.b.place(pair.b)]
        return "nearest" if row[self.b.place(pair.b)] <= max(row.min(), column.min()) else "nearest left"

    def list_candidates(self, side: Side, node: Node) -> list[Partner]:
        """Return the topics of the other side that this one could be matched with, best first."""
        if node.layer > len(self.alignment.costs):
            return []
        costs = self.alignment.costs[node.layer - 1]
        own_column, other_hierarchy = self.hierarchy(side).place(node), self.hierarchy(get_other_side(side))
        row = costs[own_column] if side == "a" else costs[:, own_column]
        order = np.argsort(row, kind="stable").tolist()
        nodes = ((_find_node(other_hierarchy, node.layer, column), column) for column in order)
        return [Partner(partner, 1.0 - float(row[column])) for partner, column in nodes if partner is not None]


def get_other_side(side: Side) -> Side:
    """Return the side opposite to ``side``."""
    return "b" if side == "a" else "a"


def compare(a: Hierarchy, b: Hierarchy, decisions: Collection[TopicPair] = ()) -> Comparison:
    """Match the topics of two hierarchies; takes seconds for large ones.

    Topics of two snapshots of one run are paired by their numbers, others by their words and parents.  Where runs that
    descend from a common run by forking have several topics that are nearly the same, those with equal numbers are
    paired.

    Parameters
    ----------
    a, b : Hierarchy
        Hierarchies of any runs; where their vocabularies differ, only the words that both have are compared.
    decisions : collection of TopicPair
        The matches that analysts decided: the number of the topic of ``a`` first, counted from 0.

    Raises
    ------
    ValueError
        When the two have no word in common.
    """
    first, second = (Topics(side.phi, side.r, popularity=side.popularity) for side in (a, b))
    rows = _find_shared_words(a, b)
    signed = any(each is not None for each in (*a.lowers, *b.lowers))
    rows_by_side = (None, None) if rows is None else rows
    projected = (
        _stack_word_weights(a, rows_by_side[0], signed=signed),
        _stack_word_weights(b, rows_by_side[1], signed=signed),
    )
    shared = len(a.vocabulary) if rows is None else len(rows[0])
    fixed = _pair_by_number(a, b) if a.run == b.run else _locate_decisions(a, b, decisions)
    known = (
        [each for each in _pair_by_number(a, b) if NONE not in (each.first, each.second)]
        if a.family == b.family
        else []
    )
    return Comparison(a, b, align_hierarchies(first, second, projected=projected, fixed=fixed, known=known), shared)


def _stack_word_weights(side: Hierarchy, rows: NDArray[Any] | None, *, signed: bool) -> tuple[NDArray[Any], ...]:
    """Return the weights (words, K_l) of every layer for the alignment.

    ``rows`` selects the shared words, None = all.  With ``signed``, the weights of lowered words are appended as
    further rows, zeros where a layer has none.
    """
    raised = [table if rows is None else table[rows] for table in side.projections]
    if not signed:
        return tuple(raised)
    lowers = side.lowers or (None,) * side.n_layers
    shared_lowers = (None if table is None or rows is None else table[rows] for table in lowers)
    pairs = zip(raised, lowers if rows is None else shared_lowers, strict=True)
    return tuple(np.concatenate([up, np.zeros_like(up) if down is None else down]) for up, down in pairs)


def _find_node(hierarchy: Hierarchy, layer: int, column: int) -> Node | None:
    """Return the topic in a column of Phi^(layer); None for the column `NONE`."""
    if column == NONE:
        return None
    return Node(layer, int(hierarchy.names[layer - 1][column]) if hierarchy.names else column)


def _locate_decisions(a: Hierarchy, b: Hierarchy, decisions: Collection[TopicPair]) -> list[TopicPair]:
    """Translate decisions from topic numbers to columns, leaving out topics that a snapshot no longer has."""
    pairs = []
    for each in decisions:
        first, second = _find_column(a, each.layer, each.first), _find_column(b, each.layer, each.second)
        if first is not None and second is not None:
            pairs.append(TopicPair(each.layer, first, second))
    return pairs


def _find_column(hierarchy: Hierarchy, layer: int, number: int) -> int | None:
    """Return the column of a topic, `NONE` for the number `NONE`; None when the snapshot lacks the topic."""
    if number == NONE:
        return NONE
    node = Node(layer, number)
    return hierarchy.place(node) if hierarchy.has(node) else None


def _pair_by_number(a: Hierarchy, b: Hierarchy) -> list[TopicPair]:
    """Pair topics by their numbers; a topic that only one snapshot has is paired with `NONE`."""
    pairs = []
    for layer in range(1, min(a.n_layers, b.n_layers) + 1):
        for node in sorted({*a.nodes(layer), *b.nodes(layer)}):
            columns = [hierarchy.place(node) if hierarchy.has(node) else NONE for hierarchy in (a, b)]
            pairs.append(TopicPair(layer, *columns))
    return pairs


def _find_shared_words(a: Hierarchy, b: Hierarchy) -> tuple[Rows, Rows] | None:
    """Return the positions of the shared words in both vocabularies; None when the vocabularies are the same."""
    if a.vocabulary == b.vocabulary:
        return None
    numbers = {word: number for number, word in enumerate(b.vocabulary)}
    pairs = [(number, numbers[word]) for number, word in enumerate(a.vocabulary) if word in numbers]
    if not pairs:
        raise ValueError(f"Runs {a.run} and {b.run} have no word in common, so their topics cannot be compared.")
    rows = np.array(pairs, dtype=np.intp)
    return rows[:, 0], rows[:, 1]


Kind: TypeAlias = Literal["gained", "lost", "stronger", "weaker", "same"]
KINDS: tuple[Kind, ...] = ("gained", "lost", "stronger", "weaker", "same")
FACTOR = 1.5  # an edge counts as stronger or weaker when its weight, relative to a flat topic, changed by this factor


class EdgeChange(NamedTuple):
    """An edge above the threshold on at least one side.

    ``a`` and ``b`` are the edge on either side, None where one of its topics has no partner there.  ``ratio`` is the
    weight in ``b`` divided by the weight in ``a``, each as a multiple of the weight in a flat topic; it is 0 where
    ``b`` is None and inf where ``a`` is.
    """

    kind: Kind
    a: Edge | None
    b: Edge | None
    ratio: float

    @property
    def layer(self) -> int:
        """The layer of the parent topic."""
        edge = self.a or self.b
        return edge.layer if edge else 0


class Agreement(NamedTuple):
    """The agreement of two hierarchies.

    Attributes
    ----------
    scores : tuple of float
        Mean score of the pairs of each layer that both have; nan for a layer without pairs.
    matched : tuple of float
        Share of each layer's popularity that lies in matched topics, the mean of both sides.
    edges : float
        F1 score of the edges above the threshold: twice the number that both sides have, divided by the sum of the
        numbers of both sides; nan without edges.
    correlation : float
        Pearson correlation of the square roots of the weights, with their signs, of all edges between matched topics.
    """

    scores: tuple[float, ...]
    matched: tuple[float, ...]
    edges: float
    correlation: float


def find_edge_changes(comparison: Comparison, threshold: float) -> list[EdgeChange]:
    """Return the changes of all edges that are above ``threshold / K`` in either hierarchy.

    An edge whose sign has changed counts as lost and as gained.  Edges of ``a`` come first, in the hierarchy's order,
    then the gained ones.
    """
    a, b = comparison.a, comparison.b
    edges_b = {(edge.above, edge.below) for edge in b.edges(threshold)}
    changes, common = [], set()
    for edge in a.edges(threshold):
        twin = _find_twin(comparison, edge)
        sign_changed = twin is not None and twin.weight * edge.weight < 0  # raised on one side, lowered on the other
        if twin is None or sign_changed or (twin.above, twin.below) not in edges_b:
            changes.append(EdgeChange("lost", edge, twin, _compute_ratio(comparison, edge, twin)))
        else:
            common.add((twin.above, twin.below))
            ratio = _compute_ratio(comparison, edge, twin)
            kind: Kind = "stronger" if ratio >= FACTOR else "weaker" if ratio <= 1 / FACTOR else "same"
            changes.append(EdgeChange(kind, edge, twin, ratio))
    for edge in b.edges(threshold):
        if (edge.above, edge.below) not in common:
            twin = _find_twin(comparison, edge, back=True)
            changes.append(EdgeChange("gained", twin, edge, _compute_ratio(comparison, twin, edge)))
    return changes


def count_kinds(changes: Iterable[EdgeChange]) -> dict[Kind, int]:
    """Return the number of edges of each kind of change."""
    counts = Counter(change.kind for change in changes)
    return {kind: counts[kind] for kind in KINDS}


def measure_agreement(comparison: Comparison, changes: Iterable[EdgeChange]) -> Agreement:
    """Measure how far two hierarchies agree; ``changes`` is the result of `find_edge_changes`."""
    layers = range(1, len(comparison.alignment.costs) + 1)
    scores, matched = [], []
    for layer in layers:
        pairs = [pair for pair in comparison.pairs if pair.layer == layer and pair.paired]
        scores.append(float(np.mean([pair.score for pair in pairs])) if pairs else float("nan"))
        shares = [comparison.a.share(pair.a) + comparison.b.share(pair.b) for pair in pairs if pair.a and pair.b]
        matched.append(min(1.0, float(sum(shares)) / 2))  # shares sum to 1 apart from rounding
    counts = count_kinds(changes)
    n_kept = counts["stronger"] + counts["weaker"] + counts["same"]
    n_total = 2 * n_kept + counts["gained"] + counts["lost"]
    f1 = 2 * n_kept / n_total if n_total else float("nan")
    return Agreement(tuple(scores), tuple(matched), f1, _correlate_edges(comparison))


def _find_twin(comparison: Comparison, edge: Edge, *, back: bool = False) -> Edge | None:
    """Return the same edge on the other side, with its weight there; None when one of its topics has no partner.

    The edge is one of ``a``, or with ``back`` one of ``b``.
    """
    side: Side = "b" if back else "a"
    other_hierarchy = comparison.hierarchy(get_other_side(side))
    above, below = comparison.partner(side, edge.above), comparison.partner(side, edge.below)
    if above is None or below is None:
        return None
    weight = float(other_hierarchy.phi[edge.layer - 1][other_hierarchy.place(below), other_hierarchy.place(above)])
    return Edge(edge.layer, above.column, below.column, weight)


def _compute_ratio(comparison: Comparison, a: Edge | None, b: Edge | None) -> float:
    """Return the weight of an edge in ``b`` divided by that in ``a``, each relative to a flat topic."""
    before = a.size * comparison.a.widths[a.layer - 2] if a else 0.0
    now = b.size * comparison.b.widths[b.layer - 2] if b else 0.0
    return now / before if before > 0 else float("inf")


def _correlate_edges(comparison: Comparison) -> float:
    """Return the correlation of the weights of all edges between matched topics, including light ones.

    Weights are replaced by their square roots with the same sign; nan with fewer than two edges or without variance.
    """
    before, now = [np.zeros(0)], [np.zeros(0)]
    for layer in range(2, len(comparison.alignment.costs) + 1):
        upper, lower = comparison.alignment.partners(layer), comparison.alignment.partners(layer - 1)
        for values, hierarchy, rows, columns in (
            (before, comparison.a, list(lower), list(upper)),
            (now, comparison.b, list(lower.values()), list(upper.values())),
        ):
            weights = hierarchy.phi[layer - 1][np.ix_(rows, columns)].astype(np.float64)
            values.append((np.sign(weights) * np.sqrt(np.abs(weights) * hierarchy.widths[layer - 2])).ravel())
    x, y = np.concatenate(before), np.concatenate(now)
    if len(x) < 2 or x.std() == 0 or y.std() == 0:
        return float("nan")
    return float(np.corrcoef(x, y)[0, 1])
