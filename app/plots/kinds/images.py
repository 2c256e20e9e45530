"""Topics of images as a grid of images, the most popular first: dark is heavy."""

from collections.abc import Sequence
from typing import Any

import holoviews as hv
import numpy as np
from numpy.typing import NDArray

from app.analysis.topic_images import atom, has_pictures
from app.plots.read import Source
from app.plots.request import COLUMN, FigureError, Request
from app.plots.style import dressed, sized

OPTIONS = ("layer", "node", "minibatch", "most")
RUNS = (1, 1)
_USUAL, _COLUMNS, _GAP = 100, 10, 2  # topics, of a row, and pixels between two


def draw(images: NDArray[Any], *, width: float = COLUMN) -> hv.Image:
    """Lay images out in rows.

    Parameters
    ----------
    images : (n, rows, columns) array
        The largest weight of each is black.
    width : float
        Inches.
    """
    across = min(_COLUMNS, len(images))
    down = -(-len(images) // across)
    _, rows, columns = images.shape
    sheet = np.full((down * (rows + _GAP) - _GAP, across * (columns + _GAP) - _GAP), np.nan)
    for place, image in enumerate(images):
        top, left = (rows + _GAP) * (place // across), (columns + _GAP) * (place % across)
        most = float(image.max())
        sheet[top : top + rows, left : left + columns] = image / most if most > 0 else image
    height, breadth = sheet.shape
    picture = hv.Image(sheet, bounds=(0, 0, breadth, height), vdims="weight")
    bare: dict[str, Any] = {"xaxis": None, "yaxis": None, "cmap": "gray_r", "clim": (0, 1), "colorbar": False}
    picture = sized(picture, width, width * height / breadth, **bare)
    return dressed(picture, {"interpolation": "none", "fig_bounds": (0, 0, 1, 1)}, {"border": 0})


def figure(sources: Sequence[Source], request: Request) -> hv.Image:
    """Lay out topics of a layer: those of the wanted ranks, or the most popular ones."""
    hierarchy = sources[0].hierarchy(request.minibatch)
    if not has_pictures(hierarchy):
        raise FigureError(f"the corpus of run {hierarchy.run} is not one of images; use the figure topics for words")
    layer = request.layer or 1
    hierarchy.at_rank(layer, 1)
    nodes = [hierarchy.at_rank(layer, rank) for rank in request.node] or hierarchy.nodes(layer)[
        : request.most or _USUAL
    ]
    return draw(np.stack([atom(hierarchy, node) for node in nodes]), width=request.width)
