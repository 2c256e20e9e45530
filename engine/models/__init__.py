"""Registry of models: each folder here is one, found by its name.

Its ``settings.py`` defines ``TITLE``, ``CHILD`` and ``Config``, and may define ``PRESETS``, ``STEPS`` and
``NEEDS_LABELS``.  ``State`` and ``build`` are in its ``kernel.py``, so that settings can be read without importing the
compiler.
"""

import importlib
import pkgutil
from functools import cache
from typing import Any


class RegisteredModel:
    """A model of the registry: all names of its settings, and ``State`` and ``build(config, facts, n_threads)``.

    The module of the kernel is imported when it is first needed.
    """

    def __init__(self, stem: str) -> None:
        self._stem = stem
        self._settings = importlib.import_module(f"{__name__}.{stem}.settings")

    def __getattr__(self, name: str) -> Any:
        """Return what a name stands for in the model's settings or, for ``State`` and ``build``, in its kernel."""
        if name in ("State", "build"):
            return getattr(importlib.import_module(f"{__name__}.{self._stem}.kernel"), name)
        return getattr(self._settings, name)


def list_names() -> tuple[str, ...]:
    """Return the names of all models, as given on the command line (``deep_exp_family`` -> ``deep-exp-family``)."""
    return tuple(module.name.replace("_", "-") for module in pkgutil.iter_modules(__path__))


@cache
def load(name: str) -> RegisteredModel:
    """Return the model with this name.

    Raises
    ------
    LookupError
        If there is no such model; the message lists all models.
    """
    if name not in list_names():
        raise LookupError(f"there is no model {name!r}; the models are {', '.join(list_names())}")
    return RegisteredModel(name.replace("-", "_"))
