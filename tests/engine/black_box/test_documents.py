"""Gradients of documents against enumeration and numerical integration, and what they tell of the weights."""

from itertools import pairwise

import numba
import numpy as np
import pytest
from scipy import special, stats

from topiary.engine import streams
from topiary.engine.black_box import documents, inference, weights
from topiary.engine.black_box.documents import Loadings, Params
from topiary.engine.black_box.families import (
    BERNOULLI,
    GAMMA,
    IDENTITY,
    LEAST_MEAN,
    LEAST_RATE,
    LOGARITHM,
    POISSON,
    SIGMOID,
    SOFTPLUS,
    SOFTPLUS_LINK,
)
from topiary.engine.black_box.inference import InferencePlan
from topiary.engine.black_box.weights import Prior
from topiary.engine.contract import Batch
from topiary.engine.pool import Pool, add_statistics
from topiary.engine.shared_settings import Schedule

pytestmark = pytest.mark.skipif(numba.config.DISABLE_JIT, reason="many documents, too slow with the compiler off")

W, COUNT, WEIGHT, BIAS = 0.8, 3, 1.4, 0.2
LEVELS = (np.arange(20_000) + 0.5) / 20_000


def copies(n):
    """A document with one word three times, so often: their draws differ, their laws do not."""
    return Batch(
        np.zeros(n, np.int32), np.full(n, COUNT, np.int32), np.arange(n + 1), np.full(n, -1, np.int32), np.arange(n)
    )


def plan_of(model, *, scores, samples=2, aside=1, n_words=1, n_documents=8, draws=1):
    positive = Prior(GAMMA, model.kind, 0.1, 0.3)
    upper = positive if model.positive else Prior(3, model.kind, 0.0, 1.0)
    layers = len(model.offsets) - 1
    pace = Schedule(0.1, 20.0, 0.5)
    return InferencePlan(
        model, (positive, *(upper for _ in range(layers - 1))), n_words, n_documents, samples, aside, draws, scores,
        pace, 10.0, 10**6, Pool(1), {},
    )  # fmt: skip


def local_of(model, n, first, second):
    total = len(first)
    two = total if model.family == GAMMA else 0
    zeros = np.zeros((n, total), np.float32)
    rows = [np.tile(np.asarray(each, np.float32), (n, 1)) for each in (first, second)]
    return Params(rows[0], rows[1][:, :two], zeros, zeros[:, :two])


def given_of(model):
    matrix = np.array([[WEIGHT, BIAS][: 1 + model.bias]])
    upper = documents.pad_matrices(model, (matrix,) if len(model.offsets) == 3 else ())
    return Loadings(np.full((1, 1), W, np.float32), np.array([W]), upper)


def gradients(model, first, second, *, scores, samples=2, n=20_000):
    """One estimate of the gradient for every copy, (copies, T, parameters), and the mean bound."""
    plan = plan_of(model, scores=scores, samples=samples, aside=0)
    docs, local = copies(n), local_of(model, n, first, second)
    step = inference._DocumentStep(plan, 4, streams.LOCAL, 1, docs, local, plan.control_samples)
    sums, terms, trace = step.init_sums(), inference._make_terms(plan, wanted=False), inference._make_trace(plan, docs)
    bound = sum(step.add_sample(given_of(model), i, sums, terms, trace) for i in range(samples)) / samples / n
    return (sums if plan.is_pathwise else sums.gradient) / samples, bound


def differences(bound, parameters, h=1e-4):
    """Central differences of a bound along every parameter."""
    found = []
    for place in range(len(parameters)):
        ends = []
        for sign in (1, -1):
            moved = np.array(parameters, float)
            moved[place] += sign * h
            ends.append(bound(moved))
        found.append((ends[0] - ends[1]) / (2 * h))
    return np.array(found)


