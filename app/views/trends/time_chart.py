"""Topics over time as SVG: lines with bands, or areas that are stacked, above bars of the number of documents."""

import math
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from app.views.text import escape, format_percent, shorten

WIDTH, HEIGHT = 1180.0, 400.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 54.0, 190.0, 12.0, 70.0  # margins: percentages, names, bars and dates
_BARS = 30.0  # height of the bars of documents
_MOST_TICKS = 8  # dates below the picture
_LINE = 15.0  # between two names at the right
_HEADROOM = 1.4  # height of the picture in multiples of the largest share, at most
_LETTERS = 24  # of a name at the right


class TimeAxis(NamedTuple):
    """Periods of the calendar, one after the other.

    Attributes
    ----------
    unit : str
        day, week, month, quarter, year or decade.
    starts : (T + 1,) int64 array
        First millisecond of every period since 1970 (UTC), and the first one after the last period.
    documents : (T,) int64 array
        Number of documents of every period.
    """

    unit: str
    starts: NDArray[Any]
    documents: NDArray[Any]

    @property
    def names(self) -> list[str]:
        """The names of the periods."""
        return [name_period(start, self.unit) for start in self.starts[:-1].tolist()]


class TimeLine(NamedTuple):
    """The share of a topic in every period; ``mean``, ``low`` and ``high`` (T,) are nan in periods without documents.

    ``key`` identifies the topic, as in ``L2:17``; ``colour`` is a CSS colour.
    """

    key: str
    title: str
    colour: str
    mean: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


def name_period(start: int, unit: str) -> str:
    """Return the name of a period from its first millisecond.

    >>> [name_period(1_088_640_000_000, unit) for unit in ("day", "week", "month", "quarter", "year", "decade")]
    ['1 Jul 2004', 'week of 1 Jul 2004', 'Jul 2004', 'Q3 2004', '2004', '2000s']
    """
    date = np.datetime64(int(start), "ms").astype("datetime64[s]").item()
    match unit:
        case "month":
            return f"{date:%b %Y}"
        case "quarter":
            return f"Q{(date.month + 2) // 3} {date.year}"
        case "year":
            return f"{date.year}"
        case "decade":
            return f"{date.year // 10 * 10}s"
    day = f"{date.day} {date:%b %Y}"
    return f"week of {day}" if unit == "week" else day


def draw_lines(
    axis: TimeAxis, lines: Sequence[TimeLine], label: str, form: Callable[[float], str] = format_percent
) -> str:
    """Return a picture with a line and its 90 % band for every topic.

    Parameters
    ----------
    axis : TimeAxis
    lines : sequence of TimeLine
    label : str
        What the picture shows, for people who do not see it.
    form : (share) -> str
        Writes a share.
    """
    known = [line for line in lines if np.isfinite(line.mean).any()]
    highest = max((float(np.nanmax(line.high)) for line in known), default=0.0)
    largest = max((float(np.nanmax(line.mean)) for line in known), default=0.0)
    ticks = choose_ticks(min(highest, _HEADROOM * largest))  # bands of few documents may be cut at the top
    top = max(ticks[-1], 1e-9)
    bodies = "".join(_draw_line(axis, line, top) for line in lines)
    ends = [(_place_share(_find_last(line.mean), top), line) for line in lines if np.isfinite(line.mean).any()]
    tips = [_describe_lines(axis, lines, period, form) for period in range(len(axis.documents))]
    return _draw_frame(axis, label, _draw_grid(ticks, top) + bodies + _draw_names(ends), tips)


