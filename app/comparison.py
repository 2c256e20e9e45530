"""Two frames side by side: which topic is which, what its words did, and what else could have been matched.

``a`` is what is compared with (the older run, the other seed), ``b`` what is looked at: "gained" and
"entered" mean that ``b`` has it and ``a`` has not.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from app.frame import Frame
from engine.align import NONE, Alignment, Fixed, align, by_number
from engine.contract import Topics
from engine.tree import Node

Side: TypeAlias = Literal["a", "b"]
SHOWN_WORDS = 12
NEAR_WORDS = 24  # a word has left when it is not even among so many

Rows: TypeAlias = NDArray[np.intp]


class Pair(NamedTuple):
    """A topic of ``a`` and its partner in ``b``; one of them is None where there is none.

    ``score``, ``margin`` and ``fixed`` are those of `engine.align.Match`.
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
    """Two frames and the pairs of their topics.

    Attributes
    ----------
    a, b : Frame
    alignment : Alignment
    shared_words : int
        Words that both vocabularies have: the ones topics are compared by.
    """

    a: Frame
    b: Frame
    alignment: Alignment
    shared_words: int

    @cached_property
    def pairs(self) -> tuple[Pair, ...]:
        """Every topic of both, layer 1 first."""
        return tuple(
            Pair(
                None if match.first == NONE else Node(match.layer, match.first),
                None if match.second == NONE else Node(match.layer, match.second),
                match.score,
                match.margin,
                match.fixed,
            )
            for match in self.alignment.matches
        )

    @cached_property
    def _by_node(self) -> tuple[Mapping[Node, Pair], Mapping[Node, Pair]]:
        return {pair.a: pair for pair in self.pairs if pair.a}, {pair.b: pair for pair in self.pairs if pair.b}

    def frame(self, side: Side) -> Frame:
        """The frame of one side."""
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
        row = costs[node.column] if side == "a" else costs[:, node.column]
        order = np.argsort(row, kind="stable").tolist()
        return [Partner(Node(node.layer, column), 1.0 - float(row[column])) for column in order]


def other(side: Side) -> Side:
    """The other side."""
    return "b" if side == "a" else "a"


def compare(a: Frame, b: Frame, decisions: Collection[Fixed] = ()) -> Comparison:
    """Match the topics of two frames; takes seconds for large ones.

    Topics of two snapshots of one run are paired by their numbers, others by what they are about.

    Parameters
    ----------
    a, b : Frame
        Of any runs; where the vocabularies differ, the words that both have are compared.
    decisions : collection of Fixed
        What people decided, with ``a`` as the first.

    Raises
    ------
    ValueError
        When the two have no word in common.
    """
    first, second = Topics(a.phi, a.r), Topics(b.phi, b.r)
    rows = _shared(a, b)
    projected = a.projections, b.projections
    if rows is not None:
        projected = tuple(each[rows[0]] for each in projected[0]), tuple(each[rows[1]] for each in projected[1])
    shared = len(a.vocabulary) if rows is None else len(rows[0])
    if a.run == b.run and a.widths == b.widths:
        return Comparison(a, b, align(first, second, projected=projected, fixed=by_number(first, second)), shared)
    return Comparison(a, b, align(first, second, projected=projected, fixed=decisions), shared)


def _shared(a: Frame, b: Frame) -> tuple[Rows, Rows] | None:
    """Places of the shared words in both vocabularies; None when these are the same."""
    if a.vocabulary == b.vocabulary:
        return None
    places = {word: place for place, word in enumerate(b.vocabulary)}
    found = [(place, places[word]) for place, word in enumerate(a.vocabulary) if word in places]
    if not found:
        raise ValueError(f"Runs {a.run} and {b.run} have no word in common, so their topics cannot be compared.")
    rows = np.array(found, dtype=np.intp)
    return rows[:, 0], rows[:, 1]
