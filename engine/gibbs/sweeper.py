"""Sweeps of documents given all topics, behind one interface, whatever processor does them."""

import operator
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from topiary.engine.contract import Array, Batch, FloatArray, Local, Rates, Sweeps
from topiary.engine.gibbs.collapsed import SweepPlan
from topiary.engine.gibbs.local import Locals, Sampler, SweepSums
from topiary.engine.gibbs.tokens import Globals
from topiary.engine.streams import Address


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
