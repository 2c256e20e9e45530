"""The launches of one step on a device: kernels over documents, and the arrays that they fill."""

import itertools
from math import prod
from typing import Any, NamedTuple

import numpy as np

from topiary.engine.contract import Array
from topiary.engine.gibbs.collapsed import SEATS
from topiary.engine.gibbs.local import SweepSums
from topiary.engine.gibbs.upper import Hyper
from topiary.engine.gpu.devices import Device, DeviceArray, DeviceLocals
from topiary.engine.gpu.layers import SLOTS
from topiary.engine.streams import Address

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


class StepCounts(NamedTuple):
    """Counts of the kept sweeps of a step on a device, which all its documents share.

    ``words`` (V, K_1), ``tables`` (K_{l-1}, K_l) of every layer above, and ``top`` (1, K_L), all int32; ``q`` (1,
    :data:`engine.gpu.layers.SLOTS`) int64, parts of a sum.
    """

    words: Any
    tables: tuple[Any, ...]
    top: Any
    q: Any


class ScoredCells(NamedTuple):
    """Cells of documents on a device: ``starts`` (documents + 1,), ``words``, and sums of ``rates`` and ``totals``."""

    starts: Any
    words: Any
    rates: Any
    totals: Any


class DeviceMeans(NamedTuple):
    """Sums on a device, (documents, padded K_l): ``first`` and ``counts`` of layer 1, ``theta`` of the layers above."""

    first: Any
    counts: Any
    theta: tuple[Any, ...]


