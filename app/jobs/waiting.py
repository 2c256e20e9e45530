"""Waiting for a run: its rows until it ends, its progress as a line, and its end as a sentence."""

import time
from collections.abc import Iterator, Mapping

from app.jobs import launcher
from app.jobs.estimates import choose_headline
from app.jobs.progress import Progress, format_duration
from store import runs
from store.database import Database
from store.run_rows import RunRow

ENDED = ("finished", "failed", "stopped", "paused", "silent")
FILL_SECONDS = 5.0  # a worker needs a moment to claim its run
LOOK_SECONDS = 0.3
WATCHING = 0.1  # evaluation and snapshots take about this part of training time


def follow_run(db: Database, run: int) -> Iterator[tuple[RunRow, str]]:
    """Yield the row of a run and its state every now and then, the last time when it has ended.

    A queued run is started as soon as there is room for it.

    Raises
    ------
    NotFound
        When there is no such run (any more).
    DamagedRow
        When it waits and its row is damaged, so that no worker takes it.
    """
    looked = time.monotonic()
    while True:
        row = runs.get_run(db, run)
        state = launcher.find_work_state(row)
        if state == "queued":
            row.check_usable()
        yield row, state
        if state in ENDED:
            return
        if state == "queued" and time.monotonic() - looked > FILL_SECONDS:
            launcher.start_queued_runs(db)
            looked = time.monotonic()
        time.sleep(LOOK_SECONDS)


def show_progress(progress: Progress, row: RunRow, latest: Mapping[str, float]) -> None:
    """Show how far a run is, with its headline and the time left.

    Parameters
    ----------
    progress : Progress
    row : RunRow
    latest : mapping of str to float
        The newest values of the curves that `app.jobs.estimates` reads.
    """
    rest = [f"{row.minibatch:,}/{row.planned:,}"]
    if (best := choose_headline(row, latest)) is not None:
        rest.append(str(best))
    if row.minibatch > 0 and row.seconds > 0:
        each = (1 + WATCHING) * row.seconds / row.minibatch
        rest.append(f"{format_duration(each * (row.planned - row.minibatch))} left")
    words = row.message.partition(";")[0] or row.state
    progress.show(f"run {row.number}: {words}", row.minibatch / max(1, row.planned), "  ".join(rest))


def describe_end(row: RunRow, state: str) -> str:
    """Describe in one sentence how a run has ended."""
    if state == "silent":
        return f"run {row.number} has fallen silent: its worker is gone; topiary resume {row.number} goes on"
    return f"run {row.number} {row.message if row.message.startswith(state) else f'{state}: {row.message}'}"
