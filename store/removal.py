"""Taking runs away: what a rewind deletes, and deleting a whole run in short transactions."""

from typing import Any

from sqlalchemy import Column, ColumnElement, Connection, Table, delete, insert, select

from store.database import Database
from store.tables import (
    checkpoint_parts,
    checkpoints,
    earlier_checkpoints,
    events,
    points,
    runs,
    snapshots,
    topic_labels,
)

_PARTS = (
    (points, "number", 20_000),
    (events, "number", 20_000),
    (snapshots, "number", 20),
    (checkpoint_parts, "part", 20),
)


def rewind(connection: Connection, run: int) -> tuple[int, float]:
    """Delete what is later than the run's checkpoint; its mini-batch and seconds (0, 0 without one).

    A resumed run then writes exactly the rows that a run never stopped has.  The snapshot of mini-batch 0 is what
    a fork begins with, and stays.
    """
    _give_up_damaged(connection, run)
    found = connection.execute(
        select(checkpoints.c.generation, checkpoints.c.minibatch, checkpoints.c.seconds).where(checkpoints.c.run == run)
    ).first()
    earlier = select(earlier_checkpoints.c.generation).where(earlier_checkpoints.c.run == run)
    generation, minibatch, seconds = found or (-1, -1, 0.0)
    for table, last in ((points, minibatch), (events, minibatch), (snapshots, max(minibatch, 0))):
        connection.execute(delete(table).where(table.c.run == run, table.c.minibatch > last))
    whole = {generation, *connection.execute(earlier).scalars()}
    unfinished = checkpoint_parts.c.generation.not_in(whole)
    connection.execute(delete(checkpoint_parts).where(checkpoint_parts.c.run == run, unfinished))
    return max(minibatch, 0), seconds


def _give_up_damaged(connection: Connection, run: int) -> None:
    """Remove rows of checkpoints that do not say what they are of; the one before takes the place of the last."""
    for table in (earlier_checkpoints, checkpoints):
        row = connection.execute(
            select(table.c.generation, table.c.minibatch, table.c.seconds).where(table.c.run == run)
        ).first()
        if row is not None and not (type(row[0]) is type(row[1]) is int and isinstance(row[2], int | float)):
            connection.execute(delete(table).where(table.c.run == run))
            if table is checkpoints:
                copy_row(connection, earlier_checkpoints, checkpoints, run)
                connection.execute(delete(earlier_checkpoints).where(earlier_checkpoints.c.run == run))


def copy_row(connection: Connection, source: Table, target: Table, run: int) -> None:
    """Copy the row of a run from one table of checkpoints to the other."""
    columns = [column.name for column in source.columns]
    mine = select(*(source.c[name] for name in columns)).where(source.c.run == run)
    connection.execute(insert(target).from_select(columns, mine))


def remove_run(db: Database, run: int) -> None:
    """Delete the rows of a run already marked as deleted."""
    for table, order, at_once in _PARTS:
        delete_piecewise(db, table, table.c.run == run, table.c[order], at_once)

    def last(connection: Connection) -> None:
        for table in (checkpoints, earlier_checkpoints, topic_labels):
            connection.execute(delete(table).where(table.c.run == run))
        connection.execute(delete(runs).where(runs.c.number == run, runs.c.state == "deleted"))

    db.transact(last)


def sweep_runs(db: Database) -> None:
    """Finish the deletions that were killed half way."""
    with db.read() as connection:
        numbers = connection.execute(select(runs.c.number).where(runs.c.state == "deleted")).scalars().all()
    for number in numbers:
        remove_run(db, number)


def delete_piecewise(db: Database, table: Table, mine: ColumnElement[bool], order: Column[Any], at_once: int) -> None:
    """Delete the rows of a table that are ``mine``, some at a time, so that no writer waits long."""

    def some(connection: Connection) -> bool:
        last = connection.execute(select(order).where(mine).order_by(order).offset(at_once - 1).limit(1)).scalar()
        connection.execute(delete(table).where(mine) if last is None else delete(table).where(mine, order <= last))
        return last is not None

    while db.transact(some):
        pass
