"""Steps of topics, shapes, weights and biases given sums over documents, one for each kind of inference.

Gan, Chen, Henao, Carlson and Carin, "Scalable deep Poisson factor analysis for topic modeling" (ICML 2015): Gibbs
sampling and Bayesian conditional density filtering (section 3.1, Algorithm 1), and stochastic gradient Nose-Hoover
thermostats (section 3.2).  Settings are those of :class:`engine.models.dpfa.settings.Config`.
"""

import itertools
from math import sqrt
from typing import NamedTuple

import numpy as np

from topiary.engine import shared_settings, streams
from topiary.engine.contract import Array, FloatArray
from topiary.engine.gibbs.augment import draw_normal
from topiary.engine.jit import compiled
from topiary.engine.models.dpfa import documents, network
from topiary.engine.models.dpfa.documents import LOG_HALF
from topiary.engine.models.dpfa.network import MOST_LOGIT
from topiary.engine.models.dpfa.settings import Config
from topiary.engine.pool import Pool
from topiary.engine.streams import SHAPES, start_stream
from topiary.engine.topic_moves import diffusion, dirichlet
from topiary.engine.topic_moves.rows import LayerAddress

SHAPE, RATE = 1.1, 0.01  # gamma prior of a weight's precision, which makes the weight's prior a Student's t
LEAST_SHAPE = 1e-9  # smallest r, so that every topic remains possible
_MOST_ENTRIES = 1 << 22  # most entries of the matrices that are factorised at a time


class Shrinkage(NamedTuple):
    """Prior of r: ``Gam(gamma0, 1 / c0)``."""

    gamma0: float
    c0: float


