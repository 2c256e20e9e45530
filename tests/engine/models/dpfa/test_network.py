"""Units of a network against the enumeration of all of them, and what a document's sweep leaves behind."""

import itertools

import numpy as np
import pytest
from drawing import RARE, ks, many, mean_is
from scipy import stats

from topiary.engine.jit import compiled
from topiary.engine.models.dpfa import documents, network
from topiary.engine.models.dpfa import kernel as dpfa
from topiary.engine.models.dpfa.documents import NetDocs, NetGlobals, NetOutcome, NetPlan, Tallies
from topiary.engine.models.dpfa.network import draw_polya_gamma
from topiary.engine.streams import Address, start_stream

WIDTHS = (3, 2, 2)


def made(*, undirected=False, widths=WIDTHS, seed=5):
    rng = np.random.default_rng(seed)
    weights = tuple(1.5 * rng.standard_normal(shape) for shape in itertools.pairwise(widths))
    biases = tuple(0.7 * rng.standard_normal(width) for width in widths)
    return weights, biases, network.pack_network(weights, biases, undirected=undirected)


def log_prior(weights, biases, h, *, undirected=False):
    """Log-probability of units (..., sum K), up to a constant for a Boltzmann machine."""
    layers = np.split(np.asarray(h, dtype=float), np.cumsum([len(bias) for bias in biases])[:-1], axis=-1)
    total = 0.0
    for layer, bias in enumerate(biases):
        psi = bias + (layers[layer + 1] @ weights[layer].T if layer < len(weights) else 0.0)
        total = total + (layers[layer] * psi).sum(axis=-1)
        if not undirected:
            total = total - np.logaddexp(0.0, psi).sum(axis=-1)
    return total


def every(n):
    return np.array(list(itertools.product((0, 1), repeat=n)), dtype=np.int8)


@compiled
def climbs(net, h, sweeps, seed):
    """So many climbs, layer 1 fixed; how often every state of the upper units was seen."""
    s = network.make_scratch(net)
    rng = start_stream(seed, 99, 0, 0)
    upper = len(h) - net.widths[0]
    seen = np.zeros(2**upper, np.int64)
    for _ in range(sweeps):
        rng = network.draw_upwards(rng, net, h, s)
        code = 0
        for unit in range(net.widths[0], len(h)):
            code = 2 * code + h[unit]
        seen[code] += 1
    return seen


def agree(seen, law, correlation=8.0):
    """p-value of chi-square where neighbouring sweeps are alike: as if there were so many times fewer."""
    expected = seen.sum() * law
    return stats.chi2.sf(((seen - expected) ** 2 / expected).sum() / correlation, len(law) - 1)


@pytest.mark.parametrize("undirected", [False, True])
@pytest.mark.parametrize("lowest", [(1, 0, 1), (0, 0, 0)])
def test_units_above_follow_their_law_given_layer_one(undirected, lowest):
    weights, biases, net = made(undirected=undirected)
    states = np.hstack([np.tile(lowest, (16, 1)), every(4)])
    law = np.exp(log_prior(weights, biases, states, undirected=undirected))
    seen = climbs(net, np.array([*lowest, 0, 1, 1, 0], dtype=np.int8), 60_000, 3)
    assert agree(seen, law / law.sum()) > RARE


def test_the_comparison_sees_a_bias_that_is_wrong():
    weights, biases, _ = made()
    wrong = (biases[0], biases[1] + 0.4, biases[2])
    states = np.hstack([np.tile((1, 0, 1), (16, 1)), every(4)])
    law = np.exp(log_prior(weights, biases, states))
    seen = climbs(
        network.pack_network(weights, wrong, undirected=False), np.array([1, 0, 1, 0, 1, 1, 0], np.int8), 60_000, 3
    )
    assert agree(seen, law / law.sum()) < RARE


def test_units_fall_from_the_top_by_their_prior():
    weights, biases, net = made()
    rng, s, h = start_stream(7, 99, 0, 0), network.make_scratch(net), np.zeros(7, np.int8)
    seen = np.zeros(128, np.int64)
    for _ in range(20_000):
        rng = network.draw_downwards(rng, net, h, s, 0)
        seen[int("".join(map(str, h)), 2)] += 1
    law = np.exp(log_prior(weights, biases, every(7)))
    assert abs(law.sum() - 1.0) < 1e-12
    assert agree(seen, law, 1.0) > RARE


# ------------------------------------------------------------- a document


PHI = np.array([[0.6, 0.1, 0.2], [0.3, 0.2, 0.5], [0.1, 0.7, 0.3]])
SHAPES = np.array([0.6, 1.3, 2.1])


