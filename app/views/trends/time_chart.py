"""Topics over time and by group: how they are measured, and their pictures as SVG.

Lines with bands stand above bars of the number of documents; the share by group has bars with intervals.
"""

import math
from collections.abc import Callable, Sequence
from itertools import groupby
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from topiary.app.names import UNIT, plural
from topiary.app.views.html import render
from topiary.app.views.text import escape, format_percent, shorten
from topiary.engine.lens.moments import Weighting

_DATES = 24.0  # height of the dates below the bars
_LINE = 15.0  # between two names at the right
_HEADROOM = 1.4  # height of the picture in multiples of the largest share, at most
_LETTERS = 24  # of a name at the right
_FEW = 0.05  # of the mean number of documents of a period: a period with fewer is drawn by itself
_LEAST_ROOM = 60.0  # at the right, for names
_UPPER, _POINTS = 95.0, 0.05  # percentile at which the scale of several pictures ends, rounded up to so much
_DAY = 86_400_000  # milliseconds


class Frame(NamedTuple):
    """The size of a picture, and its margins: percentages left, names right, bars and dates below.

    A picture without room at the right is for phones: it has no names, and needs a legend, and no text to be seen by
    pointing.  ``ticks`` is the largest number of dates, ``bars`` the height of the bars of documents; without these it
    is one of several pictures with one scale, which are chosen whole.
    """

    width: float
    height: float
    left: float
    right: float
    top: float
    bottom: float
    ticks: int
    bars: float = 30.0

    @property
    def is_for_phones(self) -> bool:
        """Whether there is no room for names at the right."""
        return self.right < _LEAST_ROOM


WIDE = Frame(1180.0, 400.0, 46.0, 190.0, 12.0, 70.0, 8)
NARROW = Frame(430.0, 320.0, 40.0, 8.0, 12.0, 68.0, 3)  # for phones
SMALL, SMALLEST = Frame(402.0, 168.0, 36.0, 8.0, 12.0, 26.0, 5, 0.0), Frame(330.0, 150.0, 36.0, 8.0, 12.0, 26.0, 4, 0.0)


class TimeAxis(NamedTuple):
    """Periods of the calendar, one after the other, and how they are drawn.

    Attributes
    ----------
    unit : str
        day, week, month, quarter, year or decade.
    starts : (T + 1,) int64 array
        First millisecond of every period since 1970 (UTC), and the first one after the last period.
    documents : (T,) int64 array
        Number of documents of every period.
    picked : (int, int) or None
        The first and the last period of a selection, which are marked.
    brush : bool
        Whether a visitor can select periods by dragging; the browser then sends ``brush`` with two dates.
    """

    unit: str
    starts: NDArray[Any]
    documents: NDArray[Any]
    frame: Frame = WIDE
    picked: tuple[int, int] | None = None
    brush: bool = False

    @property
    def names(self) -> list[str]:
        """The names of the periods."""
        return [name_period(start, self.unit) for start in self.starts[:-1].tolist()]

    @property
    def days(self) -> list[tuple[str, str]]:
        """The first and the last day of the periods, as in 2004-07-01."""
        ends = zip(self.starts[:-1].tolist(), self.starts[1:].tolist(), strict=True)
        return [(_format_day(first), _format_day(after - _DAY)) for first, after in ends]


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


class Scale(NamedTuple):
    """The shares at the lines of a picture, and that at its upper end."""

    ticks: Sequence[float]
    top: float


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


def _format_day(moment: int) -> str:
    return str(np.datetime64(moment, "ms").astype("datetime64[D]"))


def draw_lines(
    axis: TimeAxis,
    lines: Sequence[TimeLine],
    label: str,
    form: Callable[[float], str] = format_percent,
    scale: Scale | None = None,
) -> str:
    """Return a picture with a line and its 90 % band for every topic.

    Parameters
    ----------
    label : str
        What the picture shows, for people who do not see it.
    form : (share) -> str
        Writes a share.
    scale : Scale, optional
        That of several pictures; what is above its end is cut, and marked.
    """
    known = [line for line in lines if np.isfinite(line.mean).any()]
    highest = max((float(np.nanmax(line.high)) for line in known), default=0.0)
    largest = max((float(np.nanmax(line.mean)) for line in known), default=0.0)
    if scale is None:  # bands of few documents may be cut at the top
        own = choose_ticks(min(highest, _HEADROOM * largest))
        scale = Scale(own, max(own[-1], 1e-9))
    ticks, top = scale
    bodies = "".join(_draw_line(axis, line, top) for line in lines)
    frame = axis.frame
    ends = [(_place_share(frame, _find_last(line.mean), top), line) for line in known]
    body = _draw_grid(frame, ticks, top) + bodies + _draw_names(frame, ends)
    return _draw_frame(axis, label, body, lines, form)


