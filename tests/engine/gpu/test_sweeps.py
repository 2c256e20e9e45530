"""The kernels for graphics processors, with one lane on the CPU: the law of the chain, draws, sums and streams."""

import itertools
from math import log1p

import numba
import numpy as np
import pytest
from scipy import stats
from scipy.special import poch

from topiary.engine.contract import Batch
from topiary.engine.gibbs.collapsed import SweepPlan
from topiary.engine.gibbs.local import Locals, TokenTopics
from topiary.engine.gibbs.upper import Hyper
from topiary.engine.gpu import draws, layers
from topiary.engine.gpu.devices import OneLane, read_arrays
from topiary.engine.gpu.memory import choose_lanes, count_bytes
from topiary.engine.gpu.sweeps import DeviceSweeper
from topiary.engine.jit import compiled
from topiary.engine.streams import LOCAL, REDRAW, Address, start_stream

pytestmark = pytest.mark.skipif(numba.config.DISABLE_JIT, reason="many sweeps, too slow with the compiler off")
HYPER = Hyper(0.01, 0.01, 1.0, 1.0)
NEXT = SweepPlan(fresh=False, burn_in=0, collect=1)
KEEP_RATES = NEXT._replace(first_rates=2)


def draw_simplex(rng, rows, columns):
    weights = rng.gamma(1.0, size=(rows, columns))
    return weights / weights.sum(axis=0)


def make_corpus(rng, n_documents, n_words, n_cells):
    words = np.concatenate([np.sort(rng.choice(n_words, n_cells, replace=False)) for _ in range(n_documents)])
    counts = rng.integers(1, 4, len(words)).astype(np.int32)
    starts = np.arange(n_documents + 1, dtype=np.int64) * n_cells
    return Batch(
        words.astype(np.int32), counts, starts, np.full(n_documents, -1), np.arange(n_documents, dtype=np.int64)
    )


class Chain:
    """Sweeps of documents with fixed topics."""

    def __init__(self, phi, r, batch, c, seed=7):
        self.sweeper = DeviceSweeper(OneLane(), HYPER)
        self.phi, self.r, self.batch = phi, r, batch
        n, n_above = len(batch.documents), sum(layer.shape[1] for layer in phi[1:])
        first = np.zeros(int(batch.counts.sum()), np.uint16)
        self.locals = Locals(first, np.zeros(0), np.ones((n, n_above)), np.tile(c, (n, 1)), np.ones(n))
        self.seed, self.step = seed, 0

    @property
    def local(self):
        return self.sweeper.load_locals(self.locals, tuple(layer.shape[1] for layer in self.phi))

    def sweep(self, plan=NEXT):
        self.step += 1
        at = Address(self.seed, LOCAL, self.step)
        sums, swept = self.sweeper.gather(self.phi, self.r, self.batch, self.locals, at, plan, kept=True)
        at = at._replace(purpose=REDRAW)
        self.locals = self.sweeper.redraw(self.phi, self.r, self.batch, swept, at)
        return read_arrays(sums)


def enumerate_law(phi, r, words, c, n_draws):
    """Return the exact chances of all assignments of three tokens, and the means of theta, by draws from the prior."""
    rng = np.random.default_rng(1)
    third = rng.gamma(r, 1.0 / c[2], (n_draws, len(r)))
    second = rng.gamma(third @ phi[2].T, 1.0 / c[1])
    shapes = second @ phi[1].T
    base = np.exp(-log1p(1.0 / c[0]) * second.sum(axis=1))
    chances, means = [], np.zeros(4)
    for topics in itertools.product(range(3), repeat=3):
        weight = base * np.prod([phi[0][word, k] for word, k in zip(words, topics, strict=True)])
        for k, n in enumerate(np.bincount(topics, minlength=3)):
            for i in range(n):
                weight = weight * (shapes[:, k] + i)
        chances.append(weight.mean())
        means += [*(weight @ second / n_draws), *(weight @ third / n_draws)]
    return np.array(chances) / sum(chances), means / sum(chances)


