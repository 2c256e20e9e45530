"""Documents held by a worker: their counts and local variables, which stay there between steps."""

import itertools
import time
from collections.abc import Mapping
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from app.jobs.cluster.workers import SweepPace, WorkerLostError, WorkerReport
from engine import models, settings
from engine.contract import Array, Batch, Counts, Facts, flatten, unflatten
from engine.corpus import take_documents
from engine.pool import BlockSum, BlockSums
from store import checkpoints, corpora
from store.database import Database, open_database
from store.errors import StoreError

OPENING_PATIENCE = 60.0  # seconds that a server is waited for which restarts


def open_patiently(store: str) -> Database:
    """Return the store, for reading; a server that cannot be reached at this moment is waited for.

    Raises
    ------
    StoreError
        When it cannot be opened.
    """
    end = time.monotonic() + OPENING_PATIENCE
    while True:
        try:
            return open_database(store, readonly=True)
        except StoreError as error:
            if type(error) is not StoreError or time.monotonic() > end:  # others do not pass with time
                raise
        time.sleep(0.5)


class RunSetup(NamedTuple):
    """Description of a run for its workers: the model, its settings as JSON, the corpus, and the store with it."""

    model: str
    settings: dict[str, Any]
    facts: Facts
    seed: int
    store: str
    corpus: int
    run: int


class HeldPart(NamedTuple):
    """Documents that a worker holds.

    Attributes
    ----------
    pieces : list of (n,) int64
        Their numbers, in pieces with separate statistics: where they are real sums, these are added by the same
        tree however they are spread (see ``Kernel.real``).
    first : int
        Number of the first piece among those of all documents.
    """

    pieces: list[Array]
    first: int


class LocalShare(NamedTuple):
    """The local variables of the documents of one worker, without their values.

    Attributes
    ----------
    blank : NamedTuple of arrays
        As the model keeps them, of no document.
    rows : tuple of int
        Rows of every one of them.
    """

    blank: Any
    rows: tuple[int, ...]

    @property
    def numbers(self) -> int:
        """The number of values in all of them."""
        each = (n * int(np.prod(array.shape[1:])) for n, array in zip(self.rows, self.blank, strict=True))
        return sum(each)


class DocumentHolder:
    """Some of the training documents, as an actor of a Dask worker, which reads them from the store itself.

    Parameters
    ----------
    setup : RunSetup
    part : HeldPart
    threads : int
        Of its kernel; results do not depend on them.
    """

    def __init__(self, setup: RunSetup, part: HeldPart, threads: int) -> None:
        module = models.load(setup.model)
        config = settings.from_json(module.Config, setup.settings)
        self._kernel = module.build(config, setup.facts, n_threads=threads)
        self._state_type = module.State
        self._setup = setup
        self._part = part
        self._pace = SweepPace()
        self._local: list[Any] | None = None
        self._waiting = False  # for the topics that have moved since documents were swept

    @cached_property
    def _counts(self) -> Counts:
        """The counts of all documents."""
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
        """Hold the documents without local variables: mini-batches come first."""
        self._local = [None] * len(self._docs)

    def prepare(self, state: Any) -> LocalShare | None:
        """Begin with the local variables that the model gives documents before they are first swept."""
        kernel = self._kernel
        self._local = [kernel.local(kernel.prepare(self._setup.seed, state, docs)) for docs in self._docs]
        return self.describe_local(state)

    def load(self, state: Any, minibatch: int, wanted: Mapping[str, slice], by_token: set[str]) -> None:
        """Begin with the local variables of a checkpoint.

        Parameters
        ----------
        state : State
            Of the checkpoint, without local variables.
        minibatch : int
            Of the checkpoint.
        wanted : mapping of str to slice
            Arrays of the checkpoint, and which of their rows are those of the documents here.
        by_token : set of str
            Of them those whose rows are tokens, not documents.
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
        """Return the shapes of the local variables under the topics of a state; None where there are none yet."""
        local = self._settle_local(state)
        if local[0] is None:
            return None
        blank = type(local[0])(*(array[:0] for array in local[0]))
        return LocalShare(blank, tuple(sum(map(len, arrays)) for arrays in zip(*local, strict=True)))

    def read_rows(self, field: int, begin: int, end: int) -> Array:
        """Return rows of a local variable, counted through all pieces."""
        if self._local is None or self._waiting:
            raise WorkerLostError("a worker was lost, and its documents began from the start")
        found, first = [], 0
        for local in self._local:
            found.append(local[field][max(begin - first, 0) : max(end - first, 0)])
            first += len(local[field])
        return found[0] if len(found) == 1 else np.concatenate(found)

    def read_counts(self, places: Array) -> Counts:
        """Return the counts of some of its documents, for a mini-batch."""
        return take_documents(self._counts, places, np.full(self._counts.n_documents, -1, dtype=np.int32)).cells

    def gather(self, state: Any) -> list[BlockSum]:
        """Sweep all documents under the topics of a state; return their statistics, sums of neighbouring pieces."""
        sums, kept = BlockSums(), []
        with self._pace.sweep(self._docs):
            held = zip(self._docs, self._settle_local(state), strict=True)
            for number, (docs, local) in enumerate(held, self._part.first):
                statistics, swept = self._kernel.gather(self._setup.seed, state, docs, local)
                sums.add(BlockSum(number, 1, statistics))
                kept.append(swept)
        self._local = kept
        self._waiting = self._kernel.settle is not None
        return sums.parts

    def visit(self, state: Any, pieces: list[Batch], first: int) -> list[BlockSum]:
        """Sweep pieces of a mini-batch, from number ``first`` on; return their statistics and keep nothing."""
        sums, kernel = BlockSums(), self._kernel
        with self._pace.sweep(pieces):
            for number, docs in enumerate(pieces, first):
                sums.add(BlockSum(number, 1, kernel.gather(self._setup.seed, state, docs, kernel.local(state))[0]))
        return sums.parts

    def make_report(self) -> WorkerReport:
        """Return the number of documents held, the sweeps since the last report, and the memory of the process."""
        import psutil

        memory = int(psutil.Process().memory_info().rss)
        return self._pace.make_report(sum(map(len, self._part.pieces)), memory)

    def _settle_local(self, state: Any) -> list[Any]:
        """Return the local variables of every piece, under the topics of a state.

        Raises
        ------
        WorkerLostError
            When there are none: Dask has made this holder in place of one that was lost.
        """
        if self._local is None:
            raise WorkerLostError("a worker was lost, and its documents began from the start")
        if self._waiting:  # the second half of a step, which needs the topics as it has moved them
            settle, seed = self._kernel.settle, self._setup.seed
            self._local = [
                settle(seed, state, docs, local) for docs, local in zip(self._docs, self._local, strict=True)
            ]
            self._waiting = False
        return self._local
