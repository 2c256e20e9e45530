"""The place where documents are swept, ``local:2`` or the address of a Dask scheduler, and clients of it.

``gpu+local:2``, or such an address after ``gpu+``, is the same place, whose workers sweep by graphics processors.
"""

import functools
import gc
import logging
import re
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import ExitStack, suppress
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

from topiary.app.jobs import gpu, process
from topiary.app.jobs.cluster.workers import WorkerLostError
from topiary.engine.gpu import memory

if TYPE_CHECKING:
    from distributed import Client

ANSWER_SECONDS = 10.0  # seconds within which a living scheduler answers
QUIET_SECONDS = 10.0  # seconds that a worker's heartbeat may lag behind the newest one; then it gets no new work
SILENCE_SECONDS = 60.0  # seconds without a heartbeat after which a worker with work counts as lost


DASK_MISSING = "--on needs Dask, which is not installed; pip install 'topiary-explorer[cluster]'"
Result = TypeVar("Result")
LISTENING = 1.0  # seconds to wait for the machine of a scheduler before a run is ordered
LEAVING = 30.0  # seconds allowed for processes to end
MOST_LOCAL = 512  # processes on this machine
ON_CARDS = f"{memory.NAME}+"  # before a place whose workers sweep by graphics processors
_scratch: "WeakKeyDictionary[Client, Path]" = WeakKeyDictionary()  # folder of the local processes of a client
_ADDRESS = re.compile(r"(tcp|tls)://[^\s/:]+:\d{1,5}|(tcp|tls)://\[[0-9a-fA-F:]+\]:\d{1,5}")


def list_workers(client: "Client") -> dict[str, dict[str, Any]]:
    """Return the scheduler's facts about every worker with a recent heartbeat, by address.

    Raises
    ------
    OSError
        When the scheduler does not answer.
    """
    facts_by_address = _read_workers(client)
    newest = max((facts["last_seen"] for facts in facts_by_address.values()), default=0.0)
    return {
        address: facts for address, facts in facts_by_address.items() if newest - facts["last_seen"] <= QUIET_SECONDS
    }


class WorkerPresence:
    """A check whether the workers that hold documents of a run are alive.

    Dask notices a process that ends, but waits minutes for one that hangs or has lost its network.
    """

    def __init__(self, client: "Client") -> None:
        self._client = client
        self._folders: dict[str, str] = {}  # folder by address; a new process at the same address has another one
        self._heard: dict[str, tuple[float, float]] = {}  # last heartbeat by address, and when it was first read

    def begin(self) -> dict[str, dict[str, Any]]:
        """Return the facts about the present workers, and watch these from now on.

        Raises
        ------
        WorkerLostError
            When there are none, or the scheduler does not answer.
        """
        try:
            workers = list_workers(self._client)
        except OSError as error:
            raise WorkerLostError(f"the scheduler was lost ({error})") from error
        if not workers:
            raise WorkerLostError("all workers were lost")
        self._folders = {address: facts["local_directory"] for address, facts in workers.items()}
        return workers

    def check(self, worker: str) -> None:
        """Check that a worker that has not answered yet is still alive.

        Raises
        ------
        WorkerLostError
            When its process has ended, or has sent no heartbeat for a minute.
        """
        last, since = self._heard.get(worker, (-1.0, time.monotonic()))
        try:
            facts = _read_workers(self._client).get(worker)
        except OSError:  # counts as no new heartbeat
            facts, name = {"last_seen": last}, "the scheduler"
        else:
            name = f"the worker {worker}"
            if facts is None or facts["local_directory"] != self._folders.get(worker, facts["local_directory"]):
                raise WorkerLostError(f"the worker {worker} was lost")
        if facts["last_seen"] != last:
            since = time.monotonic()
        elif time.monotonic() - since > SILENCE_SECONDS:
            raise WorkerLostError(f"{name} has been silent for {SILENCE_SECONDS:.0f} s")
        self._heard[worker] = facts["last_seen"], since


class RemoteActor:
    """A Dask actor whose methods raise WorkerLostError when its worker is gone."""

    def __init__(self, actor: Any) -> None:
        self._actor = actor

    def __getattr__(self, name: str) -> Any:
        try:
            return getattr(self._actor, name)
        except (RuntimeError, ValueError) as error:  # depending on the version of Dask
            raise WorkerLostError(f"a worker was lost ({error})") from error


def _read_workers(client: "Client") -> dict[str, dict[str, Any]]:
    """Return the scheduler's facts about all workers, by address."""
    if client.scheduler is None:
        raise OSError("the connection to the scheduler was closed")
    return client.sync(client.scheduler.identity, n_workers=-1, callback_timeout=ANSWER_SECONDS)["workers"]


class PlaceError(ValueError):
    """The requested place cannot be used; the message is one sentence for the user."""


