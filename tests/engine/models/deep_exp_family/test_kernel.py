"""Deep exponential families: planted topics, Poisson factorisation as a special case, what is shown of every family."""

import itertools

import numba
import numpy as np
import pytest
from scipy import special

from topiary.engine import settings
from topiary.engine.contract import Counts, Facts, Sweeps
from topiary.engine.hierarchy import completion
from topiary.engine.models.deep_exp_family import kernel as deep_exp_family
from topiary.engine.models.double_def import kernel as double_def

pytestmark = pytest.mark.skipif(numba.config.DISABLE_JIT, reason="many steps, too slow with the compiler off")

SEED = 11


def planted(seed=1, n=160, n_words=24, subjects=3, tokens=40):
    """Documents about one or two of a few subjects that share no word, and the subjects (V, K)."""
    rng = np.random.default_rng(seed)
    own = np.arange(n_words) % subjects
    topics = np.array([np.where(own == k, rng.gamma(2.0, 1.0, n_words), 0.0) for k in range(subjects)]).T
    topics /= topics.sum(axis=0)
    shares = rng.dirichlet(np.full(subjects, 0.15), n)
    table = np.array([rng.multinomial(tokens, topics @ share) for share in shares])
    return batch_of(table), topics


def batch_of(table):
    rows, words = np.nonzero(table)
    counts = Counts.of((table > 0).sum(axis=1), words.astype(np.int32), table[rows, words].astype(np.int32))
    return counts.batch(np.arange(len(table), dtype=np.int64))


def run(module, docs, n_words, steps, n_threads=1, **texts):
    config = settings.parse(module.Config, {name: str(value) for name, value in texts.items()})
    n = len(docs.documents)
    kernel = module.build(config, Facts(n_words, n, n_tokens=int(docs.counts.sum())), n_threads)
    state = kernel.prepare(SEED, kernel.init_from_documents(SEED, docs), docs)
    info = None
    for _ in range(steps):
        state, info = kernel.step(SEED, state, docs)
    return kernel, state, info


def matched(found, topics):
    """The smallest cosine between planted topics and those found, in the best order."""
    unit = lambda table: table / np.linalg.norm(table, axis=0)  # noqa: E731
    cosines = unit(topics).T @ unit(found)
    orders = itertools.permutations(range(found.shape[1]), topics.shape[1])
    return max(min(cosines[k, order[k]] for k in range(topics.shape[1])) for order in orders)


VARIANTS = [
    ({}, 60),
    ({"gradient": "score", "samples": 32, "aside": 8}, 60),
    ({"parameters": "softplus", "step": 0.2}, 60),
    ({"family": "bernoulli", "samples": 32, "aside": 8}, 60),
    ({"family": "poisson", "samples": 32, "aside": 8}, 60),
    ({"family": "poisson", "link": "softplus", "samples": 32, "aside": 8}, 60),
    ({"batch_size": 50}, 120),
]


@pytest.mark.parametrize(("texts", "steps"), VARIANTS, ids=lambda each: str(each).replace("'", "") if each else "gamma")
def test_planted_topics_are_found_and_the_bound_rises(texts, steps):
    docs, topics = planted()
    _, _, first = run(deep_exp_family, docs, 24, 1, layers="3-2", **texts)
    kernel, state, last = run(deep_exp_family, docs, 24, steps, layers="3-2", **texts)
    shown = kernel.topics(state)
    assert matched(shown.phi[0], topics) > 0.95
    assert last.elbo > first.elbo + 0.5
    np.testing.assert_allclose(shown.phi[0].sum(axis=0), 1.0, atol=1e-9)


def test_a_random_start_finds_them_too():
    docs, topics = planted()
    kernel, state, _ = run(deep_exp_family, docs, 24, 250, layers="4-2", start="random", step=0.2)
    assert matched(kernel.topics(state).phi[0], topics) > 0.9


def factorised(docs, n_words, width, steps, start):
    """Poisson factorisation by coordinate ascent (Gopalan, Hofman and Blei, 2013): rates of W and of z, and a bound."""
    table = np.zeros((len(docs.documents), n_words))
    table[np.repeat(np.arange(len(table)), np.diff(docs.starts)), docs.words] = docs.counts
    shapes = {"z": np.full((len(table), width), 1.0), "w": 0.03 + start * table.sum() / width}
    rates = {"z": np.full((len(table), width), 1.0), "w": np.full((n_words, width), len(table) * 1.0)}
    priors = {"z": (0.3, 0.3), "w": (0.03, 0.3)}
    for _ in range(steps):
        geo = {key: np.exp(special.digamma(shapes[key])) / rates[key] for key in shapes}
        ratio = table / np.maximum(geo["z"] @ geo["w"].T, 1e-300)
        shapes["z"] = 0.3 + geo["z"] * (ratio @ geo["w"])
        rates["z"] = 0.3 + (shapes["w"] / rates["w"]).sum(axis=0) + 0 * shapes["z"]
        shapes["w"] = 0.03 + geo["w"] * (ratio.T @ geo["z"])
        rates["w"] = 0.3 + (shapes["z"] / rates["z"]).sum(axis=0) + 0 * shapes["w"]
    geo = {key: np.exp(special.digamma(shapes[key])) / rates[key] for key in shapes}
    mean = {key: shapes[key] / rates[key] for key in shapes}
    bound = (table * np.log(np.maximum(geo["z"] @ geo["w"].T, 1e-300))).sum() - special.gammaln(table + 1).sum()
    bound -= (mean["z"] @ mean["w"].T).sum()
    for key, (a, b) in priors.items():
        log = special.digamma(shapes[key]) - np.log(rates[key])
        bound += ((a - 1) * log - b * mean[key] + a * np.log(b) - special.gammaln(a)).sum()
        bound += (
            shapes[key]
            - np.log(rates[key])
            + special.gammaln(shapes[key])
            + (1 - shapes[key]) * special.digamma(shapes[key])
        ).sum()
    return mean, bound / len(table)


