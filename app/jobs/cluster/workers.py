"""The last reports of the workers of a cluster, kept with the process of the run that they work for."""

import signal
import time
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, Self

if TYPE_CHECKING:
    from engine.contract import Batch


class WorkerLostError(RuntimeError):
    """A worker went, and with it the local variables of its documents; the last checkpoint has them."""


class WorkerReport(NamedTuple):
    """The report of a worker.

    Attributes
    ----------
    documents : int
        Documents that it holds.
    tokens : int
        Tokens swept since its last report.
    seconds : float
        Duration of these sweeps.
    memory : int
        Bytes of its process.
    """

    documents: int
    tokens: int
    seconds: float
    memory: int


class SweepPace:
    """Tokens swept, and the seconds they took, since the last call."""

    def __init__(self) -> None:
        self._tokens = 0
        self._seconds = 0.0

    @contextmanager
    def sweep(self, docs: Iterable["Batch"]) -> Iterator[None]:
        """Count what is done inside as one sweep of these documents."""
        began = time.perf_counter()
        yield
        self._seconds += time.perf_counter() - began
        self._tokens += sum(int(each.counts.sum()) for each in docs)

    def make_report(self, documents: int, memory: int) -> WorkerReport:
        """Return the report of a worker with this many documents and bytes; counting begins again."""
        found = WorkerReport(documents, self._tokens, self._seconds, memory)
        self._tokens, self._seconds = 0, 0.0
        return found


KEY = "cluster"  # key in the JSON of the process of a run
MOST_LOST = 20  # of the workers that are gone, the latest


class WorkerFacts(NamedTuple):
    """One worker, as it was when it last answered.

    Attributes
    ----------
    address, name : str
        As the scheduler knows it.
    documents : int
        That live with it.
    tokens_per_second : float or None
        While it swept, since the report before; None where it swept nothing.
    memory, limit : int
        Bytes of its process, and the most it may take; 0 where there is no limit.
    lost : float or None
        When it was found to be gone, in seconds since 1970.
    """

    address: str
    name: str
    documents: int
    tokens_per_second: float | None
    memory: int
    limit: int
    lost: float | None = None

    @classmethod
    def of(cls, address: str, report: WorkerReport, known: Mapping[str, Any]) -> Self:
        """Return the facts about a worker from its report and from the scheduler."""
        pace = report.tokens / report.seconds if report.seconds > 0 else None
        name, limit = str(known.get("name", "")), int(known.get("memory_limit") or 0)
        return cls(address, name, report.documents, pace, report.memory, limit)


class ClusterFacts(NamedTuple):
    """The address of the page about a cluster, and its workers.

    Attributes
    ----------
    dashboard : str
        Address of the page that Dask makes; "" where it is not known.
    workers : tuple of WorkerFacts
        Those that live, then those that are lost.
    """

    dashboard: str = ""
    workers: tuple[WorkerFacts, ...] = ()

    @property
    def lost(self) -> tuple[WorkerFacts, ...]:
        """Those that are gone."""
        return tuple(each for each in self.workers if each.lost is not None)

    def add_report(self, dashboard: str, fresh: Iterable[WorkerFacts]) -> Self:
        """Return the facts after a report of the workers that live."""
        return self._replace(dashboard=dashboard, workers=(*fresh, *self.lost))

    def mark_lost(self, present: Container[str], sentence: str, now: float) -> Self:
        """Return the facts after a loss: gone are the workers that the scheduler lacks or an error names."""

        def mark(each: WorkerFacts) -> WorkerFacts:
            here = each.address in present and f"{each.address} " not in f"{sentence} "
            return each if each.lost is not None or here else each._replace(lost=now)

        found = [mark(each) for each in self.workers]
        gone = sorted((each for each in found if each.lost is not None), key=lambda each: each.lost or 0.0)
        return self._replace(workers=(*(each for each in found if each.lost is None), *gone[-MOST_LOST:]))

    def to_json(self) -> dict[str, Any]:
        """Return the facts as JSON, written next to the identity of the process."""
        return {KEY: {"dashboard": self.dashboard, "workers": [each._asdict() for each in self.workers]}}


def read_cluster(process: Mapping[str, Any]) -> ClusterFacts:
    """Return the facts about the workers of a run from the ``process`` of its row; empty for a run without any."""
    found = process.get(KEY) or {}
    return ClusterFacts(found.get("dashboard", ""), tuple(WorkerFacts(**each) for each in _list_workers(found)))


def keep_lost(process: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the next attempt at a run takes over of the facts: the workers that were lost."""
    lost = read_cluster(process).lost
    return ClusterFacts("", lost).to_json() if lost else {}


def _list_workers(found: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Return the facts about workers without fields that a later version may have added."""
    return [{name: each[name] for name in WorkerFacts._fields if name in each} for each in found.get("workers", ())]


def dask_setup(worker: object) -> None:  # noqa: ARG001 - as Dask calls it
    """Ignore Ctrl-C, which the process that started this one handles; here it would only print a traceback."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
