"""The page Trends: topics over time and by group, what is typical of a selection, and the filters of documents.

Topics and groups as a table with a number and a colour only where a difference is sure, and on phones as bars.
"""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np

from topiary.app.analysis.filters import DateRange
from topiary.app.analysis.hierarchy import Hierarchy, format_identity
from topiary.app.analysis.trends import (
    GroupFigure,
    TimeFigure,
    TopicChange,
    TopicEffect,
    choose_groups,
    describe_bands,
    order_alike,
)
from topiary.app.analysis.typical import TypicalTopics, TypicalWords
from topiary.app.views.explore.refining import draw_refine_selection
from topiary.app.views.html import render
from topiary.app.views.save_dialogs import draw_save_table
from topiary.app.views.text import format_percent, format_points, shorten
from topiary.app.views.theme import LIVE
from topiary.app.views.trends.time_chart import (
    NARROW,
    SMALL,
    SMALLEST,
    WIDE,
    Frame,
    MeasuredBy,
    TimeAxis,
    TimeLine,
    choose_scale,
    draw_lines,
)
from topiary.engine.contract import FloatArray
from topiary.engine.hierarchy.tree import Node

_LETTERS = 12  # of the name of a group above its column
_DEEPEST, _FULL = 56.0, 0.34  # percent of the hue of the largest tint, and the difference from which the hue is whole
_MOST_ROWS = 32  # topics above which those without a sure difference are folded


class HeatChoices(NamedTuple):
    """What the table of topics and groups shows: fields of the view.

    Attributes
    ----------
    cells : "difference" or "share"
        The number of a cell: the difference from all other groups, or the share in the group.
    ordered : "size" or "similarity"
        Order of topics and groups.
    numbers : "sure" or "all"
        Whether cells whose difference may be chance have a number too.
    heads : tuple of str
        The conditions of the groups that have a column; none for the largest ones.
    quiet : "hidden" or "shown"
        Whether topics without a sure difference are shown where there are many.
    every : "hidden" or "shown"
        Whether the table below has all its rows.
    marked : tuple of str
        The cell that was chosen: a topic and the condition of a group, as in ``L3:1 source=herald``.
    """

    cells: str = "difference"
    ordered: str = "size"
    numbers: str = "sure"
    heads: tuple[str, ...] = ()
    quiet: str = "hidden"
    every: str = "hidden"
    marked: tuple[str, ...] = ()


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
    is_folded = len(nodes) > _MOST_ROWS and choices.quiet == "hidden"
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


_TABS = (
    ("time", "Over time", "How the shares of topics change from period to period"),
    ("groups", "By group", "How the shares of topics differ between groups of documents"),
)
MULTIPLES = 6  # topics that are drawn over time with one scale
_FEW = 5  # documents below which a period is left out of these pictures
_MANY, _SUREST = 40, 20  # topics above which only the surest changes are listed at first, and how many
NO_DATES = "No column of this corpus holds dates. Columns … lists the columns, and changes their kinds."
TYPICAL_WORDS = 30  # of a list
EFFECT_ROWS, MOST_ROWS = 10, 400  # shown of the table at first, and at most
_COLUMNS = (
    ("topic", "Topic", "In the order of popularity"),
    ("group", "Group", "In the order of size"),
    ("mean", "Mean", "The topic’s share of the words of the group: R = Σ n_j w_j / Σ n_j over its documents j"),
    ("", "90% interval", "Of the mean, from what is chosen under Intervals"),
    ("documents", "n", "Documents of the group"),
    ("difference", "Difference", "The mean less that of the documents the group is compared with"),
    ("", "90% interval", "By documents alone: R − S − √((R − l)² + (u′ − S)²) to R − S + √((u − R)² + (S − l′)²)"),
)  # fmt: skip
_SHOWN = (("difference", "Show: difference"), ("share", "Show: share"))
_ORDERS = (("size", "Order: by size"), ("similarity", "Order: by similarity"))
_NUMBERED = (("sure", "Numbers: where sure"), ("all", "Numbers: everywhere"))
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
    effects : EffectChoices
    heat : HeatChoices
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
    heat: HeatChoices
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
        Number of rows that it has if all are asked for; 0 if it has them.
    marked : TopicEffect or None
        The row of the cell that was chosen.
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
    marked: TopicEffect | None = None
    typical: TypicalTopics | None = None
    words: TypicalWords | None = None
    counting: str = ""
    selected: int = 0
    documents: int = 0
    note: str = ""
    source: str = ""
    busy: bool = False
    refining: bool = False


class _Answer(NamedTuple):
    """The sentence that answers, as parts of which every other is stressed, how the picture is read, and the body."""

    sentence: Sequence[str]
    reading: str
    body: str


