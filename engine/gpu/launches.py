"""The launches of one step on a device: kernels over documents, and the arrays that they fill.

Moves of the topics of whole layers on a device, from the counts that sweeps left there.
"""

import itertools
from math import prod
from typing import Any, NamedTuple, cast

import numpy as np

from topiary.engine.contract import Array, FloatArray
from topiary.engine.gibbs import augment
from topiary.engine.gibbs.collapsed import SEATS
from topiary.engine.gibbs.local import FINEST, LayerCounts, Sampler, SweepSums
from topiary.engine.gibbs.upper import Hyper
from topiary.engine.gpu import topics
from topiary.engine.gpu.devices import Device, DeviceArray, DeviceLocals
from topiary.engine.gpu.layers import SLOTS
from topiary.engine.pool import Pool
from topiary.engine.streams import Address
from topiary.engine.topic_moves import diffusion, dirichlet
from topiary.engine.topic_moves.rows import LayerAddress
from topiary.engine.topic_moves.steps import TopicMean, TopicMoves

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


class MovedTopics(DeviceArray):
    """The topics of a layer on a device, (K_{l-1}, K_l) float64 when they are read.

    Attributes
    ----------
    rows, columns : Any
        The same in single precision, as :class:`engine.gpu.launches.DeviceTopics` has them; no columns for layer 1.
    """

    def __init__(self, device: Device, phi: Any, rows: Any, columns: Any) -> None:
        super().__init__(device.read, (phi,), phi.shape, _take_first)
        self.rows, self.columns = rows, columns


class CountTable(NamedTuple):
    """Counts of a layer on a device: ``counts`` (K_{l-1}, K_l) int32, times ``factor``; ``totals`` sums the columns."""

    counts: Any
    factor: float
    totals: Any


