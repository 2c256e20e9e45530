"""Snapshots of runs for display, of which fewer remain with age, and what is stored with them in parts.

A part holds arrays: the topics of the snapshot, or what was computed with them.  A snapshot whose topics are found to
be damaged is skipped from then on.

Where the documents of a corpus lie on a map, stored under a snapshot of a run: one map a snapshot.

A map takes eight bytes a document and is read whole, so it is one part.  A draft is replaced by the finished map.
"""

import logging
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Select, delete, func, insert, literal, select, true

from topiary.store import arrays as stored
from topiary.store.arrays import Array, pack_arrays, unpack_arrays, verify_arrays
from topiary.store.blocks import narrow_array
from topiary.store.database import Database, now, reads, retry_reads, writes
from topiary.store.errors import DamagedArrays, DamagedSnapshot, NotFound, StoreError
from topiary.store.run_rows import own_run
from topiary.store.tables import runs, select_sound, snapshot_parts, snapshots

log = logging.getLogger("topiary.store")
_RUNS_AT_ONCE = 500  # runs in one query
# The kinds of parts.  Shares of documents and maps are replaced by new ones once these are complete.
TOPICS, PREDICTIONS = "topics", "predictions"
SHARES, NEW_SHARES = "shares", "new shares"
MAP, DRAFT_MAP = "map", "draft map"


@dataclass(frozen=True)
class SnapshotRow:
    """The row of a snapshot without its arrays; ``size`` is their size as stored, in bytes."""

    number: int
    run: int
    minibatch: int
    seconds: float
    size: int
    created: datetime


_COLUMNS = [snapshots.c[name] for name in SnapshotRow.__dataclass_fields__]


def append_snapshot(
    db: Database,
    run: int,
    attempt: int,
    minibatch: int,
    seconds: float,
    arrays: Mapping[str, Array],
    most: int | None = None,
) -> SnapshotRow:
    """Add a snapshot, floats as float32, and delete older ones by `choose_kept`; at most ``most`` stay.

    The latest ones with shares of documents (:mod:`store.shares`) and with a map of them stay too.  A second snapshot
    of the same mini-batch replaces the first.

    Raises
    ------
    LostClaim
        If another attempt has taken over.
    """
    blob = pack_arrays(arrays, single=True)

    def work(connection: Connection) -> SnapshotRow:
        own_run(connection, run, attempt)
        connection.execute(delete(snapshots).where(snapshots.c.run == run, snapshots.c.minibatch == minibatch))
        values = {"run": run, "minibatch": minibatch, "seconds": seconds, "size": len(blob), "created": now()}
        number = connection.execute(insert(snapshots).values(values).returning(snapshots.c.number)).scalar_one()
        insert_part(connection, number, TOPICS, blob)
        thin_snapshots(connection, run, most)
        return SnapshotRow(*connection.execute(_select_snapshots(run).where(snapshots.c.number == number)).one())

    return db.transact(work)


@retry_reads
def list_snapshots(db: Database, run: int) -> list[SnapshotRow]:
    """Return all snapshots of a run, oldest first, without those known to be damaged."""
    with db.read() as connection:
        query = _select_snapshots(run, db).order_by(snapshots.c.minibatch)
        return [SnapshotRow(*row) for row in connection.execute(query)]


@retry_reads
def find_latest(db: Database, run: int) -> SnapshotRow | None:
    """Return the newest snapshot of a run; ``None`` if there is none yet."""
    with db.read() as connection:
        row = connection.execute(_select_snapshots(run, db).order_by(snapshots.c.minibatch.desc()).limit(1)).first()
    return None if row is None else SnapshotRow(*row)


@retry_reads
def find_newest(db: Database, runs: Iterable[int]) -> dict[int, SnapshotRow]:
    """Return the newest snapshot of each of some runs, by few queries; runs without a snapshot are left out."""
    newest: dict[int, SnapshotRow] = {}
    numbers = sorted(runs)
    for first in range(0, len(numbers), _RUNS_AT_ONCE):
        condition = snapshots.c.run.in_(numbers[first : first + _RUNS_AT_ONCE]) & _exclude_damaged(db)
        last = func.max(snapshots.c.minibatch).label("end")
        ends = select(snapshots.c.run, last).where(condition).group_by(snapshots.c.run).subquery()
        is_newest = (snapshots.c.run == ends.c.run) & (snapshots.c.minibatch == ends.c.end)
        newest_query = select_sound(snapshots, *_COLUMNS).join(ends, is_newest)
        with db.read() as connection:
            newest |= {row.run: SnapshotRow(*row) for row in connection.execute(newest_query)}
    return newest


