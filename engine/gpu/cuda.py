"""An NVIDIA graphics processor as a device, by numba-cuda; importing this module loads CUDA.

The kernels are copies of those for one lane, whose operations are exchanges between the lanes of a warp here.  Lanes of
several documents share a warp and always make the same turns of a loop, so that every exchange is of the whole warp.
Numbers are those of IEEE arithmetic, so that the same seed gives the same bits on any card.
"""

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import numpy as np
from numba import cuda, float32, int32, uint64
from numba.cuda.cudadrv.driver import device_memset
from numba.cuda.cudadrv.error import CudaDriverError, CudaSupportError

from topiary.engine import streams
from topiary.engine.contract import Array
from topiary.engine.gibbs import augment, latent
from topiary.engine.gpu import devices, draws, kept, lanes, layers, relink, tokens, topics, warp
from topiary.engine.gpu.memory import FEW, DeviceError, explain_failure
from topiary.engine.gpu.tokens import LaneDesk
from topiary.engine.gpu.warp import WARP

MOST_SHARED = 48 * 1024  # bytes of memory that the groups of a block share


def make_lanes(n_lanes: int) -> ModuleType:
    """Return the operations of groups of ``n_lanes`` lanes of a warp, in the place of :mod:`engine.gpu.lanes`."""
    module = relink.copy_module(lanes, {}, _compile, warp)
    module.LANES = n_lanes  # type: ignore[attr-defined]
    return module


