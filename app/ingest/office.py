"""The title and the text of documents of other programs: PDF, Word (.docx), OpenDocument (.odt) and RTF."""

import io
import logging
import re
import zipfile
from collections.abc import Callable
from xml.etree import ElementTree

from app.ingest import packed

_LARGEST = 1 << 26  # bytes of text and its marks unpacked; more is made to fill the memory
_HYPHEN = re.compile(r"(?<=[^\W\d_])-\n(?=[^\W\d_])")
_NO_TITLE = ("", "untitled")
_PARAGRAPHS = ("p", "h")
_MARKS = {"tab": "\t", "br": "\n", "cr": "\n", "line-break": "\n", "s": " "} | dict.fromkeys(_PARAGRAPHS, "\n")
# A second copy of a text box, where moved text was, how to pronounce it, what was deleted, remarks of readers.
_LEFT_OUT = ("Fallback", "moveFrom", "rt", "tracked-changes", "annotation")
_DAMAGED = "is damaged, or of another program"


class Unreadable(Exception):  # noqa: N818 - said of a document
    """A document cannot be read; the message goes on after its name: "is encrypted"."""


def pdf(raw: bytes) -> tuple[str, str]:
    """Title and text of a PDF; words that a line's end had cut are whole again.

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


def docx(raw: bytes) -> tuple[str, str]:
    """Title and text of a Word document and its notes, a line a paragraph; ``Unreadable`` when it is damaged."""
    about, *parts = _members(raw, "docProps/core.xml", "word/document.xml", "word/footnotes.xml", "word/endnotes.xml")
    return _title(about), _text(("t",), *parts)


def odt(raw: bytes) -> tuple[str, str]:
    """Title and text of an OpenDocument text, a line for each paragraph; ``Unreadable`` when it is damaged."""
    about, body = _members(raw, "meta.xml", "content.xml")
    return _title(about), _text(_PARAGRAPHS, body)


def rtf(raw: bytes) -> tuple[str, str]:
    """Title and text of a document in RTF; ``Unreadable`` when it is damaged.

    Links to fields are taken away before, as the library's pattern for them takes the square of a line's length, and so
    are pictures, which are most of a file.
    """
    from striprtf.striprtf import font_table_group, rtf_to_text

    text = raw.decode("latin-1").lstrip(
        "\ufeff\xef\xbb\xbf \r\n\0"
    )  # bytes beyond ASCII stand for those of its code page
    if not text.startswith("{\\rtf"):
        raise Unreadable("is no RTF")
    text = _PICTURE.sub("", text).replace("\\field{", "{")
    if len(text) > _LARGEST:
        raise Unreadable(f"holds more than {_LARGEST >> 20} MB of text")
    try:
        if len(font_table_group(text)) > _LARGEST_FONTS:
            raise Unreadable(_DAMAGED)
        text = _BEYOND.sub(lambda found: f"\\'{ord(found[0]):02x}", text)
        code_page = _CODE_PAGE.search(text)
        title = _RTF_TITLE.search(text, 0, _ABOUT_RTF)
        head = f"{{\\rtf1\\ansi{code_page[0] if code_page else ''} "
        named = rtf_to_text(f"{head}{title[1]}}}", errors="replace") if title else ""
        return " ".join(_whole(named).split()), _whole(rtf_to_text(text, errors="replace")).strip()
    except (ValueError, LookupError, TypeError, OverflowError):
        raise Unreadable(_DAMAGED) from None


def _whole(text: str) -> str:
    """A text with characters that RTF writes in two halves as one."""
    return text.replace("\0", "").encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


_PICTURE = re.compile(r"(?:[0-9a-fA-F]{60,}\s*)+")  # in hexadecimal figures
_BEYOND = re.compile("[\x80-\xff]")
_CODE_PAGE = re.compile(r"\\ansicpg[0-9]{1,5}")
_RTF_TITLE = re.compile(r"\{\\title ([^{}]{0,1000})\}")
_ABOUT_RTF = 1 << 20  # characters at the beginning among which the title stands
_LARGEST_FONTS = 3 << 14  # characters of the table of fonts, for whose lines the library takes the square of its length

READERS: dict[str, Callable[[bytes], tuple[str, str]]] = {".pdf": pdf, ".docx": docx, ".odt": odt, ".rtf": rtf}


class _Said:
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


def _text(names: tuple[str, ...], *parts: bytes) -> str:
    """Text within elements of these names, of all parts that are there."""
    try:
        parsed = [ElementTree.fromstring(part, _parser(names)) for part in parts if part]  # noqa: S314 - see below
    except ElementTree.ParseError:
        raise Unreadable(_DAMAGED) from None
    return "\n".join(str(text) for text in parsed if text)


def _parser(names: tuple[str, ...]) -> ElementTree.XMLParser:
    """A parser for files of strangers: expat bounds what entities grow to, and nothing nests."""
    return ElementTree.XMLParser(target=_Said(names))  # noqa: S314


def _members(raw: bytes, about: str, body: str, *more: str) -> list[bytes]:
    """Files of an archive; empty for one, beside the body, that is not there."""
    found: list[bytes] = []
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            there = archive.namelist()
            for name in (about, body, *more):
                if name != body and name not in there:
                    found.append(b"")
                    continue
                found.append(packed.member(archive, archive.getinfo(name), _LARGEST))
    except packed.TooLarge:
        raise Unreadable(f"holds more than {_LARGEST >> 20} MB of text") from None
    except packed.UNPACKING:
        raise Unreadable(_DAMAGED) from None
    return found


def _title(about: bytes) -> str:
    return " ".join(_text(("title",), about).split())
