"""Local variables of documents, given all topics: start them, sweep them, rate and place documents.

The compiled samplers, ``collapsed.py`` (theta^(1) integrated out) and ``plain.py``, are called from here only.  Work is
cut into contiguous runs of documents, one per thread.  Each document has its own random stream and tables hold
integers, so results are bit-identical for any number of threads.

Sweeps of documents given all topics, behind one interface, whatever processor does them.
"""

import operator
import weakref
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from topiary.engine.contract import Array, Batch, Counts, FloatArray, Local, Rates, Sweeps
from topiary.engine.gibbs import collapsed, plain
from topiary.engine.gibbs import tokens as priors
from topiary.engine.gibbs.collapsed import Outcome, SweepPlan, Tables
from topiary.engine.gibbs.tokens import Globals
from topiary.engine.gibbs.upper import Hyper, count_upper, pack_layers, unpack_tables
from topiary.engine.jit import compiled
from topiary.engine.pool import Pool, add_in_place, cut_evenly, cut_rows
from topiary.engine.streams import Address

LINKS = {"poisson": plain.POISSON, "bernoulli": plain.BERNOULLI, "gamma": plain.GAMMA}

PLACING = Sweeps(20, 10)  # per layer, by default, to place new documents

FINEST = 2.0**-32  # unit in which sums of q are integers, and so exact for any number of documents

MOST_COUNTED = int(np.iinfo(np.int32).max)  # largest count that fits a 32-bit table, which takes half the memory

_EMPTY = Outcome(
    Tables(np.zeros((0, 0), np.int32), np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros((0, 0), np.int64)),
    np.zeros(0),
    np.zeros((0, 0), np.int32),
    Counts(np.zeros(0, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int32)),
    np.zeros(0),
    np.zeros(0),
    np.zeros((0, 0)),
    np.zeros((0, 0)),
    np.zeros((0, 0)),
)


class Locals(NamedTuple):
    """Local variables of some documents.

    ``topics`` (tokens,) uint16, empty in the plain sampler; ``theta1`` (documents, K_1), empty in the collapsed one;
    ``theta`` (documents, K_2 + ... + K_L); ``c`` (documents, L); ``scale`` (documents,) the a_j of the gamma link.
    """

    topics: Array
    theta1: FloatArray
    theta: FloatArray
    c: FloatArray
    scale: FloatArray


class SweepSums(NamedTuple):
    """Counts of sweeps of some documents, in integers, so that sums over blocks of documents are exact.

    ``words`` (V, K_1), ``upper`` (cells of the packed layers,) and ``top`` (K_L,) are the tables x^(1) ... x^(L+1),
    ``seats`` as in :func:`engine.gibbs.collapsed.draw_seated_tables`, all summed over the collected sweeps; ``q`` is
    the sum of q_j^(L+1) in units of ``FINEST``.
    """

    words: Array
    upper: Array
    top: Array
    seats: Array
    q: np.int64


class LayerCounts(NamedTuple):
    """Counts of sweeps of documents, summed over the collected sweeps and multiplied by a factor.

    ``tables[l-1]`` (K_{l-1}, K_l) is x_vk^(l), and ``tables[0]`` holds integers if the factor is 1;
    ``top`` (K_L,) is x_k^(L+1); ``q`` is the sum of q_j^(L+1).
    """

    tables: list[Array]
    top: FloatArray
    q: float


def plan_inference(n_layers: int, sweeps: Sweeps | None, first_rates: int) -> SweepPlan:
    """Return the plan for placing new documents with ``sweeps``, or with ``PLACING`` for every layer if None."""
    request = sweeps or Sweeps(PLACING.burn_in * n_layers, PLACING.collect * n_layers)
    return SweepPlan(fresh=True, **request._asdict(), first_rates=first_rates, quantity=collapsed.THETA)


