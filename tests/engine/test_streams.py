"""Streams of different addresses share nothing; false-alarm rate 1e-5 per test, seeds fixed."""

import itertools

import naive
import numba
import numpy as np
import pytest
from drawing import RARE, chi_square, ks
from scipy import stats

from topiary.engine.gibbs.augment import draw_normal
from topiary.engine.streams import draw_positive, draw_uniform, start_stream

N_STREAMS, N_DRAWS = (400, 64) if numba.config.DISABLE_JIT else (4_000, 64)


@numba.njit
def first_uniforms(seeds, purposes, steps, items, n):
    """(streams, n): the first ``n`` uniforms of every stream."""
    table = np.empty((items.size, n))
    for i in range(items.size):
        rng = start_stream(seeds[i], purposes[i], steps[i], items[i])
        for j in range(n):
            table[i, j], rng = draw_uniform(rng)
    return table


@numba.njit
def uniform_and_positive(words, n):
    """(n, 2): alternately from the half-open interval and the one without 0."""
    table = np.empty((n, 2))
    rng = start_stream(words[0], words[1], words[2], words[3])
    for i in range(n):
        table[i, 0], rng = draw_uniform(rng)
        table[i, 1], rng = draw_positive(rng)
    return table


@numba.njit
def first_normals(items):
    values = np.empty(items.size)
    for i in range(items.size):
        values[i], _ = draw_normal(start_stream(5, 3, 17, items[i]))
    return values


def neighbours(axis, n_draws=N_DRAWS):
    """Uniforms of streams that differ by one in one word of their address."""
    address = [np.full(N_STREAMS, 7, np.int64) for _ in range(4)]
    address[axis] = np.arange(N_STREAMS, dtype=np.int64)
    return first_uniforms(*address, n_draws)


@pytest.mark.parametrize("address", [(0, 0, 0, 0), (1, 2, 3, 4), (2**63 + 5, 1, 2**40, 12), (2**64 - 1, 8, 1, 0)])
def test_a_stream_is_that_of_the_plain_twin(address):
    words = np.array(address, dtype=np.uint64)
    plain = naive.Stream(*start_stream(*words))
    assert uniform_and_positive(words, 20).tolist() == [[plain.uniform(), plain.positive()] for _ in range(20)]


@pytest.mark.parametrize("axis", range(4), ids=["seed", "purpose", "step", "item"])
def test_neighbouring_streams_are_uniform_across_streams_and_along_each(axis):
    table = neighbours(axis)
    assert ks(table[:, 0], "uniform") > RARE
    assert ks(table.ravel(), "uniform") > RARE


@pytest.mark.parametrize("axis", range(4), ids=["seed", "purpose", "step", "item"])
def test_neighbouring_streams_are_independent(axis):
    table = neighbours(axis)
    pairs = np.minimum((table * 8).astype(int), 7)
    assert chi_square((pairs[:-1] * 8 + pairs[1:]).ravel(), np.full(64, 1 / 64)) > RARE / 2
    z = (table - 0.5) * np.sqrt(12.0)
    correlations = (z[:-1] * z[1:]).mean(axis=0) * np.sqrt(len(z) - 1)
    assert stats.kstest(correlations, "norm").pvalue > RARE / 2


def test_streams_shifted_against_each_other_are_independent():
    table = neighbours(3)
    for lag in range(1, 8):
        product = (table[:-1, lag:] - 0.5) * (table[1:, :-lag] - 0.5) * 12.0
        assert abs(product.mean()) * np.sqrt(product.size) < stats.norm.isf(RARE / 14)


def test_the_words_of_an_address_do_not_swap():
    addresses = list(itertools.permutations((1, 2, 3, 4)))
    columns = np.array(addresses, dtype=np.int64).T.copy()
    assert len(np.unique(first_uniforms(*columns, 1))) == len(addresses)


def test_first_normals_of_neighbouring_streams_are_normal():
    assert ks(first_normals(np.arange(50 * N_STREAMS)), "norm") > RARE
