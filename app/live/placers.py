"""Snapshots ready for inference, and the documents placed under them, shared by all sessions of a server."""

from app.analysis.inference import Placer, find_snapshot, open_placer
from app.analysis.neighbours import Neighbourhood
from app.live.cache import Once
from store import runs
from store.database import Database

KEPT = 4  # snapshots kept ready


class Places:
    """What placing needs of the last few snapshots, shared by all sessions of a server.

    Parameters
    ----------
    db : Database
        Read-only.

    Attributes
    ----------
    opened : bool
        Whether a snapshot has been made ready in this process; the first one loads the compiler's library and kernels.
    """

    def __init__(self, db: Database) -> None:
        self.opened = False
        self._db = db
        self._known: Once[tuple[int, int], tuple[Placer, Neighbourhood]] = Once(KEPT)

    def placer(self, run: int, snapshot: int = 0) -> Placer:
        """A snapshot (0 = the newest) ready to place documents; may wait for kernels to be compiled."""
        return self._open(run, snapshot)[0]

    def neighbourhood(self, run: int, snapshot: int) -> Neighbourhood:
        """The documents placed under a snapshot, so far."""
        return self._open(run, snapshot)[1]

    def _open(self, run: int, snapshot: int) -> tuple[Placer, Neighbourhood]:
        wanted = find_snapshot(self._db, run, snapshot)

        def opened() -> tuple[Placer, Neighbourhood]:
            placer = open_placer(self._db, runs.get(self._db, run), wanted)
            return placer, Neighbourhood(self._db, placer)

        found = self._known.fetch((run, wanted.number), opened)
        self.opened = True
        return found