class Sampler(NamedTuple):
    """A local sampler: hyperparameters, link, kind (collapsed or plain), statistics (expected or drawn), threads."""

    hyper: Hyper
    link: int
    collapsed: bool
    expected: bool
    pool: Pool

    def pack_globals(self, phi: tuple[FloatArray, ...], r: FloatArray, words: Array | None = None) -> Globals:
        """Pack topics for the kernels; ``phi[0]`` is shared, not copied.

        ``words`` are the distinct words of the documents to be swept; prior masses are computed for these only.
        """
        single_layer = len(phi) == 1
        base = np.ascontiguousarray(r[None, :] if single_layer else phi[1].T)
        prior = priors.allocate_priors(phi[0] if self.collapsed else phi[0][:0], base, lone=single_layer)
        distinct_words = np.arange(len(phi[0])) if words is None else words
        parts = cut_evenly(len(distinct_words), self.pool.n_threads) if self.collapsed else []
        weigh = priors.add_blocks if single_layer else priors.weigh_words
        self.pool.run_parts(parts, weigh, phi[0], base, prior, distinct_words)
        return Globals(phi[0], base, prior, pack_layers(phi, r))

    def start_locals(self, glob: Globals, batch: Batch, address: Address) -> Locals:
        """Return local variables at the start of a chain: theta = 1/K, c = 1, topics proportional to phi_vk."""
        local = self.allocate_locals(glob, batch)
        if self.collapsed:
            docs = _view_collapsed(batch, local)
            self._run(collapsed.start_documents, batch, lambda a, b: (glob, address, docs, a, b))
            return local
        local.theta1[:] = 1.0 / glob.phi.shape[1]
        for begin, width in zip(glob.upper.first[1:], glob.upper.widths[1:], strict=True):
            local.theta[:, begin : begin + width] = 1.0 / width
        return local

    def allocate_locals(self, glob: Globals, batch: Batch) -> Locals:
        """Return arrays for the local variables of a batch, still to be set."""
        n_documents, n_layers = len(batch.documents), len(glob.upper.widths)
        n_tokens = int(batch.counts.sum()) if self.collapsed else 0
        return Locals(
            np.zeros(n_tokens, dtype=np.uint16),
            np.ones((0 if self.collapsed else n_documents, glob.phi.shape[1])),
            np.ones((n_documents, count_upper(glob.upper.widths))),
            np.ones((n_documents, n_layers)),
            np.ones(n_documents),
        )

    def gather(
        self, glob: Globals, address: Address, batch: Batch, local: Locals, plan: SweepPlan, most: int = 0
    ) -> tuple[SweepSums, Array]:
        """Sweep every document, changing ``local`` in place, and count the kept sweeps.

        If theta^(1) is integrated out, theta is that before the last sweep, until :meth:`redraw_theta` draws it.
        ``most`` is the number of tokens in all blocks whose sums will be added.  Also returned are the counts m of
        each document in the last sweep, (documents, topics of all layers), for :meth:`redraw_theta`.
        """
        parts: list[Tables] = []

        def make_tables() -> Tables:
            parts.append(self._make_tables(glob, max(most, len(local.topics)) * plan.collect))
            return parts[-1]

        n_documents, n_upper_topics = local.theta.shape
        counts = np.zeros((n_documents, n_upper_topics + (0 if self.collapsed else local.theta1.shape[1])), np.int32)
        shared = _EMPTY._replace(q_top=np.zeros(n_documents), counts=counts)
        self._sweep_documents(glob, address, batch, local, plan, lambda: shared._replace(tables=make_tables()))
        return self._add_tables(parts or [make_tables()], shared.q_top), counts

    def scale_counts(self, glob: Globals, address: Address, sums: SweepSums, factor: float) -> LayerCounts:
        """Return the sums of all blocks as tables of every layer, times ``factor`` (over the collected sweeps)."""
        top = sums.top
        if sums.seats.size:
            top = top.copy()
            collapsed.draw_seated_tables(address, glob.upper.r, sums.seats, top)
        unit = factor / plain.UNIT if self.expected else factor
        upper = [np.multiply(table, unit) for table in unpack_tables(glob.upper, sums.upper)]
        words = sums.words if unit == 1.0 else np.multiply(sums.words, unit)
        layers = [words, *(np.ascontiguousarray(table) for table in upper)]
        return LayerCounts(layers, top * unit, float(sums.q) * FINEST * factor)

    def assign_tokens(self, glob: Globals, address: Address, batch: Batch, local: Locals, theta1: FloatArray) -> None:
        """Draw every token's topic in place, given theta^(1), to start a chain at activations from an encoder."""
        docs = _view_collapsed(batch, local)
        self._run(collapsed.assign_tokens, batch, lambda a, b: (glob.phi, address, docs, theta1, a, b))

    def carry_counts(self, glob: Globals, address: Address, batch: Batch, local: Locals, most: int = 0) -> SweepSums:
        """Return the counts of the token topics in ``local``, carried to the top; ``local`` is not changed."""
        parts: list[Tables] = []

        def make_outcome() -> Outcome:
            parts.append(self._make_tables(glob, max(most, len(local.topics))))
            return shared._replace(tables=parts[-1])

        docs = _view_collapsed(batch, local)
        shared = _EMPTY._replace(q_top=np.zeros(len(batch.documents)))
        self._run(collapsed.carry_documents, batch, lambda a, b: (glob, address, docs, a, b, make_outcome()))
        return self._add_tables(parts or [make_outcome().tables], shared.q_top)

    def redraw_theta(self, glob: Globals, address: Address, batch: Batch, local: Locals, counts: Array) -> None:
        """Draw theta in place under topics drawn after the sweep that left ``counts``.

        Phi^(l+1) and r are drawn with theta^(l) integrated out, so a batch sampler draws theta after them.
        """
        if counts.shape[1] == 0:  # one layer, theta^(1) integrated out: nothing to draw
            return
        docs = _view_collapsed(batch, local) if self.collapsed else _view_plain(batch, local)
        redraw = collapsed.redraw_documents if self.collapsed else plain.redraw_documents
        self._run(redraw, batch, lambda a, b: (glob, address, docs, a, b, counts))

    def rate_cells(
        self,
        glob: Globals,
        address: Address,
        observed: Batch,
        scored: Batch,
        local: Locals,
        sweeps: Sweeps,
        first_rates: int = 1,
    ) -> Rates:
        """Continue chains on ``observed``, changing ``local`` in place, and sum the rates of the ``scored`` cells.

        The rates c are drawn from sweep ``first_rates`` on.
        """
        rates = Rates(np.zeros(len(scored.words)), np.zeros(len(observed.documents)))
        plan = SweepPlan(fresh=False, **sweeps._asdict(), first_rates=first_rates, quantity=collapsed.RATES)
        out = _EMPTY._replace(
            tables=self._make_no_tables(), scored=scored.cells, rates=rates.cells, totals=rates.totals
        )
        self._sweep_documents(glob, address, observed, local, plan, lambda: out)
        return rates

    def place_documents(self, glob: Globals, address: Address, batch: Batch, plan: SweepPlan) -> Local:
        """Return posterior means of theta of every layer for new documents, and of the tokens of every topic."""
        local = self.allocate_locals(glob, batch)
        theta1 = np.zeros((len(batch.documents), glob.phi.shape[1]))
        theta, tokens = np.zeros_like(local.theta), np.zeros_like(theta1)
        out = _EMPTY._replace(tables=self._make_no_tables(), theta1=theta1, theta=theta, tokens=tokens)
        self._sweep_documents(glob, address, batch, local, plan, lambda: out)
        edges = zip(glob.upper.first[1:], glob.upper.widths[1:], strict=True)
        return Local((theta1, *(theta[:, begin : begin + width] for begin, width in edges)), tokens=tokens)

    def _sweep_documents(
        self,
        glob: Globals,
        address: Address,
        batch: Batch,
        local: Locals,
        plan: SweepPlan,
        make_outcome: Callable[[], Outcome],
    ) -> None:
        """Run the compiled sampler; every thread gets its own ``make_outcome()``."""
        arguments: tuple[Any, ...]
        if self.collapsed:
            sweep, arguments = collapsed.sweep_documents, (glob, self.hyper, address, _view_collapsed(batch, local))
        else:
            law = plain.Law(self.hyper, self.link, self.expected)
            sweep, arguments = plain.sweep_documents, (glob, law, address, _view_plain(batch, local))
        self._run(sweep, batch, lambda first, last: (*arguments, first, last, plan, make_outcome()))

    def _run(self, kernel: Callable[..., Any], batch: Batch, arguments: Callable[[int, int], tuple[Any, ...]]) -> None:
        """Run a compiled function over contiguous runs of documents of about equal numbers of cells, one per thread.

        Each thread makes its own arguments, as tables of counts take half a millisecond to clear.
        """
        self.pool.run(lambda a, b: kernel(*arguments(a, b)), cut_rows(batch.starts, self.pool.n_threads))

    def _make_tables(self, glob: Globals, most: int) -> Tables:
        """Return tables for counts of at most ``most``."""
        kind = np.int32 if self.collapsed and most <= MOST_COUNTED else np.int64  # expected counts are fixed-point
        n_top = len(glob.upper.r)
        n_seated = n_top if self.collapsed and len(glob.upper.widths) == 1 else 0
        return Tables(
            np.zeros(glob.phi.shape, kind),
            np.zeros(len(glob.upper.rows), np.int64),
            np.zeros(n_top, np.int64),
            np.zeros((n_seated, collapsed.SEATS), np.int64),
        )

    def _make_no_tables(self) -> Tables:
        """Return empty tables for sweeps that count nothing, with the same types as those of :meth:`_make_tables`."""
        return _EMPTY.tables._replace(words=np.zeros((0, 0), np.int32 if self.collapsed else np.int64))

    def _add_tables(self, parts: list[Tables], q_top: FloatArray) -> SweepSums:
        """Return the summed tables of all threads, and the sum of q."""
        return SweepSums(*add_in_place(parts), np.rint(q_top / FINEST).astype(np.int64).sum())


