"""Waiting for the answers of workers, never for those of one that is gone."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from app.jobs.cluster.lost import WorkerLostError

if TYPE_CHECKING:
    from distributed import Client

PATIENCE = 5.0  # seconds of waiting for an answer, after which the worker is looked for


class Answers:
    """What the workers of a client give.

    Attributes
    ----------
    workers : list of str
        Their addresses, in the order in which they are asked.

    Raises
    ------
    WorkerLostError
        Where the worker that is asked is gone.
    """

    def __init__(self, client: "Client", workers: list[str]) -> None:
        self._client = client
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
                if address not in self._client.scheduler_info(n_workers=-1)["workers"]:
                    raise WorkerLostError(f"the worker {address} was lost") from None
            except (CancelledError, KilledWorker, OSError) as error:
                raise WorkerLostError(f"the worker {address} was lost ({error})") from error
            except ValueError as error:
                if "Worker holding Actor was lost" in str(error):
                    raise WorkerLostError(f"the worker {address} was lost") from error
                raise
