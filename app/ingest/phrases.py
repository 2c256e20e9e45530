"""Phrases: two words that stand together far more often than chance would put them there, counted as one word.

How far is told by normalised pointwise mutual information (Bouma 2009), ``ln(p(a, b) / (p(a) p(b))) / -ln p(a, b)``,
which is 1 for words that only ever come together and 0 for words that meet by chance.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

JOINT = "_"  # between the words of a phrase, where the usual pattern finds no letter
MOST_PHRASES = 5_000
_MOST_PAIRS = 4_000_000  # remembered at a time, some 600 MB
_SENTENCE = re.compile(r"[.!?;:,…()\[\]{}\"“”«»。！？；：，、।؟،]|\n\s*\n")

Pair = tuple[str, str]


class Pairs:
    """Counts words and neighbours; forgets the rarest pairs when there are more than can be remembered."""

    def __init__(self, most: int = _MOST_PAIRS) -> None:
        self.words: Counter[str] = Counter()
        self.pairs: Counter[Pair] = Counter()
        self._most, self._least = most, 1

    def add(self, runs: Iterable[Sequence[str]]) -> None:
        """Count the words of one document, in runs within which words are neighbours."""
        for run in runs:
            self.words.update(run)
            self.pairs.update(pairwise(run))
        while len(self.pairs) > self._most:
            self._least += 1
            self.pairs = Counter({pair: n for pair, n in self.pairs.items() if n >= self._least})

    def phrases(self, least_npmi: float, least_count: int) -> tuple[str, ...]:
        """The phrases, the most frequent first."""
        whole = self.words.total()
        found = [
            (n, pair)
            for pair, n in self.pairs.items()
            if n >= least_count and pair[0] != pair[1] and self._npmi(pair, n, whole) >= least_npmi
        ]
        ranked = sorted(found, key=lambda each: (-each[0], each[1]))[:MOST_PHRASES]
        return tuple(JOINT.join(pair) for _, pair in ranked)

    def _npmi(self, pair: Pair, n: int, whole: int) -> float:
        if n == whole:
            return 1.0
        together = math.log(n / whole)
        return (together - math.log(self.words[pair[0]] / whole) - math.log(self.words[pair[1]] / whole)) / -together


def sentences(text: str) -> Iterator[tuple[int, int]]:
    """Where the stretches of a text are within which words are neighbours: no phrase crosses punctuation."""
    begin = 0
    for mark in _SENTENCE.finditer(text):
        yield begin, mark.start()
        begin = mark.end()
    yield begin, len(text)


def joined(words: Sequence[str], phrases: frozenset[str]) -> Iterator[tuple[str, int]]:
    """Words in a row with their phrases as one, from the left; and how many words each is made of.

    >>> list(joined(["in", "new", "york", "city"], frozenset({"new_york", "york_city"})))
    [('in', 1), ('new_york', 2), ('city', 1)]
    """
    place = 0
    while place < len(words):
        phrase = JOINT.join(words[place : place + 2])
        size = 2 if phrase in phrases else 1
        yield (phrase if size == 2 else words[place]), size
        place += size
