"""Kernel of deep Poisson factor analysis, in which a network of binary units selects the topics of a document.

The generative model is in :mod:`engine.models.dpfa.settings`.  The topics of tokens are drawn with theta and h^(1)
integrated out (:mod:`engine.models.dpfa.documents`); the stationary distribution is that of the sampler of Gan et al.
(ICML 2015, section 3.1).
"""

import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from topiary.engine import first_topics, streams, widths
from topiary.engine.contract import (
    BINARY,
    GAMMA,
    SIGMOID,
    SIGNED,
    Array,
    Batch,
    Facts,
    FloatArray,
    Info,
    Kernel,
    Link,
    Topics,
)
from topiary.engine.hierarchy.topics import collect_arrays
from topiary.engine.models.dpfa import documents, network, sampler, steps
from topiary.engine.models.dpfa.documents import NetGlobals, NetPlan
from topiary.engine.models.dpfa.network import MOST_LOGIT
from topiary.engine.models.dpfa.sampler import NetLocals
from topiary.engine.models.dpfa.settings import Config
from topiary.engine.models.dpfa.steps import NetVariables
from topiary.engine.pool import Pool
from topiary.engine.streams import Address
from topiary.engine.topic_moves import averages

INITIAL_SHAPE_SUM = 50.0  # sum of the initial r_k


class State(NamedTuple):
    """State of DPFA.

    ``t`` () int64 counts the steps.  The fields from ``phi`` to ``filtered`` are those of
    :class:`engine.models.dpfa.steps.NetVariables`, those from ``mean`` to ``mean_biases`` those of
    :class:`NetworkMeans`.
    ``load`` (K_1,) is the share of tokens of each topic and ``active`` (units,) the mean activation of each unit, both
    averaged over the last steps.  ``topics`` (tokens,) and ``h`` (N, units) are the local variables of all training
    documents; they are empty if every mini-batch starts new chains.
    """

    t: Array
    phi: FloatArray
    expanded: FloatArray
    scale: FloatArray
    shapes: FloatArray
    weights: tuple[FloatArray, ...]
    precision: tuple[FloatArray, ...]
    biases: tuple[FloatArray, ...]
    thermostats: tuple[FloatArray, ...]
    filtered: tuple[FloatArray, ...]
    load: FloatArray
    active: FloatArray
    mean: Array
    averaged: Array
    variance: Array
    mean_shapes: FloatArray
    mean_weights: tuple[FloatArray, ...]
    mean_biases: tuple[FloatArray, ...]
    topics: Array
    h: Array


class _DpfaSetup(NamedTuple):
    """Settings, facts and threads that the functions of the kernel share."""

    config: Config
    facts: Facts
    inference: str
    pool: Pool

    @property
    def keeps_locals(self) -> bool:
        """True if every step sweeps all training documents once and keeps their local variables for the next step."""
        return self.inference == "gibbs"

    def plan_sweeps(self, t: int) -> NetPlan:
        """Return the plan of the local sweeps in step ``t``."""
        config, all_topics_on = self.config, t <= self.config.everything_on
        if self.keeps_locals:
            return NetPlan(
                fresh=False, burn_in=0, collect=1, thin=1, all_topics_on=all_topics_on, quantity=documents.MOMENTS
            )
        if self.inference == "bcdf":
            burn_in, collect, quantity = config.filter_burn_in, config.filter_collect, documents.MOMENTS
        else:
            burn_in, collect, quantity = config.burn_in, config.collect, documents.GRADIENT
        return NetPlan(
            fresh=True, burn_in=burn_in, collect=collect, thin=1, all_topics_on=all_topics_on, quantity=quantity
        )

    def pack_globals(self, state: State) -> NetGlobals:
        """Return topics, shapes and network packed for the kernels."""
        undirected = self.config.hierarchy == "rbm"
        return NetGlobals(
            state.phi, state.shapes, network.pack_network(state.weights, state.biases, undirected=undirected)
        )


