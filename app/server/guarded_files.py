"""Answers to malformed paths and queries, and to those outside the prefix."""

import re
import sys
from pathlib import Path
from urllib.parse import unquote

from panel.io.server import ComponentResourceHandler
from tornado.httputil import HTTPServerRequest
from tornado.routing import Matcher
from tornado.web import HTTPError, RequestHandler, stream_request_body

from app.server.hosts import send_sentence
from app.server.ports import ServeError

COMPONENTS = r"/components/(.*)"
_PACKAGES = ("panel", "panel_material_ui", "app")  # whose components may be asked for
_CONTROL = re.compile(r"[\x00-\x1f\x7f\\]")
_ODD = (AttributeError, LookupError, OSError, TypeError, ValueError)  # what Panel's handler fails with at some classes
_MOST_SENT = 1 << 20  # bytes that are sent without being read until the line is cut
_LONGEST = 4000  # characters of a path
_PREFIX = re.compile(r"[\w.~-]+(?:/[\w.~-]+)*", re.ASCII)


class MalformedPath(Matcher):
    """A match of requests for paths that lead upwards or contain characters that no address of ours has."""

    def match(self, request: HTTPServerRequest) -> dict[str, object] | None:
        """Return None for paths that may exist."""
        path = request.path
        plain = unquote(unquote(path))  # twice, for whatever decodes it once more
        steps = plain.split("/")
        bad = not path.startswith("/") or len(path) > _LONGEST or bool(_CONTROL.search(plain))
        return {} if bad or ".." in steps or "\ufffd" in plain else None


class UnreadableQuery(Matcher):
    """A match of requests whose query is not text, at which Panel fails."""

    def match(self, request: HTTPServerRequest) -> dict[str, object] | None:
        """Return None for queries that can be read."""
        return {} if "\ufffd" in unquote(request.query) else None


@stream_request_body
class UnreadRequest(RequestHandler):
    """A handler that answers before the body is read, and closes the connection if more of it is sent.

    Parameters
    ----------
    prefix : str
        Path that the addresses of the server begin with.
    """

    _sent = 0

    def initialize(self, prefix: str = "") -> None:
        """Keep the prefix."""
        self._prefix = prefix

    def data_received(self, chunk: bytes) -> None:
        """Discard what is sent."""
        self._sent += len(chunk)
        if self._sent > _MOST_SENT:
            self.request.connection.close()  # type: ignore[union-attr]


class NotFoundAnswer(UnreadRequest):
    """The answer 404 with one sentence."""

    def prepare(self) -> None:
        """Answer every method."""
        send_sentence(self, 404, "There is nothing at this address.")


class QueryRedirect(UnreadRequest):
    """A redirect to the same address without its query: a damaged link opens the nearest view."""

    def prepare(self) -> None:
        """Redirect for every method; the address is relative because a proxy may have removed a prefix."""
        self.redirect(f"./{self.request.path.rpartition('/')[2]}")


class PageRedirect(RequestHandler):
    """A redirect from the path of a page, such as ``/runs``, to the view of that name."""

    def get(self, name: str) -> None:
        """Redirect to a relative address, with the rest of the query."""
        up = ".." if self.request.path.endswith("/") else "."
        rest = f"&{self.request.query}" if self.request.query else ""
        self.redirect(f"{up}/?page={name}{rest}")


def read_prefix(text: str) -> str:
    """Read the value of ``--prefix``; return ``/path``, or an empty text for none.

    Raises
    ------
    ServeError
        When it is no path.
    """
    path = text.strip().strip("/")
    if path and (not _PREFIX.fullmatch(path) or {".", ".."} & set(path.split("/"))):
        raise ServeError(f"--prefix takes a path of letters, digits and -._~, such as /topiary; got {text!r}")
    return f"/{path}" if path else ""


class NotBelowPrefix(Matcher):
    """A match of requests for addresses that are not below the prefix of the server.

    Parameters
    ----------
    prefix : str
        As in ``/topiary``; empty where there is none.
    """

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix

    def match(self, request: HTTPServerRequest) -> dict[str, object] | None:
        """Return None for addresses below the prefix, which other handlers answer."""
        return None if request.path.startswith(f"{self._prefix}/") else {}


class OutsidePrefix(UnreadRequest):
    """A redirect from the prefix without its slash to the page; everything else is answered by 404 and one sentence."""

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
    """Files of components; Panel's own handler imports any module that an address names, and fails at some."""

    def parse_url_path(self, path: str) -> str:
        """Find the file of a component of a module that this server has imported.

        Raises
        ------
        HTTPError
            404 for everything else.
        """
        name = path.partition("/")[0]
        if name not in sys.modules or name.partition(".")[0] not in _PACKAGES:
            raise HTTPError(404)
        try:
            found: str = super().parse_url_path(path)
        except (HTTPError, *_ODD) as error:
            raise HTTPError(404) from error
        return found

    def validate_absolute_path(self, root: str, absolute_path: str) -> str:  # noqa: ARG002 - as its parent has it
        """Accept files only."""
        if not Path(absolute_path).is_file():
            raise HTTPError(404)
        return absolute_path