def draw_areas(axis: TimeAxis, lines: Sequence[TimeLine], borders: NDArray[np.float64], label: str) -> str:
    """Return a picture with stacked areas, one for every topic, and a pale one for all other topics.

    Parameters
    ----------
    axis : TimeAxis
    lines : sequence of TimeLine
        Of n topics, from the bottom up.
    borders : (T, n + 2) array
        Topic ``i`` lies between columns ``i`` and ``i + 1``, everything else between the last two.
    label : str
        What the picture shows, for people who do not see it.
    """
    ticks = choose_ticks(float(np.nanmax(borders[:, -2])) if np.isfinite(borders).any() else 0.0)
    top = max(ticks[-1], 1e-9)
    bodies, ends = [], []
    for place, line in enumerate(lines):
        low, high = borders[:, place], borders[:, place + 1]
        bodies.append(_draw_band(axis, low, high, top, f'class="tr-area" data-key="{line.key}" fill="{line.colour}"'))
        middle = (_find_last(low) + _find_last(high)) / 2
        if math.isfinite(middle):
            ends.append((_place_share(middle, top), line))
    tips = [_describe_lines(axis, lines, period) for period in range(len(axis.documents))]
    return _draw_frame(axis, label, _draw_grid(ticks, top) + "".join(bodies) + _draw_names(ends), tips)


def choose_ticks(highest: float) -> list[float]:
    """Return about five round shares from 0 to at least the highest one.

    >>> choose_ticks(0.17)
    [0.0, 0.05, 0.1, 0.15, 0.2]
    """
    if not highest > 0:
        return [0.0, 0.01]
    rough = highest / 5
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= rough * 0.999)
    count = math.ceil(highest / step - 1e-9)
    return [round(step * number, 12) for number in range(count + 1)]


def _place_period(axis: TimeAxis, period: float) -> float:
    """Return the horizontal place of a period, whose middle is at ``period + 0.5``."""
    return _LEFT + (WIDTH - _LEFT - _RIGHT) * period / max(len(axis.documents), 1)


def _place_share(share: float, top: float) -> float:
    return HEIGHT - _BOTTOM - (HEIGHT - _TOP - _BOTTOM) * share / top


def _find_last(values: NDArray[np.float64]) -> float:
    known = values[np.isfinite(values)]
    return float(known[-1]) if len(known) else math.nan


def _list_stretches(known: NDArray[np.bool_]) -> list[list[int]]:
    """Return the stretches of neighbouring periods that have documents."""
    places = range(len(known))
    return [list(group) for is_known, group in groupby(places, lambda place: bool(known[place])) if is_known]


def _draw_line(axis: TimeAxis, line: TimeLine, top: float) -> str:
    band = _draw_band(axis, line.low, line.high, top, f'class="tr-band" data-key="{line.key}" fill="{line.colour}"')
    parts = [band]
    for stretch in _list_stretches(np.isfinite(line.mean)):
        points = [(_place_period(axis, place + 0.5), _place_share(line.mean[place], top)) for place in stretch]
        if len(points) == 1:
            (x, y), *_ = points
            parts.append(
                f'<circle class="tr-point" data-key="{line.key}" cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{line.colour}"/>'
            )
        else:
            path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
            parts.append(f'<polyline class="tr-line" data-key="{line.key}" points="{path}" stroke="{line.colour}"/>')
    return "".join(parts)


def _draw_band(axis: TimeAxis, low: NDArray[np.float64], high: NDArray[np.float64], top: float, attributes: str) -> str:
    """Return polygons between two curves, one for every stretch of periods with documents."""
    parts = []
    for stretch in _list_stretches(np.isfinite(low) & np.isfinite(high)):
        curve = [(_place_period(axis, place + 0.5), place) for place in stretch]
        if len(stretch) == 1:  # a single period has a width too
            curve = [(_place_period(axis, stretch[0] + side), stretch[0]) for side in (0.3, 0.7)]
        upper = [f"{x:.1f},{_place_share(min(high[place], top), top):.1f}" for x, place in curve]
        lower = [f"{x:.1f},{_place_share(low[place], top):.1f}" for x, place in curve]
        parts.append(f'<polygon {attributes} points="{" ".join([*upper, *reversed(lower)])}"/>')
    return "".join(parts)


