"""The ``topiary`` command, also as ``python -m topiary``."""

import os
import sys

SERVERS = ("serve", "demo")


def main() -> int:
    """Run the command line and return its exit status.

    The worker of a new run starts at once, as both processes load modules for a second.
    """
    if sys.argv[1:2] == ["train"] and not {"-h", "--help"} & set(sys.argv):
        from topiary.app.jobs.process import start_worker_ahead

        start_worker_ahead()
    from topiary.app.cli.main import main as run

    status = run()
    if sys.argv[1:2] and sys.argv[1] in SERVERS:
        leave(status)
    return status


def leave(status: int) -> None:
    """End this process immediately.

    A server has closed everything by now.  Python would still wait for threads that compute something for a page and
    delete a million objects, which takes seconds, and a quarter of a minute on a busy machine.
    """
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    os._exit(status)


if __name__ == "__main__":
    sys.exit(main())
