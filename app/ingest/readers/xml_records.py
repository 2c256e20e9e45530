"""Readers of XML records and of feeds: repeated elements and the values within them."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from html import unescape
from itertools import islice
from pathlib import Path
from typing import TypeAlias
from xml.etree.ElementTree import Element, TreeBuilder

from topiary.app.ingest import files
from topiary.app.ingest.errors import IngestError
from topiary.app.ingest.options import ImportOptions
from topiary.app.ingest.readers import markup, text_kinds, xml_parsing
from topiary.app.ingest.readers.publications import ABSTRACT, RECORDS_ACCEPTS, SEVERAL, TITLE, make_record_source
from topiary.app.ingest.readers.xml_parsing import (
    DamagedXmlError,
    find_root,
    parse_xml,
    read_xml_pieces,
    strip_namespace,
)
from topiary.app.ingest.source import COLUMNS, GUESS, Reader, TextDocument, TextSource
from topiary.app.ingest.tables.records import make_text_source
from topiary.app.ingest.tables.roles import find_roles

ElementPath: TypeAlias = tuple[str, ...]
ElementValues: TypeAlias = list[tuple[ElementPath, str]]
LARGEST = 1 << 25  # characters of a record

_DEEPEST = 200  # levels of nested elements
# Elements within a line of text; their text is part of the value around them.
_INLINE = frozenset(
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
    app.ingest.readers.xml_parsing.DamagedXmlError
    """
    return xml_parsing.gather_ended(pieces, _RecordReader(path))


class _RecordReader(xml_parsing.Gatherer[ElementValues]):
    """Target of a parser that collects the elements at a path as they end."""

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
    return isinstance(element.tag, str) and strip_namespace(element.tag) in _INLINE


class _ElementCensus:
    """Target of a parser that counts elements, and their children and attributes, by path."""

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
        return files.find_suffix(path) in _XML_ENDINGS and _is_list(path, _FEWEST)
    sample = list(islice(text_kinds.sample_files(path), _SAMPLED_FILES))
    n_lists = sum(files.find_suffix(file) in _XML_ENDINGS and _is_list(file, _FEWEST_IN_FOLDER) for file in sample)
    return 2 * n_lists > len(sample)


def _is_list(path: Path, fewest: int) -> bool:
    start = files.read_start(path, _START_SIZE)
    root = find_root(start)
    return root in _CORPUS_ROOTS or (
        bool(root) and root not in _NOT_LISTS and find_records([start], fewest) is not None
    )


def read_xml(path: Path, options: ImportOptions) -> TextSource:
    """Read the records as documents and their values as columns; words of the title are counted too."""
    entries = sorted(path.rglob("*")) if path.is_dir() else [path]
    paths = [file for file in entries if file.is_file() and (file == path or not file.name.startswith("."))]
    paths = [file for file in paths if file == path or files.find_suffix(file) in _XML_ENDINGS]
    if not paths:
        raise IngestError(path, "has no .xml files in it")
    if options.records is None and find_root(files.read_start(paths[0], _START_SIZE)) in _CORPUS_ROOTS:
        return _read_corpus(path, paths)
    record_path = _split_path(options.records) or find_records([files.read_start(paths[0], _START_SIZE)], 2)
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

    parts = [files.Part(file, None) for file in paths]
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
                for document in xml_parsing.read_documents(read_xml_pieces(file)):
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
    paths = text_kinds.list_files(path, ("feed",))

    def read_one(file: Path) -> Iterator[tuple[int, dict[str, str]]]:
        for line, record in _read_entries(file):
            yield line, record | ({"feed": files.strip_endings(file)} if len(paths) > 1 else {})

    return make_record_source(path, paths, read_one, options, _FEED_LABELS, text=_TEXT, encoded=False, what="text")


def _read_entries(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    name = "entry" if find_root(files.read_start(path, 1 << 14)) == "feed" else "item"
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
    return markup.read_page(value)[1] if "<" in value else unescape(value)


_XML_FILES = "XML: NAME.xml with a list of records, each a document (--records names the element), or a corpus in TEI"
_FEED_FILES = "RSS or Atom: NAME.xml, .rss or .atom, an entry a document; a folder of them"
READERS = (
    Reader("xml", _XML_FILES, (*COLUMNS, "records", "token_pattern"), recognise_xml, read_xml),
    Reader("feed", _FEED_FILES, RECORDS_ACCEPTS, text_kinds.recognise_kinds("feed"), read_feed),
)
