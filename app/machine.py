"""Facts about this installation and machine: version, assets, user, and how many processors there are."""

import errno
import getpass
import hashlib
import os
import tempfile
from functools import cache
from pathlib import Path

_HERE = Path(__file__).resolve().parent
ROOT = _HERE.parent  # the folder that contains app, engine, store and assets
LOOPBACK = ("127.0.0.1", "localhost", "::1")  # this machine, as a host
LARGEST_UPLOAD = 8 << 30  # bytes that browsers may send for one corpus, unless the server has another limit


def find_version() -> str:
    """Return the version of this installation, such as ``0.1.0``."""
    from importlib.metadata import version  # slow to load

    return version("topiary-explorer")


def find_asset(name: str) -> Path:
    """Return the path of a file or folder among the assets.

    Raises
    ------
    FileNotFoundError
        When the asset is missing.
    """
    path = ROOT / "assets" / name
    if path.exists():
        return path
    raise FileNotFoundError(f"the asset {name!r} is missing from this installation of Topiary; reinstall it")


@cache
def make_asset_url(path: Path) -> str:
    """Return the URL path, without a leading slash, of a file of ``assets``; it changes with the file."""
    version = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    return f"topiary/{path.parent.name}/{path.name}?v={version}"


def build_python_path() -> str:
    """Return PYTHONPATH for a child process: the folder with the installed package, then what is set here.

    A checkout is found by its installation (``pip install -e``), because its packages do not lie in one folder.
    """
    folders = [str(ROOT.parent)] if (ROOT / "__main__.py").is_file() else []
    folders += filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    return os.pathsep.join(dict.fromkeys(folders))


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


def lower_priority(steps: int) -> None:
    """Let this process give way to those that someone waits for, such as the worker of a run."""
    if hasattr(os, "nice"):
        os.nice(steps)


def explain_full_disk(error: OSError) -> str:
    """Return the sentence about a file for which there is no room, or which a limit forbids; empty for other errors."""
    if error.errno not in (errno.ENOSPC, errno.EFBIG, errno.EDQUOT):
        return ""
    where = f"{error.filename}" if error.filename else f"a file, perhaps a temporary one in {tempfile.gettempdir()},"
    return (
        f"{where} cannot be written ({error.strerror}); make room, raise the limit (ulimit -f), or let TMPDIR name a "
        "folder with more room"
    )


def choose_threads() -> int:
    """Return the default number of threads of a run: two, or one on a single processor."""
    return min(2, count_processors())
