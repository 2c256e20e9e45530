"""Memory of a device that blocks of documents use in turn."""

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from engine.gpu.memory import ALIGNED, DeviceError


class Buffers:
    """Pieces of memory of a device, of which one is in use at a time, or none.

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
