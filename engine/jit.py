"""The one numba decorator of the house.

Compiled kernels are cached on disk in a folder named by a hash of every engine source file: numba's
own cache notices an edited file but not an edited callee in another file, and would run stale code.
"""

import hashlib
import os
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba


def _cache_root() -> Path:
    """Where this user's caches live on this system."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))


def cache_folder() -> Path:
    """The folder of compiled kernels for exactly these engine sources and this numba."""
    digest = hashlib.sha256(numba.__version__.encode())
    here = Path(__file__).parent
    for source in sorted(here.rglob("*.py")):
        digest.update(source.relative_to(here).as_posix().encode())
        digest.update(source.read_bytes())
    return private_folder(_cache_root(), "kernels", digest.hexdigest()[:16])


def private_folder(root: Path, *below: str) -> Path:
    """Return a folder of ours below a root that this user alone may write to, made where it was missing.

    Numba's index of compiled kernels is a pickle, which runs as code when it is read.  Where others could have put
    something into our folder, or it is theirs, it is left alone, and one of a second name takes its place.  Where that
    is not private either the first one is returned, and :func:`is_private` says so.
    """
    places = [[Path(root, name, *below[:depth]) for depth in range(len(below) + 1)] for name in _NAMES]
    return next((place[-1] for place in places if all(map(is_private, place))), places[0][-1])


def is_private(folder: Path) -> bool:
    """Whether a folder is there, or can be made, that this user alone may write to; then others may not read it."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if os.name == "posix":  # elsewhere the user's own folders are
            found = folder.lstat()
            if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o022:
                return False
            folder.chmod(0o700)
    except OSError:
        return False
    return os.access(folder, os.W_OK)


_NAMES = ("topiary", "topiary-private")
_FOLDER = cache_folder()
_CACHED = is_private(_FOLDER)
if _CACHED:
    numba.config.CACHE_DIR = str(_FOLDER)  # type: ignore[attr-defined]


def compiled(function: Callable[..., Any], **flags: Any) -> Any:
    """Compile with numba: no GIL, cached on disk where that is possible, IEEE arithmetic as written."""
    return numba.njit(nogil=True, cache=_CACHED, error_model="numpy", **flags)(function)


def inlined(function: Callable[..., Any]) -> Any:
    """As :func:`compiled`, for hot loops that allocate nothing: the body goes into its callers.

    A call that hands a stream back costs 10 ns.  Without numba's run time, views of arrays are not counted
    either, which costs an atomic operation each time; in exchange such a function may not make an array.
    """
    kernel = compiled(function, _nrt=False)
    if hasattr(kernel, "targetoptions"):  # not where the compiler is switched off
        kernel.targetoptions["forceinline"] = True
    return kernel
