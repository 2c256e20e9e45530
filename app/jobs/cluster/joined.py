"""The cluster that a run was ordered on, for as long as its worker lives."""

from typing import TYPE_CHECKING, Any

from app.jobs import training as mathematics
from app.jobs.cluster import place, presence
from app.jobs.cluster.holder import Setup
from app.jobs.cluster.spread import Spread
from engine.corpus import Corpus

if TYPE_CHECKING:
    from app.jobs.claim import Claim
    from engine.contract import Kernel


class Cluster:
    """Workers of a place, joined for one run.

    Attributes
    ----------
    about : str
        How many workers there are and where Dask shows them, in a sentence.

    Raises
    ------
    PlaceError
        When nobody answers there.
    """

    def __init__(self, on: str, claim: "Claim") -> None:
        self._claim = claim
        self._client = place.connect(on)
        workers = len(presence.workers(self._client))
        self.about = (
            f"documents are swept by {workers} workers of {on}; Dask shows them at {self._client.dashboard_link}"
        )

    def training(self, corpus: Corpus, kernel: "Kernel", state_type: type[Any]) -> Spread:
        """Training of the run, spread over the workers."""
        row, db = self._claim.row, self._claim.db
        setup = Setup(row.model, row.settings, mathematics.facts(corpus), row.seed, db.url, row.corpus)
        return Spread(corpus, kernel, state_type, setup, self._client)

    def close(self) -> None:
        """Leave the workers; those of this machine end."""
        place.close(self._client)
