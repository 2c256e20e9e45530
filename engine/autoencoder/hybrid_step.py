"""A mini-batch of hybrid inference (DATM Algorithm 1): a gradient step of the encoder, and SG-MCMC of the topics."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from topiary.engine import corpus, streams
from topiary.engine.autoencoder import amortised, encoder, hybrid
from topiary.engine.autoencoder.classifier import Classifier, Lesson
from topiary.engine.autoencoder.encoder import PER_LAYER, TablePrior, Tape
from topiary.engine.autoencoder.hybrid import Clock, Hybrid, Moments, RowGradient, State
from topiary.engine.contract import Array, Batch, FloatArray, Info, Kernel, Local, Rates, Sweeps, Topics
from topiary.engine.gibbs.collapsed import SweepPlan
from topiary.engine.gibbs.local import LayerCounts, SweepSums
from topiary.engine.gpu.devices import read_arrays
from topiary.engine.steering.apply import apply_edit
from topiary.engine.steering.draft import copy_layers, replace_layers
from topiary.engine.steering.edit import KEEP, PLACE, WITHOUT_TOKENS, Edit, EditResult
from topiary.engine.steering.guide import hide_banned, read_guide
from topiary.engine.streams import Address
from topiary.engine.topic_moves import steps

DECAY = 1000  # mini-batches after which the encoder's step size begins to fall
ROWS = 100  # documents of one table: large enough for the matrix library


class EncoderPass(NamedTuple):
    """The results of one encoder for some documents.

    ``theta`` is the draw, (documents, K_l) per layer.  The rest are sums over documents: ``gradient`` of the objective
    in every weight; ``elbo``, the evidence lower bound of what was read (no bound if other words judged it);
    ``topics``, the derivatives in Phi^(1), Phi^(2) ..., and ``shapes``, that in r, both only if the encoder's own
    gradients move them (WAI with ``counts=encoder``).
    """

    theta: tuple[FloatArray, ...]
    gradient: tuple[FloatArray | RowGradient, ...]
    elbo: float
    topics: tuple[FloatArray, ...]
    shapes: FloatArray


class HybridStatistics(NamedTuple):
    """Sums over documents for the encoders and the topics.

    Attributes
    ----------
    encoders : tuple of EncoderPass
        One per encoder, the model's own first; without their theta.
    counted : tuple of SweepSums
        Tables of the Gibbs sweeps and of the encoder's draw, as the setting ``counts`` selects.
    spread : (V,) int64
        Number of documents with each word; (0,) if it is not needed.
    bound, judged : float
        Sum of the evidence lower bounds of ``judged`` whole documents, for encoders that read only a part of them.
    documents, labelled, tokens, draws : int
        Numbers of documents, documents with a label, tokens, and topic assignments drawn.
    """

    encoders: tuple[EncoderPass, ...]
    counted: tuple[SweepSums, ...]
    spread: Array
    bound: float
    judged: int
    documents: int
    labelled: int
    tokens: int
    draws: int


class HybridKernel(Kernel):
    """The kernel of a model with an encoder."""

    real = True

    def __init__(self, at: Hybrid) -> None:
        self.at, self.config = at, at.config
        self.batch_size = at.config.batch_size
        self.work = hybrid.estimate_work(at.config.layers)
        self.steers = WITHOUT_TOKENS - {KEEP} if _uses_own_bound(at) else WITHOUT_TOKENS
        self.steers -= {PLACE} if len(at.config.layers) == 1 else set()

    def init(self, seed: int) -> State:
        """Return the first state."""
        return hybrid.init_state(self.at, seed)

    def gather(self, seed: int, state: State, docs: Batch, local: None) -> tuple[HybridStatistics, None]:
        """Return the statistics of a mini-batch; nothing is kept of its documents."""
        return gather_statistics(self.at, seed, state, docs), None

    def move(self, seed: int, state: State, statistics: HybridStatistics) -> tuple[State, Info]:
        """Move the encoder up its gradient, then Phi and r by the counts."""
        return move_state(self.at, seed, state, statistics)

    def topics(self, state: State) -> Topics:
        """Return the topics, without banned words."""
        return Topics((hide_banned(state.phi[0], state.steering), *state.phi[1:]), state.r)

    def infer(self, seed: int, state: State, docs: Batch, sweeps: Sweeps | None = None) -> Local:
        """Return posterior means of theta of every layer, by the encoder."""
        return amortised.infer_theta(self.at, state, docs)

    def start_chain(self, seed: int, state: State, docs: Batch) -> Clock:
        """Return the chain of documents under evaluation, which is a clock."""
        return Clock(np.array(0))

    def advance_chain(
        self, seed: int, state: State, chain: Clock, observed: Batch, scored: Batch, sweeps: Sweeps
    ) -> tuple[Clock, Rates]:
        """Sum the rates of scored cells over samples of the encoder."""
        return amortised.advance_chain(self.at, seed, state, chain, observed, scored, sweeps)

    def keep(self, state: State) -> dict[str, Array]:
        """Return the arrays of a snapshot other than topics."""
        return hybrid.keep_state(state)

    def restore(self, seed: int, arrays: dict[str, Array]) -> State:
        """Return the state that continues a snapshot."""
        return hybrid.restore_state(self.at, seed, arrays)

    def edit(self, seed: int, state: State, docs: Batch, edit: Edit) -> tuple[State, EditResult]:
        """Return the state after an edit of its topics, and what it did; encoders learn it in the steps that follow."""
        config, pool = self.config, self.at.sampler.pool
        draft = copy_layers(state, docs, config.list_etas(len(state.phi)), config.layers[0], pool)
        result = apply_edit(draft, seed, edit)
        return replace_layers(state, draft), result


def gather_statistics(
    at: Hybrid, seed: int, state: State, docs: Batch, head: Classifier | None = None
) -> HybridStatistics:
    """Return the statistics of a mini-batch: encode documents, draw activations, differentiate, and count tokens."""
    t = int(state.t) + 1
    spread = hybrid.count_spread(at, state, docs)
    state, _ = hybrid.grow_state(at, seed, state)
    results = _learn_encoders(at, seed, state, docs, head)
    theta, passes = results[0].theta, [result._replace(theta=()) for result in results]
    reads_part = at.config.split < 1.0 or (head is not None and head.weigh_labels(t) > 0.0)
    counted, draws = ((), 1) if _uses_own_bound(at) else _count_tokens(at, seed, state, docs, theta, t)
    bound, judged = _sum_bounds(at, seed, state, docs) if reads_part else (0.0, 0)
    tokens, labelled = int(docs.counts.sum()), int(np.count_nonzero(docs.labels >= 0))
    totals = (len(docs.documents), labelled, tokens, tokens * draws)
    return HybridStatistics(tuple(passes), counted, spread, bound, judged, *totals)


def move_state(
    at: Hybrid, seed: int, state: State, statistics: HybridStatistics, head: Classifier | None = None
) -> tuple[State, Info]:
    """Move the encoders up their gradients, then Phi and r by the counts; return the state and its report."""
    config, n = at.config, statistics.documents
    t = int(state.t) + 1
    state, events = hybrid.grow_state(at, seed, hybrid.add_spread(state, statistics.spread, n))
    moved = _climb_encoder(at, state, statistics.encoders[0], statistics, head)
    if head and state.others:
        moved = _climb_others(at, seed, state, moved, statistics, head)
    own_pass, topic_rate = statistics.encoders[0], config.topic_rate * _compute_slowdown(state)
    sizes = tuple(np.full(phi.shape[1], topic_rate) for phi in state.phi)
    guide, old = read_guide(state.steering, state.names), state.phi
    elbo = statistics.bound / statistics.judged if statistics.judged else own_pass.elbo / max(1, n)
    if _uses_own_bound(at):
        state = _climb_topics(at, moved, [slopes / n for slopes in (*own_pass.topics, own_pass.shapes)], topic_rate)
    else:
        counts = _scale_counts(at, seed, state, statistics)
        if guide:
            counts = counts._replace(tables=guide.add_prior(guide.drop_banned(counts.tables)))
        if config.inference == "wai":
            state = _climb_topics(at, moved, estimate_slopes(state, counts, at.facts.n_documents), topic_rate)
        else:
            state, sizes = _diffuse_topics(at, seed, moved, counts, t)
    if guide:
        guide.hold_topics(old, state.phi)
        state = state._replace(r=guide.cut_top(state.r))
    return state, Info(sizes, elbo, statistics.tokens, statistics.draws, events)


def _compute_slowdown(state: State) -> float:
    """Return the current step sizes of gradients as a fraction of the first."""
    return 1.0 / math.sqrt(1.0 + (state.encoder_age + 1) / DECAY)


def _learn_encoders(at: Hybrid, seed: int, state: State, docs: Batch, head: Classifier | None) -> list[EncoderPass]:
    """Return the results of every encoder, the model's own first."""
    first, *others = hybrid.split_encoders(state)
    own_pass = learn_encoder(at, seed, first, docs, head)
    arguments = []
    for number, member in enumerate(others, 1):
        member_seed = hybrid.derive_seed(seed, number)
        arguments.append((at, member_seed, member, docs, head and head._replace(seed=member_seed)))
    return [own_pass, *at.sampler.pool.run(learn_encoder, arguments)] if arguments else [own_pass]


