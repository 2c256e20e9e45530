"""Local variables of documents under fixed topics and weights: start them, sweep them, rate and place documents.

The one door to the compiled sweeps.  Work is cut into contiguous runs of documents, one per thread; every document
owns its random stream and every sum is of whole numbers, so results are the same bits for any number of threads.
"""

import itertools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from engine import streams
from engine.belief import documents
from engine.belief.documents import Documents, Globals, Outcome, Plan, Tallies
from engine.contract import Array, Batch, Local, Rates, Sweeps
from engine.gibbs.local import MOST_COUNTED, tokens_of
from engine.pool import Pool, cut_rows
from engine.streams import Address

PLACING = Sweeps(20, 20)  # a layer, for documents whose place is asked for


class Locals(NamedTuple):
    """Local variables: the topic of every token, (tokens,) uint16, and units h (documents, K_1 + ... + K_L) int8."""

    topics: Array
    h: Array


class Chain(NamedTuple):
    """Local chains of documents under evaluation: ``clock`` () int64 calls so far, then as in Locals."""

    clock: Array
    topics: Array
    h: Array


def empty(glob: Globals, batch: Batch) -> Locals:
    """Room for the local variables of a batch, unset."""
    n_tokens = int(tokens_of(batch)[-1])
    shape = (len(batch.documents), len(glob.net.bias))
    return Locals(np.zeros(n_tokens, dtype=np.uint16), np.zeros(shape, dtype=np.int8))


def copied(local: Locals) -> Locals:
    """A copy, for a sweep to change."""
    return Locals(local.topics.copy(), local.h.copy())


def tallied(
    glob: Globals, address: Address, batch: Batch, local: Locals, plan: Plan, pool: Pool, most: int = 0
) -> Tallies:
    """Sweep every document, changing ``local`` in place; the sums of the kept sweeps.

    ``most``: tokens of all the documents whose sums will be added up.
    """
    most = max(most, len(local.topics))
    room: list[Tallies] = []

    def outcome() -> Outcome:
        room.append(_tallies(glob, plan, most))
        return _NO_OUTCOME._replace(tallies=room[-1])

    _sweep(glob, address, batch, local, plan, outcome, pool)
    total = room[0] if room else _tallies(glob, plan, most)
    for more in room[1:]:
        for mine, other in zip(total, more, strict=True):
            np.add(mine, other, out=mine)
    return total


def started(glob: Globals, address: Address, batch: Batch, pool: Pool) -> Locals:
    """Local variables where a chain starts: layers above from their prior, topics of tokens one after another."""
    local = empty(glob, batch)
    plan = Plan(True, 0, 0, 1, False, documents.NOTHING)
    _sweep(glob, address, batch, local, plan, lambda: _NO_OUTCOME, pool)
    return local


def start_chain(glob: Globals, seed: int, batch: Batch, pool: Pool) -> Chain:
    """Chains of documents under evaluation, where they start."""
    return Chain(np.array(0, dtype=np.int64), *started(glob, Address(seed, streams.CHAIN, 0), batch, pool))


def advance_chain(
    glob: Globals, seed: int, chain: Chain, observed: Batch, scored: Batch, sweeps: Sweeps, pool: Pool
) -> tuple[Chain, Rates]:
    """Go on with chains, changing none: as they are then, and what :func:`rated` gives."""
    local, clock = copied(Locals(chain.topics, chain.h)), int(chain.clock) + 1
    rates = rated(glob, Address(seed, streams.CHAIN, clock), observed, scored, local, sweeps, pool)
    return Chain(np.array(clock, dtype=np.int64), *local), rates


def rated(
    glob: Globals, address: Address, observed: Batch, scored: Batch, local: Locals, sweeps: Sweeps, pool: Pool
) -> Rates:
    """Go on with chains on ``observed``, changing ``local`` in place; summed rates of the ``scored`` cells.

    A kept sweep gives ``E[theta o h]`` under its tokens and the layers above.
    """
    theta = np.zeros((len(observed.documents), len(glob.shapes)))
    plan = Plan(False, sweeps.burn_in, sweeps.collect, sweeps.thin, False, documents.RATES)
    out = _NO_OUTCOME._replace(theta=theta, chance=np.zeros((len(theta), 0)))
    _sweep(glob, address, observed, local, plan, lambda: out, pool)
    cells = np.zeros(len(scored.words))
    pieces = cut_rows(observed.starts, pool.n_threads)
    pool.run(documents.rate_cells, [(glob.phi, theta, scored.cells, a, b, cells) for a, b in pieces])
    return Rates(cells, theta.sum(axis=1))


def placed(glob: Globals, address: Address, batch: Batch, sweeps: Sweeps | None, pool: Pool) -> Local:
    """Posterior means for documents met for the first time: of theta o h, and of the units of the layers above."""
    net = glob.net
    asked = sweeps or Sweeps(PLACING.burn_in * len(net.widths), PLACING.collect * len(net.widths))
    plan = Plan(True, asked.burn_in, asked.collect, asked.thin, False, documents.THETA)
    local = empty(glob, batch)
    shape = local.h.shape
    out = _NO_OUTCOME._replace(theta=np.zeros((shape[0], len(glob.shapes))), chance=np.zeros(shape))
    _sweep(glob, address, batch, local, plan, lambda: out, pool)
    kept = max(asked.collect // asked.thin, 1)
    upper = zip(net.first[1:].tolist(), net.widths[1:].tolist(), strict=True)
    return Local((out.theta / kept, *(out.chance[:, first : first + width] / kept for first, width in upper)))


def _sweep(
    glob: Globals, address: Address, batch: Batch, local: Locals, plan: Plan, outcome: Callable[[], Outcome], pool: Pool
) -> None:
    docs = Documents(batch.words, batch.counts, batch.starts, batch.documents, tokens_of(batch), *local)
    pool.run(
        documents.sweep_documents,
        [(glob, address, docs, a, b, plan, outcome()) for a, b in cut_rows(batch.starts, pool.n_threads)],
    )


def _tallies(glob: Globals, plan: Plan, n_tokens: int) -> Tallies:
    widths = glob.net.widths.tolist()
    links = list(itertools.pairwise(widths))
    kind = np.int32 if n_tokens * plan.collect <= MOST_COUNTED // 2 else np.int64
    pairs = sum(below * (above + 1) for below, above in links)
    squares = sum(below * (above + 1) * (above + 2) // 2 for below, above in links)
    moments, slope = plan.wants == documents.MOMENTS, plan.wants == documents.GRADIENT
    return Tallies(
        np.zeros(glob.phi.shape, kind),
        np.zeros(widths[0], np.int64),
        np.zeros(sum(widths), np.int64),
        np.zeros(pairs if moments else 0, np.int64),
        np.zeros(squares if moments else 0, np.int64),
        np.zeros(pairs + widths[-1] if slope else 0, np.int64),
    )


_NONE = np.zeros(0, np.int64)
_NO_OUTCOME = Outcome(
    Tallies(np.zeros((0, 0), np.int32), _NONE, _NONE, _NONE, _NONE, _NONE), np.zeros((0, 0)), np.zeros((0, 0))
)
