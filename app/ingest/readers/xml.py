"""Readers of XML: documents in TEI, lists of records, feeds, and articles of WikiExtractor."""

import codecs
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from html import unescape
from html.entities import name2codepoint
from itertools import islice
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, TreeBuilder

from topiary.app.ingest import packing
from topiary.app.ingest.errors import IngestError
from topiary.app.ingest.options import ImportOptions
from topiary.app.ingest.readers.markup import read_page
from topiary.app.ingest.readers.publications import ABSTRACT, RECORDS_ACCEPTS, SEVERAL, TITLE, make_record_source
from topiary.app.ingest.source import COLUMNS, GUESS, Contents, Reader, TextDocument, TextSource
from topiary.app.ingest.tables import sniff
from topiary.app.ingest.tables.roles import find_roles, make_text_source
from topiary.app.ingest.tables.sniff import find_xml_encoding
from topiary.app.ingest.text import encodings
from topiary.app.ingest.text.cleaning import clean_text
from topiary.app.ingest.text.encodings import find_marked_encoding

T = TypeVar("T")
_DECLARATION = re.compile(r"\s*<\?xml[^<>]{0,300}\?>")
_NAMED_ENTITY = re.compile(r"&(?!(?:amp|lt|gt|quot|apos);)([A-Za-z][A-Za-z0-9]{1,31});")
_FORBIDDEN = dict.fromkeys((*range(9), 11, 12, *range(14, 32), 0xFFFE, 0xFFFF))  # characters not allowed in XML
_PIECE = 1 << 20  # bytes read at a time
_LONGEST_NAME = 40  # characters of an entity reference, which may cross the end of a piece


class DamagedXmlError(Exception):
    """An error for a file that is not XML, or damaged; the message continues a sentence after the file's name."""


def read_xml_pieces(path: Path) -> Iterator[bytes]:
    """Yield the bytes of a file in pieces."""
    with packing.open_file(path) as stream:
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
    app.ingest.readers.xml.DamagedXmlError
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


ElementPath: TypeAlias = tuple[str, ...]
ElementValues: TypeAlias = list[tuple[ElementPath, str]]
LARGEST = 1 << 25  # characters of a record

_DEEPEST_RECORD = 200  # levels of nested elements
# Elements within a line of text; their text is part of the value around them.
_INLINE_VALUES = frozenset(
    ["a", "b", "i", "em", "strong", "u", "s", "sub", "sup", "small", "big", "font", "span", "tt", "code", "style", "hi"]
)
# Elements that repeat in every document, and are not records.
_DOCUMENT_ELEMENTS = frozenset(
    [
        *("p", "para", "paragraph", "sec", "section", "div", "div1", "div2", "chapter", "s", "seg", "sp", "l", "lg"),
        *("line", "note", "head", "title", "pb", "w", "span", "tr", "td", "th", "li", "body", "text", "meta", "link"),
    ]
)
_FEWEST_FIELDS = 0.5  # smallest number of values and attributes that records have on average


def read_records(pieces: Iterable[bytes], path: ElementPath) -> Iterator[ElementValues]:
    """Yield the values of every element at a path, each with its path below that element.

    Parameters
    ----------
    path : tuple of str
        The last names of the path, from the outside in; ``("item",)`` stands for all elements of this name.

    Raises
    ------
    app.ingest.readers.xml.DamagedXmlError
    """
    return gather_ended(pieces, _RecordReader(path))