class Reading(NamedTuple):
    """The words of some documents that an encoder reads, and those that judge its activations.

    ``judging`` are the same documents; a token of them counts ``weight`` times, so that as many are expected as read.
    """

    read: Batch
    judging: Batch
    weight: float


def divide_documents(at: Hybrid, seed: int, docs: Batch, t: int, head: Classifier | None) -> Reading:
    """Return what an encoder reads at step ``t``, and what judges it: the same words, or with ``split`` the others.

    A document's words are divided again each time it is read.  As counts are Poisson, both parts are independent given
    the activations: what suits only the words read, as memorised documents do, is of no use for the others.
    """
    share = min(at.config.split, head.choose_share(t) if head else 1.0)
    if share >= 1.0:
        return Reading(docs, docs, 1.0)
    read, others = corpus.divide_tokens(docs, share, seed, t)
    return Reading(read, read, 1.0) if at.config.split >= 1.0 else Reading(read, others, share / (1.0 - share))


def _climb_encoder(
    at: Hybrid, state: State, encoder_pass: EncoderPass, statistics: HybridStatistics, head: Classifier | None
) -> State:
    """Move an encoder, and the classifier on top of it, a step up their gradient."""
    t, slowdown = int(state.t) + 1, _compute_slowdown(state)
    n_encoder = PER_LAYER * len(state.phi)
    rate, updates = at.config.learning_rate * slowdown, int(state.moved) + 1
    rates = [rate] * n_encoder
    rates += head.list_rates(len(state.weights) - n_encoder, at.config.learning_rate, slowdown) if head else []
    decays = (
        head.list_decays(state.weights, n_encoder, rate, statistics.documents, statistics.labelled, t) if head else None
    )
    gradient = average_gradient(encoder_pass, statistics.documents)
    if head:
        d_divergence = head.differentiate_divergence(state.weights[n_encoder:], t)
        gradient[n_encoder:] = [dense + other for dense, other in zip(gradient[n_encoder:], d_divergence, strict=True)]
    moments = Moments(state.first, state.second)
    weights, moments = hybrid.step_adam(state.weights, moments, gradient, rates, updates, decays)
    moved = state._replace(
        t=np.array(t), weights=weights, moved=np.array(updates), first=moments.first, second=moments.second
    )
    if head:
        moved = moved._replace(steady=_average_steady(state.steady or weights, weights, head.weigh_newest(t)))
    return moved