class WorkPlace(NamedTuple):
    """A place that sweeps documents: ``processes`` on this machine, or the scheduler at ``address``.

    Its workers sweep by graphics processors if ``has_cards``.
    """

    processes: int = 0
    address: str = ""
    has_cards: bool = False

    def __str__(self) -> str:
        """Return the text that names the place, without its graphics processors."""
        return self.address or f"local:{self.processes}"


def parse_place(text: str, *, takes_gpu: bool = False) -> WorkPlace:
    """Return the place that a text such as ``local:2`` names; with ``takes_gpu``, such as ``gpu+local:2`` too.

    Raises
    ------
    PlaceError
        When it is neither ``local:N`` nor the address of a scheduler.
    """
    has_cards = takes_gpu and text.startswith(ON_CARDS)
    name = text.removeprefix(ON_CARDS) if has_cards else text
    kind, _, rest = name.partition(":")
    if kind == "local" and rest.isdigit() and 1 <= int(rest) <= MOST_LOCAL:
        return WorkPlace(processes=int(rest), has_cards=has_cards)
    if _ADDRESS.fullmatch(name):
        return WorkPlace(address=name, has_cards=has_cards)
    choices = "the address of a Dask scheduler, gpu, or both as in gpu+local:2"
    if not takes_gpu:
        choices = "or the address of a Dask scheduler"
    raise PlaceError(f"--on takes local:N, such as local:2, {choices}; got {text!r}")


def is_dask_installed() -> bool:
    """Return whether Dask is installed, without importing it."""
    return find_spec("distributed") is not None


def check_place_name(text: str) -> WorkPlace:
    """Return the place that a text names, after checking that Dask is installed.

    Raises
    ------
    PlaceError
        When the text names no place, or Dask is missing.
    """
    place = parse_place(text)
    if not is_dask_installed():
        raise PlaceError(DASK_MISSING)
    return place


def check_place(text: str, store: str, *, whole: bool = False) -> None:
    """Refuse a place that cannot serve a run of this store, before anything is started.

    Runs that are each trained ``whole`` by a process of this machine need no Dask: their documents are not spread.

    Raises
    ------
    PlaceError
        When the place cannot be read, Dask or a graphics processor of this machine is missing, workers of another one
        could not read the store, or runs that are trained whole should be spread over graphics processors.
    """
    if text == memory.NAME:
        _check_card()
        return
    place = parse_place(text, takes_gpu=True)
    if place.has_cards and whole:
        raise PlaceError(
            f"--on {text} spreads the documents of one run, and several runs are each trained whole; use --on gpu or "
            f"--on {place} for them"
        )
    if not is_dask_installed() and not (whole and place.processes):
        raise PlaceError(DASK_MISSING)
    if place.address and store.startswith("sqlite") and not _is_here(place.address):
        raise PlaceError(
            f"workers of {place} cannot read a store in a file of this machine; keep the store in PostgreSQL"
        )
    if place.has_cards and place.processes:
        _check_card()


def check_listening(text: str) -> None:
    """Refuse a place at whose address nothing listens, before a run waits there for a minute.

    Raises
    ------
    PlaceError
        When the machine of the scheduler says so.
    """
    place = parse_place(text, takes_gpu=True)
    if cause := find_refusal(place):
        raise PlaceError(f"no scheduler with workers answers at {place} ({cause}); {_give_advice(place)}")


def find_refusal(place: WorkPlace) -> str:
    """Return the words with which the machine of a scheduler says that no program listens at its address, else ""."""
    host, _, port = place.address.partition("://")[2].rpartition(":")
    if not port.isdecimal():
        return ""
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=LISTENING).close()
    except ConnectionRefusedError as error:
        return error.strerror or "connection refused"
    except (OSError, OverflowError):  # it may only be slow, or its name may be known later
        return ""
    return ""


def _check_card() -> None:
    """Refuse a machine without a graphics processor."""
    try:
        gpu.check_card()
    except gpu.GpuError as error:
        raise PlaceError(str(error)) from error


