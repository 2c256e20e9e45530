"""Handlers of requests for files and of uploads, and answers to malformed paths and queries."""

import errno
import re
import shutil
import sys
import tempfile
from collections.abc import Awaitable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO
from urllib.parse import quote, unquote

from panel.io.server import ComponentResourceHandler
from tornado.httputil import HTTPServerRequest
from tornado.iostream import StreamClosedError
from tornado.routing import Matcher
from tornado.web import HTTPError, RequestHandler, stream_request_body

from topiary.app.jobs.uploads import Downloads, IncomingFile, UploadLimitError, Uploads
from topiary.app.live.cache import Cache
from topiary.app.names import parse_count
from topiary.app.pages.map_reading import POINTS
from topiary.app.server.access import Authentication
from topiary.app.server.hosts import ServeError, send_sentence
from topiary.app.views.theme import STYLES, pack_styles

COMPONENTS = r"/components/(.*)"
_PACKAGES = ("panel", "panel_material_ui", "topiary")  # only components of these packages are served
_FORBIDDEN = re.compile(r"[\x00-\x1f\x7f\\]")
_HANDLER_ERRORS = (
    AttributeError,
    LookupError,
    OSError,
    TypeError,
    ValueError,
)  # raised by Panel's handler for some classes
_MOST_SENT = 1 << 20  # bytes of an unread body after which the connection is closed
_LONGEST_PATH = 4000  # characters of a path
_PREFIX = re.compile(r"[\w.~-]+(?:/[\w.~-]+)*", re.ASCII)


class MalformedPath(Matcher):
    """A match of requests for paths that lead upwards or contain characters that no path of this server has."""

    def match(self, request: HTTPServerRequest) -> dict[str, object] | None:
        """Return None for well-formed paths."""
        path = request.path
        decoded = unquote(unquote(path))  # twice, in case a handler decodes it again
        steps = decoded.split("/")
        is_malformed = not path.startswith("/") or len(path) > _LONGEST_PATH or bool(_FORBIDDEN.search(decoded))
        return {} if is_malformed or ".." in steps or "\ufffd" in decoded else None


class UnreadableQuery(Matcher):
    """A match of requests whose query is not valid text, on which Panel fails."""

    def match(self, request: HTTPServerRequest) -> dict[str, object] | None:
        """Return None for queries that can be read."""
        return {} if "\ufffd" in unquote(request.query) else None


@stream_request_body
class UnreadRequest(RequestHandler):
    """A handler that answers before the body is read, and closes the connection if too much of it follows.

    Parameters
    ----------
    prefix : str
        Path with which the URLs of the server begin.
    """

    _sent = 0

    def initialize(self, prefix: str = "") -> None:
        """Store the prefix."""
        self._prefix = prefix

    def data_received(self, chunk: bytes) -> None:
        """Discard the body, and close the connection after too much of it."""
        self._sent += len(chunk)
        if self._sent > _MOST_SENT:
            self.request.connection.close()  # type: ignore[union-attr]


class NotFoundAnswer(UnreadRequest):
    """A handler that answers 404 with one sentence."""

    def prepare(self) -> None:
        """Answer every method."""
        send_sentence(self, 404, "There is nothing at this address.")


class QueryRedirect(UnreadRequest):
    """A redirect to the same URL without its query, so that a damaged link opens a view."""

    def prepare(self) -> None:
        """Redirect for every method; the URL is relative because a proxy may have removed a prefix."""
        self.redirect(f"./{self.request.path.rpartition('/')[2]}")


class PageRedirect(RequestHandler):
    """A redirect from the path of a page, such as ``/runs``, to the view of that name."""

    def get(self, name: str) -> None:
        """Redirect to a relative URL with the page's name added to the query."""
        up = ".." if self.request.path.endswith("/") else "."
        rest = f"&{self.request.query}" if self.request.query else ""
        self.redirect(f"{up}/?page={name}{rest}")


def read_prefix(text: str) -> str:
    """Return the value of ``--prefix`` as ``/path``, or an empty text for none.

    Raises
    ------
    ServeError
        When the text is not a path.
    """
    path = text.strip().strip("/")
    if path and (not _PREFIX.fullmatch(path) or {".", ".."} & set(path.split("/"))):
        raise ServeError(f"--prefix takes a path of letters, digits and -._~, such as /topiary; got {text!r}")
    return f"/{path}" if path else ""


class NotBelowPrefix(Matcher):
    """A match of requests for paths that are not below the prefix of the server.

    Parameters
    ----------
    prefix : str
        The prefix, such as ``/topiary``; empty if there is none.
    """

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix

    def match(self, request: HTTPServerRequest) -> dict[str, object] | None:
        """Return None for paths below the prefix, which other handlers answer."""
        return None if request.path.startswith(f"{self._prefix}/") else {}


class OutsidePrefix(UnreadRequest):
    """A handler for paths outside the prefix: adds a missing last slash, and answers 404 to everything else."""

    def prepare(self) -> None:
        """Answer every method."""
        if self.request.path == self._prefix:
            query = f"?{self.request.query}" if self.request.query else ""
            self.redirect(f"{self._prefix}/{query}")
            return
        send_sentence(
            self,
            404,
            f"This server answers below {self._prefix}/ only; have the proxy pass that path on, "
            "or start the server without --prefix if the proxy takes it away.",
        )


class ComponentFiles(ComponentResourceHandler):
    """A handler for files of components; Panel's own would import any module that a URL names, and fail on some."""

    def parse_url_path(self, path: str) -> str:
        """Return the path of a component's file, if its module has been imported by this server.

        Raises
        ------
        HTTPError
            404 for everything else.
        """
        name = path.partition("/")[0]
        if name not in sys.modules or name.partition(".")[0] not in _PACKAGES:
            raise HTTPError(404)
        try:
            component_path: str = super().parse_url_path(path)
        except (HTTPError, *_HANDLER_ERRORS) as error:
            raise HTTPError(404) from error
        return component_path

    def validate_absolute_path(self, root: str, absolute_path: str) -> str:  # noqa: ARG002 - the parent's signature
        """Return the path if it is a file."""
        if not Path(absolute_path).is_file():
            raise HTTPError(404)
        return absolute_path


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
STYLE_SHEETS = rf"/{STYLES}/([0-9a-f]{{16}})"
MAP_POINTS = rf"/{POINTS}/([0-9a-f]{{64}})"
_FETCHED = "This file was fetched before; save it again"
_GONE = "This file is no longer here; load the page again"
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


class SharedStyles(ViewersHandler):
    """The handler of ``GET styles/HASH``, which sends the style sheets that components share."""

    def initialize(self, authentication: Authentication) -> None:
        """Store the authentication."""
        self._authentication = authentication

    def get(self, name: str) -> None:
        """Send the script with the texts; those of another version are there after the page is loaded again."""
        styles = pack_styles()
        if not styles.address.endswith(f"/{name}"):
            raise HTTPError(404, reason=_GONE)
        self.set_header("Content-Type", "text/javascript; charset=utf-8")
        self.set_header("Cache-Control", _FOREVER)
        self.finish(styles.text)


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
