"""Local variables of documents under fixed topics and weights: start, sweep, rate and place documents.

The compiled sweeps are called from this module only.  Work is cut into contiguous runs of documents, one per thread.
Each document has its own random stream and all sums are integers, so results are bit-identical for any number of
threads.
"""

import itertools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from topiary.engine import streams
from topiary.engine.contract import Array, Batch, Local, Rates, Sweeps
from topiary.engine.gibbs.local import MOST_COUNTED, find_token_starts
from topiary.engine.models.dpfa import documents
from topiary.engine.models.dpfa.documents import NetDocs, NetGlobals, NetOutcome, NetPlan, Tallies
from topiary.engine.pool import Pool, add_in_place, cut_rows
from topiary.engine.streams import Address

PLACING = Sweeps(20, 20)  # per layer, by default, to place new documents


class NetLocals(NamedTuple):
    """Local variables: the topic of every token, (tokens,) uint16, and units h (documents, K_1 + ... + K_L) int8."""

    topics: Array
    h: Array


class NetChain(NamedTuple):
    """Local chains of documents under evaluation: ``clock`` () int64 counts the calls; the rest is as in NetLocals."""

    clock: Array
    topics: Array
    h: Array


def allocate_locals(glob: NetGlobals, batch: Batch) -> NetLocals:
    """Return local variables for a batch, all 0, still to be drawn."""
    n_tokens = int(find_token_starts(batch)[-1])
    shape = (len(batch.documents), len(glob.net.bias))
    return NetLocals(np.zeros(n_tokens, dtype=np.uint16), np.zeros(shape, dtype=np.int8))


def copy_locals(local: NetLocals) -> NetLocals:
    """Return a copy that a sweep may change in place."""
    return NetLocals(local.topics.copy(), local.h.copy())


def tally_documents(
    glob: NetGlobals, address: Address, batch: Batch, local: NetLocals, plan: NetPlan, pool: Pool, n_tokens: int = 0
) -> Tallies:
    """Sweep every document, changing ``local`` in place; return the sums of the kept sweeps.

    ``n_tokens`` is the number of tokens in all documents whose sums will be added up; it decides the integer type.
    """
    n_tokens = max(n_tokens, len(local.topics))
    tallies: list[Tallies] = []

    def make_outcome() -> NetOutcome:
        tallies.append(_allocate_tallies(glob, plan, n_tokens))
        return _NO_OUTCOME._replace(tallies=tallies[-1])

    _sweep_documents(glob, address, batch, local, plan, make_outcome, pool)
    return add_in_place(tallies or [_allocate_tallies(glob, plan, n_tokens)])


def start_locals(glob: NetGlobals, address: Address, batch: Batch, pool: Pool) -> NetLocals:
    """Draw the initial local variables of a chain: the layers above from their prior, then the topics of tokens."""
    local = allocate_locals(glob, batch)
    plan = NetPlan(True, 0, 0, 1, False, documents.NOTHING)
    _sweep_documents(glob, address, batch, local, plan, lambda: _NO_OUTCOME, pool)
    return local


def start_chain(glob: NetGlobals, seed: int, batch: Batch, pool: Pool) -> NetChain:
    """Return the initial chains of documents under evaluation."""
    return NetChain(np.array(0, dtype=np.int64), *start_locals(glob, Address(seed, streams.CHAIN, 0), batch, pool))


def advance_chain(
    glob: NetGlobals, seed: int, chain: NetChain, observed: Batch, scored: Batch, sweeps: Sweeps, pool: Pool
) -> tuple[NetChain, Rates]:
    """Return the chains after more sweeps, as a copy, and the rates of :func:`rate_documents`."""
    local, clock = copy_locals(NetLocals(chain.topics, chain.h)), int(chain.clock) + 1
    rates = rate_documents(glob, Address(seed, streams.CHAIN, clock), observed, scored, local, sweeps, pool)
    return NetChain(np.array(clock, dtype=np.int64), *local), rates


