"""Standard output, errors of the user, and values that several commands read; importing this loads nothing slow."""

import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any

from topiary.app.names import parse_count

if TYPE_CHECKING:
    from topiary.app.analysis.hierarchy import Hierarchy
    from topiary.engine.hierarchy.tree import Node
    from topiary.store.database import Database
    from topiary.store.run_rows import RunRow


class OutputClosed(Exception):  # noqa: N818 - named after the state that it reports
    """Raised when standard output cannot be written; the message is one sentence for the user."""


def prepare_output() -> None:
    """Replace characters that the console cannot show, and discard messages where standard error is closed."""
    if sys.stderr is None:  # closed before this program began
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - open until the program ends
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")


def write_output(text: str) -> None:
    """Write a text to standard output and flush it.

    Raises
    ------
    OutputClosed
        When standard output is closed or cannot be written.
    BrokenPipeError
        When the program that reads it has ended.
    """
    if sys.stdout is None:  # closed before this program began
        raise OutputClosed("standard output is closed, so nothing can be printed; let it lead somewhere")
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        cause = error.strerror or str(error)
        raise OutputClosed(f"standard output cannot be written ({cause}); let it lead somewhere else") from error


def silence_output() -> None:
    """Discard text that could not be printed; otherwise Python would fail when it tries again at exit."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class UserError(Exception):
    """Raised for an error that the user can correct; the message is one sentence."""


_UNESCAPED = re.compile(r"[\x7f-\x9f]")  # control characters that JSON may contain without escapes


def find_run(db: "Database", text: str) -> "RunRow":
    """Return the run that a text names: its number, or "last" for the newest run."""
    from topiary.store import run_rows, runs  # loads the database, which --help does not need
    from topiary.store.errors import NotFound

    if text == "last":
        rows = runs.list_runs(db)
        if not rows:
            raise NotFound("there is no run yet; start one with topiary train CORPUS")
        return max(rows, key=lambda row: row.number)
    if not text.isdecimal():
        raise UserError(f"a run is named by its number, or last; got {text!r}")
    number = parse_count(text)
    if number is None:
        raise run_rows.make_missing_error(text)
    return runs.get_run(db, number)


def name_flags(sentence: str, names: Iterable[str]) -> str:
    """Replace the names of options in a sentence by their flags: ``min_df`` by ``--min-df``."""
    flags = {name: f"--{name.replace('_', '-')}" for name in names}
    return re.sub(r"^\w+|\b[a-z]+_\w+", lambda match: flags.get(match[0], match[0]), sentence)


@contextmanager
def translate_errors(names: Iterable[str]) -> Iterator[None]:
    """Raise errors about files, places and options as a `UserError`, with the options in ``names`` written as flags."""
    from topiary.app.ingest.errors import IngestError
    from topiary.app.ingest.options import OptionError
    from topiary.app.jobs.cluster.place import PlaceError

    try:
        yield
    except (IngestError, PlaceError) as error:
        raise UserError(str(error)) from error
    except OptionError as error:
        raise UserError(name_flags(str(error), names)) from error


def read_settings(given: Sequence[str], **options: str | None) -> dict[str, str]:
    """Return the texts of settings by name, given by ``--set`` and by options such as ``--layers``.

    Raises
    ------
    UserError
        When a setting is given twice, or a text is not NAME=VALUE.
    """
    texts = {name: value for name, value in options.items() if value is not None}
    for name, value in map(_split_setting, given):
        if name in texts:
            other = f" and by --{name}" if options.get(name) is not None else ""
            raise UserError(f"the setting {name} is given twice, by --set{other}; give it once")
        texts[name] = value
    return texts


def _split_setting(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not sign:
        raise UserError(f"--set wants NAME=VALUE, as in eta=0.05; got {text!r}")
    return name.strip(), value.strip()


def say(text: object) -> None:
    """Print lines to standard output and flush them; control characters other than line breaks are removed."""
    write_output(f"{_clean_lines(text)}\n")


def notify(text: str) -> None:
    """Print lines to standard error; control characters other than line breaks are removed."""
    sys.stderr.write(f"{_clean_lines(text)}\n")


def name_topics(hierarchy: "Hierarchy", nodes: Iterable["Node"], where: Iterable[str] = ()) -> None:
    """Say on standard error which topics options named, also in conditions such as ``L2:17=20%..``."""
    from topiary.app.analysis.filters import parse_condition  # loads SciPy, which --help does not need

    named = (node for text in where if (node := parse_condition(text).node) is not None)
    for node in dict.fromkeys((*nodes, *named)):
        notify(f"topic {hierarchy.cite(node)}")


def print_json(value: Any) -> None:
    """Print a value as JSON."""
    say_json(json.dumps(value, ensure_ascii=False, allow_nan=False, indent=1))


def say_json(text: str) -> None:
    """Print JSON text, with control characters replaced by equivalent escapes."""
    say(_UNESCAPED.sub(lambda match: f"\\u{ord(match[0]):04x}", text))


def print_table(heads: tuple[str, ...], rows: list[tuple[Any, ...]], when_empty: str) -> None:
    """Print rows as a table with heads; without rows, print the sentence ``when_empty`` to standard error."""
    if not rows:
        notify(when_empty)
        return
    from topiary.app.export.texts import flatten_text

    cells = [heads, *([flatten_text(item) for item in row] for row in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(heads))]
    for row in cells:
        say("  ".join(item.ljust(width) for item, width in zip(row, widths, strict=True)).rstrip())


def _clean_lines(text: object) -> str:
    """Return a text without control characters other than line breaks."""
    from topiary.app.export.texts import flatten_text  # a command that prints nothing does not load it

    return "\n".join(flatten_text(line) for line in str(text).split("\n"))


def make_file_error(path: str, error: OSError) -> UserError:
    """Return the error for a file that cannot be written."""
    return UserError(f"{path} cannot be written ({error.strerror or error}); give a file in a folder that is there")
