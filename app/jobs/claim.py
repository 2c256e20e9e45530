"""A claimed run: everything that its worker writes to the store, and the requests that it reads there."""

import math
import signal
import time
import traceback
from collections import deque
from types import FrameType, TracebackType
from typing import Any

from app.jobs import logs
from engine.settings import SettingError
from store import checkpoints, runs
from store.database import Database
from store.errors import LostClaim, ReplacedStore, StoreError
from store.points import Point
from store.run_rows import RunRow

BEAT_SECONDS = 0.5
SENTENCE_ERRORS = (StoreError, SettingError)  # errors that are not the program's; their message is for people
ENDING_SECONDS = 2.0  # that a worker that is to end waits for its database
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


class Interrupt:
    """A request to end this process; the training loop finishes its mini-batch first.

    From then on a database that cannot be reached is waited for only ``ENDING_SECONDS``.
    """

    def __init__(self) -> None:
        self.requested = False
        self.db: Database | None = None

    def listen(self) -> None:
        """Take SIGTERM and SIGINT (on Windows also CTRL_BREAK) as a request to pause."""
        for name in ("SIGTERM", "SIGINT", "SIGBREAK"):
            if hasattr(signal, name):
                signal.signal(getattr(signal, name), self._request_end)

    def _request_end(self, _number: int, _frame: FrameType | None) -> None:
        self.requested = True
        if self.db is not None:
            self.db.patience = min(self.db.patience, ENDING_SECONDS)


class Claim:
    """A claimed run: every write goes through here and carries the attempt.

    Used as a context, it records an error as *failed* with the traceback and lets it go on.
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
        self.curve: list[tuple[int, float]] = []  # of the point perplexity
        self.loglik: list[tuple[int, float]] = []  # of the held-out log-likelihood, where there is no perplexity
        self.process: dict[str, Any] | None = None  # what the next beat is to write of the worker
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
        if isinstance(error, StoreError):  # it was waited for already
            self.db.patience = min(self.db.patience, ENDING_SECONDS)
        text = "" if isinstance(error, SENTENCE_ERRORS) else "".join(traceback.format_exception(error))
        try:
            self.finish("failed", _explain_error(error), text)
        except StoreError as second:  # the first error goes on: it is the one that people look for in the log
            logs.write_line(f"{_explain_error(error)}; this could not be written to the store ({second})")

    @property
    def ending(self) -> str:
        """The state the run is wanted in: "paused", "stopped", or "" to go on."""
        if self._request == "stop":
            return "stopped"
        return "paused" if self._request == "pause" or self._interrupt.requested else ""

    @property
    def interrupted(self) -> bool:
        """Whether the process was asked to end, so that only the position is to be saved."""
        return self._interrupt.requested

    @property
    def falling_curve(self) -> list[tuple[int, float]]:
        """The curve that shows a plateau: perplexity, or exp(-log-likelihood) of models without a perplexity."""
        return self.curve or [(step, math.exp(-value)) for step, value in self.loglik]

    @property
    def tokens_per_second(self) -> float | None:
        """Tokens per second of training over the last 20 mini-batches, each token counted once whatever the sweeps."""
        seconds = sum(took for _, took in self._speed)
        return sum(tokens for tokens, _ in self._speed) / seconds if seconds > 0 else None

    def record_minibatch(self, minibatch: int, tokens: int, seconds: float) -> None:
        """Count one mini-batch and the seconds of its training."""
        self.minibatch = minibatch
        self.seconds += seconds
        self._speed.append((tokens, seconds))

    def add(self, points: list[Point]) -> None:
        """Keep points for the next beat."""
        self._points += points

    def score(self, kind: str, measure: str, minibatch: int, documents: int, value: float) -> None:
        """Keep one evaluation.

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
        """Show people what is happening now."""
        self.message = message
        self.beat()

    def beat(self) -> None:
        """Write points, progress and heartbeat in one short transaction, which also reads the request."""
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
        """Beat when the last one is half a second old."""
        if time.monotonic() - self._last_beat >= BEAT_SECONDS:
            self.beat()

    def save(self, arrays: dict[str, Any], meta: dict[str, Any]) -> None:
        """Replace the checkpoint; everything up to this mini-batch is written before it."""
        self.beat()
        checkpoints.save_checkpoint(
            self.db, self.row.number, self.row.attempt, self.minibatch, self.seconds, arrays, meta
        )

    def finish(self, state: str, message: str = "", trace: str = "") -> None:
        """End the attempt."""
        runs.finish_run(self.db, self.row.number, self.row.attempt, state, message, trace)


def _explain_error(error: BaseException) -> str:
    """Return the reason why the run failed, in one sentence for people."""
    if isinstance(error, MemoryError):
        return "out of memory: use fewer topics, a smaller mini-batch or a machine with more memory, then resume"
    text = " ".join(str(error).split()) or "no further words"
    return (text if isinstance(error, SENTENCE_ERRORS) else f"{type(error).__name__}: {text}")[:500]
