"""DPFA: Geweke's joint-distribution test of its Gibbs sampler, planted topics and networks, and special cases.

Worlds are drawn from the prior with their data; then, in turns, the sampler makes a step given the data and the data
are drawn again given the world.  If the sampler leaves the posterior alone, every quantity keeps its mean; a planted
error must be seen.  False-alarm rate 1e-5 per test over all quantities together, seeds fixed.
"""

import itertools

import numba
import numpy as np
import pytest
import tiny_dpfa as tiny
from drawing import RARE, bars, mismatch
from scipy import stats

from topiary.engine import models, settings
from topiary.engine.contract import Batch, Counts, Facts, Sweeps
from topiary.engine.hierarchy import evaluate
from topiary.engine.models.dpfa import kernel as dpfa
from topiary.engine.models.dpfa import kernel as sampler
from topiary.engine.models.dpfa import steps as belief_steps
from topiary.engine.models.dpfa.steps import NetVariables
from topiary.engine.pool import Pool, add_statistics

WORLDS, TURNS = 600, 3
slow = pytest.mark.skipif(numba.config.DISABLE_JIT, reason="thousands of sweeps, too slow with the compiler off")


def quantities(world):
    """Named quantities that do not depend on the order of topics and units."""
    layers = np.split(world.h.astype(float), np.cumsum([len(bias) for bias in world.biases])[:-1], axis=1)
    score = np.log1p(world.theta)
    found = {
        "r": np.log(world.shapes).sum(),
        "r and h": float((layers[0].mean(axis=0) * np.log(world.shapes)).sum()),
        "phi": (world.phi**2).sum(),
        "theta o h": score.sum(),
        "theta o h uneven": (score**2).sum(),
        "theta o h and phi": float((score @ (world.phi**2).sum(axis=0)).sum()),
        "data": np.log1p(world.data).sum(),
        "data and theta o h": float((np.log1p(world.data).sum(axis=1) * score.sum(axis=1)).sum()),
    }
    for layer, units in enumerate(layers, 1):
        found[f"h{layer}"] = units.sum()
        found[f"h{layer} together"] = (units.sum(axis=1) ** 2).sum()
        bias = np.tanh(0.3 * world.biases[layer - 1])
        found[f"c{layer}"] = bias.sum()
        found[f"c{layer} squared"] = (bias**2).sum()
        found[f"c{layer} and h{layer}"] = float((units @ bias).sum())
    for layer, table in enumerate(world.weights, 1):
        found[f"W{layer}"] = table.sum()
        found[f"W{layer} squared"] = np.log1p(table**2).sum()
        found[f"W{layer} and h"] = float(np.einsum("nk,kj,nj->", layers[layer - 1], table, layers[layer]))
        found[f"precision{layer}"] = np.log(world.precision[layer - 1]).sum()
    return found


def surprise(truth, assumed, n_worlds=WORLDS):
    """p-value per quantity; ``truth`` makes worlds and data, the sampler believes ``assumed``."""
    kernel, rng, changes = tiny.kernel(assumed), np.random.default_rng(2024), []
    for number in range(n_worlds):
        start = world = tiny.prior(rng, truth)
        for turn in range(TURNS):
            state = tiny.state(kernel, world)._replace(t=np.array(turn, dtype=np.int64))
            after, _ = kernel.step(number, state, tiny.batch(world))
            world = tiny.observe(rng, tiny.world_of(after, world))
        first, last = quantities(start), quantities(world)
        changes.append([last[name] - first[name] for name in first])
    table = np.array(changes)
    spread = table.std(axis=0) / np.sqrt(n_worlds)
    z = np.divide(table.mean(axis=0), spread, out=np.zeros(table.shape[1]), where=spread > 1e-12)
    return dict(zip(first, 2.0 * stats.norm.sf(np.abs(z)), strict=True))


def is_seen(found):
    return min(found.values()) < RARE / len(found)


@slow
@pytest.mark.parametrize(
    ("n_layers", "shrinkage"),
    [
        pytest.param(1, "gaussian", marks=pytest.mark.nightly),
        pytest.param(2, "gaussian", marks=pytest.mark.nightly),
        pytest.param(3, "gaussian", marks=pytest.mark.nightly),
        (2, "student"),
    ],
)
def test_the_sampler_leaves_the_joint_distribution_alone(n_layers, shrinkage):
    config = tiny.config(n_layers, shrinkage=shrinkage)
    found = surprise(config, config)
    assert not is_seen(found), sorted(found.items(), key=lambda item: item[1])[:4]


PLANTED = {
    "a smoothing of topics that is wrong": ({"a_phi": 1.0}, 1),
    "a prior of r that is wrong": ({"c0": 2.2}, 2),
    "a prior of weights that is wrong": ({"shrinkage": "student"}, 2),
}


