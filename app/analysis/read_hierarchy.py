"""A hierarchy snapshot from the store: the topics of a run at one moment."""

from typing import TYPE_CHECKING

from app.jobs import launcher
from store import annotations, corpora, snapshots
from store.database import Database
from store.errors import NotFound
from store.run_rows import RunRow
from store.snapshots import SnapshotRow

if TYPE_CHECKING:
    from app.analysis.hierarchy import Hierarchy


def snapshot_at(db: Database, row: RunRow, minibatch: int | None) -> SnapshotRow:
    """The snapshot of a run at or before a mini-batch; the newest one for None; damaged ones are passed over.

    Raises
    ------
    NotFound
        When it has none yet, or none so early.
    """
    if snapshots.find_latest(db, row.number) is None:
        why = f"{launcher.find_state(row)}: {row.message}" if row.message else launcher.find_state(row)
        raise NotFound(f"run {row.number} has no topics yet ({why})")
    found = snapshots.find_sound(db, row.number, minibatch)
    if found is None:
        when = "that is whole" if minibatch is None else f"at or before mini-batch {minibatch:,}"
        raise NotFound(f"run {row.number} has no snapshot {when}")
    return found


def read_hierarchy(
    db: Database, row: RunRow, snapshot: SnapshotRow, vocabulary: tuple[str, ...] | None = None
) -> "Hierarchy":
    """Read a snapshot of a run with its words, its names and its classes; a known ``vocabulary`` is not read again."""
    from app.analysis.build_hierarchy import build_hierarchy

    about = corpora.get_corpus(db, row.corpus)
    words = corpora.read_vocabulary(db, row.corpus) if vocabulary is None else vocabulary
    arrays, names = snapshots.load_snapshot(db, snapshot.number), annotations.list_labels(db, row.number)
    return build_hierarchy(
        arrays, words, names, row, snapshot, image_shape=about.image_shape, classes=about.label_names
    )