def _view_collapsed(batch: Batch, local: Locals) -> collapsed.DocBatch:
    """Return a batch and its local variables in the form of the collapsed sampler, without copies."""
    places = (batch.documents, find_token_starts(batch))
    return collapsed.DocBatch(*batch[:3], *places, local.topics, local.theta, local.c)


def _view_plain(batch: Batch, local: Locals) -> plain.PlainBatch:
    """Return a batch and its local variables in the form of the plain sampler, without copies."""
    return plain.PlainBatch(*batch[:3], batch.documents, *local[1:])


class _LatestBatch(NamedTuple):
    """The latest batch (by weak references to its arrays), and where the tokens of its documents begin."""

    starts: weakref.ref[Array]
    counts: weakref.ref[Array]
    tokens: Array


_latest_batch: list[_LatestBatch] = []  # one at most: batch Gibbs sweeps the same documents at every step


def find_token_starts(batch: Batch) -> Array:
    """Return where the tokens of every document begin, (documents + 1,), cached for the latest batch."""
    for latest in _latest_batch:
        if latest.starts() is batch.starts and latest.counts() is batch.counts:
            return latest.tokens
    tokens: Array = _count_token_starts(batch.starts, batch.counts)
    _latest_batch[:] = [_LatestBatch(weakref.ref(batch.starts), weakref.ref(batch.counts), tokens)]
    return tokens