@slow
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.nightly if n else ()) for n, name in enumerate(PLANTED)]
)
def test_the_comparison_sees(name):
    wrong, n_layers = PLANTED[name]
    assert is_seen(surprise(tiny.config(n_layers), tiny.config(n_layers, **wrong)))


@slow
@pytest.mark.nightly
def test_the_comparison_sees_customers_counted_for_tables(monkeypatch):
    right = sampler.tally_documents

    def without_crt(*arguments, **named):
        got = right(*arguments, **named)
        return got._replace(tables=got.words.sum(axis=0))

    monkeypatch.setattr(sampler, "tally_documents", without_crt)
    assert is_seen(surprise(tiny.config(1), tiny.config(1)))


@slow
@pytest.mark.nightly
def test_the_comparison_sees_topics_that_are_on_but_do_not_count_for_r(monkeypatch):
    right = belief_steps.draw_shapes

    def without_on(tables, on, prior, rng):
        return right(tables, 0.0 * on, prior, rng)

    monkeypatch.setattr(belief_steps, "draw_shapes", without_on)
    assert is_seen(surprise(tiny.config(2), tiny.config(2)))


@slow
@pytest.mark.nightly
def test_the_comparison_sees_weights_drawn_with_another_sign_of_the_bias(monkeypatch):
    right = belief_steps.draw_rows

    def turned(*arguments):
        table, bias = right(*arguments)
        return table, -bias

    monkeypatch.setattr(belief_steps, "draw_rows", turned)
    assert is_seen(surprise(tiny.config(2), tiny.config(2)))


# ------------------------------------------------------------- planted topics


def bar_batch(n_documents=300):
    truth, table = bars(n_documents)
    rows, words = np.nonzero(table)
    starts = np.concatenate([[0], np.cumsum((table > 0).sum(axis=1))]).astype(np.int64)
    cells = Counts(starts, words.astype(np.int32), table[rows, words].astype(np.int32))
    return truth, cells.batch(np.arange(n_documents, dtype=np.int64))


def trained(texts, docs, steps, *, n_words=25, n_threads=1):
    facts = Facts(n_words, len(docs.documents), n_tokens=int(docs.counts.sum()))
    kernel = dpfa.build(settings.parse(dpfa.Config, texts), facts, n_threads)
    state = kernel.init_from_documents(3, docs)
    if kernel.sweeps_after is not None:
        state = kernel.prepare(3, state, docs)
    size = len(docs.documents) if kernel.sweeps_after is not None else 50
    for t in range(steps):
        first = t * size % len(docs.documents)
        part = docs.cells.rows(first, first + size).batch(docs.documents[first : first + size])
        state, _ = kernel.step(3, state, part)
    return kernel, state


@slow
@pytest.mark.parametrize(
    ("inference", "steps", "most"),
    [("gibbs", 100, 0.1), pytest.param("sgnht", 100, 0.12, marks=pytest.mark.nightly), ("bcdf", 24, 0.3)],
)
def test_planted_bars_are_found(inference, steps, most):
    truth, docs = bar_batch()
    texts = {"filter_burn_in": "20", "filter_collect": "20", "everything_on": "6" if inference == "bcdf" else "50"}
    kernel, state = trained({"layers": "10-4", "inference": inference, **texts}, docs, steps)
    assert mismatch(kernel.topics(kernel.find_shown_state(state)).phi[0], truth) < most


def grouped(n_documents=600, seed=4):
    """Documents of two subjects, each of three topics of their own that are on by 0.8, the other three by 0.05."""
    rng = np.random.default_rng(seed)
    phi = np.full((30, 6), 0.002)
    for k in range(6):
        phi[5 * k : 5 * k + 5, k] = 0.2
    phi /= phi.sum(axis=0)
    subject = rng.random(n_documents) < 0.5
    chance = np.where((np.arange(6) < 3) == subject[:, None], 0.8, 0.05)
    theta = rng.gamma(12.0, 1.0, (n_documents, 6)) * (rng.random((n_documents, 6)) < chance)
    table = rng.poisson(theta @ phi.T)
    rows, words = np.nonzero(table)
    starts = np.concatenate([[0], np.cumsum((table > 0).sum(axis=1))]).astype(np.int64)
    cells = Counts(starts, words.astype(np.int32), table[rows, words].astype(np.int32))
    return phi, subject, cells.batch(np.arange(n_documents, dtype=np.int64))


