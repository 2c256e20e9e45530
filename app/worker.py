"""One training process: ``python -P -m app.worker [--store URL] --run N``.

It claims the run, steps, beats, and goes; the store is its only channel.  The heartbeat comes from the
loop itself, so it shows work and not merely a living process.  The engine is imported after the claim:
the row says what is happening while the compiler loads.
"""

import argparse
import signal
import sys
import time
import traceback
from collections import deque
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any

from app import launcher, process
from store import corpora, runs, snapshots
from store.database import Database, open_database
from store.errors import Conflict, LostClaim, StoreError
from store.points import Point
from store.runs import RunRow

if TYPE_CHECKING:
    from app.plan import Plan
    from app.training import Position, Training
    from engine.contract import Info

BEAT_SECONDS = 0.5
NO_TEST = "the corpus has no test documents, so there is no perplexity"
SCORES = {
    ("point", "perplexity"): "point_perplexity",
    ("full", "perplexity"): "full_perplexity",
    ("averaged", "perplexity"): "averaged_perplexity",
    ("point", "log-likelihood"): "heldout_loglik",
    ("full", "log-likelihood"): "full_loglik",
    ("averaged", "log-likelihood"): "averaged_loglik",
}
LOST = 3  # exit status: the run belongs to somebody else


class Interrupt:
    """Remembers that the process was asked to end; the loop finishes its mini-batch first."""

    def __init__(self) -> None:
        self.asked = False

    def listen(self) -> None:
        """Take SIGTERM and SIGINT (on Windows also CTRL_BREAK) as the wish to pause."""
        for name in ("SIGTERM", "SIGINT", "SIGBREAK"):
            if hasattr(signal, name):
                signal.signal(getattr(signal, name), self._ask)

    def _ask(self, _number: int, _frame: FrameType | None) -> None:
        self.asked = True


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
        self._interrupt = interrupt
        self._wish = "run"
        self._points: list[Point] = []
        self._last_beat = 0.0
        self._speed: deque[tuple[int, float]] = deque(maxlen=20)

    def __enter__(self) -> "Claim":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if error is None or isinstance(error, LostClaim):
            return
        text = "".join(traceback.format_exception(error))
        self.finish("failed", _sentence(error), text)

    @property
    def ending(self) -> str:
        """The state the run is wanted in: "paused", "stopped", or "" to go on."""
        if self._wish == "stop":
            return "stopped"
        return "paused" if self._wish == "pause" or self._interrupt.asked else ""

    @property
    def tokens_per_second(self) -> float | None:
        """Tokens of the documents of the last 20 mini-batches per second of training (not times sweeps)."""
        seconds = sum(took for _, took in self._speed)
        return sum(tokens for tokens, _ in self._speed) / seconds if seconds > 0 else None

    def worked(self, minibatch: int, tokens: int, seconds: float) -> None:
        """Note one mini-batch and the seconds its training took."""
        self.minibatch = minibatch
        self.seconds += seconds
        self._speed.append((tokens, seconds))

    def add(self, points: list[Point]) -> None:
        """Keep points for the next beat."""
        self._points += points

    def score(self, kind: str, measure: str, minibatch: int, documents: int, value: float) -> None:
        """Keep one evaluation: ``kind`` is "point" (the curve), "full" (the last one) or "averaged"."""
        name = SCORES[kind, measure]
        self.add([Point(minibatch, documents, self.seconds, name, 0, value)])
        if measure == "perplexity" and kind == "averaged":
            self.averaged_perplexity = value
        elif measure == "perplexity":
            self.point_perplexity = value

    def say(self, message: str) -> None:
        """Tell people what is happening now."""
        self.message = message
        self.beat()

    def beat(self) -> None:
        """One short transaction: points, progress and heartbeat go, the wish comes back."""
        self._wish = runs.beat(
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
        )
        self._points = []
        self._last_beat = time.monotonic()

    def beat_if_due(self) -> None:
        """Beat when the last one is half a second old."""
        if time.monotonic() - self._last_beat >= BEAT_SECONDS:
            self.beat()

    def save(self, arrays: dict[str, Any], meta: dict[str, Any]) -> None:
        """Replace the checkpoint; everything up to this mini-batch is written before it."""
        self.beat()
        snapshots.save_checkpoint(
            self.db, self.row.number, self.row.attempt, self.minibatch, self.seconds, arrays, meta
        )

    def finish(self, state: str, message: str = "", trace: str = "") -> None:
        """End the attempt."""
        runs.finish(self.db, self.row.number, self.row.attempt, state, message, trace)