def test_a_chain_of_three_layers_has_the_law_of_the_model():
    rng = np.random.default_rng(3)
    phi, r, c = (draw_simplex(rng, 4, 3), draw_simplex(rng, 3, 2), draw_simplex(rng, 2, 2)), np.array([0.7, 0.4]), None
    c = np.array([0.5, 1.3, 0.8])
    words = np.array([0, 2, 3])
    batch = copy_documents(words, 4000)
    chain = Chain(phi, r, batch, c)
    states, theta = np.zeros(27), np.zeros(4)
    for _ in range(30):
        chain.sweep(KEEP_RATES)
    for _ in range(60):
        chain.sweep(KEEP_RATES)
        states += np.bincount(chain.local.topics.reshape(-1, 3) @ [9, 3, 1], minlength=27)
        theta += np.concatenate([layer[:, :2].mean(axis=0) for layer in chain.local.theta]) / 60
    chances, means = enumerate_law(phi, r, words, c, 400_000)
    assert 0.5 * np.abs(states / states.sum() - chances).sum() < 0.01
    np.testing.assert_allclose(theta, means, rtol=0.03)


def copy_documents(words, n_copies):
    """Return a batch of ``n_copies`` of a document with these words, one token of each."""
    n = len(words)
    return Batch(
        np.tile(words, n_copies).astype(np.int32),
        np.ones(n * n_copies, np.int32),
        np.arange(n_copies + 1, dtype=np.int64) * n,
        np.full(n_copies, -1),
        np.arange(n_copies, dtype=np.int64),
    )


def test_topics_of_tokens_have_the_law_of_lda_and_their_tables_that_of_its_prior():
    rng = np.random.default_rng(6)
    phi, alpha, words, n_copies = draw_simplex(rng, 4, 3), np.array([0.2, 0.9, 0.5]), np.array([0, 2, 2, 3]), 4000
    batch, sweeper = copy_documents(np.array([0, 2, 3]), n_copies), DeviceSweeper(OneLane(), HYPER)
    batch = batch._replace(counts=np.tile([1, 2, 1], n_copies).astype(np.int32))
    local, states, tables, plan = None, np.zeros(81), np.zeros(3), NEXT._replace(first_rates=2)
    for step in range(1, 91):
        sums, swept = sweeper.gather((phi,), alpha, batch, local, Address(7, LOCAL, step), plan)
        local = TokenTopics(np.asarray(sweeper.redraw((phi,), alpha, batch, swept, Address(7, LOCAL, step)).topics))
        if step > 30:
            states += np.bincount(local.topics.reshape(-1, 4) @ [27, 9, 3, 1], minlength=81)
            tables += sums.top / (60 * n_copies)
    assignments = np.array(list(itertools.product(range(3), repeat=4)))
    counts = (assignments[:, :, None] == np.arange(3)).sum(axis=1)
    chances = np.prod(phi[words, assignments], axis=1) * np.prod(poch(alpha, counts), axis=1)
    chances /= chances.sum()
    assert 0.5 * np.abs(states / states.sum() - chances).sum() < 0.01
    opened = [[sum(a / (a + i) for i in range(n)) for a, n in zip(alpha, row, strict=True)] for row in counts]
    np.testing.assert_allclose(tables, chances @ opened, rtol=0.02)


def test_a_chain_starts_with_topics_in_proportion_to_the_words_and_equal_activations():
    rng = np.random.default_rng(9)
    phi, r = (draw_simplex(rng, 4, 5), draw_simplex(rng, 5, 3)), np.full(3, 0.5)
    batch, sweeper = copy_documents(np.array([1, 3]), 20_000), DeviceSweeper(OneLane(), HYPER)
    local = sweeper.start_locals(phi, r, batch, Address(1, LOCAL, 1))
    for i, word in enumerate((1, 3)):
        counts = np.bincount(np.asarray(local.topics)[i::2], minlength=5)
        assert stats.chisquare(counts, phi[0][word] / phi[0][word].sum() * 20_000).pvalue > 1e-4
    assert np.all(np.asarray(local.theta) == np.float32(1 / 3))
    assert np.all(np.asarray(local.c) == 1.0)


def test_a_mini_batch_is_swept_from_the_start_of_a_chain_and_all_its_collected_sweeps_count():
    rng = np.random.default_rng(10)
    phi = tuple(draw_simplex(rng, *shape) for shape in itertools.pairwise((500, 7, 4, 3)))
    r, batch, sweeper = np.full(3, 0.5), make_corpus(rng, 30, 500, 8), DeviceSweeper(OneLane(), HYPER)
    tokens, at = batch.counts.sum(), Address(3, LOCAL, 2)
    plan = SweepPlan(fresh=True, burn_in=4, collect=3, first_rates=2)
    plans = plan, *(plan._replace(burn_in=n, collect=1) for n in (4, 5, 6))
    sums, *parts = (read_arrays(sweeper.gather(phi, r, batch, None, at, each)[0]) for each in plans)
    whole = read_arrays(sweeper.gather(phi, r, batch, None, at, plan, kept=True)[0])
    assert sums.words.sum() == 3 * tokens
    for name in ("words", "upper", "top", "q"):
        assert np.array_equal(getattr(sums, name), getattr(whole, name))
        assert np.array_equal(getattr(sums, name), sum(getattr(part, name) for part in parts))