def choose_scale(upper: Sequence[NDArray[np.float64]]) -> Scale:
    """Return the scale of several small pictures, from the upper ends of their intervals: 5 % of these may be cut.

    >>> choose_scale([np.array([0.1, 0.42])])
    Scale(ticks=[0.0, 0.2, 0.4], top=0.45)
    """
    ends = np.concatenate(upper)
    ends = ends[np.isfinite(ends)]
    highest = float(np.percentile(ends, _UPPER)) if len(ends) else 0.0
    top = math.ceil(highest / _POINTS - 1e-9) * _POINTS if highest > _POINTS else choose_ticks(highest)[-1]
    step = choose_ticks(2 * top)[1]  # two lines or so
    return Scale([place * step for place in range(int(top / step + 1e-9) + 1)], round(top, 12))


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
    left, right = axis.frame.left, axis.frame.width - axis.frame.right
    return left + (right - left) * period / max(len(axis.documents), 1)


def _place_share(frame: Frame, share: float, top: float) -> float:
    base = frame.height - frame.bottom
    return base - (base - frame.top) * share / top


def _find_last(values: NDArray[np.float64]) -> float:
    known = values[np.isfinite(values)]
    return float(known[-1]) if len(known) else math.nan


def _list_stretches(axis: TimeAxis, known: NDArray[np.bool_]) -> list[list[int]]:
    """Return the stretches of neighbouring periods that have documents.

    A period with far fewer documents than the others is one by itself, so that its wide interval stays narrow.
    """
    filled = axis.documents[axis.documents > 0]
    least = _FEW * float(filled.mean()) if len(filled) else 0.0
    kinds = [(bool(known[place]), place if 0 < axis.documents[place] < least else -1) for place in range(len(known))]
    return [list(group) for (is_known, _), group in groupby(range(len(known)), kinds.__getitem__) if is_known]


def _draw_line(axis: TimeAxis, line: TimeLine, top: float) -> str:
    band = _draw_band(axis, line.low, line.high, top, f'class="tr-band" data-key="{line.key}" fill="{line.colour}"')
    parts = [band]
    for stretch in _list_stretches(axis, np.isfinite(line.mean)):
        heights = [_place_share(axis.frame, min(line.mean[place], top), top) for place in stretch]
        points = list(zip([_place_period(axis, place + 0.5) for place in stretch], heights, strict=True))
        if len(points) == 1:
            (x, y), *_ = points
            parts.append(
                f'<circle class="tr-point" data-key="{line.key}" cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{line.colour}"/>'
            )
        else:
            path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
            parts.append(f'<polyline class="tr-line" data-key="{line.key}" points="{path}" stroke="{line.colour}"/>')
    return "".join(parts) + _mark_cuts(axis, line, top)


def _mark_cuts(axis: TimeAxis, line: TimeLine, top: float) -> str:
    """Return a small mark at the top over every period whose band is cut there."""
    with np.errstate(invalid="ignore"):
        cut = np.flatnonzero(np.isfinite(line.mean) & (line.high > top * 1.001)).tolist()
    places = "".join(f"M{_place_period(axis, place + 0.5) - 3:.1f} {axis.frame.top:g}l3 -5l3 5z" for place in cut)
    return f'<path class="tr-cut" d="{places}" fill="{line.colour}"/>' if places else ""


def _draw_band(axis: TimeAxis, low: NDArray[np.float64], high: NDArray[np.float64], top: float, attributes: str) -> str:
    """Return polygons between two curves, one for every stretch of periods with documents."""
    parts = []
    for stretch in _list_stretches(axis, np.isfinite(low) & np.isfinite(high)):
        curve = [(_place_period(axis, place + 0.5), place) for place in stretch]
        if len(stretch) == 1:  # a single period has a width too
            curve = [(_place_period(axis, stretch[0] + side), stretch[0]) for side in (0.3, 0.7)]
        upper = [f"{x:.1f},{_place_share(axis.frame, min(high[place], top), top):.1f}" for x, place in curve]
        lower = [f"{x:.1f},{_place_share(axis.frame, low[place], top):.1f}" for x, place in curve]
        parts.append(f'<polygon {attributes} points="{" ".join([*upper, *reversed(lower)])}"/>')
    return "".join(parts)


