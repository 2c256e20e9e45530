"""The journal of a run: edits of its topics by users, and what each of them did.

Users add edits, which wait until the worker of the run takes them between two steps.  The worker first records the step
of an edit and then makes it, so a run that was killed makes the same edits after the same steps when it is resumed.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Connection, delete, func, insert, literal, select, update

from topiary.store.database import now, reads, writes
from topiary.store.errors import Conflict, NotFound
from topiary.store.run_rows import hold_run, own_run
from topiary.store.tables import edits, select_sound, topic_labels

WAITING, APPLIED, REFUSED, WITHDRAWN = EDIT_STATES = ("waiting", "applied", "refused", "withdrawn")
CHOSEN = 0  # the number of a topic that an edit chooses


class EditRow(NamedTuple):
    """An edit in the journal of a run.

    Attributes
    ----------
    run, edit : int
        The run, and the number of the edit among those of the run, from 1.
    state : str
        One of ``EDIT_STATES``.
    kind, strength : str
        As in :class:`engine.steering.edit.Edit`.
    layer : int
        Layer of the topics, from 1.
    topics : tuple of int
        Identity numbers of the topics, from 1; ``-n`` stands for the topic that edit ``n`` makes, and ``CHOSEN`` for a
        parent that the edit chooses.
    words : tuple of int
        Numbers of words in the vocabulary of the corpus, from 0.
    name : str
        Name for the topic that is made, or for the parent of a topic that is placed; may be empty.
    author : str
    created : datetime
    step : int
        While it waits, the least number of steps before it; else the number of steps before it.  Negative for an edit
        before the snapshot from which a fork begins.
    message : str
        The reason why it was refused or withdrawn.
    topic : int or None
        Identity number of the topic that it made, or chose as a parent.
    changed : tuple of int
        Identity numbers of the topics of the layer that it changed.
    tokens, documents : int
        Tokens that changed their topic at once, and documents with such tokens.
    perplexity_before, perplexity_after : float or None
        Last perplexity of the curve before it, and last one of the fifty steps after it.
    """

    run: int
    edit: int
    state: str
    kind: str
    layer: int
    topics: tuple[int, ...]
    words: tuple[int, ...]
    strength: str
    name: str
    author: str
    created: datetime
    step: int
    message: str
    topic: int | None
    changed: tuple[int, ...]
    tokens: int
    documents: int
    perplexity_before: float | None
    perplexity_after: float | None


class NewEdit(NamedTuple):
    """An edit to add to a journal, as in :class:`EditRow`; ``edit`` 0 stands for the next number."""

    kind: str
    layer: int = 1
    topics: tuple[int, ...] = ()
    words: tuple[int, ...] = ()
    strength: str = "medium"
    name: str = ""
    author: str = ""
    step: int = 1
    edit: int = 0


def repeat_edit(row: EditRow, step: int) -> NewEdit:
    """Return an edit of a journal for another run, with its number."""
    values = {name: getattr(row, name) for name in NewEdit._fields}
    return NewEdit(**values | {"step": step})


@writes
def add_edits(connection: Connection, run: int, new: Sequence[NewEdit]) -> list[EditRow]:
    """Add edits to the journal of a run, all or none; they wait for its worker.

    Raises
    ------
    NotFound
        If there is no such run.
    """
    hold_run(connection, run)
    numbers = insert_edits(connection, run, new)
    return [row for row in read_edits(connection, run) if row.edit in numbers]


def insert_edits(connection: Connection, run: int, new: Iterable[NewEdit]) -> list[int]:
    """Add edits inside a transaction that holds the run, or creates it; return their numbers."""
    last = connection.execute(select(func.max(edits.c.edit)).where(edits.c.run == run)).scalar() or 0
    numbers = []
    for each in new:
        numbers.append(last := each.edit or last + 1)
        values = each._asdict() | {"run": run, "edit": last, "state": WAITING, "changed": (), "created": now()}
        connection.execute(insert(edits).values(**values))
    return numbers


def read_edits(connection: Connection, run: int) -> list[EditRow]:
    """Read the journal of a run, oldest first, inside a transaction; damaged rows are left out."""
    query = select_sound(edits, *(edits.c[name] for name in EditRow._fields)).where(edits.c.run == run)
    return [EditRow(*row) for row in connection.execute(query.order_by(edits.c.edit))]


list_edits = reads(read_edits)


@reads
def find_last_edit(connection: Connection, run: int) -> int:
    """Return the number of the last edit of a run; 0 without one."""
    return connection.execute(select(func.max(edits.c.edit)).where(edits.c.run == run)).scalar() or 0


@writes
def withdraw_edits(connection: Connection, run: int, numbers: Sequence[int], message: str) -> None:
    """Withdraw edits that still wait, all or none, for a reason.

    Raises
    ------
    NotFound
        If there is no such edit.
    Conflict
        If one of them no longer waits.
    """
    hold_run(connection, run)
    rows = {row.edit: row for row in read_edits(connection, run)}
    for number in numbers:
        if number not in rows:
            raise make_missing_edit(run, number)
        if rows[number].state != WAITING:
            raise Conflict(f"edit {number} of run {run} is {rows[number].state} already; look at the journal again")
        _update_edit(connection, run, number, state=WITHDRAWN, message=message)


@writes
def take_edits(connection: Connection, run: int, attempt: int, numbers: Sequence[int], step: int) -> list[EditRow]:
    """Record that waiting edits take effect after a step; return them without those that were withdrawn meanwhile.

    Raises
    ------
    LostClaim
        If another attempt has taken over.
    """
    own_run(connection, run, attempt)
    is_taken = (edits.c.run == run) & edits.c.edit.in_(numbers) & (edits.c.state == WAITING)
    connection.execute(update(edits).where(is_taken).values(state=APPLIED, step=step))
    rows = read_edits(connection, run)
    return [row for row in rows if row.edit in numbers and row.state == APPLIED and row.step == step]


@writes
def record_edit(
    connection: Connection, attempt: int, row: EditRow, named: tuple[int, int | None] | None = None
) -> None:
    """Write what an edit did; ``named`` are layer and number of the topic that gets its name, if it has one.

    An applied edit with a message found its topic instead of making it.

    Raises
    ------
    LostClaim
        If another attempt has taken over.
    """
    names = ("state", "message", "topic", "changed", "tokens", "documents", "perplexity_before")
    own_run(connection, row.run, attempt)
    _update_edit(connection, row.run, row.edit, **{name: getattr(row, name) for name in names})
    if row.name and named is not None and named[1] is not None:
        subject = {"run": row.run, "layer": named[0], "topic": named[1]}
        is_topic = [topic_labels.c[name] == value for name, value in subject.items()]
        if row.message and connection.scalar(select(topic_labels.c.text).where(*is_topic)) is not None:
            return  # a topic that was there before keeps the name that people gave it
        connection.execute(delete(topic_labels).where(*is_topic))
        connection.execute(insert(topic_labels).values(text=row.name, **subject))


@writes
def record_perplexity(
    connection: Connection, run: int, attempt: int, numbers: Sequence[int], perplexity: float
) -> None:
    """Write the last perplexity after some edits.

    Raises
    ------
    LostClaim
        If another attempt has taken over.
    """
    own_run(connection, run, attempt)
    for number in numbers:
        _update_edit(connection, run, number, perplexity_after=perplexity)


def copy_edits(connection: Connection, source: int, target: int, minibatch: int) -> None:
    """Copy the edits before a snapshot of a run to a new fork from it, inside the transaction that creates it."""
    names = [column.name for column in edits.columns if column.name not in ("run", "step")]
    rows = select(literal(target), edits.c.step - minibatch, *(edits.c[name] for name in names)).where(
        edits.c.run == source, edits.c.state == APPLIED, edits.c.step < minibatch
    )
    connection.execute(insert(edits).from_select(["run", "step", *names], rows))


def make_missing_edit(run: int, number: int) -> NotFound:
    """Return the error about an edit that does not exist."""
    return NotFound(f"run {run} has no edit {number}; topiary edit {run} --list shows its journal")


def _update_edit(connection: Connection, run: int, number: int, **values: Any) -> None:
    connection.execute(update(edits).where(edits.c.run == run, edits.c.edit == number).values(**values))
