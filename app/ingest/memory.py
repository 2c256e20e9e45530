"""Corpora that are not read from files of documents: texts in memory, and docstrings of the installed packages."""

import ast
import inspect
import os
import re
import sysconfig
import warnings
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice, repeat
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from app.ingest.errors import IngestError
from app.ingest.importing import ignore_progress, import_source
from app.ingest.options import ImportOptions
from app.ingest.registry import refuse_idle
from app.ingest.source import Map, Progress, TextDocument, TextSource
from app.ingest.text.cleaning import clean_text, make_storable
from store import corpus_writer
from store.corpus_rows import CorpusRow
from store.database import Database

STANDARD_LIBRARY = "standard library"

_SKIPPED = {
    "test", "tests", "testing", "_testing", "idlelib", "lib2to3", "turtledemo", "ensurepip", "site-packages",
    "dist-packages", "__pycache__", "_vendor", "vendor", "_vendored", "extern", "node_modules", "typeshed",
}  # fmt: skip
_SHORT, _LONG = 200, 800  # bytes: shorter docstrings are not useful, and longer ones count as this length
_SMALL_FILE = 4_000  # bytes added to the size of a file, so that tiny files are not ranked first
_TEST_FILE = re.compile(r"(?:test_.*|.*_tests?|conftest)\.py")


class Docstring(NamedTuple):
    """A docstring: its place in a package, and its text without indentation."""

    package: str
    module: str
    name: str  # qualified name of the class or function; "" for the module itself
    kind: str  # "module", "class" or "function"
    text: str


class Package(NamedTuple):
    """A top-level package (or the standard library), and its source files, those with most docstrings first."""

    label: str
    root: Path
    files: tuple[Path, ...]


def list_packages() -> list[Package]:
    """Return the standard library, then all installed packages with docstrings, sorted by name."""
    paths = sysconfig.get_paths()
    standard = Path(paths["stdlib"])
    packages = {STANDARD_LIBRARY: Package(STANDARD_LIBRARY, standard, _rank_files(_list_sources(standard)))}
    for site in dict.fromkeys((Path(paths["purelib"]), Path(paths["platlib"]))):
        for entry in sorted(site.iterdir()) if site.is_dir() else ():
            if entry.name.startswith(("__", ".")) or entry.name in _SKIPPED:
                continue
            sources = _list_sources(entry) if entry.is_dir() else [entry] * (entry.suffix == ".py")
            ranked = _rank_files(sources)
            if ranked:
                packages.setdefault(entry.stem, Package(entry.stem, site, ranked))
    return list(packages.values())


def read_docstrings(package: Package) -> Iterator[Docstring]:
    """Yield the docstrings of a package, file by file, skipping files that this Python cannot parse."""
    for path in package.files:
        tree = _parse_file(path)
        if tree is None:
            continue
        parts = path.relative_to(package.root).with_suffix("").parts
        module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        for kind, name, text in _walk_tree(tree):
            yield Docstring(package.label, module, name, kind, inspect.cleandoc(text))


def _list_sources(folder: Path) -> list[Path]:
    """Return the Python files under a folder, except tests, copies of other packages and folders with invalid names."""
    sources = []
    for entry in sorted(folder.iterdir()):
        if entry.is_dir():
            if entry.name not in _SKIPPED and entry.name.isidentifier():
                sources += _list_sources(entry)
        elif entry.suffix == ".py" and not _TEST_FILE.fullmatch(entry.name):
            sources.append(entry)
    return sources


def _rank_files(sources: list[Path]) -> tuple[Path, ...]:
    """Return files with docstrings, those with most docstrings for their size first; ties are sorted by name.

    The size matters because the time that parsing takes is proportional to it.
    """
    scored = ((-_rate_docstrings(path), path.as_posix(), path) for path in sources)
    return tuple(path for score, _, path in sorted(scored) if score < 0)


def _rate_docstrings(path: Path) -> float:
    """Return the share of a file in docstrings of useful length, of which long ones count only in part."""
    try:
        raw = path.read_bytes()
    except OSError:
        return 0.0
    useful = sum(min(len(docstring), _LONG) for docstring in raw.split(b'"""')[1::2] if len(docstring) >= _SHORT)
    return useful / (len(raw) + _SMALL_FILE)


