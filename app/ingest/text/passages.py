"""Divide long texts into passages: by chapters, whose headings are found, by paragraphs, or into pieces."""

import itertools
import re
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import median
from typing import NamedTuple

import numpy as np

from topiary.app.ingest.errors import IngestError, list_some, plural
from topiary.app.ingest.options import CHAPTERS, FEWEST_WORDS, PARAGRAPHS
from topiary.app.ingest.source import LEFT_OUT, Array, TextDocument, TextSource
from topiary.app.ingest.text.languages import RANGES

UNWRAPPED = 90  # characters of a line that is taken for a whole paragraph
_LONGEST_HEADING = 120  # characters of a heading
_LONGEST_TITLE = 70  # characters of the line below "CHAPTER I." that is its title
_PARAGRAPH_ENDS = (".", "!", "?", "…", '"', "”", "’", "»", ":", "。", "！", "？", "」", "*", "_")

_CHAPTER = (
    "chapter|chap\\.?|stave|canto|kapitel|chapitre|chap[ií]tre|cap[ií]tulo|cap[ií]tol|capitolo|hoofdstuk|kapitola|kapittel|"
    "rozdzia[łl]|fejezet|b[öo]l[üu]m|luku|chương|глава|розділ|κεφ[άα]λαιο|פרק|الفصل"
)
_PART = (
    "book|part|volume|act|scene|letter|section|buch|teil|band|akt|szene|brief|abschnitt|livre|partie|tome|acte|sc[èe]ne|"
    "lettre|libro|parte|tomo|acto|escena|carta|atto|scena|lettera|boek|deel|часть|книга|том|część|księga|kniha|část"
)
_ALONE = (
    "prologue|epilogue|preface|foreword|introduction|conclusion|afterword|prolog|epilog|vorwort|nachwort|einleitung|"
    "pr[ée]face|postface|avant-propos|pr[óo]logo|ep[íi]logo|prefacio|prefazione|пролог|эпилог|предисловие"
)
_WORDS = (
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred first second third fourth "
    "fifth sixth seventh eighth ninth tenth eleventh twelfth last erster erste erstes zweiter zweite zweites "
    "dritter dritte drittes vierter vierte viertes fünfter fünfte fünftes premier première deuxième second seconde "
    "troisième quatrième cinquième primero primera primer segundo segunda tercero tercera tercer cuarto cuarta "
    "quinto quinta primo prima secondo seconda terzo terza первая вторая третья четвертая четвёртая пятая первый "
    "второй третий"
)
_NUMBER_WORDS = frozenset(_WORDS.split())
_NUMBER = r"[^\W_]+(?:-[^\W\d_]+)?"
_REST = r"(?:\s*([.:)\]—–-]+)\s*(.*)|\s+(.*))?"  # a mark and a title, or a title alone
_KEYWORD_FIRST = re.compile(rf"({_CHAPTER}|{_PART})\s+({_NUMBER}){_REST}", re.IGNORECASE)
_NUMBER_FIRST = re.compile(rf"({_NUMBER})[.:)]?\s+({_CHAPTER}|{_PART}){_REST}", re.IGNORECASE)
_CHAPTER_PHRASE = re.compile(rf"(?:({_CHAPTER})\s+\S+(?:\s\S+){{0,2}}|\S+\s+({_CHAPTER})\.?)", re.IGNORECASE)
_ASIAN = re.compile("(第|제)\\s*([0-9０-９一二三四五六七八九十百千零〇两兩]+)\\s*[章回節节卷部篇話话장부편화].{0,40}")
_STANDALONE = re.compile(rf"({_ALONE})(?:\.|:.{{0,60}})?", re.IGNORECASE)
_NUMERAL = re.compile(r"([IVXLC]{1,8}|\d{1,3})([.):]?)(?:\s+(\S.*))?")
_ROMAN = re.compile(r"(?=.)(c{0,3})(xc|xl|l?x{0,3})(ix|iv|v?i{0,3})", re.IGNORECASE)
_NUMERAL_VALUES = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100}
_MARKDOWN = re.compile(r"(#{1,6})\s+\S")
_UNDERLINE = re.compile(r"(={3,}|-{3,})\s*")
_FENCE = re.compile(r"\s*(?:```|~~~)")
_AROUND_NUMERAL = "[]()—–-· "  # characters stripped from around a numeral
_AROUND_HEADING = " \t#*_=~\u3000\f"  # characters stripped from around a heading