@retry_reads
def find_snapshot(db: Database, run: int, minibatch: int) -> SnapshotRow | None:
    """Return the newest snapshot at or before a mini-batch; ``None`` if there is none."""
    query = (
        _select_snapshots(run, db)
        .where(snapshots.c.minibatch <= minibatch)
        .order_by(snapshots.c.minibatch.desc())
        .limit(1)
    )
    with db.read() as connection:
        row = connection.execute(query).first()
    return None if row is None else SnapshotRow(*row)


def load_snapshot(db: Database, number: int) -> dict[str, Array]:
    """Load the arrays of a snapshot.

    Raises
    ------
    NotFound
        If it does not exist, or was deleted because it was old.
    DamagedSnapshot
        If its bytes were altered; the functions above return an earlier one from then on.
    """
    blob = _read_blob(db, number)
    try:
        return unpack_arrays(blob)
    except DamagedArrays as error:
        raise _record_damage(db, number) from error


def find_sound(db: Database, run: int, minibatch: int | None = None) -> SnapshotRow | None:
    """Return the newest intact snapshot of a run (at or before a mini-batch, if given), after verifying its bytes.

    Damaged ones are reported in the log if it is another one that is returned; see :func:`explain_absence`.
    """
    damage: DamagedSnapshot | None = None
    while True:
        row = find_latest(db, run) if minibatch is None else find_snapshot(db, run, minibatch)
        found = None if row is None else _find_damage(db, row)
        if found is None:
            if damage is not None and row is not None:
                log.warning("%s", damage)
            return row
        damage = found


def check_snapshot(db: Database, row: SnapshotRow) -> bool:
    """Return whether a snapshot is intact; if not, it is skipped from now on."""
    return _find_damage(db, row) is None


def _find_damage(db: Database, row: SnapshotRow) -> DamagedSnapshot | None:
    """Return the error about a damaged snapshot, which is skipped from now on; None if it is intact."""
    try:
        verify_arrays(_read_blob(db, row.number))
    except DamagedArrays:
        return _record_damage(db, row.number)
    return None


def explain_absence(db: Database, run: int) -> str:
    """Return the sentence about a run of which every snapshot is damaged; empty for other runs."""
    with db.read() as connection:
        present = connection.execute(select(snapshots.c.number).where(snapshots.c.run == run)).scalars().all()
    if not present or not db.damaged.issuperset(present):
        return ""
    which = f"all {len(present):,} snapshots" if len(present) > 1 else "the only snapshot"
    verb = "are" if len(present) > 1 else "is"
    return f"{which} of run {run} {verb} damaged; restore the store from a backup, and check the disk"


@reads
def _read_blob(connection: Connection, number: int) -> bytes:
    blob = read_part(connection, number, TOPICS)
    if blob is None:
        raise _make_gone_error(number)
    return blob


def _record_damage(db: Database, number: int) -> DamagedSnapshot:
    """Record that a snapshot is damaged, and return the error about it."""
    db.damaged.add(number)
    with db.read() as connection:
        row = connection.execute(select(*_COLUMNS).where(snapshots.c.number == number)).first()
    if row is None:
        return DamagedSnapshot("the snapshot is damaged; topiary check says more")
    if sentence := explain_absence(db, row.run):
        return DamagedSnapshot(sentence)
    what = f"the snapshot of run {row.run} at mini-batch {row.minibatch:,} is damaged"
    earlier = find_snapshot(db, row.run, row.minibatch)
    onwards = "so the one before it is used" if earlier is not None else "and there is none before it"
    return DamagedSnapshot(f"{what}, {onwards}; topiary check says more")


def _exclude_damaged(db: Database) -> ColumnElement[bool]:
    """Return the condition that a snapshot is not known to be damaged."""
    return snapshots.c.number.not_in(sorted(db.damaged)) if db.damaged else true()


def _make_gone_error(number: int) -> NotFound:
    """Return the error about a snapshot that does not exist any more."""
    return NotFound(f"snapshot {number} is not kept any more; look at the run's latest one")


