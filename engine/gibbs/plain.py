"""Gibbs sweeps in plain form, with theta^(1) drawn: for every observation link, and Rao-Blackwellised statistics.

For each document and sweep (models.md 1.1): draw the latent count of every cell given its link, split it over topics,
send tables up, and draw rates and activations from the top down.  For the Poisson link ``collapsed.py`` is faster and
has the same stationary distribution; this sampler is for the links whose latent counts need theta^(1), and for the
expected-count statistics of the authors' released code.

Links: Poisson (x is the count); Bernoulli-Poisson, b = 1(x > 0), x from a zero-truncated Poisson;
Poisson randomised gamma, y ~ Gam(x, 1/a_j), x from a truncated Bessel, a_j ~ Gam(e0, 1/f0).
"""

from typing import NamedTuple

import numpy as np

from topiary.engine.contract import Array, FloatArray
from topiary.engine.gibbs import upper as above
from topiary.engine.gibbs.augment import compute_expected_crt, draw_crt, draw_gamma
from topiary.engine.gibbs.collapsed import COUNTS, RATES, Outcome, SweepPlan, Tables, start_locals
from topiary.engine.gibbs.latent import draw_truncated_bessel, draw_truncated_poisson, log_factorial
from topiary.engine.gibbs.tokens import Globals
from topiary.engine.gibbs.upper import Hyper, Layers, Scratch
from topiary.engine.jit import compiled
from topiary.engine.streams import Address, Stream, draw_uniform, start_stream

POISSON, BERNOULLI, GAMMA = 0, 1, 2
UNIT = 1 << 30  # one count in the fixed-point tables of expected statistics, whose sums are exact in any order


class PlainBatch(NamedTuple):
    """Documents and their local variables, including theta^(1).

    Fields are as in ``collapsed.DocBatch``, with ``theta1`` (documents, K_1) instead of token topics, and ``scale``
    (documents,), the a_j of the gamma link.
    """

    words: Array
    counts: Array
    starts: Array
    numbers: Array
    theta1: FloatArray
    theta: FloatArray
    c: FloatArray
    scale: FloatArray


class Law(NamedTuple):
    """Hyperparameters, link of the data, and whether tables collect conditional means of counts instead of draws."""

    hyper: Hyper
    link: int
    expected: bool


class Work(NamedTuple):
    """Working memory of one document: ``s`` for the layers above; running sums, m^(1) and prior shapes of layer 1."""

    s: Scratch
    sums: FloatArray
    m: Array
    shape: FloatArray


@compiled
def draw_latent_count(rng: Stream, link: int, value: float, rate: float, scale: float) -> tuple[int, Stream]:
    """Draw the latent count of an observed value > 0 (models.md 1, links)."""
    if link == BERNOULLI:
        return draw_truncated_poisson(rng, rate)
    if link == GAMMA:
        return draw_truncated_bessel(rng, 2.0 * np.sqrt(scale * value * rate))
    return int(value), rng


@compiled
def split_words(
    rng: Stream, glob: Globals, link: int, docs: PlainBatch, j: int, work: Work, keep: bool, table: Array
) -> tuple[Stream, int]:
    """Draw the latent count of every cell and split it over topics; return the stream and the sum of the counts."""
    phi, theta1 = glob.phi, docs.theta1[j]
    n_topics = phi.shape[1]
    work.m[:] = 0
    total_count = 0
    for cell in range(docs.starts[j], docs.starts[j + 1]):
        word = docs.words[cell]
        total = 0.0
        for k in range(n_topics):
            total += phi[word, k] * theta1[k]
            work.sums[k] = total
        x, rng = draw_latent_count(rng, link, docs.counts[cell], total, docs.scale[j])
        total_count += x
        for _ in range(x):
            u, rng = draw_uniform(rng)
            k = min(np.searchsorted(work.sums, u * total, side="right"), n_topics - 1)
            work.m[k] += 1
            if keep:
                table[word, k] += 1
    return rng, total_count


@compiled
def set_layer_one_shapes(glob: Globals, theta: FloatArray, shape: FloatArray) -> None:
    """Write the prior shapes of layer 1, a_j = Phi^(2) theta_j^(2) (r if there is one layer), as a (K_1,) vector."""
    if len(theta) == 0:
        shape[:] = glob.base[0]
        return
    above.multiply_rows(theta[: len(glob.base)], glob.base, shape)


