"""Where the documents of a corpus lie on a map, stored under a snapshot of a run: one map a snapshot.

A map takes eight bytes a document and is read whole, so it is one part.  A draft is replaced by the finished map.
"""

from datetime import datetime
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, select

from topiary.store.arrays import Array, pack_arrays, unpack_arrays
from topiary.store.blocks import narrow_array
from topiary.store.database import Database, retry_reads
from topiary.store.errors import DamagedArrays, NotFound
from topiary.store.snapshots import DRAFT_MAP, MAP, delete_parts, insert_part, lock_snapshot, read_part
from topiary.store.tables import snapshot_parts, snapshots


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
    created : datetime
        When it was stored.
    """

    snapshot: int
    documents: int
    finished: bool
    created: datetime


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
    kind, blob = MAP if stored.finished else DRAFT_MAP, pack_arrays(arrays)

    def work(connection: Connection) -> None:
        lock_snapshot(connection, stored.snapshot)
        delete_parts(connection, stored.snapshot, MAP, DRAFT_MAP)
        insert_part(connection, stored.snapshot, kind, blob, made_by=made_by, n=len(stored.topics))

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
    return _read_facts(db, is_of_run & (snapshot_parts.c.made_by == made_by))


def get_facts(db: Database, snapshot: int) -> MapFacts:
    """Return facts about the map under a snapshot.

    Raises
    ------
    NotFound
        If there is none.
    """
    facts = _read_facts(db, snapshot_parts.c.snapshot == snapshot)
    if facts is None:
        raise _refuse_missing(snapshot)
    return facts


@retry_reads
def _read_facts(db: Database, condition: ColumnElement[bool]) -> MapFacts | None:
    """Return facts about the map that meets a condition; the one under the latest snapshot if there are several."""
    part = snapshot_parts.c
    query = select(part.snapshot, part.documents, part.kind == MAP, part.created).join(snapshots)
    query = query.where(condition, part.kind.in_((MAP, DRAFT_MAP))).order_by(snapshots.c.minibatch.desc())
    with db.read() as connection:
        row = connection.execute(query.limit(1)).first()
    return None if row is None else MapFacts(*row)


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
    with db.read() as connection:
        finished = read_part(connection, snapshot, MAP)
        blob = finished or read_part(connection, snapshot, DRAFT_MAP)
    if blob is None:
        raise _refuse_missing(snapshot)
    arrays = unpack_arrays(blob)
    return StoredMap(snapshot, arrays["positions"], arrays["topics"].astype("int32"), finished is not None)


def _refuse_missing(snapshot: int) -> NotFound:
    return NotFound(f"there is no map of documents under snapshot {snapshot}; make it again on the page Documents")
