"""How the benchmarks time things and say what they found."""

import argparse
import gc
import os
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from topiary.app.jobs.progress import format_duration
from topiary.engine.corpus import Corpus

DATA = "20news_dlda/20news_data.mat"


def say(text: str = "") -> None:
    """Print a line at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


class TimeLeft:
    """An estimate of the time that work of ``total`` equal steps still takes.

    The first steps are not counted, because kernels are compiled in them.
    """

    def __init__(self, total: int) -> None:
        self._total = total
        self._first: tuple[int, float] | None = None

    def words(self, done: int) -> str:
        """Return ``3 min 20 s left`` after ``done`` steps; "" the first time, when the pace is not known yet."""
        now = time.monotonic()
        first, began = self._first = self._first or (done, now)
        if done == first:
            return ""
        return f"{format_duration((now - began) * (self._total - done) / (done - first))} left"


def shared_data() -> Path:
    """Where the shared corpora are looked for when no file is named."""
    beside = Path(__file__).resolve().parents[3] / "shared" / "data"
    return Path(os.environ.get("TOPIARY_SHARED_DATA", beside))


def parser(about: str, *, corpus: bool = True) -> argparse.ArgumentParser:
    """Options most benchmarks have; ``about`` is the docstring of the script."""
    options = argparse.ArgumentParser(description=about.strip().partition("\n")[0])
    if corpus:
        options.add_argument("--data", type=Path, help=f"a .mat file of counts (default: the shared {DATA})")
        options.add_argument("--documents", type=int, help="use a synthetic corpus of this many documents instead")
    return options


def corpus_of(arguments: argparse.Namespace) -> Corpus:
    """The corpus that the options name."""
    from tests.benchmarks.reading import read_corpus
    from tests.benchmarks.synthetic import small_corpus
    from topiary.app.ingest.errors import IngestError

    if arguments.documents:
        return small_corpus(arguments.documents)
    try:
        return read_corpus(arguments.data or shared_data() / DATA)
    except IngestError as error:
        raise SystemExit(f"{error}; name a file with --data, or use --documents 500") from None


class Seconds(NamedTuple):
    """What every round took: by the clock, and of processors (all threads together), which others disturb less."""

    clock: list[float]
    processor: list[float]


def interleaved(contestants: dict[str, Callable[[], object]], rounds: int) -> dict[str, Seconds]:
    """Time every contestant in every round: A B C A B C ..., so that a busy moment hurts all alike."""
    seconds = {name: Seconds([], []) for name in contestants}
    for _ in range(rounds):
        for name, work in contestants.items():
            gc.collect()
            began, used = time.perf_counter(), time.process_time()
            work()
            seconds[name].clock.append(time.perf_counter() - began)
            seconds[name].processor.append(time.process_time() - used)
    return seconds


def median(values: Sequence[float]) -> float:
    """The median."""
    return statistics.median(values)


def ratio(slow: Seconds, fast: Seconds) -> str:
    """How many times ``fast`` is faster: the median over rounds, how far they lie apart, the same in processor time."""
    each = sorted(a / b for a, b in zip(slow.clock, fast.clock, strict=True))
    processor = median([a / b for a, b in zip(slow.processor, fast.processor, strict=True)])
    return f"{median(each):.2f} (rounds {each[0]:.2f} to {each[-1]:.2f}), in processor time {processor:.2f}"


def load() -> str:
    """How busy the machine is: its load where the system tells it, and what of a processor a loop gets here and now."""
    began, used = time.perf_counter(), time.process_time()
    while time.perf_counter() - began < 0.3:
        pass
    share = min(1.0, (time.process_time() - used) / (time.perf_counter() - began))
    busy = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    return f"{os.cpu_count()} processors{busy}, a process gets {100 * share:.0f}% of one"
