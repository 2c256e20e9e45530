"""Cut the texts of an import into words with the workers of a Dask cluster, in the order of the documents.

The importing process reads files and sends batches of documents; workers need access to neither files nor store.
A batch is kept until its result has arrived, so that Dask can repeat it if its worker is lost.
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

from topiary.app import ingest
from topiary.app.ingest.source import Map
from topiary.app.jobs.cluster import place
from topiary.app.jobs.cluster.place import PlaceError

if TYPE_CHECKING:
    from distributed import Client, Future

A = TypeVar("A")
B = TypeVar("B")

PATIENCE = 5.0  # seconds of waiting for a result between two counts of the workers
NOBODY = 60.0  # seconds without any worker after which the import fails
_BATCHES_PER_THREAD = 3  # batches in progress for each thread of the workers
_RECOUNT = 16  # batches between two counts of the threads, as workers may join
_LIBRARIES = ("stopwordsiso", "simplemma", "rjieba", "icu4py")


class WorkerMap:
    """A :class:`app.ingest.source.Map` in the processes of a place, connected at first use.

    The caller closes it.

    Parameters
    ----------
    on : str
        The place, as in ``--on``.

    Raises
    ------
    PlaceError
        When ``on`` names no place, or Dask is missing.
    """

    def __init__(self, on: str) -> None:
        place.check_place_name(on)
        self._on = on
        self._client: Client | None = None

    def __call__(self, function: Callable[[A], B], items: Iterable[A], /) -> Iterator[B]:
        """Yield the results of a function for all items, in order, with a bounded number in progress.

        Raises
        ------
        PlaceError
            When no worker answers or is left, or their versions differ from ours.
        """
        if self._client is None:
            self._client = place.connect_client(self._on, of=list_versions, silent=True)
            self._client.direct_to_workers = bool(
                place.parse_place(self._on).processes
            )  # workers elsewhere may be out of reach
        return map_in_order(self._client, function, items)

    def close(self) -> None:
        """Disconnect from the workers; local ones end."""
        if self._client is not None:
            place.close_client(self._client)
            self._client = None


@contextmanager
def open_map(on: str) -> Iterator[Map]:
    """Yield a map over the workers of a place, closed at the end; the built-in ``map`` if ``on`` is empty."""
    if not on:
        yield map
        return
    with closing(WorkerMap(on)) as workers:
        yield workers


def map_in_order(client: "Client", function: Callable[[A], B], items: Iterable[A]) -> Iterator[B]:
    """Yield the results of a function for all items, computed by the workers, in order.

    An error, also one of the iterator of items, is raised after the results of all items before it.
    """
    from distributed.protocol.pickle import dumps

    futures: deque[Future[Any]] = deque()
    packed = dumps(function)
    errors: list[Exception] = []
    most = _limit_items(client)
    for number, item in enumerate(_until_failure(items, errors)):
        futures.append(client.submit(_apply_packed, packed, dumps(item), pure=False))
        if number % _RECOUNT == 0:
            most = _limit_items(client)
        while len(futures) > most:
            yield _wait_for_result(client, futures.popleft())
    while futures:
        yield _wait_for_result(client, futures.popleft())
    for error in errors:
        raise error


def _apply_packed(function: bytes, item: bytes) -> bytes:
    """Apply a function to an item in a worker; all are pickled bytes, which Dask passes on without unpacking."""
    from distributed.protocol.pickle import dumps, loads

    return dumps(_load_function(function)(loads(item)))


@lru_cache(maxsize=4)
def _load_function(function: bytes) -> Callable[[Any], Any]:
    """Unpickle a function once for all items, so that it can cache what it reads, such as stop words."""
    from distributed.protocol.pickle import loads

    loaded: Callable[[Any], Any] = loads(function)
    return loaded


def _limit_items(client: "Client") -> int:
    """Return how many items may be in progress: some for each thread of the workers."""
    return _BATCHES_PER_THREAD * max(sum(client.nthreads().values()), 1)


def _until_failure(items: Iterable[A], errors: list[Exception]) -> Iterator[A]:
    """Yield items until the iterator fails, and append its error to ``failed``."""
    source = iter(items)
    while True:
        try:
            item = next(source)
        except StopIteration:
            return
        except Exception as error:  # noqa: BLE001 - raised after the items before it
            errors.append(error)
            return
        yield item


def _wait_for_result(client: "Client", future: "Future[Any]") -> Any:
    """Return the result of a worker, checking from time to time that there are workers."""
    from distributed import CancelledError
    from distributed.protocol.pickle import loads
    from distributed.scheduler import KilledWorker

    seconds_without = 0.0
    while True:
        try:
            return loads(future.result(timeout=PATIENCE))
        except TimeoutError:
            workers = client.scheduler_info(n_workers=-1)["workers"]
            seconds_without = 0.0 if workers else seconds_without + PATIENCE
            if seconds_without >= NOBODY:
                raise PlaceError("all workers are gone; start some and try again") from None
        except KilledWorker as error:
            cause = "several workers in turn died of the same documents; give workers more memory, or fewer documents"
            raise PlaceError(cause) from error
        except (CancelledError, OSError) as error:
            raise PlaceError(f"the scheduler was lost ({error}); start it and try again") from error


def list_versions() -> dict[str, str]:
    """Return the versions on which the words of a text depend: Python, our sources and some libraries."""
    sources = sha256()
    for file in sorted(Path(*ingest.__path__).rglob("*.py")):
        sources.update(file.read_bytes())
    python = {"Python": sys.version.split()[0], "Unicode": unicodedata.unidata_version}
    return (
        {"topiary.app.ingest": sources.hexdigest()[:12]} | python | {name: _find_version(name) for name in _LIBRARIES}
    )


def _find_version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "missing"
