"""The Weibull and the gamma posterior against integrals, differences and scipy's laws; false-alarm rate 1e-5 a test."""

import itertools
import math

import numpy as np
import plain_datm
import pytest
from drawing import MANY, RARE, ks
from scipy import integrate, special, stats

from topiary.engine.autoencoder import hybrid, hybrid_step, rsvi, weibull
from topiary.engine.autoencoder.weibull import HIGH_SHAPE, LEAST_MEAN, LEAST_PRIOR, LEAST_THETA, LOW_SHAPE, MOST_THETA
from topiary.engine.contract import Facts
from topiary.engine.models.datm import kernel as datm

FAMILIES = {"weibull": weibull, "gamma": rsvi}
SHAPES = (LOW_SHAPE, 0.05, 0.3, 1.0, 2.5, 40.0, HIGH_SHAPE)
both = pytest.mark.parametrize("name", FAMILIES)
both_heads = pytest.mark.parametrize("by_mean", [True, False], ids=["mean", "scale"])


def column(values):
    """One activation a document."""
    return np.asarray(values, dtype=np.float64)[:, None]


def log_law(name, shape, scale):
    """Where ln theta lives, its density times e^t with t = ln(theta / scale), and ln of theta's density."""
    if name == "weibull":
        top, low = np.log(60.0 + 3.0 / shape) / shape, -45.0 / shape
        density = lambda t: shape * np.exp(shape * t - np.exp(shape * t))  # noqa: E731
        law = lambda t: np.log(shape / scale) + (shape - 1.0) * t - np.exp(shape * t)  # noqa: E731
    else:
        top, low = np.log(shape + 12.0 * np.sqrt(shape) + 60.0), np.log(shape) - 45.0 / min(shape, np.sqrt(shape))
        density = lambda t: np.exp(shape * t - np.exp(t) - special.gammaln(shape))  # noqa: E731
        law = lambda t: (shape - 1.0) * t - np.exp(t) - special.gammaln(shape) - np.log(scale)  # noqa: E731
    return low, top, density, law


def integral(name, shape, scale, prior, rate):
    """E_q[ln q - ln p] in t = ln(theta / scale), where the integrand is smooth."""
    low, top, density, law = log_law(name, shape, scale)

    def integrand(t):
        log_theta = np.log(scale) + t
        log_p = prior * np.log(rate) - special.gammaln(prior) + (prior - 1.0) * log_theta - rate * np.exp(log_theta)
        return density(t) * (law(t) - log_p)

    middle = np.log(shape) if name == "gamma" else 0.0
    width = 8.0 / shape if name == "weibull" else 8.0 / np.sqrt(shape)
    near = [t for t in (middle - width, middle, middle + width) if low < t < top]
    return integrate.quad(integrand, low, top, points=near, limit=400, epsabs=1e-11, epsrel=1e-10)[0]


@pytest.mark.parametrize("shape", SHAPES)
@both
def test_the_divergence_is_the_integral_it_stands_for(name, shape):
    cases = list(itertools.product((1e-3, 1.0, 40.0), (1e-12, 0.01, 0.6, 25.0), (0.2, 3.0)))
    scale, prior, rate = (np.array(part) for part in zip(*cases, strict=True))
    got = FAMILIES[name].compute_divergence(column(np.full(len(cases), shape)), column(scale), column(prior), rate)
    request = [integral(name, shape, *each) for each in cases]
    np.testing.assert_allclose(got, request, rtol=1e-7, atol=1e-6)
    assert (got > -1e-6).all()


def test_the_divergence_of_a_gamma_from_itself_is_nothing():
    shape, rate = np.array(SHAPES), np.linspace(0.1, 4.0, len(SHAPES))
    np.testing.assert_allclose(
        rsvi.compute_divergence(column(shape), column(1 / rate), column(shape), rate), 0.0, atol=1e-8 * shape.max()
    )


def held(monkeypatch, name, shape, seed=5):
    """Random numbers that stay the same whatever the shape, as a ``noise`` for ``draw``."""
    documents = np.arange(len(shape))
    if name == "weibull":
        return weibull.make_noise(seed, 1, 1, documents, 0, 1)
    numbers = rsvi._draw_accepted(seed, 1, 1, 0, documents, np.clip(shape, LOW_SHAPE, HIGH_SHAPE))
    monkeypatch.setattr(rsvi, "_draw_accepted", lambda *_: numbers)
    return rsvi.make_noise(seed, 1, 1, documents, 0, 1)


