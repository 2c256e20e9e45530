"""Whose run it is: the one question before every write of a worker."""

from typing import Any

from sqlalchemy import Connection, select, update

from store.database import now
from store.errors import LostClaim, NotFound
from store.tables import runs


def own(connection: Connection, run: int, attempt: int, **values: Any) -> None:
    """Hold the run's row until the transaction ends, and beat (whoever writes is alive); set its ``values``.

    Raises
    ------
    LostClaim
        When ``attempt`` is not the run's current one, or the run was deleted.
    """
    mine = (runs.c.number == run) & (runs.c.attempt == attempt) & (runs.c.state != "deleted")
    if connection.execute(update(runs).where(mine).values(heartbeat=now(), **values)).rowcount != 1:
        raise LostClaim(
            f"attempt {attempt} of run {run} was replaced by a later one, or the run was deleted; it stops here"
        )


def hold(connection: Connection, run: int) -> None:
    """Hold the run's row until the transaction ends, for changes that people make.

    Raises
    ------
    NotFound
        When there is no such run.
    """
    query = select(runs.c.number).where(runs.c.number == run, runs.c.state != "deleted").with_for_update()
    if connection.execute(query).first() is None:
        raise missing(run)


def missing(run: int | str) -> NotFound:
    """The error about a run that does not exist."""
    return NotFound(f"there is no run number {run}; list the runs to see those that exist")
