"""Runs of the tiny corpus that differ in the seed alone: permuted copies of one hierarchy, and one with a new topic."""

from typing import Any

import feed_samples
import numpy as np
from sqlalchemy import update
from topic_pairs import permuted

from topiary.store import runs, snapshots, tables
from topiary.store.database import Database
from topiary.store.run_rows import RunRow


def plant_arrays(seed: int = 3) -> dict[str, np.ndarray]:
    """Four topics over twelve words, three words each, under two topics of two each."""
    first = np.full((12, 4), 0.01)
    for topic in range(4):
        first[3 * topic : 3 * topic + 3, topic] = 0.5, 0.3, 0.11
    second = np.array([[0.6, 0.0], [0.4, 0.0], [0.0, 0.7], [0.0, 0.3]])
    return {"phi.0": first, "phi.1": second, "r": np.array([2.0, 1.0])}


def add_seed(
    db: Database, seed: int, arrays: dict[str, np.ndarray] | None = None, *, minibatch: int = 40, **values: Any
) -> RunRow:
    """Add a run of a seed with a snapshot of these topics; none for an empty mapping.  ``values`` are of its row."""
    row = feed_samples.run(db)
    with db.write() as connection:
        connection.execute(
            update(tables.runs).where(tables.runs.c.number == row.number).values(**({"seed": seed} | values))
        )
    if arrays is None:
        arrays = permuted(plant_arrays(), seed)[0]
    if arrays:
        snapshots.append_snapshot(db, row.number, row.attempt, minibatch, 1.0, arrays)
    return runs.get_run(db, row.number)


def add_group(db: Database) -> list[RunRow]:
    """Add five runs of a group; the last has words of its own in place of the reference's topic L1:4."""
    changed = plant_arrays()
    changed["phi.0"] = changed["phi.0"].copy()
    changed["phi.0"][:, 3] = [0.2, 0.0, 0.05, 0.2, 0.05, 0.0, 0.2, 0.0, 0.3, 0.0, 0.0, 0.0]
    rows = [add_seed(db, 1, plant_arrays(), run_group=1)]
    rows += [add_seed(db, seed, run_group=1) for seed in (2, 3, 4)]
    return [*rows, add_seed(db, 5, changed, run_group=1)]
