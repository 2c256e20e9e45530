"""Gammas with counts and with what topics keep follow their laws; false-alarm rate 1e-5 per test, seeds fixed."""

import naive
import numba
import numpy as np
import pytest
from drawing import RARE, chi_square, ks, log_gamma_cdf
from scipy import stats

from topiary.engine.gibbs import gammas
from topiary.engine.streams import TOPICS, start_stream
from topiary.engine.topic_moves import dirichlet
from topiary.engine.topic_moves.dirichlet import COUNTED, KEEPS, REFUSED
from topiary.engine.topic_moves.rows import Blocks, LayerAddress

ROWS, N_TOPICS = (64, 60) if numba.config.DISABLE_JIT else (500, 400)
N = ROWS * N_TOPICS


def draw_gammas(eta, count=0.0, rate=0.0, *, rows=ROWS, seed=9):
    """``Gam(eta + count + Pois(rate))``, as many as there are entries."""
    counts = np.full(rows * N_TOPICS, count)
    phi, kept = (np.full(rows * N_TOPICS, 0.25), np.full(N_TOPICS, 4.0 * rate)) if rate else (np.zeros(0), np.zeros(0))
    new = np.empty((rows, N_TOPICS))
    blocks = -(-rows // 64)
    sums = np.zeros((blocks, N_TOPICS))
    address = LayerAddress(seed, 1, 0)
    dirichlet._draw_gammas(
        counts, dirichlet.KeptWords(phi, kept), dirichlet.make_prior(eta), address, new, Blocks(0, blocks, sums)
    )
    np.testing.assert_allclose(sums.sum(axis=0), new.sum(axis=0), rtol=1e-12)
    return new.ravel()


@pytest.mark.parametrize("eta", [0.1, 0.05, 0.01, 1.0 / 3_000.0, 0.03, 0.0999, 0.4, 0.999, 1.0])
def test_entries_without_counts_follow_their_gamma_on_the_log_scale(eta):
    values = draw_gammas(eta)
    assert (values >= 0.0).all()
    seen = values > 1e-150  # a proposal ends at 2^(-32 / eta), and numbers at 1e-308
    law = log_gamma_cdf(eta)
    least = np.log(1e-150)
    hidden = float(law(least))
    assert stats.binomtest(int((~seen).sum()), N, hidden).pvalue > RARE
    assert ks(np.log(values[seen]), lambda y: (law(y) - hidden) / (1.0 - hidden)) > RARE


@pytest.mark.parametrize("eta", [0.05, 0.01, 0.03, 0.7])
def test_the_tail_above_1_has_its_share_and_its_law(eta):
    values = draw_gammas(eta, seed=2)
    above = values[values > 1.0]
    share = stats.gamma(eta).sf(1.0)
    assert stats.binomtest(len(above), N, share).pvalue > RARE
    assert ks(above, lambda y: 1.0 - stats.gamma(eta).sf(y) / share) > RARE


@pytest.mark.parametrize("eta", [0.05, 0.03, 0.7, 2.5])
@pytest.mark.parametrize("count", [0.04, 0.3, 1.0, 3.0, 40.0, 1e6, 1e12])
def test_entries_with_counts_follow_their_gamma(eta, count):
    values = draw_gammas(eta, count, seed=3)
    assert ks(values, stats.gamma(eta + count).cdf) > RARE


@pytest.mark.parametrize("eta", [0.05, 0.03, 0.7])
@pytest.mark.parametrize("count", [0.0, 2.0])
@pytest.mark.parametrize("rate", [0.02, 0.9, 4.0, 12.0, 300.0, 1e5])
def test_what_is_kept_adds_a_poisson_number_to_the_shape(eta, count, rate):
    """Twice a gamma of shape a + Pois(rate) is a noncentral chi-square of 2 a degrees, noncentrality 2 rate."""
    values = 2.0 * draw_gammas(eta, count, rate, seed=4)
    places = np.quantile(values, np.linspace(0.0, 1.0, 4_001))  # the function is slow: between them it is interpolated
    heights = stats.ncx2(2.0 * (eta + count), 2.0 * rate).cdf(places)
    assert ks(values, lambda x: np.interp(x, places, heights)) > RARE


def test_a_huge_rate_is_a_normal_of_variance_twice_the_rate():
    rate = 1e12
    values = draw_gammas(0.05, 0.0, rate, seed=5)
    assert ks((values - rate) / np.sqrt(2.0 * rate), "norm") > RARE


@pytest.mark.parametrize("rate", [2.0**-17, 1e-3, 0.5, 3.0])
def test_the_chance_to_keep_something_is_exact_also_below_the_first_bits(rate):
    kept = draw_gammas(0.05, 0.0, rate, seed=6) - draw_gammas(0.05, seed=6)  # all but what is kept is the same
    assert (kept >= 0.0).all()
    assert stats.binomtest(int((kept > 0.0).sum()), N, -np.expm1(-rate)).pvalue > RARE


def test_what_is_kept_is_independent_of_what_is_drawn():
    """Both come from one word: with shared bits, the counts of this table would be far from even."""
    rate = 0.7
    drawn = draw_gammas(0.05, seed=7)
    kept = draw_gammas(0.05, 0.0, rate, seed=7) - drawn
    rank = np.argsort(np.argsort(drawn)) * 8 // N
    held = (kept > 0.0).astype(int) + (kept > 1.0)
    shares = np.bincount(held, minlength=3) / N
    assert chi_square(rank * 3 + held, np.tile(shares, 8) / 8.0) > RARE


def test_neighbours_in_a_row_and_rows_of_a_group_are_independent():
    values = stats.rankdata(draw_gammas(0.05, seed=8)).reshape(ROWS, N_TOPICS) * 8.0 / (N + 1.0)
    cells = values.astype(int)
    for one, other in ((cells[:, :-1], cells[:, 1:]), (cells[:-1], cells[1:])):
        assert chi_square((one * 8 + other).ravel(), np.full(64, 1.0 / 64.0)) > RARE


def test_groups_that_are_not_full_are_drawn_too():
    values = draw_gammas(0.05, 1.0, 2.0, rows=3)
    assert (values > 0.0).all()
    assert len(np.unique(values)) == len(values)


ROW = 1 << 40  # a stream's item: the layer in units of this, then the row


def words_of(n_rows, n_topics, counts=None, first=5):
    words, flags = np.zeros(n_rows * n_topics, np.uint64), np.zeros(n_rows * n_topics, np.uint8)
    counts = np.zeros(len(words), np.int64) if counts is None else counts
    dirichlet.fill_words(LayerAddress(3, 8, 2), first, first + n_rows, counts, words, flags)
    return words, flags


def test_every_row_has_the_words_of_its_own_stream():
    words, _ = words_of(4, 7)
    for row in range(4):
        plain = naive.Stream(*start_stream(3, TOPICS, 8, 2 * ROW + 5 + row))
        assert [int(word) for word in words[7 * row : 7 * row + 7]] == [plain.bits() for _ in range(7)]


@pytest.mark.parametrize("root", [10, 17, 20, 31, 32, 100, 1_000, 16_383])
def test_a_proposal_is_the_power_of_the_upper_half_of_its_word(root):
    words, _ = words_of(9, 11)
    x = np.empty(len(words))
    dirichlet.propose_gammas(words, dirichlet.make_prior(1.0 / root), x)
    v = [((int(word) >> 32) + 1) / 2**32 for word in words]
    np.testing.assert_allclose(x, [each**root for each in v], rtol=1e-11, atol=1e-300)


@pytest.mark.parametrize("eta", [0.03, 0.7, 0.999, 1e-5])
def test_a_proposal_for_any_eta_is_such_a_power_too(eta):
    words, _ = words_of(9, 11)
    x = np.empty(len(words))
    dirichlet.propose_gammas(words, dirichlet.make_prior(eta), x)
    v = np.array([((int(word) >> 32) + 1) / 2**32 for word in words])
    np.testing.assert_allclose(x, v ** (1.0 / eta), rtol=1e-8, atol=1e-300)


@pytest.mark.parametrize("eta", [0.1, 0.05, 1.0 / 300.0, 0.03, 0.7])
def test_proposals_that_are_not_flagged_are_accepted_whatever_the_further_bits(eta):
    words, flags = words_of(60, 50)
    x = np.empty(len(words))
    dirichlet.propose_gammas(words, dirichlet.make_prior(eta), x)
    dirichlet.flag_refused(words, x, eta, flags)
    level = 1.0 + np.exp(-1.0) * eta
    begin = np.array([((int(word) >> 16) & 0xFFFF) / 2**16 for word in words])
    taken = (flags & REFUSED) == 0
    assert (((begin + 2.0**-16) * level)[taken] <= np.exp(-x[taken])).all()
    refused = begin * level > np.exp(-x)
    assert (flags & REFUSED)[refused].all()
    assert taken.mean() > (~refused).mean() - 0.02


def test_entries_that_are_not_flagged_keep_nothing_whatever_the_further_bits():
    words, flags = words_of(60, 50)
    rng = np.random.default_rng(1)
    phi, kept = rng.gamma(0.05, size=3_000), rng.uniform(0.0, 20.0, 50)
    rates = np.empty(3_000)
    dirichlet.flag_kept(phi, kept, words, rates, flags)
    np.testing.assert_allclose(rates, phi * np.tile(kept, 60))
    begin = np.array([(int(word) & 0xFFFF) / 2**16 for word in words])
    bare = (flags & KEEPS) == 0
    assert (begin[bare] >= -np.expm1(-rates[bare])).all()
    assert (begin + 2.0**-16 <= rates)[~bare].mean() > 0.9
    assert 0.05 < (~bare).mean() < 0.5


def test_counts_are_flagged_and_flags_can_be_listed_apart():
    counts = np.array([0.0, 3.0, 0.0, 0.25, 0.0, 0.0])
    _, flags = words_of(2, 3, counts)
    assert list(flags) == [0, COUNTED, 0, COUNTED, 0, 0]
    flags[[0, 1]] |= KEEPS
    left, mine = np.empty(6, np.int64), np.empty(6, np.int64)
    n = int(gammas.list_flagged(flags, left))
    assert list(left[:n]) == [0, 1, 3]
    assert list(mine[: int(dirichlet.list_marked(KEEPS, flags, left[:n], mine))]) == [0, 1]
    assert list(mine[: int(dirichlet.list_marked(COUNTED, flags, left[:n], mine))]) == [1, 3]


@pytest.mark.parametrize(("n_topics", "rows"), [(1, 64), (64, 64), (65, 32), (128, 32), (4_096, 1), (9_000, 1)])
def test_groups_of_rows_fill_blocks_and_depend_on_the_width_alone(n_topics, rows):
    assert dirichlet.count_group_rows(n_topics) == rows


RNG = np.random.default_rng(4)


def values(function, arguments):
    return np.array([function(x) for x in arguments], dtype=np.float64)


@pytest.mark.parametrize("least", [2.0**-32, 0.5, 0.999])
def test_the_single_logarithm_is_right_to_single_precision(least):
    x = np.exp(RNG.uniform(np.log(least), 0.0, 300)).astype(np.float32)
    expected = np.log(x.astype(np.float64))
    np.testing.assert_allclose(values(dirichlet.single_logarithm, x), expected, rtol=3e-7, atol=1e-9)


def test_the_single_exponential_is_right_to_single_precision():
    x = RNG.random(300).astype(np.float32)
    np.testing.assert_allclose(values(dirichlet.single_exp_minus, x), np.exp(-x.astype(np.float64)), rtol=5e-7)
    far = np.linspace(1.0, 3.2, 30).astype(np.float32)
    np.testing.assert_allclose(values(dirichlet.single_exp_minus, far), np.exp(-far.astype(np.float64)), rtol=1e-3)


def test_the_single_sine_is_right_to_single_precision():
    y = RNG.uniform(-0.5, 0.5, 300).astype(np.float32)
    expected = np.sin(np.pi * y.astype(np.float64))
    np.testing.assert_allclose(values(dirichlet.single_sine, y), expected, atol=3e-7)
