"""Files that are one document: PDF, Word (.docx), OpenDocument (.odt), RTF, EPUB, notebooks, pages and plain text."""

import io
import logging
import posixpath
import re
import zipfile
from collections.abc import Callable
from pathlib import PurePath
from typing import Any
from urllib.parse import unquote
from xml.etree import ElementTree

from app.ingest import packing
from app.ingest.readers import markup, xml_parsing
from app.ingest.readers.xml_parsing import DamagedXmlError, find_xml_encoding, parse_xml, strip_namespace
from app.ingest.source import Contents, Unreadable

_LARGEST_MEMBER = 1 << 26  # bytes of text and its marks unpacked; more is made to fill the memory
_HYPHEN = re.compile(r"(?<=[^\W\d_])-\n(?=[^\W\d_])")
_NO_TITLE = ("", "untitled")
_PARAGRAPHS = ("p", "h")
_MARKS = {"tab": "\t", "br": "\n", "cr": "\n", "line-break": "\n", "s": " "} | dict.fromkeys(_PARAGRAPHS, "\n")
# A second copy of a text box, where moved text was, how to pronounce it, what was deleted, remarks of readers.
_LEFT_OUT = ("Fallback", "moveFrom", "rt", "tracked-changes", "annotation")
_DAMAGED = "is damaged, or of another program"
_TOO_LARGE = f"holds more than {_LARGEST_MEMBER >> 20} MB of text"


def read_pdf(raw: bytes) -> tuple[str, str]:
    """Return title and text of a PDF; words that a line's end had cut are whole again.

    Raises
    ------
    Unreadable
        When it is encrypted, damaged, or has no text, as pages that were scanned.
    """
    from pypdf import PdfReader  # takes a while to import
    from pypdf.errors import DependencyError, FileNotDecryptedError

    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # what it can mend is no matter for people
    try:
        reader = PdfReader(io.BytesIO(raw))
        if reader.is_encrypted and not reader.decrypt(""):
            raise Unreadable("is encrypted")
        text = "\n".join(page.extract_text() for page in reader.pages)
        title = str(reader.metadata.title or "") if reader.metadata else ""
    except (DependencyError, FileNotDecryptedError):
        raise Unreadable("is encrypted") from None
    except Unreadable:
        raise
    except Exception:  # noqa: BLE001 - a damaged file can raise anything
        raise Unreadable("is no sound PDF") from None
    if not text.strip():
        raise Unreadable("has no text, only pictures of it")
    title = " ".join(title.split()).removeprefix("Microsoft Word - ")
    return "" if title.lower() in _NO_TITLE else title, _HYPHEN.sub("", text)


def read_docx(raw: bytes) -> tuple[str, str]:
    """Return title and text of a Word document and its notes, a line a paragraph; ``Unreadable`` when it is damaged."""
    notes = ("word/footnotes.xml", "word/endnotes.xml")
    about, *parts = _read_members(raw, "docProps/core.xml", "word/document.xml", *notes)
    return _find_title(about), _gather_text(("t",), *parts)


def read_odt(raw: bytes) -> tuple[str, str]:
    """Return title and text of an OpenDocument text, a line for each paragraph; ``Unreadable`` when it is damaged."""
    about, body = _read_members(raw, "meta.xml", "content.xml")
    return _find_title(about), _gather_text(_PARAGRAPHS, body)


def read_rtf(raw: bytes) -> tuple[str, str]:
    """Return title and text of a document in RTF; ``Unreadable`` when it is damaged.

    Links to fields are taken away before, as the library's pattern for them takes the square of a line's length, and so
    are pictures, which are most of a file.
    """
    from striprtf.striprtf import font_table_group, rtf_to_text

    text = raw.decode("latin-1")  # bytes beyond ASCII stand for those of its code page
    text = text.lstrip("\ufeff\xef\xbb\xbf \r\n\0")
    if not text.startswith("{\\rtf"):
        raise Unreadable("is no RTF")
    text = _PICTURE.sub("", text).replace("\\field{", "{")
    if len(text) > _LARGEST_MEMBER:
        raise Unreadable(_TOO_LARGE)
    try:
        if len(font_table_group(text)) > _LARGEST_FONTS:
            raise Unreadable(_DAMAGED)
        text = _BEYOND.sub(lambda found: f"\\'{ord(found[0]):02x}", text)
        code_page = _CODE_PAGE.search(text)
        title = _RTF_TITLE.search(text, 0, _ABOUT_RTF)
        head = f"{{\\rtf1\\ansi{code_page[0] if code_page else ''} "
        named = rtf_to_text(f"{head}{title[1]}}}", errors="replace") if title else ""
        return " ".join(_join_paragraphs(named).split()), _join_paragraphs(rtf_to_text(text, errors="replace")).strip()
    except (ValueError, LookupError, TypeError, OverflowError):
        raise Unreadable(_DAMAGED) from None


