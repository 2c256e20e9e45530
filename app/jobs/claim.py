"""The claim of a worker on a run: all that it writes to the store, and the requests that it reads from there."""

import errno
import math
import mmap
import signal
import time
import traceback
from collections import deque
from types import FrameType, TracebackType
from typing import Any

from topiary.app.jobs import logs
from topiary.app.jobs.cluster.place import PlaceError
from topiary.app.jobs.gpu import GpuError
from topiary.engine.gpu.memory import DeviceError
from topiary.engine.settings import SettingError
from topiary.store import checkpoints, runs
from topiary.store.database import Database
from topiary.store.errors import LostClaim, ReplacedStore, StoreError
from topiary.store.points import Point
from topiary.store.run_rows import RunRow

BEAT_SECONDS = 0.5  # between two heartbeats
# Errors that are not bugs; their message is a sentence for users.
SENTENCE_ERRORS = (StoreError, SettingError, DeviceError, GpuError, PlaceError)
ENDING_SECONDS = 2.0  # for which a worker that is asked to end still waits for its database
SCORES = {
    ("point", "perplexity"): "point_perplexity",
    ("paper", "perplexity"): "test_perplexity",
    ("averaged", "perplexity"): "averaged_perplexity",
    ("mean", "perplexity"): "mean_perplexity",
    ("test mean", "perplexity"): "test_mean_perplexity",
    ("test point", "perplexity"): "test_point_perplexity",
    ("point", "log-likelihood"): "heldout_loglik",
    ("mean", "log-likelihood"): "mean_loglik",
    ("test mean", "log-likelihood"): "test_mean_loglik",
    ("test point", "log-likelihood"): "test_point_loglik",
    ("paper", "log-likelihood"): "test_loglik",
    ("averaged", "log-likelihood"): "averaged_loglik",
}


LEAST_MEMORY = 512 << 20  # bytes of addresses that the libraries and the smallest run need
OUT_OF_MEMORY = "out of memory: use fewer topics, a smaller mini-batch or a machine with more memory, then resume"


class Interrupt:
    """A request to end this process; the training loop finishes its mini-batch first.

    After the request, the process waits only ``ENDING_SECONDS`` for a database that cannot be reached.
    """

    def __init__(self) -> None:
        self.requested = False
        self.db: Database | None = None

    def listen(self) -> None:
        """Handle SIGTERM and SIGINT (on Windows also CTRL_BREAK) as a request to end."""
        for name in ("SIGTERM", "SIGINT", "SIGBREAK"):
            if hasattr(signal, name):
                signal.signal(getattr(signal, name), self._request_end)

    def _request_end(self, _number: int, _frame: FrameType | None) -> None:
        self.requested = True
        if self.db is not None:
            self.db.patience = min(self.db.patience, ENDING_SECONDS)


