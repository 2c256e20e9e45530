"""Events: what happened to a run, for users.

A claim records the event ``started`` or ``resumed``; the end of an attempt ``paused``, ``stopped``, ``finished`` or
``failed``.
"""

from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, Select, insert, select

from topiary.store.cells import CellReader, describe_damage, match_list, match_object, match_whole
from topiary.store.database import Database, now, retry_reads
from topiary.store.run_rows import hold_run, own_run
from topiary.store.tables import events, runs

_CHANGE = match_object(
    {"topics": match_list(match_whole()), **dict.fromkeys(("layer", "before", "after"), match_whole())},
    lambda _: False,
    ("layer", "topics", "before", "after"),
)


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

    ``text`` is for users and has no fixed wording; ``change`` is for programs.  The text of a damaged row says so.
    """

    number: int
    attempt: int
    minibatch: int
    kind: str
    text: str
    change: StructureChange | None
    created: datetime


def append_event(
    db: Database,
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

    def work(connection: Connection) -> None:
        own_run(connection, run, attempt)
        insert_event(connection, run, attempt, minibatch, kind, text, change)

    db.transact(work)


def append_note(db: Database, run: int, minibatch: int, kind: str, text: str) -> None:
    """Record an event that does not come from the run's worker, unless the same one was recorded before.

    Raises
    ------
    NotFound
        If there is no such run.
    """

    def work(connection: Connection) -> None:
        hold_run(connection, run)
        is_same = (events.c.run == run) & (events.c.kind == kind) & (events.c.text == text)
        if connection.execute(select(events.c.number).where(is_same)).first() is None:
            attempt = connection.execute(select(runs.c.attempt).where(runs.c.number == run)).scalar_one()
            insert_event(connection, run, attempt, minibatch, kind, text)

    db.transact(work)


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


def read_new_events(db: Database, run: int, cursor: int = 0, *, limit: int = 1000) -> tuple[list[RunEvent], int]:
    """Return the events after ``cursor`` (0 at first), oldest first, and the ``cursor`` of the next call."""
    new = _read_events(db, _select_events(run).where(events.c.number > cursor).limit(limit))
    return new, new[-1].number if new else cursor


def _select_events(run: int) -> Select[Any]:
    """Return the query of the events of a run, oldest first."""
    columns = [events.c[name] for name in RunEvent._fields]
    return select(*columns).where(events.c.run == run).order_by(events.c.number)


@retry_reads
def _read_events(db: Database, query: Select[Any]) -> list[RunEvent]:
    with db.read() as connection:
        rows = connection.execute(query).all()
    return [read_event(row)[0] for row in rows]


def read_event(row: Row[Any]) -> tuple[RunEvent, str]:
    """Return a row as an event, and a description of its cells that cannot be read."""
    cells = CellReader(row._asdict())
    number, attempt, minibatch = (cells.read_whole(name) for name in ("number", "attempt", "minibatch"))
    kind, text, created = cells.read_text("kind"), cells.read_text("text"), cells.read_time("created")
    stored = cells.read_optional(lambda name: cells.read_json(name, _CHANGE, dict[str, Any]()), "change")
    change = StructureChange(**stored | {"topics": tuple(stored["topics"])}) if stored else None
    damage = describe_damage(cells.damage)
    sentence = f"{text} (this event is damaged: {damage})".strip() if damage else text
    return RunEvent(number, attempt, minibatch, kind, sentence, change, created), damage
