"""What watching costs a run: evaluations, snapshots, checkpoints and heartbeats beside training, at default settings.

The worker trains in this process, so that its parts can be timed.  Then a worker process is started on the same store,
kernels already compiled, and the time until it samples is taken.
"""

import argparse
import functools
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from tests.benchmarks.report import corpus_of, load, median, parser, say
from tests.benchmarks.workers import watch
from topiary.app.jobs import claim, new_run, trainer
from topiary.app.jobs.training import Training
from topiary.engine.corpus import Corpus
from topiary.store import corpus_writer, points, runs
from topiary.store.blocks import DocumentBlock, StoredCounts
from topiary.store.database import Database, open_database

NAME = "corpus"
PARTS = {
    "mini-batches": (Training, "step"),
    "curve": (Training, "curve_point"),
    "paper's evaluation": (Training, "paper_point"),
    "examples": (Training, "place"),
    "snapshots": (trainer.Trainer, "_write_snapshot"),
    "checkpoints": (trainer.Trainer, "_save"),
    "reports": (trainer.Trainer, "_report"),
    "heartbeats": (claim.Claim, "beat"),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Print the share of every part, and how quickly a second worker samples."""
    options = parser(__doc__ or "")
    options.add_argument("--layers", default="128-64-32")
    options.add_argument("--minibatches", type=int, default=500, help="length of the run (default 500)")
    options.add_argument("--threads", type=int, default=2)
    options.add_argument("--starts", type=int, default=3, help="how often a second worker is started (default 3)")
    arguments = options.parse_args(argv)
    corpus = corpus_of(arguments)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        db = open_database(Path(folder) / "store.db")
        try:
            put(db, corpus)
            say(f"{arguments.layers}, {arguments.minibatches} mini-batches, {arguments.threads} threads; {load()}")
            share_of_watching(db, arguments)
            second_worker(db, arguments, Path(folder))
        finally:
            db.close()
    return 0


def share_of_watching(db: Database, arguments: argparse.Namespace) -> None:
    """Train one run here and print what its parts took."""
    watches = Watches()
    run = ordered(db, arguments, arguments.minibatches)
    with watches.on(PARTS):
        trainer.train_run(db, run)
    total = watches.ended - watches.first["mini-batches"]
    training = watches.seconds.pop("mini-batches")
    for name, seconds in sorted(watches.seconds.items(), key=lambda item: -item[1]):
        say(f"  {name:<18}{seconds:8.2f} s {100 * seconds / training:6.1f}% of training")
    rest = total - training - sum(watches.seconds.values())
    say(f"  {'everything else':<18}{rest:8.2f} s {100 * rest / training:6.1f}% of training")
    say(f"  training {training:.1f} s; all but training, ratio to training: {total / training - 1:.3f}")
    n = sum(point.name == "point_perplexity" for point in points.read_points(db, run))
    score = runs.get_run(db, run).point_perplexity or float("nan")
    say(f"  {n} points of the curve; point perplexity at the end {score:.1f}")


def second_worker(db: Database, arguments: argparse.Namespace, folder: Path) -> None:
    """Start worker processes on compiled kernels and print when they sample."""
    marks = {
        "claimed": lambda row: row.attempt > 0,
        "sampling begins": lambda row: row.message.startswith("training"),
        "first mini-batch in the store": lambda row: row.minibatch > 0,
    }
    lives = [watch(db, ordered(db, arguments, 20), folder, marks) for _ in range(arguments.starts + 1)][1:]
    for name in marks:
        say(f"  second worker: {name:<30}{median([life.seen.get(name, life.seconds) for life in lives]):6.2f} s")


def ordered(db: Database, arguments: argparse.Namespace, minibatches: int) -> int:
    """A queued run with default settings."""
    texts = {"layers": arguments.layers}
    return new_run.create_run(
        db, NAME, model="dlda", texts=texts, minibatches=minibatches, threads=arguments.threads
    ).number


class Watches:
    """Seconds spent in some functions, each without what it spends in the others."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self.first: dict[str, float] = {}
        self.ended = 0.0
        self._inside: list[float] = []

    @contextmanager
    def on(self, parts: dict[str, tuple[type[Any], str]]) -> Iterator[None]:
        """Time these methods while the block runs."""
        with ExitStack() as stack:
            for name, (owner, method) in parts.items():
                stack.enter_context(mock.patch.object(owner, method, self._timed(name, getattr(owner, method))))
            yield
            self.ended = time.perf_counter()

    def _timed(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def timed(*arguments: Any, **named: Any) -> Any:
            began = time.perf_counter()
            self.first.setdefault(name, began)
            self._inside.append(0.0)
            try:
                return function(*arguments, **named)
            finally:
                took = time.perf_counter() - began
                self.seconds[name] += took - self._inside.pop()
                if self._inside:
                    self._inside[-1] += took

        return timed


def put(db: Database, corpus: Corpus) -> None:
    """Store a corpus that is in memory."""
    n = corpus.counts.n_documents
    counts, scored = (None if each is None else StoredCounts(*each) for each in (corpus.counts, corpus.scored))
    with corpus_writer.write_corpus(db, NAME, corpus.vocabulary, has_scored=corpus.scored is not None) as writer:
        writer.add(
            DocumentBlock(0, counts, corpus.part, np.full(n, -1, np.int32), [""] * n, [""] * n, [{}] * n, scored)
        )


if __name__ == "__main__":
    sys.exit(main())
