"""What documents do in a step: draw their hidden units, follow gradients of the bound, and tell of the weights.

Ranganath, Tang, Charlin and Blei (2015); equation numbers are that paper's.  The units of all layers of a document lie
side by side: layer 1 first, ``T`` in all.  The variational parameters of a document move only when it is read.
"""

from math import exp, lgamma, log
from typing import Any, NamedTuple

import numpy as np

from engine.black_box import families
from engine.black_box.families import (
    BERNOULLI,
    GAMMA,
    IDENTITY,
    LEAST_MEAN,
    LEAST_RATE,
    SOFT,
    Numbers,
    bernoulli_draw,
    bounded,
    gamma_bound,
    gamma_chain,
    gamma_functions,
    gamma_of,
    gamma_slope,
    log_gamma_density,
    log_gamma_draw,
    pathwise_gamma,
    poisson_draw,
    sigmoid,
    softplus,
)
from engine.black_box.rmsprop import Pace, stepped
from engine.black_box.weights import PARTS, Scores, estimate, take_in
from engine.contract import Array, Counts, FloatArray
from engine.jit import compiled, inlined
from engine.pool import Pool, chunks
from engine.streams import Stream, stream


class Model(NamedTuple):
    """The hidden units.

    Attributes
    ----------
    family : int
        GAMMA, BERNOULLI or POISSON.
    link : int
        IDENTITY, SIGMOID or SOFT: mean of a unit, given the weighted sum of those above (eq. 1).
    kind : int
        How a gamma's parameters are made unconstrained.
    bias : int
        1 where the last column of every upper matrix is an intercept, else 0.
    shape : float
        Of gamma units, in every layer.
    top : float
        What the weighted sum of units above would be for the units of the top layer: the mean, before the link.
    offsets : (L + 1,) int64
        Where every layer begins.
    positive : int
        1 where upper weights are gamma, 0 where they are normal.
    """

    family: int
    link: int
    kind: int
    bias: int
    shape: float
    top: float
    offsets: Array
    positive: int


class Local(NamedTuple):
    """Variational parameters of documents, (documents, T) float32, as :class:`engine.black_box.weights.Weights`.

    Families with one parameter have no columns in ``second`` and ``root2``.
    """

    first: Array
    second: Array
    root1: Array
    root2: Array


class Given(NamedTuple):
    """The weights that documents see in one draw.

    Attributes
    ----------
    table : (V, K_1)
        ``W_0``.
    sums : (K_1,) float64
        Column sums of its mean: the linear part of the likelihood needs no draw.
    upper : (L - 1, K, K + 1) float64
        ``W_1`` ... with zeros where a layer is narrower than the widest, intercepts behind the weights of the layer.
    """

    table: Array
    sums: FloatArray
    upper: FloatArray


class Address(NamedTuple):
    """Where random numbers come from: ``(seed, purpose, step)``, with documents' numbers."""

    seed: int
    purpose: int
    step: int


class Room(NamedTuple):
    """What one draw leaves for the gradients of the weights.

    ``units`` (documents, K_1) float32 are the draws of layer 1, ``ratios`` (cells,) float32 count over rate;
    ``sheets`` (parts, L - 1, K, K + 1) sums of pulls on the upper weights.
    """

    units: Array
    ratios: Array
    sheets: FloatArray


class Told(NamedTuple):
    """Sums over documents that score functions of the weights need, one row for every part of the documents.

    ``words`` (parts, V): log-likelihood of a word's tokens but for the linear part; ``logs`` (parts, T): log density of
    every unit below the top given those above; ``units`` (parts, T): the units themselves.
    """

    words: FloatArray
    logs: FloatArray
    units: FloatArray


