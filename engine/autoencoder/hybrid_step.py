"""One mini-batch of hybrid inference (DATM Algorithm 1): the encoder up its gradient, topics by SG-MCMC."""

import math
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from engine import schedule, streams
from engine.autoencoder import adam, amortised, encoder, ensemble, hybrid
from engine.autoencoder.adam import Moments, Rows
from engine.autoencoder.classifier import Classifier, Lesson
from engine.autoencoder.encoder import PER_LAYER, Prior, Tape
from engine.autoencoder.hybrid import Chain, Setup, State
from engine.contract import Batch, FloatArray, Info, Rates, Sweeps
from engine.gibbs.gibbs import Address, Plan
from engine.gibbs.local import Collected
from engine.gibbs.tokens import Globals
from engine.gibbs.upper import pack
from engine.topic_moves import diffusion, simplex

DECAY = 1000  # mini-batches after which the encoder's step size begins to fall
ROWS = 100  # documents of one table: large enough for the matrix library


class Learned(NamedTuple):
    """A mini-batch under the encoder.

    ``theta`` (documents, K_l) a layer; ``gradient`` of the objective in every weight, a document's mean; ``elbo``
    the evidence lower bound of what was read of a document; ``topics`` the derivative in Phi^(1), Phi^(2) ... and
    ``shapes`` in r, both only where its own gradients move them (WAI with ``counts=encoder``).
    """

    theta: list[FloatArray]
    gradient: list[FloatArray | Rows]
    elbo: float
    topics: list[FloatArray]
    shapes: FloatArray


def step(at: Setup, seed: int, state: State, docs: Batch, head: Classifier | None = None) -> tuple[State, Info]:
    """One mini-batch: encode, draw, move the encoder, then Phi and r under the draw."""
    config = at.config
    t = int(state.t) + 1
    state, events = hybrid.grown(at, seed, hybrid.acquainted(at, state, docs))
    moved, learned = _climb_encoder(at, seed, state, docs, head)
    if head and state.others:
        moved = _climb_others(at, seed, state, moved, docs, head)
    tokens = int(docs.counts.sum())
    topic_rate = config.topic_rate * _slower(state)
    sizes = tuple(np.full(phi.shape[1], topic_rate) for phi in state.phi)
    elbo = learned.elbo if head is None or head.share(t) == 0.0 else bound(at, seed, state, docs)
    if _own_slopes(at):
        slopes = [*learned.topics, learned.shapes]
        return _climb(at, moved, slopes, topic_rate), Info(sizes, elbo, tokens, tokens, events)
    got, draws = _counts(at, seed, state, docs, learned.theta, t)
    if config.inference == "wai":
        state = _climb(at, moved, slopes_of(state, got, at.facts.n_documents), topic_rate)
    else:
        state, sizes = _diffuse(at, seed, moved, got, t)
    return state, Info(sizes, elbo, tokens, tokens * draws, events)


def _slower(state: State) -> float:
    """How much of their first step sizes gradients still have."""
    return 1.0 / math.sqrt(1.0 + (state.encoder_age + 1) / DECAY)


def _climb_encoder(at: Setup, seed: int, state: State, docs: Batch, head: Classifier | None) -> tuple[State, Learned]:
    """The encoder, and the classifier on top of it, one step up their gradient."""
    t, slower = int(state.t) + 1, _slower(state)
    learned = learn(at, seed, state, head.reads(docs, t) if head else docs, head)
    own = PER_LAYER * len(state.phi)
    rate, updates = at.config.learning_rate * slower, int(state.moved) + 1
    rates = [rate] * own
    rates += head.rates(len(state.weights) - own, at.config.learning_rate, slower) if head else []
    fading = head.fading(state.weights, own, rate, docs, t) if head else None
    weights, moments = adam.step(
        state.weights, Moments(state.first, state.second), learned.gradient, rates, updates, fading
    )
    moved = state._replace(
        t=np.array(t), weights=weights, moved=np.array(updates), first=moments.first, second=moments.second
    )
    if head:
        moved = moved._replace(steady=_steadied(state.steady or weights, weights, head.newest(t)))
    return moved, learned


