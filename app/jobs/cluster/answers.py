"""Waiting for the answers of workers, never for those of one that is gone."""

from collections.abc import Iterator, Sequence
from typing import Any

from app.jobs.cluster.lost import WorkerLostError
from app.jobs.cluster.place import PlaceError
from app.jobs.cluster.presence import Presence
from store.errors import DamagedArrays, StoreError

PATIENCE = 2.0  # seconds of waiting for an answer, after which the worker is looked for


class Answers:
    """What workers give that are asked.

    Attributes
    ----------
    workers : list of str
        Their addresses, in the order in which they are asked.

    Raises
    ------
    WorkerLostError
        Where the worker that is asked is gone.
    PlaceError
        Where it cannot read the store.
    """

    def __init__(self, presence: Presence, workers: list[str]) -> None:
        self._presence = presence
        self.workers = workers

    def of(self, asked: Sequence[Any]) -> Iterator[Any]:
        """The answers in their order; the n-th worker is asked for the n-th, or for nothing (None)."""
        for worker, future in enumerate(asked):
            if future is not None:
                yield self.one(future, worker)

    def one(self, future: Any, worker: int) -> Any:
        """The answer of a worker; while it is waited for, the scheduler is asked whether the worker is still there.

        An actor whose worker has gone may never answer, nor fail.
        """
        from distributed import CancelledError
        from distributed.scheduler import KilledWorker

        address = self.workers[worker]
        while True:
            try:
                return future.result(timeout=PATIENCE)
            except TimeoutError:
                self._presence.check(address)
            except (CancelledError, KilledWorker, OSError) as error:
                raise WorkerLostError(f"the worker {address} was lost ({error})") from error
            except DamagedArrays:  # of a checkpoint: the one before it is good
                raise
            except StoreError as error:
                raise PlaceError(f"the worker {address} cannot read the documents: {error}") from error
