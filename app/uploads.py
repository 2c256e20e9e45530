"""Files on their way from a browser to a corpus: each form has a folder of its own, which nobody else can guess."""

import errno
import re
import secrets
import shutil
import tempfile
from collections.abc import Awaitable
from contextlib import suppress
from pathlib import Path, PurePosixPath
from threading import Lock
from typing import BinaryIO, NamedTuple

from tornado.web import HTTPError, RequestHandler, stream_request_body

from app.parser import counted

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

    def hand_over(self, token: str) -> Sent | None:
        """Give up what was sent; None where no file has come whole.  Whoever takes it removes the folder."""
        with self._lock:
            folder = self._folders.get(token)
            if folder is None or not any(path.is_file() for path in (folder / SEVERAL).rglob("*")):
                return None
            del self._folders[token]
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
    _coming: Coming | None = None
    _stream: BinaryIO | None = None
    _failure: OSError | None = None

    def initialize(self, uploads: Uploads) -> None:
        """Remember where files go."""
        self._uploads = uploads

    def prepare(self) -> Awaitable[None] | None:
        """Open the file before its first bytes come."""
        if self.request.method != "PUT":
            return None
        free = shutil.disk_usage(tempfile.gettempdir()).free
        size = counted(self.request.headers.get("Content-Length", "0"))
        if size is None:
            raise HTTPError(400, reason=_SIZELESS)
        if size > free:
            raise HTTPError(507, reason=f"There are {free >> 20} MB of room for temporary files, fewer than needed")
        try:
            self._coming = self._uploads.place(self.path_args[0], self.get_query_argument("name"))
            if self._coming is None:
                raise HTTPError(404, reason=_CLOSED)
            self._stream = self._coming.half.open("wb")
        except OSError as error:
            raise self._refusal(error) from None
        self.request.connection.set_max_body_size(_MOST)  # type: ignore[union-attr]
        return None

    def data_received(self, chunk: bytes) -> Awaitable[None] | None:
        """Write what came; what goes wrong is told when all of it has come, for a browser listens only then."""
        if self._stream is not None and self._failure is None:
            try:
                self._stream.write(chunk)
            except OSError as error:
                self._failure = error
        return None

    def put(self, token: str) -> None:
        """Give the file its name, and say that all of it is there."""
        try:
            self._close()
            if self._failure is not None:
                raise self._failure
            if self._coming is not None and not self._uploads.keep(token, self._coming):
                raise HTTPError(404, reason=_CLOSED)
        except OSError as error:
            raise self._refusal(error) from None
        finally:
            self._drop()
        self.set_status(204)

    def on_connection_close(self) -> None:
        """Remove the half of a file that came before the browser left."""
        with suppress(OSError):  # the last bytes may find no room, and are not wanted
            self._close()
        self._drop()

    def _close(self) -> None:
        stream, self._stream = self._stream, None
        if stream is not None:
            stream.close()

    def _drop(self) -> None:
        """Remove what has no name yet."""
        if self._coming is not None:
            with suppress(OSError):  # its folder is removed in the end
                self._coming.half.unlink(missing_ok=True)

    def _refusal(self, error: OSError) -> HTTPError:
        """The sentence that the page shows; it travels in the first line of the answer, which takes plain letters."""
        name = _NOT_PLAIN.sub("?", self.get_query_argument("name"))
        name = name if len(name) <= _NAMED else f"{name[:_NAMED]}..."
        if error.errno == errno.ENOSPC:
            return HTTPError(
                507, reason=f"{name}: there is no room left for temporary files; make room and choose it again"
            )
        cause = error.strerror or "the system refuses it"
        return HTTPError(
            400, reason=f"{name} cannot be kept ({_NOT_PLAIN.sub('?', cause)}); rename it and choose it again"
        )
