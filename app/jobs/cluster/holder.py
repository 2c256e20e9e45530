"""What lives with a part of the documents: their counts and local variables, resident between steps."""

from typing import Any, NamedTuple

from app.jobs.cluster.lost import WorkerLostError
from app.jobs.cluster.reading import open_patiently
from app.jobs.load_corpus import load_batch
from engine import models, settings
from engine.contract import Array, Batch, Facts


class Setup(NamedTuple):
    """What a part of a run must know: the model, its settings as JSON, the corpus, and where that is kept."""

    model: str
    settings: dict[str, Any]
    facts: Facts
    seed: int
    store: str
    corpus: int


class Holder:
    """Some of the training documents, as an actor of a Dask worker.

    Parameters
    ----------
    setup : Setup
    pieces : list of (n,) int64
        Numbers of its documents, in pieces whose statistics are told apart: where they are real sums, the order in
        which pieces are added is the same however they are spread (see ``Kernel.real``).
    threads : int
        Of its kernel; results do not depend on them.
    """

    def __init__(self, setup: Setup, pieces: list[Array], threads: int) -> None:
        module = models.load(setup.model)
        config = settings.from_json(module.Config, setup.settings)
        self._kernel = module.build(config, setup.facts, n_threads=threads)
        self._seed = setup.seed
        db = open_patiently(setup.store)
        try:
            self._docs = [load_batch(db, setup.corpus, numbers) for numbers in pieces]
        finally:
            db.close()
        self._local: list[Any] | None = None
        self._waiting = False  # for the topics that have moved since documents were swept

    def put(self, local: list[Any]) -> None:
        """Take over the local variables of every piece."""
        self._local, self._waiting = local, False

    def gather(self, state: Any) -> list[Any]:
        """Sweep all documents under the topics of a state: the statistics of every piece."""
        found = [
            self._kernel.gather(self._seed, state, docs, local)
            for docs, local in zip(self._docs, self.local(state), strict=True)
        ]
        self._local = [local for _, local in found]
        self._waiting = self._kernel.settle is not None
        return [statistics for statistics, _ in found]

    def visit(self, state: Any, pieces: list[Batch]) -> list[Any]:
        """Sweep documents of a mini-batch, of which nothing stays: the statistics of every piece."""
        return [self._kernel.gather(self._seed, state, docs, self._kernel.local(state))[0] for docs in pieces]

    def local(self, state: Any) -> list[Any]:
        """The local variables of every piece, under the topics of a state.

        Raises
        ------
        WorkerLostError
            When none were put here: Dask has made this anew in place of one that is gone.
        """
        if self._local is None:
            raise WorkerLostError("a worker was lost, and its documents began anew")
        if self._waiting:  # what is left to do once the topics have moved, done when these come
            self._local = [
                self._kernel.settle(self._seed, state, docs, local)
                for docs, local in zip(self._docs, self._local, strict=True)
            ]
            self._waiting = False
        return self._local

    def memory(self) -> int:
        """Bytes that the process of this worker takes."""
        import psutil

        return int(psutil.Process().memory_info().rss)
