"""Figures of topics over time, and by group of documents, with the numbers of the page Trends and of the tables."""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import holoviews as hv
import numpy as np
from numpy.typing import NDArray

from topiary.app.analysis.errors import ReadError
from topiary.app.analysis.hierarchy import Hierarchy
from topiary.app.analysis.reader import GROUPS, TIME, RunDocuments, TrendQuestion
from topiary.app.analysis.trends import choose_topics
from topiary.app.names import IntervalKind
from topiary.app.plots.read import Source, choose_layer
from topiary.app.plots.request import COLUMN, FigureRequest
from topiary.app.plots.style import (
    COLOURS,
    INK,
    MUTED,
    POINTS,
    RULE,
    TEXT,
    choose_line_style,
    cut,
    measure_width,
    set_options,
    set_size,
)
from topiary.app.views.text import format_percent
from topiary.app.views.trends.time_chart import GroupBar, TimeAxis, TimeLine, choose_ticks
from topiary.engine.hierarchy.tree import Node
from topiary.engine.lens.moments import Weighting
from topiary.store import corpora

_SHAPE, _TALLEST = 0.66, 3.0  # height / width of a picture over time, and its largest height in inches
_LEFT, _RIGHT, _TOP, _BOTTOM = 19.0, 3.0, 5.0, 16.0  # points: margins of the axes, at the left without numbers
_SIDE = 0.3  # of the first and of the last period, which lies outside the axes
_LEADING, _LEAD = 8.5, 9.0  # points: distance of names, length of the line from a curve to its name
_NAMES = 0.34  # largest part of the width for names
_HEADROOM = 1.4  # height of the picture in multiples of the largest share, at most; wide bands are cut
_ROW, _HEAD, _AXIS = 9.5, 11.5, 26.0  # points: height of a group, of the title of a topic, and of the axis below
_MOST_ROWS = 30  # groups of all topics together in a figure for which no number of topics was requested
_MOST_TOPICS = len(COLOURS)
_BANDS: dict[IntervalKind, str] = {"documents": "documents", "topics": "topics too"}
_LABELS: dict[Weighting, str] = {"tokens": "share of words", "documents": "mean share of documents"}


class TopicByGroup(NamedTuple):
    """A topic in groups of documents: its title, its share in all of them, and its share in each."""

    title: str
    everywhere: float
    bars: Sequence[GroupBar]


def draw_time(
    axis: TimeAxis, lines: Sequence[TimeLine], *, label: str = _LABELS["tokens"], width: float = COLUMN
) -> hv.Overlay:
    """Draw topics over time, as lines with bands, with their titles at the right.

    Parameters
    ----------
    lines : sequence of TimeLine
        At most as many as there are colours.
    label : str
        What the y-axis shows.
    width : float
        Inches.

    Raises
    ------
    ReadError
        If there is no period with documents.
    """
    known = [place for place, line in enumerate(lines) if np.isfinite(line.mean).any()]
    if not known:
        raise ReadError("no document of the selection has a date, so there is nothing to draw over time")
    n_periods, height = len(axis.documents), min(_SHAPE * width, _TALLEST)
    titles = [cut(lines[place].title, _NAMES * POINTS * width) for place in known]
    ticks = choose_ticks(_find_highest([lines[place] for place in known]))
    numbers = [(tick, _write_tick(tick, ticks)) for tick in ticks]
    left = _LEFT + max(measure_width(number) for _, number in numbers)
    names_width = _LEAD + max(map(measure_width, titles)) + 1
    across = POINTS * width - left - _RIGHT - names_width
    up = POINTS * height - _TOP - _BOTTOM
    last = n_periods - _SIDE
    per_point = (last - _SIDE) / across
    ends = [float(lines[place].mean[np.isfinite(lines[place].mean)][-1]) for place in known]
    middles = spread_apart([up * end / ticks[-1] for end in ends], _LEADING, up)
    parts: list[Any] = []
    for place, title, end, middle in zip(known, titles, ends, middles, strict=True):
        parts += _draw_line(lines[place], place)
        at = (last + _LEAD * per_point, middle * ticks[-1] / up)
        parts += _draw_title(title, place, (n_periods - 0.5, end), at, 2 * per_point)
    options: dict[str, Any] = {
        "xlim": (_SIDE, last + names_width * per_point),
        "ylim": (0, ticks[-1]),
        "xticks": _choose_dates(axis, across),
        "yticks": numbers,
        "xlabel": "",
        "ylabel": label,
        "show_legend": False,
        "padding": 0,
    }
    overlay = set_size(hv.Overlay(parts), width, height, **options)
    size = (POINTS * width, POINTS * height)
    bounds = (left / size[0], _BOTTOM / size[1], 1 - _RIGHT / size[0], 1 - _TOP / size[1])

    def end_axis(plot: Any, _element: Any) -> None:
        spines = plot.handles["axis"].spines
        spines[["top", "right"]].set_visible(False)
        spines["bottom"].set_bounds(_SIDE, last)

    return set_options(overlay, {"fig_bounds": bounds, "hooks": [end_axis]}, {})


