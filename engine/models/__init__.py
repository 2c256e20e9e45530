"""The registry is this folder: one file per model, found by name."""

import importlib
import pkgutil
from types import ModuleType


def names() -> tuple[str, ...]:
    """The names of all models, as given on the command line (``deep_exp_family`` -> ``deep-exp-family``)."""
    return tuple(module.name.replace("_", "-") for module in pkgutil.iter_modules(__path__))


def load(name: str) -> ModuleType:
    """The module of a model: ``TITLE``, ``CHILD``, ``Config``, ``State``, ``build(config, facts, n_threads)``.

    Raises
    ------
    LookupError
        When there is no such model; the sentence lists those there are.
    """
    if name not in names():
        raise LookupError(f"there is no model {name!r}; the models are {', '.join(names())}")
    return importlib.import_module(f"{__name__}.{name.replace('-', '_')}")
