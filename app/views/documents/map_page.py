"""The map of documents: the sentence that answers, the filters above the map, the table at its side, and its points.

The browser reads points of six bytes each, in random order, so that any first part of them is a fair sample, which is
what it draws while the map moves.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from topiary.app.analysis.filters import STRONGEST, parse_condition
from topiary.app.analysis.hierarchy import Hierarchy
from topiary.app.analysis.typical import TypicalTopics, TypicalWords
from topiary.app.jobs.progress import Notice
from topiary.app.views.documents.document_table import PAGE_ROWS, TablePage, find_row_topic, list_pages
from topiary.app.views.documents.placed_document import MAP, TABS
from topiary.app.views.explore.refining import draw_refine_selection
from topiary.app.views.html import render
from topiary.app.views.markup import name_condition
from topiary.app.views.save_dialogs import draw_table_dialog
from topiary.app.views.text import shorten
from topiary.engine.contract import Array, FloatArray, IntArray
from topiary.engine.hierarchy.tree import Node

TOPIC = "Topic"  # the first way to colour documents
_MOST_TYPICAL = 6  # topics that are listed
NO_CODE = 0x7FFF  # in place of the code by which a point is coloured; larger codes count as none
SELECTED = 0x8000  # is added to the code of a point that is selected
_STEPS = 65535  # of a coordinate, along each side of the map


class MapLegend(NamedTuple):
    """A colour of the map where it shows a column: its hue from 1, the group, and the condition that selects it."""

    hue: int
    text: str
    condition: str


class MapColours(NamedTuple):
    """How documents are coloured.

    Attributes
    ----------
    hues : list of int
        The hue of every code, 0 for grey.
    legend : sequence of MapLegend
        Empty where documents are coloured by topic, as captions have the colours of topics.
    others : bool
        Whether some documents are grey.
    columns : sequence of str
        The columns by which they can be coloured.
    """

    hues: Sequence[int] = ()
    legend: Sequence[MapLegend] = ()
    others: bool = False
    columns: Sequence[str] = ()


class TopicCount(NamedTuple):
    """A topic and the number of documents whose strongest topic it is."""

    node: Node
    documents: int


class GroupCount(NamedTuple):
    """A group and the numbers of its documents: of those selected, and of all."""

    name: str
    selected: int
    documents: int


class GroupChoice(NamedTuple):
    """A column with groups, the largest of them first."""

    column: str
    levels: Sequence[GroupCount]


class LeadingGroup(NamedTuple):
    """The group that most of the documents selected are of, and their number."""

    column: str
    name: str
    documents: int


class DateHistogram(NamedTuple):
    """How many documents a column of dates has over time, of all and of those selected (none if all are).

    Attributes
    ----------
    first_days, last_days : sequence of str
        Of each bar.
    first, last : int
        The bars selected, from the first to before the last.
    """

    column: str
    first_days: Sequence[str]
    last_days: Sequence[str]
    counts: Sequence[int]
    selected: Sequence[int]
    first: int
    last: int


class MapSelection(NamedTuple):
    """What is said of the documents selected.

    Attributes
    ----------
    selected, documents : int
        Documents selected, and all of the corpus.
    leading : sequence of TopicCount
        The topics that are the strongest one of most of them.
    far : int
        Documents of the map that are drawn at the border.
    """

    selected: int = 0
    documents: int = 0
    leading: Sequence[TopicCount] = ()
    group: LeadingGroup | None = None
    far: int = 0


class MapHead(NamedTuple):
    """What stands above the map.

    Attributes
    ----------
    hierarchy : Hierarchy or None
        None where there is no map.
    note : str
        Why there is none, or what is special about it; may be empty.
    can_make : bool
        Whether there is a button that has the map made.
    notice : Notice
        How far the map is that is being made, or why it has failed.
    colour : str
        The column by which documents are coloured, "" by topic.
    where, query, subject, label, is_badly
        The filters, as in the view; ``label_name`` is the label.
    topics : sequence of sequences of TopicCount
        By layer, the topics to choose from.
    columns : sequence of str
        The columns for other conditions.
    """

    hierarchy: Hierarchy | None = None
    note: str = ""
    can_make: bool = False
    notice: Notice = Notice()
    colour: str = ""
    where: Sequence[str] = ()
    query: str = ""
    subject: Node | None = None
    label: int = 0
    label_name: str = ""
    is_badly: bool = False
    topics: Sequence[Sequence[TopicCount]] = ()
    said: MapSelection = MapSelection()
    colours: MapColours = MapColours()
    columns: Sequence[str] = ()
    groups: Sequence[GroupChoice] = ()
    dates: DateHistogram | None = None


class MapChip(NamedTuple):
    """A filter that is on: its text, the message that removes it, with its value, and its style.

    One of dates is seen on phones only, which have no histogram.
    """

    text: str
    do: str
    value: str
    style: str = ""


class BesideMap(NamedTuple):
    """What the table at the side of the map has more than the table of documents.

    Attributes
    ----------
    points : mapping of int to int
        The point of each document on the map, -1 for none.
    typical : (TypicalTopics, TypicalWords or None) or None
        What is typical of the documents selected, if it was asked for.
    is_waiting : bool
        Whether it was asked for.
    """

    points: Mapping[int, int]
    typical: tuple[TypicalTopics, TypicalWords | None] | None = None
    is_waiting: bool = False


def draw_map_head(head: MapHead) -> str:
    """Return the sentence that answers, the menus, the filters, and how far the map is."""
    hierarchy = head.hierarchy
    if hierarchy is None:
        return render("documents.map_nothing", head, TABS, MAP)
    chosen = {condition.column: str(condition) for condition in map(parse_condition, head.where)}
    topic = next((c.node for c in map(parse_condition, head.where) if c.strongest), None)
    colours = [("", TOPIC), *((name, shorten(name, 30)) for name in head.colours.columns)]
    save = draw_table_dialog(hierarchy.run, hierarchy.n_layers, "documents", layer=1, query=head.query)
    return render(
        "documents.map_head", head, hierarchy, TABS, MAP, _describe_selection(head), _list_chips(head, hierarchy),
        topic, chosen, colours, save,
    )  # fmt: skip


def _describe_selection(head: MapHead) -> str:
    """Return the name of the sentence that fits the filters."""
    conditions = [parse_condition(text) for text in head.where]
    others = bool(head.query.strip() or head.subject or head.label or head.is_badly)
    if not conditions and not others:
        return "all"
    if not head.said.selected:
        return "none"
    if len(conditions) == 1 and conditions[0].strongest and not others:
        return "topic"
    return "line" if len(conditions) == 1 and conditions[0].map_snapshot and not others else "filters"


def _list_chips(head: MapHead, hierarchy: Hierarchy) -> list[MapChip]:
    """Return the filters that are on and have no other control."""
    listed = {group.column for group in head.groups}
    chips = []
    for text in head.where:
        condition = parse_condition(text)
        node = condition.node
        if node is not None and hierarchy.has(node):
            share = "" if condition.value == STRONGEST else f", {condition.value.replace('%..', '% or more')}"
            chips.append(MapChip(f"Topic: {hierarchy.title(node)}{share}", "unfilter", text, "dm-of-topic"))
        elif condition.column not in listed:
            is_dated = head.dates is not None and condition.column == head.dates.column and condition.value
            chips.append(MapChip(name_condition(text), "unfilter", text, "dm-dated" if is_dated else ""))
    if head.subject is not None and hierarchy.has(head.subject):
        chips.append(MapChip(f"Uses: {hierarchy.title(head.subject)}", "subject", "", "dm-of-topic"))
    if head.label_name:
        chips.append(MapChip(head.label_name, "label", "0"))
    if head.is_badly:
        chips.append(MapChip("Badly explained", "badly", ""))
    return chips


def draw_map_legend(colours: MapColours) -> str:
    """Return the colours of groups; those of topics are in the captions."""
    return render("documents.map_legend", colours) if colours.legend else ""


def draw_beside(table: TablePage, beside: BesideMap) -> str:
    """Return the documents selected as a table with a page of rows, and what can be done with them."""
    more = ""
    if table.hierarchy is not None and table.total is not None and not table.wanted.badly:
        selection = (table.conditions, table.wanted.text, table.total, table.documents)
        more = draw_refine_selection(*selection, busy=table.refining)
    typical = ""
    if beside.typical is not None:
        typical = render("trends.typical", table.hierarchy, *beside.typical, "", _MOST_TYPICAL)
    rows = [(row, beside.points.get(row.number, -1), find_row_topic(table, row)) for row in table.rows]
    topic = next(filter(None, (parse_condition(text).node for text in table.wanted.where)), None)
    is_some = table.total is not None and 0 < table.total < table.documents
    return render(
        "documents.map_beside",
        table,
        rows,
        more,
        typical,
        list_pages(table),
        PAGE_ROWS,
        beside.is_waiting,
        topic,
        is_some,
    )


class PackedMap(NamedTuple):
    """The points of a map, and what is needed to understand what the browser says of them.

    Attributes
    ----------
    data : bytes
        x and y of every point, then the code of every point: little-endian 16-bit whole numbers.
    order : (N,) int32
        Document of each point.
    corner : (2,) float64
        Lower left corner of the map: the documents' coordinates where those of the browser are 0.
    side : float
        Length of the longer side of the map, which is 1 in the browser.
    frame : (width, height)
        Of the map, in the coordinates of the browser.
    """

    data: bytes
    order: IntArray
    corner: FloatArray
    side: float
    frame: tuple[float, float]

    def place(self, points: Array) -> FloatArray:
        """Return the coordinates in the browser, 0 to 1, of points of the map, (n, 2)."""
        return np.asarray((np.asarray(points, dtype=np.float64) - self.corner) / self.side)

    def trace(self, polygon: Array) -> FloatArray:
        """Return the coordinates on the map of points in the browser, (n, 2)."""
        return np.asarray(np.asarray(polygon, dtype=np.float64).reshape(-1, 2) * self.side + self.corner)

    def find_point(self, document: int) -> int:
        """Return the point of a document; -1 for none."""
        return int(next(iter(np.flatnonzero(self.order == document)), -1))


def pack_map(positions: Array, codes: Array, selected: Array | None = None) -> PackedMap:
    """Return the points of a map as the browser reads them; the same map gives the same bytes.

    Parameters
    ----------
    positions : (N, 2) float array
    codes : (N,) int array
        By which documents are coloured, -1 for none.
    selected : (N,) bool array, optional
        Documents that stand out; by default all.
    """
    places, n = positions.astype(np.float64), len(positions)
    order = np.random.default_rng(n).permutation(n).astype(np.int32)
    low, high = (places.min(axis=0), places.max(axis=0)) if n else (np.zeros(2), np.zeros(2))
    side = max(float((high - low).max()), 1e-9)
    coordinates = np.rint((places[order] - low) / side * _STEPS).clip(0, _STEPS).astype("<u2")
    shown = np.where((codes < 0) | (codes > NO_CODE), NO_CODE, codes)
    if selected is not None:
        shown = shown + np.where(selected, SELECTED, 0)
    width, height = ((high - low) / side).tolist()
    data = coordinates.tobytes() + shown[order].astype("<u2").tobytes()
    return PackedMap(data, order, low, side, (width, height))
