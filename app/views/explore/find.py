"""Finding topics by their words and names."""

from typing import NamedTuple

from app.analysis.hierarchy import Frame
from engine.hierarchy.tree import Node


class Match(NamedTuple):
    """A topic that was found: by which word (or its name), and the weight of that word in it."""

    node: Node
    word: str
    weight: float


def find_topics(frame: Frame, text: str, most: int = 60) -> list[Match]:
    """Find topics whose name, title or one of whose 30 heaviest words contains ``text``.

    Upper and lower case are the same.  Names and whole titles come first, then by the weight of the
    matching word; a topic is listed once, with its heaviest match.
    """
    wanted = text.casefold().strip()
    if not wanted:
        return []
    numbers = {number for number, word in enumerate(frame.vocabulary) if wanted in word.casefold()}
    found: list[Match] = []
    for layer in range(frame.n_layers, 0, -1):
        for node in frame.nodes(layer):
            if wanted in frame.name(node).casefold():
                found.append(Match(node, frame.name(node), 1.0))
                continue
            words = frame.words[layer - 1][frame.place(node)].tolist()
            place = next((place for place, number in enumerate(words) if number in numbers), None)
            if place is not None:
                weight = float(frame.word_weights[layer - 1][frame.place(node), place])
                found.append(Match(node, frame.vocabulary[words[place]], weight))
            elif wanted in _title(frame, node).casefold():
                found.append(Match(node, frame.title(node), 1.0))
    return sorted(found, key=lambda match: -match.weight)[:most]


def _title(frame: Frame, node: Node) -> str:
    """The title of a topic without a name, so that one copied from elsewhere is found; of images, nothing."""
    return "" if frame.image_shape is not None or frame.name(node) else frame.title(node)
