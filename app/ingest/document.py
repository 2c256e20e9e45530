"""One file that is one document: its title, its text and what else it says of itself, whatever program it is of."""

from collections.abc import Callable, Mapping
from pathlib import PurePath
from typing import NamedTuple

from app.ingest import epub, html_page, latex, markdown, office, subtitles, tei
from app.ingest.office import Unreadable
from app.ingest.xml_parsing import DamagedXmlError

__all__ = ["BINARY", "KINDS", "PICTURED", "Contents", "Unreadable", "contents"]

_LARGEST = 1 << 26  # bytes of the text of a book


class Contents(NamedTuple):
    """What a file holds.

    Attributes
    ----------
    title : str
        Empty where it has none of its own.
    text : str
    columns : mapping of str to str
        What else it says of itself: author, date and the like.
    left_out : str
        What of it is not read as text, for a note; empty where nothing is worth one.
    """

    title: str
    text: str
    columns: Mapping[str, str] = {}
    left_out: str = ""


def contents(name: PurePath, raw: bytes, encoding: str) -> Contents:
    """Return the title, text and columns of the file ``name`` that holds ``raw``.

    Raises
    ------
    Unreadable
        When a file of another program cannot be read.
    UnicodeDecodeError
        When a text is not of that encoding.
    """
    kind = name.suffix.lower()
    if kind in BINARY:
        return BINARY[kind](raw)
    text = raw.decode(encoding).removeprefix("\ufeff")
    return _TEXTS.get(kind, _plain)(text, name)


def _office(read: Callable[[bytes], tuple[str, str]]) -> Callable[[bytes], Contents]:
    return lambda raw: Contents(*read(raw))


def _epub(raw: bytes) -> Contents:
    try:
        book = epub.read_epub(raw, _LARGEST)
    except epub.DamagedBookError as error:
        raise Unreadable(str(error)) from None
    return Contents(book.title, book.text, book.fields)


def _notebook(raw: bytes) -> Contents:
    found = markdown.read_notebook(raw)
    if found is None:
        raise Unreadable("is no notebook")
    if not found.text.strip():
        raise Unreadable("has cells of code only" if found.code else "has no cells")
    return Contents(found.title, found.text, {}, "cells of code" if found.code else "")


def _xml(raw: bytes) -> Contents:
    try:
        found = list(tei.read_documents([raw]))
    except DamagedXmlError as error:
        raise Unreadable(str(error)) from None
    text = "\n\n".join(document.text for document in found)
    if not text:
        raise Unreadable("has no text in it")
    return Contents(found[0].title, text, found[0].fields)


# How the bytes of a file are read that says its encoding itself, or needs none.
BINARY: dict[str, Callable[[bytes], Contents]] = {
    **{kind: _office(read) for kind, read in office.READERS.items()},
    ".epub": _epub,
    ".ipynb": _notebook,
    **dict.fromkeys((".xml", ".tei", ".nxml"), _xml),
}


PICTURED = (*office.READERS, ".epub")  # kinds that hold pictures besides their text, and may be large


def _plain(text: str, _name: PurePath) -> Contents:
    """Split a text from front matter of a site generator."""
    fields, text = markdown.split_front_matter(text)
    return Contents(fields.pop("title", ""), text, fields)


def _page(text: str, name: PurePath) -> Contents:
    front = _plain(text, name)
    title, seen = html_page.readable(front.text)
    return Contents(front.title or title, seen, front.columns)


def _subtitles(text: str, name: PurePath) -> Contents:
    return Contents(name.stem, subtitles.read_subtitles(text))


def _latex(text: str, _name: PurePath) -> Contents:
    title, fields, body = latex.read_latex(text)
    return Contents(title, body, fields, "formulas and tables of LaTeX")


_TEXTS: dict[str, Callable[[str, PurePath], Contents]] = {
    **dict.fromkeys(html_page.KINDS, _page),
    **dict.fromkeys(subtitles.KINDS, _subtitles),
    ".tex": _latex,
}
KINDS = (".txt", ".text", ".md", ".markdown", ".rst", ".log", *_TEXTS, *BINARY)
