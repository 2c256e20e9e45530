"""Sweeps of all documents on a device, for models whose layers are those of DLDA with counts as data.

The device draws all local variables, and counts; the counts stay there, where the topics can be moved by them
(:mod:`engine.gpu.launches`), until the processor reads them.  Counts are integers, and the streams of random numbers
belong to documents and lanes, so the same seed gives the same bits on any device with as many lanes.  Local variables
have single precision there, and are stored in double precision like those of the CPU, so that a run can be continued on
either.
"""

import operator
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from topiary.engine.contract import Array, Batch, FloatArray, Local, Rates
from topiary.engine.gibbs.collapsed import SweepPlan
from topiary.engine.gibbs.local import (
    DocumentSweeper,
    EncodedDocuments,
    Locals,
    LocalSweeper,
    Phi,
    Sampler,
    Start,
    SweepSums,
    TokenTopics,
    find_token_starts,
)
from topiary.engine.gibbs.upper import Hyper
from topiary.engine.gpu.devices import Device, DeviceArray, DeviceLocals
from topiary.engine.gpu.draws import LEAST
from topiary.engine.gpu.launches import (
    DeviceDocuments,
    DeviceMeans,
    DeviceMoves,
    DeviceSwept,
    DeviceTopics,
    MovedTopics,
    ScoredCells,
    StepLaunches,
    pad_width,
    wrap_counts,
)
from topiary.engine.settings import SettingError
from topiary.engine.streams import Address


def is_kept(plan: SweepPlan, sweep: int) -> bool:
    """Return whether a plan collects a sweep, counted from 1."""
    return sweep > plan.burn_in and (sweep - plan.burn_in) % plan.thin == 0


