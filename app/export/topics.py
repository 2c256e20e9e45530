"""Topics as a table and as files: ``topics_<format>.py`` beside this file, found by name."""

import math
from pathlib import Path
from typing import Any

from app.analysis.column_topics import column_topics
from app.analysis.column_topics import list_column_layers as column_layers
from app.analysis.hierarchy import PRINTED_WORDS, Hierarchy
from app.export import writers
from engine.hierarchy.tree import Node

_PREFIX = "topics_"


def topics_table(hierarchy: Hierarchy, layer: int | None = None, words: int = PRINTED_WORDS) -> list[dict[str, Any]]:
    """List topics, most popular first, of one layer or of all from layer 1 up, each by its first ``words``.

    Returns
    -------
    list of dict
        ``layer``; ``rank`` (1 = most popular now); ``topic`` (the identity number, which lasts);
        ``share`` of the layer's popularity, 0 to 1; ``words``, as the hierarchy has them; ``name`` given by
        a person, or ""; ``title``, that name or the three words that set it apart, as on every page;
        ``light``, whether it has so few tokens that its words are noise; ``role``, live, light, background or
        incoherent (`app.analysis.hierarchy.find_roles`); ``npmi``, the document NPMI of its first ten words over the
        training documents, None where the snapshot has none.

    Raises
    ------
    LookupError
        When the run has no such layer.
    """
    if layer is not None:
        hierarchy.at_rank(layer, 1)
    layers = range(1, hierarchy.n_layers + 1) if layer is None else [layer]
    return [
        {
            "layer": node.layer,
            "rank": hierarchy.rank(node),
            "topic": node.column + 1,
            "share": hierarchy.share(node),
            "words": [word.text for word in hierarchy.top_words(node, words)],
            "name": hierarchy.name(node),
            "title": hierarchy.title(node),
            "light": node in hierarchy.light,
            "role": hierarchy.role(node),
            "npmi": _npmi(hierarchy, node),
        }
        for number in layers
        for node in hierarchy.nodes(number)
    ]


def columns_table(hierarchy: Hierarchy, layer: int | None = None, words: int = PRINTED_WORDS) -> list[dict[str, Any]]:
    """List the topics of columns of a model of rows and columns, as `topics_table` has those of the rows.

    They begin in layer 2, have no names, roles or NPMI of their own, and ``words`` are the columns that they are most
    about.  Empty for every other model.
    """
    return [
        {
            "layer": topic.layer,
            "rank": topic.rank,
            "topic": topic.number,
            "share": topic.share,
            "words": [item.text for item in topic.items],
            "title": topic.title,
        }
        for number in column_layers(hierarchy)
        if layer in (None, number)
        for topic in column_topics(hierarchy, number, words)
    ]


def both_sides(hierarchy: Hierarchy, layer: int | None = None, words: int = PRINTED_WORDS) -> list[dict[str, Any]]:
    """List the topics of rows and those of columns, told apart by ``side``; without ``side`` where there are none."""
    table, columns = topics_table(hierarchy, layer, words), columns_table(hierarchy, layer, words)
    if not columns:
        return table
    unknown = dict.fromkeys(table[0]) | {"name": "", "light": False, "role": ""}
    return [{"side": "rows"} | row for row in table] + [{"side": "columns"} | unknown | row for row in columns]


def _npmi(hierarchy: Hierarchy, node: Node) -> float | None:
    if len(hierarchy.npmi) < node.layer:
        return None
    value = float(hierarchy.npmi[node.layer - 1][hierarchy.place(node)])
    return value if math.isfinite(value) else None


def formats() -> tuple[str, ...]:
    """Give the formats topics can be written in; a format is also the suffix of its files."""
    return writers.formats(_PREFIX)


def render(table: list[dict[str, Any]], form: str) -> str:
    """Write a table of topics as text in one of the `formats`."""
    return str(writers.writer(_PREFIX, form).render(table))


def write(hierarchy: Hierarchy, layer: int | None, path: str | Path) -> Path:
    """Write topics, of rows and of columns, to a file in the format its suffix names.

    Raises
    ------
    ValueError
        When no writer knows the suffix.
    LookupError
        When the run has no such layer.
    OSError
        When the file cannot be written.
    """
    path = Path(path)
    form = writers.format_of(path, _PREFIX, f"topics as {path.name!r}")
    path.write_text(render(both_sides(hierarchy, layer), form), encoding="utf-8", newline="\n")
    return path
