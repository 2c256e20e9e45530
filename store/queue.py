"""The order in which queued runs start, and leases on runs whose workers are being started.

Runs start in the order of their numbers, unless a user has moved one.  A program that starts a worker first takes a
lease on its run, so that other programs do not start a second worker; the worker's claim ends the lease.
"""

from collections.abc import Callable, Sequence
from typing import Any

from sqlalchemy import Connection, select, update

from topiary.store import events, run_rows
from topiary.store.database import Database, now, retry_reads
from topiary.store.errors import Conflict
from topiary.store.run_rows import RunRow
from topiary.store.tables import runs

_APART = 1e-6  # smallest distance between two places in the queue


@retry_reads
def list_waiting(db: Database) -> list[RunRow]:
    """Return the queued runs in the order in which they start."""
    with db.read() as connection:
        return _read_queued(connection)


def move_run(db: Database, run: int, *, before: int | None = None, last: bool = False) -> list[RunRow]:
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

    def work(connection: Connection) -> list[RunRow]:
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

    return db.transact(work)


def lease_runs(db: Database, choose: Callable[[Sequence[RunRow]], Sequence[int]], seconds: float) -> list[int]:
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

    def work(connection: Connection) -> list[int]:
        waiting = select(runs.c.number).where(runs.c.state == "queued").order_by(runs.c.number)
        connection.execute(waiting.with_for_update()).all()
        chosen = list(choose(run_rows.read_runs(connection)))
        for number in chosen:
            run_rows.update_run(connection, number, lease=now() + seconds, starter={})
        return chosen

    return db.transact(work)


def record_starter(db: Database, run: int, process: dict[str, Any]) -> None:
    """Record the process of the worker that was started under a lease, unless it has claimed the run already."""

    def work(connection: Connection) -> None:
        is_leased = (runs.c.number == run) & (runs.c.state == "queued") & runs.c.lease.is_not(None)
        connection.execute(update(runs).where(is_leased).values(starter=process))

    db.transact(work)


def release_lease(db: Database, run: int) -> None:
    """Give up the lease on a run whose worker could not be started."""

    def work(connection: Connection) -> None:
        connection.execute(update(runs).where(runs.c.number == run).values(lease=None, starter={}))

    db.transact(work)


def give_way(db: Database, run: int, attempt: int, message: str) -> bool:
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

    def work(connection: Connection) -> bool:
        run_rows.own_run(connection, run, attempt)
        row = run_rows.lock_run(connection, run)
        waiting = [each for each in _read_queued(connection) if each.run_group == row.run_group is not None]
        if row.request != "run" or all(each.minibatch for each in waiting):
            return False
        place = waiting[-1].order[0] + _APART
        run_rows.update_run(connection, run, state="queued", message=message, place=place, lease=None, starter={})
        events.insert_event(connection, run, attempt, row.minibatch, "queued", message)
        return True

    return db.transact(work)


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