@compiled
def _count_token_starts(starts: Array, counts: Array) -> Array:
    """Return where the tokens of every document begin, (documents + 1,), without an array over all cells."""
    tokens = np.zeros(len(starts), np.int64)
    for j in range(len(starts) - 1):
        n = 0
        for cell in range(starts[j], starts[j + 1]):
            n += counts[cell]
        tokens[j + 1] = tokens[j] + n
    return tokens


class TokenTopics(NamedTuple):
    """Local variables of documents of which only the ``topics`` (tokens,) uint16 are kept."""

    topics: Array


class EncodedDocuments(NamedTuple):
    """The draw of an encoder for some documents: ``theta[l-1]`` (documents, K_l), and rates ``c`` (documents, L).

    ``at`` are the random streams by which topics of tokens are drawn in proportion to ``phi_vk theta_jk`` (models.md
    1.1, step 1); another device has streams of its own.
    """

    theta: Sequence[FloatArray]
    c: FloatArray
    at: Address


class SweptDocuments(NamedTuple):
    """Documents after a sweep, before the topics move: local variables, and the counts m for `Sampler.redraw_theta`."""

    locals: Locals
    counts: Array


Phi: TypeAlias = tuple[FloatArray, ...]
Start: TypeAlias = Locals | TokenTopics | EncodedDocuments | None  # None: theta = 1/K, topics in proportion to phi_vk


