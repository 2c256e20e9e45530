"""Counts from activations already drawn, against exact laws; false-alarm rate 1e-5 a test."""

import itertools

import naive
import numba
import numpy as np
import pytest
from drawing import RARE, chi_square, mean_is
from plain_datm import rows
from scipy import special, stats

from topiary.engine.gibbs import collapsed
from topiary.engine.gibbs.local import FINEST, LINKS, Sampler, find_token_starts
from topiary.engine.gibbs.tokens import MANY_SLOTS
from topiary.engine.gibbs.upper import Hyper
from topiary.engine.pool import Pool
from topiary.engine.streams import LOCAL, REDRAW, Address

pytestmark = pytest.mark.skipif(numba.config.DISABLE_JIT, reason="many draws, too slow with the compiler off")


def sampler_of(n_threads=1):
    return Sampler(Hyper(0.01, 0.01, 1.0, 1.0), LINKS["poisson"], collapsed=True, expected=False, pool=Pool(n_threads))


def lifted(table, phi, r, theta, c=None, *, factor=1.0, n_threads=1, first=0, step=1):
    """Counts of documents whose activations are ``theta``."""
    sampler, docs = sampler_of(n_threads), rows(table, first)
    glob = sampler.pack_globals(phi, r)
    local = sampler.allocate_locals(glob, docs)
    if len(theta) > 1:
        local.theta[:] = np.concatenate(theta[1:], axis=1)
    if c is not None:
        local.c[:] = c
    sampler.assign_tokens(glob, Address(5, LOCAL, step), docs, local, theta[0])
    address = Address(5, REDRAW, step)
    return local, sampler.scale_counts(glob, address, sampler.carry_counts(glob, address, docs, local), factor)


def small(seed=1, widths=(12, 6, 4, 3), n=30):
    rng = np.random.default_rng(seed)
    phi = tuple(np.ascontiguousarray(rng.dirichlet(np.full(a, 0.4), b).T) for a, b in itertools.pairwise(widths))
    theta = [rng.gamma(0.5, size=(n, width)) for width in widths[1:]]
    return phi, rng.gamma(1.0, size=widths[-1]), theta, rng.poisson(1.0, (n, widths[0])), rng.gamma(2.0, size=(n, 3))


def test_totals_are_conserved_from_the_words_to_the_top():
    phi, r, theta, table, c = small()
    local, got = lifted(table, phi, r, theta, c, factor=2.5)
    assert len(local.topics) == table.sum()
    words, second, third = (layer / 2.5 for layer in got.tables)
    np.testing.assert_allclose(words.sum(axis=1), table.sum(axis=0), rtol=1e-12)
    for lower, upper in ((words.sum(axis=0), second.sum(axis=1)), (second.sum(axis=0), third.sum(axis=1))):
        assert (upper <= lower + 1e-9).all()
        assert np.array_equal(upper > 0, lower > 0)
    assert (got.top / 2.5 <= third.sum(axis=0) + 1e-9).all()
    unit = 2.5 * 30 * FINEST  # rates are summed in whole numbers of it, rounded for each of thirty documents
    assert got.q == pytest.approx(2.5 * naive.link_rates(c)[:, -1].sum(), abs=unit / 2)


def test_documents_keep_their_counts_in_any_company_and_with_any_number_of_threads():
    phi, r, theta, table, c = small(n=60)
    whole, together = lifted(table, phi, r, theta, c)
    again, twice = lifted(table, phi, r, theta, c, n_threads=2)
    assert np.array_equal(whole.topics, again.topics)
    for one, other in zip((*together.tables, together.top), (*twice.tables, twice.top), strict=True):
        assert np.array_equal(one, other)
    part = slice(20, 35)
    alone, _ = lifted(table[part], phi, r, [layer[part] for layer in theta], c[part], first=20)
    before = table[:20].sum()
    assert np.array_equal(alone.topics, whole.topics[before : before + len(alone.topics)])


WEIGHTS = {
    "ordinary": np.array([0.4, 0.1, 0.2, 0.3, 0.6, 0.9, 0.05]),
    "some of them zero": np.array([0.0, 0.5, 0.0, 0.2, 0.0, 0.3, 0.0]),
    "far apart": np.array([1.0, 1e-200, 0.0, 2.0, 1e-310, 3.0, 0.5]),
}


