"""The audit log: logins, and who started, stopped, renamed or deleted what.

Each event is one line of ``audit.log`` in the folder of logs: time, store, who and from where, and what was done,
separated by bars.  Names that a visitor chose come last and are printed without control characters, so they cannot
imitate another line.  The file is opened for each line, so it can be rotated at any time.
"""

import getpass
import logging
import os
from datetime import UTC, datetime

from app.jobs import launcher

NAME = "audit.log"

log = logging.getLogger("topiary.audit")


def record(place: str, what: str, who: str = "") -> None:
    """Add one line to the audit log.

    Where the file cannot be written the line goes to the server's log, because the action has already happened.

    Parameters
    ----------
    place : str
        The store, without a password.
    what : str
        What was done: ``deleted run 3 (first try)``.
    who : str
        By whom; the user of this process where it is empty.
    """
    parts = (place, who or f"the user {_user()}", what)
    line = f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC | {' | '.join(map(_as_plain_text, parts))}\n"
    try:
        opened = os.open(launcher.made_log_folder() / NAME, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        with os.fdopen(opened, "a", encoding="utf-8", errors="replace") as file:
            file.write(line)
    except OSError as error:
        log.error("the audit log cannot be written (%s); it lacks: %s", error, line.strip())  # noqa: TRY400


def called(kind: str, number: int, name: str = "") -> str:
    """Return a run or corpus as the log names it: ``run 3 (first try)``."""
    return f"{kind} {number} ({name})" if name else f"{kind} {number}"


def _as_plain_text(text: str) -> str:
    """Return a text as one line without control characters."""
    return "".join(letter if letter.isprintable() else "?" for letter in " ".join(text.split()))


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # the system knows no name of this user
        return "of this process"