def _climb_others(at: Setup, seed: int, state: State, moved: State, docs: Batch, head: Classifier) -> State:
    """Further encoders one step up their own gradients, over the topics of before."""
    _, *others = ensemble.members(state)
    seeds = [ensemble.seed_of(seed, number) for number in range(1, 1 + len(others))]
    pieces = [(at, own, member, docs, head._replace(seed=own)) for own, member in zip(seeds, others, strict=True)]
    climbed = [member for member, _ in at.sampler.pool.run(_climb_encoder, pieces)]
    return ensemble.gathered(moved, climbed)


def _steadied(
    steady: tuple[FloatArray, ...], weights: tuple[FloatArray, ...], newest: float | None
) -> tuple[FloatArray, ...]:
    """The running mean of the weights once they have moved; none before labels count."""
    if newest is None:
        return ()
    return adam.averaged(steady, weights, newest) if newest else steady


def learn(at: Setup, seed: int, state: State, docs: Batch, head: Classifier | None) -> Learned:
    """Draw the activations of a mini-batch and differentiate its objective (eq. 15, 32)."""
    n, t = len(docs.documents), int(state.t) + 1
    weight = at.config.kl_weight * min(1.0, (state.encoder_age + 1) / max(1, at.config.kl_warm_up))
    present = np.unique(docs.words)
    places = np.zeros(state.weights[0].shape[0], dtype=np.int64)
    places[present] = np.arange(len(present))
    words = np.zeros((len(present), state.weights[0].shape[1]))
    total: list[FloatArray] = [np.zeros_like(w) for w in (np.zeros(0), *state.weights[1:])]
    theta, elbo = [np.empty((n, phi.shape[1])) for phi in state.phi], 0.0
    by_gradient = _own_slopes(at)
    d_topics = [np.zeros_like(phi) for phi in state.phi] if by_gradient else []
    d_shapes = np.zeros_like(state.r)
    for first, last, part in amortised.tables(docs, ROWS):
        prior = amortised.prior_of(at, state, part)
        noise = amortised.noise_of(at, state, _encoding(seed, state), part)
        left_out = head.leaves_out(part.documents, [phi.shape[1] for phi in state.phi], t) if head else None
        tape = amortised.place(at, state, part, prior, noise, left_out)
        likely = encoder.likelihood(state.phi[0], tape.theta[0], part.words, part.counts, part.starts)
        lesson = head.learn(state.weights[PER_LAYER * len(theta) :], tape.theta, prior.sizes, part, t) if head else None
        lost = encoder.divergences(at.config.shape, tape, prior)
        gradient = _differentiate(at, state, tape, prior, likely, lost, lesson, weight)
        elbo += _worth(likely, lost, part)
        values = encoder.inputs(part, state.spread, int(state.met))
        encoder.scatter(gradient.words, part.words, values, part.starts, places, words)
        own = [*gradient.weights, *(lesson.gradient if lesson else [])]
        total = [total[0], *(a + b for a, b in zip(total[1:], own, strict=True))]
        for whole, layer in zip(theta, tape.theta, strict=True):
            whole[first:last] = layer
        if by_gradient:
            _add_topic_slopes(state, tape, likely.shares, part, gradient.priors, d_topics)
            d_shapes += gradient.priors[-1].sum(axis=0)
    means: list[FloatArray | Rows] = [Rows(present, words / n), *(each / n for each in total[1:])]
    if head:
        shrunk = head.shrink(state.weights[PER_LAYER * len(theta) :], t)
        means[PER_LAYER * len(theta) :] = [
            each / n + other for each, other in zip(total[PER_LAYER * len(theta) :], shrunk, strict=True)
        ]
    return Learned(theta, means, elbo / n, [each / n for each in d_topics], d_shapes / n)


def bound(at: Setup, seed: int, state: State, docs: Batch) -> float:
    """The evidence lower bound of a document (eq. 15), from the first table of a mini-batch.

    Of whole documents and with all units of the encoder, also while labels are learned from less.
    """
    _, last, part = next(amortised.tables(docs, ROWS))
    prior = amortised.prior_of(at, state, part)
    tape = amortised.place(at, state, part, prior, amortised.noise_of(at, state, _encoding(seed, state), part))
    likely = encoder.likelihood(state.phi[0], tape.theta[0], part.words, part.counts, part.starts)
    return _worth(likely, encoder.divergences(at.config.shape, tape, prior), part) / last