def average_gradient(learned: EncoderPass, n_documents: int) -> list[FloatArray | RowGradient]:
    """Return the mean over ``n_documents`` of the gradient of the objective in every weight."""
    return [
        gradient._replace(values=gradient.values / n_documents)
        if isinstance(gradient, RowGradient)
        else gradient / n_documents
        for gradient in learned.gradient
    ]


def _climb_others(
    at: Hybrid, seed: int, state: State, moved: State, statistics: HybridStatistics, head: Classifier
) -> State:
    """Move further encoders a step up their own gradients, over the topics before the step."""
    _, *others = hybrid.split_encoders(state)
    arguments = [
        (at, member, encoder_pass, statistics, head._replace(seed=hybrid.derive_seed(seed, number)))
        for number, (member, encoder_pass) in enumerate(zip(others, statistics.encoders[1:], strict=True), 1)
    ]
    return hybrid.join_encoders(moved, at.sampler.pool.run(_climb_encoder, arguments))


def _average_steady(
    steady: tuple[FloatArray, ...], weights: tuple[FloatArray, ...], newest: float | None
) -> tuple[FloatArray, ...]:
    """Return the running mean of the weights after a step; empty before labels count."""
    if newest is None:
        return ()
    return hybrid.average_weights(steady, weights, newest) if newest else steady


