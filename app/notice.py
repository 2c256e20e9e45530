"""What the program itself is doing before there is a run to look at: one notice for every page.

The only state of a server process that is not in the store: it is about the process, not about data.
"""

from threading import Lock
from typing import NamedTuple


class Notice(NamedTuple):
    """A sentence, how much of what it tells of is done (0 to 1, None = nobody knows), and whether it went wrong."""

    sentence: str = ""
    share: float | None = None
    failed: bool = False


_lock = Lock()
_notice = Notice()


def post(sentence: str, share: float | None = None, *, failed: bool = False) -> None:
    """Replace the notice; an empty sentence takes it away."""
    global _notice  # noqa: PLW0603 - the one notice of this process
    with _lock:
        _notice = Notice(sentence, share, failed)


def current() -> Notice:
    """The notice to show; its sentence is empty when there is none."""
    with _lock:
        return _notice
