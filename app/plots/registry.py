"""The kinds of figures: one file each in `app.plots.kinds`, found by its name."""

import importlib
import pkgutil
from types import ModuleType

from app.plots import kinds
from app.plots.request import FigureError


def names() -> tuple[str, ...]:
    """The names of all kinds, as given on the command line."""
    return tuple(module.name for module in pkgutil.iter_modules(kinds.__path__))


def load(name: str) -> ModuleType:
    """The module of a kind.

    It has ``OPTIONS``, the fields of `Request` that it uses; ``RUNS``, the least and the most runs it shows;
    ``draw``, from plain data to a HoloViews element; and ``figure(sources, request)``, which reads that data.

    Raises
    ------
    FigureError
        When there is no such kind; the sentence lists those there are.
    """
    if name not in names():
        raise FigureError(f"there is no figure {name!r}; the kinds are {', '.join(names())}")
    return importlib.import_module(f"{kinds.__name__}.{name}")
