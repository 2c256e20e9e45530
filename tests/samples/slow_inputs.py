"""How the time of a reader grows with its input, for inputs that were made to keep it busy."""

import gc
import time
from collections.abc import Callable

LETTERS = 100_000  # of the larger input
_STEADY = 0.02  # seconds below which a time says nothing


def grows_slowly(read: Callable[[str], object], begin: str, piece: str = "", end: str = "") -> bool:
    """Return whether four times as much of ``piece`` (by default ``begin``) takes much less than 16 times as long."""
    begin, piece = (begin, piece) if piece else ("", begin)
    small, large = (
        _measure(read, begin + piece * (letters // len(piece)) + end) for letters in (LETTERS // 4, LETTERS)
    )
    return large < 9 * max(small, _STEADY)


def _measure(read: Callable[[str], object], text: str) -> float:
    gc.disable()  # it looks through what other tests left
    begun = time.process_time()
    try:
        read(text)
        return time.process_time() - begun
    finally:
        gc.enable()