def draw_trends(page: TrendPage) -> str:
    """Return the page as HTML."""
    choices, hierarchy = page.choices, page.hierarchy
    answer = _Answer((), "", "")
    if page.over_time is not None:
        answer = _answer_over_time(page, page.over_time)
    elif page.by_group is not None:
        answer = _answer_by_group(page, page.by_group)
    if page.typical is not None:
        typical = render("trends.typical_card", hierarchy, page.typical, page.words, page.counting)
        answer = answer._replace(body=answer.body + typical)
    is_time = choices.trend == "time"
    offered = choices.dates if is_time else choices.groups
    topics = [
        (format_identity(node), f"{format_identity(node)} · {hierarchy.title(node)}")
        for node in hierarchy.nodes(choices.layer)
    ]
    layers = [
        (layer, "Top layer" if layer == hierarchy.n_layers else f"Layer {layer}")
        for layer in range(hierarchy.n_layers, 0, -1)
    ]
    return render(
        "trends.page", page, answer, _TABS, {} if choices.dates or is_time else {"time": NO_DATES}, layers=layers,
        entries=[("", "What changed most" if is_time else "All topics"), *topics], offered=offered,
        heat=(("cells", _SHOWN), ("ordered", _ORDERS), ("numbers", _NUMBERED)),
        save=draw_save_table(hierarchy, choices.trend, layer=choices.layer),
        closer=draw_refine_selection(choices.where, "", page.selected, page.documents, busy=page.refining),
        kinds=KIND_NAMES.items(),
    )  # fmt: skip


def draw_trend_note(sentence: str) -> str:
    """Return the page with a sentence in place of everything else."""
    return render("trends.note", sentence)


def _answer_over_time(page: TrendPage, figure: TimeFigure) -> _Answer:
    choices, hierarchy = page.choices, page.hierarchy
    live = [each for each in figure.changes if each.node not in hierarchy.light] or list(figure.changes)
    if choices.topic is not None:
        change = next(each for each in figure.changes if each.node == choices.topic)
        reading = f"First against last third of the documents · line = {figure.periods.unit}, band = 90% interval"
        return _Answer(_describe_change(page, change), reading, _draw_topic(page, figure, choices.topic))
    drawn = len(figure.series)
    count = "The one topic" if drawn == 1 else f"The {_COUNTS[drawn]}"
    reading = (
        f"{count} that changed most for sure, one scale · line = {figure.periods.unit}, band = 90% interval · "
        "no line without documents"
    )
    body = render("trends.multiples", hierarchy, _draw_multiples(page, figure)) if drawn else ""
    return _Answer(_summarise_changes(page, live), reading if drawn else "", body + _draw_changes(page, figure, live))


_COUNTS = ("", "one", "two", "three", "four", "five", "six")


def _summarise_changes(page: TrendPage, changes: Sequence[TopicChange]) -> Sequence[str]:
    """Return the sentence that says what changed most, and how many topics went the other way."""
    sure = [each for each in changes if each.sure]
    grown, shrunk = [each for each in sure if each.sure > 0], [each for each in sure if each.sure < 0]
    if not sure:
        return ("", "", "No topic changed for sure.")
    first = max(grown or shrunk, key=lambda each: abs(each.difference))
    other, word = (shrunk, "shrank") if grown else (grown, "grew")
    number = "no topic" if not other else "one topic" if len(other) == 1 else f"{len(other):,} topics"
    return (*_describe_change(page, first)[:-1], _write_change(page, first, f"; {number} {word} for sure."))


def _describe_change(page: TrendPage, change: TopicChange) -> Sequence[str]:
    return ("", page.hierarchy.title(change.node), _write_change(page, change, "."))


def _write_change(page: TrendPage, change: TopicChange, end: str) -> str:
    choices = page.choices
    what = "words" if choices.measured.weigh == "tokens" else "documents, each counted alike"
    whole = f"of the {what} selected" if choices.where else f"of all {what}"
    before, after = format_percent(change.before), format_percent(change.after)
    if not change.sure:
        return f" did not change for sure: {before} {whole} at first, {after} at last{end}"
    return f" {'grew' if change.sure > 0 else 'shrank'} from {before} to {after} {whole}{end}"


def _draw_multiples(page: TrendPage, figure: TimeFigure) -> list[SimpleNamespace]:
    """Return the topics that changed most, each with its pictures for wide windows and for phones, of one scale."""
    known = figure.documents >= _FEW
    known = known if known.any() else figure.documents > 0
    colours = {True: "var(--tp-blue)", False: "var(--tp-amber-ink)"}
    changes = {each.node: each for each in figure.changes}
    lines = [
        TimeLine(
            format_identity(each.node), page.hierarchy.title(each.node), colours[changes[each.node].sure > 0],
            *(np.where(known, values, np.nan) for values in (each.mean, each.low, each.high)),
        )
        for each in figure.series
    ]  # fmt: skip
    scale = choose_scale([line.high for line in lines])
    multiples = []
    for each, line in zip(figure.series, lines, strict=True):
        pictures = []
        for style, frame in (("tr-wide", SMALL), ("tr-narrow", SMALLEST)):
            axis = _make_axis(page, figure, frame)
            pictures.append((style, draw_lines(axis, [line], f"{line.title} by {axis.unit}", scale=scale)))
        multiples.append(SimpleNamespace(change=changes[each.node], pictures=pictures))
    return multiples


