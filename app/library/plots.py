"""Figures for papers, as HoloViews elements that show in Jupyter and that :func:`save` writes at their exact size.

    topiary.plots.save(topiary.plots.tree(run), "tree.pdf")

A run is one of the library, or a pair of a store (its file, URL or database) and a number.
"""

import sys
from collections.abc import Iterable
from typing import Any

import holoviews as hv
import holoviews.plotting.bokeh  # so that elements have the options of both backends

from app.plots.read import Source
from app.plots.request import COLUMN, Axis, FigureRequest, plot_figure, read_width
from app.plots.style import save
from store.database import Database, open_existing

__all__ = ["comparison", "confusion", "images", "perplexity", "save", "steps", "topics", "tree"]


def perplexity(*runs: Any, x: Axis = "documents", width: float | str = COLUMN) -> hv.Overlay:
    """Draw the point perplexity of one to six runs while they train; ``x`` may also be "seconds" or "minibatches"."""
    return _draw_figure("perplexity", runs, width, x=x)


def steps(run: Any, *, x: Axis = "minibatches", width: float | str = COLUMN) -> hv.Overlay:
    """Draw the mean step size of every layer."""
    return _draw_figure("steps", (run,), width, x=x)


def topics(
    run: Any,
    layer: int = 1,
    *,
    ranks: Iterable[int] = (),
    most: int = 10,
    minibatch: int | None = None,
    width: float | str = COLUMN,
) -> hv.Overlay:
    """Write topics of a layer as words: those of the given ranks, or the ``most`` popular ones."""
    return _draw_figure("topics", (run,), width, layer=layer, node=tuple(ranks), most=most, minibatch=minibatch)


def tree(
    run: Any,
    layer: int | None = None,
    *,
    ranks: Iterable[int] = (),
    threshold: float | None = None,
    most: int = 8,
    minibatch: int | None = None,
    width: float | str = COLUMN,
) -> hv.Overlay:
    """Draw what hangs under topics of a layer (default: the top), with at most so many topics in each layer."""
    chosen = {"layer": layer, "node": tuple(ranks), "threshold": threshold, "most": most, "minibatch": minibatch}
    return _draw_figure("tree", (run,), width, **chosen)


def images(
    run: Any,
    layer: int = 1,
    *,
    ranks: Iterable[int] = (),
    most: int = 100,
    minibatch: int | None = None,
    width: float | str = COLUMN,
) -> hv.Image:
    """Lay out topics of images as a grid, the most popular first."""
    return _draw_figure("images", (run,), width, layer=layer, node=tuple(ranks), most=most, minibatch=minibatch)


def confusion(run: Any, *, minibatch: int | None = None, width: float | str = COLUMN) -> hv.Overlay:
    """Draw which classes of the test documents are taken for which; predictions are computed where none are kept."""
    return _draw_figure("confusion", (run,), width, minibatch=minibatch)


def comparison(
    a: Any,
    b: Any,
    layer: int | None = None,
    *,
    ranks: Iterable[int] = (),
    most: int = 10,
    minibatch: int | None = None,
    width: float | str = COLUMN,
) -> hv.Overlay:
    """Put topics of a layer of ``b`` next to their partners in ``a``."""
    chosen = {"layer": layer, "node": tuple(ranks), "most": most, "minibatch": minibatch}
    return _draw_figure("comparison", (a, b), width, **chosen)


def _draw_figure(kind: str, runs: Iterable[Any], width: float | str, **chosen: Any) -> Any:
    _show_in_notebooks()
    return plot_figure(kind, [_find_source(run) for run in runs], FigureRequest(width=read_width(width), **chosen))


def _find_source(run: Any) -> Source:
    """Return the run that a pair of a store and a number means, or a run of the library."""
    store, number = run if isinstance(run, tuple) else (getattr(run, "_opened", None) or run.store, run.number)
    found = store if isinstance(store, Database) else getattr(store, "db", None) or open_existing(store)
    return Source(found, int(number))


def _show_in_notebooks() -> None:
    """Let elements be drawn by matplotlib in a notebook without a chosen backend."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if shell is not None and hasattr(shell, "kernel") and not getattr(hv.extension, "_loaded", True):
        hv.extension("matplotlib", logo=False)
        hv.output(fig="svg")
