"""Files on their way from a browser to a corpus: each form has a folder with a secret token."""

import secrets
from contextlib import suppress
from pathlib import Path, PurePosixPath
from threading import Lock
from typing import NamedTuple

from app.jobs import process

ADDRESS = "upload"  # files are put under upload/TOKEN?name=PATH
SEVERAL = "documents"  # the name of several files together
_HALVES = "halves"  # next to it: files that are still being uploaded
LARGEST_UPLOAD = 8 << 30  # bytes of all files of one form, unless the server has another limit
MOST_FILES = 1_000_000  # of one form


class SentFiles(NamedTuple):
    """An uploaded file or folder, or the folder of several; and the folder to remove in the end."""

    path: Path
    folder: Path


class IncomingFile(NamedTuple):
    """A file on its way: the path of its bytes meanwhile, its path when it is complete, and the token of its form."""

    half: Path
    whole: Path
    token: str


class UploadLimitError(Exception):
    """A form has sent more than it may; the message says how much that is."""


class Uploads:
    """The folders of this server, by the token of the form they belong to.

    Parameters
    ----------
    largest : int
        Bytes that all files of one form may have together.
    """

    def __init__(self, largest: int = LARGEST_UPLOAD) -> None:
        self._folders: dict[str, Path | None] = {}
        self._came: dict[str, tuple[int, int]] = {}  # bytes and files, also of those that were dropped later
        self._largest = largest
        self._lock = Lock()

    def begin(self) -> str:
        """Return a token that a form sends files with; their folder is made when the first one comes."""
        token = secrets.token_urlsafe(18)
        with self._lock:
            self._folders[token] = None
            self._came[token] = 0, 0
        return token

    def count(self, token: str, size: int, files: int = 0) -> None:
        """Count bytes and files that a form sends.

        Raises
        ------
        UploadLimitError
            When it has sent more than it may.
        """
        with self._lock:
            came, sent = self._came.get(token, (0, 0))
            self.check(came + size, sent + files)
            if token in self._came:
                self._came[token] = came + size, sent + files

    def check(self, size: int, files: int = 1) -> None:
        """Refuse what is more than a form may send in all.

        Raises
        ------
        UploadLimitError
            Says how much that is.
        """
        if size > self._largest or files > MOST_FILES:
            most = f"{self._largest >> 20:,} MB" if self._largest >> 20 else f"{self._largest:,} bytes"
            raise UploadLimitError(
                f"This server takes {most} and {MOST_FILES:,} files for a corpus; use topiary import for more"
            )

    def place(self, token: str, name: str) -> IncomingFile | None:
        """Return the paths of a new file; None for an unknown token and for a name that leads out of the folder.

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
            folder = self._folders[token] = self._folders[token] or process.make_folder()
            whole = folder.joinpath(SEVERAL, *inside.parts)
            with suppress(FileNotFoundError):
                whole.lstat()  # fails now, not after all bytes, where a name is too long or a folder is a file
            halves = folder / _HALVES
            halves.mkdir(exist_ok=True)
        return IncomingFile(halves / secrets.token_hex(8), whole, token)

    def keep(self, token: str, coming: IncomingFile) -> bool:
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
        """Return the path of the files sent with a token, which stay there; None where no file is complete."""
        with self._lock:
            folder = self._folders.get(token)
        return None if folder is None else _find_sent(folder)

    def hand_over(self, token: str) -> SentFiles | None:
        """Give up the files sent with a token; None where no file is complete.  The caller removes the folder."""
        with self._lock:
            folder = self._folders.get(token)
            path = None if folder is None else _find_sent(folder)
            if folder is None or path is None:
                return None
            del self._folders[token]
            self._came.pop(token, None)
        return SentFiles(path, folder)

    def forget(self, token: str) -> None:
        """Remove the files sent with a token."""
        with self._lock:
            folder = self._folders.pop(token, None)
            self._came.pop(token, None)
        if folder is not None:
            process.remove_folder(folder)

    def close(self) -> None:
        """Remove every folder that was not handed over."""
        for token in list(self._folders):
            self.forget(token)


def _find_sent(folder: Path) -> Path | None:
    """Return the uploaded file or folder, or the folder of several; None where no file is complete."""
    every = folder / SEVERAL
    if not any(path.is_file() for path in every.rglob("*")):
        return None
    inside = list(every.iterdir())
    return inside[0] if len(inside) == 1 else every
