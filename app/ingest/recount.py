"""A text that comes later, counted over the vocabulary of a corpus by that corpus' own rules.

The rules are those of :mod:`app.ingest.vectorise`: the cleaning of :func:`app.ingest.words.clean`, then the wording of
the import, which the corpus keeps in ``meta["wording"]``.  A corpus that came as counts has no rules of its own; then
the usual ones apply.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from app.ingest import wording as wordings
from app.ingest.errors import IngestError
from app.ingest.scripts import marks
from app.ingest.source import Array, TextDocument
from app.ingest.wording import Wording
from app.ingest.words import LETTERS, NOISE, plain, stop_list, usual_pattern

# Whose words an import found, also before it kept how.
TEXT_FORMATS = frozenset({"csv", "jsonl", "lines", "text", "built-in", "texts"})
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
    wording : Wording
        How words are found.
    kind : str
        "counts", "binary" or "real".
    own : bool
        Whether these are the rules by which the corpus was made, not the usual ones.
    levels : int or None
        The brightest count of a pixel, in a corpus of images that has counts.
    """

    vocabulary: Sequence[str]
    wording: Wording
    kind: str = "counts"
    own: bool = True
    levels: int | None = None

    @cached_property
    def numbers(self) -> Mapping[str, int]:
        """Number of every word, written as it stands in the vocabulary or in lower case."""
        lower = {word.lower(): number for number, word in enumerate(self.vocabulary)}
        return lower | {word: number for number, word in enumerate(self.vocabulary)}

    def prepared(self, text: str) -> str:
        """A text as it was written without what is not to be read of it, such as tags; usually the text itself."""
        return self.wording.prepared(text)

    def prepared_document(self, document: TextDocument) -> TextDocument:
        """A document with its text :meth:`prepared`."""
        return self.wording.prepared_document(document)

    def count(self, text: str) -> Recount:
        """Count a text as it was written, after :meth:`prepared`."""
        return self._count(*cleaned(text))

    def count_clean(self, text: str) -> Recount:
        """Count a text that a reader has cleaned already (its spans are those of the clean text)."""
        return self._count(text, range(len(text) + 1))

    def _count(self, text: str, places: Sequence[int]) -> Recount:
        text, places = _spaced(text, places, self.wording)
        found: Counter[int] = Counter()
        unknown: Counter[str] = Counter()
        stopped = 0
        for (word, stop), times in self._tokens(text).items():
            number = self.numbers.get(word)
            if number is not None:
                found[number] += times
            elif stop:
                stopped += times
            elif word:
                unknown[word] += times
        words = np.array(sorted(found), dtype=np.int32)
        return Recount(
            words,
            self._values(words, found),
            found.total() + unknown.total(),
            found.total(),
            stopped,
            tuple(word for word, _ in unknown.most_common()),
            tuple(self._spans(text, places)),
        )

    def _tokens(self, text: str) -> Counter[tuple[str, bool]]:
        """How often each word occurs, and whether it is a stop word."""
        if self.wording.phrases:
            return Counter((word, stopped) for word, _, _, stopped in self.wording.words(text))
        tokens: Counter[tuple[str, bool]] = Counter()
        for word, times in Counter(self.wording.found(text)).items():  # in C: a text may have millions
            tokens[self.wording.counted_as(word)] += times
        return tokens

    def _spans(self, text: str, places: Sequence[int]) -> Iterator[Span]:
        for word, begin, end, _ in self.wording.words(text):
            if begin == len(text) or places[begin] >= MARKED:
                return
            number = self.numbers.get(word)
            if number is not None:
                yield Span(places[begin], places[end - 1] + 1 if end > begin else places[begin], number)

    def _values(self, words: Array, found: Counter[int]) -> Array:
        kind = np.float32 if self.kind == "real" else np.int32
        if self.kind == "binary":
            return np.ones(len(words), dtype=kind)
        return np.array([found[word] for word in words.tolist()], dtype=kind)


def rules_of(meta: Mapping[str, Any], kind: str, vocabulary: Sequence[str]) -> Rules:
    """The rules that a corpus keeps of its import; the usual ones for a corpus that came as counts."""
    report = meta.get("options") or {}
    record = meta.get("wording")
    own = record is not None or meta.get("format") in TEXT_FORMATS
    return Rules(
        vocabulary=vocabulary,
        wording=_before(report if own else {}, own=own) if record is None else wordings.of_record(record),
        kind=kind,
        own=own,
        levels=report.get("levels"),
    )


def _before(report: Mapping[str, Any], *, own: bool) -> Wording:
    """The wording of a corpus that keeps none: it was made when every corpus had that of English, or came as counts."""
    pattern = str(report.get("token_pattern") or (LETTERS if own else usual_pattern()))
    try:
        listed = stop_list(str(report.get("stop_words") or "english"))
    except IngestError:  # its file is gone
        listed = frozenset()
    return Wording(html="no", pattern=pattern, stop_list=tuple(sorted(listed)))


def cleaned(text: str) -> tuple[str, Sequence[int]]:
    """The text as :func:`app.ingest.words.clean` gives it, and where in ``text`` each of its characters stands."""
    lower = text.lower()
    lower, origin = _plain(lower, _origins(text, lower))
    pieces: list[str] = []
    places: list[Array] = []
    last = 0
    for noise in NOISE.finditer(lower):
        pieces += [lower[last : noise.start()], " "]
        places.append(origin[last : noise.start() + 1])  # the space stands where the noise begins
        last = noise.end()
    return "".join([*pieces, lower[last:]]), np.concatenate([*places, origin[last:]]).data


def _plain(lower: str, origin: Array) -> tuple[str, Array]:
    """The text :func:`plain`, and where each of its characters comes from: each letter with its marks stands alone."""
    if plain(lower) == lower:
        return lower, origin
    letters = re.compile(f".[{marks()}\u1160-\u11ff]*", re.DOTALL)  # a Hangul syllable may come in pieces
    found = [(letter.start(), plain(letter[0])) for letter in letters.finditer(lower)]
    places = np.repeat([place for place, _ in found], [len(each) for _, each in found])
    return "".join(each for _, each in found), origin[places.astype(np.int64)]


def _spaced(text: str, places: Sequence[int], wording: Wording) -> tuple[str, Sequence[int]]:
    """The text with blanks between words that have none, and the places of its characters."""
    spaced = wording.spaced(text)
    if spaced == text:
        return text, places
    found, place, last = [], 0, len(text)
    for character in spaced:
        found.append(places[min(place, last - 1)])
        place += place < last and character == text[place]
    return spaced, found


def _origins(text: str, lower: str) -> Array:
    """Where in a text each character of its lower case comes from: no letter becomes shorter, very few longer."""
    every = np.arange(len(text))
    return every if len(lower) == len(text) else np.repeat(every, [len(letter.lower()) for letter in text])
