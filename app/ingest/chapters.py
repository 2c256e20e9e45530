"""The chapters of a text: its headings, the table of contents apart, and what stands below each."""

from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

from app.ingest import headings
from app.ingest.headings import Heading
from app.ingest.passages import LEAST, Passage, count_words, cut_at

_PAGE = 600  # words of a page at most: numbers in digits that divide a text more finely are those of its pages
_CONTENTS = 3  # headings one below the other that are a table of contents, where they come again
_ALIKE = 0.8  # share of a table of contents that comes again in its order
_MANY = 2  # times that numerals divide a text more finely than chapters, from which they divide it too


class _Section(NamedTuple):
    """A heading, and the text from it to the next one."""

    heading: Heading
    text: str
    words: int


def by_chapters(text: str) -> list[Passage]:
    """Return the chapters of a text, the front matter before them as one of its own; one passage where there are none.

    A chapter of few words, such as ``BOOK I`` above ``CHAPTER I``, is joined with the next.
    """
    lines = text.split("\n")
    found = chosen(lines)
    if not found:
        pages = cut_at(text, [place for place, letter in enumerate(text) if letter == "\f"]) if "\f" in text else []
        return _joined([Passage(part) for part in pages]) if len(pages) > 1 else [Passage(text.strip())]
    front = "\n".join(lines[: found[0].heading.line]).strip()
    passages = [Passage(section.text, section.heading.text) for section in found]
    return _joined([Passage(front), *passages] if front else passages)


def has_chapters(text: str) -> bool:
    """Return whether a text is divided by headings of chapters."""
    return len(chosen(text.split("\n"))) > 1


def chosen(lines: Sequence[str]) -> list[_Section]:
    """Return the sections below the headings that divide a text into chapters; none where fewer than two do."""
    keyed = _sections(lines, headings.keyed(lines))
    numbered = _sections(lines, _of_chapters(lines, headings.numbered(lines)))
    if len(keyed) > 1:
        if len(numbered) > _MANY * len(keyed):
            both = {section.heading.line: section.heading for section in (*numbered, *keyed)}
            return _sections(lines, [both[line] for line in sorted(both)])
        return keyed
    of_markdown = _sections(lines, headings.of_markdown(lines))
    return next((found for found in (of_markdown, numbered) if len(found) > 1), [])


def _of_chapters(lines: Sequence[str], found: list[Heading]) -> list[Heading]:
    """Return the headings but those that number pages."""
    if not found or not headings.bare_digits(found):
        return found
    return found if median(section.words for section in _cut(lines, found)) >= _PAGE else []


def _cut(lines: Sequence[str], found: Sequence[Heading]) -> list[_Section]:
    ends = [*(heading.line for heading in found[1:]), len(lines)][: len(found)]
    texts = ["\n".join(lines[heading.line : end]).strip() for heading, end in zip(found, ends, strict=True)]
    return [_Section(heading, text, count_words(text)) for heading, text in zip(found, texts, strict=True)]


def _sections(lines: Sequence[str], found: list[Heading]) -> list[_Section]:
    """Return the sections of a text without the headings that stand in its table of contents."""
    sections = _cut(lines, found)
    place, left = 0, []
    while place < len(sections):
        end = place
        while end < len(sections) and sections[end].words < LEAST:
            end += 1
        after = _contents_end(sections, place, end)
        if after == place:
            after = end + 1
            left += sections[place:after]
        place = after
    return sections if len(left) == len(sections) else _cut(lines, [section.heading for section in left])


def _contents_end(sections: Sequence[_Section], begin: int, end: int) -> int:
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


def _joined(passages: Sequence[Passage]) -> list[Passage]:
    """Return the passages, those of few words joined with the next, and the last with the one before."""
    joined: list[Passage] = []
    held: list[Passage] = []
    for passage in passages:
        held.append(passage)
        if sum(count_words(each.text) for each in held) >= LEAST:
            joined.append(_together(held))
            held = []
    if held:
        joined = [*joined[:-1], _together([*joined[-1:], *held])] if joined else [_together(held)]
    return joined


def _together(held: Sequence[Passage]) -> Passage:
    headings_of = [passage.heading for passage in held if passage.heading]
    return Passage("\n\n".join(passage.text for passage in held), " / ".join(headings_of))
