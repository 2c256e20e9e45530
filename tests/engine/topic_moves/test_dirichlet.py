"""Gammas with counts and with what topics keep follow their laws; false-alarm rate 1e-5 per test, seeds fixed."""

import numba
import numpy as np
import pytest
from drawing import RARE, chi_square, ks, log_gamma_cdf
from scipy import stats

from topiary.engine.topic_moves import dirichlet
from topiary.engine.topic_moves.rows import Blocks, LayerAddress

ROWS, TOPICS = (64, 60) if numba.config.DISABLE_JIT else (500, 400)
N = ROWS * TOPICS


def gammas(eta, count=0.0, rate=0.0, *, rows=ROWS, seed=9):
    """``Gam(eta + count + Pois(rate))``, as many as there are entries."""
    counts = np.full(rows * TOPICS, count)
    phi, kept = (np.full(rows * TOPICS, 0.25), np.full(TOPICS, 4.0 * rate)) if rate else (np.zeros(0), np.zeros(0))
    new = np.empty((rows, TOPICS))
    blocks = -(-rows // 64)
    sums = np.zeros((blocks, TOPICS))
    address = LayerAddress(seed, 1, 0)
    dirichlet._draw_gammas(
        counts, dirichlet.KeptWords(phi, kept), dirichlet.make_prior(eta), address, new, Blocks(0, blocks, sums)
    )
    np.testing.assert_allclose(sums.sum(axis=0), new.sum(axis=0), rtol=1e-12)
    return new.ravel()


@pytest.mark.parametrize("eta", [0.1, 0.05, 0.01, 1.0 / 3_000.0, 0.03, 0.0999, 0.4, 0.999, 1.0])
def test_entries_without_counts_follow_their_gamma_on_the_log_scale(eta):
    values = gammas(eta)
    assert (values >= 0.0).all()
    seen = values > 1e-150  # a proposal ends at 2^(-32 / eta), and numbers at 1e-308
    law = log_gamma_cdf(eta)
    least = np.log(1e-150)
    hidden = float(law(least))
    assert stats.binomtest(int((~seen).sum()), N, hidden).pvalue > RARE
    assert ks(np.log(values[seen]), lambda y: (law(y) - hidden) / (1.0 - hidden)) > RARE


@pytest.mark.parametrize("eta", [0.05, 0.01, 0.03, 0.7])
def test_the_tail_above_1_has_its_share_and_its_law(eta):
    values = gammas(eta, seed=2)
    above = values[values > 1.0]
    share = stats.gamma(eta).sf(1.0)
    assert stats.binomtest(len(above), N, share).pvalue > RARE
    assert ks(above, lambda y: 1.0 - stats.gamma(eta).sf(y) / share) > RARE


@pytest.mark.parametrize("eta", [0.05, 0.03, 0.7, 2.5])
@pytest.mark.parametrize("count", [0.04, 0.3, 1.0, 3.0, 40.0, 1e6, 1e12])
def test_entries_with_counts_follow_their_gamma(eta, count):
    values = gammas(eta, count, seed=3)
    assert ks(values, stats.gamma(eta + count).cdf) > RARE


@pytest.mark.parametrize("eta", [0.05, 0.03, 0.7])
@pytest.mark.parametrize("count", [0.0, 2.0])
@pytest.mark.parametrize("rate", [0.02, 0.9, 4.0, 12.0, 300.0, 1e5])
def test_what_is_kept_adds_a_poisson_number_to_the_shape(eta, count, rate):
    """Twice a gamma of shape a + Pois(rate) is a noncentral chi-square of 2 a degrees, noncentrality 2 rate."""
    values = 2.0 * gammas(eta, count, rate, seed=4)
    places = np.quantile(values, np.linspace(0.0, 1.0, 4_001))  # the function is slow: between them it is interpolated
    heights = stats.ncx2(2.0 * (eta + count), 2.0 * rate).cdf(places)
    assert ks(values, lambda x: np.interp(x, places, heights)) > RARE


def test_a_huge_rate_is_a_normal_of_variance_twice_the_rate():
    rate = 1e12
    values = gammas(0.05, 0.0, rate, seed=5)
    assert ks((values - rate) / np.sqrt(2.0 * rate), "norm") > RARE


@pytest.mark.parametrize("rate", [2.0**-17, 1e-3, 0.5, 3.0])
def test_the_chance_to_keep_something_is_exact_also_below_the_first_bits(rate):
    kept = gammas(0.05, 0.0, rate, seed=6) - gammas(0.05, seed=6)  # all but what is kept is the same
    assert (kept >= 0.0).all()
    assert stats.binomtest(int((kept > 0.0).sum()), N, -np.expm1(-rate)).pvalue > RARE


def test_what_is_kept_is_independent_of_what_is_drawn():
    """Both come from one word: with shared bits, the counts of this table would be far from even."""
    rate = 0.7
    drawn = gammas(0.05, seed=7)
    kept = gammas(0.05, 0.0, rate, seed=7) - drawn
    rank = np.argsort(np.argsort(drawn)) * 8 // N
    held = (kept > 0.0).astype(int) + (kept > 1.0)
    shares = np.bincount(held, minlength=3) / N
    assert chi_square(rank * 3 + held, np.tile(shares, 8) / 8.0) > RARE


def test_neighbours_in_a_row_and_rows_of_a_group_are_independent():
    values = stats.rankdata(gammas(0.05, seed=8)).reshape(ROWS, TOPICS) * 8.0 / (N + 1.0)
    cells = values.astype(int)
    for one, other in ((cells[:, :-1], cells[:, 1:]), (cells[:-1], cells[1:])):
        assert chi_square((one * 8 + other).ravel(), np.full(64, 1.0 / 64.0)) > RARE


def test_groups_that_are_not_full_are_drawn_too():
    values = gammas(0.05, 1.0, 2.0, rows=3)
    assert (values > 0.0).all()
    assert len(np.unique(values)) == len(values)