def read_shapes(db: Database, number: int) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the arrays of a snapshot.

    Raises
    ------
    NotFound
        If it does not exist, or was deleted because it was old.
    """
    return stored.read_shapes(_read_blob(db, number))


@writes
def delete_later(connection: Connection, run: int, attempt: int, minibatch: int) -> None:
    """Delete the snapshots of a run after a mini-batch, so that the one at or before it becomes the latest.

    Raises
    ------
    LostClaim
        If another attempt has taken over.
    """
    own_run(connection, run, attempt)
    connection.execute(delete(snapshots).where(snapshots.c.run == run, snapshots.c.minibatch > minibatch))


def _select_snapshots(run: int, db: Database | None = None) -> Select[Any]:
    """Return the query of the snapshots of a run; if ``db`` is given, without those known to be damaged."""
    query = select_sound(snapshots, *_COLUMNS).where(snapshots.c.run == run)
    return query if db is None else query.where(_exclude_damaged(db))


def thin_snapshots(connection: Connection, run: int, most: int | None) -> None:
    """Delete the snapshots of a run that `choose_kept` does not keep, except those with shares or the latest map."""
    of_run = select(snapshots.c.minibatch).where(snapshots.c.run == run)
    present = set(connection.execute(of_run).scalars())
    parts = of_run.join(snapshot_parts, snapshot_parts.c.snapshot == snapshots.c.number)
    needed = set(connection.execute(parts.where(snapshot_parts.c.kind == SHARES)).scalars())
    mapped = parts.where(snapshot_parts.c.kind.in_((MAP, DRAFT_MAP))).order_by(snapshots.c.minibatch.desc())
    needed.update(connection.execute(mapped.limit(1)).scalars())
    for minibatch in sorted(present - choose_kept(present, most) - needed):
        connection.execute(delete(snapshots).where(snapshots.c.run == run, snapshots.c.minibatch == minibatch))


# Snapshots that are kept: about so many at equal distances, so many in each octave of mini-batches, and the latest.
CELLS = 64
PER_OCTAVE = 4
LATEST = 16


def choose_kept(minibatches: Iterable[int], most: int | None = None) -> set[int]:
    """Return the mini-batches of the snapshots to keep, at most ``most`` (which must be at least 2)."""
    present = sorted(set(minibatches))
    if not present:
        return set()
    latest = LATEST if most is None else most // 2
    even = _choose_firsts(present, CELLS if most is None else most - latest)
    early: dict[int, int] = {}
    for minibatch in present if most is None else ():
        early.setdefault(_find_quarter(minibatch), minibatch)
    return even | set(early.values()) | set(present[-latest:])


def _choose_firsts(present: list[int], cells: int) -> set[int]:
    """Return the first mini-batch in each of at most ``cells`` cells, whose width is the least possible power of 2."""
    width = 1
    while present[-1] // width >= cells:
        width *= 2
    firsts: dict[int, int] = {}
    for minibatch in present:
        firsts.setdefault(minibatch // width, minibatch)
    return set(firsts.values())


def choose_evenly(minibatches: Iterable[int], most: int) -> set[int]:
    """Return at most ``most`` of the mini-batches, evenly chosen: with 1 the last, with 2 also the first."""
    present = sorted(set(minibatches))
    if len(present) <= most:
        return set(present)
    if most <= 1:
        return set(present[-1:])
    return {present[round(place * (len(present) - 1) / (most - 1))] for place in range(most)}


def _find_quarter(minibatch: int) -> int:
    """Return the number of the quarter octave in which a mini-batch lies; -1 for 0."""
    if minibatch == 0:
        return -1
    octave = minibatch.bit_length() - 1
    return PER_OCTAVE * octave + int(PER_OCTAVE * math.log2(minibatch / 2**octave))


LARGEST = 64 << 20  # bytes of predictions; a longer write would keep workers waiting


def save_predictions(db: Database, snapshot: int, made_by: str, arrays: Mapping[str, Array]) -> None:
    """Save the predictions under a snapshot exactly, in one short transaction; they replace earlier ones.

    Parameters
    ----------
    db : Database
        Open for writing.
    snapshot : int
        Number of the snapshot.
    made_by : str
        Description of everything else on which the result depends; `load_predictions` needs the same text.
    arrays : mapping of str to array

    Raises
    ------
    NotFound
        If the snapshot, or its run, is gone.
    StoreError
        If the predictions are larger than `LARGEST`.
    """
    blob = pack_arrays(arrays)
    if len(blob) > LARGEST:
        raise StoreError(
            f"the predictions under snapshot {snapshot} take {len(blob) >> 20} MiB, and the store keeps at most "
            f"{LARGEST >> 20} MiB of them; they are computed again when they are wanted again"
        )

    def work(connection: Connection) -> None:
        lock_snapshot(connection, snapshot)
        delete_parts(connection, snapshot, PREDICTIONS)
        insert_part(connection, snapshot, PREDICTIONS, blob, made_by=made_by)

    db.transact(work)


@reads
def load_predictions(connection: Connection, run: int, snapshot: int, made_by: str) -> dict[str, Array] | None:
    """Load the predictions of a run under one of its snapshots.

    Returns
    -------
    dict of str to array, or None
        None if there are none, if they were made by something else, or if their bytes are damaged.
    """
    is_of_run = (snapshots.c.run == run) & (snapshot_parts.c.made_by == made_by)
    blob = read_part(connection, snapshot, PREDICTIONS, condition=is_of_run)
    try:
        return None if blob is None else unpack_arrays(blob)
    except DamagedArrays:
        return None


def lock_snapshot(connection: Connection, snapshot: int) -> None:
    """Lock the row of a snapshot, but not that of its run, which the worker needs, until the transaction ends."""
    query = (
        select(snapshots.c.number)
        .join(runs, runs.c.number == snapshots.c.run)
        .where(snapshots.c.number == snapshot, runs.c.state != "deleted")
        .with_for_update(of=snapshots)
    )
    if connection.execute(query).first() is None:
        raise NotFound(f"snapshot {snapshot} is not kept any more, so nothing can be stored with it")


def insert_part(
    connection: Connection, snapshot: int, kind: str, blob: bytes, *, made_by: str = "", first: int = 0, n: int = 0
) -> None:
    """Store a part of a snapshot.

    Parameters
    ----------
    connection : Connection
    snapshot : int
        Number of the snapshot.
    kind : str
    blob : bytes
        Arrays (`topiary.store.arrays.pack_arrays`).
    made_by : str
        Description of everything except the snapshot on which the part depends; what reads it needs the same text.
    first, n : int
        Number of the first document, and how many documents, if the part is about documents.
    """
    values = {"kind": kind, "first": first, "documents": n, "made_by": made_by, "arrays": blob, "created": now()}
    connection.execute(insert(snapshot_parts).values(snapshot=snapshot, **values))


def copy_topics(connection: Connection, source: int, target: int) -> None:
    """Copy the topics of a snapshot to another one, of a fork."""
    copied = [column.name for column in snapshot_parts.columns if column.name != "snapshot"]
    parts = select(literal(target), *(snapshot_parts.c[name] for name in copied))
    of_source = (snapshot_parts.c.snapshot == source) & (snapshot_parts.c.kind == TOPICS)
    connection.execute(insert(snapshot_parts).from_select(["snapshot", *copied], parts.where(of_source)))


def read_part(
    connection: Connection, snapshot: int, *kinds: str, first: int = 0, condition: ColumnElement[bool] | None = None
) -> bytes | None:
    """Return the bytes of a part of a snapshot that is of one of some kinds; None if there is none."""
    is_part = (snapshot_parts.c.snapshot == snapshot) & (snapshot_parts.c.first == first)
    query = select(snapshot_parts.c.arrays).join(snapshots)
    query = query.where(is_part, snapshot_parts.c.kind.in_(kinds), true() if condition is None else condition)
    blob: bytes | None = connection.execute(query).scalar()
    return blob


def delete_parts(connection: Connection, snapshot: int, *kinds: str) -> None:
    """Delete the parts of a snapshot of some kinds."""
    connection.execute(
        delete(snapshot_parts).where(snapshot_parts.c.snapshot == snapshot, snapshot_parts.c.kind.in_(kinds))
    )


def measure_parts(connection: Connection, chosen: ColumnElement[bool]) -> int:
    """Return the size in bytes of all parts of the snapshots that a condition chooses."""
    size = select(func.sum(func.length(snapshot_parts.c.arrays))).join(snapshots)
    return int(connection.execute(size.where(chosen)).scalar() or 0)


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


@reads
def _read_facts(connection: Connection, condition: ColumnElement[bool]) -> MapFacts | None:
    """Return facts about the map that meets a condition; the one under the latest snapshot if there are several."""
    part = snapshot_parts.c
    query = select(part.snapshot, part.documents, part.kind == MAP, part.created).join(snapshots)
    query = query.where(condition, part.kind.in_((MAP, DRAFT_MAP))).order_by(snapshots.c.minibatch.desc())
    row = connection.execute(query.limit(1)).first()
    return None if row is None else MapFacts(*row)


@reads
def load_map(connection: Connection, snapshot: int) -> StoredMap:
    """Return the map under a snapshot.

    Raises
    ------
    NotFound
        If there is none.
    DamagedArrays
        If its bytes were altered.
    """
    finished = read_part(connection, snapshot, MAP)
    blob = finished or read_part(connection, snapshot, DRAFT_MAP)
    if blob is None:
        raise _refuse_missing(snapshot)
    arrays = unpack_arrays(blob)
    return StoredMap(snapshot, arrays["positions"], arrays["topics"].astype("int32"), finished is not None)


def _refuse_missing(snapshot: int) -> NotFound:
    return NotFound(f"there is no map of documents under snapshot {snapshot}; make it again on the page Documents")
