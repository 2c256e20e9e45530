"""Paths of a document: shares that sum, the best ones found, words given to topics, lines between documents."""

from itertools import pairwise, product
from math import lgamma

import numpy as np
import pytest

from topiary.engine import models
from topiary.engine.contract import SIGMOID, SIGNED, Counts, Facts, Link, Local, Sweeps, Topics
from topiary.engine.hierarchy import paths
from topiary.engine.hierarchy.tree import Node

WIDTHS = (9, 5, 4, 3)  # words, then three layers


@pytest.fixture
def phi():
    rng = np.random.default_rng(11)
    return tuple(rng.dirichlet(np.full(below, 0.4), above).T for below, above in pairwise(WIDTHS))


@pytest.fixture
def theta():
    rng = np.random.default_rng(12)
    return tuple(rng.gamma(0.6, 2.0, width) for width in WIDTHS[1:])


def every_path(phi, theta):
    """Each path from a root down to a leaf with its share, by the formula in words."""
    found = {}
    for leaf, middle, root in product(range(5), range(4), range(3)):
        share = theta[0][leaf] / theta[0].sum()
        share *= phi[1][leaf, middle] * theta[1][middle] / (phi[1][leaf] @ theta[1])
        share *= phi[2][middle, root] * theta[2][root] / (phi[2][middle] @ theta[2])
        found[Node(3, root), Node(2, middle), Node(1, leaf)] = share
    return found


def test_the_best_paths_are_those_of_listing_every_one(phi, theta):
    request = sorted(every_path(phi, theta).items(), key=lambda item: -item[1])[:7]
    found = paths.find_best_paths(phi, theta, 7)
    assert [path.nodes for path in found] == [nodes for nodes, _ in request]
    np.testing.assert_allclose([path.share for path in found], [share for _, share in request])


def test_all_paths_together_are_the_whole_document_and_those_through_a_leaf_its_share(phi, theta):
    found = paths.find_best_paths(phi, theta, 1000)
    assert len(found) == 5 * 4 * 3
    assert sum(path.share for path in found) == pytest.approx(1.0)
    for leaf in range(5):
        through = sum(path.share for path in found if path.nodes[-1] == Node(1, leaf))
        assert through == pytest.approx(theta[0][leaf] / theta[0].sum())


def test_where_a_layer_is_exactly_what_the_one_above_expects_a_path_has_the_product_from_the_top(phi, theta):
    top = theta[2]
    middle = phi[2] @ top
    found = paths.find_best_paths(phi, (phi[1] @ middle, middle, top), 1000)
    for path in found:
        root, inner, leaf = (node.column for node in path.nodes)
        assert path.share == pytest.approx(top[root] * phi[2][inner, root] * phi[1][leaf, inner] / top.sum())


def test_a_document_of_one_layer_has_its_topics_as_paths(phi, theta):
    found = paths.find_best_paths(phi[:1], theta[:1], 2)
    assert [path.nodes for path in found] == [(Node(1, k),) for k in np.argsort(-theta[0])[:2]]


def test_the_topics_of_a_layer_share_every_word_among_them(phi, theta):
    words = np.array([0, 3, 8])
    for layer in (1, 2, 3):
        parts = [paths.compute_responsibilities(phi, theta, words, [Node(layer, k)]) for k in range(WIDTHS[layer])]
        np.testing.assert_allclose(np.sum(parts, axis=0), 1.0)


def test_a_word_belongs_to_a_leaf_as_its_rate_says_and_to_a_path_as_its_leaf_and_the_odds_say(phi, theta):
    words = np.array([2, 5])
    rate = phi[0][words] * theta[0]
    leaf = paths.compute_responsibilities(phi, theta, words, [Node(1, 3)])
    np.testing.assert_allclose(leaf, rate[:, 3] / rate.sum(axis=1))
    trail = [Node(3, 1), Node(2, 2), Node(1, 3)]
    up = every_path(phi, theta)[tuple(trail)] / (theta[0][3] / theta[0].sum())
    np.testing.assert_allclose(paths.compute_responsibilities(phi, theta, words, trail), leaf * up)


def test_a_document_without_activations_is_spread_evenly_and_nothing_is_divided_by_zero(phi):
    nothing = tuple(np.zeros(width) for width in WIDTHS[1:])
    assert sum(path.share for path in paths.find_best_paths(phi, nothing, 1000)) == pytest.approx(1.0)
    np.testing.assert_allclose(paths.compute_responsibilities(phi, nothing, np.array([1]), [Node(1, 0)]), [1 / 5])


