"""What every test of the engine shares."""

import warnings

import numba
import pytest


@pytest.fixture(autouse=True)
def _numbers_as_compiled() -> None:
    """Where the compiler is off, let numbers wrap around and divide by zero in silence, as they do compiled."""
    if numba.config.DISABLE_JIT:
        warnings.simplefilter("ignore", RuntimeWarning)