def _draw_grid(frame: Frame, ticks: Sequence[float], top: float) -> str:
    """Return horizontal lines with percentages."""
    digits = next(n for n in range(9) if all(abs(100 * tick - round(100 * tick, n)) < 1e-9 for tick in ticks))
    parts = []
    for tick in ticks:
        y = _place_share(frame, tick, top)
        parts.append(f'<path class="tr-grid" d="M{frame.left:g} {y:.1f}H{frame.width - frame.right:g}"/>')
        place = f'x="{frame.left - 6:g}" y="{y + 4:.1f}" text-anchor="end"'
        parts.append(f'<text class="tr-tick" {place}>{100 * tick:.{digits}f}%</text>')
    return "".join(parts)


def _draw_names(frame: Frame, ends: Sequence[tuple[float, TimeLine]]) -> str:
    """Return the names of topics at the right, moved apart where they would cover each other."""
    edge = frame.width - frame.right
    if frame.is_for_phones:
        return ""
    parts, lowest = [], -math.inf
    ordered = sorted(ends, key=lambda end: end[0])
    room = frame.height - frame.bottom - _LINE * len(ordered)
    for place, (y, line) in enumerate(ordered):
        at = min(max(y, lowest + _LINE), max(room + _LINE * (place + 1), frame.top))
        lowest = at
        spot = f'data-key="{line.key}" x="{edge + 16:g}" y="{at + 4:.1f}" fill="{line.colour}"'
        lead = f'd="M{edge:g} {y:.1f}L{edge + 13:g} {at:.1f}" stroke="{line.colour}"'
        tip = f"<title>{escape(line.title)}</title>"
        parts.append(f'<path class="tr-lead" {lead}/>')
        parts.append(f'<text class="tr-name" {spot}>{escape(shorten(line.title, _LETTERS))}{tip}</text>')
    return "".join(parts)


def _draw_frame(
    axis: TimeAxis, label: str, body: str, lines: Sequence[TimeLine], form: Callable[[float], str] = format_percent
) -> str:
    """Return the whole picture: bars of documents, dates, the body, and a place to point at for every period."""
    frame = axis.frame
    brush = ' data-brush="brush"' if axis.brush else ""
    return (
        f'<svg class="tr-chart" viewBox="0 0 {frame.width:g} {frame.height:g}" role="img"{brush} '
        f'aria-label="{escape(label)}">{_draw_picked(axis)}{_draw_bars(axis)}{_draw_dates(axis)}{body}'
        f"{_draw_places(axis, lines, form)}</svg>"
    )


def _draw_picked(axis: TimeAxis) -> str:
    """Return a pale box behind the periods that are selected."""
    if axis.picked is None:
        return ""
    first, last = axis.picked
    x, end, frame = _place_period(axis, first), _place_period(axis, last + 1), axis.frame
    size = f'width="{end - x:.1f}" height="{frame.height - _DATES - frame.top:g}"'
    return f'<rect class="tr-picked" x="{x:.1f}" y="{frame.top:g}" {size}/>'


def _draw_bars(axis: TimeAxis) -> str:
    """Return a bar of the number of documents for every period."""
    if not axis.frame.bars:
        return ""
    most = max(int(axis.documents.max(initial=0)), 1)
    base, parts = axis.frame.height - _DATES, []
    for period, documents in enumerate(axis.documents.tolist()):
        x, end = _place_period(axis, period), _place_period(axis, period + 1)
        tall = axis.frame.bars * documents / most
        gap = min(1.0, (end - x) / 8)
        size = f'width="{end - x - 2 * gap:.1f}" height="{tall:.1f}"'
        parts.append(f'<rect class="tr-bar" x="{x + gap:.1f}" y="{base - tall:.1f}" {size}/>')
    return "".join(parts)


def _draw_dates(axis: TimeAxis) -> str:
    """Return the names of some periods below the bars."""
    parts = []
    for period, name in _name_dates(axis):
        x = _place_period(axis, period + 0.5)
        anchor = "start" if x < axis.frame.left + _LINE else "middle" if x < axis.frame.width - 2 * _LINE else "end"
        place = f'x="{x:.1f}" y="{axis.frame.height - 6:g}"'
        parts.append(f'<text class="tr-tick" {place} text-anchor="{anchor}">{escape(name)}</text>')
    return "".join(parts)