def learn_encoder(at: Hybrid, seed: int, state: State, docs: Batch, head: Classifier | None) -> EncoderPass:
    """Draw the activations of documents and differentiate their objective (eq. 15, 32)."""
    n, t = len(docs.documents), int(state.t) + 1
    docs, judging, judging_weight = divide_documents(at, seed, docs, t, head)
    weight = at.config.kl_weight * min(1.0, (state.encoder_age + 1) / max(1, at.config.kl_warm_up))
    present = np.unique(docs.words)
    row_numbers = np.zeros(state.weights[0].shape[0], dtype=np.int64)
    row_numbers[present] = np.arange(len(present))
    word_gradient = np.zeros((len(present), state.weights[0].shape[1]))
    totals: list[FloatArray] = [np.zeros_like(w) for w in (np.zeros(0), *state.weights[1:])]
    theta, elbo = tuple(np.empty((n, phi.shape[1])) for phi in state.phi), 0.0
    by_gradient = _uses_own_bound(at)
    d_topics = [np.zeros_like(phi) for phi in state.phi] if by_gradient else []
    d_shapes = np.zeros_like(state.r)
    for first, last, part in amortised.cut_tables(docs, ROWS):
        prior = amortised.make_prior(at, state, part)
        noise = amortised.make_noise(at, state, _address_encoding(seed, state), part)
        left_out = head.drop_units(part.documents, [phi.shape[1] for phi in state.phi], t) if head else None
        tape = amortised.encode_table(at, state, part, prior, noise, left_out)
        judges = part if judging is docs else corpus.slice_documents(judging, first, last)
        likelihood = _compute_likelihood(state, tape, judges, judging_weight)
        lesson = (
            head.learn_labels(state.weights[PER_LAYER * len(theta) :], tape.theta, prior.sizes, part, t)
            if head
            else None
        )
        divergences = encoder.compute_divergences(at.config.encoder_shape, tape, prior)
        gradient = _differentiate_table(at, state, tape, prior, likelihood, divergences, lesson, weight)
        elbo += _sum_elbos(likelihood, divergences, part)
        values = encoder.compute_inputs(part, state.spread, int(state.met))
        encoder.scatter_gradient(gradient.words, part.words, values, part.starts, row_numbers, word_gradient)
        table_gradient = [*gradient.weights, *(lesson.gradient if lesson else [])]
        totals = [totals[0], *(a + b for a, b in zip(totals[1:], table_gradient, strict=True))]
        for result, layer in zip(theta, tape.theta, strict=True):
            result[first:last] = layer
        if by_gradient:
            _add_topic_slopes(state, tape, likelihood.shares, judges, gradient.priors, d_topics)
            d_shapes += gradient.priors[-1].sum(axis=0)
    return EncoderPass(theta, (RowGradient(present, word_gradient), *totals[1:]), elbo, tuple(d_topics), d_shapes)


def _sum_bounds(at: Hybrid, seed: int, state: State, docs: Batch) -> tuple[float, int]:
    """Return the summed evidence lower bounds (eq. 15) of the documents of the first table, and their number.

    They use whole documents and all units of the encoder, although it learns from fewer words, and labels with fewer
    units.
    """
    _, last, part = next(amortised.cut_tables(docs, ROWS), (0, 0, docs))
    if not last:
        return 0.0, 0
    prior = amortised.make_prior(at, state, part)
    tape = amortised.encode_table(
        at, state, part, prior, amortised.make_noise(at, state, _address_encoding(seed, state), part)
    )
    likelihood = _compute_likelihood(state, tape, part)
    return _sum_elbos(likelihood, encoder.compute_divergences(at.config.encoder_shape, tape, prior), part), last


