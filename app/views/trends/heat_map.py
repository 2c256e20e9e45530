"""Topics and groups as a table with a number and a colour only where a difference is sure, and on phones as bars."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np

from topiary.app.analysis.hierarchy import Hierarchy, format_identity
from topiary.app.analysis.trends import GroupFigure, choose_groups, order_alike
from topiary.app.views.html import render
from topiary.app.views.text import format_percent, format_points, shorten
from topiary.app.views.trends.controls import HeatChoices
from topiary.engine.contract import FloatArray
from topiary.engine.hierarchy.tree import Node

_LETTERS = 12  # of the name of a group above its column
_DEEPEST, _FULL = 56.0, 0.34  # percent of the hue of the largest tint, and the difference from which the hue is whole
_MANY = 32  # topics above which those without a sure difference are folded


class HeatMap(NamedTuple):
    """Which topics and groups are compared side by side, and what is sure of them.

    Attributes
    ----------
    groups : sequence of int
        Places of the groups in the figure, one a column.
    nodes : sequence of Node
        Topics, one a row.
    folded : int
        Topics left out because none of their differences is sure.
    sure : int
        Cells whose difference is sure.
    """

    groups: Sequence[int]
    nodes: Sequence[Node]
    folded: int
    sure: int


def choose_cells(hierarchy: Hierarchy, figure: GroupFigure, choices: HeatChoices) -> HeatMap:
    """Return which topics and groups are compared side by side."""
    groups = choose_groups(figure, choices.heads)
    nodes = [node for node in figure.nodes if node not in hierarchy.light] or list(figure.nodes)
    nodes.sort(key=lambda node: -float(figure.everywhere[hierarchy.place(node)]))
    columns = [hierarchy.place(node) for node in nodes]
    differences, beyond = (table[np.ix_(groups, columns)].T for table in (figure.effects.value, figure.effects.beyond))
    if choices.ordered == "similarity":
        rows = order_alike(differences)
        nodes, beyond = [nodes[place] for place in rows], beyond[rows]
        groups = [groups[place] for place in order_alike(differences.T)]
    is_folded = len(nodes) > _MANY and choices.quiet == "hidden"
    shown = [node for place, node in enumerate(nodes) if not is_folded or beyond[place].any()]
    return HeatMap(groups, shown, len(nodes) - len(shown), int(np.count_nonzero(beyond)))


def find_largest(hierarchy: Hierarchy, figure: GroupFigure, cells: HeatMap) -> tuple[Node, int] | None:
    """Return the topic and the group of the largest sure difference in the table; None if there is none."""
    sure: FloatArray = np.where(figure.effects.beyond, np.abs(figure.effects.value), 0.0)
    pairs = [(float(sure[group, hierarchy.place(node)]), node, group) for node in cells.nodes for group in cells.groups]
    largest = max(pairs, key=lambda pair: pair[0], default=None)
    return None if largest is None or not largest[0] else largest[1:]


def draw_heat_map(hierarchy: Hierarchy, figure: GroupFigure, cells: HeatMap, choices: HeatChoices, chosen: int) -> str:
    """Return the table, and for phones the differences of the ``chosen`` group as bars.

    A cell has a colour only if its difference from all other groups is beyond chance among all comparisons.
    """
    heads = [
        SimpleNamespace(
            name=figure.groups.names[group], short=shorten(figure.groups.names[group], _LETTERS),
            documents=int(figure.shares.documents[group]), is_chosen=group == chosen,
        )
        for group in cells.groups
    ]  # fmt: skip
    rows = [
        (format_identity(node), hierarchy.title(node), float(figure.everywhere[hierarchy.place(node)]), [
            _describe_cell(figure, group, node, hierarchy.place(node), choices) for group in cells.groups
        ])
        for node in cells.nodes
    ]  # fmt: skip
    bars = [_describe_bar(hierarchy, figure, chosen, node) for node in cells.nodes]
    most = max((abs(bar.difference) for bar in bars), default=0.0) or 1.0
    return render("trends.heat_map", heads, rows, bars, most)


def _describe_cell(figure: GroupFigure, group: int, node: Node, column: int, choices: HeatChoices) -> SimpleNamespace:
    """Return the number of a cell, its style and tint, and what it says when it is pointed at."""
    difference, mean = float(figure.effects.value[group, column]), float(figure.shares.mean[group, column])
    is_sure = bool(figure.effects.beyond[group, column])
    known = np.isfinite(difference)
    number = format_percent(mean) if choices.cells == "share" else format_points(difference)
    low, high = (float(ends[group, column]) for ends in figure.effects.interval)
    key = f"{format_identity(node)} {figure.groups.conditions[group]}"
    side = ("tr-more" if difference > 0 else "tr-less") if is_sure else ""
    return SimpleNamespace(
        key=key,
        number=number if known and (is_sure or choices.numbers == "all") else "·",
        side=f"{side} tr-full" if is_sure and abs(difference) >= _FULL else side,
        tint=min(1.0, abs(difference) / _FULL) * _DEEPEST if is_sure else 0.0,
        tip=f"{format_percent(mean)}; {format_points(low)} to {format_points(high)} points" if is_sure else "",
        is_marked=key in choices.marked,
    )


def _describe_bar(hierarchy: Hierarchy, figure: GroupFigure, group: int, node: Node) -> SimpleNamespace:
    column = hierarchy.place(node)
    difference = float(np.nan_to_num(figure.effects.value[group, column]))
    return SimpleNamespace(
        title=hierarchy.title(node), difference=difference, is_sure=bool(figure.effects.beyond[group, column])
    )
