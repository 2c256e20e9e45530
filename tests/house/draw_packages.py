"""Draw the packages of the program and their imports, as the chapter Contributing shows them.

    python -m tests.house.draw_packages

writes the picture again after a change; a test compares it with the sources.
"""

import ast
import re
from collections.abc import Iterable
from html import escape

import networkx as nx

from tests.samples.sources import ROOT, Source, imports, sources

PICTURE = ROOT / "assets" / "guide" / "packages.svg"
_ROW, _ARCS, _NAME, _WIDTH = 24, 150, 190, 900
_COLORS = {"app": "#2f6f4e", "engine": "#8a4b08", "store": "#2b4c8c"}


def find_package(module: str) -> str:
    """Return the package or single module that a module counts to: ``app.jobs`` for ``app.jobs.cluster.place``."""
    parts = module.split(".")
    return "store" if parts[0] == "store" else ".".join(parts[:2])


def link_packages(modules: Iterable[Source]) -> "nx.DiGraph[str]":
    """Return which package imports which, without the imports that a longer way through others implies."""
    named = {each.path.removesuffix(".py").removesuffix("/__init__").replace("/", "."): each for each in modules}
    packages = {find_package(name) for name in named} - {"app", "engine"}
    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_nodes_from(packages)
    for name, source in named.items():
        for found in imports(source):
            module = f"{found.module}.{found.name}" if f"{found.module}.{found.name}" in named else found.module
            here, there = find_package(name), find_package(module)
            if {here, there} <= packages and here != there:
                graph.add_edge(here, there)
    return nx.transitive_reduction(graph)


def describe_packages(modules: Iterable[Source]) -> dict[str, str]:
    """Return the first clause of the docstring of every package and of every single module beside them."""
    described = {}
    for source in modules:
        name = source.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        if name == find_package(name):
            first = (ast.get_docstring(source.tree) or "").partition("\n")[0]
            described[name] = re.split(r"[;:.](?=\s|$)", first)[0]
    return described


def draw_packages(modules: Iterable[Source]) -> str:
    """Return the picture: a row for each package, those that import above those that are imported, joined by arcs."""
    modules = list(modules)
    graph, described = link_packages(modules), describe_packages(modules)
    rows = list(nx.lexicographical_topological_sort(graph))
    place = {name: _ROW * number + _ROW for number, name in enumerate(rows)}
    arcs = [_draw_arc(place[here], place[there], here) for here, there in sorted(graph.edges)]
    names = [
        f'<circle cx="{_ARCS}" cy="{y}" r="3.5" fill="{_color(name)}"/>'
        f'<text x="{_ARCS + 12}" y="{y + 4}" font-weight="600" fill="{_color(name)}">{name}</text>'
        f'<text x="{_ARCS + _NAME}" y="{y + 4}" fill="#333">{escape(described[name])}</text>'
        for name, y in place.items()
    ]
    size = f'width="{_WIDTH}" height="{_ROW * (len(rows) + 1)}" viewBox="0 0 {_WIDTH} {_ROW * (len(rows) + 1)}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="13">'
    return "\n".join([head, *arcs, *names, "</svg>", ""])


def _draw_arc(start: int, end: int, importer: str) -> str:
    """Return an arc on the left side from the package that imports down to the one imported."""
    bulge = min(_ARCS - 10, 14 + (end - start) * 0.22)
    path = f"M{_ARCS} {start} C{_ARCS - bulge:.0f} {start} {_ARCS - bulge:.0f} {end} {_ARCS} {end}"
    return f'<path d="{path}" fill="none" stroke="{_color(importer)}" stroke-opacity=".55"/>'


def _color(package: str) -> str:
    return _COLORS[package.partition(".")[0]]


if __name__ == "__main__":
    PICTURE.write_text(draw_packages(sources()), encoding="utf-8")
