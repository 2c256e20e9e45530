"""Wait for a run: follow its row until it ends, show its progress as a line, and describe its end."""

import time
from collections.abc import Iterator, Mapping

from topiary.app.jobs import launcher, logs
from topiary.app.jobs.claim import OUT_OF_MEMORY
from topiary.app.jobs.estimates import choose_headline
from topiary.app.jobs.progress import Progress, format_duration
from topiary.store import runs
from topiary.store.database import Database
from topiary.store.run_rows import RunRow

ENDED = ("finished", "failed", "stopped", "paused", "silent")
FILL_SECONDS = 5.0  # between two attempts to start queued runs
LOOK_SECONDS = 0.3  # between two readings of the row
WATCHING = 0.1  # time for evaluation and snapshots, as a share of training time


def follow_run(db: Database, run: int) -> Iterator[tuple[RunRow, str]]:
    """Yield the row of a run and its state at short intervals until the run has ended.

    A queued run is started as soon as there is room for it.

    Raises
    ------
    NotFound
        When the run does not exist, or was deleted.
    DamagedRow
        When the run is queued and its row is damaged, so that no worker can train it.
    """
    last_start = time.monotonic()
    while True:
        row = runs.get_run(db, run)
        state = launcher.find_state(row)
        yield row, state
        if state in ENDED:
            return
        if state == "queued" and time.monotonic() - last_start > FILL_SECONDS:
            launcher.start_queued_runs(db)
            last_start = time.monotonic()
        time.sleep(LOOK_SECONDS)


def show_progress(progress: Progress, row: RunRow, latest: Mapping[str, float]) -> None:
    """Show the progress of a run, with its headline and the time left.

    Parameters
    ----------
    progress : Progress
    row : RunRow
    latest : mapping of str to float
        Newest values of the curves, from :func:`app.jobs.estimates.read_latest`.
    """
    facts = [f"{row.minibatch:,}/{row.planned:,}"]
    if (best := choose_headline(row, latest)) is not None:
        facts.append(str(best))
    if row.minibatch > 0 and row.seconds > 0:
        step_seconds = (1 + WATCHING) * row.seconds / row.minibatch
        facts.append(f"{format_duration(step_seconds * (row.planned - row.minibatch))} left")
    words = row.message.partition(";")[0] or row.state
    progress.show(f"run {row.number}: {words}", row.minibatch / max(1, row.planned), "  ".join(facts))


def describe_end(db: Database, row: RunRow, state: str) -> str:
    """Describe in one sentence how a run has ended."""
    if state == "silent" and logs.tells_of_memory(db.url, row.number):
        return f"run {row.number} has fallen silent: {OUT_OF_MEMORY}"
    if state == "silent":
        return f"run {row.number} has fallen silent: its worker is gone; topiary resume {row.number} goes on"
    return f"run {row.number} {row.message if row.message.startswith(state) else f'{state}: {row.message}'}"
