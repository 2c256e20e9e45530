"""XML of any origin, piece by piece: its encoding, names of HTML in it, and no entities that grow beyond bounds."""

import codecs
import re
from collections.abc import Iterable, Iterator
from functools import partial
from html.entities import name2codepoint
from pathlib import Path
from xml.etree import ElementTree

from app.ingest import encodings, files
from app.ingest.marks import encoding_of

_DECLARED = re.compile(rb"""<\?xml[^<>]{0,200}?encoding\s*=\s*["']([A-Za-z][A-Za-z0-9._-]{0,40})["']""")
_STARTS = re.compile(r"\s*<[?!A-Za-z_:]")
_DECLARATION = re.compile(r"\s*<\?xml[^<>]{0,300}\?>")
_NAMED = re.compile(r"&(?!(?:amp|lt|gt|quot|apos);)([A-Za-z][A-Za-z0-9]{1,31});")
_NEVER = dict.fromkeys((*range(9), 11, 12, *range(14, 32), 0xFFFE, 0xFFFF))  # characters that XML cannot have
_PIECE = 1 << 20  # bytes
_LONGEST_NAME = 40  # characters of a reference that a piece may end within


class DamagedXmlError(Exception):
    """A file is no XML, or damaged; the message goes on after its name."""


def read_pieces(path: Path) -> Iterator[bytes]:
    """Give the bytes of a file, some at a time."""
    with files.opened(path) as stream:
        yield from iter(partial(stream.read, _PIECE), b"")


def parse(pieces: Iterable[bytes], target: object) -> Iterator[None]:
    """Tell a target what an XML file has; gives control back after every piece.

    The target has some of the methods ``start(tag, attributes)``, ``end(tag)`` and ``data(text)``, as for
    `xml.etree.ElementTree.XMLParser`.

    Entities that the file itself defines are bounded by the parser, none is fetched from elsewhere.

    Raises
    ------
    DamagedXmlError
    """
    parser = ElementTree.XMLParser(target=target)  # noqa: S314 - expat bounds what entities grow to
    try:
        for piece in _decoded(pieces):
            parser.feed(piece)
            yield
        parser.close()
    except ElementTree.ParseError as error:
        line, column = error.position
        what = error.msg.partition(":")[0]
        raise DamagedXmlError(f"is no sound XML ({what}, line {line:,}, column {column:,})") from None
    except (LookupError, ValueError) as error:
        raise DamagedXmlError(f"is no sound XML ({error})") from None


def strip_namespace(tag: str) -> str:
    """Return the name of an element without the vocabulary it is of."""
    return tag.rpartition("}")[2]


def is_xml(start: bytes) -> bool:
    """Return whether a file that begins so may be XML."""
    return bool(_STARTS.match(start.decode(find_encoding(start), "replace").lstrip("\ufeff")))


def find_root(start: bytes) -> str:
    """Return the name of the outermost element of a file that begins so, in lower case; empty where there is none."""
    text = start.decode(find_encoding(start), "replace").lstrip("\ufeff")
    found = re.search(r"<(?:[A-Za-z_][\w.-]{0,60}:)?([A-Za-z_][\w.-]{0,60})(?=[\s/>])", _without_prolog(text))
    return found[1].lower() if found and is_xml(start) else ""


def _without_prolog(text: str) -> str:
    """Return the text without declarations, remarks and a document type."""
    text = re.sub(r"<\?.{0,2000}?\?>|<!--.{0,4000}?-->", "", text, flags=re.DOTALL)
    return re.sub(r"<!DOCTYPE[^<>\[]{0,500}(?:\[.{0,4000}?\]\s*)?>", "", text, flags=re.DOTALL)


def find_encoding(start: bytes) -> str:
    """Return the encoding that a file names, or that its first bytes show."""
    marked = encodings.of_whole(start, "")
    if marked:
        return marked
    declared = _DECLARED.match(start.lstrip())
    name = declared[1].decode("ascii") if declared else "utf-8"
    try:
        known = codecs.lookup(name).name
        "<".encode(name)
    except (LookupError, ValueError):
        return "utf-8"
    return "utf-8" if known.startswith(("utf-16", "utf-32")) else name  # its bytes say that it is not


def _decoded(pieces: Iterable[bytes]) -> Iterator[str]:
    """Give the text in pieces, without its declaration and with references to characters of HTML by number."""
    decoder: codecs.IncrementalDecoder | None = None
    held = ""
    for raw in pieces:
        first = decoder is None
        if decoder is None:
            name = find_encoding(raw)
            if name == "utf-8" and not encoding_of(raw, ""):
                name = encodings.of_pieces([raw[: raw.rfind(b">") + 1]], "utf-8").name  # a letter may be cut at its end
            decoder = codecs.getincrementaldecoder(name)("replace")
        text = held + decoder.decode(raw)
        if first:
            text = _DECLARATION.sub("", text.lstrip("\ufeff"), count=1).lstrip()
        cut = text.rfind("&", max(0, len(text) - _LONGEST_NAME))
        text, held = (text, "") if cut < 0 else (text[:cut], text[cut:])
        yield _by_number(text)
    if decoder is not None:
        yield _by_number(held + decoder.decode(b"", final=True))


def _by_number(text: str) -> str:
    return _NAMED.sub(_numbered, text).translate(_NEVER)


def _numbered(found: re.Match[str]) -> str:
    code = name2codepoint.get(found[1])
    return found[0] if code is None else f"&#{code};"
