"""The handlers of what a page lets the browser fetch: files written for a visitor, and the points of maps."""

from urllib.parse import quote

from tornado.iostream import StreamClosedError
from tornado.web import HTTPError, RequestHandler

from topiary.app.jobs.downloads import Downloads
from topiary.app.live.cache import Cache
from topiary.app.pages.map_requests import POINTS
from topiary.app.server.access import Authentication

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

    A page names the hash once it has packed the points (`app.pages.map_requests`), so the answer to an address never
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
