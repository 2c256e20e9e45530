"""From a HoloViews element to a file: PDF and SVG with real text, or PNG for slides."""

import warnings
from io import BytesIO
from pathlib import Path
from typing import Any

import holoviews as hv
import matplotlib as mpl
from matplotlib import pyplot

from app.plots.request import FigureError
from app.plots.style import rc

SUFFIXES = (".pdf", ".svg", ".png")
DPI = 300  # of PNG, and of images inside a vector file
_METADATA: dict[str, dict[str, Any]] = {
    ".pdf": {"CreationDate": None, "Creator": "Topiary"},
    ".svg": {"Date": None, "Creator": "Topiary"},
    ".png": {"Software": "Topiary"},
}


def checked(path: str | Path) -> Path:
    """The path, if figures can be written to such a file.

    Raises
    ------
    FigureError
        When its suffix is another one.
    """
    path = Path(path)
    if path.suffix.lower() not in SUFFIXES:
        raise FigureError(f"cannot write a figure as {str(path)!r}: its name must end in .pdf, .svg or .png")
    return path


def save(element: Any, path: str | Path) -> Path:
    """Write a figure in the size it was drawn for.

    Raises
    ------
    FigureError
        When the suffix is not .pdf, .svg or .png, or no font of this machine has its letters.
    OSError
        When the file cannot be written.
    """
    path, open_before = checked(path), set(pyplot.get_fignums())
    written = BytesIO()
    with mpl.rc_context(rc()), warnings.catch_warnings():
        warnings.filterwarnings("error", message="Glyph .* missing from font", category=UserWarning)
        try:
            figure = hv.Store.renderers["matplotlib"].get_plot(element).state
            figure.savefig(written, format=path.suffix[1:].lower(), dpi=DPI, metadata=_METADATA[path.suffix.lower()])
        except UserWarning as error:
            why = f"no font of this machine has all letters of the figure ({error}); install one that has"
            raise FigureError(why) from error
        finally:
            for number in set(pyplot.get_fignums()) - open_before:
                pyplot.close(number)
    path.write_bytes(written.getvalue())
    return path
