"""LDA by Gibbs sampling against enumeration, the joint distribution and planted topics.

False-alarm rate 1e-5 per test over all its quantities together, seeds fixed.
"""

import itertools

import numba
import numpy as np
import pytest
import tiny_lda as tiny
from drawing import RARE, bars, mismatch
from scipy import stats

from topiary.engine.contract import Facts, Sweeps, flatten, unflatten
from topiary.engine.corpus import slice_documents
from topiary.engine.gibbs.collapsed import THETA, SweepPlan
from topiary.engine.gibbs.local import LINKS, Sampler
from topiary.engine.gibbs.upper import Hyper
from topiary.engine.hierarchy.topics import pack_topics
from topiary.engine.models.lda_gibbs import kernel as lda_gibbs
from topiary.engine.pool import Pool, add_statistics
from topiary.engine.settings import SettingError
from topiary.engine.streams import INFER, Address

pytestmark = pytest.mark.skipif(numba.config.DISABLE_JIT, reason="many sweeps, too slow with the compiler off")

ALPHA, BETA = (0.5, 1.1), (0.4, 0.9, 0.6)
TABLE = np.array([[2, 0, 1], [0, 1, 1], [0, 0, 0], [1, 1, 0]])
WORLDS, TURNS = 1500, 3


def kernel(table=TABLE, n_threads=1, **changed):
    """The model with the priors of this file."""
    settings = {"layers": (2,), "alpha": ALPHA, "beta": BETA} | changed
    facts = Facts(np.shape(table)[1], len(table), n_tokens=int(np.sum(table)))
    return lda_gibbs.build(lda_gibbs.Config(**settings), facts, n_threads)


def p_values(samples, truth, n_batches=50):
    """p-value of every column's mean, its error estimated from the means of ``n_batches`` stretches of the chain."""
    means = samples.reshape(n_batches, -1, samples.shape[1]).mean(axis=1)
    z = (means.mean(axis=0) - truth) / (means.std(axis=0, ddof=1) / np.sqrt(n_batches))
    return 2.0 * stats.t.sf(np.abs(z), n_batches - 1)


# enumeration


def test_the_topics_of_tokens_follow_the_posterior():
    """Alpha and beta are uneven, so that topics keep their names: the chance of topic 1 of tokens and of pairs."""
    every, chances, _ = tiny.posterior(TABLE, np.array(ALPHA), np.array(BETA))
    made, docs = kernel(), tiny.batch_of(TABLE)
    state = made.prepare(7, made.init(7), docs)
    found = np.empty((6_000, every.shape[1]))
    for i in range(len(found)):
        state, _ = made.step(7, state, docs)
        found[i] = state.topics
    pairs = list(itertools.combinations(range(every.shape[1]), 2))

    def quantities(z):
        return np.concatenate([z, np.stack([z[:, a] == z[:, b] for a, b in pairs], axis=1)], axis=1)

    p = p_values(quantities(found), chances @ quantities(every))
    assert p.min() > RARE / len(p)
    wrong = tiny.posterior(TABLE, np.array((0.9, 0.8)), np.array(BETA))[1]
    assert p_values(quantities(found), wrong @ quantities(every)).min() < RARE / len(p)


def test_topics_follow_their_conditional_with_a_prior_of_every_word():
    made, docs = kernel(), tiny.batch_of(TABLE)
    state = made.prepare(1, made.init(1), docs)
    statistics, _ = made.gather(1, state, docs, made.local(state))
    draws = np.array([made.move(seed, state, statistics)[0].phi for seed in range(4000)])
    shape = statistics.counts + np.array(BETA)[:, None]
    mean = shape / shape.sum(axis=0)
    spread = np.sqrt(mean * (1.0 - mean) / (1.0 + shape.sum(axis=0)))
    p = 2.0 * stats.norm.sf(np.abs(draws.mean(axis=0) - mean) / (spread / np.sqrt(len(draws))))
    assert p.min() > RARE / p.size
    np.testing.assert_allclose(draws.std(axis=0), spread, rtol=0.08)


