"""Files for visitors to download, such as tables: each has a secret token, and is removed once it has been sent."""

import secrets
from pathlib import Path
from threading import Lock

from topiary.app.jobs import process

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