def test_the_line_between_two_documents_begins_and_ends_with_what_they_decode_to(phi, theta):
    other = np.array([5.0, 0.0, 1.0])
    rates = paths.interpolate_documents(phi, (theta[2], other), 3, 5)
    project = phi[0] @ phi[1] @ phi[2]
    np.testing.assert_allclose(rates[0], project @ theta[2] / theta[2].sum())
    np.testing.assert_allclose(rates[-1], project @ other / 6)
    np.testing.assert_allclose(rates[2], (rates[0] + rates[-1]) / 2)
    np.testing.assert_allclose(rates.sum(axis=1), 1.0)
    np.testing.assert_allclose(
        paths.interpolate_documents(phi, (theta[0], theta[0][::-1]), 1, 2)[0], phi[0] @ paths.normalise_shares(theta[0])
    )


def test_a_document_ten_times_as_long_lies_no_nearer_in_the_middle(phi, theta):
    other = np.array([5.0, 0.0, 1.0])
    np.testing.assert_allclose(
        paths.interpolate_documents(phi, (theta[2], other), 3, 5),
        paths.interpolate_documents(phi, (10 * theta[2], other), 3, 5),
    )


def test_the_hellinger_distance_is_0_for_the_same_and_1_for_strangers():
    one = np.array([0.5, 0.5, 0.0])
    found = paths.measure_hellinger(one, np.array([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0], [0.5, 0.0, 0.5]]))
    np.testing.assert_allclose(found, [0.0, 1.0, np.sqrt(0.5)], atol=1e-7)


WORDS, SMALL_WIDTHS = 6, (4, 3, 2)
SEED = 5


@pytest.fixture
def drawn_phi():
    rng = np.random.default_rng(21)
    return tuple(rng.dirichlet(np.full(below, 0.5), above).T for below, above in pairwise((WORDS, *SMALL_WIDTHS)))


def batch_of(*documents, kind=np.int32):
    """Documents given as dictionaries of words and counts."""
    words = np.array([word for document in documents for word in document], np.int32)
    values = np.array([count for document in documents for count in document.values()], kind)
    counts = Counts.of(np.array([len(document) for document in documents]), words, values)
    return counts.batch(np.arange(len(documents)))


def local_of(seed, *heads, documents=3):
    rng = np.random.default_rng(seed)
    return Local(tuple(rng.gamma(0.7, 2.0, (documents, width)) for width in SMALL_WIDTHS), *heads)


DOCUMENTS = ({0: 2, 3: 1}, {1: 1, 4: 2, 5: 1}, {2: 3})


def expect_by_listing(phi, document, weigh):
    """E[n_k] / n: every way to give the tokens of a document to topics, weighed by ``weigh(assignment)`` and phi."""
    tokens = [word for word, count in document.items() for _ in range(count)]
    total, mean = 0.0, np.zeros(phi.shape[1])
    for topics in product(range(phi.shape[1]), repeat=len(tokens)):
        weight = np.prod([phi[word, k] for word, k in zip(tokens, topics, strict=True)]) * weigh(topics)
        total += weight
        mean += weight * np.bincount(topics, minlength=len(mean))
    return mean / total / len(tokens)


def test_without_counts_of_tokens_shares_are_their_mean_given_the_activations(drawn_phi):
    local = local_of(1)
    found = paths.compute_shares(Topics(drawn_phi, np.ones(2)), local, batch_of(*DOCUMENTS))[0]
    for row, document in enumerate(DOCUMENTS):
        theta = local.theta[0][row]
        exact = expect_by_listing(drawn_phi[0], document, lambda topics, theta=theta: np.prod(theta[list(topics)]))
        np.testing.assert_allclose(found[row], exact, rtol=1e-12)


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("lda-gibbs", {"layers": (4,), "alpha": (0.3,)}),
        ("dlda", {"layers": (4,)}),
        ("dlda", {"layers": (4,), "sampler": "plain"}),
    ],
)
def test_shares_of_samplers_are_those_of_the_exact_posterior(drawn_phi, name, settings):
    module = models.load(name)
    kernel = module.build(module.Config(**settings), Facts(WORDS, 3, n_tokens=30))
    arrays = {"phi.0": drawn_phi[0], "r": np.full(4, 0.3)}
    state = kernel.restore(SEED, arrays)
    batch = batch_of(*DOCUMENTS)
    local = kernel.infer(SEED, state, batch, Sweeps(200, 40_000))
    found = paths.compute_shares(kernel.topics(state), local, batch)[0]
    for row, document in enumerate(DOCUMENTS):

        def weigh(topics):
            return np.exp(sum(lgamma(n + 0.3) for n in np.bincount(topics, minlength=4)))

        np.testing.assert_allclose(found[row], expect_by_listing(drawn_phi[0], document, weigh), atol=0.015)