@slow
@pytest.mark.parametrize(
    "texts",
    [
        {"inference": "gibbs"},
        *(pytest.param(each, marks=pytest.mark.nightly) for each in ({"inference": "sgnht"}, {"hierarchy": "rbm"})),
    ],
)
def test_a_planted_network_is_found(texts):
    """Given one unit above, topics of one subject get weights of one sign and those of the other the other."""
    phi, subject, docs = grouped()
    kernel, state = trained(
        {"layers": "6-1", "shrinkage": "gaussian", "weight_step": "0.01"} | texts, docs, 150, n_words=30
    )
    shown = kernel.topics(kernel.find_shown_state(state))
    order = (phi.T @ shown.phi[0]).argmax(axis=1)
    assert sorted(order.tolist()) == list(range(6))
    weights = shown.phi[1][order, 0]
    assert len({*np.sign(weights[:3])}) == len({*np.sign(weights[3:])}) == 1
    assert weights[0] * weights[3] < 0
    found = kernel.infer(3, kernel.find_shown_state(state), docs, Sweeps(20, 20)).theta[1][:, 0] > 0.5
    assert max((found == subject).mean(), (found != subject).mean()) > 0.9


@slow
def test_student_shrinkage_leaves_weights_that_say_nothing_nearer_to_zero():
    _, _, docs = grouped()
    sizes = {}
    for shrinkage in ("gaussian", "student"):
        kernel, state = trained({"layers": "6-5", "shrinkage": shrinkage}, docs, 80, n_words=30)
        sizes[shrinkage] = np.median(np.abs(kernel.topics(kernel.find_shown_state(state)).phi[1]))
    assert sizes["student"] < 0.5 * sizes["gaussian"], sizes


# --------------------------------------------------------------- special cases


def test_with_every_unit_on_the_rates_are_those_of_poisson_factor_analysis():
    """Biases as large as they go: then theta given its counts is Gam(r + n, 1/2) for every topic."""
    _, docs = bar_batch(40)
    facts = Facts(25, 40, n_tokens=int(docs.counts.sum()))
    kernel = dpfa.build(dpfa.Config(layers=(4,), inference="gibbs"), facts)
    state = kernel.init(1)._replace(biases=(np.full(4, 30.0),), shapes=np.array([0.3, 0.7, 1.1, 2.0]))
    theta = kernel.infer(1, state, docs, Sweeps(30, 10)).theta[0]
    totals = np.add.reduceat(docs.counts, docs.starts[:-1])
    np.testing.assert_allclose(theta.sum(axis=1), 0.5 * (4.1 + totals), rtol=1e-4)


def test_first_sweeps_with_every_topic_on_leave_the_network_alone():
    _, docs = bar_batch(40)
    kernel, state = trained({"layers": "6-3", "inference": "gibbs", "everything_on": "5"}, docs, 3)
    begin = kernel.init_from_documents(3, docs)
    np.testing.assert_array_equal(state.weights[0], begin.weights[0])
    assert (state.h[:, :6] == 1).all()
    kernel, state = trained({"layers": "6-3", "inference": "gibbs", "everything_on": "5"}, docs, 6)
    assert not np.array_equal(state.weights[0], begin.weights[0])


@pytest.mark.parametrize("pieces", [3, 7])
@pytest.mark.parametrize("texts", [{}, {"inference": "sgnht"}, {"inference": "bcdf"}, {"hierarchy": "rbm"}])
def test_statistics_of_blocks_add_up_to_those_of_the_whole_to_the_last_bit(texts, pieces):
    _, docs = bar_batch(50)
    kernel, state = trained({"layers": "5-3-2", "everything_on": "1", **texts}, docs, 2)
    whole, after = kernel.gather(3, state, docs, kernel.local(state))
    total, parts = None, []
    tokens = np.concatenate([[0], np.cumsum(docs.counts)])[docs.starts]
    edges = np.linspace(0, 50, pieces + 1).astype(int)
    for a, b in itertools.pairwise(edges):
        local = kernel.local(state)
        mine = None if local is None else type(local)(local.topics[tokens[a] : tokens[b]], local.h[a:b])
        block = docs.cells.rows(a, b).batch(docs.documents[a:b])
        got, left = kernel.gather(3, state, block, mine)
        total = got if total is None else add_statistics(total, got)
        parts.append(left)
    for one, other in zip(whole, total, strict=True):
        np.testing.assert_array_equal(one, other)
    if after is not None:
        np.testing.assert_array_equal(after.h, np.concatenate([part.h for part in parts]))
        np.testing.assert_array_equal(after.topics, np.concatenate([part.topics for part in parts]))


