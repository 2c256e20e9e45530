"""A rate limit for the server's log, so that requests cannot flood it.

Bokeh and Tornado log every failed request and every patch with an unknown attribute, and some of these entries
contain everything that was sent.  Each logging call may write ``MOST`` entries within ``SPAN`` seconds; its next entry
after that says how many were left out.
"""

import logging
import time
from collections.abc import Callable

MOST = 20  # entries of one logging call
SPAN = 60.0  # seconds
LONGEST = 4000  # letters of one entry, a traceback included


class RateFilter(logging.Filter):
    """A filter that limits the entries of each logging call, and counts those left out.

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
        """Return whether an entry is written."""
        now, place = self._clock(), (record.pathname, record.lineno)
        since, count = self._places.get(place, (now, 0))
        if now - since >= SPAN:
            if count > MOST:
                record.msg, record.args = f"{record.getMessage()} ({count - MOST:,} like it were left out)", None
            since, count = now, 0
        self._places[place] = since, count + 1
        return count < MOST


class ShortFormatter(logging.Formatter):
    """A formatter that shortens long entries and replaces control characters.

    Parameters
    ----------
    inner : logging.Formatter or None
        Formats the entries.
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


def limit_log() -> None:
    """Limit the entries of every handler: Bokeh and Panel have their own besides those of the root logger."""
    root = logging.getLogger()
    if not root.handlers:
        logging.basicConfig()
    named = [each for each in logging.Logger.manager.loggerDict.values() if isinstance(each, logging.Logger)]
    seldom = RateFilter()
    for handler in dict.fromkeys(handler for logger in (root, *named) for handler in logger.handlers):
        handler.addFilter(seldom)
        handler.setFormatter(ShortFormatter(handler.formatter))