def _encoding(seed: int, state: State) -> Address:
    """Where the next step's random numbers for the encoder are."""
    return Address(seed, streams.ENCODER, int(state.t) + 1)


def _worth(likely: encoder.Likelihood, lost: list[FloatArray], docs: Batch) -> float:
    """The sum of the bounds of documents."""
    return float(likely.value.sum() - sum(each.sum() for each in lost) - gammaln(docs.counts + 1.0).sum())


def _differentiate(
    at: Setup,
    state: State,
    tape: Tape,
    prior: Prior,
    likely: encoder.Likelihood,
    lost: list[FloatArray],
    lesson: Lesson | None,
    weight: float,
) -> encoder.Gradient:
    """Gradient of one table, given its divergences."""
    kind = at.config.shape
    outer = [likely.slope, *(np.zeros_like(layer) for layer in tape.theta[1:])]
    reward = likely.value
    if lesson is not None:
        outer = [a + b for a, b in zip(outer, lesson.outer, strict=True)]
        reward = reward + lesson.value
    rewards = []
    for layer in range(len(lost)):
        rewards.append(reward)
        reward = reward - weight * lost[layer]
    own = state.weights[: PER_LAYER * len(lost)]
    return encoder.backward(kind, own, tape, prior, outer, weight, rewards)


def _add_topic_slopes(
    state: State, tape: Tape, shares: FloatArray, docs: Batch, priors: list[FloatArray], d_topics: list[FloatArray]
) -> None:
    """Derivatives in Phi: through the rates for layer 1, through the prior shapes for the layers above."""
    d_topics[0] += encoder.topic_slope(state.phi[0], tape.theta[0], shares, docs.words, docs.starts)
    for layer in range(1, len(state.phi)):
        d_topics[layer] += priors[layer - 1].T @ tape.theta[layer]


def _own_slopes(at: Setup) -> bool:
    """Whether Phi and r follow the gradient of the encoder's own bound."""
    return at.config.inference == "wai" and at.config.counts == "encoder"


def slopes_of(state: State, got: Collected, n_documents: int) -> list[FloatArray]:
    """Derivatives of a document's log-likelihood in Phi and r, from expected counts (Fisher's identity)."""
    phi = [table / np.maximum(old, encoder.TINY) for table, old in zip(got.tables, state.phi, strict=True)]
    r = got.top / np.maximum(state.r, encoder.TINY) - got.q
    return [each / n_documents for each in (*phi, r)]


def _climb(at: Setup, state: State, slopes: list[FloatArray], rate: float) -> State:
    """Phi and r up their derivatives in logarithms, kept on the simplex by softmax (WAI).

    Their priors climb with them, a document's share of each: without it a word that a topic has not met for a while
    falls on, and cannot come back.
    """
    config, n_documents = at.config, at.facts.n_documents
    logs = [np.log(np.maximum(table, encoder.TINY)) for table in (*state.phi, state.r)]
    share = config.eta / n_documents
    steep: list[FloatArray | Rows] = [
        phi * (slope - (phi * slope).sum(axis=0)) + share * (1.0 - len(phi) * phi)
        for phi, slope in zip(state.phi, slopes, strict=False)
    ]
    learns_r = config.prior == "matched"
    pull = (config.gamma0 / len(state.r) - config.c0 * state.r) / n_documents
    steep.append((state.r * slopes[-1] + pull) * float(learns_r))
    moments = Moments(state.topic_first, state.topic_second)
    new, moments = adam.step(tuple(logs), moments, steep, [rate] * len(logs), int(state.moved))
    phi = tuple(_softmax(table) for table in new[:-1])
    r = np.exp(new[-1]) if learns_r else state.r
    return state._replace(phi=phi, r=r, topic_first=moments.first, topic_second=moments.second)


def _softmax(logs: FloatArray) -> FloatArray:
    raw = np.exp(logs - logs.max(axis=0))
    return np.asarray(raw / raw.sum(axis=0))


