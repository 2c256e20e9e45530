"""Maps of planted groups: they separate, tiny and empty corpora have a map, and extended maps keep what was there."""

import numpy as np
import pytest
from map_samples import compress, densify, draw_groups

from topiary.engine.document_map import layout
from topiary.engine.document_map.features import NONE, MapFeatures
from topiary.engine.document_map.layout import DocumentMap, continue_map, draft_map, extend_map, finish_map
from topiary.engine.pool import Pool

N = 400
SHARES, GROUPS = draw_groups(N)


def draw(features: MapFeatures, n_threads=1) -> DocumentMap:
    pool = Pool(n_threads)
    return finish_map(features, draft_map(features, [], 1, pool), 1, pool)


@pytest.fixture(scope="module")
def whole() -> DocumentMap:
    return draw(compress(SHARES))


def find_nearest(positions):
    squared = ((positions[:, None] - positions) ** 2).sum(axis=2)
    np.fill_diagonal(squared, np.inf)
    return np.argsort(squared, axis=1)[:, :10]


def measure_purity(positions, groups, rows=slice(None)):
    return (groups[find_nearest(positions)] == groups[:, None])[rows].mean()


def measure_kept(positions):
    """The share of the ten nearest by topics that are among the ten nearest on the map."""
    near = find_nearest(densify(compress(SHARES)))
    return np.mean([len(np.intersect1d(*pair)) / 10 for pair in zip(near, find_nearest(positions), strict=True)])


def test_groups_separate_and_more_neighbours_are_kept_than_in_the_draft(whole):
    draft = draft_map(compress(SHARES), [], 1, Pool(1))
    assert measure_purity(whole.positions, GROUPS) > 0.97
    assert measure_kept(whole.positions) > measure_kept(draft.positions) + 0.1 > 0.3


def test_a_map_is_the_same_to_the_last_bit_on_two_threads(whole):
    again = draw(compress(SHARES), 2)
    assert all(np.array_equal(one, other) for one, other in zip(whole, again, strict=True))


def test_the_strongest_topics_are_given_with_the_positions(whole):
    assert SHARES[np.arange(N), whole.topics] == pytest.approx(SHARES.max(axis=1), rel=1e-3)  # roots are rounded


@pytest.mark.parametrize("n", [0, 1, 2, 3])
@pytest.mark.parametrize("n_topics", [1, 2, 12])
def test_tiny_corpora_have_a_map(n, n_topics):
    features = compress(draw_groups(n, n_topics, 1)[0])
    found = draw(features)
    assert found.positions.shape == (n, 2)
    assert np.isfinite(found.positions).all()
    assert len(np.unique(found.positions, axis=0)) == n
    for again in (extend_map, continue_map):
        assert np.isfinite(again(features, found, 1, Pool(1)).positions).all()


def test_documents_without_a_topic_lie_side_by_side_below_all_others(whole):
    shares = np.insert(SHARES, [0, 7, N], 0.0, axis=0)
    found = draw(compress(shares))
    outside = [0, 8, N + 2]
    inside = np.setdiff1d(np.arange(N + 3), outside)
    assert found.topics[outside].tolist() == [NONE] * 3
    assert found.positions[outside, 1].max() < found.positions[inside, 1].min()
    assert len(np.unique(found.positions[outside, 0])) == 3
    assert measure_purity(found.positions[inside], GROUPS) > 0.97


def test_a_corpus_of_which_no_document_has_a_topic_has_a_map():
    found = draw(compress(np.zeros((4, 3))))
    assert np.isfinite(found.positions).all()
    assert len(np.unique(found.positions, axis=0)) == 4


def test_new_documents_join_their_group_and_all_others_stay_where_they_are():
    first = draw(compress(SHARES[:350]))
    found = extend_map(compress(SHARES), first, 1, Pool(1))
    assert np.array_equal(found.positions[:350], first.positions)
    assert measure_purity(found.positions, GROUPS, slice(350, None)) > 0.95
    assert np.array_equal(found.positions, extend_map(compress(SHARES), first, 1, Pool(2)).positions)


def test_extension_of_an_empty_map_places_all():
    empty = draw(compress(np.zeros((3, 12))))
    found = extend_map(compress(SHARES), empty, 1, Pool(1))
    assert measure_purity(found.positions, GROUPS) > 0.9


def test_an_extension_without_new_documents_changes_nothing(whole):
    assert np.array_equal(extend_map(compress(SHARES), whole, 1, Pool(1)).positions, whole.positions)


def test_after_more_training_documents_stay_near_and_separate(whole):
    noisy = SHARES * np.exp(np.random.default_rng(4).normal(0, 0.2, SHARES.shape))
    found = continue_map(compress(noisy), whole, 1, Pool(1))
    moves = np.linalg.norm(found.positions - whole.positions, axis=1)
    assert 0 < np.median(moves) < 0.06 * np.ptp(whole.positions)
    assert measure_purity(found.positions, GROUPS) > 0.97


def test_large_corpora_take_half_the_sweeps(monkeypatch):
    shares = []
    features = compress(SHARES)
    draft = draft_map(features, [], 1, Pool(1))
    monkeypatch.setattr(layout, "_LARGE", N)
    finish_map(features, draft, 1, Pool(1), shares.append)
    assert len(shares) == 150
    assert shares[-1] == 1.0
