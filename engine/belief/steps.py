"""What a step makes of the sums over documents: topics, shapes, weights and biases, by each kind of inference.

Gan, Chen, Henao, Carlson and Carin, "Scalable deep Poisson factor analysis for topic modeling" (ICML 2015): Gibbs
sampling and Bayesian conditional density filtering (section 3.1, Algorithm 1), and stochastic gradient Nose-Hoover
thermostats (section 3.2).  Settings are those of :class:`engine.models.dpfa.Config`.
"""

import itertools
from typing import NamedTuple, Protocol

import numpy as np

from engine import schedule, streams
from engine.belief import documents, moves, network, thermostats
from engine.contract import Array, FloatArray
from engine.pool import Pool
from engine.topic_moves import diffusion, dirichlet, simplex

SCALE_RATE = 0.5  # of the running mean of the counts that a topic explains, relative to the step
Sizes = tuple[FloatArray, ...]


class Settings(Protocol):
    """What steps go by, of the settings of a run."""

    @property
    def layers(self) -> tuple[int, ...]: ...  # noqa: D102
    @property
    def everything_on(self) -> int: ...  # noqa: D102
    @property
    def shrinkage(self) -> str: ...  # noqa: D102
    @property
    def filter_collect(self) -> int: ...  # noqa: D102
    @property
    def forget(self) -> float: ...  # noqa: D102
    @property
    def collect(self) -> int: ...  # noqa: D102
    @property
    def topic_step(self) -> str: ...  # noqa: D102
    @property
    def step(self) -> float: ...  # noqa: D102
    @property
    def tau(self) -> float: ...  # noqa: D102
    @property
    def kappa(self) -> float: ...  # noqa: D102
    @property
    def weight_step(self) -> float: ...  # noqa: D102
    @property
    def noise(self) -> float: ...  # noqa: D102
    @property
    def a_phi(self) -> float: ...  # noqa: D102
    @property
    def gamma0(self) -> float: ...  # noqa: D102
    @property
    def c0(self) -> float: ...  # noqa: D102


class Setup(NamedTuple):
    """What the steps of a run share: its settings, the number of training documents, and the threads."""

    settings: Settings
    n_documents: int
    pool: Pool

    @property
    def prior(self) -> moves.Shrinkage:
        """Prior of r."""
        return moves.Shrinkage(self.settings.gamma0, self.settings.c0)


class Statistics(NamedTuple):
    """Sums over documents and kept sweeps, as in :class:`engine.belief.documents.Tallies`, and how many there were."""

    words: Array
    tables: Array
    on: Array
    cross: Array
    gram: Array
    slope: Array
    documents: Array
    tokens: Array


class Variables(NamedTuple):
    """What a step moves.

    ``phi`` (V, K_1); ``expanded`` the phi_hat of SGRLD (else of no rows); ``scale`` (K_1,) running mean of the counts
    that topics explain, 0 before the first; ``shapes`` (K_1,) r; ``weights[l-1]`` (K_l, K_{l+1}) W^(l),
    ``precision[l-1]`` its prior precisions; ``biases[l-1]`` (K_l,) c^(l); ``thermostats`` of ``[W, c]``
    (K_{l+1} + 1, K_l) for every link and of c^(L) (1, K_L), () but for SGNHT; ``filtered`` the sums of BCDF, as fields
    of Statistics, () otherwise.
    """

    phi: FloatArray
    expanded: FloatArray
    scale: FloatArray
    shapes: FloatArray
    weights: tuple[FloatArray, ...]
    precision: tuple[FloatArray, ...]
    biases: tuple[FloatArray, ...]
    thermostats: tuple[FloatArray, ...]
    filtered: tuple[FloatArray, ...]


class Moved(NamedTuple):
    """Variables after a step, the sizes of it by layer, and what means of the topics take in: ``sample`` and ``eta``.

    See :func:`engine.topic_moves.averages.follow`.
    """

    variables: Variables
    sizes: Sizes
    sample: Array
    eta: float


def gibbs(setup: Setup, seed: int, t: int, old: Variables, got: Statistics) -> Moved:
    """Phi, r, W, c and pi from their conditionals (section 3.1)."""
    config, rng = setup.settings, streams.generator(seed, streams.SHAPES, t)
    phi = dirichlet.draw(got.words, config.a_phi, seed, t, 0, setup.pool)
    shapes = moves.shapes(got.tables, network.by_layer(got.on, config.layers)[0], setup.prior, rng)
    new = _network(setup, t, old._replace(phi=phi, shapes=shapes), got, rng, rng)
    return Moved(new, (), got.words, config.a_phi)


def bcdf(setup: Setup, seed: int, t: int, old: Variables, got: Statistics) -> Moved:
    """Bayesian conditional density filtering: everything from the sums of all mini-batches so far (Algorithm 1).

    The sums of a mini-batch are means over its kept sweeps; the topics and weights are means of their conditionals
    under the sums, which the mean of many draws comes to.
    """
    config, rng = setup.settings, streams.generator(seed, streams.SHAPES, t)
    kept = config.filter_collect
    counted = got._replace(documents=got.documents * kept, tokens=got.tokens * kept)
    before = old.filtered or (np.array(0.0),) * len(counted)
    sums = (np.asarray((1.0 - config.forget) * past + now / kept) for past, now in zip(before, counted, strict=True))
    total = Statistics(*sums)
    table = total.words + config.a_phi
    phi = np.ascontiguousarray(table / table.sum(axis=0))
    shapes = moves.shapes(total.tables, network.by_layer(total.on, config.layers)[0], setup.prior, None)
    new = old._replace(phi=phi, shapes=shapes, filtered=tuple(total))
    if t == config.everything_on:  # what was counted of the units was none of the network's
        total = total._replace(on=np.zeros_like(total.on), documents=np.array(0.0))
        new = new._replace(filtered=tuple(total._replace(tables=np.zeros_like(total.tables))))
    new = _network(setup, t, new, total, None, rng)
    sizes = tuple(np.full(width, max(1.0 / t, config.forget)) for width in config.layers)
    return Moved(new, sizes, phi, 0.0)


