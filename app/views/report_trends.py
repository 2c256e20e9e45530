"""Topics over time and by group in the report of a run: small pictures that need no script, also on paper."""

from collections.abc import Collection, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np

from topiary.app.analysis.hierarchy import Hierarchy
from topiary.app.analysis.trends import GroupFigure, TimeFigure, TopicSeries, describe_bands
from topiary.app.names import UNDATED, plural
from topiary.app.views.html import render
from topiary.app.views.text import escape, format_percent
from topiary.app.views.theme import LIGHT
from topiary.app.views.trends.time_chart import NARROW, WIDE, TimeAxis, TimeLine, choose_ticks, draw_lines, name_period
from topiary.engine.contract import FloatArray
from topiary.engine.hierarchy.tree import Node

_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _TOP = 460, 120, 40, 18, 6
_WIDE = WIDE._replace(width=1040.0, height=340.0)  # as wide as the text
_HEADROOM = 1.4  # height of a picture in multiples of the largest share, at most; bands may be cut at the top
_GROUPS = 8  # of a column, those with most documents
_LISTED = 8  # topics that grew or shrank, of a layer


class ReportTrends(NamedTuple):
    """Topics over time and by group, as a report shows them.

    Attributes
    ----------
    over_time : mapping of int to TimeFigure
        By layer, with all topics of the report; empty without dates.
    by_group : mapping of str to mapping of int to GroupFigure
        By column, then by layer; empty without columns by which documents are grouped.
    numbers : collection of str
        Those of these columns that hold numbers, whose groups stay in their order.
    note : str
        What they are of, or why there are none, as a clause.
    """

    over_time: Mapping[int, TimeFigure] = {}
    by_group: Mapping[str, Mapping[int, GroupFigure]] = {}
    numbers: Collection[str] = ()
    note: str = ""


def draw_topic_trends(trends: ReportTrends, hierarchy: Hierarchy, node: Node) -> str:
    """Return a topic over time and by group; empty if neither is known."""
    parts = []
    if (figure := trends.over_time.get(node.layer)) is not None:
        series = next((each for each in figure.series if each.node == node), None)
        if series is not None and np.isfinite(series.mean).any():
            parts.append(_draw_over_time(figure, series))
    parts += [
        _draw_groups(column, figures[node.layer], hierarchy.place(node), ranked=column not in trends.numbers)
        for column, figures in trends.by_group.items()
        if node.layer in figures
    ]
    return f'<div class="rp-trends">{"".join(parts)}</div>' if parts else ""


def draw_changes(trends: ReportTrends, hierarchy: Hierarchy, anchors: Mapping[Node, str]) -> str:
    """Return what changed over time: the largest topics of the highest layer as lines, and what grew and shrank.

    ``anchors`` are the topics of the report, the most popular of each layer first, with the names of their sections.
    """
    figures = trends.over_time
    if not figures or all(len(figure.documents) < 2 for figure in figures.values()):
        return ""
    top = max(figures)
    figure, layers = figures[top], [top, min(figures)] if len(figures) > 1 else [top]
    missing = f" {plural(figure.missing, *UNDATED)} left out." if figure.missing else ""
    note = f"Shares of all words by {figure.periods.unit}, with {describe_bands(figure.samples)}. Grey bars: documents."
    changes = [
        (
            f" in layer {layer}" if len(layers) > 1 else "",
            figures[layer].compared,
            [
                (word, [each for each in topics if each.node in anchors])
                for word, topics in (("Grew", figures[layer].grown), ("Shrank", figures[layer].shrunk))
            ],
        )
        for layer in layers
    ]
    picture = _draw_largest(hierarchy, figure, [node for node in anchors if node.layer == top])
    return render("report.changes", hierarchy, picture, note + missing, changes, _LISTED, anchors)


def _draw_largest(hierarchy: Hierarchy, figure: TimeFigure, nodes: Sequence[Node]) -> str:
    by_node = {each.node: each for each in figure.series}
    shown = [by_node[node] for node in nodes if node in by_node][: len(LIGHT.hues)]
    lines = [
        TimeLine("", hierarchy.title(each.node), LIGHT.hues[place], each.mean, each.low, each.high)
        for place, each in enumerate(shown)
    ]
    unit = figure.periods.unit
    axis = TimeAxis(unit, figure.periods.starts, figure.documents)
    label = f"Shares of {len(lines)} topics by {unit}"
    pictures = [
        (style, draw_lines(axis._replace(frame=frame), lines, label))
        for style, frame in (("tr-wide", _WIDE), ("tr-narrow", NARROW))
    ]
    return render("trends.figure", pictures, lines)


