"""Files on their way from a browser to a corpus: each form has a folder of its own, which nobody else can guess."""

import secrets
import shutil
import tempfile
from collections.abc import Awaitable
from pathlib import Path, PurePosixPath
from threading import Lock
from typing import BinaryIO, NamedTuple

from tornado.web import HTTPError, RequestHandler, stream_request_body

ADDRESS = "upload"  # files are put under upload/TOKEN?name=PATH
SEVERAL = "documents"  # what several files are called together
_MOST = 1 << 40  # bytes of one file; the disk is full before


class Sent(NamedTuple):
    """What came: the one file or folder, or the folder of several; and the folder to remove in the end."""

    path: Path
    folder: Path


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

    def place(self, token: str, name: str) -> Path | None:
        """Where a file belongs, its folders made; None for a token not known and for a name that leads elsewhere."""
        inside = PurePosixPath(name.replace("\\", "/"))
        if inside.is_absolute() or not inside.parts or any(part == ".." or ":" in part for part in inside.parts):
            return None
        with self._lock:
            if token not in self._folders:
                return None
            folder = self._folders[token] = self._folders[token] or Path(tempfile.mkdtemp(prefix="topiary-"))
        path = folder.joinpath(SEVERAL, *inside.parts)
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def hand_over(self, token: str) -> Sent | None:
        """Give up what was sent; None where that is nothing.  Whoever takes it removes the folder."""
        with self._lock:
            folder = self._folders.pop(token, None)
        if folder is None:
            return None
        every = folder / SEVERAL
        inside = list(every.iterdir())
        return Sent(inside[0] if len(inside) == 1 else every, folder)

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


@stream_request_body
class Receiver(RequestHandler):
    """Writes the body of ``PUT upload/TOKEN?name=PATH`` to the form's folder as it comes, however large.

    Pages of other sites cannot send here: a browser asks first whether they may PUT, and is not told so; and they do
    not know the token.
    """

    _uploads: Uploads
    _stream: BinaryIO | None = None

    def initialize(self, uploads: Uploads) -> None:
        """Remember where files go."""
        self._uploads = uploads

    def prepare(self) -> Awaitable[None] | None:
        """Open the file before its first bytes come."""
        if self.request.method != "PUT":
            return None
        free, size = shutil.disk_usage(tempfile.gettempdir()).free, int(self.request.headers.get("Content-Length", 0))
        if size > free:
            raise HTTPError(507, reason=f"There are {free >> 20} MB of room for temporary files, fewer than needed")
        path = self._uploads.place(self.path_args[0], self.get_query_argument("name"))
        if path is None:
            raise HTTPError(404, reason="This form is closed; open it again")
        self.request.connection.set_max_body_size(_MOST)  # type: ignore[union-attr]
        self._stream = path.open("wb")
        return None

    def data_received(self, chunk: bytes) -> Awaitable[None] | None:
        """Write what came."""
        if self._stream is not None:
            self._stream.write(chunk)
        return None

    def put(self, _: str) -> None:
        """Say that all of it is there."""
        self._close()
        self.set_status(204)

    def on_connection_close(self) -> None:
        """Close the file of a browser that left."""
        self._close()

    def _close(self) -> None:
        if self._stream is not None:
            self._stream.close()
            self._stream = None