def difference(function, at, step):
    """Derivative of an elementwise function by five points; ``step`` is relative."""
    h = step * at
    return (8.0 * (function(at + h) - function(at - h)) - function(at + 2 * h) + function(at - 2 * h)) / (12.0 * h)


@pytest.mark.parametrize("weight", [0.0, 0.7])
@both_heads
@both
def test_derivatives_agree_with_differences(monkeypatch, name, by_mean, weight):
    family, rng = FAMILIES[name], np.random.default_rng(3)
    shape = np.repeat([0.021, 0.05, 0.3, 1.0, 2.5, 40.0, 9e3], 40)
    n = len(shape)
    at = [column(shape), column(rng.gamma(0.8, 3.0, n) + 1e-3), column(np.geomspace(1e-12, 9.0, n)[rng.permutation(n)])]
    rate, outer, nothing = rng.gamma(2.0, 1.0, n), column(rng.normal(size=n)), np.zeros(n)
    noise = held(monkeypatch, name, at[0])

    def value(k, size, prior):
        drawn = family.draw_theta(k, size, noise, by_mean)
        lost = family.compute_divergence(drawn.shape, drawn.scale, prior, rate)
        return np.where(free, outer * drawn.theta, 0.0) - weight * column(lost)

    drawn = family.draw_theta(*at[:2], noise, by_mean)
    free = (drawn.theta > LEAST_THETA * 1e3) & (drawn.theta < MOST_THETA / 1e3)
    assert free.mean() > 0.8
    got = family.pull_back(drawn, at[2], rate, np.where(free, outer, 0.0), weight, by_mean, nothing)
    small = 1e-3 * np.minimum(1.0, at[0])
    for i, step in enumerate((small, small, 1e-3)):
        request = difference(lambda x, i=i: value(*at[:i], x, *at[i + 1 :]), at[i], step)
        size = np.abs(value(*at)) + weight * (1.0 + at[2])
        np.testing.assert_array_less(np.abs(got[i] - request) * at[i], 1e-7 * (size + np.abs(request * at[i])) + 1e-12)