class FixedTopics(OneLane):
    """A device on which no topic of a token ever changes, nor anything else that is drawn."""

    def launch(self, kernel, n, *arguments):
        if kernel == "tokens":
            arguments[9][:] = arguments[8]  # the new topics are those before
        elif kernel not in {"tables", "activations"}:
            super().launch(kernel, n, *arguments)


@pytest.mark.parametrize("widths", [(5,), (5, 3, 2)])
def test_kept_sweeps_add_the_mean_rates_and_activations_given_counts_and_layers_above(widths):
    rng = np.random.default_rng(12)
    phi = tuple(draw_simplex(rng, *shape) for shape in itertools.pairwise((40, *widths)))
    r, batch = rng.gamma(1.0, size=widths[-1]), make_corpus(rng, 9, 40, 6)
    scored, n = make_corpus(rng, 9, 40, 4), 9
    documents = np.repeat(np.arange(n), np.add.reduceat(batch.counts, batch.starts[:-1]))
    topics = rng.integers(0, widths[0], len(documents)).astype(np.uint16)
    theta, c = rng.gamma(1.0, size=(n, sum(widths[1:]))), rng.gamma(2.0, size=(n, len(widths)))
    sweeper = DeviceSweeper(FixedTopics(), HYPER)
    local = Locals(topics, np.zeros(0), theta, c, np.ones(n))
    plan = SweepPlan(fresh=False, burn_in=3, collect=4, thin=2, first_rates=99)
    _, rates = sweeper.rate_cells(phi, r, batch, scored, local, Address(1, LOCAL, 1), plan)
    counts = np.zeros((n, widths[0]))
    np.add.at(counts, (documents, topics), 1)
    shapes = theta[:, : widths[1]] @ phi[1].T if len(widths) > 1 else r
    mean = (counts + shapes) / (1.0 + c[:, :1])
    expected = (phi[0][scored.words] * mean[np.repeat(np.arange(n), np.diff(scored.starts))]).sum(axis=1)
    np.testing.assert_allclose(rates.cells, 2 * expected, rtol=1e-5)
    np.testing.assert_allclose(rates.totals, 2 * mean.sum(axis=1), rtol=1e-5)
    begin = sweeper._begin
    sweeper._begin = lambda run, start: begin(run, local)  # places begin here, and not at the start of a chain
    placed = sweeper.place_documents(phi, r, batch, Address(1, LOCAL, 1), plan)
    np.testing.assert_allclose(placed.theta[0], mean, rtol=1e-5)
    np.testing.assert_allclose(placed.tokens, counts, rtol=1e-5)
    if len(widths) > 1:
        np.testing.assert_allclose(np.concatenate(placed.theta[1:], axis=1), theta, rtol=1e-5)


@compiled
def fill_gammas(shape, out):
    rng = start_stream(5, 1, 1, np.int64(1000.0 * shape))
    for i in range(len(out)):
        out[i], rng = draws.draw_log_gamma(rng, np.float32(shape))


@pytest.mark.parametrize("shape", [1e-3, 0.03, 0.5, 1.0, 2.5, 300.0])
def test_gammas_have_their_law(shape):
    logs = np.zeros(20_000)
    fill_gammas(shape, logs)
    uniforms = stats.loggamma(shape).cdf(logs)  # of the logarithm, as gammas of small shapes are below 1e-38
    assert stats.kstest(uniforms, "uniform").pvalue > 1e-4


@compiled
def fill_tables(customers, rate, out):
    rng = start_stream(6, 1, 1, customers)
    for i in range(len(out)):
        out[i], rng = draws.draw_tables(rng, customers, np.float32(rate), 0)


@pytest.mark.parametrize(("customers", "rate"), [(1, 0.5), (6, 0.01), (6, 3.0), (40, 1.7)])
def test_numbers_of_tables_have_their_law(customers, rate):
    tables = np.zeros(40_000, np.int64)
    fill_tables(customers, rate, tables)
    exact = np.array([1.0])  # chances of 0, 1, ... tables, customer by customer
    for i in range(customers):
        exact = np.convolve(exact, [i / (rate + i), rate / (rate + i)])
    counts = np.bincount(tables, minlength=len(exact)).astype(float)
    rare = exact * len(tables) < 5
    counts, expected = (np.append(x[~rare], x[rare].sum()) for x in (counts, exact * len(tables)))
    kept = expected > 0
    assert counts[0] == 0.0 if not rare[0] else tables.min() > 0
    if kept.sum() > 1:
        assert stats.chisquare(counts[kept], expected[kept] * counts.sum() / expected[kept].sum()).pvalue > 1e-4


