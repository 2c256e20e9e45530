"""Find chapter headings in the lines of a text: with a word such as "Chapter", numbered, or in Markdown."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

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