def draw_rows(
    gram: FloatArray, cross: FloatArray, precision: FloatArray, rng: np.random.Generator | None
) -> tuple[FloatArray, FloatArray]:
    """Draw weights and biases of one link from their Gaussian conditional (section 3.1, the bias as one more column).

    Parameters
    ----------
    gram : ((K_2 + 1)(K_2 + 2) / 2, K_1) float64
        Lower triangles of the Gram matrices of the units above, one column per unit below.
    cross : (K_2 + 1, K_1) float64
        Sums of ``(2 h_k - 1) h``.
    precision : (K_1, K_2) float64
        Prior precision of every weight.
    rng : Generator or None
        None: return the conditional means instead.

    Returns
    -------
    (K_1, K_2) and (K_1,) float64
    """
    size, width = cross.shape
    lower = np.tril_indices(size)
    noise = np.zeros((width, size)) if rng is None else rng.standard_normal((width, size))
    rows = np.empty((width, size))
    step = max(1, _MOST_ENTRIES // (size * size))
    for begin in range(0, width, step):
        columns = slice(begin, begin + step)
        matrices = np.zeros((len(range(width)[columns]), size, size))
        matrices[:, lower[0], lower[1]] = gram[:, columns].T
        matrices[:, lower[1], lower[0]] = gram[:, columns].T
        matrices[:, range(size - 1), range(size - 1)] += precision[columns]
        matrices[:, size - 1, size - 1] += 1.0
        factor = np.linalg.cholesky(matrices)
        half = np.linalg.solve(factor, 0.5 * cross[:, columns].T[..., None]) + noise[columns, :, None]
        rows[columns] = np.linalg.solve(factor.transpose(0, 2, 1), half)[..., 0]
    return np.ascontiguousarray(rows[:, :-1]), np.ascontiguousarray(rows[:, -1])


def draw_precisions(weights: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Draw prior precisions of weights with a Student's t prior: ``Gam(1.1 + 1/2, rate 0.01 + w^2 / 2)``.

    The constants are those of the authors' code.
    """
    return np.asarray(rng.gamma(SHAPE + 0.5, size=weights.shape) / (RATE + 0.5 * weights**2))


def choose_top_prior(width: int) -> tuple[float, float]:
    """Return the parameters of the beta prior of pi, the chance of each of ``width`` top units of a belief network.

    ``pi_k ~ Beta(1/K, 1 - 1/K)`` under every inference, so that a network of one layer is NB-FTM.  The paper names no
    prior of c^(L); this is the one of the authors' Gibbs sampler.  With a single unit it would be improper, so
    ``Beta(1, 1)`` is used.
    """
    share = 1.0 / width
    return share, max(1.0 - share, share)


def draw_top_bias(on: FloatArray, documents: float, rng: np.random.Generator | None) -> FloatArray:
    """Return the log-odds of the top units, drawn (or at the mean of pi if ``rng`` is None).

    ``pi_k ~ Beta(a + on_k, b + documents - on_k)`` with a and b of :func:`choose_top_prior`.
    """
    first, second = choose_top_prior(len(on))
    a, b = first + on, second + documents - on
    if rng is None:
        log_odds = np.log(a / b)
    else:
        on_draw, off_draw = rng.gamma(a), rng.gamma(b)
        log_odds = np.log(np.maximum(on_draw, 1e-300)) - np.log(np.maximum(off_draw, 1e-300))
    return np.asarray(np.clip(log_odds, -MOST_LOGIT, MOST_LOGIT))


def differentiate_top_prior(bias: FloatArray) -> FloatArray:
    """Return the derivative of the log prior of the top units' log-odds c, ``a - (a + b) sigmoid(c)``.

    It is the prior of :func:`draw_top_bias`: ``pi = sigmoid(c)`` has density ``pi^(a-1) (1 - pi)^(b-1)``, and c that
    times ``pi (1 - pi)``.
    """
    a, b = choose_top_prior(len(bias))
    return np.asarray(a - (a + b) / (1.0 + np.exp(-bias)))


def draw_shapes(tables: FloatArray, on: FloatArray, prior: Shrinkage, rng: np.random.Generator | None) -> FloatArray:
    """Draw ``r_k ~ Gam(gamma0 + tables_k, 1 / (c0 - on_k ln(1 - p)))`` with p = 1/2; return means if no ``rng``."""
    shape = prior.gamma0 + tables
    draw = shape if rng is None else rng.gamma(shape)
    return np.asarray(np.maximum(draw / (prior.c0 - LOG_HALF * on), LEAST_SHAPE))


def step_shapes(
    r: FloatArray, tables: FloatArray, on: FloatArray, prior: Shrinkage, size: float, rng: np.random.Generator
) -> FloatArray:
    """Take one Langevin step of ln r, its size divided by the counts that each r explains.

    The gradient is ``gamma0 + tables_k - (c0 - on_k ln(1 - p)) r_k``.  Its slope at the mode is ``gamma0 + tables_k``
    in size; the step is divided by that, so that the same ``size`` suits every corpus.
    """
    shape = prior.gamma0 + tables
    steps = size / shape
    drift = shape - (prior.c0 - LOG_HALF * on) * r
    moved = np.clip(steps * drift, -1.0, 1.0) + np.sqrt(2.0 * steps) * rng.standard_normal(len(r))
    return np.asarray(np.maximum(r * np.exp(moved), LEAST_SHAPE))


N_STEPS = 50  # thermostat steps per mini-batch
_SHIFT = 40  # a stream's item is the number of the table, followed by the parameter in the low 40 bits


def init_thermostats(layers: tuple[int, ...], noise: float) -> tuple[FloatArray, ...]:
    """Return the initial thermostats: for the weights and biases of every link, then for the biases of the top."""
    shapes = [*((above + 1, below) for below, above in itertools.pairwise(layers)), (1, layers[-1])]
    return tuple(np.full(shape, noise) for shape in shapes)


def step_thermostats(
    x: FloatArray, xi: FloatArray, gradient: FloatArray, eta: float, noise: float, at: LayerAddress
) -> tuple[FloatArray, FloatArray]:
    """Return parameters and thermostats after the steps of one mini-batch.

    Parameters
    ----------
    x, xi, gradient : float64 arrays of one shape
        Parameters, thermostats, and the gradient of the log-posterior at x.
    eta : float
        Square of the step size.
    noise : float
        C, the injected noise, and the initial value of thermostats.
    at : LayerAddress
        Address of the random streams, with the number of the table as its layer.
    """
    new, friction = x.ravel().copy(), xi.ravel().copy()
    _step_thermostats(new, friction, gradient.ravel(), eta, noise, at, N_STEPS)
    return new.reshape(x.shape), friction.reshape(x.shape)


@compiled
def _step_thermostats(
    x: FloatArray, xi: FloatArray, gradient: FloatArray, eta: float, noise: float, at: LayerAddress, n_steps: int
) -> None:
    """Take the steps in place, one parameter after another: with a fixed gradient they are independent."""
    spread, pace = sqrt(2.0 * noise * eta), sqrt(eta)
    for i in range(len(x)):
        z, rng = draw_normal(start_stream(at.seed, SHAPES, at.step, (np.int64(at.layer + 1) << _SHIFT) + i))
        u = pace * z
        for _ in range(n_steps):
            x[i] += u
            z, rng = draw_normal(rng)
            u = (1.0 - xi[i]) * u + eta * gradient[i] + spread * z
            xi[i] += u * u - eta


SCALE_RATE = 0.5  # rate of the running mean of the counts that a topic explains, relative to the step size
Sizes = tuple[FloatArray, ...]  # step sizes, one array per layer


class NetSetup(NamedTuple):
    """Constants of all steps of a run: its settings, the number of training documents, and the thread pool."""

    settings: Config
    n_documents: int
    pool: Pool

    @property
    def prior(self) -> Shrinkage:
        """Prior of r."""
        return Shrinkage(self.settings.gamma0, self.settings.c0)


class NetStatistics(NamedTuple):
    """Sums over documents and kept sweeps, as in :class:`engine.models.dpfa.documents.Tallies`.

    ``documents`` and ``tokens`` are the numbers of documents and of their tokens.
    """

    words: Array
    tables: Array
    on: Array
    cross: Array
    gram: Array
    slope: Array
    documents: Array
    tokens: Array


class NetVariables(NamedTuple):
    """Variables that a step moves.

    ``phi`` (V, K_1); ``expanded`` the phi_hat of SGRLD (no rows otherwise); ``scale`` (K_1,) running mean of the counts
    that topics explain, 0 before the first step; ``shapes`` (K_1,) r; ``weights[l-1]`` (K_l, K_{l+1}) W^(l),
    ``precision[l-1]`` its prior precisions; ``biases[l-1]`` (K_l,) c^(l); ``thermostats`` of ``[W, c]``
    (K_{l+1} + 1, K_l) for every link and of c^(L) (1, K_L), () except for SGNHT; ``filtered`` the running sums of BCDF
    in the order of NetStatistics, () otherwise.
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


class NetStep(NamedTuple):
    """Variables after a step, step sizes by layer, and the topics' ``sample`` and ``eta`` for their running mean.

    See :func:`engine.topic_moves.steps.update_mean`.
    """

    variables: NetVariables
    sizes: Sizes
    sample: Array
    eta: float


def step_gibbs(setup: NetSetup, seed: int, t: int, old: NetVariables, got: NetStatistics) -> NetStep:
    """Draw Phi, r, W, c and pi from their conditionals (section 3.1)."""
    config, rng = setup.settings, streams.make_generator(seed, streams.SHAPES, t)
    phi = dirichlet.draw_topics(got.words, config.a_phi, LayerAddress(seed, t, 0), setup.pool)
    shapes = draw_shapes(got.tables, network.split_layers(got.on, config.layers)[0], setup.prior, rng)
    new = _draw_network(setup, t, old._replace(phi=phi, shapes=shapes), got, rng, rng)
    return NetStep(new, (), got.words, config.a_phi)


def step_bcdf(setup: NetSetup, seed: int, t: int, old: NetVariables, got: NetStatistics) -> NetStep:
    """Take a step of Bayesian conditional density filtering, from the running sums of all mini-batches (Algorithm 1).

    A mini-batch contributes means over its kept sweeps.  Topics and weights become the means of their conditionals
    given the running sums.  Algorithm 1 takes the mean of a draw per kept sweep, whose limit this is; draws were tried,
    and are no better (the measurements of the guide).
    """
    config, rng = setup.settings, streams.make_generator(seed, streams.SHAPES, t)
    n_sweeps = config.filter_collect
    counted = got._replace(documents=got.documents * n_sweeps, tokens=got.tokens * n_sweeps)
    previous = old.filtered or (np.array(0.0),) * len(counted)
    sums = (
        np.asarray((1.0 - config.forget) * old_sum + new_sum / n_sweeps)
        for old_sum, new_sum in zip(previous, counted, strict=True)
    )
    total = NetStatistics(*sums)
    table = total.words + config.a_phi
    phi = np.ascontiguousarray(table / table.sum(axis=0))
    shapes = draw_shapes(total.tables, network.split_layers(total.on, config.layers)[0], setup.prior, None)
    new = old._replace(phi=phi, shapes=shapes, filtered=tuple(total))
    if t == config.everything_on:  # the counted units were all on, not drawn from the network: forget them
        total = total._replace(on=np.zeros_like(total.on), documents=np.array(0.0))
        new = new._replace(filtered=tuple(total._replace(tables=np.zeros_like(total.tables))))
    new = _draw_network(setup, t, new, total, None, rng)
    sizes = tuple(np.full(width, max(1.0 / t, config.forget)) for width in config.layers)
    return NetStep(new, sizes, phi, 0.0)


def step_sgnht(setup: NetSetup, seed: int, t: int, old: NetVariables, got: NetStatistics) -> NetStep:
    """Take an SG-MCMC step: Phi by its diffusion, r in log space, W and c by thermostats (section 3.2)."""
    config, rng = setup.settings, streams.make_generator(seed, streams.SHAPES, t)
    rho = setup.n_documents / max(int(got.documents), 1) / config.collect
    eps = shared_settings.step_size(shared_settings.Schedule(config.step, config.tau, config.kappa), t)
    words, on = got.words * rho, network.split_layers(got.on, config.layers)[0] * rho
    scale = shared_settings.update_average(old.scale, words.sum(axis=0), SCALE_RATE * min(eps, 1.0))
    phi, expanded = _step_topics(setup, seed, t, old, words, scale, eps)
    shapes = step_shapes(old.shapes, got.tables * rho, on, setup.prior, min(eps, 0.5), rng)
    eta = config.weight_step / setup.n_documents
    new = old
    if t > config.everything_on:
        new = _step_weights(setup, seed, t, old, got.slope * (rho / documents.UNIT), eta)
        if config.shrinkage == "student":
            new = new._replace(precision=tuple(draw_precisions(table, rng) for table in new.weights))
    new = new._replace(phi=phi, expanded=expanded, scale=scale, shapes=shapes)
    reach = 0.5 * eta * N_STEPS**2
    first = eps / np.maximum(scale if config.topic_step != "sgrld" else np.ones_like(scale), diffusion.LEAST_SCALE)
    sizes = (first, *(np.full(width, reach) for width in config.layers[1:]))
    return NetStep(new, sizes, phi, 0.0)


def _split_moments(layers: tuple[int, ...], sums: NetStatistics) -> list[tuple[FloatArray, FloatArray]]:
    """Return ``gram`` and ``cross`` of every link as floats, as :func:`draw_rows` takes them."""
    moments, pair_start, square_start = [], 0, 0
    for below, above in itertools.pairwise(layers):
        pairs, squares = below * (above + 1), below * (above + 1) * (above + 2) // 2
        gram = np.asarray(sums.gram[square_start : square_start + squares]).reshape(-1, below) / documents.UNIT
        cross = np.asarray(sums.cross[pair_start : pair_start + pairs]).reshape(-1, below).astype(np.float64)
        moments.append((gram, cross))
        pair_start, square_start = pair_start + pairs, square_start + squares
    return moments


def _draw_network(
    setup: NetSetup,
    t: int,
    old: NetVariables,
    sums: NetStatistics,
    rng: np.random.Generator | None,
    precision_rng: np.random.Generator,
) -> NetVariables:
    """Return the variables with weights, biases and precisions given sums over documents.

    Weights and biases are drawn, or conditional means if ``rng`` is None; precisions are always drawn.
    """
    layers = setup.settings.layers
    if t <= setup.settings.everything_on:
        return old
    rows = [
        draw_rows(*moments, table, rng)
        for moments, table in zip(_split_moments(layers, sums), old.precision, strict=True)
    ]
    weights = tuple(table for table, _ in rows)
    top = draw_top_bias(network.split_layers(sums.on, layers)[-1].astype(np.float64), float(sums.documents), rng)
    student = setup.settings.shrinkage == "student"
    precision = tuple(draw_precisions(table, precision_rng) for table in weights) if student else old.precision
    return old._replace(weights=weights, biases=(*(bias for _, bias in rows), top), precision=precision)


def _step_topics(
    setup: NetSetup, seed: int, t: int, old: NetVariables, words: FloatArray, scale: FloatArray, eps: float
) -> tuple[FloatArray, FloatArray]:
    """Return the topics after a mini-batch, and the phi_hat of SGRLD (unchanged for other steps)."""
    config = setup.settings
    if config.topic_step == "sgrld":
        expanded = diffusion.step_sgrld(old.expanded, words, config.a_phi, eps, LayerAddress(seed, t, 0), setup.pool)
        return diffusion.normalise_columns(expanded, setup.pool), expanded
    move = diffusion.STEPS[config.topic_step].topics
    return move(old.phi, words, config.a_phi, scale, eps, LayerAddress(seed, t, 0), setup.pool), old.expanded


def _step_weights(setup: NetSetup, seed: int, t: int, old: NetVariables, slope: FloatArray, eta: float) -> NetVariables:
    """Return the variables after thermostat steps of weights and biases along the gradient of data and priors.

    ``slope`` holds the mini-batch gradients of all links, one after another, scaled to the corpus.  Biases have a
    standard normal prior, but for those of the top of a belief network (:func:`differentiate_top_prior`); a unit of a
    Boltzmann machine is not on with a chance of its own.
    """
    config, start = setup.settings, 0
    weights, biases, thermostats = [], [], []
    tables = [*old.weights, np.zeros((config.layers[-1], 0))]
    precisions = [*old.precision, np.zeros((config.layers[-1], 0))]
    layers = zip(tables, precisions, old.biases, old.thermostats, strict=True)
    for number, (table, precision, bias, xi) in enumerate(layers):
        x = np.vstack([table.T, bias])
        is_beta = config.hierarchy == "sbn" and number == len(old.weights)
        bias_slope = differentiate_top_prior(bias) if is_beta else -bias
        prior_slope = np.vstack([-(precision * table).T, bias_slope])
        gradient = slope[start : start + x.size].reshape(x.shape) + prior_slope
        start += x.size
        x, friction = step_thermostats(x, xi, gradient, eta, config.noise, LayerAddress(seed, t, number))
        weights.append(np.ascontiguousarray(x[:-1].T))
        biases.append(np.clip(x[-1], -network.MOST_LOGIT, network.MOST_LOGIT))
        thermostats.append(friction)
    return old._replace(weights=tuple(weights[:-1]), biases=tuple(biases), thermostats=tuple(thermostats))
