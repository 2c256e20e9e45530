"""Notice that a file of the user's stands in the way of a package of ours; imports nothing of ours itself."""

import sys
from importlib.util import find_spec
from pathlib import Path

PACKAGES = ("app", "engine", "store")
_HERE = Path(__file__).resolve().parent
_ROOT = _HERE.parent.parent if _HERE.name == "library" else _HERE.parent  # in a checkout; installed


class ShadowedError(ImportError):
    """A file or folder is called like a package of Topiary and found before it; the message is one sentence."""


def refuse_shadows() -> None:
    """Refuse to go on when another module would be imported in the place of one of ours.

    Raises
    ------
    ShadowedError
        Naming the file or folder that is in the way.
    """
    complaint = next(filter(None, map(_complaint, PACKAGES)), "")
    if complaint:
        raise ShadowedError(complaint)


def _complaint(name: str) -> str:
    found = _place(name)
    if found is None:
        return f"the package {name!r} of Topiary is missing from this installation; install Topiary again"
    if found == _ROOT / name / "__init__.py":
        return ""
    kind, path = ("file", found) if found.name != "__init__.py" else ("folder", found.parent)
    kind = "folder" if found.is_dir() else kind
    return (
        f"the {kind} {path} hides the package {name!r} of Topiary; "
        "rename it, start Python from another folder, or remove its folder from PYTHONPATH"
    )


def _place(name: str) -> Path | None:
    """The file that a name is imported from; the folder of a package without code."""
    try:
        spec = find_spec(name)
    except ValueError:  # imported already, by other means than import
        return Path(getattr(sys.modules[name], "__file__", None) or name).resolve()
    if spec is None:
        return None
    origin = spec.origin or next(iter(spec.submodule_search_locations or ()), name)
    return Path(origin).resolve()
