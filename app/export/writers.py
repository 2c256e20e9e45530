"""Writers of files, one a format: every module ``<prefix><format>.py`` beside this one is found by name."""

import importlib
import pkgutil
from pathlib import Path
from types import ModuleType

from app import export


def formats(prefix: str) -> tuple[str, ...]:
    """Give the formats there are writers for; a format is also the suffix of its files."""
    found = (module.name for module in pkgutil.iter_modules(export.__path__))
    return tuple(name.removeprefix(prefix) for name in found if name.startswith(prefix))


def writer(prefix: str, form: str) -> ModuleType:
    """Give the module that writes a format."""
    return importlib.import_module(f"{export.__name__}.{prefix}{form}")


def format_of(path: Path, prefix: str, what: str) -> str:
    """Give the format that the suffix of a file names.

    Raises
    ------
    ValueError
        When no writer knows the suffix; ``what`` says what cannot be written.
    """
    known, form = formats(prefix), path.suffix.lower().removeprefix(".")
    if form not in known:
        listed = ", ".join(f".{name}" for name in known)
        raise ValueError(f"cannot write {what}: its name must end in one of {listed}")
    return form
