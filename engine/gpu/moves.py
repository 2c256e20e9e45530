"""Moves of the topics of whole layers on a device, from the counts that sweeps left there."""

from typing import Any, NamedTuple, cast

import numpy as np

from topiary.engine.contract import Array, FloatArray
from topiary.engine.gibbs import augment
from topiary.engine.gibbs.local import FINEST, LayerCounts, Sampler, SweepSums
from topiary.engine.gpu import topics
from topiary.engine.gpu.devices import Device, DeviceArray
from topiary.engine.gpu.launches import pad_width
from topiary.engine.pool import Pool
from topiary.engine.streams import Address
from topiary.engine.topic_moves import diffusion, dirichlet
from topiary.engine.topic_moves.averages import TopicMean
from topiary.engine.topic_moves.rows import LayerAddress
from topiary.engine.topic_moves.steps import TopicMoves


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
