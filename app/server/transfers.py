"""Handlers of files that browsers send in pieces, and of those that they fetch."""

import errno
import re
import shutil
import tempfile
from collections.abc import Awaitable
from contextlib import suppress
from typing import BinaryIO
from urllib.parse import quote

from tornado.iostream import StreamClosedError
from tornado.web import HTTPError, RequestHandler, stream_request_body

from topiary.app.ingest.options import parse_count
from topiary.app.jobs.downloads import Downloads
from topiary.app.jobs.uploads import IncomingFile, UploadLimitError, Uploads
from topiary.app.live.cache import Cache
from topiary.app.pages.map_reading import POINTS
from topiary.app.server.access import Authentication

LONGEST = 24 * 3600.0  # seconds that a file may take to arrive
_CLOSED = "This form is closed; open it again"
_SIZELESS = "What was sent does not say its size as a number of bytes; choose the file again"
_LONGEST_NAME = 60  # characters of a file's name in a sentence
_NOT_PLAIN = re.compile(r"[^ -~]|<")


@stream_request_body
class UploadReceiver(RequestHandler):
    """The handler of ``PUT upload/TOKEN?name=PATH``, which writes a body of any size to the form's folder.

    Pages of other sites cannot upload files: before a PUT, the browser asks for permission, which it does not get, and
    they do not know the token.
    """

    _uploads: Uploads
    _file: IncomingFile | None = None
    _stream: BinaryIO | None = None
    _failure: OSError | UploadLimitError | None = None

    def initialize(self, uploads: Uploads, authentication: Authentication) -> None:
        """Store the uploads and the authentication."""
        self._uploads = uploads
        self._authentication = authentication

    def prepare(self) -> Awaitable[None] | None:
        """Check the request and open the file before its first bytes arrive."""
        if self.request.method != "PUT":
            return None
        if self._authentication.role_in(self.request) != "analyst":
            raise HTTPError(403, reason="Viewers send no files")
        free = shutil.disk_usage(tempfile.gettempdir()).free
        self.request.connection.set_max_body_size(free + 1)  # type: ignore[union-attr]
        self.request.connection.set_body_timeout(LONGEST)  # type: ignore[union-attr]
        size = parse_count(self.request.headers.get("Content-Length", "0"))
        if size is None:
            raise HTTPError(400, reason=_SIZELESS)
        if size > free:
            raise HTTPError(507, reason=f"There are {free >> 20} MB of room for temporary files, fewer than needed")
        token = self.path_args[0]
        try:
            self._uploads.check(size)
            self._file = self._uploads.place(token, self.get_query_argument("name"))
            if self._file is None:
                raise HTTPError(404, reason=_CLOSED)
            self._uploads.count(token, 0, files=1)
            self._stream = self._file.half.open("wb")
        except (OSError, UploadLimitError) as error:
            raise self._make_refusal(error) from None
        return None

    def data_received(self, chunk: bytes) -> Awaitable[None] | None:
        """Write a part of the file; errors are reported at its end, because a browser reads no answer before that."""
        if self._file is not None and self._stream is not None and self._failure is None:
            try:
                self._uploads.count(self._file.token, len(chunk))
                self._stream.write(chunk)
            except (OSError, UploadLimitError) as error:
                self._failure = error
        return None

    def put(self, token: str) -> None:
        """Give the complete file its name, and answer 204."""
        try:
            self._close()
            if self._failure is not None:
                raise self._failure
            if self._file is not None and not self._uploads.keep(token, self._file):
                raise HTTPError(404, reason=_CLOSED)
        except (OSError, UploadLimitError) as error:
            raise self._make_refusal(error) from None
        finally:
            self._drop()
        self.set_status(204)

    def on_connection_close(self) -> None:
        """Remove an incomplete file when the browser disconnects."""
        with suppress(OSError):  # there may be no space for the last bytes, which are not needed
            self._close()
        self._drop()

    def _close(self) -> None:
        stream, self._stream = self._stream, None
        if stream is not None:
            stream.close()

    def _drop(self) -> None:
        """Remove an incomplete file."""
        if self._file is not None:
            with suppress(OSError):  # its folder is removed later
                self._file.half.unlink(missing_ok=True)

    def _make_refusal(self, error: OSError | UploadLimitError) -> HTTPError:
        """Return the error for the browser; its sentence is sent in the status line of the answer, in ASCII."""
        if isinstance(error, UploadLimitError):
            return HTTPError(413, reason=str(error))
        name = _NOT_PLAIN.sub("?", self.get_query_argument("name"))
        name = name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}..."
        if error.errno == errno.ENOSPC:
            return HTTPError(
                507, reason=f"{name}: there is no room left for temporary files; make room and choose it again"
            )
        cause = error.strerror or "the system refuses it"
        return HTTPError(
            400, reason=f"{name} cannot be kept ({_NOT_PLAIN.sub('?', cause)}); rename it and choose it again"
        )


PIECE = 1 << 20  # bytes in memory at a time
MAP_POINTS = rf"/{POINTS}/([0-9a-f]{{64}})"
_FETCHED = "This file was fetched before; save it again"
_GONE = "These points are no longer here; load the page again"
_FOREVER = "private, max-age=31536000, immutable"


class ViewersHandler(RequestHandler):
    """A handler that answers viewers too, and nobody without a login."""

    _authentication: Authentication

    def prepare(self) -> None:
        """Check the login."""
        if self._authentication.role_in(self.request) is None:
            raise HTTPError(403, reason="Log in first")
        self.set_header("Content-Type", "application/octet-stream")


class FileSender(ViewersHandler):
    """The handler of ``GET download/TOKEN``, which sends a file once, piece by piece, and removes it."""

    _downloads: Downloads

    def initialize(self, downloads: Downloads, authentication: Authentication) -> None:
        """Store the files and the authentication."""
        self._downloads = downloads
        self._authentication = authentication

    async def get(self, token: str) -> None:
        """Send the file with this token."""
        path = self._downloads.take(token)
        if path is None:
            raise HTTPError(404, reason=_FETCHED)
        try:
            self.set_header("Content-Disposition", f"attachment; filename*=UTF-8''{quote(path.name)}")
            self.set_header("Cache-Control", "no-store")
            with path.open("rb") as file:
                while piece := file.read(PIECE):
                    self.write(piece)
                    await self.flush()
        except StreamClosedError:
            return  # the visitor has closed the page
        finally:
            self._downloads.drop(path)


class MapPoints(ViewersHandler):
    """The handler of ``GET points/HASH``, which answers with the bytes that have this hash.

    A page names the hash once it has packed the points (`app.pages.map_reading`), so the answer to an address never
    changes, and a browser asks once.
    """

    _points: Cache[str, bytes]

    def initialize(self, points: Cache[str, bytes], authentication: Authentication) -> None:
        """Store the points of all maps on screen, and the authentication."""
        self._points = points
        self._authentication = authentication

    def get(self, name: str) -> None:
        """Send the bytes with this hash."""
        data = self._points.get(name)
        if data is None:
            raise HTTPError(404, reason=_GONE)
        self.set_header("Cache-Control", _FOREVER)
        self.finish(data)
