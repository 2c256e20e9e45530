"""Sweeps of all documents on a device, for models whose layers are those of DLDA with counts as data.

The device draws all local variables, and counts; topics are drawn from the counts by the processor as ever.  Counts are
integers, and the streams of random numbers belong to documents and lanes, so the same seed gives the same bits on any
device with as many lanes.  Numbers have single precision there, and are stored in double precision like those of the
CPU, so that a run can be continued on either.
"""

import itertools
import operator
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from engine.contract import Array, Batch, FloatArray
from engine.gibbs.collapsed import SEATS, SweepPlan
from engine.gibbs.local import Locals, SweepSums, find_token_starts
from engine.gibbs.upper import Hyper
from engine.gpu.devices import Device, DeviceArray, DeviceLocals
from engine.streams import Address

_SWEEPS = 1 << 20  # sweeps of a step at most; each is a step of its own to the random streams
_STAGE = 256  # offset of the purposes of the stages of a sweep: tables and activations of every layer, rates


class DeviceTopics(NamedTuple):
    """Topics on a device, in single precision, rows padded with zeros.

    ``phi`` (V, K_1); for every layer above, ``weights`` (K_{l-1}, K_l) and ``columns`` (K_l, K_{l-1}), the same
    transposed; ``r`` (1, K_L) and its sum ``r_total``, and ``widths`` of the layers without padding.
    """

    phi: Any
    weights: tuple[Any, ...]
    columns: tuple[Any, ...]
    r: Any
    r_total: float
    widths: tuple[int, ...]


class DeviceDocuments(NamedTuple):
    """Documents on a device.

    ``order`` (documents,) lists the longest first, so that lanes that run in step finish together; ``numbers`` are
    those of the corpus, and the tokens of document j, ``words[starts[j] : starts[j + 1]]``, are in the order of cells.
    """

    order: Any
    numbers: Any
    starts: Any
    words: Any
    n_documents: int
    n_tokens: int


