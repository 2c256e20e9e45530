"""Geweke's joint-distribution test of every batch Gibbs sampler of DLDA.

Worlds are drawn from the prior with their data; then, in turns, the sampler makes a step given the data and
the data are drawn again given the world.  If the sampler leaves the posterior alone, the worlds still follow
the prior: every quantity must have the same mean before and after.  A planted error must be seen.

``WORLDS`` independent worlds, ``TURNS`` turns each, differences before and after paired; false-alarm rate
1e-5 per test over all quantities together, seeds fixed.
"""

import itertools
from dataclasses import replace

import numba
import numpy as np
import pytest
import tiny_dlda as tiny
from drawing import RARE
from scipy import stats

from tests.engine.gpu.test_devices import LONG, SHORT, TRAIN, draw_mini_batch, score
from tests.engine.gpu.test_sweeps import copy_documents, draw_simplex, enumerate_law, make_corpus
from topiary.engine.contract import Facts, flatten, unflatten
from topiary.engine.gibbs import local
from topiary.engine.gibbs.collapsed import SweepPlan
from topiary.engine.gibbs.local import EncodedDocuments
from topiary.engine.gibbs.upper import Hyper
from topiary.engine.gpu.devices import OneLane, read_arrays
from topiary.engine.gpu.sweeps import DeviceSweeper
from topiary.engine.hierarchy.paths import compute_shares
from topiary.engine.models.datm import kernel as datm
from topiary.engine.models.sdatm import kernel as sdatm
from topiary.engine.settings import SettingError
from topiary.engine.streams import LOCAL, Address
from topiary.engine.topic_moves import diffusion, steps
from topiary.engine.topic_moves.steps import GammaPrior, RPriors

WORLDS, TURNS = 500, 4
BY_DAY = [(3, "poisson", "collapsed"), (2, "poisson", "plain"), (2, "bernoulli", "plain"), (1, "gamma", "plain")]
SAMPLERS = [
    *BY_DAY,
    *[pytest.param(n, "poisson", "collapsed", marks=pytest.mark.nightly) for n in (1, 2)],
    *[pytest.param(n, "poisson", "plain", marks=pytest.mark.nightly) for n in (1, 3)],
    pytest.param(1, "bernoulli", "plain", marks=pytest.mark.nightly),
    pytest.param(2, "gamma", "plain", marks=pytest.mark.nightly),
]
pytestmark = pytest.mark.skipif(numba.config.DISABLE_JIT, reason="thousands of sweeps, too slow with the compiler off")


def quantities(world):
    """Named bounded or slowly growing quantities of a world."""
    found = {"r": np.log1p(world.r).sum(), "r uneven": world.r[0] / world.r.sum()}
    for layer, phi in enumerate(world.phi, 1):
        found[f"phi{layer} squared"] = (phi**2).sum()
        found[f"phi{layer} corner"] = phi[0, 0]
    for layer, theta in enumerate(world.theta, 1):
        found[f"theta{layer}"] = np.log1p(theta.sum(axis=1)).sum()
        found[f"theta{layer} uneven"] = ((theta / theta.sum(axis=1, keepdims=True)) ** 2).sum()
    shares = [theta.sum(axis=0) / theta.sum() for theta in world.theta]
    for layer, phi in enumerate(world.phi[1:], 2):
        found[f"phi{layer} and theta"] = float((phi.mean(axis=1) * shares[layer - 2]).sum())
        found[f"theta{layer} and theta{layer - 1}"] = float((phi @ shares[layer - 1] * shares[layer - 2]).sum())
    found["r and theta"] = float((world.r / world.r.sum() * shares[-1]).sum())
    for layer in range(world.c.shape[1]):
        c = world.c[:, layer]
        found[f"c{layer + 2}"] = (c / (1.0 + c)).sum()
        found[f"c{layer + 2} and theta"] = (c / (1.0 + c) * np.log1p(world.theta[layer].sum(axis=1))).sum()
    for layer, eta in enumerate(world.eta, 1):
        found[f"eta{layer}"] = np.log(eta)
        found[f"eta{layer} and phi"] = np.log(eta) * (world.phi[layer - 1] ** 2).sum()
    gamma0, c0 = world.shrinkage
    found |= {"gamma0": np.log(gamma0), "c0": np.log(c0), "gamma0 and r": np.log(gamma0) * np.log1p(world.r).sum()}
    found["scale"] = np.log1p(world.scale).sum()
    found["data"] = np.log1p(world.data).sum()
    found["data and phi"] = float((np.log1p(world.data).sum(axis=0) * world.phi[0].mean(axis=1)).sum())
    found["data and theta"] = float((np.log1p(world.data).sum(axis=1) * np.log1p(world.theta[0].sum(axis=1))).sum())
    return found