def plot_time(sources: Sequence[Source], request: FigureRequest) -> hv.Overlay:
    """Draw topics of a layer over time: the requested ones, or the most popular topics."""
    chosen = _read_documents(sources[0], request)
    nodes = _choose_nodes(chosen, request, _MOST_TOPICS)
    if len(nodes) > _MOST_TOPICS:
        raise ReadError(f"a figure of topics over time shows {_MOST_TOPICS} topics at most; {len(nodes)} are named")
    question = TrendQuestion(
        TIME, chosen.layer, request.column or "", nodes, request.unit, request.moving or 1, request.by or "tokens"
    )
    figure = chosen.documents.measure(question).over_time
    if figure is None:
        raise AssertionError("a question about time has its answer")
    lines = [
        TimeLine("", chosen.hierarchy.cite(each.node), COLOURS[0], each.mean, each.low, each.high)
        for each in figure.series
    ]
    axis = TimeAxis(figure.periods.unit, figure.periods.starts, figure.documents)
    bands = _BANDS[request.interval or "documents"]
    return draw_time(axis, lines, label=f"{chosen.label}; 90%: {bands}", width=request.width)


def draw_groups(
    topics: Sequence[TopicByGroup],
    *,
    label: str = _LABELS["tokens"],
    bands: str = _BANDS["documents"],
    width: float = COLUMN,
) -> hv.Overlay:
    """Draw shares of topics in groups as points with intervals, below the title of each topic.

    A vertical line is drawn at the share of a topic in all documents.

    Parameters
    ----------
    topics : sequence of TopicByGroup
        Groups without documents are left out.
    label, bands : str
        What the x-axis shows, and what the intervals contain.
    width : float
        Inches.

    Raises
    ------
    ReadError
        If no group has documents.
    """
    known = [[bar for bar in topic.bars if np.isfinite(bar.mean)] for topic in topics]
    bars = [bar for each in known for bar in each]
    if not bars:
        raise ReadError("no group has documents, so there is nothing to draw")
    size = POINTS * width
    names_width = min(_NAMES * size, max(measure_width(bar.name) for bar in bars) + 1)
    values_width = max(measure_width(format_percent(bar.mean)) for bar in bars) + 4
    ticks = choose_ticks(min(max(bar.high for bar in bars), _HEADROOM * max(bar.mean for bar in bars)))
    left = names_width + 5
    across = size - left - values_width - _RIGHT
    last = ticks[-1] * (across + values_width) / across
    rows, heads, lines, y = [], [], [], 2.0
    for topic, each in zip(topics, known, strict=True):
        heads.append((0.0, -(y + _HEAD / 2), cut(topic.title, across + values_width, bold=True)))
        first = y = y + _HEAD
        for bar in each:
            rows.append((-(y + _ROW / 2), bar))
            y += _ROW
        lines.append((topic.everywhere, -y, topic.everywhere, -first))
        y += 2
    options: dict[str, Any] = {
        "xlim": (0, last),
        "ylim": (-y, 0),
        "xticks": [(tick, _write_tick(tick, ticks)) for tick in ticks],
        "yticks": [(place, cut(bar.name, names_width)) for place, bar in rows],
        "xlabel": f"{label}, 90% intervals: {bands}",
        "ylabel": "",
        "show_legend": False,
        "padding": 0,
    }
    height = y + _AXIS + _TOP
    parts = [
        _draw_segments([(tick, -y, tick, -2.0) for tick in ticks], RULE, 0.4),
        _draw_segments(lines, MUTED, 0.8),
        _draw_segments([(bar.low, place, min(bar.high, ticks[-1]), place) for place, bar in rows], COLOURS[0], 1.1),
        _draw_points([bar.mean for _, bar in rows], [place for place, _ in rows], COLOURS[0]),
        _draw_texts([(last, place, format_percent(bar.mean)) for place, bar in rows], align="right"),
        _draw_texts(heads, bold=True),
    ]
    overlay = set_size(hv.Overlay(parts), width, height / POINTS, **options)
    bounds = (left / size, _AXIS / height, 1 - _RIGHT / size, 1 - _TOP / height)

    def clear_axis(plot: Any, _element: Any) -> None:
        axes = plot.handles["axis"]
        axes.spines[["left", "top", "right"]].set_visible(False)
        axes.spines["bottom"].set_bounds(0, ticks[-1])
        axes.tick_params(axis="y", length=0)

    return set_options(overlay, {"fig_bounds": bounds, "hooks": [clear_axis]}, {})