class DocumentSweeper(Protocol):
    """Sweeps of documents under the topics ``phi``, with ``r`` above them.

    The addresses ``at`` are those of random streams.  Documents that every step sweeps are ``kept``, so that what is
    computed for them once need not be computed again.
    """

    def start_locals(self, phi: Phi, r: FloatArray, docs: Batch, at: Address, *, kept: bool = False) -> Locals:
        """Return local variables of documents at the start of a chain."""

    def gather(
        self, phi: Phi, r: FloatArray, docs: Batch, start: Start, at: Address, plan: SweepPlan,
        *, kept: bool = False, most: int = 0,
    ) -> tuple[SweepSums, Any]:  # fmt: skip
        """Sweep every document from ``start``, which is not changed; return counts, and what :meth:`redraw` needs.

        ``most`` is the number of tokens in all blocks whose sums will be added.
        """

    def carry(self, phi: Phi, r: FloatArray, docs: Batch, start: EncodedDocuments, at: Address, most: int) -> SweepSums:
        """Count the tokens by the draw of an encoder, and carry the counts to the top."""

    def redraw(self, phi: Phi, r: FloatArray, docs: Batch, swept: Any, at: Address) -> Locals:
        """Draw the activations of kept documents under topics drawn after their sweep; return the local variables."""

    def rate_cells(
        self, phi: Phi, r: FloatArray, observed: Batch, scored: Batch, start: Start, at: Address, plan: SweepPlan
    ) -> tuple[Locals, Rates]:
        """Continue chains on ``observed`` and sum the rates of the ``scored`` cells over the kept sweeps."""

    def place_documents(self, phi: Phi, r: FloatArray, docs: Batch, at: Address, plan: SweepPlan) -> Local:
        """Return posterior means of theta of every layer for new documents, and of the tokens of every topic."""


class _Packed(NamedTuple):
    """Topics, the words for which they are packed (none: all), and the result."""

    phi: Phi
    r: FloatArray
    words: tuple[Array, ...]
    glob: Globals

    def holds(self, phi: Phi, r: FloatArray, words: tuple[Array, ...]) -> bool:
        """Return whether these topics are packed for these words."""
        ours, theirs = (*self.phi, *self.words), (*phi, *words)
        same = len(ours) == len(theirs) and all(map(operator.is_, ours, theirs))
        return same and len(phi) == len(self.phi) and np.array_equal(self.r, r)


