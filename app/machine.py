"""The machine Topiary runs on."""

import os
from pathlib import Path

_HERE = Path(__file__).resolve().parent
ROOT = _HERE.parent  # the folder that holds the three rooms


def find_asset(name: str) -> Path:
    """Return the path of the file or folder ``name`` of the assets.

    Installed, they travel inside ``app``; in a checkout they lie next to it.

    Raises
    ------
    FileNotFoundError
        When the installation lacks it.
    """
    for root in (_HERE / "assets", _HERE.parent / "assets"):
        if (root / name).exists():
            return root / name
    raise FileNotFoundError(f"the asset {name!r} is missing from this installation of Topiary; reinstall it")


def count_processors() -> int:
    """Return how many processors there are, or as many as ``TOPIARY_CPUS`` says."""
    request = os.environ.get("TOPIARY_CPUS", "")
    return int(request) if request.isdecimal() and int(request) > 0 else os.cpu_count() or 1
