"""Sweeps of documents that do not fit in the memory of a device: blocks of them stream through two buffers.

Local variables are kept by the host between sweeps.  While the kernels of one block run, the next block is copied to
the other buffer, and the results of the one before are copied back.  Random numbers belong to documents and counts are
integers, so results have the same bits for blocks of any size.
"""

import weakref
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from topiary.engine.contract import Array, Batch, FloatArray, Local, Rates
from topiary.engine.gibbs.collapsed import SweepPlan
from topiary.engine.gibbs.local import Locals, SweepSums, find_token_starts
from topiary.engine.gibbs.upper import Hyper
from topiary.engine.gpu.devices import Device, DeviceLocals
from topiary.engine.gpu.launches import (
    DeviceDocuments,
    DeviceMeans,
    DeviceSwept,
    DeviceTopics,
    ScoredCells,
    StepLaunches,
    make_counts,
    pad_width,
    wrap_counts,
)
from topiary.engine.gpu.memory import ALIGNED
from topiary.engine.gpu.sweeps import DeviceSweeper
from topiary.engine.streams import Address


class Block(NamedTuple):
    """Consecutive documents, of ``rows`` and ``tokens`` of a batch, as the device takes them, in ``size`` bytes."""

    rows: slice
    tokens: slice
    docs: DeviceDocuments
    size: int


def make_sweeper(device: Device, hyper: Hyper) -> DeviceSweeper:
    """Return the sweeps of documents on a device, in blocks if it has buffers for them."""
    return DeviceSweeper(device, hyper) if device.block is None else BlockSweeper(device, hyper)


def cut_rows(sizes: Array, room: int) -> Iterator[tuple[slice, int]]:
    """Yield runs of documents of at most ``room`` bytes, or a single larger one, and the bytes of each."""
    ends, first, before = np.cumsum(sizes), 0, 0
    while first < len(sizes):
        last = max(first + 1, int(np.searchsorted(ends, before + room, side="right")))
        yield slice(first, last), int(ends[last - 1]) - before
        first, before = last, int(ends[last - 1])


def cut_locals(local: DeviceLocals | None, block: Block) -> DeviceLocals | None:
    """Return the local variables of a block; None if there are none."""
    if local is None:
        return None
    c = None if local.c is None else local.c[block.rows]
    return DeviceLocals(local.topics[block.tokens], tuple(theta[block.rows] for theta in local.theta), c)


