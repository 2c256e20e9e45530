"""The log of deletions: who took what away, and when; what is deleted cannot tell it any more."""

import getpass
import os
from datetime import UTC, datetime

from app.jobs import launcher

NAME = "deletions.log"


def record(place: str, what: str, who: str = "") -> None:
    """Add one line to the log of deletions.

    Parameters
    ----------
    place : str
        The store, without a password.
    what : str
        What was deleted: ``run 3 (first try)``.
    who : str
        By whom; the user of this process where it is empty.
    """
    folder = launcher.made_log_folder()
    line = " ".join(f"deleted {what} of the store {place}, by {who or f'the user {_user()}'}".split())
    opened = os.open(folder / NAME, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    with os.fdopen(opened, "a", encoding="utf-8", errors="replace") as log:
        log.write(f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC {line}\n")


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # the system knows no name of this user
        return "of this process"