class LocalSweeper:
    """Sweeps by the compiled samplers of this processor.

    Parameters
    ----------
    sampler : Sampler
    """

    def __init__(self, sampler: Sampler) -> None:
        self.sampler = sampler
        self._whole: _Packed | None = None
        self._part: _Packed | None = None

    def _pack(self, phi: Phi, r: FloatArray) -> Globals:
        """Return the topics packed for any documents; packing costs a matrix product, and the latest are kept."""
        if self._whole is None or not self._whole.holds(phi, r, ()):
            self._whole = _Packed(phi, r, (), self.sampler.pack_globals(phi, r))
        return self._whole.glob

    def _pack_for(self, phi: Phi, r: FloatArray, *batches: Batch) -> Globals:
        """Return the topics packed for documents with the words of these batches at least; the latest are kept."""
        if self._whole is not None and self._whole.holds(phi, r, ()):
            return self._whole.glob
        words = tuple(docs.words for docs in batches)
        if self._part is None or not self._part.holds(phi, r, words):
            glob = self.sampler.pack_globals(phi, r, np.unique(np.concatenate(words)))
            self._part = _Packed(phi, r, words, glob)
        return self._part.glob

    def start_locals(self, phi: Phi, r: FloatArray, docs: Batch, at: Address, *, kept: bool = False) -> Locals:
        """Return local variables of documents at the start of a chain."""
        return self.sampler.start_locals(self._pack(phi, r), docs, at)

    def gather(
        self, phi: Phi, r: FloatArray, docs: Batch, start: Start, at: Address, plan: SweepPlan,
        *, kept: bool = False, most: int = 0,
    ) -> tuple[SweepSums, SweptDocuments]:  # fmt: skip
        """Sweep every document and count the kept sweeps."""
        glob = self._pack(phi, r) if kept else self._pack_for(phi, r, docs)
        local = self._begin(glob, docs, start)
        sums, counts = self.sampler.gather(glob, at, docs, local, plan._replace(fresh=start is None), most)
        return sums, SweptDocuments(local, counts)

    def carry(self, phi: Phi, r: FloatArray, docs: Batch, start: EncodedDocuments, at: Address, most: int) -> SweepSums:
        """Count the tokens by the draw of an encoder, and carry the counts to the top."""
        glob = self.sampler.pack_globals(phi, r, np.zeros(0, np.int64))  # no prior mass of a word is needed
        return self.sampler.carry_counts(glob, at, docs, self._begin(glob, docs, start), most)

    def redraw(self, phi: Phi, r: FloatArray, docs: Batch, swept: SweptDocuments, at: Address) -> Locals:
        """Draw the activations in place, under topics drawn after the sweep, and return the local variables."""
        if swept.counts.shape[1]:  # else one layer, theta^(1) integrated out: nothing to draw
            self.sampler.redraw_theta(self._pack(phi, r), at, docs, swept.locals, swept.counts)
        return swept.locals

    def rate_cells(
        self, phi: Phi, r: FloatArray, observed: Batch, scored: Batch, start: Start, at: Address, plan: SweepPlan
    ) -> tuple[Locals, Rates]:
        """Continue chains on ``observed`` and sum the rates of the ``scored`` cells over the kept sweeps."""
        encoded = isinstance(start, EncodedDocuments)
        glob = self._pack_for(phi, r, observed, scored) if encoded else self._pack(phi, r)
        local, sweeps = self._begin(glob, observed, start), Sweeps(plan.burn_in, plan.collect, plan.thin)
        return local, self.sampler.rate_cells(glob, at, observed, scored, local, sweeps, plan.first_rates)

    def place_documents(self, phi: Phi, r: FloatArray, docs: Batch, at: Address, plan: SweepPlan) -> Local:
        """Return posterior means of theta of every layer for new documents, and of the tokens of every topic."""
        return self.sampler.place_documents(self._pack(phi, r), at, docs, plan)

    def _begin(self, glob: Globals, docs: Batch, start: Start) -> Locals:
        """Return local variables that a sweep may change."""
        if isinstance(start, Locals):
            return Locals(*(values.copy() for values in start))
        local = self.sampler.allocate_locals(glob, docs)
        if isinstance(start, TokenTopics):
            return local._replace(topics=start.topics.copy())
        if start is not None:
            if len(start.theta) > 1:
                local.theta[:] = np.concatenate(start.theta[1:], axis=1)
            local.c[:] = start.c
            self.sampler.assign_tokens(glob, start.at, docs, local, start.theta[0])
        return local
