"""What users do to runs, for pages, commands and the library: start, stop, pause, resume, delete and rename them.

Each function changes the store, lets the queue move on, and records the action in the audit log as done by ``who``
(by default the user of this process).

Wait for a run: follow its row until it ends, show its progress as a line, and describe its end.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from topiary.app.jobs import gpu, launcher, logs, process
from topiary.app.jobs.cluster.place import ON_CARDS
from topiary.app.jobs.estimates import choose_headline
from topiary.app.jobs.forks import find_origin, repeat_with_seeds, retry_run
from topiary.app.jobs.new_run import create_runs, request_continuation
from topiary.app.jobs.plan import read_options
from topiary.app.jobs.process import find_state
from topiary.app.jobs.progress import Progress, format_duration
from topiary.app.jobs.run_rules import RunRequest, collect_row_facts
from topiary.app.machine import choose_threads
from topiary.engine.gpu.memory import NAME
from topiary.store import corpora, runs
from topiary.store.database import Database
from topiary.store.errors import Conflict
from topiary.store.run_rows import RunRow

HERE = "here"  # the processor of this machine, as the place where a run goes on


def start_runs(db: Database, request: RunRequest, who: str = "", why: str = "") -> tuple[list[RunRow], list[int]]:
    """Queue the runs of a request, with the usual number of threads unless it gives one, and start what may train now.

    Parameters
    ----------
    db : Database
    request : RunRequest
    who : str
    why : str
        End of the line in the audit log.

    Returns
    -------
    rows : list of RunRow
        The new runs, as they were queued.
    started : list of int
        Numbers of all runs that were started, also older ones.

    Raises
    ------
    NewRunError
        When one of the runs is not valid; then none is created.
    """
    threads = choose_threads() if request.threads is None else request.threads
    rows = create_runs(db, replace(request, threads=threads))
    return rows, _start(db, rows, who, why)


def continue_run(db: Database, run: int, who: str = "") -> RunRow:
    """Start a run that trains some more steps from the last snapshot of a run; see :func:`request_continuation`."""
    rows, _ = start_runs(db, request_continuation(find_origin(db, run)), who, f" to continue run {run}")
    return rows[0]


def repeat_run(db: Database, run: int, batch_size: int | None = None, who: str = "") -> RunRow:
    """Start a failed run again as a new one, with batches of ``batch_size`` or half the size; see :func:`retry_run`."""
    row = retry_run(db, run, batch_size)
    _start(db, [row], who, f" in place of run {run}")
    return row


def train_seeds(db: Database, run: int, n: int, who: str = "") -> list[RunRow]:
    """Start runs that differ from a run in their seed alone; see :func:`repeat_with_seeds`."""
    rows = repeat_with_seeds(db, run, n)
    _start(db, rows, who, f" with another seed than run {run}")
    return rows


def _start(db: Database, rows: Sequence[RunRow], who: str, why: str) -> list[int]:
    """Record that runs were started, and start what may train now; return the numbers of what was started."""
    for row in rows:
        logs.record_action(db.place, f"started {logs.name_subject('run', row.number, row.name)}{why}", who)
    return launcher.start_queued_runs(db)


def stop_run(db: Database, run: int, who: str = "") -> None:
    """Ask a run to stop; if it has no living worker, stop it at once.

    Raises
    ------
    Conflict
        When it has ended already.
    """
    _request_end(db, run, "stop", "stopped", who)


def pause_run(db: Database, run: int, who: str = "") -> None:
    """Ask a run to pause; if it has no living worker, pause it at once.

    Raises
    ------
    Conflict
        When it has ended already.
    """
    _request_end(db, run, "pause", "paused", who)


def _request_end(db: Database, run: int, request: str, state: str, who: str) -> None:
    """Send a request to the worker of a run, or set the state at once if it has no living worker; record it."""
    row = runs.get_run(db, run)
    if find_state(row) in ("queued", "silent"):
        _end_run(db, row, state)
    else:
        runs.send_request(db, run, request)
    logs.record_action(db.place, f"{state} run {run}", who)


def resume_run(db: Database, run: int, on: str = "", who: str = "") -> None:
    """Queue a run to go on from its checkpoint, and start it if there is room.

    Parameters
    ----------
    db : Database
    run : int
    on : str
        Where its documents are swept from now on: "gpu", or "here", the processor of this machine, or of each worker if
        they are spread over graphics processors; where they were by default.
    who : str

    Raises
    ------
    Conflict
        When it is training or finished, or cannot go on there.
    DamagedRow
        When its row is too damaged to go on.
    """
    row = runs.get_run(db, run)
    state = find_state(row)
    if state in ("running", "finished"):
        raise Conflict(f"run {run} is {state}; there is nothing to resume")
    options = _move_documents(db, row, on) if on else None
    if state == "silent":
        _end_run(db, row, "paused")
    if state != "queued" or options is not None:
        runs.requeue_run(db, run, options=options)
    logs.record_action(db.place, f"resumed run {run}", who)
    launcher.start_queued_runs(db)


def _move_documents(db: Database, row: RunRow, on: str) -> dict[str, Any]:
    """Return the options of a run whose documents are swept elsewhere from now on."""
    from topiary.app.jobs.records import load_model  # loads the compiler, which commands need not wait for

    options = read_options(row)
    if on not in (HERE, NAME):
        raise Conflict(f"a run goes on here or on gpu; got {on!r}")
    if on == HERE and options.cluster.startswith(ON_CARDS):
        return replace(options, on=options.on.removeprefix(ON_CARDS)).to_json()
    if options.cluster:
        raise Conflict(f"the documents of run {row.number} are swept by {options.on}, where alone it can go on")
    if on == NAME:
        _, config = load_model(row)
        try:
            gpu.check_run_on_card(row.model, config, collect_row_facts(corpora.get_run_corpus(db, row)))
        except gpu.GpuError as error:
            raise Conflict(str(error)) from error
    return replace(options, on="" if on == HERE else on).to_json()


def delete_run(db: Database, run: int, who: str = "") -> None:
    """Delete a run with all its results.

    Raises
    ------
    Conflict
        While it trains.
    """
    row = runs.get_run(db, run)
    match find_state(row):
        case "running":
            raise Conflict(f"run {run} is training; stop it before deleting it")
        case "silent":
            _end_run(db, row, "stopped")
    runs.delete_run(db, run)
    logs.record_action(db.place, f"deleted {logs.name_subject('run', run, row.name)}", who)


def rename_run(db: Database, run: int, name: str, who: str = "") -> None:
    """Give a run a name; an empty one removes it."""
    runs.rename_run(db, run, name)
    logs.record_action(db.place, f"renamed run {run} to {name}", who)


def _end_run(db: Database, row: RunRow, state: str) -> None:
    """End a run that has no living worker, keeping its results."""
    proved_dead = row.state == "running" and process.check_life(row.process) == "dead"
    runs.abandon_run(db, row.number, state, f"{state} while no worker was training it", force=proved_dead)


ENDED = ("finished", "failed", "stopped", "paused", "silent")
FILL_SECONDS = 5.0  # between two attempts to start queued runs
LOOK_SECONDS, LAST_SECONDS = 0.3, 0.05  # between two readings of the row, and after the last step
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
        state = find_state(row)
        yield row, state
        if state in ENDED:
            return
        if state == "queued" and time.monotonic() - last_start > FILL_SECONDS:
            launcher.start_queued_runs(db)
            last_start = time.monotonic()
        time.sleep(LOOK_SECONDS if row.minibatch < row.planned else LAST_SECONDS)


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
        from topiary.app.jobs.claim import OUT_OF_MEMORY  # loads what writes checkpoints

        return f"run {row.number} has fallen silent: {OUT_OF_MEMORY}"
    if state == "silent":
        return f"run {row.number} has fallen silent: its worker is gone; topiary resume {row.number} goes on"
    return f"run {row.number} {row.message if row.message.startswith(state) else f'{state}: {row.message}'}"
