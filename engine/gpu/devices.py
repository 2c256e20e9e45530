"""Processors on which documents can be swept, and arrays that stay there between the steps of a run."""

import weakref
from collections.abc import Callable
from math import prod
from typing import Any, NamedTuple, Protocol

import numpy as np

from topiary.engine.contract import Array
from topiary.engine.gpu import kept, layers, tokens, topics

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
    """

    lanes: int

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
        fitting = [i for i, memory in enumerate(self._spare) if size <= len(memory) <= size + size // 4]
        memory = self._spare.pop(fitting[0]) if fitting else self._reserve(size)
        array = memory[:size].view(dtype).reshape(shape)
        weakref.finalize(array, self._take_back, memory).atexit = False
        return array

    def clear(self) -> None:
        """Give up the memory that no array uses."""
        self._spare.clear()

    def _take_back(self, memory: Any) -> None:
        self._spare.append(memory)
        del self._spare[: -self.MOST]


class OneLane:
    """The CPU as a device with one lane: proves the kernels where there is no graphics processor."""

    lanes = 1

    def load(self, array: Array) -> Array:
        """Return a copy of an array."""
        return np.array(array, order="C")

    def make(self, shape: tuple[int, ...], dtype: Any) -> Array:
        """Return zeros."""
        return np.zeros(shape, dtype)

    def reserve(self, shape: tuple[int, ...], dtype: Any) -> Array:
        """Return an array whose numbers are not set."""
        return np.empty(shape, dtype)

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


def read_fields(state: Any, *names: str) -> Any:
    """Return a state with the named arrays read if they are on a device."""
    values = {name: getattr(state, name) for name in names}
    held = {name: read_arrays(value) for name, value in values.items() if _is_held(value)}
    return state._replace(**held) if held else state


def _is_held(value: Any) -> bool:
    """Return whether an array, or one of several, is on a device."""
    return isinstance(value, DeviceArray) or (isinstance(value, tuple) and any(map(_is_held, value)))


class DeviceLocals(NamedTuple):
    """Local variables of documents on a device: ``topics``, ``theta`` of every layer above layer 1, and ``c``."""

    topics: Any
    theta: tuple[Any, ...]
    c: Any
