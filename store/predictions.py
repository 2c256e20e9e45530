"""Predictions: what a run says of the classes of its test documents under one snapshot.

They take long to compute and never change, so they are kept beside the snapshot and go with it, whatever takes it
away: thinning, a rewind, or the end of the run.  Nothing is lost with them: they can be computed again.
"""

import hashlib
from collections.abc import Mapping

from sqlalchemy import Connection, delete, insert, select

from store.arrays import Array, pack, unpack
from store.database import Database, now
from store.errors import DamagedArrays, NotFound, StoreError
from store.tables import predictions, runs, snapshots

LARGEST = 64 << 20  # bytes; a longer write would keep workers waiting


def keep(db: Database, snapshot: int, made_by: str, arrays: Mapping[str, Array]) -> None:
    """Remember the predictions under a snapshot, bit for bit, in one short transaction; they replace earlier ones.

    Parameters
    ----------
    db : Database
        Open for writing.
    snapshot : int
        Its number.
    made_by : str
        Names everything else that decides the result: only who gives the same to `load` finds them.
    arrays : mapping of str to array

    Raises
    ------
    NotFound
        When the snapshot, or its run, is gone.
    StoreError
        When they are larger than `LARGEST`.
    """
    blob = pack(arrays)
    if len(blob) > LARGEST:
        raise StoreError(
            f"the predictions under snapshot {snapshot} take {len(blob) >> 20} MiB, and the store remembers at most "
            f"{LARGEST >> 20} MiB of them; they are computed again when they are wanted again"
        )
    values = {"made_by": made_by, "checksum": _checksum(blob), "size": len(blob), "arrays": blob}

    def work(connection: Connection) -> None:
        _hold(connection, snapshot)
        connection.execute(delete(predictions).where(predictions.c.snapshot == snapshot))
        connection.execute(insert(predictions).values(snapshot=snapshot, created=now(), **values))

    db.transact(work)


def load(db: Database, run: int, snapshot: int, made_by: str) -> dict[str, Array] | None:
    """The predictions of a run under one of its snapshots.

    Returns
    -------
    dict of str to array, or None
        None where there are none, where something else made them, and where their bytes are damaged.
    """
    query = (
        select(predictions.c.checksum, predictions.c.arrays)
        .join(snapshots, snapshots.c.number == predictions.c.snapshot)
        .where(snapshots.c.run == run, snapshots.c.number == snapshot, predictions.c.made_by == made_by)
    )
    with db.read() as connection:
        row = connection.execute(query).first()
    if row is None or _checksum(row.arrays) != row.checksum:
        return None
    try:
        return unpack(row.arrays)
    except DamagedArrays:
        return None


def sound(db: Database, snapshot: int) -> bool:
    """Whether the predictions under a snapshot are what was written, or there are none."""
    query = select(predictions.c.checksum, predictions.c.arrays).where(predictions.c.snapshot == snapshot)
    with db.read() as connection:
        row = connection.execute(query).first()
    return row is None or _checksum(row.arrays) == row.checksum


def _hold(connection: Connection, snapshot: int) -> None:
    """Hold the snapshot's row until the transaction ends; that of its run stays free for the worker."""
    query = (
        select(snapshots.c.number)
        .join(runs, runs.c.number == snapshots.c.run)
        .where(snapshots.c.number == snapshot, runs.c.state != "deleted")
        .with_for_update(of=snapshots)
    )
    if connection.execute(query).first() is None:
        raise NotFound(f"snapshot {snapshot} is not kept any more, so its predictions are not either")


def _checksum(blob: bytes) -> str:
    return hashlib.sha256(blob).hexdigest()
