"""A step of the topics of all layers and of r, given the counts of every layer: a Gibbs draw, or a step of SG-MCMC.

Cong, Chen, Liu and Zhou, "Deep latent Dirichlet allocation with topic-layer-adaptive stochastic gradient Riemannian
MCMC" (ICML 2017): section 2 describes the draw, section 3 the steps of SG-MCMC (TLASGR, TLFSGR and SGRLD).
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from topiary.engine import schedule
from topiary.engine.contract import Array, FloatArray
from topiary.engine.gibbs.local import LayerCounts, Sampler, SweepSums
from topiary.engine.pool import Pool
from topiary.engine.streams import Address
from topiary.engine.topic_moves import averages, concentrations, diffusion, dirichlet
from topiary.engine.topic_moves.diffusion import ShapePrior
from topiary.engine.topic_moves.rows import LayerAddress
from topiary.engine.widths import StructureChange

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

    def update_mean(
        self, mean: averages.TopicMean, sample: Array, eta: float, memory: int
    ) -> tuple[averages.TopicMean, Array]:
        """Return the running mean of a layer with one more sample, and the sample's weight in it."""
        return averages.update_mean(mean, sample, eta, self.pool, memory)


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
        gamma0, c0 = concentrations.draw_shrinkage(got.top, got.q, gamma0, old.r, concentrations.R_PRIORS, seed, t)
    r = diffusion.draw_shapes(got.top, got.q, ShapePrior(gamma0, c0), seed, t)
    return old._replace(phi=phi, r=r, gamma0=np.array(gamma0), c0=np.array(c0), eta=np.array(etas))


def _draw_etas(
    given: tuple[float, ...], seed: int, t: int, old: Variables, tables: Sequence[Any], pool: Pool
) -> tuple[float, ...]:
    """Draw eta of every layer; layers without a current value, because they are new, begin with the given one."""
    current = (*(float(eta) for eta in old.eta), *given[len(old.eta) :])
    return tuple(
        concentrations.draw_eta(table, eta, concentrations.choose_prior(mean), LayerAddress(seed, t, layer), pool)
        for layer, (table, eta, mean) in enumerate(zip(tables, current, given, strict=True))
    )


def diffuse_variables(
    settings: Settings, seed: int, t: int, old: Variables, got: LayerCounts, moves: TopicMoves
) -> tuple[Variables, Sizes]:
    """Take one step of SG-MCMC (section 3): update the averages M, then Phi and r; return these and the step sizes."""
    eps = schedule.step_size(schedule.Schedule(settings.step, settings.tau, settings.kappa), t)
    rate = settings.scale_step * _find_scale_rate(settings, t)
    scale = tuple(
        schedule.update_average(average, moves.sum_columns(table), rate)
        for average, table in zip(old.scale, got.tables, strict=True)
    )
    top_scale = schedule.update_average(old.top_scale, np.array(got.q), rate)
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
        return schedule.step_size(schedule.Schedule(), t)
    return schedule.step_size(schedule.Schedule(settings.step, settings.tau, settings.kappa), t)


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
