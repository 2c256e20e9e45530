"""The ``topiary`` command, also as ``python -m topiary``."""

import os
import sys

from . import ShadowedError, refuse_shadows

MISTAKE = 2  # exit status of everything the user can put right
SERVERS = ("serve", "demo")


def main() -> int:
    """Run the command that the command line names, once nothing stands in its way."""
    try:
        refuse_shadows()
    except ShadowedError as error:
        if sys.stderr is not None:
            sys.stderr.write(f"topiary: {error}\n")
        return MISTAKE
    from app.cli.main import main as run

    status = run()
    if sys.argv[1:2] and sys.argv[1] in SERVERS:
        leave(status)
    return status


def leave(status: int) -> None:
    """End this process at once.

    A server has closed all it opened by then.  What else Python would do, wait for threads that compute something
    for a page and take a million objects apart, takes seconds, and on a busy machine a quarter of a minute.
    """
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    os._exit(status)


if __name__ == "__main__":
    sys.exit(main())
