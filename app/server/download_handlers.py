"""The handler of downloads, which sends files that were written for a visitor, piece by piece."""

from urllib.parse import quote

from tornado.iostream import StreamClosedError
from tornado.web import HTTPError, RequestHandler

from app.jobs.downloads import Downloads
from app.server.access import Authentication

PIECE = 1 << 20  # bytes in memory at a time
_GONE = "This file was fetched before; save it again"


class FileSender(RequestHandler):
    """The handler of ``GET download/TOKEN``, which sends a file once and removes it.

    Viewers may save files too, and nobody without a login.
    """

    _downloads: Downloads
    _authentication: Authentication

    def initialize(self, downloads: Downloads, authentication: Authentication) -> None:
        """Store the files and the authentication."""
        self._downloads = downloads
        self._authentication = authentication

    async def get(self, token: str) -> None:
        """Send the file with this token."""
        if self._authentication.role_in(self.request) is None:
            raise HTTPError(403, reason="Log in first")
        path = self._downloads.take(token)
        if path is None:
            raise HTTPError(404, reason=_GONE)
        try:
            self.set_header("Content-Type", "application/octet-stream")
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
