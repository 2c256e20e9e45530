"""The ``topiary`` command, also as ``python -m topiary``."""

import os
import sys

from . import ShadowedError, refuse_shadows

MISTAKE = 2  # exit status of everything the user can put right
SERVERS = ("serve", "demo")


def main() -> int:
    """Run the command of the command line, unless a file or folder hides a package of ours."""
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

    A server has closed everything by then.  Python would still wait for threads that compute something for a page and
    delete a million objects, which takes seconds, and a quarter of a minute on a busy machine.
    """
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    os._exit(status)


if __name__ == "__main__":
    sys.exit(main())
