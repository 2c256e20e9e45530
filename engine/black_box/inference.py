"""One step of a deep exponential family: first documents, then weights (Ranganath et al., 2015, Algorithm 2)."""

from typing import Any, NamedTuple

import numpy as np

from topiary.engine import shared_settings, streams
from topiary.engine.black_box import documents, pathwise, scores, weights
from topiary.engine.black_box.documents import Loadings, Params, Terms, Trace, Units
from topiary.engine.black_box.families import GAMMA, StepSize
from topiary.engine.black_box.weights import PARTS, Prior, WeightAddress, WeightDraw, Weights
from topiary.engine.contract import Array, Batch, Counts, FloatArray, Rates, Sweeps
from topiary.engine.corpus import list_owners, sort_by_word
from topiary.engine.jit import compiled
from topiary.engine.pool import Pool, cut_evenly
from topiary.engine.shared_settings import Schedule
from topiary.engine.streams import Address

_MOST_SAMPLES = 1 << 12  # most samples of a step, because the sample is part of a stream's address
_SAMPLE_DIVISOR = 4  # a score-function step of documents alone takes the samples of a training step divided by this
_FEWEST_DRAWS = 4  # fewest draws of a pathwise step of documents alone
_SHRINKING = Schedule(0.5, 10.0, 1.0)  # step sizes of documents alone, relative to the first one of training


class InferencePlan(NamedTuple):
    """Constants of the steps of a run.

    Attributes
    ----------
    model : Units
    priors : tuple of Prior
        Priors of ``W_0``, ``W_1`` ...
    n_words, n_documents : int
    samples, control_samples : int
        Number of samples of a step, and of those that only estimate the control variate.
    draws : int
        Number of draws of the weights in a step if their gradients are pathwise; samples are divided among them.
    uses_scores : bool
        True if all gradients are score functions; otherwise those of gamma units and of the weights are pathwise.
    schedule : Schedule
        The schedule of step sizes.
    window : float
        Number of steps over which RMSProp averages the size of gradients.
    batch : int
        Approximate number of documents that move in a step.
    pool : Pool
    cache : dict
        The cells of the latest documents, sorted by word.
    first_mean : float
        Initial mean of a unit of layer 1.
    top_mean : float
        Mean of the top's units, if they are not gamma.
    """

    model: Units
    priors: tuple[Prior, ...]
    n_words: int
    n_documents: int
    samples: int
    control_samples: int
    draws: int
    uses_scores: bool
    schedule: Schedule
    window: float
    batch: int
    pool: Pool
    cache: dict[str, Any]
    first_mean: float = 1.0
    top_mean: float = 0.0

    @property
    def is_pathwise(self) -> bool:
        """True if the gradients of documents are pathwise."""
        return self.model.family == GAMMA and not self.uses_scores

    @property
    def n_layers(self) -> int:
        """Number of layers L."""
        return len(self.model.offsets) - 1

    @property
    def token_draws(self) -> int:
        """Number of times a step reads the words of a document."""
        return self.draws if self.is_pathwise else self.samples

    def average_activity(self, statistics: "Evidence") -> tuple[FloatArray, ...]:
        """Return the mean units of every layer over the documents that moved."""
        mean = statistics.active / max(1, int(statistics.documents))
        return tuple(np.split(mean, self.model.offsets[1:-1].tolist()))

    def find_step_size(self, t: int) -> StepSize:
        """Return the step size and RMSProp window of step ``t``, counted from 1."""
        return StepSize(shared_settings.step_size(self.schedule, t), self.window)


class Evidence(NamedTuple):
    """Sums over documents from which the weights are moved.

    ``documents``, ``tokens`` () int64: numbers of those that moved; ``bound`` (): their part of the evidence lower
    bound; ``active`` (T,): sums of E[z].  For score functions, one row per sample: ``words`` (S, V) log-likelihood of
    each word's tokens without the linear part, ``logs`` (S, T) log densities of the units given those above, ``units``
    (S, T) the units.  For pathwise gradients, as in
    :class:`engine.black_box.weights.PathwiseGradient`: ``value_gradient`` and ``slope_gradient`` (V, K_1) of ``W_0``,
    ``upper_value_gradient`` and ``upper_slope_gradient`` (L - 1, K, K + 1) of the upper weights.
    """

    documents: Array
    tokens: Array
    bound: FloatArray
    active: FloatArray
    words: FloatArray
    logs: FloatArray
    units: FloatArray
    value_gradient: FloatArray
    slope_gradient: FloatArray
    upper_value_gradient: FloatArray
    upper_slope_gradient: FloatArray