def _draw_over_time(figure: TimeFigure, series: TopicSeries) -> str:
    """Return the share of a topic in every period with its 90 % band, and whether it grew or shrank."""
    axis, known = figure.periods, np.flatnonzero(np.isfinite(series.mean)).tolist()
    first, last = (name_period(int(axis.starts[place]), axis.unit) for place in (known[0], known[-1]))
    at_first, at_last = (format_percent(float(series.mean[place])) for place in (known[0], known[-1]))
    label = f"Share over time: {at_first} in {first}, {at_last} in {last}"
    change = next(
        (
            f"; {word} from {format_percent(each.before)} to {format_percent(each.after)}"
            for word, topics in (("grew", figure.grown), ("shrank", figure.shrunk))
            for each in topics
            if each.node == series.node
        ),
        "",
    )
    caption = f"<figcaption>By {axis.unit}, with 90% band{change}</figcaption>"
    return f"<figure>{_draw_picture(series, (first, last), label)}{caption}</figure>"


def _draw_picture(series: TopicSeries, ends: tuple[str, str], label: str) -> str:
    """Return the curve of a topic and its band, with the first and last period and the scale."""
    largest, highest = float(np.nanmax(series.mean)), float(np.nanmax(series.high))
    top = max(choose_ticks(min(highest, _HEADROOM * largest))[-1], 1e-9)
    n, base = len(series.mean), _HEIGHT - _BOTTOM
    x = _LEFT + (_WIDTH - _LEFT) * (np.arange(n) + 0.5) / max(n, 1)

    def place(shares: FloatArray) -> FloatArray:
        return np.asarray(base - (base - _TOP) * np.clip(shares, 0.0, top) / top)

    mean, low, high = place(series.mean), place(series.low), place(series.high)
    parts = [f'<path class="rp-axis" d="M{_LEFT} {_TOP}H{_WIDTH}M{_LEFT} {base}H{_WIDTH}"/>']
    parts += draw_stretches(x, mean, low, high)
    texts = (
        (_LEFT - 5, _TOP + 5, "end", format_percent(top)),
        (_LEFT - 5, base, "end", "0"),
        (_LEFT, _HEIGHT - 3, "start", ends[0]),
        (_WIDTH, _HEIGHT - 3, "end", ends[1]),
    )
    parts += [f'<text x="{at}" y="{y}" text-anchor="{anchor}">{escape(text)}</text>' for at, y, anchor, text in texts]
    inside = "".join(parts)
    return f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(label)}">{inside}</svg>'


def draw_stretches(x: FloatArray, mean: FloatArray, low: FloatArray, high: FloatArray) -> list[str]:
    """Return a curve and its band as SVG paths; a place without neighbours is a dot, and nan is a gap."""
    parts = []
    known = np.flatnonzero(np.isfinite(mean)).tolist()
    for _, stretch in groupby(enumerate(known), lambda pair: pair[1] - pair[0]):  # neighbouring places
        places = [each for _, each in stretch]
        if len(places) == 1:
            (at,) = places
            parts.append(f'<path class="rp-whisker" d="M{x[at]:.0f} {low[at]:.1f}V{high[at]:.1f}"/>')
            parts.append(f'<circle cx="{x[at]:.0f}" cy="{mean[at]:.1f}" r="2"/>')
            continue
        band = [f"{x[at]:.0f} {high[at]:.1f}" for at in places] + [f"{x[at]:.0f} {low[at]:.1f}" for at in places[::-1]]
        curve = [f"{x[at]:.0f} {mean[at]:.1f}" for at in places]
        parts.append(f'<path class="rp-band" d="M{"L".join(band)}z"/><path class="rp-line" d="M{"L".join(curve)}"/>')
    return parts


def _draw_groups(column: str, figure: GroupFigure, topic: int, *, ranked: bool) -> str:
    """Return the share of a topic in the groups of a column as bars with 90 % intervals, and the share in all."""
    shares, effects = figure.shares, figure.effects
    by_size = np.argsort(-shares.documents, kind="stable")[:_GROUPS]
    order = sorted(
        (group for group in by_size.tolist() if np.isfinite(shares.mean[group, topic])),
        key=lambda group: -float(shares.mean[group, topic]) if ranked else group,
    )
    if not order:
        return ""
    mean = shares.mean[:, topic]
    top = min(max(float(figure.high[group, topic]) for group in order), _HEADROOM * max(float(mean[g]) for g in order))
    rows = []
    for group in order:
        low, high = max(float(figure.low[group, topic]), 0.0), min(float(figure.high[group, topic]), 1.0)
        sign = int(np.sign(effects.value[group, topic])) if effects.beyond[group, topic] else 0
        share = float(mean[group])
        ends = [100 * min(end / max(top, 1e-12), 1.0) for end in (share, low, high)]
        rows.append((figure.groups.names[group], int(shares.documents[group]), share, ends, sign))
    left_out = len(figure.groups.names) - len(order)
    return render("report.groups", column, float(figure.everywhere[topic]), left_out, rows)
