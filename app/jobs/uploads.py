"""Uploaded files, before they become a corpus: each form has a folder with a secret token; and files to download."""

import secrets
from contextlib import suppress
from pathlib import Path, PurePosixPath
from threading import Lock
from typing import NamedTuple

from topiary.app.jobs import process
from topiary.app.machine import LARGEST_UPLOAD

ADDRESS = "upload"  # files are put under upload/TOKEN?name=PATH
SEVERAL = "documents"  # the folder of complete files, and the name of several files together
_HALVES = "halves"  # the folder of files that are still being uploaded
MOST_FILES = 1_000_000  # in one form


class SentFiles(NamedTuple):
    """The path of an uploaded file or folder, or of a folder with several, and the folder to remove at the end."""

    path: Path
    folder: Path


class IncomingFile(NamedTuple):
    """A file being uploaded: its temporary path, its path when complete, and the token of its form."""

    half: Path
    whole: Path
    token: str


class UploadLimitError(Exception):
    """A form has sent more than the limit, which the message states."""


class Uploads:
    """The folders of uploads to this server, by the token of their form.

    Parameters
    ----------
    largest : int
        Most bytes of all files of one form together.
    """

    def __init__(self, largest: int = LARGEST_UPLOAD) -> None:
        self._folders: dict[str, Path | None] = {}
        self._received: dict[str, tuple[int, int]] = {}  # bytes and files by token, including dropped files
        self._largest = largest
        self._lock = Lock()

    def begin(self) -> str:
        """Return the token for a new form; its folder is created when the first file arrives."""
        token = secrets.token_urlsafe(18)
        with self._lock:
            self._folders[token] = None
            self._received[token] = 0, 0
        return token

    def count(self, token: str, size: int, files: int = 0) -> None:
        """Add bytes and files to those that a form has sent.

        Raises
        ------
        UploadLimitError
            When the form has sent more than the limit.
        """
        with self._lock:
            received, sent = self._received.get(token, (0, 0))
            self.check(received + size, sent + files)
            if token in self._received:
                self._received[token] = received + size, sent + files

    def check(self, size: int, files: int = 1) -> None:
        """Refuse a total size or number of files above the limit of a form.

        Raises
        ------
        UploadLimitError
            When one of them is above the limit, which the message states.
        """
        if size > self._largest or files > MOST_FILES:
            most = f"{self._largest >> 20:,} MB" if self._largest >> 20 else f"{self._largest:,} bytes"
            raise UploadLimitError(
                f"This server takes {most} and {MOST_FILES:,} files for a corpus; use topiary import for more"
            )

    def place(self, token: str, name: str) -> IncomingFile | None:
        """Return the paths for a new file; None for an unknown token, or a name that leads out of the folder.

        Raises
        ------
        OSError
            When the file system does not allow this name.
        """
        relative = PurePosixPath(name.replace("\\", "/"))
        if relative.is_absolute() or not relative.parts or any(part == ".." or ":" in part for part in relative.parts):
            return None
        with self._lock:
            if token not in self._folders:
                return None
            folder = self._folders[token] = self._folders[token] or process.make_folder()
            final_path = folder.joinpath(SEVERAL, *relative.parts)
            with suppress(FileNotFoundError):
                final_path.lstat()  # fails early if a name is too long or a folder is a file
            halves = folder / _HALVES
            halves.mkdir(exist_ok=True)
        return IncomingFile(halves / secrets.token_hex(8), final_path, token)

    def keep(self, token: str, coming: IncomingFile) -> bool:
        """Move a complete file to its final path; return False if its form was closed meanwhile.

        Raises
        ------
        OSError
            When the file system does not allow its name.
        """
        with self._lock:
            if self._folders.get(token) is None:
                return False
            coming.whole.parent.mkdir(parents=True, exist_ok=True)
            coming.half.replace(coming.whole)
        return True

    def list_names(self, token: str) -> list[str]:
        """Return the names of the files and folders sent with a token, in their order."""
        with self._lock:
            folder = self._folders.get(token)
        root = None if folder is None else folder / SEVERAL
        return sorted(path.name for path in root.iterdir()) if root is not None and root.is_dir() else []

    def remove(self, token: str, name: str) -> int:
        """Remove a file, or a folder with all in it, sent with a token; return how many files that were."""
        if name not in self.list_names(token):
            return 0
        with self._lock:
            path = (self._folders[token] or Path()) / SEVERAL / name
        removed = 1 if path.is_file() else sum(each.is_file() for each in path.rglob("*"))
        if path.is_file():
            path.unlink()
        else:
            process.remove_folder(path)
        return removed

    def look(self, token: str) -> Path | None:
        """Return the path of the files sent with a token, which remain there; None if no file is complete."""
        with self._lock:
            folder = self._folders.get(token)
        return None if folder is None else _find_sent(folder)

    def hand_over(self, token: str) -> SentFiles | None:
        """Release the files sent with a token to the caller, who removes the folder; None if no file is complete."""
        with self._lock:
            folder = self._folders.get(token)
            path = None if folder is None else _find_sent(folder)
            if folder is None or path is None:
                return None
            del self._folders[token]
            self._received.pop(token, None)
        return SentFiles(path, folder)

    def forget(self, token: str) -> None:
        """Remove the files sent with a token."""
        with self._lock:
            folder = self._folders.pop(token, None)
            self._received.pop(token, None)
        if folder is not None:
            process.remove_folder(folder)

    def close(self) -> None:
        """Remove every folder that was not handed over."""
        for token in list(self._folders):
            self.forget(token)


def _find_sent(folder: Path) -> Path | None:
    """Return the path of an uploaded file or folder, or of the folder of several; None if no file is complete."""
    root = folder / SEVERAL
    if not any(path.is_file() for path in root.rglob("*")):
        return None
    entries = list(root.iterdir())
    return entries[0] if len(entries) == 1 else root


DOWNLOADS = "download"  # files are fetched from download/TOKEN
MOST_WAITING = 16  # files that nobody has fetched; older ones are removed


class Downloads:
    """The files that visitors of this server may download, by token."""

    def __init__(self) -> None:
        self._files: dict[str, Path] = {}  # the oldest first
        self._lock = Lock()

    def begin(self, name: str) -> Path:
        """Return the path at which to write a file; its folder is removed with it.

        Parameters
        ----------
        name : str
            The name that the visitor's file gets.
        """
        return process.make_folder() / name

    def offer(self, path: Path) -> str:
        """Offer a file that has been written, and return its token."""
        token = secrets.token_urlsafe(18)
        with self._lock:
            self._files[token] = path
            surplus = [self._files.pop(old) for old in list(self._files)[:-MOST_WAITING]]
        for each in surplus:
            self.drop(each)
        return token

    def take(self, token: str) -> Path | None:
        """Return the path of a file, which the caller drops, once; None for an unknown token."""
        with self._lock:
            return self._files.pop(token, None)

    def drop(self, path: Path) -> None:
        """Remove a file, complete or not, and its folder."""
        process.remove_folder(path.parent)

    def close(self) -> None:
        """Remove all files that were not fetched."""
        for token in list(self._files):
            if (path := self.take(token)) is not None:
                self.drop(path)
