"""Checkpoints, from which a run continues exactly: its last one, and the one before in case the last is damaged."""

import itertools
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from sqlalchemy import Connection, delete, insert, select

from topiary.store import arrays as stored
from topiary.store import events, run_rows
from topiary.store.arrays import Array, ArrayLayout, StreamedArray
from topiary.store.database import Database, now, reads, writes
from topiary.store.errors import NotFound
from topiary.store.points import read_last_values
from topiary.store.run_rows import MEASURES, own_run
from topiary.store.tables import checkpoint_parts, checkpoints, earlier_checkpoints


@dataclass(frozen=True)
class Checkpoint:
    """Everything that a run needs to go on as if it had never stopped."""

    minibatch: int
    seconds: float
    arrays: dict[str, Array]
    meta: dict[str, Any]


def save_checkpoint(
    db: Database,
    run: int,
    attempt: int,
    minibatch: int,
    seconds: float,
    arrays: Mapping[str, Array | StreamedArray],
    meta: dict[str, Any],
) -> None:
    """Write the run's next checkpoint exactly, all or nothing; the one before it is kept.

    The parts are written in short transactions, and one last short transaction makes them the checkpoint.  If the
    process is killed in between, the old checkpoint stays.

    Raises
    ------
    LostClaim
        If another attempt has taken over; the checkpoint is then not replaced.
    """
    generation = db.transact(partial(_begin_generation, run=run, attempt=attempt))
    for part, blob in enumerate(stored.write_parts(arrays)):
        key = {"run": run, "generation": generation, "part": part}
        db.transact(partial(_add_part, attempt=attempt, key=key, blob=blob))
    values = {"run": run, "generation": generation, "minibatch": minibatch, "seconds": seconds, "meta": meta}
    db.transact(partial(_replace_checkpoint, attempt=attempt, values=values))


@reads
def find_checkpoint(connection: Connection, run: int) -> int | None:
    """Return the mini-batch of the run's last checkpoint; ``None`` if it has none yet."""
    return connection.execute(select(checkpoints.c.minibatch).where(checkpoints.c.run == run)).scalar()


@reads
def load_checkpoint(
    connection: Connection,
    run: int,
    leave_out: Callable[[Mapping[str, ArrayLayout]], Collection[str]] = lambda _layouts: (),
) -> Checkpoint | None:
    """Load the run's last checkpoint; ``None`` if it has none yet.

    Parameters
    ----------
    db : Database
    run : int
    leave_out : (mapping of name to ArrayLayout) -> names, optional
        Returns the arrays not to read (`load_checkpoint_rows` reads parts of them).

    Raises
    ------
    DamagedArrays
        If its bytes were altered; `restore_earlier` goes back to the one before it.
    """
    row = run_rows.find_checkpoint(connection, checkpoints, run)
    if row is None:
        return None
    first = next(read_parts(connection, run, row.generation), b"")
    skipped = leave_out(stored.read_layouts(first))
    parts = read_parts(connection, run, row.generation)
    arrays = stored.read_parts(parts, lambda name, _: None if name in skipped else slice(None))
    return Checkpoint(row.minibatch, row.seconds, arrays, row.meta)


@reads
def load_checkpoint_rows(
    connection: Connection, run: int, minibatch: int, wanted: Mapping[str, slice]
) -> dict[str, Array]:
    """Load some rows of some arrays of a run's last checkpoint; only one part is in memory at a time.

    Raises
    ------
    DamagedArrays
        If their bytes were altered.
    NotFound
        If the run's checkpoint is not the one at this mini-batch.
    """
    row = run_rows.find_checkpoint(connection, checkpoints, run)
    if row is None or row.minibatch != minibatch:
        raise NotFound(f"run {run} has no checkpoint at mini-batch {minibatch:,}")
    return stored.read_parts(read_parts(connection, run, row.generation), lambda name, _: wanted.get(name))


