"""Train one run in its worker, from the claim to the end.

The heartbeat comes from the training loop, so it shows work and not merely a living process.  The engine is imported
after the claim, so that the row can tell what is happening while the compiler loads.
"""

import math
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from topiary.app.jobs import logs, process
from topiary.app.jobs.claim import SCORES, Claim, Interrupt, check_memory
from topiary.app.jobs.cluster.workers import WorkerLostError, keep_lost
from topiary.app.jobs.estimates import (
    choose_headline,
    describe_trend,
    find_overfitting,
    find_plateau,
    has_settled,
    read_latest,
    summarize_estimate,
)
from topiary.app.jobs.plan import PAPER_SCORE_NAME, Effort, Plan, RunOptions, read_options
from topiary.app.names import COMING, name_step
from topiary.store import checkpoints, corpora, events, points, runs, snapshots
from topiary.store.checkpoints import Checkpoint
from topiary.store.database import Database
from topiary.store.errors import Conflict, DamagedArrays, StoreError
from topiary.store.events import StructureChange
from topiary.store.points import Point
from topiary.store.run_rows import RunRow
from topiary.store.snapshots import SnapshotRow

if TYPE_CHECKING:
    from topiary.app.jobs.cluster.spread import RunCluster
    from topiary.app.jobs.edit_work import EditWork
    from topiary.app.jobs.gpu import CardUse
    from topiary.app.jobs.shares import LivePlacement
    from topiary.app.jobs.training import Position, Training
    from topiary.engine.contract import Facts, Info, Kernel
    from topiary.engine.corpus import Corpus
    from topiary.engine.models import RegisteredModel
    from topiary.store.edits import EditRow

NO_TEST = "the corpus has no test documents, so there is no perplexity"
NO_TOKENS = "no {part} document has two words, one of them to hold out, so there is no perplexity"
READABLE = "topics are readable, as the curve is level; training goes on until the tree has settled"
OVERFITS = "it overfitted in the end, so the topics are those of {step} {number:,}, and later snapshots are deleted"
GIVES_WAY = "topics are readable; it goes on when the other runs of its group are as far"
MOST_LOSSES = 10  # losses of workers without a new checkpoint between them after which a run fails
WAITING = "waiting for kernels that another run is compiling, about 20 s, once"


def train_run(db: Database, run: int, *, interrupt: Interrupt | None = None) -> None:
    """Claim a queued run, or one whose worker has long been silent, and train it in this process.

    Raises
    ------
    StoreError
        When the run cannot be claimed, or was meanwhile claimed by another process (LostClaim).
    """
    queued = runs.get_run(db, run)
    if queued.state not in COMING:
        raise Conflict(f"run {run} is {queued.state}; topiary resume {run} queues it again")
    interrupt = interrupt or Interrupt()
    row = runs.claim_run(db, run, process.identify_process() | keep_lost(queued.process), attempt=queued.attempt)
    losses = 0
    while lost := _attempt_run(db, row, interrupt):
        previous_start = row.minibatch
        identity = process.identify_process() | keep_lost(runs.get_run(db, run).process)
        step = name_step(row)
        row = runs.claim_run(db, run, identity, force=True)
        losses = losses + 1 if row.minibatch <= previous_start else 1
        events.append_event(
            db, run, row.attempt, row.minibatch, "worker lost", f"{lost}; back to {step} {row.minibatch:,}"
        )
        if losses == MOST_LOSSES:
            runs.finish_run(
                db,
                run,
                row.attempt,
                "failed",
                f"{lost}, for the {losses}th time since {step} "
                f"{row.minibatch:,}; look at the logs of the workers, give them more memory, then resume",
            )
            return


def _attempt_run(db: Database, row: RunRow, interrupt: Interrupt) -> str:
    """Make one attempt at a run; return a message if a cluster worker was lost and the run must go back, else ""."""
    with Claim(db, row, interrupt) as claim:
        claim.show("starting")
        check_memory()
        try:
            Trainer(claim).run()
        except WorkerLostError as lost:  # caught inside the claim, which would record the run as failed
            return str(lost)
    return ""