def model_of(family: int, link: int, kind: int, shape: float, top: float, widths: tuple[int, ...]) -> Model:
    """Hidden units of these widths, those of the top with mean ``top``.

    Bernoulli and Poisson units have an intercept: all units above may be 0.
    """
    offsets = np.concatenate([[0], np.cumsum(widths)]).astype(np.int64)
    if family == BERNOULLI:
        top = float(np.log(top) - np.log1p(-top))
    elif link == SOFT:
        top = float(np.log(np.expm1(top)))
    return Model(family, link, kind, int(family != GAMMA), shape, top, offsets, int(link == IDENTITY))


def padded(model: Model, matrices: tuple[FloatArray, ...]) -> FloatArray:
    """Upper matrices (K_l, K_{l+1} + bias) as :attr:`Given.upper`."""
    widest = int(np.diff(model.offsets).max())
    out = np.zeros((len(matrices), widest, widest + 1))
    for link, matrix in enumerate(matrices):
        out[link, : matrix.shape[0], : matrix.shape[1]] = matrix
    return out


@inlined
def dot(row: Array, units: Array) -> float:
    """Inner product, in eight sums side by side."""
    a = b = c = d = e = f = g = h = row[0] * units[0] * 0
    n = len(units)
    k = 0
    while k + 8 <= n:
        a += row[k] * units[k]
        b += row[k + 1] * units[k + 1]
        c += row[k + 2] * units[k + 2]
        d += row[k + 3] * units[k + 3]
        e += row[k + 4] * units[k + 4]
        f += row[k + 5] * units[k + 5]
        g += row[k + 6] * units[k + 6]
        h += row[k + 7] * units[k + 7]
        k += 8
    while k < n:
        a += row[k] * units[k]
        k += 1
    return ((a + b) + (c + d)) + ((e + f) + (g + h))


@inlined
def weighted(model: Model, upper: FloatArray, z: FloatArray, link: int, i: int) -> float:
    """The weighted sum of the units above unit ``i`` of layer ``link`` (from 0), with its intercept."""
    above, width = model.offsets[link + 1], model.offsets[link + 2] - model.offsets[link + 1]
    total = upper[link, i, width] if model.bias else 0.0
    for k in range(width):
        total += upper[link, i, k] * z[above + k]
    return total


@inlined
def hierarchy_path(
    model: Model,
    upper: FloatArray,
    z: FloatArray,
    means: FloatArray,
    rates: FloatArray,
    pulls: FloatArray,
    sheet: FloatArray,
) -> None:
    """Gradients of the gamma layers among themselves, at one draw of the units.

    Parameters
    ----------
    model, upper
    z : (T,) float64
        The draw.
    means : (T,) float64
        ``E[z]`` under q: the density of a unit given those above is linear in it, but for what does not depend on them.
    rates : (T,) float64
        Written: rate of every unit given the draw of those above.
    pulls : (T,) float64
        Added to: derivative along ln z.
    sheet : (L - 1, K, K + 1) float64
        Added to: derivative along ln w.
    """
    layers = len(model.offsets) - 1
    for link in range(layers - 1):
        below, above = model.offsets[link], model.offsets[link + 1]
        width = model.offsets[link + 2] - above
        for i in range(above - below):
            m = weighted(model, upper, z, link, i) + LEAST_MEAN
            rates[below + i] = model.shape / m
            g = model.shape * (means[below + i] / m - 1.0) / m
            for k in range(width):
                pull = g * upper[link, i, k] * z[above + k]
                pulls[above + k] += pull
                sheet[link, i, k] += pull
    for t in range(model.offsets[layers - 1], model.offsets[layers]):
        rates[t] = model.shape / model.top