def plot_groups(sources: Sequence[Source], request: FigureRequest) -> hv.Overlay:
    """Draw topics of a layer by group of documents: the requested ones, or the most popular topics."""
    chosen = _read_documents(sources[0], request)
    question = TrendQuestion(GROUPS, chosen.layer, request.column or "", by=request.by or "tokens")
    figure = chosen.documents.measure(question).by_group
    if figure is None:
        raise AssertionError("a question about groups has its answer")
    groups = figure.groups
    usual = max(1, min(_MOST_TOPICS, _MOST_ROWS // max(len(groups.names), 1)))
    nodes = _choose_nodes(chosen, request, usual)
    topics = []
    for node in nodes:
        place = chosen.hierarchy.place(node)
        numbers = (array[:, place].tolist() for array in (figure.shares.mean, figure.low, figure.high))
        rows = zip(groups.names, groups.conditions, *numbers, figure.shares.documents.tolist(), strict=True)
        bars = [GroupBar(*row) for row in rows]
        topics.append(TopicByGroup(chosen.hierarchy.cite(node), float(figure.everywhere[place]), bars))
    bands = _BANDS[request.interval or "documents"]
    return draw_groups(topics, label=chosen.label, bands=bands, width=request.width)


class _ChosenDocuments(NamedTuple):
    """What a figure is drawn from: a layer of topics, and the documents that are selected.

    ``label`` is that of the axis of shares, with the step of the topics if there are newer ones without shares.
    """

    hierarchy: Hierarchy
    label: str
    layer: int
    documents: RunDocuments


def _read_documents(source: Source, request: FigureRequest) -> _ChosenDocuments:
    """Read the documents that a request selects, and the newest topics with shares; by default the top layer."""
    hierarchy, _, _, moment = source.reader.placed_at(source.row, request.minibatch)
    layer = choose_layer(hierarchy, request, hierarchy.n_layers)
    corpus = corpora.get_run_corpus(source.db, source.row)
    documents = source.reader.documents(corpus, hierarchy, request.where, interval=request.interval or "documents")
    label = f"{_LABELS[request.by or 'tokens']}{f', {moment}' if moment else ''}"
    return _ChosenDocuments(hierarchy, label, layer, documents)


def _choose_nodes(chosen: _ChosenDocuments, request: FigureRequest, usual: int) -> list[Node]:
    """Return the requested topics, or the most popular ones as on the page Trends."""
    named = chosen.hierarchy.find_topics(request.topic)
    return named or choose_topics(chosen.hierarchy, chosen.layer)[: request.most or usual]


def spread_apart(places: Sequence[float], gap: float, highest: float) -> list[float]:
    """Return places for names that are at least ``gap`` apart, at most ``highest``, and near those wanted.

    >>> spread_apart([5.0, 4.0, 20.0], 8.0, 18.0)
    [10.0, 2.0, 18.0]
    """
    order = np.argsort(places, kind="stable").tolist()
    found = [places[number] for number in order]
    for number in range(1, len(found)):
        found[number] = max(found[number], found[number - 1] + gap)
    limit = highest
    for number in reversed(range(len(found))):
        found[number] = min(found[number], limit)
        limit = found[number] - gap
    return [place for _, place in sorted(zip(order, found, strict=True))]


def _find_highest(lines: Sequence[TimeLine]) -> float:
    """Return the largest share that a picture over time shows."""
    largest = max(float(np.nanmax(line.mean)) for line in lines)
    return min(max(float(np.nanmax(line.high)) for line in lines), _HEADROOM * largest)


def _list_stretches(known: NDArray[np.bool_]) -> list[NDArray[np.int64]]:
    """Return the stretches of neighbouring periods that have documents."""
    places = np.flatnonzero(known)
    return [each for each in np.split(places, np.flatnonzero(np.diff(places) > 1) + 1) if len(each)]


def _draw_line(line: TimeLine, place: int) -> list[Any]:
    """Return bands and curves, one for every stretch of periods with documents."""
    mpl, bokeh = choose_line_style(place)
    parts = []
    for stretch in _list_stretches(np.isfinite(line.mean)):
        middles = stretch + 0.5
        band = (middles, line.low[stretch], line.high[stretch])
        parts.append(_fill(band, place, 0.16))
        curve = hv.Curve((middles, line.mean[stretch]), "period", "share")
        parts.append(set_options(curve, mpl, bokeh))
        if len(stretch) == 1:
            ends = [(middles[0], line.low[stretch[0]], middles[0], line.high[stretch[0]])]
            parts.append(_draw_segments(ends, mpl["color"], 0.8))
            parts.append(_draw_points(middles, line.mean[stretch], mpl["color"]))
    return parts


def _fill(band: tuple[Any, Any, Any], place: int, alpha: float) -> Any:
    """Return the area between two curves over periods."""
    colour = COLOURS[place % len(COLOURS)]
    mpl = {"color": colour, "facecolor": colour, "alpha": alpha, "linewidth": 0}  # two names, each with a default
    bokeh = {"color": colour, "fill_alpha": alpha, "line_alpha": 0}
    return set_options(hv.Area(band, "period", ["low", "high"]), mpl, bokeh)


def _draw_title(title: str, place: int, end: tuple[float, float], at: tuple[float, float], gap: float) -> list[Any]:
    """Return the title of a topic at a place right of its curve, and a line from the end of the curve to it."""
    colour = COLOURS[place % len(COLOURS)]
    return [_draw_segments([(*end, at[0] - gap, at[1])], colour, 0.4), _draw_texts([(*at, title)], colour=colour)]


def _draw_segments(rows: Sequence[tuple[float, float, float, float]], colour: str, width: float) -> Any:
    mpl = {"color": colour, "linewidth": width}
    return set_options(hv.Segments(list(rows)), mpl, {"color": colour, "line_width": width / 0.75})


def _draw_points(x: Any, y: Any, colour: str) -> Any:
    return set_options(hv.Points((x, y)), {"color": colour, "s": 12}, {"color": colour, "size": 4.5})


def _draw_texts(
    rows: Sequence[tuple[float, float, str]],
    *,
    colour: str = INK,
    bold: bool = False,
    align: Literal["left", "right"] = "left",
) -> Any:
    weight = "bold" if bold else "normal"
    return set_options(
        hv.Labels(list(rows), ["x", "y"], "text"),
        {"size": TEXT, "color": colour, "weight": weight, "horizontalalignment": align, "verticalalignment": "center"},
        {
            "text_font_size": f"{TEXT:g}pt", "text_color": colour, "text_font_style": weight, "text_align": align,
            "text_baseline": "middle",
        },
    )  # fmt: skip


def _choose_dates(axis: TimeAxis, across: float) -> list[tuple[float, str]]:
    """Return the dates below a picture that is ``across`` points wide, as many as fit; of years, round ones."""
    names = [name.removeprefix("week of ") for name in axis.names]
    room = (max(map(measure_width, names)) + 6) / across * len(names)
    if axis.unit != "year":
        return [(place + 0.5, names[place]) for place in range(0, len(names), max(1, int(np.ceil(room))))]
    step = next(step for step in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 10_000) if step >= room)
    return [(place + 0.5, name) for place, name in enumerate(names) if int(name) % step == 0]


def _write_tick(tick: float, ticks: Sequence[float]) -> str:
    digits = 0 if all(abs(100 * each - round(100 * each)) < 1e-9 for each in ticks) else 1
    return f"{100 * tick:.{digits}f}%"