def choose_documents(plan: InferencePlan, seed: int, t: int, numbers: Array) -> Array:
    """Return the rows of the documents that move at step ``t``; each document moves once per pass over the corpus."""
    n_parts = -(-plan.n_documents // plan.batch)
    if n_parts <= 1:
        return np.arange(len(numbers))
    turns = np.empty(len(numbers), dtype=np.int64)
    _write_turns(seed, (t - 1) // n_parts, n_parts, np.asarray(numbers, dtype=np.int64), turns)
    return np.flatnonzero(turns == (t - 1) % n_parts)


@compiled
def _write_turns(seed: int, pass_number: int, n_parts: int, numbers: Array, out: Array) -> None:
    """Draw the part of each document (0 to ``n_parts`` - 1) in this pass over the corpus."""
    for j in range(len(numbers)):
        word, _ = streams.draw_bits(streams.start_stream(seed, streams.BATCHES, pass_number, numbers[j]))
        out[j] = np.int64((word >> np.uint64(11)) % np.uint64(n_parts))


def fix_means(plan: InferencePlan, matrices: tuple[Weights, ...]) -> Loadings:
    """Return the weights at their means, as held-out documents read them."""
    table, *upper = weights.compute_all_means(plan.priors, matrices, plan.pool)
    return Loadings(table.astype(np.float32), table.sum(axis=0), documents.pad_matrices(plan.model, tuple(upper)))


def init_units(plan: InferencePlan, loadings: Loadings, docs: Batch) -> Params:
    """Return the initial variational parameters of documents."""
    n, total = len(docs.documents), int(plan.model.offsets[-1])
    n_second = total if plan.model.family == GAMMA else 0
    first, second = np.zeros((n, total), np.float32), np.zeros((n, n_second), np.float32)
    arguments = (plan.model, loadings, docs.cells, first, second)
    plan.pool.run_parts(cut_evenly(n, PARTS), documents.init_documents, *arguments)
    return Params(first, second, np.zeros_like(first), np.zeros_like(second))


def gather_statistics(
    plan: InferencePlan, seed: int, t: int, matrices: tuple[Weights, ...], docs: Batch, local: Params
) -> tuple[Evidence, Params]:
    """Step the documents whose turn it is at step ``t``; return their sums for the weights, and all parameters."""
    rows = choose_documents(plan, seed, t, docs.documents)
    if len(rows) == len(docs.documents):
        return _gather_chosen(plan, seed, t, matrices, docs, local)
    moving = np.zeros(len(docs.documents), dtype=bool)
    moving[rows] = True
    cells = docs.cells.select_cells(np.repeat(moving, np.diff(docs.starts)))
    starts = np.concatenate([[0], np.cumsum(np.diff(cells.starts)[rows])]).astype(np.int64)
    batch = Batch(cells.words, cells.values, starts, docs.labels[rows], docs.documents[rows])
    statistics, moved = _gather_chosen(plan, seed, t, matrices, batch, Params(*(values[rows] for values in local)))
    new_local = Params(*(values.copy() for values in local))
    for table, values in zip(new_local, moved, strict=True):
        table[rows] = values
    return statistics, new_local


def _gather_chosen(
    plan: InferencePlan, seed: int, t: int, matrices: tuple[Weights, ...], docs: Batch, local: Params
) -> tuple[Evidence, Params]:
    """Move all documents of ``docs``; return the sums for the weights, and the documents' new parameters."""
    trace = _make_trace(plan, docs)
    active = documents.compute_means(plan.model, local, plan.pool).sum(axis=0)
    statistics = _make_statistics(plan, docs, active)
    draws = plan.samples if plan.uses_scores else plan.draws
    per_draw = 1 if plan.is_pathwise else plan.samples // draws
    document_step = _DocumentStep(plan, seed, streams.LOCAL, t, docs, local, plan.control_samples)
    sums = document_step.init_sums()
    bound = 0.0
    for draw in range(draws):
        weight_draws = _draw_weights(plan, seed, t, draw, matrices)
        loadings = _fix_weights(plan, weight_draws)
        for i in range(per_draw):
            trace.upper_gradients[:] = 0.0
            terms = _make_terms(plan, wanted=plan.uses_scores)
            bound += document_step.add_sample(loadings, draw * per_draw + i, sums, terms, trace) / (draws * per_draw)
            _add_sample(plan, statistics, weight_draws, docs, trace, terms, draw, 1.0 / (draws * per_draw))
    statistics = statistics._replace(bound=np.array(bound))
    return statistics, document_step.take_step(sums, draws * per_draw, plan.find_step_size(t))


class _DocumentStep(NamedTuple):
    """Gradients of some documents in one step."""

    plan: InferencePlan
    seed: int
    purpose: int
    t: int
    docs: Batch
    local: Params
    aside: int

    def init_sums(self) -> Any:
        """Return the gradient sums of the documents, all 0."""
        n, total = self.local.first.shape
        if self.plan.is_pathwise:
            return np.zeros((n, total, 2), dtype=np.float32)
        return weights.make_scores(n, total, 2 if self.local.second.shape[1] else 1)

    def add_sample(self, loadings: Loadings, i: int, sums: Any, terms: Terms, trace: Trace) -> float:
        """Add the gradients of sample ``i`` to ``sums``; return its evidence lower bound."""
        plan, docs = self.plan, self.docs
        address = Address(self.seed, self.purpose, self.t * _MOST_SAMPLES + i)
        pieces = list(enumerate(cut_evenly(len(docs.documents), PARTS)))
        arguments = (plan.model, loadings, address, docs.cells, docs.documents, self.local, sums)
        if plan.is_pathwise:
            calls: list[Any] = [(*arguments, trace, part, a, b) for part, (a, b) in pieces]
            return float(sum(plan.pool.run(pathwise.differentiate_documents, calls)))
        calls = [(*arguments, i < self.aside, terms, trace, part, a, b) for part, (a, b) in pieces]
        return float(sum(plan.pool.run(scores.score_documents, calls)))

    def take_step(self, sums: Any, samples: int, step_size: StepSize) -> Params:
        """Return the parameters after a step along the summed gradients."""
        plan, old = self.plan, self.local
        new = Params(*(np.empty_like(values) for values in old))
        parts = cut_evenly(len(old.first), PARTS)
        if plan.is_pathwise:
            if samples > 1:
                sums /= samples
            plan.pool.run_parts(parts, pathwise.step_units, plan.model, old, sums, step_size, new)
        else:
            n_kept = samples - self.aside
            plan.pool.run_parts(parts, scores.step_by_scores, plan.model, old, sums, n_kept, step_size, new)
        return new


def _make_trace(plan: InferencePlan, docs: Batch) -> Trace:
    """Return a trace for these documents, all 0, in the precision that the gradients need."""
    n, width = len(docs.documents), int(plan.model.offsets[1])
    upper_gradients = np.zeros((PARTS, *_find_upper_shape(plan)))
    dtype = np.float64 if plan.uses_scores else np.float32
    return Trace(
        np.zeros((n, width), dtype=dtype), np.zeros(0 if plan.uses_scores else len(docs.words), dtype), upper_gradients
    )


def _find_upper_shape(plan: InferencePlan) -> tuple[int, int, int]:
    """Return the shape (L - 1, K, K + 1) of all upper weights, K the width of the widest layer."""
    widest = int(np.diff(plan.model.offsets).max())
    return plan.n_layers - 1, widest, widest + 1


def _make_terms(plan: InferencePlan, *, wanted: bool) -> Terms:
    """Return terms of 0, without columns if they are not wanted."""
    total = int(plan.model.offsets[-1]) if wanted else 0
    words = np.zeros((PARTS, plan.n_words if wanted else 0))
    return Terms(words, np.zeros((PARTS, total)), np.zeros((PARTS, total)))


def _draw_weights(plan: InferencePlan, seed: int, t: int, draw: int, matrices: tuple[Weights, ...]) -> list[WeightDraw]:
    """Draw the weights of all matrices once."""
    return [
        weights.draw_weights(prior, matrix, WeightAddress(seed, t, draw, link), plan.pool, slopes=not plan.uses_scores)
        for link, (prior, matrix) in enumerate(zip(plan.priors, matrices, strict=True))
    ]


def _fix_weights(plan: InferencePlan, draws: list[WeightDraw]) -> Loadings:
    """Return drawn weights in the form that documents read."""
    upper = documents.pad_matrices(plan.model, tuple(draw.values for draw in draws[1:]))
    return Loadings(draws[0].values, draws[0].sums, upper)


def _make_statistics(plan: InferencePlan, docs: Batch, active: FloatArray) -> Evidence:
    """Return the evidence of documents before the first sample: gradients and bound 0."""
    samples, total = (plan.samples if plan.uses_scores else 0), int(plan.model.offsets[-1])
    table_shape = (0, 0) if plan.uses_scores else (plan.n_words, int(plan.model.offsets[1]))
    upper_shape = (0, 0, 0) if plan.uses_scores else _find_upper_shape(plan)
    return Evidence(
        documents=np.array(len(docs.documents), dtype=np.int64),
        tokens=np.array(docs.counts.sum(dtype=np.float64)).astype(np.int64),
        bound=np.array(0.0),
        active=active,
        words=np.zeros((samples, plan.n_words if samples else 0)),
        logs=np.zeros((samples, total if samples else 0)),
        units=np.zeros((samples, total if samples else 0)),
        value_gradient=np.zeros(table_shape),
        slope_gradient=np.zeros(table_shape),
        upper_value_gradient=np.zeros(upper_shape),
        upper_slope_gradient=np.zeros(upper_shape),
    )


def _add_sample(
    plan: InferencePlan,
    into: Evidence,
    weight_draws: list[WeightDraw],
    docs: Batch,
    trace: Trace,
    terms: Terms,
    draw: int,
    share: float,
) -> None:
    """Add the evidence of one sample to the statistics, in place."""
    if plan.uses_scores:
        into.words[draw] = terms.words.sum(axis=0)
        into.logs[draw] = terms.logs.sum(axis=0)
        into.units[draw] = terms.units.sum(axis=0)
        return
    starts, rows, places = _sort_by_word(plan, docs.cells)
    trace.ratios[:] *= trace.ratios.dtype.type(share)
    table, slopes, _ = weight_draws[0]
    arguments = (starts, rows, places, trace, table, slopes, into.value_gradient, into.slope_gradient)
    plan.pool.run_parts(cut_evenly(plan.n_words, PARTS), pathwise.add_word_gradients, *arguments)
    upper_gradient = trace.upper_gradients.sum(axis=0) * share
    into.upper_value_gradient[:] += upper_gradient
    into.upper_slope_gradient[:] += upper_gradient * documents.pad_matrices(
        plan.model, tuple(each.slopes for each in weight_draws[1:])
    )


def _sort_by_word(plan: InferencePlan, cells: Counts) -> Any:
    """Return the cells sorted by word (starts, documents, cells), cached as long as the documents are the same."""
    if plan.cache.get("words") is not cells.words or plan.cache.get("starts") is not cells.starts:
        starts, order = sort_by_word(cells.words, plan.n_words)
        by_word = starts, list_owners(cells.starts)[order].astype(np.int32), order
        plan.cache.update(words=cells.words, starts=cells.starts, by_word=by_word)
    return plan.cache["by_word"]


def move_weights(
    plan: InferencePlan,
    seed: int,
    t: int,
    matrices: tuple[Weights, ...],
    statistics: Evidence,
    rates: Array | None = None,
) -> tuple[tuple[Weights, ...], float]:
    """Step all weights; return them and the evidence lower bound per document.

    ``rates`` (V, K_1) are the rates of the prior of ``W_0`` if that is a hierarchy of columns.
    """
    scale = plan.n_documents / max(1, int(statistics.documents))
    if plan.uses_scores:
        moved, bound = _move_scores(plan, seed, t, matrices, statistics, scale)
    else:
        moved, bound = _move_path(plan, t, matrices, statistics, scale, rates)
    return moved, (float(statistics.bound) * scale + bound) / max(1, plan.n_documents)


def _move_path(
    plan: InferencePlan, t: int, matrices: tuple[Weights, ...], evidence: Evidence, scale: float, rates: Array | None
) -> tuple[tuple[Weights, ...], float]:
    """Step all weights by pathwise gradients; return them and their part of the bound.  ``scale`` = N / documents."""
    moved, total, step_size = [], 0.0, plan.find_step_size(t)
    for link, (prior, matrix) in enumerate(zip(plan.priors, matrices, strict=True)):
        rows, columns = matrix.first.shape
        if link == 0:
            value_gradient, slope_gradient, linear = (
                evidence.value_gradient,
                evidence.slope_gradient,
                evidence.active[:columns] * scale,
            )
        else:
            value_gradient, slope_gradient = (
                evidence.upper_value_gradient[link - 1, :rows, :columns],
                evidence.upper_slope_gradient[link - 1, :rows, :columns],
            )
            linear = np.zeros(columns)
        prior_rates = rates if link == 0 and rates is not None else np.zeros((0, 0), dtype=np.float32)
        gradient = weights.PathwiseGradient(value_gradient * scale, slope_gradient * scale, linear, prior_rates)
        new, bound = weights.step_weights_pathwise(prior, matrix, gradient, step_size, plan.pool)
        moved.append(new)
        total += bound
    return tuple(moved), total


def _move_scores(
    plan: InferencePlan, seed: int, t: int, matrices: tuple[Weights, ...], evidence: Evidence, scale: float
) -> tuple[tuple[Weights, ...], float]:
    """Step all weights by score functions; return them and their part of the bound.  ``scale`` = N / documents."""
    moved, total = [], 0.0
    for link, (prior, matrix) in enumerate(zip(plan.priors, matrices, strict=True)):
        rows, columns = matrix.first.shape
        sums = weights.make_scores(rows, columns)
        first_unit = int(plan.model.offsets[link - 1]) if link else 0
        for draw in range(plan.samples):
            sample = weights.draw_weights(prior, matrix, WeightAddress(seed, t, draw, link), plan.pool, slopes=False)
            terms = evidence.logs[draw, first_unit : first_unit + rows] if link else evidence.words[draw]
            units = np.zeros(0) if link else evidence.units[draw, :columns] * scale
            weights.add_scores(
                prior, matrix, sample, terms * scale, units, sums, plan.pool, aside=draw < plan.control_samples
            )
        step_size = plan.find_step_size(t)
        moved.append(
            weights.step_weights_by_scores(
                prior, matrix, sums, plan.samples - plan.control_samples, step_size, plan.pool
            )
        )
        total += weights.compute_bound(prior, matrix)
    return tuple(moved), total


def step_documents(
    plan: InferencePlan,
    seed: int,
    purpose: int,
    step: int,
    loadings: Loadings,
    docs: Batch,
    local: Params,
    step_size: StepSize,
) -> Params:
    """Return the parameters of documents after a step, with the weights fixed at their means."""
    samples = max(plan.draws, _FEWEST_DRAWS) if plan.is_pathwise else max(plan.samples // _SAMPLE_DIVISOR, 2)
    document_step = _DocumentStep(
        plan, seed, purpose, step, docs, local, min(plan.control_samples, max(1, samples // 4))
    )
    sums, terms = document_step.init_sums(), _make_terms(plan, wanted=False)
    n, width = len(docs.documents), int(plan.model.offsets[1])
    upper_gradients = np.zeros((PARTS, *_find_upper_shape(plan)))
    ratios = np.zeros(len(docs.words) if plan.is_pathwise else 0, np.float32)
    trace = Trace(np.zeros((n, width), np.float32), ratios, upper_gradients)
    for i in range(samples):
        document_step.add_sample(loadings, i, sums, terms, trace)
    return document_step.take_step(sums, samples, step_size)


def sweep_documents(
    plan: InferencePlan, seed: int, purpose: int, clock: int, loadings: Loadings, docs: Batch, local: Params,
    sweeps: Sweeps, scored: Counts | None,
) -> tuple[Params, FloatArray, Rates | None]:  # fmt: skip
    """Step documents with fixed weights; return their parameters, the mean ``E[z]`` over kept steps, and summed rates.

    Rates are those of the ``scored`` cells; None without them.
    """
    total = np.zeros(local.first.shape)
    rates = None if scored is None else Rates(np.zeros(len(scored.words)), np.zeros(len(docs.documents)))
    n_kept = 0
    for i in range(sweeps.burn_in + sweeps.collect):
        rate = plan.schedule.first * shared_settings.step_size(_SHRINKING, clock + i + 1)
        local = step_documents(plan, seed, purpose, clock + i, loadings, docs, local, StepSize(rate, plan.window))
        if i < sweeps.burn_in or (i - sweeps.burn_in) % sweeps.thin:
            continue
        means = documents.compute_means(plan.model, local, plan.pool)
        total += means
        n_kept += 1
        if rates is not None:
            parts = cut_evenly(len(docs.documents), PARTS)
            plan.pool.run_parts(parts, documents.add_rates, loadings, scored, means, rates.cells, rates.totals)
    return local, total / max(1, n_kept), rates
