"""Find the words of a text as a corpus counts them, and phrases: pairs of words that co-occur more than by chance.

The measure is normalised pointwise mutual information (Bouma 2009),
``ln(p(a, b) / (p(a) p(b))) / -ln p(a, b)``, which is 1 for words that only occur together and 0 for independent
words.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import groupby, pairwise
from typing import Any, NamedTuple

from topiary.app.ingest.errors import IngestError
from topiary.app.ingest.readers.markup import is_page, read_page
from topiary.app.ingest.source import TextDocument
from topiary.app.ingest.text import languages
from topiary.app.ingest.text.cleaning import Rejoining, clean_text, make_word_pattern, strip_mail_lines
from topiary.store.errors import DamagedRow

JOINT = "_"  # joins the words of a phrase; the default word pattern does not match it
MOST_PHRASES = 5_000
_MOST_PAIRS = 4_000_000  # counted at a time, in some 600 MB
_SENTENCE = re.compile(r"[.!?;:,…()\[\]{}\"“”«»。！？；：，、।؟،]|\n\s*\n")

_ASCII_WORD = re.compile("[A-Za-z]{2,}")
_CAPITAL_I = re.compile("(?<![</&])[Iİ]")  # not in tags, which have English names
_TURKIC_LETTERS = re.compile("[ıİğĞşŞəƏ]")  # of Turkish, Azeri and other languages with a dotless i
_TURKIC_SHARE = 0.02  # share of these letters in a text of such a language, at least; 8 % are usual
_SHORT_TEXT = 100  # characters of a text that may have none of them

Pair = tuple[str, str]


class Pairs:
    """Counts of words and of neighbouring pairs; the rarest pairs are dropped when there are too many."""

    def __init__(self, most: int = _MOST_PAIRS) -> None:
        self.words: Counter[str] = Counter()
        self.pairs: Counter[Pair] = Counter()
        self._most, self._least_count = most, 1

    def add(self, runs: Iterable[Sequence[str]]) -> None:
        """Count the words and pairs of one document, given as runs of neighbouring words."""
        for run in runs:
            self.words.update(run)
            self.pairs.update(pairwise(run))
        while len(self.pairs) > self._most:
            self._least_count += 1
            self.pairs = Counter({pair: n for pair, n in self.pairs.items() if n >= self._least_count})

    def phrases(self, least_npmi: float, least_count: int) -> tuple[str, ...]:
        """Return the pairs that reach both thresholds as phrases, the most frequent first."""
        n_tokens = self.words.total()
        candidates = [
            (n, pair)
            for pair, n in self.pairs.items()
            if n >= least_count and pair[0] != pair[1] and self._compute_npmi(pair, n, n_tokens) >= least_npmi
        ]
        ranked = sorted(candidates, key=lambda candidate: (-candidate[0], candidate[1]))[:MOST_PHRASES]
        return tuple(JOINT.join(pair) for _, pair in ranked)

    def _compute_npmi(self, pair: Pair, n: int, n_tokens: int) -> float:
        """Return the normalised pointwise mutual information of a pair that occurs ``n`` times."""
        if n == n_tokens:
            return 1.0
        log_joint = math.log(n / n_tokens)
        return (
            log_joint - math.log(self.words[pair[0]] / n_tokens) - math.log(self.words[pair[1]] / n_tokens)
        ) / -log_joint


def _is_turkic(text: str, *, short: bool) -> bool:
    """Return whether a text has as many letters of Turkish and the like as these languages need, or is ``short``."""
    marks = len(_TURKIC_LETTERS.findall(text))
    return marks >= _TURKIC_SHARE * len(text) > 0 or (short and len(text) < _SHORT_TEXT)


def find_sentences(text: str) -> Iterator[tuple[int, int]]:
    """Yield the ``(begin, end)`` offsets of the parts of a text between punctuation, which no phrase crosses."""
    begin = 0
    for mark in _SENTENCE.finditer(text):
        yield begin, mark.start()
        begin = mark.end()
    yield begin, len(text)


def join_phrases(words: Sequence[str], phrases: frozenset[str]) -> Iterator[tuple[str, int]]:
    """Yield words with phrases joined from left to right, and the number of original words in each.

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
    """A word at its place in a text, ``text[begin:end]``, and whether it is a stop word."""

    word: str
    begin: int
    end: int
    stopped: bool