class _RecordReader(Gatherer[ElementValues]):
    """Target of a parser that collects the elements at a path as they end."""

    def __init__(self, path: ElementPath) -> None:
        super().__init__()
        self._path = tuple(name.lower() for name in path)
        self._names: list[str] = []
        self._builder: TreeBuilder | None = None
        self._depth = self._size = 0

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self._names.append(strip_namespace(tag).lower())
        if len(self._names) > _DEEPEST_RECORD:
            raise DamagedXmlError(f"is no sound XML (more than {_DEEPEST_RECORD:,} elements within each other)")
        if self._builder is None and tuple(self._names[-len(self._path) :]) == self._path:
            self._builder, self._depth, self._size = TreeBuilder(), len(self._names), 0
        if self._builder is not None:
            self._builder.start(tag, attributes)
            self._grow(sum(map(len, attributes.values())) + 1)

    def end(self, tag: str) -> None:
        if self._builder is not None:
            self._builder.end(tag)
            if len(self._names) == self._depth:
                self.done.append(list(list_values(self._builder.close(), ())))
                self._builder = None
        self._names.pop()

    def data(self, text: str) -> None:
        if self._builder is not None:
            self._builder.data(text)
            self._grow(len(text))

    def _grow(self, size: int) -> None:
        self._size += size
        if self._size > LARGEST:
            raise DamagedXmlError(f"has a record of more than {LARGEST >> 20} MB of text")


def list_values(element: Element, path: ElementPath) -> Iterator[tuple[ElementPath, str]]:
    """Yield the texts in an element and its attributes, as ``@name``; inline elements stay part of their text."""
    for key, value in element.attrib.items():
        if value.strip() and not key.startswith("{"):
            yield (*path, f"@{key}"), value.strip()
    children = list(element)
    mixed = bool((element.text or "").strip()) or any((child.tail or "").strip() for child in children)
    if mixed or all(_is_inline(child) for child in children):
        if text := gather_text(element).strip():
            yield path or (strip_namespace(element.tag),), text
        return
    for child in children:
        yield from list_values(child, (*path, strip_namespace(child.tag)))


def gather_text(element: Element) -> str:
    """Return all text in an element; elements that are not inline are put on separate lines."""
    pieces = [element.text or ""]
    for child in element:
        inside = gather_text(child)
        pieces += [inside if _is_inline(child) else f"\n{inside}\n", child.tail or ""]
    return "".join(pieces)


def _is_inline(element: Element) -> bool:
    return isinstance(element.tag, str) and strip_namespace(element.tag) in _INLINE_VALUES


class _ElementCensus:
    """Target of a parser that counts elements, and their children and attributes, by path."""

    def __init__(self) -> None:
        self._path: ElementPath = ()
        self.times: Counter[ElementPath] = Counter()
        self.fields: Counter[ElementPath] = Counter()

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        if self._path:
            self.fields[self._path] += 1
        if len(self._path) < _DEEPEST_RECORD:
            self._path = (*self._path, strip_namespace(tag))
        else:
            raise DamagedXmlError("is nested too deeply")
        self.times[self._path] += 1
        self.fields[self._path] += len(attributes)

    def end(self, tag: str) -> None:  # noqa: ARG002 - the signature of every target
        self._path = self._path[:-1]


def find_records(start: Iterable[bytes], fewest: int) -> ElementPath | None:
    """Return the path of the records of a file, from its beginning; None if no element repeats.

    Among the repeated elements, the most frequent of those nearest to the root are the records.

    Parameters
    ----------
    fewest : int
        Smallest number of records in the beginning.
    """
    census = _ElementCensus()
    try:
        for _ in parse_xml(start, census):
            pass
    except DamagedXmlError:  # expected, because the rest of the file is missing
        pass
    candidates = [
        (len(path), -count, path)
        for path, count in census.times.items()
        if len(path) > 1
        and count >= fewest
        and path[-1].lower() not in _DOCUMENT_ELEMENTS
        and census.fields[path] >= _FEWEST_FIELDS * count
    ]
    return min(candidates)[2] if candidates else None


_XML_ENDINGS = (".xml", ".tei")
_CORPUS_ROOTS = ("teicorpus", "teicorpus.2")
# Root elements of feeds, and of single documents, in which headings and references repeat as well.
_NOT_LISTS = frozenset(
    [
        *("rss", "feed", "rdf", "tei", "tei.2", "html", "article", "book", "chapter", "nitf", "newsitem", "newsml"),
        *("doc", "document", "text", "play", "report", "thesis", "bncdoc", "speech", "letter", "bill"),
    ]
)
_START_SIZE = 1 << 18  # bytes at the beginning of a file in which records are searched
_FEWEST, _FEWEST_IN_FOLDER = 3, 20  # records that make a file a list; more in a folder, whose files may be documents
_SAMPLED_FILES = 5  # files of a folder that are examined
_SAMPLE = 200  # records from which the roles of columns are found
_LONGEST_VALUE = 2_000  # characters of a value in the sample