def bound_gamma(kind, parameters):
    """Two gamma units one above the other, by integration over quantiles; parameters are (firsts, seconds)."""
    first, second = np.asarray(parameters[:2]), np.asarray(parameters[2:])
    if kind == SOFTPLUS:
        shape, scale = np.log1p(np.exp(first)), np.log1p(np.exp(second))
    else:
        shape, scale = np.exp(first), np.exp(second - first)
    z = [stats.gamma.ppf(LEVELS, shape[i], scale=scale[i]) for i in range(2)]
    log_z, mean = special.digamma(shape) + np.log(scale), shape * scale
    words = COUNT * np.log(W * z[0] + LEAST_RATE).mean() - special.gammaln(COUNT + 1) - W * mean[0]
    a, m = 0.3, WEIGHT * z[1] + LEAST_MEAN
    below = (
        (a - 1) * log_z[0] - a * mean[0] * (1 / m).mean() + a * np.log(a) - a * np.log(m).mean() - special.gammaln(a)
    )
    top = (a - 1) * log_z[1] - 0.3 * mean[1] + a * np.log(0.3) - special.gammaln(a)
    entropy = shape + np.log(scale) + special.gammaln(shape) + (1 - shape) * special.digamma(shape)
    return float(words + below + top + entropy.sum())


@pytest.mark.parametrize("scores", [False, True])
@pytest.mark.parametrize("kind", [SOFTPLUS, LOGARITHM])
def test_gradients_of_gamma_units_are_those_of_the_bound(kind, scores):
    """Two layers of one unit against numerical integration; 4.5 standard errors and the grid's, seed 4."""
    model = documents.make_model(GAMMA, IDENTITY, kind, 0.3, 1.0, (1, 1))
    first, second = np.array([1.1, 1.6]), np.array([0.4, 0.2])
    got, bound = gradients(model, first, second, scores=scores, n=60_000 if scores else 20_000)
    start = np.concatenate([first, second])
    wanted = differences(lambda p: bound_gamma(kind, p), start).reshape(2, 2).T
    error = got.std(axis=0) / np.sqrt(len(got))
    assert (np.abs(got.mean(axis=0) - wanted) < 4.5 * error + 0.01).all()
    assert bound == pytest.approx(bound_gamma(kind, start), abs=0.05)
    if not scores:
        assert error.max() < 0.05  # what makes the test one


def discrete_bound(model, first, z):
    """Two discrete units by enumeration of their values ``z``."""
    if model.family == BERNOULLI:
        chance = special.expit(first)
        q = [np.where(z == 1, p, 1 - p) for p in chance]
        density = lambda values, m: values * m - np.log1p(np.exp(m))  # noqa: E731
    else:
        rate = np.log1p(np.exp(first))
        q = [stats.poisson.pmf(z, r) for r in rate]
        mean = (lambda m: m) if model.link == IDENTITY else (lambda m: np.log1p(np.exp(m)))
        density = lambda values, m: stats.poisson.logpmf(values, mean(m) + LEAST_MEAN)  # noqa: E731
    below, above = z[:, None], z[None, :]
    words = COUNT * np.log(W * below + LEAST_RATE) - W * below - special.gammaln(COUNT + 1)
    joint = words + density(below, WEIGHT * above + BIAS) + density(above, model.top)
    chances = q[0][:, None] * q[1][None, :]
    return float((chances * (joint - np.log(np.maximum(chances, 1e-300)))).sum())


@pytest.mark.parametrize(("family", "link"), [(BERNOULLI, SIGMOID), (POISSON, IDENTITY), (POISSON, SOFTPLUS_LINK)])
def test_gradients_of_discrete_units_are_those_of_the_bound(family, link):
    """Two layers of one unit against enumeration; 4.5 standard errors, seed 4."""
    model = documents.make_model(family, link, LOGARITHM, 0.3, 0.3, (1, 1))
    first = np.array([1.5, 0.3])
    z = np.arange(2 if family == BERNOULLI else 40)
    got, bound = gradients(model, first, first, scores=False, n=60_000)
    wanted = differences(lambda p: discrete_bound(model, p, z), first)
    error = got[:, :, 0].std(axis=0) / np.sqrt(len(got))
    assert (np.abs(got[:, :, 0].mean(axis=0) - wanted) < 4.5 * error + 1e-6).all()
    assert bound == pytest.approx(discrete_bound(model, first, z), abs=0.2)


def few(seed=2, n=30, n_words=12):
    rng = np.random.default_rng(seed)
    table = rng.poisson(0.6, (n, n_words))
    table[3] = 0
    rows, words = np.nonzero(table)
    starts = np.concatenate([[0], np.cumsum((table > 0).sum(1))])
    numbers = np.arange(n) * 3 + 1
    return Batch(words.astype(np.int32), table[rows, words].astype(np.int32), starts, np.full(n, -1, np.int32), numbers)


