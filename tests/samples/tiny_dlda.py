"""A DLDA small enough to simulate from the top: prior draws, data given everything, the kernel's state in between."""

import itertools
from typing import NamedTuple

import numpy as np

from topiary.engine.contract import Batch, Facts
from topiary.engine.models.dlda import kernel as dlda
from topiary.engine.topic_moves import steps

V, N = 4, 3
WIDTHS = (3, 2, 2)


class World(NamedTuple):
    """One draw of everything: globals, local variables, latent counts and data."""

    phi: tuple
    r: np.ndarray
    c: np.ndarray  # (N, L)
    theta: tuple  # theta[l - 1] (N, K_l)
    scale: np.ndarray  # (N,)
    counts: np.ndarray  # (N, V, K_1) latent counts
    data: np.ndarray  # (N, V)
    eta: np.ndarray  # (L,)
    shrinkage: tuple  # gamma_0 and c_0


def config(n_layers, link="poisson", sampler="collapsed", **changed):
    """Moderate hyperparameters, none equal to another, so that a swap or a slip shows."""
    settings = {
        "layers": WIDTHS[:n_layers],
        "inference": "gibbs",
        "link": link,
        "sampler": sampler,
        "eta": (0.7, 1.1, 0.9)[:n_layers],
        "settle": 1,
        "a0": 2.5,
        "b0": 3.5,
        "e0": 4.0,
        "f0": 3.0,
        "gamma0": 3.0,
        "c0": 1.4,
    }
    return dlda.Config(**(settings | changed))


def prior(rng, settings):
    """A world from the generative model (DLDA eq. 1)."""
    rows = (V, *settings.layers[:-1])
    etas, shrinkage = np.array(settings.list_etas(len(settings.layers))), (settings.gamma0, settings.c0)
    if settings.learn_concentrations:
        etas = np.maximum(rng.exponential(etas), 1e-6)
        shrinkage = tuple(rng.gamma(prior.shape, 1.0 / prior.rate) for prior in steps.R_PRIORS)
    phi = tuple(
        rng.dirichlet(np.full(n, eta), width).T for n, width, eta in zip(rows, settings.layers, etas, strict=True)
    )
    phi = tuple(np.maximum(layer, 1e-300) for layer in phi)
    width = settings.layers[-1]
    r = np.maximum(rng.gamma(shrinkage[0] / width, 1.0 / shrinkage[1], width), 1e-300)
    p = rng.beta(settings.a0, settings.b0, N)
    rest = rng.gamma(settings.e0, 1.0 / settings.f0, (N, len(settings.layers) - 1))
    c = np.column_stack([(1.0 - p) / p, rest])
    shape = np.tile(r, (N, 1))
    theta = []
    for layer in range(len(phi), 0, -1):
        theta.append(np.maximum(rng.gamma(shape) / c[:, layer - 1 : layer], 1e-300))
        shape = theta[-1] @ phi[layer - 1].T
    scale = rng.gamma(settings.e0, 1.0 / settings.f0, N)
    return observe(
        rng, settings, World(phi, r, c, tuple(theta[::-1]), scale, np.zeros(0), np.zeros(0), etas, shrinkage)
    )


def observe(rng, settings, world):
    """The same world with latent counts and data drawn anew."""
    counts = rng.poisson(world.phi[0][None] * world.theta[0][:, None, :])
    x = counts.sum(axis=2)
    if settings.link == "bernoulli":
        data = (x > 0).astype(np.int32)
    elif settings.link == "gamma":
        data = np.where(x > 0, rng.gamma(np.maximum(x, 1)) / world.scale[:, None], 0.0).astype(np.float32)
    else:
        data = x.astype(np.int32)
    return world._replace(counts=counts, data=data)


def batch(world):
    """The data as compressed rows."""
    documents, words = np.nonzero(world.data)
    starts = np.concatenate([[0], np.cumsum(np.bincount(documents, minlength=N))]).astype(np.int64)
    return Batch(
        words.astype(np.int32),
        world.data[documents, words],
        starts,
        np.full(N, -1, np.int32),
        np.arange(N, dtype=np.int64),
    )


def kernel(settings, n_threads=1):
    return dlda.build(settings, Facts(V, N), n_threads)


def state(built, settings, world):
    """The kernel's state in this world."""
    order = np.argwhere(world.counts)  # by document, word, topic: as the batch lists them
    times = world.counts[tuple(order.T)]
    upper = np.hstack([*world.theta[1:], np.zeros((N, 0))])
    learnt = {}
    if settings.learn_concentrations:
        learnt = {"eta": world.eta, "gamma0": np.array(world.shrinkage[0]), "c0": np.array(world.shrinkage[1])}
    return built.init(0)._replace(
        phi=tuple(np.ascontiguousarray(layer) for layer in world.phi),
        r=world.r,
        topics=np.repeat(order[:, 2], times).astype(np.uint16) if settings.collapsed else np.zeros(0, np.uint16),
        theta1=np.zeros((0, settings.layers[0])) if settings.collapsed else world.theta[0].copy(),
        theta=np.ascontiguousarray(upper),
        c=world.c.copy(),
        link_scale=world.scale.copy(),
        **learnt,
    )


def world_of(rng, settings, after, before):
    """The world a state describes; where theta^(1) is integrated out it is drawn from its prior given the rest."""
    edges = np.cumsum((0, *settings.layers[1:]))
    upper = tuple(after.theta[:, a:b] for a, b in itertools.pairwise(edges))
    if settings.collapsed:
        shape = upper[0] @ after.phi[1].T if upper else np.tile(after.r, (N, 1))
        first = np.maximum(rng.gamma(shape) / after.c[:, :1], 1e-300)
    else:
        first = after.theta1
    scale = after.link_scale if settings.link == "gamma" else before.scale
    world = before._replace(phi=after.phi, r=after.r, c=after.c, theta=(first, *upper), scale=scale)
    if not settings.learn_concentrations:
        return world
    return world._replace(eta=after.eta, shrinkage=(float(after.gamma0), float(after.c0)))
