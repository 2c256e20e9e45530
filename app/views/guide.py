"""The guide as HTML: its contents in groups, its chapters, and the sections that a search finds."""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token

from topiary.app.views.html import render
from topiary.app.views.text import escape

MOST = 20  # sections listed by a search at most
_AROUND = 70  # characters of a snippet before the word found; it has twice as many from there on
_MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table")
_CHAPTER_LINK = re.compile(r"(?P<chapter>[\w-]*?)(?:\.md)?(?:#(?P<heading>[\w-]+))?")


class Section(NamedTuple):
    """A part of a chapter from one heading to the next.

    Attributes
    ----------
    chapter : str
        The file name of the chapter, without its ending.
    title : str
        The title of the chapter.
    heading : str
        The heading of the section; empty for the text before the first heading.
    anchor : str
        The name of the heading in addresses, as GitHub makes it.
    text : str
        The text of the section without markup.
    """

    chapter: str
    title: str
    heading: str
    anchor: str
    text: str


def draw_chapter(chapter: str, text: str) -> str:
    """Return a chapter as HTML; raw HTML is escaped, headings get anchors, and links lead to pages of the app."""
    tokens = _MARKDOWN.parse(text)
    for token, anchor in _name_headings(tokens):
        token.attrSet("id", anchor)
    for token in tokens:
        for child in token.children or ():
            link = child.type == "link_open" and _CHAPTER_LINK.fullmatch(str(child.attrs["href"]))
            if link:
                name = link["chapter"] or chapter
                child.attrs = _link_chapter(name, link["heading"] or "")
    return str(_MARKDOWN.renderer.render(tokens, _MARKDOWN.options, {}))


def focus_heading(html: str, anchor: str, key: str) -> str:
    """Return a chapter that scrolls to its heading ``anchor`` and focuses it, once for each ``key``."""
    attribute = f' id="{anchor}"'
    return html.replace(attribute, f'{attribute} tabindex="-1" data-autofocus data-bring="{escape(key)}"', 1)


def read_title(text: str, default: str) -> str:
    """Return the title in the first line of a chapter, or ``default``."""
    first = text.lstrip().partition("\n")[0]
    return first.removeprefix("# ").strip() if first.startswith("# ") else default


def split_sections(chapter: str, text: str) -> Iterator[Section]:
    """Yield the sections of a chapter in their order."""
    title, tokens = read_title(text, chapter), _MARKDOWN.parse(text)
    anchors = {id(token): anchor for token, anchor in _name_headings(tokens)}
    heading, anchor, parts = "", "", list[str]()
    for previous, token in pairwise([tokens[0], *tokens]):
        if id(previous) in anchors:
            yield Section(chapter, title, heading, anchor, " ".join(parts))
            heading, anchor, parts = _read_plain(token), anchors[id(previous)], []
        elif previous.type != "heading_open":
            parts.append(_read_plain(token))
    yield Section(chapter, title, heading, anchor, " ".join(parts))


def find_sections(query: str, sections: Iterable[Section]) -> list[Section]:
    """Return the sections that contain every word of a query; those with the words in their heading come first."""
    words = [re.compile(re.escape(word), re.IGNORECASE) for word in query.split()]

    def count_headings(section: Section) -> int:
        return sum(bool(word.search(section.heading or section.title)) for word in words)

    def count_words(section: Section) -> int:
        return sum(len(word.findall(section.text)) for word in words)

    def contains(section: Section) -> bool:
        return all(word.search(f"{section.heading or section.title} {section.text}") for word in words)

    return sorted(filter(contains, sections), key=lambda each: (-count_headings(each), -count_words(each)))


def draw_contents(groups: Mapping[str, Mapping[str, str]], current: str, query: str) -> str:
    """Return the search field and the list of chapters: titles by file name, in named groups."""
    links = {
        group: [(name, title, _link_chapter(name, "")) for name, title in titles.items()]
        for group, titles in groups.items()
    }
    return render("guide.contents", links, current, query)


def draw_results(query: str, sections: list[Section]) -> str:
    """Return the results of a search, each section with its chapter, its heading and a snippet."""
    found = [
        (each, _link_chapter(each.chapter, each.anchor), draw_snippet(query, each.text)) for each in sections[:MOST]
    ]
    return render("guide.results", query.strip(), len(sections), MOST, found)


def draw_snippet(query: str, text: str) -> str:
    """Return the part of a text around its first word of the query, with all words of the query marked."""
    words = re.compile("|".join(re.escape(word) for word in query.split()), re.IGNORECASE)
    first_match = words.search(text)
    position = first_match.start() if first_match else 0
    start, end = max(0, position - _AROUND), position + 2 * _AROUND
    start = text.find(" ", start, position) + 1 or position if start else 0
    end = max(text.rfind(" ", position + 1, end), position + 1) if end < len(text) else len(text)
    end = max(end, first_match.end() if first_match else 0)
    snippet, last = "", start
    for match in words.finditer(text, start, end):
        snippet += f"{escape(text[last : match.start()])}<mark>{escape(match[0])}</mark>"
        last = match.end()
    return ("… " if start else "") + snippet + escape(text[last:end]) + (" …" if end < len(text) else "")


def _link_chapter(chapter: str, heading: str) -> dict[str, str | int | float]:
    """Return the attributes of a link that opens a chapter at a heading."""
    place = {"data-heading": heading} if heading else {}
    return {"href": f"?page=guide&tab={chapter}", "data-do": "chapter", "data-name": chapter, **place, "data-go": ""}


def _name_headings(tokens: list[Token]) -> Iterator[tuple[Token, str]]:
    """Yield the opening token of each heading below the title, with a name that is unique in the chapter."""
    counts: dict[str, int] = {}
    for token, content in pairwise(tokens):
        if token.type == "heading_open" and token.tag != "h1":
            name = re.sub(r"[^\w -]", "", content.content.lower()).replace(" ", "-")
            number = counts.get(name, 0)
            counts[name] = number + 1
            yield token, f"{name}-{number}" if number else name


def _read_plain(token: Token) -> str:
    """Return the text of a token without markup."""
    if token.type != "inline":
        return token.content
    return "".join(" " if child.type.endswith("break") else child.content for child in token.children or ())