def _draw_grid(ticks: Sequence[float], top: float) -> str:
    """Return horizontal lines with percentages."""
    digits = next(n for n in range(9) if all(abs(100 * tick - round(100 * tick, n)) < 1e-9 for tick in ticks))
    parts = []
    for tick in ticks:
        y = _place_share(tick, top)
        parts.append(f'<path class="tr-grid" d="M{_LEFT:g} {y:.1f}H{WIDTH - _RIGHT:g}"/>')
        parts.append(
            f'<text class="tr-tick" x="{_LEFT - 6:g}" y="{y + 4:.1f}" text-anchor="end">{100 * tick:.{digits}f}%</text>'
        )
    return "".join(parts)


def _draw_names(ends: Sequence[tuple[float, TimeLine]]) -> str:
    """Return the names of topics at the right, moved apart where they would cover each other."""
    parts, lowest = [], -math.inf
    ordered = sorted(ends, key=lambda end: end[0])
    room = HEIGHT - _BOTTOM - _LINE * len(ordered)
    for place, (y, line) in enumerate(ordered):
        at = min(max(y, lowest + _LINE), max(room + _LINE * (place + 1), _TOP))
        lowest = at
        x, stroke = WIDTH - _RIGHT + 16, f'stroke="{line.colour}"'
        spot = f'data-key="{line.key}" x="{x:g}" y="{at + 4:.1f}" fill="{line.colour}"'
        parts.append(f'<path class="tr-lead" d="M{WIDTH - _RIGHT:g} {y:.1f}L{x - 3:g} {at:.1f}" {stroke}/>')
        parts.append(f'<text class="tr-name" {spot}>{escape(shorten(line.title, _LETTERS))}</text>')
    return "".join(parts)


def _draw_frame(axis: TimeAxis, label: str, body: str, tips: Sequence[str]) -> str:
    """Return the whole picture: bars of documents, dates, the body, and a place to point at for every period."""
    n_periods = len(axis.documents)
    most = max(int(axis.documents.max(initial=0)), 1)
    base = HEIGHT - 24
    parts = []
    for period, documents in enumerate(axis.documents.tolist()):
        x, end = _place_period(axis, period), _place_period(axis, period + 1)
        tall = _BARS * documents / most
        gap = min(1.0, (end - x) / 8)
        size = f'width="{end - x - 2 * gap:.1f}" height="{tall:.1f}"'
        parts.append(f'<rect class="tr-bar" x="{x + gap:.1f}" y="{base - tall:.1f}" {size}/>')
    names = axis.names
    for period in range(0, n_periods, max(1, math.ceil(n_periods / _MOST_TICKS))):
        x = _place_period(axis, period + 0.5)
        name = escape(names[period].removeprefix("week of "))
        parts.append(f'<text class="tr-tick" x="{x:.1f}" y="{HEIGHT - 6:g}" text-anchor="middle">{name}</text>')
    pointed = "".join(
        f'<rect class="tr-period" data-period="{period}" x="{_place_period(axis, period):.1f}" y="{_TOP:g}" '
        f'width="{_place_period(axis, 1) - _LEFT:.1f}" height="{base - _TOP:g}"><title>{escape(tip)}</title></rect>'
        for period, tip in enumerate(tips)
    )
    return (
        f'<svg class="tr-chart" viewBox="0 0 {WIDTH:g} {HEIGHT:g}" role="img" aria-label="{escape(label)}">'
        f"{''.join(parts)}{body}{pointed}</svg>"
    )


def _describe_lines(
    axis: TimeAxis, lines: Sequence[TimeLine], period: int, form: Callable[[float], str] = format_percent
) -> str:
    """Return what the picture shows in a period: its documents, and the share and interval of every topic."""
    documents = int(axis.documents[period])
    start = f"{axis.names[period]}: {documents:,} {'document' if documents == 1 else 'documents'}"
    known = [line for line in lines if np.isfinite(line.mean[period])]
    ordered = sorted(known, key=lambda line: -line.mean[period])
    rows = (
        f"{line.title} {form(line.mean[period])} ({form(max(line.low[period], 0.0))} – {form(line.high[period])})"
        for line in ordered
    )
    return "\n".join([start, *rows])
