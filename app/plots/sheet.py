"""Figures made of boxes, lines and words, with coordinates in points from the upper left corner."""

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

from topiary.app.plots.style import INK, PAPER, POINTS, TEXT, make_settings, set_options, set_size
from topiary.app.views.text import replace_unprintable

_PIXEL = 0.75  # points in a pixel
Align = Literal["left", "center", "right"]


class _TextStyle(NamedTuple):
    """The style that the texts of one element share; ``size`` is in points."""

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
    """Break words into lines of at most ``width`` points; cut longer words and end them with an ellipsis."""
    lines: list[str] = []
    for word in words:
        if lines and measure_width(f"{lines[-1]} {word}") <= width:
            lines[-1] = f"{lines[-1]} {word}"
        else:
            lines.append(cut(word, width))
    return lines


def cut(text: str, width: float, size: float = TEXT, *, bold: bool = False) -> str:
    """Shorten a text to at most ``width`` points, with an ellipsis at its end."""
    if measure_width(text, size, bold=bold) <= width:
        return text
    length = len(text)
    while length > 1 and measure_width(f"{text[:length].rstrip()}…", size, bold=bold) > width:
        length -= 1
    return f"{text[:length].rstrip()}…"


class _LineStyle(NamedTuple):
    """The style that the lines or boxes of one element share; ``width`` is in points."""

    colour: str
    width: float


class FigureSheet:
    """A sheet that collects boxes, lines and texts; `element` turns them into a HoloViews overlay.

    Parameters
    ----------
    width : float
        Width in points.
    """

    def __init__(self, width: float) -> None:
        self.width = width
        self._boxes: defaultdict[_LineStyle, list[tuple[float, float, float, float]]] = defaultdict(list)
        self._lines: defaultdict[_LineStyle, list[NDArray[np.float64]]] = defaultdict(list)
        self._words: defaultdict[_TextStyle, list[tuple[float, float, str]]] = defaultdict(list)

    def box(self, left: float, top: float, width: float, height: float, colour: str, line: float) -> None:
        """Draw a white rectangle; ``line`` is the width of its border."""
        self._boxes[_LineStyle(colour, line)].append((left, -top - height, left + width, -top))

    def line(self, points: NDArray[np.float64], colour: str, width: float) -> None:
        """Draw a line through (n, 2) points."""
        self._lines[_LineStyle(colour, round(width, 1))].append(points * (1, -1))

    def bend(self, start: tuple[float, float], end: tuple[float, float], colour: str, width: float) -> None:
        """Draw a curve between two points that is horizontal at both ends."""
        fractions = np.linspace(0, 1, 24)
        eased = fractions**2 * (3 - 2 * fractions)
        x, y = start[0] + (end[0] - start[0]) * fractions, start[1] + (end[1] - start[1]) * eased
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
        """Write a line of text whose vertical centre is at ``y``."""
        self._words[_TextStyle(size, colour, bold, align)].append((x, -y, replace_unprintable(text)))

    def element(self, height: float) -> hv.Overlay:
        """Return the sheet, ``height`` points tall: texts drawn over boxes, and boxes over lines."""
        parts = [
            *(_make_path(style, rows) for style, rows in self._lines.items()),
            *(_make_rectangles(style, rows) for style, rows in self._boxes.items()),
            *(_make_labels(style, rows) for style, rows in self._words.items()),
        ]
        bounds = {"xlim": (0.0, self.width), "ylim": (-height, 0.0), "xaxis": None, "yaxis": None, "padding": 0}
        overlay = set_size(hv.Overlay(parts), self.width / POINTS, height / POINTS, show_legend=False, **bounds)
        return set_options(overlay, {"fig_bounds": (0, 0, 1, 1)}, {"border": 0})


def _make_path(style: _LineStyle, lines: list[NDArray[np.float64]]) -> Any:
    mpl = {"linewidth": style.width, "color": style.colour}
    return set_options(hv.Path(lines), mpl, {"line_width": style.width / _PIXEL, "color": style.colour})


def _make_rectangles(style: _LineStyle, corners: list[tuple[float, float, float, float]]) -> Any:
    mpl = {"edgecolor": style.colour, "facecolor": PAPER, "linewidth": style.width}
    bokeh = {"line_color": style.colour, "fill_color": PAPER, "line_width": style.width / _PIXEL}
    return set_options(hv.Rectangles(corners), mpl, bokeh)


def _make_labels(style: _TextStyle, rows: list[tuple[float, float, str]]) -> Any:
    weight = "bold" if style.bold else "normal"
    return set_options(
        hv.Labels(rows, ["x", "y"], "text"),
        {
            "size": style.size,
            "color": style.colour,
            "weight": weight,
            "horizontalalignment": style.align,
            "verticalalignment": "center",
        },
        {
            "text_font_size": f"{style.size:g}pt",
            "text_color": style.colour,
            "text_font_style": weight,
            "text_align": style.align,
            "text_baseline": "middle",
        },
    )