def test_shares_of_each_layer_sum_up_the_paths_through_its_topics(drawn_phi):
    local = local_of(2)
    found = paths.compute_shares(Topics(drawn_phi, np.ones(2)), local, batch_of(*DOCUMENTS))
    for row in range(3):
        theta = (found[0][row], local.theta[1][row], local.theta[2][row])
        sums = [np.zeros(width) for width in SMALL_WIDTHS]
        for path in paths.find_best_paths(drawn_phi, theta, 1000):
            for node in path.nodes:
                sums[node.layer - 1][node.column] += path.share
        for layer, expected in zip(found, sums, strict=True):
            np.testing.assert_allclose(layer[row], expected, atol=1e-12)


def test_each_layer_sums_to_one_and_documents_without_tokens_have_no_share(drawn_phi):
    batch = batch_of({0: 2}, {}, {5: 1, 1: 4})
    for linked in (False, True):
        links = (Link(SIGNED, SIGMOID, np.zeros(4)), Link(SIGNED, SIGMOID, np.zeros(3))) if linked else ()
        for layer in paths.compute_shares(Topics(drawn_phi, np.ones(2), links), local_of(3), batch):
            np.testing.assert_allclose(layer.sum(axis=1), [1, 0, 1], atol=1e-12)


def test_above_links_that_are_not_linear_shares_are_parts_of_the_activations(drawn_phi):
    links = (Link(SIGNED, SIGMOID, np.zeros(4)), Link(SIGNED, SIGMOID, np.zeros(3)))
    local = local_of(4)
    found = paths.compute_shares(Topics(drawn_phi, np.ones(2), links), local, batch_of(*DOCUMENTS))
    np.testing.assert_allclose(found[2], local.theta[2] / local.theta[2].sum(axis=1, keepdims=True))


def test_the_row_of_a_document_has_the_same_bits_alone(drawn_phi):
    local = local_of(6)
    together = paths.compute_shares(Topics(drawn_phi, np.ones(2)), local, batch_of(*DOCUMENTS))
    for row, document in enumerate(DOCUMENTS):
        alone = Local(tuple(theta[row : row + 1] for theta in local.theta))
        for layer, whole in zip(
            paths.compute_shares(Topics(drawn_phi, np.ones(2)), alone, batch_of(document)), together, strict=True
        ):
            assert layer.tobytes() == whole[row : row + 1].tobytes()


def test_words_and_parents_without_any_activation_are_shared_equally(drawn_phi):
    local = Local((np.zeros((1, 4)), np.zeros((1, 3)), np.ones((1, 2))))
    found = paths.compute_shares(Topics(drawn_phi, np.ones(2)), local, batch_of({0: 2}))
    np.testing.assert_allclose(found[0], np.full((1, 4), 0.25))
    np.testing.assert_allclose(found[1], np.full((1, 3), 1 / 3))


def test_cut_shares_and_their_rest_are_exactly_one():
    rng = np.random.default_rng(8)
    whole = rng.dirichlet(np.full(200, 0.05), 500)
    whole[7] = 0.0
    cut = paths.cut_shares(whole)
    rows = np.repeat(np.arange(500), np.diff(cut.starts))
    totals = np.bincount(rows, weights=cut.units, minlength=500) + cut.rest
    np.testing.assert_array_equal(np.delete(totals, 7), np.full(499, paths.UNITS))
    assert totals[7] == 0
    kept = np.zeros_like(whole)
    kept[rows, cut.topics] = cut.units / paths.UNITS
    large = whole >= paths.LEAST
    assert ((kept > 0) == large).all()
    off = np.abs(whole - kept) * paths.UNITS
    off[np.arange(500), whole.argmax(axis=1)] = 0.0  # the largest share gives back what others got by rounding up
    assert off[large].max() <= 0.5 + 1e-9
    assert (np.abs(whole - kept)[large] * paths.UNITS < 5).all()


def test_the_distance_of_documents_is_hellingers_with_the_rest_as_one_more_topic():
    rng = np.random.default_rng(8)
    table = rng.dirichlet(np.full(30, 0.1), 200)
    table[17] = 0.0  # a document without tokens
    table[23] = table[5]
    cut = paths.cut_shares(table)
    full = np.zeros((200, 31))
    full[np.repeat(np.arange(200), np.diff(cut.starts)), cut.topics] = cut.units / 65535
    full[:, 30] = cut.rest / 65535
    for j in (5, 40):
        one = paths.cut_shares(table[j : j + 1])
        expected = [np.sqrt(0.5 * ((np.sqrt(full[j]) - np.sqrt(row)) ** 2).sum()) for row in full]
        expected[17] = 1.0
        assert paths.measure_distances(one, cut) == pytest.approx(np.array(expected), abs=1e-7)
    assert paths.measure_distances(paths.cut_shares(table[5:6]), cut)[[5, 23]] == pytest.approx(0.0, abs=1e-7)
