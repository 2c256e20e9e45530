"""How much of a hierarchy moves from one snapshot of a run to the next."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from topiary.engine.contract import Topics
from topiary.engine.hierarchy import topics
from topiary.engine.hierarchy.certainty import measure_persistence
from topiary.engine.hierarchy.effects import present_hierarchy
from topiary.store.database import Database
from topiary.store.errors import DamagedSnapshot, NotFound
from topiary.store.snapshots import SnapshotRow, load_snapshot


def weigh_levels(snapshot: Topics) -> tuple[NDArray[np.float64], ...]:
    """Return the weight of every word in every topic, and of every edge, as shares of their level.

    Returns
    -------
    tuple of (K_{l-1}, K_l) float64 arrays
        ``|Phi_kc|`` times the popularity of topic c, scaled to sum 1; ``K_0`` is the number of words.
    """
    presentation = present_hierarchy(snapshot)
    levels = []
    for weights, popularity in zip(presentation.weights, presentation.popularity, strict=True):
        level = np.abs(np.asarray(weights, dtype=np.float64)) * popularity
        total = float(level.sum())
        levels.append(level / total if total > 0.0 else level)
    return tuple(levels)


def measure_changes(db: Database, rows: Sequence[SnapshotRow]) -> dict[int, float]:
    """Measure what moved before each snapshot of a run; this waits for the store.

    Parameters
    ----------
    db : Database
    rows : sequence of SnapshotRow
        Oldest first.

    Returns
    -------
    dict of int to float
        By the number of the snapshot, the share of the weights of :func:`weigh_levels` that is elsewhere than in the
        snapshot before, 0 to 1, in the level where that is most.  The first snapshot, and one that cannot be read any
        more, is missing; after a change of widths the share is 1.
    """
    changes: dict[int, float] = {}
    before: tuple[NDArray[np.float64], ...] | None = None
    for row in rows:
        try:
            levels = weigh_levels(topics.unpack_topics(load_snapshot(db, row.number), shown=True))
        except (NotFound, DamagedSnapshot):
            continue
        if before is not None:
            changes[row.number] = 1.0 - min(measure_persistence(before, levels))
        before = levels
    return changes
