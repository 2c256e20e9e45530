"""Events: what happened to a run, for users.

A claim records the event ``started`` or ``resumed``; the end of an attempt ``paused``, ``stopped``, ``finished`` or
``failed``.
"""

from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Connection, insert, select

from topiary.store.database import now, reads, writes
from topiary.store.run_rows import hold_run, own_run
from topiary.store.tables import events, runs, select_sound


class StructureChange(NamedTuple):
    """A change of the layers of a run.

    Attributes
    ----------
    layer : int
        Number of the layer, from 1.
    topics : tuple of int
        Numbers of the pruned topics, from 1; a topic has the same number throughout the run.
    before, after : int
        Number of topics of the layer before and after the change.
    """

    layer: int
    topics: tuple[int, ...]
    before: int
    after: int


class RunEvent(NamedTuple):
    """An event of a run.

    ``text`` is for users and has no fixed wording; ``change`` is for programs.  Damaged rows are left out.
    """

    number: int
    attempt: int
    minibatch: int
    kind: str
    text: str
    change: StructureChange | None
    created: datetime


@writes
def append_event(
    connection: Connection,
    run: int,
    attempt: int,
    minibatch: int,
    kind: str,
    text: str = "",
    change: StructureChange | None = None,
) -> None:
    """Record an event; `store.runs` records claims and ends itself.

    Raises
    ------
    LostClaim
        If another attempt has taken over.
    """
    own_run(connection, run, attempt)
    insert_event(connection, run, attempt, minibatch, kind, text, change)


@writes
def append_note(connection: Connection, run: int, minibatch: int, kind: str, text: str) -> None:
    """Record an event that does not come from the run's worker, unless the same one was recorded before.

    Raises
    ------
    NotFound
        If there is no such run.
    """
    hold_run(connection, run)
    is_same = (events.c.run == run) & (events.c.kind == kind) & (events.c.text == text)
    if connection.execute(select(events.c.number).where(is_same)).first() is None:
        attempt = connection.execute(select(runs.c.attempt).where(runs.c.number == run)).scalar_one()
        insert_event(connection, run, attempt, minibatch, kind, text)


def insert_event(
    connection: Connection,
    run: int,
    attempt: int,
    minibatch: int,
    kind: str,
    text: str,
    change: StructureChange | None = None,
) -> None:
    """Record an event inside a transaction that owns the run."""
    values: dict[str, Any] = {"run": run, "attempt": attempt, "minibatch": minibatch, "kind": kind, "text": text}
    if change is not None:
        values["change"] = change._asdict()
    connection.execute(insert(events).values(**values, created=now()))


@reads
def read_new_events(
    connection: Connection, run: int, cursor: int = 0, *, limit: int = 1000
) -> tuple[list[RunEvent], int]:
    """Return the events after ``cursor`` (0 at first), oldest first, and the ``cursor`` of the next call."""
    is_new = (events.c.run == run) & (events.c.number > cursor)
    columns = (events.c[name] for name in RunEvent._fields)
    query = select_sound(events, *columns).where(is_new).order_by(events.c.number).limit(limit)
    new = [_make_event(RunEvent(*row)) for row in connection.execute(query)]
    return new, new[-1].number if new else cursor


def _make_event(row: RunEvent) -> RunEvent:
    """Return a row with its change of the layers as such, instead of JSON."""
    change: Any = row.change
    return (
        row if change is None else row._replace(change=StructureChange(**change | {"topics": tuple(change["topics"])}))
    )
