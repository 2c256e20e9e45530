"""A Dask cluster of processes of this machine, begun again when they end, and the bench for its faults."""

import multiprocessing
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import NamedTuple

import numpy as np
import psutil

from tests.faults.children import Bench, wait_until
from tests.samples.process_samples import small_corpus, written
from topiary.app.jobs import new_run, trainer
from topiary.app.jobs.cluster import place
from topiary.app.machine import ROOT
from topiary.store import runs
from topiary.store.database import Database

SWEPT = {"layers": "6-3", "inference": "gibbs"}  # documents have local variables, which live with the workers
HANGS = 240.0  # seconds after which a run that has got no further counts as lost


class Wire(NamedTuple):
    """How the workers are reached: an address of this machine, and what their commands begin with."""

    address: str = "127.0.0.1"
    prefix: tuple[str, ...] = ()


class Cluster:
    """A scheduler and so many workers; a context.

    Each of them is begun again when it ends, as systemd or a container does it.
    """

    def __init__(self, workers: int = 2, wire: Wire = Wire()) -> None:  # noqa: B008  # it is immutable
        self._workers = workers
        self._wire = wire
        self._folder = Path(tempfile.mkdtemp(prefix="topiary-cluster-"))
        with socket.socket() as found:
            found.bind((wire.address, 0))
            self._port = found.getsockname()[1]
        self.address = f"tcp://{wire.address}:{self._port}"
        self._keepers: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> "Cluster":
        about = ["--host", self._wire.address, "--port", str(self._port), "--no-dashboard"]
        self._keep("scheduler", about)
        about = [self.address, "--nthreads", "1", "--no-dashboard", "--local-directory", str(self._folder)]
        for _ in range(self._workers):
            self._keep("worker", about, self._wire.prefix)
        wait_until(lambda: len(self.workers()) == self._workers)
        return self

    def __exit__(self, *_: object) -> None:
        for keeper in self._keepers:
            os.killpg(keeper.pid, signal.SIGKILL)
            keeper.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    def workers(self) -> list[psutil.Process]:
        """The processes in which documents are swept, those that are there at this moment."""
        return self._below(self._keepers[1:], "spawn_main")

    def scheduler(self) -> psutil.Process:
        """The process of the scheduler, once it is there."""
        wait_until(lambda: bool(self._below(self._keepers[:1], "scheduler")))
        return self._below(self._keepers[:1], "scheduler")[0]

    def _keep(self, kind: str, arguments: Sequence[str], prefix: Sequence[str] = ()) -> None:
        command = shlex.join([*prefix, sys.executable, "-m", "distributed.cli.dask_" + kind, *arguments])
        keep = f"while :; do {command}; sleep 0.2; done"
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        with (self._folder / f"{kind}.log").open("ab") as log:
            streams = {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log}
            self._keepers.append(
                subprocess.Popen(["sh", "-c", keep], env=environment, start_new_session=True, **streams)
            )

    @staticmethod
    def _below(keepers: Sequence["subprocess.Popen[bytes]"], word: str) -> list[psutil.Process]:
        found = []
        for keeper in keepers:
            for each in psutil.Process(keeper.pid).children(recursive=True):
                try:
                    if word in " ".join(each.cmdline()):
                        found.append(each)
                except psutil.NoSuchProcess:  # it ended while it was looked at
                    continue
        return found


class ClusterBench(Bench):
    """A store, a cluster, and the results that a run on it must have: those of a run in one process.

    Parameters
    ----------
    url : str
        Of an empty database.
    cluster : Cluster
        That is there already.
    minibatches : int
        Of a run; longer ones have room for more faults.
    """

    context = multiprocessing.get_context("spawn")  # a fork of a process that has used Dask waits for its event loop

    def __init__(self, url: str, cluster: Cluster, minibatches: int = 300, seed: int = 1) -> None:
        self.url = url
        self.cluster = cluster
        self.rng = np.random.default_rng(seed)
        self._minibatches = minibatches
        with self.store() as db:
            small_corpus(db)
            run = self._new_run(db, "")
            trainer.train_run(db, run)  # in this process, which then has all that its children need
            self.expected = written(db, run)
            runs.delete_run(db, run)
        self.seconds = self.whole(self.order())

    def order(self) -> int:
        """The number of a new queued run on the cluster."""
        with self.store() as db:
            return self._new_run(db, self.cluster.address)

    def whole(self, run: int) -> float:
        """Train a queued run without a fault; the seconds that took."""
        began = time.monotonic()
        assert self.ended(run, self.start(run)), "a run without a fault did not end"
        return time.monotonic() - began

    def ended(self, run: int, child: BaseProcess) -> bool:
        """Wait until a run ends, whichever way; False when it gets no further, and is killed."""
        progress, since = None, time.monotonic()
        while child.exitcode is None and time.monotonic() - since < HANGS:
            child.join(2)
            with self.store() as db:
                row = runs.get_run(db, run)
            if progress != (row.attempt, row.minibatch):
                progress, since = (row.attempt, row.minibatch), time.monotonic()
        hangs = child.exitcode is None
        if hangs:
            child.kill()
            child.join()
        return not hangs

    def _new_run(self, db: Database, on: str) -> int:
        about = {"model": "dlda", "texts": SWEPT, "minibatches": self._minibatches, "averaged": True}
        here = place._is_here
        place._is_here = lambda _: True  # workers in a network of their own still see the files of this machine
        try:
            return new_run.create_run(db, "small", on=on, **about).number
        finally:
            place._is_here = here
