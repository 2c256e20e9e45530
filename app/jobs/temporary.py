"""Folders for a while that say whose they are, so that those of a program that was killed can be removed.

A program that ends removes its own.  ``kill -9`` and a power cut give it no time for that, so each folder holds a
note of the process that owns it, and later programs remove those whose owner is gone.
"""

import json
import os
import platform
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

from app.jobs import process

OWNER = "owner.json"  # in the folder
_PREFIX = "topiary-owned-"


def make() -> Path:
    """Make an empty folder in the system's folder for temporary files; this process owns it."""
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
    own(folder)
    return folder


def own(folder: Path, pid: int | None = None) -> None:
    """Give a folder to a process, by default to this one.

    Nothing happens where the folder, or the process, is gone.
    """
    with suppress(OSError, psutil.Error):
        note = folder / f"{OWNER}.new"
        note.write_text(json.dumps(process.identity(pid)), encoding="utf-8")
        note.replace(folder / OWNER)


def around(path: Path) -> Path | None:
    """Return the owned folder that a path lies in; None where it lies in none."""
    return next((folder for folder in (path, *path.parents) if (folder / OWNER).is_file()), None)


def environment(folder: Path | None) -> dict[str, str]:
    """Return the variables by which a child makes its temporary files inside an owned folder."""
    return {} if folder is None else {"TMPDIR": str(folder)}


def remove(folder: Path) -> None:
    """Remove a folder with all that is in it, as far as that is possible."""
    shutil.rmtree(folder, ignore_errors=True)


def sweep() -> list[Path]:
    """Remove the folders of this user whose owners are gone; give those that were there."""
    found = Path(tempfile.gettempdir()).glob(f"{_PREFIX}*")
    gone = [folder for folder in found if _is_mine(folder) and _is_left(folder)]
    for folder in gone:
        remove(folder)
    return gone


def _is_mine(folder: Path) -> bool:
    """Return whether it is a folder of this user: others may put anything into a shared folder, links among them."""
    try:
        about = folder.lstat()
    except OSError:
        return False
    own = not hasattr(os, "getuid") or about.st_uid == os.getuid()
    return own and folder.is_dir() and not folder.is_symlink()


def _is_left(folder: Path) -> bool:
    """Return whether the owner of a folder is gone: its process has ended, or this machine was restarted since."""
    try:
        owner: dict[str, Any] = json.loads((folder / OWNER).read_text(encoding="utf-8"))
        life = process.life(owner)
        restarted = owner["host"] == platform.node() and _machine(owner["boot"]) != _machine(process.identity()["boot"])
    except (OSError, ValueError, TypeError, KeyError, AttributeError):  # it is being made, or another program's
        return False
    return life == "dead" or restarted


def _machine(boot: str) -> str:
    """Return since when the machine runs, without the numbering of processes, which containers have for themselves."""
    return boot.partition(" ")[0]
