"""What the commands share: mistakes of the user, the run that is meant, and printing."""

import json
import sys
from typing import Any

from app.orders import OrderError
from app.parser import counted
from app.ports import ServeError
from store import runs
from store.database import Database
from store.errors import NotFound, StoreError
from store.runs import RunRow


class Mistake(Exception):  # noqa: N818 - what the user made
    """Something the user can put right, in one sentence."""


MISTAKES = (Mistake, OrderError, ServeError, StoreError)


def find_run(db: Database, text: str) -> RunRow:
    """The run that a command names by its number, or as "last"."""
    if text == "last":
        rows = runs.every(db)
        if not rows:
            raise NotFound("there is no run yet; start one with topiary train CORPUS")
        return max(rows, key=lambda row: row.number)
    if not text.isdecimal():
        raise Mistake(f"a run is named by its number, or last; got {text!r}")
    number = counted(text)
    if number is None:
        raise runs.missing(text)
    return runs.get(db, number)


def say(text: object) -> None:
    """Print a line, at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def tell(text: str) -> None:
    """Print a line beside the results, to standard error."""
    sys.stderr.write(f"{text}\n")


def print_json(value: Any) -> None:
    """Print a value as JSON."""
    say(json.dumps(value, ensure_ascii=False, allow_nan=False, indent=1))


def print_table(heads: tuple[str, ...], rows: list[tuple[Any, ...]], when_empty: str) -> None:
    """Print rows under their heads; the sentence ``when_empty`` where there are none."""
    if not rows:
        tell(when_empty)
        return
    cells = [heads, *([str(item) for item in row] for row in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(heads))]
    for row in cells:
        say("  ".join(item.ljust(width) for item, width in zip(row, widths, strict=True)).rstrip())