def test_places_are_posterior_means_and_those_of_the_network_with_every_variable_drawn():
    """Given topics, E[theta | w] by enumeration; the one-layer network with r = alpha has the same shares."""
    phi = np.ascontiguousarray(np.random.default_rng(2).dirichlet(np.full(5, 0.4), 3).T)
    alpha = np.array([0.3, 0.8, 0.5])
    document = np.array([2, 0, 1, 1, 0])
    truth = tiny.shares_given_topics(document, phi, alpha)
    docs = tiny.batch_of(np.tile(document, (600, 1)))
    made = lda_gibbs.build(lda_gibbs.Config(layers=(3,), alpha=tuple(alpha)), Facts(5, 600))
    state = made.init(1)._replace(phi=phi)
    ours = made.infer(1, state, docs, Sweeps(20, 40)).theta[0]
    network = Sampler(Hyper(1.0, 1.0, 1.0, 1.0), LINKS["poisson"], collapsed=False, expected=False, pool=Pool(1))
    glob = network.pack_globals((phi,), alpha)
    plan = SweepPlan(fresh=True, burn_in=20, collect=40, quantity=THETA, first_rates=1 << 30)
    drawn = network.place_documents(glob, Address(1, INFER, 0), docs, plan).theta[0]
    theirs = drawn / drawn.sum(axis=1, keepdims=True)
    for found, bias in ((ours, 0.0), (theirs, 2e-3)):  # a share of means is not quite a mean of shares
        error = found.std(axis=0) / np.sqrt(len(found))
        assert (np.abs(found.mean(axis=0) - truth) < stats.norm.isf(RARE / 6) * error + bias).all()
    assert np.abs(truth - alpha / alpha.sum()).max() > 0.05


# the joint distribution


def world(rng, alpha, beta, lengths):
    """Topics, topics of tokens and words, drawn from the prior."""
    phi = np.stack([rng.dirichlet(beta) for _ in alpha], axis=1)
    z = [rng.choice(len(alpha), n, p=rng.dirichlet(alpha)) for n in lengths]
    return phi, z, [rng.random(n) for n in lengths]


def draw_words(phi, z, rng):
    """Draw the words of all documents again; return a table, and the topics of its tokens in the order of a batch."""
    table, topics = np.zeros((len(z), len(phi)), dtype=int), []
    for d, own in enumerate(z):
        words = np.array([rng.choice(len(phi), p=phi[:, k]) for k in own], dtype=int)
        np.add.at(table[d], words, 1)
        topics.append(own[np.argsort(words, kind="stable")])
    return table, topics


def quantities(phi, z, table):
    """Numbers that know nothing of the order of topics, and, as priors are uneven, some that do."""
    together = [float((np.bincount(own, minlength=2) ** 2).sum()) for own in z]
    used = np.concatenate(z)
    return [
        (phi**2).sum(), phi[0, 0], phi[1, 1], (phi[:, 0] * phi[:, 1]).sum(), *together, used.mean(),
        (table**2).sum(), table[:, 0].sum(), (table[0] * table[1]).sum(), (table.sum(axis=0) * phi[:, 0]).sum(),
    ]  # fmt: skip


def surprise(alpha, assumed):
    """Smallest p-value, times their number, of what three steps change of worlds drawn from the prior."""
    made, rng = kernel(np.zeros((3, 3)), alpha=assumed), np.random.default_rng(11)
    changes = []
    for number in range(WORLDS):
        phi, z, _ = world(rng, np.array(alpha), np.array(BETA), (4, 2, 3))
        table, z = draw_words(phi, z, rng)
        before = quantities(phi, z, table)
        state = made.init(1)
        for turn in range(TURNS):
            state = state._replace(phi=phi, topics=np.concatenate(z).astype(np.uint16), t=np.array(turn))
            state, _ = made.step(number, state, tiny.batch_of(table))
            phi, z = state.phi, np.split(state.topics.astype(int), np.cumsum((4, 2, 3))[:-1])
            table, z = draw_words(phi, z, rng)
        changes.append(np.array(quantities(phi, z, table)) - before)
    values = np.array(changes)
    z_scores = values.mean(axis=0) / (values.std(axis=0) / np.sqrt(WORLDS))
    return 2.0 * stats.norm.sf(np.abs(z_scores)).min() * values.shape[1]


