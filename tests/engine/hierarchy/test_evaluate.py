"""Perplexity against its definition, written out by hand."""

import math

import numpy as np
import pytest

from topiary.engine.contract import Batch, Facts, Rates, Sweeps
from topiary.engine.hierarchy import evaluate
from topiary.engine.models.dlda import kernel as dlda


def batch(words, counts, starts) -> Batch:
    n = len(starts) - 1
    kinds = (np.int32, np.int32, np.int64)
    arrays = (np.array(values, dtype=kind) for values, kind in zip((words, counts, starts), kinds, strict=True))
    return Batch(*arrays, np.full(n, -1, dtype=np.int32), np.arange(n))


def test_perplexity_is_that_of_the_definition():
    scored = batch([0, 2, 1], [1, 3, 2], [0, 2, 3])
    rates = Rates(np.array([2.0, 1.0, 5.0]), np.array([4.0, 20.0]))
    logs = 1 * math.log(2 / 4) + 3 * math.log(1 / 4) + 2 * math.log(5 / 20)
    assert evaluate.compute_perplexity(rates, scored) == pytest.approx(math.exp(-logs / 6), rel=1e-14)


def test_perplexity_of_flat_rates_is_the_number_of_words():
    scored = batch([0, 5, 7], [1, 1, 4], [0, 3])
    assert evaluate.compute_perplexity(Rates(np.full(3, 0.5), np.array([0.5 * 11])), scored) == pytest.approx(11.0)


def test_log_likelihood_is_the_mean_over_cells():
    scored = batch([0, 2], [7, 1], [0, 2])
    rates = Rates(np.array([3.0, 6.0]), np.array([12.0]))
    assert evaluate.compute_log_likelihood(rates, scored) == pytest.approx((math.log(3 / 12) + math.log(6 / 12)) / 2)


def test_without_scored_tokens_perplexity_is_nan():
    assert math.isnan(evaluate.compute_perplexity(Rates(np.zeros(0), np.ones(1)), batch([], [], [0, 0])))


def test_a_rate_that_underflows_costs_much_but_not_infinity():
    scored = batch([0], [1], [0, 1])
    assert math.isfinite(evaluate.compute_perplexity(Rates(np.zeros(1), np.ones(1)), scored))


def two_corner_kernel():
    """Topic 0 is word 0 alone, topic 1 is words 1 and 2: rates can be written down."""
    config = dlda.Config(layers=(2,))
    kernel = dlda.build(config, Facts(3, 10))
    phi = np.array([[1.0, 1e-16], [5e-17, 0.5], [5e-17, 0.5]])
    return kernel, kernel.init(1)._replace(phi=(phi,), r=np.array([1.0, 1.0]))


def test_the_rates_of_separable_topics_are_their_conditional_means():
    # 6 tokens of word 0 and 2 of word 1: n = (6, 2) for certain, so E[theta_k] / sum = (n_k + r_k) / (8 + 2)
    kernel, state = two_corner_kernel()
    observed, scored = batch([0, 1], [6, 2], [0, 2]), batch([0, 2], [1, 1], [0, 2])
    chain = kernel.start_chain(3, state, observed)
    _, rates = kernel.advance_chain(3, state, chain, observed, scored, Sweeps(5, 50, 5))
    assert rates.cells / rates.totals[0] == pytest.approx([7 / 10, 0.5 * 3 / 10], rel=1e-12)


def test_thinning_keeps_every_nth_sweep():
    kernel, state = two_corner_kernel()
    observed, scored = batch([0, 1], [6, 2], [0, 2]), batch([0], [1], [0, 1])
    totals = []
    for sweeps in (Sweeps(0, 12, 1), Sweeps(0, 12, 3)):
        chain = kernel.start_chain(3, state, observed)
        totals.append(kernel.advance_chain(3, state, chain, observed, scored, sweeps)[1].totals[0])
    assert 2 < totals[0] / totals[1] < 4.5  # twelve samples against four, each between 0 and 10


def test_words_that_go_together_in_training_predict_each_other():
    kernel, state = two_corner_kernel()
    observed, good, bad = batch([1], [5], [0, 1]), batch([2], [3], [0, 1]), batch([0], [3], [0, 1])
    assert evaluate.evaluate_point(kernel, 1, state, observed, good) < evaluate.evaluate_point(
        kernel, 1, state, observed, bad
    )
