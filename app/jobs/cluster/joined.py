"""The cluster that a run was ordered on, for as long as its worker lives."""

import time
from typing import TYPE_CHECKING, Any

from app.jobs import training as mathematics
from app.jobs.cluster import place, presence, workers
from app.jobs.cluster.holder import Setup
from app.jobs.cluster.lost import WorkerLostError
from app.jobs.cluster.spread import Spread
from engine.corpus import Corpus

REPORT_SECONDS = 2.0  # between two questions to the workers how they are; a plan's reports may be minutes apart

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
        self._facts = workers.of_process(claim.row.process)
        self._spread: Spread | None = None
        self._reported = -REPORT_SECONDS
        n = len(presence.workers(self._client))
        swept = f"documents are swept by {n:,} worker{'' if n == 1 else 's'} of {on}"
        self.about = f"{swept}; Dask shows them at {self._client.dashboard_link}"

    def training(self, corpus: Corpus, kernel: "Kernel", state_type: type[Any]) -> Spread:
        """Training of the run, spread over the workers."""
        row, db = self._claim.row, self._claim.db
        setup = Setup(row.model, row.settings, mathematics.facts(corpus), row.seed, db.url, row.corpus, row.number)
        self._spread = Spread(corpus, kernel, state_type, setup, self._client)
        return self._spread

    def report(self) -> None:
        """Ask the workers how they are, where the last answer is two seconds old; the next beat writes it."""
        if self._spread is None or time.monotonic() - self._reported < REPORT_SECONDS:
            return
        try:
            known = self._ask_scheduler()
        except OSError:  # the next step finds out
            return
        fresh = [workers.WorkerFacts.of(at, said, known.get(at, {})) for at, said in self._spread.about().items()]
        self._tell(self._facts.reported(self._client.dashboard_link, fresh))
        self._reported = time.monotonic()

    def miss(self, lost: WorkerLostError) -> None:
        """Write down which workers are gone, with what they last said."""
        try:
            present = set(self._ask_scheduler())
        except OSError:  # the scheduler is gone, too: only the error tells of anybody
            present = {each.address for each in self._facts.workers}
        self._tell(self._facts.without(present, str(lost), time.time()))
        self._claim.beat()

    def _ask_scheduler(self) -> dict[str, Any]:
        """What the scheduler knows of its workers, by address; nothing where it does not answer."""
        try:
            return presence.workers(self._client)
        except OSError:
            return {}

    def _tell(self, facts: workers.ClusterFacts) -> None:
        self._facts = facts
        self._claim.process = self._claim.row.process | facts.to_json()

    def close(self) -> None:
        """Leave the workers; those of this machine end."""
        place.close(self._client)
