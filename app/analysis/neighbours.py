"""The documents of the corpus that lie nearest to one, by their shares of the topics of layer 1.

Documents must be placed before they can be compared.  That is done once for a snapshot, block by block, so that
a page can say how far it is; the results stay in memory for all sessions.
"""

from threading import Lock
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from app.analysis.inference import DocumentInference
from app.jobs.plan import PLACE_SWEEPS
from engine.contract import Array
from engine.hierarchy import paths
from store import corpora
from store.database import Database

MOST = 3000  # documents placed; of a larger corpus every so-and-so-many-th
BLOCK = 250  # documents placed between two messages


class Neighbour(NamedTuple):
    """A document and its Hellinger distance, 0 (the same topics) to 1 (none in common)."""

    document: int
    distance: float


class Neighbourhood:
    """Documents of the corpus placed under one snapshot.

    Parameters
    ----------
    db : Database
    inference : DocumentInference
    most : int
        How many documents to place at most.
    """

    def __init__(self, db: Database, inference: DocumentInference, most: int = MOST) -> None:
        self._db, self._document_inference = db, inference
        n = inference.corpus.documents
        self.numbers = np.unique(np.linspace(0, n - 1, min(n, most)).round().astype(np.int64))
        self._shares: NDArray[np.float32] = np.zeros((len(self.numbers), len(inference.topics.phi[0].T)), np.float32)
        self._lock = Lock()
        self.done = 0

    @property
    def ready(self) -> bool:
        """Whether every document has been placed."""
        return self.done >= len(self.numbers)

    def advance(self) -> None:
        """Place the next block of documents; one caller at a time."""
        with self._lock:
            here = self.numbers[self.done : self.done + BLOCK]
            if len(here):
                counts = corpora.read_counts(self._db, self._document_inference.corpus.number, here.tolist())
                placed = self._document_inference.shares(counts, here.tolist(), PLACE_SWEEPS)
                self._shares[self.done : self.done + len(here)] = placed
                self.done += len(here)

    def nearest(self, theta: Array, n: int, *, without: int = -1) -> list[Neighbour]:
        """Find the ``n`` nearest of the documents placed so far.

        Parameters
        ----------
        theta : (K_1,) array
            Activations of layer 1 of the document in question.
        n : int
        without : int
            A document left out: the one in question.
        """
        distances = paths.hellinger_distances(paths.normalise_shares(theta), self._shares[: self.done])
        order = np.argsort(distances, kind="stable")[: n + 1]
        found = [Neighbour(int(self.numbers[place]), float(distances[place])) for place in order]
        return [each for each in found if each.document != without][:n]