def build(config: Config, facts: Facts, n_threads: int = 1) -> Kernel:
    """Return the kernel of DPFA for a corpus; results do not depend on ``n_threads``."""
    setup = _DpfaSetup(config, facts, config.choose_inference(facts), Pool(n_threads))
    move = {"gibbs": steps.step_gibbs, "bcdf": steps.step_bcdf, "sgnht": steps.step_sgnht}[setup.inference]
    kernel = Kernel(
        batch_size=config.batch_size,
        sweeps_after=config.sweeps_after(facts),
        measure="perplexity",
        init=lambda seed: _init_state(setup, seed),
        init_from_documents=lambda seed, docs: (
            _init_from_documents(setup, seed, docs) if config.start == "clusters" else _init_state(setup, seed)
        ),
        prepare=lambda seed, state, docs: _prepare_state(setup, seed, state, docs) if setup.keeps_locals else state,
        gather=lambda seed, state, docs, local: _gather_statistics(setup, seed, state, docs, local),
        move=lambda seed, state, statistics: _move_state(setup, seed, state, statistics, move),
        infer=lambda seed, state, docs, sweeps=None: sampler.place_documents(
            setup.pack_globals(state), Address(seed, streams.INFER, 0), docs, sweeps, setup.pool
        ),
        topics=lambda state: _present_topics(setup, state),
        average=_average_state,
        variance=lambda state: (state.variance,),
        start_chain=lambda seed, state, docs: sampler.start_chain(setup.pack_globals(state), seed, docs, setup.pool),
        advance_chain=lambda seed, state, chain, observed, scored, sweeps: sampler.advance_chain(
            setup.pack_globals(state), seed, chain, observed, scored, sweeps, setup.pool
        ),
        keep=_keep_state,
        restore=lambda seed, arrays: _restore_state(setup, seed, arrays),
    )
    return kernel._replace(local=_get_local, with_local=_put_local) if setup.keeps_locals else kernel


def _init_state(setup: _DpfaSetup, seed: int) -> State:
    """Return a state with nearly flat topics, weights 0.1 N(0, 1), biases 0 and r = 50/K, as in the authors' code."""
    layers, rng = setup.config.layers, streams.make_generator(seed, streams.INIT)
    phi = widths.draw_flat_topics(rng, setup.facts.n_words, layers[0])
    weights = tuple(0.1 * rng.standard_normal(shape) for shape in itertools.pairwise(layers))
    biases = tuple(np.zeros(width) for width in layers)
    shapes = np.full(layers[0], INITIAL_SHAPE_SUM / layers[0])
    return State(
        t=np.array(0, dtype=np.int64),
        phi=phi,
        expanded=_init_expanded(setup, phi),
        scale=np.zeros(layers[0]),
        shapes=shapes,
        weights=weights,
        precision=tuple(np.ones_like(table) for table in weights),
        biases=biases,
        thermostats=steps.init_thermostats(layers, setup.config.noise) if setup.inference == "sgnht" else (),
        filtered=(),
        load=np.full(layers[0], 1.0 / layers[0]),
        active=np.full(sum(layers), 0.5),
        **init_means(phi, shapes, weights, biases)._asdict(),
        topics=np.zeros(0, dtype=np.uint16),
        h=np.zeros((0, sum(layers)), dtype=np.int8),
    )


def _init_expanded(setup: _DpfaSetup, phi: FloatArray) -> FloatArray:
    """Return the initial phi_hat of SGRLD; an array without rows for other steps.

    Its column sums are a_phi V, around which the steps keep them.
    """
    if setup.inference != "sgnht" or setup.config.topic_step != "sgrld":
        return np.zeros((0, phi.shape[1]))
    return phi * (setup.config.a_phi * len(phi))


def _init_from_documents(setup: _DpfaSetup, seed: int, docs: Batch) -> State:
    """Return an initial state whose topics are clusters of documents (:mod:`engine.first_topics`).

    The units of upper layers are clusters of the units below.
    """
    state = _init_state(setup, seed)
    clusters = first_topics.cluster_topics(seed, docs, setup.facts.n_words, setup.config.layers, setup.pool)
    phi = clusters.phi[0]
    weights, lower = network.make_cluster_weights(state.weights, clusters.phi[1:])
    biases = (*lower, state.biases[-1])
    mean = init_means(phi, state.shapes, weights, biases)
    return state._replace(
        phi=phi, expanded=_init_expanded(setup, phi), weights=weights, biases=biases, **mean._asdict()
    )


def _average_state(state: State) -> State:
    """Return the state with the running means in place of the last sample, topics normalised in double precision."""
    phi = np.ascontiguousarray(state.mean / state.mean.sum(axis=0, dtype=np.float64))
    return state._replace(phi=phi, shapes=state.mean_shapes, weights=state.mean_weights, biases=state.mean_biases)


