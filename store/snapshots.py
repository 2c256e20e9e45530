"""Snapshots, for eyes: small, append-only, thinned with age.  Checkpoints, for going on: one per run, exact."""

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any

from sqlalchemy import Connection, Row, Select, delete, func, insert, select

from store import thinning
from store.arrays import HEAD, Array, collect, hierarchies, pack, unpack
from store.arrays import shapes as shapes_of
from store.database import Database, now
from store.errors import NotFound
from store.ownership import own
from store.tables import checkpoint_parts, checkpoints, snapshots

_PART_BYTES = 8 << 20
_RUNS_AT_ONCE = 500  # in one question


@dataclass(frozen=True)
class SnapshotRow:
    """What is known of a snapshot without reading its arrays; ``size`` in bytes as stored."""

    number: int
    run: int
    minibatch: int
    seconds: float
    size: int
    created: datetime


@dataclass(frozen=True)
class Checkpoint:
    """Everything a run needs to go on as if it had never stopped."""

    minibatch: int
    seconds: float
    arrays: dict[str, Array]
    meta: dict[str, Any]


_COLUMNS = [snapshots.c[name] for name in SnapshotRow.__dataclass_fields__]


def append(
    db: Database, run: int, attempt: int, minibatch: int, seconds: float, arrays: Mapping[str, Array]
) -> SnapshotRow:
    """Add a snapshot, floats as float32, and give up older ones by the rule of `store.thinning`.

    A second snapshot of the same mini-batch replaces the first.

    Raises
    ------
    LostClaim
        When another attempt has taken over.
    """
    blob = pack(arrays, single=True)

    def work(connection: Connection) -> SnapshotRow:
        own(connection, run, attempt)
        connection.execute(delete(snapshots).where(snapshots.c.run == run, snapshots.c.minibatch == minibatch))
        values = {"run": run, "minibatch": minibatch, "seconds": seconds, "size": len(blob), "arrays": blob}
        connection.execute(insert(snapshots).values(**values, created=now()))
        _thin(connection, run)
        return _row(connection.execute(_of(run).where(snapshots.c.minibatch == minibatch)).one())

    return db.transact(work)


def every(db: Database, run: int) -> list[SnapshotRow]:
    """All snapshots kept of a run, oldest first."""
    with db.read() as connection:
        return [_row(row) for row in connection.execute(_of(run).order_by(snapshots.c.minibatch))]


def latest(db: Database, run: int) -> SnapshotRow | None:
    """The newest snapshot of a run; ``None`` when there is none yet."""
    with db.read() as connection:
        row = connection.execute(_of(run).order_by(snapshots.c.minibatch.desc()).limit(1)).first()
    return None if row is None else _row(row)


def newest(db: Database, runs: Iterable[int]) -> dict[int, SnapshotRow]:
    """The newest snapshot of each of some runs, in few questions; runs without one are left out."""
    found: dict[int, SnapshotRow] = {}
    request = sorted(runs)
    for first in range(0, len(request), _RUNS_AT_ONCE):
        some = snapshots.c.run.in_(request[first : first + _RUNS_AT_ONCE])
        last = func.max(snapshots.c.minibatch).label("end")
        ends = select(snapshots.c.run, last).where(some).group_by(snapshots.c.run).subquery()
        here = (snapshots.c.run == ends.c.run) & (snapshots.c.minibatch == ends.c.end)
        with db.read() as connection:
            found |= {row.run: _row(row) for row in connection.execute(select(*_COLUMNS).join(ends, here))}
    return found


def at(db: Database, run: int, minibatch: int) -> SnapshotRow | None:
    """The newest snapshot at or before a mini-batch; ``None`` when there is none."""
    query = _of(run).where(snapshots.c.minibatch <= minibatch).order_by(snapshots.c.minibatch.desc()).limit(1)
    with db.read() as connection:
        row = connection.execute(query).first()
    return None if row is None else _row(row)


def load(db: Database, number: int) -> dict[str, Array]:
    """The arrays of a snapshot.

    Raises
    ------
    NotFound
        When it does not exist, or was given up as the run grew.
    """
    with db.read() as connection:
        blob = connection.execute(select(snapshots.c.arrays).where(snapshots.c.number == number)).scalar()
    if blob is None:
        raise _gone(number)
    return unpack(blob)


def _gone(number: int) -> NotFound:
    return NotFound(f"snapshot {number} is not kept any more; look at the run's latest one")


