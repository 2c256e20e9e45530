"""What Dask loads first in the processes that serve somebody at a terminal of this machine."""

import signal


def dask_setup(worker: object) -> None:  # noqa: ARG001 - as Dask calls it
    """Leave Ctrl-C to the process that started this one, and ends it; here it would only print where it came."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
