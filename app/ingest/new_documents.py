"""New documents, counted by the rules of a corpus; readers of files are loaded only for files, as pages have texts."""

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from topiary.app.ingest import packing
from topiary.app.ingest.errors import IngestError, list_some, plural
from topiary.app.ingest.options import ImportOptions, is_file
from topiary.app.ingest.source import Array, CountSource, Unreadable
from topiary.app.ingest.text import words as wordings
from topiary.app.ingest.text.cleaning import LETTERS, NOISE, make_word_pattern, read_stop_words, simplify_letters
from topiary.app.ingest.text.encodings import find_marked_encoding
from topiary.app.ingest.text.languages import list_marks
from topiary.app.ingest.text.words import Wording
from topiary.engine.contract import Counts

TEXT_FORMATS = frozenset({"csv", "jsonl", "lines", "text", "built-in", "texts"})
MARKED = 12_000  # characters at the beginning of a text in which the positions of known words are recorded
_LONGEST_TITLE = 80  # characters of a title made of the first line
_MOST_LISTED = 8  # unknown words that a sentence lists
WHOLE = ("", *packing.TEXTUAL)  # suffixes of files that are one text, not one document a line
STDIN = Path("standard input")
MOST_OF_BINARY = 1 << 28  # bytes of a document that may contain pictures
MOST = 20_000  # documents read at a time


class Span(NamedTuple):
    """The position of a known word in a text: ``text[begin:end]`` is word number ``word``."""

    begin: int
    end: int
    word: int