def sgnht(setup: Setup, seed: int, t: int, old: Variables, got: Statistics) -> Moved:
    """One mini-batch of SG-MCMC: Phi by its diffusion, r in log space, W and c by thermostats (section 3.2)."""
    config, rng = setup.settings, streams.generator(seed, streams.SHAPES, t)
    rho = setup.n_documents / max(int(got.documents), 1) / config.collect
    eps = schedule.step_size(schedule.Schedule(config.step, config.tau, config.kappa), t)
    words, on = got.words * rho, network.by_layer(got.on, config.layers)[0] * rho
    scale = schedule.averaged(old.scale, words.sum(axis=0), SCALE_RATE * min(eps, 1.0))
    phi, expanded = _topics_step(setup, seed, t, old, words, scale, eps)
    shapes = moves.shapes_step(old.shapes, got.tables * rho, on, setup.prior, min(eps, 0.5), rng)
    eta = config.weight_step / setup.n_documents
    new = old
    if t > config.everything_on:
        new = _weights_step(setup, seed, t, old, got.slope * (rho / documents.UNIT), eta)
        if config.shrinkage == "student":
            new = new._replace(precision=tuple(moves.precisions(table, rng) for table in new.weights))
    new = new._replace(phi=phi, expanded=expanded, scale=scale, shapes=shapes)
    reach = 0.5 * eta * thermostats.N_STEPS**2
    first = eps / np.maximum(scale if config.topic_step != "sgrld" else np.ones_like(scale), simplex.LEAST_SCALE)
    sizes = (first, *(np.full(width, reach) for width in config.layers[1:]))
    return Moved(new, sizes, phi, 0.0)


def _moments(layers: tuple[int, ...], got: Statistics) -> list[tuple[FloatArray, FloatArray]]:
    """``gram`` and ``cross`` of every link, as numbers."""
    found, pair, square = [], 0, 0
    for below, above in itertools.pairwise(layers):
        pairs, squares = below * (above + 1), below * (above + 1) * (above + 2) // 2
        gram = np.asarray(got.gram[square : square + squares]).reshape(-1, below) / documents.UNIT
        cross = np.asarray(got.cross[pair : pair + pairs]).reshape(-1, below).astype(np.float64)
        found.append((gram, cross))
        pair, square = pair + pairs, square + squares
    return found


def _network(
    setup: Setup,
    t: int,
    old: Variables,
    sums: Statistics,
    rng: np.random.Generator | None,
    chances: np.random.Generator,
) -> Variables:
    """Weights, biases and precisions from sums over documents: drawn, or their conditional means."""
    layers = setup.settings.layers
    if t <= setup.settings.everything_on:
        return old
    rows = [moves.rows(*each, table, rng) for each, table in zip(_moments(layers, sums), old.precision, strict=True)]
    weights = tuple(table for table, _ in rows)
    top = moves.top_bias(network.by_layer(sums.on, layers)[-1].astype(np.float64), float(sums.documents), rng)
    student = setup.settings.shrinkage == "student"
    precision = tuple(moves.precisions(table, chances) for table in weights) if student else old.precision
    return old._replace(weights=weights, biases=(*(bias for _, bias in rows), top), precision=precision)


def _topics_step(
    setup: Setup, seed: int, t: int, old: Variables, words: FloatArray, scale: FloatArray, eps: float
) -> tuple[FloatArray, FloatArray]:
    """Topics after a mini-batch, and the phi_hat of SGRLD."""
    config = setup.settings
    if config.topic_step == "sgrld":
        expanded = simplex.sgrld(old.expanded, words, config.a_phi, eps, seed, t, 0, setup.pool)
        return simplex.normalised(expanded, setup.pool), expanded
    move = diffusion.STEPS[config.topic_step].topics
    return move(old.phi, words, config.a_phi, scale, eps, seed, t, 0, setup.pool), old.expanded


def _weights_step(setup: Setup, seed: int, t: int, old: Variables, slope: FloatArray, eta: float) -> Variables:
    """Weights and biases after the thermostats' steps along the gradient of a mini-batch and of their priors."""
    config, at = setup.settings, 0
    weights, biases, kept = [], [], []
    tables = [*old.weights, np.zeros((config.layers[-1], 0))]
    precisions = [*old.precision, np.zeros((config.layers[-1], 0))]
    parts = zip(tables, precisions, old.biases, old.thermostats, strict=True)
    for number, (table, precision, bias, xi) in enumerate(parts):
        x = np.vstack([table.T, bias])
        pull = np.vstack([(precision * table).T, bias])
        gradient = slope[at : at + x.size].reshape(x.shape) - pull
        at += x.size
        x, friction = thermostats.moved(x, xi, gradient, eta, config.noise, seed, t, number)
        weights.append(np.ascontiguousarray(x[:-1].T))
        biases.append(np.clip(x[-1], -network.MOST_LOGIT, network.MOST_LOGIT))
        kept.append(friction)
    return old._replace(weights=tuple(weights[:-1]), biases=tuple(biases), thermostats=tuple(kept))