def _compute_likelihood(state: State, tape: Tape, docs: Batch, weight: float = 1.0) -> encoder.Likelihood:
    """Return the log-likelihood of documents whose tokens count ``weight`` times each."""
    counts = docs.counts if weight == 1.0 else weight * docs.counts
    return encoder.compute_likelihood(state.phi[0], tape.theta[0], docs.words, counts, docs.starts)


def _address_encoding(seed: int, state: State) -> Address:
    """Return the address of the encoder's random numbers for the next step."""
    return Address(seed, streams.ENCODER, int(state.t) + 1)


def _sum_elbos(likelihood: encoder.Likelihood, divergences: list[FloatArray], docs: Batch) -> float:
    """Return the sum of the evidence lower bounds of documents."""
    return float(
        likelihood.value.sum() - sum(divergence.sum() for divergence in divergences) - gammaln(docs.counts + 1.0).sum()
    )


def _differentiate_table(
    at: Hybrid,
    state: State,
    tape: Tape,
    prior: TablePrior,
    likelihood: encoder.Likelihood,
    divergences: list[FloatArray],
    lesson: Lesson | None,
    weight: float,
) -> encoder.Gradient:
    """Return the gradient of a table of documents, given its divergences."""
    kind = at.config.encoder_shape
    outer = [likelihood.slope, *(np.zeros_like(layer) for layer in tape.theta[1:])]
    reward = likelihood.value
    if lesson is not None:
        outer = [a + b for a, b in zip(outer, lesson.outer, strict=True)]
        reward = reward + lesson.value
    rewards = []
    for layer in range(len(divergences)):
        rewards.append(reward)
        reward = reward - weight * divergences[layer]
    encoder_weights = state.weights[: PER_LAYER * len(divergences)]
    return encoder.run_backward(kind, encoder_weights, tape, prior, outer, weight, rewards)


def _add_topic_slopes(
    state: State, tape: Tape, shares: FloatArray, docs: Batch, priors: list[FloatArray], d_topics: list[FloatArray]
) -> None:
    """Add the derivatives in Phi to ``d_topics``: for layer 1 through the rates, above through the prior shapes."""
    d_topics[0] += encoder.compute_topic_slope(state.phi[0], tape.theta[0], shares, docs.words, docs.starts)
    for layer in range(1, len(state.phi)):
        d_topics[layer] += priors[layer - 1].T @ tape.theta[layer]


def _uses_own_bound(at: Hybrid) -> bool:
    """Return True if Phi and r follow the gradient of the encoder's own bound."""
    return at.config.inference == "wai" and at.config.counts == "encoder"


def estimate_slopes(state: State, got: LayerCounts, n_documents: int) -> list[FloatArray]:
    """Return the derivatives of a document's log-likelihood in Phi and r, from expected counts (Fisher's identity)."""
    phi = [table / np.maximum(old, encoder.TINY) for table, old in zip(got.tables, state.phi, strict=True)]
    r = got.top / np.maximum(state.r, encoder.TINY) - got.q
    return [each / n_documents for each in (*phi, r)]


def _climb_topics(at: Hybrid, state: State, slopes: list[FloatArray], rate: float) -> State:
    """Move Phi and r up their derivatives in logarithms, with a softmax to stay on the simplex (WAI).

    Their priors count too, with the share of one document: otherwise the weight of a word that a topic has not used
    for a while would keep falling and could not recover.
    """
    config, n_documents = at.config, at.facts.n_documents
    logs = [np.log(np.maximum(table, encoder.TINY)) for table in (*state.phi, state.r)]
    share = config.eta / n_documents
    gradients: list[FloatArray | RowGradient] = [
        phi * (slope - (phi * slope).sum(axis=0)) + share * (1.0 - len(phi) * phi)
        for phi, slope in zip(state.phi, slopes, strict=False)
    ]
    learns_r = config.prior == "matched"
    pull = (config.gamma0 / len(state.r) - config.c0 * state.r) / n_documents
    gradients.append((state.r * slopes[-1] + pull) * float(learns_r))
    moments = Moments(state.topic_first, state.topic_second)
    new, moments = hybrid.step_adam(tuple(logs), moments, gradients, [rate] * len(logs), int(state.moved))
    phi = tuple(_softmax(table) for table in new[:-1])
    r = np.exp(new[-1]) if learns_r else state.r
    return state._replace(phi=phi, r=r, topic_first=moments.first, topic_second=moments.second)


