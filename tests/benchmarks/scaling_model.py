"""What a step of a run costs on so many processes, measured part by part, and the model that is fitted to it.

A step sends the topics to P workers, each of which sweeps its documents; their statistics come back and are added,
and the topics move once::

    T(P) = W / P + A P + M + C

W are the seconds of all sweeps on one processor, M those of the move, A what one more worker costs (topics out,
statistics back and added, one after the other on the one machine that leads) and C what a step costs whoever sweeps.
It is least at P = sqrt(W / A): there the curve bends.  Were topics handed on and statistics added by a tree of workers,
A P would be A (1 + log2 P).
"""

import gc
import math
import statistics as figures
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from topiary.app.jobs import training as mathematics
from topiary.app.jobs.cluster import place
from topiary.app.jobs.cluster.holder import DocumentHolder, RunSetup
from topiary.app.jobs.cluster.spread import SpreadTraining
from topiary.app.jobs.load_corpus import load_corpus, open_corpus
from topiary.app.jobs.plan import RunOptions, make_plan
from topiary.app.jobs.training import Training
from topiary.engine import models, settings

if TYPE_CHECKING:
    from topiary.engine.corpus import Corpus
    from topiary.store.corpus_rows import CorpusRow
    from topiary.store.database import Database


SEED = 1
MODEL, TEXTS = "dlda", {"inference": "gibbs"}
ONE = "in one process"  # a row without a cluster


class Row(NamedTuple):
    """Steps on one number of processes, medians of seconds.

    Attributes
    ----------
    processes : int
        0: in this process, without a cluster.
    threads : int
        Of each process.
    step, move, gather : float
        A whole step; of it the move; and the sweep of the slowest worker, by the clock.
    work : float
        Processor seconds of the sweeps of all workers together.
    out, back : int
        Bytes of the topics that go to one worker, and of the statistics that one sends back.
    filled : float
        Part of the numbers in a worker's statistics that are not 0.
    memory : int
        Bytes of the process of the largest worker.
    held : int
        Of these, its documents with their local variables.
    """

    processes: int
    threads: int
    step: float
    move: float
    gather: float = 0.0
    work: float = 0.0
    out: int = 0
    back: int = 0
    filled: float = 0.0
    memory: int = 0
    held: int = 0

    @property
    def overhead(self) -> float:
        """Seconds of a step that are neither the sweep of the slowest worker nor the move."""
        return max(0.0, self.step - self.gather - self.move)


class Model(NamedTuple):
    """The constants of T(P), in seconds; ``documents`` are those that W is of."""

    work: float
    each: float
    move: float
    rest: float
    documents: int

    def step(self, processes: Any, documents: float | None = None, *, tree: bool = False) -> Any:
        """Seconds of a step on so many processes, each on a processor of its own."""
        p = np.asarray(processes, dtype=np.float64)
        work = self.work * (1.0 if documents is None else documents / self.documents)
        return work / p + self.each * (1 + np.log2(p) if tree else p) + self.move + self.rest

    def bend(self, documents: float | None = None, *, tree: bool = False) -> float:
        """The number of processes beyond which more of them make a step slower."""
        if self.each <= 0:
            return math.inf
        ratio = self.work * (1.0 if documents is None else documents / self.documents) / self.each
        return ratio * math.log(2) if tree else math.sqrt(ratio)


class TimedHolder(DocumentHolder):
    """Also remembers what its last sweep cost."""

    _spent = (0.0, 0.0)
    _sent = (0, 0.0)

    def gather(self, state: Any) -> list[Any]:
        """As ever, timed by the clock and by the processor."""
        began, worked = time.perf_counter(), time.process_time()
        found = super().gather(state)
        self._spent = time.perf_counter() - began, time.process_time() - worked
        if not self._sent[0]:
            arrays = [array for part in found for array in _arrays(part.statistics)]
            filled = sum(int(np.count_nonzero(array)) for array in arrays) / max(1, sum(a.size for a in arrays))
            self._sent = sum(array.nbytes for array in arrays), filled
        return found

    def spent(self) -> tuple[float, float, int, float, int]:
        """Seconds by the clock and of the processor, bytes sent, their filled part, and bytes that it holds."""
        held = sum(array.nbytes for docs in self._docs for array in docs)
        held += sum(array.nbytes for local in self._local or [] if local is not None for array in _arrays(local))
        return (*self._spent, *self._sent, held)


