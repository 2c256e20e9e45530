"""Processes taking turns at something, by a lock on a file that the system takes back when its holder dies."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

PAUSE = 0.1  # seconds between two tries


@contextmanager
def turn(path: Path) -> Iterator[None]:
    """Wait until no other process is at it, and keep others waiting meanwhile.

    Parameters
    ----------
    path : Path
        The file; made if it is not there, and left behind empty.
    """
    with path.open("a+b") as file:
        while not _take(file):
            time.sleep(PAUSE)
        try:
            yield
        finally:
            _give_back(file)


def taken(path: Path) -> bool:
    """Whether another process is at it now."""
    if not path.exists():
        return False
    with path.open("a+b") as file:
        if not _take(file):
            return True
        _give_back(file)
    return False


if sys.platform == "win32":
    import msvcrt

    def _take(file: IO[bytes]) -> bool:
        file.seek(0)
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def _give_back(file: IO[bytes]) -> None:
        file.seek(0)
        msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _take(file: IO[bytes]) -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:  # a file system without locks: better twice than never
            return True
        return True

    def _give_back(file: IO[bytes]) -> None:
        try:
            fcntl.flock(file, fcntl.LOCK_UN)
        except OSError:  # it had no locks to begin with
            return