def swept(net, counts, sweeps, wants, *, seed=11, n=1, burn_in=50):
    """The outcome of a chain on one document, or on ``n`` equal ones."""
    words = np.tile(np.flatnonzero(counts).astype(np.int32), n)
    values = np.tile(counts[counts > 0].astype(np.int32), n)
    each, tokens = int((counts > 0).sum()), int(counts.sum())
    units, width = len(net.bias), int(net.widths[0])
    docs = NetDocs(
        words,
        values,
        np.arange(n + 1) * each,
        np.arange(n, dtype=np.int64),
        np.arange(n + 1) * tokens,
        np.zeros(n * tokens, np.uint16),
        np.zeros((n, units), np.int8),
    )
    widths = net.widths.tolist()
    pairs = sum(a * (b + 1) for a, b in itertools.pairwise(widths))
    squares = sum(a * (b + 1) * (b + 2) // 2 for a, b in itertools.pairwise(widths))
    tallies = Tallies(
        np.zeros(PHI.shape, np.int64),
        np.zeros(width, np.int64),
        np.zeros(units, np.int64),
        np.zeros(pairs, np.int64),
        np.zeros(squares, np.int64),
        np.zeros(pairs + widths[-1], np.int64),
    )
    out = NetOutcome(tallies, np.zeros((n, width)), np.zeros((n, units)), np.zeros((n, width)))
    plan = NetPlan(True, burn_in, sweeps, 1, False, wants)
    documents.sweep_documents(NetGlobals(PHI, SHAPES, net), Address(seed, 2, 1), docs, 0, n, plan, out)
    return out, docs


def exact(weights, biases, counts, *, undirected=False):
    """E[theta o h] and P(h = 1) given a document, by enumeration of all units and of the topics of all tokens."""
    tokens = np.repeat(np.arange(len(counts)), counts)
    states = every(sum(len(bias) for bias in biases))
    prior = np.exp(log_prior(weights, biases, states, undirected=undirected))
    mass, theta, units = 0.0, np.zeros(3), np.zeros(states.shape[1])
    for topics in itertools.product(range(3), repeat=len(tokens)):
        n = np.bincount(topics, minlength=3)
        words = np.prod([PHI[v, k] for v, k in zip(tokens, topics, strict=True)])
        # theta integrated out: of topic k on, Gamma(r + n) / Gamma(r) (1/2)^(r + n), 1 or 0 where it is off
        on = np.array([np.prod(SHAPES[k] + np.arange(n[k])) * 0.5 ** (SHAPES[k] + n[k]) for k in range(3)])
        likelihood = np.where(states[:, :3] == 1, on, (n == 0).astype(float)).prod(axis=1) * words
        weight = prior * likelihood
        mass += weight.sum()
        theta += (weight[:, None] * states[:, :3] * 0.5 * (SHAPES + n)).sum(axis=0)
        units += weight @ states
    return theta / mass, units / mass


CASES = [((3,), False), ((3, 2), False), ((3, 2, 2), False), ((3, 2), True), ((3, 2, 2), True)]


@pytest.mark.parametrize(("widths", "undirected"), CASES)
@pytest.mark.parametrize("counts", [(2, 1, 1), (0, 3, 0), (0, 0, 0)])
def test_documents_are_placed_as_by_enumeration(widths, undirected, counts):
    weights, biases, net = made(undirected=undirected, widths=widths)
    n, sweeps = 400, 100
    out, _ = swept(net, np.array(counts), sweeps, documents.THETA, n=n)
    theta, units = exact(weights, biases, np.array(counts), undirected=undirected)
    for found, expected in ((out.theta, theta), (out.chance[:, 3:], units[3:])):
        means = found / sweeps  # one a chain: independent
        spread = np.maximum(means.std(axis=0), 1e-9) / np.sqrt(n)
        z = np.where(np.abs(means.mean(axis=0) - expected) < 1e-9, 0.0, (means.mean(axis=0) - expected) / spread)
        assert (2.0 * stats.norm.sf(np.abs(z)) > RARE / 10).all(), (means.mean(axis=0), expected)


def test_the_enumeration_sees_another_bias():
    weights, biases, net = made(widths=(3, 2))
    out, _ = swept(net, np.array((2, 1, 1)), 100, documents.THETA, n=400)
    theta, _ = exact(weights, (biases[0] + 0.3, biases[1]), np.array((2, 1, 1)))
    z = (out.theta.mean(axis=0) / 100 - theta) / (out.theta.std(axis=0) / 100 / np.sqrt(400))
    assert 2.0 * stats.norm.sf(np.abs(z).max()) < RARE


def test_tallies_are_those_of_the_units_and_tokens_they_were_taken_from():
    _, _, net = made()
    out, docs = swept(net, np.array((2, 1, 1)), 1, documents.MOMENTS, n=30, burn_in=5)
    tallies, h = out.tallies, docs.h.astype(np.int64)
    assert tallies.words.sum() == 30 * 4
    np.testing.assert_array_equal(tallies.on, h.sum(axis=0))
    above = np.hstack([h[:, 3:5], np.ones((30, 1), np.int64)])
    np.testing.assert_array_equal(tallies.cross[:9].reshape(3, 3), above.T @ (2 * h[:, :3] - 1))
    gram = tallies.gram[: 6 * 3].reshape(6, 3) / documents.UNIT
    # the diagonal of a unit that is always on holds the sum of all omega; those of others are parts of it
    assert (gram[5] > 0).all()
    lower = np.tril_indices(3)
    for pair, (a, b) in enumerate(zip(*lower, strict=True)):
        assert (gram[pair] <= gram[5] + 1e-9).all()
        assert (gram[pair] > 0).all() == bool((above[:, a] * above[:, b]).any())


def test_the_slope_is_the_gradient_of_the_log_probability():
    weights, biases, net = made()
    out, docs = swept(net, np.array((2, 1, 1)), 1, documents.GRADIENT, n=20)
    slope, step, at = out.tallies.slope / documents.UNIT, 1e-5, 0
    for layer, table in enumerate(weights):
        for j, k in itertools.product(range(table.shape[1] + 1), range(table.shape[0])):
            sides = []
            for sign in (1.0, -1.0):
                moved = [w.copy() for w in weights], [b.copy() for b in biases]
                if j < table.shape[1]:
                    moved[0][layer][k, j] += sign * step
                else:
                    moved[1][layer][k] += sign * step
                sides.append(log_prior(*moved, docs.h).sum())
            np.testing.assert_allclose(slope[at], (sides[0] - sides[1]) / (2 * step), atol=1e-4)
            at += 1
    top = docs.h[:, -2:].sum(axis=0) - 20 / (1.0 + np.exp(-biases[-1]))
    np.testing.assert_allclose(slope[at:], top, atol=1e-6)


def test_contrastive_divergence_of_a_small_machine_has_the_mean_of_its_enumeration():
    """CD-1 on 3 x 2 units: E over the document's posterior of h h' less that after one sweep without words."""
    weights, biases, net = made(undirected=True, widths=(3, 2))
    n = 40_000
    out, _ = swept(net, np.array((1, 0, 1)), 1, documents.GRADIENT, n=n, burn_in=15)
    found = out.tallies.slope / documents.UNIT / n
    states, law = every(5), posterior(weights, biases, (1, 0, 1))
    step = np.zeros((32, 32))
    for i, h in enumerate(states):
        one = 1.0 / (1.0 + np.exp(-(weights[0] @ h[3:] + biases[0])))
        for new, other in enumerate(states):
            two = 1.0 / (1.0 + np.exp(-(weights[0].T @ other[:3] + biases[1])))
            chance = np.concatenate([one, two])
            step[i, new] = np.where(other == 1, chance, 1.0 - chance).prod()
    change = law - law @ step
    visible, hidden = states[:, :3].astype(float), np.hstack([states[:, 3:], np.ones((32, 1))]).astype(float)
    expected = np.concatenate([np.einsum("s,sj,sk->jk", change, hidden, visible).ravel(), change @ hidden[:, :2]])
    z = (found - expected) / np.sqrt(1.0 / n)  # a difference of two 0/1 numbers: variance at most 1
    assert (2.0 * stats.norm.sf(np.abs(z)) > RARE / 11).all()
    assert np.abs(expected).max() > 10 / np.sqrt(n)


def posterior(weights, biases, counts):
    """P(h | document) of a machine of 3 x 2 units, by enumeration."""
    tokens = np.repeat(np.arange(3), counts)
    states = every(5)
    law = np.zeros(32)
    prior = np.exp(log_prior(weights, biases, states, undirected=True))
    for topics in itertools.product(range(3), repeat=len(tokens)):
        n = np.bincount(topics, minlength=3)
        words = np.prod([PHI[v, k] for v, k in zip(tokens, topics, strict=True)])
        on = np.array([np.prod(SHAPES[k] + np.arange(n[k])) * 0.5 ** (SHAPES[k] + n[k]) for k in range(3)])
        law += prior * np.where(states[:, :3] == 1, on, (n == 0).astype(float)).prod(axis=1) * words
    return law / law.sum()


# ------------------------------------------------------- units from clusters


def test_units_that_begin_as_clusters_call_for_their_own_and_a_single_one_for_nothing():
    shares = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]]), np.array([[1.0], [1.0]])
    noise = np.full((3, 2), 0.01), np.full((2, 1), 0.02)
    weights, biases = network.make_cluster_weights(noise, shares)
    size = network.FIRST_WEIGHT
    np.testing.assert_allclose(weights[0] - noise[0], [[size, 0.0], [0.0, size], [size, 0.0]])
    np.testing.assert_array_equal(weights[1], noise[1])
    np.testing.assert_allclose(biases[0], -size / 2)  # on: log-odds of size / 2 for its own, of -size / 2 for others
    np.testing.assert_array_equal(biases[1], 0.0)