def _present_topics(setup: _DpfaSetup, state: State) -> Topics:
    """Return the hierarchy: topics over words, then signed weights; ``r`` holds the log-odds of the top units.

    The mean of theta_k, if topic k is on, is ``(1 - p)(n_k + r_k)`` with p = 1/2 and n_k its tokens in a document.
    """
    active = network.split_layers(state.active, setup.config.layers)
    theta = 0.5 * (setup.facts.n_tokens / max(setup.facts.n_documents, 1) * state.load / np.maximum(active[0], 1e-9))
    return Topics(
        phi=(state.phi, *state.weights),
        r=state.biases[-1],
        links=tuple(Link(SIGNED, SIGMOID, bias) for bias in state.biases[:-1]),
        units=(GAMMA, *(BINARY,) * len(state.weights)),
        popularity=compute_unit_popularity(state.load, active, state.weights, state.biases),
        means=(theta + 0.5 * state.shapes, *active[1:]),
        directed=setup.config.hierarchy == "sbn",
    )


def _keep_state(state: State) -> dict[str, Array]:
    """Return the arrays that a snapshot stores in addition to topics, weights and top biases."""
    arrays = {name: getattr(state, name) for name in ("t", "shapes", "load", "active", "scale")}
    arrays |= {f"biases.{layer}": bias for layer, bias in enumerate(state.biases[:-1])}
    return arrays | {f"precision.{layer}": table for layer, table in enumerate(state.precision)}


def _restore_state(setup: _DpfaSetup, seed: int, arrays: dict[str, Array]) -> State:
    """Return a state that continues from a snapshot of this model, or of another model with the same layers."""
    fresh = _init_state(setup, seed)
    first, *upper = (np.asarray(table, dtype=np.float64) for table in collect_arrays(arrays, "phi"))
    phi, weights = np.ascontiguousarray(first / first.sum(axis=0)), tuple(upper)
    lower = tuple(np.asarray(bias, dtype=np.float64) for bias in collect_arrays(arrays, "biases")) or fresh.biases[:-1]
    biases = (*lower, np.asarray(arrays["r"], dtype=np.float64))
    names = ("shapes", "load", "active", "scale")
    fields: dict[str, Any] = {name: np.asarray(arrays[name], dtype=np.float64) for name in names if name in arrays}
    state = fresh._replace(**fields)
    precision = tuple(np.asarray(table, dtype=np.float64) for table in collect_arrays(arrays, "precision"))
    return state._replace(
        t=np.array(int(arrays["t"]) if "shapes" in arrays else 0, dtype=np.int64),
        phi=phi,
        expanded=_init_expanded(setup, phi),
        weights=weights,
        precision=precision or fresh.precision,
        biases=biases,
        **init_means(phi, state.shapes, weights, biases)._asdict(),
    )


def _get_local(state: State) -> NetLocals:
    """Return the local variables of a state."""
    return NetLocals(state.topics, state.h)


def _put_local(state: State, local: NetLocals) -> State:
    """Return the state with these local variables."""
    return state._replace(topics=local.topics, h=local.h)


def _prepare_state(setup: _DpfaSetup, seed: int, state: State, docs: Batch) -> State:
    """Return the state with initial local variables of all training documents."""
    address = Address(seed, streams.INIT, 0)
    return _put_local(state, sampler.start_locals(setup.pack_globals(state), address, docs, setup.pool))


def _gather_statistics(
    setup: _DpfaSetup, seed: int, state: State, docs: Batch, local: NetLocals | None
) -> tuple[steps.NetStatistics, NetLocals | None]:
    """Sweep documents with topics and weights fixed; return sums, and the local variables if the state keeps them.

    Documents whose local variables are kept are swept once; those of a mini-batch start a new chain.
    """
    glob, t = setup.pack_globals(state), int(state.t) + 1
    plan = setup.plan_sweeps(t)
    if local is None or len(local.h) < len(docs.documents):  # no local variables are kept, or not of these documents
        swept, plan = sampler.allocate_locals(glob, docs), plan._replace(fresh=True)
    else:
        swept = sampler.copy_locals(local)
    n_tokens = setup.facts.n_tokens if setup.keeps_locals else 0
    sums = sampler.tally_documents(glob, Address(seed, streams.LOCAL, t), docs, swept, plan, setup.pool, n_tokens)
    statistics = steps.NetStatistics(*sums, np.array(len(docs.documents)), np.array(len(swept.topics)))
    return statistics, swept if setup.keeps_locals else None


