"""An overview of the whole hierarchy, layer below layer, in which every topic can be made the root of the tree."""

from collections.abc import Collection
from typing import NamedTuple

from topiary.app.analysis.hierarchy import Hierarchy, format_identity
from topiary.app.views.palette import declare_hue
from topiary.app.views.text import escape, format_percent
from topiary.engine.hierarchy.tree import Node

_LEAST_NAMED = 0.04  # width of a cell that shows more than its number


class IcicleCell(NamedTuple):
    """The place of a topic in its row, from the left; both numbers are shares of the width of the row."""

    node: Node
    left: float
    width: float


def lay_out_icicle(hierarchy: Hierarchy) -> list[list[IcicleCell]]:
    """Return the cells of each layer, top layer first.

    Cells of the top layer are as wide as the shares of the topics.  Below it, each topic is under its heaviest parent,
    and the topics of one parent divide its width among them in proportion to their shares.
    """
    top = hierarchy.n_layers
    rows = [_fill_row(hierarchy, hierarchy.nodes(top), 0.0, 1.0)]
    for layer in range(top - 1, 0, -1):
        families: dict[Node, list[Node]] = {}
        for node in hierarchy.nodes(layer):
            families.setdefault(hierarchy.parents(node, 1)[0].node, []).append(node)
        rows.append(
            [
                cell
                for parent in rows[-1]
                for cell in _fill_row(hierarchy, families.get(parent.node, []), parent.left, parent.width)
            ]
        )
    return rows


def _fill_row(hierarchy: Hierarchy, nodes: list[Node], left: float, width: float) -> list[IcicleCell]:
    """Return the cells of some topics that divide a width in proportion to their shares."""
    total = sum(map(hierarchy.share, nodes))
    cells = []
    for node in nodes:
        part = width * (hierarchy.share(node) / total if total > 0 else 1 / len(nodes))
        cells.append(IcicleCell(node, left, part))
        left += part
    return cells


def draw_icicle(hierarchy: Hierarchy, roots: Collection[Node], shown: Collection[Node]) -> str:
    """Return the overview: one row of buttons for each layer.

    Parameters
    ----------
    roots : collection of Node
        The roots of the tree, which are marked.
    shown : collection of Node
        The topics in the tree, which have a stronger colour.
    """
    rows = []
    for cells in lay_out_icicle(hierarchy):
        layer = cells[0].node.layer
        buttons = "".join(_draw_cell(hierarchy, cell, roots, shown) for cell in cells)
        rows.append(
            f'<div class="ex-ice-row" role="group" aria-label="Layer {layer}" style="{declare_hue(layer)}">'
            f'<span aria-hidden="true">Layer {layer}</span><div>{buttons}</div></div>'
        )
    label = "Overview of all topics: each is below its heaviest parent, and its width shows its share"
    return f'<div class="ex-icicle" data-rove role="group" aria-label="{label}" title="{label}">{"".join(rows)}</div>'


def _draw_cell(hierarchy: Hierarchy, cell: IcicleCell, roots: Collection[Node], shown: Collection[Node]) -> str:
    node, key = cell.node, format_identity(cell.node)
    identity, title, share = format_identity(node), hierarchy.title(node), format_percent(hierarchy.share(node))
    tip = escape(f"Topic {identity} ({share}): {title}")
    words = f"<span>{escape(title)}</span>" if cell.width >= _LEAST_NAMED else ""
    mark = ' aria-current="true"' if node in roots else ""
    kind = ' class="ex-drawn"' if node in shown else ""
    place = f"left:{100 * cell.left:.2f}%;width:{100 * cell.width:.2f}%"
    return (
        f'<button data-do="root" data-id="{key}" data-key="{key}"{kind}{mark} title="{tip}" aria-label="{tip}"'
        f' style="{place}"><b>{identity}</b>{words}</button>'
    )