@dataclass(frozen=True, kw_only=True)
class Wording:
    """The settings of the steps from a text to its words, in this order.

    Attributes
    ----------
    html : str
        Texts from which tags, scripts and styles are removed and whose character references are read: ``"auto"`` for
        HTML pages, ``"yes"`` for all, ``"no"`` for none.
    strip_mail : bool
        Whether mail headers, quoted lines and signatures are removed.
    hyphens : str
        Words cut at a line end that are joined, as ``which`` of :class:`app.ingest.text.cleaning.Rejoining`.
    hyphens_listed : tuple of str
        The list of words for ``hyphens``.
    segmented : tuple of str
        Languages written without spaces whose words are segmented.
    pattern : str
        Regular expression of a word; if it has a group, the word is the match of the group.
    lemmas : tuple of str
        Languages in which words are replaced by their dictionary forms.
    stop_words : tuple of str
        Languages whose stop words are left out.
    stop_list : tuple of str
        Further stop words.
    phrases : tuple of str
        Pairs of neighbouring words, joined by ``_``, that count as one word.
    dotless : str
        Texts whose capitals I and İ become ı and i, as in Turkish: ``"no"``, ``"marked"`` for those with enough letters
        that only such languages have, ``"all"`` for short texts without them as well.
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
    dotless: str = "no"

    @cached_property
    def stops(self) -> frozenset[str]:
        """The stop words, each cut into pieces as a text is."""
        listed = frozenset(self.stop_list).union(*map(languages.list_stop_words, self.stop_words))
        texts = (self.space_text(clean_text(word)) for word in listed)
        return frozenset(piece for text in texts for piece in self.find_words(text))

    @cached_property
    def _expression(self) -> re.Pattern[str]:
        return re.compile(self.pattern)

    @cached_property
    def _plain_expression(self) -> re.Pattern[str]:
        """The expression for texts in ASCII, which have no marks: twice as quick where the pattern is the usual one."""
        return _ASCII_WORD if self.pattern == make_word_pattern() else self._expression

    def _choose_expression(self, text: str) -> re.Pattern[str]:
        return self._plain_expression if text.isascii() else self._expression

    @cached_property
    def _rejoining(self) -> Rejoining:
        return Rejoining(self.hyphens, frozenset(self.hyphens_listed))

    @cached_property
    def _phrases(self) -> frozenset[str]:
        return frozenset(self.phrases)

    @cached_property
    def lemma(self) -> Callable[[str], str] | None:
        """The function that maps a word to its dictionary form; None if words are not changed."""
        if not self.lemmas:
            return None
        try:
            return languages.make_lemmatiser(self.lemmas)
        except ImportError:
            cause = "cannot be cut into words as its corpus was, in dictionary forms"
            raise IngestError("the text", f"{cause}: {languages.LEMMA_INSTALL}") from None

    def is_page(self, text: str) -> bool:
        """Return whether a text is read as an HTML page."""
        return self.html == "yes" or (self.html == "auto" and is_page(text))

    def prepare_text(self, text: str) -> str:
        """Return a text without mail headers and quotes, tags and scripts, and hyphens at line ends."""
        if self.strip_mail:
            text = strip_mail_lines(text)
        if self.is_page(text):
            text = read_page(text)[1]
        return self._rejoining.apply(text)

    def prepare_document(self, document: TextDocument) -> TextDocument:
        """Return a document with its text prepared by :meth:`prepare_text`."""
        text = self.prepare_text(document.text)
        return document if text is document.text else document._replace(text=text)

    def lower_capitals(self, text: str, whole: str | None = None) -> str:
        """Return a text whose capitals I and İ are in lower case if it is Turkish or the like; the length stays.

        Parameters
        ----------
        whole : str or None
            The text by which this is decided; None for the text itself.
        """
        if self.dotless == "no" or not _is_turkic(text if whole is None else whole, short=self.dotless == "all"):
            return text
        return _CAPITAL_I.sub(lambda match: "ı" if match[0] == "I" else "i", text)

    def clean_document(self, document: TextDocument, counted: Callable[[TextDocument], str]) -> str:
        """Return the clean text of a document to count, which ``counted`` takes from the prepared one."""
        prepared = self.prepare_document(document)
        if self.dotless != "no":
            title = self.lower_capitals(prepared.title, prepared.text)
            prepared = prepared._replace(title=title, text=self.lower_capitals(prepared.text))
        return counted(prepared)

    def space_text(self, text: str) -> str:
        """Return a clean text with blanks between the words of languages written without spaces."""
        try:
            return languages.space_words(text, self.segmented)
        except languages.NoSegmenterError:
            cause = "cannot be cut into words as its corpus was, whose words are written without spaces"
            raise IngestError("the text", f"{cause}: {languages.SEGMENT_INSTALL}") from None

    def tokens(self, text: str, left_out: Counter[str] | None = None) -> list[str]:
        """Return the words of a clean text in order, without stop words; count these in ``left_out``."""
        text = self.space_text(text)
        if self.phrases:
            return [word for run in self.runs(text, left_out) for word, _ in join_phrases(run, self._phrases)]
        pairs = list(map(self.find_form, self.find_words(text)))
        if left_out is not None:
            left_out.update(form for form, stopped in pairs if stopped)
        return [form for form, stopped in pairs if not stopped]

    def count_words(self, text: str, left_out: Counter[str]) -> Counter[str]:
        """Return how often a clean text has each word, in order of appearance, as :meth:`tokens` finds them."""
        if self.phrases or self.lemma is not None:
            return Counter(self.tokens(text, left_out))
        frequencies = Counter(self.find_words(self.space_text(text)))
        for word in [word for word in frequencies if word in self.stops]:
            left_out[word] += frequencies.pop(word)
        return frequencies

    def find_words(self, text: str) -> list[str]:
        """Return the matches of the word pattern in a clean text that :meth:`space_text` returned."""
        return self._choose_expression(text).findall(text)

    def find_form(self, word: str) -> tuple[str, bool]:
        """Return a word, in its dictionary form if these are counted, and whether it is a stop word."""
        if self.lemma is None:
            return word, word in self.stops
        form = self.lemma(word)
        return form, word in self.stops or form in self.stops

    def runs(self, text: str, left_out: Counter[str] | None = None) -> Iterator[list[str]]:
        """Yield the words of a clean, spaced text before phrases are joined, in runs between stop words.

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
        """Yield every word of a clean, spaced text, including stop words, with its place."""
        if not self.phrases:
            yield from self._find_words_within(text, 0)
            return
        for begin, end in find_sentences(text):
            for stopped, run in groupby(self._find_words_within(text[begin:end], begin), key=lambda word: word.stopped):
                words, index = list(run), 0
                phrases = frozenset() if stopped else self._phrases
                for word, size in join_phrases([item.word for item in words], phrases):
                    yield Word(word, words[index].begin, words[index + size - 1].end, stopped)
                    index += size

    def _find_words_within(self, text: str, begin: int) -> Iterator[Word]:
        """Yield the words of a part of a text that begins at offset ``begin``."""
        expression = self._choose_expression(text)
        group = 1 if expression.groups == 1 else 0
        for match in expression.finditer(text):
            form, stopped = self.find_form(match[group])
            yield Word(form, begin + match.start(group), begin + match.end(group), stopped)

    def record(self) -> dict[str, Any]:
        """Return the settings that differ from the defaults, as JSON to store with the corpus."""
        defaults = _list_defaults()
        changed = {name: getattr(self, name) for name in defaults if getattr(self, name) != defaults[name]}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in changed.items()}


def _list_defaults() -> dict[str, Any]:
    """Return the default settings by name."""
    plain = Wording(pattern=make_word_pattern())
    return {field.name: getattr(plain, field.name) for field in fields(plain)}


def _has_type_of(value: Any, default: Any) -> bool:
    """Return whether a value from JSON has the type of the default value."""
    if isinstance(default, tuple):
        return isinstance(value, list | tuple) and all(isinstance(item, str | list | int) for item in value)
    return default is None or type(value) is type(default)


def load_wording(record: Mapping[str, Any]) -> Wording:
    """Return the wording recorded in a corpus.

    Raises
    ------
    DamagedRow
        When a setting has the wrong type.
    """
    defaults = _list_defaults()
    merged = {name: record.get(name, value) for name, value in defaults.items()}
    if damaged := [name for name, value in merged.items() if not _has_type_of(value, defaults[name])]:
        raise DamagedRow(
            f"the corpus does not say how its texts are cut into words: {damaged[0]} in its row is damaged"
        )
    values: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in merged.items()
    }
    return Wording(**values)
