"""The shares of the topics in the documents of a corpus, stored under a snapshot of a run in blocks of documents.

A set of shares covers the documents of the corpus from the first one on.  Blocks are added one at a time, in short
transactions, by any number of writers, and readers see them only when the set is published: they are parts of the kind
`NEW_SHARES`, and then of the kind `SHARES`.  So a set that was interrupted goes on where it stopped, and documents that
are appended to the corpus are added in the same way.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
from sqlalchemy import ColumnElement, Connection, Select, delete, func, select, update

from topiary.store.arrays import Array, pack_arrays, unpack_arrays, verify_arrays
from topiary.store.blocks import narrow_array
from topiary.store.database import Database, now, reads, retry_reads, writes
from topiary.store.errors import Conflict, DamagedArrays, NotFound
from topiary.store.snapshots import (
    NEW_SHARES,
    SHARES,
    delete_parts,
    insert_part,
    lock_snapshot,
    read_part,
    thin_snapshots,
)
from topiary.store.tables import snapshot_parts, snapshots

UNITS = 65535  # units of a stored share in 1
_TOKENS = "tokens"  # array of a block: the number of tokens of each document


class LayerShares(NamedTuple):
    """The larger shares of the topics of a layer in documents, with the fields of the engine's ``SparseShares``.

    Attributes
    ----------
    starts : (documents + 1,) int64
        Document ``j`` owns the entries ``starts[j]:starts[j + 1]``.
    topics : (entries,) int32
        Columns of the topics, ascending in each document.
    units : (entries,) uint16
        Shares in units of 1/65535.
    rest : (documents,) uint16
        The other shares of each document together; with ``units`` it sums to 65535, or to 0 without any token.
    """

    starts: Array
    topics: Array
    units: Array
    rest: Array

    @property
    def shares(self) -> Array:
        """The shares as numbers from 0 to 1, (entries,) float32."""
        return np.asarray(self.units / np.float32(UNITS), dtype=np.float32)

    @classmethod
    def join(cls, parts: Sequence["LayerShares"]) -> Self:
        """Return the shares of the documents of all parts, in their order."""
        lengths = [np.diff(part.starts) for part in parts]
        starts = np.zeros(1 + sum(map(len, lengths)), np.int64)
        np.cumsum(np.concatenate([np.zeros(0, np.int64), *lengths]), out=starts[1:])

        def join_column(place: int, kind: type[np.integer[Any]]) -> Array:
            column = [part[place].astype(kind, copy=False) for part in parts]
            return np.concatenate([np.zeros(0, kind), *column])

        return cls(starts, join_column(1, np.int32), join_column(2, np.uint16), join_column(3, np.uint16))

    def select_rows(self, places: Array) -> Self:
        """Return the shares of some documents, in the order requested."""
        lengths = np.diff(self.starts)[places]
        starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        entries = np.arange(starts[-1]) + np.repeat(self.starts[places] - starts[:-1], lengths)
        return type(self)(starts, self.topics[entries], self.units[entries], self.rest[places])


@dataclass(frozen=True)
class ShareSet:
    """A published set of shares: those of documents 0 to ``documents - 1``."""

    snapshot: int
    documents: int
    created: datetime


def begin_set(db: Database, snapshot: int, made_by: str) -> int:
    """Begin or go on with the shares under a snapshot; return the number of documents whose shares are stored.

    Shares that something else made are deleted, and so are damaged blocks with all after them.

    Parameters
    ----------
    db : Database
        Open for writing.
    snapshot : int
        Number of the snapshot.
    made_by : str
        Description of everything else on which the shares depend.

    Raises
    ------
    NotFound
        If the snapshot, or its run, is gone.
    """

    def prepare(connection: Connection) -> list[tuple[int, int]]:
        lock_snapshot(connection, snapshot)
        connection.execute(delete(snapshot_parts).where(_is_of_set(snapshot), snapshot_parts.c.made_by != made_by))
        return _list_blocks(connection, snapshot)

    end = 0
    for first, documents in db.transact(prepare):
        if first != end or not _is_intact(db, snapshot, first):
            db.transact(partial(_cut_set, snapshot=snapshot, end=end))
            break
        end += documents
    return end


def append_block(
    db: Database, snapshot: int, made_by: str, first: int, layers: Sequence[LayerShares], tokens: Array
) -> int:
    """Add the shares of consecutive documents, from document ``first`` on; `publish_set` makes them visible.

    Parameters
    ----------
    db : Database
        Open for writing.
    snapshot, made_by
        As for `begin_set`.
    first : int
        Number of the first document; nothing is added unless it is the next one.
    layers : sequence of LayerShares
        The shares in layers 1, 2, ...
    tokens : (documents,) array
        The number of tokens of each document; for real data, the sum of its values.

    Returns
    -------
    int
        The number of documents whose shares are stored.  If another writer was faster, nothing is added.

    Raises
    ------
    NotFound
        If the snapshot, or its run, is gone.
    Conflict
        If another program replaces the shares.
    """
    arrays: dict[str, Array] = {_TOKENS: tokens}
    for layer, part in enumerate(layers):
        arrays |= {f"lengths.{layer}": np.diff(part.starts), f"rest.{layer}": part.rest}
        arrays |= {f"topics.{layer}": part.topics, f"units.{layer}": part.units}
    blob = pack_arrays({name: narrow_array(array) for name, array in arrays.items()})
    documents = len(tokens)

    def work(connection: Connection) -> int:
        end = _lock_set(connection, snapshot, made_by)
        if end != first:
            return end
        insert_part(connection, snapshot, NEW_SHARES, blob, made_by=made_by, first=first, n=documents)
        return end + documents

    return db.transact(work)


@writes
def publish_set(connection: Connection, snapshot: int, made_by: str, most: int | None = None) -> int:
    """Make all stored shares under a snapshot visible, and delete those under earlier snapshots of the run.

    Snapshots that were kept only because of their shares are thinned, as by `store.snapshots.append_snapshot` with the
    same ``most``.

    Returns
    -------
    int
        The number of documents whose shares are visible now.

    Raises
    ------
    NotFound, Conflict
        As `append_block`.
    """
    end = _lock_set(connection, snapshot, made_by)
    published = {"kind": SHARES, "created": now()}
    connection.execute(update(snapshot_parts).where(_is_of_set(snapshot)).values(published))
    run, minibatch = connection.execute(
        select(snapshots.c.run, snapshots.c.minibatch).where(snapshots.c.number == snapshot)
    ).one()
    earlier = select(snapshots.c.number).where(snapshots.c.run == run, snapshots.c.minibatch < minibatch)
    for number in connection.execute(earlier).scalars().all():
        delete_parts(connection, number, SHARES, NEW_SHARES)
    thin_snapshots(connection, run, most)
    return end


@reads
def find_set(connection: Connection, snapshot: int, made_by: str) -> ShareSet | None:
    """Return the published shares under a snapshot; None if there are none, or something else made them."""
    row = connection.execute(_select_sets(made_by).where(snapshot_parts.c.snapshot == snapshot)).first()
    return None if row is None else ShareSet(*row)


@retry_reads
def find_newest_set(db: Database, run: int, made_by: str) -> ShareSet | None:
    """Return the published shares under the newest snapshot of a run that has some; None as for `find_set`."""
    part = snapshot_parts.c
    newest = select(part.snapshot).join(snapshots).where(snapshots.c.run == run, part.kind == SHARES)
    with db.read() as connection:
        found = connection.execute(newest.order_by(snapshots.c.minibatch.desc()).limit(1)).scalar()
    return None if found is None else find_set(db, found, made_by)


def _select_sets(made_by: str) -> Select[Any]:
    """Return the query of the published sets of shares."""
    part = snapshot_parts.c
    columns = part.snapshot, func.sum(part.documents), func.max(part.created, type_=part.created.type)
    return select(*columns).where(part.kind == SHARES, part.made_by == made_by).group_by(part.snapshot)


@reads
def read_layer(connection: Connection, snapshot: int, layer: int) -> LayerShares:
    """Return the published shares of a layer, counted from 1, of all documents of the set under a snapshot.

    Raises
    ------
    NotFound
        If there are none, or there is no such layer.
    DamagedArrays
        If their bytes were altered; `begin_set` finds the first damaged block.
    """
    blocks = _list_published(connection, snapshot)
    parts = [_unpack_layer(_read_blob(connection, snapshot, first), layer) for first, _ in blocks]
    return LayerShares.join(parts)


@reads
def read_tokens(connection: Connection, snapshot: int) -> Array:
    """Return the number of tokens of all documents of the set under a snapshot, (documents,) float64.

    Raises
    ------
    NotFound, DamagedArrays
        As `read_layer`.
    """
    blocks = _list_published(connection, snapshot)
    parts = [
        unpack_arrays(_read_blob(connection, snapshot, first), only=(_TOKENS,))[_TOKENS].astype(np.float64)
        for first, _ in blocks
    ]
    return np.concatenate(parts)


@reads
def read_documents(
    connection: Connection, snapshot: int, numbers: Sequence[int], layers: int
) -> tuple[LayerShares, ...]:
    """Return the published shares of some documents in layers 1 to ``layers``; only their blocks are read.

    Raises
    ------
    NotFound
        If there are no shares of one of the documents, or there is no such layer.
    DamagedArrays
        If their bytes were altered.
    """
    documents = np.asarray(numbers, dtype=np.int64)
    blocks = _list_published(connection, snapshot)
    end = sum(blocks[-1])
    if len(documents) and not (documents.min() >= 0 and documents.max() < end):
        raise NotFound(f"there are shares of documents 0 to {end - 1} under snapshot {snapshot}, not of all of these")
    firsts = np.array([first for first, _ in blocks], dtype=np.int64)
    block_of = np.searchsorted(firsts, documents, side="right") - 1
    order = np.argsort(block_of, kind="stable")
    parts: list[list[LayerShares]] = [[] for _ in range(layers)]
    for block, group in itertools.groupby(order.tolist(), key=lambda place: int(block_of[place])):
        blob = _read_blob(connection, snapshot, int(firsts[block]))
        inside = documents[list(group)] - firsts[block]
        for layer, found in enumerate(parts, start=1):
            found.append(_unpack_layer(blob, layer).select_rows(inside))
    back = np.argsort(order, kind="stable")
    return tuple(LayerShares.join(found).select_rows(back) for found in parts)


def _lock_set(connection: Connection, snapshot: int, made_by: str) -> int:
    """Lock the shares under a snapshot until the transaction ends; return how many documents are stored."""
    lock_snapshot(connection, snapshot)
    is_other = _is_of_set(snapshot) & (snapshot_parts.c.made_by != made_by)
    if connection.execute(select(snapshot_parts.c.first).where(is_other)).first() is not None:
        raise Conflict(f"the shares under snapshot {snapshot} are being replaced by another program; try again later")
    blocks = _list_blocks(connection, snapshot)
    return sum(blocks[-1]) if blocks else 0


def _is_of_set(snapshot: int) -> ColumnElement[bool]:
    return (snapshot_parts.c.snapshot == snapshot) & snapshot_parts.c.kind.in_((SHARES, NEW_SHARES))


def _cut_set(connection: Connection, *, snapshot: int, end: int) -> None:
    """Delete the blocks from document ``end`` on."""
    connection.execute(delete(snapshot_parts).where(_is_of_set(snapshot), snapshot_parts.c.first >= end))


def _list_blocks(connection: Connection, snapshot: int, *, published: bool = False) -> list[tuple[int, int]]:
    """Return the first document and the number of documents of every block, in order."""
    query = select(snapshot_parts.c.first, snapshot_parts.c.documents).where(_is_of_set(snapshot))
    if published:
        query = query.where(snapshot_parts.c.kind == SHARES)
    return [(first, documents) for first, documents in connection.execute(query.order_by(snapshot_parts.c.first))]


def _list_published(connection: Connection, snapshot: int) -> list[tuple[int, int]]:
    """Return the blocks that are published."""
    blocks = _list_blocks(connection, snapshot, published=True)
    if not blocks:
        raise NotFound(f"there are no shares of documents under snapshot {snapshot}")
    return blocks


def _read_blob(connection: Connection, snapshot: int, first: int) -> bytes:
    blob = read_part(connection, snapshot, SHARES, NEW_SHARES, first=first)
    if blob is None:
        raise DamagedArrays(f"shares of documents under snapshot {snapshot} are missing; topiary check says more")
    return blob


def _is_intact(db: Database, snapshot: int, first: int) -> bool:
    """Return whether the checksums of a block fit."""
    try:
        with db.read() as connection:
            verify_arrays(_read_blob(connection, snapshot, first))
    except DamagedArrays:
        return False
    return True


def _unpack_layer(blob: bytes, layer: int) -> LayerShares:
    """Return the shares of a layer in a block."""
    names = [f"{name}.{layer - 1}" for name in ("lengths", "topics", "units", "rest")]
    arrays = unpack_arrays(blob, only=names)
    if len(arrays) < len(names):
        raise NotFound(f"the stored shares have no layer {layer}")
    lengths, topics, units, rest = (arrays[name] for name in names)
    starts = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=starts[1:])
    return LayerShares(starts, topics, units, rest)
