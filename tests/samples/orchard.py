"""A made-up collection of planted subjects, one of words that break careless programs; and the command line."""

import csv
import io
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from process_samples import train_here

from topiary.app.cli.main import main
from topiary.app.jobs import launcher, process
from topiary.store import runs
from topiary.store.database import Database
from topiary.store.run_rows import RunRow

ROOT = Path(__file__).resolve().parents[2]
SUBJECTS = {
    "garden": ["rose", "hedge", "prune", "lawn", "tulip", "soil", "blossom", "shears"],
    "space": ["orbit", "rocket", "launch", "moon", "probe", "lunar", "shuttle", "comet"],
    "sport": ["goal", "league", "coach", "season", "score", "hockey", "team", "referee"],
    "health": ["doctor", "patient", "clinic", "drug", "dose", "blood", "therapy", "ward"],
    "music": ["violin", "cello", "chord", "opera", "tempo", "choir", "sonata", "flute"],
    "hostile": ["none", "null", "nan", "true", "1992", "<script", "'\"quoted\"'", "a&b"],
}
DOCUMENTS = 300
MARKUP = "<script>window.hacked=1</script><img src=x onerror='window.hacked=1'>"
TITLES = ("undefined", "none", "false", "true", "1992", f"{MARKUP} title", 'it\'s "quoted" & more')


def write_collection(path: Path) -> Path:
    """Three hundred documents as CSV: 24 words of one subject and 4 of any, every fifth for the test."""
    rng = np.random.default_rng(5)
    names = list(SUBJECTS)
    everything = [word for words in SUBJECTS.values() for word in words]
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(["title", "text", "label", "split"])
        for j in range(DOCUMENTS):
            subject = names[j % len(names)]
            words = [*rng.choice(SUBJECTS[subject], 24), *rng.choice(everything, 4)]
            title = TITLES[j // 6 % len(TITLES)] if subject == "hostile" else f"{subject} {j}"
            table.writerow([title, f"{' '.join(words)} {MARKUP}", subject, "test" if j % 5 == 4 else "train"])
    return path


class Topiary:
    """The ``topiary`` command on a store of its own.

    Parameters
    ----------
    folder : Path
        Where the store and the logs of its workers lie.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.store = f"sqlite:///{folder / 'store.db'}"
        self.environment = os.environ | {"TOPIARY_STORE": self.store, "PYTHONPATH": str(ROOT), "TOPIARY_WORKERS": "3"}
        self.environment |= {"PYTHONIOENCODING": "utf-8"}
        self.environment |= dict.fromkeys(("XDG_DATA_HOME", "LOCALAPPDATA"), str(folder / "data"))

    def __call__(self, *words: object) -> str:
        """Run a command and give what it prints."""
        command = [sys.executable, "-P", "-m", "topiary.app.cli.main", *map(str, words)]
        done = subprocess.run(
            command,
            env=self.environment,
            cwd=self.folder,
            check=False,
            capture_output=True,
            text=True,
            encoding="utf-8",
        )
        assert done.returncode == 0, f"topiary {' '.join(map(str, words))}: {done.stderr or done.stdout}"
        return done.stdout

    def read(self, *words: object) -> Any:
        """What a reading command prints with ``--json``."""
        return json.loads(self(*words, "--json"))

    def logs(self) -> str:
        """Everything that workers wrote besides the store."""
        return "\n".join(path.read_text(encoding="utf-8") for path in sorted((self.folder / "data").rglob("run-*.log")))


class InnerTopiary(Topiary):
    """The same in this process, which has imported everything once, and trains the runs too."""

    def __call__(self, *words: object) -> str:
        """Run a command and give what it prints."""
        printed = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="")
        with pytest.MonkeyPatch.context() as patch, redirect_stdout(printed):
            for name, value in self.environment.items():
                patch.setenv(name, value)
            patch.chdir(self.folder)
            patch.setattr(launcher, "start_worker", train_here)
            status = main([*map(str, words)])
        printed.flush()
        text = printed.buffer.getvalue().decode("utf-8")
        assert status == 0, f"topiary {' '.join(map(str, words))}: {text}"
        return text


def kill(db: Database, run: int) -> None:
    """End the worker of a run as SIGKILL does, and wait until it is gone."""
    worker = runs.get_run(db, run).process
    psutil.Process(worker["pid"]).kill()
    end = time.monotonic() + 30
    while process.check_life(worker) == "alive":
        assert time.monotonic() < end, "a killed worker is still there"
        time.sleep(0.01)


def wait_for(db: Database, run: int, ready: Callable[[RunRow], bool], seconds: float = 420) -> RunRow:
    """The row of a run as soon as it is ready; an error in the run fails the test at once."""
    end = time.monotonic() + seconds
    while not ready(row := runs.get_run(db, run)):
        assert row.state != "failed", row.traceback
        assert time.monotonic() < end, f"run {run} did not get there in {seconds} s: {row}"
        time.sleep(0.02)
    return row
