"""How fast a worker sweeps, from one question to the next."""

from types import SimpleNamespace

import numpy as np
import pytest

from app.jobs.cluster import pace
from app.jobs.cluster.pace import About, Pace


@pytest.fixture
def clock(monkeypatch):
    """A clock that a test sets."""
    now = SimpleNamespace(seconds=0.0)
    monkeypatch.setattr(pace.time, "perf_counter", lambda: now.seconds)
    return now


def test_tokens_and_seconds_are_those_of_sweeps_since_the_last_question(clock):
    docs = [SimpleNamespace(counts=np.array([1, 2, 3])), SimpleNamespace(counts=np.array([4]))]
    kept = Pace()
    for _ in range(2):
        with kept.sweep(docs):
            clock.seconds += 1.5
        clock.seconds += 10.0  # between sweeps
    assert kept.about(2, 99) == About(2, 20, 3.0, 99)
    assert kept.about(2, 99) == About(2, 0, 0.0, 99)