class Trainer:
    """The training of one claimed run, from loading its corpus to its end."""

    def __init__(self, claim: Claim) -> None:
        self.claim = claim
        self.options = read_options(claim.row)
        self.corpus_row = corpora.get_run_corpus(claim.db, claim.row)
        self._saved = -1
        self._is_readable = self._may_give_way = False
        self._best: SnapshotRow | None = None  # of a run that overfits
        self._edits: EditWork
        self._cluster: RunCluster | None = None
        self._live: LivePlacement | None = None
        self._card: CardUse | None = None

    def run(self) -> None:
        """Train until the plan is done, or a user asks the run to pause or stop."""
        try:
            self._run()
        except WorkerLostError as lost:
            if self._cluster is not None:
                self._cluster.record_loss(lost)
            raise
        finally:
            if self._cluster is not None:
                self._cluster.close()

    def _run(self) -> None:
        """Load, prepare, train and finish the run."""
        corpus = self._load()
        if self.claim.ending:
            self.claim.finish(self.claim.ending, f"{self.claim.ending} before training went on")
            return
        training, plan, position, meta = self._prepare(corpus)
        self._is_readable = self._has_level_curve(training, position)  # of a resumed run
        self.claim.show(READABLE if self._is_readable else _describe_training(training, plan, self.options))
        last = self._train(training, plan, position, meta)
        if last is not None:
            self._end(training, plan, last, meta)

    def _train(self, training: "Training", plan: Plan, position: "Position", meta: dict[str, Any]) -> "Position | None":
        """Train until the run is done or asked to end, and return its position; None if it gave way to others."""
        from topiary.app.jobs.edit_work import EditWork
        from topiary.app.jobs.shares import LivePlacement

        self._edits = EditWork(self.claim, training)
        self._live = None if self.options.cluster else LivePlacement(self.claim, training.kernel)
        if due := self._edits.list_taken(position):  # of a resumed run, between its checkpoint and the next step
            position = self._make_edits(training, position, due)
        while not self._is_done(training, plan, position) and not self.claim.ending:
            start, was_sweeping = time.perf_counter(), training.kernel.is_sweeping(position.state)
            position, info = training.step(position)
            self.claim.record_minibatch(position.minibatch, info.tokens, time.perf_counter() - start)
            if info.events:
                self._record_structure(training, position, info)
            if training.kernel.is_sweeping(position.state) and not was_sweeping:
                self._begin_sweeps(training, position)
            position = training.follow(position, plan)
            self._edits.look()
            due = [] if position.minibatch >= plan.minibatches else self._edits.take(position)
            position = self._record(training, plan, position, info, edited=bool(due))
            if position.minibatch in plan.checkpoints:
                self._save(training, position, meta)
            if due:
                position = self._make_edits(training, position, due)
            if self._may_give_way and self._give_way(training, plan, position, meta):
                return None
            self._report_work()
        return position

    def _report_work(self) -> None:
        """Tell the store what the workers and the graphics processor do, and that this process is alive."""
        if self._cluster is not None:
            self._cluster.report()
        if self._card is not None and (use := self._card.report()):
            self.claim.process = self.claim.row.process | use
        if self._live is not None:
            self._live.advance()
        self.claim.beat_if_due()

    def _end(self, training: "Training", plan: Plan, position: "Position", meta: dict[str, Any]) -> None:
        """Save and judge the run, place all documents in its topics, and finish it."""
        from topiary.app.jobs.shares import place_documents

        if self._saved != position.minibatch and position.minibatch > 0:
            self._save(training, position, meta)
        done = self._is_done(training, plan, position)
        best = self._keep_best(training, plan, position)
        if plan.test_documents and position.minibatch > 0 and not self.claim.interrupted:
            self._judge_test(training, plan, best)
        message = self._describe_end(training, plan, position, done=done)
        if not place_documents(self.claim, training.kernel, done=done):
            self.claim.finish(self.claim.ending, f"{self.claim.ending} while documents were placed in the topics")
            return
        self.claim.finish("finished" if done else self.claim.ending, message)

    def _load(self) -> "Corpus":
        """Return the corpus, and compile missing kernels in other processes at the same time."""
        from topiary.app.jobs import compile_kernels
        from topiary.app.jobs.load_corpus import load_corpus, open_corpus

        claim, row = self.claim, self.claim.row
        kernels = compile_kernels.KernelRequest.of(
            row.model, row.settings, self.corpus_row, averaged=self.options.averaged
        )
        is_awaited = compile_kernels.is_awaited(kernels)
        compilers = compile_kernels.start_compilers(kernels, claim.db.url)
        try:
            claim.show(f"loading {self.corpus_row.documents:,} documents")
            corpus = (open_corpus if self.options.cluster else load_corpus)(claim.db, self.corpus_row)
            if compilers:
                claim.show(WAITING if is_awaited else "compiling kernels, about 20 s, once")
            while not claim.ending and any(compiler.poll() is None for compiler in compilers):
                time.sleep(0.05)
                claim.beat_if_due()
        finally:
            for compiler in compilers:
                compiler.kill()  # no effect if it has ended; what is missing is compiled here
                compiler.wait()
        return corpus

    def _prepare(self, corpus: "Corpus") -> "tuple[Training, Plan, Position, dict[str, Any]]":
        """Return the training, its plan, its first or resumed position, and the facts stored with checkpoints."""
        from topiary.app.jobs import training as mathematics
        from topiary.app.jobs.records import index_titles, load_model

        claim, row, corpus_row = self.claim, self.claim.row, self.corpus_row
        claim.show("starting kernels")
        module, config = load_model(row)
        if self.options.tries_widths:
            config = self._choose_widths(corpus, module, config)
        kernel = self._build_kernel(module, config, mathematics.collect_facts(corpus))
        training = self._make_training(corpus, kernel, module.State)
        sweeps = training.warm_up(averaged=self.options.averaged)
        resumed = self._load_position(training)
        if resumed is None:
            first_snapshot = _load_first_snapshot(claim.db, row)
            state = training.first_state(first_snapshot)
            effort = mathematics.measure_effort(
                training, state, sweeps, max(1.0, corpus_row.tokens / max(1, corpus_row.documents))
            )
        else:
            effort = Effort(**resumed[0].meta["effort"])
        plan = mathematics.plan_run(training, self.options, effort)
        meta = {"effort": effort._asdict()}
        if resumed is None:
            position = training.start(state, plan)._replace(titles=index_titles(first_snapshot or {}))
            self._record_structure(training, position)
            return training, plan, position, meta
        checkpoint, position = resumed
        claim.minibatch, claim.seconds = checkpoint.minibatch, checkpoint.seconds
        claim.point_perplexity, claim.averaged_perplexity = checkpoint.meta["scores"]
        claim.latest = read_latest(claim.db, row.number)
        claim.curve = points.read_curve(claim.db, row.number, "point_perplexity")
        claim.loglik = points.read_curve(claim.db, row.number, SCORES["point", "log-likelihood"])
        errors = points.read_curve(claim.db, row.number, "label_error")
        claim.label_errors = [point for point in errors if point[0] in plan.predictions]
        self._saved = checkpoint.minibatch
        self._record_structure(training, position)
        return training, plan, position, meta

    def _build_kernel(self, module: "RegisteredModel", config: Any, facts: "Facts") -> "Kernel":
        """Return the kernel of the run, with documents swept by this process or by a graphics processor."""
        if not self.options.is_on_gpu:
            return module.build(config, facts, n_threads=self.options.threads)
        from topiary.app.jobs import gpu

        row = self.claim.row
        card = gpu.check_run_on_card(row.model, config, facts)
        device = gpu.open_device(config, facts)
        self._card = gpu.CardUse(card, device)
        text = f"documents are swept by {card}, with {device.lanes} of its lanes for each"
        events.append_event(self.claim.db, row.number, row.attempt, self.claim.minibatch, "device", text)
        return module.build(config, facts, n_threads=self.options.threads, device=device)

    def _choose_widths(self, corpus: "Corpus", module: "RegisteredModel", config: Any) -> Any:
        """Try narrower layers, record the widths to use for good, and return the settings with them."""
        from topiary.app.jobs import training
        from topiary.engine import settings

        claim, row = self.claim, self.claim.row
        claim.show(f"trying widths of layers, {training.TRIAL_SWEEPS} sweeps each")
        trials = training.try_widths(corpus, module, config, self.options, claim.beat_if_due)
        config = replace(config, layers=training.choose_trial(trials).layers)
        self.options = replace(self.options, tries_widths=False)
        runs.record_settings(
            claim.db, row.number, row.attempt, settings=settings.to_json(config), options=self.options.to_json(),
            event=("widths", training.describe_trials(trials)),
        )  # fmt: skip
        claim.row = runs.get_run(claim.db, row.number)
        return config

    def _load_position(self, training: "Training") -> "tuple[Checkpoint, Position] | None":
        """Return the last intact checkpoint and its position; None without one.  Damaged ones are dropped."""
        claim = self.claim
        while True:
            try:
                checkpoint = checkpoints.load_checkpoint(claim.db, claim.row.number, training.choose_unread)
                if checkpoint is not None:
                    _check_meta(checkpoint)
                return (
                    None
                    if checkpoint is None
                    else (checkpoint, training.unpack(checkpoint.minibatch, checkpoint.arrays))
                )
            except DamagedArrays:
                sentence = checkpoints.restore_earlier(claim.db, claim.row.number, claim.row.attempt)
                logs.write_line(sentence)
                claim.row = runs.get_run(claim.db, claim.row.number)
                claim.minibatch, claim.seconds = claim.row.minibatch, claim.row.seconds
                claim.show(sentence)

    def _make_training(self, corpus: "Corpus", kernel: "Kernel", state_type: type[Any]) -> "Training":
        """Return the training, in this process or spread over the workers of the run's place."""
        from topiary.app.jobs import training as mathematics

        if not self.options.cluster or self.options.whole:
            return mathematics.Training(corpus, kernel, state_type, self.claim.row.seed)
        from topiary.app.jobs.cluster.spread import RunCluster

        self.claim.show(f"waiting for the workers of {self.options.cluster}")
        self._cluster = RunCluster(self.options.cluster, self.claim)
        row = self.claim.row
        events.append_event(
            self.claim.db, row.number, row.attempt, self.claim.minibatch, "workers", self._cluster.description
        )
        return self._cluster.make_training(corpus, kernel, state_type)

    def _record_structure(self, training: "Training", position: "Position", info: "Info | None" = None) -> None:
        """Write the current widths, and the changes that led to them."""
        from topiary.app.jobs.records import convert_event, describe_event

        structure_events = info.events if info is not None else ()
        changes = [(event.kind, describe_event(event), convert_event(event)) for event in structure_events]
        self._record_layers(training, position, changes)

    def _begin_sweeps(self, training: "Training", position: "Position") -> None:
        """Record that the next steps sweep all documents."""
        after = f"after {position.minibatch:,} mini-batches"
        text = f"sweeps of all {len(training.train):,} training documents begin, {after}"
        self._record_layers(training, position, [("sweeps begin", text, None)])

    def _record_layers(
        self, training: "Training", position: "Position", changes: Sequence[tuple[str, str, StructureChange | None]]
    ) -> None:
        row, widths = self.claim.row, [layer.shape[1] for layer in training.kernel.topics(position.state).phi]
        runs.record_layers(self.claim.db, row.number, row.attempt, position.minibatch, widths, changes)

    def _is_done(self, training: "Training", plan: Plan, position: "Position") -> bool:
        """Return whether the run has made all its steps, or has reached the plateau at which it should end."""
        if position.minibatch >= plan.minibatches:
            return True
        if self._edits.is_settling(position.minibatch):
            return False
        if self._find_overfitting(plan, position) is not None:
            return True
        if not self.options.until_plateau:
            return False
        if (converged := training.kernel.has_converged(position.state)) is not None:
            return converged
        if position.minibatch not in plan.evaluations:
            return False
        if training.kernel.sweeps_after is None:
            return (
                position.minibatch >= self.options.plateau_from and find_plateau(self.claim.falling_curve) is not None
            )
        is_level = has_settled(self.claim.falling_curve, training.count_sweeps(position))
        return is_level and (not self.options.until_settled or position.tree.is_settled)

    def _has_level_curve(self, training: "Training", position: "Position") -> bool:
        """Return whether only the tree of a run that waits for both has to settle."""
        return (
            self.options.until_settled
            and training.kernel.sweeps_after is not None
            and has_settled(self.claim.falling_curve, training.count_sweeps(position))
        )

    def _say_readable(self, training: "Training", position: "Position") -> None:
        """Say once, in the message and the events of the run, that only the tree has to settle."""
        if self._is_readable or not self._has_level_curve(training, position):
            return
        self._is_readable = True
        self._may_give_way = self.claim.row.run_group is not None and not self.options.cluster
        claim = self.claim
        events.append_event(claim.db, claim.row.number, claim.row.attempt, position.minibatch, "readable", READABLE)
        claim.show(READABLE)

    def _give_way(self, training: "Training", plan: Plan, position: "Position", meta: dict[str, Any]) -> bool:
        """Save the run and queue it again if others of its group wait: all of them then have readable topics soon."""
        self._may_give_way = False
        claim, row = self.claim, self.claim.row
        if claim.ending or self._is_done(training, plan, position):
            return False
        if self._saved != position.minibatch:
            self._save(training, position, meta)
        return runs.give_way(claim.db, row.number, row.attempt, GIVES_WAY)

    def _find_overfitting(self, plan: Plan, position: "Position") -> int | None:
        """Return the step with the best topics if the run should end because it overfits, else None."""
        t = position.minibatch
        if not self.options.until_overfit or t not in plan.evaluations or t < self.options.plateau_from:
            return None
        return find_overfitting(self.claim.falling_curve, self.claim.label_errors)

    def _make_edits(self, training: "Training", position: "Position", due: "list[EditRow]") -> "Position":
        """Make edits between two steps, and write the widths if there are new topics."""
        widths = training.list_widths(position.state)
        position = self._edits.make(position, due)
        if training.list_widths(position.state) != widths:
            self._record_layers(training, position, [])
        return position

    def _record(
        self, training: "Training", plan: Plan, position: "Position", info: "Info", *, edited: bool
    ) -> "Position":
        """Write what the plan asks for after this mini-batch; return the position with newly placed examples.

        The topics before and soon after edits are written too; ``edited`` says whether some follow this mini-batch.
        """
        from topiary.app.jobs.records import check_topics

        t = position.minibatch
        is_shown = edited or self._edits.is_shown(t)
        is_judged = self._edits.is_judged(t) or (edited and not self.claim.curve)
        if plan.is_due(t) or info.events or is_shown:
            check_topics(training.kernel.topics(position.state), t)
        if t in plan.evaluations or (is_judged and plan.evaluations):
            self._evaluate(training, plan, position)
            position = self._compare_trees(training, position)
            self._say_readable(training, position)
        if t in plan.predictions:
            self.claim.label_errors.append((t, self._judge_labels(training, plan, position)))
        last = self._is_done(training, plan, position)
        if t in plan.reports or info.events or last:
            self._report(training, plan, position, info)
        is_planned = t in plan.snapshots or bool(info.events) or last
        if is_planned or is_shown:
            waits = not is_planned and (edited or self._edits.is_awaited(t))
            position = self._write_snapshot(training, position, info, plan, last=last, waits=waits)
        if last and plan.paper_documents:
            self._judge_as_paper(training, plan, position)
        if last and plan.predictions and t not in plan.predictions:
            self._judge_labels(training, plan, position)
        return position

    def _judge_labels(self, training: "Training", plan: Plan, position: "Position") -> float:
        """Add a point of the label error, and return it."""
        error = training.label_error(position, plan)
        self.claim.add([Point(position.minibatch, position.documents, self.claim.seconds, "label_error", 0, error)])
        return error

    def _keep_best(self, training: "Training", plan: Plan, position: "Position") -> "Position":
        """Make the best snapshot of a run that overfits its latest one, and return the position with its state."""
        step, claim = self._find_overfitting(plan, position), self.claim
        self._best = None if step is None else snapshots.find_sound(claim.db, claim.row.number, step)
        if self._best is None:
            return position
        snapshots.delete_later(claim.db, claim.row.number, claim.row.attempt, self._best.minibatch)
        known = [value for minibatch, value in claim.curve if minibatch <= self._best.minibatch]
        claim.point_perplexity = known[-1] if known else claim.point_perplexity
        claim.beat()
        arrays = snapshots.load_snapshot(claim.db, self._best.number)
        return position._replace(state=training.first_state(arrays))

    def _report(self, training: "Training", plan: Plan, position: "Position", info: "Info") -> None:
        """Add the points of a step, the speed and the averaged score."""
        from topiary.app.jobs.records import list_step_points

        claim, t = self.claim, position.minibatch
        documents = position.documents
        topics = training.kernel.topics(position.state)
        n_layers = len(claim.row.settings.get("layers", ()))
        claim.add(
            list_step_points(info, topics, minibatch=t, documents=documents, seconds=claim.seconds, n_layers=n_layers)
        )
        claim.add([Point(t, documents, claim.seconds, "tokens_per_second", 0, claim.tokens_per_second or 0.0)])
        averaged = training.averaged_score(position, plan)
        if averaged is not None:
            claim.score("averaged", training.kernel.measure, t, documents, averaged)

    def _write_snapshot(
        self, training: "Training", position: "Position", info: "Info", plan: Plan, *, last: bool, waits: bool
    ) -> "Position":
        """Place examples, unless a user waits, and write a snapshot; return the position with these, and titles."""
        from topiary.app.jobs.records import index_titles, pack_snapshot

        claim = self.claim
        position = training.place(position, plan, every=last, waits=waits)
        arrays = pack_snapshot(training.kernel, position.state, info, training.list_examples(position))
        arrays |= training.measure_facts(position, arrays)
        claim.beat()
        stamp = claim.row.number, claim.row.attempt, position.minibatch, claim.seconds
        snapshot = snapshots.append_snapshot(claim.db, *stamp, arrays, self.options.keep)
        if self._live is not None:
            self._live.offer(snapshot.number)
        return position._replace(titles=index_titles(arrays))

    def _evaluate(self, training: "Training", plan: Plan, position: "Position") -> None:
        """Add a point of the curve, and after every third one, and at the end, one of the mean topics."""
        claim, t, measure = self.claim, position.minibatch, training.kernel.measure
        documents = position.documents
        claim.score("point", measure, t, documents, training.curve_point(position.state, plan))
        number = sum(each < t for each in plan.evaluations)
        if training.has_mean and (number % 3 == 0 or t == plan.minibatches):
            claim.score(
                "mean",
                measure,
                t,
                documents,
                training.curve_point(training.kernel.find_shown_state(position.state), plan),
            )
        claim.add([Point(t, documents, claim.seconds, "evaluation_documents", 0, plan.curve_documents)])
        if claim.point_perplexity is not None:
            self._edits.judge(t, claim.point_perplexity)

    def _compare_trees(self, training: "Training", position: "Position") -> "Position":
        """Compare the tree with an earlier one if the run waits for it to settle, and write how much is unchanged."""
        if not self.options.until_settled:
            return position
        compared = training.compare_trees(position)
        if compared is not position:
            t, claim = position.minibatch, self.claim
            percent = (100.0 * compared.tree.persistence).tolist()
            layers = [(0, min(percent)), *enumerate(percent, start=2)] if percent else []  # layer 0: of the whole tree
            claim.add([Point(t, position.documents, claim.seconds, "tree_persistence", *layer) for layer in layers])
        return compared

    def _judge_test(self, training: "Training", plan: Plan, position: "Position") -> None:
        """Evaluate the topics that pages show on the test documents, once, when the run ends."""
        claim, kernel = self.claim, training.kernel
        claim.show(f"judging {plan.test_documents:,} test documents")
        kind = "test mean" if training.has_mean else "test point"
        value = training.test_point(kernel.find_shown_state(position.state), plan, claim.beat_if_due)
        claim.score(kind, kernel.measure, position.minibatch, position.documents, value)
        claim.beat()

    def _judge_as_paper(self, training: "Training", plan: Plan, position: "Position") -> None:
        """Evaluate the topics on all test documents with the sweeps of the paper."""
        claim, t, measure = self.claim, position.minibatch, training.kernel.measure
        claim.show(f"judging all {plan.paper_documents:,} test documents with the paper's sweeps")
        value = training.paper_point(position, plan, claim.beat_if_due)
        claim.score("paper", measure, t, position.documents, value)

    def _save(self, training: "Training", position: "Position", meta: dict[str, Any]) -> None:
        scores = [self.claim.point_perplexity, self.claim.averaged_perplexity]
        self.claim.save(training.pack(position), meta | {"scores": scores})
        self._saved = position.minibatch

    def _describe_end(self, training: "Training", plan: Plan, position: "Position", *, done: bool) -> str:
        """Return the last message of the run, about its end and its scores."""
        step = name_step(self.claim.row)
        if not done:
            return f"{self.claim.ending} after {step} {self.claim.minibatch:,} of {plan.minibatches:,}"
        if not plan.evaluations:
            return f"finished; {_explain_unjudged(training)}"
        paper = f"; {PAPER_SCORE_NAME} {self._read_paper_score(training):,.1f}" if plan.paper_documents else ""
        converged = training.kernel.has_converged(position.state)
        headline = self._describe_headline("" if converged else describe_trend(self.claim.curve))
        best = "" if self._best is None else f"; {OVERFITS.format(step=step, number=self._best.minibatch)}"
        return f"finished: {headline}{', the bound no longer rises' if converged else ''}{paper}{best}"

    def _describe_headline(self, trend: str) -> str:
        """Return the headline of the run as pages and lists show it, with a phrase on the trend."""
        claim = self.claim
        ended_row = replace(
            claim.row,
            state="finished",
            minibatch=claim.minibatch,
            point_perplexity=claim.point_perplexity,
            averaged_perplexity=claim.averaged_perplexity,
        )
        best = choose_headline(ended_row, claim.latest)
        return f"judged with {self.options.protocol}" if best is None else summarize_estimate(ended_row, best, trend)

    def _read_paper_score(self, training: "Training") -> float:
        """Return the score with the paper's sweeps from the store, as an earlier attempt may have written it."""
        curve = points.read_curve(self.claim.db, self.claim.row.number, SCORES["paper", training.kernel.measure])
        return curve[-1][1] if curve else math.nan


