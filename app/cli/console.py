"""What the commands share: mistakes of the user, the run that is meant, and printing."""

import json
import re
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from app.cli import output
from app.ingest.options import pluralise
from app.jobs.run_rules import NewRunError
from app.server.ports import ServeError
from app.views.runs.new_run_form import name_labels
from app.views.text import format_percent as on_page
from engine.settings import SettingError
from store import run_rows, runs
from store.database import Database
from store.errors import NotFound, StoreError
from store.run_rows import RunRow


class Mistake(Exception):  # noqa: N818 - what the user made
    """Something the user can put right, in one sentence."""


_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_BARE = re.compile(r"[\x7f-\x9f]")
MISTAKES = (Mistake, NewRunError, ServeError, SettingError, StoreError)


def find_run(db: Database, text: str) -> RunRow:
    """The run that a command names by its number, or as "last"."""
    if text == "last":
        rows = runs.list_runs(db)
        if not rows:
            raise NotFound("there is no run yet; start one with topiary train CORPUS")
        return max(rows, key=lambda row: row.number)
    if not text.isdecimal():
        raise Mistake(f"a run is named by its number, or last; got {text!r}")
    number = pluralise(text)
    if number is None:
        raise run_rows.make_missing_error(text)
    return runs.get_run(db, number)


def as_typed(said: str, names: Iterable[str]) -> str:
    """A sentence about options of those names that calls them as they are typed: ``--min-df``."""
    return name_labels(said, {name: f"--{name.replace('_', '-')}" for name in names})


def settings_of(given: Sequence[str], **options: str | None) -> dict[str, str]:
    """Settings as texts by name, from ``--set`` and from options of their own.

    Raises
    ------
    Mistake
        When one is given twice, or is no setting with its value.
    """
    texts = {name: value for name, value in options.items() if value is not None}
    for name, value in map(_setting, given):
        if name in texts:
            other = f" and by --{name}" if options.get(name) is not None else ""
            raise Mistake(f"the setting {name} is given twice, by --set{other}; give it once")
        texts[name] = value
    return texts


def _setting(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not sign:
        raise Mistake(f"--set wants NAME=VALUE, as in eta=0.05; got {text!r}")
    return name.strip(), value.strip()


def flat(text: object) -> str:
    """A text of a corpus as one line without control characters: they would steer the terminal, or break a table."""
    return _CONTROL.sub(lambda found: " " if found[0].isspace() else "", str(text))


def say(text: object) -> None:
    """Print lines, at once, without other control characters."""
    output.write(f"{_lines(text)}\n")


def notify(text: str) -> None:
    """Print lines beside the results, to standard error, without other control characters."""
    sys.stderr.write(f"{_lines(text)}\n")


def percent(share: float, digits: int = 2) -> str:
    """Write a share as the pages do, with a space before the sign."""
    return on_page(share, digits).replace("%", " %")


def print_json(value: Any) -> None:
    """Print a value as JSON."""
    say_json(json.dumps(value, ensure_ascii=False, allow_nan=False, indent=1))


def say_json(text: str) -> None:
    """Print JSON; the control characters that it may hold as they are become escapes of the same meaning."""
    say(_BARE.sub(lambda found: f"\\u{ord(found[0]):04x}", text))


def print_table(heads: tuple[str, ...], rows: list[tuple[Any, ...]], when_empty: str) -> None:
    """Print rows under their heads; the sentence ``when_empty`` where there are none."""
    if not rows:
        notify(when_empty)
        return
    cells = [heads, *([flat(item) for item in row] for row in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(heads))]
    for row in cells:
        say("  ".join(item.ljust(width) for item, width in zip(row, widths, strict=True)).rstrip())


def _lines(text: object) -> str:
    return "\n".join(flat(line) for line in str(text).split("\n"))