def _softmax(logs: FloatArray) -> FloatArray:
    raw = np.exp(logs - logs.max(axis=0))
    return np.asarray(raw / raw.sum(axis=0))


def _count_tokens(
    at: Hybrid, seed: int, state: State, docs: Batch, theta: Sequence[FloatArray], t: int
) -> tuple[tuple[SweepSums, ...], int]:
    """Return the counts that move Phi and r, and how often the topic of each token was drawn for them.

    All words count, even if the encoder drew ``theta`` from a part of them: only proportions of theta matter for the
    topic of a word, and the tables of half a document are not half of its tables.
    """
    phi, r, kind, n_tokens = state.phi, state.r, at.config.counts, at.facts.n_tokens
    encoded = amortised.encode_start(at, state, Address(seed, streams.INFER, t), docs, theta)
    parts, draws = [], 0
    if kind != "encoder":
        plan, start = _plan_sweeps(at, len(phi)), encoded if kind == "refined" else None
        parts.append(at.sweeper.gather(phi, r, docs, start, Address(seed, streams.LOCAL, t), plan, most=n_tokens)[0])
        draws += plan.burn_in + plan.collect
    if kind in ("encoder", "mixed"):
        parts.append(at.sweeper.carry(phi, r, docs, encoded, Address(seed, streams.REDRAW, t), n_tokens))
        draws += 1
    return read_arrays(tuple(parts)), draws


def _scale_counts(at: Hybrid, seed: int, state: State, statistics: HybridStatistics) -> LayerCounts:
    """Return the counts as tables of every layer, times rho; the mean of both kinds if there are two."""
    t, rho = int(state.t) + 1, at.facts.n_documents / statistics.documents
    glob = at.sampler.pack_globals(state.phi, state.r, np.zeros(0, dtype=np.int64))
    swept, drawn = Address(seed, streams.LOCAL, t), Address(seed, streams.REDRAW, t)
    sources = [(swept, rho / _plan_sweeps(at, len(state.phi)).collect)] if at.config.counts != "encoder" else []
    sources += [(drawn, rho)] if at.config.counts in ("encoder", "mixed") else []
    parts = [
        at.sampler.scale_counts(glob, address, sums, factor)
        for sums, (address, factor) in zip(statistics.counted, sources, strict=True)
    ]
    return parts[0] if len(parts) == 1 else _mix_counts(*parts)


def _plan_sweeps(at: Hybrid, n_layers: int) -> SweepPlan:
    """Return the plan of the sweeps of a mini-batch, which start at theta = 1/K."""
    burn_in = at.config.burn_in * n_layers
    first_rates = hybrid.choose_first_rates(at, max(1, burn_in // 2))
    return SweepPlan(fresh=True, burn_in=burn_in, collect=at.config.collect * n_layers, first_rates=first_rates)


def _mix_counts(first: LayerCounts, second: LayerCounts) -> LayerCounts:
    """Return the mean of two sets of counts."""
    tables = [0.5 * (a + b) for a, b in zip(first.tables, second.tables, strict=True)]
    return LayerCounts(tables, 0.5 * (first.top + second.top), 0.5 * (first.q + second.q))


def _diffuse_topics(
    at: Hybrid, seed: int, state: State, counts: LayerCounts, t: int
) -> tuple[State, tuple[FloatArray, ...]]:
    """Update M (eq. 13, 14) and take TLASGR steps of Phi (eq. 11) and r (eq. 12); return the state and step sizes."""
    old = hybrid.get_variables(state)
    new, sizes = steps.diffuse_variables(at.config, seed, t, old, counts, steps.TopicMoves(at.sampler.pool))
    r = new.r if at.config.prior == "matched" else state.r
    return state._replace(phi=new.phi, r=r, scale=new.scale, top_scale=new.top_scale), sizes
