"""Figures of curves for print: perplexity (Figure 3 of the DLDA paper) and step sizes (Figure 2)."""

import math
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

import holoviews as hv
import numpy as np
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter
from numpy.typing import NDArray

from topiary.app.analysis.errors import ReadError
from topiary.app.jobs.plan import find_part
from topiary.app.live.cache import PointColumns
from topiary.app.names import Axis
from topiary.app.plots.read import Source, name_source
from topiary.app.plots.request import COLUMN, FigureRequest
from topiary.app.plots.style import choose_line_style, set_options, set_size

_LABELS: dict[Axis, str] = {
    "documents": "documents seen",
    "seconds": "training time (s)",
    "minibatches": "mini-batches",
}
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_SHAPE = 0.66  # height / width of a chart
_TALLEST = 3.0  # inches, the largest height of a chart


def clean_label(name: str) -> str:
    """Replace the characters without a name in Unicode, on which HoloViews fails, in a label."""
    return "".join(letter if unicodedata.name(letter, "") else "\ufffd" for letter in name)


def select_coordinates(points: PointColumns, x: Axis) -> NDArray[np.float64]:
    """Return the coordinates of points on the x-axis ``x``."""
    values: NDArray[np.float64] = getattr(points, x)
    return values


def draw_chart(parts: Sequence[Any], x: Axis, y: str, width: float, *, legend: bool, logy: bool = False) -> hv.Overlay:
    """Put curves on common axes; ``y`` is the label of the y-axis, ``width`` is in inches."""
    height = min(_SHAPE * width, _TALLEST)
    labels = {"xlabel": _LABELS[x], "ylabel": y, "logy": logy, "show_legend": legend}
    overlay = set_size(hv.Overlay(list(parts)), width, height, **labels)
    mpl = {"legend_position": "inner", "hooks": [_format_axes], "show_grid": False}
    return set_options(overlay, mpl, {"legend_position": "top_right", "fontscale": 0.9})


def _format_axes(plot: Any, _element: Any) -> None:
    """Write large numbers with commas, limit the number of ticks, and fit everything into the figure."""
    axes = plot.handles["axis"]
    axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    if axes.get_yscale() == "linear":
        axes.yaxis.set_major_locator(MaxNLocator(5))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}"))
    else:
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 3)))
        axes.yaxis.set_major_formatter(FuncFormatter(_format_power))
        axes.yaxis.set_minor_formatter(NullFormatter())
    plot.handles["fig"].set_layout_engine("constrained", w_pad=0.02, h_pad=0.02)


def _format_power(value: float, _: int | None = None) -> str:
    """Format a number as a power of ten in Unicode; TeX is off, because words of a corpus may contain dollar signs."""
    power = math.floor(math.log10(value) + 1e-9)
    times = round(value / 10.0**power)
    return f"{times}×10"[0 if times > 1 else 2 :] + str(power).translate(_SUPERSCRIPTS)


_MEASURES = {
    "point_perplexity": "point perplexity per held-out word",
    "heldout_loglik": "log-likelihood per held-out cell (nats)",
}


def draw_perplexity(
    curves: Mapping[str, PointColumns],
    x: Axis = "documents",
    *,
    measure: str = _MEASURES["point_perplexity"],
    width: float = COLUMN,
) -> hv.Overlay:
    """Draw a curve for each run.

    Parameters
    ----------
    curves : mapping of str to PointColumns
        Curves by their names in the legend.
        x : {"documents", "seconds", "minibatches"}
    measure : str
        Label of the y-axis: the measure with its unit.
    width : float
        Inches.
    """
    parts = []
    for place, (name, points) in enumerate(curves.items()):
        finite = points.take(np.flatnonzero(np.isfinite(points.value)))
        curve = hv.Curve((select_coordinates(finite, x), finite.value), x, "value", label=clean_label(name))
        parts.append(set_options(curve, *choose_line_style(place)))
    return draw_chart(parts, x, measure, width, legend=len(parts) > 1)


def plot_perplexity(sources: Sequence[Source], request: FigureRequest) -> hv.Overlay:
    """Draw the perplexity of runs, or (if there is none) the log-likelihood per held-out cell."""
    data = {name: [source.curve(name) for source in sources] for name in _MEASURES}
    measure = next((name for name, curves in data.items() if any(len(points.value) for points in curves)), "")
    lacking = [
        source.number for source, points in zip(sources, data.get(measure, ()), strict=False) if not len(points[3])
    ]
    if not measure or lacking:
        number = lacking[0] if lacking else sources[0].number
        other = " of this measure (another one has perplexities)" if measure == "point_perplexity" and lacking else ""
        raise ReadError(f"run {number} has no point{other} yet, so there is no curve to draw")
    curves = dict(zip(_make_distinct_names(sources), data[measure], strict=True))
    parts = {find_part(source.row) for source in sources}
    part = parts.pop() if len(parts) == 1 else "held-out"
    label = _MEASURES[measure].replace("held-out", part)
    return draw_perplexity(curves, request.x or "documents", measure=label, width=request.width)


def _make_distinct_names(sources: Sequence[Source]) -> list[str]:
    """Return distinct names of runs for the legend."""
    names = [name_source(source) for source in sources]
    return [
        f"{name} ({source.number})" if names.count(name) > 1 else name
        for name, source in zip(names, sources, strict=True)
    ]


def draw_steps(layers: Mapping[str, PointColumns], x: Axis = "minibatches", *, width: float = COLUMN) -> hv.Overlay:
    """Draw the mean step size of each layer on a logarithmic scale.

    Parameters
    ----------
    layers : mapping of str to PointColumns
        Curves by their names in the legend.
        x : {"minibatches", "documents", "seconds"}
    width : float
        Inches.
    """
    parts = []
    for place, (name, points) in enumerate(layers.items()):
        positive = points.take(np.flatnonzero(points.value > 0))
        curve = hv.Curve((select_coordinates(positive, x), positive.value), x, "value", label=name)
        parts.append(set_options(curve, *choose_line_style(place)))
    return draw_chart(parts, x, "mean step size (no unit)", width, legend=True, logy=True)


def plot_steps(sources: Sequence[Source], request: FigureRequest) -> hv.Overlay:
    """Draw the mean step sizes of a run's layers."""
    (source,) = sources
    layers = source.history.layers("step_size_mean")
    if not layers:
        inference = source.row.inference
        raise ReadError(f"run {source.number} has no step sizes: {inference} makes none, or the run has not begun")
    top = max(len(source.row.layers), len(source.row.settings.get("layers", ())))  # layers may be added later
    names = [f"layer {layer}" if layer <= top else "weights r" for layer in layers]
    curves = [source.curve("step_size_mean", layer) for layer in layers]
    return draw_steps(dict(zip(names, curves, strict=True)), request.x or "minibatches", width=request.width)