class DeviceSweeper:
    """The sweeps of documents on one device, as :class:`engine.gibbs.local.DocumentSweeper` describes them.

    Parameters
    ----------
    device : Device
    hyper : Hyper
    counts_top : bool
        False leaves out the tables of the top layer, x^(L+1), from which r is drawn.
    """

    def __init__(self, device: Device, hyper: Hyper, *, counts_top: bool = True) -> None:
        self.device = device
        self.hyper = hyper
        self._counts_top = counts_top
        self._topics: tuple[Phi, FloatArray, DeviceTopics] | None = None
        self._batch: tuple[weakref.ref[Array], weakref.ref[Array], DeviceDocuments] | None = None

    def load_topics(self, phi: Phi, r: FloatArray) -> DeviceTopics:
        """Copy topics to the device, unless they are the latest ones, which are there."""
        if self._topics is not None:
            latest, latest_r, topics = self._topics
            if np.array_equal(latest_r, r) and len(latest) == len(phi) and all(map(operator.is_, latest, phi)):
                return topics
        topics = self._copy_topics(phi, r)
        self._topics = phi, r, topics
        return topics

    def _run(
        self, phi: Phi, r: FloatArray, docs: Batch, at: Address, *, kept: bool = False, swept: DeviceSwept | None = None
    ) -> StepLaunches:
        """Return the launches of a step; kept documents are copied to the device once."""
        latest = self._batch
        if not kept:
            on_device = self._copy_documents(docs)
        elif latest is not None and latest[0]() is docs.words and latest[1]() is docs.starts:
            on_device = latest[2]
        else:
            on_device = self._copy_documents(docs)
            self._batch = weakref.ref(docs.words), weakref.ref(docs.starts), on_device
        run = StepLaunches(self.device, self.hyper, self.load_topics(phi, r), on_device, at, swept)
        run.counts_top = self._counts_top
        return run

    def load_locals(self, local: Locals | TokenTopics, widths: tuple[int, ...]) -> DeviceLocals:
        """Return local variables on the device: those that are there, or copies.

        Where only topics of tokens are kept there are no activations, and rates of 1.
        """
        tokens, load = local.topics, self.device.load
        on_device = tokens.parts[0] if isinstance(tokens, DeviceArray) else load(tokens)
        if isinstance(local, TokenTopics):
            return DeviceLocals(on_device, (), None)
        if isinstance(local.theta, DeviceArray) and isinstance(local.c, DeviceArray):
            return DeviceLocals(on_device, local.theta.parts, local.c.parts[0])
        edges = np.cumsum(widths[1:])[:-1]
        layers = np.split(local.theta, edges, axis=1) if len(widths) > 1 else []
        c = np.ascontiguousarray(local.c, dtype=np.float32)
        return DeviceLocals(on_device, tuple(map(self._load_rows, layers)), load(c))

    def wrap_locals(self, local: DeviceLocals, widths: tuple[int, ...]) -> Locals:
        """Return local variables that stay on the device until they are read, as a state keeps them."""
        n_documents = local.c.shape[0]

        def join_theta(layers: list[Array]) -> FloatArray:
            columns = [layer[:, :width] for layer, width in zip(layers, widths[1:], strict=True)]
            return np.concatenate(columns, axis=1).astype(np.float64) if columns else np.zeros((n_documents, 0))

        def wrap(parts: tuple[Any, ...], shape: tuple[int, ...], join: Callable[[list[Array]], Array]) -> Any:
            return DeviceArray(self.device.read, parts, shape, join)

        return Locals(
            wrap((local.topics,), local.topics.shape, lambda parts: parts[0]),
            np.ones((0, widths[0])),
            wrap(local.theta, (n_documents, sum(widths[1:])), join_theta),
            wrap((local.c,), (n_documents, len(widths)), lambda parts: parts[0].astype(np.float64)),
            np.ones(n_documents),
        )

    def start_locals(self, phi: Phi, r: FloatArray, docs: Batch, at: Address, *, kept: bool = False) -> Locals:
        """Return local variables of documents at the start of a chain."""
        run = self._run(phi, r, docs, at, kept=kept)
        return self.wrap_locals(run.start_locals(), run.topics.widths)

    def gather(
        self, phi: Phi, r: FloatArray, docs: Batch, start: Start, at: Address, plan: SweepPlan,
        *, kept: bool = False, most: int = 0,
    ) -> tuple[SweepSums, DeviceSwept]:  # fmt: skip
        """Sweep every document and count the kept sweeps; the activations of the last are left to :meth:`redraw`."""
        run = self._run(phi, r, docs, at, kept=kept)
        new, last = self._begin(run, start), plan.burn_in + plan.collect
        for sweep in range(1, last + 1):
            new = run.sweep(new, sweep, draws_rates=sweep >= plan.first_rates, keep=is_kept(plan, sweep))
            if sweep < last:
                run.draw_activations(new, sweep)
        return wrap_counts(self.device, run.shared), DeviceSwept(new, run.counts, run.scales)

    def carry(self, phi: Phi, r: FloatArray, docs: Batch, start: EncodedDocuments, at: Address, most: int) -> SweepSums:
        """Count the tokens by the draw of an encoder, and carry the counts to the top."""
        run = self._run(phi, r, docs, at)
        run.carry_counts(self._begin(run, start, keep=True))
        return wrap_counts(self.device, run.shared)

    def redraw(self, phi: Phi, r: FloatArray, docs: Batch, swept: DeviceSwept, at: Address) -> Locals:
        """Draw the activations in place, under topics drawn after the sweep, and return the local variables."""
        run = self._run(phi, r, docs, at, kept=True, swept=swept)
        run.draw_activations(swept.locals, 0)
        return self.wrap_locals(swept.locals, run.topics.widths)

    def rate_cells(
        self, phi: Phi, r: FloatArray, observed: Batch, scored: Batch, start: Start, at: Address, plan: SweepPlan
    ) -> tuple[Locals, Rates]:
        """Continue chains on ``observed`` and sum the rates of the ``scored`` cells over the kept sweeps."""
        run, load, make = self._run(phi, r, observed, at), self.device.load, self.device.make
        cells = ScoredCells(
            load(scored.starts), load(scored.words), make((len(scored.words),), np.float64),
            make((len(scored.documents),), np.float64),
        )  # fmt: skip
        local = self._advance(run, start, plan, lambda kept: run.rate_cells(kept, cells))
        rates = Rates(self.device.read(cells.rates), self.device.read(cells.totals))
        return self.wrap_locals(local, run.topics.widths), rates

    def place_documents(self, phi: Phi, r: FloatArray, docs: Batch, at: Address, plan: SweepPlan) -> Local:
        """Return posterior means of theta of every layer for new documents, and of the tokens of every topic."""
        run, n, share = self._run(phi, r, docs, at), len(docs.documents), plan.thin / plan.collect
        topics = run.topics
        pads = [pad_width(self.device, width) for width in topics.widths]
        first, counts, *theta = (self.device.make((n, pad), np.float32) for pad in (pads[0], *pads))
        means = DeviceMeans(first, counts, tuple(theta))
        self._advance(run, None, plan, lambda kept: run.place_documents(kept, share, means))

        def read(rows: Any, width: int) -> FloatArray:
            return self.device.read(rows)[:, :width].astype(np.float64)

        layers = zip((first, *theta), topics.widths, strict=True)
        return Local(tuple(read(*layer) for layer in layers), tokens=read(counts, topics.widths[0]))

    def _advance(
        self, run: StepLaunches, start: Start, plan: SweepPlan, keep: Callable[[DeviceLocals], None]
    ) -> DeviceLocals:
        """Sweep documents as planned, topics fixed, and hand the local variables of the kept sweeps to ``keep``."""
        new = self._begin(run, start)
        for sweep in range(1, plan.burn_in + plan.collect + 1):
            new = run.sweep(new, sweep, draws_rates=sweep >= plan.first_rates, keep=False)
            run.draw_activations(new, sweep)
            if is_kept(plan, sweep):
                keep(new)
        return new

    def _begin(self, run: StepLaunches, start: Start, *, keep: bool = False) -> DeviceLocals:
        """Return local variables on the device that a sweep may change.

        Activations of an encoder that single precision does not hold are the least that the sampler draws; their
        topics of tokens are counted if ``keep``.
        """
        if start is None:
            return run.start_locals()
        if isinstance(start, EncodedDocuments):
            first, *theta = (self._load_rows(np.maximum(layer, LEAST)) for layer in start.theta)
            c = self.device.load(np.ascontiguousarray(start.c, dtype=np.float32))
            return DeviceLocals(run.assign_tokens(first, keep=keep), tuple(theta), c)
        local = self.load_locals(start, run.topics.widths)
        c = run.make_rates() if local.c is None else self.device.copy(local.c)
        return DeviceLocals(local.topics, tuple(map(self.device.copy, local.theta)), c)

    def _copy_topics(self, phi: Phi, r: FloatArray) -> DeviceTopics:
        """Copy topics to the device; those that were moved there are there already."""
        layers = [
            (layer.rows, layer.columns)
            if isinstance(layer, MovedTopics)
            else (self._load_rows(layer), self._load_rows(layer.T) if number else None)
            for number, layer in enumerate(phi)
        ]
        (first, _), *upper = layers
        return DeviceTopics(
            first,
            tuple(rows for rows, _ in upper),
            tuple(columns for _, columns in upper),
            self._load_rows(r[None, :]),
            float(r.sum()),
            tuple(layer.shape[1] for layer in phi),
        )

    def _copy_documents(self, batch: Batch) -> DeviceDocuments:
        """Copy documents to the device."""
        starts, load = find_token_starts(batch), self.device.load
        tokens = np.repeat(batch.words, batch.counts)
        kind = np.uint16 if not len(tokens) or tokens.max() <= np.iinfo(np.uint16).max else np.int32
        order = np.argsort(-np.diff(starts), kind="stable").astype(np.int32)
        return DeviceDocuments(
            load(order), load(batch.documents.astype(np.int64)), load(starts), load(tokens.astype(kind)),
            len(batch.documents), len(tokens),
        )  # fmt: skip

    def _load_rows(self, rows: Array) -> Any:
        """Copy a matrix to the device with padded rows, in single precision."""
        padded = np.zeros((len(rows), pad_width(self.device, rows.shape[1])), np.float32)
        padded[:, : rows.shape[1]] = rows
        return self.device.load(padded)


def choose_sweeper(
    sampler: Sampler, device: Device | None, explain_refusal: Callable[[], str], *, counts_top: bool = True
) -> tuple[DocumentSweeper, DeviceMoves | None]:
    """Return what sweeps the documents of a model, and what moves its topics if that is not the processor.

    Raises
    ------
    SettingError
        When the device cannot do this work.
    """
    if device is None:
        return LocalSweeper(sampler), None
    if refusal := explain_refusal():
        raise SettingError(refusal)
    return DeviceSweeper(device, sampler.hyper, counts_top=counts_top), DeviceMoves(device, sampler.pool)