def shapes(db: Database, number: int) -> dict[str, tuple[int, ...]]:
    """The shapes of the arrays of a snapshot, which are not read for it.

    Raises
    ------
    NotFound
        When it does not exist, or was given up as the run grew.
    """
    head = func.substr(snapshots.c.arrays, 1, HEAD, type_=snapshots.c.arrays.type)
    with db.read() as connection:
        found = connection.execute(select(head).where(snapshots.c.number == number)).scalar()
    if found is None:
        raise _gone(number)
    return shapes_of(found)


def save_checkpoint(
    db: Database,
    run: int,
    attempt: int,
    minibatch: int,
    seconds: float,
    arrays: Mapping[str, Array],
    meta: dict[str, Any],
) -> None:
    """Replace the run's checkpoint, bit for bit and all at once.

    The parts are written beside the old checkpoint in short transactions; one last short transaction makes
    them the checkpoint.  Killed anywhere in between, the old one stays.

    Raises
    ------
    LostClaim
        When another attempt has taken over; the checkpoint is then not replaced.
    """
    generation = db.transact(partial(_begin_generation, run=run, attempt=attempt))
    for part, blob in enumerate(_parts(hierarchies(arrays))):
        key = {"run": run, "generation": generation, "part": part}
        db.transact(partial(_add_part, attempt=attempt, key=key, blob=blob))
    values = {"run": run, "generation": generation, "minibatch": minibatch, "seconds": seconds, "meta": meta}
    db.transact(partial(_replace, attempt=attempt, values=values))


def checkpoint_minibatch(db: Database, run: int) -> int | None:
    """The mini-batch of the run's checkpoint; ``None`` when it has none yet."""
    with db.read() as connection:
        return connection.execute(select(checkpoints.c.minibatch).where(checkpoints.c.run == run)).scalar()


def load_checkpoint(db: Database, run: int) -> Checkpoint | None:
    """The run's checkpoint; ``None`` when it has none yet."""
    with db.read() as connection:
        row = connection.execute(select(checkpoints).where(checkpoints.c.run == run)).first()
        if row is None:
            return None
        arrays = collect(_stored_parts(connection, run, row.generation))
    return Checkpoint(row.minibatch, row.seconds, arrays, row.meta)


def _of(run: int) -> Select[Any]:
    return select(*_COLUMNS).where(snapshots.c.run == run)


def _row(row: Row[Any]) -> SnapshotRow:
    values = row._asdict()
    values["created"] = datetime.fromtimestamp(values["created"], UTC)
    return SnapshotRow(**values)


def _thin(connection: Connection, run: int) -> None:
    present = set(connection.execute(select(snapshots.c.minibatch).where(snapshots.c.run == run)).scalars())
    for minibatch in sorted(present - thinning.kept(present)):
        connection.execute(delete(snapshots).where(snapshots.c.run == run, snapshots.c.minibatch == minibatch))


def _parts(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Frames put together to parts of some megabytes, never cut."""
    waiting: list[bytes] = []
    for piece in pieces:
        if waiting and sum(map(len, waiting)) + len(piece) > _PART_BYTES:
            yield b"".join(waiting)
            waiting = []
        waiting.append(piece)
    yield b"".join(waiting)


def _begin_generation(connection: Connection, *, run: int, attempt: int) -> int:
    """The number of the next checkpoint; parts of one that was never finished are removed."""
    own(connection, run, attempt)
    current = connection.execute(select(checkpoints.c.generation).where(checkpoints.c.run == run)).scalar() or 0
    mine = checkpoint_parts.c.run == run
    connection.execute(delete(checkpoint_parts).where(mine, checkpoint_parts.c.generation != current))
    return current + 1


def _add_part(connection: Connection, *, attempt: int, key: dict[str, int], blob: bytes) -> None:
    own(connection, key["run"], attempt)
    connection.execute(insert(checkpoint_parts).values(**key, arrays=blob))


def _replace(connection: Connection, *, attempt: int, values: dict[str, Any]) -> None:
    run, generation = values["run"], values["generation"]
    own(connection, run, attempt)
    connection.execute(delete(checkpoints).where(checkpoints.c.run == run))
    connection.execute(insert(checkpoints).values(**values, created=now()))
    old = (checkpoint_parts.c.run == run) & (checkpoint_parts.c.generation != generation)
    connection.execute(delete(checkpoint_parts).where(old))


def _stored_parts(connection: Connection, run: int, generation: int) -> Iterator[bytes]:
    mine = (checkpoint_parts.c.run == run) & (checkpoint_parts.c.generation == generation)
    for part in itertools.count():
        blob = connection.execute(
            select(checkpoint_parts.c.arrays).where(mine, checkpoint_parts.c.part == part)
        ).scalar()
        if blob is None:
            return
        yield blob
