"""Runs: users create them, and one worker at a time claims a run and records its progress.

The order in which queued runs start, and leases on runs whose workers are being started.

Runs start in the order of their numbers, unless a user has moved one.  A program that starts a worker first takes a
lease on its run, so that other programs do not start a second worker; the worker's claim ends the lease.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, insert, literal, select, update

from topiary.store import corpus_rows, events, run_rows
from topiary.store.database import Database, now, reads, writes
from topiary.store.edits import NewEdit, copy_edits, insert_edits
from topiary.store.errors import Conflict, LostClaim, NotFound, StoreError
from topiary.store.notes import copy_topic_notes
from topiary.store.points import Point, insert_points, read_last_values
from topiary.store.run_rows import MEASURES, REQUESTS, RunRow, hold_run, own_run
from topiary.store.snapshots import copy_topics
from topiary.store.tables import runs, snapshots, topic_labels

ENDED = ("paused", "stopped", "finished", "failed")
_NO_LEASE: dict[str, Any] = {"lease": None, "starter": {}}


@writes
def create_run(
    connection: Connection,
    *,
    corpus: int,
    model: str,
    inference: str,
    layers: Sequence[int],
    settings: dict[str, Any],
    options: dict[str, Any],
    seed: int,
    name: str = "",
    fork: int | None = None,
    group: int | None = None,
    edits: Sequence[NewEdit] = (),
) -> RunRow:
    """Create a run for a worker to claim; ``options["minibatches"]`` is its planned length.

    Parameters
    ----------
    fork : int, optional
        Number of a snapshot of another run.  It is copied, with the names and notes of its topics and the edits before
        it, as the first snapshot of this run, at mini-batch 0, so that later changes of the parent do not matter.
    group : int, optional
        For runs created together, the number of the first of them; 0 if this is the first.
    edits : sequence of NewEdit
        Edits that wait in the journal of the run from the start.

    Raises
    ------
    NotFound
        If there is no such corpus or snapshot.
    Conflict
        If the snapshot is of a run on another corpus.
    DamagedRow
        If the row of the corpus is damaged.
    StoreError
        If the seed is not between 0 and 2^63 - 1.
    """
    if not 0 <= int(seed) < 2**63:
        raise StoreError(f"the seed must be a whole number from 0 to {2**63 - 1}, not {seed}")
    values = {
        "corpus": int(corpus),
        "model": model,
        "inference": inference,
        "layers": [int(width) for width in layers],
        "settings": settings,
        "options": options,
        "planned": int(options.get("minibatches", 0)),
        "seed": int(seed),
        "name": name,
    }
    corpus_rows.read_corpus(connection, int(corpus), lock=True)
    initial = {"state": "queued", "request": "run", "process": {}, "created": now()}
    origin = _find_parent(connection, fork, int(corpus)) if fork is not None else {}
    statement = insert(runs).values(**values, **initial, **origin).returning(runs.c.number)
    number = connection.execute(statement).scalar_one()
    if group is not None:
        run_rows.update_run(connection, number, run_group=group or number)
    if origin:
        _copy_parent(connection, number, origin)
    if edits:
        insert_edits(connection, number, edits)
    return run_rows.read_run(connection, number)


@reads
def get_run(connection: Connection, n: int) -> RunRow:
    """Return the run with this number.

    Raises
    ------
    NotFound
        If there is none.
    """
    return run_rows.read_run(connection, n)


@reads
def list_runs(connection: Connection) -> list[RunRow]:
    """Return all runs, oldest first."""
    return run_rows.read_runs(connection)


def delete_run(db: Database, n: int) -> None:
    """Delete a run with everything it wrote.

    Raises
    ------
    Conflict
        If its worker is alive.
    NotFound
        If there is none.
    """
    run_rows.sweep_runs(db)

    def hide(connection: Connection) -> None:
        row = run_rows.lock_run(connection, n)
        if row.alive:
            raise Conflict(f"run {n} is training; stop it before deleting it")
        run_rows.update_run(connection, n, state="deleted", attempt=row.attempt + 1)

    db.transact(hide)
    run_rows.remove_run(db, n)


@writes
def claim_run(
    connection: Connection, n: int, process: dict[str, Any], *, force: bool = False, attempt: int | None = None
) -> RunRow:
    """Claim a run for a process, as a new attempt that starts from the run's checkpoint.

    Points, snapshots and events after the checkpoint are deleted (all, if there is none).  An event records the claim.

    Parameters
    ----------
    db : Database
        Open for writing.
    n : int
        The run's number.
    process : dict
        The claiming process: pid, creation time, host.
    force : bool
        The caller knows that the process of a running run is dead.
    attempt : int or None
        The attempt that the caller has seen; another one means that the run was paused or stopped since.

    Raises
    ------
    Conflict
        If another worker is training it, it is finished, or it has another attempt than the caller has seen.
    DamagedRow
        If its row is damaged.
    NotFound
        If there is none.
    """
    row = run_rows.lock_run(connection, n)
    if row.state == "finished":
        raise Conflict(f"run {n} is finished; start a new run to train on")
    if row.alive and not force:
        raise Conflict(f"run {n} is already being trained by {_describe_worker(row.process)}; stop it first")
    if attempt not in (None, row.attempt):
        raise Conflict(f"run {n} is {row.state}; topiary resume {n} queues it again")
    minibatch, seconds = run_rows.rewind_run(connection, n)
    measures = read_last_values(connection, n, MEASURES)
    request = row.request if row.state == "queued" else "run"  # a request made while it was queued still counts
    run_rows.update_run(
        connection,
        n,
        if_attempt=row.attempt,
        state="running",
        request=request,
        attempt=row.attempt + 1,
        minibatch=minibatch,
        seconds=seconds,
        process=process,
        message="",
        traceback="",
        started=now() if row.started is None else runs.c.started,
        ended=None,
        heartbeat=now(),
        **_NO_LEASE,
        **measures,
    )
    kind = "started" if row.started is None else "resumed"
    events.insert_event(connection, n, row.attempt + 1, minibatch, kind, f"by {_describe_worker(process)}")
    return run_rows.read_run(connection, n)


@writes
def record_progress(
    connection: Connection,
    n: int,
    attempt: int,
    *,
    minibatch: int,
    seconds: float,
    tokens_per_second: float | None = None,
    point_perplexity: float | None = None,
    averaged_perplexity: float | None = None,
    message: str = "",
    points: Sequence[Point] = (),
    process: dict[str, Any] | None = None,
) -> str:
    """Record points, progress and a heartbeat in one short transaction.

    A measure or ``process`` (the worker and its cluster) that is not given keeps its last value.

    Returns
    -------
    request : {"run", "pause", "stop"}
        What users have requested of the run.

    Raises
    ------
    LostClaim
        If another attempt has taken over; nothing is written then.
    """
    given = zip(MEASURES, (tokens_per_second, point_perplexity, averaged_perplexity), strict=True)
    measures: dict[str, Any] = {name: value for name, value in given if value is not None}
    if process is not None:
        measures["process"] = process
    own_run(connection, n, attempt, minibatch=minibatch, seconds=seconds, message=message, **measures)
    insert_points(connection, n, points)
    return str(connection.execute(select(runs.c.request).where(runs.c.number == n)).scalar_one())


@writes
def record_layers(
    connection: Connection,
    n: int,
    attempt: int,
    minibatch: int,
    layers: Sequence[int],
    happened: Sequence[tuple[str, str, events.StructureChange | None]] = (),
) -> None:
    """Record the present widths of a run, and events (kind, text, change or None).

    Raises
    ------
    LostClaim
        If another attempt has taken over.
    """
    own_run(connection, n, attempt, layers=[int(width) for width in layers])
    for kind, text, change in happened:
        events.insert_event(connection, n, attempt, minibatch, kind, text, change)


@writes
def record_settings(
    connection: Connection,
    n: int,
    attempt: int,
    *,
    settings: Mapping[str, Any],
    options: Mapping[str, Any],
    event: tuple[str, str],
) -> None:
    """Replace the settings and options of a run, and its widths by those of the settings; add an event (kind, text).

    Raises
    ------
    LostClaim
        If another attempt has taken over.
    """
    values = {"settings": dict(settings), "options": dict(options), "layers": list(settings["layers"])}
    own_run(connection, n, attempt, **values)
    events.insert_event(connection, n, attempt, 0, *event)


def record_process(db: Database, n: int, attempt: int, process: Mapping[str, Any]) -> None:
    """Replace the facts about the processes of a run, and write its heartbeat; it may have ended.

    Raises
    ------
    LostClaim
        If another attempt has taken over, or the run was deleted.
    """
    db.transact(lambda connection: own_run(connection, n, attempt, process=dict(process)))


@writes
def send_request(connection: Connection, n: int, request: str) -> RunRow:
    """Ask a run to pause, to stop or to go on; its worker reads the request at its next heartbeat.

    A paused run has no worker, so it stops at once if asked to.

    Raises
    ------
    Conflict
        If the run is neither queued nor training.
    """
    if request not in REQUESTS:
        raise StoreError(f"a run can be asked to {', '.join(REQUESTS)}, not to {request!r}")
    row = run_rows.lock_run(connection, n)
    if row.state == "paused" and request == "stop":
        run_rows.update_run(connection, n, state="stopped", request=request)
    elif row.state in ("queued", "running"):
        run_rows.update_run(connection, n, request=request)
    else:
        hint = "" if row.state == "finished" else "; resume it first"
        raise Conflict(f"run {n} is {row.state}, so it cannot be asked to {request}{hint}")
    return run_rows.read_run(connection, n)


@writes
def requeue_run(connection: Connection, n: int, *, options: Mapping[str, Any] | None = None) -> RunRow:
    """Queue a run again that is paused, stopped, failed, or running without a sign of life; with new options if given.

    Raises
    ------
    Conflict
        If it is finished, or its worker is alive.
    DamagedRow
        If its row is damaged.
    """
    row = run_rows.lock_run(connection, n)
    if row.state == "finished" or row.alive:
        raise Conflict(f"run {n} is {row.state}; there is nothing to resume")
    attempt = row.attempt + 1 if row.state == "running" else row.attempt  # the silent worker may yet wake up
    run_rows.update_run(
        connection,
        n,
        if_attempt=row.attempt,
        state="queued",
        request="run",
        attempt=attempt,
        message="",
        ended=None,
        place=None,
        **({} if options is None else {"options": dict(options)}),
        **_NO_LEASE,
    )
    return run_rows.read_run(connection, n)


@writes
def finish_run(
    connection: Connection, n: int, attempt: int, state: str, message: str = "", traceback: str = ""
) -> RunRow:
    """End an attempt as paused, stopped, finished or failed; an event records it.

    Raises
    ------
    LostClaim
        If another attempt has taken over, or this one has ended already.
    """
    if state not in ENDED:
        raise StoreError(f"an attempt ends as {', '.join(ENDED)}, not as {state!r}")
    own_run(connection, n, attempt)
    row = run_rows.read_run(connection, n)
    if row.state != "running":
        raise LostClaim(f"attempt {attempt} of run {n} has ended already, as {row.state}")
    changes = {"planned": row.minibatch} if state == "finished" else {}  # it may have ended early
    run_rows.update_run(connection, n, state=state, message=message, traceback=traceback, ended=now(), **changes)
    events.insert_event(connection, n, attempt, row.minibatch, state, message)
    return run_rows.read_run(connection, n)


@writes
def abandon_run(connection: Connection, n: int, state: str, message: str, *, force: bool = False) -> RunRow:
    """End a run whose worker is lost, under the next attempt number; an event records it.

    Everything written stays until a worker resumes the run and deletes what was written after its checkpoint.

    Parameters
    ----------
    force : bool
        The caller knows that the process of a running run is dead.

    Raises
    ------
    Conflict
        If a worker is training it, or it has ended already.
    """
    if state not in ENDED:
        raise StoreError(f"a run ends as {', '.join(ENDED)}, not as {state!r}")
    row = run_rows.lock_run(connection, n)
    if row.state in ENDED:
        raise Conflict(f"run {n} has ended already, as {row.state}")
    if row.alive and not force:
        raise Conflict(f"run {n} is being trained by {_describe_worker(row.process)}; ask it to stop")
    attempt = row.attempt + 1
    run_rows.update_run(
        connection, n, if_attempt=row.attempt, state=state, attempt=attempt, message=message, ended=now()
    )
    events.insert_event(connection, n, attempt, row.minibatch, state, message)
    return run_rows.read_run(connection, n)


@writes
def rename_run(connection: Connection, n: int, name: str) -> RunRow:
    """Give a run another name."""
    hold_run(connection, n)
    run_rows.update_run(connection, n, name=name.strip())
    return run_rows.read_run(connection, n)


def _describe_worker(process: dict[str, Any]) -> str:
    """Return a phrase about the process of a worker."""
    pid = process.get("pid")
    return "a worker" if pid is None else f"process {pid} on {process.get('host', 'this machine')}"


def _find_parent(connection: Connection, snapshot: int, corpus: int) -> dict[str, int]:
    """Return the columns of a run's row that state its origin as a fork.

    Raises
    ------
    NotFound
        If there is no such snapshot (any more).
    Conflict
        If it belongs to a run on another corpus.
    """
    query = (
        select(runs.c.number, runs.c.corpus, runs.c.family, snapshots.c.minibatch)
        .join(runs, runs.c.number == snapshots.c.run)
        .where(snapshots.c.number == snapshot, runs.c.state != "deleted")
        .with_for_update(of=snapshots)  # the run may be deleting old snapshots at this moment
    )
    parent = connection.execute(query).first()
    if parent is None:
        raise NotFound(f"snapshot {snapshot} is not kept any more; fork from the run's latest one")
    if parent.corpus != corpus:
        raise Conflict(f"run {parent.number} is on another corpus; a fork stays on the corpus of its parent")
    origin = {"parent": parent.number, "parent_snapshot": snapshot, "parent_minibatch": parent.minibatch}
    return origin | {"family": parent.family or parent.number}


def _copy_parent(connection: Connection, run: int, origin: dict[str, int]) -> None:
    """Copy the snapshot to mini-batch 0 of the new run, and what users said of its topics: names, notes and edits."""
    first = select(literal(run), literal(0), literal(0.0), now(), snapshots.c.size)
    copied = first.where(snapshots.c.number == origin["parent_snapshot"])
    made = insert(snapshots).from_select(["run", "minibatch", "seconds", "created", "size"], copied)
    number = connection.execute(made.returning(snapshots.c.number)).scalar_one()
    copy_topics(connection, origin["parent_snapshot"], number)
    names = select(literal(run), topic_labels.c.layer, topic_labels.c.topic, topic_labels.c.text)
    copied_names = names.where(topic_labels.c.run == origin["parent"])
    connection.execute(insert(topic_labels).from_select(["run", "layer", "topic", "text"], copied_names))
    copy_topic_notes(connection, origin["parent"], run)
    copy_edits(connection, origin["parent"], run, origin["parent_minibatch"])


_APART = 1e-6  # smallest distance between two places in the queue


@reads
def list_waiting(connection: Connection) -> list[RunRow]:
    """Return the queued runs in the order in which they start."""
    return _read_queued(connection)


@writes
def move_run(connection: Connection, run: int, *, before: int | None = None, last: bool = False) -> list[RunRow]:
    """Move a queued run before another one, or to the beginning or the end of the queue.

    The others keep their order, and later runs are added at the end.

    Parameters
    ----------
    db : Database
    run : int
        The run to move.
    before : int, optional
        A queued run, before which to move it; the beginning of the queue by default.
    last : bool
        Move it to the end; ``before`` is then ignored.

    Returns
    -------
    list of RunRow
        The queued runs in their new order.

    Raises
    ------
    Conflict
        If one of the two is not queued.
    NotFound
        If there is no such run.
    """
    _check_queued(connection, run)
    rows = _read_queued(connection)
    others = [row.number for row in rows if row.number != run]
    place = len(others) if last else 0
    if before is not None and not last:
        if before == run:
            raise Conflict(f"run {run} cannot start before itself; name another one")
        _check_queued(connection, before)
        place = others.index(before)
    others.insert(place, run)
    _write_places(connection, others, [row.order[0] for row in rows])
    return _read_queued(connection)


@writes
def lease_runs(
    connection: Connection, choose: Callable[[Sequence[RunRow]], Sequence[int]], seconds: float
) -> list[int]:
    """Take a lease on queued runs, so that no other program starts them.

    Parameters
    ----------
    db : Database
    choose : (rows) -> numbers
        Called with all runs, returns the numbers of queued ones; no other program can take a lease meanwhile.
    seconds : float
        Time until the lease expires, by the database's clock.

    Returns
    -------
    list of int
        The numbers of the chosen runs.
    """
    waiting = select(runs.c.number).where(runs.c.state == "queued").order_by(runs.c.number)
    connection.execute(waiting.with_for_update()).all()
    chosen = list(choose(run_rows.read_runs(connection)))
    for number in chosen:
        run_rows.update_run(connection, number, lease=now() + seconds, starter={})
    return chosen


@writes
def record_starter(connection: Connection, run: int, process: dict[str, Any]) -> None:
    """Record the process of the worker that was started under a lease, unless it has claimed the run already."""
    is_leased = (runs.c.number == run) & (runs.c.state == "queued") & runs.c.lease.is_not(None)
    connection.execute(update(runs).where(is_leased).values(starter=process))


@writes
def release_lease(connection: Connection, run: int) -> None:
    """Give up the lease on a run whose worker could not be started."""
    connection.execute(update(runs).where(runs.c.number == run).values(lease=None, starter={}))


@writes
def give_way(connection: Connection, run: int, attempt: int, message: str) -> bool:
    """Queue a run in training again, behind the runs of its group, if one of them waits for its first step.

    A user's request to pause or stop comes first.  An event records the message.

    Returns
    -------
    has_given_way : bool
        Whether the attempt has ended; the run goes on from its last checkpoint.

    Raises
    ------
    LostClaim
        If another attempt has taken over.
    """
    run_rows.own_run(connection, run, attempt)
    row = run_rows.lock_run(connection, run)
    waiting = [each for each in _read_queued(connection) if each.run_group == row.run_group is not None]
    if row.request != "run" or all(each.minibatch for each in waiting):
        return False
    place = waiting[-1].order[0] + _APART
    run_rows.update_run(connection, run, state="queued", message=message, place=place, lease=None, starter={})
    events.insert_event(connection, run, attempt, row.minibatch, "queued", message)
    return True


def _check_queued(connection: Connection, run: int) -> None:
    """Lock a run, and raise Conflict unless it is queued."""
    row = run_rows.lock_run(connection, run)
    if row.state != "queued":
        raise Conflict(f"run {run} is {row.state}; only queued runs are put in an order")


def _read_queued(connection: Connection) -> list[RunRow]:
    """Return the queued runs in the order in which they start."""
    rows = connection.execute(run_rows.select_runs().where(runs.c.state == "queued"))
    return sorted(map(run_rows.make_row, rows), key=lambda row: row.order)


def _write_places(connection: Connection, numbers: list[int], places: list[float]) -> None:
    """Assign the present places of the runs to their new order; equal places are moved apart."""
    place = float("-inf")
    for number, old_place in zip(numbers, places, strict=True):
        place = max(old_place, place + _APART)
        if connection.execute(select(runs.c.place).where(runs.c.number == number)).scalar_one() != place:
            run_rows.update_run(connection, number, place=place)
