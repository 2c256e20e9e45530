"""The layers above layer 1, for one document: tables are sent up, rates and activations drawn from the top down.

DLDA section 2 and models.md 1.1, steps 2 to 5.  Both local samplers (``collapsed.py``, ``plain.py``) use this module.
Layer ``l`` of the paper is index ``l - 1`` here.  All variables of a document above layer 1 are in flat arrays, in
which layer index ``l`` begins at ``first[l]``, so that one compiled kernel serves any number of layers.
"""

from typing import NamedTuple

import numpy as np

from topiary.engine.contract import Array, FloatArray
from topiary.engine.gibbs.augment import draw_beta, draw_crt, draw_gamma
from topiary.engine.gibbs.gammas import GammaSpace, draw_gammas, make_gamma_space
from topiary.engine.jit import compiled, inlined
from topiary.engine.streams import Stream, draw_uniform

SMALLEST = 1e-300  # least activation, so that no document loses all its topics; least rate, so that q is finite

# Indices are unsigned in the hot loops, so that numba need not check whether they count from the end of an array.
uint = np.uint64
NONE, ONE, TWO, THREE, FOUR, FIVE, SIX, SEVEN, EIGHT = (uint(n) for n in range(9))


class Hyper(NamedTuple):
    """Hyperparameters of the local variables: Beta(a0, b0) for p^(2), Gam(e0, 1/f0) for c^(l)."""

    a0: float
    b0: float
    e0: float
    f0: float


class Layers(NamedTuple):
    """The global variables above layer 1, packed for the compiled kernels.

    Attributes
    ----------
    widths : (L,) int64
        K_1 ... K_L.
    first : (L,) int64
        Where the layer with this index begins in a document's flat vector of layers 2..L (``first[0]`` is unused).
    table : (L,) int64
        Where Phi^(l), K_{l-1} x K_l numbers, begins in ``rows`` and in ``columns``.
    rows : (sum K_{l-1} K_l,) float64
        Phi^(2) ... Phi^(L), row after row: the weights of the topics above for one topic below.
    columns : (sum K_{l-1} K_l,) float64
        The same, column after column: the weights of one topic above for the topics below.
    r : (K_L,) float64
        Gamma shapes of the top layer.
    """

    widths: Array
    first: Array
    table: Array
    rows: FloatArray
    columns: FloatArray
    r: FloatArray


class Scratch(NamedTuple):
    """Working memory of one document above layer 1; made once per thread, reset for each document."""

    counts: Array  # (T,) int64: m^(l), counts that topics of layers 2..L explain
    shapes: FloatArray  # (T,): prior shapes of theta^(l): Phi^(l+1) theta^(l+1), r at the top
    sums: FloatArray  # (max K,): running sums of a split, by blocks
    q: FloatArray  # (L + 1,): q^(1) ... q^(L+1)
    gammas: GammaSpace  # (max K,)
    r_total: float  # sum of r, which every document needs


def pack_layers(phi: tuple[FloatArray, ...], r: FloatArray) -> Layers:
    """Pack Phi^(2) ... Phi^(L) and r for the kernels."""
    widths = np.array([layer.shape[1] for layer in phi], dtype=np.int64)
    first = np.concatenate([[0, 0], np.cumsum(widths[1:])])[: len(phi)].astype(np.int64)
    sizes = [0, 0, *(layer.size for layer in phi[1:])]
    table = np.cumsum(sizes)[: len(phi)].astype(np.int64)
    rows = np.concatenate([np.zeros(0), *(layer.ravel() for layer in phi[1:])])
    columns = np.concatenate([np.zeros(0), *(layer.T.ravel() for layer in phi[1:])])
    return Layers(widths, first, table, rows, columns, np.ascontiguousarray(r))


def unpack_tables(upper: Layers, tables: Array) -> list[Array]:
    """Split a flat table laid out like ``rows`` back into (K_{l-1}, K_l) tables, l = 2..L."""
    layers = []
    for lower, width, begin in zip(upper.widths[:-1], upper.widths[1:], upper.table[1:], strict=True):
        layers.append(tables[begin : begin + lower * width].reshape(lower, width))
    return layers


def count_upper(widths: Array) -> int:
    """Return the length T of a document's flat vector of layers 2..L."""
    return int(np.sum(widths[1:]))


@compiled
def make_scratch(upper: Layers) -> Scratch:
    """Return working memory for the documents of one thread."""
    total, widest = 0, upper.widths[0]
    for layer in range(1, len(upper.widths)):
        total += upper.widths[layer]
        widest = max(widest, upper.widths[layer])
    return Scratch(
        np.zeros(total, np.int64),
        np.zeros(total),
        np.zeros(widest),
        np.zeros(len(upper.widths) + 1),
        make_gamma_space(widest),
        np.sum(upper.r),
    )