@compiled
def send_tables_up(rng: Stream, glob: Globals, theta: FloatArray, work: Work, keep: bool, tables: Tables) -> Stream:
    """Draw x_k^(2) ~ CRT(m_k^(1), a_k), give them to layer 2 and carry them to the top."""
    upper, s = glob.upper, work.s
    above.clear_counts(s)
    for k in range(len(work.m)):
        if work.m[k] == 0:
            continue
        x, rng = draw_crt(rng, work.m[k], work.shape[k])
        if len(upper.widths) > 1:
            n_blocks = above.weigh_parents(upper, theta, 1, k, s.sums)
            rng = above.split_tables(rng, upper, theta, s, 1, k, x, n_blocks, keep, tables.upper)
        elif keep:
            tables.top[k] += x
    return above.send_counts_up(rng, upper, theta, s, keep, tables.upper, tables.top)


@compiled
def sweep_document(
    rng: Stream, glob: Globals, law: Law, docs: PlainBatch, j: int, work: Work, rates: bool, keep: bool, tables: Tables
) -> Stream:
    """Sweep document ``j`` upwards and downwards once (models.md 1.1)."""
    theta, c, hyper = docs.theta[j], docs.c[j], law.hyper
    rng, n = split_words(rng, glob, law.link, docs, j, work, keep, tables.words)
    rng = send_tables_up(rng, glob, theta, work, keep, tables)
    if law.link == GAMMA:
        draw, rng = draw_gamma(rng, hyper.e0 + n)
        docs.scale[j] = draw / (hyper.f0 + np.sum(docs.counts[docs.starts[j] : docs.starts[j + 1]]))
    if rates:
        rng = above.draw_rates(rng, glob.upper, hyper, n, theta, c, work.s)
    return draw_theta(rng, glob, docs, j, work)


@compiled
def draw_theta(rng: Stream, glob: Globals, docs: PlainBatch, j: int, work: Work) -> Stream:
    """Draw theta of every layer from the top down to layer 1 (models.md 1.1 step 5)."""
    rng = above.draw_theta(rng, glob.upper, docs.theta[j], docs.c[j], work.s)
    set_layer_one_shapes(glob, docs.theta[j], work.shape)
    scale = 1.0 / (docs.c[j, 0] + 1.0)
    for k in range(len(work.m)):
        draw, rng = draw_gamma(rng, work.shape[k] + work.m[k])
        docs.theta1[j, k] = max(draw * scale, above.SMALLEST)
    return rng


@compiled
def _begin_document(glob: Globals, docs: PlainBatch, j: int, fresh: bool, work: Work) -> None:
    """Prepare working memory for document ``j``, and reset its local variables if ``fresh``."""
    if fresh:
        start_locals(glob.upper, docs.theta[j], docs.c[j])
        docs.theta1[j, :] = 1.0 / docs.theta1.shape[1]
        docs.scale[j] = 1.0
    above.set_all_shapes(glob.upper, docs.theta[j], work.s)
    set_layer_one_shapes(glob, docs.theta[j], work.shape)


@compiled
def _make_work(glob: Globals) -> Work:
    """Return working memory for one thread."""
    n_topics = glob.phi.shape[1]
    return Work(above.make_scratch(glob.upper), np.zeros(n_topics), np.zeros(n_topics, np.int64), np.zeros(n_topics))


@compiled
def sweep_documents(
    glob: Globals, law: Law, address: Address, docs: PlainBatch, begin: int, end: int, plan: SweepPlan, out: Outcome
) -> None:
    """Sweep documents ``begin:end`` as planned, and write the planned quantity of the kept sweeps to ``out``.

    If the law is ``expected``, tables collect conditional means in units of 1/UNIT.  At the scored cells, the Poisson
    link sums rates, and their totals over the vocabulary; other links sum the probability (density) of each scored
    value, and ``totals`` counts samples.
    """
    work = _make_work(glob)
    for j in range(begin, end):
        rng = start_stream(address.seed, address.purpose, address.step, docs.numbers[j])
        _begin_document(glob, docs, j, plan.fresh, work)
        for sweep in range(1, plan.burn_in + plan.collect + 1):
            keep = sweep > plan.burn_in and (sweep - plan.burn_in) % plan.thin == 0
            counting = keep and plan.quantity == COUNTS
            rates = sweep >= plan.first_rates
            rng = sweep_document(rng, glob, law, docs, j, work, rates, counting and not law.expected, out.tables)
            if counting:
                out.q_top[j] += work.s.q[len(docs.c[j])]
                if law.expected:
                    expect_words(glob, docs, j, out.tables.words)
                    expect_tables(glob, docs.theta[j], work, out.tables)
            elif keep and plan.quantity == RATES:
                _add_likelihoods(glob, law.link, docs, j, out)
            elif keep:
                out.theta1[j] += docs.theta1[j] * (plan.thin / plan.collect)
                out.theta[j] += docs.theta[j] * (plan.thin / plan.collect)
                out.tokens[j] += work.m * (plan.thin / plan.collect)
        if plan.quantity == COUNTS:
            out.counts[j, : len(work.m)] = work.m
            out.counts[j, len(work.m) :] = work.s.counts