@compiled
def path_documents(
    model: Model,
    given: Given,
    address: Address,
    cells: Counts,
    numbers: Array,
    local: Local,
    gradient: Array,
    room: Room,
    part: int,
    begin: int,
    end: int,
) -> float:
    """Add one draw's pathwise gradients of documents ``begin:end`` to ``gradient`` (documents, T, 2); give the bound.

    All units are gamma.
    """
    total, first_width = model.offsets[-1], model.offsets[1]
    desk = np.empty((8, total))
    z, means, rates, pulls = desk[0], desk[1], desk[2], desk[3]
    slopes, shapes, scales, trigammas = desk[4], desk[5], desk[6], desk[7]
    pull1 = np.empty(first_width, dtype=np.float32)
    prior, bound = model.shape, 0.0
    normaliser = lgamma(prior)
    for j in range(begin, end):
        rng = stream(address.seed, address.purpose, address.step, numbers[j])
        units = room.units[j]
        for t in range(total):
            shape, scale, log_scale = gamma_of(model.kind, local.first[j, t], local.second[j, t])
            log_gamma, digamma, trigamma = gamma_functions(shape)
            log_x, rng = log_gamma_draw(rng, shape)
            slopes[t] = gamma_slope(shape, log_x, digamma)
            z[t] = scale * exp(log_x)
            shapes[t], scales[t], trigammas[t], means[t] = shape, scale, trigamma, shape * scale
            bound += gamma_bound(prior, shape, log_scale, log_gamma, digamma) - normaliser
            pulls[t] = 0.0
        for k in range(first_width):
            units[k] = z[k] if z[k] > 1e-35 else 0.0
            pull1[k] = 0.0
        for cell in range(cells.starts[j], cells.starts[j + 1]):
            row = given.table[cells.words[cell]]
            rate = dot(row, units) + np.float32(LEAST_RATE)
            ratio = np.float32(cells.values[cell]) / rate
            room.ratios[cell] = ratio
            for k in range(first_width):
                pull1[k] += ratio * row[k]
            bound += cells.values[cell] * log(rate) - lgamma(cells.values[cell] + 1.0)
        for k in range(first_width):
            pulls[k] = pull1[k] * units[k]
            bound -= means[k] * given.sums[k]
        hierarchy_path(model, given.upper, z, means, rates, pulls, room.sheets[part])
        for t in range(total):
            linear = given.sums[t] if t < first_width else 0.0
            bound += prior * log(rates[t]) - rates[t] * means[t]
            one, two = pathwise_gamma(shapes[t], scales[t], trigammas[t], slopes[t], prior, rates[t] + linear, pulls[t])
            first, second = local.first[j, t], local.second[j, t]
            g1, g2 = gamma_chain(model.kind, first, second, shapes[t], scales[t], one, two)
            gradient[j, t, 0] += g1
            gradient[j, t, 1] += g2
    return bound


@compiled
def path_hierarchy(
    model: Model,
    upper: FloatArray,
    address: Address,
    means: FloatArray,
    local: Local,
    gradient: Array,
    rates: Array,
    sheet: FloatArray,
    begin: int,
    end: int,
) -> float:
    """As `path_documents` for rows whose layer 1 moves elsewhere: the columns of a double DEF.

    Parameters
    ----------
    means : (rows, K_1) float64
        Of layer 1 under q.
    local : Local
        Of the layers above, (rows, T - K_1).
    gradient : (rows, T - K_1, 2) float32
        Added to.
    rates : (rows, K_1) float32
        Added to: rates of layer 1 given the draw of the layers above.
    """
    total, first_width = model.offsets[-1], model.offsets[1]
    desk = np.empty((8, total))
    z, mean, rate, pulls = desk[0], desk[1], desk[2], desk[3]
    slopes, shapes, scales, trigammas = desk[4], desk[5], desk[6], desk[7]
    prior, bound = model.shape, 0.0
    normaliser = lgamma(prior)
    for j in range(begin, end):
        rng = stream(address.seed, address.purpose, address.step, j)
        for k in range(first_width):
            z[k], mean[k], pulls[k] = means[j, k], means[j, k], 0.0
        for t in range(first_width, total):
            at = t - first_width
            shape, scale, log_scale = gamma_of(model.kind, local.first[j, at], local.second[j, at])
            log_gamma, digamma, trigamma = gamma_functions(shape)
            log_x, rng = log_gamma_draw(rng, shape)
            slopes[t] = gamma_slope(shape, log_x, digamma)
            z[t] = scale * exp(log_x)
            shapes[t], scales[t], trigammas[t], mean[t] = shape, scale, trigamma, shape * scale
            bound += gamma_bound(prior, shape, log_scale, log_gamma, digamma) - normaliser
            pulls[t] = 0.0
        hierarchy_path(model, upper, z, mean, rate, pulls, sheet)
        for k in range(first_width):
            rates[j, k] += rate[k]
        for t in range(first_width, total):
            at = t - first_width
            bound += prior * log(rate[t]) - rate[t] * mean[t]
            one, two = pathwise_gamma(shapes[t], scales[t], trigammas[t], slopes[t], prior, rate[t], pulls[t])
            first, second = local.first[j, at], local.second[j, at]
            g1, g2 = gamma_chain(model.kind, first, second, shapes[t], scales[t], one, two)
            gradient[j, at, 0] += g1
            gradient[j, at, 1] += g2
    return bound