def test_rates_have_the_means_of_their_gammas():
    n, sums = 20_000, np.array([2.5, 1.5, 0.8], np.float32)
    c, scales, q = np.ones((n, 3), np.float32), np.zeros((n, 3), np.float32), np.zeros((1, layers.SLOTS), np.int64)
    numbers, starts = np.arange(n), np.arange(n + 1) * 9
    layers.draw_rates(
        HYPER, 3, 2, 1, numbers, starts, np.tile(sums[:2], (n, 1)), float(sums[2]), True, True, c, scales, q
    )
    p = 1.0 / (1.0 + c[:, 0].astype(float))
    assert stats.kstest(p, stats.beta(0.01 + 9, 0.01 + 2.5).cdf).pvalue > 1e-4
    assert stats.kstest(c[:, 1], stats.gamma(1 + 1.5, scale=1 / (1 + 2.5)).cdf).pvalue > 1e-4
    assert stats.kstest(c[:, 2], stats.gamma(1 + 0.8, scale=1 / (1 + 1.5)).cdf).pvalue > 1e-4
    second = np.log1p(1.0 / c[:, 0])
    third = np.log1p(second / c[:, 1])
    np.testing.assert_allclose(scales[:, 2], 1.0 / (c[:, 2] + third), rtol=1e-5)
    np.testing.assert_allclose(q.sum() * 2.0**-32, np.log1p(third / c[:, 2]).sum(), rtol=1e-5)


@pytest.mark.parametrize("widths", [(5,), (7, 3), (12, 5, 3), (9, 6, 4, 2), (8, 6, 5, 3, 2), (1, 1)])
def test_counts_agree_with_each_other_at_any_number_and_width_of_layers(widths):
    rng = np.random.default_rng(2)
    phi = tuple(draw_simplex(rng, *shape) for shape in itertools.pairwise((30, *widths)))
    batch = make_corpus(rng, 20, 30, 6)
    chain = Chain(phi, np.full(widths[-1], 0.5), batch, np.ones(len(widths)))
    for _ in range(3):
        sums = chain.sweep()
    assert np.array_equal(sums.words.sum(axis=1), np.bincount(batch.words, batch.counts, minlength=30))
    assert np.array_equal(sums.words.sum(axis=0), np.bincount(chain.local.topics, minlength=widths[0]))
    below, first = sums.words.sum(axis=0), 0
    for rows, columns in itertools.pairwise(widths):
        table = sums.upper[first : first + rows * columns].reshape(rows, columns)
        assert np.all(table.sum(axis=1) <= below)
        assert np.array_equal(table.sum(axis=1) > 0, below > 0)
        below, first = table.sum(axis=0), first + rows * columns
    assert np.all(sums.top <= below)
    assert np.array_equal(sums.top > 0, below > 0)
    for layer, width in zip(chain.local.theta, widths[1:], strict=True):
        assert np.all(layer[:, :width] > 0)
        assert not layer[:, width:].any()


def test_a_document_has_the_same_draws_whichever_documents_are_swept_with_it():
    rng = np.random.default_rng(4)
    phi = (draw_simplex(rng, 30, 6), draw_simplex(rng, 6, 3))
    batch = make_corpus(rng, 10, 30, 5)
    part = batch.cells.rows(4, 7).batch(batch.documents[4:7])
    whole, alone = (Chain(phi, np.full(3, 0.5), docs, np.ones(2)) for docs in (batch, part))
    for chain in (whole, alone):
        chain.sweep()
    for ours, theirs in zip(whole.local.theta, alone.local.theta, strict=True):
        assert np.array_equal(ours[4:7], theirs)
    assert np.array_equal(whole.local.c[4:7], alone.local.c)


def test_vocabularies_beyond_16_bits_and_1024_topics_are_swept():
    rng = np.random.default_rng(5)
    phi = (draw_simplex(rng, 70_000, 1024), draw_simplex(rng, 1024, 3))
    words = np.array([1, 65_536, 69_999], np.int32)
    batch = Batch(words, np.full(3, 5, np.int32), np.array([0, 3]), np.array([-1]), np.array([0]))
    chain = Chain(phi, np.full(3, 0.5), batch, np.ones(2))
    sums = chain.sweep()
    assert np.array_equal(np.flatnonzero(sums.words.sum(axis=1)), words)
    assert sums.words.sum() == 15


