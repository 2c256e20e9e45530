"""Every reader has the same share of a topic in a document, and pages read what is stored instead of placing."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from databases import open_filled
from inference_samples import DOCUMENTS, plain_model, plant

from topiary.app.analysis.document_table import DocumentFilter
from topiary.app.analysis.hierarchy import UseOfTopic
from topiary.app.analysis.inference import open_inference
from topiary.app.analysis.read_hierarchy import find_snapshot
from topiary.app.analysis.shares import (
    LENGTH,
    LayerUse,
    build_matrix,
    complete_shares,
    fetch_use,
    find_nearest,
    order_documents,
)
from topiary.app.jobs.plan import hash_share_origin
from topiary.app.live.feed import Feed
from topiary.app.pages import documents_reading
from topiary.app.pages.documents_reading import TableRequest, find_selection, must_compile_rows, place_rows
from topiary.engine.hierarchy.paths import cut_shares
from topiary.store import corpora, runs, shares
from topiary.store.database import Database
from topiary.store.shares import LayerShares

__all__ = ["plain_model"]


@pytest.fixture
def db(tmp_path: Any, plain_model: None) -> Iterator[Database]:
    db = open_filled(tmp_path / "store.db", plant)
    yield db
    db.close()


@pytest.fixture
def context(db: Database) -> Iterator[SimpleNamespace]:
    feed = Feed(db)
    feed.look_now()
    started: list[tuple[int, int]] = []
    actions = SimpleNamespace(place_documents=lambda *request: started.append(request), started=started)
    yield SimpleNamespace(db=db, feed=feed, actions=actions, reader=feed.reader)
    feed.stop()


def place_all(db: Database) -> Any:
    row, snapshot = runs.get_run(db, 1), find_snapshot(db, 1)
    complete_shares(db, row, snapshot)
    return row, snapshot


def test_table_topic_document_and_matrix_have_the_same_share(db: Database, context: Any) -> None:
    row, snapshot = place_all(db)
    matrix = build_matrix(fetch_use(db, row, snapshot, 1).layer, 4).toarray()
    inference = open_inference(db, row, snapshot)
    placed = inference.place_documents(corpora.read_counts(db, row.corpus, range(DOCUMENTS)), range(DOCUMENTS))
    np.testing.assert_allclose(matrix, [each.shares[0] for each in placed], atol=2e-5)
    rows = place_rows(context, 1, snapshot.number, list(range(DOCUMENTS)))
    hierarchy = context.feed.hierarchy(1)
    for document, (first, second) in rows.items():
        assert first is not None
        assert second is not None
        assert first.share == matrix[document, hierarchy.place(first.node)]
        uses = dict(context.reader.rank(hierarchy, first.node).list_uses())
        assert uses[document] == first.share
        best = inference.find_paths(placed[document], 99)
        through = sum(path.share for path in best if path.nodes[0] == second.node)
        assert through == pytest.approx(second.share, abs=2e-5)


def test_pages_place_no_document_whose_shares_are_stored(
    db: Database, context: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot = find_snapshot(db, 1).number
    monkeypatch.setattr(documents_reading, "must_compile", lambda *_: True)
    assert must_compile_rows(context, 1, snapshot, [3])
    before = place_rows(context, 1, snapshot, [3, 4])
    place_all(db)
    monkeypatch.setattr(context.feed.places, "inference", lambda *_: pytest.fail("it was placed again"))
    assert not must_compile_rows(context, 1, snapshot, [3])
    assert place_rows(context, 1, snapshot, [3, 4]) == before


def test_a_topic_lists_examples_until_all_documents_are_placed_and_then_all_that_use_it(
    db: Database, context: Any
) -> None:
    hierarchy = context.feed.hierarchy(1)
    node = hierarchy.nodes(1)[0]
    assert context.reader.rank(hierarchy, node).list_uses(8) == hierarchy.uses(node, 8)
    place_all(db)
    expected = [n for n in range(DOCUMENTS) if n % 4 == hierarchy.place(node)]
    assert [use.document for use in context.reader.rank(hierarchy, node).list_uses()] == expected
    assert [use.document for use in context.reader.rank(hierarchy, node).list_uses(2)] == expected[:2]
    request = TableRequest(1, 0, DocumentFilter(subject=f"L1:{node.column + 1}"))
    assert find_selection(context, request, lambda: True).selection.read_page(0, 99) == expected


def test_a_damaged_block_is_left_to_the_old_ways_and_mended_by_the_next_who_may_write(
    db: Database, context: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    row, snapshot = place_all(db)
    with db.write() as connection:
        connection.exec_driver_sql("UPDATE snapshot_parts SET arrays = x'00' WHERE kind = 'shares'")
    hierarchy = context.feed.hierarchy(1)
    node = hierarchy.nodes(1)[0]
    assert context.reader.rank(hierarchy, node).list_uses() == hierarchy.uses(node)
    assert set(place_rows(context, 1, snapshot.number, [3, 4])) == {3, 4}
    assert len(fetch_use(db, row, snapshot, 1).layer.rest) == DOCUMENTS


def test_documents_appended_later_are_placed_in_the_background(db: Database, context: Any) -> None:
    row, snapshot = place_all(db)
    find_selection(context, TableRequest(1, 0, DocumentFilter()), lambda: True)
    assert context.actions.started == []
    made_by = hash_share_origin(row)
    with db.write() as connection:
        connection.exec_driver_sql("DELETE FROM snapshot_parts WHERE kind = 'shares'")
    shares.begin_set(db, snapshot.number, made_by)
    layer = LayerShares(np.array([0, 1]), np.zeros(1, np.int32), np.ones(1, np.uint16), np.ones(1, np.uint16))
    shares.append_block(db, snapshot.number, made_by, 0, [layer, layer], np.ones(1))
    find_selection(context, TableRequest(1, 0, DocumentFilter()), lambda: True)
    assert context.actions.started == []  # nothing is visible yet: the worker may be at it
    shares.publish_set(db, snapshot.number, made_by)
    find_selection(context, TableRequest(1, 0, DocumentFilter()), lambda: True)
    assert context.actions.started == [(1, DOCUMENTS)]


def test_documents_are_ranked_by_share_as_if_they_had_ten_more_words() -> None:
    units = np.array([65535, 60000, 60000, 30000, 700], np.uint16)
    layer = LayerShares(np.arange(6), np.array([2, 2, 2, 2, 1], np.int32), units, np.zeros(5, np.uint16))
    use = LayerUse(layer, np.array([1.0, 100.0, 100.0, 1000.0, 9.0]))
    ranked = order_documents(use, 2).list_uses()
    assert [each.document for each in ranked] == [1, 2, 3, 0]
    assert ranked[3] == UseOfTopic(0, 1.0)
    assert order_documents(use, 2).list_uses(1) == ranked[:1]
    assert order_documents(use, 0).list_uses() == []
    selected = np.array([True, False, True])  # of the first three documents; others were appended later
    assert order_documents(use, 2, selected).list_uses() == [ranked[1], ranked[3]]
    assert order_documents(use, 2, np.arange(5) > 2).list_uses() == [ranked[2]]
    assert 1.0 / (1.0 + LENGTH) < 0.45 < 60000 / 65535 * 100 / (100 + LENGTH)


def test_the_nearest_documents_are_those_of_a_search_through_all_of_them() -> None:
    rng = np.random.default_rng(4)
    table = rng.dirichlet(np.full(5, 0.4), 300)
    table[[3, 8]] = table[100]
    use = LayerUse(LayerShares(*cut_shares(table)), np.where(np.arange(300) % 7 == 0, 0.0, 50.0))
    found = find_nearest(use, use.layer.select_rows(np.array([100])), 12, without=100)

    kept = np.where(table >= 0.01, table, 0.0)
    pooled = np.column_stack([kept, np.maximum(1.0 - kept.sum(axis=1), 0.0)])

    def measure(j: int) -> float:
        return float(np.sqrt(max(0.0, 1.0 - np.sqrt(pooled[j] * pooled[100]).sum())))

    others = sorted((j for j in range(300) if j != 100 and j % 7), key=measure)
    assert [each.document for each in found[:2]] == [3, 8], "the order of the corpus where equally near"
    assert {each.document for each in found} == set(others[:12])
    assert [each.distance for each in found] == pytest.approx([measure(j) for j in others[:12]], abs=1e-3)