class CudaDevice:
    """The current graphics processor, with groups of ``lanes`` lanes for each document."""

    def __init__(self, n_lanes: int) -> None:
        self.lanes = n_lanes
        self._memory = devices.SpareMemory(self._reserve_bytes)
        self._none: Any = None
        self._bodies = KernelBodies(n_lanes)
        self._kernels: dict[tuple[Any, ...], Any] = {}

    def load(self, array: Array) -> Any:
        """Return a copy of an array in the memory of the device."""
        with explain_errors():
            new = self.reserve(array.shape, array.dtype)
            new.copy_to_device(np.ascontiguousarray(array))
        return new

    def make(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """Return zeros in the memory of the device."""
        with explain_errors():
            new = self.reserve(shape, dtype)
            if new.size:
                device_memset(new, 0, new.nbytes)
        return new

    def reserve(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """Return an array in the memory of the device whose numbers are not set."""
        with explain_errors():
            if 0 in shape:
                return cuda.device_array(shape, dtype)
            return self._memory.take(shape, dtype)

    def copy(self, array: Any) -> Any:
        """Return a copy of an array of the device."""
        if array.size == 0:
            return array
        with explain_errors():
            new = self._memory.take(array.shape, array.dtype)
            new.copy_to_device(array)
        return new

    def read(self, array: Any) -> Array:
        """Return the numbers of an array of the device."""
        with explain_errors():
            return array.copy_to_host()

    def launch(self, kernel: str, n: int, *arguments: Any) -> None:
        """Start a kernel over ``n`` documents; it runs after those started before."""
        if n == 0:  # which a driver refuses
            return
        with explain_errors():
            if kernel in devices.SINGLE:
                self._find_kernel((kernel,))[-(-n // 128), 128](*arguments)
            else:
                self._launch_groups(kernel, n, *arguments)

    def count_used(self) -> int:
        """Return the bytes of the memory of the device that are in use, by all programs."""
        with explain_errors():
            free, total = cuda.current_context().get_memory_info()
        return int(total - free)

    def _reserve_bytes(self, size: int) -> Any:
        """Reserve memory of the device, if need be in the place of memory that no array uses."""
        try:
            return cuda.device_array((size,), np.uint8)
        except CudaDriverError:
            self._memory.clear()
            return cuda.device_array((size,), np.uint8)

    def _launch_groups(self, kernel: str, n: int, sizes: tuple[int, int], *arguments: Any) -> None:
        """Start a kernel in which a group of lanes works on each document."""
        memory = 4 * count_words(kernel, sizes)
        groups = 1 if n < FEW else max(1, min(128 // self.lanes, MOST_SHARED // memory))
        threads = max(WARP, groups * self.lanes // WARP * WARP)
        groups = threads // self.lanes
        compiled = self._find_kernel((kernel, *sizes))
        if self._none is None:
            self._none = cuda.device_array((0, 1), np.uint64)
        viewed = view_pairs(kernel, compiled.py_func, arguments, self._none)
        compiled[-(-n // groups), threads, 0, memory * groups](*viewed)  # 0: the default stream

    def _find_kernel(self, key: tuple[Any, ...]) -> Any:
        """Return a compiled kernel for rows of these lengths."""
        if key not in self._kernels:
            self._kernels[key] = cuda.jit(self._bodies.make_entry(*key))
        return self._kernels[key]


PAIRED = {  # arguments that lanes read in pairs
    "tokens": {"phi", "columns", "theta", "r"},
    "tables": {"weights", "theta"},
    "activations": {"columns", "above_theta", "r"},
    "cells": {"phi", "columns", "theta", "r"},
    "places": {"columns", "theta", "r"},
}


def view_pairs(kernel: str, entry: Any, arguments: tuple[Any, ...], none: Any) -> list[Any]:
    """Return the arguments of a kernel with rows that are read in pairs as numbers of 64 bits; ``none`` has no rows."""
    names = inspect.signature(entry).parameters
    return [
        value if name not in PAIRED[kernel] else value.view(np.uint64) if value.shape[0] else none
        for name, value in zip(names, arguments, strict=True)
    ]


def count_words(kernel: str, sizes: tuple[int, int]) -> int:
    """Return the memory of a group of lanes in a kernel, in numbers of 4 bytes; the next group begins after it."""
    n = 3 * sizes[0] + sizes[1] if kernel == "tables" else 2 * max(sizes)
    return -(-n // 4) * 4


@contextmanager
def explain_errors() -> Iterator[None]:
    """Turn an error of CUDA into one sentence."""
    try:
        yield
    except (CudaDriverError, CudaSupportError) as error:
        text = " ".join(str(error).split())
        raise DeviceError(explain_failure(text)) from error


class KernelBodies:
    """The modules of the kernels, compiled for groups of ``n_lanes`` lanes."""

    def __init__(self, n_lanes: int) -> None:
        self.n_lanes, self.lanes = n_lanes, make_lanes(n_lanes)
        replaced = {lanes: self.lanes}
        self.streams = relink.copy_module(streams, replaced, _compile)
        self.draws = relink.copy_module(draws, replaced, _compile)
        self.tokens = relink.copy_module(tokens, replaced, _compile)
        self.layers = relink.copy_module(layers, replaced, _compile)
        self.kept = relink.copy_module(kept, replaced, _compile)
        for module in (augment, latent):
            relink.copy_module(module, replaced, _compile)
        self.topics = relink.copy_module(topics, replaced, _compile)

    def make_entry(self, kernel: str, *sizes: int) -> Any:
        """Return the function of a kernel; ``sizes`` are the lengths of rows, for which it is compiled."""
        if kernel in devices.SINGLE:
            function = devices.SINGLE[kernel]
            module = {kept.__name__: self.kept, topics.__name__: self.topics}.get(function.__module__, self.layers)
            return getattr(module, function.__name__).py_func
        makers = {
            "tokens": self._make_tokens,
            "tables": self._make_tables,
            "activations": self._make_activations,
            "cells": self._make_cells,
            "places": self._make_places,
        }
        return makers[kernel](*sizes)

    def _count_memory(self, kernel: str, size: int, above_size: int) -> tuple[int, int, int]:
        """Return the memory of a group as :func:`count_words` does, and of how many topics of each row a lane has."""
        return count_words(kernel, (size, above_size)), size // self.n_lanes, above_size // self.n_lanes

    def _make_tokens(self, first_size: int, second_size: int) -> Any:
        """Return the kernel of :func:`engine.gpu.tokens.sweep_tokens`."""
        body, locate, start_lane = self.tokens, self.lanes.locate, self.draws.start_lane
        n_words, n_first, n_second = self._count_memory("tokens", first_size, second_size)

        def sweep_tokens(
            seed: int, purpose: int, step: int, order: Any, numbers: Any, starts: Any, words: Any, topics: Any,
            new: Any, phi: Any, columns: Any, theta: Any, r: Any, keep: bool, table: Any,
        ) -> None:  # fmt: skip
            lane, j, is_document, base = locate(order, n_words)
            floats, ints = cuda.shared.array(0, float32), cuda.shared.array(0, int32)
            pairs = cuda.shared.array(0, uint64)
            prior, row = cuda.local.array(n_first, float32), cuda.local.array(n_first, float32)
            sums, above = cuda.local.array(n_first, float32), cuda.local.array(n_second, float32)
            first = starts[j]
            n_tokens = starts[j + 1] - first if is_document else 0
            rng = start_lane(seed, purpose, step, numbers[j], lane)
            desk = LaneDesk(prior, row, above, floats, ints, base)
            body.set_prior(j, lane, columns, theta, r, desk)
            body.count_topics(topics, first, n_tokens, lane, ints, base, first_size)
            body.draw_document(
                rng, first, n_tokens, lane, words, topics, new, phi, keep, table, sums, pairs, desk,
            )  # fmt: skip

        return sweep_tokens

    def _make_tables(self, width: int, size: int) -> Any:
        """Return the kernel of :func:`engine.gpu.layers.sweep_tables`."""
        body, locate, start_lane = self.layers, self.lanes.locate, self.draws.start_lane
        count_topics = self.tokens.count_topics
        n_words, _, n_above = self._count_memory("tables", width, size)

        def sweep_tables(
            seed: int, purpose: int, step: int, order: Any, numbers: Any, starts: Any, topics: Any, counts: Any,
            weights: Any, theta: Any, r: Any, new: Any, keep: bool, table: Any,
        ) -> None:  # fmt: skip
            lane, j, is_document, base = locate(order, n_words)
            ints = cuda.shared.array(0, int32)
            above, sums = cuda.local.array(n_above, float32), cuda.local.array(n_above, float32)
            rng = start_lane(seed, purpose, step, numbers[j], lane)
            if len(counts) == 0:
                n_tokens = starts[j + 1] - starts[j] if is_document else 0
                count_topics(topics, starts[j], n_tokens, lane, ints, base, width)
            else:
                body.load_counts(counts, j, is_document, lane, ints, base, width)
            if len(weights) == 0:
                body.raise_top(rng, lane, width, r, keep, table, ints, base)
            else:
                body.raise_tables(
                    rng, j, is_document, lane, width, weights, theta, new, keep, table, above, sums, ints, base
                )

        return sweep_tables

    def _make_activations(self, size: int, above_size: int) -> Any:
        """Return the kernel of :func:`engine.gpu.layers.sweep_activations`."""
        body, locate, start_lane = self.layers, self.lanes.locate, self.draws.start_lane
        set_prior = self.tokens.set_prior
        n_words, n_own, n_above = self._count_memory("activations", size, above_size)

        def sweep_activations(
            seed: int, purpose: int, step: int, order: Any, numbers: Any, columns: Any, above_theta: Any, r: Any,
            counts: Any, scales: Any, layer: int, theta: Any,
        ) -> None:  # fmt: skip
            lane, j, is_document, base = locate(order, n_words)
            floats, ints = cuda.shared.array(0, float32), cuda.shared.array(0, int32)
            shapes, row = cuda.local.array(n_own, float32), cuda.local.array(n_own, float32)
            above = cuda.local.array(n_above, float32)
            rng = start_lane(seed, purpose, step, numbers[j], lane)
            desk = LaneDesk(shapes, row, above, floats, ints, base)
            set_prior(j, lane, columns, above_theta, r, desk)
            body.draw_activations(rng, j, is_document, lane, counts, scales[j, layer], theta, desk)

        return sweep_activations

    def _make_cells(self, first_size: int, second_size: int) -> Any:
        """Return the kernel of :func:`engine.gpu.kept.rate_cells`."""
        body, locate = self.kept, self.lanes.locate
        set_prior, count_topics = self.tokens.set_prior, self.tokens.count_topics
        n_words, n_first, n_second = self._count_memory("cells", first_size, second_size)

        def rate_cells(
            order: Any, starts: Any, topics: Any, columns: Any, theta: Any, r: Any, phi: Any, c: Any,
            cell_starts: Any, words: Any, cells: Any, totals: Any,
        ) -> None:  # fmt: skip
            lane, j, is_document, base = locate(order, n_words)
            floats, ints = cuda.shared.array(0, float32), cuda.shared.array(0, int32)
            shapes, row = cuda.local.array(n_first, float32), cuda.local.array(n_first, float32)
            above = cuda.local.array(n_second, float32)
            n_tokens = starts[j + 1] - starts[j] if is_document else 0
            set_prior(j, lane, columns, theta, r, LaneDesk(shapes, row, above, floats, ints, base))
            count_topics(topics, starts[j], n_tokens, lane, ints, base, first_size)
            p = float32(1.0) / (float32(1.0) + c[j, 0])
            body.rate_document(
                j, is_document, lane, cell_starts, words, phi, p, shapes, row, ints, base, cells, totals
            )  # fmt: skip

        return rate_cells

    def _make_places(self, first_size: int, second_size: int) -> Any:
        """Return the kernel of :func:`engine.gpu.kept.place_documents`."""
        body, locate = self.kept, self.lanes.locate
        set_prior, count_topics = self.tokens.set_prior, self.tokens.count_topics
        n_words, n_first, n_second = self._count_memory("places", first_size, second_size)

        def place_documents(
            order: Any, starts: Any, topics: Any, columns: Any, theta: Any, r: Any, c: Any, share: float, first: Any,
            counts: Any,
        ) -> None:  # fmt: skip
            lane, j, is_document, base = locate(order, n_words)
            floats, ints = cuda.shared.array(0, float32), cuda.shared.array(0, int32)
            shapes, row = cuda.local.array(n_first, float32), cuda.local.array(n_first, float32)
            above = cuda.local.array(n_second, float32)
            n_tokens = starts[j + 1] - starts[j] if is_document else 0
            set_prior(j, lane, columns, theta, r, LaneDesk(shapes, row, above, floats, ints, base))
            count_topics(topics, starts[j], n_tokens, lane, ints, base, first_size)
            p = float32(1.0) / (float32(1.0) + c[j, 0])
            body.place_document(j, is_document, lane, p, float32(share), shapes, ints, base, first, counts)

        return place_documents


def _compile(function: Any) -> Any:
    """Compile a function that kernels call, as part of them."""
    return cuda.jit(device=True, forceinline=True)(function)
