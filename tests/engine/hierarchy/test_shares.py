"""Shares of documents: against the exact posterior of small documents, and against the paths that they sum up."""

from itertools import pairwise, product
from math import lgamma

import numpy as np
import pytest

from topiary.engine import models
from topiary.engine.contract import SIGMOID, SIGNED, Counts, Facts, Link, Local, Sweeps, Topics
from topiary.engine.hierarchy import paths, shares

WORDS, WIDTHS = 6, (4, 3, 2)
SEED = 5


@pytest.fixture
def phi():
    rng = np.random.default_rng(21)
    return tuple(rng.dirichlet(np.full(below, 0.5), above).T for below, above in pairwise((WORDS, *WIDTHS)))


def batch_of(*documents, kind=np.int32):
    """Documents given as dictionaries of words and counts."""
    words = np.array([word for document in documents for word in document], np.int32)
    values = np.array([count for document in documents for count in document.values()], kind)
    counts = Counts.of(np.array([len(document) for document in documents]), words, values)
    return counts.batch(np.arange(len(documents)))


def local_of(seed, *heads, documents=3):
    rng = np.random.default_rng(seed)
    return Local(tuple(rng.gamma(0.7, 2.0, (documents, width)) for width in WIDTHS), *heads)


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


def test_without_counts_of_tokens_shares_are_their_mean_given_the_activations(phi):
    local = local_of(1)
    found = shares.compute_shares(Topics(phi, np.ones(2)), local, batch_of(*DOCUMENTS))[0]
    for row, document in enumerate(DOCUMENTS):
        theta = local.theta[0][row]
        exact = expect_by_listing(phi[0], document, lambda topics, theta=theta: np.prod(theta[list(topics)]))
        np.testing.assert_allclose(found[row], exact, rtol=1e-12)


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("lda-gibbs", {"layers": (4,), "alpha": (0.3,)}),
        ("dlda", {"layers": (4,)}),
        ("dlda", {"layers": (4,), "sampler": "plain"}),
    ],
)
def test_shares_of_samplers_are_those_of_the_exact_posterior(phi, name, settings):
    module = models.load(name)
    kernel = module.build(module.Config(**settings), Facts(WORDS, 3, n_tokens=30))
    arrays = {"phi.0": phi[0], "r": np.full(4, 0.3)}
    state = kernel.restore(SEED, arrays)
    batch = batch_of(*DOCUMENTS)
    local = kernel.infer(SEED, state, batch, Sweeps(200, 40_000))
    found = shares.compute_shares(kernel.topics(state), local, batch)[0]
    for row, document in enumerate(DOCUMENTS):

        def weigh(topics):
            return np.exp(sum(lgamma(n + 0.3) for n in np.bincount(topics, minlength=4)))

        np.testing.assert_allclose(found[row], expect_by_listing(phi[0], document, weigh), atol=0.015)


def test_shares_of_each_layer_sum_up_the_paths_through_its_topics(phi):
    local = local_of(2)
    found = shares.compute_shares(Topics(phi, np.ones(2)), local, batch_of(*DOCUMENTS))
    for row in range(3):
        theta = (found[0][row], local.theta[1][row], local.theta[2][row])
        sums = [np.zeros(width) for width in WIDTHS]
        for path in paths.find_best_paths(phi, theta, 1000):
            for node in path.nodes:
                sums[node.layer - 1][node.column] += path.share
        for layer, expected in zip(found, sums, strict=True):
            np.testing.assert_allclose(layer[row], expected, atol=1e-12)


def test_each_layer_sums_to_one_and_documents_without_tokens_have_no_share(phi):
    batch = batch_of({0: 2}, {}, {5: 1, 1: 4})
    for linked in (False, True):
        links = (Link(SIGNED, SIGMOID, np.zeros(4)), Link(SIGNED, SIGMOID, np.zeros(3))) if linked else ()
        for layer in shares.compute_shares(Topics(phi, np.ones(2), links), local_of(3), batch):
            np.testing.assert_allclose(layer.sum(axis=1), [1, 0, 1], atol=1e-12)


def test_above_links_that_are_not_linear_shares_are_parts_of_the_activations(phi):
    links = (Link(SIGNED, SIGMOID, np.zeros(4)), Link(SIGNED, SIGMOID, np.zeros(3)))
    local = local_of(4)
    found = shares.compute_shares(Topics(phi, np.ones(2), links), local, batch_of(*DOCUMENTS))
    np.testing.assert_allclose(found[2], local.theta[2] / local.theta[2].sum(axis=1, keepdims=True))


def test_the_row_of_a_document_has_the_same_bits_alone(phi):
    local = local_of(6)
    together = shares.compute_shares(Topics(phi, np.ones(2)), local, batch_of(*DOCUMENTS))
    for row, document in enumerate(DOCUMENTS):
        alone = Local(tuple(theta[row : row + 1] for theta in local.theta))
        for layer, whole in zip(
            shares.compute_shares(Topics(phi, np.ones(2)), alone, batch_of(document)), together, strict=True
        ):
            assert layer.tobytes() == whole[row : row + 1].tobytes()


def test_words_and_parents_without_any_activation_are_shared_equally(phi):
    local = Local((np.zeros((1, 4)), np.zeros((1, 3)), np.ones((1, 2))))
    found = shares.compute_shares(Topics(phi, np.ones(2)), local, batch_of({0: 2}))
    np.testing.assert_allclose(found[0], np.full((1, 4), 0.25))
    np.testing.assert_allclose(found[1], np.full((1, 3), 1 / 3))


def test_cut_shares_and_their_rest_are_exactly_one():
    rng = np.random.default_rng(8)
    whole = rng.dirichlet(np.full(200, 0.05), 500)
    whole[7] = 0.0
    cut = shares.cut_shares(whole)
    rows = np.repeat(np.arange(500), np.diff(cut.starts))
    totals = np.bincount(rows, weights=cut.units, minlength=500) + cut.rest
    np.testing.assert_array_equal(np.delete(totals, 7), np.full(499, shares.UNITS))
    assert totals[7] == 0
    kept = np.zeros_like(whole)
    kept[rows, cut.topics] = cut.units / shares.UNITS
    large = whole >= shares.LEAST
    assert ((kept > 0) == large).all()
    off = np.abs(whole - kept) * shares.UNITS
    off[np.arange(500), whole.argmax(axis=1)] = 0.0  # the largest share gives back what others got by rounding up
    assert off[large].max() <= 0.5 + 1e-9
    assert (np.abs(whole - kept)[large] * shares.UNITS < 5).all()


def test_the_distance_of_documents_is_hellingers_with_the_rest_as_one_more_topic():
    rng = np.random.default_rng(8)
    table = rng.dirichlet(np.full(30, 0.1), 200)
    table[17] = 0.0  # a document without tokens
    table[23] = table[5]
    cut = shares.cut_shares(table)
    full = np.zeros((200, 31))
    full[np.repeat(np.arange(200), np.diff(cut.starts)), cut.topics] = cut.units / 65535
    full[:, 30] = cut.rest / 65535
    for j in (5, 40):
        one = shares.cut_shares(table[j : j + 1])
        expected = [np.sqrt(0.5 * ((np.sqrt(full[j]) - np.sqrt(row)) ** 2).sum()) for row in full]
        expected[17] = 1.0
        assert shares.measure_distances(one, cut) == pytest.approx(np.array(expected), abs=1e-7)
    assert shares.measure_distances(shares.cut_shares(table[5:6]), cut)[[5, 23]] == pytest.approx(0.0, abs=1e-7)
