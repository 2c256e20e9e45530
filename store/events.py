"""Events: what happened to a run, for people.

Claiming a run tells ``started`` or ``resumed``, ending an attempt ``paused``, ``stopped``, ``finished`` or ``failed``.
"""

from datetime import UTC, datetime
from typing import NamedTuple

from sqlalchemy import Connection, insert, select

from store.database import Database, now
from store.ownership import own
from store.tables import events


class Event(NamedTuple):
    """One thing that happened, with the attempt and mini-batch at which it did."""

    number: int
    attempt: int
    minibatch: int
    kind: str
    text: str
    created: datetime


def append(db: Database, run: int, attempt: int, minibatch: int, kind: str, text: str = "") -> None:
    """Tell that something happened, beside what `store.runs` tells by itself: claims and ends.

    Raises
    ------
    LostClaim
        When another attempt has taken over.
    """

    def work(connection: Connection) -> None:
        own(connection, run, attempt)
        notify(connection, run, attempt, minibatch, kind, text)

    db.transact(work)


def notify(connection: Connection, run: int, attempt: int, minibatch: int, kind: str, text: str) -> None:
    """Tell that something happened, inside a transaction that owns the run."""
    values = {"run": run, "attempt": attempt, "minibatch": minibatch, "kind": kind, "text": text}
    connection.execute(insert(events).values(**values, created=now()))


def since(db: Database, run: int, cursor: int = 0, *, limit: int = 1000) -> tuple[list[Event], int]:
    """Events after ``cursor`` (0 at first), oldest first, and the cursor for the next call."""
    columns = [events.c[name] for name in Event._fields]
    query = select(*columns).where(events.c.run == run, events.c.number > cursor)
    with db.read() as connection:
        rows = connection.execute(query.order_by(events.c.number).limit(limit)).all()
    found = [Event(*row)._replace(created=datetime.fromtimestamp(row.created, UTC)) for row in rows]
    return found, found[-1].number if found else cursor
