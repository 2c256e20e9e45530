"""Whether the workers of a run are still there: nothing is waited for that has gone, hangs, or cannot be reached."""

import time
from typing import TYPE_CHECKING, Any

from app.jobs.cluster.lost import WorkerLostError

if TYPE_CHECKING:
    from distributed import Client

ANSWER = 10.0  # seconds in which a scheduler that lives has answered
QUIET = 10.0  # seconds without a heartbeat, while others have theirs, after which a worker is given nothing new
SILENCE = 60.0  # seconds without a heartbeat after which a worker that has work to do counts as lost


def workers(client: "Client") -> dict[str, dict[str, Any]]:
    """What the scheduler knows of every worker that it has heard of lately, by its address.

    Raises
    ------
    OSError
        When the scheduler does not answer.
    """
    found = _every(client)
    newest = max((about["last_seen"] for about in found.values()), default=0.0)
    return {address: about for address, about in found.items() if newest - about["last_seen"] <= QUIET}


class Presence:
    """Looks for the workers that a run has given documents to.

    Dask itself notices a process that ends; one that hangs, or whose network is gone, it would wait for for minutes.
    """

    def __init__(self, client: "Client") -> None:
        self._client = client
        self._folders: dict[str, str] = {}  # of each process, which a new process at the same address has not
        self._heard: dict[str, tuple[float, float]] = {}  # the last heartbeat, and when we saw that it was another

    def begin(self) -> dict[str, dict[str, Any]]:
        """The workers there are, which are looked for from now on.

        Raises
        ------
        WorkerLostError
            When there are none, or the scheduler does not answer.
        """
        try:
            found = workers(self._client)
        except OSError as error:
            raise WorkerLostError(f"the scheduler was lost ({error})") from error
        if not found:
            raise WorkerLostError("all workers were lost")
        self._folders = {address: about["local_directory"] for address, about in found.items()}
        return found

    def check(self, worker: str) -> None:
        """Look for a worker that has not answered yet.

        Raises
        ------
        WorkerLostError
            When its process has ended, or nothing was heard of it for a minute.
        """
        last, since = self._heard.get(worker, (-1.0, time.monotonic()))
        try:
            about = _every(self._client).get(worker)
        except OSError:  # nothing is heard of it then
            about, said = {"last_seen": last}, "the scheduler"
        else:
            said = f"the worker {worker}"
            if about is None or about["local_directory"] != self._folders.get(worker, about["local_directory"]):
                raise WorkerLostError(f"the worker {worker} was lost")
        if about["last_seen"] != last:
            since = time.monotonic()
        elif time.monotonic() - since > SILENCE:
            raise WorkerLostError(f"{said} has been silent for {SILENCE:.0f} s")
        self._heard[worker] = about["last_seen"], since


class Remote:
    """An actor, whose methods say in the same words as everything else here that its worker has gone."""

    def __init__(self, actor: Any) -> None:
        self._actor = actor

    def __getattr__(self, name: str) -> Any:
        try:
            return getattr(self._actor, name)
        except (RuntimeError, ValueError) as error:  # which of them depends on the version of Dask
            raise WorkerLostError(f"a worker was lost ({error})") from error


def _every(client: "Client") -> dict[str, dict[str, Any]]:
    if client.scheduler is None:
        raise OSError("the connection to the scheduler was closed")
    return client.sync(client.scheduler.identity, n_workers=-1, callback_timeout=ANSWER)["workers"]