class BlockSweeper(DeviceSweeper):
    """The sweeps of documents on one device, through its two buffers."""

    def __init__(self, device: Device, hyper: Hyper) -> None:
        super().__init__(device, hyper)
        self._blocks: tuple[weakref.ref[Array], weakref.ref[Array], tuple[int, ...], list[Block]] | None = None

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

        The activations are left out of what is returned, as :meth:`redraw` draws them.
        """
        topics = self.load_topics(phi, r)
        return self._gather_blocks(topics, self._find_blocks(topics, batch), local, at, plan, counts_top=counts_top)

    def start_chain(self, phi: tuple[FloatArray, ...], r: FloatArray, batch: Batch, at: Address) -> Locals:
        """Return local variables of documents under evaluation at the start of a chain."""
        topics = self.load_topics(phi, r)
        return self._start_blocks(topics, self._cut_blocks(topics, batch), at)

    def start_locals(self, phi: tuple[FloatArray, ...], r: FloatArray, batch: Batch, at: Address) -> Locals:
        """Return local variables of the documents that every step sweeps, at the start of a chain."""
        topics = self.load_topics(phi, r)
        return self._start_blocks(topics, self._find_blocks(topics, batch), at)

    def redraw(
        self, phi: tuple[FloatArray, ...], r: FloatArray, batch: Batch, swept: DeviceSwept, at: Address
    ) -> Locals:
        """Draw the activations, under topics drawn after the sweep, and return the local variables."""
        topics, load, widths = self.load_topics(phi, r), self.device.load, [layer.shape[1] for layer in phi[1:]]
        theta = self._hold_theta(topics, len(batch.documents))
        for block in self._use_buffers(self._find_blocks(topics, batch)):
            docs = block.docs._replace(order=load(block.docs.order), numbers=load(block.docs.numbers))
            rows = tuple(
                self.device.reserve((docs.n_documents, pad_width(self.device, width)), np.float32) for width in widths
            )
            counts = tuple(load(layer[block.rows]) for layer in swept.counts)
            drawn = DeviceSwept(DeviceLocals(None, rows, None), counts, load(swept.scales[block.rows]))
            StepLaunches(self.device, self.hyper, topics, docs, at, drawn).draw_activations(drawn.locals, 0)
            self._store_rows(rows, theta, block)
        return self.wrap_locals(swept.locals._replace(theta=theta), topics.widths)

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
        """Continue chains on ``observed`` and sum the rates of the ``scored`` cells over the kept sweeps."""
        topics, n, device = self.load_topics(phi, r), len(observed.documents), self.device
        shared, blocks = (
            make_counts(device, topics),
            self._cut_blocks(topics, observed, 16 + 12 * np.diff(scored.starts)),
        )
        rates, totals = device.hold((len(scored.words),), np.float64), device.hold((n,), np.float64)
        after = self._hold_locals(topics, blocks)
        for block in self._use_buffers(blocks):
            run = StepLaunches(device, self.hyper, topics, self._load_block(block), at, shared=shared)
            starts = scored.starts[block.rows.start : block.rows.stop + 1]
            span = slice(int(starts[0]), int(starts[-1]))
            cells = ScoredCells(
                device.load(starts - starts[0]),
                device.load(scored.words[span]),
                device.make((span.stop - span.start,), np.float64),
                device.make((len(starts) - 1,), np.float64),
            )
            new = self._advance(run, cut_locals(local, block), plan, _bind_rates(run, cells))
            self._store_locals(new, after, block)
            device.store(cells.rates, rates[span])
            device.store(cells.totals, totals[block.rows])
        return after, Rates(rates, totals)

    def place_documents(
        self, phi: tuple[FloatArray, ...], r: FloatArray, batch: Batch, at: Address, plan: SweepPlan
    ) -> Local:
        """Return posterior means of theta of every layer for new documents, and of the tokens of every topic."""
        topics, n, device = self.load_topics(phi, r), len(batch.documents), self.device
        pads = [pad_width(device, width) for width in topics.widths]
        pads = [pads[0], *pads]  # activations of layer 1, its counts, and activations of the layers above
        shared, blocks = make_counts(device, topics), self._cut_blocks(topics, batch, 4 * sum(pads))
        means = tuple(device.hold((n, pad), np.float32) for pad in pads)
        for block in self._use_buffers(blocks):
            run = StepLaunches(device, self.hyper, topics, self._load_block(block), at, shared=shared)
            rows = tuple(device.make((block.docs.n_documents, pad), np.float32) for pad in pads)
            share = plan.thin / plan.collect
            self._advance(run, None, plan, _bind_means(run, share, DeviceMeans(rows[0], rows[1], rows[2:])))
            self._store_rows(rows, means, block)
        first, counts, *theta = means
        layers = zip((first, *theta), topics.widths, strict=True)
        tokens = counts[:, : topics.widths[0]].astype(np.float64)
        return Local(tuple(rows[:, :width].astype(np.float64) for rows, width in layers), tokens=tokens)

    def gather_batch(
        self, phi: tuple[FloatArray, ...], r: FloatArray, batch: Batch, at: Address, plan: SweepPlan
    ) -> SweepSums:
        """Sweep the documents of a mini-batch from the start of a chain, and count the kept sweeps."""
        topics = self.load_topics(phi, r)
        return self._gather_blocks(topics, self._cut_blocks(topics, batch), None, at, plan, counts_top=True)[0]

    def _gather_blocks(
        self,
        topics: DeviceTopics,
        blocks: list[Block],
        local: DeviceLocals | None,
        at: Address,
        plan: SweepPlan,
        *,
        counts_top: bool,
    ) -> tuple[SweepSums, DeviceSwept]:
        """Sweep blocks one after another, and return their counts and what :meth:`redraw` needs."""
        n, device = blocks[-1].rows.stop if blocks else 0, self.device
        shared = make_counts(device, topics)
        after = self._hold_locals(topics, blocks)._replace(theta=())
        counts = tuple(device.hold((n, width), np.int32) for width in topics.widths[1:])
        scales = device.hold((n, len(topics.widths)), np.float32)
        for block in self._use_buffers(blocks):
            run = StepLaunches(device, self.hyper, topics, self._load_block(block), at, shared=shared)
            run.counts_top = counts_top
            new = self._run_sweeps(run, cut_locals(local, block), plan)
            self._store_locals(new._replace(theta=()), after, block)
            self._store_rows((*run.counts, run.scales), (*counts, scales), block)
        return wrap_counts(device, shared), DeviceSwept(after, counts, scales)

    def _start_blocks(self, topics: DeviceTopics, blocks: list[Block], at: Address) -> Locals:
        """Return local variables at the start of a chain."""
        shared, start = make_counts(self.device, topics), self._hold_locals(topics, blocks)
        for block in self._use_buffers(blocks):
            run = StepLaunches(self.device, self.hyper, topics, self._load_block(block), at, shared=shared)
            self._store_locals(run.start_locals(), start, block)
        return self.wrap_locals(start, topics.widths)

    def _find_blocks(self, topics: DeviceTopics, batch: Batch) -> list[Block]:
        """Cut the documents that every step sweeps, once; the host holds them where copies are fast."""
        if self._blocks is not None:
            words, starts, widths, blocks = self._blocks
            if words() is batch.words and starts() is batch.starts and widths == topics.widths:
                return blocks
        blocks = [
            block._replace(docs=block.docs._replace(words=self._hold_copy(block.docs.words)))
            for block in self._cut_blocks(topics, batch)
        ]
        self._blocks = weakref.ref(batch.words), weakref.ref(batch.starts), topics.widths, blocks
        return blocks

    def _cut_blocks(self, topics: DeviceTopics, batch: Batch, more: Any = 0) -> list[Block]:
        """Cut documents into blocks that fit in a buffer; ``more`` are bytes of each beyond those that sweeps use."""
        starts, widths = find_token_starts(batch), topics.widths
        n_layers, pads = len(widths), [pad_width(self.device, width) for width in widths]
        token = 2 * 2 + (2 if topics.phi.shape[0] <= np.iinfo(np.uint16).max + 1 else 4)  # topics before, after; word
        document = 4 + 3 * 8 + 12 * n_layers + 4 * sum((*pads[1:], *widths[1:]))
        common = ALIGNED * (24 + 4 * n_layers) + 4 * pads[0]  # ends of arrays, and what is there once
        blocks = []
        for rows, size in cut_rows(
            token * np.diff(starts) + document + more, max(0, (self.device.block or 0) - common)
        ):
            part = batch.cells.rows(rows.start, rows.stop).batch(batch.documents[rows])
            tokens = slice(int(starts[rows.start]), int(starts[rows.stop]))
            blocks.append(Block(rows, tokens, self._list_documents(part), size + common))
        return blocks

    def _use_buffers(self, blocks: list[Block]) -> Iterator[Block]:
        """Yield blocks, each with one of the two buffers in use; at the end everything stored has arrived."""
        for i, block in enumerate(blocks):
            self.device.use_buffer(i % 2, max(self.device.block or 0, block.size))  # reserved once
            yield block
        self.device.finish()

    def _load_block(self, block: Block) -> DeviceDocuments:
        """Copy the documents of a block to the buffer in use."""
        order, numbers, starts, words = map(self.device.load, block.docs[:4])
        return block.docs._replace(order=order, numbers=numbers, starts=starts, words=words)

    def _copy_locals(self, run: StepLaunches, local: DeviceLocals | None) -> DeviceLocals:
        """Copy local variables of a block to the buffer in use, or start a chain there."""
        if local is None:
            return run.start_locals()
        load = self.device.load
        c = run.make_rates() if local.c is None else load(local.c)
        return DeviceLocals(load(local.topics), tuple(map(load, local.theta)), c)

    def _hold_locals(self, topics: DeviceTopics, blocks: list[Block]) -> DeviceLocals:
        """Return room on the host for the local variables of all documents."""
        n, n_tokens = (blocks[-1].rows.stop, blocks[-1].tokens.stop) if blocks else (0, 0)
        tokens = self.device.hold((n_tokens,), np.uint16)
        return DeviceLocals(tokens, self._hold_theta(topics, n), self.device.hold((n, len(topics.widths)), np.float32))

    def _hold_theta(self, topics: DeviceTopics, n: int) -> tuple[Array, ...]:
        """Return room on the host for the activations of ``n`` documents."""
        hold = self.device.hold
        return tuple(hold((n, pad_width(self.device, width)), np.float32) for width in topics.widths[1:])

    def _hold_copy(self, array: Array) -> Array:
        """Return a copy of an array from which copies are fast."""
        held = self.device.hold(array.shape, array.dtype)
        held[...] = array
        return held

    def _store_locals(self, new: DeviceLocals, out: DeviceLocals, block: Block) -> None:
        """Start to copy the local variables of a block to their place among all."""
        self.device.store(new.topics, out.topics[block.tokens])
        self._store_rows((*new.theta, new.c), (*out.theta, out.c), block)

    def _store_rows(self, rows: tuple[Any, ...], out: tuple[Array, ...], block: Block) -> None:
        """Start to copy arrays with a row for each document of a block to their place among all."""
        for new, whole in zip(rows, out, strict=True):
            self.device.store(new, whole[block.rows])

    def _keep(self, array: Array) -> Any:
        """Keep local variables on the host."""
        return array

    def _read_kept(self, array: Any) -> Array:
        """Return local variables, which are on the host."""
        return np.asarray(array)


def _bind_rates(run: StepLaunches, cells: ScoredCells) -> Callable[[DeviceLocals], None]:
    """Return a function that adds the rates of scored cells under local variables."""
    return lambda kept: run.rate_cells(kept, cells)


def _bind_means(run: StepLaunches, share: float, means: DeviceMeans) -> Callable[[DeviceLocals], None]:
    """Return a function that adds ``share`` times the activations and counts of local variables to ``means``."""
    return lambda kept: run.place_documents(kept, share, means)