def _name_dates(axis: TimeAxis) -> list[tuple[int, str]]:
    """Return some periods and their names; of days and weeks over some months, those in which a month begins."""
    names, ticks = axis.names, axis.frame.ticks
    if axis.unit in ("day", "week"):
        months = axis.starts[:-1].astype("datetime64[ms]").astype("datetime64[M]")
        first = [place for place in range(1, len(months)) if months[place] != months[place - 1]]
        if len(first) > 1:
            chosen = first[:: math.ceil(len(first) / ticks)]
            dates = [(place, months[place].item()) for place in chosen]
            years = {date.year for _, date in dates}
            return [
                (place, f"{date:%b}" if len(years) == 1 and number else f"{date:%b %Y}")
                for number, (place, date) in enumerate(dates)
            ]
    return [
        (period, names[period].removeprefix("week of "))
        for period in range(0, len(names), max(1, math.ceil(len(names) / ticks)))
    ]


def _draw_places(axis: TimeAxis, lines: Sequence[TimeLine], form: Callable[[float], str]) -> str:
    """Return the places to point at, with what the picture shows there, and the days that they stand for."""
    frame, parts = axis.frame, []
    if not frame.bars:
        return ""
    for period, (first, last) in enumerate(axis.days):
        x, end = _place_period(axis, period), _place_period(axis, period + 1)
        size = f'width="{end - x:.1f}" height="{frame.height - _DATES - frame.top:g}"'
        days = f'data-from="{first}" data-to="{last}"' if axis.brush else ""
        tip = "" if frame.is_for_phones else f"<title>{escape(_describe_lines(axis, lines, period, form))}</title>"
        parts.append(f'<rect class="tr-period" {days} x="{x:.1f}" y="{frame.top:g}" {size}>{tip}</rect>')
    return "".join(parts)


def _describe_lines(axis: TimeAxis, lines: Sequence[TimeLine], period: int, form: Callable[[float], str]) -> str:
    """Return what the picture shows in a period: its documents, and the share and interval of every topic."""
    documents = int(axis.documents[period])
    start = f"{axis.names[period]}: {plural(documents, 'document')}"
    known = [line for line in lines if np.isfinite(line.mean[period])]
    ordered = sorted(known, key=lambda line: -line.mean[period])
    rows = (
        f"{line.title} {form(line.mean[period])} ({form(max(line.low[period], 0.0))} – {form(line.high[period])})"
        for line in ordered
    )
    return "\n".join([start, *rows])


_ROW_HEADROOM = 1.4  # length of a row in multiples of the largest share, at most; intervals may be cut


class GroupBar(NamedTuple):
    """The share of a topic in a group of documents, with its 90 % interval; nan without documents.

    ``filters`` is the condition that selects the group, for a click on it.
    """

    name: str
    filters: str
    mean: float
    low: float
    high: float
    documents: int


def draw_group_bars(
    bars: Sequence[GroupBar],
    everywhere: float,
    form: Callable[[float], str] = format_percent,
    bands: str = "90% intervals",
) -> str:
    """Return bars with intervals, in the order given, and a line at the topic's share in all documents.

    Parameters
    ----------
    form : (share) -> str
        Writes a share.
    bands : str
        What the intervals are.
    """
    known = [bar for bar in bars if np.isfinite(bar.mean)]
    largest = max((bar.mean for bar in known), default=0.0)
    top = min(max((bar.high for bar in known), default=0.0), _ROW_HEADROOM * largest) or 1.0
    rows = [_describe_bar(bar, top, form) for bar in bars]
    return render("trends.group_bars", rows, 100 * min(everywhere / top, 1.0), form(everywhere), bands)


def _describe_bar(bar: GroupBar, top: float, form: Callable[[float], str]) -> SimpleNamespace:
    """Return a bar with the places of its ends in percent of the row; without documents it has none."""
    shown = SimpleNamespace(name=bar.name, filters=bar.filters, documents=bar.documents, ends=())
    if np.isfinite(bar.mean):
        low, high = max(bar.low, 0.0), min(bar.high, 1.0)
        shown.share, shown.interval = form(bar.mean), f"{form(low)} – {form(high)}"
        shown.ends = (100 * bar.mean / top, 100 * min(low, top) / top, 100 * min(high, top) / top)
    return shown


class MeasuredBy(NamedTuple):
    """How something is measured over time and by group: fields of the view."""

    unit: str = "automatic"
    moving: str = "1"
    weigh: Weighting = "tokens"

    @property
    def period(self) -> str | None:
        """The length of the periods; None to choose it by density."""
        return None if self.unit == UNIT.unset else self.unit

    @property
    def periods(self) -> dict[str, Any]:
        """The length of the periods and the number of them in a moving mean, as arguments of what measures."""
        return {"unit": self.period, "moving": int(self.moving)}
