"""Divide long texts into passages: by chapters, by paragraphs, or of about as many words each."""

import itertools
import re
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import median
from typing import NamedTuple

import numpy as np

from app.ingest.errors import IngestError
from app.ingest.options import CHAPTERS, PARAGRAPHS
from app.ingest.source import LEFT_OUT, Array, TextDocument, TextSource
from app.ingest.text import headings
from app.ingest.text.headings import UNWRAPPED, Heading
from app.ingest.text.languages import RANGES

LEAST = 50  # words of a passage; a shorter one is joined with the next
_NEAR_PARAGRAPH, _NEAR_SENTENCE = 0.15, 0.5  # of the words of a passage: how far away the place to cut may be

_UNSPACED = "".join(RANGES[script] for script in ("Han", "Kana", "Thai", "Lao", "Khmer", "Burmese"))
_WORD = re.compile(rf"[{_UNSPACED}]{{1,2}}|[^\W{_UNSPACED}]+(?:['’-][^\W{_UNSPACED}]+)*")
_GAP = re.compile(r"\n[ \t\f]*(?:\n[ \t\f]*)+|\f\s*")
_INDENTED = re.compile(r"\n(?=[ \t\u3000]+\S)")
_SENTENCE = re.compile(
    r"(?:(?<!\bMr)(?<!\bMrs)(?<!\bMs)(?<!\bDr)(?<!\bSt)(?<!\b[A-Z])\.|[!?…])[\"'”’»)\]]*\s+|[。！？][」』”’）]*\s*"
)


class Passage(NamedTuple):
    """A part of a text, and the heading it stands under, empty where there is none."""

    text: str
    heading: str = ""