class WordCounts(NamedTuple):
    """The counts of the words in a text.

    Attributes
    ----------
    words : (n,) int32
        Numbers of the words in the vocabulary, ascending.
    counts : (n,) int32 or float32
        How often each word occurs; 1 in a binary corpus.
    tokens : int
        Number of words in the text that are not stop words.
    known : int
        Number of those words that are in the vocabulary.
    stopped : int
        Number of stop words, which are left out.
    unknown : tuple of str
        The different words that are not in the vocabulary, the most frequent first.
    spans : tuple of Span
        The known words in the first :data:`MARKED` characters, in their order.
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
        """True if no word of the text is known, so that it has no topics."""
        return not self.counts.any()


@dataclass(frozen=True, eq=False, kw_only=True)
class Rules:
    """The rules by which a corpus finds words in a text.

    Attributes
    ----------
    vocabulary : sequence of str
    wording : Wording
        The way in which words are found.
    kind : str
        "counts", "binary" or "real".
    own : bool
        Whether these are the rules by which the corpus was made, not the default ones.
    levels : int or None
        The count of the brightest pixel, in a corpus of images with counts.
    """

    vocabulary: Sequence[str]
    wording: Wording
    kind: str = "counts"
    own: bool = True
    levels: int | None = None

    @cached_property
    def numbers(self) -> Mapping[str, int]:
        """The number of every word, as written in the vocabulary and in lower case."""
        lower = {word.lower(): number for number, word in enumerate(self.vocabulary)}
        return lower | {word: number for number, word in enumerate(self.vocabulary)}

    def count(self, text: str) -> WordCounts:
        """Count the words of a text after :meth:`app.ingest.text.words.Wording.prepare_text`."""
        return self._count(*clean_with_places(self.wording.lower_capitals(text)))

    def count_clean(self, text: str) -> WordCounts:
        """Count the words of a text that a reader has cleaned; its spans are positions in the clean text."""
        return self._count(text, range(len(text) + 1))

    def _count(self, text: str, positions: Sequence[int]) -> WordCounts:
        """Count the words of a clean text, whose characters have these positions in the original."""
        text, positions = _space_with_places(text, positions, self.wording)
        known_words: Counter[int] = Counter()
        unknown: Counter[str] = Counter()
        stopped = 0
        for (word, stop), frequency in self._tokens(text).items():
            number = self.numbers.get(word)
            if number is not None:
                known_words[number] += frequency
            elif stop:
                stopped += frequency
            elif word:
                unknown[word] += frequency
        words = np.array(sorted(known_words), dtype=np.int32)
        return WordCounts(
            words,
            self._values(words, known_words),
            known_words.total() + unknown.total(),
            known_words.total(),
            stopped,
            tuple(word for word, _ in unknown.most_common()),
            tuple(self._spans(text, positions)),
        )

    def _tokens(self, text: str) -> Counter[tuple[str, bool]]:
        """Return the frequency of each pair of a word and whether it is a stop word."""
        if self.wording.phrases:
            return Counter((word, stopped) for word, _, _, stopped in self.wording.words(text))
        tokens: Counter[tuple[str, bool]] = Counter()
        # `Counter` counts in C, since a text may have millions of words.
        for word, frequency in Counter(self.wording.find_words(text)).items():
            tokens[self.wording.find_form(word)] += frequency
        return tokens

    def _spans(self, text: str, positions: Sequence[int]) -> Iterator[Span]:
        """Yield the spans of known words at the beginning of a text."""
        for word, begin, end, _ in self.wording.words(text):
            if begin == len(text) or positions[begin] >= MARKED:
                return
            number = self.numbers.get(word)
            if number is not None:
                yield Span(positions[begin], positions[end - 1] + 1 if end > begin else positions[begin], number)

    def _values(self, words: Array, known_words: Counter[int]) -> Array:
        """Return the counts of words in the type of the corpus."""
        dtype = np.float32 if self.kind == "real" else np.int32
        if self.kind == "binary":
            return np.ones(len(words), dtype=dtype)
        return np.array([known_words[word] for word in words.tolist()], dtype=dtype)


def find_rules(meta: Mapping[str, Any], kind: str, vocabulary: Sequence[str]) -> Rules:
    """Return the rules stored with a corpus, or the default ones for a corpus that was imported as counts."""
    report = meta.get("options") or {}
    record = meta.get("wording")
    own = record is not None or meta.get("format") in TEXT_FORMATS
    return Rules(
        vocabulary=vocabulary,
        wording=_guess_wording(report if own else {}, own=own) if record is None else wordings.load_wording(record),
        kind=kind,
        own=own,
        levels=report.get("levels"),
    )


def _guess_wording(report: Mapping[str, Any], *, own: bool) -> Wording:
    """Return the wording of a corpus that has none stored: one of counts, or of an early version (always English)."""
    pattern = str(report.get("token_pattern") or (LETTERS if own else make_word_pattern()))
    try:
        listed = read_stop_words(str(report.get("stop_words") or "english"))
    except IngestError:  # the file of stop words no longer exists
        listed = frozenset()
    return Wording(html="no", pattern=pattern, stop_list=tuple(sorted(listed)))


def clean_with_places(text: str) -> tuple[str, Sequence[int]]:
    """Return the result of `clean_text`, and the position in ``text`` of each of its characters."""
    lower = text.lower()
    lower, origin = _simplify_with_places(lower, _trace_lowercase(text, lower))
    pieces: list[str] = []
    positions: list[Array] = []
    last = 0
    for noise in NOISE.finditer(lower):
        pieces += [lower[last : noise.start()], " "]
        positions.append(origin[last : noise.start() + 1])  # the space gets the position where the noise begins
        last = noise.end()
    return "".join([*pieces, lower[last:]]), np.concatenate([*positions, origin[last:]]).data


def _simplify_with_places(lower: str, origin: Array) -> tuple[str, Array]:
    """Return the result of `simplify_letters`, and the original position of each of its characters."""
    if simplify_letters(lower) == lower:
        return lower, origin
    # A letter with its marks; a Hangul syllable may consist of several characters.
    letters = re.compile(f".[{list_marks()}\u1160-\u11ff]*", re.DOTALL)
    simplified = [(letter.start(), simplify_letters(letter[0])) for letter in letters.finditer(lower)]
    starts = np.repeat([start for start, _ in simplified], [len(simple) for _, simple in simplified])
    return "".join(simple for _, simple in simplified), origin[starts.astype(np.int64)]


def _space_with_places(text: str, positions: Sequence[int], wording: Wording) -> tuple[str, Sequence[int]]:
    """Insert blanks between words of scripts without blanks; return the text and the positions of its characters."""
    spaced = wording.space_text(text)
    if spaced == text:
        return text, positions
    spaced_positions, index, last = [], 0, len(text)
    for character in spaced:
        spaced_positions.append(positions[min(index, last - 1)])
        index += index < last and character == text[index]
    return spaced, spaced_positions


def _trace_lowercase(text: str, lower: str) -> Array:
    """Return the position in a text of each character of its lower case, in which a few letters become longer."""
    positions = np.arange(len(text))
    return positions if len(lower) == len(text) else np.repeat(positions, [len(letter.lower()) for letter in text])


class NewDocument(NamedTuple):
    """A new document: its title, its text ("" where there are only counts) and its counts."""

    title: str
    text: str
    word_counts: WordCounts


def read_new_text(text: str, rules: Rules, title: str = "") -> NewDocument:
    """Return a text as a document; its title is its first line unless one is given."""
    text = rules.wording.prepare_text(text)
    first_line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    short_title = first_line if len(first_line) <= _LONGEST_TITLE else first_line[: _LONGEST_TITLE - 1].rstrip() + "…"
    return NewDocument(title or short_title, text, rules.count(text))


def explain_unknown_words(unknown: Sequence[str]) -> str:
    """Return a sentence on why a document without known words has no result, naming some of its unknown words."""
    if not unknown:
        return "There is nothing in it that the corpus counts, so there is no result for it: give one with more words."
    listed = list_some(unknown, _MOST_LISTED)
    return (
        f"The corpus knows none of its words ({listed}), so there is no result for it: give a document in the language "
        "of the corpus and about its subjects."
    )


def describe_known_words(tokens: int, stopped: int) -> str:
    """Return the end of the sentence "3 of 5 words are known to the corpus", from "words" on, with the stop words."""
    words, count, are = ("word", "counts", "is") if tokens == 1 else ("words", "count", "are")
    if not stopped:
        return f"{words} {are} known to the corpus"
    return f"{words} that {count} {are} known to the corpus ({plural(stopped, 'stop word')} left out)"


def make_recounter(vocabulary: Sequence[str], rules: Rules) -> Callable[[Counts, int], WordCounts]:
    """Return a function that translates one document's counts from another vocabulary to that of the corpus."""
    numbers = np.array([rules.numbers.get(word, -1) for word in vocabulary], dtype=np.int32)

    def recount(counts: Counts, row: int) -> WordCounts:
        _, other_words, values = counts.rows(row, row + 1)
        words = numbers[other_words]
        unknown = tuple(vocabulary[word] for word in other_words[words < 0].tolist())
        known_words, inverse = np.unique(words[words >= 0], return_inverse=True)
        totals = np.bincount(inverse, weights=values[words >= 0], minlength=len(known_words))
        known, tokens = int(totals.sum()), int(values.sum())
        dtype = np.float32 if rules.kind == "real" else np.int32
        new_counts = np.ones(len(known_words), dtype=dtype) if rules.kind == "binary" else totals.astype(dtype)
        return WordCounts(known_words.astype(np.int32), new_counts, tokens, known, 0, unknown, ())

    return recount


