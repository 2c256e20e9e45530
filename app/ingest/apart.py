"""Read a file in a process of its own, where a damaged one can crash, or fill the memory, and nobody is hurt.

``python -P -m app.ingest.apart MODULE FILE FOLDER`` calls ``arrays(path)`` of a module in this folder and saves what it
gives, arrays by name, in the folder; a refusal goes to standard output, as JSON.
"""

import importlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from app.ingest.errors import IngestError
from app.ingest.source import Array

ROOM = 1 << 31  # bytes of memory for any file,
ROOM_FOR_EACH = 32  # and for each byte of it
PATIENCE = 60.0  # seconds for any file,
PATIENCE_FOR_EACH = 1e-5  # and for each byte of it

_ROOT = Path(__file__).parents[2]
_OUT = "arrays.npz"
_REFUSED, _NO_MEMORY = 3, 4


def arrays(module: str, path: Path) -> dict[str, Array]:
    """What ``arrays(path)`` of ``app.ingest.MODULE`` gives, called in another process.

    Raises
    ------
    IngestError
        What it refuses, and when it crashes, takes too long or needs too much memory.
    """
    with tempfile.TemporaryDirectory(prefix="topiary-apart-") as folder:
        patience = PATIENCE + PATIENCE_FOR_EACH * path.stat().st_size
        try:
            status, said = launch(module, path, folder, patience)
        except subprocess.TimeoutExpired:
            cause = f"could not be read within {patience:.0f} seconds, which no sound file of its size takes"
            raise IngestError(path, f"{cause}; save it again") from None
        if status == _REFUSED:
            raise IngestError(path, json.loads(said))
        if status == _NO_MEMORY:
            cause = f"needs more than {_room(path) >> 20:,} MB of memory, which no sound file of its size does"
            raise IngestError(path, f"{cause}; save it again, or a part of it")
        if status != 0:
            raise IngestError(path, "is damaged so badly that reading it ends the program that tries; save it again")
        with np.load(Path(folder, _OUT), allow_pickle=False) as saved:
            return dict(saved)


def as_array(strings: Iterable[str]) -> Array:
    """Texts as an array of bytes: one of characters would give every text as much room as the longest."""
    return np.frombuffer(json.dumps(list(strings)).encode(), np.uint8)


def texts(array: Array) -> list[str]:
    """The texts of `as_array`."""
    return list(map(str, json.loads(array.tobytes())))


def launch(module: str, path: Path, folder: str, patience: float) -> tuple[int, str]:
    """Run the other process; its exit status, and what it refused."""
    paths = [str(_ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    one_thread = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")  # less room
    done = subprocess.run(  # noqa: S603 - our own module
        [sys.executable, "-P", "-m", __name__, module, os.path.abspath(path), folder],  # noqa: PTH100 - keeps links
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)} | one_thread,
        timeout=patience,
        check=False,
        text=True,
        encoding="utf-8",
    )
    return done.returncode, done.stdout


def child(module: str, path: Path, folder: str) -> tuple[int, str]:
    """What the other process does: read, and save; its exit status, and what it refused."""
    try:
        found: dict[str, Any] = importlib.import_module(f"app.ingest.{module}").arrays(path)
        np.savez(Path(folder, _OUT), **found)
    except IngestError as error:
        return _REFUSED, json.dumps(error.cause)
    except MemoryError:
        return _NO_MEMORY, ""
    return 0, ""


def bound(path: Path) -> None:
    """Bound the memory of this process, and what it writes, by the size of a file; leave no image of a crash."""
    if sys.platform == "win32":  # has no such bounds
        return
    import resource

    for kind, most in (
        (resource.RLIMIT_AS, _room(path)),
        (resource.RLIMIT_FSIZE, _room(path)),
        (resource.RLIMIT_CORE, 0),
    ):
        hard = resource.getrlimit(kind)[1]
        allowed = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (allowed, hard))


def _room(path: Path) -> int:
    return ROOM + ROOM_FOR_EACH * path.stat().st_size


def main() -> int:
    """Do what the command line says."""
    module, path, folder = sys.argv[1:]
    bound(Path(path))
    status, said = child(module, Path(path), folder)
    sys.stdout.write(said)
    return status


if __name__ == "__main__":
    sys.exit(main())