@inlined
def unit_density(model: Model, z: float, log_z: float, m: float) -> float:
    """``ln p(z)`` of a unit whose weighted sum of units above is ``m`` (eq. 1); of a gamma unit ``m`` is the mean."""
    if model.family == GAMMA:
        return log_gamma_density(log_z, z, model.shape, (m + LEAST_MEAN) / model.shape)
    if model.family == BERNOULLI:
        return z * m - softplus(m)
    mean = (m if model.link == IDENTITY else softplus(m)) + LEAST_MEAN
    return z * log(mean) - mean - lgamma(z + 1.0)


@inlined
def unit_slope(model: Model, z: float, m: float) -> float:
    """Derivative of `unit_density` along ``m``."""
    if model.family == GAMMA:
        m += LEAST_MEAN
        return model.shape * (z / m - 1.0) / m
    if model.family == BERNOULLI:
        return z - sigmoid(m)
    if model.link == IDENTITY:
        return z / (m + LEAST_MEAN) - 1.0
    return (z / (softplus(m) + LEAST_MEAN) - 1.0) * sigmoid(m)


@inlined
def draw_unit(model: Model, rng: Stream, first: float, second: float) -> Numbers:
    """A draw of q, its logarithm (of gamma units), minus its log density under q, and the stream to go on with."""
    if model.family == GAMMA:
        shape, scale, log_scale = gamma_of(model.kind, first, second)
        log_z, rng = log_gamma_draw(rng, shape)
        log_z = max(log_z + log_scale, families.LEAST_LOG)
        z = exp(log_z)
        return z, log_z, -log_gamma_density(log_z, z, shape, scale), rng
    if model.family == BERNOULLI:
        z, rng = bernoulli_draw(rng, sigmoid(first))
        return z, 0.0, softplus(first) - z * first, rng
    rate = softplus(first)
    z, rng = poisson_draw(rng, rate)
    return z, 0.0, rate - z * log(rate) + lgamma(z + 1.0), rng


@inlined
def unit_scores(model: Model, z: float, log_z: float, first: float, second: float) -> Numbers:
    """Derivatives of ``ln q(z)`` along the unconstrained parameters (the paper's appendix)."""
    if model.family == GAMMA:
        shape, scale, log_scale = gamma_of(model.kind, first, second)
        _, digamma, _ = gamma_functions(shape)
        one, two = log_z - log_scale - digamma, (z / scale - shape) / scale
        return gamma_chain(model.kind, first, second, shape, scale, one, two)
    if model.family == BERNOULLI:
        return z - sigmoid(first), 0.0
    return (z / softplus(first) - 1.0) * sigmoid(first), 0.0


