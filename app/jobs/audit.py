"""The audit log: who came in, and who started, stopped, renamed and deleted what; the store cannot tell it later.

One line for each, in a file of its own next to the other logs: the time, the store, who it was and from where, and what
was done, with bars between them.  What a visitor chose, such as a name, stands at the end of the line and cannot look
like another one.  The file is opened for every line, so that it may be moved away at any time.
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

    What was done is done: where the line cannot be written, the server's log says so, and nothing fails.

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
    """Return how the log calls a run or a corpus: ``run 3 (first try)``."""
    return f"{kind} {number} ({name})" if name else f"{kind} {number}"


def _as_plain_text(text: str) -> str:
    """Return a text in one line, without letters that a terminal would obey."""
    return "".join(letter if letter.isprintable() else "?" for letter in " ".join(text.split()))


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # the system knows no name of this user
        return "of this process"
