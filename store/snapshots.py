"""Snapshots, for eyes: small, append-only, thinned with age; one that turns out damaged is passed over from then on."""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, delete, func, insert, select, true

from store import thinning
from store.arrays import HEAD, Array, layouts, pack, unpack, verify
from store.cells import Cells
from store.database import Database, now, repeated
from store.errors import DamagedArrays, DamagedSnapshot, NotFound
from store.ownership import own
from store.tables import snapshots

log = logging.getLogger("topiary.store")
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


_COLUMNS = [snapshots.c[name] for name in SnapshotRow.__dataclass_fields__]


def append(
    db: Database,
    run: int,
    attempt: int,
    minibatch: int,
    seconds: float,
    arrays: Mapping[str, Array],
    most: int | None = None,
) -> SnapshotRow:
    """Add a snapshot, floats as float32, and give up older ones by the rule of `store.thinning`; ``most`` may stay.

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
        _thin(connection, run, most)
        return _row(connection.execute(_of(run).where(snapshots.c.minibatch == minibatch)).one())

    return db.transact(work)


@repeated
def every(db: Database, run: int) -> list[SnapshotRow]:
    """All snapshots kept of a run, oldest first, but those known to be damaged."""
    with db.read() as connection:
        return [_row(row) for row in connection.execute(_of(run, db).order_by(snapshots.c.minibatch))]


@repeated
def latest(db: Database, run: int) -> SnapshotRow | None:
    """The newest snapshot of a run; ``None`` when there is none yet."""
    with db.read() as connection:
        row = connection.execute(_of(run, db).order_by(snapshots.c.minibatch.desc()).limit(1)).first()
    return None if row is None else _row(row)


@repeated
def newest(db: Database, runs: Iterable[int]) -> dict[int, SnapshotRow]:
    """The newest snapshot of each of some runs, in few questions; runs without one are left out."""
    found: dict[int, SnapshotRow] = {}
    request = sorted(runs)
    for first in range(0, len(request), _RUNS_AT_ONCE):
        some = snapshots.c.run.in_(request[first : first + _RUNS_AT_ONCE]) & _sound(db)
        last = func.max(snapshots.c.minibatch).label("end")
        ends = select(snapshots.c.run, last).where(some).group_by(snapshots.c.run).subquery()
        here = (snapshots.c.run == ends.c.run) & (snapshots.c.minibatch == ends.c.end)
        with db.read() as connection:
            found |= {row.run: _row(row) for row in connection.execute(select(*_COLUMNS).join(ends, here))}
    return found


@repeated
def at(db: Database, run: int, minibatch: int) -> SnapshotRow | None:
    """The newest snapshot at or before a mini-batch; ``None`` when there is none."""
    query = _of(run, db).where(snapshots.c.minibatch <= minibatch).order_by(snapshots.c.minibatch.desc()).limit(1)
    with db.read() as connection:
        row = connection.execute(query).first()
    return None if row is None else _row(row)


def load(db: Database, number: int) -> dict[str, Array]:
    """The arrays of a snapshot.

    Raises
    ------
    NotFound
        When it does not exist, or was given up as the run grew.
    DamagedSnapshot
        When its bytes are not those that were written; the functions above then give an earlier one.
    """
    blob = _blob(db, number)
    try:
        return unpack(blob)
    except DamagedArrays as error:
        raise _damaged(db, number) from error


def latest_sound(db: Database, run: int, minibatch: int | None = None) -> SnapshotRow | None:
    """The newest snapshot of a run, or the newest at or before a mini-batch, whose bytes are whole; they are read."""
    while True:
        row = latest(db, run) if minibatch is None else at(db, run, minibatch)
        if row is None or sound(db, row):
            return row


def sound(db: Database, row: SnapshotRow) -> bool:
    """Whether the bytes of a snapshot are those that were written; else it is passed over from now on."""
    try:
        verify([_blob(db, row.number)])
    except DamagedArrays:
        log.warning("%s", _damaged(db, row.number))
        return False
    return True


@repeated
def damaged_rows(db: Database) -> list[SnapshotRow]:
    """The snapshots that turned out damaged while this database was open."""
    with db.read() as connection:
        found = connection.execute(select(*_COLUMNS).where(snapshots.c.number.in_(sorted(db.damaged))))
        return [_row(row) for row in found]


@repeated
def _blob(db: Database, number: int) -> bytes:
    with db.read() as connection:
        blob: bytes | None = connection.execute(select(snapshots.c.arrays).where(snapshots.c.number == number)).scalar()
    if blob is None:
        raise _gone(number)
    return blob


def _damaged(db: Database, number: int) -> DamagedSnapshot:
    """Remember that a snapshot is damaged, and say so."""
    db.damaged.add(number)
    with db.read() as connection:
        row = connection.execute(select(*_COLUMNS).where(snapshots.c.number == number)).first()
    where = "" if row is None else f" of run {row.run} at mini-batch {row.minibatch:,}"
    return DamagedSnapshot(f"the snapshot{where} is damaged, so the one before it is used; topiary check says more")


def _sound(db: Database) -> ColumnElement[bool]:
    """Not known to be damaged."""
    return snapshots.c.number.not_in(sorted(db.damaged)) if db.damaged else true()


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
    return {name: layout.shape for name, layout in layouts(found).items()}


def _of(run: int, db: Database | None = None) -> Select[Any]:
    """The snapshots of a run; with ``db`` those not known to be damaged."""
    query = select(*_COLUMNS).where(snapshots.c.run == run)
    return query if db is None else query.where(_sound(db))


def _row(row: Row[Any]) -> SnapshotRow:
    cells = Cells(row._asdict())
    number, run, minibatch, size = (cells.whole(name) for name in ("number", "run", "minibatch", "size"))
    return SnapshotRow(number, run, minibatch, cells.real("seconds"), size, cells.time("created"))


def _thin(connection: Connection, run: int, most: int | None) -> None:
    present = set(connection.execute(select(snapshots.c.minibatch).where(snapshots.c.run == run)).scalars())
    for minibatch in sorted(present - thinning.kept(present, most)):
        connection.execute(delete(snapshots).where(snapshots.c.run == run, snapshots.c.minibatch == minibatch))