def test_one_layer_of_gamma_is_poisson_factorisation():
    """Coordinate ascent reaches a bound on the same bound: gradients end at least as high, and at the same rates."""
    docs, topics = planted()
    mean, bound = factorised(docs, 24, 3, 300, topics)
    kernel, state, _ = run(deep_exp_family, docs, 24, 250, layers="3", draws=4)
    elbos = [kernel.step(SEED + look, state, docs)[1].elbo for look in range(5)]
    assert bound - 0.3 < np.mean(elbos) < bound + 1.5
    theta = kernel.infer(SEED, state, docs).theta[0]
    rates = theta @ kernel.topics(state).phi[0].T
    other = mean["z"] @ mean["w"].T
    assert np.corrcoef(rates.ravel(), other.ravel())[0, 1] > 0.99
    assert rates.sum() == pytest.approx(other.sum(), rel=0.03)


def test_gamma_links_say_how_many_tokens_come_with_a_unit_above():
    docs, _ = planted()
    kernel, state, _ = run(deep_exp_family, docs, 24, 100, layers="3-2")
    shown = kernel.topics(state)
    assert shown.units == ("gamma", "gamma")
    (link,) = shown.links
    assert (link.kind, link.response) == ("positive", "linear")
    assert shown.popularity[0].sum() == pytest.approx(40, rel=0.1)  # tokens of a document
    theta = kernel.infer(SEED, state, docs).theta
    assert theta[0].sum(axis=1).mean() == pytest.approx(40, rel=0.05)
    # placed with the weights at their means, which draws of them are not: above layer 1 this tells
    np.testing.assert_allclose(shown.means[1], theta[1].mean(axis=0), rtol=0.7)
    foreseen = theta[1] @ shown.phi[1].T
    assert (
        np.corrcoef(foreseen.ravel(), theta[0].ravel())[0, 1] > 0.4
    )  # two units above cannot tell three subjects apart


@pytest.mark.parametrize(
    ("texts", "units", "kind", "response"),
    [
        ({"family": "bernoulli"}, "binary", "signed", "sigmoid"),
        ({"family": "poisson"}, "count", "positive", "linear"),
        ({"family": "poisson", "link": "softplus"}, "count", "signed", "softplus"),
    ],
)
def test_every_family_says_what_its_units_and_links_are(texts, units, kind, response):
    docs, _ = planted(n=40)
    kernel, state, _ = run(deep_exp_family, docs, 24, 3, layers="3-2", samples=8, aside=2, **texts)
    shown = kernel.topics(state)
    (link,) = shown.links
    assert (shown.units[0], link.kind, link.response) == (units, kind, response)
    assert link.bias.shape == (3,)
    assert [each.shape for each in shown.phi] == [(24, 3), (3, 2)]
    assert all(len(each) == width and each.std() > 0 for each, width in zip(shown.popularity, (3, 2), strict=True))


@pytest.mark.parametrize("module", [deep_exp_family, double_def])
@pytest.mark.parametrize("layers", ["1", "3", "3-1", "4-3-2-2"])
def test_any_depth_and_any_documents_will_do(module, layers):
    tables = [np.array([[2]]), np.array([[0, 0, 3]]), np.zeros((2, 3), dtype=int), np.eye(4, dtype=int)]
    for table in tables:
        docs = batch_of(table)
        kernel, state, info = run(module, docs, table.shape[1], 3, layers=layers)
        assert np.isfinite(info.elbo)
        theta = kernel.infer(SEED, state, docs, Sweeps(1, 1)).theta
        assert all(np.isfinite(each).all() for each in (*theta, *kernel.topics(state).phi))


def test_a_split_shows_a_tenth_of_the_cells_and_no_word_on_both_sides():
    docs, _ = planted(n=50)
    observed, scored = completion.split_cells(3, docs)
    assert len(observed.words) + len(scored.words) == len(docs.words)
    for j in range(50):
        ours, theirs = (set(each.words[each.starts[j] : each.starts[j + 1]].tolist()) for each in (observed, scored))
        assert not ours & theirs
        assert len(ours) == max(1, round(0.1 * (len(ours) + len(theirs)) + 1e-9))
    nothing = completion.split_cells(3, batch_of(np.zeros((2, 3), dtype=int)))
    assert len(nothing[0].words) == len(nothing[1].words) == 0


def test_documents_are_completed_far_better_than_by_chance():
    docs, _ = planted(n=200)
    train, test = docs.cells.rows(0, 150), docs.cells.rows(150, 200)
    kernel, state, _ = run(deep_exp_family, train.batch(docs.documents[:150]), 24, 60, layers="3-2")
    observed, scored = completion.split_cells(3, test.batch(docs.documents[150:]))
    done = completion.complete_documents(kernel, SEED, state, observed, scored)
    unseen = completion.complete_documents(kernel, SEED, state, observed, scored, every=False)
    assert unseen.perplexity < done.perplexity < 20.0
    assert done.steps <= completion.MOST


def test_ndcg_is_one_for_the_right_order_and_less_for_another():
    gains = np.array([0.0, 3.0, 1.0])
    assert completion.compute_ndcg(np.array([0.1, 5.0, 2.0]), gains) == pytest.approx(1.0)
    wanted = (1 / np.log2(3) + 3 / np.log2(4)) / (3 + 1 / np.log2(3))
    assert completion.compute_ndcg(np.array([9.0, 1.0, 2.0]), gains) == pytest.approx(wanted)
    assert np.isnan(completion.compute_ndcg(gains, np.zeros(3)))
