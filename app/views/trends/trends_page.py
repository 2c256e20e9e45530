"""The page Trends: topics over time and by group, what is typical of a selection, and the filters of documents."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np

from topiary.app.analysis.filters import DateRange
from topiary.app.analysis.hierarchy import Hierarchy, format_identity
from topiary.app.analysis.trends import GroupFigure, TimeFigure, TopicEffect, describe_bands
from topiary.app.analysis.typical import TypicalTopics, TypicalWords
from topiary.app.views.explore.refining import draw_refine_selection
from topiary.app.views.html import render
from topiary.app.views.palette import LIVE
from topiary.app.views.save_table import draw_save_table
from topiary.app.views.text import shorten
from topiary.app.views.trends.controls import MeasuredBy
from topiary.app.views.trends.group_chart import GroupBar, GroupTable, draw_group_bars, draw_heat_map
from topiary.app.views.trends.time_chart import NARROW, WIDE, TimeAxis, TimeLine, draw_lines
from topiary.engine.hierarchy.tree import Node

_TABS = (
    ("time", "Over time", "How the shares of topics change from period to period"),
    ("groups", "By group", "How the shares of topics differ between groups of documents"),
)
_HEAT_TOPICS = 60  # rows of the heat map
_HEAT_GROUPS = 16  # columns of it
NO_DATES = "No column of this corpus holds dates. Columns … lists the columns, and changes their kinds."
TYPICAL_WORDS = 30  # of a list
EFFECT_ROWS = 40  # shown of the table
_COLUMNS = (
    ("topic", "Topic", "In the order of popularity"),
    ("group", "Group", "In the order of size"),
    ("mean", "Mean", "The topic’s share of the words of the group: R = Σ n_j w_j / Σ n_j over its documents j"),
    ("", "90 % interval", "Of the mean, from what is chosen under Intervals"),
    ("documents", "n", "Documents of the group"),
    ("difference", "Difference", "The mean less that of the documents the group is compared with"),
    ("", "90 % interval", "By documents alone: R − S − √((R − l)² + (u′ − S)²) to R − S + √((u − R)² + (S − l′)²)"),
)  # fmt: skip
_NAMED = 5  # topics of a sentence
KIND_NAMES = {"date": "date", "number": "number", "category": "category", "text": "text", "id": "identifier"}


class ColumnEntry(NamedTuple):
    """What the dialog shows of a column.

    Attributes
    ----------
    name, kind : str
    is_label : bool
        Whether it is the label of the documents, whose kind cannot be changed.
    filled, invalid : int
        Documents with a value, and documents with a text that is no value of the kind.
    categories : int
        0 for other kinds.
    """

    name: str
    kind: str
    is_label: bool
    filled: int
    invalid: int
    categories: int


class EffectChoices(NamedTuple):
    """The order of the table, and the groups compared: ``group`` with ``against`` ("" = each, and all others)."""

    order: str
    group: str
    against: str


class TrendChoices(NamedTuple):
    """What the controls show as chosen, and what they offer.

    Attributes
    ----------
    trend : "time" or "groups"
    column : str
        Name of the column of dates or groups; empty if there is none.
    dates, groups : sequences of str
        Names of the columns of dates, and of categories and numbers.
    measured : MeasuredBy
    interval : str
    zoomed : bool
        Whether only the selected range of dates is shown.
    where : sequence of str
        The conditions.
    columns : sequence of ColumnEntry
        All columns, which can be filtered.
    """

    trend: str
    layer: int
    topic: Node | None
    column: str
    dates: Sequence[str]
    groups: Sequence[str]
    measured: MeasuredBy
    interval: str
    zoomed: bool
    effects: EffectChoices
    where: Sequence[str]
    columns: Sequence[ColumnEntry]


class TrendPage(NamedTuple):
    """What the page shows.

    Attributes
    ----------
    children : TimeFigure or None
        The children of the chosen topic over time.
    picked : DateRange or None
        The range of dates that is selected.
    effects : sequence of TopicEffect
        The first rows of the table of effects.
    n_effects : int
        Number of all its rows.
    typical : TypicalTopics or None
        Topics that are typical of the selected documents; None without conditions.
    words : TypicalWords or None
        Words that are; None while they are being counted.
    counting : str
        A sentence about the words while there are none.
    selected, documents : int
        Documents that meet the conditions, and all.
    note : str
        A sentence in place of a picture, or about it.
    source : str
        A sentence on the snapshot whose shares are shown, if it is not the newest one.
    refining : bool
        Whether a corpus is being made of the documents selected.
    """

    hierarchy: Hierarchy
    choices: TrendChoices
    over_time: TimeFigure | None = None
    children: TimeFigure | None = None
    picked: DateRange | None = None
    by_group: GroupFigure | None = None
    effects: Sequence[TopicEffect] = ()
    n_effects: int = 0
    typical: TypicalTopics | None = None
    words: TypicalWords | None = None
    counting: str = ""
    selected: int = 0
    documents: int = 0
    note: str = ""
    source: str = ""
    busy: bool = False
    refining: bool = False


def draw_trends(page: TrendPage) -> str:
    """Return the page as HTML."""
    choices, hierarchy = page.choices, page.hierarchy
    body = ""
    if page.over_time is not None:
        body = _draw_over_time(page, page.over_time)
    elif page.by_group is not None:
        body = _draw_by_group(page, page.by_group)
    if page.typical is not None:
        body += render("trends.typical_card", hierarchy, page.typical, page.words, page.counting)
    is_time = choices.trend == "time"
    offered = choices.dates if is_time else choices.groups
    topics = [
        (format_identity(node), f"{format_identity(node)} · {hierarchy.title(node)}")
        for node in hierarchy.nodes(choices.layer)
    ]
    return render(
        "trends.page", page, _TABS, {} if choices.dates or is_time else {"time": NO_DATES},
        layers=[(layer, f"Layer {layer}") for layer in range(hierarchy.n_layers, 0, -1)],
        entries=[("", "Largest topics" if is_time else "All topics"), *topics],
        offered=offered if len(offered) > is_time else (),
        save=draw_save_table(hierarchy, choices.trend, layer=choices.layer),
        closer=draw_refine_selection(choices.where, "", page.selected, page.documents, busy=page.refining),
        body=body, kinds=KIND_NAMES.items(),
    )  # fmt: skip


def draw_trend_note(sentence: str) -> str:
    """Return the page with a sentence in place of everything else."""
    return render("trends.note", sentence)


def _draw_over_time(page: TrendPage, figure: TimeFigure) -> str:
    hierarchy, choices = page.hierarchy, page.choices
    heading = f"Layer {choices.layer} over time" if choices.topic is None else hierarchy.title(choices.topic)
    children = "" if page.children is None else _draw_figure(page, page.children)
    starts = figure.periods.starts
    days: tuple[str, ...] = ()
    if len(starts) > 1:
        ends = page.picked or (float(starts[0]), float(starts[-1]) - 1.0)
        days = tuple(map(_format_day, ends))
    bands = describe_bands(figure.samples)
    return render("trends.over_time", page, heading, _draw_figure(page, figure), days, bands, children)


def _draw_figure(page: TrendPage, figure: TimeFigure) -> str:
    """Return the picture for wide windows, and one for phones with the names of the topics below it."""
    hierarchy = page.hierarchy
    lines = [
        TimeLine(
            format_identity(each.node), hierarchy.title(each.node), LIVE.hues[place % len(LIVE.hues)],
            each.mean, each.low, each.high,
        )
        for place, each in enumerate(figure.series)
    ]  # fmt: skip
    unit, picked = figure.periods.unit, _find_picked(page, figure)
    label = f"Shares of {len(lines)} topics by {unit}"
    pictures = []
    for style, frame in (("tr-wide", WIDE), ("tr-narrow", NARROW)):
        axis = TimeAxis(unit, figure.periods.starts, figure.documents, frame, picked, brush=True)
        pictures.append((style, draw_lines(axis, lines, label)))
    return render("trends.figure", pictures, lines)


def _find_picked(page: TrendPage, figure: TimeFigure) -> tuple[int, int] | None:
    """Return the first and the last period of the selected range; None if there is none, or nothing else is shown."""
    n_periods = len(figure.documents)
    if page.picked is None or page.choices.zoomed or not n_periods:
        return None
    first, last = (int(np.searchsorted(figure.periods.starts, end, side="right")) - 1 for end in page.picked)
    if last < 0 or first >= n_periods or page.picked.first > page.picked.last:
        return None
    return max(first, 0), min(last, n_periods - 1)


def _format_day(moment: float) -> str:
    """Return the day of a moment, as in 2004-07-01; empty for an infinite one."""
    return str(np.datetime64(int(moment), "ms").astype("datetime64[D]")) if np.isfinite(moment) else ""


def _draw_by_group(page: TrendPage, figure: GroupFigure) -> str:
    hierarchy, choices = page.hierarchy, page.choices
    missing = figure.shares.missing
    note = f"▲▼: differs from all other groups together beyond chance among {figure.effects.comparisons:,} comparisons."
    if missing:
        note += f" {missing:,} documents have no value, or one that few documents have, and are left out."
    if len(figure.groups.names) > _HEAT_GROUPS:
        note += f" The {_HEAT_GROUPS} largest of {len(figure.groups.names)} groups are shown; the table has all."
    title = bar_chart = ""
    if choices.topic is not None:
        column = hierarchy.place(choices.topic)
        bars = [
            GroupBar(
                name, condition, float(figure.shares.mean[group, column]), float(figure.low[group, column]),
                float(figure.high[group, column]), int(figure.shares.documents[group]),
            )
            for group, (name, condition) in enumerate(zip(figure.groups.names, figure.groups.conditions, strict=True))
        ]  # fmt: skip
        bars.sort(key=lambda bar: -bar.mean if np.isfinite(bar.mean) else np.inf)
        bar_chart = draw_group_bars(bars, float(figure.everywhere[column]), bands=describe_bands(figure.samples))
        title = hierarchy.title(choices.topic)
    heat = draw_heat_map(_make_heat_map(hierarchy, figure))
    return render("trends.by_group", page, title, bar_chart, _draw_effects(page, figure), heat, note)


def _draw_effects(page: TrendPage, figure: GroupFigure) -> str:
    """Return the choice of groups, and the first rows of the table of effects."""
    hierarchy, choices = page.hierarchy, page.choices.effects
    offered = [(name, shorten(name, 40)) for name in figure.groups.names]
    entries = [("", "Each group"), *offered]
    others = [("", "all other groups"), *(entry for entry in offered if entry[0] != choices.group)]
    heads = [_describe_head(*column, choices.order) for column in _COLUMNS]
    return render(
        "trends.effects", hierarchy, figure.groups.names, entries, others, choices, heads, page.effects,
        page.n_effects, figure.contrast.comparisons, _summarise(hierarchy, figure),
    )  # fmt: skip


def _describe_head(name: str, word: str, tip: str, order: str) -> SimpleNamespace:
    """Return the head of a column; a click sorts by it, and another one the other way round."""
    if not name:
        return SimpleNamespace(word=word, tip=tip, value="", sort="")
    is_order, is_turned = order.removeprefix("-") == name, order == f"-{name}"
    grows = (name in ("topic", "group")) != is_turned
    sort = ("ascending" if grows else "descending") if is_order else ""
    return SimpleNamespace(word=word, tip=tip, value=f"-{name}" if order == name else name, sort=sort)


def _summarise(hierarchy: Hierarchy, figure: GroupFigure) -> list[tuple[str, str]]:
    """Return the surest differences of one group as sentences, each with its beginning; none without a group."""
    if figure.group is None:
        return []
    layer, names = figure.nodes[0].layer, figure.groups.names
    sure, ours = figure.contrast.sure[figure.group], names[figure.group]
    theirs = "all other groups" if figure.against is None else names[figure.against]
    sentences = []
    for word, sign in (("More", 1.0), ("Less", -1.0)):
        order = [column for column in (-sign * sure).argsort(kind="stable").tolist() if sign * sure[column] > 0.0]
        titles = "; ".join(hierarchy.title(hierarchy.node(layer, column)) for column in order[:_NAMED])
        if titles:
            more = f" and {len(order) - _NAMED:,} more" if len(order) > _NAMED else ""
            sentences.append((f"{word} in {ours} than in {theirs}:", f"{titles}{more}."))
    return sentences or [("", f"No topic differs beyond chance between {ours} and {theirs}.")]


def _make_heat_map(hierarchy: Hierarchy, figure: GroupFigure) -> GroupTable:
    live = [node for node in figure.nodes if node not in hierarchy.light][:_HEAT_TOPICS]
    columns = [hierarchy.place(node) for node in live]
    groups = slice(0, _HEAT_GROUPS)
    signs = np.sign(figure.effects.value) * figure.effects.beyond
    return GroupTable(
        figure.groups.names[groups],
        figure.shares.documents[groups].tolist(),
        [format_identity(node) for node in live],
        [hierarchy.title(node) for node in live],
        figure.shares.mean[groups][:, columns],
        np.nan_to_num(signs)[groups][:, columns].astype(np.int8),
    )
