"""What happened to a run: its events in the store, and what its workers wrote beside it."""

import sys
import time
from pathlib import Path

from store import events
from store.database import Database
from store.events import RunEvent

BLOCK = 1 << 16  # bytes read from the end of a log at a time
LONGEST = 4 << 20  # bytes of a log that are read at most


def happened(db: Database, run: int) -> list[RunEvent]:
    """Every event of a run, oldest first."""
    found, cursor = events.read_new_events(db, run)
    some = found
    while some:
        some, cursor = events.read_new_events(db, run, cursor)
        found = found + some
    return found


def tail(path: Path, lines: int) -> list[str]:
    """The last lines of a log, read from its end; none where there is no log."""
    try:
        with path.open("rb") as stream:
            end = stream.seek(0, 2)
            content = b""
            while end > 0 and content.count(b"\n") <= lines and len(content) < LONGEST:
                begin = max(0, end - BLOCK)
                stream.seek(begin)
                content, end = stream.read(end - begin) + content, begin
    except OSError:
        return []
    return content.decode("utf-8", "replace").splitlines()[-lines:]


def write(sentence: str) -> None:
    """A line with the time on standard error, which the launcher leads to the log of the run."""
    sys.stderr.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')}  {sentence}\n")
    sys.stderr.flush()