@inlined
def set_all_shapes(upper: Layers, theta: FloatArray, s: Scratch) -> None:
    """Set the prior shapes of layers 2..L from the theta above."""
    for layer in range(1, len(upper.widths)):
        _set_shapes(upper, theta, s, layer)


@inlined
def multiply_rows(weights: FloatArray, rows: FloatArray, out: FloatArray) -> None:
    """Write ``out = weights @ rows``, four rows at a time, so that ``out`` is loaded and stored a quarter as often."""
    out[:] = 0.0
    n, width = uint(len(weights)), uint(len(out))
    whole = n // FOUR * FOUR
    for j in range(NONE, whole, FOUR):
        a, b, c, d = weights[j], weights[j + ONE], weights[j + TWO], weights[j + THREE]
        for i in range(width):
            out[i] += (a * rows[j, i] + b * rows[j + ONE, i]) + (c * rows[j + TWO, i] + d * rows[j + THREE, i])
    for j in range(whole, n):
        for i in range(width):
            out[i] += weights[j] * rows[j, i]


@inlined
def _set_shapes(upper: Layers, theta: FloatArray, s: Scratch, layer: int) -> None:
    """Write shapes^(l) = Phi^(l+1) theta^(l+1), r at the top."""
    begin, width = uint(upper.first[layer]), uint(upper.widths[layer])
    shapes, columns = s.shapes, upper.columns
    if layer == len(upper.widths) - 1:
        for k in range(width):
            shapes[begin + k] = upper.r[k]
        return
    above, table = uint(upper.first[layer + 1]), uint(upper.table[layer + 1])
    n_above = uint(upper.widths[layer + 1])
    rows = columns[table : table + n_above * width].reshape((n_above, width))
    multiply_rows(theta[above : above + n_above], rows, shapes[begin : begin + width])


@inlined
def weigh_parents(upper: Layers, theta: FloatArray, layer: int, k: int, sums: FloatArray) -> int:
    """Write running sums of phi_kc theta_c over blocks of eight topics c of ``layer``; return the number of blocks.

    ``sums[b]`` is the sum of the first ``b + 1`` blocks; the last one is ``(Phi^(l) theta^(l))_k``, the CRT rate.
    """
    rows, begin, width = upper.rows, uint(upper.first[layer]), uint(upper.widths[layer])
    row = uint(upper.table[layer]) + uint(k) * width
    total = 0.0
    n_blocks = width // EIGHT
    for b in range(n_blocks):
        total += sum_block(rows, row + EIGHT * b, theta, begin + EIGHT * b)
        sums[b] = total
    if width % EIGHT > NONE:
        for c in range(EIGHT * n_blocks, width):
            total += rows[row + c] * theta[begin + c]
        sums[n_blocks] = total
        n_blocks += ONE
    return n_blocks  # type: ignore[return-value]  # an unsigned index, see ``uint`` above


@inlined
def sum_block(a: FloatArray, i: int, b: FloatArray, j: int) -> float:
    """Return the sum of eight products as a balanced tree: short chains of additions, in the same order everywhere."""
    return ((a[i] * b[j] + a[i + ONE] * b[j + ONE]) + (a[i + TWO] * b[j + TWO] + a[i + THREE] * b[j + THREE])) + (
        (a[i + FOUR] * b[j + FOUR] + a[i + FIVE] * b[j + FIVE])
        + (a[i + SIX] * b[j + SIX] + a[i + SEVEN] * b[j + SEVEN])
    )


@inlined
def split_tables(
    rng: Stream,
    upper: Layers,
    theta: FloatArray,
    s: Scratch,
    layer: int,
    k: int,
    n: int,
    n_blocks: int,
    keep: bool,
    tables: Array,
) -> Stream:
    """Give ``n`` tables of topic ``k`` of the layer below to topics of ``layer`` (models.md 1.1 step 1).

    (x_k1 ... x_kK) ~ Mult(n, phi_kc theta_c / sum), with the running sums of :func:`weigh_parents` in ``s.sums``.
    They are counted in ``s.counts`` and, if ``keep``, in ``tables``.
    """
    rows, sums, counts = upper.rows, s.sums, s.counts
    begin, width = uint(upper.first[layer]), uint(upper.widths[layer])
    row = uint(upper.table[layer]) + uint(k) * width
    for _ in range(n):
        u, rng = draw_uniform(rng)
        u *= sums[n_blocks - ONE]
        block, reached = NONE, 0.0
        while block < n_blocks - ONE and sums[block] <= u:
            reached = sums[block]
            block += ONE
        c = EIGHT * block
        for place in range(c, min(c + EIGHT, width)):  # no branch, which the processor could not predict
            reached += rows[row + place] * theta[begin + place]
            c += uint(reached <= u)
        c = min(c, width - ONE)
        counts[begin + c] += 1
        if keep:
            tables[row + c] += 1
    return rng


