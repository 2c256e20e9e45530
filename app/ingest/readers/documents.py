"""Readers of files that are one document: PDF, .docx, .odt, RTF, EPUB, notebooks, HTML pages and plain text."""

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

from topiary.app.ingest import packing
from topiary.app.ingest.readers import markup
from topiary.app.ingest.readers.markup import PAGE_KINDS, read_latex, read_page
from topiary.app.ingest.readers.xml import DamagedXmlError, parse_xml, read_documents, strip_namespace
from topiary.app.ingest.source import Contents, Unreadable
from topiary.app.ingest.tables.sniff import find_xml_encoding

_LARGEST_MEMBER = 1 << 26  # bytes of an unpacked member; a larger one is made to fill the memory
_LINE_END_HYPHEN = re.compile(r"(?<=[^\W\d_])-\n(?=[^\W\d_])")
_NO_TITLE = ("", "untitled")  # titles that count as none
_PARAGRAPHS = ("p", "h")  # elements of paragraphs and headings
# What elements stand for in the text.
_MARK_TEXTS = {"tab": "\t", "br": "\n", "cr": "\n", "line-break": "\n", "s": " "} | dict.fromkeys(_PARAGRAPHS, "\n")
# The second copy of a text box, the old place of moved text, pronunciations, deleted text, and comments.
_LEFT_OUT = ("Fallback", "moveFrom", "rt", "tracked-changes", "annotation")
_DAMAGED = "is damaged, or of another program"
_TOO_LARGE = f"holds more than {_LARGEST_MEMBER >> 20} MB of text"


def read_pdf(raw: bytes) -> tuple[str, str]:
    """Return the title and text of a PDF, with words that were hyphenated at the end of a line joined.

    Raises
    ------
    Unreadable
        If it is encrypted or damaged, or has no text, like scanned pages.
    """
    from pypdf import PdfReader  # takes a while to import
    from pypdf.errors import DependencyError, FileNotDecryptedError

    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # users need not know what pypdf repairs
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
    return "" if title.lower() in _NO_TITLE else title, _LINE_END_HYPHEN.sub("", text)


def read_docx(raw: bytes) -> tuple[str, str]:
    """Return the title and text of a Word document, with its notes; raise ``Unreadable`` if it is damaged."""
    notes = ("word/footnotes.xml", "word/endnotes.xml")
    metadata, *parts = _read_members(raw, "docProps/core.xml", "word/document.xml", *notes)
    return _find_title(metadata), _gather_text(("t",), *parts)


def read_odt(raw: bytes) -> tuple[str, str]:
    """Return the title and text of an OpenDocument text; raise ``Unreadable`` if it is damaged."""
    metadata, body = _read_members(raw, "meta.xml", "content.xml")
    return _find_title(metadata), _gather_text(_PARAGRAPHS, body)


def read_rtf(raw: bytes) -> tuple[str, str]:
    """Return the title and text of a document in RTF; raise ``Unreadable`` if it is damaged.

    Links to fields are removed first, because the library takes quadratic time in the length of a line for them, and
    so are pictures, which make up most of a file.
    """
    from striprtf.striprtf import font_table_group, rtf_to_text

    text = raw.decode("latin-1")  # bytes beyond ASCII are escaped below, for the code page
    text = text.lstrip("\ufeff\xef\xbb\xbf \r\n\0")
    if not text.startswith("{\\rtf"):
        raise Unreadable("is no RTF")
    text = _HEX_PICTURE.sub("", text).replace("\\field{", "{")
    if len(text) > _LARGEST_MEMBER:
        raise Unreadable(_TOO_LARGE)
    try:
        if len(font_table_group(text)) > _LARGEST_FONTS:
            raise Unreadable(_DAMAGED)
        text = _NON_ASCII.sub(lambda match: f"\\'{ord(match[0]):02x}", text)
        code_page = _CODE_PAGE.search(text)
        title = _RTF_TITLE.search(text, 0, _RTF_HEAD)
        head = f"{{\\rtf1\\ansi{code_page[0] if code_page else ''} "
        raw_title = rtf_to_text(f"{head}{title[1]}}}", errors="replace") if title else ""
        return " ".join(_join_surrogates(raw_title).split()), _join_surrogates(
            rtf_to_text(text, errors="replace")
        ).strip()
    except (ValueError, LookupError, TypeError, OverflowError):
        raise Unreadable(_DAMAGED) from None


def _join_surrogates(text: str) -> str:
    """Return a text with surrogate pairs, as RTF writes some characters, joined to one character each."""
    return text.replace("\0", "").encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