def recognise_xml(path: Path) -> bool:
    """Recognise a file of records or a TEI corpus, and a folder in which most files are such."""
    if not path.is_dir():
        return packing.find_suffix(path) in _XML_ENDINGS and _is_list(path, _FEWEST)
    sample = list(islice(sniff.sample_files(path), _SAMPLED_FILES))
    n_lists = sum(packing.find_suffix(file) in _XML_ENDINGS and _is_list(file, _FEWEST_IN_FOLDER) for file in sample)
    return 2 * n_lists > len(sample)


def _is_list(path: Path, fewest: int) -> bool:
    root = sniff.look_at(path).root
    if root in _CORPUS_ROOTS or not root or root in _NOT_LISTS:
        return root in _CORPUS_ROOTS
    return find_records([packing.read_start(path, _START_SIZE)], fewest) is not None


def read_xml(path: Path, options: ImportOptions) -> TextSource:
    """Read the records as documents and their values as columns; words of the title are counted too."""
    paths = [file for file in packing.list_visible(path) if file == path or packing.find_suffix(file) in _XML_ENDINGS]
    if not paths:
        raise IngestError(path, "has no .xml files in it")
    if options.records is None and sniff.look_at(paths[0]).root in _CORPUS_ROOTS:
        return _read_corpus(path, paths)
    record_path = _split_path(options.records) or find_records([packing.read_start(paths[0], _START_SIZE)], 2)
    if record_path is None:
        cause = "has no element that repeats as records do; name the element with --records, or, where each file is a"
        raise IngestError(paths[0], f"{cause} document, import their folder")
    read_one = _make_xml_reader(record_path)
    if (known_columns := _KNOWN_RECORDS.get("/".join(record_path).lower())) and options.records is None:
        named = _name_values(read_one, known_columns)
        return make_record_source(path, paths, named, options, ("type", "journal", "language"), encoded=False)
    all_records = (values for file in paths for _, values in read_one(file))
    sample = [[(place, value[:_LONGEST_VALUE]) for place, value in values] for values in islice(all_records, _SAMPLE)]
    if not sample:
        raise IngestError(paths[0], f"has no element {'/'.join(record_path)!r}; name another one with --records")
    names = _shorten_names(sample)

    records = [_make_xml_record(values, names) for values in sample]
    all_columns = dict.fromkeys((name for record in records for name in record), "")
    roles = find_roles([all_columns | record for record in records], options, paths[0])

    def read_filled(file: Path) -> Iterator[tuple[int, dict[str, str]]]:
        for number, values in read_one(file):
            yield number, dict.fromkeys(roles.text, "") | _make_xml_record(values, names)

    parts = [packing.Part(file, None) for file in paths]
    source = make_text_source(path, parts, roles, read_filled, options, encoded=False)
    source.understood["records"] = f"<{record_path[-1]}>, found at {'/'.join(record_path)}"
    if options.records is None:
        guess = f"every <{record_path[-1]}> is a document (--records names another element)"
        source.understood[GUESS] = "; ".join(filter(None, (source.understood.get(GUESS, ""), guess)))
    return source