class TimedSpread(SpreadTraining):
    """A spread run whose workers say what their sweeps cost."""

    holder = TimedHolder

    def spent(self) -> list[tuple[float, float, int, float, int]]:
        """What every worker says of its last sweep."""
        return self._ask("spent")


class Setting(NamedTuple):
    """What is measured: widths of the layers, and how many steps, of which the first does not count."""

    layers: str
    steps: int
    threads: int  # of the move


def alone(db: "Database", about: "CorpusRow", threads: int, setting: Setting) -> Row:
    """Steps in this process, with so many threads and no cluster."""
    corpus = load_corpus(db, about)
    kernel, state_type, moves, _ = _kernel(corpus, threads, setting)
    training = Training(corpus, kernel, state_type, SEED)
    steps = _steps(training, setting.steps, lambda: None)
    del training
    gc.collect()
    return Row(0, threads, figures.median(steps), figures.median(moves[1 - setting.steps :]))


def spread(db: "Database", about: "CorpusRow", processes: int, setting: Setting) -> Row:
    """Steps whose documents are swept by so many processes of one thread."""
    corpus = open_corpus(db, about)
    kernel, state_type, moves, config = _kernel(corpus, setting.threads, setting)
    client = place.connect_client(f"local:{processes}")
    try:
        setup = RunSetup(
            MODEL, settings.to_json(config), mathematics.collect_facts(corpus), SEED, db.url, about.number, 0
        )
        training = TimedSpread(corpus, kernel, state_type, setup, client)
        spent: list[list[tuple[float, float, int, float, int]]] = []
        steps = _steps(training, setting.steps, lambda: spent.append(training.spent()))
        memory = max(each.memory for each in training.collect_reports().values())
        state = kernel.init(SEED)
    finally:
        place.close_client(client)
    last = spent[-1]
    return Row(
        processes,
        1,
        figures.median(steps),
        figures.median(moves[1 - setting.steps :]),
        gather=figures.median(max(each[0] for each in step) for step in spent[1:]),
        work=figures.median(sum(each[1] for each in step) for step in spent[1:]),
        out=sum(array.nbytes for array in _arrays(state)),
        back=max(each[2] for each in last),
        filled=float(np.mean([each[3] for each in last])),
        memory=memory,
        held=max(each[4] for each in last),
    )


def fitted(rows: Sequence[Row], documents: int, processors: int) -> Model:
    """The model of rows on a cluster: A and C by least squares of the overheads, W and M as they were measured.

    W is that of rows whose processes have a processor each: others push each other's documents out of the caches.
    """
    on = [row for row in rows if row.processes]
    p, overhead = np.array([row.processes for row in on], dtype=float), np.array([row.overhead for row in on])
    slope, rest = np.polyfit(p, overhead, 1) if len(on) > 1 else (0.0, float(overhead[0]))
    work = figures.median(row.work for row in on if row.processes <= max(processors, on[0].processes))
    return Model(work, max(float(slope), 0.0), figures.median(row.move for row in on), max(float(rest), 0.0), documents)


def _kernel(corpus: "Corpus", threads: int, setting: Setting) -> tuple[Any, type[Any], list[float], Any]:
    """The kernel, which notes the seconds of its moves, with what else a run needs."""
    module = models.load(MODEL)
    config = settings.parse(module.Config, TEXTS | {"layers": setting.layers})
    kernel = module.build(config, mathematics.collect_facts(corpus), n_threads=threads)
    moves: list[float] = []
    original = kernel.move

    def move(*given: Any) -> Any:
        began = time.perf_counter()
        found = original(*given)
        moves.append(time.perf_counter() - began)
        return found

    kernel.move = move
    return kernel, module.State, moves, config


def _steps(training: Training, n: int, after: Callable[[], Any]) -> list[float]:
    """Seconds of every step but the first, in which kernels are compiled and memory is taken."""
    training.warm_step()
    state = training.first_state()
    effort = mathematics.measure_effort(training, state, 1.0, 1.0)
    plan = make_plan(RunOptions(minibatches=n), effort, train_documents=len(training.train), test_documents=0)
    position = training.start(state, plan)
    del state
    seconds = []
    for _ in range(n):
        began = time.perf_counter()
        position, _ = training.step(position)
        seconds.append(time.perf_counter() - began)
        after()
    return seconds[1:]


def _arrays(value: Any) -> list[np.ndarray[Any, Any]]:
    """Every array in nested tuples."""
    if isinstance(value, np.ndarray):
        return [value]
    return [array for part in value for array in _arrays(part)] if isinstance(value, tuple) else []
