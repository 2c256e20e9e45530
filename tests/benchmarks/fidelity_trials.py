"""Train one trial as the paper did and score it by the averaged protocol of its Table 1 (models.md 1.2, 1.4)."""

import dataclasses
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np

from tests.benchmarks import published
from tests.benchmarks.published import Trial
from topiary.app.jobs import plan as plans
from topiary.app.jobs import training as mathematics
from topiary.app.jobs.training import Position, Training
from topiary.engine import models
from topiary.engine.contract import Array
from topiary.engine.corpus import Corpus


@dataclass(frozen=True, kw_only=True)
class Length:
    """How long trials run: ``minibatches`` steps (sweeps of all documents for batch Gibbs), on ``threads`` threads."""

    minibatches: int = 3500
    threads: int = 2


class Row(NamedTuple):
    """One measured row of the table.

    Attributes
    ----------
    trial : str
        As ``dlda tlasgr:128-64``: whose table, and which row.
    seed : int
    averaged, point : float
        Averaged and point perplexity of the test documents.
    published : float
        The paper's averaged perplexity.
    training_seconds, seconds : float
        Time in training steps alone, and with the sweeps of the test documents.
    test_seconds : float
        Time for one test document: all its sweeps, one after every step of training.
    threads : int
    engine : str
        Digest of the engine's sources.
    """

    trial: str
    seed: int
    averaged: float
    point: float
    published: float
    training_seconds: float
    seconds: float
    test_seconds: float
    threads: int
    engine: str

    @property
    def difference(self) -> float:
        """How far the averaged perplexity is above the published one, in percent."""
        return 100.0 * (self.averaged / self.published - 1.0)


class Standing(NamedTuple):
    """How far a trial is: what a table that was interrupted goes on from."""

    position: Position
    training_seconds: float
    seconds: float
    averaged: float | None


MOST_POINT = 2000  # documents behind the point perplexity of a row of DATM's table
Watch: TypeAlias = Callable[[Training, Standing], None]


def measure(corpus: Corpus, trial: Trial, seed: int, length: Length, *, start: dict[str, Array], watch: Watch) -> Row:
    """Train a trial and score it.

    Parameters
    ----------
    start : dict of arrays
        What :func:`packed` gave for the same trial, or nothing: a trial that goes on ends with the same bits.
    watch : (training, standing) -> None
        Called after every mini-batch.
    """
    from topiary.engine.jit import compute_engine_digest

    training, plan = prepare(corpus, trial, seed, length)
    standing = (
        _unpacked(training, start) if start else Standing(training.start(training.first_state(), plan), 0, 0, None)
    )
    for now in _steps(training, plan, standing):
        watch(training, now)
        standing = now
    averaged = training.averaged_score(standing.position, plan)
    return Row(
        trial=trial.key,
        seed=seed,
        averaged=float("nan") if averaged is None else averaged,
        point=training.paper_point(standing.position, plan, lambda: None),
        published=published.PUBLISHED[trial],
        training_seconds=standing.training_seconds,
        seconds=standing.seconds,
        test_seconds=(standing.seconds - standing.training_seconds) / max(len(training.test), 1),
        threads=length.threads,
        engine=compute_engine_digest(),
    )


def prepare(corpus: Corpus, trial: Trial, seed: int, length: Length) -> tuple[Training, plans.Plan]:
    """A trial ready to step, its kernels compiled, and its plan: rates of the last 3/7 of the mini-batches add up."""
    module = models.load(trial.model)
    config = module.Config(**published.settings(trial))
    kernel = module.build(config, mathematics.collect_facts(corpus), n_threads=length.threads)
    training = Training(corpus, kernel, module.State, seed, filed=True)
    sweeps = training.warm_up(averaged=True)
    order = plans.RunOptions(minibatches=length.minibatches, threads=length.threads, averaged=True, paper_point=True)
    tokens = max(1.0, float(corpus.counts.values.sum(dtype=np.float64)) / corpus.counts.n_documents)
    effort = mathematics.measure_effort(training, training.kernel.init(seed), sweeps, tokens)
    plan = plans.make_plan(order, effort, train_documents=len(training.train), test_documents=len(training.test))
    plan = dataclasses.replace(plan, placed_documents=0)  # nobody looks at examples here
    if trial.table == "datm":  # all documents are test documents there
        plan = dataclasses.replace(plan, paper_documents=min(MOST_POINT, len(training.test)))
    return training, plan


def packed(training: Training, standing: Standing) -> dict[str, Array]:
    """A standing as named arrays."""
    numbers = (standing.position.minibatch, standing.training_seconds, standing.seconds)
    return training.pack(standing.position) | {"standing": np.array(numbers, dtype=np.float64)}


def _unpacked(training: Training, arrays: dict[str, Array]) -> Standing:
    minibatch, training_seconds, seconds = arrays["standing"].tolist()
    return Standing(training.unpack(int(minibatch), arrays), training_seconds, seconds, None)


def _steps(training: Training, plan: plans.Plan, standing: Standing) -> Iterator[Standing]:
    """Every mini-batch still to do: a step, then one sweep of all test documents."""
    position = standing.position
    while position.minibatch < plan.minibatches:
        began = time.perf_counter()
        position, _ = training.step(position)
        trained = time.perf_counter()
        position = training.follow(position, plan)
        ended = time.perf_counter()
        shown = position.minibatch % 50 == 0
        standing = Standing(
            position,
            standing.training_seconds + trained - began,
            standing.seconds + ended - began,
            training.averaged_score(position, plan) if shown else standing.averaged,
        )
        yield standing


def distance(row: "Row", rows: "Sequence[Row]") -> float | None:
    """Percent that the row is above DLDA-TLASGR of its size and seed; None while that row is missing."""
    request = _reference(row)
    found = next((other for other in rows if (other.trial, other.seed) == (request, row.seed)), None)
    return None if found is None else 100.0 * (row.averaged / found.averaged - 1.0)


def published_distance(row: "Row") -> float:
    """The same of the published figures."""
    request = _reference(row)
    figure = next(value for trial, value in published.PUBLISHED.items() if trial.key == request)
    return 100.0 * (row.published / figure - 1.0)


def _reference(row: "Row") -> str:
    """The key of the row it is compared with."""
    table, _, name = row.trial.partition(" ")
    return f"{table} tlasgr:{name.partition(':')[2]}"
