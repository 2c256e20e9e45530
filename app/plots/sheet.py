"""A figure of boxes, lines and words, measured in points from its upper left corner."""

import warnings
from collections import defaultdict
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import holoviews as hv
import numpy as np
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextPath
from numpy.typing import NDArray

from app.plots.style import INK, PAPER, POINTS, TEXT, make_settings, set_options, set_size
from app.views.text import replace_unprintable

_PIXEL = 0.75  # points
Align = Literal["left", "center", "right"]


class _Look(NamedTuple):
    """The look that the texts of one element share."""

    size: float
    colour: str
    bold: bool
    align: Align


@lru_cache(maxsize=65536)
def measure_width(text: str, size: float = TEXT, *, bold: bool = False) -> float:
    """Return the width of a line of text, in points."""
    font = FontProperties(family=make_settings()["font.family"], weight="bold" if bold else "normal")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")  # saving the file reports this
        return float(
            TextPath((0, 0), f"{replace_unprintable(text)}.", size=size, prop=font, usetex=False).get_extents().x1
        )


def wrap(words: Sequence[str], width: float) -> list[str]:
    """Break words into lines of at most ``width`` points; a longer word is cut and ends in an ellipsis."""
    lines: list[str] = []
    for word in words:
        if lines and measure_width(f"{lines[-1]} {word}") <= width:
            lines[-1] = f"{lines[-1]} {word}"
        else:
            lines.append(cut(word, width))
    return lines


def cut(text: str, width: float, size: float = TEXT, *, bold: bool = False) -> str:
    """Shorten a text to at most ``width`` points."""
    if measure_width(text, size, bold=bold) <= width:
        return text
    length = len(text)
    while length > 1 and measure_width(f"{text[:length].rstrip()}…", size, bold=bold) > width:
        length -= 1
    return f"{text[:length].rstrip()}…"


class _Edge(NamedTuple):
    """The look that the lines or boxes of one element share."""

    colour: str
    width: float


class FigureSheet:
    """A sheet that collects boxes, lines and texts; `element` returns them as one HoloViews overlay.

    Parameters
    ----------
    width : float
        In points.
    """

    def __init__(self, width: float) -> None:
        self.width = width
        self._boxes: defaultdict[_Edge, list[tuple[float, float, float, float]]] = defaultdict(list)
        self._lines: defaultdict[_Edge, list[NDArray[np.float64]]] = defaultdict(list)
        self._words: defaultdict[_Look, list[tuple[float, float, str]]] = defaultdict(list)

    def box(self, left: float, top: float, width: float, height: float, colour: str, line: float) -> None:
        """Draw a white rectangle."""
        self._boxes[_Edge(colour, line)].append((left, -top - height, left + width, -top))

    def line(self, points: NDArray[np.float64], colour: str, width: float) -> None:
        """Draw a line through (n, 2) points."""
        self._lines[_Edge(colour, round(width, 1))].append(points * (1, -1))

    def bend(self, start: tuple[float, float], end: tuple[float, float], colour: str, width: float) -> None:
        """Draw a line that leaves one point and reaches the other horizontally."""
        along = np.linspace(0, 1, 24)
        ease = along**2 * (3 - 2 * along)
        x, y = start[0] + (end[0] - start[0]) * along, start[1] + (end[1] - start[1]) * ease
        self.line(np.column_stack([x, y]), colour, width)

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        size: float = TEXT,
        colour: str = INK,
        bold: bool = False,
        align: Align = "left",
    ) -> None:
        """Write a line whose middle is at height ``y``."""
        self._words[_Look(size, colour, bold, align)].append((x, -y, replace_unprintable(text)))

    def element(self, height: float) -> hv.Overlay:
        """Return everything on a sheet of that height: lines below boxes below texts."""
        parts = [
            *(_path(look, rows) for look, rows in self._lines.items()),
            *(_rectangles(look, rows) for look, rows in self._boxes.items()),
            *(_labels(look, rows) for look, rows in self._words.items()),
        ]
        bounds = {"xlim": (0.0, self.width), "ylim": (-height, 0.0), "xaxis": None, "yaxis": None, "padding": 0}
        overlay = set_size(hv.Overlay(parts), self.width / POINTS, height / POINTS, show_legend=False, **bounds)
        return set_options(overlay, {"fig_bounds": (0, 0, 1, 1)}, {"border": 0})


def _path(look: _Edge, lines: list[NDArray[np.float64]]) -> Any:
    mpl = {"linewidth": look.width, "color": look.colour}
    return set_options(hv.Path(lines), mpl, {"line_width": look.width / _PIXEL, "color": look.colour})


def _rectangles(look: _Edge, corners: list[tuple[float, float, float, float]]) -> Any:
    mpl = {"edgecolor": look.colour, "facecolor": PAPER, "linewidth": look.width}
    bokeh = {"line_color": look.colour, "fill_color": PAPER, "line_width": look.width / _PIXEL}
    return set_options(hv.Rectangles(corners), mpl, bokeh)


def _labels(look: _Look, rows: list[tuple[float, float, str]]) -> Any:
    weight = "bold" if look.bold else "normal"
    return set_options(
        hv.Labels(rows, ["x", "y"], "text"),
        {
            "size": look.size,
            "color": look.colour,
            "weight": weight,
            "horizontalalignment": look.align,
            "verticalalignment": "center",
        },
        {
            "text_font_size": f"{look.size:g}pt",
            "text_color": look.colour,
            "text_font_style": weight,
            "text_align": look.align,
            "text_baseline": "middle",
        },
    )
