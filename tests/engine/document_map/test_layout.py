"""Maps of planted groups: they separate, tiny and empty corpora have a map, and extended maps keep what was there."""

import naive
import numpy as np
import pytest
from map_samples import compress, densify, draw_groups, draw_shares

from topiary.engine.document_map import layout
from topiary.engine.document_map.features import NEGATIVES, NONE, MapFeatures, find_strongest, make_features
from topiary.engine.document_map.layout import (
    NEIGHBOURS,
    SPREAD,
    DocumentMap,
    MovementPlan,
    continue_map,
    draft_map,
    extend_map,
    find_neighbours,
    finish_map,
    link_neighbours,
    list_buckets,
    measure_topic_distances,
    place_at_barycentres,
    place_topics_of_documents,
    scale_distances,
    sweep_documents,
)
from topiary.engine.pool import Pool
from topiary.engine.streams import start_stream

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


def find(features, seed=1, n_threads=1, wanted=None):
    return find_neighbours(features, find_strongest(features), seed, Pool(n_threads), wanted)


def find_exactly(features) -> np.ndarray:
    """The nearest by comparing all pairs; of equally near ones the lower number first."""
    table = densify(features).astype(np.int64)
    products = table @ table.T
    np.fill_diagonal(products, -1)
    return np.argsort(-products, axis=1, kind="stable")[:, :NEIGHBOURS]


def measure_recall(found, exact) -> float:
    return np.mean([len(np.intersect1d(one, other)) / len(other) for one, other in zip(found, exact, strict=True)])


def test_a_single_small_bucket_has_the_exact_neighbours_in_their_order():
    features = compress(draw_shares(300, 2, concentration=1.0), 0.0)
    assert np.array_equal(find(features), find_exactly(features))


def test_at_least_nine_of_ten_neighbours_are_found(monkeypatch):
    features = compress(draw_shares(1200, 10))
    exact = find_exactly(features)
    assert measure_recall(find(features), exact) >= 0.9
    monkeypatch.setattr(layout, "LARGEST", 100)  # about 240 documents share a topic, so all are split
    assert 0.75 <= measure_recall(find(features), exact) < 1.0


def test_large_buckets_are_split_and_documents_of_a_split_bucket_are_in_several(monkeypatch):
    monkeypatch.setattr(layout, "LARGEST", 40)
    features = compress(draw_shares(500, 6))
    strongest = find_strongest(features)
    buckets = list(list_buckets(features, strongest, 1))
    assert max(map(len, buckets)) <= 40
    assert all((np.diff(bucket) > 0).all() for bucket in buckets)
    counts = np.bincount(np.concatenate(buckets), minlength=500)
    assert counts.min() >= 2  # rounds
    assert counts.max() == 4  # topics in both rounds


def test_neighbours_are_the_same_with_two_threads(monkeypatch):
    monkeypatch.setattr(layout, "LARGEST", 100)
    features = compress(draw_groups(700)[0])
    assert np.array_equal(find(features), find(features, n_threads=2))
    assert not np.array_equal(find(features), find(features, seed=2))


def test_only_wanted_documents_get_neighbours_and_find_them_among_all():
    features = compress(draw_groups(200)[0])
    wanted = np.arange(200) >= 190
    found = find(features, wanted=wanted)
    assert (found[:190] == NONE).all()
    assert np.array_equal(found[190:], find(features)[190:])
    assert (found[190:] < 190).any()


def test_equal_documents_are_neighbours_of_each_other_and_nobody_is_its_own():
    features = compress(np.repeat([[0.7, 0.3], [0.2, 0.8]], 8, axis=0))
    found = find(features)
    assert all(set(row[:7].tolist()) == set(range(8)) - {number} for number, row in enumerate(found[:8]))
    assert not (found == np.arange(16)[:, None]).any()


def test_a_few_documents_have_as_many_neighbours_as_there_are_others():
    found = find(compress(draw_shares(3, 1)))
    assert (found >= 0).sum(axis=1).tolist() == [2, 2, 2]
    assert (find(compress(draw_shares(1, 4))) == NONE).all()
    assert find(compress(np.zeros((0, 4)))).shape == (0, NEIGHBOURS)


@pytest.mark.parametrize("n", [1, 30])
def test_documents_are_linked_to_their_neighbours_and_to_those_whose_neighbour_they_are(n):
    found = find(compress(draw_groups(n)[0]))
    graph = link_neighbours(found)
    links = [(i, int(j)) for i in range(n) for j in graph.documents[graph.starts[i] : graph.starts[i + 1]]]
    expected = [(i, int(j)) for i in range(n) for j in found[i] if j != NONE]
    assert sorted(links) == sorted(expected + [(j, i) for i, j in expected])


PLAN = MovementPlan(4, 1.0)


@pytest.fixture(scope="module")
def graph():
    features = compress(draw_groups(60)[0])
    return link_neighbours(find_neighbours(features, find_strongest(features), 1, Pool(1)))


def start(n=60):
    return np.random.default_rng(2).normal(0, 2, (n, 2)).astype(np.float32)


def run(graph, positions, moving, n_threads=1, plan=PLAN, on_progress=lambda _: None):
    return sweep_documents(positions, graph, np.asarray(moving), plan, 7, Pool(n_threads), on_progress)


@pytest.mark.parametrize("moving", [range(60), range(5, 30)])
def test_sweeps_are_those_of_the_plain_twin_to_the_last_bit(graph, moving):
    links = [graph.documents[a:b].tolist() for a, b in zip(graph.starts[:-1], graph.starts[1:], strict=True)]
    expected = start()
    for number in range(PLAN.sweeps):
        streams = [naive.Stream(*start_stream(7, NEGATIVES, number, document)) for document in range(60)]
        expected = naive.sweep(expected, links, moving, PLAN.rate * (1.0 - number / PLAN.sweeps), streams)
    found = run(graph, start(), list(moving))
    assert found.dtype == np.float32
    assert np.array_equal(found, expected)


