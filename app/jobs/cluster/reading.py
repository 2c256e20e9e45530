"""Texts of an import, or of documents to append, cut into words by the workers of a Dask cluster, in their order.

The importing process reads files and sends batches of documents; workers need to see neither files nor store.
A batch is kept until its result is there, so Dask repeats it where its worker was lost.
"""

import sys
import unicodedata
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from functools import lru_cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from app import ingest
from app.ingest.source import Map
from app.jobs.cluster import place
from app.jobs.cluster.place import PlaceError

if TYPE_CHECKING:
    from distributed import Client, Future

A = TypeVar("A")
B = TypeVar("B")

PATIENCE = 5.0  # seconds of waiting for a result, after which the workers are counted
NOBODY = 60.0  # seconds without any worker, after which the import is given up
_AHEAD = 3  # batches on their way for each thread of the workers
_LOOK = 16  # batches after which the threads are counted again, as workers may have joined
_LIBRARIES = ("scikit-learn", "stopwordsiso", "simplemma", "rjieba", "icu4py")


class WorkerMap:
    """A :class:`app.ingest.source.Map` in the processes of a place, which are connected at first use.

    The caller closes them.

    Parameters
    ----------
    on : str
        The place, as in ``--on``.

    Raises
    ------
    PlaceError
        When it is no place, or Dask is missing.
    """

    def __init__(self, on: str) -> None:
        place.check_place_name(on)
        self._on = on
        self._client: Client | None = None

    def __call__(self, function: Callable[[A], B], items: Iterable[A], /) -> Iterator[B]:
        """Return the function of every item, in their order, a bounded number of them at a time.

        Raises
        ------
        PlaceError
            When nobody answers there, their versions differ from ours, or no worker is left.
        """
        if self._client is None:
            self._client = place.connect_client(self._on, of=list_versions, silent=True)
            self._client.direct_to_workers = bool(
                place.parse_place(self._on).processes
            )  # else they may be out of reach
        return map_in_order(self._client, function, items)

    def close(self) -> None:
        """Leave the workers; those of this machine end."""
        if self._client is not None:
            place.close_client(self._client)
            self._client = None


@contextmanager
def open_map(on: str) -> Iterator[Map]:
    """Yield a map over the workers of a place, left at the end; in this process where ``on`` is empty."""
    if not on:
        yield map
        return
    with closing(WorkerMap(on)) as workers:
        yield workers


def map_in_order(client: "Client", function: Callable[[A], B], items: Iterable[A]) -> Iterator[B]:
    """Return the function of every item, computed by the workers.

    The error of an item is raised in its turn, also when the items themselves fail.
    """
    from distributed.protocol.pickle import dumps

    waiting: deque[Future[Any]] = deque()
    packed = dumps(function)
    failed: list[Exception] = []
    most = _limit_items(client)
    for number, item in enumerate(_until_failure(items, failed)):
        waiting.append(client.submit(_apply_packed, packed, dumps(item), pure=False))
        if number % _LOOK == 0:
            most = _limit_items(client)
        while len(waiting) > most:
            yield _wait_for_result(client, waiting.popleft())
    while waiting:
        yield _wait_for_result(client, waiting.popleft())
    for error in failed:
        raise error


def _apply_packed(function: bytes, item: bytes) -> bytes:
    """Apply a function in a worker; function, item and result are bytes, which Dask passes on without unpacking."""
    from distributed.protocol.pickle import dumps, loads

    return dumps(_load_function(function)(loads(item)))


@lru_cache(maxsize=4)
def _load_function(function: bytes) -> Callable[[Any], Any]:
    """Load a function that was sent, once for all items, so that it keeps what it has read, such as stop words."""
    from distributed.protocol.pickle import loads

    loaded: Callable[[Any], Any] = loads(function)
    return loaded


def _limit_items(client: "Client") -> int:
    """Return how many items may be on their way: some for each thread of the workers."""
    return _AHEAD * max(sum(client.nthreads().values()), 1)


def _until_failure(items: Iterable[A], failed: list[Exception]) -> Iterator[A]:
    """Yield items until making one fails, and put its error in ``failed``."""
    source = iter(items)
    while True:
        try:
            item = next(source)
        except StopIteration:
            return
        except Exception as error:  # noqa: BLE001 - raised when the items before it are done
            failed.append(error)
            return
        yield item


def _wait_for_result(client: "Client", future: "Future[Any]") -> Any:
    """Return the answer of a worker, and check meanwhile that there are workers."""
    from distributed import CancelledError
    from distributed.protocol.pickle import loads
    from distributed.scheduler import KilledWorker

    waited = 0.0
    while True:
        try:
            return loads(future.result(timeout=PATIENCE))
        except TimeoutError:
            there = client.scheduler_info(n_workers=-1)["workers"]
            waited = 0.0 if there else waited + PATIENCE
            if waited >= NOBODY:
                raise PlaceError("all workers are gone; start some and try again") from None
        except KilledWorker as error:
            cause = "several workers in turn died of the same documents; give workers more memory, or fewer documents"
            raise PlaceError(cause) from error
        except (CancelledError, OSError) as error:
            raise PlaceError(f"the scheduler was lost ({error}); start it and try again") from error


def list_versions() -> dict[str, str]:
    """Return the versions that decide how texts are cut into words: Python, our sources and some libraries."""
    sources = sha256()
    for file in sorted(Path(*ingest.__path__).rglob("*.py")):
        sources.update(file.read_bytes())
    python = {"Python": sys.version.split()[0], "Unicode": unicodedata.unidata_version}
    return {"app.ingest": sources.hexdigest()[:12]} | python | {name: _find_version(name) for name in _LIBRARIES}


def _find_version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "missing"