@pytest.mark.nightly
def test_a_step_leaves_the_joint_distribution_alone():
    assert surprise(ALPHA, ALPHA) > RARE


@pytest.mark.nightly
def test_the_comparison_sees_a_prior_that_is_wrong():
    assert surprise(ALPHA, (1.1, 0.5)) < RARE


# concentrations


def log_exponential(value, mean):
    return -value / mean - np.log(mean)


def test_alpha_and_beta_follow_their_posterior_over_every_assignment_of_topics():
    """Means of functions of alpha and beta, and of whether two tokens share a topic, by enumeration on a grid."""
    table, grid = np.array([[2, 1], [0, 2]]), np.exp(np.linspace(np.log(1e-4), np.log(8.0), 60))
    every = np.array(list(itertools.product(range(2), repeat=5)))
    two = np.full(2, 1.0)
    of_alpha = np.array([[tiny.log_joint(table, z, np.full(2, a), two) for z in every] for a in grid])
    of_beta = np.array([[tiny.log_joint(table, z, two, np.full(2, b)) for z in every] for b in grid])
    neither = np.array([tiny.log_joint(table, z, two, two) for z in every])
    logs = of_alpha[:, None, :] + of_beta[None, :, :] - neither  # the joint is a product of two factors
    logs += (log_exponential(grid, 0.8) + np.log(grid))[:, None, None]
    logs += (log_exponential(grid, 0.5) + np.log(grid))[None, :, None]
    chances = np.exp(logs - logs.max())
    chances /= chances.sum()
    shared = (every[:, :1] == every[:, 1:]).astype(float)
    bounded = grid / (1.0 + grid)
    truth = [
        (chances.sum(axis=(1, 2)) * bounded).sum(),
        (chances.sum(axis=(0, 2)) * bounded).sum(),
        *(chances.sum(axis=(0, 1)) @ shared),
    ]
    made, docs = kernel(table, alpha=(0.8,), beta=(0.5,), learn_concentrations=True), tiny.batch_of(table)
    state = made.prepare(7, made.init(7), docs)
    found = np.empty((10_000, 6))
    for i in range(len(found)):
        state, _ = made.step(7, state, docs)
        z, concentrations = state.topics, np.array([state.alpha[0], state.beta[0]])
        found[i] = [*(concentrations / (1.0 + concentrations)), *(z[:1] == z[1:])]
    p = p_values(found, np.array(truth))
    assert p.min() > RARE / len(p), (p, found.mean(axis=0), truth)


def test_several_alphas_become_the_topics_own():
    table = np.random.default_rng(4).poisson(0.8, (30, 6)) * np.array([4, 4, 4, 1, 1, 1])
    made = kernel(table, layers=(3,), alpha=(0.2, 0.2, 0.3), beta=(0.1,), learn_concentrations=True)
    docs = tiny.batch_of(table)
    state = made.prepare(1, made.init(1), docs)
    for _ in range(5):
        state, info = made.step(1, state, docs)
    assert len(set(state.alpha)) == 3
    assert [(each.name, each.value) for each in info.concentrations] == [
        ("alpha", state.alpha.mean()), ("beta", state.beta[0]),
    ]  # fmt: skip
    assert np.array_equal(made.topics(state).r, state.alpha)
    again = made.restore(1, pack_topics(made.topics(state)) | made.keep(state))
    assert np.array_equal(again.alpha, state.alpha)
    assert np.array_equal(again.beta, state.beta)


