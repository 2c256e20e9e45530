"""Step sizes that the inference gives each layer: Figure 2 of the DLDA paper."""

from collections.abc import Mapping, Sequence

import holoviews as hv
import numpy as np

from app.live.history import PointColumns
from app.plots.curves import charted, coordinates
from app.plots.read import Source
from app.plots.request import COLUMN, Axis, FigureError, Request
from app.plots.style import dressed, line

OPTIONS = ("x",)
RUNS = (1, 1)


def draw(layers: Mapping[str, PointColumns], x: Axis = "minibatches", *, width: float = COLUMN) -> hv.Overlay:
    """Draw the mean step size of every layer, on a logarithmic scale.

    Parameters
    ----------
    layers : mapping of str to Columns
        By what the legend calls them.
    x : {"minibatches", "documents", "seconds"}
    width : float
        Inches.
    """
    parts = []
    for place, (name, points) in enumerate(layers.items()):
        shown = points.take(np.flatnonzero(points.value > 0))
        curve = hv.Curve((coordinates(shown, x), shown.value), x, "value", label=name)
        parts.append(dressed(curve, *line(place)))
    return charted(parts, x, "mean step size (no unit)", width, legend=True, logy=True)


def figure(sources: Sequence[Source], request: Request) -> hv.Overlay:
    """Draw the step sizes of a run."""
    (source,) = sources
    layers = source.history.layers("step_size_mean")
    if not layers:
        how = source.row.inference
        raise FigureError(f"run {source.number} has no step sizes: {how} makes none, or the run has not begun")
    top = max(len(source.row.layers), len(source.row.settings.get("layers", ())))  # some layers may yet come
    names = [f"layer {layer}" if layer <= top else "weights r" for layer in layers]
    curves = [source.curve("step_size_mean", layer) for layer in layers]
    return draw(dict(zip(names, curves, strict=True)), request.x or "minibatches", width=request.width)
