"""Where the documents of a corpus lie on a map, stored under a snapshot of a run: one map a snapshot.

A map takes eight bytes a document and is read whole, so it is one row.  A draft is replaced by the finished map.
"""

from collections.abc import Iterator
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, delete, insert, select

from topiary.store.arrays import Array, pack_arrays, unpack_arrays, verify_arrays
from topiary.store.blocks import narrow_array
from topiary.store.database import Database, now, retry_reads
from topiary.store.errors import DamagedArrays, NotFound
from topiary.store.snapshots import lock_snapshot
from topiary.store.tables import document_maps, snapshots


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


class MapFacts(NamedTuple):
    """What is known of a stored map without reading its positions.

    Attributes
    ----------
    snapshot : int
        Number of the snapshot whose topics it shows.
    documents : int
        It has the first documents of the corpus, so many.
    finished : bool
        False for a draft.
    created : float
        When it was stored, in seconds since 1970.
    """

    snapshot: int
    documents: int
    finished: bool
    created: float


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


def find_map(db: Database, run: int, made_by: str, minibatch: int) -> StoredMap | None:
    """Return the newest map of a run under a snapshot at or before a mini-batch.

    Returns
    -------
    StoredMap or None
        None if there is none, if something else made it, or if its bytes are damaged.
    """
    facts = find_facts(db, run, made_by, minibatch)
    try:
        return None if facts is None else load_map(db, facts.snapshot)
    except (NotFound, DamagedArrays):
        return None


def find_facts(db: Database, run: int, made_by: str, minibatch: int) -> MapFacts | None:
    """Return facts about the newest map of a run under a snapshot at or before a mini-batch; None if there is none."""
    is_of_run = (snapshots.c.run == run) & (snapshots.c.minibatch <= minibatch)
    return _read_facts(db, is_of_run & (document_maps.c.made_by == made_by))


def get_facts(db: Database, snapshot: int) -> MapFacts:
    """Return facts about the map under a snapshot.

    Raises
    ------
    NotFound
        If there is none.
    """
    facts = _read_facts(db, document_maps.c.snapshot == snapshot)
    if facts is None:
        raise _refuse_missing(snapshot)
    return facts


@retry_reads
def _read_facts(db: Database, condition: ColumnElement[bool]) -> MapFacts | None:
    """Return facts about the map that meets a condition; the one under the latest snapshot if there are several."""
    table = document_maps.c
    query = select(table.snapshot, table.documents, table.finished, table.created).join(
        snapshots, snapshots.c.number == table.snapshot
    )
    with db.read() as connection:
        row = connection.execute(query.where(condition).order_by(snapshots.c.minibatch.desc()).limit(1)).first()
    return None if row is None else MapFacts(row.snapshot, row.documents, bool(row.finished), row.created)


@retry_reads
def load_map(db: Database, snapshot: int) -> StoredMap:
    """Return the map under a snapshot.

    Raises
    ------
    NotFound
        If there is none.
    DamagedArrays
        If its bytes were altered.
    """
    columns = document_maps.c.finished, document_maps.c.arrays
    with db.read() as connection:
        row = connection.execute(select(*columns).where(document_maps.c.snapshot == snapshot)).first()
    if row is None:
        raise _refuse_missing(snapshot)
    arrays = unpack_arrays(row.arrays)
    return StoredMap(snapshot, arrays["positions"], arrays["topics"].astype("int32"), bool(row.finished))


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


def _refuse_missing(snapshot: int) -> NotFound:
    return NotFound(f"there is no map of documents under snapshot {snapshot}; make it again on the page Documents")
