"""Facts about this installation and machine: version, assets, user, and how many processors there are."""

import errno
import getpass
import os
import tempfile
from pathlib import Path

_HERE = Path(__file__).resolve().parent
ROOT = _HERE.parent  # the folder that contains the packages app, engine and store


def find_version() -> str:
    """Return the version of this installation, such as ``0.1.0``."""
    from importlib.metadata import version  # slow to load

    return version("topiary-explorer")


def find_asset(name: str) -> Path:
    """Return the path of a file or folder among the assets.

    In an installation the assets lie inside ``app``, in a checkout next to it.

    Raises
    ------
    FileNotFoundError
        When the asset is missing.
    """
    for root in (_HERE / "assets", _HERE.parent / "assets"):
        if (root / name).exists():
            return root / name
    raise FileNotFoundError(f"the asset {name!r} is missing from this installation of Topiary; reinstall it")


def find_user() -> str:
    """Return the name of the user of this process; empty if the system has no name for this user."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return ""


def count_processors() -> int:
    """Return the number of processors, or the number in the environment variable TOPIARY_CPUS."""
    setting = os.environ.get("TOPIARY_CPUS", "")
    return int(setting) if setting.isdecimal() and int(setting) > 0 else os.cpu_count() or 1


def explain_full_disk(error: OSError) -> str:
    """Return the sentence about a file for which there is no room, or which a limit forbids; empty for other errors."""
    if error.errno not in (errno.ENOSPC, errno.EFBIG, errno.EDQUOT):
        return ""
    where = f"{error.filename}" if error.filename else f"a file, perhaps a temporary one in {tempfile.gettempdir()},"
    return (
        f"{where} cannot be written ({error.strerror}); make room, raise the limit (ulimit -f), or let TMPDIR name a "
        "folder with more room"
    )
