"""Training processes that begin at once, made by forking this one, and the bench on which faults are put into them."""

import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.context import BaseContext
from multiprocessing.process import BaseProcess
from typing import NamedTuple

import numpy as np

from tests.samples.process_samples import Written, order, small_corpus, written
from topiary.app.jobs import claim, trainer
from topiary.store import runs, snapshots
from topiary.store.database import Database, open_database

MINIBATCHES = 30
FORK = multiprocessing.get_context("fork") if sys.platform != "win32" else None
Fault = Callable[[Database], None]


class Outcome(NamedTuple):
    """How many faults were put in, and how many of them cost anything."""

    injected: int
    lost: int


class Bench:
    """One store, and the results that a run on it must have whatever happens to it.

    Parameters
    ----------
    url : str
        Of an empty database.
    seed : int
        Of the moments at which faults are put in.
    """

    context: BaseContext | None = FORK

    def __init__(self, url: str, seed: int = 1) -> None:
        self.url = url
        self.rng = np.random.default_rng(seed)
        claim.BEAT_SECONDS = 0.0  # a beat after every mini-batch: more places to die
        with self.store() as db:
            small_corpus(db)
            run = new_run(db)
            trainer.train_run(db, run)  # in this process, which then has all that its children need
            self.expected: Written = written(db, run)
            runs.delete_run(db, run)
            run = new_run(db)
        self.seconds = self.whole(run)

    @contextmanager
    def store(self) -> Iterator[Database]:
        """The store, closed again before a child is made: connections are not shared with it."""
        db = open_database(self.url)
        try:
            yield db
        finally:
            db.close()

    def order(self) -> int:
        """The number of a new queued run."""
        with self.store() as db:
            return new_run(db)

    def start(self, run: int, fault: Fault | None = None) -> BaseProcess:
        """Begin to train a run in a child, with a fault put into it."""
        assert self.context is not None
        child = self.context.Process(target=_train, args=(self.url, run, fault))
        child.start()
        return child

    def whole(self, run: int) -> float:
        """Train a queued run without a fault; the seconds that took."""
        began = time.monotonic()
        child = self.start(run)
        child.join()
        assert child.exitcode == 0, f"a run without a fault ended with {child.exitcode}"
        return time.monotonic() - began

    def resume(self, run: int) -> bool:
        """Queue a run again whose worker is gone; False when it is finished."""
        with self.store() as db:
            row = runs.get_run(db, run)
            if row.state == "finished":
                return False
            if row.state == "running":
                runs.abandon_run(db, run, "paused", "its worker is gone", force=True)
            if row.state != "queued":
                runs.requeue_run(db, run)
            return True

    def is_as_expected(self, run: int) -> bool:
        """Whether a run is bit for bit the one that nobody touched; it is deleted then.

        A snapshot that was damaged is passed over, and only that one may be missing.
        """
        with self.store() as db:
            damaged = {
                row.minibatch for row in snapshots.list_snapshots(db, run) if not snapshots.check_snapshot(db, row)
            }
            others = {at: each for at, each in self.expected.snapshots.items() if at not in damaged}
            same = len(damaged) <= 1 and written(db, run) == self.expected._replace(snapshots=others)
            if same:
                runs.delete_run(db, run)
            return same

    def finish(self, run: int) -> bool:
        """Resume a run without further faults; whether it ends as expected."""
        if self.resume(run):
            self.whole(run)
        return self.is_as_expected(run)


def new_run(db: Database) -> int:
    """A queued run, the same every time."""
    return order(db, minibatches=MINIBATCHES, averaged=True).number


def wait_until(true: Callable[[], bool], seconds: float = 60) -> None:
    """Wait for something to become true."""
    end = time.monotonic() + seconds
    while not true():
        if time.monotonic() > end:
            raise AssertionError(f"it did not happen in {seconds} s")
        time.sleep(0.005)


def _train(url: str, run: int, fault: Fault | None) -> None:
    """What a child does: train, with the exit status of a worker; nothing of it is printed."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(nowhere, stream)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    db = open_database(url)
    interrupt = claim.Interrupt()
    interrupt.db = db
    if fault is not None:
        fault(db)
    try:
        trainer.train_run(db, run, interrupt=interrupt)
    finally:
        db.close()
