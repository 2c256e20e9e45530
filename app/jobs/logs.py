"""Log files of runs, and the audit log of logins and of changes to runs and corpora.

Each event is one line of ``audit.log`` in the folder of logs: time, store, user and address, and action,
separated by bars.  Names that a visitor chose come last and are written without control characters, so they cannot
imitate another line.  The file is opened for each line, so it can be rotated at any time.
"""

import hashlib
import logging
import os
import sys
import time
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import BinaryIO

from sqlalchemy.engine import make_url

from topiary.app.machine import find_user
from topiary.store import events
from topiary.store.database import Database
from topiary.store.events import RunEvent

AUDIT_NAME = "audit.log"

log = logging.getLogger("topiary.audit")


def log_folder() -> Path:
    """Return the folder of log files."""
    if sys.platform == "win32":
        root = Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local")) / "Topiary"
    elif sys.platform == "darwin":
        root = Path.home() / "Library" / "Application Support" / "Topiary"
    else:
        root = Path(os.environ.get("XDG_DATA_HOME", Path.home() / ".local" / "share")) / "topiary"
    return root / "logs"


def make_log_folder() -> Path:
    """Create the folder of log files, readable by its owner only because logs tell about files; return it."""
    return _make_private(log_folder())


def _make_private(folder: Path) -> Path:
    """Create a folder that only its owner can read, and return it."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with suppress(OSError):  # the folder may belong to another user
        folder.chmod(0o700)
    return folder


def open_private(path: Path) -> BinaryIO:
    """Open a log to add to it; it becomes readable by its owner only."""
    file = open(path, "ab", opener=partial(os.open, mode=0o600))  # noqa: SIM115 - paths take no opener
    with suppress(OSError, AttributeError):  # an older log of another user; Windows has no such rights
        os.fchmod(file.fileno(), 0o600)
    return file


def find_log(db_url: str, run: int) -> Path:
    """Return the path of the log of a run; each store has its own folder, as its runs are numbered from 1."""
    place = make_url(db_url).render_as_string(hide_password=True)
    return log_folder() / hashlib.sha256(place.encode()).hexdigest()[:8] / f"run-{run}.log"


def open_log(db_url: str, run: int) -> BinaryIO:
    """Open the log of a run to add to it; create its folder if necessary."""
    make_log_folder()
    path = find_log(db_url, run)
    _make_private(path.parent)
    return open_private(path)


def record_action(place: str, what: str, who: str = "") -> None:
    """Add one line to the audit log.

    If the file cannot be written, the line goes to the server's log, because the action has already happened.

    Parameters
    ----------
    place : str
        The store, without a password.
    what : str
        The action: ``deleted run 3 (first try)``.
    who : str
        The user who did it; the user of this process by default.
    """
    parts = (place, who or f"the user {find_user() or 'of this process'}", what)
    line = f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC | {' | '.join(map(_clean_text, parts))}\n"
    try:
        with open_private(make_log_folder() / AUDIT_NAME) as file:
            file.write(line.encode("utf-8", "replace"))
    except OSError as error:
        log.error("the audit log cannot be written (%s); it lacks: %s", error, line.strip())  # noqa: TRY400


def name_subject(kind: str, number: int, name: str = "") -> str:
    """Return the name of a run or corpus in the log: ``run 3 (first try)``."""
    return f"{kind} {number} ({name})" if name else f"{kind} {number}"


def _clean_text(text: str) -> str:
    """Return a text as one line without control characters."""
    return "".join(letter if letter.isprintable() else "?" for letter in " ".join(text.split()))


LOG_BLOCK = 1 << 16  # bytes read from the end of a log at a time
LONGEST_TAIL = 4 << 20  # bytes of a log that are read at most


def list_events(db: Database, run: int) -> list[RunEvent]:
    """Return every event of a run, oldest first."""
    all_events, cursor = events.read_new_events(db, run)
    while new_events := events.read_new_events(db, run, cursor)[0]:
        all_events, cursor = all_events + new_events, new_events[-1].number
    return all_events


def read_tail(path: Path, lines: int) -> list[str]:
    """Return the last lines of a log, read from its end; none if the log does not exist."""
    try:
        with path.open("rb") as stream:
            end = stream.seek(0, 2)
            content = b""
            while end > 0 and content.count(b"\n") <= lines and len(content) < LONGEST_TAIL:
                begin = max(0, end - LOG_BLOCK)
                stream.seek(begin)
                content, end = stream.read(end - begin) + content, begin
    except OSError:
        return []
    return content.decode("utf-8", "replace").splitlines()[-lines:]


MEMORY_SIGNS = (
    "std::bad_alloc", "MemoryError", "Cannot allocate memory", "cannot allocate memory", "failed to map segment",
    "LLVM ERROR: out of memory", "Unable to allocate",
)  # fmt: skip
"""Words in a log with which Python, C++, LLVM and the loader of libraries say that memory ran out."""
_LAST_WORDS = 20  # lines of a log in which a process that memory ended says so


def tells_of_memory(db_url: str, run: int) -> bool:
    """Return whether the last lines in the log of a run say that its process ended because memory ran out."""
    lines = read_tail(find_log(db_url, run), _LAST_WORDS)
    begins = max((place for place, line in enumerate(lines) if line.endswith(" begins")), default=-1)
    return any(sign in line for line in lines[begins + 1 :] for sign in MEMORY_SIGNS)


def write_line(sentence: str) -> None:
    """Write a line with the time to standard error, which the launcher redirects to the log of the run."""
    sys.stderr.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')}  {sentence}\n")
    sys.stderr.flush()