@pytest.mark.parametrize("layers", ["1", "1-1", "3-2", "2-1-1"])
@pytest.mark.parametrize("texts", [{}, {"inference": "sgnht"}, {"inference": "bcdf"}, {"hierarchy": "rbm"}])
def test_documents_without_words_a_single_document_and_a_single_word_work(layers, texts):
    empty = Batch(*(np.zeros(0, np.int32),) * 2, np.zeros(2, np.int64), np.zeros(1, np.int32), np.arange(1))
    single = Counts(np.array([0, 1]), np.array([0], np.int32), np.array([3], np.int32)).batch(np.arange(1))
    texts = texts | {"layers": layers, "filter_burn_in": "2", "filter_collect": "2", "everything_on": "1"}
    for docs in (empty, single):
        facts = Facts(1, 1, n_tokens=int(docs.counts.sum()))
        kernel = dpfa.build(settings.parse(dpfa.Config, texts), facts)
        state = kernel.prepare(1, kernel.init_from_documents(1, docs), docs)
        for _ in range(3):
            state, _ = kernel.step(1, state, docs)
        shown = kernel.topics(kernel.find_shown_state(state))
        numbers = (*shown.phi, shown.r, *shown.popularity, *shown.means, *kernel.infer(1, state, docs).theta)
        assert all(np.isfinite(each).all() for each in numbers)
        assert np.isfinite(evaluate.evaluate_point(kernel, 1, state, docs, single, Sweeps(1, 2)))


# -------------------------------------------------------------------- settings


def test_a_machine_without_directions_needs_mini_batches():
    with pytest.raises(settings.SettingError, match="hierarchy rbm needs inference sgnht"):
        dpfa.Config(hierarchy="rbm", inference="gibbs")
    assert dpfa.Config(hierarchy="rbm").choose_inference(Facts(10, 10, n_tokens=100)) == "sgnht"


def test_auto_sweeps_what_can_be_swept_and_reads_mini_batches_of_the_rest():
    assert dpfa.Config().choose_inference(Facts(10, 10, n_tokens=1_000_000)) == "gibbs"
    assert dpfa.Config().choose_inference(Facts(10, 10, n_tokens=10**9)) == "sgnht"
    wide = dpfa.Config(layers=(1024, 512, 256))
    assert wide.choose_inference(Facts(10, 10, n_tokens=1_000_000)) == "sgnht"
    with pytest.raises(settings.SettingError, match="need inference sgnht"):
        dpfa.Config(layers=(1024, 512, 256), inference="gibbs")


@pytest.mark.parametrize("name", models.load("dpfa").PRESETS)
def test_presets_are_settings(name):
    texts = {key: text for key, text in models.load("dpfa").PRESETS[name].items() if key != "minibatches"}
    assert settings.parse(dpfa.Config, texts).a_phi == 0.05


WIDTHS = (3, 2)


def sample(rng, phi):
    """Variables as a step leaves them: these topics, all else drawn."""
    weights, biases = rng.normal(size=WIDTHS), tuple(rng.normal(size=width) for width in WIDTHS)
    none = np.zeros((0, WIDTHS[0]))
    return NetVariables(phi, none, np.zeros(3), rng.gamma(2.0, size=3), (weights,), (), biases, (), ())


def followed(samples):
    found = dpfa.init_means(np.full((6, 3), 1 / 6), np.zeros(3), (np.zeros(WIDTHS),), tuple(map(np.zeros, WIDTHS)))
    for t, each in enumerate(samples, start=1):
        found = dpfa.update_means(found, each, each.phi, 0.0, t, Pool(1))
    return found


@pytest.fixture
def alike():
    rng = np.random.default_rng(4)
    base = np.kron(np.eye(3), np.ones((2, 1)))
    tables = [base + 0.1 * rng.random((6, 3)) for _ in range(5)]
    return [sample(rng, table / table.sum(axis=0)) for table in tables]


def test_the_first_samples_count_alike(alike):
    found = followed(alike)
    np.testing.assert_allclose(found.mean, np.mean([each.phi for each in alike], axis=0), rtol=1e-6)
    np.testing.assert_allclose(found.mean_shapes, np.mean([each.shapes for each in alike], axis=0))
    np.testing.assert_allclose(found.mean_weights[0], np.mean([each.weights[0] for each in alike], axis=0))
    for layer in (0, 1):
        plain = np.mean([each.biases[layer] for each in alike], axis=0)
        np.testing.assert_allclose(found.mean_biases[layer], plain)


def test_a_topic_that_is_another_one_starts_again_with_its_shape_bias_and_weights(alike):
    last = alike[-1]
    turned = last._replace(phi=last.phi[::-1].copy())  # topics 0 and 2 are swapped, topic 1 stays
    found = followed([*alike[:-1], turned])
    assert found.averaged.tolist() == [1, 5, 1]
    for topic in (0, 2):
        np.testing.assert_allclose(found.mean[:, topic], turned.phi[:, topic], rtol=1e-6)
        np.testing.assert_allclose(found.mean_weights[0][topic], turned.weights[0][topic])
        assert found.mean_shapes[topic] == pytest.approx(turned.shapes[topic])
        assert found.mean_biases[0][topic] == pytest.approx(turned.biases[0][topic])
    plain = np.mean([each.weights[0][1] for each in alike], axis=0)
    np.testing.assert_allclose(found.mean_weights[0][1], plain)
