"""Snapshots ready for inference, and the documents placed under them, shared by all sessions of a server."""

from app.analysis.inference import DocumentInference, find_snapshot, open_inference
from app.analysis.neighbours import Neighbourhood
from app.live.cache import Cache
from store import runs
from store.database import Database

KEPT = 4  # snapshots kept ready


class InferenceCache:
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
        self._known: Cache[tuple[int, int], tuple[DocumentInference, Neighbourhood]] = Cache(KEPT)

    def inference(self, run: int, snapshot: int = 0) -> DocumentInference:
        """A snapshot (0 = the newest) ready to place documents; may wait for kernels to be compiled."""
        return self._open(run, snapshot)[0]

    def neighbourhood(self, run: int, snapshot: int) -> Neighbourhood:
        """The documents placed under a snapshot, so far."""
        return self._open(run, snapshot)[1]

    def _open(self, run: int, snapshot: int) -> tuple[DocumentInference, Neighbourhood]:
        request = find_snapshot(self._db, run, snapshot)

        def opened() -> tuple[DocumentInference, Neighbourhood]:
            inference = open_inference(self._db, runs.get_run(self._db, run), request)
            return inference, Neighbourhood(self._db, inference)

        found = self._known.fetch((run, request.number), opened)
        self.opened = True
        return found