def globals_of(at: Setup, state: State, *batches: Batch) -> Globals:
    """The topics packed for the kernels, with the prior mass of the words that occur where Gibbs sweeps need it."""
    if at.config.refine or at.config.counts != "encoder":
        words = np.unique(np.concatenate([docs.words for docs in batches]))
        return at.sampler.globals_of(state.phi, state.r, words)
    base = np.ascontiguousarray(state.phi[1].T if len(state.phi) > 1 else state.r[None, :])
    return Globals(state.phi[0], base, np.empty((0, len(base))), pack(state.phi, state.r))


def advance(
    at: Setup, seed: int, state: State, chain: Chain, observed: Batch, scored: Batch, sweeps: Sweeps
) -> tuple[Chain, Rates]:
    """Go on with documents under evaluation: :func:`engine.autoencoder.amortised.advance`, topics packed for them."""
    glob = globals_of(at, state, observed, scored)
    return amortised.advance(at, glob, seed, state, chain, observed, scored, sweeps)


def _counts(at: Setup, seed: int, state: State, docs: Batch, theta: list[FloatArray], t: int) -> tuple[Collected, int]:
    """Counts that move Phi and r, times rho, and how often each token was drawn for them.

    All words count, also where the encoder drew ``theta`` from a part of them: a word's topic is drawn by their
    proportions, and tables of half a document are not half of its tables.
    """
    glob = globals_of(at, state, docs)
    rho = at.facts.n_documents / len(docs.documents)
    parts, draws = [], 0
    if at.config.counts != "encoder":
        plan = _plan(at, len(state.phi))
        local = at.sampler.empty(glob, docs)
        parts.append(at.sampler.collect(glob, Address(seed, streams.LOCAL, t), docs, local, plan, rho))
        draws += plan.burn_in + plan.collect
    if at.config.counts != "gibbs":
        local = amortised.locals_of(at, glob, state, Address(seed, streams.INFER, t), docs, theta)
        parts.append(at.sampler.lift(glob, Address(seed, streams.REDRAW, t), docs, local, rho))
        draws += 1
    return (parts[0] if len(parts) == 1 else _mixed(*parts)), draws


def _plan(at: Setup, n_layers: int) -> Plan:
    """Sweeps of a mini-batch, from theta = 1/K."""
    burn_in = at.config.burn_in * n_layers
    first_rates = hybrid.first_rates(at, max(1, burn_in // 2))
    return Plan(fresh=True, burn_in=burn_in, collect=at.config.collect * n_layers, first_rates=first_rates)


def _mixed(one: Collected, other: Collected) -> Collected:
    """Half of each."""
    tables = [0.5 * (a + b) for a, b in zip(one.tables, other.tables, strict=True)]
    return Collected(tables, 0.5 * (one.top + other.top), 0.5 * (one.q + other.q), one.counts)


def _diffuse(at: Setup, seed: int, state: State, got: Collected, t: int) -> tuple[State, tuple[FloatArray, ...]]:
    """Running averages M (eq. 13, 14), then TLASGR steps of Phi (eq. 11) and r (eq. 12); and the step sizes."""
    config = at.config
    eps = schedule.step_size(schedule.Schedule(config.step, config.tau, config.kappa), t)
    rate = config.scale_step * eps
    scale = tuple(
        schedule.averaged(old, table.sum(axis=0), rate) for old, table in zip(state.scale, got.tables, strict=True)
    )
    top_scale = schedule.averaged(state.top_scale, np.array(got.q), rate)
    move = diffusion.STEPS[config.simplex]
    phi = tuple(
        move.topics(state.phi[layer], table, config.eta, scale[layer], eps, seed, t, layer, at.sampler.pool)
        for layer, table in enumerate(got.tables)
    )
    r = state.r
    if config.prior == "matched":
        r = move.shapes(r, got.top, got.q, config.gamma0, config.c0, float(top_scale), eps, seed, t)
    least = simplex.LEAST_SCALE
    sizes = (*(eps / np.maximum(m, least) for m in scale), eps / np.maximum(top_scale, least)[None])
    return state._replace(phi=phi, r=r, scale=scale, top_scale=top_scale), sizes
