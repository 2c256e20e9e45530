"""A step of the topics of all layers and of r, given the counts of every layer: a Gibbs draw, or a step of SG-MCMC.

Cong, Chen, Liu and Zhou, "Deep latent Dirichlet allocation with topic-layer-adaptive stochastic gradient Riemannian
MCMC" (ICML 2017): section 2 describes the draw, section 3 the steps of SG-MCMC (TLASGR, TLFSGR and SGRLD).

Exact draws of concentrations given counts: those of Dirichlet priors, and the gamma prior of r.

Columns ``n_k ~ Mult(phi_k)`` with ``phi_k ~ Dir(eta)`` over V entries, phi integrated out, have the likelihood

    prod_k Gamma(eta V) / Gamma(eta V + n_.k)  prod_v Gamma(eta + n_vk) / Gamma(eta).

Its first factor is the integral of ``u^(eta V - 1) (1 - u)^(n_.k - 1)``, its second the sum of ``eta^l`` over tables of
a Chinese restaurant.  So with ``l_vk ~ CRT(n_vk, eta)`` and ``u_k ~ Beta(eta V, n_.k)`` the conditional of eta is a
gamma distribution if its prior Gam(a, 1/b) is one (Escobar and West, JASA 1995; Zhou and Carin, TPAMI 2015):

    eta ~ Gam(a + sum_vk l_vk,  1 / (b - V sum_k ln u_k)).

Tables are integers and every row has its own random stream, so results are the same bits for any number of threads.

Running means and variances of topics over the last samples, shown to users instead of one noisy draw.

A topic drawn from ``Dir(eta + x)`` carries the noise of that draw, so the mean is taken over its expectations under the
counts of each sweep, ``(eta + x_vk) / (eta V + x_.k)`` (Rao-Blackwellised); if topics move by steps, over the topics
themselves.  A mean makes sense only while topic ``k`` stays the same topic: if the chain has swapped two topics, the
next sample has little in common with the mean, which then restarts with that sample.

The variance is that of a draw: the mean over the samples of the Dirichlet's own variance under the counts,
``m (1 - m) / (eta V + x_.k + 1)`` (0 if topics move by steps), plus the variance of the samples around their mean (law
of total variance).
"""

from collections.abc import Callable, Sequence
from math import exp, fabs, log1p
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from topiary.engine import shared_settings
from topiary.engine.contract import Array, FloatArray
from topiary.engine.gibbs.augment import Draw, draw_crt, draw_gamma, draw_log_gamma
from topiary.engine.gibbs.local import FINEST, LayerCounts, Sampler, SweepSums
from topiary.engine.jit import compiled, inlined
from topiary.engine.pool import Pool
from topiary.engine.streams import CONCENTRATIONS, SHAPES, Address, Stream, start_stream
from topiary.engine.topic_moves import diffusion, dirichlet
from topiary.engine.topic_moves.diffusion import ShapePrior
from topiary.engine.topic_moves.rows import BLOCK, Blocks, LayerAddress, run_blocks, start_row_stream, sum_columns
from topiary.engine.widths import StructureChange

MEMORY = 20  # least number of samples remembered; older ones lose a factor of e of their weight within as many more
PART = 4  # the last 1 / PART of the steps are remembered, and the start is forgotten
SAME = 0.5  # least share of words that a topic has in common with its mean; below it the mean restarts


class TopicMean(NamedTuple):
    """A running mean of the topics of one layer.

    ``phi`` (K_{l-1}, K_l) float32 over ``samples`` (K_l,) int32, and ``variance`` (K_{l-1}, K_l) float32 of a draw.
    """

    phi: Array
    samples: Array
    variance: Array


class ScaledSample(NamedTuple):
    """A scaled sample ``m = (sample + eta) inverse``, columns of sum 1; draws have variance ``m (1 - m) spread``."""

    sample: Array
    eta: float
    inverse: FloatArray
    spread: FloatArray


