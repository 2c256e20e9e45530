"""Docstrings of Python source files, found by parsing; nothing is ever imported or run."""

import ast
import inspect
import re
import sysconfig
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

STANDARD_LIBRARY = "standard library"

_SKIPPED = {
    "test", "tests", "testing", "_testing", "idlelib", "lib2to3", "turtledemo", "ensurepip", "site-packages",
    "dist-packages", "__pycache__", "_vendor", "vendor", "_vendored", "extern", "node_modules", "typeshed",
}  # fmt: skip
_SHORT, _LONG = 200, 800  # bytes of a docstring that may be of use, and of one that is long enough
_SMALL_FILE = 4_000  # bytes; smaller files are not preferred for being small
_TEST_FILE = re.compile(r"(?:test_.*|.*_tests?|conftest)\.py")


class Docstring(NamedTuple):
    """One docstring: where it stands, and its text without indentation."""

    package: str
    module: str
    name: str  # of the class or function with the classes around it; "" for the module itself
    kind: str  # "module", "class" or "function"
    text: str


class Package(NamedTuple):
    """A top-level package (or the standard library), and its source files, the richest first."""

    label: str
    root: Path
    files: tuple[Path, ...]


def packages() -> list[Package]:
    """The standard library, then every installed package with a docstring, by name."""
    places = sysconfig.get_paths()
    standard = Path(places["stdlib"])
    found = {STANDARD_LIBRARY: Package(STANDARD_LIBRARY, standard, _ranked(_sources(standard)))}
    for site in dict.fromkeys((Path(places["purelib"]), Path(places["platlib"]))):
        for entry in sorted(site.iterdir()) if site.is_dir() else ():
            if entry.name.startswith(("__", ".")) or entry.name in _SKIPPED:
                continue
            sources = _sources(entry) if entry.is_dir() else [entry] * (entry.suffix == ".py")
            ranked = _ranked(sources)
            if ranked:
                found.setdefault(entry.stem, Package(entry.stem, site, ranked))
    return list(found.values())


def docstrings(package: Package) -> Iterator[Docstring]:
    """The docstrings of a package, file by file; files that this Python cannot parse are passed over."""
    for path in package.files:
        tree = _parsed(path)
        if tree is None:
            continue
        parts = path.relative_to(package.root).with_suffix("").parts
        module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        for kind, name, text in _walk(tree):
            yield Docstring(package.label, module, name, kind, inspect.cleandoc(text))


def _sources(folder: Path) -> list[Path]:
    """Python files under a folder; tests, copies of other packages and name-mangled folders left out."""
    found = []
    for entry in sorted(folder.iterdir()):
        if entry.is_dir():
            if entry.name not in _SKIPPED and entry.name.isidentifier():
                found += _sources(entry)
        elif entry.suffix == ".py" and not _TEST_FILE.fullmatch(entry.name):
            found.append(entry)
    return found


def _ranked(sources: list[Path]) -> tuple[Path, ...]:
    """Files with docstrings, those with the most of them for their size first; equals in the order of their names.

    Parsing is what takes the time, and it goes by size.
    """
    scored = ((-_richness(path), path.as_posix(), path) for path in sources)
    return tuple(path for score, _, path in sorted(scored) if score < 0)


def _richness(path: Path) -> float:
    """Share of a file that is docstrings of useful length; what is long in one of them does not count more."""
    try:
        raw = path.read_bytes()
    except OSError:
        return 0.0
    useful = sum(min(len(inside), _LONG) for inside in raw.split(b'"""')[1::2] if len(inside) >= _SHORT)
    return useful / (len(raw) + _SMALL_FILE)


def _parsed(path: Path) -> ast.Module | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about the sources of others, such as their invalid escapes
        try:
            return ast.parse(path.read_bytes())
        except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
            return None


def _walk(tree: ast.Module) -> Iterator[tuple[str, str, str]]:
    """``(kind, dotted name, docstring)`` of the module, its classes and their functions, in the order of the file."""
    text = ast.get_docstring(tree, clean=False)
    if text:
        yield "module", "", text
    yield from _members(tree.body, "")


def _members(body: list[ast.stmt], prefix: str) -> Iterator[tuple[str, str, str]]:
    for node in body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            name = prefix + node.name
            kind = "class" if isinstance(node, ast.ClassDef) else "function"
            text = ast.get_docstring(node, clean=False)
            if text:
                yield kind, name, text
            if isinstance(node, ast.ClassDef):
                yield from _members(node.body, f"{name}.")
        elif isinstance(node, ast.If | ast.Try):
            yield from _members(node.body, prefix)
