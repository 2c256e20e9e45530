"""The kinds of figures, the choices of a user, and the error when a figure cannot be drawn; light to import."""

import importlib
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

Axis: TypeAlias = Literal["seconds", "documents", "minibatches"]
AXES: tuple[Axis, ...] = ("seconds", "documents", "minibatches")
COLUMN, PAGE = 3.3, 6.8  # inches, of a column and of a page of two
LEAST_WIDTH, MOST_WIDTH = 1.5, 40.0  # inches; no word fits in less


class FigureError(ValueError):
    """The error that a figure cannot be drawn; the message is one sentence for the user."""


class FigureRequest(NamedTuple):
    """The choices of the user; None is the default of the kind.

    Attributes
    ----------
    width : float
        Of the figure, in inches.
    layer : int, optional
        Counted from 1, the layer next to the words.
    node : tuple of int
        Ranks of topics in that layer.
    x : {"seconds", "documents", "minibatches"}, optional
        The x-axis of curves.
    minibatch : int, optional
        The mini-batch whose snapshot, or the one before, is shown.
    threshold : float, optional
        Edges of a tree are above ``threshold / K`` of the lower layer.
    most : int, optional
        The number of topics shown, of each layer in a tree.
    """

    width: float = COLUMN
    layer: int | None = None
    node: tuple[int, ...] = ()
    x: Axis | None = None
    minibatch: int | None = None
    threshold: float | None = None
    most: int | None = None


def read_width(width: str | float) -> float:
    """Read a width: ``column``, ``page`` or a number of inches.

    Raises
    ------
    FigureError
        When it is none of these, or too small or large for a figure.
    """
    names = {"column": COLUMN, "page": PAGE}
    try:
        number = names[width] if isinstance(width, str) and width in names else float(width)
    except ValueError:
        number = 0.0
    if not LEAST_WIDTH <= number <= MOST_WIDTH:
        raise FigureError(
            f"a width is column, page or a number of inches from {LEAST_WIDTH:g} to {MOST_WIDTH:g}; got {width}"
        )
    return number


class FigureKind(NamedTuple):
    """A kind of figure: its module, the fields of `FigureRequest` that it uses, and the least and most runs it shows.

    The module ``app.plots.MODULE`` has ``plot_KIND(sources, request)``, which reads what the figure shows, and
    ``draw_KIND``, which makes a HoloViews element of it.
    """

    module: str
    options: tuple[str, ...]
    runs: tuple[int, int]


KINDS = {
    "comparison": FigureKind("topics", ("layer", "node", "minibatch", "most"), (2, 2)),
    "confusion": FigureKind("images", ("minibatch",), (1, 1)),
    "images": FigureKind("images", ("layer", "node", "minibatch", "most"), (1, 1)),
    "perplexity": FigureKind("curves", ("x",), (1, 6)),
    "steps": FigureKind("curves", ("x",), (1, 1)),
    "topics": FigureKind("topics", ("layer", "node", "minibatch", "most"), (1, 1)),
    "tree": FigureKind("tree", ("layer", "node", "minibatch", "threshold", "most"), (1, 1)),
}


def find_kind(name: str) -> FigureKind:
    """Return a kind of figure.

    Raises
    ------
    FigureError
        When there is no such kind; the sentence lists the kinds.
    """
    if name not in KINDS:
        raise FigureError(f"there is no figure {name!r}; the kinds are {', '.join(KINDS)}")
    return KINDS[name]


def plot_figure(name: str, sources: Sequence[Any], request: FigureRequest) -> Any:
    """Return a figure of runs as a HoloViews element; ``sources`` are `app.plots.read.Source`."""
    module = importlib.import_module(f"app.plots.{find_kind(name).module}")
    return getattr(module, f"plot_{name}")(sources, request)
