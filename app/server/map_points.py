"""The handler that sends the points of a map of documents, whose address names their bytes."""

from tornado.web import HTTPError, RequestHandler

from app.live.cache import Cache
from app.pages.map_requests import POINTS
from app.server.access import Authentication

MAP_POINTS = rf"/{POINTS}/([0-9a-f]{{64}})"
_FOREVER = "private, max-age=31536000, immutable"
_GONE = "These points are no longer here; load the page again"


class MapPoints(RequestHandler):
    """The handler of ``GET points/HASH``, which answers with the bytes that have this hash.

    A page names the hash once it has packed the points (`app.pages.map_requests`), so the answer to an address never
    changes, and a browser asks once.  Viewers may read points, and nobody without a login.
    """

    _points: Cache[str, bytes]
    _authentication: Authentication

    def initialize(self, points: Cache[str, bytes], authentication: Authentication) -> None:
        """Store the points of all maps on screen, and the authentication."""
        self._points = points
        self._authentication = authentication

    def get(self, name: str) -> None:
        """Send the bytes with this hash."""
        if self._authentication.role_in(self.request) is None:
            raise HTTPError(403, reason="Log in first")
        data = self._points.get(name)
        if data is None:
            raise HTTPError(404, reason=_GONE)
        self.set_header("Content-Type", "application/octet-stream")
        self.set_header("Cache-Control", _FOREVER)
        self.finish(data)