class Session:
    """Training of one claimed run, from its corpus to its end."""

    def __init__(self, claim: Claim) -> None:
        from app.plan import Order

        self.claim = claim
        self.order = Order.from_json(claim.row.plan)
        self._saved = -1

    def run(self) -> None:
        """Train until the plan is done or somebody wishes otherwise."""
        training, plan, position, meta = self._prepare()
        self.claim.say(_training_sentence(training, plan))
        while position.minibatch < plan.minibatches and not self.claim.ending:
            began = time.perf_counter()
            position, info = training.step(position)
            self.claim.worked(position.minibatch, info.tokens, time.perf_counter() - began)
            position = training.follow(position, plan)
            position = self._record(training, plan, position, info)
            if position.minibatch in plan.checkpoints:
                self._save(training, position, meta)
            self.claim.beat_if_due()
        if self._saved != position.minibatch and position.minibatch > 0:
            self._save(training, position, meta)
        done = position.minibatch >= plan.minibatches
        self.claim.finish("finished" if done else self.claim.ending, self._last_words(plan, done=done))

    def _prepare(self) -> "tuple[Training, Plan, Position, dict[str, Any]]":
        from app import training as mathematics
        from app.corpora import load_corpus
        from app.plan import Effort, make
        from engine import models, settings

        claim, row = self.claim, self.claim.row
        about = corpora.get(claim.db, row.corpus)
        claim.say(f"loading {about.documents:,} documents")
        corpus = load_corpus(claim.db, about)
        module = models.load(row.model)
        config = settings.from_json(module.Config, row.settings)
        kernel = module.build(config, mathematics.facts(corpus), n_threads=self.order.threads)
        training = mathematics.Training(corpus, kernel, module.State, row.seed)
        claim.say(_compiling_sentence())
        sweeps = training.warm_up(averaged=self.order.averaged)
        checkpoint = snapshots.load_checkpoint(claim.db, row.number)
        state = None
        if checkpoint is None:
            state = training.first_state()
            effort = mathematics.effort(training, state, sweeps, max(1.0, about.tokens / max(1, about.documents)))
        else:
            effort = Effort(**checkpoint.meta["effort"])
        plan = make(self.order, effort, train_documents=len(training.train), test_documents=len(training.test))
        meta = {"effort": effort._asdict()}
        if checkpoint is None:
            return training, plan, training.start(state, plan), meta
        claim.minibatch, claim.seconds = checkpoint.minibatch, checkpoint.seconds
        claim.point_perplexity, claim.averaged_perplexity = checkpoint.meta["scores"]
        self._saved = checkpoint.minibatch
        return training, plan, training.unpack(checkpoint.minibatch, checkpoint.arrays), meta

    def _record(self, training: "Training", plan: "Plan", position: "Position", info: "Info") -> "Position":
        """Write what the plan wants after this mini-batch; placing examples moves the position on."""
        from app.measure import refuse_nonsense

        t = position.minibatch
        if plan.due(t):
            refuse_nonsense(training.kernel.topics(position.state), t)
        if t in plan.reports:
            self._report(training, plan, position, info)
        if t in plan.snapshots:
            position = self._snapshot(training, plan, position, info)
        if t in plan.evaluations:
            self._evaluate(training, plan, position)
        return position

    def _report(self, training: "Training", plan: "Plan", position: "Position", info: "Info") -> None:
        from app.measure import step_points

        claim, t = self.claim, position.minibatch
        documents = t * training.batch_documents
        topics = training.kernel.topics(position.state)
        claim.add(step_points(info, topics, minibatch=t, documents=documents, seconds=claim.seconds))
        claim.add([Point(t, documents, claim.seconds, "tokens_per_second", 0, claim.tokens_per_second or 0.0)])
        averaged = training.averaged_score(position, plan)
        if averaged is not None:
            claim.score("averaged", training.kernel.measure, t, documents, averaged)

    def _snapshot(self, training: "Training", plan: "Plan", position: "Position", info: "Info") -> "Position":
        from app.measure import snapshot_arrays

        claim = self.claim
        position = training.place(position, plan)
        arrays = snapshot_arrays(training.kernel.topics(position.state), info, training.examples(position))
        claim.beat()
        snapshots.append(claim.db, claim.row.number, claim.row.attempt, position.minibatch, claim.seconds, arrays)
        return position

    def _evaluate(self, training: "Training", plan: "Plan", position: "Position") -> None:
        claim, t, measure = self.claim, position.minibatch, training.kernel.measure
        documents = t * training.batch_documents
        claim.score("point", measure, t, documents, training.curve_point(position, plan))
        claim.add([Point(t, documents, claim.seconds, "evaluation_documents", 0, plan.curve_documents)])
        if t == plan.minibatches:
            claim.say(f"last evaluation, on {plan.final_documents:,} test documents")
            value = training.final_point(position, plan, claim.beat_if_due)
            claim.score("full", measure, t, documents, value)

    def _save(self, training: "Training", position: "Position", meta: dict[str, Any]) -> None:
        scores = [self.claim.point_perplexity, self.claim.averaged_perplexity]
        self.claim.save(training.pack(position), meta | {"scores": scores})
        self._saved = position.minibatch

    def _last_words(self, plan: "Plan", *, done: bool) -> str:
        if not done:
            return f"{self.claim.ending} after mini-batch {self.claim.minibatch:,} of {plan.minibatches:,}"
        if not plan.evaluations:
            return f"finished; {NO_TEST}"
        sweeps = plan.final_sweeps.burn_in + plan.final_sweeps.collect
        about = f"{plan.final_documents:,} test documents, {sweeps} sweeps"
        if self.claim.point_perplexity is None:
            return f"finished; last evaluation on {about}"
        return f"finished: point perplexity {self.claim.point_perplexity:,.1f} on {about}"


