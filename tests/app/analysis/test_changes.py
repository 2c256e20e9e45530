"""What moves between snapshots: against sums written out by hand, and on a store with a snapshot that is gone."""

from dataclasses import replace

import garden
import numpy as np
import pytest
from databases import open_filled

from topiary.app.analysis.changes import measure_changes, weigh_levels
from topiary.engine.hierarchy.topics import unpack_topics
from topiary.store import snapshots


@pytest.fixture
def db(tmp_path):
    """Open an empty store."""
    opened = open_filled(tmp_path / "store.db")
    yield opened
    opened.close()


def measure_by_hand(before, now):
    """Return the largest share of any level that moved, topic by topic and word by word."""
    moved = []
    for old, new in zip(weigh(before), weigh(now), strict=True):
        moved.append(sum(abs(old[key] - new[key]) for key in old) / 2)
    return max(moved)


def weigh(arrays):
    """Return the weights of each level as dicts that sum to 1."""
    phi = [arrays[f"phi.{layer}"].astype(float) for layer in range(len(garden.LAYERS))]
    popularity = [np.asarray(arrays["r"], dtype=float)]
    for table in phi[:0:-1]:
        popularity.insert(0, table @ popularity[0])
    levels = []
    for table, weights in zip(phi, popularity, strict=True):
        level = {(k, c): table[k, c] * weights[c] for k in range(len(table)) for c in range(table.shape[1])}
        total = sum(level.values())
        levels.append({key: value / total for key, value in level.items()})
    return levels


def test_the_share_that_moved_is_that_of_a_sum_by_hand(db):
    row = garden.begin(db, garden.corpus(db).number)
    for minibatch in (10, 20, 400):
        garden.advance(db, row, minibatch, snapshot=True)
    rows = snapshots.list_snapshots(db, row.number)
    found = measure_changes(db, rows)
    assert list(found) == [rows[1].number, rows[2].number]
    first, second, third = (garden.arrays(minibatch) for minibatch in (10, 20, 400))
    by_hand = [measure_by_hand(first, second), measure_by_hand(second, third)]
    assert list(found.values()) == pytest.approx(by_hand, abs=1e-5)
    assert min(by_hand) > 0


def test_nothing_moves_between_equal_snapshots_and_one_that_is_gone_is_left_out(db):
    row = garden.begin(db, garden.corpus(db).number)
    for minibatch in (10, 20, 30):
        snapshots.append_snapshot(db, row.number, row.attempt, minibatch, 1.0, garden.arrays(7))
    rows = snapshots.list_snapshots(db, row.number)
    assert measure_changes(db, rows) == pytest.approx({rows[1].number: 0.0, rows[2].number: 0.0})
    gone = replace(rows[1], number=999)
    assert measure_changes(db, [rows[0], gone, rows[2]]) == pytest.approx({rows[2].number: 0.0})


def test_levels_sum_to_one_from_the_words_up():
    levels = weigh_levels(unpack_topics(garden.arrays(3), shown=True))
    assert [level.shape for level in levels] == [(len(garden.WORDS), 8), (8, 4), (4, 2)]
    assert [float(level.sum()) for level in levels] == pytest.approx([1, 1, 1])