def test_a_checkpoint_without_concentrations_continues_from_the_given_ones():
    docs = tiny.batch_of(TABLE)
    for learns in (False, True):
        made = kernel(beta=(0.4,), learn_concentrations=learns)
        state = made.prepare(1, made.init(1), docs)
        arrays = {name: each for name, each in flatten(state).items() if name not in ("alpha", "beta")}
        steps = [flatten(made.step(1, each, docs)[0]) for each in (state, unflatten(lda_gibbs.State, arrays))]
        for name, values in steps[0].items():
            if values.size:
                np.testing.assert_array_equal(steps[1][name], values)


def test_a_beta_of_every_word_is_not_learnt():
    with pytest.raises(SettingError, match="learn_concentrations needs a single beta for all words"):
        kernel(learn_concentrations=True)


# steps


@pytest.mark.parametrize("learns", [False, True])
@pytest.mark.parametrize("n_blocks", [3, 7])
def test_blocks_of_documents_count_what_all_count(n_blocks, learns):
    table = np.random.default_rng(4).poisson(0.8, (12, 6))
    table[3] = 0
    docs = tiny.batch_of(table)
    made = kernel(table, layers=(4,), alpha=(0.2,), beta=(0.1,), learn_concentrations=learns)
    state = made.prepare(1, made.init(1), docs)
    whole, local = made.gather(1, state, docs, made.local(state))
    tokens = np.concatenate([[0], np.cumsum(table.sum(axis=1))])
    edges = [12 * i // n_blocks for i in range(n_blocks + 1)]
    total, parts = None, []
    for first, last in itertools.pairwise(edges):
        own = lda_gibbs.TokenTopics(state.topics[tokens[first] : tokens[last]])
        statistics, own = made.gather(1, state, slice_documents(docs, first, last), own)
        total = statistics if total is None else add_statistics(total, statistics)
        parts.append(own.topics)
    np.testing.assert_array_equal(total.counts, whole.counts)
    np.testing.assert_array_equal(total.seats, whole.seats)
    np.testing.assert_array_equal(total.top, whole.top)
    assert total.q == whole.q
    assert (whole.q > 0) == learns
    assert total.documents == whole.documents == 12
    np.testing.assert_array_equal(np.concatenate(parts), local.topics)
    assert whole.counts.sum() == table.sum()


def test_the_mean_of_topics_is_less_noisy_than_the_last_draw():
    truth, table = bars()
    docs = tiny.batch_of(table)
    made = kernel(table, layers=(10,), alpha=(0.1,), beta=(0.1,))
    nearest = []
    for seed in (1, 2, 3):
        state = made.prepare(seed, made.init_from_documents(seed, docs), docs)
        for _ in range(400):  # long enough that the mean has forgotten the first topics
            state, info = made.step(seed, state, docs)
        assert info.tokens == info.token_draws == table.sum()
        drawn, mean = (mismatch(made.topics(each).phi[0], truth) for each in (state, made.find_shown_state(state)))
        assert mean < drawn
        nearest.append(mean)
    assert min(nearest) < 0.05
    (weights,) = made.topics(made.find_shown_state(state)).popularity
    assert weights.sum() == pytest.approx(table.sum())


@pytest.mark.parametrize("table", [[[3]], [[0, 0], [2, 1]], [[0, 0]], [[1, 0, 2]]])
@pytest.mark.parametrize("n_topics", [1, 2])
def test_the_smallest_corpora_are_no_matter(table, n_topics):
    docs = tiny.batch_of(table)
    made = kernel(table, layers=(n_topics,), alpha=(0.0,), beta=(0.05,))
    state = made.prepare(1, made.init_from_documents(1, docs), docs)
    for _ in range(3):
        state, _ = made.step(1, state, docs)
    shown = made.find_shown_state(state)
    assert np.isfinite(made.topics(shown).phi[0]).all()
    np.testing.assert_allclose(made.infer(1, state, docs, None).theta[0].sum(axis=1), 1.0)
