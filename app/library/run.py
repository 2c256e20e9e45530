"""A run of a store: how it is, what it has learnt, what can be asked of it, and what steers it."""

import time
from collections.abc import Callable, Sequence
from typing import Any, Self, TypeAlias

from app.jobs import launcher, logs
from app.jobs.estimates import read_latest
from app.jobs.progress import Progress
from app.jobs.waiting import ENDED, describe_end, follow_run, show_progress
from store import annotations, runs

from .arguments import asked, nodes_of, settings_as_text
from .run_topics import RunTopics

Layers: TypeAlias = Sequence[int] | int | str
Watcher: TypeAlias = Callable[["Run"], None]


class RunFailed(Exception):  # noqa: N818 - called after the fact that it tells
    """A run that was waited for has failed, or its worker is gone; the message is one sentence."""


class Run(RunTopics):
    """A run: one training of one model on one corpus.

    It trains in a process of its own, and every property is read anew from the store.  Topics have names that last
    for its whole life, such as ``"L2:17"``: topic 17 of layer 2.  Where a method takes ``minibatch``, it looks at the
    snapshot at or before that mini-batch, and at the latest one when it is not given.

    Got from :attr:`Store.runs`, :meth:`Store.train` or :meth:`fork`.

    Attributes
    ----------
    number : int
    """

    def wait(self, *, progress: bool | Watcher = False, timeout: float | None = None) -> Self:
        """Wait until it has ended, is paused or is stopped; Ctrl-C leaves it training.

        Parameters
        ----------
        progress : bool or callable, default=False
            True writes a line to standard error; a function is called with this run every now and then.
        timeout : float, optional
            Seconds.

        Raises
        ------
        RunFailed
            When it fails, or its worker is gone.
        TimeoutError
            When it takes longer than ``timeout``; it goes on.
        """
        shown, began = Progress(), time.monotonic()
        try:
            for row, state in follow_run(self._opened.db, self.number):
                if state in ("failed", "silent"):
                    raise RunFailed(describe_end(row, state))
                if callable(progress):
                    progress(self)
                elif progress and state not in ENDED:
                    show_progress(shown, row, read_latest(self._opened.db, self.number))
                if timeout is not None and state not in ENDED and time.monotonic() - began > timeout:
                    raise TimeoutError(f"run {self.number} is still {state} after {timeout:g} seconds; it goes on")
        finally:
            if progress is True:
                shown.end()
        return self

    def fork(
        self,
        model: str | None = None,
        *,
        minibatch: int | None = None,
        minibatches: int | None = None,
        preset: str = "",
        seed: int | None = None,
        threads: int | None = None,
        averaged: bool = False,
        averaged_burn_in: int | None = None,
        averaged_samples: int | None = None,
        paper_point: bool = False,
        name: str = "",
        wait: bool = False,
        progress: bool | Watcher = False,
        **settings: Any,
    ) -> "Run":
        """Go on from a snapshot of this run as a run of its own, with another model, seed or settings.

        Parameters
        ----------
        model : str, optional
            That of this run when not given; "sdatm" learns from labels.
        minibatch : int, optional
            The snapshot at or before it.
        minibatches, seed : int, optional
            Those of this run when not given.
        preset, threads, averaged, averaged_burn_in, averaged_samples, paper_point, name, wait, progress, **settings
            As in :meth:`Store.train`; settings that are not given are those of this run.

        Raises
        ------
        NewRunError
            When the model cannot begin with that snapshot, or a setting or number cannot be.
        """
        from app.jobs.forks import find_origin
        from app.jobs.new_run import fork_run

        row = fork_run(
            self._opened.db,
            find_origin(self._opened.db, self.number, minibatch=minibatch),
            model=model,
            texts=settings_as_text(settings),
            **asked(
                minibatches=minibatches,
                preset=preset,
                seed=seed,
                threads=threads,
                averaged=averaged,
                burn_in=averaged_burn_in,
                samples=averaged_samples,
                paper_point=paper_point,
                name=name,
            ),
        )
        logs.record_action(self._opened.db.place, f"started {logs.name_subject('run', row.number, row.name)}")
        launcher.start_queued_runs(self._opened.db)
        made = Run(self._opened, row.number)
        return made.wait(progress=progress) if wait else made

    def pause(self) -> None:
        """Pause it after its mini-batch."""
        launcher.pause_run(self._opened.db, self.number)
        self._record("paused")

    def stop(self) -> None:
        """Stop it after its mini-batch."""
        launcher.stop_run(self._opened.db, self.number)
        self._record("stopped")

    def resume(self) -> None:
        """Go on where it was paused, stopped or killed, or failed."""
        launcher.resume_run(self._opened.db, self.number)
        self._record("resumed")

    def delete(self) -> None:
        """Delete it with all that belongs to it."""
        launcher.delete_run(self._opened.db, self.number)
        self._record("deleted")

    def rename(self, name: str) -> None:
        """Give it a name, or none for ""."""
        runs.rename_run(self._opened.db, self.number, name)
        self._record("renamed", f" to {name}")

    def rename_topic(self, topic: str, name: str) -> None:
        """Give a topic such as "L3:17" a name, which stands for its title everywhere; "" takes it away.

        Raises
        ------
        LookupError
            When there is no such topic.
        """
        (node,) = nodes_of(self.hierarchy(None), topic, None)
        annotations.set_label(self._opened.db, self.number, node.layer, node.column + 1, name)
        self._record(f"named topic L{node.layer}:{node.column + 1} of", f" {name}")

    def _record(self, done: str, more: str = "") -> None:
        """Write into the audit log what was done to the run."""
        logs.record_action(self._opened.db.place, f"{done} run {self.number}{more}")