# --------------------------------------------------------------- influence


def test_what_a_unit_changes_is_the_difference_of_means_with_it_on_and_off():
    weights, biases, _ = made()
    above = np.array([0.3, 0.8])
    found = dpfa.measure_influence(weights[0], biases[0], above)
    for j in range(2):
        ends = []
        for value in (1.0, 0.0):
            state = above.copy()
            state[j] = value
            ends.append(1.0 / (1.0 + np.exp(-(weights[0] @ state + biases[0]))))
        np.testing.assert_allclose(found[:, j], ends[0] - ends[1])


def test_popularity_of_a_unit_that_does_nothing_is_nothing_and_grows_with_what_it_does():
    load, active = np.array([0.7, 0.3]), (np.array([0.5, 0.2]), np.array([0.4, 0.4, 0.4]))
    weights = (np.array([[0.0, 1.0, 2.0], [0.0, 0.0, 0.0]]),)
    first, second = dpfa.compute_unit_popularity(load, active, weights, (np.zeros(2), np.zeros(3)))
    assert first is load
    assert second[0] == 0.0
    assert 0.0 < second[1] < second[2]


PLACES = (0.0, 0.3, -1.0, 2.5, 3.2, 6.0, -15.0, 45.0)


def density(x, z):
    """PG(1, z) as an alternating series (Polson, Scott and Windle, 2013, section 2)."""
    n = np.arange(60)[:, None]
    odd = 2 * n + 1
    terms = (-1.0) ** n * odd / np.sqrt(2.0 * np.pi * x**3) * np.exp(-(odd**2) / (8.0 * x))
    return np.cosh(0.5 * z) * np.exp(-0.5 * z * z * x) * terms.sum(axis=0)


