"""New documents, counted by the rules of a corpus: a text, standard input, or any file that can be imported."""

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from app.ingest import files, packing
from app.ingest.errors import IngestError
from app.ingest.options import ImportOptions, is_file
from app.ingest.readers import arrays, text_kinds, xml_records
from app.ingest.readers.documents import KINDS, PICTURED, read_contents
from app.ingest.registry import choose_reader, refuse_idle
from app.ingest.source import Array, CountSource, Unreadable
from app.ingest.text import wording as wordings
from app.ingest.text.cleaning import LETTERS, NOISE, make_word_pattern, read_stop_words, simplify_letters
from app.ingest.text.encodings import find_marked_encoding
from app.ingest.text.languages import list_marks
from app.ingest.text.wording import Wording
from engine.contract import Counts

TEXT_FORMATS = frozenset({"csv", "jsonl", "lines", "text", "built-in", "texts"})
MARKED = 12_000  # characters at the beginning of a text in which known words get their places


class Span(NamedTuple):
    """The place of a known word in a text: ``text[begin:end]`` is word number ``word``."""

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
        """True when no word of it is known, so that nothing can be said of it."""
        return not self.counts.any()


@dataclass(frozen=True, eq=False, kw_only=True)
class Rules:
    """The rules by which a corpus finds words in a text.

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
        """Number of every word, written as in the vocabulary or in lower case."""
        lower = {word.lower(): number for number, word in enumerate(self.vocabulary)}
        return lower | {word: number for number, word in enumerate(self.vocabulary)}

    def count(self, text: str) -> Recount:
        """Count a text as it was written, after :meth:`app.ingest.text.wording.Wording.prepare_text`."""
        return self._count(*clean_with_places(text))

    def count_clean(self, text: str) -> Recount:
        """Count a text that a reader has cleaned already (its spans are those of the clean text)."""
        return self._count(text, range(len(text) + 1))

    def _count(self, text: str, places: Sequence[int]) -> Recount:
        text, places = _space_with_places(text, places, self.wording)
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
        """Count each word, with whether it is a stop word."""
        if self.wording.phrases:
            return Counter((word, stopped) for word, _, _, stopped in self.wording.words(text))
        tokens: Counter[tuple[str, bool]] = Counter()
        for word, times in Counter(self.wording.find_words(text)).items():  # in C: a text may have millions
            tokens[self.wording.find_form(word)] += times
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


def find_rules(meta: Mapping[str, Any], kind: str, vocabulary: Sequence[str]) -> Rules:
    """Return the rules that a corpus keeps of its import; the usual ones for a corpus that came as counts."""
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
    """Return the wording of a corpus that keeps none: of an early version, when it was English, or one of counts."""
    pattern = str(report.get("token_pattern") or (LETTERS if own else make_word_pattern()))
    try:
        listed = read_stop_words(str(report.get("stop_words") or "english"))
    except IngestError:  # its file is gone
        listed = frozenset()
    return Wording(html="no", pattern=pattern, stop_list=tuple(sorted(listed)))


def clean_with_places(text: str) -> tuple[str, Sequence[int]]:
    """Return the text as `clean_text` gives it, and where in ``text`` each of its characters is."""
    lower = text.lower()
    lower, origin = _plain_with_places(lower, _trace_lowercase(text, lower))
    pieces: list[str] = []
    places: list[Array] = []
    last = 0
    for noise in NOISE.finditer(lower):
        pieces += [lower[last : noise.start()], " "]
        places.append(origin[last : noise.start() + 1])  # the space stands where the noise begins
        last = noise.end()
    return "".join([*pieces, lower[last:]]), np.concatenate([*places, origin[last:]]).data


def _plain_with_places(lower: str, origin: Array) -> tuple[str, Array]:
    """Return the text of `simplify_letters`, and where each of its characters comes from."""
    if simplify_letters(lower) == lower:
        return lower, origin
    letters = re.compile(f".[{list_marks()}\u1160-\u11ff]*", re.DOTALL)  # a Hangul syllable may come in pieces
    found = [(letter.start(), simplify_letters(letter[0])) for letter in letters.finditer(lower)]
    places = np.repeat([place for place, _ in found], [len(each) for _, each in found])
    return "".join(each for _, each in found), origin[places.astype(np.int64)]


def _space_with_places(text: str, places: Sequence[int], wording: Wording) -> tuple[str, Sequence[int]]:
    """Return the text with blanks between words that have none, and the places of its characters."""
    spaced = wording.space_text(text)
    if spaced == text:
        return text, places
    found, place, last = [], 0, len(text)
    for character in spaced:
        found.append(places[min(place, last - 1)])
        place += place < last and character == text[place]
    return spaced, found


def _trace_lowercase(text: str, lower: str) -> Array:
    """Return where in a text each character of its lower case comes from: a few letters become longer."""
    every = np.arange(len(text))
    return every if len(lower) == len(text) else np.repeat(every, [len(letter.lower()) for letter in text])


WHOLE = ("", *KINDS)  # a file of these endings is one text, not one document a line
STDIN = Path("standard input")
_TITLE = 80
_NAMED = 8  # unknown words
MOST_OF_BINARY = 1 << 28  # bytes of a document with pictures in it
MOST = 20_000  # documents placed in one go


class NewDocument(NamedTuple):
    """A document as it was given: its title, its text ("" where there are only counts) and its counts."""

    title: str
    text: str
    counted: Recount


def read_new_text(text: str, rules: Rules, title: str = "") -> NewDocument:
    """Return a text as a document; its title is its first line unless one is given."""
    text = rules.wording.prepare_text(text)
    first = next((line.strip() for line in text.splitlines() if line.strip()), "")
    short = first if len(first) <= _TITLE else first[: _TITLE - 1].rstrip() + "…"
    return NewDocument(title or short, text, rules.count(text))


def explain_unknown_words(unknown: Sequence[str]) -> str:
    """Explain why nothing can be said of a document without a known word, and what to do; unknown words are named."""
    if not unknown:
        return "There is nothing in it that the corpus counts, so there is no result for it: give one with more words."
    listed = ", ".join(unknown[:_NAMED]) + (" …" if len(unknown) > _NAMED else "")
    return (
        f"The corpus knows none of its words ({listed}), so there is no result for it: give a document in the language "
        "of the corpus and about its subjects."
    )


def are_known(tokens: int, stopped: int) -> str:
    """Describe what the figure "3 of ``tokens``" counts, and how many stop words were left out of it."""
    words, count, are = ("word", "counts", "is") if tokens == 1 else ("words", "count", "are")
    if not stopped:
        return f"{words} {are} known to the corpus"
    left_out = f"{stopped:,} stop {'word' if stopped == 1 else 'words'} left out"
    return f"{words} that {count} {are} known to the corpus ({left_out})"


def read_new_documents(name: str, rules: Rules, options: ImportOptions) -> list[NewDocument]:
    """Read the documents of a file or folder, ``-`` for standard input; a text, page or office file is one document.

    Raises
    ------
    IngestError
        When it cannot be read, or an option would change nothing; one sentence with file, line and cause.
    """
    if name == "-":
        if options.format is not None:
            raise IngestError(STDIN, "is read as one text; leave --format out, or give a file of that format")
        return [_read_single_document(STDIN, sys.stdin.buffer, rules, options)]
    path = Path(name)
    if options.format is None and _is_single_text(path):
        with files.open_file(path) as stream:
            return [_read_single_document(path, stream, rules, options)]
    reader = choose_reader(path, options)
    if "levels" in reader.accepts:  # pictures have the values that they have in the corpus
        options = replace(options, levels=rules.levels, binary=rules.kind == "binary")
    source = reader.read(path, options)
    if isinstance(source, CountSource):
        return list(_read_counts(source, rules))
    found: list[NewDocument] = []
    for document in source.documents():
        if len(found) == MOST:
            raise IngestError(path, f"has more than {MOST:,} documents; give a part of them at a time")
        ready = rules.wording.prepare_document(document)
        found.append(NewDocument(ready.title, ready.text, rules.count_clean(source.counted(ready))))
    return found


def _is_single_text(path: Path) -> bool:
    """Return whether a path is one text, and not a list of documents that is known by its content."""
    if files.find_suffix(path) not in WHOLE or not is_file(path):
        return False
    return not (arrays.recognise_idx(path) or text_kinds.find_kind(path) or xml_records.recognise_xml(path))


def _read_single_document(path: Path, stream: BinaryIO, rules: Rules, options: ImportOptions) -> NewDocument:
    refuse_idle(path, (), options)
    most = MOST_OF_BINARY if path.suffix.lower() in PICTURED else files.LARGEST_TEXT
    raw = files.read_up_to(stream, most + 1)
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
    """Yield documents that come as counts, their words found in the vocabulary of the corpus by name."""
    recount = make_recounter(source.vocabulary, rules)
    for rows in source.blocks():
        for place, title in enumerate(rows.titles):
            yield NewDocument(title, "", recount(rows.counts, place))


def make_recounter(vocabulary: Sequence[str], rules: Rules) -> Callable[[Counts, int], Recount]:
    """Make the function that recounts one of several documents that come as counts over another vocabulary."""
    numbers = np.array([rules.numbers.get(word, -1) for word in vocabulary], dtype=np.int32)

    def recount(counts: Counts, place: int) -> Recount:
        _, theirs, values = counts.rows(place, place + 1)
        words = numbers[theirs]
        strange = tuple(vocabulary[word] for word in theirs[words < 0].tolist())
        kept, where = np.unique(words[words >= 0], return_inverse=True)
        totals = np.bincount(where, weights=values[words >= 0], minlength=len(kept))
        known, tokens = int(totals.sum()), int(values.sum())
        kind = np.float32 if rules.kind == "real" else np.int32
        found = np.ones(len(kept), dtype=kind) if rules.kind == "binary" else totals.astype(kind)
        return Recount(kept.astype(np.int32), found, tokens, known, 0, strange, ())

    return recount