@compiled
def redraw_documents(glob: Globals, address: Address, docs: PlainBatch, begin: int, end: int, counts: Array) -> None:
    """Draw theta^(1) ... theta^(L) from the counts of the last sweep, under topics drawn after that sweep."""
    work = _make_work(glob)
    for j in range(begin, end):
        rng = start_stream(address.seed, address.purpose, address.step, docs.numbers[j])
        work.m[:] = counts[j, : len(work.m)]
        work.s.counts[:] = counts[j, len(work.m) :]
        draw_theta(rng, glob, docs, j, work)


@compiled
def _add_likelihoods(glob: Globals, link: int, docs: PlainBatch, j: int, out: Outcome) -> None:
    """Add the likelihoods of the scored cells of document ``j``, given its theta^(1)."""
    theta1, scored = docs.theta1[j], out.scored
    for cell in range(scored.starts[j], scored.starts[j + 1]):
        rate = 0.0
        for k in range(len(theta1)):
            rate += glob.phi[scored.words[cell], k] * theta1[k]
        out.rates[cell] += compute_likelihood(link, scored.values[cell], rate, docs.scale[j])
    out.totals[j] += np.sum(theta1) if link == POISSON else 1.0


@compiled
def _round_fixed(value: float) -> int:
    """Return a number in fixed point, in units of 1/UNIT."""
    return int(np.rint(value * UNIT))


@compiled
def expect_words(glob: Globals, docs: PlainBatch, j: int, table: Array) -> None:
    """Add E[A_vk] = x_v phi_vk theta_k / (Phi theta)_v with the theta at the end of the sweep."""
    phi, theta1 = glob.phi, docs.theta1[j]
    for cell in range(docs.starts[j], docs.starts[j + 1]):
        word = docs.words[cell]
        total = 0.0
        for k in range(len(theta1)):
            total += phi[word, k] * theta1[k]
        share = docs.counts[cell] / max(total, above.SMALLEST)
        for k in range(len(theta1)):
            table[word, k] += _round_fixed(share * phi[word, k] * theta1[k])


@compiled
def expect_tables(glob: Globals, theta: FloatArray, work: Work, tables: Tables) -> None:
    """Add the expected tables above layer 1: the mean of CRT, split by phi theta."""
    upper, s = glob.upper, work.s
    n_layers = len(upper.widths)
    for layer in range(n_layers):
        for k in range(upper.widths[layer]):
            m = work.m[k] if layer == 0 else s.counts[upper.first[layer] + k]
            if m == 0:
                continue
            shape = work.shape[k] if layer == 0 else s.shapes[upper.first[layer] + k]
            n = compute_expected_crt(float(m), shape)
            if layer == n_layers - 1:
                tables.top[k] += _round_fixed(n)
                continue
            _share_tables(upper, theta, layer + 1, k, n, tables.upper)


@compiled
def _share_tables(upper: Layers, theta: FloatArray, layer: int, k: int, n: float, table: Array) -> None:
    """Share ``n`` expected tables of topic ``k`` among the topics of ``layer``, in proportion to phi_kc theta_c."""
    begin, width = upper.first[layer], upper.widths[layer]
    row = upper.table[layer] + k * width
    total = 0.0
    for c in range(width):
        total += upper.rows[row + c] * theta[begin + c]
    for c in range(width):
        table[row + c] += _round_fixed(n * upper.rows[row + c] * theta[begin + c] / max(total, above.SMALLEST))


@compiled
def compute_likelihood(link: int, value: float, rate: float, scale: float) -> float:
    """Return the likelihood of a value: P(b = 1) for Bernoulli, the density for gamma; for Poisson, the rate itself."""
    if link == BERNOULLI:
        return -np.expm1(-rate)
    if link == GAMMA:
        return _compute_gamma_density(value, rate, scale)
    return rate


@compiled
def _compute_gamma_density(y: float, rate: float, scale: float) -> float:
    """Return sum_{x >= 1} Pois(x; rate) Gam(y; x, 1/scale), summed outwards from the largest term."""
    log_ratio = np.log(scale) + np.log(y) + np.log(rate)
    peak = max(int(np.exp(0.5 * log_ratio)), 1)
    log_peak = peak * log_ratio - log_factorial(peak) - log_factorial(peak - 1)
    total, term, x = 1.0, 1.0, peak
    while term > 1e-17 * total:
        x += 1
        term *= np.exp(log_ratio) / (x * (x - 1.0))
        total += term
    term, x = 1.0, peak
    while x > 1 and term > 1e-17 * total:
        term *= x * (x - 1.0) / np.exp(log_ratio)
        x -= 1
        total += term
    return total * np.exp(log_peak - rate - scale * y - np.log(y))
