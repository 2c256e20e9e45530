"""Where the documents of a corpus lie on a map, stored under a snapshot of a run: one map a snapshot.

A map takes eight bytes a document and is read whole, so it is one row.  A draft is replaced by the finished map.
"""

from collections.abc import Iterator
from typing import NamedTuple

from sqlalchemy import Connection, delete, insert, select

from store.arrays import Array, pack_arrays, unpack_arrays, verify_arrays
from store.blocks import narrow_array
from store.database import Database, now, retry_reads
from store.errors import DamagedArrays
from store.snapshots import lock_snapshot
from store.tables import document_maps, snapshots


class StoredMap(NamedTuple):
    """A map of the first documents of a corpus.

    Attributes
    ----------
    snapshot : int
        Number of the snapshot whose topics it shows.
    positions : (documents, 2) float32
    topics : (documents,) int32
        Strongest topic of layer 1 of each document, -1 for none.
    finished : bool
        False for a draft.
    """

    snapshot: int
    positions: Array
    topics: Array
    finished: bool


def save_map(db: Database, made_by: str, stored: StoredMap) -> None:
    """Save a map under its snapshot; it replaces an earlier one.

    Parameters
    ----------
    db : Database
        Open for writing.
    made_by : str
        Description of everything except the snapshot that the map depends on.
    stored : StoredMap

    Raises
    ------
    NotFound
        If the snapshot, or its run, is gone.
    """
    arrays = {"positions": stored.positions, "topics": narrow_array(stored.topics)}
    values = {"documents": len(stored.topics), "finished": int(stored.finished), "arrays": pack_arrays(arrays)}

    def work(connection: Connection) -> None:
        lock_snapshot(connection, stored.snapshot)
        connection.execute(delete(document_maps).where(document_maps.c.snapshot == stored.snapshot))
        connection.execute(
            insert(document_maps).values(snapshot=stored.snapshot, made_by=made_by, created=now(), **values)
        )

    db.transact(work)


@retry_reads
def find_map(db: Database, run: int, made_by: str, minibatch: int) -> StoredMap | None:
    """Return the newest map of a run under a snapshot at or before a mini-batch.

    Returns
    -------
    StoredMap or None
        None if there is none, if something else made it, or if its bytes are damaged.
    """
    query = (
        select(document_maps.c.snapshot, document_maps.c.finished, document_maps.c.arrays)
        .join(snapshots, snapshots.c.number == document_maps.c.snapshot)
        .where(snapshots.c.run == run, snapshots.c.minibatch <= minibatch, document_maps.c.made_by == made_by)
        .order_by(snapshots.c.minibatch.desc())
    )
    with db.read() as connection:
        row = connection.execute(query.limit(1)).first()
    if row is None:
        return None
    try:
        arrays = unpack_arrays(row.arrays)
    except DamagedArrays:
        return None
    return StoredMap(row.snapshot, arrays["positions"], arrays["topics"].astype("int32"), bool(row.finished))


def check_maps(db: Database) -> Iterator[tuple[int, bool]]:
    """Yield the snapshot of every map in the store, and whether the map is intact."""
    with db.read() as connection:
        numbers = (
            connection.execute(select(document_maps.c.snapshot).order_by(document_maps.c.snapshot)).scalars().all()
        )
    for number in numbers:
        with db.read() as connection:
            blob = connection.execute(select(document_maps.c.arrays).where(document_maps.c.snapshot == number)).scalar()
        try:
            verify_arrays([] if blob is None else [blob])
        except DamagedArrays:
            yield number, False
        else:
            yield number, True
