"""Weighted sums of the shares of documents by group, in one pass over their entries.

For documents j of a group, weights a_j and shares w_jk, everything that :mod:`engine.lens.intervals` needs is in

    sum_j a_j,  sum_j a_j^2,  sum_j a_j w_jk,  sum_j a_j^2 w_jk,  sum_j a_j^2 w_jk^2.

These sums add up over groups.  They are computed in a fixed number of pieces, which are added in order, so that the
last bit does not depend on the number of threads.
"""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from topiary.engine.contract import Array, FloatArray, IntArray
from topiary.engine.jit import compiled
from topiary.engine.pool import cut_rows

Weighting: TypeAlias = Literal["tokens", "documents"]  # what a document counts: its tokens, or 1

_UNIT = 1.0 / 65535.0
_N_PIECES = 8  # in which sums are computed, so that their last bits stay as they are


class DocumentShares(NamedTuple):
    """The shares of the topics of one layer in documents, in units of 1/65535, and the tokens of the documents.

    Attributes
    ----------
    starts : (N + 1,) int64
        Document ``j`` owns the entries ``starts[j]:starts[j + 1]``.
    topics : (entries,) int32
        Columns of the topics, ``0 <= topic < n_topics``; each at most once in a document.
    units : (entries,) uint16
        Shares that are stored: those of at least 1 %.  Shares of other things may be float64, and then are not rounded.
    rest : (N,) uint16, or float64 as well
        All other shares of a document together; with the stored ones they sum to 65535, or to 0 without tokens.
    tokens : (N,) array
        Number of tokens n_j of every document.
    n_topics : int
        Number of topics of the layer, K.
    """

    starts: Array
    topics: Array
    units: Array
    rest: Array
    tokens: Array
    n_topics: int


class SampledShares(NamedTuple):
    """The shares of the topics of a layer in some documents, under several samples of the topics themselves.

    ``documents`` (n,) int64 are their numbers, ascending; ``tables`` (S, n, K) float32 the shares under each sample.
    """

    documents: IntArray
    tables: Array


class ShareSums(NamedTuple):
    """Sums over the documents of each of G groups; those of several groups may be added.

    Attributes
    ----------
    documents : (G,) int64
        Number of documents with a weight above 0.
    totals : (G, 2) float64
        ``sum a_j`` and ``sum a_j^2``.
    sums : (G, K + 1, 3) float64
        ``sum a_j w_jk``, ``sum a_j^2 w_jk`` and ``sum a_j^2 w_jk^2``; the last column is the rest of the documents.
    """

    documents: IntArray
    totals: FloatArray
    sums: FloatArray


def weigh_documents(shares: DocumentShares, by: Weighting) -> FloatArray:
    """Return the weight a_j of every document, (N,): its tokens, or 1; 0 for a document without tokens."""
    tokens = np.asarray(shares.tokens, dtype=np.float64)
    return tokens if by == "tokens" else (tokens > 0).astype(np.float64)


def assign_groups(codes: Array, selected: Array | None = None) -> IntArray:
    """Return the group of every document, (N,) int32; -1 for those without a value or outside the selection.

    Parameters
    ----------
    codes : (N,) int array
        Group of every document, negative for a missing value.
    selected : (N,) bool array, optional
    """
    groups = np.asarray(codes, dtype=np.int32)
    return groups if selected is None else np.where(selected, groups, np.int32(-1))


def sum_moments(shares: DocumentShares, groups: IntArray, n_groups: int, weights: FloatArray) -> ShareSums:
    """Return the sums of the documents of every group.

    Parameters
    ----------
    shares : DocumentShares
    groups : (N,) int32
        Group of every document, ``-1 <= group < n_groups``; documents of group -1 are left out.
    n_groups : int
        Number of groups, G.
    weights : (N,) float64
        Weight a_j of every document, see :func:`weigh_documents`.
    """
    pieces = cut_rows(shares.starts, _N_PIECES)
    tables = np.zeros((max(len(pieces), 1), n_groups, shares.n_topics + 2, 3))
    counts = np.zeros((len(tables), n_groups), dtype=np.int64)
    parts = zip(pieces, counts, tables, strict=False)
    total = _add_pieces(_add_moments, [(shares, groups, weights, *piece, *part) for piece, *part in parts], tables)
    return ShareSums(counts.sum(axis=0), total[:, -1, :2], total[:, :-1])


def sum_products(
    shares: DocumentShares, groups: IntArray, n_groups: int, linear: FloatArray, squared: FloatArray
) -> FloatArray:
    """Return the sums of multiples of shares and of their squares over the documents of every group.

    Parameters
    ----------
    shares, groups, n_groups
        As in :func:`sum_moments`.
    linear : (N, p) float64
        Multiples c_ji of a document's shares.
    squared : (N,) float64
        Multiple q_j of the squares of its shares.

    Returns
    -------
    (G, K + 1, p + 1) float64
        ``sum_j c_ji w_jk`` for every i, then ``sum_j q_j w_jk^2``; the last topic is the rest of the documents.
    """
    pieces = cut_rows(shares.starts, _N_PIECES)
    tables = np.zeros((max(len(pieces), 1), n_groups, shares.n_topics + 1, linear.shape[1] + 1))
    work = [(shares, groups, linear, squared, *piece, table) for piece, table in zip(pieces, tables, strict=False)]
    return _add_pieces(_add_entries, work, tables)


def _add_pieces(kernel: Callable[..., None], work: list[tuple[Any, ...]], tables: FloatArray) -> FloatArray:
    """Fill the tables, one for each piece of work, and return their sum; they are added in their order."""
    for piece in work:
        kernel(*piece)
    total: FloatArray = tables[0]
    for table in tables[1:]:
        total += table
    return total


@compiled
def _add_moments(
    shares: DocumentShares,
    groups: Array,
    weights: FloatArray,
    first: int,
    last: int,
    counts: IntArray,
    table: FloatArray,
) -> None:
    """Add documents ``first:last`` to ``counts`` (G,) and ``table`` (G, K + 2, 3), the last row for a share of 1."""
    for j in range(first, last):
        weight = weights[j]
        if groups[j] < 0 or weight <= 0.0:
            continue
        counts[groups[j]] += 1
        rows, multiples = table[groups[j]], (weight, weight * weight)
        for entry in range(shares.starts[j], shares.starts[j + 1]):
            _add_products(rows[shares.topics[entry]], multiples, multiples[1], shares.units[entry] * _UNIT)
        _add_products(rows[shares.n_topics], multiples, multiples[1], shares.rest[j] * _UNIT)
        _add_products(rows[shares.n_topics + 1], multiples, multiples[1], 1.0)


@compiled
def _add_entries(
    shares: DocumentShares,
    groups: Array,
    linear: FloatArray,
    squared: FloatArray,
    first: int,
    last: int,
    table: FloatArray,
) -> None:
    """Add the products of documents ``first:last`` to ``table`` (G, K + 1, p + 1)."""
    for j in range(first, last):
        if groups[j] < 0:
            continue
        rows, multiples = table[groups[j]], linear[j]
        for entry in range(shares.starts[j], shares.starts[j + 1]):
            _add_products(rows[shares.topics[entry]], multiples, squared[j], shares.units[entry] * _UNIT)
        _add_products(rows[shares.n_topics], multiples, squared[j], shares.rest[j] * _UNIT)


@compiled
def _add_products(row: FloatArray, linear: Any, squared: float, share: float) -> None:
    """Add the multiples of a share, and that of its square, to ``row`` (p + 1,)."""
    for i in range(len(linear)):
        row[i] += linear[i] * share
    row[len(linear)] += squared * share * share
