"""The style of figures for print (one font, few colours, sizes in points), for both backends, and their files."""

import warnings
from collections import defaultdict
from collections.abc import Sequence
from functools import cache, lru_cache
from io import BytesIO
from pathlib import Path
from typing import Any, Literal, NamedTuple

import holoviews as hv
import holoviews.plotting.mpl  # registers the backend that saves files
import matplotlib as mpl
import numpy as np
from matplotlib import font_manager, pyplot
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextPath
from numpy.typing import NDArray

from topiary.app.analysis.errors import ReadError
from topiary.app.views.text import replace_unprintable
from topiary.app.views.theme import LIGHT

TEXT, SMALL = 7.0, 6.0  # points, the sizes of texts
INK, MUTED, PAPER, RULE = LIGHT.ink, LIGHT.muted, LIGHT.paper, "#c9ced3"
POINTS = 72.0  # in an inch
COLOURS = ("#0069a8", "#d55e00", "#00785a", "#a84a86", "#22282e", "#b07d00")  # Okabe and Ito's hues on white paper
DASHES = ("solid", "dashed", "dashdot", "dotted", (0, (6, 1.5)), (0, (3, 1, 1, 1, 1, 1)))
_BOKEH_DASHES = ("solid", "dashed", "dotdash", "dotted", [8, 2], [4, 1, 1, 1, 1, 1])
_SHIPPED = "DejaVu Sans"  # part of matplotlib, so that a figure is the same on every machine
_OTHER_SCRIPTS = ("Noto Sans", "Arial Unicode", "Hiragino Sans", "Microsoft YaHei", "Yu Gothic", "Malgun Gothic")


@cache
def make_settings() -> Any:
    """Return the settings of matplotlib: TrueType fonts in PDF, text as text in SVG, thin lines."""
    installed = {font.name for font in font_manager.fontManager.ttflist}
    return {
        "pdf.fonttype": 42,
        "ps.fonttype": 42,
        "svg.fonttype": "none",
        "svg.hashsalt": "topiary",  # the same figure gives the same file
        "font.family": [_SHIPPED, *sorted(name for name in installed if name.startswith(_OTHER_SCRIPTS))],
        "font.size": TEXT,
        "axes.linewidth": 0.6,
        "axes.unicode_minus": True,
        "axes.edgecolor": MUTED,
        "axes.labelcolor": INK,
        "axes.labelsize": TEXT,
        "axes.labelpad": 2.5,
        "text.color": INK,
        "text.parse_math": False,  # words of a corpus may contain dollar signs
        "xtick.labelsize": TEXT,
        "ytick.labelsize": TEXT,
        "xtick.color": MUTED,
        "ytick.color": MUTED,
        "xtick.labelcolor": INK,
        "ytick.labelcolor": INK,
        "xtick.major.width": 0.6,
        "ytick.major.width": 0.6,
        "xtick.major.size": 2.5,
        "ytick.major.size": 2.5,
        "ytick.minor.size": 1.5,
        "legend.frameon": False,
        "legend.fontsize": TEXT,
        "legend.handlelength": 2.2,
        "legend.borderaxespad": 0.3,
        "legend.labelspacing": 0.3,
    }


def set_options(element: Any, mpl: dict[str, Any], bokeh: dict[str, Any]) -> Any:
    """Return an element with the options for each backend that is loaded."""
    element = element.opts(backend="matplotlib", **mpl)
    return element.opts(backend="bokeh", **bokeh) if "bokeh" in hv.Store.renderers else element


def set_size(element: Any, width: float, height: float, **options: Any) -> Any:
    """Return a figure with a size in inches and the settings of matplotlib; ``options`` apply to both backends."""
    pixels = {"width": round(96 * width), "height": round(96 * height)}
    mpl = {"fig_inches": (width, height), "fig_size": 100, "aspect": "auto", "fig_rcparams": make_settings()}
    options["title"] = ""
    return set_options(element, mpl | options, pixels | {"toolbar": None} | options)


def choose_line_style(place: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the colour and dash of curve number ``place`` (from 0) as options for matplotlib and Bokeh."""
    colour, place = COLOURS[place % len(COLOURS)], place % len(DASHES)
    return (
        {"color": colour, "linestyle": DASHES[place], "linewidth": 1.1},
        {"color": colour, "line_dash": _BOKEH_DASHES[place], "line_width": 1.5},
    )


SUFFIXES = (".pdf", ".svg", ".png")
DPI = 300  # of PNG files, and of images inside vector files
_METADATA: dict[str, dict[str, Any]] = {
    ".pdf": {"CreationDate": None, "Creator": "Topiary"},
    ".svg": {"Date": None, "Creator": "Topiary"},
    ".png": {"Software": "Topiary"},
}


def check_path(path: str | Path) -> Path:
    """Return the path if its suffix is a format of figures.

    Raises
    ------
    ReadError
        When the suffix is not .pdf, .svg or .png.
    """
    path = Path(path)
    if path.suffix.lower() not in SUFFIXES:
        raise ReadError(f"cannot write a figure as {str(path)!r}: its name must end in .pdf, .svg or .png")
    return path


def save(element: Any, path: str | Path) -> Path:
    """Write a figure to a file in the size it was drawn for.

    Raises
    ------
    ReadError
        When the suffix is not .pdf, .svg or .png, or no font of this machine has all letters of the figure.
    OSError
        When the file cannot be written.
    """
    path, open_before = check_path(path), set(pyplot.get_fignums())
    buffer = BytesIO()
    with mpl.rc_context(make_settings()), warnings.catch_warnings():
        warnings.filterwarnings("error", message="Glyph .* missing from font", category=UserWarning)
        try:
            figure = hv.Store.renderers["matplotlib"].get_plot(element).state
            figure.savefig(buffer, format=path.suffix[1:].lower(), dpi=DPI, metadata=_METADATA[path.suffix.lower()])
        except UserWarning as error:
            reason = f"no font of this machine has all letters of the figure ({error}); install one that has"
            raise ReadError(reason) from error
        finally:
            for number in set(pyplot.get_fignums()) - open_before:
                pyplot.close(number)
    path.write_bytes(buffer.getvalue())
    return path


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
