"""R-hat and bulk ESS of numbers without labels: of chains that agree, that do not, and of too few points."""

import math

import feed_samples
import numpy as np
import pytest

from topiary.app.analysis.mixing import (
    ACTIVE,
    ENTROPY,
    LIKELIHOOD,
    MIXED,
    TOTAL,
    MixingFigure,
    diagnose_chains,
    measure_mixing,
)
from topiary.store import runs
from topiary.store.points import Point


def test_chains_of_one_distribution_are_mixed_and_a_chain_elsewhere_is_noticed():
    draws = np.random.default_rng(1).normal(size=(4, 500))
    rhat, ess = diagnose_chains(draws)
    assert rhat < MIXED
    assert 1400 < ess < 2600  # independent: all 2,000 of them
    apart = draws + np.array([[0.0], [0.0], [0.0], [2.0]])
    rhat, ess = diagnose_chains(apart)
    assert rhat > 1.2
    assert ess < 20


def test_r_hat_is_the_one_of_the_paper():
    """Split chains, rank-normalise, and compare variances between and within: written out once more."""
    from scipy.stats import norm, rankdata

    draws = np.random.default_rng(2).gamma(1.0, size=(3, 40)) + np.array([[0.0], [0.3], [0.6]])

    def plain(values):
        halves = np.concatenate([values[:, :20], values[:, 20:]])
        scores = norm.ppf((rankdata(halves).reshape(halves.shape) - 0.375) / (halves.size + 0.25))
        between, within = 20 * scores.mean(axis=1).var(ddof=1), scores.var(axis=1, ddof=1).mean()
        return math.sqrt((between / within + 19) / 20)

    halves = np.concatenate([draws[:, :20], draws[:, 20:]])
    assert diagnose_chains(draws)[0] == pytest.approx(max(plain(draws), plain(abs(draws - np.median(halves)))))


@pytest.mark.parametrize("draws", [np.ones((4, 50)), np.zeros((1, 50)), np.random.default_rng(1).random((4, 9))])
def test_of_equal_draws_one_chain_or_few_points_nothing_is_known(draws):
    assert all(map(math.isnan, diagnose_chains(draws)))


def record(db, seed, last, names):
    row = feed_samples.run(db)
    rng = np.random.default_rng(seed)
    points = [
        Point(t, t, t, name, layer, math.exp(rng.normal(5, 0.1)) if "perp" in name else rng.normal(3.0 + shift, 0.1))
        for t in range(1, last + 1)
        for name, layer, shift in names
    ]
    runs.record_progress(db, row.number, row.attempt, minibatch=last, seconds=1.0, points=points)
    return row.number


def test_the_points_of_several_runs_are_read_at_their_common_steps_after_burn_in(db):
    every = [("point_perplexity", 0, 0), ("r_sum", 0, 0), ("active_topics", 1, 0), ("share_entropy", 1, 0)]
    one, two = record(db, 1, 100, every), record(db, 2, 90, every)
    old = record(db, 3, 100, [("point_perplexity", 0, 0)])
    found = {(each.name, each.layer): each for each in measure_mixing(db, [one, two, old], 2, 80)}
    assert set(found) == {(LIKELIHOOD, 0), (TOTAL, 0), (ACTIVE, 1), (ACTIVE, 2), (ENTROPY, 1), (ENTROPY, 2)}
    likelihood, total, missing = found[LIKELIHOOD, 0], found[TOTAL, 0], found[ENTROPY, 2]
    assert (likelihood.chains, likelihood.draws) == (3, 40)  # steps 41 to 80
    assert (total.chains, total.draws) == (2, 40)  # the run of an earlier version has no sum of r
    assert (missing.chains, missing.draws) == (0, 0)
    assert math.isnan(missing.rhat)
    assert likelihood.rhat < 1.1
    assert not likelihood.constant


def test_runs_whose_points_are_of_other_steps_are_compared_by_as_many_of_each(db):
    numbers = []
    for seed, steps in ((1, range(2, 101, 2)), (2, range(1, 101, 3))):
        row, rng = feed_samples.run(db), np.random.default_rng(seed)
        points = [Point(t, t, t, "r_sum", 0, rng.normal()) for t in steps]
        runs.record_progress(db, row.number, row.attempt, minibatch=100, seconds=1.0, points=points)
        numbers.append(row.number)
    found = {each.name: each for each in measure_mixing(db, numbers, 1, 100)}
    assert (found[TOTAL].chains, found[TOTAL].draws) == (2, 17)  # of 52, 54 ... and of 52, 55 ... 100
    assert found[TOTAL].verdict == "too few draws to tell"


@pytest.mark.parametrize(
    ("figure", "verdict"),
    [
        (MixingFigure(TOTAL, 0, 2, 10, 0.977, 26.0), "too few draws to tell"),
        (MixingFigure(TOTAL, 0, 2, 10, 2.3, 3.0), "not mixed"),
        (MixingFigure(TOTAL, 0, 4, 100, 1.004, 90.0), "too few draws to tell"),
        (MixingFigure(TOTAL, 0, 4, 100, 1.004, 390.0), "mixed"),
        (MixingFigure(TOTAL, 0, 4, 100, 1.02, 390.0), "not mixed"),
        (MixingFigure(TOTAL, 0, 4, 3, math.nan, math.nan), "not known: 3 draws of each run, 10 are needed"),
        (MixingFigure(TOTAL, 0, 1, 90, math.nan, math.nan), "not known: fewer than two runs have it"),
    ],
)
def test_the_verdict_says_what_is_known_and_whether_the_draws_are_enough(figure, verdict):
    assert figure.verdict == verdict


def test_a_run_that_stays_elsewhere_is_noticed_and_one_number_that_never_changes_too(db):
    numbers = [record(db, seed, 60, [("share_entropy", 1, shift)]) for seed, shift in ((1, 0), (2, 0), (3, 1.0))]
    found = {each.name: each for each in measure_mixing(db, numbers, 1, 60)}
    assert found[ENTROPY].rhat > 1.2
    for number in numbers:
        row = runs.get_run(db, number)
        points = [Point(t, t, t, "active_topics", 1, 4.0) for t in range(1, 61)]
        runs.record_progress(db, number, row.attempt, minibatch=60, seconds=2.0, points=points)
    (constant,) = (each for each in measure_mixing(db, numbers, 1, 60) if each.name == ACTIVE)
    assert constant.constant
    assert math.isnan(constant.rhat)