def test_the_memory_of_a_corpus_is_that_of_its_arrays():
    widths = (128, 64, 32)
    for_tokens = count_bytes(widths, 10_000, 0, 10**6) - count_bytes(widths, 10_000, 0, 0)
    assert for_tokens == 6 * 10**6
    assert count_bytes(widths, 70_000, 0, 10**6) - count_bytes(widths, 70_000, 0, 0) == 8 * 10**6


def test_few_documents_and_wide_layers_have_all_lanes_of_a_warp():
    assert choose_lanes((128, 64), 20_000) == 8
    assert choose_lanes((128, 64), 19_999) == 32
    assert choose_lanes((64, 129), 20_000) == 32


def draw_prior(rng, phi, r, hyper, n):
    """Return theta of layers 2 and 3 and the rates c of ``n`` documents, from the model."""
    p = rng.beta(hyper.a0, hyper.b0, n)
    c = np.stack([(1 - p) / p, *(rng.gamma(hyper.e0, 1.0 / hyper.f0, n) for _ in range(2))], axis=1)
    third = rng.gamma(r, 1.0 / c[:, 2:])
    second = rng.gamma(np.maximum(third @ phi[2].T, 1e-12)) / c[:, 1:2]
    return np.concatenate([second, third], axis=1), c


def draw_documents(rng, phi, shapes, c):
    """Return a batch, and the topic of every token, given the shapes of theta^(1)."""
    tokens = rng.poisson(rng.gamma(np.maximum(shapes, 1e-12)) / c[:, None])
    topics = np.repeat(np.tile(np.arange(tokens.shape[1]), len(tokens)), tokens.ravel())
    ends = np.cumsum(phi[0], axis=0).T
    words = (rng.random(len(topics))[:, None] > ends[topics, :-1]).sum(axis=1).astype(np.int32)
    starts = np.concatenate([[0], np.cumsum(tokens.sum(axis=1))])
    numbers = np.arange(len(tokens), dtype=np.int64)
    batch = Batch(words, np.ones(len(words), np.int32), starts, np.full(len(tokens), -1), numbers)
    return batch, topics.astype(np.uint16), tokens


def simulate_joint(hyper, n=3000, turns=25):
    """Return quantities of documents before and after turns of a sweep given the words and words given the rest."""
    rng, model = np.random.default_rng(8), Hyper(3.0, 4.0, 5.0, 4.0)
    phi = (draw_simplex(rng, 5, 3), draw_simplex(rng, 3, 2), draw_simplex(rng, 2, 2))
    r = np.array([1.5, 0.8])
    theta, c = draw_prior(rng, phi, r, model, n)
    sweeper, counts = DeviceSweeper(OneLane(), hyper), 0
    found = []
    for turn in range(turns + 1):
        shapes = counts + theta[:, :2] @ phi[1].T
        batch, topics, counts = draw_documents(rng, phi, shapes, c[:, 0] + (turn > 0))
        if turn in (0, turns):
            found.append([counts.sum(axis=1), *theta.T, *c.T, theta[:, 0] * c[:, 1], theta[:, 2] * c[:, 2]])
        local = Locals(topics, np.zeros(0), theta, c, np.ones(n))
        at = Address(4, LOCAL, turn + 1)
        _, swept = sweeper.gather(phi, r, batch, local, at, NEXT)
        local = sweeper.redraw(phi, r, batch, swept, at._replace(purpose=REDRAW))
        theta, c = np.asarray(local.theta), np.asarray(local.c)
        counts = np.zeros_like(counts)
        documents = np.repeat(np.arange(n), np.diff(batch.starts))
        np.add.at(counts, (documents, np.asarray(local.topics)), 1)
    return [stats.ks_2samp(before, after).pvalue for before, after in zip(*found, strict=True)]


@pytest.mark.slow
def test_the_joint_distribution_of_words_and_variables_is_that_of_the_model():
    assert min(simulate_joint(Hyper(3.0, 4.0, 5.0, 4.0))) > 1e-4  # Geweke's test


@pytest.mark.slow
def test_the_test_of_the_joint_distribution_notices_a_wrong_prior():
    assert min(simulate_joint(Hyper(3.0, 4.0, 5.5, 4.0))) < 1e-6