class Heading(NamedTuple):
    """A heading in a text.

    Attributes
    ----------
    line : int
        Index of its line, from 0.
    text : str
    key : str
        Normalised text, equal for a heading and its entry in the table of contents: ``chapter 3``.
    level : int
        Number of marks of a Markdown heading; 0 for other headings.
    """

    line: int
    text: str
    key: str
    level: int = 0


def find_keyed_headings(lines: Sequence[str]) -> list[Heading]:
    """Return the headings with a word such as ``Chapter``; prefaces and epilogues only if there are others."""
    headings: list[Heading] = []
    numbered = False
    for index, text in _list_short_lines(lines):
        key, strict = _find_key(text)
        if not key:
            continue
        after_heading = bool(headings) and not any(line.strip() for line in lines[headings[-1].line + 1 : index])
        if not (after_heading or _ends_before(lines, index)) or (strict and not _begins_after(lines, index)):
            continue
        numbered = numbered or not _STANDALONE.fullmatch(text)
        headings.append(Heading(index, _add_title(lines, index, text), key))
    return headings if numbered else []


def find_numbered_headings(lines: Sequence[str]) -> list[Heading]:
    """Return the headings that are consecutive numerals, I, II, III; they may start again with I.

    Either all have a title after the numeral or none has; the longer of these two lists is returned.
    """
    titled, bare = _ConsecutiveHeadings(), _ConsecutiveHeadings()
    for index, text in _list_short_lines(lines):
        match = _NUMERAL.fullmatch(text.strip(_AROUND_NUMERAL))
        if match is None or (match[3] and not match[2]) or not _ends_before(lines, index):
            continue
        value = int(match[1]) if match[1].isdigit() else read_roman_number(match[1])
        if match[3] is None:
            bare.add(value, Heading(index, _add_title(lines, index, text), str(value)))
        elif _begins_after(lines, index):
            titled.add(value, Heading(index, text, f"{value} {match[3].casefold()}"))
    return max(titled.list_headings(), bare.list_headings(), key=len)


class _ConsecutiveHeadings:
    """Headings with consecutive numbers."""

    def __init__(self) -> None:
        self._last = 0
        self._headings: list[Heading] = []

    def add(self, value: int, heading: Heading) -> None:
        """Add a heading if it has the next number, or begins another count with 1."""
        if value not in (1, self._last + 1) or not value:
            return
        if value == self._last:  # a second 1: the first one began no count
            self._headings.pop()
        self._headings.append(heading)
        self._last = value

    def list_headings(self) -> list[Heading]:
        """Return the headings, without a last one that begins another count alone."""
        return self._headings[:-1] if self._last == 1 else self._headings


def find_bare_numbers(found: Sequence[Heading]) -> bool:
    """Return whether all headings are bare numbers in digits, like page numbers."""
    return all(heading.text.strip(".):").isdigit() for heading in found)


def find_markdown_headings(lines: Sequence[str]) -> list[Heading]:
    """Return the Markdown headings down to the highest level that has two or more."""
    headings: list[Heading] = []
    in_code = False
    for index, line in enumerate(lines):
        if _FENCE.match(line):
            in_code = not in_code
        if in_code:
            continue
        above = lines[index - 1].strip() if index else ""
        if match := _MARKDOWN.match(line):
            headings.append(Heading(index, line.strip(" #\t"), line.casefold(), len(match[1])))
        elif above and len(above) <= _LONGEST_HEADING and _UNDERLINE.fullmatch(line) and _is_blank(lines, index - 2):
            headings.append(Heading(index - 1, above, above.casefold(), 1 if line.startswith("=") else 2))
    levels = [heading.level for heading in headings]
    level = next((level for level in range(1, 7) if levels.count(level) > 1), 0)
    return [heading for heading in headings if heading.level <= level]