def train(db: Database, run: int, *, interrupt: Interrupt | None = None) -> None:
    """Claim a queued run (or one whose worker has long been silent) and train it in this process.

    Raises
    ------
    StoreError
        When the run cannot be claimed, or was claimed by somebody else meanwhile (LostClaim).
    """
    found = runs.get(db, run)
    if found.state not in ("queued", "running"):
        raise Conflict(f"run {run} is {found.state}; topiary resume {run} queues it again")
    row = runs.claim(db, run, process.identity())
    with Claim(db, row, interrupt or Interrupt()) as claim:
        claim.say("starting")
        Session(claim).run()


def main(argv: list[str] | None = None) -> int:
    """Train one run; the exit status is 0, or 3 when the run belongs to somebody else."""
    parser = argparse.ArgumentParser(prog="app.worker", description="Train one run of a store.")
    parser.add_argument("--store", help="URL or path of the store (default: TOPIARY_STORE, or your data folder)")
    parser.add_argument("--run", required=True, type=int, help="number of the run")
    wanted = parser.parse_args(argv)
    interrupt = Interrupt()
    interrupt.listen()
    db = open_database(wanted.store)
    try:
        train(db, wanted.run, interrupt=interrupt)
    except StoreError as error:
        sys.stderr.write(f"{error}\n")
        return LOST
    finally:
        launcher.fill(db)
        db.close()
    return 0


def _sentence(error: BaseException) -> str:
    """Why the run failed, in one sentence for people."""
    if isinstance(error, MemoryError):
        return "out of memory: use fewer topics, a smaller mini-batch or a machine with more memory, then resume"
    text = " ".join(str(error).split()) or "no further words"
    return f"{type(error).__name__}: {text}"[:500]


def _compiling_sentence() -> str:
    from engine.jit import cache_folder

    cold = not any(cache_folder().rglob("*.nbi"))
    return "compiling kernels, about 20 s, once" if cold else "starting kernels"


def _training_sentence(training: "Training", plan: "Plan") -> str:
    if not len(training.test):
        return f"training; {NO_TEST}"
    return f"training; the curve shows {plan.curve_documents:,} of {len(training.test):,} test documents"


if __name__ == "__main__":
    sys.exit(main())