@compiled
def score_documents(  # noqa: C901, PLR0912  # one pass over a document's words and units
    model: Model,
    given: Given,
    address: Address,
    cells: Counts,
    numbers: Array,
    local: Local,
    sums: Scores,
    aside: bool,
    told: Told,
    room: Room,
    part: int,
    begin: int,
    end: int,
) -> float:
    """Take in one sample of documents ``begin:end`` for the score-function gradient; give the bound.

    Every unit is judged by its Markov blanket: its own density and that of the layer below, or of the words (eqs. 3-5).
    ``told`` is written where its rows have columns, and ``room`` where the weights' gradients are pathwise.
    """
    layers, total, first_width = len(model.offsets) - 1, model.offsets[-1], model.offsets[1]
    z, logs, own = np.empty(total), np.empty(total), np.empty(total)
    below = np.empty(layers + 1)
    paired = local.second.shape[1] > 0
    path, tell = room.ratios.shape[0] == cells.words.shape[0], told.logs.shape[1] > 0
    bound = 0.0
    for j in range(begin, end):
        rng = stream(address.seed, address.purpose, address.step, numbers[j])
        units = room.units[j]
        for t in range(total):
            second = local.second[j, t] if paired else 0.0
            z[t], logs[t], own[t], rng = draw_unit(model, rng, local.first[j, t], second)
            bound += own[t]
        words = 0.0
        for k in range(first_width):
            units[k] = z[k]
            words -= z[k] * given.sums[k]
        for cell in range(cells.starts[j], cells.starts[j + 1]):
            word, count = cells.words[cell], cells.values[cell]
            rate = dot(given.table[word], units) + LEAST_RATE
            got = count * log(rate)
            words += got - lgamma(count + 1.0)
            if tell:
                told.words[part, word] += got
            if path:
                room.ratios[cell] = count / rate
        below[0] = words
        bound += words
        for link in range(layers):
            low, high = model.offsets[link], model.offsets[link + 1]
            below[link + 1] = 0.0
            for t in range(low, high):
                m = weighted(model, given.upper, z, link, t - low) if link + 1 < layers else model.top
                density = unit_density(model, z[t], logs[t], m)
                own[t] += density
                below[link + 1] += density
                if tell:
                    told.logs[part, t] += density
                    told.units[part, t] += z[t]
                if path and link + 1 < layers:
                    _pull_upper(model, given.upper, z, link, t - low, unit_slope(model, z[t], m), room.sheets[part])
            bound += below[link + 1]
        for link in range(layers):
            for t in range(model.offsets[link], model.offsets[link + 1]):
                f = own[t] + below[link]
                second = local.second[j, t] if paired else 0.0
                s1, s2 = unit_scores(model, z[t], logs[t], local.first[j, t], second)
                take_in(sums, j, t, 0, s1, s1 * f, aside)
                if paired:
                    take_in(sums, j, t, 1, s2, s2 * f, aside)
    return bound


@inlined
def _pull_upper(
    model: Model, upper: FloatArray, z: FloatArray, link: int, i: int, slope: float, sheet: FloatArray
) -> None:
    """Add the pull of one unit on the weights above it: along ln w of gamma weights, along w of normal ones."""
    above = model.offsets[link + 1]
    width = model.offsets[link + 2] - above
    for k in range(width + model.bias):
        unit = z[above + k] if k < width else 1.0
        sheet[link, i, k] += slope * unit * (upper[link, i, k] if model.positive else 1.0)


@compiled
def step_path(model: Model, old: Local, gradient: Array, pace: Pace, new: Local, begin: int, end: int) -> None:
    """Step the parameters of documents ``begin:end`` along ``gradient``."""
    for j in range(begin, end):
        for t in range(old.first.shape[1]):
            d1, new.root1[j, t] = stepped(pace, gradient[j, t, 0], old.root1[j, t])
            d2, new.root2[j, t] = stepped(pace, gradient[j, t, 1], old.root2[j, t])
            first, second = old.first[j, t] + d1, old.second[j, t] + d2
            new.first[j, t], new.second[j, t] = bounded(model.kind, GAMMA, first, second)


