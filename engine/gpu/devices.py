"""Processors on which documents can be swept, and arrays that stay there between the steps of a run."""

import weakref
from collections.abc import Callable
from math import prod
from typing import Any, NamedTuple, Protocol

import numpy as np

from topiary.engine.contract import Array
from topiary.engine.gpu import kept, layers, tokens, topics
from topiary.engine.gpu.memory import ALIGNED, DeviceError

GROUPED = {
    "tokens": tokens.sweep_tokens,
    "tables": layers.sweep_tables,
    "activations": layers.sweep_activations,
    "cells": kept.rate_cells,
    "places": kept.place_documents,
}
SINGLE = {
    "fill": layers.fill_rows,
    "sums": layers.sum_rows,
    "rates": layers.draw_rates,
    "add": kept.add_rows,
    "draws": topics.draw_entries,
    "largest": topics.find_largest,
    "raise": topics.raise_entries,
    "blocks": topics.sum_blocks,
    "totals": topics.add_blocks,
    "divide": topics.divide_entries,
    "propose": topics.propose_entries,
    "project": topics.project_entries,
    "scale": topics.scale_samples,
    "overlaps": topics.sum_overlaps,
    "weigh": topics.weigh_samples,
    "mix": topics.mix_samples,
}


class Device(Protocol):
    """A processor with its own memory.

    ``lanes`` work on one document together.  ``load`` copies an array to the device, ``make`` returns an array of zeros
    there, ``reserve`` one whose numbers are still to be written, ``read`` copies one back, ``launch`` runs a kernel
    over ``n`` documents, and ``count_used`` tells how much of the memory is in use.

    Documents that do not fit stream through two buffers of ``block`` bytes, None if all fit.  After ``use_buffer`` new
    arrays are in that buffer, and copies and kernels of the two buffers may overlap, until ``finish``.
    """

    lanes: int
    block: int | None

    def use_buffer(self, number: int, size: int) -> None:
        """Wait for the work of a buffer, 0 or 1, and use it, with at least ``size`` bytes, from its beginning."""

    def hold(self, shape: tuple[int, ...], dtype: Any) -> Array:
        """Return an array of the host, its numbers not set, from and to which copies are fast."""

    def store(self, array: Any, out: Array) -> None:
        """Copy an array of the device to one of the host, which has its numbers after :meth:`finish`."""

    def finish(self) -> None:
        """Wait for the work of both buffers, and use none from now on."""

    def load(self, array: Array) -> Any:
        """Return a copy of an array on the device."""

    def make(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """Return zeros on the device."""

    def reserve(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """Return an array on the device whose numbers are not set."""

    def copy(self, array: Any) -> Any:
        """Return a copy of an array of the device, on the device."""

    def read(self, array: Any) -> Array:
        """Return a NumPy array with the numbers of an array on the device."""

    def launch(self, kernel: str, n: int, *arguments: Any) -> None:
        """Run a kernel, named as in ``GROUPED`` and ``SINGLE``, over ``n`` documents, entries or columns."""

    def count_used(self) -> int:
        """Return the bytes of the memory of the device that are in use, by all programs."""


class Buffers:
    """Pieces of memory of a device that blocks of documents use in turn; one is in use at a time, or none.

    Parameters
    ----------
    reserve : callable
        Returns an array of so many bytes (uint8) in the memory of the device.
    """

    def __init__(self, reserve: Callable[[int], Any]) -> None:
        self._reserve = reserve
        self._memories: dict[int, Any] = {}
        self._memory: Any = None
        self._used = 0

    def use(self, number: int, size: int) -> None:
        """Take arrays from the buffer with this number from now on, from its beginning; it has ``size`` bytes."""
        if number not in self._memories or len(self._memories[number]) < size:
            self._memories.pop(number, None)
            self._memories[number] = self._reserve(size)
        self._memory, self._used = self._memories[number], 0

    def leave(self) -> None:
        """Take no more arrays from a buffer."""
        self._memory = None

    def take(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """Return an array in the buffer in use whose numbers are not set; None if there is none, or nothing in it.

        Raises
        ------
        DeviceError
            When the buffer is full.
        """
        size = prod(shape) * np.dtype(dtype).itemsize
        if self._memory is None or size == 0:
            return None
        end = self._used + size
        if end > len(self._memory):
            raise DeviceError("a block of documents is larger than its buffer on the graphics processor; report this")
        part = self._memory[self._used : end].view(dtype).reshape(shape)
        self._used = -(-end // ALIGNED) * ALIGNED
        return part


class SpareMemory:
    """Memory that is slow to reserve: what no array uses any more is given to later ones.

    Parameters
    ----------
    reserve : callable
        Returns an array of so many bytes (uint8).
    """

    MOST = 64  # unused pieces that are kept

    def __init__(self, reserve: Callable[[int], Any]) -> None:
        self._reserve = reserve
        self._spare: list[Any] = []

    def take(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """Return an array whose numbers are not set; parts of it are not to be used after it is gone."""
        size = prod(shape) * np.dtype(dtype).itemsize
        memory = self._find(size)
        array = memory[:size].view(dtype).reshape(shape)
        self._watch(array, memory)
        return array

    def clear(self) -> None:
        """Give up the memory that no array uses."""
        self._spare.clear()

    def _find(self, size: int) -> Any:
        """Return memory of this size, or up to a quarter larger."""
        fitting = [i for i, memory in enumerate(self._spare) if size <= len(memory) <= size + size // 4]
        return self._spare.pop(fitting[0]) if fitting else self._reserve(size)

    def _watch(self, user: Any, memory: Any) -> None:
        """Take memory back once the object that uses it is gone."""
        weakref.finalize(user, self._take_back, memory).atexit = False

    def _take_back(self, memory: Any) -> None:
        self._spare.append(memory)
        del self._spare[: -self.MOST]


class _Lease:
    """A piece of memory, as arrays of NumPy share it: all of them, and their parts, refer to this object."""

    def __init__(self, memory: Array) -> None:
        self.__array_interface__ = memory.__array_interface__


class HostMemory(SpareMemory):
    """Spare memory of the host, which also stays with parts of arrays."""

    def take(self, shape: tuple[int, ...], dtype: Any) -> Array:
        """Return an array whose numbers are not set."""
        size = prod(shape) * np.dtype(dtype).itemsize
        memory = self._find(size)
        lease = _Lease(memory)
        self._watch(lease, memory)
        whole: Array = np.asarray(lease)
        return whole[:size].view(dtype).reshape(shape)


class OneLane:
    """The CPU as a device with one lane: proves the kernels where there is no graphics processor."""

    lanes = 1

    def __init__(self, block: int | None = None) -> None:
        self.block = block
        self._buffers = Buffers(lambda size: np.empty(size, np.uint8))

    def load(self, array: Array) -> Array:
        """Return a copy of an array."""
        new = self.reserve(array.shape, array.dtype)
        new[...] = array
        return new

    def make(self, shape: tuple[int, ...], dtype: Any) -> Array:
        """Return zeros."""
        new = self.reserve(shape, dtype)
        new[...] = 0
        return new

    def reserve(self, shape: tuple[int, ...], dtype: Any) -> Array:
        """Return an array whose numbers are not set."""
        part: Array | None = self._buffers.take(shape, dtype)
        return np.empty(shape, dtype) if part is None else part

    def use_buffer(self, number: int, size: int) -> None:
        """Use a buffer from its beginning."""
        self._buffers.use(number, size)

    def hold(self, shape: tuple[int, ...], dtype: Any) -> Array:
        """Return an array whose numbers are not set."""
        return np.empty(shape, dtype)

    def store(self, array: Array, out: Array) -> None:
        """Copy an array."""
        out[...] = array

    def finish(self) -> None:
        """Use no buffer from now on."""
        self._buffers.leave()

    def copy(self, array: Array) -> Array:
        """Return a copy of an array."""
        return array.copy()

    def read(self, array: Array) -> Array:
        """Return a copy of an array."""
        return array.copy()

    def launch(self, kernel: str, n: int, *arguments: Any) -> None:  # noqa: ARG002 - kernels loop over all documents
        """Run a kernel over all documents."""
        (GROUPED.get(kernel) or SINGLE[kernel])(*arguments)

    def count_used(self) -> int:
        """Return 0: what this process uses is not known by array."""
        return 0


class DeviceArray:
    """An array whose numbers are on a device until ``np.asarray`` has them read and joined.

    A slice of its rows is a NumPy array, for which nothing else is read.

    Attributes
    ----------
    parts : tuple
        The arrays that it consists of.
    shape : tuple of int
    """

    def __init__(
        self,
        read: Callable[[Any], Array],
        parts: tuple[Any, ...],
        shape: tuple[int, ...],
        join: Callable[[list[Array]], Array],
    ) -> None:
        self.parts = parts
        self.shape = shape
        self._read, self._join = read, join
        self._value: Array | None = None

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice) -> Array:
        is_cut_by_rows = self.parts and all(len(part) == len(self) for part in self.parts)
        if self._value is not None or not is_cut_by_rows:
            return np.asarray(self)[rows]
        return self._join([self._read(part[rows]) for part in self.parts])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        if self._value is None:
            self._value = self._join([self._read(part) for part in self.parts])
        return np.array(self._value, dtype=dtype, copy=copy)


def read_arrays(value: Any) -> Any:
    """Return a tuple of arrays, such as statistics, with those on a device read, so that it can leave this process."""
    if isinstance(value, DeviceArray):
        return np.asarray(value)
    if not isinstance(value, tuple):
        return value
    parts = map(read_arrays, value)
    return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)


class DeviceLocals(NamedTuple):
    """Local variables of documents on a device: ``topics``, ``theta`` of every layer above layer 1, and ``c``."""

    topics: Any
    theta: tuple[Any, ...]
    c: Any