def surprise(truth, assumed, n_worlds=WORLDS, n_turns=TURNS):
    """p-value per quantity; ``truth`` makes worlds and data, the sampler believes ``assumed``."""
    kernel = tiny.kernel(assumed)
    rng = np.random.default_rng(2024)
    changes = []
    for number in range(n_worlds):
        start = world = tiny.prior(rng, truth)
        for turn in range(n_turns):
            state = tiny.state(kernel, assumed, world)._replace(t=np.array(turn, dtype=np.int64))
            after, _ = kernel.step(number, state, tiny.batch(world))
            world = tiny.observe(rng, truth, tiny.world_of(rng, assumed, after, world))
        first, last = quantities(start), quantities(world)
        changes.append([last[name] - first[name] for name in first])
    table = np.array(changes)
    spread = table.std(axis=0) / np.sqrt(n_worlds)
    z = np.divide(table.mean(axis=0), spread, out=np.zeros(table.shape[1]), where=spread > 0.0)
    return dict(zip(first, 2.0 * stats.norm.sf(np.abs(z)), strict=True))


@pytest.mark.parametrize(("n_layers", "link", "sampler"), SAMPLERS)
def test_the_sampler_leaves_the_joint_distribution_alone(n_layers, link, sampler):
    settings = tiny.config(n_layers, link, sampler)
    found = surprise(settings, settings)
    assert min(found.values()) > RARE / len(found), sorted(found.items(), key=lambda item: item[1])[:4]


LIGHT = RPriors(GammaPrior(9.0, 3.0), GammaPrior(7.0, 5.0))  # tails that leave worlds of moderate sizes


@pytest.mark.parametrize(
    ("n_layers", "sampler"),
    [
        pytest.param(1, "collapsed", marks=pytest.mark.nightly),
        (2, "collapsed"),
        pytest.param(2, "plain", marks=pytest.mark.nightly),
    ],
)
def test_learnt_concentrations_leave_the_joint_distribution_alone(n_layers, sampler, monkeypatch):
    monkeypatch.setattr(steps, "R_PRIORS", LIGHT)
    settings = tiny.config(n_layers, "poisson", sampler, learn_concentrations=True)
    found = surprise(settings, settings)
    assert min(found.values()) > RARE / len(found), sorted(found.items(), key=lambda item: item[1])[:4]


@pytest.mark.nightly
@pytest.mark.parametrize("wrong", [{"eta": (0.7, 0.6)}, {"eta": (0.4, 1.1)}])
def test_the_comparison_sees_a_prior_of_eta_that_is_wrong(wrong, monkeypatch):
    monkeypatch.setattr(steps, "R_PRIORS", LIGHT)
    right = tiny.config(2, learn_concentrations=True)
    assert _is_seen(surprise(right, tiny.config(2, learn_concentrations=True, **wrong)))


PLANTED = {
    "a prior of p that is wrong": ({"b0": 2.0}, (1, "poisson", "collapsed")),
    "a smoothing of topics that is wrong": ({"eta": (0.7, 0.6)}, (2, "poisson", "collapsed")),
    "a prior of r that is wrong": ({"c0": 2.5}, (2, "poisson", "plain")),
    "a prior of c that is wrong": ({"e0": 2.5}, (3, "poisson", "collapsed")),
    "a prior of the scale of real values that is wrong": ({"f0": 1.5}, (1, "gamma", "plain")),
    "a prior of topics' weights that is wrong": ({"gamma0": 1.5}, (1, "bernoulli", "plain")),
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if "smoothing" in name else pytest.mark.nightly) for name in PLANTED]
)
def test_the_comparison_sees(name):
    wrong, sampler = PLANTED[name]
    assert _is_seen(surprise(tiny.config(*sampler), tiny.config(*sampler, **wrong)))


