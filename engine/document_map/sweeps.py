"""Sweeps that move documents towards their neighbours and away from random others.

Attraction and repulsion follow the Cauchy kernel 1 / (1 + d^2) of distances on the map, as in UMAP (McInnes, Healy and
Melville, 2018).  All documents move at once from the positions before a sweep, and the random numbers belong to a sweep
and a document.  So positions are the same bits for any number of threads.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from topiary.engine import streams
from topiary.engine.contract import Array, IntArray
from topiary.engine.document_map.features import NEGATIVES
from topiary.engine.document_map.neighbours import NeighbourGraph
from topiary.engine.jit import compiled
from topiary.engine.pool import Pool, cut_evenly

NEGATIVES_OF_A_LINK = 2  # random documents that push a document away, for each link that attracts it
_PULL = 0.5  # of a link; documents that are neighbours of each other have two
_FARTHEST = 4.0  # a random document moves another by less than this, times the rate, along each axis
_SOFT = 0.01  # added to squared distances, so that repulsion stays finite
_HALF_WORD = np.uint64(32)

Progress = Callable[[float], None]


class MovementPlan(NamedTuple):
    """A number of sweeps, and the rate of the first; the rate falls linearly to 0."""

    sweeps: int
    rate: float


def sweep_documents(
    positions: Array,
    graph: NeighbourGraph,
    moving: IntArray,
    plan: MovementPlan,
    seed: int,
    pool: Pool,
    on_progress: Progress,
) -> Array:
    """Return positions after all sweeps of a plan.

    Parameters
    ----------
    positions : (N, 2) float32
        Not changed.
    graph : NeighbourGraph
    moving : (n,) int array
        Documents that move; the others attract and repel them from where they are.
    plan : MovementPlan
    seed : int
    pool : Pool
    on_progress : (share) -> None
        Called after every sweep with the share of sweeps that are done; an error that it raises ends the work.

    Returns
    -------
    (N, 2) float32
    """
    before, after = positions.astype(np.float32), positions.astype(np.float32)
    pieces = cut_evenly(len(moving), pool.n_threads) if len(moving) else []
    for sweep in range(plan.sweeps):
        rate = plan.rate * (1.0 - sweep / plan.sweeps)
        shared = (before, after, graph.starts, graph.documents, moving, rate, seed, sweep)
        pool.run(lambda begin, end, shared=shared: _sweep_piece(*shared, begin, end), pieces)
        before, after = after, before
        on_progress((sweep + 1) / plan.sweeps)
    return before


@compiled
def _sweep_piece(
    before: Array,
    after: Array,
    starts: Array,
    links: Array,
    moving: Array,
    rate: float,
    seed: int,
    sweep: int,
    begin: int,
    end: int,
) -> None:
    """Fill in the positions after a sweep of the documents ``moving[begin:end]``."""
    n_documents = np.uint64(len(before))
    for place in range(begin, end):
        document = moving[place]
        x, y = np.float64(before[document, 0]), np.float64(before[document, 1])
        for link in range(starts[document], starts[document + 1]):
            dx, dy = x - before[links[link], 0], y - before[links[link], 1]
            pull = _PULL * rate / (1.0 + dx * dx + dy * dy)
            x -= pull * dx
            y -= pull * dy
        rng = streams.start_stream(seed, NEGATIVES, sweep, document)
        for _ in range(NEGATIVES_OF_A_LINK * (starts[document + 1] - starts[document])):
            bits, rng = streams.draw_bits(rng)
            other = np.int64(((bits >> _HALF_WORD) * n_documents) >> _HALF_WORD)
            if other == document:
                continue
            dx, dy = x - before[other, 0], y - before[other, 1]
            squared = dx * dx + dy * dy
            push = 2.0 * rate / ((_SOFT + squared) * (1.0 + squared))
            x += min(_FARTHEST, max(-_FARTHEST, push * dx))
            y += min(_FARTHEST, max(-_FARTHEST, push * dy))
        after[document, 0] = x
        after[document, 1] = y
