"""The title and the text of documents that are not plain text: PDF, Word (.docx) and OpenDocument (.odt)."""

import io
import logging
import re
import zipfile
from collections.abc import Callable, Iterator
from xml.etree import ElementTree

_LARGEST = 1 << 28  # bytes of text unpacked; more is made to fill the memory
_HYPHEN = re.compile(r"(?<=[^\W\d_])-\n(?=[^\W\d_])")
_NO_TITLE = ("", "untitled")


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
    """Title and text of a Word document, a line for each paragraph; ``Unreadable`` when it is damaged."""
    body, about = _members(raw, "word/document.xml", "docProps/core.xml")
    lines = ("".join(_piece(each) for each in paragraph.iter()) for paragraph in _named(body, "p"))
    return _title(about), "\n".join(lines)


def odt(raw: bytes) -> tuple[str, str]:
    """Title and text of an OpenDocument text, a line for each paragraph; ``Unreadable`` when it is damaged."""
    body, about = _members(raw, "content.xml", "meta.xml")
    return _title(about), "\n".join("".join(each.itertext()) for each in _named(body, "p", "h"))


READERS: dict[str, Callable[[bytes], tuple[str, str]]] = {".pdf": pdf, ".docx": docx, ".odt": odt}


def _name(element: ElementTree.Element) -> str:
    """The name of an element without the vocabulary it is of."""
    return element.tag.rpartition("}")[2]


def _named(tree: ElementTree.Element, *names: str) -> Iterator[ElementTree.Element]:
    return (each for each in tree.iter() if _name(each) in names)


def _piece(element: ElementTree.Element) -> str:
    """What an element of a Word paragraph adds to its text."""
    return {"t": element.text or "", "tab": "\t", "br": "\n"}.get(_name(element), "")


def _members(raw: bytes, *names: str) -> list[ElementTree.Element]:
    """Parts of an archive as trees; an empty one for a part that is not the first and not there."""
    found: list[ElementTree.Element] = []
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            for name in names:
                if found and name not in archive.namelist():
                    found.append(ElementTree.Element("none"))
                    continue
                if archive.getinfo(name).file_size > _LARGEST:
                    raise Unreadable(f"holds more than {_LARGEST >> 20} MB of text")
                found.append(ElementTree.fromstring(archive.read(name)))  # noqa: S314 - expat bounds what entities do
    except (zipfile.BadZipFile, KeyError, ElementTree.ParseError, RuntimeError, OSError, EOFError):
        raise Unreadable("is damaged, or of another program") from None
    return found


def _title(about: ElementTree.Element) -> str:
    said = next((each.text or "" for each in _named(about, "title")), "")
    return " ".join(said.split())
