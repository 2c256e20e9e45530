"""XML: lists of records, and corpora in TEI; single documents in XML are read as texts of a folder."""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from app.ingest import fields, files, records, tei, text_kinds, xml_records
from app.ingest.errors import IngestError
from app.ingest.options import ImportOptions
from app.ingest.records import ABSTRACT, SEVERAL, TITLE
from app.ingest.roles import find_roles
from app.ingest.source import GUESS, TextDocument, TextSource
from app.ingest.xml_parsing import DamagedXmlError, find_root, read_pieces
from app.ingest.xml_records import Values

NAME = "xml"
DESCRIPTION = "XML: NAME.xml with a list of records, each a document (--records names the element), or a corpus in TEI"
ACCEPTS = ("text_column", "title_column", "label_column", "split_column", "records", "token_pattern")

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


def recognises(path: Path) -> bool:
    """Recognise a file of records or a corpus in TEI, and a folder of them."""
    if not path.is_dir():
        return files.suffix(path) in _KINDS and _is_list(path, _FEWEST)
    some = list(islice(text_kinds.sample_files(path), _LOOKED_AT))
    lists = sum(files.suffix(file) in _KINDS and _is_list(file, _FEWEST_IN_FOLDER) for file in some)
    return 2 * lists > len(some)


def _is_list(path: Path, fewest: int) -> bool:
    start = files.start(path, _START)
    root = find_root(start)
    return root in _CORPORA or (
        bool(root) and root not in _NO_LISTS and xml_records.find_records([start], fewest) is not None
    )


def _is_read(file: Path) -> bool:
    return files.suffix(file) in _KINDS and not file.name.startswith(".")


def read(path: Path, options: ImportOptions) -> TextSource:
    """Return the records as documents, their values as columns of a table; words of the title count too."""
    inside = sorted(path.rglob("*")) if path.is_dir() else [path]
    paths = [file for file in inside if file.is_file() and (file == path or _is_read(file))]
    if not paths:
        raise IngestError(path, "has no .xml files in it")
    if options.records is None and find_root(files.start(paths[0], _START)) in _CORPORA:
        return _read_corpus(path, paths)
    where = _split_path(options.records) or xml_records.find_records([files.start(paths[0], _START)], 2)
    if where is None:
        cause = "has no element that repeats as records do; name the element with --records, or, where each file is a"
        raise IngestError(paths[0], f"{cause} document, import their folder")
    read_one = _make_reader(where)
    if (known := _KNOWN.get("/".join(where).lower())) and options.records is None:
        named = _name_values(read_one, known)
        return records.make_source(path, paths, named, options, ("type", "journal", "language"), encoded=False)
    every = (values for file in paths for _, values in read_one(file))
    sample = [[(place, value[:_LONGEST]) for place, value in values] for values in islice(every, _SAMPLE)]
    if not sample:
        raise IngestError(paths[0], f"has no element {'/'.join(where)!r}; name another one with --records")
    names = _short_names(sample)

    seen = [_record(values, names) for values in sample]
    found = dict.fromkeys((name for record in seen for name in record), "")
    roles = find_roles([found | record for record in seen], options, paths[0])

    def filled(file: Path) -> Iterator[tuple[int, dict[str, str]]]:
        for number, values in read_one(file):
            yield number, dict.fromkeys(roles.text, "") | _record(values, names)

    source = fields.source(path, [files.Part(file, None) for file in paths], roles, filled, options, encoded=False)
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
    read_one: Callable[[Path], Iterator[tuple[int, Values]]], known: dict[str, tuple[str, ...]]
) -> Callable[[Path], Iterator[tuple[int, dict[str, str]]]]:
    """Return what gives the records under the names that those of other formats have."""

    def read_named(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
        for number, values in read_one(path):
            found: dict[str, list[str]] = {}
            for place, value in values:
                where = f"/{'/'.join(place).lower()}"
                name = next(
                    (name for name, ends in known.items() if where.endswith(tuple(f"/{e}" for e in ends))), None
                )
                if name is not None:
                    found.setdefault(name, []).append(" ".join(value.split()))
            first = {name: each[:1] if name in (TITLE, "year", "type", "id") else each for name, each in found.items()}
            yield number, {name: ("\n\n" if name == ABSTRACT else SEVERAL).join(each) for name, each in first.items()}

    return read_named


def _split_path(given: str | None) -> tuple[str, ...] | None:
    """Return the path that the options name, its elements parted by dots or strokes."""
    names = [name for name in (given or "").replace("/", ".").split(".") if name]
    return tuple(names) or None


def _make_reader(where: Sequence[str]) -> Callable[[Path], Iterator[tuple[int, Values]]]:
    def read_one(path: Path) -> Iterator[tuple[int, Values]]:
        try:
            yield from enumerate(xml_records.read_records(read_pieces(path), tuple(where)), 1)
        except DamagedXmlError as error:
            raise IngestError(path, f"{error}; correct it, or export it again") from None

    return read_one


def _short_names(sample: Sequence[Values]) -> dict[tuple[str, ...], str]:
    """Return the name of each path: its last part, and as many before that as tell it from others."""
    paths = {tuple(name.removeprefix("@") for name in path): path for values in sample for path, _ in values}
    names: dict[tuple[str, ...], str] = {}
    for shown, path in paths.items():
        alone = (size for size in range(1, len(shown)) if sum(other[-size:] == shown[-size:] for other in paths) == 1)
        names[path] = "/".join(shown[-next(alone, len(shown)) :])
    return names


def _record(values: Values, names: dict[tuple[str, ...], str]) -> dict[str, str]:
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
            try:
                for document in tei.read_documents(read_pieces(file)):
                    number += 1
                    title = document.title or f"document {number}"
                    yield TextDocument(document.text, title, None, None, document.fields)
            except DamagedXmlError as error:
                raise IngestError(file, f"{error}; correct it, or export it again") from None

    return TextSource(where=str(path), documents=documents, understood={"records": "<TEI>, each a document"})