def pad_width(device: Device, width: int) -> int:
    """Return the length of padded rows with ``width`` numbers."""
    step = 2 * device.lanes
    return -(-width // step) * step


def make_counts(device: Device, topics: DeviceTopics) -> StepCounts:
    """Return counts of 0."""
    widths, make = topics.widths, device.make
    return StepCounts(
        make((topics.phi.shape[0], widths[0]), np.int32),
        tuple(make(pair, np.int32) for pair in itertools.pairwise(widths)),
        make((1, widths[-1]), np.int32),
        make((1, SLOTS), np.int64),
    )


def wrap_counts(device: Device, counts: StepCounts) -> SweepSums:
    """Return the counts of a step; the tables of words and layers stay on the device until they are read."""
    n_cells = sum(prod(table.shape) for table in counts.tables)
    words: Any = DeviceArray(device.read, (counts.words,), counts.words.shape, lambda parts: parts[0])
    upper: Any = DeviceArray(device.read, counts.tables, (n_cells,), _join_tables)
    top = device.read(counts.top)[0].astype(np.int64)
    return SweepSums(words, upper, top, np.zeros((0, SEATS), np.int64), device.read(counts.q).sum())


def _join_tables(tables: list[Array]) -> Array:
    """Return the tables of the upper layers one after another, as :class:`engine.gibbs.local.SweepSums` has them."""
    return np.concatenate([np.zeros(0, np.int64), *(table.ravel() for table in tables)]).astype(np.int64)


class StepLaunches:
    """The launches of one step.

    Parameters
    ----------
    device : Device
    hyper : Hyper
    topics : DeviceTopics
    docs : DeviceDocuments
    at : Address
    swept : DeviceSwept, optional
        A sweep that the step continues; without one, counts begin at 0.
    """

    def __init__(
        self,
        device: Device,
        hyper: Hyper,
        topics: DeviceTopics,
        docs: DeviceDocuments,
        at: Address,
        swept: DeviceSwept | None = None,
    ) -> None:
        self.device, self.hyper = device, hyper
        self.topics, self.docs, self.at = topics, docs, at
        self.counts_top = True
        widths, make = topics.widths, self.device.make
        self.none = make((0, pad_width(self.device, 1)), np.float32)
        self.no_counts = make((0, 1), np.int32)
        if swept is not None:
            self.counts, self.scales = swept.counts, swept.scales
        else:
            n = docs.n_documents
            reserve = self.device.reserve
            self.counts = tuple(reserve((n, width), np.int32) for width in widths[1:])
            self.scales = reserve((n, len(widths)), np.float32)
            self.sums = reserve((n, max(1, len(widths) - 1)), np.float32)
            self.shared = make_counts(self.device, topics)

    def start_locals(self) -> DeviceLocals:
        """Return the start of a chain: theta = 1/K, rates of 1, topics in proportion to phi_vk."""
        n, widths, ones = self.docs.n_documents, self.topics.widths, self._fill_rows
        theta = tuple(ones(n, pad_width(self.device, width), 1.0 / width, width) for width in widths[1:])
        flat = ones(1, pad_width(self.device, widths[0]), 1.0, widths[0])
        return DeviceLocals(self.assign_tokens(flat, keep=False), theta, self.make_rates())

    def make_rates(self) -> Any:
        """Return the rates of every document at the start of a chain, 1."""
        n_layers = len(self.topics.widths)
        return self._fill_rows(self.docs.n_documents, n_layers, 1.0, n_layers)

    def sweep(self, local: DeviceLocals, sweep: int, *, draws_rates: bool, keep: bool) -> DeviceLocals:
        """Draw the topics of tokens, the tables of every layer, and the rates; the activations are left."""
        topics = self.topics
        above = (topics.columns[0], local.theta[0]) if local.theta else (self.none, self.none)
        local = local._replace(topics=self._draw_topics(local.topics, *above, topics.r, sweep=sweep, keep=keep))
        self._send_counts_up(local, sweep, draws_rates=draws_rates, keep=keep)
        return local

    def assign_tokens(self, theta: Any, *, keep: bool) -> Any:
        """Return topics of all tokens drawn in proportion to phi_vk theta_jk.

        ``theta`` has a row of layer 1 for every document, or one for all.
        """
        before = self.device.make((0,), np.uint16)
        return self._draw_topics(before, self.none, self.none, theta, sweep=0, keep=keep)

    def carry_counts(self, local: DeviceLocals) -> None:
        """Send the tables of every layer up from the topics of tokens, and count them; nothing else is drawn."""
        self._send_counts_up(local, 0, draws_rates=False, keep=True)

    def _send_counts_up(self, local: DeviceLocals, sweep: int, *, draws_rates: bool, keep: bool) -> None:
        """Draw the tables of every layer, and the rates if ``draws_rates``."""
        topics, docs, widths = self.topics, self.docs, self.topics.widths
        sends_top = keep and self.counts_top  # nothing is above the top layer: its tables are only counted
        for layer in range(len(widths) if sends_top else len(widths) - 1):
            self._send_tables(local, layer, sweep, keep=keep)
        for layer, theta in enumerate(local.theta):
            self.device.launch("sums", docs.n_documents, theta, widths[layer + 1], layer, self.sums)
        self.device.launch(
            "rates", docs.n_documents, self.hyper, self.at.seed, self.at.purpose + _STAGE, self._number(sweep),
            docs.numbers, docs.starts, self.sums, topics.r_total, draws_rates, keep, local.c, self.scales,
            self.shared.q,
        )  # fmt: skip

    def draw_activations(self, local: DeviceLocals, sweep: int) -> None:
        """Draw theta in place, from the top down."""
        topics, widths = self.topics, self.topics.widths
        for layer in range(len(widths) - 1, 0, -1):
            top = layer == len(widths) - 1
            above = (self.none, self.none) if top else (topics.columns[layer], local.theta[layer])
            sizes = pad_width(self.device, widths[layer]), pad_width(self.device, 1 if top else widths[layer + 1])
            self._launch(
                "activations", sizes, len(widths) + 1 + layer, sweep, *above, topics.r,
                self.counts[layer - 1], self.scales, layer, local.theta[layer - 1],
            )  # fmt: skip

    def rate_cells(self, local: DeviceLocals, scored: ScoredCells) -> None:
        """Add the rates of the scored cells of all documents under their local variables."""
        self._launch_kept("cells", local, self.topics.phi, local.c, *scored)

    def place_documents(self, local: DeviceLocals, share: float, means: DeviceMeans) -> None:
        """Add ``share`` times the activations of all documents, and their counts, to ``means``."""
        self._launch_kept("places", local, local.c, share, means.first, means.counts)
        for theta, out in zip(local.theta, means.theta, strict=True):
            self.device.launch("add", self.docs.n_documents, theta, share, out)

    def _draw_topics(self, before: Any, columns: Any, theta: Any, r: Any, *, sweep: int, keep: bool) -> Any:
        """Return new topics of all tokens; ``r`` are the shapes of layer 1 if there is nothing above."""
        topics, docs = self.topics, self.docs
        new = self.device.reserve((docs.n_tokens,), np.uint16)
        sizes = pad_width(self.device, topics.widths[0]), theta.shape[1]
        self._launch(
            "tokens", sizes, 0, sweep, docs.starts, docs.words, before, new, topics.phi, columns, theta, r, keep,
            self.shared.words,
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
            size, above, new, table = pad_width(self.device, 1), (self.none, self.none), self.no_counts, self.shared.top
        else:
            size, above = pad_width(self.device, widths[layer + 1]), (topics.weights[layer], local.theta[layer])
            new, table = self.counts[layer], self.shared.tables[layer]
        self._launch(
            "tables", (widths[layer], size), layer + 2, sweep, docs.starts, local.topics, counts,
            *above, topics.r, new, keep, table,
        )  # fmt: skip

    def _launch_kept(self, kernel: str, local: DeviceLocals, *arguments: Any) -> None:
        """Run a kernel that draws nothing, after the prior shapes of layer 1."""
        topics, docs = self.topics, self.docs
        above = (topics.columns[0], local.theta[0]) if local.theta else (self.none, self.none)
        sizes = pad_width(self.device, topics.widths[0]), above[1].shape[1]
        self.device.launch(
            kernel, docs.n_documents, sizes, docs.order, docs.starts, local.topics, *above, topics.r, *arguments
        )

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
