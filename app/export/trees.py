"""Trees as files.  One writer per format: every file ``tree_<format>.py`` beside this one is found by name.

A writer offers ``render(hierarchy, choice) -> str``; what it writes it reads from the hierarchy, as the screen and the
commands do.
"""

from collections.abc import Iterable
from pathlib import Path

from app.analysis.hierarchy import Hierarchy, identity
from app.export import writers
from app.views.tree.picture import TreeChoice
from engine.hierarchy.tree import Direction, Node

_PREFIX = "tree_"
EVERYTHING = 1_000_000


def formats() -> tuple[str, ...]:
    """Give the formats a tree can be written in; a format is also the suffix of its files."""
    return writers.formats(_PREFIX)


def render(hierarchy: Hierarchy, choice: TreeChoice, form: str) -> str:
    """Write the chosen part of a hierarchy as text in one of the `formats`."""
    return str(writers.writer(_PREFIX, form).render(hierarchy, choice))


def write(
    hierarchy: Hierarchy,
    roots: Iterable[Node],
    threshold: float,
    direction: Direction,
    path: str | Path,
    *,
    label: int = 0,
    light: bool = False,
) -> Path:
    """Write the whole subnetwork of ``roots`` to a file, in the format its suffix names.

    A picture tints its topics by their weights for class ``label``, counted from 1 (0 is none).  Topics of few
    tokens are in it only where ``light`` says so.

    Raises
    ------
    ValueError
        When no writer knows the suffix, there is no root, or a root is not a topic of the run.
    OSError
        When the file cannot be written.
    """
    path = Path(path)
    form = writers.format_of(path, _PREFIX, f"a tree as {str(path)!r}")
    nodes = tuple(roots)
    if not nodes:
        raise ValueError("cannot write a tree without a root; choose at least one topic")
    for node in nodes:
        if not hierarchy.has(node):
            raise ValueError(
                f"run {hierarchy.run} has no topic {identity(node)}; its layers have {hierarchy.widths} topics"
            )
    choice = TreeChoice(nodes, threshold, direction, cap=EVERYTHING, label=label, light=light)
    path.write_text(render(hierarchy, choice, form), encoding="utf-8", newline="\n")
    return path