@pytest.mark.nightly
@pytest.mark.parametrize("n_layers", [1, 2])
def test_the_comparison_sees_a_dropped_q(n_layers, monkeypatch):
    right = diffusion.draw_shapes

    def without_q(counts, q_total, *rest):
        return right(counts, 0.0 * q_total, *rest)

    monkeypatch.setattr(diffusion, "draw_shapes", without_q)
    settings = tiny.config(n_layers)
    assert _is_seen(surprise(settings, settings))


@pytest.mark.nightly
@pytest.mark.parametrize("n_layers", [1, 2])
def test_the_comparison_sees_customers_counted_for_tables(n_layers, monkeypatch):
    right = local.Sampler.scale_counts

    def without_crt(*arguments, **named):
        got = right(*arguments, **named)
        return got._replace(top=got.tables[-1].sum(axis=0))

    monkeypatch.setattr(local.Sampler, "scale_counts", without_crt)
    settings = tiny.config(n_layers)
    assert _is_seen(surprise(settings, settings, 3 * WORLDS))


def _is_seen(found):
    return min(found.values()) < RARE / len(found)


HYPER = Hyper(0.01, 0.01, 1.0, 1.0)
AT = Address(5, LOCAL, 3)
LABELLED = TRAIN._replace(labels=TRAIN.words[TRAIN.starts[:-1]].astype(np.int64) % 3)
FACTS = Facts(90, 300, 3, n_tokens=int(TRAIN.counts.sum()))
DATM = datm.Config(layers=(12, 5), batch_size=60)
SDATM = sdatm.Config(layers=(12, 5), batch_size=60, hidden=(8, 4), label_start=2, label_ramp=2)
COUNTS = ("gibbs", "refined", "encoder", "mixed")