@pytest.mark.parametrize("name", WEIGHTS)
def test_tokens_are_split_in_proportion_to_topic_and_activation(name):
    weights, n = WEIGHTS[name], 40_000
    phi = np.vstack([weights, np.full(len(weights), 0.5)])
    theta = np.tile(np.linspace(0.3, 2.0, len(weights)), (n, 1))
    table = np.zeros((n, 2), dtype=int)
    table[:, 0] = 2
    local, got = lifted(table, (phi,), np.ones(len(weights)), [theta])
    law = weights * theta[0]
    law = np.where(law / law.sum() > 1e-12, law / law.sum(), 0.0)
    pairs = local.topics.reshape(n, 2).astype(int)
    assert chi_square(pairs[:, 0], law) > RARE
    assert chi_square(pairs @ [len(weights), 1], np.outer(law, law).ravel()) > RARE, "two tokens are not independent"
    assert np.array_equal(got.tables[0][0], np.bincount(pairs.ravel(), minlength=len(weights)))


def through(law, crt):
    """Law of CRT(n, .) where n has a law of its own; ``crt(n)`` is the law given n."""
    total = np.zeros(len(law))
    for n, chance in enumerate(law):
        total[: n + 1] += chance * crt(n)
    return total


def test_tables_go_up_by_the_restaurant_and_split_by_the_activations_above():
    """One topic below two: n tokens, CRT(n, a) tables, binomially to two topics, CRT(m, r) above them."""
    n_tokens, n, share = 7, 4_000, np.array([1.3, 0.4])
    phi = (np.ones((1, 1)), np.ones((1, 2)))
    r = np.array([0.7, 1.9])
    found = []
    for j in range(n):
        _, got = lifted(np.array([[n_tokens]]), phi, r, [np.ones((1, 1)), share[None, :]], first=j)
        found.append([*got.tables[1][0], *got.top])
    found = np.array(found).astype(int)
    law = naive.crt_law(n_tokens, share.sum())
    assert chi_square(found[:, :2].sum(axis=1), law) > RARE
    for k in range(2):
        part = through(law, lambda t, k=k: stats.binom.pmf(np.arange(t + 1), t, share[k] / share.sum()))
        assert chi_square(found[:, k], part) > RARE
        assert chi_square(found[:, 2 + k], through(part, lambda m, k=k: naive.crt_law(m, r[k]))) > RARE


def test_one_layer_sends_its_tables_straight_to_r():
    n_tokens, r = 9, np.array([0.35])
    found = [
        int(lifted(np.array([[n_tokens]]), (np.ones((1, 1)),), r, [np.ones((1, 1))], step=step)[1].top[0])
        for step in range(4_000)
    ]
    assert chi_square(np.array(found), naive.crt_law(n_tokens, r[0])) > RARE


def test_tables_of_one_layer_in_long_and_short_documents_have_the_mean_of_the_restaurant():
    """Counts above and below the number of seats, and documents that have none of a topic."""
    table = np.array([[3, 0], [0, 5], [collapsed.SEATS - 1, 1], [collapsed.SEATS, 0], [200, 70]])
    phi, r = (np.eye(2),), np.array([0.35, 4.0])
    found = np.array([lifted(table, phi, r, [np.ones((5, 2))], step=step)[1].top for step in range(2_000)])
    for k in range(2):
        chances = [r[k] / (r[k] + i) for n in table[:, k] for i in range(n)]
        deviation = np.sqrt(sum(p * (1.0 - p) for p in chances))
        assert mean_is(found[:, k], sum(chances), deviation) > RARE / 2
        np.testing.assert_allclose(found[:, k].std(), deviation, rtol=0.1)


def test_documents_without_words_leave_no_count():
    phi, r, theta, table, c = small()
    _, got = lifted(np.zeros_like(table), phi, r, theta, c)
    assert all((layer == 0).all() for layer in got.tables)
    assert (got.top == 0).all()
    assert got.q > 0