def _join_paragraphs(text: str) -> str:
    """Return a text with characters that RTF writes in two halves as one."""
    return text.replace("\0", "").encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


_PICTURE = re.compile(r"(?:[0-9a-fA-F]{60,}\s*)+")  # in hexadecimal figures
_BEYOND = re.compile("[\x80-\xff]")
_CODE_PAGE = re.compile(r"\\ansicpg[0-9]{1,5}")
_RTF_TITLE = re.compile(r"\{\\title ([^{}]{0,1000})\}")
_ABOUT_RTF = 1 << 20  # characters at the beginning among which the title stands
_LARGEST_FONTS = 3 << 14  # characters of the table of fonts, for whose lines the library takes the square of its length

_OFFICE_READERS: dict[str, Callable[[bytes], tuple[str, str]]] = {
    ".pdf": read_pdf,
    ".docx": read_docx,
    ".odt": read_odt,
    ".rtf": read_rtf,
}


class _OfficeText:
    """Target of an XML parser: the text within elements of some names; paragraphs and breaks begin new lines."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names, self.within, self.left_out = names, 0, 0
        self.pieces: list[str] = []

    def start(self, tag: str, _attributes: dict[str, str]) -> None:
        self._step(tag, 1)

    def end(self, tag: str) -> None:
        self._step(tag, -1)

    def data(self, text: str) -> None:
        if self.within and not self.left_out:
            self.pieces.append(text)

    def close(self) -> str:
        lines = "".join(self.pieces).split("\n")
        return "\n".join(line for line in lines if line.strip())

    def _step(self, tag: str, way: int) -> None:
        name = tag.rpartition("}")[2]  # without the vocabulary it is of
        self.within += way * (name in self.names)
        self.left_out += way * (name in _LEFT_OUT)
        if not self.left_out and (way > 0 or name in _PARAGRAPHS):
            self.pieces.append(_MARKS.get(name, ""))


def _gather_text(names: tuple[str, ...], *parts: bytes) -> str:
    """Return text within elements of these names, of all parts that are there."""
    try:
        parsed = [ElementTree.fromstring(part, _make_parser(names)) for part in parts if part]  # noqa: S314 - see below
    except ElementTree.ParseError:
        raise Unreadable(_DAMAGED) from None
    return "\n".join(str(text) for text in parsed if text)


def _make_parser(names: tuple[str, ...]) -> ElementTree.XMLParser:
    """Return a parser for files of strangers: expat bounds what entities grow to, and nothing nests."""
    return ElementTree.XMLParser(target=_OfficeText(names))  # noqa: S314


def _read_members(raw: bytes, about: str, body: str, *more: str) -> list[bytes]:
    """Return files of an archive; empty for one, other than the body, that is not there."""
    found: list[bytes] = []
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            there = archive.namelist()
            for name in (about, body, *more):
                if name != body and name not in there:
                    found.append(b"")
                    continue
                found.append(packing.read_member(archive, archive.getinfo(name), _LARGEST_MEMBER))
    except packing.TooLarge:
        raise Unreadable(_TOO_LARGE) from None
    except packing.UNPACKING:
        raise Unreadable(_DAMAGED) from None
    return found


def _find_title(about: bytes) -> str:
    return " ".join(_gather_text(("title",), about).split())


_CONTAINER = "META-INF/container.xml"
_PAGES = (".xhtml", ".html", ".htm", ".xml")
_ABOUT = {
    "title": "title", "creator": "author", "date": "date", "language": "language", "publisher": "publisher",
    "subject": "subject",
}  # fmt: skip
_SEVERAL = ("author", "subject")  # of which there may be more than one
_NUMBER = re.compile(r"[0-9]+")
_LONGEST = 300  # characters of what is said of a book


def read_epub(raw: bytes) -> Contents:
    """Return a book with its pages in their order, and what its package says of it.

    Raises
    ------
    Unreadable
        When it is damaged, encrypted, too large or has no text.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            return _read_book(archive, _LARGEST_MEMBER)
    except packing.TooLarge:
        raise Unreadable(_TOO_LARGE) from None
    except packing.UNPACKING:
        raise Unreadable("is damaged, or no EPUB") from None


