"""XML of any origin, parsed piece by piece with bounded entities, and documents in TEI."""

import codecs
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from html.entities import name2codepoint
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar
from xml.etree import ElementTree

from topiary.app.ingest import files
from topiary.app.ingest.source import Contents
from topiary.app.ingest.text import encodings
from topiary.app.ingest.text.encodings import find_marked_encoding

T = TypeVar("T")
_ENCODING_NAME = re.compile(rb"""<\?xml[^<>]{0,200}?encoding\s*=\s*["']([A-Za-z][A-Za-z0-9._-]{0,40})["']""")
_XML_START = re.compile(r"\s*<[?!A-Za-z_:]")
_DECLARATION = re.compile(r"\s*<\?xml[^<>]{0,300}\?>")
_NAMED_ENTITY = re.compile(r"&(?!(?:amp|lt|gt|quot|apos);)([A-Za-z][A-Za-z0-9]{1,31});")
_FORBIDDEN = dict.fromkeys((*range(9), 11, 12, *range(14, 32), 0xFFFE, 0xFFFF))  # characters not allowed in XML
_PIECE = 1 << 20  # bytes read at a time
_LONGEST_NAME = 40  # characters of an entity reference, which may cross the end of a piece


class DamagedXmlError(Exception):
    """An error for a file that is not XML, or damaged; the message continues a sentence after the file's name."""


def read_xml_pieces(path: Path) -> Iterator[bytes]:
    """Yield the bytes of a file in pieces."""
    with files.open_file(path) as stream:
        yield from iter(partial(stream.read, _PIECE), b"")


def parse_xml(pieces: Iterable[bytes], target: object) -> Iterator[None]:
    """Feed an XML file to a target; yield after every piece.

    The target has some of the methods ``start(tag, attributes)``, ``end(tag)`` and ``data(text)``, as for
    `xml.etree.ElementTree.XMLParser`.

    The parser bounds the entities that the file defines, and fetches no external ones.

    Raises
    ------
    DamagedXmlError
    """
    parser = ElementTree.XMLParser(target=target)  # noqa: S314 - expat bounds the growth of entities
    try:
        for piece in _decode_pieces(pieces):
            parser.feed(piece)
            yield
        parser.close()
    except ElementTree.ParseError as error:
        raise DamagedXmlError(_explain_error(error)) from None
    except (LookupError, ValueError) as error:
        raise DamagedXmlError(f"is no sound XML ({error})") from None


def _explain_error(error: ElementTree.ParseError) -> str:
    """Explain why a file cannot be parsed."""
    line, column = error.position
    place = f"line {line:,}, column {column:,}"
    reason = error.msg.partition(":")[0]
    if "amplification" in reason:
        return (
            f"has entities that expand beyond all bounds, so it is refused ({place}); write their texts in their places"
        )
    if reason.startswith("undefined entity"):
        which = f"the entity {name}" if (name := reason.removeprefix("undefined entity").strip()) else "an entity"
        return f"uses {which} that it does not define itself ({place}); write its text in its place"
    return f"is no sound XML ({reason}, {place})"


class Gatherer(Generic[T]):
    """A target of a parser that collects an item whenever its element ends."""

    def __init__(self) -> None:
        self.done: list[T] = []


def gather_ended(pieces: Iterable[bytes], target: Gatherer[T]) -> Iterator[T]:
    """Yield the items that a target collects from an XML file, each as soon as it is complete.

    Raises
    ------
    DamagedXmlError
    """
    for _ in parse_xml(pieces, target):
        yield from target.done
        target.done.clear()
    yield from target.done


def strip_namespace(tag: str) -> str:
    """Return the name of an element without its namespace."""
    return tag.rpartition("}")[2]


def is_xml(start: bytes) -> bool:
    """Return whether a file with this beginning may be XML."""
    return bool(_XML_START.match(start.decode(find_xml_encoding(start), "replace").lstrip("\ufeff")))


def find_root(start: bytes) -> str:
    """Return the name of the root element, in lower case, from the beginning of a file; empty if it is not XML."""
    text = start.decode(find_xml_encoding(start), "replace").lstrip("\ufeff")
    match = re.search(r"<(?:[A-Za-z_][\w.-]{0,60}:)?([A-Za-z_][\w.-]{0,60})(?=[\s/>])", _drop_prolog(text))
    return match[1].lower() if match and is_xml(start) else ""


def _drop_prolog(text: str) -> str:
    """Return the text without declarations, comments and a document type."""
    text = re.sub(r"<\?.{0,2000}?\?>|<!--.{0,4000}?-->", "", text, flags=re.DOTALL)
    return re.sub(r"<!DOCTYPE[^<>\[]{0,500}(?:\[.{0,4000}?\]\s*)?>", "", text, flags=re.DOTALL)


