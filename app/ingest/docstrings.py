"""Docstrings of the installed packages: found in their code, and their prose without code and markup.

The code of most modules lies compiled next to their sources, where reading it takes a tenth of the time of parsing;
nothing of it is run.
"""

import inspect
import os
import re
import sys
import sysconfig
import warnings
from collections.abc import Iterator
from dis import opmap
from importlib.machinery import SourceFileLoader
from itertools import chain, islice, pairwise
from operator import attrgetter
from pathlib import Path
from types import CodeType
from typing import TYPE_CHECKING, Any, NamedTuple

from topiary.app.ingest.text.cleaning import clean_text

if TYPE_CHECKING:
    from topiary.app.ingest.source import Progress

DOCS_NAME = "python-docs"  # of the corpus of all of them
STANDARD_LIBRARY = "standard library"

_SKIPPED = {
    "test", "tests", "testing", "_testing", "idlelib", "lib2to3", "turtledemo", "ensurepip", "site-packages",
    "dist-packages", "__pycache__", "_vendor", "vendor", "_vendored", "extern", "node_modules", "typeshed",
}  # fmt: skip
_SHORT, _LONG = 200, 800  # bytes: shorter docstrings are not useful, and longer ones count as this length
_SMALL_FILE = 4_000  # bytes added to the size of a file, so that tiny files are not ranked first
_STORING = (opmap["LOAD_CONST"], opmap["STORE_NAME"])
_BEGINNING = 64  # bytes of the code of a module or class
_HAS_DOCSTRING = 0x4000000 if sys.version_info >= (3, 14) else 0  # flag of functions whose first constant is one
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
    """Yield the docstrings of a package, file by file, skipping files that this Python cannot compile."""
    for path in package.files:
        code = _read_code(path)
        if code is None:
            continue
        parts = path.relative_to(package.root).with_suffix("").parts
        module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        for kind, name, text in _walk_code(code):
            yield Docstring(package.label, module, name, kind, inspect.cleandoc(text))


def _list_sources(folder: Path) -> list[Path]:
    """Return the Python files under a folder, except tests, copies of other packages and folders with invalid names."""
    sources: list[Path] = []
    with os.scandir(folder) as found:  # says without a look at each whether it is a folder
        entries = sorted(found, key=attrgetter("name"))
    for entry in entries:
        if entry.is_dir():
            if entry.name not in _SKIPPED and entry.name.isidentifier():
                sources += _list_sources(Path(entry.path))
        elif entry.name.endswith(".py") and not _TEST_FILE.fullmatch(entry.name):
            sources.append(Path(entry.path))
    return sources


def _rank_files(sources: list[Path]) -> tuple[Path, ...]:
    """Return files with docstrings, those with most docstrings for their size first; ties are sorted by name.

    The size matters because the time that reading takes is proportional to it.
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


class _CodeLoader(SourceFileLoader):
    """A loader of code from a source file, or from what Python has compiled from it, which writes nothing."""

    def set_data(self, path: str, data: Any, **_options: Any) -> None:
        """Write no compiled code."""


def _read_code(path: Path) -> CodeType | None:
    """Return the code of a source file; None if it cannot be read or compiled."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # such as invalid escapes in the sources of other packages
        try:
            return _CodeLoader(path.stem, str(path)).get_code(path.stem)
        except (OSError, SyntaxError, ValueError, ImportError, EOFError, RecursionError, MemoryError):
            return None


def _walk_code(code: CodeType, prefix: str = "") -> Iterator[tuple[str, str, str]]:
    """Yield ``(kind, dotted name, docstring)`` of a module, its classes and their functions, in file order."""
    if code.co_name == "<module>" and (text := _find_docstring(code)):
        yield "module", "", text
    for inner in (constant for constant in code.co_consts if isinstance(constant, CodeType)):
        is_function, name = inner.co_flags & inspect.CO_OPTIMIZED, prefix + inner.co_name
        if inner.co_name.startswith("<generic parameters"):  # around what has type parameters
            yield from _walk_code(inner, prefix)
        elif not inner.co_name.startswith("<"):
            if text := _find_docstring(inner):
                yield "function" if is_function else "class", name, text
            if not is_function:
                yield from _walk_code(inner, f"{name}.")


def _find_docstring(code: CodeType) -> str:
    """Return the docstring of a module, class or function; empty if it has none.

    It is the first constant of a function, and what a module or class stores as ``__doc__`` at its beginning.
    """
    value: Any = None
    if code.co_flags & inspect.CO_OPTIMIZED:
        value = code.co_consts[0] if code.co_flags & _HAS_DOCSTRING == _HAS_DOCSTRING else None
    else:
        steps = zip(code.co_code[:_BEGINNING:2], code.co_code[1:_BEGINNING:2], strict=True)
        for (load, constant), (store, name) in pairwise(steps):
            if (load, store) == _STORING and code.co_names[name] == "__doc__":
                value = code.co_consts[constant]
    return value if isinstance(value, str) else ""


MOST = 5_000  # documents of the corpus, about
MOST_OF_ONE = 800  # documents of one package, so that no package dominates the corpus
MOST_OF_STANDARD = 2_200  # documents of the standard library
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


def collect_docstrings(packages: list[Package], progress: "Progress") -> tuple[list[Docstring], dict[str, str]]:
    """Return about MOST different docstrings of useful length, and the prose to count in each, by its text.

    Packages take turns, so that all contribute their best documented files when there are more than enough.

    Parameters
    ----------
    packages : list of Package
    progress : callable
        Called with a sentence and the share of the docstrings that has been read.
    """
    taken: dict[str, list[Docstring]] = {package.label: [] for package in packages}
    prepared: dict[str, str] = {}
    remaining = {package.label: _divide_package(package) for package in packages}
    while remaining and len(prepared) < MOST:
        turn = _take_turn(remaining, taken)
        for package, found in zip(turn, map(read_prose, turn), strict=True):
            for docstring, words in found:
                if docstring.text not in prepared:
                    taken[package.label].append(docstring)
                    prepared[docstring.text] = words
        progress(f"Reading documentation: {len(prepared):,} docstrings", min(len(prepared) / MOST, 1.0))
    return list(chain.from_iterable(taken.values())), prepared


def read_prose(package: Package) -> list[tuple[Docstring, str]]:
    """Return the docstrings of a package that have enough words, each with its prose."""
    long = (each for each in read_docstrings(package) if len(each.text) >= FEWEST_WORDS * _SHORTEST_WORD)
    prepared = ((docstring, join_words(docstring)) for docstring in long)
    return [(docstring, words) for docstring, words in prepared if len(_WORD.findall(words)) >= FEWEST_WORDS]


def _take_turn(remaining: dict[str, Iterator[Package]], taken: dict[str, list[Docstring]]) -> list[Package]:
    """Return the next files of all packages, and drop packages without files or with enough docstrings."""
    turn = []
    for label in list(remaining):
        standard = label == STANDARD_LIBRARY
        files = list(islice(remaining[label], STANDARD_FILES if standard else 1))
        if not files or len(taken[label]) >= (MOST_OF_STANDARD if standard else MOST_OF_ONE):
            del remaining[label]
        else:
            turn += files
    return turn


def _divide_package(package: Package) -> Iterator[Package]:
    """Yield a package of one file for each file."""
    return (package._replace(files=(path,)) for path in package.files)


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
