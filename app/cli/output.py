"""Standard output: what is printed arrives, or one sentence says why not."""

import os
import sys
from io import TextIOWrapper
from pathlib import Path


class OutputClosed(Exception):  # noqa: N818 - called after the fact that it tells
    """Standard output takes nothing; the message is one sentence for the user."""


def prepare() -> None:
    """Let a console that lacks a character show a question mark, not an error, and drop messages that nobody takes."""
    if sys.stderr is None:  # it was closed before we began
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - open as long as we run
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")


def write(text: str) -> None:
    """Write to standard output, at once.

    Raises
    ------
    OutputClosed
        When it is closed, or nothing more fits into where it leads.
    BrokenPipeError
        When whoever read it has left.
    """
    if sys.stdout is None:  # it was closed before we began
        raise OutputClosed("standard output is closed, so nothing can be printed; let it lead somewhere")
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        cause = error.strerror or str(error)
        raise OutputClosed(f"standard output cannot be written ({cause}); let it lead somewhere else") from error


def silence() -> None:
    """Let what could not be printed go, so that Python does not try again at its end and complain."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
