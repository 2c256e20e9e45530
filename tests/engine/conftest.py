"""What every test of the engine shares."""

from collections.abc import Iterator

import numba
import numpy as np
import pytest


@pytest.fixture(autouse=True)
def _wrapping_numbers() -> Iterator[None]:
    """Let 64-bit numbers wrap around without a warning where the compiler is off, as they do compiled."""
    with np.errstate(over="ignore" if numba.config.DISABLE_JIT else "warn"):
        yield
