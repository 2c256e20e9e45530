"""Rejection-sampling gradients of gamma draws against closed forms; false-alarm rate 1e-5 a test."""

import numba
import numpy as np
import pytest
from drawing import RARE
from plain_datm import raised_gamma
from scipy import special, stats

from topiary.engine.autoencoder import rsvi

N = 400_000
pytestmark = pytest.mark.skipif(numba.config.DISABLE_JIT, reason="many draws, too slow with the compiler off")

FUNCTIONS = {  # f, f', d E[f] / dk for Gam(k, 1)
    "square": (np.square, lambda z: 2.0 * z, lambda k: 2.0 * k + 1.0),
    "logarithm": (np.log, np.reciprocal, lambda k: special.polygamma(1, k)),
    "exponential": (lambda z: np.exp(-z), lambda z: -np.exp(-z), lambda k: -np.log(2.0) * 2.0**-k),
}


def numbers(monkeypatch, k, steps):
    """Accepted normals and uniforms for ``steps`` in place of B: the sampler is compiled for B, so its shape moves."""
    shape = np.full((N // 100, 100), k + steps - rsvi.STEPS)
    normals, uniforms = rsvi._draw_accepted(11, 1, 1, 0, np.arange(len(shape)), shape)
    monkeypatch.setattr(rsvi, "STEPS", steps)
    return np.full(shape.shape, float(k)), normals, uniforms[..., :steps]


def estimate(monkeypatch, name, k, steps, turn):
    """p-value of the estimated derivative, with the correction multiplied by ``turn``."""
    f, slope, request = FUNCTIONS[name]
    shape, normals, uniforms = numbers(monkeypatch, k, steps)
    log_z, d_log_z = rsvi.transform_standard(shape, normals, uniforms)
    z = np.exp(log_z)
    terms = slope(z) * z * d_log_z + turn * (f(z) - f(z).mean()) * rsvi.compute_score(shape, normals)
    return stats.ttest_1samp(terms.ravel(), request(k)).pvalue


CASES = [(name, k, steps) for name in FUNCTIONS for k, steps in ((0.3, 5), (2.0, 5), (30.0, 5), (0.9, 0), (0.4, 1))]


@pytest.mark.parametrize(("name", "k", "steps"), CASES)
def test_the_corrected_gradient_is_unbiased(monkeypatch, name, k, steps):
    assert estimate(monkeypatch, name, k, steps, 1.0) > RARE


@pytest.mark.parametrize("turn", [0.0, -1.0], ids=["dropped", "turned round"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_without_its_correction_the_gradient_is_biased(monkeypatch, name, turn):
    """At B = 0, where the acceptance says much of the shape: the test above has the power to see it."""
    assert estimate(monkeypatch, name, 0.9, 0, turn) < RARE


@pytest.mark.parametrize("steps", [0, 1, 5])
def test_the_way_through_the_draw_agrees_with_differences(monkeypatch, steps):
    shape, normals, uniforms = (x[:20] for x in numbers(monkeypatch, 1.3, steps))
    log_z, slope = rsvi.transform_standard(shape, normals, uniforms)
    np.testing.assert_allclose(np.exp(log_z), raised_gamma(shape, normals, uniforms), rtol=1e-12)
    h = 1e-5
    up, down = (np.log(raised_gamma(shape + side, normals, uniforms)) for side in (h, -h))
    np.testing.assert_allclose(slope, (up - down) / (2 * h), rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("steps", [0, 1, 5])
def test_the_score_agrees_with_differences(monkeypatch, steps):
    shape, normals, _ = (x[:20] for x in numbers(monkeypatch, 1.3, steps))

    def log_density(k):
        """ln of the law of the accepted normals: Gam(k + B) at the draw times the stretch of the map."""
        a = k + steps
        d = a - 1 / 3
        bend = 1 + normals / np.sqrt(9 * d)
        return stats.gamma.logpdf(d * bend**3, a) + np.log(np.sqrt(d) * bend**2)

    h = 1e-5
    request = (log_density(shape + h) - log_density(shape - h)) / (2 * h)
    np.testing.assert_allclose(rsvi.compute_score(shape, normals), request, rtol=1e-6, atol=1e-8)


def test_the_score_of_many_draws_is_nothing_on_average(monkeypatch):
    shape, normals, _ = numbers(monkeypatch, 0.9, 0)
    assert stats.ttest_1samp(rsvi.compute_score(shape, normals).ravel(), 0.0).pvalue > RARE
