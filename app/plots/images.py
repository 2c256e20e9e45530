"""Figures of cells: topics of images as a grid, and the confusion of classes."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import holoviews as hv
import numpy as np
from numpy.typing import NDArray

from app.analysis.predictions import ClassError
from app.analysis.topic_images import draw_atom, has_pictures
from app.plots.read import Source, choose_topics
from app.plots.request import COLUMN, FigureError, FigureRequest
from app.plots.sheet import cut, measure_width
from app.plots.style import INK, POINTS, SMALL, TEXT, set_options, set_size

_IMAGE_USUAL, _COLUMNS, _IMAGE_GAP = 100, 10, 2  # topics in all and in a row, pixels between two


def draw_images(images: NDArray[Any], *, width: float = COLUMN) -> hv.Image:
    """Draw images in rows.

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
    sheet = np.full((down * (rows + _IMAGE_GAP) - _IMAGE_GAP, across * (columns + _IMAGE_GAP) - _IMAGE_GAP), np.nan)
    for place, image in enumerate(images):
        top, left = (rows + _IMAGE_GAP) * (place // across), (columns + _IMAGE_GAP) * (place % across)
        most = float(image.max())
        sheet[top : top + rows, left : left + columns] = image / most if most > 0 else image
    height, breadth = sheet.shape
    picture = hv.Image(sheet, bounds=(0, 0, breadth, height), vdims="weight")
    bare: dict[str, Any] = {"xaxis": None, "yaxis": None, "cmap": "gray_r", "clim": (0, 1), "colorbar": False}
    picture = set_size(picture, width, width * height / breadth, **bare)
    return set_options(picture, {"interpolation": "none", "fig_bounds": (0, 0, 1, 1)}, {"border": 0})


def plot_images(sources: Sequence[Source], request: FigureRequest) -> hv.Image:
    """Draw topics of a layer: those of the wanted ranks, or the most popular ones."""
    hierarchy = sources[0].hierarchy(request.minibatch)
    if not has_pictures(hierarchy):
        raise FigureError(f"the corpus of run {hierarchy.run} is not one of images; use the figure topics for words")
    layer = request.layer or 1
    nodes = choose_topics(hierarchy, layer, request, _IMAGE_USUAL)
    return draw_images(np.stack([draw_atom(hierarchy, node) for node in nodes]), width=request.width)


_NAME = 78.0  # points that the name of a class may take
_MOST_CLASSES = 60
_AXES = ["predicted", "true"]
_NAMED = 8  # classes: of more the columns have numbers only
_SHADES: dict[str, Any] = {"cmap": "Blues", "clim": (0, 1), "colorbar": False}
_PART, _LEAST_SIZE = 0.62, 3.5  # size of a number: as part of its cell, and the least in points
_WHITE_FROM = 0.55  # of a row: from here on white is easier to read than black
_MARGIN, _EDGE = 17.0, 3.0  # points: for the label of an axis, and on the other sides
_TICK = 0.72  # size of the number of a column, as part of its cell


def draw_confusion(names: Sequence[str], counts: NDArray[Any], *, width: float = COLUMN) -> hv.Overlay:
    """Draw a confusion matrix: every cell is shaded by its part of the row, which it also shows in percent.

    Parameters
    ----------
    names : sequence of str
        The C classes.
    counts : (C, C) array
        Documents of the class of the row that are predicted as that of the column.
    width : float
        Inches.
    """
    places = np.arange(len(names))
    parts = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    shorter = [cut(name, _NAME) for name in names]
    numbered = len(names) > _NAMED
    rows = [f"{name}  {place}" for place, name in enumerate(shorter, start=1)] if numbered else shorter
    columns = [str(place + 1) for place in places] if numbered else shorter
    beside, beneath = max(map(measure_width, rows)), TEXT if numbered else max(map(measure_width, columns))
    cell = (POINTS * width - beside - _MARGIN - _EDGE) / len(names)
    image = hv.Image((places, places, parts), _AXES, "part")
    image = set_options(image, {"interpolation": "none"} | _SHADES, _SHADES)
    axes: dict[str, Any] = {
        "xticks": list(enumerate(columns)),
        "yticks": list(enumerate(rows)),
        "xlabel": "predicted class (cells: % of row)",
        "ylabel": "true class",
        "invert_yaxis": True,
        "xrotation": 0 if numbered else 90,
    }
    overlay = hv.Overlay([image, *_numbers(parts, min(SMALL, _PART * cell))])
    side = cell * len(names)
    height = side + beneath + _MARGIN + _EDGE
    overlay = set_size(overlay, width, height / POINTS, show_legend=False, **axes)
    ticks = partial(_finish, rows=min(TEXT, cell), columns=min(TEXT, _TICK * cell) if numbered else TEXT)
    bounds = _inside(side, POINTS * width, height)
    return set_options(overlay, {"hooks": [ticks], "show_frame": True, "fig_bounds": bounds}, {})


def plot_confusion(sources: Sequence[Source], request: FigureRequest) -> hv.Overlay:
    """Draw the confusion of a run's predictions of the test documents."""
    try:
        result = sources[0].predictions(request.minibatch)
    except ClassError as error:
        raise FigureError(str(error)) from error
    if len(result.names) > _MOST_CLASSES:
        many = f"{len(result.names)} classes are too many to draw"
        raise FigureError(f"{many}; topiary classify --json has the count of every cell")
    return draw_confusion(result.names, result.scores.confusion, width=request.width)


def _numbers(parts: NDArray[Any], size: float) -> list[Any]:
    """Write percentages from 1 on, black on light and white on dark; none where they would be too small to read."""
    if size < _LEAST_SIZE:
        return []
    whole = np.round(100 * parts).astype(int)
    looks = ((INK, parts < _WHITE_FROM), ("#ffffff", parts >= _WHITE_FROM))
    return [
        set_options(
            hv.Labels([(k, j, str(whole[j, k])) for j, k in np.argwhere(mask & (whole > 0)).tolist()], _AXES, "text"),
            {"size": size, "color": colour},
            {"text_font_size": f"{size:.2g}pt", "text_color": colour},
        )
        for colour, mask in looks
    ]


def _inside(side: float, width: float, height: float) -> tuple[float, float, float, float]:
    """Return left, bottom, right and top of the square of cells, as parts of the figure."""
    right, top = 1 - _EDGE / width, 1 - _EDGE / height
    return right - side / width, top - side / height, right, top


def _finish(plot: Any, _element: Any, *, rows: float, columns: float) -> None:
    """Put names near the cells, in sizes in which they do not touch."""
    axes = plot.handles["axis"]
    axes.tick_params(length=0, pad=2)
    axes.tick_params(axis="y", labelsize=rows)
    axes.tick_params(axis="x", labelsize=columns)
