"""Show progress on a terminal, in a log, as lines of JSON for another process, and as notices on pages."""

import json
import math
import shutil
import sys
import time
from threading import Lock
from typing import Any, NamedTuple, TextIO

WIDTH = 24  # characters of a bar
FAILED = "failed"  # marks the line in which a process says why it has failed
LINE_SECONDS = 10.0  # between two lines in a log
LINES = 10  # of one piece of work in a log, each when as much more is done


class Progress:
    """A display of progress on standard error.

    On a terminal one line is overwritten; elsewhere a new line is written at most every ten seconds, and only when
    another tenth of the work is done.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._terminal = self._stream.isatty()
        self._line_length = 0
        self._last_time = -math.inf
        self._last_part: int | None = None

    def show(self, words: str, share: float | None = None, rest: str = "") -> None:
        """Show the current activity, the share of it that is done (0 to 1) and further facts."""
        parts = [words, draw_bar(share) if share is not None else "", *rest.split("  ")]
        line = _fit_parts([part for part in parts if part], self._columns())
        now = time.monotonic()
        if self._terminal:
            self._stream.write("\r" + line.ljust(self._line_length))
            self._line_length = len(line)
            self._stream.flush()
        elif now - self._last_time >= LINE_SECONDS:
            part = None if share is None else min(int(LINES * share), LINES - 1)
            if part is not None and part == self._last_part:
                return
            self._stream.write(line + "\n")
            self._stream.flush()
            self._last_time, self._last_part = now, part

    def show_placing(self, done: int, total: int) -> None:
        """Show how many documents of a corpus have been placed in topics, of how many."""
        self.show("placing documents", done / max(total, 1), f"{done:,} of {total:,}")

    def _columns(self) -> int | None:
        """Return the length of the longest line that can be overwritten; None without a terminal."""
        if not self._terminal:
            return None
        return shutil.get_terminal_size().columns - 1

    def end(self, words: str = "") -> None:
        """Remove the line, and write a last one if given."""
        if self._terminal and self._line_length:
            self._stream.write("\r" + " " * self._line_length + "\r")
            self._line_length = 0
        if words:
            self._stream.write(words + "\n")
        self._stream.flush()


class Notifier:
    """A writer of progress as lines of JSON, for another process that shows it."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __call__(self, words: str, share: Any) -> None:
        """Write the current activity and the share of it that is done, or another JSON value."""
        self._stream.write(json.dumps([words, share]) + "\n")
        self._stream.flush()


def _fit_parts(parts: list[str], columns: int | None) -> str:
    """Join the parts that fit into a line; the second one, a bar, is dropped first, then the last ones."""
    if columns is not None and len("  ".join(parts)) > columns:
        parts = parts[:1] + parts[2:]
    while columns is not None and len(parts) > 1 and len("  ".join(parts)) > columns:
        parts = parts[:-1]
    return "  ".join(parts)[:columns]


def draw_bar(share: float) -> str:
    """Return a progress bar: ``[######------------------]  25 %``."""
    share = min(1.0, max(0.0, share))
    filled = int(WIDTH * share)
    return f"[{'#' * filled}{'-' * (WIDTH - filled)}] {100 * share:3.0f}%"


def format_duration(seconds: float) -> str:
    """Return a duration as text: ``45 s``, ``3 min 20 s``, ``2 h 05 min``."""
    rounded = int(seconds + 0.5)
    if rounded < 60:
        return f"{rounded} s"
    if rounded < 3600:
        return f"{rounded // 60} min {rounded % 60:02d} s"
    return f"{rounded // 3600} h {rounded % 3600 // 60:02d} min"


class Notice(NamedTuple):
    """A sentence about some work, the share of it that is done (0 to 1, None if unknown), and whether it failed."""

    sentence: str = ""
    share: float | None = None
    failed: bool = False


class ImportNotice(NamedTuple):
    """The notice of an import that this process started, with the number of the import and the corpus name."""

    number: int
    name: str
    notice: Notice


_lock = Lock()
_notice = Notice()
_imports: dict[int, ImportNotice] = {}


def post_notice(sentence: str, share: float | None = None, *, failed: bool = False) -> None:
    """Replace the notice of this process; an empty sentence removes it."""
    global _notice  # noqa: PLW0603 - the one notice of this process
    with _lock:
        _notice = Notice(sentence, share, failed)


def read_notice() -> Notice:
    """Return the notice of this process; its sentence is empty if there is none."""
    with _lock:
        return _notice


def post_import(adding: ImportNotice) -> None:
    """Replace the notice of an import; an empty sentence removes it."""
    with _lock:
        if adding.notice.sentence:
            _imports[adding.number] = adding
        else:
            _imports.pop(adding.number, None)


def forget_import(number: int) -> None:
    """Remove the notice of a failed import that a user has dismissed; a running import keeps its notice."""
    with _lock:
        if number in _imports and _imports[number].notice.failed:
            del _imports[number]


def list_imports() -> tuple[ImportNotice, ...]:
    """Return the notices of running imports, and of failed ones that were not dismissed; oldest first."""
    with _lock:
        return tuple(notice for _, notice in sorted(_imports.items()))
