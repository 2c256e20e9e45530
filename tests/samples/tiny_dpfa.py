"""A DPFA small enough to simulate from the top: prior draws, data given everything, the kernel's state in between."""

import itertools
from typing import NamedTuple

import numpy as np

from topiary.engine.contract import Batch, Facts
from topiary.engine.models.dpfa import kernel as dpfa
from topiary.engine.models.dpfa import steps

V, N = 4, 3
WIDTHS = (3, 2, 2)


class World(NamedTuple):
    """One draw of everything: globals, units, factor scores (0 where off), latent counts and data."""

    phi: np.ndarray
    shapes: np.ndarray
    weights: tuple
    precision: tuple
    biases: tuple
    h: np.ndarray  # (N, units)
    theta: np.ndarray  # (N, K_1)
    counts: np.ndarray  # (N, V, K_1)
    data: np.ndarray  # (N, V)


def config(n_layers, **changed):
    """Moderate hyperparameters, none equal to another."""
    settings = {"layers": WIDTHS[:n_layers], "inference": "gibbs", "a_phi": 0.7, "gamma0": 3.0, "c0": 1.4}
    settings |= {"shrinkage": "gaussian", "everything_on": 0}
    return dpfa.Config(**(settings | changed))


def prior(rng, settings):
    """A world from the generative model."""
    layers = settings.layers
    phi = np.ascontiguousarray(rng.dirichlet(np.full(V, settings.a_phi), layers[0]).T)
    shapes = rng.gamma(settings.gamma0, 1.0 / settings.c0, layers[0])
    pairs = list(itertools.pairwise(layers))
    if settings.shrinkage == "student":
        precision = tuple(rng.gamma(steps.SHAPE, 1.0 / steps.RATE, pair) for pair in pairs)
    else:
        precision = tuple(np.ones(pair) for pair in pairs)
    weights = tuple(rng.standard_normal(table.shape) / np.sqrt(table) for table in precision)
    share = 1.0 / layers[-1]
    pi = np.clip(rng.beta(share, max(1.0 - share, share), layers[-1]), 1e-13, 1.0 - 1e-13)
    biases = (*(rng.standard_normal(width) for width in layers[:-1]), np.log(pi / (1.0 - pi)))
    units = [rng.random((N, layers[-1])) < pi]
    for table, bias in zip(weights[::-1], biases[-2::-1], strict=True):
        units.append(rng.random((N, len(bias))) < 1.0 / (1.0 + np.exp(-(units[-1] @ table.T + bias))))
    h = np.hstack(units[::-1]).astype(np.int8)
    return observe(rng, World(phi, shapes, weights, precision, biases, h, *(np.zeros(0),) * 3))


def observe(rng, world):
    """The same world with factor scores, latent counts and data drawn anew."""
    on = world.h[:, : len(world.shapes)]
    theta = np.where(on == 1, rng.gamma(np.tile(world.shapes, (N, 1))), 0.0)
    counts = rng.poisson(world.phi[None] * theta[:, None, :])
    return world._replace(theta=theta, counts=counts, data=counts.sum(axis=2).astype(np.int32))


def batch(world):
    """The data as compressed rows."""
    documents, words = np.nonzero(world.data)
    starts = np.concatenate([[0], np.cumsum(np.bincount(documents, minlength=N))]).astype(np.int64)
    cells = world.data[documents, words]
    return Batch(words.astype(np.int32), cells, starts, np.full(N, -1, np.int32), np.arange(N, dtype=np.int64))


def kernel(settings):
    return dpfa.build(settings, Facts(V, N))


def state(built, world):
    """The kernel's state in this world."""
    order = np.argwhere(world.counts)  # by document, word, topic: as the batch lists them
    topics = np.repeat(order[:, 2], world.counts[tuple(order.T)]).astype(np.uint16)
    names = ("phi", "shapes", "weights", "precision", "biases", "h")
    return built.init(0)._replace(topics=topics, **{name: getattr(world, name) for name in names})


def world_of(after, before):
    """The world that a state describes; its data have to be drawn anew."""
    names = ("phi", "shapes", "weights", "precision", "biases", "h")
    return before._replace(**{name: getattr(after, name) for name in names})
