"""A text that comes later, counted over the vocabulary of a corpus by that corpus' own rules.

The rules are those of :mod:`app.ingest.vectorise`: the cleaning of :func:`app.ingest.words.clean`, then the
token pattern and the stop words of the import, which the corpus keeps in ``meta["options"]``.  A corpus that
came as counts has no rules of its own; then the usual ones apply.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from app.ingest.errors import IngestError
from app.ingest.options import ImportOptions
from app.ingest.source import Array
from app.ingest.words import NOISE, clean, stop_list

TEXT_FORMATS = frozenset({"csv", "jsonl", "lines", "text", "built-in", "texts"})  # whose words an import found
MARKED = 12_000  # characters at the beginning of a text in which known words are told with their places


class Span(NamedTuple):
    """Where a known word stands in a text: ``text[begin:end]`` is word number ``word``."""

    begin: int
    end: int
    word: int


class Recount(NamedTuple):
    """A text as counts.

    Attributes
    ----------
    words : (n,) int32
        Word numbers, ascending.
    counts : (n,) int32 or float32
        How often each occurs (1 in a corpus of presence and absence).
    tokens : int
        Words of the text that are not stop words.
    known : int
        Those of them in the vocabulary.
    stopped : int
        Stop words left out.
    unknown : tuple of str
        Different words that are not in the vocabulary, the most frequent first.
    spans : tuple of Span
        The known words in its first :data:`MARKED` characters, in their order.
    """

    words: Array
    counts: Array
    tokens: int
    known: int
    stopped: int
    unknown: tuple[str, ...]
    spans: tuple[Span, ...]

    @property
    def blank(self) -> bool:
        """Whether no word of it is known, so that nothing can be told of it."""
        return not self.counts.any()


@dataclass(frozen=True, eq=False, kw_only=True)
class Rules:
    """How a corpus finds words in a text.

    Attributes
    ----------
    vocabulary : sequence of str
    pattern : str
        Regular expression of a word.
    stops : frozenset of str
    kind : str
        "counts", "binary" or "real".
    own : bool
        Whether these are the rules by which the corpus was made, not the usual ones.
    levels : int or None
        The brightest count of a pixel, in a corpus of images that has counts.
    """

    vocabulary: Sequence[str]
    pattern: str
    stops: frozenset[str]
    kind: str = "counts"
    own: bool = True
    levels: int | None = None

    @cached_property
    def numbers(self) -> Mapping[str, int]:
        """Number of every word, written as it stands in the vocabulary or in lower case."""
        lower = {word.lower(): number for number, word in enumerate(self.vocabulary)}
        return lower | {word: number for number, word in enumerate(self.vocabulary)}

    @cached_property
    def _expression(self) -> re.Pattern[str]:
        return re.compile(self.pattern)

    def count(self, text: str) -> Recount:
        """Count a text as it was written."""
        return self._count(*cleaned(text))

    def count_clean(self, text: str) -> Recount:
        """Count a text that a reader has cleaned already (its spans are those of the clean text)."""
        return self._count(text, range(len(text) + 1))

    def _count(self, text: str, places: Sequence[int]) -> Recount:
        group = 1 if self._expression.groups == 1 else 0
        tokens = Counter(match[group] for match in self._expression.finditer(text))  # in C: a text may have millions
        found: Counter[int] = Counter()
        unknown: Counter[str] = Counter()
        stopped = 0
        for token, times in tokens.items():
            number = self.numbers.get(token)
            if number is not None:
                found[number] += times
            elif token in self.stops:
                stopped += times
            elif token:
                unknown[token] += times
        words = np.array(sorted(found), dtype=np.int32)
        return Recount(
            words,
            self._values(words, found),
            found.total() + unknown.total(),
            found.total(),
            stopped,
            tuple(word for word, _ in unknown.most_common()),
            tuple(self._spans(text, places, group)),
        )

    def _spans(self, text: str, places: Sequence[int], group: int) -> Iterator[Span]:
        for match in self._expression.finditer(text):
            begin, end = match.span(group)
            if begin == len(text) or places[begin] >= MARKED:
                return
            number = self.numbers.get(match[group])
            if number is not None:
                yield Span(places[begin], places[end - 1] + 1 if end > begin else places[begin], number)

    def _values(self, words: Array, found: Counter[int]) -> Array:
        kind = np.float32 if self.kind == "real" else np.int32
        if self.kind == "binary":
            return np.ones(len(words), dtype=kind)
        return np.array([found[word] for word in words.tolist()], dtype=kind)


def rules_of(meta: Mapping[str, Any], kind: str, vocabulary: Sequence[str]) -> Rules:
    """The rules that a corpus keeps of its import; the usual ones for a corpus that came as counts."""
    usual = ImportOptions()
    report = meta.get("options") or {}
    own = meta.get("format") in TEXT_FORMATS
    return Rules(
        vocabulary=vocabulary,
        pattern=str(report.get("token_pattern") or usual.token_pattern) if own else usual.token_pattern,
        stops=_stops(str(report.get("stop_words") or "english") if own else "english"),
        kind=kind,
        own=own,
        levels=report.get("levels"),
    )


def cleaned(text: str) -> tuple[str, Sequence[int]]:
    """The text as :func:`app.ingest.words.clean` gives it, and where in ``text`` each of its characters stands."""
    lower = text.lower()
    origin = _origins(text, lower)
    pieces: list[str] = []
    places: list[Array] = []
    last = 0
    for noise in NOISE.finditer(lower):
        pieces += [lower[last : noise.start()], " "]
        places.append(origin[last : noise.start() + 1])  # the space stands where the noise begins
        last = noise.end()
    return "".join([*pieces, lower[last:]]), np.concatenate([*places, origin[last:]]).data


def _origins(text: str, lower: str) -> Array:
    """Where in a text each character of its lower case comes from: no letter becomes shorter, very few longer."""
    every = np.arange(len(text))
    return every if len(lower) == len(text) else np.repeat(every, [len(letter.lower()) for letter in text])


def _stops(choice: str) -> frozenset[str]:
    """The stop words in the pieces that the usual pattern makes of them; none when their file is gone."""
    pieces = re.compile(ImportOptions().token_pattern)
    try:
        listed = stop_list(choice)
    except (IngestError, OSError):
        return frozenset()
    return frozenset(piece for word in listed for piece in pieces.findall(clean(word))) | listed
