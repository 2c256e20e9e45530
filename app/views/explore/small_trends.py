"""A topic over time and by group, as two small pictures in its panel."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from topiary.app.analysis.trends import TopicSeries
from topiary.app.views.html import render
from topiary.app.views.report_trends import draw_stretches
from topiary.app.views.text import escape, fit_lines, format_percent
from topiary.engine.contract import FloatArray

_WIDTH, _HEIGHT, _BASE = 146, 58, 55
_NAMES, _ROW, _LETTERS = 64, 14.5, 12  # width of the names of groups, height of a row, and size of the letters
_HEADROOM = 1.4  # height of a picture in multiples of the largest share; bands may be cut at the top


class GroupShare(NamedTuple):
    """The share of a topic in a group of documents, with its 90 % interval."""

    name: str
    mean: float
    low: float
    high: float


class TopicTrend(NamedTuple):
    """A topic over time and by group; without ``series``, or ``groups``, one or both are not known.

    Attributes
    ----------
    unit : str
        The length of the periods.
    column : str
        The column of the groups.
    """

    unit: str = ""
    series: TopicSeries | None = None
    column: str = ""
    groups: Sequence[GroupShare] = ()


def draw_small_trends(trend: TopicTrend) -> str:
    """Return both pictures, each with a heading; empty if neither is known."""
    over_time = "" if trend.series is None else _draw_over_time(trend.unit, trend.series)
    groups = _draw_groups(trend.column, trend.groups) if trend.groups else ""
    return render("explore.small_trends", over_time, trend.unit, groups, trend.column) if over_time or groups else ""


def _draw_over_time(unit: str, series: TopicSeries) -> str:
    known = np.isfinite(series.mean)
    if not known.any():
        return ""
    top = max(min(float(np.nanmax(series.high)), _HEADROOM * float(np.nanmax(series.mean))), 1e-9)
    x = 3 + (_WIDTH - 6) * np.arange(len(known)) / max(1, len(known) - 1)

    def place(shares: FloatArray) -> FloatArray:
        return np.asarray(_BASE - (_BASE - 3) * np.clip(shares, 0.0, top) / top)

    first, last = (format_percent(float(series.mean[known][end])) for end in (0, -1))
    label = f"Share by {unit} with 90 % band: from {first} to {last}, at most {format_percent(top)}"
    lines = draw_stretches(x, place(series.mean), place(series.low), place(series.high))
    return _draw_svg(label, [f'<path class="rp-axis" d="M0 {_BASE}H{_WIDTH}"/>', *lines])


def _draw_groups(column: str, groups: Sequence[GroupShare]) -> str:
    top = max(*(each.mean for each in groups), min(1.0, max(each.high for each in groups)), 1e-9)
    scale, parts = (_WIDTH - _NAMES - 2) / top, []
    for row, each in enumerate(groups):
        y = row * _ROW
        (name,) = fit_lines(each.name, (_NAMES - 4) / _LETTERS, 1) or [""]
        low, high = (_NAMES + scale * min(top, max(0.0, end)) for end in (each.low, each.high))
        parts += [
            f'<text x="0" y="{y + 11:.1f}" font-size="{_LETTERS}">{escape(name)}</text>',
            f'<rect x="{_NAMES}" y="{y + 3:.1f}" width="{scale * each.mean:.1f}" height="8" rx="2"/>',
            f'<path class="ex-whisker" d="M{low:.1f} {y + 7:.1f}H{high:.1f}"/>',
        ]
    shares = "; ".join(f"{each.name} {format_percent(each.mean)}" for each in groups)
    return _draw_svg(f"Largest shares by {column}, with 90 % intervals: {shares}", parts)


def _draw_svg(label: str, parts: Sequence[str]) -> str:
    text = escape(label)
    head = f'<svg width="{_WIDTH}" height="{_HEIGHT}" role="img" aria-label="{text}"><title>{text}</title>'
    return f"{head}{''.join(parts)}</svg>"
