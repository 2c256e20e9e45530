"""The documents held by a cluster worker: their counts and local variables, which stay there between steps.

The workers of a place may sweep them by graphics processors, one for each.
"""

import itertools
import os
import time
from collections.abc import Mapping
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from topiary.app.jobs import gpu
from topiary.app.jobs.cluster.place import WorkPlace
from topiary.app.jobs.cluster.workers import SweepPace, WorkerLostError, WorkerReport
from topiary.engine import models, settings
from topiary.engine.contract import Array, Batch, Counts, Facts, flatten, unflatten
from topiary.engine.corpus import take_documents
from topiary.engine.gpu.devices import Device, read_arrays
from topiary.engine.pool import BlockSum, BlockSums
from topiary.store import checkpoints, corpora
from topiary.store.database import Database, open_database
from topiary.store.errors import StoreError

OPENING_PATIENCE = 60.0  # seconds to wait for a database server that is restarting
VISIBLE = "CUDA_VISIBLE_DEVICES"  # environment variable that lists the cards that a process sees


class AssignedCard(NamedTuple):
    """The card of a process that sweeps documents for a run.

    Attributes
    ----------
    card : str
        The card as CUDA_VISIBLE_DEVICES names it; "" for the first one that the process sees.
    processes : int
        Number of processes that share its memory.
    """

    card: str = ""
    processes: int = 1

    def use(self) -> None:
        """Let this process see no other card; it must not have used one before."""
        if self.card:
            os.environ[VISIBLE] = self.card


def assign_cards(where: WorkPlace) -> list[AssignedCard]:
    """Return the cards that the workers of a place use in turn; none if processors sweep there.

    Processes of this machine use its cards in turn, and workers elsewhere the first card that each of them sees.

    Raises
    ------
    GpuError
        When processes of this machine should use its cards, and it has none, or numba-cuda is missing.
    """
    if not where.has_cards:
        return []
    return _assign_here(where.processes) if where.processes else [AssignedCard()]


def _assign_here(n: int) -> list[AssignedCard]:
    """Return the card of each of ``n`` processes of this machine."""
    gpu.check_card()
    n_cards = len(gpu.list_cards())
    names = os.environ[VISIBLE].split(",") if VISIBLE in os.environ else list(map(str, range(n_cards)))
    return [AssignedCard(names[i % n_cards].strip(), len(range(i % n_cards, n, n_cards))) for i in range(n)]


def open_patiently(store: str) -> Database:
    """Open the store for reading, and wait for a server that cannot be reached at the moment.

    Raises
    ------
    StoreError
        When it cannot be opened within this time, or at all.
    """
    end = time.monotonic() + OPENING_PATIENCE
    while True:
        try:
            return open_database(store, readonly=True)
        except StoreError as error:
            if type(error) is not StoreError or time.monotonic() > end:  # subclasses are permanent errors
                raise
        time.sleep(0.5)


class RunSetup(NamedTuple):
    """The description of a run for its workers: model, settings as JSON, facts, seed, and numbers in the store."""

    model: str
    settings: dict[str, Any]
    facts: Facts
    seed: int
    store: str
    corpus: int
    run: int


class HeldPart(NamedTuple):
    """The documents that a worker holds.

    Attributes
    ----------
    pieces : list of (n,) int64
        Numbers of the documents, in pieces with separate statistics.  If these are real sums, they are added by the
        same tree however the pieces are spread (see ``Kernel.real``).
    first : int
        Number of the first piece, counted over all workers.
    card : AssignedCard or None
        The graphics processor that sweeps them; None: the processor.
    """

    pieces: list[Array]
    first: int
    card: AssignedCard | None = None


class LocalShare(NamedTuple):
    """The shapes of the local variables of one worker's documents.

    Attributes
    ----------
    blank : NamedTuple of arrays
        The arrays of the model without rows.
    rows : tuple of int
        Number of rows of each array.
    """

    blank: Any
    rows: tuple[int, ...]

    @property
    def numbers(self) -> int:
        """The number of values in all arrays."""
        sizes = (n * int(np.prod(array.shape[1:])) for n, array in zip(self.rows, self.blank, strict=True))
        return sum(sizes)