def read_new_documents(name: str, rules: Rules, options: ImportOptions) -> list[NewDocument]:
    """Return the documents of a file or folder, or of standard input (``-``).

    A text, web page or office file is one document.

    Raises
    ------
    IngestError
        When it cannot be read, or an option would have no effect; the message is one sentence with file, line and
        cause.
    """
    from topiary.app.ingest.registry import choose_reader

    if name == "-":
        if options.format is not None:
            raise IngestError(STDIN, "is read as one text; leave --format out, or give a file of that format")
        return [_read_single_document(STDIN, sys.stdin.buffer, rules, options)]
    path = Path(name)
    if options.format is None and _is_single_text(path):
        with packing.open_file(path) as stream:
            return [_read_single_document(path, stream, rules, options)]
    reader = choose_reader(path, options)
    if "levels" in reader.accepts:  # scale images as in the corpus
        options = replace(options, levels=rules.levels, binary=rules.kind == "binary")
    source = reader.read(path, options)
    if isinstance(source, CountSource):
        return list(_read_counts(source, rules))
    documents: list[NewDocument] = []
    for document in source.documents():
        if len(documents) == MOST:
            raise IngestError(path, f"has more than {MOST:,} documents; give a part of them at a time")
        prepared = rules.wording.prepare_document(document)
        clean = rules.wording.clean_document(document, source.counted)
        documents.append(NewDocument(prepared.title, prepared.text, rules.count_clean(clean)))
    return documents


def _is_single_text(path: Path) -> bool:
    """Return whether a file is one text, by its suffix and because its content is not that of a list of documents."""
    from topiary.app.ingest.readers import counts_arrays
    from topiary.app.ingest.readers.xml import recognise_xml
    from topiary.app.ingest.tables import sniff

    if packing.find_suffix(path) not in WHOLE or not is_file(path):
        return False
    return not (counts_arrays.recognise_idx(path) or sniff.find_kind(path) or recognise_xml(path))


def _read_single_document(path: Path, stream: BinaryIO, rules: Rules, options: ImportOptions) -> NewDocument:
    """Return the only document in a stream; ``path`` tells its kind and is named in errors."""
    from topiary.app.ingest.readers.documents import PICTURED, read_contents
    from topiary.app.ingest.registry import refuse_idle

    refuse_idle(path, (), options)
    most = MOST_OF_BINARY if path.suffix.lower() in PICTURED else packing.LARGEST_TEXT
    raw = packing.read_up_to(stream, most + 1)
    if len(raw) > most:
        raise IngestError(path, f"is larger than {most >> 20} MB, the most of one document; give a part of it")
    encoding = find_marked_encoding(raw, options.encoding)
    try:
        text = read_contents(Path(packing.strip_packing(path.name)), raw, encoding).text
    except Unreadable as error:
        raise IngestError(path, f"{error}; save it as .txt first") from None
    except UnicodeDecodeError as error:
        cause = f"is not {encoding.upper()} at byte {error.start + 1:,}; name its encoding with --encoding"
        raise IngestError(path, cause) from None
    return read_new_text(text, rules, path.name)


def _read_counts(source: CountSource, rules: Rules) -> Iterator[NewDocument]:
    """Yield the documents of a source of counts, their words matched by name with the vocabulary of the corpus."""
    recount = make_recounter(source.vocabulary, rules)
    for rows in source.blocks():
        for row, title in enumerate(rows.titles):
            yield NewDocument(title, "", recount(rows.counts, row))