def count_memory(t: int) -> int:
    """Return how many samples the mean of step ``t`` remembers.

    A small fixed number would suffice for the mean, but not for the variance: samples of upper layers stay alike for
    hundreds of sweeps, and intervals from twenty of them contained only 50 to 60 % of the true edges in simulations.
    """
    return max(MEMORY, t // PART)


def init_mean(phi: FloatArray) -> TopicMean:
    """Return an initial mean, which the first sample replaces."""
    return TopicMean(
        phi.astype(np.float32), np.zeros(phi.shape[1], dtype=np.int32), np.zeros(phi.shape, dtype=np.float32)
    )


def update_mean(
    mean: TopicMean, sample: Array, eta: float, pool: Pool, memory: int = MEMORY
) -> tuple[TopicMean, FloatArray]:
    """Return the mean with one more sample, and the sample's weight in it.

    Parameters
    ----------
    mean : TopicMean
    sample : (K_{l-1}, K_l) array, >= 0
        Counts of a sweep, or topics (then ``eta`` is 0).
    eta : float
        Added to every entry before columns are divided by their sums.
    pool : Pool
    memory : int
        Number of samples that the mean remembers (:func:`count_memory`).

    Returns
    -------
    TopicMean
    (K_l,) float64
        The weight of the sample in the mean.
    """
    if not len(mean.variance):  # of a checkpoint written before variances were kept
        mean = mean._replace(variance=np.zeros_like(mean.phi))
    totals = sum_columns(sample, pool) + eta * len(sample)
    inverse = np.where(totals > 0.0, 1.0 / np.where(totals > 0.0, totals, 1.0), 0.0)
    scaled = ScaledSample(sample, eta, inverse, 1.0 / (totals + 1.0) if eta > 0.0 else np.zeros_like(totals))
    overlap = run_blocks(_sum_overlaps, (mean.phi, scaled), sample.shape, pool)
    samples = np.where(overlap < SAME, 0, mean.samples)
    samples = np.minimum(samples + 1, memory).astype(np.int32)
    weight = np.where(totals > 0.0, 1.0 / samples, 0.0)
    new, variance = np.empty_like(mean.phi), np.empty_like(mean.phi)
    run_blocks(_mix_sample, (mean, scaled, weight, new, variance), sample.shape, pool)
    return TopicMean(new, samples, variance), weight


class LayerMeans(NamedTuple):
    """Running means of all layers.

    ``mean[l-1]`` of ``averaged[l-1]`` (K_l,) samples with ``variance[l-1]``, and ``mean_r`` (K_L,) of r.
    """

    mean: tuple[Array, ...]
    averaged: tuple[Array, ...]
    variance: tuple[Array, ...]
    mean_r: FloatArray


def init_layer_means(phi: tuple[FloatArray, ...], r: FloatArray) -> LayerMeans:
    """Return initial means of all layers, which the first sample replaces."""
    return _join_layers([init_mean(layer) for layer in phi], r)


def update_layer_means(
    old: LayerMeans,
    samples: Sequence[Any],
    etas: Sequence[float],
    r: FloatArray,
    update: Callable[..., tuple[TopicMean, Array]],
    memory: int = MEMORY,
) -> LayerMeans:
    """Return the means with one more sample of every layer and of r.

    ``update(mean, sample, eta, memory)`` adds the sample of a layer, as :func:`update_mean` does.
    """
    means, weight = [], np.zeros(0)
    variance = old.variance or (np.zeros(0),) * len(old.mean)
    for *mean, sample, eta in zip(old.mean, old.averaged, variance, samples, etas, strict=True):
        new, weight = update(TopicMean(*mean), sample, eta, memory)
        means.append(new)
    return _join_layers(means, old.mean_r + np.asarray(weight) * (r - old.mean_r))


def _join_layers(means: Sequence[TopicMean], r: FloatArray) -> LayerMeans:
    """Return the means of single layers as one tuple of arrays per field."""
    phi, averaged, variance = (tuple(parts) for parts in zip(*means, strict=True))
    return LayerMeans(phi, averaged, variance, r)


@compiled
def _sum_overlaps(mean: Array, scaled: ScaledSample, blocks: Blocks) -> None:
    """Write ``sum_v min(mean_vk, sample_vk)`` of every block to ``blocks.sums``."""
    sample, eta, inverse, _ = scaled
    for block in range(blocks.first, blocks.last):
        total = blocks.sums[block]
        for v in range(block * BLOCK, min((block + 1) * BLOCK, sample.shape[0])):
            for k in range(sample.shape[1]):
                total[k] += min(np.float64(mean[v, k]), (sample[v, k] + eta) * inverse[k])


@compiled
def _mix_sample(
    mean: TopicMean, scaled: ScaledSample, weight: FloatArray, new: Array, variance: Array, blocks: Blocks
) -> None:
    """Write ``mean + weight (sample - mean)`` to ``new``, and the variance of a draw around it."""
    sample, eta, inverse, spread = scaled
    for v in range(blocks.first * BLOCK, min(blocks.last * BLOCK, sample.shape[0])):
        for k in range(sample.shape[1]):
            old, w, current = np.float64(mean.phi[v, k]), weight[k], (sample[v, k] + eta) * inverse[k]
            change = current - old
            new[v, k] = old + w * change
            accumulated = mean.variance[v, k] + w * change * change
            variance[v, k] = (1.0 - w) * accumulated + w * current * (1.0 - current) * spread[k]


LEAST = 1e-6  # least concentration drawn, the lower bound of the settings; without any count a draw may be anything


class GammaPrior(NamedTuple):
    """The prior of a concentration: ``Gam(shape, 1 / rate)``."""

    shape: float
    rate: float


class RPriors(NamedTuple):
    """The priors of gamma_0 and c_0, which are those of r."""

    gamma0: GammaPrior
    c0: GammaPrior


R_PRIORS = RPriors(GammaPrior(0.01, 0.01), GammaPrior(1.0, 1.0))  # of Zhou, Cong and Chen


def choose_prior(given: float) -> GammaPrior:
    """Return the prior of a concentration that is learnt: exponential, with the given number as its mean."""
    return GammaPrior(1.0, 1.0 / given)


def draw_eta(counts: Array, eta: float, prior: GammaPrior, at: LayerAddress, pool: Pool) -> float:
    """Return a draw of eta given the counts of one layer, (K_{l-1}, K_l), with its topics integrated out.

    ``eta`` is the current value, from which the tables are drawn.
    """
    tables = run_blocks(_count_tables, (counts, eta, at), counts.shape, pool)
    value: float = _draw_given_tables(float(tables.sum()), sum_columns(counts, pool), len(counts), eta, prior, at)
    return value


@compiled
def _count_tables(counts: Array, eta: float, at: LayerAddress, blocks: Blocks) -> None:
    """Write the column sums of ``l_vk ~ CRT(n_vk, eta)`` of every block to ``blocks.sums``."""
    for block in range(blocks.first, blocks.last):
        total = blocks.sums[block]
        for v in range(block * BLOCK, min((block + 1) * BLOCK, counts.shape[0])):
            rng = start_row_stream(at, v, CONCENTRATIONS)
            for k in range(counts.shape[1]):
                if counts[v, k] > 0:
                    tables, rng = draw_crt(rng, np.int64(counts[v, k]), eta)
                    total[k] += tables


@compiled
def _draw_given_tables(
    tables: float, totals: FloatArray, n_rows: int, eta: float, prior: GammaPrior, at: LayerAddress
) -> float:
    """Draw eta given the number of tables and the counts n_.k of the columns."""
    rng = start_row_stream(at, n_rows, CONCENTRATIONS)  # rows end before this number
    rate = 0.0
    for k in range(len(totals)):
        if totals[k] > 0.0:
            minus_log, rng = _draw_minus_log(rng, eta * n_rows, totals[k])
            rate += minus_log
    draw, _ = draw_gamma(rng, prior.shape + tables)
    return max(draw / (prior.rate + n_rows * rate), LEAST)


class ShareTables(NamedTuple):
    """What documents say about alpha: ``tables`` (K,), ``sum_d CRT(n_dk, alpha_k)``, and ``q``, ``-sum_d ln u_d``.

    ``u_d ~ Beta(alpha_., n_d)``, as in the module's description with documents as columns.
    """

    tables: FloatArray
    q: float


@compiled
def draw_lengths(numbers: Array, starts: Array, alpha_sum: float, at: LayerAddress) -> int:
    """Return ``-sum_d ln u_d`` of documents with these ``numbers``, in units of ``FINEST``: exact in any order.

    ``starts`` (documents + 1,) is where the tokens of every document begin; rows of ``at`` are documents.
    """
    total = 0
    for d in range(len(numbers)):
        if starts[d + 1] > starts[d]:
            rng = start_row_stream(at, numbers[d], CONCENTRATIONS)
            rate, _ = _draw_minus_log(rng, alpha_sum, float(starts[d + 1] - starts[d]))
            total += int(np.rint(rate / FINEST))
    return total


@inlined
def _draw_minus_log(rng: Stream, a: float, b: float) -> Draw:
    """Draw ``-ln u`` of ``u ~ Beta(a, b)``, exact for u far below the smallest float64."""
    x, rng = draw_log_gamma(rng, a)
    y, rng = draw_log_gamma(rng, b)
    return max(y - x, 0.0) + log1p(exp(-fabs(y - x))), rng


def draw_alpha(shares: ShareTables, prior: GammaPrior, at: LayerAddress, *, shared: bool) -> FloatArray:
    """Return a draw of the Dirichlet parameters of documents' shares of topics, (K,), the shares integrated out.

    If ``shared``, one number for all topics, ``Gam(a + sum_k tables_k, 1/(b + K q))``; if not, each topic has its own,
    ``Gam(a + tables_k, 1/(b + q))``.
    """
    tables, n_topics = shares.tables, len(shares.tables)
    if shared:
        one = _draw_each(np.array([tables.sum()]), prior.shape, prior.rate + n_topics * shares.q, at)
        return np.full(n_topics, one[0])
    each: FloatArray = _draw_each(tables, prior.shape, prior.rate + shares.q, at)
    return each


@compiled
def _draw_each(tables: FloatArray, shape: float, rate: float, at: LayerAddress) -> FloatArray:
    """Draw ``Gam(shape + tables_k, 1 / rate)`` for every k."""
    new = np.empty(len(tables))
    for k in range(len(tables)):
        draw, _ = draw_gamma(start_row_stream(at, k, CONCENTRATIONS), shape + tables[k])
        new[k] = max(draw / rate, LEAST)
    return new


@compiled
def draw_shrinkage(
    top: FloatArray, q: float, gamma0: float, r: FloatArray, priors: RPriors, seed: int, step: int
) -> tuple[float, float]:
    """Return a draw of gamma_0 and c_0, of ``r_k ~ Gam(gamma_0 / K, 1 / c_0)``, given the counts of the top layer.

    ``c_0 ~ Gam(a' + gamma_0, 1 / (b' + r_.))``; then, with r integrated out and ``tables = sum_k CRT(top_k, gamma_0 /
    K)``, ``gamma_0 ~ Gam(a + tables, 1 / (b + ln(1 + q / c_0)))`` (Zhou, Cong and Chen, JMLR 2016, section 3).
    """
    rng = start_stream(seed, SHAPES, step, len(r) + 1)
    draw, rng = draw_gamma(rng, priors.c0.shape + gamma0)
    c0 = draw / (priors.c0.rate + r.sum())
    tables = 0
    for k in range(len(top)):
        n, rng = draw_crt(rng, np.int64(top[k]), gamma0 / len(top))
        tables += n
    draw, rng = draw_gamma(rng, priors.gamma0.shape + tables)
    return draw / (priors.gamma0.rate + np.log1p(q / c0)), c0


Settings: TypeAlias = Any  # the settings of DLDA, or those of them that an encoder's model has
Sizes = tuple[FloatArray, ...]


class Variables(NamedTuple):
    """The variables that a step updates.

    ``phi[l-1]`` (K_{l-1}, K_l); ``expanded``, the phi_hat of SGRLD (else empty); ``r`` (K_L,); ``scale[l-1]`` (K_l,),
    the M_k^(l), and ``top_scale`` (), M^(L+1), 0 before the first estimate; ``gamma0``, ``c0`` ().
    """

    phi: tuple[FloatArray, ...]
    expanded: tuple[FloatArray, ...]
    r: FloatArray
    scale: tuple[FloatArray, ...]
    top_scale: FloatArray
    gamma0: FloatArray
    c0: FloatArray
    eta: FloatArray


class TopicMoves:
    """The moves of the topics of whole layers, done by the threads of a pool.

    Tables of counts are arrays (K_{l-1}, K_l); another processor may have tables of its own kind.
    """

    def __init__(self, pool: Pool) -> None:
        self.pool = pool

    def scale_counts(
        self, sampler: Sampler, phi: tuple[Array, ...], r: FloatArray, at: Address, sums: SweepSums, factor: float
    ) -> LayerCounts:
        """Return counts of sweeps as tables of every layer, times a factor; the last tables are drawn at ``at``."""
        glob = sampler.pack_globals(phi, r, np.zeros(0, dtype=np.int64))
        return sampler.scale_counts(glob, at, sums, factor)

    def sum_columns(self, table: Array) -> FloatArray:
        """Return the sum of every column of a table, (K_l,)."""
        sums: FloatArray = table.sum(axis=0)
        return sums

    def draw_topics(self, table: Array, eta: float, at: LayerAddress) -> Array:
        """Return a draw of every topic of a layer, ``phi_k ~ Dir(eta + x_k)``."""
        return dirichlet.draw_topics(table, eta, at, self.pool)

    def step_topics(
        self, simplex: str, phi: Array, table: Array, eta: float, scale: FloatArray, eps: float, at: LayerAddress
    ) -> Array:
        """Return the topics of a layer after a step of SG-MCMC; arguments as in ``diffusion.step_langevin``."""
        return diffusion.STEPS[simplex].topics(phi, table, eta, scale, eps, at, self.pool)

    def update_mean(self, mean: TopicMean, sample: Array, eta: float, memory: int) -> tuple[TopicMean, Array]:
        """Return the running mean of a layer with one more sample, and the sample's weight in it."""
        return update_mean(mean, sample, eta, self.pool, memory)


def init_variables(settings: Settings, phi: tuple[FloatArray, ...], r: FloatArray) -> Variables:
    """Return the variables before the first step."""
    return Variables(
        phi=phi,
        expanded=_init_expanded(settings, phi),
        r=r,
        scale=tuple(np.zeros(layer.shape[1]) for layer in phi),
        top_scale=np.array(0.0),
        gamma0=np.array(settings.gamma0),
        c0=np.array(settings.c0),
        eta=np.array(settings.list_etas(len(phi))),
    )


def _init_expanded(settings: Settings, phi: tuple[FloatArray, ...]) -> tuple[FloatArray, ...]:
    """Return the first phi_hat of SGRLD; its columns sum to eta V, to which they relax for any data."""
    if settings.inference != "sgrld":
        return ()
    return tuple(layer * eta * len(layer) for layer, eta in zip(phi, settings.list_etas(len(phi)), strict=True))


def change_structure(settings: Settings, old: Variables, change: StructureChange) -> Variables:
    """Return the variables after a change of the widths (DATM, Algorithm 2).

    The averages M of the remaining topics continue; those of a new layer, and that of r if it belongs to a new layer,
    begin with their first estimate.
    """
    phi = change.structure.phi
    scale = (*old.scale[:-1], old.scale[-1][change.columns])
    expanded = (*old.expanded[:-1], old.expanded[-1][:, change.columns]) if old.expanded else ()
    top_scale = old.top_scale
    if change.added:
        scale = (*scale, np.zeros(phi[-1].shape[1]))
        expanded = (*expanded, _init_expanded(settings, phi)[-1]) if expanded else ()
        top_scale = np.array(0.0)
    return old._replace(phi=phi, r=change.structure.r, scale=scale, expanded=expanded, top_scale=top_scale)


def draw_variables(
    settings: Settings, seed: int, t: int, old: Variables, got: LayerCounts, moves: TopicMoves, observed: Sequence[Any]
) -> Variables:
    """Draw Phi and r from their conditionals, after one sweep of every document (section 2).

    Eta is learnt from the ``observed`` tables, which lack what edits add to the prior of words.
    """
    etas = settings.list_etas(len(old.phi))
    if settings.learn_concentrations:
        etas = _draw_etas(etas, seed, t, old, observed, moves.pool)
    phi = tuple(
        moves.draw_topics(table, eta, LayerAddress(seed, t, layer))
        for layer, (table, eta) in enumerate(zip(got.tables, etas, strict=True))
    )
    gamma0, c0 = float(old.gamma0), float(old.c0)
    if settings.sample_gamma0 or settings.learn_concentrations:
        gamma0, c0 = draw_shrinkage(got.top, got.q, gamma0, old.r, R_PRIORS, seed, t)
    r = diffusion.draw_shapes(got.top, got.q, ShapePrior(gamma0, c0), seed, t)
    return old._replace(phi=phi, r=r, gamma0=np.array(gamma0), c0=np.array(c0), eta=np.array(etas))


def _draw_etas(
    given: tuple[float, ...], seed: int, t: int, old: Variables, tables: Sequence[Any], pool: Pool
) -> tuple[float, ...]:
    """Draw eta of every layer; layers without a current value, because they are new, begin with the given one."""
    current = (*(float(eta) for eta in old.eta), *given[len(old.eta) :])
    return tuple(
        draw_eta(table, eta, choose_prior(mean), LayerAddress(seed, t, layer), pool)
        for layer, (table, eta, mean) in enumerate(zip(tables, current, given, strict=True))
    )


def diffuse_variables(
    settings: Settings, seed: int, t: int, old: Variables, got: LayerCounts, moves: TopicMoves
) -> tuple[Variables, Sizes]:
    """Take one step of SG-MCMC (section 3): update the averages M, then Phi and r; return these and the step sizes."""
    eps = shared_settings.step_size(shared_settings.Schedule(settings.step, settings.tau, settings.kappa), t)
    rate = settings.scale_step * _find_scale_rate(settings, t)
    scale = tuple(
        shared_settings.update_average(average, moves.sum_columns(table), rate)
        for average, table in zip(old.scale, got.tables, strict=True)
    )
    top_scale = shared_settings.update_average(old.top_scale, np.array(got.q), rate)
    divisors = _choose_scales(settings, scale)
    phi, expanded = _move_topics(settings, seed, t, old, got, divisors, eps, moves)
    step_shapes = diffusion.STEPS[settings.simplex].shapes
    r = step_shapes(old.r, got.top, got.q, ShapePrior(settings.gamma0, settings.c0), float(top_scale), eps, seed, t)
    sizes = (
        *(eps / np.maximum(m, diffusion.LEAST_SCALE) for m in divisors),
        eps / np.maximum(top_scale, diffusion.LEAST_SCALE)[None],
    )
    return old._replace(phi=phi, expanded=expanded, r=r, scale=scale, top_scale=top_scale), sizes


def _find_scale_rate(settings: Settings, t: int) -> float:
    """Return eps'_t / scale_step; M follows the schedule of TLASGR even if Phi follows that of SGRLD."""
    if settings.inference == "sgrld":
        return shared_settings.step_size(shared_settings.Schedule(), t)
    return shared_settings.step_size(shared_settings.Schedule(settings.step, settings.tau, settings.kappa), t)


def _choose_scales(settings: Settings, scale: tuple[FloatArray, ...]) -> tuple[FloatArray, ...]:
    """Return the M that divides eps_t: one for all topics (TLFSGR), 1 (SGRLD), or one per topic (TLASGR and auto)."""
    if settings.inference not in ("tlfsgr", "sgrld"):
        return scale
    common = float(scale[0].mean()) if settings.inference == "tlfsgr" else 1.0
    return tuple(np.full_like(m, common) for m in scale)


def _move_topics(
    settings: Settings,
    seed: int,
    t: int,
    old: Variables,
    counts: LayerCounts,
    divisors: Sizes,
    eps: float,
    moves: TopicMoves,
) -> tuple[tuple[FloatArray, ...], tuple[FloatArray, ...]]:
    """Return the topics of every layer after the mini-batch, and the phi_hat of SGRLD."""
    layers = enumerate(zip(counts.tables, settings.list_etas(len(old.phi)), strict=True))
    if settings.inference == "sgrld":
        expanded = tuple(
            diffusion.step_sgrld(old.expanded[layer], table, eta, eps, LayerAddress(seed, t, layer), moves.pool)
            for layer, (table, eta) in layers
        )
        return tuple(diffusion.normalise_columns(table, moves.pool) for table in expanded), expanded
    phi = tuple(
        moves.step_topics(
            settings.simplex, old.phi[layer], table, eta, divisors[layer], eps, LayerAddress(seed, t, layer)
        )
        for layer, (table, eta) in layers
    )
    return phi, ()
