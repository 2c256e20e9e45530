"""The kinds of figures, the options of a user, and the error if a figure cannot be drawn; quick to import."""

import importlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from topiary.app.analysis.errors import ReadError
from topiary.app.names import Axis, IntervalKind

if TYPE_CHECKING:
    from topiary.engine.lens.moments import Weighting

COLUMN, PAGE = 3.3, 6.8  # inches, the widths of a column and of a page with two columns
LEAST_WIDTH, MOST_WIDTH = 1.5, 40.0  # inches; no word fits into a narrower figure


class FigureRequest(NamedTuple):
    """The options of a figure; None stands for the default of the kind of figure.

    Attributes
    ----------
    width : float
        Width of the figure in inches.
    layer : int, optional
        Number of the layer, from 1 (next to the words) upwards.
    topic : tuple of str
        Identities of topics of one layer, such as ``L3:17``.
    x : {"seconds", "documents", "minibatches"}, optional
        The x-axis of curves.
    minibatch : int, optional
        The figure shows the snapshot at this mini-batch or the last one before it.
    threshold : float, optional
        The tree shows edges with weights above ``threshold / K``, where K is the number of topics of the lower layer.
    most : int, optional
        The number of topics shown; in a tree, of each layer.
    column : str, optional
        Name of the column of dates or groups; by default the first one of a fitting kind.
    unit : str, optional
        Length of the periods; by default chosen by density.
    moving : int, optional
        Odd number of periods of the moving mean.
    by : "tokens" or "documents", optional
        Weight of a document.
    where : tuple of str
        Conditions on documents (`app.analysis.filters`).
    interval : "documents" or "topics", optional
        Whether intervals have the differences between documents, or also those between samples of the topics.
    """

    width: float = COLUMN
    layer: int | None = None
    topic: tuple[str, ...] = ()
    x: Axis | None = None
    minibatch: int | None = None
    threshold: float | None = None
    most: int | None = None
    column: str | None = None
    unit: str | None = None
    moving: int | None = None
    by: "Weighting | None" = None
    where: tuple[str, ...] = ()
    interval: IntervalKind | None = None


def read_width(width: str | float) -> float:
    """Return a width in inches, given as ``column``, ``page`` or a number of inches.

    Raises
    ------
    ReadError
        When the text is none of these, or too small or too large for a figure.
    """
    names = {"column": COLUMN, "page": PAGE}
    try:
        number = names[width] if isinstance(width, str) and width in names else float(width)
    except ValueError:
        number = 0.0
    if not LEAST_WIDTH <= number <= MOST_WIDTH:
        raise ReadError(
            f"a width is column, page or a number of inches from {LEAST_WIDTH:g} to {MOST_WIDTH:g}; got {width}"
        )
    return number


class FigureKind(NamedTuple):
    """A kind of figure: its module, the fields of `FigureRequest` that it uses, and its least and most runs.

    The module ``app.plots.MODULE`` has ``plot_KIND(sources, request)``, which reads the data, and ``draw_KIND``, which
    turns them into a HoloViews element.
    """

    module: str
    options: tuple[str, ...]
    runs: tuple[int, int]


_DOCUMENTS = ("layer", "topic", "minibatch", "most", "column", "by", "where", "interval")
KINDS = {
    "comparison": FigureKind("tree", ("layer", "topic", "minibatch", "most"), (2, 2)),
    "groups": FigureKind("trends", _DOCUMENTS, (1, 1)),
    "perplexity": FigureKind("curves", ("x",), (1, 6)),
    "steps": FigureKind("curves", ("x",), (1, 1)),
    "time": FigureKind("trends", (*_DOCUMENTS, "unit", "moving"), (1, 1)),
    "tree": FigureKind("tree", ("layer", "topic", "minibatch", "threshold", "most"), (1, 1)),
}


def find_kind(name: str) -> FigureKind:
    """Return a kind of figure.

    Raises
    ------
    ReadError
        When there is no such kind; the message lists the kinds.
    """
    if name not in KINDS:
        raise ReadError(f"there is no figure {name!r}; the kinds are {', '.join(KINDS)}")
    return KINDS[name]


def plot_figure(name: str, sources: Sequence[Any], request: FigureRequest) -> Any:
    """Return a figure of runs as a HoloViews element; ``sources`` are `app.plots.read.Source`."""
    module = importlib.import_module(f"topiary.app.plots.{find_kind(name).module}")
    return getattr(module, f"plot_{name}")(sources, request)
