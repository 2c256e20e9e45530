"""Books in EPUB 2 and 3: a zip archive of pages in HTML, and a package that says what they are and their order."""

import io
import posixpath
import re
import zipfile
from typing import Any, NamedTuple
from urllib.parse import unquote

from app.ingest import html_page, packed
from app.ingest.xml_parsing import DamagedXmlError, find_encoding, parse, strip_namespace

_CONTAINER = "META-INF/container.xml"
_PAGES = (".xhtml", ".html", ".htm", ".xml")
_ABOUT = {
    "title": "title", "creator": "author", "date": "date", "language": "language", "publisher": "publisher",
    "subject": "subject",
}  # fmt: skip
_SEVERAL = ("author", "subject")  # of which there may be more than one
_NUMBER = re.compile(r"[0-9]+")
_LONGEST = 300  # characters of what is said of a book


class EpubBook(NamedTuple):
    """The title of a book, what its package says of it, and its text."""

    title: str
    fields: dict[str, str]
    text: str


class DamagedBookError(Exception):
    """A book cannot be read; the message goes on after its name."""


def read_epub(raw: bytes, most: int) -> EpubBook:
    """Return a book with its pages in their order.

    Parameters
    ----------
    most : int
        Bytes that its pages may unpack to.

    Raises
    ------
    DamagedBookError
        When it is damaged, encrypted, too large or has no text.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            return _read_book(archive, most)
    except packed.TooLarge:
        raise DamagedBookError(f"holds more than {most >> 20} MB of text") from None
    except packed.UNPACKING:
        raise DamagedBookError("is damaged, or no EPUB") from None


def _read_book(archive: zipfile.ZipFile, most: int) -> EpubBook:
    members = {info.filename: info for info in archive.infolist() if not info.is_dir()}
    where, package = _find_package(archive, members, most)
    names = [posixpath.normpath(posixpath.join(posixpath.dirname(where), unquote(href))) for href in package.pages]
    pages = [name for name in names if name in members] or _sort_pages(list(members))
    pieces: list[str] = []
    for name in dict.fromkeys(pages):
        page = packed.member(archive, members[name], most)
        most -= len(page)
        pieces.append(html_page.readable(page.decode(find_encoding(page), "replace").removeprefix("\ufeff"))[1])
    text = "\n\n".join(filter(None, pieces))
    if not text:
        encrypted = "META-INF/encryption.xml" in members
        raise DamagedBookError("is encrypted" if encrypted else "has no text, only pictures of it")
    return EpubBook(package.about.pop("title", ""), package.about, text)


class _EpubPackage:
    """Target of a parser: the package of a book, or the container that says where that is."""

    def __init__(self) -> None:
        self.path = ""
        self.about: dict[str, str] = {}
        self._files: dict[str, str] = {}
        self._order: list[str] = []
        self._name = ""
        self._said: list[str] = []

    @property
    def pages(self) -> list[str]:
        """Return the files in the order in which they are read."""
        return [self._files[each] for each in self._order if each in self._files]

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        name = strip_namespace(tag)
        self._name, self._said = _ABOUT.get(name, ""), []
        if name == "rootfile":
            self.path = self.path or attributes.get("full-path", "")
        elif name == "item" and "nav" not in attributes.get("properties", "").split():
            self._files[attributes.get("id", "")] = attributes.get("href", "").partition("#")[0]
        elif name == "itemref":
            self._order.append(attributes.get("idref", ""))

    def end(self, tag: str) -> None:
        said = " ".join("".join(self._said).split())
        if _ABOUT.get(strip_namespace(tag)) == self._name and said:
            before = self.about.get(self._name)
            if before is None or self._name in _SEVERAL:
                self.about[self._name] = f"{before}; {said}"[:_LONGEST] if before else said[:_LONGEST]
        self._name = ""

    def data(self, text: str) -> None:
        if self._name:
            self._said.append(text)


def _find_package(archive: zipfile.ZipFile, members: dict[str, Any], most: int) -> tuple[str, _EpubPackage]:
    """Return where the package of a book is, and what it says; nothing where it is missing or damaged."""
    container = _told(archive, members.get(_CONTAINER), most)
    where = (
        container.path if container.path in members else next((each for each in members if each.endswith(".opf")), "")
    )
    return where, _told(archive, members.get(where), most)


def _told(archive: zipfile.ZipFile, info: zipfile.ZipInfo | None, most: int) -> _EpubPackage:
    package = _EpubPackage()
    if info is not None:
        try:
            for _ in parse([packed.member(archive, info, most)], package):
                pass
        except DamagedXmlError:  # what was read before is kept
            pass
    return package


def _sort_pages(names: list[str]) -> list[str]:
    """Return the pages of a book whose package does not say their order: by the numbers in their names."""
    pages = [name for name in names if name.lower().endswith(_PAGES) and not name.startswith("META-INF/")]
    return sorted(pages, key=lambda name: [(int(each[-18:]), "") for each in _NUMBER.findall(name)] + [(0, name)])
