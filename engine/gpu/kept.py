"""Sums over kept sweeps of documents: rates of scored cells, activations of layer 1 (models.md 1.4 and 1.5).

theta^(1) is never drawn; it enters by its conditional mean ``(n_jk + a_kj) p_j^(2)``, with ``a_j`` the prior shapes.
"""

import numpy as np

from topiary.engine.contract import Array, FloatArray
from topiary.engine.gpu import lanes, tokens
from topiary.engine.jit import compiled, inlined

uint = np.uint64


@inlined
def rate_document(
    document: int,
    is_document: bool,
    lane: int,
    cell_starts: Array,
    words: Array,
    phi: FloatArray,
    p: float,
    shapes: FloatArray,
    row: FloatArray,
    ints: Array,
    base: int,
    cells: FloatArray,
    totals: FloatArray,
) -> None:
    """Add the rates of the scored cells of a document, ``sum_k phi_vk (n_jk + a_kj) p``, and their sum over all words.

    Parameters
    ----------
    document : int
    is_document : bool
        False for a group without a document.
    lane : int
    cell_starts : (documents + 1,) int64
        The cells of document j are ``words[cell_starts[j] : cell_starts[j + 1]]``.
    words : (cells,) int32
    phi : (V, padded K_1) float32
    p : float32
        ``p_j^(2)``.
    shapes : (entries,) float32
        a_kj, to which the counts are added.
    row : (entries,) float32
        Working memory of the lane.
    ints : Array
        The memory of the group; the counts n_jk begin at ``base``.
    base : int
    cells : (cells,) float64
    totals : (documents,) float64
    """
    total = np.float32(0.0)
    for i in range(len(shapes)):
        shapes[i] += np.float32(ints[uint(base + lanes.find_place(i, lane))])
        total += shapes[i]
    total = lanes.add_lanes(total) * p
    if is_document and lane == 0:
        totals[uint(document)] += np.float64(total)
    first = cell_starts[uint(document)]
    n = cell_starts[uint(document + 1)] - first if is_document else 0
    q = 0
    while lanes.is_any(q < n):
        word = np.int32(0)
        if q < n:
            word = np.int32(words[uint(first + q)])
        lanes.load_row(phi, word, lane, row)
        rate = np.float32(0.0)
        for i in range(len(row)):
            rate += row[i] * shapes[i]
        rate = lanes.add_lanes(rate) * p
        if q < n and lane == 0:
            cells[uint(first + q)] += np.float64(rate)
        q += 1


@inlined
def place_document(
    document: int,
    is_document: bool,
    lane: int,
    p: float,
    share: float,
    shapes: FloatArray,
    ints: Array,
    base: int,
    theta: FloatArray,
    counts: FloatArray,
) -> None:
    """Add ``share`` times the mean of theta^(1), (documents, padded K_1), and times the counts n_jk, of the same shape.

    The other arguments are as in :func:`rate_document`.
    """
    for i in range(len(shapes)):
        k = lanes.find_place(i, lane)
        n = np.float32(ints[uint(base + k)])
        if is_document:
            theta[uint(document), uint(k)] += (n + shapes[i]) * p * share
            counts[uint(document), uint(k)] += n * share


@compiled
def add_rows(rows: FloatArray, share: float, out: FloatArray) -> None:
    """Add ``share`` times every row to ``out``."""
    for j in range(lanes.find_first_item(), len(rows), lanes.count_workers()):
        for k in range(rows.shape[1]):
            out[uint(j), uint(k)] += np.float32(share) * rows[uint(j), uint(k)]


@compiled
def rate_cells(
    sizes: tuple[int, int],
    order: Array,
    starts: Array,
    topics: Array,
    columns: FloatArray,
    theta: FloatArray,
    r: FloatArray,
    phi: FloatArray,
    c: FloatArray,
    cell_starts: Array,
    words: Array,
    cells: FloatArray,
    totals: FloatArray,
) -> None:
    """Add the rates of the scored cells of all documents, with one lane.

    ``sizes`` are the padded widths of layers 1 and 2, and c (documents, L) the rates; the rest is as in
    :func:`rate_document` and :func:`engine.gpu.tokens.set_prior`.
    """
    desk = tokens.make_desk(sizes)
    for item in range(len(order)):
        j = order[item]
        tokens.set_prior(j, 0, columns, theta, r, desk)
        tokens.count_topics(topics, starts[j], starts[j + 1] - starts[j], 0, desk.ints, 0, sizes[0])
        p = np.float32(1.0) / (np.float32(1.0) + c[j, 0])
        rate_document(j, True, 0, cell_starts, words, phi, p, desk.prior, desk.row, desk.ints, 0, cells, totals)


@compiled
def place_documents(
    sizes: tuple[int, int],
    order: Array,
    starts: Array,
    topics: Array,
    columns: FloatArray,
    theta: FloatArray,
    r: FloatArray,
    c: FloatArray,
    share: float,
    first: FloatArray,
    counts: FloatArray,
) -> None:
    """Add what :func:`place_document` does to ``first`` and ``counts`` for all documents, with one lane."""
    desk = tokens.make_desk(sizes)
    for item in range(len(order)):
        j = order[item]
        tokens.set_prior(j, 0, columns, theta, r, desk)
        tokens.count_topics(topics, starts[j], starts[j + 1] - starts[j], 0, desk.ints, 0, sizes[0])
        p = np.float32(1.0) / (np.float32(1.0) + c[j, 0])
        place_document(j, True, 0, p, np.float32(share), desk.prior, desk.ints, 0, first, counts)
