"""Find the words of a text as a corpus counts them, and phrases: two words that occur together more than by chance.

How much more is measured by normalised pointwise mutual information (Bouma 2009),
``ln(p(a, b) / (p(a) p(b))) / -ln p(a, b)``, which is 1 for words that only occur together and 0 for words that meet by
chance.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import groupby, pairwise
from typing import Any, NamedTuple

from app.ingest.errors import IngestError
from app.ingest.readers import markup
from app.ingest.source import TextDocument
from app.ingest.text import languages
from app.ingest.text.cleaning import Rejoining, clean_text, make_word_pattern, strip_mail_lines
from store.errors import DamagedRow

JOINT = "_"  # between the words of a phrase, where the usual pattern finds no letter
MOST_PHRASES = 5_000
_MOST_PAIRS = 4_000_000  # kept at a time, some 600 MB
_SENTENCE = re.compile(r"[.!?;:,…()\[\]{}\"“”«»。！？；：，、।؟،]|\n\s*\n")

Pair = tuple[str, str]


class Pairs:
    """Counts words and neighbours; drops the rarest pairs when there are more than can be kept."""

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
        """Return the phrases, the most frequent first."""
        whole = self.words.total()
        found = [
            (n, pair)
            for pair, n in self.pairs.items()
            if n >= least_count and pair[0] != pair[1] and self._compute_npmi(pair, n, whole) >= least_npmi
        ]
        ranked = sorted(found, key=lambda each: (-each[0], each[1]))[:MOST_PHRASES]
        return tuple(JOINT.join(pair) for _, pair in ranked)

    def _compute_npmi(self, pair: Pair, n: int, whole: int) -> float:
        if n == whole:
            return 1.0
        together = math.log(n / whole)
        return (together - math.log(self.words[pair[0]] / whole) - math.log(self.words[pair[1]] / whole)) / -together


def find_sentences(text: str) -> Iterator[tuple[int, int]]:
    """Yield the stretches of a text within which words are neighbours: no phrase crosses punctuation."""
    begin = 0
    for mark in _SENTENCE.finditer(text):
        yield begin, mark.start()
        begin = mark.end()
    yield begin, len(text)


def join_phrases(words: Sequence[str], phrases: frozenset[str]) -> Iterator[tuple[str, int]]:
    """Yield words in a row with their phrases joined, from the left, and how many words each is made of.

    >>> list(join_phrases(["in", "new", "york", "city"], frozenset({"new_york", "york_city"})))
    [('in', 1), ('new_york', 2), ('city', 1)]
    """
    place = 0
    while place < len(words):
        phrase = JOINT.join(words[place : place + 2])
        size = 2 if phrase in phrases else 1
        yield (phrase if size == 2 else words[place]), size
        place += size


class Word(NamedTuple):
    """A word where it stands in a text: ``text[begin:end]``; whether it is a stop word."""

    word: str
    begin: int
    end: int
    stopped: bool


@dataclass(frozen=True, kw_only=True)
class Wording:
    """The steps from a text to its words, in this order.

    Attributes
    ----------
    html : str
        Of which texts tags, scripts and styles are taken away and character references read: ``"auto"`` of pages in
        HTML, ``"yes"`` of all, ``"no"`` of none.
    strip_mail : bool
        Whether lines of mail headers, quoted lines and signatures are taken away.
    hyphens : str
        Which words are joined that the end of a line has cut in two, as in :class:`app.ingest.text.cleaning.Rejoining`.
    hyphens_listed : tuple of str
        The words that it speaks of.
    segmented : tuple of str
        Languages whose words are set apart.
    pattern : str
        Regular expression of a word; with a group, the word is what the group holds.
    lemmas : tuple of str
        Languages in which the dictionary form stands for a word.
    stop_words : tuple of str
        Languages whose stop words are left out.
    stop_list : tuple of str
        Further stop words.
    phrases : tuple of str
        Two neighbours with ``_`` between them, counted as one word.
    """

    html: str = "auto"
    strip_mail: bool = False
    hyphens: str = "soft"
    hyphens_listed: tuple[str, ...] = ()
    segmented: tuple[str, ...] = ()
    pattern: str
    lemmas: tuple[str, ...] = ()
    stop_words: tuple[str, ...] = ()
    stop_list: tuple[str, ...] = ()
    phrases: tuple[str, ...] = ()

    @cached_property
    def stops(self) -> frozenset[str]:
        """Every stop word, in the pieces in which it is found in a text."""
        listed = frozenset(self.stop_list).union(*map(languages.list_stop_words, self.stop_words))
        texts = (self.space_text(clean_text(word)) for word in listed)
        return frozenset(piece for text in texts for piece in self.find_words(text))

    @cached_property
    def _expression(self) -> re.Pattern[str]:
        return re.compile(self.pattern)

    @cached_property
    def _rejoining(self) -> Rejoining:
        return Rejoining(self.hyphens, frozenset(self.hyphens_listed))

    @cached_property
    def _phrases(self) -> frozenset[str]:
        return frozenset(self.phrases)

    @cached_property
    def lemma(self) -> Callable[[str], str] | None:
        """Return the function from a word to its dictionary form; None where words stay as they are."""
        if not self.lemmas:
            return None
        try:
            return languages.make_lemmatiser(self.lemmas)
        except ImportError:
            cause = "cannot be cut into words as its corpus was, in dictionary forms"
            raise IngestError("the text", f"{cause}: {languages.LEMMA_INSTALL}") from None

    def is_page(self, text: str) -> bool:
        """Return whether the text is read as a page in HTML."""
        return self.html == "yes" or (self.html == "auto" and markup.is_page(text))

    def prepare_text(self, text: str) -> str:
        """Return a text without mail headers and quotes, tags and scripts, and hyphens of lines."""
        if self.strip_mail:
            text = strip_mail_lines(text)
        if self.is_page(text):
            text = markup.read_page(text)[1]
        return self._rejoining.apply(text)

    def prepare_document(self, document: TextDocument) -> TextDocument:
        """Return a document with its text as :meth:`prepare_text` returns it."""
        text = self.prepare_text(document.text)
        return document if text is document.text else document._replace(text=text)

    def space_text(self, text: str) -> str:
        """Return a clean text with blanks between the words of languages that have none."""
        try:
            return languages.space_words(text, self.segmented)
        except languages.NoSegmenterError:
            cause = "cannot be cut into words as its corpus was, whose words are written without spaces"
            raise IngestError("the text", f"{cause}: {languages.SEGMENT_INSTALL}") from None

    def tokens(self, text: str, left_out: Counter[str] | None = None) -> list[str]:
        """Return the words of a clean text, in order, without stop words, which are counted in ``left_out``."""
        text = self.space_text(text)
        if self.phrases:
            return [word for run in self.runs(text, left_out) for word, _ in join_phrases(run, self._phrases)]
        if self.lemma is None:
            stops, words = self.stops, self.find_words(text)
            if left_out is not None:
                left_out.update(word for word in words if word in stops)
            return [word for word in words if word not in stops]
        pairs = list(map(self.find_form, self.find_words(text)))
        if left_out is not None:
            left_out.update(form for form, stopped in pairs if stopped)
        return [form for form, stopped in pairs if not stopped]

    def find_words(self, text: str) -> list[str]:
        """Return what the pattern finds in a text that is clean and :meth:`space_text`."""
        return self._expression.findall(text)

    def find_form(self, word: str) -> tuple[str, bool]:
        """Return the dictionary form of a word, where such forms are counted, and whether it is a stop word."""
        if self.lemma is None:
            return word, word in self.stops
        form = self.lemma(word)
        return form, word in self.stops or form in self.stops

    def runs(self, text: str, left_out: Counter[str] | None = None) -> Iterator[list[str]]:
        """Yield the words of such a text before phrases are joined, in runs of neighbours between stop words.

        Stop words are counted in ``left_out``.
        """
        for begin, end in find_sentences(text):
            run: list[str] = []
            for form, stopped in map(self.find_form, self.find_words(text[begin:end])):
                if not stopped:
                    run.append(form)
                    continue
                if left_out is not None:
                    left_out[form] += 1
                if run:
                    yield run
                    run = []
            if run:
                yield run

    def words(self, text: str) -> Iterator[Word]:
        """Yield every word of a text that is clean and :meth:`space_text`, stop words among them, with its place."""
        if not self.phrases:
            yield from self._within(text, 0)
            return
        for begin, end in find_sentences(text):
            for stopped, run in groupby(self._within(text[begin:end], begin), key=lambda word: word.stopped):
                found, place = list(run), 0
                phrases = frozenset() if stopped else self._phrases
                for word, size in join_phrases([each.word for each in found], phrases):
                    yield Word(word, found[place].begin, found[place + size - 1].end, stopped)
                    place += size

    def _within(self, text: str, begin: int) -> Iterator[Word]:
        """Yield the words of a part of a text, which begins at ``begin``."""
        group = 1 if self._expression.groups == 1 else 0
        for match in self._expression.finditer(text):
            form, stopped = self.find_form(match[group])
            yield Word(form, begin + match.start(group), begin + match.end(group), stopped)

    def record(self) -> dict[str, Any]:
        """Return what is not as usual, to be kept with the corpus."""
        usual = _make_usual_wording()
        found = {name: getattr(self, name) for name in usual if getattr(self, name) != usual[name]}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in found.items()}


def _make_usual_wording() -> dict[str, Any]:
    plain = Wording(pattern=make_word_pattern())
    return {field.name: getattr(plain, field.name) for field in fields(plain)}


def _is_alike(value: Any, usual: Any) -> bool:
    """Return whether a value from JSON is of the kind of the usual one; lists are of texts."""
    if isinstance(usual, tuple):
        return isinstance(value, list | tuple) and all(isinstance(each, str | list | int) for each in value)
    return usual is None or type(value) is type(usual)


def load_wording(record: Mapping[str, Any]) -> Wording:
    """Return the wording that a corpus keeps.

    Raises
    ------
    DamagedRow
        When it is none.
    """
    usual = _make_usual_wording()
    merged = {name: record.get(name, value) for name, value in usual.items()}
    if strange := [name for name, value in merged.items() if not _is_alike(value, usual[name])]:
        raise DamagedRow(
            f"the corpus does not say how its texts are cut into words: {strange[0]} in its row is damaged"
        )
    values: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in merged.items()
    }
    return Wording(**values)
