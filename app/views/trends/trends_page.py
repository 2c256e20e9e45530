"""The page Trends: topics over time and by group, what is typical of a selection, and the filters of documents."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from topiary.app.analysis.filters import DateRange
from topiary.app.analysis.hierarchy import Hierarchy, format_identity
from topiary.app.analysis.trends import GroupFigure, GrownTopic, TimeFigure, TopicEffect, describe_bands
from topiary.app.analysis.typical import TypicalTopics, TypicalWords
from topiary.app.names import INTERVAL, UNDATED
from topiary.app.views.explore.controls import draw_segments
from topiary.app.views.explore.refining import draw_refine_selection
from topiary.app.views.filters import draw_conditions, draw_filter_form
from topiary.app.views.markup import draw_choice, draw_options, draw_select, write_attributes, write_element
from topiary.app.views.palette import LIVE
from topiary.app.views.save_table import draw_save_table
from topiary.app.views.text import escape, format_change, format_percent
from topiary.app.views.trends.column_dialog import ColumnEntry, draw_column_button, draw_column_dialog
from topiary.app.views.trends.controls import (
    MeasuredBy,
    draw_card,
    draw_column_choice,
    draw_period_choices,
    draw_weight_choice,
)
from topiary.app.views.trends.effect_table import EffectChoices, draw_effects, draw_topic_button
from topiary.app.views.trends.group_chart import GroupBar, GroupTable, draw_group_bars, draw_heat_map
from topiary.app.views.trends.time_chart import NARROW, WIDE, TimeAxis, TimeLine, draw_lines
from topiary.app.views.trends.typical_card import draw_typical
from topiary.engine.hierarchy.tree import Node

_TABS = (
    ("time", "Over time", "How the shares of topics change from period to period"),
    ("groups", "By group", "How the shares of topics differ between groups of documents"),
)
_HEAT_TOPICS = 60  # rows of the heat map
_HEAT_GROUPS = 16  # columns of it
_CHILDREN = (
    "Shares of the topics below it in all documents shown. They are parts of other topics too, so they need not add up."
)
NO_DATES = "No column of this corpus holds dates. Columns … lists the columns, and changes their kinds."
_LISTED = 12  # topics that grew or shrank


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
    body = ""
    if page.over_time is not None:
        body = _draw_over_time(page, page.over_time)
    elif page.by_group is not None:
        body = _draw_by_group(page, page.by_group)
    if page.typical is not None:
        lists = draw_typical(page.hierarchy, page.typical, page.words, page.counting)
        body += draw_card("What is typical of this selection", lists)
    sentences = filter(None, (page.source, page.note))
    notes = "".join(f'<p class="tr-note" role="status">{escape(each)}</p>' for each in sentences)
    dim = " tr-busy" if page.busy else ""
    dialog = draw_column_dialog(page.choices.columns, page.documents)
    parts = f"{_draw_controls(page)}{_draw_filters(page)}{notes}{body}{dialog}"
    return f'<div class="tr-page{dim}"><h1>Trends</h1>{parts}</div>'


def draw_trend_note(sentence: str) -> str:
    """Return the page with a sentence in place of everything else."""
    return f'<div class="tr-page"><h1>Trends</h1><p class="tr-note" role="status">{escape(sentence)}</p></div>'


def _draw_controls(page: TrendPage) -> str:
    choices, hierarchy = page.choices, page.hierarchy
    closed = {} if choices.dates or choices.trend == "time" else {"time": NO_DATES}
    tabs = draw_segments("trend", choices.trend, _TABS, "What is shown", closed=closed)
    layers = [(layer, f"Layer {layer}") for layer in range(hierarchy.n_layers, 0, -1)]
    parts = [tabs, draw_select("trend_layer", layers, choices.layer, "Layer", "Layer of the topics")]
    parts.append(_draw_topic_choice(page))
    offered = choices.dates if choices.trend == "time" else choices.groups
    if len(offered) > 1 or (offered and choices.trend == "groups"):
        parts.append(draw_column_choice(offered, choices.column, "Column"))
    if choices.trend == "time":
        parts.append(draw_period_choices(choices.measured))
    parts.append(draw_weight_choice(choices.measured))
    parts.append(draw_choice(INTERVAL, choices.interval))
    parts.append(draw_save_table(hierarchy, choices.trend, layer=choices.layer))
    return f'<div class="tr-controls">{"".join(parts)}</div>'


def _draw_topic_choice(page: TrendPage) -> str:
    choices, hierarchy = page.choices, page.hierarchy
    first = "Largest topics" if choices.trend == "time" else "All topics"
    chosen = "" if choices.topic is None else format_identity(choices.topic)
    entries = [
        (format_identity(node), f"{format_identity(node)} · {hierarchy.title(node)}")
        for node in hierarchy.nodes(choices.layer)
    ]
    options = draw_options([("", first), *entries], chosen)
    tip = "Show one topic alone, with its children"
    return write_element("select", options, class_="ex-select", data_change="topic", aria_label="Topic", title=tip)


def _draw_filters(page: TrendPage) -> str:
    """Return the conditions as chips, a form for another one, and how many documents there are."""
    choices = page.choices
    chips, form = draw_conditions(choices.where), draw_filter_form([each.name for each in choices.columns])
    count = ""
    if page.documents:
        part = f"{page.selected:,} of" if choices.where else "all"
        part = f"{part} {page.documents:,} documents"
        count = f'<span class="tr-note" role="status">{part}</span>'
    closer = draw_refine_selection(choices.where, "", page.selected, page.documents, busy=page.refining)
    return f'<div class="tr-controls">{chips}{form}{draw_column_button()}{count}{closer}</div>'


def _draw_over_time(page: TrendPage, figure: TimeFigure) -> str:
    hierarchy, choices = page.hierarchy, page.choices
    topic = choices.topic
    heading = f"Layer {choices.layer} over time" if topic is None else hierarchy.title(topic)
    picture = _draw_figure(page, figure)
    parts = [draw_card(heading, f"{picture}{_draw_range(page, figure)}{_tell_missing(page, figure)}")]
    if page.children is not None:
        parts.append(draw_card("Its children", _draw_figure(page, page.children), _CHILDREN))
    parts.append(_draw_changes(page, figure))
    return "".join(parts)


def _tell_missing(page: TrendPage, figure: TimeFigure) -> str:
    """Return what the bands and bars are, and a button for the documents without a date."""
    text = f"Bands: {describe_bands(figure.samples)}. Grey bars: documents of every {figure.periods.unit}."
    if figure.missing:
        are = UNDATED[figure.missing != 1]
        tip = {"title": "Only these documents"}
        button = write_element(
            "button", f"{figure.missing:,}", type="button", data_do="group", data_value=f"{page.choices.column}=", **tip
        )
        text += f' <span class="tr-missing">{button} {are} left out.</span>'
    return f'<p class="tr-note">{text}</p>'


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
        pictures.append(f'<div class="{style}">{draw_lines(axis, lines, label)}</div>')
    names = "".join(f'<li style="--hue:{line.colour}">{escape(line.title)}</li>' for line in lines)
    return f'{"".join(pictures)}<ul class="tr-legend tr-narrow">{names}</ul>'


def _find_picked(page: TrendPage, figure: TimeFigure) -> tuple[int, int] | None:
    """Return the first and the last period of the selected range; None if there is none, or nothing else is shown."""
    n_periods = len(figure.documents)
    if page.picked is None or page.choices.zoomed or not n_periods:
        return None
    first, last = (int(np.searchsorted(figure.periods.starts, end, side="right")) - 1 for end in page.picked)
    if last < 0 or first >= n_periods or page.picked.first > page.picked.last:
        return None
    return max(first, 0), min(last, n_periods - 1)


def _draw_range(page: TrendPage, figure: TimeFigure) -> str:
    """Return the form for a range of dates: the same as dragging over the picture, for keys and exact days."""
    starts = figure.periods.starts
    if len(starts) < 2:
        return ""
    least, most = _format_day(float(starts[0])), _format_day(float(starts[-1]) - 1.0)
    first, last = (least, most) if page.picked is None else (_format_day(end) for end in page.picked)
    fields = "".join(
        f"<label>{word} <input{write_attributes(type='date', name=name, value=day, class_='tp-input')}></label>"
        for word, name, day in (("From", "first", first), ("to", "last", last))
    )
    acts = '<button type="submit" class="ex-soft">Select</button>'
    if page.picked is not None:
        pressed = {"aria_pressed": "true" if page.choices.zoomed else "false"}
        acts += write_element("button", "Zoom in", type="button", class_="ex-soft", data_do="zoom", **pressed)
        acts += '<button type="button" class="ex-soft" data-do="whole">All dates</button>'
    tip = "Drag over the picture to select a range of dates, or click on a period."
    return f'<form class="tr-range" data-do="range">{fields}{acts}<span class="tr-note">{tip}</span></form>'


def _format_day(moment: float) -> str:
    """Return the day of a moment, as in 2004-07-01; empty for an infinite one."""
    return str(np.datetime64(int(moment), "ms").astype("datetime64[D]")) if np.isfinite(moment) else ""


def _draw_changes(page: TrendPage, figure: TimeFigure) -> str:
    """Return what grew and what shrank, and between which documents."""
    before, after = figure.compared_documents
    of = "the selected documents with a date" if page.choices.where else "all documents with a date"
    note = (
        f"The last third of {of} ({after:,}) against the first ({before:,}), with the 90 % interval of the "
        f"difference. Listed is what is beyond chance: with 90 % probability none of the {figure.compared:,} topics "
        "compared is listed without having changed."
    )
    lists = _draw_growth(page.hierarchy, "What grew", figure.grown)
    lists += _draw_growth(page.hierarchy, "What shrank", figure.shrunk)
    return f'<div class="tr-two">{lists}<p class="tr-note">{note}</p></div>'


def _draw_growth(hierarchy: Hierarchy, heading: str, topics: Sequence[GrownTopic]) -> str:
    """Return the topics that grew or shrank as a list, with shares of the first and the last third."""
    rows = "".join(
        f"<li>{draw_topic_button(hierarchy, each.node)}"
        f"<span>{format_percent(each.before)} → {format_percent(each.after)}</span>"
        f"<small>{format_change(each.low)} to {format_change(each.high)}</small></li>"
        for each in topics[:_LISTED]
    )
    more = f"The first {_LISTED} of {len(topics)}." if len(topics) > _LISTED else ""
    body = f'<ol class="tr-grown">{rows}</ol>' if rows else '<p class="tr-note">None beyond chance.</p>'
    return draw_card(heading, body, more)


def _draw_by_group(page: TrendPage, figure: GroupFigure) -> str:
    hierarchy, choices = page.hierarchy, page.choices
    missing = figure.shares.missing
    note = f"▲▼: differs from all other groups together beyond chance among {figure.effects.comparisons:,} comparisons."
    if missing:
        note += f" {missing:,} documents have no value, or one that few documents have, and are left out."
    if len(figure.groups.names) > _HEAT_GROUPS:
        note += f" The {_HEAT_GROUPS} largest of {len(figure.groups.names)} groups are shown; the table has all."
    parts = []
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
        picture = draw_group_bars(bars, float(figure.everywhere[column]), bands=describe_bands(figure.samples))
        parts.append(draw_card(hierarchy.title(choices.topic), picture))
    table = draw_effects(hierarchy, figure, page.effects, page.n_effects, choices.effects)
    parts.append(draw_card(f"Effects of {choices.column}", table))
    parts.append(draw_card(f"Topics by {choices.column}", draw_heat_map(_make_heat_map(hierarchy, figure)), note))
    return "".join(parts)


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
