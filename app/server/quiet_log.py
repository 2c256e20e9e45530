"""The server's log cannot be flooded: what a stranger may cause as often as he likes is written a few times a minute.

Bokeh and Tornado log every request that fails and every change of a document that they do not understand, with all
that was sent.  Here each place in the program that logs may do so ``MOST`` times within ``SPAN`` seconds; then it is
silent, and the first line after that says how many were left out.
"""

import logging
import time
from collections.abc import Callable

MOST = 20  # lines of one place in the program
SPAN = 60.0  # seconds
LONGEST = 4000  # letters of one entry, a traceback included


class SeldomFilter(logging.Filter):
    """Lets through so many entries of each place, and counts the others.

    Parameters
    ----------
    clock : () -> float
        Seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._places: dict[tuple[str, int], tuple[float, int]] = {}  # since when, and how many

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether an entry is written."""
        now, place = self._clock(), (record.pathname, record.lineno)
        since, count = self._places.get(place, (now, 0))
        if now - since >= SPAN:
            if count > MOST:
                record.msg, record.args = f"{record.getMessage()} ({count - MOST:,} like it were left out)", None
            since, count = now, 0
        self._places[place] = since, count + 1
        return count < MOST


class ShortFormatter(logging.Formatter):
    """Cuts what is too long, and writes no letter that a terminal would obey.

    Parameters
    ----------
    inner : logging.Formatter or None
        How entries are written otherwise.
    """

    def __init__(self, inner: logging.Formatter | None) -> None:
        super().__init__(logging.BASIC_FORMAT)
        self._inner = inner

    def format(self, record: logging.LogRecord) -> str:
        """Return an entry as text."""
        text = super().format(record) if self._inner is None else self._inner.format(record)
        if len(text) > LONGEST:
            text = f"{text[: LONGEST // 2]}\n...\n{text[-LONGEST // 2 :]}"
        return "".join(letter if letter.isprintable() or letter in "\n\t" else "?" for letter in text)


def bound_log() -> None:
    """Bound what the process logs from now on."""
    root = logging.getLogger()
    if not root.handlers:
        logging.basicConfig()
    seldom = SeldomFilter()
    for handler in root.handlers:
        handler.addFilter(seldom)
        handler.setFormatter(ShortFormatter(handler.formatter))
