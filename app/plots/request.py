"""What somebody wants to see in a figure, and the error when it cannot be drawn; light to import."""

from typing import Literal, NamedTuple, TypeAlias

Axis: TypeAlias = Literal["seconds", "documents", "minibatches"]
AXES: tuple[Axis, ...] = ("seconds", "documents", "minibatches")
COLUMN, PAGE = 3.3, 6.8  # inches, of a column and of a page of two
LEAST_WIDTH, MOST_WIDTH = 1.5, 40.0  # inches; no word fits in less


class FigureError(ValueError):
    """The figure cannot be drawn; the message is one sentence for the user."""


class Request(NamedTuple):
    """Choices of the user; None is the usual one of the kind.

    Attributes
    ----------
    width : float
        Of the figure, in inches.
    layer : int, optional
        Counted from 1, next to the words.
    node : tuple of int
        Ranks of topics in that layer.
    x : {"seconds", "documents", "minibatches"}, optional
        What curves are drawn against.
    minibatch : int, optional
        The snapshot at or before this one.
    threshold : float, optional
        Edges of a tree are above ``threshold / K`` of the lower layer.
    most : int, optional
        Topics shown, of a layer of a tree.
    """

    width: float = COLUMN
    layer: int | None = None
    node: tuple[int, ...] = ()
    x: Axis | None = None
    minibatch: int | None = None
    threshold: float | None = None
    most: int | None = None


def inches(width: str | float) -> float:
    """Read a width: ``column``, ``page`` or a number of inches.

    Raises
    ------
    FigureError
        When it is none of these, or too small or large for a figure.
    """
    known = {"column": COLUMN, "page": PAGE}
    try:
        found = known[width] if isinstance(width, str) and width in known else float(width)
    except ValueError:
        found = 0.0
    if not LEAST_WIDTH <= found <= MOST_WIDTH:
        raise FigureError(
            f"a width is column, page or a number of inches from {LEAST_WIDTH:g} to {MOST_WIDTH:g}; got {width}"
        )
    return found
