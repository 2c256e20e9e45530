"""DATM's objective written plainly, and small models to hold the engine against it.

Everything is dense and in the order of the paper's equations (DATM eq. 15, 20, 22 to 25); random numbers are
given, never drawn.  No clamp is written out, so parameters must keep clear of them.
"""

import itertools
from typing import NamedTuple

import numpy as np
from scipy import special

from topiary.engine.autoencoder import hybrid, hybrid_step
from topiary.engine.contract import Batch, Facts
from topiary.engine.models.datm import kernel as datm

V, N = 12, 9
SEED = 20_260_301
PER_LAYER = 6


class Case(NamedTuple):
    """A model, a state of it in the middle of training, and a mini-batch."""

    at: hybrid.Hybrid
    state: hybrid.State
    docs: Batch

    @property
    def weight(self):
        """What the divergence weighs at the next step."""
        config = self.at.config
        return config.kl_weight * min(1.0, (int(self.state.t) + 1) / max(1, config.kl_warm_up))


def step(at, seed, state, docs, head=None):
    """One mini-batch."""
    return hybrid_step.move_state(at, seed, state, hybrid_step.gather_statistics(at, seed, state, docs, head), head)


def rows(table, first=100):
    """A dense table (documents, V) as a batch; documents are numbered from ``first``."""
    table = np.asarray(table)
    documents, words = np.nonzero(table)
    starts = np.concatenate([[0], np.cumsum(np.bincount(documents, minlength=len(table)))]).astype(np.int64)
    numbers = np.arange(first, first + len(table), dtype=np.int64)
    values = table[documents, words].astype(np.int32)
    return Batch(words.astype(np.int32), values, starts, np.full(len(table), -1, np.int32), numbers)


def dense(docs, n_words=V):
    """The batch as a table again."""
    table = np.zeros((len(docs.documents), n_words))
    table[np.repeat(np.arange(len(table)), np.diff(docs.starts)), docs.words] = docs.counts
    return table


def counts(seed=1):
    """Nine documents of very different lengths: one is empty, one has one word, and the last word never occurs."""
    table = np.random.default_rng(seed).poisson(np.linspace(0.2, 4.0, N)[:, None], (N, V))
    table[2] = 0
    table[3] = np.arange(V) == 5
    table[:, V - 1] = 0
    return table


def case(layers=(5, 4, 3), table=None, seed=SEED, **settings):
    """Random weights (shapes near 1.5), topics and r, in the middle of the warm-up: divergence times 0.3 x 4 / 10."""
    usual = {"kl_weight": 0.3, "kl_warm_up": 10}
    if settings.get("inference") == "wai":
        usual |= {"counts": "encoder"}  # its topics too climb the bound
    config = datm.Config(layers=layers, **(usual | settings))
    at = hybrid.make_setup(config, Facts(V, 50), 1)
    rng = np.random.default_rng(seed)
    state = hybrid.init_state(at, seed)
    phi = tuple(np.ascontiguousarray(rng.dirichlet(np.full(a, 0.5), b).T) for a, b in itertools.pairwise((V, *layers)))
    higher = [1.2 if i % PER_LAYER == 3 else 0.0 for i in range(len(state.weights))]  # b1
    weights = tuple(0.5 * w + rng.normal(up, 0.3, w.shape) for w, up in zip(state.weights, higher, strict=True))
    r = state.r if config.prior == "paper" else rng.gamma(2.0, 0.5, layers[-1])
    state = state._replace(t=np.array(3), phi=phi, r=r, weights=weights)
    return Case(at, state, rows(counts() if table is None else table))


def softplus(x):
    return np.log1p(np.exp(x))


def weibull_divergence(k, scale, a, b):
    """KL(Weib(k, lambda) || Gam(a, 1/b)) as in models.md 2."""
    g = np.euler_gamma
    terms = g * a / k - a * np.log(scale) + np.log(k) + b * scale * special.gamma(1 + 1 / k)
    return terms - g - 1 - a * np.log(b) + special.gammaln(a)


def gamma_divergence(k, scale, a, b):
    """KL(Gam(k, scale) || Gam(a, 1/b))."""
    terms = (k - a) * special.digamma(k) - special.gammaln(k) + special.gammaln(a)
    return terms - a * np.log(scale * b) + k * (scale * b - 1)


def raised_gamma(k, normals, uniforms):
    """A Gam(k, 1) draw from the normal accepted for shape k + B, and B uniforms (B: their last dimension)."""
    steps = uniforms.shape[-1]
    d = k + steps - 1 / 3
    z = d * (1 + normals / np.sqrt(9 * d)) ** 3
    for i in range(steps):
        z = z * uniforms[..., i] ** (1 / (k + i))
    return z


class Plain(NamedTuple):
    """Sums over documents: log-likelihood without ``ln x!``, and all divergences; theta of every layer."""

    likelihood: float
    divergence: float
    theta: list


def objective(kind, weights, phi, r, c, sizes, table, noise, factors=None, judging=None):
    """DATM's bound under the given random numbers; ``noise(layer)``: ln E (Weibull), normals and uniforms (gamma).

    ``factors`` are those of dropout, a table for each layer of units; ``judging`` the counts of the likelihood, if they
    are not those of ``table``, which the encoder reads.
    """
    n = len(phi)
    hidden = [np.log1p(table)]
    for layer in range(n):
        w3, b3 = weights[PER_LAYER * layer : PER_LAYER * layer + 2]
        hidden.append(softplus(hidden[-1] @ w3 + b3) * (1.0 if factors is None else factors[layer]))
    above, divergence, drawn = np.tile(r, (len(table), 1)), 0.0, []
    for layer in reversed(range(n)):
        w1, b1, w2, b2 = weights[PER_LAYER * layer + 2 : PER_LAYER * layer + 6]
        k = softplus(hidden[layer + 1] @ w1 + b1)
        if kind.per_document:
            k = np.clip(k, 0.1, 10.0) * np.ones(len(b2))
        if kind.downward and layer < n - 1:
            k = k + above
        size = softplus(hidden[layer + 1] @ w2 + b2) * sizes[:, layer : layer + 1]
        a, b = above, c[:, layer : layer + 1]
        if kind.posterior == "weibull":
            scale = size / special.gamma(1 + 1 / k) if kind.by_mean else size
            theta = scale * np.exp(noise(layer) / k)
            divergence += weibull_divergence(k, scale, a, b).sum()
        else:
            scale = size / k if kind.by_mean else size
            theta = scale * raised_gamma(k, *noise(layer))
            divergence += gamma_divergence(k, scale, a, b).sum()
        drawn.insert(0, theta)
        above = theta @ phi[layer].T
    table = table if judging is None else judging
    seen = table > 0
    return Plain((table[seen] * np.log(above[seen])).sum() - theta.sum(), divergence, drawn)


def learn(at, seed, state, docs, head=None):
    """What `hybrid_step.learn` sums over documents, as means of a document: those that Adam is given."""
    found, n = hybrid_step.learn_encoder(at, seed, state, docs, head), len(docs.documents)
    gradient = hybrid_step.average_gradient(found, n)
    if head is not None:
        own = PER_LAYER * len(state.phi)
        shrunk = head.differentiate_divergence(state.weights[own:], int(state.t) + 1)
        gradient[own:] = [each + other for each, other in zip(gradient[own:], shrunk, strict=True)]
    topics = tuple(each / n for each in found.topics)
    return found._replace(gradient=gradient, elbo=found.elbo / n, topics=topics, shapes=found.shapes / n)
