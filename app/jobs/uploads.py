"""Files on their way from a browser to a corpus: each form has a folder of its own, which nobody else can guess."""

import re
import secrets
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path, PurePosixPath
from threading import Lock
from typing import NamedTuple

ADDRESS = "upload"  # files are put under upload/TOKEN?name=PATH
SEVERAL = "documents"  # what several files are called together
_HALVES = "halves"  # beside it: what is still on its way, and nobody is handed
_MOST = 1 << 40  # bytes of one file; the disk is full before
_CLOSED = "This form is closed; open it again"
_SIZELESS = "What was sent does not say its size as a number of bytes; choose the file again"
_NAMED = 60  # characters of a name in a sentence
_NOT_PLAIN = re.compile(r"[^ -~]|<")


class Sent(NamedTuple):
    """What came: the one file or folder, or the folder of several; and the folder to remove in the end."""

    path: Path
    folder: Path


class Coming(NamedTuple):
    """A file on its way: where its bytes go meanwhile, and where it belongs once all of them are there."""

    half: Path
    whole: Path


class Uploads:
    """The folders of this server, by the token of the form they belong to."""

    def __init__(self) -> None:
        self._folders: dict[str, Path | None] = {}
        self._lock = Lock()

    def begin(self) -> str:
        """A token that a form sends files with; their folder is made when the first one comes."""
        token = secrets.token_urlsafe(18)
        with self._lock:
            self._folders[token] = None
        return token

    def place(self, token: str, name: str) -> Coming | None:
        """Where a file goes; None for a token not known and for a name that leads elsewhere.

        Raises
        ------
        OSError
            When no file can have that name here.
        """
        inside = PurePosixPath(name.replace("\\", "/"))
        if inside.is_absolute() or not inside.parts or any(part == ".." or ":" in part for part in inside.parts):
            return None
        with self._lock:
            if token not in self._folders:
                return None
            folder = self._folders[token] = self._folders[token] or Path(tempfile.mkdtemp(prefix="topiary-"))
            whole = folder.joinpath(SEVERAL, *inside.parts)
            with suppress(FileNotFoundError):
                whole.lstat()  # says now, not after all its bytes, that a name is too long or that a folder is a file
            halves = folder / _HALVES
            halves.mkdir(exist_ok=True)
        return Coming(halves / secrets.token_hex(8), whole)

    def keep(self, token: str, coming: Coming) -> bool:
        """Give a file that is all there its name; False where its form was closed meanwhile.

        Raises
        ------
        OSError
            When it cannot have that name.
        """
        with self._lock:
            if self._folders.get(token) is None:
                return False
            coming.whole.parent.mkdir(parents=True, exist_ok=True)
            coming.half.replace(coming.whole)
        return True

    def look(self, token: str) -> Path | None:
        """Where what was sent with a token lies, which stays there; None where no file has come whole."""
        with self._lock:
            folder = self._folders.get(token)
        return None if folder is None else _sent(folder)

    def hand_over(self, token: str) -> Sent | None:
        """Give up what was sent; None where no file has come whole.  Whoever takes it removes the folder."""
        with self._lock:
            folder = self._folders.get(token)
            path = None if folder is None else _sent(folder)
            if folder is None or path is None:
                return None
            del self._folders[token]
        return Sent(path, folder)

    def forget(self, token: str) -> None:
        """Remove what was sent with a token."""
        with self._lock:
            folder = self._folders.pop(token, None)
        self._remove(folder)

    def close(self) -> None:
        """Remove every folder that was not handed over."""
        for token in list(self._folders):
            self.forget(token)

    @staticmethod
    def _remove(folder: Path | None) -> None:
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)


def _sent(folder: Path) -> Path | None:
    """The one file or folder that came, or the folder of several; None where no file has come whole."""
    every = folder / SEVERAL
    if not any(path.is_file() for path in every.rglob("*")):
        return None
    inside = list(every.iterdir())
    return inside[0] if len(inside) == 1 else every
