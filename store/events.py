"""Events: what happened to a run, for people.

Claiming a run tells ``started`` or ``resumed``, ending an attempt ``paused``, ``stopped``, ``finished`` or ``failed``.
"""

from datetime import UTC, datetime
from typing import Any, NamedTuple

from sqlalchemy import Connection, Select, insert, select

from store.database import Database, now
from store.ownership import hold, own
from store.tables import events, runs


class Change(NamedTuple):
    """What an event changed in the structure of a run.

    Attributes
    ----------
    layer : int
        Counted from 1.
    topics : tuple of int
        Those pruned, counted from 1 for the whole life of the run.
    before, after : int
        Topics of the layer.
    """

    layer: int
    topics: tuple[int, ...]
    before: int
    after: int


class Event(NamedTuple):
    """One thing that happened, with the attempt and mini-batch at which it did.

    ``text`` is for people and may be worded in any way; ``change`` is for programs.
    """

    number: int
    attempt: int
    minibatch: int
    kind: str
    text: str
    change: Change | None
    created: datetime


def append(
    db: Database, run: int, attempt: int, minibatch: int, kind: str, text: str = "", change: Change | None = None
) -> None:
    """Tell that something happened, beside what `store.runs` tells by itself: claims and ends.

    Raises
    ------
    LostClaim
        When another attempt has taken over.
    """

    def work(connection: Connection) -> None:
        own(connection, run, attempt)
        notify(connection, run, attempt, minibatch, kind, text, change)

    db.transact(work)


def note(db: Database, run: int, minibatch: int, kind: str, text: str) -> None:
    """Tell of a run what is no work of its worker; the same thing once only.

    Raises
    ------
    NotFound
        When there is no such run.
    """

    def work(connection: Connection) -> None:
        hold(connection, run)
        same = (events.c.run == run) & (events.c.kind == kind) & (events.c.text == text)
        if connection.execute(select(events.c.number).where(same)).first() is None:
            attempt = connection.execute(select(runs.c.attempt).where(runs.c.number == run)).scalar_one()
            notify(connection, run, attempt, minibatch, kind, text)

    db.transact(work)


def notify(
    connection: Connection, run: int, attempt: int, minibatch: int, kind: str, text: str, change: Change | None = None
) -> None:
    """Tell that something happened, inside a transaction that owns the run."""
    values: dict[str, Any] = {"run": run, "attempt": attempt, "minibatch": minibatch, "kind": kind, "text": text}
    if change is not None:
        values["change"] = change._asdict()
    connection.execute(insert(events).values(**values, created=now()))


def since(db: Database, run: int, cursor: int = 0, *, limit: int = 1000) -> tuple[list[Event], int]:
    """Events after ``cursor`` (0 at first), oldest first, and the cursor for the next call."""
    found = _read(db, _of(run).where(events.c.number > cursor).limit(limit))
    return found, found[-1].number if found else cursor


def changes(db: Database, run: int) -> list[Event]:
    """Every event of a run that changed its structure, oldest first."""
    return _read(db, _of(run).where(events.c.change.is_not(None)))


def _of(run: int) -> Select[Any]:
    columns = [events.c[name] for name in Event._fields]
    return select(*columns).where(events.c.run == run).order_by(events.c.number)


def _read(db: Database, query: Select[Any]) -> list[Event]:
    with db.read() as connection:
        rows = connection.execute(query).all()
    return [
        Event(*row)._replace(created=datetime.fromtimestamp(row.created, UTC), change=_change(row.change))
        for row in rows
    ]


def _change(stored: dict[str, Any] | None) -> Change | None:
    return None if stored is None else Change(**stored | {"topics": tuple(stored["topics"])})
