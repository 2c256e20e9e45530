"""Coordinate ascent and stochastic variational inference against the bound written out, and against enumeration."""

import itertools

import numba
import numpy as np
import pytest
import tiny_lda as tiny
from drawing import bars, mismatch
from scipy import special as scipy_special

from topiary.engine import models
from topiary.engine.contract import Facts, Sweeps
from topiary.engine.corpus import slice_documents
from topiary.engine.lda import variational
from topiary.engine.pool import Pool, add_statistics

RNG = np.random.default_rng(5)
TABLE = RNG.poisson(0.9, (12, 7))
TABLE[4] = 0
ALPHA, BETA = np.array([0.4, 0.9, 0.2]), np.linspace(0.2, 1.4, 7)
LAM = RNG.gamma(3.0, 1.0, (7, 3))
POOL = Pool(1)
CAVI, SVI = models.load("lda-cavi"), models.load("lda-svi")


def kernel(module=CAVI, table=TABLE, **changed):
    """A model with the priors of this file."""
    settings = {"layers": (3,), "alpha": tuple(ALPHA), "beta": tuple(BETA)} | changed
    n_words = np.shape(table)[1]
    return module.build(module.Config(**settings), Facts(n_words, len(table), n_tokens=int(np.sum(table))))


def started(module=CAVI, table=TABLE, seed=3, **changed):
    """Kernel, state before the first step, documents."""
    made, docs = kernel(module, table, **changed), tiny.batch_of(table)
    return made, made.prepare(seed, made.init(seed), docs), docs


def placed(gamma, rounds):
    """So many rounds of coordinate ascent of the documents of this file, and the table that they read."""
    docs = tiny.batch_of(TABLE)
    table = variational.compute_table(LAM, LAM.sum(axis=0), docs.words, POOL)
    return table, docs, variational.place_documents(table, docs, ALPHA, gamma.copy(), POOL, rounds)


# one round, one bound


def test_a_round_splits_every_count_in_the_proportions_of_the_expected_logarithms():
    gamma = RNG.gamma(2.0, 1.0, (12, 3))
    table, docs, found = placed(gamma, 1)
    p = tiny.split(gamma, LAM)
    np.testing.assert_allclose(found.gamma, ALPHA + (TABLE[:, :, None] * p).sum(axis=1), rtol=1e-9)
    p = tiny.split(found.gamma, LAM)
    counts = np.zeros((7, 3))
    variational.add_counts(table, docs, found, counts, POOL)
    np.testing.assert_allclose(counts, (TABLE[:, :, None] * p).sum(axis=0), rtol=1e-9)


def test_the_complete_bound_never_falls_at_any_update_and_is_what_the_engine_tells():
    gamma, lam = RNG.gamma(2.0, 1.0, (12, 3)), LAM
    bounds = []
    for _ in range(12):
        p = tiny.split(gamma, lam)
        bounds.append(tiny.elbo(TABLE, tiny.Variational(p, gamma, lam), ALPHA, BETA))
        docs = tiny.batch_of(TABLE)
        table = variational.compute_table(lam, lam.sum(axis=0), docs.words, POOL)
        found = variational.place_documents(table, docs, ALPHA, gamma.copy(), POOL, 1)
        gamma = found.gamma
        bounds.append(tiny.elbo(TABLE, tiny.Variational(p, gamma, lam), ALPHA, BETA))
        p = tiny.split(gamma, lam)
        bounds.append(tiny.elbo(TABLE, tiny.Variational(p, gamma, lam), ALPHA, BETA))
        bound = found.bound.sum() - variational.compute_divergence(lam, lam.sum(axis=0), BETA, POOL)
        assert bound == pytest.approx(bounds[-1], rel=1e-9)
        counts = np.zeros((7, 3))
        variational.add_counts(table, docs, found, counts, POOL)
        lam, totals = variational.blend_lambda(lam, counts, BETA, 1.0, 1.0, POOL)
        np.testing.assert_allclose(totals, lam.sum(axis=0), rtol=1e-12)
        bounds.append(tiny.elbo(TABLE, tiny.Variational(p, gamma, lam), ALPHA, BETA))
    assert (np.diff(bounds) > -1e-9).all()
    assert bounds[-1] > bounds[0] + 1.0


