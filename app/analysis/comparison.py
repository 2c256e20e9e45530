"""Two hierarchies side by side: which topic is which, what its words did, and what else could have been matched.

``a`` is what is compared with (the older run, the other seed), ``b`` what is looked at: "gained" and
"entered" mean that ``b`` has it and ``a`` has not.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from app.analysis.hierarchy import Hierarchy
from engine.contract import Topics
from engine.hierarchy.align import NONE, Alignment, TopicPair, align_hierarchies
from engine.hierarchy.tree import Node

Side: TypeAlias = Literal["a", "b"]
SHOWN_WORDS = 12
NEAR_WORDS = 24  # a word has left when it is not even among so many

Rows: TypeAlias = NDArray[np.intp]


class Pair(NamedTuple):
    """A topic of ``a`` and its partner in ``b``; one of them is None where there is none.

    ``score``, ``margin`` and ``fixed`` are those of `engine.hierarchy.align.Match`.
    """

    a: Node | None
    b: Node | None
    score: float
    margin: float
    fixed: bool

    @property
    def layer(self) -> int:
        """The layer of both."""
        return (self.a or self.b or Node(0, 0)).layer

    @property
    def paired(self) -> bool:
        """Whether both are there."""
        return self.a is not None and self.b is not None

    def on(self, side: Side) -> Node | None:
        """The topic of one side."""
        return self.a if side == "a" else self.b


Absence: TypeAlias = Literal["", "pruned", "new"]


class Partner(NamedTuple):
    """A topic that could be matched, and how well it would fit."""

    node: Node
    score: float


class WordChange(NamedTuple):
    """Words of a pair: the heaviest in ``b`` that ``a`` does not have, those of ``a`` that ``b`` has lost."""

    entered: tuple[str, ...]
    left: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Comparison:
    """Two hierarchies and the pairs of their topics.

    Attributes
    ----------
    a, b : Hierarchy
    alignment : Alignment
    shared_words : int
        Words that both vocabularies have: the ones topics are compared by.
    """

    a: Hierarchy
    b: Hierarchy
    alignment: Alignment
    shared_words: int

    @cached_property
    def pairs(self) -> tuple[Pair, ...]:
        """Every topic of both, layer 1 first."""
        return tuple(
            Pair(
                _at(self.a, match.layer, match.first),
                _at(self.b, match.layer, match.second),
                match.score,
                match.margin,
                match.fixed and self.a.run != self.b.run,
            )
            for match in self.alignment.matches
        )

    @cached_property
    def _by_node(self) -> tuple[Mapping[Node, Pair], Mapping[Node, Pair]]:
        return {pair.a: pair for pair in self.pairs if pair.a}, {pair.b: pair for pair in self.pairs if pair.b}

    def hierarchy(self, side: Side) -> Hierarchy:
        """The hierarchy of one side."""
        return self.a if side == "a" else self.b

    def pair(self, side: Side, node: Node) -> Pair | None:
        """The pair a topic is in; None when that side has no such topic."""
        return self._by_node[0 if side == "a" else 1].get(node)

    def partner(self, side: Side, node: Node) -> Node | None:
        """The topic of the other side."""
        found = self.pair(side, node)
        return None if found is None else found.on(other(side))

    def share_change(self, pair: Pair) -> float:
        """Share of the layer's popularity in ``b`` minus that in ``a``; a missing topic has none."""
        now = self.b.share(pair.b) if pair.b else 0.0
        return now - (self.a.share(pair.a) if pair.a else 0.0)

    def absence(self, pair: Pair) -> Absence:
        """Why one side of a pair is missing: in one run, topics are pruned, and come with new layers."""
        if pair.paired or self.a.run != self.b.run:
            return ""
        there = self.b if pair.a is None else self.a
        return "pruned" if there.minibatch == min(self.a.minibatch, self.b.minibatch) else "new"

    def words(self, pair: Pair) -> WordChange:
        """Words that entered and left; none where a partner is missing.

        A word of the 12 heaviest of one side counts when it is not among the 24 heaviest of the other:
        places swapped at the edge are no change.
        """
        if pair.a is None or pair.b is None:
            return WordChange((), ())
        before, now = self.a.top_words(pair.a, NEAR_WORDS), self.b.top_words(pair.b, NEAR_WORDS)
        old, new = {word.text for word in before}, {word.text for word in now}
        return WordChange(
            tuple(word.text for word in now[:SHOWN_WORDS] if word.text not in old),
            tuple(word.text for word in before[:SHOWN_WORDS] if word.text not in new),
        )

    def candidates(self, side: Side, node: Node) -> list[Partner]:
        """Topics of the other side that this one could be matched with, best first."""
        if node.layer > len(self.alignment.costs):
            return []
        costs = self.alignment.costs[node.layer - 1]
        place, there = self.hierarchy(side).place(node), self.hierarchy(other(side))
        row = costs[place] if side == "a" else costs[:, place]
        order = np.argsort(row, kind="stable").tolist()
        nodes = ((_at(there, node.layer, column), column) for column in order)
        return [Partner(found, 1.0 - float(row[column])) for found, column in nodes if found is not None]