def _parse_file(path: Path) -> ast.Module | None:
    """Return the syntax tree of a file; None if it cannot be read or parsed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # such as invalid escapes in the sources of other packages
        try:
            return ast.parse(path.read_bytes())
        except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
            return None


def _walk_tree(node: ast.Module | ast.ClassDef | ast.If | ast.Try, prefix: str = "") -> Iterator[tuple[str, str, str]]:
    """Yield ``(kind, dotted name, docstring)`` of a module, its classes and their functions, in file order."""
    if isinstance(node, ast.Module) and (text := ast.get_docstring(node, clean=False)):
        yield "module", "", text
    for inner in node.body:
        if isinstance(inner, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            name = prefix + inner.name
            if text := ast.get_docstring(inner, clean=False):
                yield "class" if isinstance(inner, ast.ClassDef) else "function", name, text
            if isinstance(inner, ast.ClassDef):
                yield from _walk_tree(inner, f"{name}.")
        elif isinstance(inner, ast.If | ast.Try):
            yield from _walk_tree(inner, prefix)


DOCS_NAME = "python-docs"
MOST = 5_000  # documents of the corpus, about
MOST_OF_ONE = 800  # documents of one package, so that no package dominates the corpus
MOST_OF_STANDARD = 2_200  # documents of the standard library
_SHUFFLE = 1  # seed of the order of documents
STANDARD_FILES = 3  # files of the standard library in a turn, since it is like many packages
FEWEST_WORDS = 25  # words of a document
_SHORTEST_WORD = 4  # characters of a word and a blank; texts that are shorter than this allows are not examined

_FENCED = re.compile(r"^[ \t]*```.*?^[ \t]*```[^\n]*$|^[ \t]*~~~.*?^[ \t]*~~~[^\n]*$", re.MULTILINE | re.DOTALL)
_DOCTEST = re.compile(r"^[ \t]*>>>[^\n]*(?:\n[ \t]*\S[^\n]*)*", re.MULTILINE)
_LITERAL = re.compile(r"::[ \t]*\n(?:[ \t]*\n)*(?P<indent>[ \t]+)\S[^\n]*(?:\n(?:(?P=indent)[^\n]*|[ \t]*))*")
_CODE = re.compile(
    r"^[ \t]*\.\. (?:code|code-block|sourcecode|ipython|plot|math|jupyter-execute|testcode)::[^\n]*$", re.MULTILINE
)
_DIRECTIVE = re.compile(r"^[ \t]*\.\. [^\n]*$", re.MULTILINE)
_HEADING = re.compile(r"^[^\n]{1,60}\n[ \t]*(?:-{3,}|={3,}|~{3,})[ \t]*$", re.MULTILINE)
_FIELD = re.compile(r":(?:param|type|arg|keyword|raises|return|returns|rtype)\b[^:\n]*:")
_ROLE = re.compile(r":[a-z:]+:`")
_WORD = re.compile(r"[^\W\d_]{2,}")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")

# Words that docstrings use whatever their subject.
_NOISE = """
actual added additional allow allowed allows api appropriate arg args argument arguments array arrays attr attribute
attributes automatically available base based best better bit bool boolean bytes call callable called calling calls
case cases certain change changed class classes code common consider considered contain containing contains controls
corresponding create created creates creating current currently custom default defaults define defined defines
depending deprecated described description details dict dictionary different directly doc docs documentation does
doing dtype ensure equivalent error errors etc example examples exception exceptions exist existing exists expected
false field fields float follow following func function functions future general generally getter given gives handle
handled handles handling helper however ignored implement implementation implementations implemented implementing
implements import include included includes including indicate indicates indicating info information init initialize
input inputs instance instances instead int integer integers intended internal internally item items iterable iterator
just keyword kind kwarg kwargs kwds like list lists main make makes mapping may means meth method methods module
modules multiple must na name named names necessary need needed needs new non none note notes nothing np number obj
object objects old ones option optional options order otherwise output outputs overridden override pair pairs param
parameter parameters params particular pass passed passing pd performs possible present previous private probably
properties property provide provided provides public purpose py python raise raised raises raising rather receive ref
refer reference references related represent representation represented representing represents require required
requires result results return returned returning returns rtype same section see self sequence set sets setter setting
should shown similar simple simply single specific specified specifies specify specifying str string strings subclass
subclasses support supported supports sure takes target things true tuple tuples type types typically ug union unless
usage use used useful user uses using usually valid value values various versa version versionadded versionchanged
vice want way ways whether will within wrapper ws xs ys
"""


def import_builtin(db: Database, progress: Progress = ignore_progress, name: str = DOCS_NAME) -> CorpusRow:
    """Make a corpus of the docstrings of the standard library and of the installed packages.

    It has a document for each module, class or function with a docstring of useful length.  Identifiers are split into
    their words, and examples and code removed.  The label is the top-level package.  The same installation gives the
    same corpus.

    Raises
    ------
    IngestError
        When this Python installation has no sources to read.
    store.errors.Conflict
        When the name is taken.
    """
    progress("Reading the documentation of the Python packages on this machine", None)
    docstrings, prose = collect_docstrings(list_packages(), progress)
    if not docstrings:
        raise IngestError("Python", "its standard library and packages are installed without sources or docstrings")
    source = TextSource(
        where="docstrings of the installed Python packages",
        documents=lambda: map(_make_document, docstrings),
        counted=lambda document: prose[document.text],
        stop_words=frozenset(_NOISE.split()),
    )
    options = ImportOptions(max_df=0.3, min_df=5, html="no", hyphens="keep")  # HTML in docstrings is example code
    return import_source(db, source, name, options, progress, {"format": "built-in"})


def collect_docstrings(packages: list[Package], progress: Progress) -> tuple[list[Docstring], dict[str, str]]:
    """Return about MOST different docstrings of useful length, and the prose to count in each, by its text.

    Packages take turns, so that all contribute their best documented files when there are more than enough.  The
    result is shuffled with a fixed seed, so that the first documents are of many packages.
    """
    taken: dict[str, list[Docstring]] = {package.label: [] for package in packages}
    prepared: dict[str, str] = {}
    remaining = {package.label: _group_by_file(package) for package in packages}
    total = 0
    while remaining and total < MOST:
        for label in list(remaining):
            standard = label == STANDARD_LIBRARY
            batch = list(islice(remaining[label], STANDARD_FILES if standard else 1))
            if not batch or len(taken[label]) >= (MOST_OF_STANDARD if standard else MOST_OF_ONE):
                del remaining[label]
                continue
            new = [docstring for docstring in chain.from_iterable(batch) if _take_docstring(docstring, prepared)]
            taken[label] += new
            total += len(new)
        progress(f"Reading documentation: {total:,} docstrings", min(total / MOST, 1.0))
    collected = list(chain.from_iterable(taken.values()))
    return [collected[index] for index in np.random.default_rng(_SHUFFLE).permutation(len(collected))], prepared


def _take_docstring(docstring: Docstring, prepared: dict[str, str]) -> bool:
    """Return whether a docstring is new and long enough, and if so add its prose to ``prepared``."""
    if docstring.text in prepared or len(docstring.text) < FEWEST_WORDS * _SHORTEST_WORD:
        return False
    words = join_words(docstring)
    useful = len(_WORD.findall(words)) >= FEWEST_WORDS
    if useful:
        prepared[docstring.text] = words
    return useful


def _group_by_file(package: Package) -> Iterator[list[Docstring]]:
    """Yield the docstrings of each file."""
    for path in package.files:
        yield list(read_docstrings(package._replace(files=(path,))))


def extract_prose(text: str) -> str:
    r"""Return a docstring without examples, code, headings and markup, its identifiers split into words.

    >>> extract_prose("Read a DataFrame.\n\n>>> read_csv()\nEmpty\n\nSee :class:`TextReader`.").split()
    ['Read', 'a', 'Data', 'Frame.', 'See', 'Text', 'Reader`.']
    """
    text = _CODE.sub("::", _FENCED.sub(" ", text))
    for pattern in (_DOCTEST, _DIRECTIVE, _LITERAL, _HEADING, _FIELD, _ROLE):
        text = pattern.sub(" ", text)
    return _HUMP.sub(" ", text)


def join_words(docstring: Docstring) -> str:
    """Return the name and the prose of a docstring, in lower case."""
    return clean_text(f"{_HUMP.sub(' ', docstring.name)}\n{extract_prose(docstring.text)}")


def _make_document(docstring: Docstring) -> TextDocument:
    """Return a docstring as a document, titled by its dotted name and labelled by its package."""
    name = f"{docstring.module}.{docstring.name}".rstrip(".")
    columns = {"name": docstring.name, "module": docstring.module, "kind": docstring.kind}
    return TextDocument(docstring.text, name, docstring.package, None, columns)


TEXTS_NAME = "texts"
TEXTS_ACCEPTS = ("token_pattern",)
MISSING = ("nan", "NaT", "<NA>")  # missing values of pandas and NumPy as text


def import_texts(
    db: Database,
    texts: Iterable[str],
    labels: Iterable[Any] | None = None,
    titles: Iterable[str] | None = None,
    options: ImportOptions | None = None,
    progress: Progress = ignore_progress,
    *,
    map_batches: Map = map,
) -> CorpusRow:
    """Make a corpus of texts in memory.

    Parameters
    ----------
    db : Database
    texts : iterable of str
        The text of each document.
    labels : iterable, optional
        The class of each document, None or NaN where it has none.
    titles : iterable of str, optional
        The title of each document, by default "document 1" and so on.
    options : ImportOptions, optional
        Without a name in them, the corpus is called "texts".
    progress, map_batches
        As in :func:`app.ingest.importing.import_path`.

    Raises
    ------
    IngestError
        When the texts cannot become a corpus; the message is one sentence.
    store.errors.Conflict, StoreError
        When the name of the corpus is taken or not valid.
    """
    options = options or ImportOptions()
    refuse_idle(Path(TEXTS_NAME), TEXTS_ACCEPTS, options)
    name = make_storable(options.name or TEXTS_NAME)
    corpus_writer.check_name(db, name)
    text_list = list(texts)
    _check_texts(text_list)
    classes = _fill_values("labels", labels, text_list)
    _check_labels(classes)
    title_list = _fill_values("titles", titles, text_list)

    def documents() -> Iterator[TextDocument]:
        for number, (text, label, title) in enumerate(zip(text_list, classes, title_list, strict=True), start=1):
            yield TextDocument(text, str(title or f"document {number}"), _name_class(label), titled=bool(title))

    source = TextSource(where=TEXTS_NAME, documents=documents)
    facts = {"format": TEXTS_NAME, "options": options.report()}
    return import_source(db, source, name, options, progress, facts, map_batches=map_batches)


def explain_no_text(value: Any) -> str:
    """Return a clause on what a document is that is not a text, and what to give instead."""
    cause = f"is no text but {value!r:.60}"
    if value is None or str(value) in MISSING:
        return f"{cause}; leave it out, or give an empty string"
    if isinstance(value, bytes | bytearray):
        return f"{cause}; decode it, as in data.decode('utf-8')"
    if isinstance(value, os.PathLike):
        return f"{cause}; give paths as a list, and no texts with them"
    if isinstance(value, list | tuple) and all(isinstance(each, str) for each in value):
        return f"{cause}; put its words together, as in ' '.join(words)"
    return f"{cause}; give strings, or leave it out"


def _check_texts(texts: Sequence[Any]) -> None:
    """Raise an error if there are no documents, or if one is not a text."""
    if not texts:
        raise IngestError(TEXTS_NAME, "there are none; give a list with a string for each document")
    for number, text in enumerate(texts, start=1):
        if not isinstance(text, str):
            raise IngestError(TEXTS_NAME, f"document {number:,} {explain_no_text(text)}")


def _fill_values(what: str, values: Iterable[Any] | None, texts: Sequence[str]) -> list[Any]:
    """Return values as a list with one for each text: all None if no values are given."""
    filled = list(repeat(None, len(texts)) if values is None else values)
    if len(filled) != len(texts):
        raise IngestError(TEXTS_NAME, f"there are {len(texts):,} texts and {len(filled):,} {what}; give one for each")
    return filled


def _check_labels(labels: Sequence[Any]) -> None:
    """Raise an error if a label is bytes, or several labels."""
    for number, label in enumerate(labels, start=1):
        if isinstance(label, str) or not isinstance(label, Iterable):
            continue
        what = "decode it as UTF-8" if isinstance(label, bytes) else "a document has one label, so choose one"
        raise IngestError(TEXTS_NAME, f"the label of document {number:,} is {label!r:.60}; {what}")


def _name_class(label: Any) -> str | None:
    """Return a label as text, None for a missing one."""
    return None if label is None or (not isinstance(label, str) and str(label) in MISSING) else str(label)
