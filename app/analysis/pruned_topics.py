"""What is left of a pruned topic: its last words and children, and where its words are now.

The store's events name the topics that were pruned, no more.  Their words are those of the last snapshot that had
them; which topics took them over is worked out anew for every snapshot (`successors`).
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from app.analysis.hierarchy import KEPT_WORDS, Hierarchy, Relative
from engine.hierarchy.tree import Node


class Pruned(NamedTuple):
    """When a topic went: the run in which that was (a fork's may be its parent), the mini-batch, and the limit.

    ``below`` is the weight r_k under which that run prunes, where it is known.
    """

    run: int
    minibatch: int
    below: float | None = None


class LastSeen(NamedTuple):
    """A pruned topic as its last snapshot had it.

    Attributes
    ----------
    node : Node
    when : Pruned
    minibatch : int
        Of the last snapshot that had it.
    title : str
    words : tuple of str
        Its heaviest words, 30 or the whole vocabulary.
    numbers, weights : tuples of int and of float
        Their numbers in the vocabulary and their weights in the topic.
    share : float
        Its share of its layer.
    children : tuple of Relative
        The topics of the layer below it was made of, heaviest first.
    picture : str
        Data URI, where topics are pictures.
    """

    node: Node
    when: Pruned
    minibatch: int
    title: str
    words: tuple[str, ...]
    numbers: tuple[int, ...]
    weights: tuple[float, ...]
    share: float
    children: tuple[Relative, ...] = ()
    picture: str = ""


class Successor(NamedTuple):
    """A topic that is there, and the part of a pruned topic's words that belongs to it now."""

    node: Node
    part: float


def last_seen_of(last: Hierarchy, node: Node, when: Pruned, picture: str = "") -> LastSeen:
    """Keep of a topic what outlives it.

    Parameters
    ----------
    last : Hierarchy
        The last snapshot that had it.
    node : Node
    when : Pruned
    picture : str
    """
    words, place = last.top_words(node, KEPT_WORDS), last.place(node)
    numbers = last.words[node.layer - 1][place, : len(words)].tolist()
    return LastSeen(
        node=node,
        when=when,
        minibatch=last.minibatch,
        title=last.title(node),
        words=tuple(word.text for word in words),
        numbers=tuple(numbers),
        weights=tuple(word.weight for word in words),
        share=last.share(node),
        children=tuple(last.children(node)),
        picture=picture,
    )


def gone(pruned: Mapping[Node, Pruned], now: Hierarchy) -> list[Node]:
    """List the topics that were pruned before a snapshot and are not in it, by layer and number."""
    return sorted(
        node
        for node, when in pruned.items()
        if node.layer <= now.n_layers and not now.has(node) and (when.run != now.run or when.minibatch <= now.minibatch)
    )


def successors(numbers: Sequence[int], weights: Sequence[float], layer: int, now: Hierarchy) -> list[Successor]:
    """Find the topics of a layer to which the words of a pruned one belong now, heaviest first.

    A word belongs to topic ``k`` with the probability ``share_k p(word | k) / sum_j share_j p(word | j)``; the parts
    are the means of these over the words, weighted as the words were in the pruned topic.  They add up to 1.

    Parameters
    ----------
    numbers : sequence of int
        Words of the pruned topic, by their numbers.
    weights : sequence of float
        Their weights in it.
    layer : int
    now : Hierarchy
    """
    mass = now.projections[layer - 1][list(numbers)].astype(np.float64) * now.shares[layer - 1]
    total = mass.sum(axis=1, keepdims=True)
    known = np.asarray(weights, dtype=np.float64) * (total[:, 0] > 0)
    if known.sum() <= 0:
        return []
    parts = (known / known.sum()) @ (mass / np.where(total > 0, total, 1.0))
    columns = np.argsort(-parts, kind="stable")
    return [
        Successor(now.node(layer, column), float(parts[column])) for column in columns.tolist() if parts[column] > 0
    ]
