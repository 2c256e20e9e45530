"""Words, proposals and flags are those of the plain twin, and whatever is not flagged is accepted and keeps nothing."""

import naive
import numpy as np
import pytest

from topiary.engine.gibbs import gammas
from topiary.engine.streams import TOPICS, start_stream
from topiary.engine.topic_moves import dirichlet
from topiary.engine.topic_moves.dirichlet import COUNTED, KEEPS, REFUSED
from topiary.engine.topic_moves.rows import LayerAddress

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
