"""The sources of the house as syntax trees, for rules about the code."""

import ast
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("engine", "store", "app")


class Source(NamedTuple):
    """One module: its place, as in ``engine/jit.py``, its text and its tree."""

    path: str
    text: str
    tree: ast.Module

    def line(self, number: int) -> str:
        """One line of the text, counted from 1."""
        return self.text.splitlines()[number - 1]


@cache
def nodes(source: Source) -> tuple[ast.AST, ...]:
    """Every node of a source."""
    return tuple(ast.walk(source.tree))


class Import(NamedTuple):
    """A module imported anywhere in a source, with what is taken from it ("" = the module itself)."""

    module: str
    name: str
    line: int


@cache
def sources(*rooms: str) -> tuple[Source, ...]:
    """Every module of some rooms (all three when none is named)."""
    files = [path for room in rooms or ROOMS for path in sorted((ROOT / room).rglob("*.py"))]
    return tuple(read(path) for path in files)


@cache
def read(path: Path) -> Source:
    """One file as a source, parsed once however many combinations of rooms it is in."""
    text = path.read_text(encoding="utf-8")
    return Source(path.relative_to(ROOT).as_posix(), text, ast.parse(text))


@cache
def imports(source: Source) -> tuple[Import, ...]:
    """What a source imports, at its head or inside a function."""
    found: list[Import] = []
    for node in nodes(source):
        if isinstance(node, ast.Import):
            found += [Import(_name_room(alias.name), "", node.lineno) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found += [Import(_name_room(_absolute(source, node)), alias.name, node.lineno) for alias in node.names]
    return tuple(found)


def _name_room(module: str) -> str:
    """A module as its folder is called: ``app.jobs`` for ``topiary.app.jobs``."""
    inside = module.removeprefix("topiary.")
    return inside if inside.partition(".")[0] in ROOMS else module


def _absolute(source: Source, node: ast.ImportFrom) -> str:
    """The module that is imported from, also where it is named from where the source stands."""
    around = source.path.split("/")[: -node.level] if node.level else []
    return ".".join([*around, *([node.module] if node.module else [])])


@cache
def calls(source: Source) -> tuple[tuple[str, int], ...]:
    """The dotted name of everything a source calls, with its line: ``("np.random.seed", 12)``."""
    return tuple((dotted(node.func), node.lineno) for node in nodes(source) if isinstance(node, ast.Call))


def dotted(node: ast.expr) -> str:
    """``a.b.c`` of an expression of names and attributes; "" in front where it begins with something else."""
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def public(tree: ast.Module) -> list[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    """Public functions and classes of a module, and public methods of public classes (a Protocol says it once)."""
    found: list[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef] = []
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            found.append(node)
            if isinstance(node, ast.ClassDef) and "Protocol" not in map(ast.unparse, node.bases):
                found += [
                    item
                    for item in node.body
                    if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef) and not item.name.startswith("_")
                ]
    return found