def _check_meta(checkpoint: Checkpoint) -> None:
    """Refuse a checkpoint that lacks the last scores or the costs behind its plan."""
    try:
        Effort(**checkpoint.meta["effort"])
        complete = len(checkpoint.meta["scores"]) == 2
    except (KeyError, TypeError):
        complete = False
    if not complete:
        raise DamagedArrays("what is kept with its arrays is damaged")


def _load_first_snapshot(db: Database, row: RunRow) -> dict[str, Any] | None:
    """Return the arrays with which a fork begins, its copy of the parent's snapshot; None if the run is no fork."""
    snapshot = snapshots.find_snapshot(db, row.number, 0) if row.parent is not None else None
    try:
        return None if snapshot is None else snapshots.load_snapshot(db, snapshot.number)
    except DamagedArrays as error:
        raise StoreError(
            f"the snapshot that run {row.number} begins with is damaged; delete the run and fork run {row.parent} again"
        ) from error


def _describe_training(training: "Training", plan: Plan, options: RunOptions) -> str:
    """Describe the training, its end if a plateau decides it, and the documents of its curve."""
    activity = "training"
    end = "until the curve is level" + (" and the tree has settled" if options.until_settled else "")
    if options.until_plateau and training.kernel.sweeps_after is None:
        activity = f"training {end}"
    elif options.until_plateau:
        activity = f"training by sweeps, as all {len(training.train):,} documents can be swept, {end}"
    if not plan.evaluations:
        return f"{activity}; {_explain_unjudged(training)}"
    available = f"{len(training.watched):,} {_name_part(training)} documents"
    return f"{activity}; the curve shows {plan.curve_documents:,} of {available}"


def _explain_unjudged(training: "Training") -> str:
    """Return the reason why a run has no curve."""
    return NO_TOKENS.format(part=_name_part(training)) if len(training.watched) else NO_TEST


def _name_part(training: "Training") -> str:
    """Return the name of the part of the corpus behind the curve."""
    return "validation" if training.validates else "test"
