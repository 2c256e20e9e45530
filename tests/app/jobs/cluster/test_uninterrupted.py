"""Processes that serve somebody at a terminal leave Ctrl-C to the one that started them."""

import signal

from app.jobs.cluster import uninterrupted


def test_an_interrupt_is_ignored():
    before = signal.getsignal(signal.SIGINT)
    try:
        uninterrupted.dask_setup(None)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