def test_the_bound_lies_below_the_evidence_and_meets_it_with_one_topic():
    table = np.array([[2, 1, 0], [0, 1, 2], [1, 0, 1]])
    beta = (0.5, 0.8, 0.3)
    for alpha in ((0.7, 0.4), (0.6,)):
        made, state, docs = started(table=table, layers=(len(alpha),), alpha=alpha, beta=beta)
        for _ in range(60):
            state, info = made.step(1, state, docs)
        _, _, evidence = tiny.posterior(table, np.array(alpha), np.array(beta))
        gap = evidence - info.elbo * len(table)
        assert gap == pytest.approx(0.0, abs=1e-9) if len(alpha) == 1 else 0.01 < gap < 3.0


def test_a_document_without_words_keeps_the_prior_and_adds_nothing_to_the_bound():
    _, _, found = placed(np.tile(ALPHA, (12, 1)), 100)
    np.testing.assert_array_equal(found.gamma[4], ALPHA)
    assert found.bound[4] == pytest.approx(0.0, abs=1e-12)


# steps


def test_from_the_steps_on_where_documents_go_on_the_bound_never_falls():
    for fresh in (0, 4):
        made, state, docs = started(fresh_steps=fresh)
        bounds = []
        for _ in range(30):
            state, info = made.step(1, state, docs)
            bounds.append(info.elbo)
        assert (np.diff(bounds[fresh:]) > -1e-7).all()
        assert bounds[-1] > bounds[0]
        assert info.token_draws == info.tokens, "documents that have settled need one round"


def test_at_the_first_steps_documents_begin_again():
    made, state, docs = started(fresh_steps=100)
    for _ in range(30):
        state, info = made.step(1, state, docs)
    assert info.token_draws > 2 * info.tokens


def test_every_round_has_its_part_in_what_a_step_costs():
    made, state, docs = started()
    _, info = made.step(1, state, docs)
    assert info.tokens == TABLE.sum()
    assert info.tokens < info.token_draws <= 100 * info.tokens


def test_one_step_of_all_documents_with_step_size_1_is_a_step_of_coordinate_ascent():
    made, state, docs = started()
    other, begun, _ = started(SVI, tau=0.0, batch_size=12)
    np.testing.assert_array_equal(begun.lam, state.lam)
    one, info = made.step(1, state, docs)
    two, other_info = other.step(1, begun, docs)
    np.testing.assert_array_equal(one.lam, two.lam)
    assert info.elbo == other_info.elbo
    assert other_info.step_sizes[0].tolist() == [1.0] * 3


def test_steps_shrink_as_the_schedule_says():
    made, state, docs = started(SVI, tau=3.0, kappa=0.8)
    sizes = []
    for _ in range(3):
        state, info = made.step(1, state, docs)
        sizes.append(info.step_sizes[0][0])
    np.testing.assert_allclose(sizes, [4**-0.8, 5**-0.8, 6**-0.8])


def test_minibatches_move_topics_on_average_as_all_documents_do():
    made, state, docs = started(SVI)
    whole, _ = made.step(1, state, docs)
    each = [made.step(1, state, slice_documents(docs, d, d + 1))[0].lam for d in range(12)]
    assert not np.allclose(each[0], whole.lam)
    np.testing.assert_allclose(np.mean(each, axis=0), whole.lam, rtol=1e-9)


