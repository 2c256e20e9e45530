"""Figures made of cells: a grid of image topics, and the confusion matrix of classes."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import holoviews as hv
import numpy as np
from numpy.typing import NDArray

from topiary.app.analysis.errors import ReadError
from topiary.app.analysis.topic_images import draw_atom, has_pictures
from topiary.app.plots.read import Source, choose_layer, choose_topics
from topiary.app.plots.request import COLUMN, FigureRequest
from topiary.app.plots.sheet import cut, measure_width
from topiary.app.plots.style import INK, POINTS, SMALL, TEXT, set_options, set_size

_IMAGE_USUAL, _COLUMNS, _IMAGE_GAP = 100, 10, 2  # topics in all by default, topics in a row, pixels between two


def draw_images(images: NDArray[Any], *, width: float = COLUMN) -> hv.Image:
    """Draw images in a grid.

    Parameters
    ----------
    images : (n, rows, columns) array
        The images; the largest weight of each is drawn black.
    width : float
        Inches.
    """
    n_across = min(_COLUMNS, len(images))
    n_down = -(-len(images) // n_across)
    _, rows, columns = images.shape
    sheet = np.full((n_down * (rows + _IMAGE_GAP) - _IMAGE_GAP, n_across * (columns + _IMAGE_GAP) - _IMAGE_GAP), np.nan)
    for index, image in enumerate(images):
        top, left = (rows + _IMAGE_GAP) * (index // n_across), (columns + _IMAGE_GAP) * (index % n_across)
        largest = float(image.max())
        sheet[top : top + rows, left : left + columns] = image / largest if largest > 0 else image
    height, sheet_width = sheet.shape
    picture = hv.Image(sheet, bounds=(0, 0, sheet_width, height), vdims="weight")
    options: dict[str, Any] = {"xaxis": None, "yaxis": None, "cmap": "gray_r", "clim": (0, 1), "colorbar": False}
    picture = set_size(picture, width, width * height / sheet_width, **options)
    return set_options(picture, {"interpolation": "none", "fig_bounds": (0, 0, 1, 1)}, {"border": 0})


def plot_images(sources: Sequence[Source], request: FigureRequest) -> hv.Image:
    """Draw topics of a layer as images: the requested ones, or the most popular topics."""
    hierarchy = sources[0].hierarchy(request.minibatch)
    if not has_pictures(hierarchy):
        raise ReadError(f"the corpus of run {hierarchy.run} is not one of images; use the figure topics for words")
    layer = choose_layer(hierarchy, request, 1)
    nodes = choose_topics(hierarchy, layer, request, _IMAGE_USUAL)
    return draw_images(np.stack([draw_atom(hierarchy, node) for node in nodes]), width=request.width)


_NAME_WIDTH = 78.0  # points, the largest width of a class's name
_MOST_CLASSES = 60
_AXES = ["predicted", "true"]
_MOST_NAMED = 8  # classes; if there are more, columns have numbers instead of names
_SHADING: dict[str, Any] = {"cmap": "Blues", "clim": (0, 1), "colorbar": False}
_NUMBER_SHARE, _LEAST_SIZE = 0.62, 3.5  # size of a percentage: share of its cell, and smallest in points
_WHITE_FROM = 0.55  # share of a row from which white is easier to read than black
_MARGIN, _EDGE = 17.0, 3.0  # points: margin with the label of an axis, margin on the other sides
_TICK_SHARE = 0.72  # size of a column's number, as a share of its cell


def draw_confusion(names: Sequence[str], counts: NDArray[Any], *, width: float = COLUMN) -> hv.Overlay:
    """Draw a confusion matrix; each cell is shaded by its share of the row, which it also shows in percent.

    Parameters
    ----------
    names : sequence of str
        Names of the C classes.
    counts : (C, C) array
        Numbers of documents by true class (row) and predicted class (column).
    width : float
        Inches.
    """
    indices = np.arange(len(names))
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    short_names = [cut(name, _NAME_WIDTH) for name in names]
    has_numbers = len(names) > _MOST_NAMED
    rows = [f"{name}  {index}" for index, name in enumerate(short_names, start=1)] if has_numbers else short_names
    columns = [str(index + 1) for index in indices] if has_numbers else short_names
    row_names_width, column_names_height = (
        max(map(measure_width, rows)),
        TEXT if has_numbers else max(map(measure_width, columns)),
    )
    cell = (POINTS * width - row_names_width - _MARGIN - _EDGE) / len(names)
    image = hv.Image((indices, indices, shares), _AXES, "part")
    image = set_options(image, {"interpolation": "none"} | _SHADING, _SHADING)
    axes: dict[str, Any] = {
        "xticks": list(enumerate(columns)),
        "yticks": list(enumerate(rows)),
        "xlabel": "predicted class (cells: % of row)",
        "ylabel": "true class",
        "invert_yaxis": True,
        "xrotation": 0 if has_numbers else 90,
    }
    overlay = hv.Overlay([image, *_draw_percentages(shares, min(SMALL, _NUMBER_SHARE * cell))])
    side = cell * len(names)
    height = side + column_names_height + _MARGIN + _EDGE
    overlay = set_size(overlay, width, height / POINTS, show_legend=False, **axes)
    format_ticks = partial(
        _format_ticks, rows=min(TEXT, cell), columns=min(TEXT, _TICK_SHARE * cell) if has_numbers else TEXT
    )
    bounds = _find_bounds(side, POINTS * width, height)
    return set_options(overlay, {"hooks": [format_ticks], "show_frame": True, "fig_bounds": bounds}, {})


def plot_confusion(sources: Sequence[Source], request: FigureRequest) -> hv.Overlay:
    """Draw the confusion matrix of a run's predictions for the test documents."""
    result = sources[0].predictions(request.minibatch)
    if len(result.names) > _MOST_CLASSES:
        many = f"{len(result.names)} classes are too many to draw"
        raise ReadError(f"{many}; topiary classify --json has the count of every cell")
    return draw_confusion(result.names, result.scores.confusion, width=request.width)


def _draw_percentages(shares: NDArray[Any], size: float) -> list[Any]:
    """Return labels with percentages of at least 1, black on light and white on dark; empty if too small to read."""
    if size < _LEAST_SIZE:
        return []
    percentages = np.round(100 * shares).astype(int)
    colours = ((INK, shares < _WHITE_FROM), ("#ffffff", shares >= _WHITE_FROM))
    return [
        set_options(
            hv.Labels(
                [(k, j, str(percentages[j, k])) for j, k in np.argwhere(mask & (percentages > 0)).tolist()],
                _AXES,
                "text",
            ),
            {"size": size, "color": colour},
            {"text_font_size": f"{size:.2g}pt", "text_color": colour},
        )
        for colour, mask in colours
    ]


def _find_bounds(side: float, width: float, height: float) -> tuple[float, float, float, float]:
    """Return left, bottom, right and top of the square of cells, as shares of the figure."""
    right, top = 1 - _EDGE / width, 1 - _EDGE / height
    return right - side / width, top - side / height, right, top


def _format_ticks(plot: Any, _element: Any, *, rows: float, columns: float) -> None:
    """Place names close to the cells, in sizes (points) in which they do not overlap."""
    axes = plot.handles["axis"]
    axes.tick_params(length=0, pad=2)
    axes.tick_params(axis="y", labelsize=rows)
    axes.tick_params(axis="x", labelsize=columns)
