"""The page Trends: topics over time and by group, and the filters of the documents."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from app.analysis.hierarchy import Hierarchy, format_identity
from app.analysis.trends import GroupFigure, GrownTopic, TimeFigure
from app.views.explore.controls import draw_segments
from app.views.explore.refining import draw_refine_selection
from app.views.filters import draw_conditions, draw_filter_form
from app.views.markup import draw_options, draw_select, write_element
from app.views.palette import LIVE
from app.views.save_table import draw_save_table
from app.views.text import escape, format_percent, shorten
from app.views.trends.group_chart import GroupBar, GroupTable, draw_group_bars, draw_heat_map
from app.views.trends.time_chart import TimeAxis, TimeLine, draw_areas, draw_lines
from engine.hierarchy.tree import Node

_UNITS = {
    "automatic": "Periods: automatic", "day": "Days", "week": "Weeks", "month": "Months", "quarter": "Quarters",
    "year": "Years", "decade": "Decades",
}  # fmt: skip
_MOVING = {"1": "No smoothing", "3": "Mean of 3", "5": "Mean of 5", "9": "Mean of 9"}
_WEIGHTS = {"tokens": "By words", "documents": "By documents"}
_WEIGHT_TIP = "By words, a long document counts more than a short one; by documents, all count alike"
_TABS = (
    ("time", "Over time", "How the shares of topics change from period to period"),
    ("groups", "By group", "How the shares of topics differ between groups of documents"),
)
_HEAT_TOPICS = 60  # rows of the heat map
_HEAT_GROUPS = 16  # columns of it
_LISTED = 12  # topics that grew or shrank, and effects


class TrendChoices(NamedTuple):
    """What the controls show as chosen, and what they offer.

    Attributes
    ----------
    trend : "time" or "groups"
    layer : int
    topic : Node or None
    column : str
        Name of the column of dates or groups; empty if there is none.
    dates, groups : sequences of str
        Names of the columns of dates, and of categories and numbers.
    unit, moving, weigh : str
    areas : bool
    where : sequence of str
        The conditions.
    columns : sequence of str
        Names of all columns that can be filtered.
    """

    trend: str
    layer: int
    topic: Node | None
    column: str
    dates: Sequence[str]
    groups: Sequence[str]
    unit: str
    moving: str
    weigh: str
    areas: bool
    where: Sequence[str]
    columns: Sequence[str]


class TrendPage(NamedTuple):
    """What the page shows.

    Attributes
    ----------
    hierarchy : Hierarchy
    choices : TrendChoices
    over_time : TimeFigure or None
    children : TimeFigure or None
        The children of the chosen topic over time.
    by_group : GroupFigure or None
    selected, documents : int
        Documents that meet the conditions, and all.
    note : str
        A sentence in place of a picture, or about it.
    source : str
        A sentence on the snapshot whose shares are shown, if it is not the newest one.
    busy : bool
    refining : bool
        Whether a corpus is being made of the documents selected.
    """

    hierarchy: Hierarchy
    choices: TrendChoices
    over_time: TimeFigure | None = None
    children: TimeFigure | None = None
    by_group: GroupFigure | None = None
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
    sentence = " ".join(filter(None, (page.source, page.note)))
    note = f'<p class="tr-note" role="status">{escape(sentence)}</p>' if sentence else ""
    dim = " tr-busy" if page.busy else ""
    return f'<div class="tr-page{dim}"><h1>Trends</h1>{_draw_controls(page)}{_draw_filters(page)}{note}{body}</div>'


def draw_trend_note(sentence: str) -> str:
    """Return the page with a sentence in place of everything else."""
    return f'<div class="tr-page"><h1>Trends</h1><p class="tr-note" role="status">{escape(sentence)}</p></div>'


def _draw_controls(page: TrendPage) -> str:
    choices, hierarchy = page.choices, page.hierarchy
    tabs = draw_segments("trend", choices.trend, _TABS, "What is shown")
    layers = [(layer, f"Layer {layer}") for layer in range(hierarchy.n_layers, 0, -1)]
    parts = [tabs, draw_select("trend_layer", layers, choices.layer, "Layer", "Layer of the topics")]
    parts.append(_draw_topic_choice(page))
    offered = choices.dates if choices.trend == "time" else choices.groups
    if len(offered) > 1 or (offered and choices.trend == "groups"):
        entries = [(name, shorten(name, 30)) for name in offered]
        parts.append(draw_select("column", entries, choices.column, "Column", "Column of the documents"))
    if choices.trend == "time":
        parts.append(draw_select("unit", _UNITS.items(), choices.unit, "Periods", "Length of the periods"))
        parts.append(draw_select("moving", _MOVING.items(), choices.moving, "Smoothing", "Moving mean of periods"))
    parts.append(draw_select("weigh", _WEIGHTS.items(), choices.weigh, "Weight of a document", _WEIGHT_TIP))
    if choices.trend == "time":
        pressed = {"aria_pressed": "true" if choices.areas else "false"}
        parts.append(write_element("button", "Stacked", type="button", class_="ex-soft", data_do="areas", **pressed))
    parts.append(draw_save_table(hierarchy, choices.trend, layer=choices.layer))
    return f'<div class="tr-controls">{"".join(parts)}</div>'


def _draw_topic_choice(page: TrendPage) -> str:
    choices, hierarchy = page.choices, page.hierarchy
    first = "Largest topics" if choices.trend == "time" else "All topics"
    chosen = "" if choices.topic is None else format_identity(choices.topic)
    entries = [
        (format_identity(node), f"{hierarchy.rank(node)} · {shorten(hierarchy.title(node), 44)}")
        for node in hierarchy.nodes(choices.layer)
    ]
    options = draw_options([("", first), *entries], chosen)
    tip = "Show one topic alone, with its children"
    return write_element("select", options, class_="ex-select", data_change="topic", aria_label="Topic", title=tip)


def _draw_filters(page: TrendPage) -> str:
    """Return the conditions as chips, a form for another one, and how many documents there are."""
    choices = page.choices
    chips, form = draw_conditions(choices.where), draw_filter_form(choices.columns)
    count = ""
    if page.documents:
        part = f"{page.selected:,} of" if choices.where else "all"
        part = f"{part} {page.documents:,} documents"
        count = f'<span class="tr-note" role="status">{part}</span>'
    closer = draw_refine_selection(choices.where, "", page.selected, page.documents, busy=page.refining)
    return f'<div class="tr-controls">{chips}{form}{count}{closer}</div>'


def _draw_over_time(page: TrendPage, figure: TimeFigure) -> str:
    hierarchy, choices = page.hierarchy, page.choices
    topic = choices.topic
    heading = f"Layer {choices.layer} over time" if topic is None else hierarchy.title(topic)
    picture = _draw_figure(hierarchy, figure, stacked=choices.areas and topic is None)
    parts = [_draw_card(heading, picture, _tell_missing(figure))]
    if page.children is not None:
        parts.append(_draw_card("Its children", _draw_figure(hierarchy, page.children, stacked=choices.areas)))
    parts.append(
        '<div class="tr-two">'
        + _draw_growth(hierarchy, "What grew", figure.grown, figure)
        + _draw_growth(hierarchy, "What shrank", figure.shrunk, figure)
        + "</div>"
    )
    return "".join(parts)


def _draw_card(heading: str, body: str, note: str = "") -> str:
    foot = f'<p class="tr-note">{escape(note)}</p>' if note else ""
    return f'<section class="tr-card"><h2>{escape(heading)}</h2>{body}{foot}</section>'


def _tell_missing(figure: TimeFigure) -> str:
    are = "document has no date and is" if figure.missing == 1 else "documents have no date and are"
    missing = f" {figure.missing:,} {are} left out." if figure.missing else ""
    return f"Bands: 90 % intervals. Grey bars: documents of every {figure.periods.unit}.{missing}"


def _draw_figure(hierarchy: Hierarchy, figure: TimeFigure, *, stacked: bool) -> str:
    axis = TimeAxis(figure.periods.unit, figure.periods.starts, figure.documents)
    lines = [
        TimeLine(
            format_identity(each.node), hierarchy.title(each.node), LIVE.hues[place % len(LIVE.hues)],
            each.mean, each.low, each.high,
        )
        for place, each in enumerate(figure.series)
    ]  # fmt: skip
    label = f"Shares of {len(lines)} topics by {figure.periods.unit}"
    return draw_areas(axis, lines, figure.borders, label) if stacked else draw_lines(axis, lines, label)


def _draw_growth(hierarchy: Hierarchy, heading: str, topics: Sequence[GrownTopic], figure: TimeFigure) -> str:
    """Return the topics that grew or shrank as a list, with shares of the first and the last third."""
    rows = "".join(
        f"<li>{_draw_topic_button(hierarchy, each.node)}"
        f"<span>{format_percent(each.before)} → {format_percent(each.after)}</span>"
        f"<small>{_format_change(each.low)} to {_format_change(each.high)}</small></li>"
        for each in topics[:_LISTED]
    )
    more = f" The first {_LISTED} of {len(topics)}." if len(topics) > _LISTED else ""
    tip = (
        f"Last third of the dated documents against the first, beyond chance: with 90 % probability none of the "
        f"{figure.compared:,} topics compared is listed without having changed.{more}"
    )
    body = f'<ol class="tr-grown">{rows}</ol>' if rows else '<p class="tr-note">None beyond chance.</p>'
    return f'<section class="tr-card"><h2>{heading}</h2>{body}<p class="tr-note">{tip}</p></section>'


def _format_change(value: float) -> str:
    sign = "−" if value < 0 else "+"
    return f"{sign}{format_percent(abs(value))}"


def _draw_topic_button(hierarchy: Hierarchy, node: Node) -> str:
    return write_element(
        "button", escape(hierarchy.title(node)), type="button", data_do="topic", data_value=format_identity(node)
    )


def _draw_by_group(page: TrendPage, figure: GroupFigure) -> str:
    hierarchy, choices = page.hierarchy, page.choices
    missing = figure.shares.missing
    note = f"{missing:,} documents have no value, or one that few documents have, and are left out." if missing else ""
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
        picture = draw_group_bars(bars, float(figure.everywhere[column]))
        parts.append(_draw_card(hierarchy.title(choices.topic), picture))
    parts.append(_draw_effects(page, figure))
    parts.append(_draw_card(f"Topics by {choices.column}", draw_heat_map(_make_heat_map(hierarchy, figure)), note))
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


def _draw_effects(page: TrendPage, figure: GroupFigure) -> str:
    """Return the surest differences of groups from all others as a table."""
    hierarchy, effects = page.hierarchy, figure.effects
    n_topics = effects.value.shape[1]
    ranked = effects.rank_increases()[:_LISTED]
    rows = []
    for flat in ranked.tolist():
        group, column = divmod(flat, n_topics)
        low, high = (float(ends[group, column]) for ends in effects.interval)
        cells = (
            _draw_topic_button(hierarchy, hierarchy.node(page.choices.layer, column)),
            format_percent(float(figure.shares.mean[group, column])),
            _format_change(float(effects.value[group, column])),
            f"{_format_change(low)} to {_format_change(high)}",
            f"{int(figure.shares.documents[group]):,}",
        )
        name = escape(shorten(figure.groups.names[group], 40))
        rows.append(f"<tr><th scope='row'>{name}</th>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>")
    tip = (
        "Share in the group less the share in all other groups together, with its 90 % interval; listed are those "
        f"beyond chance among {effects.comparisons:,} comparisons (with 90 % probability, none is listed by chance)."
    )
    if not rows:
        return _draw_card("What is typical of the groups", f'<p class="tr-note">Nothing beyond chance. {tip}</p>')
    head = "".join(
        f'<th scope="col">{name}</th>' for name in ("Group", "Topic", "Share", "Difference", "90 % interval", "n")
    )
    table = f'<table class="tr-effects"><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table>'
    return _draw_card("What is typical of the groups", f'<div class="tr-scroll">{table}</div>', tip)
