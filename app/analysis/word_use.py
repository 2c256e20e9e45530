"""Where a word is used: its share of the corpus, the topics of every layer that it belongs to, and passages with it."""

import re
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from topiary.app.analysis.hierarchy import Hierarchy
from topiary.engine.hierarchy.tree import Node

_LEAST_PART = 0.01  # topics with a smaller part of the word's occurrences are not listed


class WordUse(NamedTuple):
    """A topic that uses a word.

    Attributes
    ----------
    weight : float
        Share of the word in the topic, 0 to 1.
    part : float
        Share of the word's occurrences that belong to the topic, 0 to 1; these sum to 1 in every layer.
    """

    node: Node
    weight: float
    part: float


def find_word(hierarchy: Hierarchy, text: str) -> int | None:
    """Return the number of a word of the vocabulary; None if it has no such word."""
    try:
        return hierarchy.vocabulary.index(text)
    except ValueError:
        return None


def find_word_uses(hierarchy: Hierarchy, word: int, layer: int, most: int) -> list[WordUse]:
    """Return the topics of a layer to which a word's occurrences belong, the largest part first.

    Parameters
    ----------
    word : int
        Number of the word in the vocabulary.
    most : int
        Number of topics returned at most.  Topics with less than 1 % of the occurrences are left out.
    """
    weights: NDArray[Any] = np.asarray(hierarchy.projections[layer - 1][word], dtype=np.float64)
    counts = weights * hierarchy.shares[layer - 1]
    total = float(counts.sum())
    if total <= 0:
        return []
    parts = counts / total
    order = np.argsort(-parts, kind="stable")[:most].tolist()
    return [
        WordUse(hierarchy.node(layer, column), float(weights[column]), float(parts[column]))
        for column in order
        if parts[column] >= _LEAST_PART
    ]


class WordContext(NamedTuple):
    """A piece of a text around a word: what precedes it, the word as written (empty if absent), and what follows."""

    before: str
    word: str
    after: str


def cut_passage(text: str, word: str, most: int = 200) -> WordContext:
    """Return about ``most`` characters of a text around the first place where a word begins; case is ignored.

    A phrase is found with blanks, hyphens or line ends between its words.  If the word is not in the text as written,
    as is frequent for dictionary forms, the passage is the beginning of the text.
    """
    parts = [re.escape(part) for part in re.split(r"[\s_]+", word) if part]
    pattern = r"[\s_-]+".join(parts)
    found = re.search(rf"\b{pattern}\w*", text, re.IGNORECASE) if parts else None
    if found is None:
        return WordContext(_join_lines(text[: most + 1], most), "", "")
    start, end = max(0, found.start() - most // 2), found.end() + most // 2
    before = " ".join(text[start : found.start()].split())
    after = " ".join(text[found.end() : end].split())
    spaces = _has_space(text, found.start() - 1), _has_space(text, found.end())
    return WordContext(
        f"{'…' if start else ''}{before}{' ' if spaces[0] else ''}",
        " ".join(found[0].split()),
        f"{' ' if spaces[1] else ''}{after}{'…' if end < len(text) else ''}",
    )


def _has_space(text: str, place: int) -> bool:
    return 0 <= place < len(text) and text[place].isspace()


def _join_lines(text: str, most: int) -> str:
    line = " ".join(text.split())
    return line if len(text) <= most else f"{line}…"