def connect_client(
    text: str, *, patience: int = 60, of: Callable[[], dict[str, str]] | None = None, silent: bool = False
) -> "Client":
    """Return a client of a place, connected to at least one worker.

    Parameters
    ----------
    text : str
        The place, as `parse_place` reads it, with or without graphics processors.
    patience : int
        Seconds to wait for an answer of the scheduler and its workers.
    of : callable
        Returns the versions that must be the same everywhere; by default `list_versions`.
    silent : bool
        Whether local processes should print nothing, because a user works in the terminal.

    Raises
    ------
    PlaceError
        When no scheduler or no worker answers within ``patience`` seconds, or their versions differ from ours.
    """
    place = parse_place(text, takes_gpu=True)
    try:
        from distributed import Client
    except ModuleNotFoundError:
        raise PlaceError(DASK_MISSING) from None
    no_answer = f"no scheduler with workers answers at {place}"
    gc.collect()  # an unconnected client that is collected while Dask starts another one would wait for a held lock
    try:
        if place.processes:
            client = _start_local(place.processes, silent=silent)
        else:
            client = run_bounded(functools.partial(Client, place.address, timeout=patience), patience + 1.0)
    except (OSError, TimeoutError, ValueError, TypeError) as error:  # the last two if TLS is not set up
        raise PlaceError(f"{no_answer} ({error}); {_give_advice(place)}") from error
    try:
        client.wait_for_workers(max(place.processes, 1), timeout=patience)
        _check_versions(client, str(place), of or list_versions, patience)
    except (OSError, TimeoutError) as error:
        close_client(client)
        raise PlaceError(f"{no_answer} ({error}); {_give_advice(place)}") from error
    except BaseException:
        close_client(client)
        raise
    return client


def _start_local(processes: int, *, silent: bool) -> "Client":
    """Start processes on this machine and return a client of them; they write into a folder removed at the end."""
    from distributed import Client, LocalCluster

    process.sweep_folders()
    folder = process.make_folder()
    with ExitStack() as undo:
        undo.callback(process.remove_folder, folder)
        cluster = LocalCluster(
            n_workers=processes, threads_per_worker=1, processes=True, host="127.0.0.1",
            dashboard_address="127.0.0.1:0", silence_logs=logging.CRITICAL if silent else logging.WARNING,
            preload=["topiary.app.jobs.cluster.workers"] if silent else [],
            local_directory=str(folder), scheduler_kwargs={"local_directory": str(folder)},
        )  # fmt: skip
        client = Client(cluster)
        undo.pop_all()
    _scratch[client] = folder
    return client


def close_client(client: "Client") -> None:
    """Disconnect from a place, and end its processes if they are local."""
    cluster = client.cluster
    with suppress(TimeoutError):  # a scheduler that hangs is left alone
        run_bounded(client.close, LEAVING)
        if cluster is not None:
            run_bounded(cluster.close, LEAVING)
    if (folder := _scratch.pop(client, None)) is not None:
        process.remove_folder(folder)


def run_bounded(work: Callable[[], Result], seconds: float) -> Result:
    """Return the result of a function, run in a thread because Dask may wait for ever for a hanging scheduler.

    Raises
    ------
    TimeoutError
        When it takes longer than this; its thread is then left running.
    """
    result: Future[Result] = Future()

    def run() -> None:
        try:
            result.set_result(work())
        except BaseException as error:  # noqa: BLE001  # it is raised in the thread that waits
            result.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    try:
        return result.result(seconds)
    except TimeoutError as error:
        raise TimeoutError(str(error) or f"nothing was heard within {seconds:.0f} s") from error


def _is_here(address: str) -> bool:
    host = address.partition("://")[2].rpartition(":")[0].strip("[]")
    return host in ("localhost", "::1") or host.startswith("127.")


def _give_advice(place: WorkPlace) -> str:
    if place.address.startswith("tls:"):
        return "start them, and give them and Topiary the same certificates"
    return "start them"


def _check_versions(client: "Client", text: str, of: Callable[[], dict[str, str]], patience: int) -> None:
    """Refuse workers whose sources or libraries differ from ours, because their results could differ too."""
    our_versions = of()
    for worker, their_versions in _collect_versions(client, of, patience).items():
        if isinstance(their_versions, Exception):
            raise PlaceError(
                f"the worker {worker} of {text} cannot load Topiary ({their_versions}); install the same there"
            ) from their_versions
        different = [
            f"{name} {their_versions[name]} instead of {our_versions[name]}"
            for name in our_versions
            if their_versions[name] != our_versions[name]
        ]
        if different:
            raise PlaceError(f"the worker {worker} of {text} has {', '.join(different)}; install the same everywhere")


def _collect_versions(client: "Client", of: Callable[[], dict[str, str]], patience: int) -> dict[str, Any]:
    """Return the versions, or the error, of every worker that answers, by address.

    Raises
    ------
    TimeoutError
        When no worker answers.
    """
    end = time.monotonic() + patience
    while time.monotonic() < end:
        with suppress(OSError):  # a worker has left or hangs; the next try leaves it out
            present = list(list_workers(client))
            results = client.run(of, workers=present, on_error="return", callback_timeout=patience / 3)
            answers = {worker: result for worker, result in results.items() if not isinstance(result, OSError)}
            if answers:
                return answers
        time.sleep(0.5)
    raise TimeoutError("workers are known there, but do not answer")


def list_versions() -> dict[str, str]:
    """Return the versions that the exact results depend on: the engine's sources, numpy and numba."""
    from topiary.engine.jit import compute_engine_digest

    return {"engine": compute_engine_digest()} | {name: version(name) for name in ("numpy", "numba")}
