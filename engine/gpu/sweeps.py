"""Sweeps of all documents on a device, for models whose layers are those of DLDA with counts as data.

The device draws all local variables, and counts; the counts stay there, where the topics can be moved by them
(:mod:`engine.gpu.moves`), until the processor reads them.  Counts are integers, and the streams of random numbers
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
from topiary.engine.gibbs.local import Locals, SweepSums, find_token_starts
from topiary.engine.gibbs.upper import Hyper
from topiary.engine.gpu.devices import Device, DeviceArray, DeviceLocals
from topiary.engine.gpu.launches import (
    DeviceDocuments,
    DeviceMeans,
    DeviceSwept,
    DeviceTopics,
    ScoredCells,
    StepLaunches,
    pad_width,
    wrap_counts,
)
from topiary.engine.gpu.moves import MovedTopics
from topiary.engine.streams import Address


def is_kept(plan: SweepPlan, sweep: int) -> bool:
    """Return whether a plan collects a sweep, counted from 1."""
    return sweep > plan.burn_in and (sweep - plan.burn_in) % plan.thin == 0


class DeviceSweeper:
    """The sweeps of documents on one device.

    Parameters
    ----------
    device : Device
    hyper : Hyper
    """

    def __init__(self, device: Device, hyper: Hyper) -> None:
        self.device = device
        self.hyper = hyper
        self._topics: tuple[tuple[FloatArray, ...], FloatArray, DeviceTopics] | None = None
        self._batch: tuple[weakref.ref[Array], weakref.ref[Array], DeviceDocuments] | None = None

    def load_topics(self, phi: tuple[FloatArray, ...], r: FloatArray) -> DeviceTopics:
        """Copy topics to the device, unless they are the latest ones, which are there."""
        if self._topics is not None:
            latest, latest_r, topics = self._topics
            if latest_r is r and len(latest) == len(phi) and all(map(operator.is_, latest, phi)):
                return topics
        topics = self._copy_topics(phi, r)
        self._topics = phi, r, topics
        return topics

    def load_documents(self, batch: Batch) -> DeviceDocuments:
        """Copy documents to the device, once for the batch that every step sweeps."""
        if self._batch is not None and self._batch[0]() is batch.words and self._batch[1]() is batch.starts:
            return self._batch[2]
        docs = self._copy_documents(batch)
        self._batch = weakref.ref(batch.words), weakref.ref(batch.starts), docs
        return docs

    def load_locals(self, local: Locals, widths: tuple[int, ...]) -> DeviceLocals:
        """Return local variables on the device: those that are there, or copies."""
        if isinstance(local.topics, DeviceArray):
            return DeviceLocals(local.topics.parts[0], local.theta.parts, local.c.parts[0])
        edges = np.cumsum(widths[1:])[:-1]
        layers = np.split(local.theta, edges, axis=1) if len(widths) > 1 else []
        theta = tuple(self._keep(self._pad_rows(layer)) for layer in layers)
        c = np.ascontiguousarray(local.c, dtype=np.float32)
        return DeviceLocals(self._keep(local.topics), theta, self._keep(c))

    def load_tokens(self, topics: Array) -> DeviceLocals:
        """Return local variables of documents of which only the topics of tokens are kept, with rates of 1."""
        on_device = topics.parts[0] if isinstance(topics, DeviceArray) else self._keep(topics)
        return DeviceLocals(on_device, (), None)

    def wrap_tokens(self, local: DeviceLocals) -> Any:
        """Return the topics of tokens as an array that stays on the device until it is read."""
        return DeviceArray(self._read_kept, (local.topics,), local.topics.shape, lambda parts: parts[0])

    def wrap_locals(self, local: DeviceLocals, widths: tuple[int, ...]) -> Locals:
        """Return local variables that stay on the device until they are read, as a state keeps them."""
        n_documents = local.c.shape[0]

        def join_theta(layers: list[Array]) -> FloatArray:
            columns = [layer[:, :width] for layer, width in zip(layers, widths[1:], strict=True)]
            return np.concatenate(columns, axis=1).astype(np.float64) if columns else np.zeros((n_documents, 0))

        def wrap(parts: tuple[Any, ...], shape: tuple[int, ...], join: Callable[[list[Array]], Array]) -> Any:
            return DeviceArray(self._read_kept, parts, shape, join)

        return Locals(
            self.wrap_tokens(local),
            np.ones((0, widths[0])),
            wrap(local.theta, (n_documents, sum(widths[1:])), join_theta),
            wrap((local.c,), (n_documents, len(widths)), lambda parts: parts[0].astype(np.float64)),
            np.ones(n_documents),
        )

    def gather(
        self,
        phi: tuple[FloatArray, ...],
        r: FloatArray,
        batch: Batch,
        local: DeviceLocals | None,
        at: Address,
        plan: SweepPlan,
        *,
        counts_top: bool = True,
    ) -> tuple[SweepSums, DeviceSwept]:
        """Sweep every document as planned, without changing ``local``, and count the kept sweeps.

        Parameters
        ----------
        phi : tuple of (K_{l-1}, K_l) float64
        r : (K_L,) float64
        batch : Batch
        local : DeviceLocals or None
            None starts a chain.
        at : Address
        plan : SweepPlan
        counts_top : bool
            False leaves out the tables of the top layer, x^(L+1), from which r is drawn.
        """
        topics, docs = self.load_topics(phi, r), self.load_documents(batch)
        run = StepLaunches(self.device, self.hyper, topics, docs, at)
        run.counts_top = counts_top
        return self._sweep(run, local, plan)

    def start_chain(self, phi: tuple[FloatArray, ...], r: FloatArray, batch: Batch, at: Address) -> Locals:
        """Return local variables of documents under evaluation at the start of a chain."""
        topics = self.load_topics(phi, r)
        run = StepLaunches(self.device, self.hyper, topics, self._copy_documents(batch), at)
        return self.wrap_locals(run.start_locals(), topics.widths)

    def start_locals(self, phi: tuple[FloatArray, ...], r: FloatArray, batch: Batch, at: Address) -> Locals:
        """Return local variables of the documents that every step sweeps, at the start of a chain."""
        topics, docs = self.load_topics(phi, r), self.load_documents(batch)
        return self.wrap_locals(StepLaunches(self.device, self.hyper, topics, docs, at).start_locals(), topics.widths)

    def gather_batch(
        self, phi: tuple[FloatArray, ...], r: FloatArray, batch: Batch, at: Address, plan: SweepPlan
    ) -> SweepSums:
        """Sweep the documents of a mini-batch from the start of a chain, and count the kept sweeps."""
        return self._sweep(self.start_batch(phi, r, batch, at), None, plan)[0]

    def start_batch(self, phi: tuple[FloatArray, ...], r: FloatArray, batch: Batch, at: Address) -> StepLaunches:
        """Copy the documents of a mini-batch to the device, and return the launches of its step."""
        return StepLaunches(self.device, self.hyper, self.load_topics(phi, r), self._copy_documents(batch), at)

    def _sweep(self, run: StepLaunches, local: DeviceLocals | None, plan: SweepPlan) -> tuple[SweepSums, DeviceSwept]:
        """Sweep documents as planned; the activations of the last sweep are left to :meth:`redraw`."""
        new = self._run_sweeps(run, local, plan)
        return wrap_counts(self.device, run.shared), DeviceSwept(new, run.counts, run.scales)

    def _run_sweeps(self, run: StepLaunches, local: DeviceLocals | None, plan: SweepPlan) -> DeviceLocals:
        """Sweep documents as planned, and return their local variables, with the activations before the last sweep."""
        new = self._copy_locals(run, local)
        last = plan.burn_in + plan.collect
        for sweep in range(1, last + 1):
            new = run.sweep(new, sweep, draws_rates=sweep >= plan.first_rates, keep=is_kept(plan, sweep))
            if sweep < last:
                run.draw_activations(new, sweep)
        return new

    def redraw(
        self, phi: tuple[FloatArray, ...], r: FloatArray, batch: Batch, swept: DeviceSwept, at: Address
    ) -> Locals:
        """Draw the activations in place, under topics drawn after the sweep, and return the local variables."""
        topics, docs = self.load_topics(phi, r), self.load_documents(batch)
        StepLaunches(self.device, self.hyper, topics, docs, at, swept).draw_activations(swept.locals, 0)
        return self.wrap_locals(swept.locals, topics.widths)

    def rate_cells(
        self,
        phi: tuple[FloatArray, ...],
        r: FloatArray,
        observed: Batch,
        scored: Batch,
        local: DeviceLocals,
        at: Address,
        plan: SweepPlan,
    ) -> tuple[DeviceLocals, Rates]:
        """Continue chains on ``observed`` and sum the rates of the ``scored`` cells over the kept sweeps.

        ``local`` is not changed.
        """
        run = StepLaunches(self.device, self.hyper, self.load_topics(phi, r), self._copy_documents(observed), at)
        return self._rate_cells(run, scored, local, plan)

    def _rate_cells(
        self, run: StepLaunches, scored: Batch, local: DeviceLocals, plan: SweepPlan
    ) -> tuple[DeviceLocals, Rates]:
        """Do the work of :meth:`rate_cells` by the launches of one step."""
        n, load, make = len(scored.documents), self.device.load, self.device.make
        cells = ScoredCells(
            load(scored.starts), load(scored.words), make((len(scored.words),), np.float64), make((n,), np.float64)
        )
        local = self._advance(run, local, plan, lambda kept: run.rate_cells(kept, cells))
        return local, Rates(self.device.read(cells.rates), self.device.read(cells.totals))

    def place_documents(
        self, phi: tuple[FloatArray, ...], r: FloatArray, batch: Batch, at: Address, plan: SweepPlan
    ) -> Local:
        """Return posterior means of theta of every layer for new documents, and of the tokens of every topic."""
        topics, n, share = self.load_topics(phi, r), len(batch.documents), plan.thin / plan.collect
        run = StepLaunches(self.device, self.hyper, topics, self._copy_documents(batch), at)
        pads = [pad_width(self.device, width) for width in topics.widths]
        first, counts, *theta = (self.device.make((n, pad), np.float32) for pad in (pads[0], *pads))
        means = DeviceMeans(first, counts, tuple(theta))
        self._advance(run, None, plan, lambda kept: run.place_documents(kept, share, means))

        def read(rows: Any, width: int) -> FloatArray:
            return self.device.read(rows)[:, :width].astype(np.float64)

        layers = zip((first, *theta), topics.widths, strict=True)
        return Local(tuple(read(*layer) for layer in layers), tokens=read(counts, topics.widths[0]))

    def _advance(
        self, run: StepLaunches, local: DeviceLocals | None, plan: SweepPlan, keep: Callable[[DeviceLocals], None]
    ) -> DeviceLocals:
        """Sweep documents as planned, topics fixed, and hand the local variables of the kept sweeps to ``keep``."""
        new = self._copy_locals(run, local)
        for sweep in range(1, plan.burn_in + plan.collect + 1):
            new = run.sweep(new, sweep, draws_rates=sweep >= plan.first_rates, keep=False)
            run.draw_activations(new, sweep)
            if is_kept(plan, sweep):
                keep(new)
        return new

    def _copy_locals(self, run: StepLaunches, local: DeviceLocals | None) -> DeviceLocals:
        """Return a copy of local variables that a sweep may change, or the start of a chain."""
        if local is None:
            return run.start_locals()
        c = run.make_rates() if local.c is None else self.device.copy(local.c)
        return DeviceLocals(local.topics, tuple(map(self.device.copy, local.theta)), c)

    def _copy_topics(self, phi: tuple[FloatArray, ...], r: FloatArray) -> DeviceTopics:
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
        load, docs = self.device.load, self._list_documents(batch)
        order, numbers, starts, tokens = map(load, docs[:4])
        return docs._replace(order=order, numbers=numbers, starts=starts, words=tokens)

    def _list_documents(self, batch: Batch) -> DeviceDocuments:
        """Return documents as the device takes them, still on the host."""
        starts = find_token_starts(batch)
        tokens = np.repeat(batch.words, batch.counts)
        kind = np.uint16 if not len(tokens) or tokens.max() <= np.iinfo(np.uint16).max else np.int32
        order = np.argsort(-np.diff(starts), kind="stable").astype(np.int32)
        return DeviceDocuments(
            order, batch.documents.astype(np.int64), starts, tokens.astype(kind), len(batch.documents), len(tokens)
        )

    def _load_rows(self, rows: Array) -> Any:
        """Copy a matrix to the device with padded rows."""
        return self.device.load(self._pad_rows(rows))

    def _pad_rows(self, rows: Array) -> Array:
        """Return a matrix with padded rows, in single precision."""
        padded = np.zeros((len(rows), pad_width(self.device, rows.shape[1])), np.float32)
        padded[:, : rows.shape[1]] = rows
        return padded

    def _keep(self, array: Array) -> Any:
        """Copy local variables to where they are kept between sweeps."""
        return self.device.load(array)

    def _read_kept(self, array: Any) -> Array:
        """Return local variables as an array of the host."""
        return self.device.read(array)