def test_batches_met_in_turn_each_know_where_their_tokens_begin():
    first, second = rows(np.array([[2, 1, 0], [0, 0, 3]]), 0), rows(np.array([[1, 0, 0], [4, 1, 1]]), 0)
    again = first._replace(counts=first.counts * 2)  # the same starts, other counts
    for docs, tokens in ((first, [0, 3, 6]), (second, [0, 1, 7]), (first, [0, 3, 6]), (again, [0, 6, 12])):
        for _ in range(2):
            assert find_token_starts(docs).tolist() == tokens


def test_topics_of_a_document_follow_their_posterior_among_many_topics():
    """The loop for many topics, with slots used again: every assignment of five tokens to the three topics of weight.

    ``P(z) ~ prod_i phi_{w_i z_i} prod_k Gamma(n_k + r_k) / Gamma(r_k)``, the same bits with two threads.
    """
    n, words, of_weight = 30_000, np.array([0, 0, 1, 1, 1]), np.array([3, 100, 519])
    phi, r = np.zeros((2, 520)), np.full(520, 0.05)
    phi[:, of_weight], r[of_weight] = [[0.5, 0.2, 0.3], [0.1, 0.6, 0.3]], [0.3, 0.8, 0.5]
    every = np.array(list(itertools.product(range(3), repeat=5)))
    used = (every[:, :, None] == np.arange(3)).sum(axis=1)
    logs = np.log(phi[words, of_weight[every]]).sum(axis=1) + special.gammaln(used + r[of_weight]).sum(axis=1)
    law = np.exp(logs - special.logsumexp(logs))
    docs, found = rows(np.tile([2, 3], (n, 1))), []
    for n_threads in (1, 2):
        sampler = sampler_of(n_threads)
        glob = sampler.pack_globals((phi,), r)
        local = sampler.start_locals(glob, docs, Address(5, LOCAL, 1))
        for step in (2, 3):
            plan = collapsed.SweepPlan(fresh=False, burn_in=9, collect=1)
            sampler.gather(glob, Address(5, LOCAL, step), docs, local, plan)
        found.append(np.searchsorted(of_weight, local.topics.reshape(n, 5)))
        assert np.array_equal(of_weight[found[-1]].ravel(), local.topics)
    assert np.array_equal(*found)
    assert chi_square(found[0] @ 3 ** np.arange(4, -1, -1), law) > RARE


@pytest.mark.parametrize("n_layers", [1, 2])
def test_topics_of_a_document_that_uses_most_topics_follow_their_posterior(n_layers):
    """The loop over all topics: words that say nothing leave the prior, a Dirichlet-multinomial law of the counts.

    Each topic has a beta-binomial number of the document's 100 tokens, the same with two threads.
    """
    n, n_topics, rng = 3_000, 43, np.random.default_rng(4)
    phi1, phi2 = np.full((5, n_topics), 0.2), rng.dirichlet(np.full(n_topics, 3.0), 3).T
    theta = np.array([30.0, 40.0, 10.0])
    a = phi2 @ theta
    phi, r = ((phi1,), a) if n_layers == 1 else ((phi1, np.ascontiguousarray(phi2)), np.ones(3))
    docs, found = rows(np.tile([20] * 5, (n, 1))), []
    for n_threads in (1, 2):
        sampler = sampler_of(n_threads)
        glob = sampler.pack_globals(phi, r)
        local = sampler.start_locals(glob, docs, Address(5, LOCAL, 1))
        local.theta[:] = theta[: local.theta.shape[1]]
        for step in range(2, 14):
            sampler.gather(glob, Address(5, LOCAL, step), docs, local, collapsed.SweepPlan(False, 0, 1, first_rates=2))
        found.append(local.topics.reshape(n, 100).copy())
    assert np.array_equal(*found)
    counts = np.stack([np.bincount(topics, minlength=n_topics) for topics in found[0]])
    assert np.mean((counts > 0).sum(axis=1) > MANY_SLOTS) > 0.9
    for k in (0, 20, 42):
        law = stats.betabinom(100, a[k], a.sum() - a[k]).pmf(np.arange(101))
        assert chi_square(counts[:, k], law) > RARE
    alike = (found[0][:, 1:] == found[0][:, :-1]).mean(axis=1)
    assert mean_is(alike, (a * (a + 1)).sum() / (a.sum() * (a.sum() + 1)), alike.std()) > RARE, (
        "a token does not see the one before"
    )