_HEX_PICTURE = re.compile(r"(?:[0-9a-fA-F]{60,}\s*)+")  # in hexadecimal digits
_NON_ASCII = re.compile("[\x80-\xff]")
_CODE_PAGE = re.compile(r"\\ansicpg[0-9]{1,5}")
_RTF_TITLE = re.compile(r"\{\\title ([^{}]{0,1000})\}")
_RTF_HEAD = 1 << 20  # characters at the beginning in which the title is searched
_LARGEST_FONTS = 3 << 14  # characters of the font table; the library takes quadratic time in its length

_OFFICE_READERS: dict[str, Callable[[bytes], tuple[str, str]]] = {
    ".pdf": read_pdf,
    ".docx": read_docx,
    ".odt": read_odt,
    ".rtf": read_rtf,
}


class _OfficeText:
    """Target of an XML parser that collects the text in elements of some names, a line for each paragraph."""

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

    def _step(self, tag: str, change: int) -> None:
        name = tag.rpartition("}")[2]  # without its namespace
        self.within += change * (name in self.names)
        self.left_out += change * (name in _LEFT_OUT)
        if not self.left_out and (change > 0 or name in _PARAGRAPHS):
            self.pieces.append(_MARK_TEXTS.get(name, ""))


def _gather_text(names: tuple[str, ...], *parts: bytes) -> str:
    """Return the text in elements of these names, from all parts that are not empty."""
    try:
        parsed = [ElementTree.fromstring(part, _make_parser(names)) for part in parts if part]  # noqa: S314 - see below
    except ElementTree.ParseError:
        raise Unreadable(_DAMAGED) from None
    return "\n".join(str(text) for text in parsed if text)


def _make_parser(names: tuple[str, ...]) -> ElementTree.XMLParser:
    """Return a parser for untrusted files: expat limits the growth of entities, and the target builds no tree."""
    return ElementTree.XMLParser(target=_OfficeText(names))  # noqa: S314


def _read_members(raw: bytes, metadata: str, body: str, *others: str) -> list[bytes]:
    """Return files of an archive; b"" for a missing one, other than the body."""
    contents: list[bytes] = []
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            members = archive.namelist()
            for name in (metadata, body, *others):
                if name != body and name not in members:
                    contents.append(b"")
                    continue
                contents.append(packing.read_member(archive, archive.getinfo(name), _LARGEST_MEMBER))
    except packing.TooLarge:
        raise Unreadable(_TOO_LARGE) from None
    except packing.UNPACKING:
        raise Unreadable(_DAMAGED) from None
    return contents


def _find_title(metadata: bytes) -> str:
    return " ".join(_gather_text(("title",), metadata).split())


_CONTAINER = "META-INF/container.xml"
_PAGE_ENDINGS = (".xhtml", ".html", ".htm", ".xml")
_METADATA = {
    "title": "title", "creator": "author", "date": "date", "language": "language", "publisher": "publisher",
    "subject": "subject",
}  # fmt: skip
_SEVERAL = ("author", "subject")  # fields that may have more than one value
_NUMBER = re.compile(r"[0-9]+")
_LONGEST_METADATA = 300  # characters of a field of metadata


def read_epub(raw: bytes) -> Contents:
    """Return the title, text and metadata of a book, its pages in reading order.

    Raises
    ------
    Unreadable
        If it is damaged, encrypted, too large or has no text.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            return _read_book(archive, _LARGEST_MEMBER)
    except packing.TooLarge:
        raise Unreadable(_TOO_LARGE) from None
    except packing.UNPACKING:
        raise Unreadable("is damaged, or no EPUB") from None


def _read_book(archive: zipfile.ZipFile, bytes_left: int) -> Contents:
    """Return the contents of an open EPUB whose unpacked pages have at most ``bytes_left`` bytes in all."""
    members = {info.filename: info for info in archive.infolist() if not info.is_dir()}
    package_path, package = _find_package(archive, members, bytes_left)
    names = [
        posixpath.normpath(posixpath.join(posixpath.dirname(package_path), unquote(href))) for href in package.pages
    ]
    pages = [name for name in names if name in members] or _sort_pages(list(members))
    pieces: list[str] = []
    for name in dict.fromkeys(pages):
        page = packing.read_member(archive, members[name], bytes_left)
        bytes_left -= len(page)
        pieces.append(read_page(page.decode(find_xml_encoding(page), "replace").removeprefix("\ufeff"))[1])
    text = "\n\n".join(filter(None, pieces))
    if not text:
        encrypted = "META-INF/encryption.xml" in members
        raise Unreadable("is encrypted" if encrypted else "has no text, only pictures of it")
    return Contents(package.about.pop("title", ""), text, package.about)


class _EpubPackage:
    """Target of a parser for the package of a book, or for the container that names the path of the package."""

    def __init__(self) -> None:
        self.path = ""
        self.about: dict[str, str] = {}
        self._files: dict[str, str] = {}
        self._order: list[str] = []
        self._name = ""
        self._pieces: list[str] = []

    @property
    def pages(self) -> list[str]:
        """The files of the pages, in reading order."""
        return [self._files[each] for each in self._order if each in self._files]

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        name = strip_namespace(tag)
        self._name, self._pieces = _METADATA.get(name, ""), []
        if name == "rootfile":
            self.path = self.path or attributes.get("full-path", "")
        elif name == "item" and "nav" not in attributes.get("properties", "").split():
            self._files[attributes.get("id", "")] = attributes.get("href", "").partition("#")[0]
        elif name == "itemref":
            self._order.append(attributes.get("idref", ""))

    def end(self, tag: str) -> None:
        text = " ".join("".join(self._pieces).split())
        if _METADATA.get(strip_namespace(tag)) == self._name and text:
            before = self.about.get(self._name)
            if before is None or self._name in _SEVERAL:
                self.about[self._name] = f"{before}; {text}"[:_LONGEST_METADATA] if before else text[:_LONGEST_METADATA]
        self._name = ""

    def data(self, text: str) -> None:
        if self._name:
            self._pieces.append(text)


def _find_package(archive: zipfile.ZipFile, members: dict[str, Any], largest: int) -> tuple[str, _EpubPackage]:
    """Return the path of a book's package and its contents, empty if it is missing or damaged."""
    container = _read_package(archive, members.get(_CONTAINER), largest)
    candidates = [name for name in (container.path, *members) if name in members]
    package_path = next((name for name in candidates if name == container.path or name.endswith(".opf")), "")
    return package_path, _read_package(archive, members.get(package_path), largest)


