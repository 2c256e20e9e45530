"""Registry of models: one file of this folder for each, found by name.

A file offers ``TITLE``, ``CHILD`` and ``Config``, and may offer ``PRESETS``, ``STEPS`` and ``NEEDS_LABELS``.  The state
and the kernel are in it as well or, so that settings are read without the compiler, in the module ``KERNEL``, by
default the file of the same name in :mod:`engine.kernels`.
"""

import importlib
import pkgutil
from functools import cache
from typing import Any


class RegisteredModel:
    """Model of the registry: its settings, and its kernel, which is imported when it is first needed.

    In addition to the names its file offers it has ``State`` and ``build(config, facts, n_threads)``.
    """

    def __init__(self, stem: str) -> None:
        self._stem = stem
        self._settings = importlib.import_module(f"{__name__}.{stem}")

    def __getattr__(self, name: str) -> Any:
        """Return a name of the model's file; ``State`` and ``build`` may be in the module of its kernel."""
        if name in ("State", "build") and not hasattr(self._settings, name):
            module = getattr(self._settings, "KERNEL", f"engine.kernels.{self._stem}")
            return getattr(importlib.import_module(module), name)
        return getattr(self._settings, name)


def list_names() -> tuple[str, ...]:
    """Return the names of all models, as given on the command line (``deep_exp_family`` -> ``deep-exp-family``)."""
    return tuple(module.name.replace("_", "-") for module in pkgutil.iter_modules(__path__))


@cache
def load(name: str) -> RegisteredModel:
    """Return the model of that name.

    Raises
    ------
    LookupError
        If there is no such model; the sentence lists all.
    """
    if name not in list_names():
        raise LookupError(f"there is no model {name!r}; the models are {', '.join(list_names())}")
    return RegisteredModel(name.replace("-", "_"))