def other(side: Side) -> Side:
    """The other side."""
    return "b" if side == "a" else "a"


def compare(a: Hierarchy, b: Hierarchy, decisions: Collection[TopicPair] = ()) -> Comparison:
    """Match the topics of two hierarchies; takes seconds for large ones.

    Topics of two snapshots of one run are paired by their numbers, others by what they are about; where runs of one
    line of forks have several topics that are nearly the same, each keeps its number.

    Parameters
    ----------
    a, b : Hierarchy
        Of any runs; where the vocabularies differ, the words that both have are compared.
    decisions : collection of Fixed
        What people decided, with ``a`` as the first, by the numbers of topics (counted from 0).

    Raises
    ------
    ValueError
        When the two have no word in common.
    """
    first, second = (Topics(side.phi, side.r, popularity=side.popularity) for side in (a, b))
    rows = _shared(a, b)
    signed = any(each is not None for each in (*a.lowers, *b.lowers))
    own = (None, None) if rows is None else rows
    projected = _words(a, own[0], signed=signed), _words(b, own[1], signed=signed)
    shared = len(a.vocabulary) if rows is None else len(rows[0])
    fixed = _by_number(a, b) if a.run == b.run else _placed(a, b, decisions)
    known = [each for each in _by_number(a, b) if NONE not in (each.first, each.second)] if a.family == b.family else []
    return Comparison(a, b, align_hierarchies(first, second, projected=projected, fixed=fixed, known=known), shared)


def _words(side: Hierarchy, rows: NDArray[Any] | None, *, signed: bool) -> tuple[NDArray[Any], ...]:
    """What topics do to the words of ``rows``, for their alignment: what they lower stands below what they raise."""
    raised = [table if rows is None else table[rows] for table in side.projections]
    if not signed:
        return tuple(raised)
    lowers = side.lowers or (None,) * side.n_layers
    fallen = (None if table is None or rows is None else table[rows] for table in lowers)
    pairs = zip(raised, lowers if rows is None else fallen, strict=True)
    return tuple(np.concatenate([up, np.zeros_like(up) if down is None else down]) for up, down in pairs)


def _at(hierarchy: Hierarchy, layer: int, column: int) -> Node | None:
    """The topic in a column of Phi^(layer)."""
    if column == NONE:
        return None
    return Node(layer, int(hierarchy.names[layer - 1][column]) if hierarchy.names else column)


def _placed(a: Hierarchy, b: Hierarchy, decisions: Collection[TopicPair]) -> list[TopicPair]:
    """Give decisions about topics that both snapshots still have, by the columns they are in."""
    found = []
    for each in decisions:
        first, second = _column(a, each.layer, each.first), _column(b, each.layer, each.second)
        if first is not None and second is not None:
            found.append(TopicPair(each.layer, first, second))
    return found


def _column(hierarchy: Hierarchy, layer: int, number: int) -> int | None:
    """Column of a topic, `NONE` for no topic; None when the snapshot has no such topic."""
    if number == NONE:
        return NONE
    node = Node(layer, number)
    return hierarchy.place(node) if hierarchy.has(node) else None


def _by_number(a: Hierarchy, b: Hierarchy) -> list[TopicPair]:
    """Pair topics by their numbers; what one snapshot has and the other has not stays alone."""
    found = []
    for layer in range(1, min(a.n_layers, b.n_layers) + 1):
        for node in sorted({*a.nodes(layer), *b.nodes(layer)}):
            places = [hierarchy.place(node) if hierarchy.has(node) else NONE for hierarchy in (a, b)]
            found.append(TopicPair(layer, *places))
    return found


def _shared(a: Hierarchy, b: Hierarchy) -> tuple[Rows, Rows] | None:
    """Places of the shared words in both vocabularies; None when these are the same."""
    if a.vocabulary == b.vocabulary:
        return None
    places = {word: place for place, word in enumerate(b.vocabulary)}
    found = [(place, places[word]) for place, word in enumerate(a.vocabulary) if word in places]
    if not found:
        raise ValueError(f"Runs {a.run} and {b.run} have no word in common, so their topics cannot be compared.")
    rows = np.array(found, dtype=np.intp)
    return rows[:, 0], rows[:, 1]