class DocumentHolder:
    """Some of the training documents, as an actor of a Dask worker that reads them from the store itself.

    Parameters
    ----------
    threads : int
        Threads of its kernel; results do not depend on their number.

    Raises
    ------
    GpuError
        When its machine has no graphics processor that can sweep them.
    """

    def __init__(self, setup: RunSetup, part: HeldPart, threads: int) -> None:
        module = models.load(setup.model)
        config = settings.from_json(module.Config, setup.settings)
        self._state_type = module.State
        self._setup = setup
        self._part = part
        self._pace = SweepPace()
        self._card: gpu.CardUse | None = None
        devices = {} if part.card is None else {"device": self._open_device(config, part.card)}
        self._kernel = module.build(config, setup.facts, n_threads=threads, **devices)
        self._local: list[Any] | None = None
        self._unsettled = False  # whether documents were swept and still need the moved topics

    def _open_device(self, config: Any, assigned: AssignedCard) -> Device:
        """Return the graphics processor that sweeps the held documents; how, depends on the whole corpus."""
        assigned.use()
        card, facts = gpu.check_card(), self._setup.facts
        counts = self._counts
        held = facts._replace(n_documents=counts.n_documents, n_tokens=int(counts.values.sum()))
        device = gpu.open_device(config, facts, held, assigned.processes)
        self._card = gpu.CardUse(card, device)
        return device

    @cached_property
    def _counts(self) -> Counts:
        """The counts of all held documents."""
        numbers = np.concatenate(self._part.pieces)
        db = open_patiently(self._setup.store)
        try:
            return Counts(*corpora.read_counts(db, self._setup.corpus, numbers.tolist()))
        finally:
            db.close()

    @cached_property
    def _docs(self) -> list[Batch]:
        """The documents of each piece, as views of the counts."""
        ends = np.cumsum([0, *map(len, self._part.pieces)]).tolist()
        pieces = zip(itertools.pairwise(ends), self._part.pieces, strict=True)
        return [self._counts.rows(begin, end).batch(numbers) for (begin, end), numbers in pieces]

    def begin(self) -> None:
        """Start without local variables, for a run that begins with mini-batches."""
        self._local = [None] * len(self._docs)

    def prepare(self, state: Any) -> LocalShare | None:
        """Start with the initial local variables of the model; return their shapes."""
        kernel = self._kernel
        self._local = [kernel.local(kernel.prepare(self._setup.seed, state, docs)) for docs in self._docs]
        return self.describe_local(state)

    def load(self, state: Any, minibatch: int, wanted: Mapping[str, slice], by_token: set[str]) -> None:
        """Start with the local variables of a checkpoint.

        Parameters
        ----------
        state : State
            State of the checkpoint, without local variables.
        minibatch : int
            Mini-batch of the checkpoint.
        wanted : mapping of str to slice
            Rows of this worker's documents in each array of the checkpoint, by its name.
        by_token : set of str
            Names of the arrays whose rows are tokens, not documents.
        """
        db = open_patiently(self._setup.store)
        try:
            rows = checkpoints.load_checkpoint_rows(db, self._setup.run, minibatch, wanted)
        finally:
            db.close()
        documents = np.cumsum([0, *(len(docs.documents) for docs in self._docs)])
        tokens = np.cumsum([0, *(int(docs.counts.sum()) for docs in self._docs)]) if by_token else documents
        self._local = []
        for piece in range(len(self._docs)):
            arrays = flatten(state)
            for name, array in rows.items():
                edges = tokens if name in by_token else documents
                arrays[name.removeprefix("state.")] = array[edges[piece] : edges[piece + 1]]
            self._local.append(self._kernel.local(unflatten(self._state_type, arrays)))

    def describe_local(self, state: Any) -> LocalShare | None:
        """Return the shapes of the local variables under the topics of a state; None if there are none yet."""
        local = self._settle_local(state)
        if local[0] is None:
            return None
        blank = type(local[0])(*(array[:0] for array in local[0]))
        return LocalShare(blank, tuple(sum(map(len, arrays)) for arrays in zip(*local, strict=True)))

    def read_rows(self, field: int, begin: int, end: int) -> Array:
        """Return the rows ``begin:end`` of a local variable, numbered over all pieces."""
        if self._local is None or self._unsettled:
            raise WorkerLostError("a worker was lost, and its documents began from the start")
        parts, first = [], 0
        for local in self._local:
            parts.append(local[field][max(begin - first, 0) : max(end - first, 0)])
            first += len(local[field])
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def read_counts(self, places: Array) -> Counts:
        """Return the counts of the held documents at some places, for a mini-batch."""
        return take_documents(self._counts, places, np.full(self._counts.n_documents, -1, dtype=np.int32)).cells

    def gather(self, state: Any) -> list[BlockSum]:
        """Sweep all documents under the topics of a state; return their statistics as sums over neighbouring pieces."""
        sums, swept_locals = BlockSums(), []
        with self._pace.sweep(self._docs):
            pieces = zip(self._docs, self._settle_local(state), strict=True)
            for number, (docs, local) in enumerate(pieces, self._part.first):
                statistics, swept = self._kernel.gather(self._setup.seed, state, docs, local)
                sums.add(BlockSum(number, 1, read_arrays(statistics)))
                swept_locals.append(swept)
        self._local = swept_locals
        self._unsettled = self._kernel.settles
        return sums.parts

    def visit(self, state: Any, pieces: list[Batch], first: int) -> list[BlockSum]:
        """Sweep pieces of a mini-batch, numbered from ``first`` on, and return their statistics without storing any."""
        sums, kernel = BlockSums(), self._kernel
        with self._pace.sweep(pieces):
            for number, docs in enumerate(pieces, first):
                statistics, _ = kernel.gather(self._setup.seed, state, docs, kernel.local(state))
                sums.add(BlockSum(number, 1, read_arrays(statistics)))
        return sums.parts

    def make_report(self) -> WorkerReport:
        """Return a report: documents held, sweeps since the last report, memory of the process, and its card."""
        import psutil

        memory = int(psutil.Process().memory_info().rss)
        card = None if self._card is None else self._card.measure()
        return self._pace.make_report(sum(map(len, self._part.pieces)), memory, card)

    def _settle_local(self, state: Any) -> list[Any]:
        """Return the local variables of every piece, completing a step under the topics of a state if necessary.

        Raises
        ------
        WorkerLostError
            When there are none because Dask has created this holder in place of a lost one.
        """
        if self._local is None:
            raise WorkerLostError("a worker was lost, and its documents began from the start")
        if self._unsettled:  # the second half of a step needs the topics that the first half has moved
            settle, seed = self._kernel.settle, self._setup.seed
            self._local = [
                settle(seed, state, docs, local) for docs, local in zip(self._docs, self._local, strict=True)
            ]
            self._unsettled = False
        return self._local