def read_roman_number(text: str) -> int:
    """Return the value of a Roman numeral; 0 if the text is not one.

    >>> read_roman_number("XIV"), read_roman_number("IIII"), read_roman_number("mix")
    (14, 0, 0)
    """
    if not _ROMAN.fullmatch(text):
        return 0
    values = [_NUMERAL_VALUES[letter] for letter in text.lower()]
    return sum(-value if value < after else value for value, after in zip(values, [*values[1:], 0], strict=True))


def _list_short_lines(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yield the index and stripped text of every line that is short enough for a heading."""
    for index, line in enumerate(lines):
        if len(line) <= _LONGEST_HEADING and (text := line.strip(_AROUND_HEADING)) and not text[0].islower():
            yield index, text


def _find_key(text: str) -> tuple[str, bool]:
    """Return the key of a heading, empty if the line is not one, and whether a blank line must follow it."""
    for pattern, number_first in ((_KEYWORD_FIRST, False), (_NUMBER_FIRST, True)):
        if match := pattern.fullmatch(text):
            word, number, mark, _, untitled = match.groups()
            word, number = (number, word) if number_first else (word, number)
            if _is_number(number) and (mark or not untitled or not untitled[0].islower()):
                return f"{word} {number}".casefold(), False
    if match := _ASIAN.fullmatch(text):
        return f"{match[1]}{match[2]}", False
    if _STANDALONE.fullmatch(text):
        return text.casefold(), True
    if _CHAPTER_PHRASE.fullmatch(text) and (
        text.isupper() or text.istitle() or not text[-1].isalpha() or len(text) < 30
    ):
        return text.casefold(), True
    return "", False


def _is_number(text: str) -> bool:
    """Return whether a word is a number: in digits, as a Roman numeral or in words."""
    words = text.casefold().split("-")
    return (text.isdecimal() and len(text) <= 4) or read_roman_number(text) > 0 or _NUMBER_WORDS.issuperset(words)


def _ends_before(lines: Sequence[str], index: int) -> bool:
    """Return whether a paragraph ends just before a line."""
    if _is_blank(lines, index - 1):
        return True
    previous = lines[index - 1].rstrip()
    return len(previous) > UNWRAPPED or previous.endswith(_PARAGRAPH_ENDS) or "\f" in lines[index]


def _begins_after(lines: Sequence[str], index: int) -> bool:
    """Return whether a paragraph begins just below a line."""
    return _is_blank(lines, index + 1) or len(lines[index + 1].rstrip()) > UNWRAPPED


def _is_blank(lines: Sequence[str], index: int) -> bool:
    return not 0 <= index < len(lines) or not lines[index].strip()


def _add_title(lines: Sequence[str], index: int, text: str) -> str:
    """Return a heading, with the title from the line below it if there is one."""
    if len(text.split()) > 3:
        return text
    below = index + 1
    while below < min(index + 3, len(lines)) and not lines[below].strip():
        below += 1
    title = lines[below].strip(_AROUND_HEADING) if below < len(lines) else ""
    fits = 0 < len(title) <= _LONGEST_TITLE and not title.endswith((".", ",", ";", "!", "”", '"'))
    if not fits or not _is_blank(lines, below + 1) or title[0].islower():
        return text
    if _find_key(title)[0] or _NUMERAL.fullmatch(title):
        return text
    return f"{text} {title}" if text[-1] in ".:" else f"{text}: {title}"


LEAST = 50  # words of a passage; a shorter one is joined with the next one
_NEAR_PARAGRAPH, _NEAR_SENTENCE = 0.15, 0.5  # distance from the target to a cut at most, as a share of the passage

_UNSPACED = "".join(RANGES[script] for script in ("Han", "Kana", "Thai", "Lao", "Khmer", "Burmese"))
_WORD = re.compile(rf"[{_UNSPACED}]{{1,2}}|[^\W{_UNSPACED}]+(?:['’-][^\W{_UNSPACED}]+)*")
_GAP = re.compile(r"\n[ \t\f]*(?:\n[ \t\f]*)+|\f\s*")
_INDENTED = re.compile(r"\n(?=[ \t\u3000]+\S)")
_SENTENCE = re.compile(
    r"(?:(?<!\bMr)(?<!\bMrs)(?<!\bMs)(?<!\bDr)(?<!\bSt)(?<!\b[A-Z])\.|[!?…])[\"'”’»)\]]*\s+|[。！？][」』”’）]*\s*"
)


class Passage(NamedTuple):
    """A part of a text, and the heading above it, empty if there is none."""

    text: str
    heading: str = ""


def unify_line_ends(text: str) -> str:
    r"""Return a text whose lines all end in ``\n``."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def count_words(text: str) -> int:
    """Return the approximate number of words; in scripts without spaces, two letters count as a word.

    >>> count_words("It rained, and Ann's boat-house leaked."), count_words("我们去图书馆学习")
    (6, 4)
    """
    return len(_WORD.findall(text))


def divide_into_paragraphs(text: str) -> list[Passage]:
    """Return the paragraphs of a text, with short ones joined to the next one."""
    return join_short_passages([Passage(part) for part in cut_text(text, find_paragraphs(text))])


def divide_by_words(text: str, size: int) -> list[Passage]:
    """Return passages of about ``size`` words, cut at the end of a paragraph or sentence if one is near."""
    starts = np.fromiter((match.start() for match in _WORD.finditer(text)), np.int64)
    pieces = max(1, round(len(starts) / size))
    if pieces == 1:
        return [Passage(text.strip())]
    paragraphs = np.searchsorted(starts, find_paragraphs(text))
    ends = np.fromiter((match.end() for match in _SENTENCE.finditer(text)), np.int64)
    sentences = np.searchsorted(starts, ends)
    targets = [round(len(starts) * number / pieces) for number in range(1, pieces)]
    cuts = {_choose_cut(target, size, paragraphs, sentences) for target in targets} - {0, len(starts)}
    return [Passage(part) for part in cut_text(text, [int(starts[word]) for word in sorted(cuts)])]


def _choose_cut(target: int, size: int, paragraphs: Array, sentences: Array) -> int:
    """Return the index of the word to cut before: the nearest start of a paragraph or sentence, else the target."""
    for starts, share in ((paragraphs, _NEAR_PARAGRAPH), (sentences, _NEAR_SENTENCE)):
        if len(starts):
            after = int(np.searchsorted(starts, target))
            around = starts[max(after - 1, 0) : after + 1].tolist()
            best = min(around, key=lambda start: abs(start - target))
            if abs(best - target) <= share * size:
                return int(best)
    return target


def find_paragraphs(text: str) -> list[int]:
    """Return the offsets at which the paragraphs of a text begin, except the first.

    Paragraphs are separated by blank lines; without these, each long line is one, or an indented line begins one.
    """
    starts: list[int] = []
    block_start = 0
    for gap in [*_GAP.finditer(text), None]:
        end = len(text) if gap is None else gap.start()
        starts += _find_starts(text[block_start:end], block_start)
        block_start = len(text) if gap is None else gap.end()
        starts.append(block_start)
    return [start for start in starts if 0 < start < len(text)]


def _find_starts(block: str, offset: int) -> Iterator[int]:
    """Yield the offsets at which paragraphs begin in a block without blank lines."""
    n_lines = block.count("\n") + 1
    if n_lines == 1:
        return
    if len(block) / n_lines > UNWRAPPED:
        yield from (offset + match.end() for match in re.finditer("\n", block))
        return
    indented = [match.end() for match in _INDENTED.finditer(block)]
    if len(indented) < n_lines - 1:  # a block that is indented as a whole is one paragraph
        yield from (offset + start for start in indented)


def cut_text(text: str, places: Sequence[int]) -> list[str]:
    """Return the parts of a text between some offsets, stripped, without empty ones."""
    ends = [0, *places, len(text)]
    parts = (text[begin:end].strip() for begin, end in itertools.pairwise(ends))
    return [part for part in parts if part]


_LONGEST_PAGE = 600  # words of a page at most; bare numbers that divide a text more finely are page numbers
_FEWEST_ENTRIES = 3  # headings without text between them that make a table of contents, if they are repeated later
_REPEATED_SHARE = 0.8  # share of a table of contents that must be repeated in the same order
_FINER = 2  # numerals divide a text too if they give more than this many times as many sections as chapters


class _Section(NamedTuple):
    """A heading, the text from it to the next one, and the number of words of this text."""

    heading: Heading
    text: str
    words: int


def divide_into_chapters(text: str) -> list[Passage]:
    """Return the front matter and the chapters of a text; its pages, or one passage, if there are no chapters.

    A chapter of few words, such as ``BOOK I`` above ``CHAPTER I``, is joined with the next one.
    """
    lines = text.split("\n")
    sections = choose_headings(lines)
    if not sections:
        pages = cut_text(text, [place for place, letter in enumerate(text) if letter == "\f"]) if "\f" in text else []
        return join_short_passages([Passage(part) for part in pages]) if len(pages) > 1 else [Passage(text.strip())]
    front = "\n".join(lines[: sections[0].heading.line]).strip()
    passages = [Passage(section.text, section.heading.text) for section in sections]
    return join_short_passages([Passage(front), *passages] if front else passages)


def has_chapters(text: str) -> bool:
    """Return whether chapter headings divide a text."""
    return len(choose_headings(text.split("\n"))) > 1


def choose_headings(lines: Sequence[str]) -> list[_Section]:
    """Return the sections below the chapter headings of a text; none if there are fewer than two."""
    keyed = _list_sections(lines, find_keyed_headings(lines))
    numbered = _list_sections(lines, _drop_page_numbers(lines, find_numbered_headings(lines)))
    if len(keyed) > 1:
        if len(numbered) > _FINER * len(keyed):
            both = {section.heading.line: section.heading for section in (*numbered, *keyed)}
            return _list_sections(lines, [both[line] for line in sorted(both)])
        return keyed
    markdown = _list_sections(lines, find_markdown_headings(lines))
    return next((sections for sections in (markdown, numbered) if len(sections) > 1), [])


def _drop_page_numbers(lines: Sequence[str], candidates: list[Heading]) -> list[Heading]:
    """Return the headings; none if they are page numbers."""
    if not candidates or not find_bare_numbers(candidates):
        return candidates
    return candidates if median(section.words for section in _cut_sections(lines, candidates)) >= _LONGEST_PAGE else []


def _cut_sections(lines: Sequence[str], chosen: Sequence[Heading]) -> list[_Section]:
    """Return a section for each heading."""
    ends = [*(heading.line for heading in chosen[1:]), len(lines)][: len(chosen)]
    texts = ["\n".join(lines[heading.line : end]).strip() for heading, end in zip(chosen, ends, strict=True)]
    return [_Section(heading, text, count_words(text)) for heading, text in zip(chosen, texts, strict=True)]


def _list_sections(lines: Sequence[str], chosen: list[Heading]) -> list[_Section]:
    """Return the sections of a text, ignoring the headings in its table of contents."""
    sections = _cut_sections(lines, chosen)
    begin, chapters = 0, []
    while begin < len(sections):
        end = begin
        while end < len(sections) and sections[end].words < LEAST:
            end += 1
        after = _find_contents_end(sections, begin, end)
        if after == begin:
            after = end + 1
            chapters += sections[begin:after]
        begin = after
    return (
        sections if len(chapters) == len(sections) else _cut_sections(lines, [section.heading for section in chapters])
    )


def _find_contents_end(sections: Sequence[_Section], begin: int, end: int) -> int:
    """Return the index after the last entry of the table of contents that begins at ``begin``; ``begin`` if none does.

    The headings ``begin:end`` have no text below them.  The last entry of a table is followed by the text below the
    table, and then by the same headings again.
    """
    keys = [section.heading.key for section in sections]
    for size in range(min(end - begin + 1, (len(sections) - begin) // 2), _FEWEST_ENTRIES - 1, -1):
        pairs = zip(keys[begin : begin + size], keys[begin + size :], strict=False)
        if sum(entry == heading for entry, heading in pairs) >= _REPEATED_SHARE * size:
            return begin + size
    if end - begin < _FEWEST_ENTRIES or not _are_repeated(keys, begin, end):
        return begin
    return end + 1 if _are_repeated(keys, end, end + 1) else end


def _are_repeated(keys: Sequence[str], begin: int, end: int) -> bool:
    """Return whether most of the keys ``begin:end`` are repeated from ``end`` on."""
    later = set(keys[end:])
    return 2 * sum(key in later for key in keys[begin:end]) > end - begin


def join_short_passages(passages: Sequence[Passage]) -> list[Passage]:
    """Return the passages, joining those shorter than `LEAST` words with the next one (the last: the one before)."""
    joined: list[Passage] = []
    pending: list[Passage] = []
    for passage in passages:
        pending.append(passage)
        if sum(count_words(each.text) for each in pending) >= LEAST:
            joined.append(_join_together(pending))
            pending = []
    if pending:
        joined = [*joined[:-1], _join_together([*joined[-1:], *pending])] if joined else [_join_together(pending)]
    return joined


def _join_together(passages: Sequence[Passage]) -> Passage:
    titles = [passage.heading for passage in passages if passage.heading]
    return Passage("\n\n".join(passage.text for passage in passages), " / ".join(titles))


_FEWEST_PASSAGES = 4  # passages into which a single text is divided
USUAL = 500  # words of a passage in proposals
LONG = 5_000  # median words of the documents above which passages are proposed

_LONG_TEXT = 2 * LONG  # characters; a shorter text has at most LONG words, so they need not be counted
_MOST_SEARCHED = 20  # long texts that are searched for chapters
_MOST_NAMED = 3  # documents named in a note
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
    """Return a book of Project Gutenberg without the licence before and after it; other texts unchanged."""
    begins = _LICENCE_BEGINS.search(text)
    ends = _LICENCE_ENDS.search(text, begins.end() if begins else len(text) // 2)
    return text[begins.end() if begins else 0 : ends.start() if ends else len(text)]


class Division:
    """A division of the documents of a source into passages while they are read.

    Parameters
    ----------
    how : str
        The way to divide, as in :attr:`app.ingest.options.ImportOptions.split`.
    prepared : callable
        Function that removes from a text what is not to be read, such as the tags of a page.
    strict : bool
        Whether to refuse to divide by chapters if no text has any.

    Attributes
    ----------
    documents : array of int
        Number of the document of each passage that is not left out; complete once all documents have been read.
    """

    def __init__(self, how: str, prepared: Callable[[str], str], *, strict: bool = True) -> None:
        self.how = how
        self._strict = strict
        self.documents = array("q")
        self._prepared = prepared
        self._divide = _make_divider(how)

    def divide_source(self, source: TextSource) -> TextSource:
        """Return a source whose documents are the passages."""
        return replace(source, documents=lambda: self._read_passages(source))

    def groups(self) -> Array:
        """Return the number of the document of each passage, (passages,) int64."""
        return np.frombuffer(self.documents, np.int64) if self.documents else np.empty(0, np.int64)

    def _read_passages(self, source: TextSource) -> Iterator[TextDocument]:
        """Yield the passages of all documents of a source, and record the numbers of their documents."""
        numbers = array("q")
        licences, undivided, documents = 0, [], 0
        for number, document in enumerate(source.documents()):
            text = unify_line_ends(self._prepared(document.text))
            book = strip_licence(text)
            passages = self._divide(book) if book.strip() else []
            if document.part != LEFT_OUT:
                documents += 1
                licences += len(book) < len(text)
                numbers.extend([number] * max(1, len(passages)))
                if len(passages) <= 1:
                    undivided.append(document.title)
            yield from _make_passages(document, passages)
        self.documents = numbers
        self._record_notes(source, documents, licences, undivided)

    def _record_notes(self, source: TextSource, documents: int, licences: int, undivided: list[str]) -> None:
        """Record in the source how its documents were divided.

        Raises
        ------
        IngestError
            When no document has chapters.
        """
        if self._strict and self.how == CHAPTERS and documents and len(undivided) == documents:
            has = "has no headings of chapters, such as 'Chapter 1', a numeral on its own line or '# Heading'"
            raise IngestError(
                source.where, f"{has}; divide it with --split '{USUAL} words', or paragraphs if it has any"
            )
        number, counted = len(self.documents), plural(documents, "document")
        source.understood["split"] = f"{self.how}: {counted} in {number:,} passages"
        notes = []
        if licences:
            books = plural(licences, "book")
            notes.append(f"the licence of Project Gutenberg is left out of {books}")
        if self.how == CHAPTERS and undivided:
            have = plural(len(undivided), "document has", "documents have")
            named = list_some(list(map(repr, undivided)), _MOST_NAMED)
            are = "is" if len(undivided) == 1 else "are"
            notes.append(f"{have} no headings of chapters and {are} kept whole ({named})")
        source.notes.extend(note for note in notes if note not in source.notes)


def _make_divider(how: str) -> Callable[[str], list[Passage]]:
    """Return the function that divides a text."""
    if how == CHAPTERS:
        return divide_into_chapters
    if how == PARAGRAPHS:
        return divide_into_paragraphs
    size = int(how.partition(" ")[0])
    return lambda text: divide_by_words(text, size)


def _make_passages(document: TextDocument, passages: list[Passage]) -> Iterator[TextDocument]:
    """Yield the passages of a document as documents; an undivided one keeps its title."""
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
    """Return the columns of a passage: those of its document, the document's title, its place and its chapter."""
    added = {"document": document.title, "passage": f"{place} of {total}"} | ({"chapter": heading} if heading else {})
    inherited = document.columns
    return {
        **inherited,
        **{name if name not in inherited else f"{name} (split)": value for name, value in added.items()},
    }


def advise_size(words: int) -> str:
    """Return the option that divides a single text of so many words into several passages; empty if it is too short.

    >>> advise_size(90_000), advise_size(360), advise_size(12)
    ("--split '500 words'", "--split '90 words'", '')
    """
    size = min(USUAL, words // _FEWEST_PASSAGES)
    return f"--split '{size} words'" if size >= FEWEST_WORDS else ""


class LongTexts:
    """Statistics of document lengths, from which a way to divide long documents is proposed.

    Attributes
    ----------
    documents : int
        Number of texts added.
    """

    def __init__(self) -> None:
        self.documents = 0
        self._words = array("q")
        self._searched = self._divided = 0

    def see(self, text: str) -> None:
        """Add the text of a document."""
        self.documents += 1
        if len(text) > _LONG_TEXT and (words := count_words(text)) > LONG:
            self._words.append(words)
            if self._searched < _MOST_SEARCHED:
                self._searched += 1
                self._divided += has_chapters(unify_line_ends(text))

    @property
    def usual(self) -> int:
        """The median number of words of the documents; 0 if it is at most `LONG`."""
        if 2 * len(self._words) <= self.documents:
            return 0
        return int(median([0] * (self.documents - len(self._words)) + list(self._words)))

    def propose_split(self) -> str:
        """Return the proposed way to divide the documents; empty if they are short."""
        if not self.usual:
            return ""
        return CHAPTERS if 2 * self._divided > self._searched else f"{USUAL} words"

    def count_chaptered(self) -> tuple[int, int]:
        """Return the number of texts in which chapters were found, and the number of texts searched."""
        return self._divided, self._searched