def find_xml_encoding(start: bytes) -> str:
    """Return the encoding that a file declares or that its first bytes show; UTF-8 by default."""
    marked = encodings.recognise_text(start, "")
    if marked:
        return marked
    declared = _ENCODING_NAME.match(start.lstrip())
    name = declared[1].decode("ascii") if declared else "utf-8"
    try:
        canonical = codecs.lookup(name).name
        "<".encode(name)
    except (LookupError, ValueError):
        return "utf-8"
    return "utf-8" if canonical.startswith(("utf-16", "utf-32")) else name  # its bytes show that it is not


def _decode_pieces(pieces: Iterable[bytes]) -> Iterator[str]:
    """Yield the text in pieces, without its declaration, and with the named entities of HTML replaced by numbers."""
    decoder: codecs.IncrementalDecoder | None = None
    remainder = ""
    for raw in pieces:
        first = decoder is None
        if decoder is None:
            name = find_xml_encoding(raw)
            if name == "utf-8" and not find_marked_encoding(raw, ""):
                whole = raw[: raw.rfind(b">") + 1]  # its end may cut a letter
                name = encodings.recognise_pieces([whole], "utf-8").name
            decoder = codecs.getincrementaldecoder(name)("replace")
        text = remainder + decoder.decode(raw)
        if first:
            text = _DECLARATION.sub("", text.lstrip("\ufeff"), count=1).lstrip()
        cut = text.rfind("&", max(0, len(text) - _LONGEST_NAME))
        text, remainder = (text, "") if cut < 0 else (text[:cut], text[cut:])
        yield _number_entities(text)
    if decoder is not None:
        yield _number_entities(remainder + decoder.decode(b"", final=True))


def _number_entities(text: str) -> str:
    return _NAMED_ENTITY.sub(_number_entity, text).translate(_FORBIDDEN)


def _number_entity(match: re.Match[str]) -> str:
    code = name2codepoint.get(match[1])
    return match[0] if code is None else f"&#{code};"


ROOTS = ("tei", "tei.2", "teicorpus", "teicorpus.2")  # root elements of TEI, in lower case
_DOCUMENTS = ("TEI", "TEI.2")  # elements of single documents in TEI
# Elements within a line; all others begin a new line.
_INLINE = (
    "a abbr acronym add am b bdi bdo big bold c choice cit cite code corr damage date del dfn distinct em "
    "emph ex expan ext-link font foreign forename gap geogName gi gloss hi i ins italic kbd mark measure "
    "mentioned monospace name named-content num orgName orig overline pc persName phr placeName q quote ref "
    "reg roman rs ruby s salute sc seg sic small soCalled span strike strong styled-content sub sup supplied "
    "surname surplus term time tt u unclear underline unit w xref anchor milestone ptr"
)
_WITHIN_LINES = frozenset(_INLINE.split())
_BREAKS = frozenset(["lb", "pb", "cb", "br"])
_LEFT_OUT = frozenset(
    [
        *("fw", "del", "script", "style", "metamark", "docdata"),
        *("journal-meta", "article-id", "article-categories", "contrib-group", "aff", "author-notes", "pub-date"),
        *("history", "permissions", "funding-group", "counts", "custom-meta-group", "ref-list"),  # of JATS articles
    ]
)
_REJECTED_READINGS = frozenset(["orig", "sic", "abbr", "am"])  # alternatives in a choice to the reading that is used
# Elements that may have the title in other XML.
_TITLES = ("title", "headline", "hed", "article-title", "head", "hl1", "heading")
# Attributes with a date in standard form, the best first.
_DATE_ATTRIBUTES = ("when", "when-iso", "notBefore", "from", "value")
# Elements that contain the date, the best first.
_DATE_PLACES = ("creation", "sourceDesc", "publicationStmt", "editionStmt", "titleStmt")
_LONGEST_ATTRIBUTE = 200  # characters of an attribute that becomes a column
_DEEPEST = 1_000  # levels of nested elements; more are a sign of damage
_TEI_GAP = re.compile(r"\s*\n\s*")
_BLANKS = re.compile(r"[ \t]+")


def read_documents(pieces: Iterable[bytes]) -> Iterator[Contents]:
    """Yield the documents of a file: those of a TEI corpus, or a single one.

    Raises
    ------
    app.ingest.readers.xml_parsing.DamagedXmlError
    """
    return gather_ended(pieces, _TeiReader())


class _TeiField(NamedTuple):
    """A field being read: the depth of its element, its name, and its text so far."""

    depth: int
    name: str
    pieces: list[str]


