"""What the program itself is doing before there is a run to look at: a notice for every page, and one an import.

The only state of a server process that is not in the store: it is about the process, not about data.
"""

from threading import Lock
from typing import NamedTuple


class Notice(NamedTuple):
    """A sentence, how much of what it tells of is done (0 to 1, None = nobody knows), and whether it went wrong."""

    sentence: str = ""
    share: float | None = None
    failed: bool = False


class Adding(NamedTuple):
    """An import that this process began: its number here, the name of what is added, and how far it is."""

    number: int
    name: str
    notice: Notice


_lock = Lock()
_notice = Notice()
_imports: dict[int, Adding] = {}


def post(sentence: str, share: float | None = None, *, failed: bool = False) -> None:
    """Replace the notice; an empty sentence takes it away."""
    global _notice  # noqa: PLW0603 - the one notice of this process
    with _lock:
        _notice = Notice(sentence, share, failed)


def current() -> Notice:
    """The notice to show; its sentence is empty when there is none."""
    with _lock:
        return _notice


def post_import(adding: Adding) -> None:
    """Replace the notice of an import; an empty sentence takes it away."""
    with _lock:
        if adding.notice.sentence:
            _imports[adding.number] = adding
        else:
            _imports.pop(adding.number, None)


def forget_import(number: int) -> None:
    """Take the notice of an import away, once somebody has read how it ended; one that goes on keeps it."""
    with _lock:
        if number in _imports and _imports[number].notice.failed:
            del _imports[number]


def imports() -> tuple[Adding, ...]:
    """The imports that go on, and those that failed and that nobody has dismissed; oldest first."""
    with _lock:
        return tuple(adding for _, adding in sorted(_imports.items()))