class DeviceMoves(TopicMoves):
    """The moves of whole layers of topics on a device; what they take and return stays there until it is read.

    Parameters
    ----------
    device : Device
    pool : Pool
        Threads of the processor, for what is not moved on the device.
    """

    def __init__(self, device: Device, pool: Pool) -> None:
        super().__init__(pool)
        self.device = device

    def scale_counts(
        self, sampler: Sampler, phi: tuple[Array, ...], r: FloatArray, at: Address, sums: SweepSums, factor: float
    ) -> LayerCounts:
        """Return counts of sweeps that are on the device as tables of every layer, times a factor."""
        words, upper = cast(DeviceArray, sums.words), cast(DeviceArray, sums.upper)
        tables: list[Any] = [self.make_table(part, factor) for part in (*words.parts, *upper.parts)]
        return LayerCounts(tables, sums.top * factor, float(sums.q) * FINEST * factor)

    def make_table(self, counts: Any, factor: float = 1.0) -> CountTable:
        """Return the table of a layer, whose counts are on the device."""
        return CountTable(counts, factor, self._sum_columns(counts))

    def sum_columns(self, table: CountTable) -> FloatArray:  # type: ignore[override]
        """Return the sum of every column of a table, (K_l,)."""
        return self.device.read(table.totals) * table.factor

    def draw_topics(self, table: CountTable, eta: float, at: LayerAddress) -> MovedTopics:  # type: ignore[override]
        """Return a draw of every topic of a layer, ``phi_k ~ Dir(eta + x_k)``."""
        none = np.zeros(0)
        return self._draw(table, eta, at, self.device.load(none), self.device.load(none.reshape(0, 0)), None)

    def step_topics(  # type: ignore[override]
        self, simplex: str, phi: Array, table: CountTable, eta: float, scale: FloatArray, eps: float, at: LayerAddress
    ) -> MovedTopics:
        """Return the topics of a layer after a step of SG-MCMC; arguments as in ``diffusion.step_langevin``."""
        totals, old = self.sum_columns(table), self._find(phi, np.float64)
        if simplex != "exact":
            plan = diffusion.plan_langevin(totals, eta, old.shape[0], scale, eps)
            return self._step(table, eta, at, old, plan, reflect=simplex == "reflect")
        rates, moved = diffusion.find_kept_rates(totals, eta, old.shape[0], scale, eps)
        return self._draw(table, eta, at, self.device.load(rates), old, moved)

    def update_mean(self, mean: TopicMean, sample: Any, eta: float, memory: int) -> tuple[TopicMean, Array]:
        """Return the running mean of a layer with one more sample, counts or topics, and the sample's weight in it."""
        if isinstance(sample, CountTable):
            numbers, factor, totals = sample
        else:
            numbers, factor = sample.parts[0], 1.0
            totals = self._sum_columns(numbers)
        old, samples = self._find(mean.phi, np.float32), self._find(mean.samples, np.int32)
        variance = self._find(mean.variance if len(mean.variance) else np.zeros(old.shape), np.float32)
        reserve, (n_rows, n_topics) = self.device.reserve, old.shape
        inverse, spread, weight = (reserve((n_topics,), np.float64) for _ in range(3))
        self.device.launch("scale", n_topics, totals, factor, float(eta), n_rows, inverse, spread)
        sums = self._make_sums(old.shape)
        self.device.launch("overlaps", sums.size, old, numbers, factor, float(eta), inverse, sums)
        n_samples, new, new_variance = (
            reserve((n_topics,), np.int32), reserve(old.shape, np.float32), reserve(old.shape, np.float32)
        )  # fmt: skip
        self.device.launch("weigh", n_topics, self._add_blocks(sums), inverse, samples, memory, n_samples, weight)
        self.device.launch(
            "mix", old.size, old, variance, numbers, factor, float(eta), inverse, spread, weight, new, new_variance
        )
        return TopicMean(self._wrap(new), self._wrap(n_samples), self._wrap(new_variance)), self._wrap(weight)

    def _draw(
        self, table: CountTable, eta: float, at: LayerAddress, rates: Any, old: Any, moved: Array | None
    ) -> MovedTopics:
        """Draw the topics of a layer; those not ``moved`` stay as ``old``."""
        new = self.device.reserve(table.counts.shape, np.float64)
        in_logs = eta * new.shape[0] < dirichlet.SAFE
        self.device.launch(
            "draws", new.size, at.seed, at.step, at.layer, table.counts, table.factor, float(eta),
            augment.find_root(eta), rates, old, in_logs, new,
        )  # fmt: skip
        if in_logs:
            largest = self.device.reserve((new.shape[1],), np.float64)
            self.device.launch("largest", new.shape[1], new, largest)
            self.device.launch("raise", new.size, largest, new)
        return self._divide(new if moved is None else old, new, moved, is_first=at.layer == 0)

    def _step(
        self, table: CountTable, eta: float, at: LayerAddress, old: Any, plan: diffusion.LangevinPlan, *, reflect: bool
    ) -> MovedTopics:
        """Take a Langevin step of the topics of a layer."""
        new, load = self.device.reserve(old.shape, np.float64), self.device.load
        self.device.launch(
            "propose", new.size, at.seed, at.step, at.layer, old, table.counts, table.factor, float(eta),
            load(plan.pull), load(plan.steps), new,
        )  # fmt: skip
        self.device.launch("project", new.size, old, self._sum_columns(new), reflect, new)
        return self._divide(old, new, plan.steps > 0.0, is_first=at.layer == 0)

    def _divide(self, old: Any, new: Any, moved: Array | None, *, is_first: bool) -> MovedTopics:
        """Divide the columns of ``new`` by their sums, in place, and return them with their copies for sweeps."""
        (n_rows, n_topics), make = new.shape, self.device.make
        rows = make((n_rows, pad_width(self.device, n_topics)), np.float32)
        columns = make((0 if is_first else n_topics, pad_width(self.device, n_rows)), np.float32)
        flags = self.device.load(np.ones(n_topics, np.bool_) if moved is None else moved)
        self.device.launch("divide", new.size, self._sum_columns(new), flags, old, new, rows, columns)
        return MovedTopics(self.device, new, rows, columns)

    def _sum_columns(self, table: Any) -> Any:
        """Return the sum of every column of a table, on the device."""
        sums = self._make_sums(table.shape)
        self.device.launch("blocks", sums.size, table, sums)
        return self._add_blocks(sums)

    def _make_sums(self, shape: tuple[int, ...]) -> Any:
        """Return room for the column sums of every block of rows."""
        return self.device.reserve((-(-shape[0] // topics.BLOCK), shape[1]), np.float64)

    def _add_blocks(self, sums: Any) -> Any:
        """Return the sums over all blocks."""
        totals = self.device.reserve((sums.shape[1],), np.float64)
        self.device.launch("totals", sums.shape[1], sums, totals)
        return totals

    def _find(self, array: Any, dtype: Any) -> Any:
        """Return an array on the device: the one that is there, or a copy."""
        if isinstance(array, DeviceArray):
            return array.parts[0]
        return self.device.load(np.ascontiguousarray(array, dtype))

    def _wrap(self, array: Any) -> Any:
        """Return an array that stays on the device until it is read."""
        return DeviceArray(self.device.read, (array,), array.shape, _take_first)


def _take_first(parts: list[Array]) -> Array:
    """Return the only part of an array."""
    return parts[0]