# For records of publications at a known path: the columns and the paths, or ends of paths, of their values.
_KNOWN_RECORDS: dict[str, dict[str, tuple[str, ...]]] = {
    "pubmedarticleset/pubmedarticle": {
        TITLE: ("articletitle",), ABSTRACT: ("abstract/abstracttext",), "authors": ("author/lastname",),
        "year": ("pubdate/year",), "journal": ("journal/title",), "type": ("publicationtype",),
        "subjects": ("descriptorname",), "keywords": ("keyword",), "language": ("language",),
        "id": ("medlinecitation/pmid",),
    },
    "xml/records/record": {  # of EndNote
        TITLE: ("titles/title",), ABSTRACT: ("abstract",), "authors": ("authors/author",), "year": ("dates/year",),
        "journal": ("titles/secondary-title",), "type": ("ref-type/@name",), "keywords": ("keywords/keyword",),
        "language": ("language",), "doi": ("electronic-resource-num",), "id": ("rec-number",),
    },
}  # fmt: skip


def _name_values(
    read_one: Callable[[Path], Iterator[tuple[int, ElementValues]]], columns: dict[str, tuple[str, ...]]
) -> Callable[[Path], Iterator[tuple[int, dict[str, str]]]]:
    """Return a function that yields the records with the column names shared by all formats of publications."""

    def read_named(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
        for number, values in read_one(path):
            values_by_name: dict[str, list[str]] = {}
            for place, value in values:
                value_path = f"/{'/'.join(place).lower()}"
                names = (
                    name for name, ends in columns.items() if value_path.endswith(tuple(f"/{end}" for end in ends))
                )
                if (name := next(names, None)) is not None:
                    values_by_name.setdefault(name, []).append(" ".join(value.split()))
            selected = {
                name: each[:1] if name in (TITLE, "year", "type", "id") else each
                for name, each in values_by_name.items()
            }
            yield (
                number,
                {name: ("\n\n" if name == ABSTRACT else SEVERAL).join(each) for name, each in selected.items()},
            )

    return read_named


def _split_path(text: str | None) -> tuple[str, ...] | None:
    """Return the path given in the options, whose elements are separated by dots or slashes; None if there is none."""
    names = [name for name in (text or "").replace("/", ".").split(".") if name]
    return tuple(names) or None


def _make_xml_reader(record_path: Sequence[str]) -> Callable[[Path], Iterator[tuple[int, ElementValues]]]:
    """Return a function that yields the numbered records of a file."""

    def read_one(path: Path) -> Iterator[tuple[int, ElementValues]]:
        with _refuse_damaged(path, "correct it, or export it again"):
            yield from enumerate(read_records(read_xml_pieces(path), tuple(record_path)), 1)

    return read_one


def _shorten_names(sample: Sequence[ElementValues]) -> dict[tuple[str, ...], str]:
    """Return a name for each path: its last part, with as many before it as make the name unique."""
    paths = {tuple(name.removeprefix("@") for name in path): path for values in sample for path, _ in values}
    names: dict[tuple[str, ...], str] = {}
    for parts, path in paths.items():
        alone = (size for size in range(1, len(parts)) if sum(other[-size:] == parts[-size:] for other in paths) == 1)
        names[path] = "/".join(parts[-next(alone, len(parts)) :])
    return names


def _make_xml_record(values: ElementValues, names: dict[tuple[str, ...], str]) -> dict[str, str]:
    """Return the values by name; repeated ones are joined, by blank lines if they are prose."""
    values_by_name: dict[str, list[str]] = {}
    prose: set[str] = set()
    for path, value in values:
        name = names.get(path) or "/".join(path).replace("@", "")
        values_by_name.setdefault(name, []).append(value)
        if len(value) > _LONG_VALUE or path[-1].lower() in _PARAGRAPHS:
            prose.add(name)
    return {name: ("\n\n" if name in prose else SEVERAL).join(each) for name, each in values_by_name.items()}


_LONG_VALUE = 80  # characters from which a value is prose
_PARAGRAPHS = ("p", "para", "paragraph", "abstracttext")  # elements whose values are prose


def _read_corpus(path: Path, paths: Sequence[Path]) -> TextSource:
    """Return a source of the documents in files of TEI."""

    def documents() -> Iterator[TextDocument]:
        number = 0
        for file in paths:
            with _refuse_damaged(file, "correct it, or export it again"):
                for document in read_documents(read_xml_pieces(file)):
                    number += 1
                    title = document.title or f"document {number}"
                    yield TextDocument(document.text, title, None, None, document.columns)

    return TextSource(where=str(path), documents=documents, understood={"records": "<TEI>, each a document"})


_TEXT = "text"
_TEXT_ELEMENTS = (("encoded", "content"), ("description", "summary"))  # the whole text, or else a summary
_FEED_COLUMNS = {
    "title": TITLE, "pubDate": "date", "published": "date", "date": "date", "updated": "updated", "creator": "author",
    "author": "author", "category": "category", "subject": "category", "guid": "id", "id": "id",
}  # fmt: skip
_SINGLE_VALUED = (TITLE, "date", "updated", "id", "link")  # columns of which only the first value is used
_FEED_LABELS = ("category", "feed", "author")


def read_feed(path: Path, options: ImportOptions) -> TextSource:
    """Read the entries as documents, without HTML tags; words of the title are counted too."""
    paths = sniff.list_files(path, ("feed",))

    def read_one(file: Path) -> Iterator[tuple[int, dict[str, str]]]:
        for line, record in _read_entries(file):
            yield line, record | ({"feed": packing.strip_endings(file)} if len(paths) > 1 else {})

    return make_record_source(path, paths, read_one, options, _FEED_LABELS, text=_TEXT, encoded=False, what="text")


def _read_entries(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    name = "entry" if sniff.look_at(path).root == "feed" else "item"
    with _refuse_damaged(path, "download it again"):
        for number, values in enumerate(read_records(read_xml_pieces(path), (name,)), 1):
            yield number, _make_entry(values)


@contextmanager
def _refuse_damaged(path: Path, advice: str) -> Iterator[None]:
    """Turn an error of damaged XML into an IngestError with some advice."""
    try:
        yield
    except DamagedXmlError as error:
        raise IngestError(path, f"{error}; {advice}") from None


def _make_entry(values: ElementValues) -> dict[str, str]:
    """Return the columns of a feed entry, from its values by path."""
    values_by_name: dict[str, list[str]] = {}
    for path, value in values:
        if path in (("category", "@term"), ("link", "@href")):  # in Atom
            values_by_name.setdefault(path[0], []).append(value)
        elif not path[-1].startswith("@") and path[-1] not in ("uri", "email"):
            name = path[0] if path[0] == "content" else _FEED_COLUMNS.get(path[0], path[0])
            values_by_name.setdefault(name, []).append(value)
    text = next((joined for names in _TEXT_ELEMENTS if (joined := "\n\n".join(_join_texts(values_by_name, names)))), "")
    record = {_TEXT: text}
    for name in dict.fromkeys((*_FEED_COLUMNS.values(), "link")):
        if values_of_name := [" ".join(_strip_marks(each).split()) for each in values_by_name.get(name, ())]:
            record[name] = values_of_name[0] if name in _SINGLE_VALUED else SEVERAL.join(dict.fromkeys(values_of_name))
    if "date" not in record and "updated" in record:
        record["date"] = record.pop("updated")
    return record


def _join_texts(values_by_name: dict[str, list[str]], names: tuple[str, ...]) -> list[str]:
    """Return the longest text among some elements, without HTML tags, in a list; empty if there is none."""
    texts = [_strip_marks("\n\n".join(values_by_name[name])) for name in names if name in values_by_name]
    return [max(texts, key=len)] if texts and any(texts) else []


def _strip_marks(value: str) -> str:
    """Return the text of a value that may be a piece of HTML."""
    return read_page(value)[1] if "<" in value else unescape(value)


_XML_FILES = "XML: NAME.xml with a list of records, each a document (--records names the element), or a corpus in TEI"
_FEED_FILES = "RSS or Atom: NAME.xml, .rss or .atom, an entry a document; a folder of them"


_WIKI_FILE = re.compile(r"wiki_\d+(?:\.json)?")
_DOC_TAG = re.compile(r"<doc\s[^<>]*>")
_ATTRIBUTE = re.compile(r'([a-z]+)="([^"]*)"')
_KEPT_ATTRIBUTES = ("id", "url")  # attributes of an article that become columns


def recognise_wiki(path: Path) -> bool:
    """Recognise a file ``wiki_00`` that begins with an article, and a folder with such files at any depth."""
    if path.is_dir():
        return next(_find_wiki_files(path), None) is not None
    named = _WIKI_FILE.fullmatch(packing.strip_packing(path.name)) is not None
    return named and sniff.look_at(path).first in (b"<", b"{")


def _find_wiki_files(folder: Path) -> Iterator[Path]:
    """Yield the files of a folder, at any depth, that WikiExtractor has written."""
    for file in folder.rglob("wiki_*"):
        if file.is_file() and recognise_wiki(file):
            yield file


def read_wiki(path: Path, options: ImportOptions) -> TextSource:
    """Read the articles; the line of the text that repeats the title is left out."""
    paths = sorted(_find_wiki_files(path)) if path.is_dir() else [path]
    if not paths:
        raise IngestError(path, "has no files wiki_00, wiki_01, ... in it")
    return TextSource(
        where=str(path),
        counted=lambda document: clean_text(f"{document.title}\n{document.text}"),
        documents=lambda: (article for file in paths for article in _read_articles(file, options.encoding)),
        notes=packing.note_guesses(paths, options.encoding),
        understood=packing.describe_encoding(paths[0], options.encoding) | {"files": f"{len(paths):,}"},
    )


def _read_articles(path: Path, encoding: str) -> Iterator[TextDocument]:
    """Yield the articles of a file, from blocks ``<doc ...>`` or JSON lines."""
    if sniff.look_at(path).first == b"{":
        yield from _read_objects(path, encoding)
        return
    attributes: dict[str, str] | None = None
    lines: list[str] = []
    size = first_line = 0
    for line, text in packing.read_lines(path, encoding):
        if attributes is None:
            if text.strip() and not _DOC_TAG.fullmatch(text.strip()):
                raise IngestError(path, "is neither <doc ...> nor within such a block", line)
            if text.strip():
                attributes = {name: unescape(value) for name, value in _ATTRIBUTE.findall(text)}
                lines, size, first_line = [], 0, line
        elif text.strip() == "</doc>":
            yield _make_article(attributes, lines)
            attributes = None
        else:
            lines.append(text)
            size += len(text)
            packing.check_length(size, path, first_line)
    if attributes is not None:
        raise IngestError(path, "the block <doc ...> that begins here never ends; copy the file again", first_line)


def _make_article(attributes: dict[str, Any], lines: list[str]) -> TextDocument:
    title = " ".join(str(attributes.get("title") or attributes.get("id") or "article").split())
    body = lines[1:] if lines and lines[0].strip() == title else lines
    columns = {name: str(attributes[name]) for name in _KEPT_ATTRIBUTES if attributes.get(name)}
    return TextDocument(unescape("\n".join(body)).strip(), title, None, None, columns)


def _read_objects(path: Path, encoding: str) -> Iterator[TextDocument]:
    """Yield the articles of a file with a JSON object on each line."""
    for line, text in packing.read_lines(path, encoding):
        if not text.strip():
            continue
        try:
            article = json.loads(text)
        except (ValueError, RecursionError):
            raise IngestError(path, "is no JSON object with the title and text of an article", line) from None
        if not isinstance(article, dict) or not isinstance(article.get("text"), str):
            raise IngestError(path, "is no JSON object with the title and text of an article", line)
        yield _make_article(article, article["text"].split("\n"))


_WIKI_FILES = "WikiExtractor: a folder of AA/wiki_00, AB/wiki_01, ..., with <doc> blocks or a JSON object a line"
READERS = (
    Reader("xml", _XML_FILES, (*COLUMNS, "records", "token_pattern"), recognise_xml, read_xml),
    Reader("feed", _FEED_FILES, RECORDS_ACCEPTS, sniff.recognise_kinds("feed"), read_feed),
    Reader("wiki", _WIKI_FILES, ("token_pattern",), recognise_wiki, read_wiki),
)
