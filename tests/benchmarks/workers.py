"""Real workers on real stores, watched from outside."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import psutil

from topiary.app.jobs import process
from topiary.store import runs
from topiary.store.database import Database
from topiary.store.run_rows import RunRow

LOOK_SECONDS = 0.02
ENDED = ("finished", "failed", "stopped", "paused")


class Life(NamedTuple):
    """One worker from its start to its end.

    Attributes
    ----------
    row : RunRow
        The run at the end.
    seen : dict of str to float
        Seconds after the start at which each watched thing was first true.
    seconds : float
        From start to end.
    peak : int
        Most bytes of memory it had at any time.
    """

    row: RunRow
    seen: dict[str, float]
    seconds: float
    peak: int


def watch(db: Database, run: int, folder: Path, marks: dict[str, Callable[[RunRow], bool]]) -> Life:
    """Start the worker of a queued run and look at its row until it ends."""
    command = [sys.executable, "-P", "-m", "topiary.app.jobs.worker", "--run", str(run)]
    seen: dict[str, float] = {}
    with (folder / f"worker-{run}.log").open("ab") as log:
        began = time.monotonic()
        child = subprocess.Popen(command, stdout=log, stderr=log, env=process.build_environment(db.url))
        meter = Meter(child)
        while not meter.ended():
            row = runs.get_run(db, run)
            for name, holds in marks.items():
                if name not in seen and holds(row):
                    seen[name] = time.monotonic() - began
            time.sleep(LOOK_SECONDS)
        seconds = time.monotonic() - began
    return Life(runs.get_run(db, run), seen, seconds, meter.peak)


class Meter:
    """The peak memory of a child: told by the system at its end, or watched where the system tells meanwhile."""

    def __init__(self, child: "subprocess.Popen[bytes]") -> None:
        self._child = child
        self.peak = 0

    def ended(self) -> bool:
        """Whether the child has ended; then ``peak`` is final."""
        if hasattr(os, "wait4"):
            number, status, usage = os.wait4(self._child.pid, os.WNOHANG)
            if number == 0:
                return False
            self._child.returncode = os.waitstatus_to_exitcode(status)
            self.peak = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
            return True
        try:
            memory = psutil.Process(self._child.pid).memory_info()
            self.peak = max(self.peak, getattr(memory, "peak_wset", memory.rss))
        except psutil.NoSuchProcess:
            return self._child.poll() is not None
        return self._child.poll() is not None
