"""Finding topics by their words and names."""

from typing import NamedTuple

from app.analysis.hierarchy import Hierarchy
from engine.hierarchy.tree import Node


class Match(NamedTuple):
    """A topic that was found: by which word (or its name), and the weight of that word in it."""

    node: Node
    word: str
    weight: float


def find_topics(hierarchy: Hierarchy, text: str, most: int = 60) -> list[Match]:
    """Find topics whose name, title or one of whose 30 first words contains ``text``.

    Upper and lower case are the same.  Names and whole titles come first, then by the weight of the
    matching word; a topic is listed once, with its heaviest match.
    """
    request = text.casefold().strip()
    if not request:
        return []
    numbers = {number for number, word in enumerate(hierarchy.vocabulary) if request in word.casefold()}
    found: list[Match] = []
    for layer in range(hierarchy.n_layers, 0, -1):
        for node in hierarchy.nodes(layer):
            if request in hierarchy.name(node).casefold():
                found.append(Match(node, hierarchy.name(node), 1.0))
                continue
            words = hierarchy.words[layer - 1][hierarchy.place(node)].tolist()
            weights = hierarchy.word_weights[layer - 1][hierarchy.place(node)].tolist()
            matching = [(-weight, number) for number, weight in zip(words, weights, strict=True) if number in numbers]
            if matching:
                weight, number = min(matching)
                found.append(Match(node, hierarchy.vocabulary[number], -weight))
            elif request in _title(hierarchy, node).casefold():
                found.append(Match(node, hierarchy.title(node), 1.0))
    return sorted(found, key=lambda match: -match.weight)[:most]


def _title(hierarchy: Hierarchy, node: Node) -> str:
    """The title of a topic without a name, so that one copied from elsewhere is found; of images, nothing."""
    return "" if hierarchy.image_shape is not None or hierarchy.name(node) else hierarchy.title(node)
