"""The order in which queued runs start, and leases on those whose workers are being started.

Runs start in the order of their numbers, unless a person moved one.  A program that starts a worker first takes a
lease on its run, so that several servers and commands do not start several workers; the worker's claim ends the lease.
"""

from collections.abc import Callable, Sequence
from typing import Any

from sqlalchemy import Connection, select, update

from store import run_rows
from store.database import Database, now, retry_reads
from store.errors import Conflict
from store.run_rows import RunRow
from store.tables import runs

_APART = 1e-6  # distance of two places that had become equal


@retry_reads
def list_waiting(db: Database) -> list[RunRow]:
    """Return the queued runs, the next one first."""
    with db.read() as connection:
        return _read_waiting(connection)


def move_run(db: Database, run: int, *, before: int | None = None, last: bool = False) -> list[RunRow]:
    """Move a queued run before another one, else to the beginning or the end.

    The others keep their order, and later runs are added at the end.

    Parameters
    ----------
    db : Database
    run : int
        The run that is moved.
    before : int, optional
        Another queued run.
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
        rows = _read_waiting(connection)
        others = [row.number for row in rows if row.number != run]
        place = len(others) if last else 0
        if before is not None and not last:
            if before == run:
                raise Conflict(f"run {run} cannot start before itself; name another one")
            _check_queued(connection, before)
            place = others.index(before)
        others.insert(place, run)
        _write_places(connection, others, [row.order[0] for row in rows])
        return _read_waiting(connection)

    return db.transact(work)


def lease_runs(db: Database, choose: Callable[[Sequence[RunRow]], Sequence[int]], seconds: float) -> list[int]:
    """Take a lease on queued runs, so that no other program starts them.

    Parameters
    ----------
    db : Database
    choose : (rows) -> numbers
        Called with all runs, chooses among the queued ones; no other program can take a lease meanwhile.
    seconds : float
        After which the lease expires, by the database's clock.

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
        mine = (runs.c.number == run) & (runs.c.state == "queued") & runs.c.lease.is_not(None)
        connection.execute(update(runs).where(mine).values(starter=process))

    db.transact(work)


def release_lease(db: Database, run: int) -> None:
    """Give up the lease on a run whose worker could not be started."""

    def work(connection: Connection) -> None:
        connection.execute(update(runs).where(runs.c.number == run).values(lease=None, starter={}))

    db.transact(work)


def _check_queued(connection: Connection, run: int) -> None:
    row = run_rows.lock_run(connection, run)
    if row.state != "queued":
        raise Conflict(f"run {run} is {row.state}; only queued runs are put in an order")


def _read_waiting(connection: Connection) -> list[RunRow]:
    found = connection.execute(run_rows.select_runs().where(runs.c.state == "queued"))
    return sorted(map(run_rows.make_row, found), key=lambda row: row.order)


def _write_places(connection: Connection, numbers: list[int], places: list[float]) -> None:
    """Distribute the places of the runs among them in their new order."""
    ahead = float("-inf")
    for number, old in zip(numbers, places, strict=True):
        ahead = max(old, ahead + _APART)
        if connection.execute(select(runs.c.place).where(runs.c.number == number)).scalar_one() != ahead:
            run_rows.update_run(connection, number, place=ahead)
