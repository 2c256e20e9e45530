"""Steering: what users tell the topics of a run, for pages, commands and the library.

An edit is checked and added to the journal of its run (:mod:`store.edits`), where it waits until the worker makes it
between two steps (:mod:`app.jobs.edit_work`).  A run that has ended goes on with the edits that wait; an edit is undone
by a fork from before it.
"""

from collections.abc import Sequence
from dataclasses import replace

from topiary.app.jobs import control, logs
from topiary.app.jobs.edit_orders import EditOrder, check_order, check_steerable, find_edit, number_words
from topiary.app.jobs.forks import find_origin
from topiary.app.jobs.new_run import request_continuation, request_fork
from topiary.app.jobs.process import find_state
from topiary.app.machine import find_user
from topiary.app.names import STEPS, name_step, plural
from topiary.store import corpora, edits, runs
from topiary.store.database import Database
from topiary.store.edits import APPLIED, WAITING, EditRow, repeat_edit
from topiary.store.errors import Conflict
from topiary.store.run_rows import RunRow

MORE = 50  # steps that a finished run is trained on with edits


def queue_edits(
    db: Database, run: int, orders: Sequence[EditOrder], author: str | None = None, who: str = ""
) -> list[EditRow]:
    """Add edits to the journal of a run, all or none; a worker that trains it makes them after its present step.

    Parameters
    ----------
    author : str, optional
        The user of this process by default.
    who : str
        As in :mod:`app.jobs.control`.

    Raises
    ------
    EditRefused
        When one of them cannot be done; the message is one sentence.
    """
    row = runs.get_run(db, run)
    check_steerable(db, row, [order.kind for order in orders])
    numbers = number_words(corpora.read_vocabulary(db, row.corpus))
    signed = find_user() if author is None else " ".join(author.split())
    new = [check_order(order, numbers)._replace(author=signed) for order in orders]
    rows = edits.add_edits(db, run, new)
    for each in rows:
        logs.record_action(db.place, f"added edit {each.edit} ({each.kind}) to run {run}", who)
    return rows


def withdraw_edit(db: Database, run: int, number: int, who: str = "") -> None:
    """Withdraw an edit that still waits."""
    edits.withdraw_edits(db, run, [number], "withdrawn before it was made")
    logs.record_action(db.place, f"withdrew edit {number} of run {run}", who)


def apply_edits(db: Database, run: int, steps: int = MORE, who: str = "") -> RunRow:
    """Have the edits that wait made, and return the run that makes them.

    A finished run goes on as a new one, which trains ``steps`` more from its last snapshot and takes the waiting edits
    with it; one that was paused, stopped or failed is resumed; one that trains makes them anyway.

    Raises
    ------
    Conflict
        When no edit waits.
    """
    row, waiting = runs.get_run(db, run), [each for each in edits.list_edits(db, run) if each.state == WAITING]
    if not waiting:
        raise Conflict(f"no edit of run {run} waits; add one first")
    state = find_state(row)
    if state != "finished":
        if state not in ("queued", "running"):
            control.resume_run(db, run, who=who)
        return runs.get_run(db, run)
    request = request_continuation(find_origin(db, run))
    request = replace(request, minibatches=steps, edits=[repeat_edit(each, each.step) for each in waiting])
    (made,), _ = control.start_runs(db, request, who, f" to make {plural(len(waiting), 'edit')} of run {run}")
    edits.withdraw_edits(db, run, [each.edit for each in waiting], f"made in run {made.number}")
    return made


def undo_edit(db: Database, run: int, number: int, who: str = "") -> RunRow:
    """Undo an edit and all after it, and return the run that goes on without them.

    If the edit still waits, it is withdrawn, and the run is the same.  Else a fork goes on from the last snapshot
    before the edit, and the run stops if it trains.

    Raises
    ------
    NotFound
        When there is no such edit, or no snapshot before it.
    Conflict
        When it was refused or withdrawn, or was made before this run began.
    """
    row, journal = runs.get_run(db, run), edits.list_edits(db, run)
    edit = find_edit(journal, run, number)
    if edit.state == WAITING:
        withdraw_edit(db, run, number, who)
        return row
    if edit.state != APPLIED:
        raise Conflict(f"edit {number} of run {run} was {edit.state}, so there is nothing to undo")
    if edit.step < 0:
        raise Conflict(f"edit {number} was made before run {run} began; undo it in run {row.parent}")
    origin = find_origin(db, run, minibatch=edit.step)
    begin, options = origin.snapshot.minibatch, row.options
    again = [each for each in journal if each.state == APPLIED and each.step >= begin and each.edit < number]
    until = "settled" if options.get("until_settled") else "good" if options.get("until_plateau") else ""
    length = max(MORE, int(options["minibatches"]) - begin)
    request = request_fork(origin, texts={}, minibatches=length, until=until, name=row.name)
    request = replace(request, edits=[repeat_edit(each, max(1, each.step - begin)) for each in again])
    if find_state(row) in ("queued", "running"):
        control.stop_run(db, run, who)
    (made,), _ = control.start_runs(db, request, who, f" to undo edit {number} of run {run}")
    return made


def summarize_waiting(row: RunRow, n_edits: int, steps: int = MORE) -> str:
    """Return what happens to edits that were just added to a run, or how to have them made."""
    said = f"{plural(n_edits, 'edit')} of run {row.number}"
    state = find_state(row)
    if state == "running":
        return f"{said} will be made after the present {name_step(row)}"
    if state == "queued":
        return f"{said} will be made when it trains"
    more = f"trains {steps} more {STEPS[name_step(row)]}" if state == "finished" else "goes on"
    return f"{said} waiting, as the run is {state}; topiary edit {row.number} apply {more} to make what waits"
