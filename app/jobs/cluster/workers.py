"""The last reports of the workers of a cluster, stored in the ``process`` of the run that they work for."""

import signal
import time
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, Self

if TYPE_CHECKING:
    from topiary.engine.contract import Batch


class WorkerLostError(RuntimeError):
    """A worker was lost, with the local variables of its documents; those of the last checkpoint remain."""


class WorkerReport(NamedTuple):
    """The report of a worker.

    Attributes
    ----------
    documents : int
        Number of documents that it holds.
    tokens : int
        Tokens swept since its last report.
    seconds : float
        Duration of these sweeps.
    memory : int
        Memory of its process in bytes.
    card : dict or None
        Name, memory and use of its graphics processor (:meth:`app.jobs.gpu.CardUse.measure`); None without one.
    """

    documents: int
    tokens: int
    seconds: float
    memory: int
    card: dict[str, Any] | None = None


class SweepPace:
    """The tokens swept since the last report, and the seconds they took."""

    def __init__(self) -> None:
        self._tokens = 0
        self._seconds = 0.0

    @contextmanager
    def sweep(self, docs: Iterable["Batch"]) -> Iterator[None]:
        """Time the body of the ``with`` statement as one sweep of these documents."""
        began = time.perf_counter()
        yield
        self._seconds += time.perf_counter() - began
        self._tokens += sum(int(each.counts.sum()) for each in docs)

    def make_report(self, documents: int, memory: int, card: dict[str, Any] | None = None) -> WorkerReport:
        """Return a report with a number of documents, bytes of memory and a card, and reset the counts."""
        report = WorkerReport(documents, self._tokens, self._seconds, memory, card)
        self._tokens, self._seconds = 0, 0.0
        return report


KEY = "cluster"  # key in the JSON of the process of a run
MOST_LOST = 20  # lost workers that are remembered, the latest ones


class WorkerFacts(NamedTuple):
    """A worker at the time of its last answer.

    Attributes
    ----------
    address, name : str
        Address and name in the scheduler.
    documents : int
        Number of documents that it holds.
    tokens_per_second : float or None
        Speed of its sweeps since the previous report; None if there were none.
    memory, limit : int
        Memory of its process in bytes, and its limit; 0 if there is no limit.
    lost : float or None
        Time at which it was found to be lost, in seconds since 1970; None while it lives.
    card : dict or None
        Its graphics processor, as in `WorkerReport`.
    """

    address: str
    name: str
    documents: int
    tokens_per_second: float | None
    memory: int
    limit: int
    lost: float | None = None
    card: dict[str, Any] | None = None

    @classmethod
    def of(cls, address: str, report: WorkerReport, known: Mapping[str, Any]) -> Self:
        """Return the facts about a worker from its report and from the scheduler."""
        pace = report.tokens / report.seconds if report.seconds > 0 else None
        name, limit = str(known.get("name", "")), int(known.get("memory_limit") or 0)
        return cls(address, name, report.documents, pace, report.memory, limit, card=report.card)


class ClusterFacts(NamedTuple):
    """Facts about a cluster: its dashboard and its workers.

    Attributes
    ----------
    dashboard : str
        Address of Dask's dashboard; "" if unknown.
    workers : tuple of WorkerFacts
        Living workers, then lost ones.
    """

    dashboard: str = ""
    workers: tuple[WorkerFacts, ...] = ()

    @property
    def lost(self) -> tuple[WorkerFacts, ...]:
        """The lost workers."""
        return tuple(each for each in self.workers if each.lost is not None)

    def add_report(self, dashboard: str, fresh: Iterable[WorkerFacts]) -> Self:
        """Return the facts updated by a report of the living workers."""
        return self._replace(dashboard=dashboard, workers=(*fresh, *self.lost))

    def mark_lost(self, present: Container[str], sentence: str, now: float) -> Self:
        """Return the facts with workers marked as lost if they are not ``present`` or the ``sentence`` names them."""

        def mark(worker: WorkerFacts) -> WorkerFacts:
            present_still = worker.address in present and f"{worker.address} " not in f"{sentence} "
            return worker if worker.lost is not None or present_still else worker._replace(lost=now)

        marked = [mark(worker) for worker in self.workers]
        gone = sorted((worker for worker in marked if worker.lost is not None), key=lambda worker: worker.lost or 0.0)
        return self._replace(workers=(*(worker for worker in marked if worker.lost is None), *gone[-MOST_LOST:]))

    def to_json(self) -> dict[str, Any]:
        """Return the facts as JSON, written next to the identity of the process."""
        return {KEY: {"dashboard": self.dashboard, "workers": [each._asdict() for each in self.workers]}}


def read_cluster(process: Mapping[str, Any]) -> ClusterFacts:
    """Return the facts about the workers of a run from the ``process`` of its row; empty if it has none."""
    facts = process.get(KEY) or {}
    return ClusterFacts(facts.get("dashboard", ""), tuple(WorkerFacts(**each) for each in _list_workers(facts)))


def keep_lost(process: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON that the next attempt at a run takes over: the facts about lost workers."""
    lost = read_cluster(process).lost
    return ClusterFacts("", lost).to_json() if lost else {}


def _list_workers(facts: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Return the JSON of the workers, without fields that a later version may have added."""
    return [
        {name: worker[name] for name in WorkerFacts._fields if name in worker} for worker in facts.get("workers", ())
    ]


def dask_setup(worker: object) -> None:  # noqa: ARG001 - as Dask calls it
    """Ignore Ctrl-C, which the process that started this one handles; here it would only print a traceback."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