class DeviceSwept(NamedTuple):
    """Documents on a device after a sweep, before the topics move.

    The activations of ``locals`` are those before the sweep; ``counts`` are m^(2) ... m^(L), (documents, K_l) int32,
    and ``scales`` (documents, L) the ``1 / (c^(l+1) + q^(l))`` with which new ones are drawn.
    """

    locals: DeviceLocals
    counts: tuple[Any, ...]
    scales: Any


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
        docs = self._copy_documents(batch, batch.words)
        self._batch = weakref.ref(batch.words), weakref.ref(batch.starts), docs
        return docs

    def load_locals(self, local: Locals, widths: tuple[int, ...]) -> DeviceLocals:
        """Return local variables on the device: those that are there, or copies."""
        if isinstance(local.topics, DeviceArray):
            return DeviceLocals(local.topics.parts[0], local.theta.parts, local.c.parts[0])
        edges = np.cumsum(widths[1:])[:-1]
        layers = np.split(local.theta, edges, axis=1) if len(widths) > 1 else []
        theta = tuple(self._load_rows(layer) for layer in layers)
        c = np.ascontiguousarray(local.c, dtype=np.float32)
        return DeviceLocals(self.device.load(local.topics), theta, self.device.load(c))

    def load_tokens(self, topics: Array) -> DeviceLocals:
        """Return local variables of documents of which only the topics of tokens are kept, with rates of 1."""
        on_device = topics.parts[0] if isinstance(topics, DeviceArray) else self.device.load(topics)
        return DeviceLocals(on_device, (), None)

    def wrap_tokens(self, local: DeviceLocals, docs: DeviceDocuments) -> Any:
        """Return the topics of tokens as an array that stays on the device until it is read."""
        return DeviceArray(self.device, (local.topics,), (docs.n_tokens,), lambda parts: parts[0])

    def wrap_locals(self, local: DeviceLocals, widths: tuple[int, ...], docs: DeviceDocuments) -> Locals:
        """Return local variables that stay on the device until they are read, as a state keeps them."""
        n_documents = docs.n_documents

        def join_theta(layers: list[Array]) -> FloatArray:
            columns = [layer[:, :width] for layer, width in zip(layers, widths[1:], strict=True)]
            return np.concatenate([np.zeros((n_documents, 0)), *columns], axis=1).astype(np.float64)

        def wrap(parts: tuple[Any, ...], shape: tuple[int, ...], join: Callable[[list[Array]], Array]) -> Any:
            return DeviceArray(self.device, parts, shape, join)

        return Locals(
            self.wrap_tokens(local, docs),
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
    ) -> tuple[SweepSums, "DeviceSwept"]:
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
        run = _Sweep(self, topics, docs, at)
        run.counts_top = counts_top
        return self._sweep(run, local, plan)

    def start_locals(self, phi: tuple[FloatArray, ...], r: FloatArray, batch: Batch, at: Address) -> Locals:
        """Return local variables at the start of a chain, as a state keeps them."""
        topics, docs = self.load_topics(phi, r), self.load_documents(batch)
        return self.wrap_locals(_Sweep(self, topics, docs, at).start_locals(), topics.widths, docs)

    def gather_few(
        self, phi: tuple[FloatArray, ...], r: FloatArray, batch: Batch, at: Address, plan: SweepPlan
    ) -> SweepSums:
        """Sweep the documents of a mini-batch from the start of a chain, and count the kept sweeps.

        The device gets the topics of their words alone, and gives back the counts of these.
        """
        distinct, words = np.unique(batch.words, return_inverse=True)
        topics = self._copy_topics((phi[0][distinct], *phi[1:]), r)
        sums, _ = self._sweep(_Sweep(self, topics, self._copy_documents(batch, words), at), None, plan)
        table = np.zeros(phi[0].shape, sums.words.dtype)
        table[distinct] = sums.words
        return sums._replace(words=table)

    def _sweep(self, run: "_Sweep", local: DeviceLocals | None, plan: SweepPlan) -> tuple[SweepSums, "DeviceSwept"]:
        """Sweep documents as planned; the activations of the last sweep are left to :meth:`redraw`."""
        if local is None:
            new = run.start_locals()
        else:
            c = run.make_rates() if local.c is None else self.device.copy(local.c)
            new = DeviceLocals(local.topics, tuple(map(self.device.copy, local.theta)), c)
        last = plan.burn_in + plan.collect
        for sweep in range(1, last + 1):
            keep = sweep > plan.burn_in and (sweep - plan.burn_in) % plan.thin == 0
            new = run.sweep(new, sweep, draws_rates=sweep >= plan.first_rates, keep=keep)
            if sweep < last:
                run.draw_activations(new, sweep)
        return run.read_sums(), DeviceSwept(new, run.counts, run.scales)

    def redraw(
        self, phi: tuple[FloatArray, ...], r: FloatArray, batch: Batch, swept: "DeviceSwept", at: Address
    ) -> Locals:
        """Draw the activations in place, under topics drawn after the sweep, and return the local variables."""
        topics, docs = self.load_topics(phi, r), self.load_documents(batch)
        _Sweep(self, topics, docs, at, swept).draw_activations(swept.locals, 0)
        return self.wrap_locals(swept.locals, topics.widths, docs)

    def pad(self, width: int) -> int:
        """Return the length of padded rows with ``width`` numbers."""
        step = 2 * self.device.lanes
        return -(-width // step) * step

    def _copy_topics(self, phi: tuple[FloatArray, ...], r: FloatArray) -> DeviceTopics:
        """Copy topics to the device."""
        return DeviceTopics(
            self._load_rows(phi[0]),
            tuple(self._load_rows(layer) for layer in phi[1:]),
            tuple(self._load_rows(layer.T) for layer in phi[1:]),
            self._load_rows(r[None, :]),
            float(r.sum()),
            tuple(layer.shape[1] for layer in phi),
        )

    def _copy_documents(self, batch: Batch, words: Array) -> DeviceDocuments:
        """Copy documents to the device; ``words`` are the rows of the topics for the cells of the batch."""
        starts, load = find_token_starts(batch), self.device.load
        tokens = np.repeat(words, batch.counts)
        kind = np.uint16 if not len(tokens) or tokens.max() <= np.iinfo(np.uint16).max else np.int32
        order = np.argsort(-np.diff(starts), kind="stable").astype(np.int32)
        return DeviceDocuments(
            load(order),
            load(batch.documents.astype(np.int64)),
            load(starts),
            load(tokens.astype(kind)),
            len(batch.documents),
            len(tokens),
        )

    def _load_rows(self, rows: Array) -> Any:
        """Copy a matrix to the device with padded rows."""
        padded = np.zeros((len(rows), self.pad(rows.shape[1])), np.float32)
        padded[:, : rows.shape[1]] = rows
        return self.device.load(padded)


class _Sweep:
    """The launches of one step, and the arrays that they fill."""

    def __init__(
        self,
        sweeper: DeviceSweeper,
        topics: DeviceTopics,
        docs: DeviceDocuments,
        at: Address,
        swept: DeviceSwept | None = None,
    ) -> None:
        self.device, self.hyper, self.pad = sweeper.device, sweeper.hyper, sweeper.pad
        self.topics, self.docs, self.at = topics, docs, at
        self.counts_top = True
        widths, make = topics.widths, self.device.make
        self.none = make((0, self.pad(1)), np.float32)
        self.no_counts = make((0, 1), np.int32)
        if swept is not None:
            self.counts, self.scales = swept.counts, swept.scales
        else:
            n = docs.n_documents
            reserve = self.device.reserve
            self.counts = tuple(reserve((n, width), np.int32) for width in widths[1:])
            self.scales = reserve((n, len(widths)), np.float32)
            self.sums = reserve((n, max(1, len(widths) - 1)), np.float32)
            self.q = make((n,), np.int64)
            self.words = make((topics.phi.shape[0], widths[0]), np.int32)
            self.tables = tuple(make(pair, np.int32) for pair in itertools.pairwise(widths))
            self.top = make((1, widths[-1]), np.int32)

    def start_locals(self) -> DeviceLocals:
        """Return the start of a chain: theta = 1/K, rates of 1, topics in proportion to phi_vk."""
        n, widths, ones = self.docs.n_documents, self.topics.widths, self._fill_rows
        theta = tuple(ones(n, self.pad(width), 1.0 / width, width) for width in widths[1:])
        before, flat = self.device.make((0,), np.uint16), ones(1, self.pad(widths[0]), 1.0, widths[0])
        topics = self._draw_topics(before, self.none, self.none, flat, sweep=0, keep=False)
        return DeviceLocals(topics, theta, self.make_rates())

    def make_rates(self) -> Any:
        """Return the rates of every document at the start of a chain, 1."""
        n_layers = len(self.topics.widths)
        return self._fill_rows(self.docs.n_documents, n_layers, 1.0, n_layers)

    def sweep(self, local: DeviceLocals, sweep: int, *, draws_rates: bool, keep: bool) -> DeviceLocals:
        """Draw the topics of tokens, the tables of every layer, and the rates; the activations are left."""
        topics, docs, widths = self.topics, self.docs, self.topics.widths
        above = (topics.columns[0], local.theta[0]) if len(widths) > 1 else (self.none, self.none)
        local = local._replace(topics=self._draw_topics(local.topics, *above, topics.r, sweep=sweep, keep=keep))
        sends_top = keep and self.counts_top  # nothing is above the top layer: its tables are only counted
        for layer in range(len(widths) if sends_top else len(widths) - 1):
            self._send_tables(local, layer, sweep, keep=keep)
        for layer, theta in enumerate(local.theta):
            self.device.launch("sums", docs.n_documents, theta, widths[layer + 1], layer, self.sums)
        self.device.launch(
            "rates", docs.n_documents, self.hyper, self.at.seed, self.at.purpose + _STAGE, self._number(sweep),
            docs.numbers, docs.starts, self.sums, topics.r_total, draws_rates, keep, local.c, self.scales, self.q,
        )  # fmt: skip
        return local

    def draw_activations(self, local: DeviceLocals, sweep: int) -> None:
        """Draw theta in place, from the top down."""
        topics, widths = self.topics, self.topics.widths
        for layer in range(len(widths) - 1, 0, -1):
            top = layer == len(widths) - 1
            above = (self.none, self.none) if top else (topics.columns[layer], local.theta[layer])
            sizes = self.pad(widths[layer]), self.pad(1 if top else widths[layer + 1])
            self._launch(
                "activations", sizes, len(widths) + 1 + layer, sweep, *above, topics.r,
                self.counts[layer - 1], self.scales, layer, local.theta[layer - 1],
            )  # fmt: skip

    def read_sums(self) -> SweepSums:
        """Return the counts of the sweep."""
        read = self.device.read
        upper = [read(table).ravel() for table in self.tables]
        return SweepSums(
            read(self.words),
            np.concatenate([np.zeros(0, np.int64), *upper]).astype(np.int64),
            read(self.top)[0].astype(np.int64),
            np.zeros((0, SEATS), np.int64),
            read(self.q).sum(),
        )

    def _draw_topics(self, before: Any, columns: Any, theta: Any, r: Any, *, sweep: int, keep: bool) -> Any:
        """Return new topics of all tokens; ``r`` are the shapes of layer 1 if there is no layer above."""
        topics, docs = self.topics, self.docs
        new = self.device.reserve((docs.n_tokens,), np.uint16)
        sizes = self.pad(topics.widths[0]), theta.shape[1]
        self._launch(
            "tokens", sizes, 0, sweep, docs.starts, docs.words, before, new, topics.phi, columns, theta, r, keep,
            self.words,
        )  # fmt: skip
        return new

    def _fill_rows(self, n: int, size: int, value: float, width: int) -> Any:
        """Return ``n`` rows on the device with a value in the first ``width`` of ``size`` numbers, and zeros after."""
        rows = self.device.reserve((n, size), np.float32)
        self.device.launch("fill", n, value, width, rows)
        return rows

    def _send_tables(self, local: DeviceLocals, layer: int, sweep: int, *, keep: bool) -> None:
        """Send the tables of the layer with this index up to the next one, or to those of r."""
        topics, docs, widths = self.topics, self.docs, self.topics.widths
        counts = self.no_counts if layer == 0 else self.counts[layer - 1]
        if layer == len(widths) - 1:
            size, above, new, table = self.pad(1), (self.none, self.none), self.no_counts, self.top
        else:
            size, above = self.pad(widths[layer + 1]), (topics.weights[layer], local.theta[layer])
            new, table = self.counts[layer], self.tables[layer]
        self._launch(
            "tables", (widths[layer], size), layer + 2, sweep, docs.starts, local.topics, counts,
            *above, topics.r, new, keep, table,
        )  # fmt: skip

    def _launch(self, kernel: str, sizes: tuple[int, int], stage: int, sweep: int, *arguments: Any) -> None:
        """Run a kernel whose groups of lanes take the documents in their order, each with its own stream."""
        docs, purpose = self.docs, self.at.purpose + _STAGE * stage
        self.device.launch(
            kernel, docs.n_documents, sizes, self.at.seed, purpose, self._number(sweep), docs.order, docs.numbers,
            *arguments,
        )  # fmt: skip

    def _number(self, sweep: int) -> int:
        """Return the number of a sweep among those of all steps, the step of its random streams."""
        return self.at.step * _SWEEPS + sweep