@pytest.mark.parametrize("module", [CAVI, SVI])
@pytest.mark.parametrize("n_blocks", [3, 7])
def test_blocks_of_documents_add_up_to_what_all_say(module, n_blocks):
    made, state, docs = started(module)
    state, _ = made.step(1, state, docs)
    whole, local = made.gather(1, state, docs, made.local(state))
    edges = [12 * i // n_blocks for i in range(n_blocks + 1)]
    total, parts = None, []
    for first, last in itertools.pairwise(edges):
        own = None if local is None else type(local)(made.local(state).gamma[first:last])
        statistics, own = made.gather(1, state, slice_documents(docs, first, last), own)
        total = statistics if total is None else add_statistics(total, statistics)
        parts.append(own)
    np.testing.assert_allclose(total.counts, whole.counts, rtol=1e-12)
    assert total.bound == pytest.approx(whole.bound, rel=1e-12)
    assert total[2:] == whole[2:]
    if local is not None:
        np.testing.assert_array_equal(np.concatenate([part.gamma for part in parts]), local.gamma)


def test_blocks_of_many_documents_are_the_same_for_any_number_of_threads():
    table = np.random.default_rng(8).poisson(0.4, (2 * variational.DOCUMENT_BLOCK + 300, 9))
    docs, facts = tiny.batch_of(table), Facts(9, len(table))
    found = []
    for n_threads in (1, 2, 5):
        made = CAVI.build(CAVI.Config(layers=(4,)), facts, n_threads)
        state, _ = made.step(1, made.prepare(1, made.init(1), docs), docs)
        found.append((state.lam.tobytes(), state.gamma.tobytes(), float(state.divergence)))
    assert found[0] == found[1] == found[2]


# predictions


def test_rates_are_expected_shares_times_expected_topics():
    made, state, docs = started()
    scored = tiny.batch_of(np.ones((12, 7), dtype=int))
    chain, found = made.advance_chain(1, state, made.start_chain(1, state, docs), docs, scored, Sweeps(0, 1))
    theta = made.infer(1, state, docs, None).theta[0]
    phi = made.topics(state).phi[0]
    np.testing.assert_allclose(found.cells.reshape(12, 7) / found.totals[:, None], theta @ phi.T, rtol=1e-9)
    np.testing.assert_allclose(chain.gamma / chain.gamma.sum(axis=1, keepdims=True), theta)


def test_topics_rank_by_the_tokens_that_they_are_expected_to_have():
    made, state, docs = started()
    state, _ = made.step(1, state, docs)
    (weights,) = made.topics(state).popularity
    assert weights.sum() == pytest.approx(TABLE.sum())
    assert np.ptp(weights) > 0.1


@pytest.mark.parametrize("name", ["lda-cavi", "lda-svi"])
@pytest.mark.parametrize("table", [[[3]], [[0, 0], [2, 1]], [[0, 0]], [[1, 0, 2]]])
@pytest.mark.parametrize("n_topics", [1, 2])
def test_the_smallest_corpora_are_no_matter(name, table, n_topics):
    module = models.load(name)
    docs = tiny.batch_of(table)
    made = module.build(
        module.Config(layers=(n_topics,)), Facts(len(table[0]), len(table), n_tokens=int(np.sum(table)))
    )
    state = made.prepare(1, made.init_from_documents(1, docs), docs)
    for _ in range(3):
        state, info = made.step(1, state, docs)
    assert np.isfinite(info.elbo)
    assert np.isfinite(made.topics(state).phi[0]).all()
    assert np.isfinite(made.infer(1, state, docs, None).theta[0]).all()


@pytest.mark.parametrize("start", ["clusters", "random"])
def test_coordinate_ascent_finds_planted_topics(start):
    truth, table = bars()
    docs = tiny.batch_of(table)
    made = kernel(table=table, layers=(10,), alpha=(0.1,), beta=(0.1,) * 25, start=start)
    nearest = []
    for seed in (1, 2, 3):
        state = made.prepare(seed, made.init_from_documents(seed, docs), docs)
        for _ in range(80):
            state, _ = made.step(seed, state, docs)
        nearest.append(mismatch(made.topics(state).phi[0], truth))
    assert min(nearest) < 0.06
    assert mismatch(made.topics(made.init(1)).phi[0], truth) > 0.4


def test_minibatches_find_planted_topics():
    truth, table = bars()
    docs = tiny.batch_of(table)
    made = kernel(SVI, table, layers=(10,), alpha=(0.1,), beta=(0.1,) * 25, start="random", tau=1.0)
    state = made.init_from_documents(3, docs)
    for t in range(240):
        begin = 100 * (t % 4)
        state, _ = made.step(3, state, slice_documents(docs, begin, begin + 100))
    assert mismatch(made.topics(state).phi[0], truth) < 0.08


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
        (variational.logarithm, np.log),
        (variational.digamma, scipy_special.digamma),
        (variational.log_gamma, scipy_special.gammaln),
    ],
)
def test_a_logarithm_is_right_to_twelve_digits(ours, theirs):
    np.testing.assert_allclose(over(ours, X), theirs(X), rtol=2e-12, atol=2e-12)


def test_the_exponential_of_digamma_is_right_to_ten_digits_and_ends_above_zero():
    x = X[scipy_special.digamma(X) > variational.LEAST_LOG + 10.0]
    np.testing.assert_allclose(over(variational.exp_digamma, x), np.exp(scipy_special.digamma(x)), rtol=1e-10)
    assert (over(variational.exp_digamma, np.array([1e-3, 1e-6, 1e-12])) > 1e-140).all()


def test_the_exponential_is_right_to_twelve_digits():
    x = np.linspace(-319.0, 300.0, 20_001)
    np.testing.assert_allclose(over(variational.exponential, x), np.exp(x), rtol=1e-12)
