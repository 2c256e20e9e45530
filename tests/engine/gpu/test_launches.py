"""Moves of topics on a device, with one lane on the CPU: their laws, means, and the copies that sweeps read."""

import numba
import numpy as np
import pytest
from scipy import stats

from topiary.engine.gpu.devices import OneLane
from topiary.engine.gpu.launches import DeviceMoves
from topiary.engine.pool import Pool
from topiary.engine.topic_moves import steps
from topiary.engine.topic_moves.rows import LayerAddress
from topiary.engine.topic_moves.steps import TopicMoves

pytestmark = pytest.mark.skipif(numba.config.DISABLE_JIT, reason="many draws, too slow with the compiler off")
POOL, AT = Pool(1), LayerAddress(3, 7, 1)
MOVES = DeviceMoves(OneLane(), POOL)
N = 5000  # topics with the same law


def repeat_topic(column):
    return np.ascontiguousarray(np.tile(np.asarray(column)[:, None], N))


@pytest.mark.parametrize("eta", [0.03, 0.05, 0.7])  # in logarithms; 1 / eta a whole number; and neither
def test_draws_have_the_law_of_dirichlet(eta):
    counts = np.array([0, 1, 0, 12, 3], np.int32)
    phi = np.asarray(MOVES.draw_topics(MOVES.make_table(repeat_topic(counts)), eta, AT))
    np.testing.assert_allclose(phi.sum(axis=0), 1.0)
    shapes = eta + counts
    for row, shape in zip(phi, shapes, strict=True):
        uniforms = stats.beta(shape, shapes.sum() - shape).cdf(row)
        assert stats.kstest(uniforms, "uniform").pvalue > 1e-4
    assert len(np.unique(phi)) == phi.size


def test_logarithms_are_taken_where_all_entries_may_be_below_the_smallest_number():
    counts, eta = np.zeros((4, N), np.int32), 0.002
    phi = np.asarray(MOVES.draw_topics(MOVES.make_table(counts), eta, AT))
    np.testing.assert_allclose(phi.sum(axis=0), 1.0)
    assert phi.max(axis=0).min() > 0.3
    assert np.all(np.abs((phi > 0.5).mean(axis=1) - 0.25) < 0.03)


@pytest.mark.parametrize("simplex", ["exact", "clamp", "reflect"])
def test_steps_have_the_law_of_those_of_the_processor(simplex):
    counts, factor, phi, eps = np.array([0, 2, 0, 9, 1], np.int32), 1.5, [0.05, 0.3, 0.01, 0.6, 0.04], 0.05
    arguments = repeat_topic(phi), repeat_topic(counts)
    scale = np.full(N, 4.0)
    scale[::50] = 0.0  # topics that do not move
    table = MOVES.make_table(arguments[1], factor)
    ours = np.asarray(MOVES.step_topics(simplex, arguments[0], table, 0.2, scale, eps, AT))
    theirs = TopicMoves(POOL).step_topics(simplex, arguments[0], arguments[1] * factor, 0.2, scale, eps, AT)
    still = scale == 0.0
    assert np.array_equal(ours[:, still], arguments[0][:, still])
    for one, other in zip(ours[:, ~still], theirs[:, ~still], strict=True):
        assert stats.ks_2samp(one, other).pvalue > 1e-4
    np.testing.assert_allclose(ours.sum(axis=0), 1.0)
    np.testing.assert_allclose(MOVES.sum_columns(table), arguments[1].sum(axis=0) * factor)


@pytest.mark.parametrize("n_rows", [5, 150])  # less than a block of rows, and more than two
def test_means_are_those_of_the_processor(n_rows):
    rng, n_topics = np.random.default_rng(4), 6
    ours = theirs = steps.init_mean(rng.dirichlet(np.ones(n_rows), n_topics).T)
    for step in range(5):
        counts = rng.poisson(rng.gamma(0.5, 6.0, (n_rows, n_topics))).astype(np.int32)
        counts[:, 1] = 0
        if step == 3:
            counts[:, 0] = np.where(np.arange(n_rows) == 2, 500, 0)  # another topic, so that its mean restarts
        ours, weight = MOVES.update_mean(ours, MOVES.make_table(counts), 0.1, 3)
        theirs, expected = steps.update_mean(theirs, counts, 0.1, POOL, 3)
        assert np.array_equal(np.asarray(weight), expected)
    phi = MOVES.draw_topics(MOVES.make_table(counts), 0.1, AT)
    ours, weight = MOVES.update_mean(ours, phi, 0.0, 3)
    theirs, expected = steps.update_mean(theirs, np.asarray(phi), 0.0, POOL, 3)
    assert np.array_equal(np.asarray(weight), expected)
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(np.asarray(one), other, rtol=1e-6)
    assert np.asarray(ours.samples).tolist()[0] < 3


def test_sweeps_read_the_topics_in_single_precision_and_those_of_upper_layers_transposed_too():
    counts = np.random.default_rng(5).poisson(2.0, (9, 5)).astype(np.int32)
    for layer in (0, 1):
        moved = MOVES.draw_topics(MOVES.make_table(counts), 0.4, AT._replace(layer=layer))
        phi = np.asarray(moved)
        assert phi.dtype == np.float64
        assert np.array_equal(moved.rows[:, :5], phi.astype(np.float32))
        assert not moved.rows[:, 5:].any()
        assert moved.columns.shape[0] == 5 * layer
        if layer:
            assert np.array_equal(moved.columns[:, :9], phi.T.astype(np.float32))
            assert not moved.columns[:, 9:].any()


def test_counts_that_are_no_numbers_end_in_topics_that_are_none():
    phi = np.asarray(MOVES.draw_topics(MOVES.make_table(np.ones((4, 3), np.int32), np.nan), 0.4, AT))
    assert np.isnan(phi).all()
