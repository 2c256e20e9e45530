"""The one numba decorator of the house.

Compiled kernels are cached on disk in a folder named by a hash of every engine source file: numba's
own cache notices an edited file but not an edited callee in another file, and would run stale code.
"""

import hashlib
import os
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
    return _cache_root() / "topiary" / "kernels" / digest.hexdigest()[:16]


def _usable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK)


_FOLDER = cache_folder()
_CACHED = _usable(_FOLDER)
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
