"""Topics of the columns of a table: groups of items above layer 1, in models of rows and columns (double DEF).

Rows and columns share layer 1; the columns' own hierarchy begins with the weights that its topics give to columns.
"""

from typing import NamedTuple

import numpy as np

from topiary.app.analysis.hierarchy import PRINTED_WORDS, Hierarchy, TopicWord
from topiary.engine.hierarchy import titles, topics
from topiary.engine.hierarchy.tree import Node

TITLE_WORDS = 3


class ColumnTopic(NamedTuple):
    """A topic of the columns in a layer from 2 on.

    Attributes
    ----------
    layer, rank : int
        The layer, and the rank of the topic in it, 1 = most popular.
    identity : str
        Such as ``C2:3``, the same in every snapshot: topic 3 of layer 2 in the columns' own hierarchy.
    share : float
        The share of the popularity of its layer, 0 to 1.
    items : tuple of TopicWord
        The columns with the largest weights in it.
    """

    layer: int
    rank: int
    identity: str
    share: float
    items: tuple[TopicWord, ...]

    @property
    def title(self) -> str:
        """The texts of the first three items."""
        return titles.join_words(item.text for item in self.items[:TITLE_WORDS])


class Above(NamedTuple):
    """A topic of the columns in layer 2, and its weight in a topic of layer 1."""

    topic: ColumnTopic
    weight: float


def list_column_layers(hierarchy: Hierarchy) -> range:
    """Return the layers that have topics of columns; none for models without such topics."""
    return range(2, len(hierarchy.columns.words) + 1) if hierarchy.columns is not None else range(0)


def rank_column_topics(hierarchy: Hierarchy, layer: int, n: int = PRINTED_WORDS) -> list[ColumnTopic]:
    """Return the topics of the columns in a layer from 2 on, most popular first, with ``n`` items each."""
    return [topic for _, topic in _rank_with_columns(hierarchy, layer, n)]


def find_topics_above(hierarchy: Hierarchy, node: Node, most: int) -> list[Above]:
    """Return the topics of the columns in layer 2 that weigh most in a topic of layer 1; none for other layers.

    A weight is defined like that of an edge: the topic's share of everything that the topic above it changes
    (see `engine.hierarchy.effects.compute_edge_weights`).
    """
    if node.layer != 1 or 2 not in list_column_layers(hierarchy):
        return []
    weights = hierarchy.columns.weights[1][hierarchy.place(node)] if hierarchy.columns is not None else np.zeros(0)
    above = [Above(topic, float(weights[column])) for column, topic in _rank_with_columns(hierarchy, 2, PRINTED_WORDS)]
    return [each for each in sorted(above, key=lambda each: -each.weight)[:most] if each.weight > 0]


def _rank_with_columns(hierarchy: Hierarchy, layer: int, n: int) -> list[tuple[int, ColumnTopic]]:
    """Return pairs of a column of the weights and the topic in it, for all topics of a layer, most popular first."""
    columns = hierarchy.columns
    if columns is None or layer not in list_column_layers(hierarchy):
        return []
    shares = topics.compute_shares(columns.popularity[layer - 1])
    numbers, weights = topics.find_relevant_words(columns.words[layer - 1], shares, n, hierarchy.trade)
    ranking = []
    for rank, column in enumerate(topics.order_topics(shares).tolist(), start=1):
        pairs = zip(numbers[column].tolist(), weights[column].tolist(), strict=True)
        items = tuple(TopicWord(hierarchy.vocabulary[number], weight) for number, weight in pairs if weight > 0)
        ranking.append((column, ColumnTopic(layer, rank, f"C{layer}:{column + 1}", float(shares[column]), items)))
    return ranking
