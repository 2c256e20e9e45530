"""Sweeps of all documents on a device, for models whose layers are those of DLDA with counts as data.

The device draws all local variables, and counts; topics are drawn from the counts by the processor as ever.  Counts are
integers, and the streams of random numbers belong to documents and lanes, so the same seed gives the same bits on any
device with as many lanes.  Numbers have single precision there, and are stored in double precision like those of the
CPU, so that a run can be continued on either.
"""

import itertools
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
        if self._topics is not None and self._topics[0] is phi and self._topics[1] is r:
            return self._topics[2]
        topics = DeviceTopics(
            self._load_rows(phi[0]),
            tuple(self._load_rows(layer) for layer in phi[1:]),
            tuple(self._load_rows(layer.T) for layer in phi[1:]),
            self._load_rows(r[None, :]),
            float(r.sum()),
            tuple(layer.shape[1] for layer in phi),
        )
        self._topics = phi, r, topics
        return topics

    def load_documents(self, batch: Batch) -> DeviceDocuments:
        """Copy documents to the device, once for the batch that every step sweeps."""
        if self._batch is not None and self._batch[0]() is batch.words and self._batch[1]() is batch.starts:
            return self._batch[2]
        starts, load = find_token_starts(batch), self.device.load
        words = np.repeat(batch.words, batch.counts)
        kind = np.uint16 if not len(words) or words.max() <= np.iinfo(np.uint16).max else np.int32
        order = np.argsort(-np.diff(starts), kind="stable").astype(np.int32)
        docs = DeviceDocuments(
            load(order),
            load(batch.documents.astype(np.int64)),
            load(starts),
            load(words.astype(kind)),
            len(batch.documents),
            len(words),
        )
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

    def wrap_locals(self, local: DeviceLocals, widths: tuple[int, ...], docs: DeviceDocuments) -> Locals:
        """Return local variables that stay on the device until they are read, as a state keeps them."""
        n_documents, n_tokens = docs.n_documents, docs.n_tokens

        def join_theta(layers: list[Array]) -> FloatArray:
            columns = [layer[:, :width] for layer, width in zip(layers, widths[1:], strict=True)]
            return np.concatenate([np.zeros((n_documents, 0)), *columns], axis=1).astype(np.float64)

        def wrap(parts: tuple[Any, ...], shape: tuple[int, ...], join: Callable[[list[Array]], Array]) -> Any:
            return DeviceArray(self.device, parts, shape, join)

        return Locals(
            wrap((local.topics,), (n_tokens,), lambda parts: parts[0]),
            np.ones((0, widths[0])),
            wrap(local.theta, (n_documents, sum(widths[1:])), join_theta),
            wrap((local.c,), (n_documents, len(widths)), lambda parts: parts[0].astype(np.float64)),
            np.ones(n_documents),
        )

    def gather(
        self, phi: tuple[FloatArray, ...], r: FloatArray, batch: Batch, local: Locals, at: Address, plan: SweepPlan
    ) -> tuple[SweepSums, "DeviceSwept"]:
        """Sweep every document as planned, without changing ``local``; the last sweep is counted.

        Parameters
        ----------
        phi : tuple of (K_{l-1}, K_l) float64
        r : (K_L,) float64
        batch : Batch
        local : Locals
            On the CPU, or those that :meth:`redraw` returned.
        at : Address
        plan : SweepPlan
        """
        topics, docs = self.load_topics(phi, r), self.load_documents(batch)
        old = self.load_locals(local, topics.widths)
        new = DeviceLocals(old.topics, tuple(map(self.device.copy, old.theta)), self.device.copy(old.c))
        run = _Sweep(self, topics, docs, at)
        last = plan.burn_in + plan.collect
        for sweep in range(1, last + 1):
            new = run.sweep(new, sweep, draws_rates=sweep >= plan.first_rates, keep=sweep == last)
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
            self.q = reserve((n,), np.int64)
            self.words = make((topics.phi.shape[0], widths[0]), np.int32)
            self.tables = tuple(make(pair, np.int32) for pair in itertools.pairwise(widths))
            self.top = make((1, widths[-1]), np.int32)

    def sweep(self, local: DeviceLocals, sweep: int, *, draws_rates: bool, keep: bool) -> DeviceLocals:
        """Draw the topics of tokens, the tables of every layer, and the rates; the activations are left."""
        new = self.device.reserve((self.docs.n_tokens,), np.uint16)
        topics, docs, widths = self.topics, self.docs, self.topics.widths
        one = len(widths) == 1
        above = (self.none, self.none) if one else (topics.columns[0], local.theta[0])
        self._launch(
            "tokens", (self.pad(widths[0]), self.pad(1 if one else widths[1])), 0, sweep, docs.starts, docs.words,
            local.topics, new, topics.phi, *above, topics.r, keep, self.words,
        )  # fmt: skip
        local = local._replace(topics=new)
        for layer in range(len(widths)):
            self._send_tables(local, layer, sweep, keep=keep)
        for layer, theta in enumerate(local.theta):
            self.device.launch("sums", docs.n_documents, theta, widths[layer + 1], layer, self.sums)
        self.device.launch(
            "rates", docs.n_documents, self.hyper, self.at.seed, self.at.purpose + _STAGE, self._number(sweep),
            docs.numbers, docs.starts, self.sums, topics.r_total, draws_rates, local.c, self.scales, self.q,
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