class Claim:
    """A claimed run; all its writes are made here and carry the number of the attempt.

    As a context manager, it records an exception as the state *failed*, with the traceback, and lets it propagate.
    """

    def __init__(self, db: Database, row: RunRow, interrupt: Interrupt) -> None:
        self.db = db
        self.row = row
        self.message = "starting"
        self.minibatch = row.minibatch
        self.seconds = row.seconds
        self.point_perplexity: float | None = None
        self.averaged_perplexity: float | None = None
        self.latest: dict[str, float] = {}  # the newest value of every other score
        self.curve: list[tuple[int, float]] = []  # (mini-batch, point perplexity)
        self.loglik: list[tuple[int, float]] = []  # (mini-batch, held-out log-likelihood) of models without perplexity
        self.label_errors: list[tuple[int, float]] = []  # (mini-batch, percentage), only those of the plan
        self.process: dict[str, Any] | None = None  # facts about the worker, to be written with the next beat
        self._interrupt = interrupt
        self._request = "run"
        self._points: list[Point] = []
        self._last_beat = 0.0
        self._speed: deque[tuple[int, float]] = deque(maxlen=20)

    def __enter__(self) -> "Claim":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if error is None or isinstance(error, LostClaim | ReplacedStore):
            return
        if isinstance(error, StoreError):  # the store has been waited for already
            self.db.patience = min(self.db.patience, ENDING_SECONDS)
        text = "" if isinstance(error, SENTENCE_ERRORS) else "".join(traceback.format_exception(error))
        try:
            self.finish("failed", _explain_error(error), text)
        except StoreError as second:  # the first error propagates: it is the one to be found in the log
            logs.write_line(f"{_explain_error(error)}; this could not be written to the store ({second})")

    @property
    def ending(self) -> str:
        """The state in which the run is asked to end: "paused" or "stopped"; "" if it is to go on."""
        if self._request == "stop":
            return "stopped"
        return "paused" if self._request == "pause" or self._interrupt.requested else ""

    @property
    def interrupted(self) -> bool:
        """Whether the process was asked to end, so that it should only save its position."""
        return self._interrupt.requested

    @property
    def falling_curve(self) -> list[tuple[int, float]]:
        """The curve in which a plateau is sought: perplexity, or exp(-log-likelihood) for models without one."""
        return self.curve or [(step, math.exp(-value)) for step, value in self.loglik]

    @property
    def tokens_per_second(self) -> float | None:
        """Tokens per second over the last 20 mini-batches, each token counted once however often it is swept."""
        seconds = sum(took for _, took in self._speed)
        return sum(tokens for tokens, _ in self._speed) / seconds if seconds > 0 else None

    def record_minibatch(self, minibatch: int, tokens: int, seconds: float) -> None:
        """Record a mini-batch, its number of tokens and the seconds of its training."""
        self.minibatch = minibatch
        self.seconds += seconds
        self._speed.append((tokens, seconds))

    def add(self, points: list[Point]) -> None:
        """Add points, to be written with the next beat."""
        self._points += points

    def score(self, kind: str, measure: str, minibatch: int, documents: int, value: float) -> None:
        """Record one evaluation.

        ``kind`` is "point" (the curve), "mean" (that of the mean topics), "test point" or "test mean" (the same of test
        documents, when a run ends whose curve is of validation documents), "paper" (600 sweeps, once at the end) or
        "averaged".
        """
        name = SCORES[kind, measure]
        self.add([Point(minibatch, documents, self.seconds, name, 0, value)])
        if name == "averaged_perplexity":
            self.averaged_perplexity = value
        elif name == "point_perplexity":
            self.point_perplexity = value
            self.curve.append((minibatch, value))
        elif name == SCORES["point", "log-likelihood"]:
            self.loglik.append((minibatch, value))
        self.latest[name] = value

    def show(self, message: str) -> None:
        """Set the message that pages show, and write it."""
        self.message = message
        self.beat()

    def beat(self) -> None:
        """Write points, progress and heartbeat, and read the request, in one short transaction."""
        self._request = runs.record_progress(
            self.db,
            self.row.number,
            self.row.attempt,
            minibatch=self.minibatch,
            seconds=self.seconds,
            tokens_per_second=self.tokens_per_second,
            point_perplexity=self.point_perplexity,
            averaged_perplexity=self.averaged_perplexity,
            message=self.message,
            points=tuple(self._points),
            process=self.process,
        )
        self._points, self.process = [], None
        self._last_beat = time.monotonic()

    def beat_if_due(self) -> None:
        """Beat if the last beat is at least half a second old."""
        if time.monotonic() - self._last_beat >= BEAT_SECONDS:
            self.beat()

    def save(self, arrays: dict[str, Any], meta: dict[str, Any]) -> None:
        """Write everything up to this mini-batch, then replace the checkpoint."""
        self.beat()
        checkpoints.save_checkpoint(
            self.db, self.row.number, self.row.attempt, self.minibatch, self.seconds, arrays, meta
        )

    def finish(self, state: str, message: str = "", trace: str = "") -> None:
        """Record the end of the attempt in the store."""
        runs.finish_run(self.db, self.row.number, self.row.attempt, state, message, trace)


def lacks_memory(error: BaseException) -> bool:
    """Return whether an error says that the system gave no more memory, be it for data or for a library."""
    if isinstance(error, MemoryError):
        return True
    is_of_system = isinstance(error, OSError) and error.errno == errno.ENOMEM
    return is_of_system or (isinstance(error, ImportError) and any(sign in str(error) for sign in logs.MEMORY_SIGNS))


def check_memory() -> None:
    """Raise MemoryError if this process may not use the memory that every run needs (``ulimit -v``).

    Without this much, some libraries end the process, or wait for ever, instead of raising an error.
    """
    try:
        mmap.mmap(-1, LEAST_MEMORY).close()
    except OSError as error:
        raise MemoryError from error


def _explain_error(error: BaseException) -> str:
    """Return the reason why the run failed, in one sentence for users."""
    if lacks_memory(error):
        return OUT_OF_MEMORY
    text = " ".join(str(error).split()) or "no further words"
    return (text if isinstance(error, SENTENCE_ERRORS) else f"{type(error).__name__}: {text}")[:500]
