"""Geweke's joint-distribution test of every batch Gibbs sampler of DLDA.

Worlds are drawn from the prior with their data; then, in turns, the sampler makes a step given the data and
the data are drawn again given the world.  If the sampler leaves the posterior alone, the worlds still follow
the prior: every quantity must have the same mean before and after.  A planted error must be seen.

``WORLDS`` independent worlds, ``TURNS`` turns each, differences before and after paired; false-alarm rate
1e-5 per test over all quantities together, seeds fixed.
"""

import numba
import numpy as np
import pytest
import tiny_dlda as tiny
from drawing import RARE
from scipy import stats

from topiary.engine.gibbs import local
from topiary.engine.topic_moves import concentrations, diffusion
from topiary.engine.topic_moves.concentrations import GammaPrior, RPriors

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
    monkeypatch.setattr(concentrations, "R_PRIORS", LIGHT)
    settings = tiny.config(n_layers, "poisson", sampler, learn_concentrations=True)
    found = surprise(settings, settings)
    assert min(found.values()) > RARE / len(found), sorted(found.items(), key=lambda item: item[1])[:4]


@pytest.mark.nightly
@pytest.mark.parametrize("wrong", [{"eta": (0.7, 0.6)}, {"eta": (0.4, 1.1)}])
def test_the_comparison_sees_a_prior_of_eta_that_is_wrong(wrong, monkeypatch):
    monkeypatch.setattr(concentrations, "R_PRIORS", LIGHT)
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
