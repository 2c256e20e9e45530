"""Functions of Dirichlet expectations against SciPy's."""

import numba
import numpy as np
import pytest
from scipy import special as scipy_special

from topiary.engine.lda import documents

X = np.concatenate([np.geomspace(2e-3, 1e9, 20_001), np.arange(1.0, 60.0), np.arange(0.5, 60.0)])
LOOPS = {}


def over(function, x):
    """A compiled function of many numbers."""
    if function not in LOOPS:
        LOOPS[function] = numba.njit(lambda x: np.array([function(each) for each in x]))
    return LOOPS[function](x)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (documents.logarithm, np.log),
        (documents.digamma, scipy_special.digamma),
        (documents.log_gamma, scipy_special.gammaln),
    ],
)
def test_a_logarithm_is_right_to_twelve_digits(ours, theirs):
    np.testing.assert_allclose(over(ours, X), theirs(X), rtol=2e-12, atol=2e-12)


def test_the_exponential_of_digamma_is_right_to_ten_digits_and_ends_above_zero():
    x = X[scipy_special.digamma(X) > documents.LEAST_LOG + 10.0]
    np.testing.assert_allclose(over(documents.exp_digamma, x), np.exp(scipy_special.digamma(x)), rtol=1e-10)
    assert (over(documents.exp_digamma, np.array([1e-3, 1e-6, 1e-12])) > 1e-140).all()


def test_the_exponential_is_right_to_twelve_digits():
    x = np.linspace(-319.0, 300.0, 20_001)
    np.testing.assert_allclose(over(documents.exponential, x), np.exp(x), rtol=1e-12)