@both_heads
@pytest.mark.parametrize("shape", SHAPES)
@both
def test_draws_follow_the_law(name, shape, by_mean):
    """Inside the bounds by Kolmogorov and Smirnov, at the bounds by their number."""
    family, size = FAMILIES[name], 3.0
    shapes = np.full((MANY // 40, 20), shape)
    noise = family.make_noise(7, 2, 1, np.arange(len(shapes)), 1, shapes.shape[1])
    drawn = family.draw_theta(shapes, np.full_like(shapes, size), noise, by_mean)
    mean = family.compute_mean(drawn.shape, drawn.scale)
    if by_mean:
        np.testing.assert_allclose(mean, size, rtol=1e-11)
    scale = drawn.scale[0, 0]
    law = stats.weibull_min(shape, scale=scale) if name == "weibull" else stats.gamma(shape, scale=scale)
    theta = drawn.theta.ravel()
    with np.errstate(over="ignore"):  # scipy's way to 1
        low, high = law.cdf(LEAST_THETA), law.cdf(MOST_THETA)
    inside = theta[(theta > LEAST_THETA) & (theta < MOST_THETA)]
    assert stats.binomtest(len(inside), len(theta), high - low).pvalue > RARE if high - low < 1 else len(inside)
    assert ks(inside, lambda x: (law.cdf(x) - low) / (high - low)) > RARE


@both
def test_the_scale_head_is_the_scale_itself(name):
    shape = column([0.5, 2.0])
    noise = FAMILIES[name].make_noise(1, 1, 1, np.arange(2), 0, 1)
    assert (FAMILIES[name].draw_theta(shape, column([3.0, 0.25]), noise, False).scale == column([3.0, 0.25])).all()


def test_noise_is_a_documents_own_and_another_in_every_layer_and_step():
    documents = np.array([3, 9, 1 << 40])
    table = weibull.make_noise(5, 1, 2, documents, 1, 6)
    assert np.array_equal(table[1:2], weibull.make_noise(5, 1, 2, documents[1:2], 1, 6))
    others = [weibull.make_noise(5, 1, 2, documents, 2, 6), weibull.make_noise(5, 1, 3, documents, 1, 6)]
    others += [weibull.make_noise(5, 2, 2, documents, 1, 6), weibull.make_noise(6, 1, 2, documents, 1, 6)]
    for other in others:
        assert not np.isin(other, table).any()


# ------------------------------------------------------------------ clamps


def clamped(name, shape, size, by_mean, prior=1.0, outer=1.0):
    """A draw far from ordinary parameters and its derivatives."""
    family = FAMILIES[name]
    k, prior = column(shape), column(np.full(len(shape), prior))
    drawn = family.draw_theta(k, column(size), family.make_noise(5, 1, 1, np.arange(len(k)), 0, 1), by_mean)
    n = len(k)
    lost = family.compute_divergence(drawn.shape, drawn.scale, prior, np.full(n, 2.0))
    slopes = family.pull_back(drawn, prior, np.full(n, 2.0), np.full((n, 1), outer), 0.5, by_mean, np.zeros(n))
    for values in (*drawn, lost, *slopes):
        assert np.isfinite(values).all()
    return drawn, lost, slopes


@both_heads
@both
def test_a_shape_out_of_bounds_is_held_there_and_passes_no_gradient(name, by_mean):
    shape = [0.0, 1e-300, LOW_SHAPE / 2, LOW_SHAPE, HIGH_SHAPE, 2 * HIGH_SHAPE, 1e300]
    drawn, _, (d_shape, _, _) = clamped(name, shape, np.ones(len(shape)), by_mean)
    assert set(drawn.shape.ravel()) == {LOW_SHAPE, HIGH_SHAPE}
    assert (d_shape == 0.0).all()
    _, _, (d_shape, _, _) = clamped(name, [LOW_SHAPE * 1.01, HIGH_SHAPE * 0.99], np.ones(2), by_mean)
    assert (d_shape != 0.0).all()


@both_heads
@both
def test_a_size_too_small_is_held_and_passes_no_gradient(name, by_mean):
    size = np.repeat([0.0, 1e-308, LEAST_MEAN / 2, LEAST_MEAN], 40)
    shape = np.tile(np.geomspace(0.01, 2e4, 40), 4)
    drawn, _, (_, d_size, _) = clamped(name, shape, size, by_mean)
    assert (drawn.scale > 0).all()
    assert (d_size == 0.0).all()
    _, _, (_, d_size, _) = clamped(name, [0.5, 2.0], [1.01 * LEAST_MEAN] * 2, by_mean)
    assert (d_size != 0.0).all()


@both_heads
@both
def test_an_activation_at_its_bounds_passes_no_gradient(monkeypatch, name, by_mean):
    shape = np.full(200, LOW_SHAPE * 1.01)
    for size in (1e-25, 1e60):
        drawn, _, with_outer = clamped(name, shape, np.full(200, size), by_mean, outer=1e3)
        _, _, without = clamped(name, shape, np.full(200, size), by_mean, outer=0.0)
        stuck = (drawn.theta == LEAST_THETA) | (drawn.theta == MOST_THETA)
        assert stuck.sum() > 20
        for one, other in zip(with_outer, without, strict=True):
            assert np.array_equal(one[stuck], other[stuck])


@both
def test_a_prior_shape_too_small_counts_as_the_least_and_passes_no_gradient(name):
    shape, size = np.geomspace(0.1, 10.0, 5), np.ones(5)
    _, least, _ = clamped(name, shape, size, True, prior=LEAST_PRIOR)
    for prior in (0.0, 5e-324, LEAST_PRIOR / 2, LEAST_PRIOR):
        _, lost, (_, _, d_prior) = clamped(name, shape, size, True, prior=prior)
        assert np.array_equal(lost, least)
        assert (d_prior == 0.0).all()
    _, _, (_, _, d_prior) = clamped(name, shape, size, True, prior=LEAST_PRIOR * 1.01)
    assert (d_prior != 0.0).all()


@both
def test_a_huge_prior_shape_is_finite(name):
    clamped(name, np.geomspace(0.1, 10.0, 5), np.full(5, 1e25), True, prior=1e30)


# ------------------------------------------------------------------ the bound where prior shapes are far below .01

WORDS = np.array([2, 1, 2])
TOPICS = np.array([[0.6, 0.0], [0.4, 0.0], [0.0, 1.0]])  # the last word is explained by the second topic alone
UPPER = np.array([[1.0, 0.999], [1e-5, 1e-3]])
SMALL = {"one layer": ((TOPICS,), (1.3, 1e-4)), "two layers": ((TOPICS, UPPER / UPPER.sum(axis=0)), (1.2, 0.3))}


def enumerate_evidence(phi, r):
    """ln p(WORDS) with all rates c = 1: a sum over the topics of all words, theta^(1) integrated out exactly.

    Given the shapes a of theta^(1), n_k words of topic k have probability Gamma(a_k + n_k) / Gamma(a_k) 2^-(a_k + n_k),
    a polynomial in a_k but for 2^-a_k.  The sum of the a_k is that of theta^(2), so Gauss and Laguerre's rule is exact.
    """
    parts = [[(i, n - i) for i in range(n + 1)] for n in WORDS]
    if len(phi) == 1:
        shapes, weights = np.array([r]), np.array([0.5 ** sum(r)])
    else:
        rules = [special.roots_genlaguerre(6, shape - 1.0) for shape in r]
        rate = 1.0 + math.log(2.0)
        nodes = np.array(list(itertools.product(*(rule[0] / rate for rule in rules))))
        chances = [rule[1] / special.gamma(shape) * rate**-shape for rule, shape in zip(rules, r, strict=True)]
        shapes, weights = nodes @ phi[1].T, np.outer(*chances).ravel()
    total = 0.0
    for split in itertools.product(*parts):
        numbers = np.array(split)
        ways = np.prod(phi[0] ** numbers / special.factorial(numbers))
        total += ways * (
            weights @ np.prod(special.poch(shapes, numbers.sum(axis=0)) * 0.5 ** numbers.sum(axis=0), axis=1)
        )
    return math.log(total)


def fit_encoder(phi, r, **settings):
    """A model of these topics after a few hundred steps of its encoder, and 200 documents of the same words."""
    layers = tuple(table.shape[1] for table in phi)
    usual = {"prior": "paper", "counts": "encoder", "kl_weight": 1.0, "kl_warm_up": 0, "learning_rate": 0.02}
    at = hybrid.make_setup(datm.Config(layers=layers, **(usual | settings)), Facts(len(WORDS), 200), 1)
    topics = {"phi": tuple(np.ascontiguousarray(table) for table in phi), "r": np.array(r)}
    state, docs = hybrid.init_state(at, 1)._replace(**topics), plain_datm.rows(np.tile(WORDS, (200, 1)))
    for _ in range(300):
        state = plain_datm.step(at, 7, state, docs)[0]._replace(**topics)
    return at, state, docs


@pytest.mark.parametrize("inference", ["whai", "iwhai", "ghai"])
@pytest.mark.parametrize("name", SMALL)
def test_it_is_a_bound_where_prior_shapes_are_tiny(name, inference):
    """False alarm 1e-5; seeds fixed.  It must be near, so that a bound of another prior would lie above."""
    phi, r = SMALL[name]
    at, state, docs = fit_encoder(phi, r, inference=inference)
    drawn = np.array([hybrid_step.learn_encoder(at, seed, state, docs, None).elbo for seed in range(40)]) / 200
    known, error = enumerate_evidence(phi, r), drawn.std() / np.sqrt(len(drawn))
    assert known - 1.5 < drawn.mean() < known + 4.3 * error


def test_the_enumeration_is_the_integral():
    phi, r = (TOPICS,), (1.3, 0.4)
    one, two = (special.gammaln(shape + n) - special.gammaln(shape) for shape, n in zip(r, (3, 2), strict=True))
    words = np.log(0.6**2 * 0.4 / 2.0 / 2.0)  # over 2! 1! 2!
    assert enumerate_evidence(phi, r) == pytest.approx(one + two + words - (5 + sum(r)) * math.log(2.0))
    deep, rng = SMALL["two layers"], np.random.default_rng(3)
    above = rng.gamma(deep[1], size=(400_000, 2)) @ deep[0][1].T
    after = above + np.array([3, 2])
    given = np.exp(special.gammaln(after) - special.gammaln(above) - after * math.log(2.0))
    drawn = given.prod(axis=1) * np.exp(words)
    error = drawn.std() / np.sqrt(len(drawn))
    assert abs(drawn.mean() - math.exp(enumerate_evidence(*deep))) < 4.5 * error