@compiled
def step_scores(
    model: Model, old: Local, sums: Scores, samples: int, pace: Pace, new: Local, begin: int, end: int
) -> None:
    """Step the parameters of documents ``begin:end`` along the score-function estimate."""
    two = old.second.shape[1] > 0
    for j in range(begin, end):
        for t in range(old.first.shape[1]):
            d1, new.root1[j, t] = stepped(pace, estimate(sums, j, t, 0, samples), old.root1[j, t])
            first, second = old.first[j, t] + d1, 0.0
            if two:
                d2, new.root2[j, t] = stepped(pace, estimate(sums, j, t, 1, samples), old.root2[j, t])
                second = old.second[j, t] + d2
            first, second = bounded(model.kind, model.family, first, second)
            new.first[j, t] = first
            if two:
                new.second[j, t] = second


@compiled
def pull_words(
    starts: Array, rows: Array, places: Array, room: Room, table: Array, slopes: Array, pulls: Array, along: Array,
    begin: int, end: int,
) -> None:  # fmt: skip
    """Add the pulls on ``W_0``, words ``begin:end``: ``w_vk sum_n z_nk x_nv / rate_nv``, and these times the slopes.

    ``starts``, ``rows`` and ``places`` are the cells word by word (`by_word`).
    """
    width = table.shape[1]
    total = np.empty(width)
    for v in range(begin, end):
        total[:] = 0.0
        for at in range(starts[v], starts[v + 1]):
            ratio, units = room.ratios[places[at]], room.units[rows[at]]
            for k in range(width):
                total[k] += ratio * units[k]
        for k in range(width):
            pull = total[k] * table[v, k]
            pulls[v, k] += pull
            along[v, k] += pull * slopes[v, k]


@compiled
def by_word(cells: Counts, n_words: int) -> Any:
    """The cells word by word: where each word's begin (V + 1,), the row and the place of each cell."""
    starts = np.zeros(n_words + 1, dtype=np.int64)
    for cell in range(len(cells.words)):
        starts[cells.words[cell] + 1] += 1
    for v in range(n_words):
        starts[v + 1] += starts[v]
    rows = np.empty(len(cells.words), dtype=np.int32)
    places = np.empty(len(cells.words), dtype=np.int64)
    following = starts[:-1].copy()
    for j in range(len(cells.starts) - 1):
        for cell in range(cells.starts[j], cells.starts[j + 1]):
            at = following[cells.words[cell]]
            rows[at], places[at] = j, cell
            following[cells.words[cell]] = at + 1
    return starts, rows, places


@compiled
def mean_units(model: Model, first: Array, second: Array, out: FloatArray, begin: int, end: int) -> None:
    """``E[z]`` of documents ``begin:end`` (documents, T)."""
    for j in range(begin, end):
        for t in range(out.shape[1]):
            if model.family == GAMMA:
                shape, scale, _ = gamma_of(model.kind, first[j, t], second[j, t])
                out[j, t] = shape * scale
            elif model.family == BERNOULLI:
                out[j, t] = sigmoid(first[j, t])
            else:
                out[j, t] = softplus(first[j, t])


@compiled
def add_rates(
    given: Given, scored: Counts, units: FloatArray, cells: FloatArray, totals: FloatArray, begin: int, end: int
) -> None:
    """Add the rates under mean units (documents, T) to ``cells`` of the scored cells and to ``totals``."""
    width = given.table.shape[1]
    for j in range(begin, end):
        for k in range(width):
            totals[j] += units[j, k] * given.sums[k]
        for cell in range(scored.starts[j], scored.starts[j + 1]):
            rate = LEAST_RATE
            for k in range(width):
                rate += given.table[scored.words[cell], k] * units[j, k]
            cells[cell] += rate


def means_of(model: Model, local: Local, pool: Pool) -> FloatArray:
    """``E[z]`` (documents, T) of all documents."""
    out = np.empty(local.first.shape)
    pool.run(mean_units, [(model, local.first, local.second, out, a, b) for a, b in chunks(len(out), PARTS)])
    return out