def _read_book(archive: zipfile.ZipFile, most: int) -> Contents:
    members = {info.filename: info for info in archive.infolist() if not info.is_dir()}
    where, package = _find_package(archive, members, most)
    names = [posixpath.normpath(posixpath.join(posixpath.dirname(where), unquote(href))) for href in package.pages]
    pages = [name for name in names if name in members] or _sort_pages(list(members))
    pieces: list[str] = []
    for name in dict.fromkeys(pages):
        page = packing.read_member(archive, members[name], most)
        most -= len(page)
        pieces.append(markup.read_page(page.decode(find_xml_encoding(page), "replace").removeprefix("\ufeff"))[1])
    text = "\n\n".join(filter(None, pieces))
    if not text:
        encrypted = "META-INF/encryption.xml" in members
        raise Unreadable("is encrypted" if encrypted else "has no text, only pictures of it")
    return Contents(package.about.pop("title", ""), text, package.about)


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
        text = " ".join("".join(self._said).split())
        if _ABOUT.get(strip_namespace(tag)) == self._name and text:
            before = self.about.get(self._name)
            if before is None or self._name in _SEVERAL:
                self.about[self._name] = f"{before}; {text}"[:_LONGEST] if before else text[:_LONGEST]
        self._name = ""

    def data(self, text: str) -> None:
        if self._name:
            self._said.append(text)


def _find_package(archive: zipfile.ZipFile, members: dict[str, Any], most: int) -> tuple[str, _EpubPackage]:
    """Return where the package of a book is, and what it says; nothing where it is missing or damaged."""
    container = _describe_book(archive, members.get(_CONTAINER), most)
    named = [name for name in (container.path, *members) if name in members]
    where = next((name for name in named if name == container.path or name.endswith(".opf")), "")
    return where, _describe_book(archive, members.get(where), most)


def _describe_book(archive: zipfile.ZipFile, info: zipfile.ZipInfo | None, most: int) -> _EpubPackage:
    package = _EpubPackage()
    if info is not None:
        try:
            for _ in parse_xml([packing.read_member(archive, info, most)], package):
                pass
        except DamagedXmlError:  # what was read before is kept
            pass
    return package


def _sort_pages(names: list[str]) -> list[str]:
    """Return the pages of a book whose package does not say their order: by the numbers in their names."""
    pages = [name for name in names if name.lower().endswith(_PAGES) and not name.startswith("META-INF/")]
    return sorted(pages, key=lambda name: [(int(each[-18:]), "") for each in _NUMBER.findall(name)] + [(0, name)])


def read_contents(name: PurePath, raw: bytes, encoding: str) -> Contents:
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
    return _TEXTS.get(kind, _read_plain)(text, name)


def _read_xml_file(raw: bytes) -> Contents:
    try:
        found = list(xml_parsing.read_documents([raw]))
    except DamagedXmlError as error:
        raise Unreadable(str(error)) from None
    text = "\n\n".join(document.text for document in found)
    if not text:
        raise Unreadable("has no text in it")
    return found[0]._replace(text=text)


# How the bytes of a file are read that says its encoding itself, or needs none.
BINARY: dict[str, Callable[[bytes], Contents]] = {
    **{kind: lambda raw, read=read: Contents(*read(raw)) for kind, read in _OFFICE_READERS.items()},  # type: ignore[misc]
    ".epub": read_epub,
    ".ipynb": markup.read_notebook,
    **dict.fromkeys((".xml", ".tei", ".nxml"), _read_xml_file),
}


PICTURED = (*_OFFICE_READERS, ".epub")  # kinds that hold pictures and text, and may be large


def _read_plain(text: str, _name: PurePath) -> Contents:
    """Split a text from front matter of a site generator."""
    fields, text = markup.split_front_matter(text)
    return Contents(fields.pop("title", ""), text, fields)


def _read_html(text: str, name: PurePath) -> Contents:
    front = _read_plain(text, name)
    title, body = markup.read_page(front.text)
    return Contents(front.title or title, body, front.columns)


_TEXTS: dict[str, Callable[[str, PurePath], Contents]] = {
    **dict.fromkeys(markup.PAGE_KINDS, _read_html),
    **dict.fromkeys(markup.SUBTITLE_KINDS, lambda text, name: Contents(name.stem, markup.read_subtitles(text))),
    ".tex": lambda text, _name: markup.read_latex(text),
}
KINDS = (".txt", ".text", ".md", ".markdown", ".rst", ".log", *_TEXTS, *BINARY)
