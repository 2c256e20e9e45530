"""Handlers that answer malformed paths and queries, paths outside the prefix, and requests for files."""

import re
import sys
from pathlib import Path
from urllib.parse import unquote

from panel.io.server import ComponentResourceHandler
from tornado.httputil import HTTPServerRequest
from tornado.routing import Matcher
from tornado.web import HTTPError, RequestHandler, stream_request_body

from topiary.app.server.hosts import send_sentence
from topiary.app.server.ports import ServeError

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
