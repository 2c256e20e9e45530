"""Figures for papers, as HoloViews elements that Jupyter displays and :func:`save` writes at their exact size.

    topiary.plots.save(topiary.plots.tree(run), "tree.pdf")

A run is a :class:`Run` of the library, or a pair of a store (its file, URL or database) and a number.
"""

import sys
from collections.abc import Iterable
from typing import Any

import holoviews as hv
import holoviews.plotting.bokeh  # registers the options of both backends

from topiary.app.names import Axis, IntervalKind
from topiary.app.plots.read import Source
from topiary.app.plots.request import COLUMN, FigureRequest, plot_figure, read_width
from topiary.app.plots.style import save
from topiary.engine.lens.moments import Weighting
from topiary.store.database import Database, open_existing

__all__ = ["comparison", "groups", "perplexity", "save", "steps", "time", "tree"]


def perplexity(*runs: Any, x: Axis = "documents", width: float | str = COLUMN) -> hv.Overlay:
    """Draw the point perplexity of one to six runs over training; ``x`` may also be "seconds" or "minibatches"."""
    return _draw_figure("perplexity", runs, width, x=x)


def steps(run: Any, *, x: Axis = "minibatches", width: float | str = COLUMN) -> hv.Overlay:
    """Draw the mean step size of every layer of a run over training."""
    return _draw_figure("steps", (run,), width, x=x)


def tree(
    run: Any,
    layer: int | None = None,
    *,
    topics: Iterable[str] = (),
    threshold: float | None = None,
    most: int = 8,
    minibatch: int | None = None,
    width: float | str = COLUMN,
) -> hv.Overlay:
    """Draw the tree below some ``topics``, by default all of a layer (default: the top), ``most`` of each layer."""
    chosen = {"layer": layer, "topic": tuple(topics), "threshold": threshold, "most": most, "minibatch": minibatch}
    return _draw_figure("tree", (run,), width, **chosen)


def time(
    run: Any,
    layer: int | None = None,
    *,
    topics: Iterable[str] = (),
    most: int = 6,
    column: str | None = None,
    unit: str | None = None,
    moving: int = 1,
    by: Weighting = "tokens",
    where: Iterable[str] = (),
    interval: IntervalKind = "documents",
    minibatch: int | None = None,
    width: float | str = COLUMN,
) -> hv.Overlay:
    """Draw topics of a layer (default: the top) over time, as lines with 90 % bands.

    ``column`` holds the dates, ``unit`` is the length of the periods, ``moving`` the number of those in a moving mean,
    ``by`` the weight of a document, and ``where`` conditions as in ``source=BBC``.
    With ``interval="topics"`` the intervals also have the differences between samples of the topics.
    """
    chosen = {"layer": layer, "topic": tuple(topics), "most": most, "minibatch": minibatch, "where": tuple(where)}
    periods = {"unit": unit, "moving": moving}
    return _draw_figure("time", (run,), width, column=column, by=by, interval=interval, **periods, **chosen)


def groups(
    run: Any,
    layer: int | None = None,
    *,
    topics: Iterable[str] = (),
    most: int | None = None,
    column: str | None = None,
    by: Weighting = "tokens",
    where: Iterable[str] = (),
    interval: IntervalKind = "documents",
    minibatch: int | None = None,
    width: float | str = COLUMN,
) -> hv.Overlay:
    """Draw shares of topics of a layer (default: the top) by group of documents, with 90 % intervals.

    ``column`` holds the groups, ``by`` is the weight of a document, and ``where`` conditions as in ``source=BBC``.
    With ``interval="topics"`` the intervals also have the differences between samples of the topics.
    """
    chosen = {"layer": layer, "topic": tuple(topics), "most": most, "minibatch": minibatch, "where": tuple(where)}
    return _draw_figure("groups", (run,), width, column=column, by=by, interval=interval, **chosen)


def comparison(
    a: Any,
    b: Any,
    layer: int | None = None,
    *,
    topics: Iterable[str] = (),
    most: int = 10,
    minibatch: int | None = None,
    width: float | str = COLUMN,
) -> hv.Overlay:
    """Draw topics of a layer of ``b`` next to their partners in ``a``."""
    chosen = {"layer": layer, "topic": tuple(topics), "most": most, "minibatch": minibatch}
    return _draw_figure("comparison", (a, b), width, **chosen)


def _draw_figure(kind: str, runs: Iterable[Any], width: float | str, **chosen: Any) -> Any:
    _show_in_notebooks()
    return plot_figure(kind, [_find_source(run) for run in runs], FigureRequest(width=read_width(width), **chosen))


def _find_source(run: Any) -> Source:
    """Return the source of a run of the library, or of a pair of a store and a number."""
    store, number = run if isinstance(run, tuple) else (getattr(run, "_opened", None) or run.store, run.number)
    db = store if isinstance(store, Database) else getattr(store, "db", None) or open_existing(store)
    return Source(db, int(number))


def _show_in_notebooks() -> None:
    """Select matplotlib as the backend in a notebook where none is chosen."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if shell is not None and hasattr(shell, "kernel") and not getattr(hv.extension, "_loaded", True):
        hv.extension("matplotlib", logo=False)
        hv.output(fig="svg")
