"""Work on tables of a layer's topics, (K_{l-1}, K_l) and C-contiguous, row by row and in blocks of rows.

Row ``v`` of layer ``l`` has its own random stream ``(seed, TOPICS, step, (l, v))`` (or another purpose).  Columns are
summed by blocks of 64 rows, added in order.  So results are the same, bit for bit, for any number of threads.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from topiary.engine.contract import Array, FloatArray
from topiary.engine.gibbs.augment import TINY
from topiary.engine.jit import compiled, inlined
from topiary.engine.pool import Pool, cut_evenly
from topiary.engine.streams import TOPICS, Stream, start_stream

BLOCK = 64  # rows
_LAYER_SHIFT = 40  # a stream's item is the layer, then the row in the low 40 bits
_SMALL_TABLE = 16384  # below this many entries threads cost more than they save


class Blocks(NamedTuple):
    """Blocks ``first:last`` of a table's rows, and the array (blocks, K_l) for column sums by block."""

    first: int
    last: int
    sums: FloatArray


class LayerAddress(NamedTuple):
    """The random streams of a table: the run's ``seed``, the ``step``, and the number of the ``layer``."""

    seed: int
    step: int
    layer: int


@inlined
def start_row_stream(at: LayerAddress, v: int, purpose: int = TOPICS) -> Stream:
    """Return the stream of row ``v`` of a layer."""
    return start_stream(at.seed, purpose, at.step, (at.layer << _LAYER_SHIFT) + v)


def run_blocks(work: Callable[..., Any], arguments: tuple[Any, ...], shape: tuple[int, ...], pool: Pool) -> FloatArray:
    """Run ``work(*arguments, blocks)`` over blocks of rows and return the column sums that it wrote."""
    n_blocks = -(-shape[0] // BLOCK)
    sums = np.zeros((n_blocks, shape[1]))
    parts = pool.n_threads if shape[0] * shape[1] > _SMALL_TABLE else 1
    pool.run(work, [(*arguments, Blocks(first, last, sums)) for first, last in cut_evenly(n_blocks, parts)])
    total: FloatArray = _add_blocks(sums)
    return total


def sum_columns(table: Array, pool: Pool) -> FloatArray:
    """Return the sum of every column of a table, (K_l,)."""
    return run_blocks(_sum_blocks, (table,), table.shape, pool)


def divide_columns(new: FloatArray, sums: FloatArray, old: FloatArray, moved: Array, pool: Pool) -> FloatArray:
    """Divide the columns of ``new`` by their sums, in place; those not moved or without a usable sum become ``old``."""
    usable = moved & (sums > 0.0) & np.isfinite(sums)
    factors = np.where(usable, 1.0 / np.where(usable, sums, 1.0), 0.0)
    run_blocks(_scale_rows, (old, usable, factors, new), new.shape, pool)
    return new


@compiled
def _add_blocks(sums: FloatArray) -> FloatArray:
    """Return the sum of the column sums of all blocks, in order."""
    total = np.zeros(sums.shape[1])
    for block in range(sums.shape[0]):
        total += sums[block]
    return total


@compiled
def _sum_blocks(table: Array, blocks: Blocks) -> None:
    """Write the column sums of every block to ``blocks.sums``."""
    for block in range(blocks.first, blocks.last):
        total = blocks.sums[block]
        for v in range(block * BLOCK, min((block + 1) * BLOCK, table.shape[0])):
            for k in range(table.shape[1]):
                total[k] += table[v, k]


@compiled
def _scale_rows(old: FloatArray, usable: Array, factors: FloatArray, new: FloatArray, blocks: Blocks) -> None:
    """Multiply columns by their factors, or copy ``old`` where they are not usable."""
    all_usable = usable.all()
    for v in range(blocks.first * BLOCK, min(blocks.last * BLOCK, new.shape[0])):
        for k in range(new.shape[1]):
            new[v, k] = max(new[v, k] * factors[k], TINY)
        if not all_usable:
            for k in range(new.shape[1]):
                if not usable[k]:
                    new[v, k] = old[v, k]