def test_two_and_three_threads_give_the_bits_of_one(graph):
    one = run(graph, start(), range(60))
    assert all(np.array_equal(one, run(graph, start(), range(60), n_threads)) for n_threads in (2, 3))


def test_documents_that_do_not_move_keep_their_positions(graph):
    found = run(graph, start(), [3, 8])
    moved = (found != start()).any(axis=1)
    assert np.flatnonzero(moved).tolist() == [3, 8]


def test_documents_at_one_point_and_far_away_stay_finite(graph):
    for positions in (np.zeros((60, 2), np.float32), 1e18 * start()):
        assert np.isfinite(run(graph, positions, range(60))).all()


def test_progress_is_told_after_each_sweep_and_may_end_the_work(graph):
    told = []
    run(graph, start(), range(60), on_progress=told.append)
    assert told == [0.25, 0.5, 0.75, 1.0]

    def stop(share):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(graph, start(), range(60), on_progress=stop)


def test_nothing_moves_without_documents():
    graph = link_neighbours(np.zeros((0, 10), np.int32))
    assert run(graph, np.zeros((0, 2), np.float32), np.zeros(0, int)).shape == (0, 2)


def measure_distances(points):
    return np.sqrt(((points[:, None] - points) ** 2).sum(axis=2))


def measure_stress(points, distances):
    return ((measure_distances(points) - distances) ** 2).sum()


def test_distances_on_a_plane_are_found_again():
    points = np.random.default_rng(1).normal(size=(20, 2))
    wanted = measure_distances(points)
    assert np.abs(measure_distances(scale_distances(wanted)) - wanted).max() < 0.01


def test_no_nearby_places_fit_distances_better():
    rng = np.random.default_rng(2)
    distances = measure_distances(rng.normal(size=(15, 6)))
    found = scale_distances(distances)
    least = measure_stress(found, distances)
    assert all(measure_stress(found + rng.normal(0, 0.05, found.shape), distances) > least for _ in range(50))


def test_the_distance_of_topics_is_the_weighted_mean_of_three():
    features = compress(draw_groups(50, 4)[0])
    table = densify(features)
    parents = [np.random.default_rng(layer).dirichlet(np.ones(3), 4) for layer in (2, 3)]
    by_hand = np.zeros((4, 4))
    for one in range(4):
        for other in range(4):
            p, q = table[:, one] / np.linalg.norm(table[:, one]), table[:, other] / np.linalg.norm(table[:, other])
            by_hand[one, other] = 0.4 * np.sqrt(max(1 - p @ q, 0))
            for layer in parents:
                affinity = sum(np.sqrt(a * b) for a, b in zip(layer[one], layer[other], strict=True))
                by_hand[one, other] += 0.3 * np.sqrt(max(1 - affinity, 0))
    found = measure_topic_distances(table.T @ table, parents)
    off = ~np.eye(4, dtype=bool)
    assert found[off] == pytest.approx(by_hand[off], abs=1e-8)
    assert (found.diagonal() == 0).all()


def test_with_fewer_layers_the_weights_are_scaled_to_one():
    common = np.array([[1.0, 0.0], [0.0, 1.0]])  # no document in common: distance 1
    same = np.array([[1.0], [1.0]])  # one parent: distance 0
    assert measure_topic_distances(common, [])[0, 1] == pytest.approx(1.0)
    assert measure_topic_distances(common, [same])[0, 1] == pytest.approx(0.4 / 0.7)
    assert measure_topic_distances(common, [same, same, same])[0, 1] == pytest.approx(0.4)


def test_topics_without_documents_lie_in_the_middle_and_move_no_other():
    shares, _ = draw_groups(80, 6)
    alone = place_topics_of_documents(compress(shares), [], Pool(1))
    wider = np.insert(shares, [2, 5], 0.0, axis=1)
    found = place_topics_of_documents(compress(wider), [], Pool(1))
    live = [0, 1, 3, 4, 5, 7]
    assert np.array_equal(found[live], alone)
    assert found[[2, 6]] == pytest.approx(np.array([alone.mean(axis=0)] * 2))


def test_topics_of_a_group_lie_closer_together_than_topics_of_others():
    places = place_topics_of_documents(compress(draw_groups(500)[0]), [], Pool(1))
    group = np.arange(12) % 4
    distances = measure_distances(places)
    same = group[:, None] == group
    assert distances[same & ~np.eye(12, dtype=bool)].mean() < 0.6 * distances[~same].mean()


def test_documents_lie_at_the_mean_of_their_topics_weighted_by_squared_shares():
    shares, _ = draw_groups(100, 5)
    features = compress(shares)
    places = np.random.default_rng(3).normal(size=(5, 2))
    weights = (densify(features) / 4000) ** 4
    expected = weights @ places / weights.sum(axis=1, keepdims=True)
    expected = (expected - expected.mean(axis=0)) / (expected - expected.mean(axis=0)).std() * SPREAD
    offsets = place_at_barycentres(features, places, 1) - expected
    assert np.abs(offsets).max() <= 0.0501
    assert len(np.unique(offsets)) == 200  # each has its own jitter


def test_documents_at_one_point_or_none_at_all_are_placed():
    one = make_features(np.array([0, 1, 2]), np.array([0, 0]), np.ones(2), 1)
    assert np.abs(place_at_barycentres(one, np.zeros((1, 2)), 1)).max() <= 0.0501
    empty = make_features(np.zeros(1, int), np.zeros(0, int), np.zeros(0), 3)
    assert place_at_barycentres(empty, np.zeros((3, 2)), 1).shape == (0, 2)