def _move_state(
    setup: _DpfaSetup, seed: int, state: State, statistics: steps.NetStatistics, move: Callable[..., steps.NetStep]
) -> tuple[State, Info]:
    """Move topics, weights and shapes by one step with ``move``, and update their running means."""
    t = int(state.t) + 1
    plan = setup.plan_sweeps(t)
    old = steps.NetVariables(*(getattr(state, name) for name in steps.NetVariables._fields))
    shared = steps.NetSetup(setup.config, setup.facts.n_documents, setup.pool)
    new, sizes, sample, eta = move(shared, seed, t, old, statistics)
    mean = NetworkMeans(*(getattr(state, name) for name in NetworkMeans._fields))
    mean = update_means(mean, new, sample, eta, t, setup.pool)
    weight = 1.0 / min(t, averages.MEMORY)
    n_sweeps, n = plan.collect, max(int(statistics.documents), 1)
    load = statistics.words.sum(axis=0, dtype=np.float64)
    load = load / load.sum() if load.sum() > 0.0 else state.load
    state = state._replace(
        t=np.array(t, dtype=np.int64),
        load=state.load + weight * (load - state.load),
        active=state.active + weight * (statistics.on / (n_sweeps * n) - state.active),
        **new._asdict(),
        **mean._asdict(),
    )
    tokens = int(statistics.tokens)
    draws = tokens * (plan.burn_in + plan.collect)
    return state, Info(sizes, float("nan"), tokens, draws)


def apply_sigmoid(x: FloatArray) -> FloatArray:
    """Return the logistic function of log-odds, clipped to +-``MOST_LOGIT``."""
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(x, -MOST_LOGIT, MOST_LOGIT))))


def measure_influence(weights: FloatArray, bias: FloatArray, above: FloatArray) -> FloatArray:
    """Return the change of the mean of every unit, (K_l, K_{l+1}), when one unit above is switched from off to on.

    The other units above stay at their mean activations, ``above`` (K_{l+1},).
    """
    others = (weights @ above + bias)[:, None] - weights * above
    return apply_sigmoid(others + weights) - apply_sigmoid(others)


def compute_unit_popularity(
    load: FloatArray, active: tuple[FloatArray, ...], weights: tuple[FloatArray, ...], biases: tuple[FloatArray, ...]
) -> tuple[FloatArray, ...]:
    """Return the popularity of every unit, (K_l,) per layer.

    In layer 1, it is the share of tokens, ``load`` (K_1,).  In the layers above, it is the frequency of a unit times
    its effect: the absolute changes of the means of the units below when it is switched on, relative to these means and
    weighted by the popularity of the units below.
    """
    popularity = [load]
    for below, above, table, bias in zip(active[:-1], active[1:], weights, biases[:-1], strict=True):
        relative_popularity = popularity[-1] / np.maximum(below, 1e-9)
        popularity.append(above * (np.abs(measure_influence(table, bias, above)).T @ relative_popularity))
    return tuple(popularity)


class NetworkMeans(NamedTuple):
    """Running means: those of phi as in :class:`engine.topic_moves.averages.TopicMean`, then of r, W^(l) and c^(l)."""

    mean: Array
    averaged: Array
    variance: Array
    mean_shapes: FloatArray
    mean_weights: tuple[FloatArray, ...]
    mean_biases: tuple[FloatArray, ...]


def init_means(
    phi: FloatArray, shapes: FloatArray, weights: tuple[FloatArray, ...], biases: tuple[FloatArray, ...]
) -> NetworkMeans:
    """Return the means before the first sample."""
    return NetworkMeans(*averages.init_mean(phi), shapes, weights, biases)


def update_means(old: NetworkMeans, new: NetVariables, sample: Array, eta: float, t: int, pool: Pool) -> NetworkMeans:
    """Return the means with the sample of step ``t`` added.

    If a topic has little in common with its mean, the means of that topic and of its unit start again.
    """
    memory = averages.count_memory(t)
    topic_mean = averages.TopicMean(old.mean, old.averaged, old.variance)
    mean, weight = averages.update_mean(topic_mean, sample, eta, pool, memory)
    upper_rate = 1.0 / min(t, memory)
    rates = [weight, *(np.full(len(bias), upper_rate) for bias in new.biases[1:])]
    return NetworkMeans(
        mean=mean.phi,
        averaged=mean.samples,
        variance=mean.variance,
        mean_shapes=old.mean_shapes + weight * (new.shapes - old.mean_shapes),
        mean_weights=tuple(
            old_mean + rate[:, None] * (new_value - old_mean)
            for old_mean, new_value, rate in zip(old.mean_weights, new.weights, rates[:-1], strict=True)
        ),
        mean_biases=tuple(
            old_mean + rate * (new_value - old_mean)
            for old_mean, new_value, rate in zip(old.mean_biases, new.biases, rates, strict=True)
        ),
    )
