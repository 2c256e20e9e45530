"""The style of figures for print (one font, few colours, sizes in points), for both backends, and their files."""

import warnings
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any

import holoviews as hv
import holoviews.plotting.mpl  # registers the backend that saves files
import matplotlib as mpl
from matplotlib import font_manager, pyplot

from topiary.app.analysis.errors import ReadError
from topiary.app.views.palette import LIGHT

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
