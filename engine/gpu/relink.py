"""Copies of modules of kernels whose functions are compiled for another processor."""

from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any


def copy_module(
    module: ModuleType,
    replaced: dict[ModuleType, ModuleType],
    decorate: Callable[[FunctionType], Any],
    instead: ModuleType | None = None,
) -> ModuleType:
    """Return a copy of a module whose functions call the functions of other modules.

    Parameters
    ----------
    module : ModuleType
        It refers to other modules of kernels by their names, as in ``from engine.gpu import lanes``, or to their
        functions, as in ``from engine.streams import draw_bits``.
    replaced : dict of ModuleType
        The module that takes the place of each of those; the copy is added to it.
    decorate : callable
        Compiles the copy of a function.
    instead : ModuleType or None
        What this module defines takes the place of what ``module`` defines by the same names.
    """
    copy = ModuleType(module.__name__)
    by_name = {origin.__name__: linked for origin, linked in replaced.items()}
    for origin in (module, instead) if instead is not None else (module,):
        for name, value in vars(origin).items():
            function = getattr(value, "py_func", value)
            if isinstance(value, ModuleType):
                setattr(copy, name, replaced.get(value, value))
            elif isinstance(function, FunctionType) and function.__module__ == origin.__name__:
                linked = FunctionType(function.__code__, copy.__dict__, name, function.__defaults__)
                setattr(copy, name, decorate(linked))
            elif isinstance(function, FunctionType) and function.__module__ in by_name:
                setattr(copy, name, getattr(by_name[function.__module__], function.__name__))
            else:
                setattr(copy, name, value)
    replaced[module] = copy
    return copy
