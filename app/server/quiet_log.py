"""A rate limit for the server's log, so that requests cannot flood it.

Bokeh and Tornado log every failed request and every patch with an unknown attribute, and some of these entries
contain the whole request.  Each logging call may write ``MOST`` entries within ``SPAN`` seconds; the first entry
after that time says how many were left out.
"""

import logging
import time
from collections.abc import Callable

MOST = 20  # entries of one logging call within SPAN
SPAN = 60.0  # seconds
LONGEST = 4000  # characters of one entry, including its traceback


class RateFilter(logging.Filter):
    """A filter that limits the entries of each logging call, and counts those left out.

    Parameters
    ----------
    clock : () -> float
        Returns the time in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._spans: dict[
            tuple[str, int], tuple[float, int]
        ] = {}  # start of the span and number of entries, by line of code

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether to write an entry."""
        now, place = self._clock(), (record.pathname, record.lineno)
        start, count = self._spans.get(place, (now, 0))
        if now - start >= SPAN:
            if count > MOST:
                record.msg, record.args = f"{record.getMessage()} ({count - MOST:,} like it were left out)", None
            start, count = now, 0
        self._spans[place] = start, count + 1
        return count < MOST


class ShortFormatter(logging.Formatter):
    """A formatter that shortens long entries and replaces control characters.

    Parameters
    ----------
    inner : logging.Formatter or None
        The formatter of the whole entries; None for the default.
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
    """Limit the entries of all handlers, including those that Bokeh and Panel add to their own loggers."""
    root = logging.getLogger()
    if not root.handlers:
        logging.basicConfig()
    named = [item for item in logging.Logger.manager.loggerDict.values() if isinstance(item, logging.Logger)]
    rate_filter = RateFilter()
    for handler in dict.fromkeys(handler for logger in (root, *named) for handler in logger.handlers):
        handler.addFilter(rate_filter)
        handler.setFormatter(ShortFormatter(handler.formatter))