def unify_line_ends(text: str) -> str:
    r"""Return a text whose lines all end in ``\n``."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def count_words(text: str) -> int:
    """Return about how many words a text has; two letters are one where no spaces stand between words.

    >>> count_words("It rained, and Ann's boat-house leaked."), count_words("我们去图书馆学习")
    (6, 4)
    """
    return len(_WORD.findall(text))


def divide_into_paragraphs(text: str) -> list[Passage]:
    """Return the paragraphs of a text, short ones joined with those after them."""
    return join_short_passages([Passage(part) for part in cut_text(text, find_paragraphs(text))])


def divide_by_words(text: str, size: int) -> list[Passage]:
    """Return passages of about ``size`` words that end with a paragraph or a sentence, wherever one ends nearby."""
    starts = np.fromiter((found.start() for found in _WORD.finditer(text)), np.int64)
    pieces = max(1, round(len(starts) / size))
    if pieces == 1:
        return [Passage(text.strip())]
    paragraphs = np.searchsorted(starts, find_paragraphs(text))
    ends = np.fromiter((found.end() for found in _SENTENCE.finditer(text)), np.int64)
    sentences = np.searchsorted(starts, ends)
    targets = [round(len(starts) * place / pieces) for place in range(1, pieces)]
    cuts = {_find_near(target, size, paragraphs, sentences) for target in targets} - {0, len(starts)}
    return [Passage(part) for part in cut_text(text, [int(starts[word]) for word in sorted(cuts)])]


def _find_near(target: int, size: int, paragraphs: Array, sentences: Array) -> int:
    """Return the number of the word to cut before: one that begins a paragraph, or a sentence, or the target itself."""
    for places, share in ((paragraphs, _NEAR_PARAGRAPH), (sentences, _NEAR_SENTENCE)):
        if len(places):
            after = int(np.searchsorted(places, target))
            around = places[max(after - 1, 0) : after + 1].tolist()
            best = min(around, key=lambda place: abs(place - target))
            if abs(best - target) <= share * size:
                return int(best)
    return target


def find_paragraphs(text: str) -> list[int]:
    """Return where the paragraphs of a text begin, but the first.

    Paragraphs stand between blank lines; where there are none, each long line is one, or they begin indented.
    """
    found: list[int] = []
    begin = 0
    for gap in [*_GAP.finditer(text), None]:
        end = len(text) if gap is None else gap.start()
        found += _find_starts(text[begin:end], begin)
        begin = len(text) if gap is None else gap.end()
        found.append(begin)
    return [place for place in found if 0 < place < len(text)]


def _find_starts(block: str, offset: int) -> Iterator[int]:
    """Give where paragraphs begin in lines without a blank one between them."""
    lines = block.count("\n") + 1
    if lines == 1:
        return
    if len(block) / lines > UNWRAPPED:
        yield from (offset + found.end() for found in re.finditer("\n", block))
        return
    indented = [found.end() for found in _INDENTED.finditer(block)]
    if len(indented) < lines - 1:  # a block that is indented as a whole is one paragraph
        yield from (offset + place for place in indented)


def cut_text(text: str, places: Sequence[int]) -> list[str]:
    """Return the parts of a text between some places, blanks around them and empty ones left out."""
    ends = [0, *places, len(text)]
    parts = (text[begin:end].strip() for begin, end in itertools.pairwise(ends))
    return [part for part in parts if part]


_PAGE = 600  # words of a page at most: numbers in digits that divide a text more finely are those of its pages
_CONTENTS = 3  # headings one below the other that are a table of contents, where they come again
_ALIKE = 0.8  # share of a table of contents that comes again in its order
_MANY = 2  # times that numerals divide a text more finely than chapters, from which they divide it too


class _Section(NamedTuple):
    """A heading, and the text from it to the next one."""

    heading: Heading
    text: str
    words: int


def divide_into_chapters(text: str) -> list[Passage]:
    """Return the chapters of a text, the front matter before them as one of its own; one passage where there are none.

    A chapter of few words, such as ``BOOK I`` above ``CHAPTER I``, is joined with the next.
    """
    lines = text.split("\n")
    found = choose_headings(lines)
    if not found:
        pages = cut_text(text, [place for place, letter in enumerate(text) if letter == "\f"]) if "\f" in text else []
        return join_short_passages([Passage(part) for part in pages]) if len(pages) > 1 else [Passage(text.strip())]
    front = "\n".join(lines[: found[0].heading.line]).strip()
    passages = [Passage(section.text, section.heading.text) for section in found]
    return join_short_passages([Passage(front), *passages] if front else passages)


def has_chapters(text: str) -> bool:
    """Return whether a text is divided by headings of chapters."""
    return len(choose_headings(text.split("\n"))) > 1


def choose_headings(lines: Sequence[str]) -> list[_Section]:
    """Return the sections below the headings that divide a text into chapters; none where fewer than two do."""
    keyed = _list_sections(lines, headings.find_keyed_headings(lines))
    numbered = _list_sections(lines, _find_chapters(lines, headings.find_numbered_headings(lines)))
    if len(keyed) > 1:
        if len(numbered) > _MANY * len(keyed):
            both = {section.heading.line: section.heading for section in (*numbered, *keyed)}
            return _list_sections(lines, [both[line] for line in sorted(both)])
        return keyed
    of_markdown = _list_sections(lines, headings.find_markdown_headings(lines))
    return next((found for found in (of_markdown, numbered) if len(found) > 1), [])


def _find_chapters(lines: Sequence[str], found: list[Heading]) -> list[Heading]:
    """Return the headings but those that number pages."""
    if not found or not headings.find_bare_numbers(found):
        return found
    return found if median(section.words for section in _cut_sections(lines, found)) >= _PAGE else []


def _cut_sections(lines: Sequence[str], found: Sequence[Heading]) -> list[_Section]:
    ends = [*(heading.line for heading in found[1:]), len(lines)][: len(found)]
    texts = ["\n".join(lines[heading.line : end]).strip() for heading, end in zip(found, ends, strict=True)]
    return [_Section(heading, text, count_words(text)) for heading, text in zip(found, texts, strict=True)]


def _list_sections(lines: Sequence[str], found: list[Heading]) -> list[_Section]:
    """Return the sections of a text without the headings that stand in its table of contents."""
    sections = _cut_sections(lines, found)
    place, left = 0, []
    while place < len(sections):
        end = place
        while end < len(sections) and sections[end].words < LEAST:
            end += 1
        after = _find_contents_end(sections, place, end)
        if after == place:
            after = end + 1
            left += sections[place:after]
        place = after
    return sections if len(left) == len(sections) else _cut_sections(lines, [section.heading for section in left])


def _find_contents_end(sections: Sequence[_Section], begin: int, end: int) -> int:
    """Return where the table of contents ends that begins with a heading; that heading where it begins none.

    Between ``begin`` and ``end`` headings have no text below them.  The last entry of a table has the text after the
    table below it, and what comes after that are the same headings again.
    """
    keys = [section.heading.key for section in sections]
    for size in range(min(end - begin + 1, (len(sections) - begin) // 2), _CONTENTS - 1, -1):
        pairs = zip(keys[begin : begin + size], keys[begin + size :], strict=False)
        if sum(entry == heading for entry, heading in pairs) >= _ALIKE * size:
            return begin + size
    if end - begin < _CONTENTS or not _come_again(keys, begin, end):
        return begin
    return end + 1 if _come_again(keys, end, end + 1) else end


def _come_again(keys: Sequence[str], begin: int, end: int) -> bool:
    """Return whether most of some headings come again after all of them."""
    later = set(keys[end:])
    return 2 * sum(key in later for key in keys[begin:end]) > end - begin


def join_short_passages(passages: Sequence[Passage]) -> list[Passage]:
    """Return the passages, those of fewer than `LEAST` words joined with the next, and the last with the one before."""
    joined: list[Passage] = []
    held: list[Passage] = []
    for passage in passages:
        held.append(passage)
        if sum(count_words(each.text) for each in held) >= LEAST:
            joined.append(_join_together(held))
            held = []
    if held:
        joined = [*joined[:-1], _join_together([*joined[-1:], *held])] if joined else [_join_together(held)]
    return joined


def _join_together(held: Sequence[Passage]) -> Passage:
    titles = [passage.heading for passage in held if passage.heading]
    return Passage("\n\n".join(passage.text for passage in held), " / ".join(titles))


USUAL = 500  # words of a passage that are proposed
LONG = 5_000  # words of a usual document from which passages are proposed

_LONG_TEXT = 2 * LONG  # letters of a text whose words are counted; a shorter one has no more than LONG
_LOOKED_AT = 20  # long texts in which chapters are looked for
_NAMED = 3  # documents named in a note
_LONGEST_PASSAGE_TITLE = 200
_LICENCE_BEGINS = re.compile(
    r"^[ \t]*\*\*\*[ \t]*START OF (?:THE|THIS) PROJECT GUTENBERG EBOOK[^\n]*(?:\n[^\n]+){0,2}?\*\*\*[ \t]*$",
    re.MULTILINE,
)
_LICENCE_ENDS = re.compile(
    r"^[ \t]*(?:\*\*\*[ \t]*END OF (?:THE|THIS) PROJECT GUTENBERG EBOOK|End of (?:the )?Project Gutenberg)",
    re.MULTILINE | re.IGNORECASE,
)


def strip_licence(text: str) -> str:
    """Return a text without the licence that stands before and after a book of Project Gutenberg."""
    begins = _LICENCE_BEGINS.search(text)
    ends = _LICENCE_ENDS.search(text, begins.end() if begins else len(text) // 2)
    return text[begins.end() if begins else 0 : ends.start() if ends else len(text)]


class Division:
    """Divides the documents of a source while they are read.

    Parameters
    ----------
    how : str
        As :attr:`app.ingest.options.ImportOptions.split`.
    prepared : callable
        What a text is without what is not to be read of it, such as the tags of a page.
    strict : bool
        Whether texts that have no chapters at all are refused where these are asked for.

    Attributes
    ----------
    documents : array of int
        For each passage of either part the number of its document; complete once all documents have been read.
    """

    def __init__(self, how: str, prepared: Callable[[str], str], *, strict: bool = True) -> None:
        self.how = how
        self._strict = strict
        self.documents = array("q")
        self._prepared = prepared
        self._divide = _make_divider(how)

    def divide_source(self, source: TextSource) -> TextSource:
        """Return the source whose documents are passages."""
        return replace(source, documents=lambda: self._passages(source))

    def groups(self) -> Array:
        """Return for each passage the number of its document, (passages,) int64."""
        return np.frombuffer(self.documents, np.int64) if self.documents else np.empty(0, np.int64)

    def _passages(self, source: TextSource) -> Iterator[TextDocument]:
        found = array("q")
        licences, whole, documents = 0, [], 0
        for number, document in enumerate(source.documents()):
            text = unify_line_ends(self._prepared(document.text))
            inside = strip_licence(text)
            passages = self._divide(inside) if inside.strip() else []
            if document.part != LEFT_OUT:
                documents += 1
                licences += len(inside) < len(text)
                found.extend([number] * max(1, len(passages)))
                if len(passages) <= 1:
                    whole.append(document.title)
            yield from _make_passages(document, passages)
        self.documents = found
        self._say(source, documents, licences, whole)

    def _say(self, source: TextSource, documents: int, licences: int, whole: list[str]) -> None:
        """Keep in the source what was done, once.

        Raises
        ------
        IngestError
            When no document has chapters.
        """
        if self._strict and self.how == CHAPTERS and documents and len(whole) == documents:
            has = "has no headings of chapters, such as 'Chapter 1', a numeral on its own line or '# Heading'"
            raise IngestError(source.where, f"{has}; divide it with --split paragraphs or --split '{USUAL} words'")
        number, of = len(self.documents), "1 document" if documents == 1 else f"{documents:,} documents"
        source.understood["split"] = f"{self.how}: {of} in {number:,} passages"
        notes = []
        if licences:
            books = "1 book" if licences == 1 else f"{licences:,} books"
            notes.append(f"the licence of Project Gutenberg is left out of {books}")
        if self.how == CHAPTERS and whole:
            have = "1 document has" if len(whole) == 1 else f"{len(whole):,} documents have"
            named = ", ".join(map(repr, whole[:_NAMED])) + (" …" if len(whole) > _NAMED else "")
            are = "is" if len(whole) == 1 else "are"
            notes.append(f"{have} no headings of chapters and {are} kept whole ({named})")
        source.notes.extend(note for note in notes if note not in source.notes)


def _make_divider(how: str) -> Callable[[str], list[Passage]]:
    if how == CHAPTERS:
        return divide_into_chapters
    if how == PARAGRAPHS:
        return divide_into_paragraphs
    size = int(how.partition(" ")[0])
    return lambda text: divide_by_words(text, size)


def _make_passages(document: TextDocument, passages: list[Passage]) -> Iterator[TextDocument]:
    """Give the passages of a document as documents; one that is not divided keeps its title."""
    total = max(1, len(passages))
    if total == 1:
        text = passages[0].text if passages else document.text
        yield document._replace(text=text, columns=_make_columns(document, 1, 1, ""))
        return
    for place, passage in enumerate(passages, 1):
        where = f"{place} of {total}"
        title = f"{document.title}, {where}" + (f": {passage.heading}" if passage.heading else "")
        columns = _make_columns(document, place, total, passage.heading)
        short = title if len(title) <= _LONGEST_PASSAGE_TITLE else title[: _LONGEST_PASSAGE_TITLE - 1] + "…"
        yield document._replace(text=passage.text, title=short, columns=columns, titled=False)


def _make_columns(document: TextDocument, place: int, total: int, heading: str) -> Mapping[str, str]:
    """Return the columns of a passage: those of its document, the title of that, and its place in it."""
    own = {"document": document.title, "passage": f"{place} of {total}"} | ({"chapter": heading} if heading else {})
    taken = document.columns
    return {**taken, **{name if name not in taken else f"{name} (split)": value for name, value in own.items()}}


class LongTexts:
    """Looks whether documents are long, and how they could be divided.

    Attributes
    ----------
    documents : int
        Texts that were seen, without empty ones.
    """

    def __init__(self) -> None:
        self.documents = 0
        self._words = array("q")
        self._looked = self._divided = 0

    def see(self, text: str) -> None:
        """Look at the text of a document."""
        self.documents += 1
        if len(text) > _LONG_TEXT and (words := count_words(text)) > LONG:
            self._words.append(words)
            if self._looked < _LOOKED_AT:
                self._looked += 1
                self._divided += has_chapters(unify_line_ends(text))

    @property
    def usual(self) -> int:
        """Return how many words the usual document has; 0 where that is no more than `LONG`."""
        if 2 * len(self._words) <= self.documents:
            return 0
        return int(median([0] * (self.documents - len(self._words)) + list(self._words)))

    def propose_split(self) -> str:
        """Return how the documents could be divided, empty where they are short."""
        if not self.usual:
            return ""
        return CHAPTERS if 2 * self._divided > self._looked else f"{USUAL} words"

    def count_chaptered(self) -> tuple[int, int]:
        """Return in how many texts chapters were found, and in how many they were looked for."""
        return self._divided, self._looked