def _read_package(archive: zipfile.ZipFile, info: zipfile.ZipInfo | None, largest: int) -> _EpubPackage:
    """Return the contents of a package or container file, empty if it is missing."""
    package = _EpubPackage()
    if info is not None:
        try:
            for _ in parse_xml([packing.read_member(archive, info, largest)], package):
                pass
        except DamagedXmlError:  # keep what was read before the damage
            pass
    return package


def _sort_pages(names: list[str]) -> list[str]:
    """Return the pages of a book whose package names no order, sorted by the numbers in their names."""
    pages = [name for name in names if name.lower().endswith(_PAGE_ENDINGS) and not name.startswith("META-INF/")]
    return sorted(pages, key=lambda name: [(int(each[-18:]), "") for each in _NUMBER.findall(name)] + [(0, name)])


def read_contents(name: PurePath, raw: bytes, encoding: str) -> Contents:
    """Return the title, text and columns of the file ``name`` with the bytes ``raw``.

    Raises
    ------
    Unreadable
        If a file of a known format cannot be read.
    UnicodeDecodeError
        If a text is not in this encoding.
    """
    kind = name.suffix.lower()
    if kind in BINARY:
        return BINARY[kind](raw)
    text = raw.decode(encoding).removeprefix("\ufeff")
    return _TEXTS.get(kind, _read_plain)(text, name)


def _read_xml_file(raw: bytes) -> Contents:
    """Return the documents of an XML file joined to one, with the title and columns of the first."""
    try:
        documents = list(read_documents([raw]))
    except DamagedXmlError as error:
        raise Unreadable(str(error)) from None
    text = "\n\n".join(document.text for document in documents)
    if not text:
        raise Unreadable("has no text in it")
    return documents[0]._replace(text=text)


# Readers of the files that name their encoding themselves, or need none.
BINARY: dict[str, Callable[[bytes], Contents]] = {
    **{kind: lambda raw, read=read: Contents(*read(raw)) for kind, read in _OFFICE_READERS.items()},  # type: ignore[misc]
    ".epub": read_epub,
    ".ipynb": markup.read_notebook,
    **dict.fromkeys((".xml", ".tei", ".nxml"), _read_xml_file),
}


PICTURED = (*_OFFICE_READERS, ".epub")  # kinds that hold pictures and text, and may be large


def _read_plain(text: str, _name: PurePath) -> Contents:
    """Return a text without its front matter, whose fields become the title and columns."""
    fields, text = markup.split_front_matter(text)
    return Contents(fields.pop("title", ""), text, fields)


def _read_html(text: str, name: PurePath) -> Contents:
    front = _read_plain(text, name)
    title, body = read_page(front.text)
    return Contents(front.title or title, body, front.columns)


_TEXTS: dict[str, Callable[[str, PurePath], Contents]] = {
    **dict.fromkeys(PAGE_KINDS, _read_html),
    **dict.fromkeys(markup.SUBTITLE_KINDS, lambda text, name: Contents(name.stem, markup.read_subtitles(text))),
    ".tex": lambda text, _name: read_latex(text),
}
