"""Gammas that are drawn together: proposals as the exact draw judges them, laws, and the functions they are made of."""

import numpy as np
import pytest
from scipy import stats

from topiary.engine.gibbs import augment, gammas
from topiary.engine.jit import compiled
from topiary.engine.streams import Stream, start_stream

RNG = np.random.default_rng(4)


def values(function, arguments):
    return np.array([function(x) for x in arguments], dtype=np.float64)


@compiled
def drawn(rng, rows, space, out):
    for row in range(rows):
        rng = gammas.draw_gammas(rng, out.shape[1], space)
        out[row] = space.out[: out.shape[1]]
    return rng


def draws(shapes, rows, item=1):
    """Draws of ``shapes`` together, (rows, shapes), the space after the last ones, and the stream behind them."""
    space, out = gammas.make_gamma_space(len(shapes) + 2), np.empty((rows, len(shapes)))
    space.shapes[: len(shapes)] = shapes
    rng = Stream(*(np.uint64(word) for word in start_stream(5, 6, 7, item)))
    return out, space, drawn(rng, rows, space, out)


SHAPES = np.array([1e-3, 0.02, 0.09, 0.3, 0.999, 1.0, 1.4, 6.0, 300.0])


@pytest.mark.parametrize("place", range(len(SHAPES)))
def test_draws_have_the_law_of_their_shape(place):
    x = draws(SHAPES, 40_000)[0][:, place]
    seen = x > 1e-290  # smaller ones are not told apart: 0.51 of those of shape 1e-3
    least = stats.gamma.cdf(1e-290, SHAPES[place])
    assert abs(seen.mean() - (1.0 - least)) < 5.0 * np.sqrt(least * (1.0 - least) / len(x)) + 1e-9
    ranks = (stats.gamma.cdf(x[seen], SHAPES[place]) - least) / (1.0 - least)
    assert stats.kstest(ranks, "uniform").pvalue > 1e-4
    assert np.isfinite(x).all()


def test_draws_of_one_call_and_of_calls_in_a_row_are_independent():
    x = np.log(draws(np.full(40, 0.7), 4_000)[0])
    between = np.corrcoef(x.T)[np.triu_indices(40, 1)]
    later = [np.corrcoef(x[:-1, i], x[1:, i])[0, 1] for i in range(40)]
    assert np.abs([*between, *later]).max() < 5.0 / np.sqrt(4_000)


def test_the_same_stream_gives_the_same_draws_and_goes_on_behind_them():
    out, _, rng = draws(SHAPES, 3)
    again, _, same = draws(SHAPES, 3)
    assert np.array_equal(out, again)
    assert rng == same
    assert not np.isin(out, draws(SHAPES, 3, item=2)[0]).any()


def test_no_draw_is_below_0_and_a_shape_of_0_gives_next_to_nothing():
    x = draws(np.array([0.0, 1e-300, 1e-12]), 2_000)[0]
    assert (x >= 0.0).all()
    assert (x < 1e-280).all()


def test_a_proposal_that_passes_the_quick_test_is_one_that_the_exact_test_accepts():
    failed = 0
    for shape in np.repeat(SHAPES[SHAPES >= 1.0], 1_000):
        value, z, u, doubtful = gammas.propose_gamma(np.uint64(RNG.integers(1 << 64, dtype=np.uint64)), shape)
        failed += doubtful
        judged, accepted = augment.judge_large_gamma(shape, z, u)
        assert doubtful or (accepted and np.isclose(value, judged, rtol=1e-12))
    assert 0.01 < failed / 4_000 < 0.15


@pytest.mark.parametrize("least", [1e-300, 1e-9, 0.5, 1.0 - 1e-9])
def test_the_logarithm_is_right_to_1e_10(least):
    x = np.exp(RNG.uniform(np.log(least), 0.0, 300))
    np.testing.assert_allclose(values(gammas.logarithm, x), np.log(x), rtol=1e-9, atol=1e-10)


def test_the_logarithm_of_a_number_next_to_1_keeps_its_digits():
    x = 1.0 - np.geomspace(1e-15, 1e-3, 50)
    np.testing.assert_allclose(values(gammas.logarithm, x), np.log(x), rtol=1e-9)
    assert gammas.logarithm(1.0) == 0.0


def test_the_logarithm_of_0_is_far_down_and_no_nan():
    assert gammas.logarithm(0.0) < -700.0


@pytest.mark.parametrize("exponent", [1.0, 1.7, 33.3, 5_000.5])
def test_a_power_is_right_to_1e_8_and_never_below_the_smallest_normal_number(exponent):
    x = np.append(np.exp(-RNG.exponential(size=300) / exponent), [2.0**-32, 1.0])
    got = values(lambda each: gammas.power(each, exponent), x)
    np.testing.assert_allclose(got, np.maximum(x**exponent, np.exp(-708.0)), rtol=1e-8)
