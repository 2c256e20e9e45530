"""Perplexity of held-out words while runs train, against time or documents: Figure 3 of the DLDA paper."""

from collections.abc import Mapping, Sequence

import holoviews as hv
import numpy as np

from app.live.history import PointColumns
from app.plots.curves import charted, coordinates, legend_label
from app.plots.read import Source, title
from app.plots.request import COLUMN, Axis, FigureError, Request
from app.plots.style import dressed, line

OPTIONS = ("x",)
RUNS = (1, 6)
_MEASURES = {
    "point_perplexity": "point perplexity per held-out word",
    "heldout_loglik": "log-likelihood per held-out cell (nats)",
}


def draw(
    curves: Mapping[str, PointColumns],
    x: Axis = "documents",
    *,
    measure: str = _MEASURES["point_perplexity"],
    width: float = COLUMN,
) -> hv.Overlay:
    """Draw one curve for every run.

    Parameters
    ----------
    curves : mapping of str to Columns
        By what the legend calls them.
    x : {"documents", "seconds", "minibatches"}
    measure : str
        What is measured, with its unit.
    width : float
        Inches.
    """
    parts = []
    for place, (name, points) in enumerate(curves.items()):
        seen = points.take(np.flatnonzero(np.isfinite(points.value)))
        curve = hv.Curve((coordinates(seen, x), seen.value), x, "value", label=legend_label(name))
        parts.append(dressed(curve, *line(place)))
    return charted(parts, x, measure, width, legend=len(parts) > 1)


def figure(sources: Sequence[Source], request: Request) -> hv.Overlay:
    """Draw the live curves of runs."""
    known = {name: [source.curve(name) for source in sources] for name in _MEASURES}
    measure = next((name for name, curves in known.items() if any(len(each.value) for each in curves)), "")
    lacking = [source.number for source, each in zip(sources, known.get(measure, ()), strict=False) if not len(each[3])]
    if not measure or lacking:
        number = lacking[0] if lacking else sources[0].number
        other = " of this measure (another one has perplexities)" if measure == "point_perplexity" and lacking else ""
        raise FigureError(f"run {number} has no point{other} yet, so there is no curve to draw")
    curves = dict(zip(_named(sources), known[measure], strict=True))
    return draw(curves, request.x or "documents", measure=_MEASURES[measure], width=request.width)


def _named(sources: Sequence[Source]) -> list[str]:
    """Names of runs for the legend, no two the same."""
    names = [title(source) for source in sources]
    return [
        f"{name} ({source.number})" if names.count(name) > 1 else name
        for name, source in zip(names, sources, strict=True)
    ]