@writes
def restore_earlier(connection: Connection, run: int, attempt: int) -> str:
    """Replace the damaged checkpoint of a run by the one before it, or let the run start again if there is none.

    Everything that was written later is deleted, and an event reports it.  The same worker continues under the next
    attempt number, so that readers notice that what they copied was deleted.

    Returns
    -------
    str
        What happened, in a sentence.

    Raises
    ------
    LostClaim
        If another attempt has taken over.
    """
    own_run(connection, run, attempt)
    damaged = connection.execute(select(checkpoints.c.minibatch).where(checkpoints.c.run == run)).scalar()
    connection.execute(delete(checkpoints).where(checkpoints.c.run == run))
    run_rows.copy_checkpoint_row(connection, earlier_checkpoints, checkpoints, run)
    connection.execute(delete(earlier_checkpoints).where(earlier_checkpoints.c.run == run))
    minibatch, seconds = run_rows.rewind_run(connection, run)
    measures: dict[str, Any] = read_last_values(connection, run, MEASURES)
    run_rows.update_run(connection, run, attempt=attempt + 1, minibatch=minibatch, seconds=seconds, **measures)
    onwards = f"goes on from the one before it, at mini-batch {minibatch:,}" if minibatch else "begins from the start"
    sentence = f"the checkpoint at mini-batch {damaged or 0:,} is damaged, so the run {onwards}"
    events.insert_event(connection, run, attempt + 1, minibatch, "damaged", sentence)
    return sentence


def list_generations(connection: Connection, run: int) -> set[int]:
    """Return the generations of the parts of a run's last checkpoint and of the one before.

    Raises
    ------
    DamagedArrays
        If a row is damaged, so that it is unknown which parts are its own.
    """
    rows = (run_rows.find_checkpoint(connection, table, run) for table in (checkpoints, earlier_checkpoints))
    return {row.generation for row in rows if row is not None}


def _begin_generation(connection: Connection, *, run: int, attempt: int) -> int:
    """Return the generation of the next checkpoint, after removing the parts of unfinished ones."""
    own_run(connection, run, attempt)
    in_use = list_generations(connection, run)
    remove_parts(connection, run, in_use)
    return max(in_use, default=0) + 1


def _add_part(connection: Connection, *, attempt: int, key: dict[str, int], blob: bytes) -> None:
    """Add a part of a checkpoint, in a transaction that owns the run."""
    own_run(connection, key["run"], attempt)
    connection.execute(insert(checkpoint_parts).values(**key, arrays=blob))


def _replace_checkpoint(connection: Connection, *, attempt: int, values: dict[str, Any]) -> None:
    """Make the parts written last the checkpoint, and the last checkpoint the earlier one."""
    run = values["run"]
    own_run(connection, run, attempt)
    connection.execute(delete(earlier_checkpoints).where(earlier_checkpoints.c.run == run))
    run_rows.copy_checkpoint_row(connection, checkpoints, earlier_checkpoints, run)
    connection.execute(delete(checkpoints).where(checkpoints.c.run == run))
    connection.execute(insert(checkpoints).values(**values, created=now()))
    remove_parts(connection, run, list_generations(connection, run))


def remove_parts(connection: Connection, run: int, kept: set[int]) -> None:
    """Remove the parts of all generations except ``kept``."""
    is_unused = (checkpoint_parts.c.run == run) & checkpoint_parts.c.generation.not_in(kept)
    connection.execute(delete(checkpoint_parts).where(is_unused))


def read_parts(connection: Connection, run: int, generation: int) -> Iterator[bytes]:
    """Yield the parts of a checkpoint in their order, one read at a time."""
    is_wanted = (checkpoint_parts.c.run == run) & (checkpoint_parts.c.generation == generation)
    for part in itertools.count():
        blob = connection.execute(
            select(checkpoint_parts.c.arrays).where(is_wanted, checkpoint_parts.c.part == part)
        ).scalar()
        if blob is None:
            return
        yield blob
