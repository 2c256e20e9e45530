"""What figures of curves share: the x-axis, labels with units, the size."""

import math
import unicodedata
from collections.abc import Sequence
from typing import Any

import holoviews as hv
import numpy as np
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter
from numpy.typing import NDArray

from app.live.history import PointColumns
from app.plots.request import Axis
from app.plots.style import dressed, sized

_LABELS: dict[Axis, str] = {
    "documents": "documents seen",
    "seconds": "training time (s)",
    "minibatches": "mini-batches",
}
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_SHAPE = 0.66  # height of a chart over its width
_TALLEST = 3.0  # inches


def legend_label(name: str) -> str:
    """A name that HoloViews takes for a label: it fails on characters without a name in Unicode."""
    return "".join(letter if unicodedata.name(letter, "") else "\ufffd" for letter in name)


def coordinates(points: PointColumns, x: Axis) -> NDArray[np.float64]:
    """Where points lie on that axis."""
    found: NDArray[np.float64] = getattr(points, x)
    return found


def charted(parts: Sequence[Any], x: Axis, y: str, width: float, *, legend: bool, logy: bool = False) -> hv.Overlay:
    """Put curves on common axes, in the size of a figure; ``y`` is the label of the other axis."""
    height = min(_SHAPE * width, _TALLEST)
    labels = {"xlabel": _LABELS[x], "ylabel": y, "logy": logy, "show_legend": legend}
    overlay = sized(hv.Overlay(list(parts)), width, height, **labels)
    mpl = {"legend_position": "inner", "hooks": [_finish], "show_grid": False}
    return dressed(overlay, mpl, {"legend_position": "top_right", "fontscale": 0.9})


def _finish(plot: Any, _element: Any) -> None:
    """Large numbers with commas, few ticks, and everything inside the figure."""
    axes = plot.handles["axis"]
    axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    if axes.get_yscale() == "linear":
        axes.yaxis.set_major_locator(MaxNLocator(5))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}"))
    else:
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 3)))
        axes.yaxis.set_major_formatter(FuncFormatter(_power))
        axes.yaxis.set_minor_formatter(NullFormatter())
    plot.handles["fig"].set_layout_engine("constrained", w_pad=0.02, h_pad=0.02)


def _power(value: float, _: int | None = None) -> str:
    """Write a power of ten in plain letters: words of a corpus may hold dollar signs, so no mathematics is read."""
    power = math.floor(math.log10(value) + 1e-9)
    times = round(value / 10.0**power)
    return f"{times}×10"[0 if times > 1 else 2 :] + str(power).translate(_RAISED)
