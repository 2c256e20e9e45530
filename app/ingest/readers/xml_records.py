"""Records in XML, and feeds: elements that repeat, and the values within them."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from html import unescape
from itertools import islice
from pathlib import Path
from typing import TypeAlias
from xml.etree.ElementTree import Element, TreeBuilder

from app.ingest import files
from app.ingest.errors import IngestError
from app.ingest.options import ImportOptions
from app.ingest.readers import markup, text_kinds, xml_parsing
from app.ingest.readers.publications import ABSTRACT, RECORDS_ACCEPTS, SEVERAL, TITLE, make_record_source
from app.ingest.readers.xml_parsing import DamagedXmlError, find_root, parse_xml, read_xml_pieces, strip_namespace
from app.ingest.source import COLUMNS, GUESS, Reader, TextDocument, TextSource
from app.ingest.tables.records import make_text_source
from app.ingest.tables.roles import find_roles

ElementPath: TypeAlias = tuple[str, ...]
ElementValues: TypeAlias = list[tuple[ElementPath, str]]
LARGEST = 1 << 25  # characters of a record

_DEEPEST = 200  # elements within each other
# Elements of a line of text: what is in them belongs to the value that they stand in.
_INLINE = frozenset(
    ["a", "b", "i", "em", "strong", "u", "s", "sub", "sup", "small", "big", "font", "span", "tt", "code", "style", "hi"]
)
# Elements that repeat in every document, and are no records.
_OF_DOCUMENTS = frozenset(
    [
        *("p", "para", "paragraph", "sec", "section", "div", "div1", "div2", "chapter", "s", "seg", "sp", "l", "lg"),
        *("line", "note", "head", "title", "pb", "w", "span", "tr", "td", "th", "li", "body", "text", "meta", "link"),
    ]
)
_FEWEST_FIELDS = 0.5  # values or attributes that a record has on average, at least


def read_records(pieces: Iterable[bytes], path: ElementPath) -> Iterator[ElementValues]:
    """Give the values of every element at a path, each with its own path from there on.

    Parameters
    ----------
    path : tuple of str
        The last names of the elements from the outside in: ``("item",)`` stands for all of that name.

    Raises
    ------
    app.ingest.readers.xml_parsing.DamagedXmlError
    """
    return xml_parsing.gather_ended(pieces, _RecordReader(path))


class _RecordReader(xml_parsing.Gatherer[ElementValues]):
    """Target of a parser: gathers the elements at a path as they end."""

    def __init__(self, path: ElementPath) -> None:
        super().__init__()
        self._path = tuple(name.lower() for name in path)
        self._names: list[str] = []
        self._builder: TreeBuilder | None = None
        self._depth = self._size = 0

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self._names.append(strip_namespace(tag).lower())
        if len(self._names) > _DEEPEST:
            raise DamagedXmlError(f"is no sound XML (more than {_DEEPEST:,} elements within each other)")
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
    """Give the texts within an element and its attributes, as ``@name``; what stands in a line of text stays there."""
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
    """Return all text within an element; elements that are no parts of a line stand on lines of their own."""
    pieces = [element.text or ""]
    for child in element:
        inside = gather_text(child)
        pieces += [inside if _is_inline(child) else f"\n{inside}\n", child.tail or ""]
    return "".join(pieces)


def _is_inline(element: Element) -> bool:
    return isinstance(element.tag, str) and strip_namespace(element.tag) in _INLINE


class _ElementCensus:
    """Target of a parser: counts elements by their path, and what is within them."""

    def __init__(self) -> None:
        self._path: ElementPath = ()
        self.times: Counter[ElementPath] = Counter()
        self.fields: Counter[ElementPath] = Counter()

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        if self._path:
            self.fields[self._path] += 1
        if len(self._path) < _DEEPEST:
            self._path = (*self._path, strip_namespace(tag))
        else:
            raise DamagedXmlError("is nested too deeply")
        self.times[self._path] += 1
        self.fields[self._path] += len(attributes)

    def end(self, tag: str) -> None:  # noqa: ARG002 - as of every target
        self._path = self._path[:-1]


def find_records(start: Iterable[bytes], fewest: int) -> ElementPath | None:
    """Return the path of the elements that are the records of a file that begins so; None where nothing repeats.

    Of all elements that repeat those nearest to the root are taken, and of these the most frequent.

    Parameters
    ----------
    fewest : int
        How many records there are in the beginning at least.
    """
    census = _ElementCensus()
    try:
        for _ in parse_xml(start, census):
            pass
    except DamagedXmlError:  # it is the beginning of a file: the rest is missing
        pass
    found = [
        (len(path), -times, path)
        for path, times in census.times.items()
        if len(path) > 1
        and times >= fewest
        and path[-1].lower() not in _OF_DOCUMENTS
        and census.fields[path] >= _FEWEST_FIELDS * times
    ]
    return min(found)[2] if found else None


_KINDS = (".xml", ".tei")
_CORPORA = ("teicorpus", "teicorpus.2")
# The outermost elements of feeds, and of single documents, whose headings and references repeat as well.
_NO_LISTS = frozenset(
    [
        *("rss", "feed", "rdf", "tei", "tei.2", "html", "article", "book", "chapter", "nitf", "newsitem", "newsml"),
        *("doc", "document", "text", "play", "report", "thesis", "bncdoc", "speech", "letter", "bill"),
    ]
)
_START = 1 << 18  # bytes at the beginning of a file in which records are looked for
_FEWEST, _FEWEST_IN_FOLDER = 3, 20  # records there, from which a file is a list; those of a folder may be documents
_LOOKED_AT = 5  # files of a folder
_SAMPLE = 200  # records that are looked at,
_LONGEST = 2_000  # and characters of a value


def recognise_xml(path: Path) -> bool:
    """Recognise a file of records or a corpus in TEI, and a folder of them."""
    if not path.is_dir():
        return files.find_suffix(path) in _KINDS and _is_list(path, _FEWEST)
    some = list(islice(text_kinds.sample_files(path), _LOOKED_AT))
    lists = sum(files.find_suffix(file) in _KINDS and _is_list(file, _FEWEST_IN_FOLDER) for file in some)
    return 2 * lists > len(some)


def _is_list(path: Path, fewest: int) -> bool:
    start = files.read_start(path, _START)
    root = find_root(start)
    return root in _CORPORA or (bool(root) and root not in _NO_LISTS and find_records([start], fewest) is not None)


def read_xml(path: Path, options: ImportOptions) -> TextSource:
    """Return the records as documents, their values as columns of a table; words of the title count too."""
    inside = sorted(path.rglob("*")) if path.is_dir() else [path]
    paths = [file for file in inside if file.is_file() and (file == path or not file.name.startswith("."))]
    paths = [file for file in paths if file == path or files.find_suffix(file) in _KINDS]
    if not paths:
        raise IngestError(path, "has no .xml files in it")
    if options.records is None and find_root(files.read_start(paths[0], _START)) in _CORPORA:
        return _read_corpus(path, paths)
    where = _split_path(options.records) or find_records([files.read_start(paths[0], _START)], 2)
    if where is None:
        cause = "has no element that repeats as records do; name the element with --records, or, where each file is a"
        raise IngestError(paths[0], f"{cause} document, import their folder")
    read_one = _make_xml_reader(where)
    if (known := _KNOWN.get("/".join(where).lower())) and options.records is None:
        named = _name_values(read_one, known)
        return make_record_source(path, paths, named, options, ("type", "journal", "language"), encoded=False)
    every = (values for file in paths for _, values in read_one(file))
    sample = [[(place, value[:_LONGEST]) for place, value in values] for values in islice(every, _SAMPLE)]
    if not sample:
        raise IngestError(paths[0], f"has no element {'/'.join(where)!r}; name another one with --records")
    names = _shorten_names(sample)

    records = [_make_xml_record(values, names) for values in sample]
    found = dict.fromkeys((name for record in records for name in record), "")
    roles = find_roles([found | record for record in records], options, paths[0])

    def read_filled(file: Path) -> Iterator[tuple[int, dict[str, str]]]:
        for number, values in read_one(file):
            yield number, dict.fromkeys(roles.text, "") | _make_xml_record(values, names)

    parts = [files.Part(file, None) for file in paths]
    source = make_text_source(path, parts, roles, read_filled, options, encoded=False)
    source.understood["records"] = f"<{where[-1]}>, found at {'/'.join(where)}"
    if options.records is None:
        guess = f"every <{where[-1]}> is a document (--records names another element)"
        source.understood[GUESS] = "; ".join(filter(None, (source.understood.get(GUESS, ""), guess)))
    return source


# Records of publications by the path of their element: the values that are kept, by the last names of their paths.
_KNOWN: dict[str, dict[str, tuple[str, ...]]] = {
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
    read_one: Callable[[Path], Iterator[tuple[int, ElementValues]]], known: dict[str, tuple[str, ...]]
) -> Callable[[Path], Iterator[tuple[int, dict[str, str]]]]:
    """Return what gives the records under the names that those of other formats have."""

    def read_named(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
        for number, values in read_one(path):
            found: dict[str, list[str]] = {}
            for place, value in values:
                where = f"/{'/'.join(place).lower()}"
                names = (name for name, ends in known.items() if where.endswith(tuple(f"/{end}" for end in ends)))
                if (name := next(names, None)) is not None:
                    found.setdefault(name, []).append(" ".join(value.split()))
            first = {name: each[:1] if name in (TITLE, "year", "type", "id") else each for name, each in found.items()}
            yield number, {name: ("\n\n" if name == ABSTRACT else SEVERAL).join(each) for name, each in first.items()}

    return read_named


def _split_path(text: str | None) -> tuple[str, ...] | None:
    """Return the path that the options name, its elements parted by dots or strokes."""
    names = [name for name in (text or "").replace("/", ".").split(".") if name]
    return tuple(names) or None


def _make_xml_reader(where: Sequence[str]) -> Callable[[Path], Iterator[tuple[int, ElementValues]]]:
    def read_one(path: Path) -> Iterator[tuple[int, ElementValues]]:
        with _refuse_damaged(path, "correct it, or export it again"):
            yield from enumerate(read_records(read_xml_pieces(path), tuple(where)), 1)

    return read_one


def _shorten_names(sample: Sequence[ElementValues]) -> dict[tuple[str, ...], str]:
    """Return the name of each path: its last part, and as many before that as tell it from others."""
    paths = {tuple(name.removeprefix("@") for name in path): path for values in sample for path, _ in values}
    names: dict[tuple[str, ...], str] = {}
    for parts, path in paths.items():
        alone = (size for size in range(1, len(parts)) if sum(other[-size:] == parts[-size:] for other in paths) == 1)
        names[path] = "/".join(parts[-next(alone, len(parts)) :])
    return names


def _make_xml_record(values: ElementValues, names: dict[tuple[str, ...], str]) -> dict[str, str]:
    """Return values by name; those that repeat are joined, long ones as paragraphs."""
    found: dict[str, list[str]] = {}
    prose: set[str] = set()
    for path, value in values:
        name = names.get(path) or "/".join(path).replace("@", "")
        found.setdefault(name, []).append(value)
        if len(value) > _LONG or path[-1].lower() in _PARAGRAPHS:
            prose.add(name)
    return {name: ("\n\n" if name in prose else SEVERAL).join(each) for name, each in found.items()}


_LONG = 80  # characters of a paragraph
_PARAGRAPHS = ("p", "para", "paragraph", "abstracttext")


def _read_corpus(path: Path, paths: Sequence[Path]) -> TextSource:
    def documents() -> Iterator[TextDocument]:
        number = 0
        for file in paths:
            with _refuse_damaged(file, "correct it, or export it again"):
                for document in xml_parsing.read_documents(read_xml_pieces(file)):
                    number += 1
                    title = document.title or f"document {number}"
                    yield TextDocument(document.text, title, None, None, document.columns)

    return TextSource(where=str(path), documents=documents, understood={"records": "<TEI>, each a document"})


_TEXT = "text"
_TEXTS = (("encoded", "content"), ("description", "summary"))  # the whole text, and in its place the beginning
_FIELDS = {
    "title": TITLE, "pubDate": "date", "published": "date", "date": "date", "updated": "updated", "creator": "author",
    "author": "author", "category": "category", "subject": "category", "guid": "id", "id": "id",
}  # fmt: skip
_ONE = (TITLE, "date", "updated", "id", "link")
_LABELS = ("category", "feed", "author")


def read_feed(path: Path, options: ImportOptions) -> TextSource:
    """Return the entries as documents, without the marks of pages; words of the title count too."""
    paths = text_kinds.list_files(path, ("feed",))

    def read_one(file: Path) -> Iterator[tuple[int, dict[str, str]]]:
        for line, record in _read_entries(file):
            yield line, record | ({"feed": files.strip_endings(file)} if len(paths) > 1 else {})

    return make_record_source(path, paths, read_one, options, _LABELS, text=_TEXT, encoded=False, what="text")


def _read_entries(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    name = "entry" if find_root(files.read_start(path, 1 << 14)) == "feed" else "item"
    with _refuse_damaged(path, "download it again"):
        for number, values in enumerate(read_records(read_xml_pieces(path), (name,)), 1):
            yield number, _make_entry(values)


@contextmanager
def _refuse_damaged(path: Path, advice: str) -> Iterator[None]:
    """Refuse a file that is damaged XML."""
    try:
        yield
    except DamagedXmlError as error:
        raise IngestError(path, f"{error}; {advice}") from None


def _make_entry(values: ElementValues) -> dict[str, str]:
    found: dict[str, list[str]] = {}
    for path, value in values:
        if path in (("category", "@term"), ("link", "@href")):  # of Atom
            found.setdefault(path[0], []).append(value)
        elif not path[-1].startswith("@") and path[-1] not in ("uri", "email"):
            name = path[0] if path[0] == "content" else _FIELDS.get(path[0], path[0])
            found.setdefault(name, []).append(value)
    text = next((seen for names in _TEXTS if (seen := "\n\n".join(_join_texts(found, names)))), "")
    record = {_TEXT: text}
    for name in dict.fromkeys((*_FIELDS.values(), "link")):
        if values_of_name := [" ".join(_strip_marks(each).split()) for each in found.get(name, ())]:
            record[name] = values_of_name[0] if name in _ONE else SEVERAL.join(dict.fromkeys(values_of_name))
    if "date" not in record and "updated" in record:
        record["date"] = record.pop("updated")
    return record


def _join_texts(found: dict[str, list[str]], names: tuple[str, ...]) -> list[str]:
    """Return the texts of some elements, without marks; of two elements of a kind the longer one."""
    texts = [_strip_marks("\n\n".join(found[name])) for name in names if name in found]
    return [max(texts, key=len)] if texts and any(texts) else []


def _strip_marks(value: str) -> str:
    """Return the text of a value that may be a piece of a page."""
    return markup.read_page(value)[1] if "<" in value else unescape(value)


_XML_FILES = "XML: NAME.xml with a list of records, each a document (--records names the element), or a corpus in TEI"
_FEED_FILES = "RSS or Atom: NAME.xml, .rss or .atom, an entry a document; a folder of them"
READERS = (
    Reader("xml", _XML_FILES, (*COLUMNS, "records", "token_pattern"), recognise_xml, read_xml),
    Reader("feed", _FEED_FILES, RECORDS_ACCEPTS, text_kinds.recognise_kinds("feed"), read_feed),
)