@inlined
def clear_counts(s: Scratch) -> None:
    """Reset the counts of the last sweep before tables are sent up again."""
    s.counts[:] = 0


@inlined
def send_counts_up(
    rng: Stream, upper: Layers, theta: FloatArray, s: Scratch, keep: bool, tables: Array, top: Array
) -> Stream:
    """Carry the counts of layer 2 up to the top: x^(l+1) ~ CRT(m^(l), Phi^(l+1) theta^(l+1)), then split.

    The tables of the top layer, x_k^(L+1) ~ CRT(m_k^(L), r_k), are added to ``top``.  With one layer there is nothing
    to do here: the samplers add the tables of layer 1 to ``top`` themselves.
    """
    n_layers = len(upper.widths)
    for layer in range(1, n_layers):
        begin = upper.first[layer]
        for k in range(upper.widths[layer]):
            m = s.counts[begin + k]
            if m == 0:
                continue
            if layer < n_layers - 1:
                n_blocks = weigh_parents(upper, theta, layer + 1, k, s.sums)
                n, rng = draw_crt(rng, m, s.sums[n_blocks - ONE])
                rng = split_tables(rng, upper, theta, s, layer + 1, k, n, n_blocks, keep, tables)
                continue
            n, rng = draw_crt(rng, m, upper.r[k])
            if keep:
                top[k] += n
    return rng


@inlined
def draw_rates(
    rng: Stream, upper: Layers, hyper: Hyper, n_tokens: int, theta: FloatArray, c: FloatArray, s: Scratch
) -> Stream:
    """Draw p^(2) ~ Beta(a0 + x_., b0 + sum theta^(2)), c^(l) ~ Gam(e0 + sum theta^(l), 1/(f0 + sum theta^(l-1))).

    ``c[l - 2]`` is c^(l); theta^(L+1) is r.  p^(2) is drawn with theta^(1) integrated out.
    """
    n_layers = len(upper.widths)
    sum_below = _sum_layer(upper, theta, 1, s)
    p, rng = draw_beta(rng, hyper.a0 + n_tokens, hyper.b0 + sum_below)
    c[0] = (1.0 - p) / p
    for layer in range(2, n_layers + 1):
        theta_sum = _sum_layer(upper, theta, layer, s)
        draw, rng = draw_gamma(rng, hyper.e0 + theta_sum)
        c[layer - 1] = max(draw / (hyper.f0 + sum_below), SMALLEST)
        sum_below = theta_sum
    return rng


@inlined
def _sum_layer(upper: Layers, theta: FloatArray, layer: int, s: Scratch) -> float:
    """Return the sum of theta over the topics of layer index ``layer``; of r above the top."""
    if layer == len(upper.widths):
        return s.r_total
    total = 0.0
    begin = upper.first[layer]
    for k in range(begin, begin + upper.widths[layer]):
        total += theta[k]
    return total


@inlined
def set_q(c: FloatArray, q: FloatArray) -> None:
    """Write q^(1) = 1, q^(l+1) = ln(1 + q^(l) / c^(l+1)) (DLDA eq. 3)."""
    q[0] = 1.0
    for layer in range(len(c)):
        q[layer + 1] = np.log1p(q[layer] / c[layer])


@inlined
def draw_theta(rng: Stream, upper: Layers, theta: FloatArray, c: FloatArray, s: Scratch) -> Stream:
    """Draw theta^(l) ~ Gam(shape + m^(l), 1/(c^(l+1) + q^(l))) from the top down to layer 2 (models.md 1.1 step 5)."""
    set_q(c, s.q)
    for layer in range(len(upper.widths) - 1, 0, -1):
        _set_shapes(upper, theta, s, layer)
        begin, width = upper.first[layer], upper.widths[layer]
        scale = 1.0 / (c[layer] + s.q[layer])
        first, gammas = uint(begin), s.gammas
        for k in range(uint(width)):
            gammas.shapes[k] = s.shapes[first + k] + s.counts[first + k]
        rng = draw_gammas(rng, width, gammas)
        for k in range(uint(width)):
            theta[first + k] = max(gammas.out[k] * scale, SMALLEST)
    return rng