class _TeiDraft:
    """A document being read."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.found: dict[str, list[str]] = {}
        self.glued = False  # whether the next text continues a word

    def keep(self, name: str, text: str) -> None:
        """Add a value to a field."""
        if line := " ".join(text.split()):
            self.found.setdefault(name, []).append(line)

    def add(self, text: str) -> None:
        """Add a piece of the text."""
        if self.glued:
            text = text.lstrip()
            self.glued = not text
        self.pieces.append(_BLANKS.sub(" ", text.replace("\n", " ").replace("\r", " ")))

    def glue(self) -> None:
        """Remove blanks before and after the current position, because a word continues."""
        while self.pieces and not self.pieces[-1].strip():
            self.pieces.pop()
        if self.pieces:
            self.pieces[-1] = self.pieces[-1].rstrip()
        self.glued = True

    def make_contents(self) -> Contents:
        """Return the finished document."""
        date = next((self.found[f"date {place}"][0] for place in _DATE_PLACES if f"date {place}" in self.found), "")
        fields = {"author": "; ".join(dict.fromkeys(self.found.get("author", ()))), "date": date}
        attributes = [name for name in self.found if name.startswith("about ")]
        fields |= {name.partition(" ")[2]: self.found[name][0] for name in attributes}
        title = next(iter(self.found.get("title", ())), "")
        text = _TEI_GAP.sub("\n", _BLANKS.sub(" ", "".join(self.pieces))).strip()
        return Contents(title, text, {name: value for name, value in fields.items() if value})


class _TeiReader(Gatherer[Contents]):
    """Target of a parser that collects documents as they end."""

    def __init__(self) -> None:
        super().__init__()
        self._path: list[str] = []
        self._draft = _TeiDraft()
        self._field: _TeiField | None = None
        self._left_out = 0
        self._header = self._text = 0  # depth of the current header and text element of TEI, or 0
        self._is_tei = False

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        name = strip_namespace(tag)
        within_choice = bool(self._path) and self._path[-1] == "choice"
        self._path.append(name)
        if len(self._path) > _DEEPEST:
            raise DamagedXmlError(f"is no sound XML (more than {_DEEPEST:,} elements within each other)")
        if len(self._path) == 1:
            self._begin(name, attributes)
        if name in _LEFT_OUT or (within_choice and name in _REJECTED_READINGS):
            self._left_out += 1
        if self._is_tei and not self._text:
            self._read_header_element(name, attributes)
            return
        if name in _BREAKS and attributes.get("break") == "no":
            self._draft.glue()
        elif not self._is_inline(name):
            self._draft.pieces.append("\n")
        if not self._is_tei and name in _TITLES and "title" not in self._draft.found and self._field is None:
            self._field = _TeiField(len(self._path), "title", [])
        elif not self._is_tei and name == "year" and "date titleStmt" not in self._draft.found and self._field is None:
            self._field = _TeiField(len(self._path), "date titleStmt", [])

    def end(self, tag: str) -> None:
        depth, name = len(self._path), strip_namespace(tag)
        self._path.pop()
        if name in _LEFT_OUT or (self._path and self._path[-1] == "choice" and name in _REJECTED_READINGS):
            self._left_out -= 1
        if self._field is not None and self._field.depth == depth:
            self._draft.keep(self._field.name, "".join(self._field.pieces))
            self._field = None
        if self._header == depth:
            self._header = 0
        if self._text == depth:
            self._text = 0
        if name == "w":
            self._draft.pieces.append(" ")
        elif name not in _BREAKS and not self._is_inline(name):
            self._draft.pieces.append("\n")
        is_last = name in _DOCUMENTS if self._is_tei else not self._path
        if is_last:
            self.done.append(self._draft.make_contents())
            self._draft = _TeiDraft()

    def data(self, text: str) -> None:
        if self._field is not None:
            self._field.pieces.append(text)
        if not self._left_out and (self._text or not self._is_tei):
            self._draft.add(text)

    def _begin(self, name: str, attributes: Mapping[str, str]) -> None:
        self._is_tei = name.lower() in ROOTS
        if not self._is_tei:
            for key, value in attributes.items():
                if not key.startswith("{") and len(value) <= _LONGEST_ATTRIBUTE:
                    self._draft.keep(f"about {key}", value)

    def _is_inline(self, name: str) -> bool:
        return name in _WITHIN_LINES or name in _LEFT_OUT or (self._is_tei and name == "title")

    def _read_header_element(self, name: str, attributes: Mapping[str, str]) -> None:
        """Process the start of a TEI element outside of the text."""
        if name == "teiHeader":
            self._header = len(self._path)
        elif name == "text" and not self._header:
            self._text = len(self._path)
        elif name in _DOCUMENTS:
            self._draft = _TeiDraft()
        if self._field is not None or not self._header:
            return
        if name in ("title", "author") and self._path[-2] == "titleStmt":
            other = name == "title" and attributes.get("type", "main") not in ("main", "full", "uniform")
            self._field = _TeiField(len(self._path), "subtitle" if other else name, [])
        elif name == "date":
            place = next((each for each in _DATE_PLACES if each in self._path), "titleStmt")
            when = next((attributes[key] for key in _DATE_ATTRIBUTES if key in attributes), "")
            self._draft.keep(f"date {place}", when)
            if not when:
                self._field = _TeiField(len(self._path), f"date {place}", [])
        elif name == "language" and "about language" not in self._draft.found:
            self._draft.keep("about language", attributes.get("ident", attributes.get("id", "")))