def cumulative(z):
    """The distribution function on a fine grid; beyond it an exponential tail of no weight."""
    edges = np.linspace(1e-5, 4.0, 400_001) if abs(z) < 5 else np.linspace(1e-5, 0.6, 400_001)
    heights = density(edges, z)
    sums = np.concatenate([[0.0], np.cumsum(0.5 * (heights[1:] + heights[:-1]) * np.diff(edges))])
    assert abs(sums[-1] - 1.0) < 1e-4
    return lambda x: np.interp(x, edges, sums / sums[-1])


@pytest.mark.parametrize("z", [z for z in PLACES if abs(z) < 20])
def test_draws_follow_the_density(z):
    assert ks(many(draw_polya_gamma, z), cumulative(z)) > RARE


@pytest.mark.parametrize("z", PLACES)
def test_draws_have_the_mean_and_the_variance(z):
    values, y = many(draw_polya_gamma, z), abs(z)
    mean = 0.25 if z == 0.0 else np.tanh(0.5 * z) / (2.0 * z)
    variance = 1.0 / 24.0 if z == 0.0 else (np.sinh(y) - y) / (4.0 * y**3 * np.cosh(0.5 * y) ** 2)
    assert mean_is(values, mean, np.sqrt(variance)) > RARE
    spread = (values - mean) ** 2
    assert mean_is(spread, variance, spread.std()) > RARE


@pytest.mark.parametrize("z", PLACES)
def test_draws_have_the_laplace_transform(z):
    values = many(draw_polya_gamma, z, seed=2)
    for rate in (0.5, 4.0, 30.0):
        transformed = np.exp(-rate * values)
        expected = np.cosh(0.5 * z) / np.cosh(np.sqrt(0.25 * z * z + 0.5 * rate))
        assert mean_is(transformed, expected, transformed.std()) > RARE


def test_large_arguments_give_finite_draws_about_their_mean():
    for z in (80.0, 700.0, -1e4, 1e8):
        values = many(draw_polya_gamma, z, n=2_000)
        assert (values > 0).all()
        np.testing.assert_allclose(values.mean(), 0.5 / abs(z), rtol=0.1)


def test_the_comparison_sees_another_argument():
    assert stats.kstest(many(draw_polya_gamma, 1.1), cumulative(1.0)).pvalue < RARE