def begun(model, plan, docs, seed=3):
    rng = np.random.default_rng(seed)
    widths = np.diff(model.offsets)
    made = [
        weights.init_weights(
            plan.priors[0], np.full((plan.n_words, widths[0]), 1.0), rng.gamma(1.0, 0.3, (12, widths[0]))
        )
    ]
    for low, high in pairwise(widths):
        level = rng.gamma(1.0, 0.5, (low, high + model.bias))
        made.append(weights.init_weights(plan.priors[1], np.full(level.shape, 0.8), level))
    return tuple(made), inference.init_units(plan, inference.fix_means(plan, tuple(made)), docs)


def cut(docs, begin, end):
    counts = docs.cells.rows(begin, end)
    return Batch(counts.words, counts.values, counts.starts, docs.labels[begin:end], docs.documents[begin:end])


VARIANTS = [
    (GAMMA, IDENTITY, False),
    (GAMMA, IDENTITY, True),
    (BERNOULLI, SIGMOID, False),
    (BERNOULLI, SIGMOID, True),
    (POISSON, IDENTITY, False),
    (POISSON, SOFTPLUS_LINK, False),
]


@pytest.mark.parametrize(("family", "link", "scores"), VARIANTS)
@pytest.mark.parametrize("blocks", [3, 7])
def test_blocks_of_documents_tell_the_same_as_all_at_once(family, link, scores, blocks):
    model = documents.make_model(family, link, LOGARITHM, 0.3, 0.4, (4, 3, 2))
    docs = few()
    plan = plan_of(model, scores=scores, samples=8, aside=2, n_words=12, n_documents=30, draws=2)
    matrices, local = begun(model, plan, docs)
    whole, moved = inference.gather_statistics(plan, 9, 1, matrices, docs, local)
    edges = np.linspace(0, 30, blocks + 1).astype(int)
    total, parts = None, []
    for begin, end in pairwise(edges):
        block, part = inference.gather_statistics(
            plan, 9, 1, matrices, cut(docs, begin, end), Params(*(each[begin:end] for each in local))
        )
        total = block if total is None else add_statistics(total, block)
        parts.append(part)
    for name, one, two in zip(whole._fields, whole, total, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-9, atol=1e-9, err_msg=name)
    for place, each in enumerate(moved):
        np.testing.assert_array_equal(each, np.concatenate([part[place] for part in parts]))


def test_mini_batches_read_every_document_once_a_pass_and_move_only_these():
    model = documents.make_model(GAMMA, IDENTITY, LOGARITHM, 0.3, 1.0, (4, 2))
    docs = few()
    plan = plan_of(model, scores=False, n_words=12, n_documents=30)._replace(batch=8)
    matrices, local = begun(model, plan, docs)
    read = [inference.choose_documents(plan, 9, t, docs.documents) for t in range(1, 5)]
    assert sorted(np.concatenate(read).tolist()) == list(range(30))
    assert not np.array_equal(read[0], inference.choose_documents(plan, 9, 5, docs.documents)), (
        "the next pass is cut otherwise"
    )
    got, moved = inference.gather_statistics(plan, 9, 2, matrices, docs, local)
    assert int(got.documents) == len(read[1])
    still = np.setdiff1d(np.arange(30), read[1])
    np.testing.assert_array_equal(moved.first[still], local.first[still])
    full = np.flatnonzero(np.diff(docs.starts)[read[1]] > 0)
    assert (moved.first[read[1][full]] != local.first[read[1][full]]).any(axis=1).all()


def test_pulls_on_the_words_are_expected_counts():
    """Summed over topics they are the counts of every word: the ratios times rates."""
    model = documents.make_model(GAMMA, IDENTITY, LOGARITHM, 0.3, 1.0, (4, 2))
    docs = few()
    plan = plan_of(model, scores=False, n_words=12, n_documents=30)
    matrices, local = begun(model, plan, docs)
    got, _ = inference.gather_statistics(plan, 9, 1, matrices, docs, local)
    counted = np.bincount(docs.words, docs.counts, minlength=12)
    np.testing.assert_allclose(got.value_gradient.sum(axis=1), counted, rtol=1e-4)