def draw_encoded(rng, widths, n, *, alike=False):
    rows = 1 if alike else n
    theta = [rng.gamma(2.0, size=(rows, width)) for width in widths]
    c = rng.gamma(2.0, size=(rows, len(widths)))
    theta = [np.repeat(layer, n // rows, axis=0) for layer in theta]
    return EncodedDocuments(theta, np.repeat(c, n // rows, axis=0), AT)


def carry(sweeper, phi, r, batch, encoded, at):
    return read_arrays(sweeper.carry(phi, r, batch, encoded, at, 0))


def test_counts_carried_from_a_draw_have_their_law():
    rng, n, words = np.random.default_rng(3), 30_000, np.array([0, 2, 3])
    phi, r = (draw_simplex(rng, 4, 3), draw_simplex(rng, 3, 2)), np.array([0.7, 0.4])
    encoded = draw_encoded(rng, (3, 2), n, alike=True)
    sums = carry(DeviceSweeper(OneLane(), HYPER), phi, r, copy_documents(words, n), encoded, AT)
    chances = phi[0][words] * encoded.theta[0][0]
    chances /= chances.sum(axis=1, keepdims=True)
    for word, row in zip(words, chances, strict=True):
        assert stats.chisquare(sums.words[word], n * row).pvalue > 1e-4
    rates = phi[1] * encoded.theta[1][0]
    tables = np.zeros((3, 2))
    for topics in itertools.product(range(3), repeat=3):  # expected tables of layer 2
        chance = np.prod(chances[[0, 1, 2], topics])
        for k, m in enumerate(np.bincount(topics, minlength=3)):
            shape = rates[k].sum()
            tables[k] += chance * sum(shape / (shape + i) for i in range(m)) * rates[k] / shape
    np.testing.assert_allclose(sums.upper.reshape(3, 2) / n, tables, rtol=0.04)
    q = np.log1p(1.0 / encoded.c[0, 0])
    np.testing.assert_allclose(sums.q * 2.0**-32, n * np.log1p(q / encoded.c[0, 1]), rtol=1e-5)


def test_single_tokens_are_carried_to_the_top_in_proportion_to_the_products_of_the_layers():
    rng, n = np.random.default_rng(4), 30_000
    phi, r = (draw_simplex(rng, 4, 3), draw_simplex(rng, 3, 5), draw_simplex(rng, 5, 2)), np.array([0.7, 0.4])
    encoded = draw_encoded(rng, (3, 5, 2), n, alike=True)
    sums = carry(DeviceSweeper(OneLane(), HYPER), phi, r, copy_documents(np.array([2]), n), encoded, AT)
    share = phi[0][2] * encoded.theta[0][0]
    for layer, theta in zip(phi[1:], encoded.theta[1:], strict=True):
        weights = layer * theta[0]
        share = (share / share.sum()) @ (weights / weights.sum(axis=1, keepdims=True))
    assert stats.chisquare(sums.top, n * share).pvalue > 1e-4


def test_every_document_begins_at_its_own_draw_and_none_depends_on_the_others():
    rng, widths = np.random.default_rng(5), (7, 4)
    phi, r = tuple(draw_simplex(rng, *shape) for shape in itertools.pairwise((40, *widths))), np.full(4, 0.5)
    batch, sweeper = make_corpus(rng, 9, 40, 6), DeviceSweeper(OneLane(), HYPER)
    encoded = draw_encoded(rng, widths, 9)
    for j, row in enumerate(encoded.theta[0]):  # one topic alone for each
        row[:] = 0.0
        row[j % 7] = 1.0
    sums = carry(sweeper, phi, r, batch, encoded, AT)
    exact = np.zeros((40, 7))
    documents = np.repeat(np.arange(9), np.diff(batch.starts))
    np.add.at(exact, (batch.words, documents % 7), batch.counts)
    assert np.array_equal(sums.words, exact)
    one = EncodedDocuments([layer[4:5] for layer in encoded.theta], encoded.c[4:5], AT)
    alone = carry(sweeper, phi, r, batch.cells.rows(4, 5).batch(batch.documents[4:5]), one, AT)
    others = batch.cells.select_cells(documents != 4).batch(batch.documents)
    rest = carry(sweeper, phi, r, others, encoded, AT)
    for name in ("words", "upper", "top"):
        assert np.array_equal(getattr(sums, name), getattr(alone, name) + getattr(rest, name))


def test_sweeps_from_a_draw_reach_the_law_of_the_model_and_begin_at_the_draw():
    rng, n, words = np.random.default_rng(3), 4000, np.array([0, 2, 3])
    phi, r = (draw_simplex(rng, 4, 3), draw_simplex(rng, 3, 2), draw_simplex(rng, 2, 2)), np.array([0.7, 0.4])
    c, sweeper, batch = np.array([0.5, 1.3, 0.8]), DeviceSweeper(OneLane(), HYPER), copy_documents(words, n)
    theta = [np.tile(row, (n, 1)) for row in ([30.0, 1e-3, 1e-3], [30.0, 1e-3], [30.0, 1e-3])]
    encoded = EncodedDocuments(theta, np.tile(c, (n, 1)), AT)
    plan = SweepPlan(fresh=False, burn_in=30, collect=40, first_rates=99)
    late = read_arrays(sweeper.gather(phi, r, batch, encoded, AT, plan)[0]).words / (40 * n)
    chances, _ = enumerate_law(phi, r, words, c, 200_000)
    exact, assignments = np.zeros((4, 3)), np.array(list(itertools.product(range(3), repeat=3)))
    for i, word in enumerate(words):
        exact[word] = np.bincount(assignments[:, i], chances, 3)
    assert np.abs(late - exact).max() < 0.01
    early = read_arrays(sweeper.gather(phi, r, batch, encoded, AT, plan._replace(burn_in=0, collect=1))[0]).words / n
    assert np.abs(early - exact).max() > 0.05


def train(module, config, seed, n_steps, device=None, state=None):
    kernel = module.build(config, FACTS, 1, device)
    state = kernel.init(seed) if state is None else state
    for _ in range(n_steps):
        docs = draw_mini_batch(int(state.t))
        docs = docs._replace(labels=LABELLED.labels[docs.documents])
        state, info = kernel.step(seed, state, docs)
    return kernel, state, info


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.parametrize("counts", COUNTS)
def test_a_device_finds_topics_as_good_as_the_processor(counts):
    scores = {"cpu": [], "device": []}
    config = replace(SDATM if counts == "mixed" else DATM, counts=counts)
    module = sdatm if counts == "mixed" else datm
    for seed in (1, 2, 3):
        for name, device in (("cpu", None), ("device", OneLane())):
            kernel, state, _ = train(module, config, seed, 150, device)
            scores[name].append(score(kernel, state, SHORT))
    cpu, device = (np.array(values) for values in scores.values())
    assert abs(cpu.mean() - device.mean()) < 4 * max(cpu.std(), device.std(), 0.2), scores
    assert device.mean() < 0.8 * 90


@pytest.mark.parametrize(
    ("module", "config"),
    [
        *((datm, replace(DATM, counts=counts)) for counts in COUNTS[:3]),
        (datm, replace(DATM, grow=True, grow_every=2, counts="refined")),
        (datm, replace(DATM, inference="wai")),
        (datm, replace(DATM, prior="paper", counts="encoder")),
        (datm, replace(DATM, layers=(12,), counts="refined")),
        (sdatm, SDATM),
    ],
    ids=["gibbs", "refined", "encoder", "grow", "wai", "paper", "flat", "sdatm"],
)
def test_a_step_has_the_same_bits_from_a_state_that_was_stored_and_says_what_was_drawn(module, config):
    _, state, _ = train(module, config, 5, 3, OneLane())
    stored = unflatten(module.State, {name: array.copy() for name, array in flatten(state).items()})
    (_, one, info), (_, two, _) = (train(module, config, 5, 2, OneLane(), start) for start in (state, stored))
    assert all(np.array_equal(array, flatten(two)[name]) for name, array in flatten(one).items())
    _, here, expected = train(module, config, 5, 2, None, stored)
    assert (info.tokens, info.token_draws) == (expected.tokens, expected.token_draws)
    assert not np.array_equal(here.phi[0], one.phi[0])  # a device has random numbers of its own
    first = [layer.sum(axis=0) for layer in one.phi]
    assert all(np.allclose(total, 1.0) for total in first)


@pytest.mark.parametrize("refine", [0, 3])
def test_a_device_rates_held_out_words_as_the_processor_does(refine):
    config = replace(DATM, refine=refine)
    here, state, _ = train(datm, config, 4, 40)
    there = datm.build(config, FACTS, 1, OneLane())
    ours, theirs = (score(kernel, state, LONG) for kernel in (there, here))
    assert ours == pytest.approx(theirs, rel=0.005)


def test_a_device_places_documents_by_sweeps_as_the_processor_does():
    here, state, _ = train(sdatm, SDATM, 4, 40)
    there, docs = sdatm.build(SDATM, FACTS, 1, OneLane()), draw_mini_batch(0)
    one, again, other = (
        np.concatenate(compute_shares(kernel.topics(state), kernel.infer(seed, state, docs, LONG), docs), axis=1)
        for kernel, seed in ((here, 1), (here, 2), (there, 1))
    )
    assert np.abs(other - one).mean() < 1.3 * np.abs(again - one).mean()  # as two seeds of the processor


@pytest.mark.parametrize(
    ("changes", "words"),
    [({"inference": "wai", "counts": "encoder"}, "set counts to gibbs"), ({"layers": (1025,)}, "at most 1,024 topics")],
)
def test_what_a_device_cannot_do_is_refused_in_a_sentence(changes, words):
    with pytest.raises(SettingError, match=words) as refusal:
        datm.build(replace(DATM, **changes), FACTS, 1, OneLane())
    assert "\n" not in str(refusal.value)
    datm.build(replace(DATM, **changes), FACTS)