def rate_documents(
    glob: NetGlobals, address: Address, observed: Batch, scored: Batch, local: NetLocals, sweeps: Sweeps, pool: Pool
) -> Rates:
    """Sweep chains on ``observed``, changing ``local`` in place; return summed rates of the ``scored`` cells.

    Each kept sweep contributes ``E[theta o h]`` (elementwise product) given its tokens and the layers above.
    """
    theta = np.zeros((len(observed.documents), len(glob.shapes)))
    plan = NetPlan(False, sweeps.burn_in, sweeps.collect, sweeps.thin, False, documents.RATES)
    out = _NO_OUTCOME._replace(theta=theta, chance=np.zeros((len(theta), 0)))
    _sweep_documents(glob, address, observed, local, plan, lambda: out, pool)
    cells = np.zeros(len(scored.words))
    pieces = cut_rows(observed.starts, pool.n_threads)
    pool.run(documents.rate_cells, [(glob.phi, theta, scored.cells, a, b, cells) for a, b in pieces])
    return Rates(cells, theta.sum(axis=1))


def place_documents(glob: NetGlobals, address: Address, batch: Batch, sweeps: Sweeps | None, pool: Pool) -> Local:
    """Return posterior means for new documents: of theta o h (elementwise), the units above, and tokens by topic."""
    net = glob.net
    request = sweeps or Sweeps(PLACING.burn_in * len(net.widths), PLACING.collect * len(net.widths))
    plan = NetPlan(True, request.burn_in, request.collect, request.thin, False, documents.THETA)
    local = allocate_locals(glob, batch)
    shape = local.h.shape
    theta, tokens = (np.zeros((shape[0], len(glob.shapes))) for _ in range(2))
    out = _NO_OUTCOME._replace(theta=theta, chance=np.zeros(shape), tokens=tokens)
    _sweep_documents(glob, address, batch, local, plan, lambda: out, pool)
    n_kept = max(request.collect // request.thin, 1)
    upper = zip(net.first[1:].tolist(), net.widths[1:].tolist(), strict=True)
    above = (out.chance[:, first : first + width] / n_kept for first, width in upper)
    return Local((theta / n_kept, *above), tokens=tokens / n_kept)


def _sweep_documents(
    glob: NetGlobals,
    address: Address,
    batch: Batch,
    local: NetLocals,
    plan: NetPlan,
    make_outcome: Callable[[], NetOutcome],
    pool: Pool,
) -> None:
    """Run the compiled sweeps over a batch; every thread writes to its own ``make_outcome()``."""
    docs = NetDocs(batch.words, batch.counts, batch.starts, batch.documents, find_token_starts(batch), *local)
    pool.run(
        documents.sweep_documents,
        [(glob, address, docs, a, b, plan, make_outcome()) for a, b in cut_rows(batch.starts, pool.n_threads)],
    )


def _allocate_tallies(glob: NetGlobals, plan: NetPlan, n_tokens: int) -> Tallies:
    """Return sums of 0, with the parts that the plan asks for; other parts are empty."""
    widths = glob.net.widths.tolist()
    links = list(itertools.pairwise(widths))
    dtype = np.int32 if n_tokens * plan.collect <= MOST_COUNTED // 2 else np.int64
    pairs = sum(below * (above + 1) for below, above in links)
    squares = sum(below * (above + 1) * (above + 2) // 2 for below, above in links)
    moments, slope = plan.quantity == documents.MOMENTS, plan.quantity == documents.GRADIENT
    return Tallies(
        np.zeros(glob.phi.shape, dtype),
        np.zeros(widths[0], np.int64),
        np.zeros(sum(widths), np.int64),
        np.zeros(pairs if moments else 0, np.int64),
        np.zeros(squares if moments else 0, np.int64),
        np.zeros(pairs + widths[-1] if slope else 0, np.int64),
    )


_EMPTY = np.zeros(0, np.int64)
_NO_OUTCOME = NetOutcome(
    Tallies(np.zeros((0, 0), np.int32), _EMPTY, _EMPTY, _EMPTY, _EMPTY, _EMPTY), *(np.zeros((0, 0)) for _ in range(3))
)