def _draw_changes(page: TrendPage, figure: TimeFigure, changes: Sequence[TopicChange]) -> str:
    """Return all topics with their shares in the first and the last third; of very many, the surest first."""
    most = max((max(each.before, each.after) for each in changes), default=0.0) or 1.0
    ranked = sorted(changes, key=lambda each: (-abs(each.sure), -abs(each.difference)))
    n_first = len(ranked) if len(ranked) <= _MANY else _SUREST
    first, others = (
        sorted(each, key=lambda change: -change.difference) for each in (ranked[:n_first], ranked[n_first:])
    )
    return render("trends.changes", page, figure, first, others, most, len(figure.changes) - len(changes))


def _draw_topic(page: TrendPage, figure: TimeFigure, topic: Node) -> str:
    """Return the large picture of a topic, in which dates are selected, and that of its children."""
    children = "" if page.children is None else _draw_figure(page, page.children)
    starts = figure.periods.starts
    days: tuple[str, ...] = ()
    if len(starts) > 1:
        ends = page.picked or (float(starts[0]), float(starts[-1]) - 1.0)
        days = tuple(map(_format_day, ends))
    bands, heading = describe_bands(figure.samples), page.hierarchy.title(topic)
    return render("trends.over_time", page, heading, _draw_figure(page, figure), days, bands, children)


def _make_axis(page: TrendPage, figure: TimeFigure, frame: Frame) -> TimeAxis:
    picked = _find_picked(page, figure)
    return TimeAxis(figure.periods.unit, figure.periods.starts, figure.documents, frame, picked, brush=frame.bars > 0)


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
    label = f"Shares of {len(lines)} topics by {figure.periods.unit}"
    pictures = [
        (style, draw_lines(_make_axis(page, figure, frame), lines, label))
        for style, frame in (("tr-wide", WIDE), ("tr-narrow", NARROW))
    ]
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


def _answer_by_group(page: TrendPage, figure: GroupFigure) -> _Answer:
    hierarchy, choices = page.hierarchy, page.choices
    if len(figure.groups.names) < 2:
        return _Answer(("", "", f"“{choices.column}” has a single group, so there is nothing to compare."), "", "")
    cells = choose_cells(hierarchy, figure, choices.heat)
    largest = find_largest(hierarchy, figure, cells)
    group = figure.group if figure.group is not None else largest[1] if largest else cells.groups[0]
    shown = len(cells.nodes) * len(cells.groups)
    reading = (
        f"Difference to all other groups of {choices.column}, in points · number = sure after "
        f"{figure.effects.comparisons:,} comparisons · {cells.sure} of {shown:,} cells are"
    )
    picture = draw_heat_map(hierarchy, figure, cells, choices.heat, group)
    body = render(
        "trends.by_group", page, figure, cells, picture, _draw_effects(page, figure),
        _list_heads(figure, cells), figure.groups.names[group],
    )  # fmt: skip
    return _Answer(_describe_largest(page, figure, largest), reading, body)


def _describe_largest(page: TrendPage, figure: GroupFigure, largest: tuple[Node, int] | None) -> Sequence[str]:
    """Return the sentence about the largest sure difference."""
    if largest is None:
        return ("", "", f"No group of {page.choices.column} differs for sure.")
    node, group = largest
    column = page.hierarchy.place(node)
    share, difference = float(figure.shares.mean[group, column]), float(figure.effects.value[group, column])
    what = "words" if page.choices.measured.weigh == "tokens" else "documents"
    points = f"{format_points(abs(difference))[1:]} points {'more' if difference > 0 else 'less'} than elsewhere."
    sentence = f" differs most: {page.hierarchy.title(node)} is {format_percent(share)} of its {what}, {points}"
    return ("", figure.groups.names[group], sentence)


def _list_heads(figure: GroupFigure, cells: HeatMap) -> list[tuple[str, str, int, bool]]:
    """Return the groups that can have a column: condition, name, documents, and whether each has one."""
    groups = zip(figure.groups.conditions, figure.groups.names, figure.shares.documents.tolist(), strict=True)
    return [(*each, place in cells.groups) for place, each in enumerate(groups)]


def _draw_effects(page: TrendPage, figure: GroupFigure) -> str:
    """Return the rows of the table of effects, with the other group that a chosen one is compared with."""
    hierarchy, choices = page.hierarchy, page.choices.effects
    offered = [(name, shorten(name, 40)) for name in figure.groups.names]
    others = [("", "all other groups"), *(entry for entry in offered if entry[0] != choices.group)]
    heads = [_describe_head(*column, choices.order) for column in _COLUMNS]
    rows = [each for each in page.effects if each != page.marked]
    rows = rows if page.marked is None else [page.marked, *rows]
    return render("trends.effects", page, figure, others, heads, rows, _summarise(hierarchy, figure))


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
