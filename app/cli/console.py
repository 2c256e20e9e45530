"""Standard output, mistakes of the user, and the values that several commands read; nothing heavy is loaded."""

import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.export.texts import flatten_text
from app.ingest.options import parse_count

if TYPE_CHECKING:
    from store.database import Database
    from store.run_rows import RunRow


class OutputClosed(Exception):  # noqa: N818 - named after the fact that it reports
    """Standard output takes nothing; the message is one sentence for the user."""


def prepare_output() -> None:
    """Let a console show a question mark for characters it lacks, and drop messages where standard error is closed."""
    if sys.stderr is None:  # it was closed before this program began
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - open as long as we run
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")


def write_output(text: str) -> None:
    """Write to standard output, at once.

    Raises
    ------
    OutputClosed
        When it is closed, or its file takes no more.
    BrokenPipeError
        When its reader has left.
    """
    if sys.stdout is None:  # it was closed before this program began
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
    """Discard what could not be printed, so that Python does not try again at its end and fail."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class Mistake(Exception):  # noqa: N818 - what the user made
    """Something the user can put right, in one sentence."""


_BARE = re.compile(r"[\x7f-\x9f]")


def find_run(db: "Database", text: str) -> "RunRow":
    """Return the run that a command names by its number, or as "last"."""
    from store import run_rows, runs  # loads the database, which --help does not need
    from store.errors import NotFound

    if text == "last":
        rows = runs.list_runs(db)
        if not rows:
            raise NotFound("there is no run yet; start one with topiary train CORPUS")
        return max(rows, key=lambda row: row.number)
    if not text.isdecimal():
        raise Mistake(f"a run is named by its number, or last; got {text!r}")
    number = parse_count(text)
    if number is None:
        raise run_rows.make_missing_error(text)
    return runs.get_run(db, number)


def name_flags(sentence: str, names: Iterable[str]) -> str:
    """Return a sentence with some options written as they are typed: ``--min-df``."""
    flags = {name: f"--{name.replace('_', '-')}" for name in names}
    return re.sub(r"^\w+|\b[a-z]+_\w+", lambda found: flags.get(found[0], found[0]), sentence)


@contextmanager
def translate_refusals(names: Iterable[str]) -> Iterator[None]:
    """Turn errors about files, places and options into mistakes of the user; ``names`` are those of the options."""
    from app.ingest.errors import IngestError
    from app.ingest.options import OptionError
    from app.jobs.cluster.place import PlaceError

    try:
        yield
    except (IngestError, PlaceError) as error:
        raise Mistake(str(error)) from error
    except OptionError as error:
        raise Mistake(name_flags(str(error), names)) from error


def read_settings(given: Sequence[str], **options: str | None) -> dict[str, str]:
    """Return settings as texts by name, from ``--set`` and from options of their own.

    Raises
    ------
    Mistake
        When one is given twice, or is no setting with its value.
    """
    texts = {name: value for name, value in options.items() if value is not None}
    for name, value in map(_split_setting, given):
        if name in texts:
            other = f" and by --{name}" if options.get(name) is not None else ""
            raise Mistake(f"the setting {name} is given twice, by --set{other}; give it once")
        texts[name] = value
    return texts


def _split_setting(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not sign:
        raise Mistake(f"--set wants NAME=VALUE, as in eta=0.05; got {text!r}")
    return name.strip(), value.strip()


def say(text: object) -> None:
    """Print lines, at once, without other control characters."""
    write_output(f"{_clean_lines(text)}\n")


def notify(text: str) -> None:
    """Print lines to standard error, apart from the results and without other control characters."""
    sys.stderr.write(f"{_clean_lines(text)}\n")


def print_json(value: Any) -> None:
    """Print a value as JSON."""
    say_json(json.dumps(value, ensure_ascii=False, allow_nan=False, indent=1))


def say_json(text: str) -> None:
    """Print JSON; control characters that it may hold literally become escapes of the same meaning."""
    say(_BARE.sub(lambda found: f"\\u{ord(found[0]):04x}", text))


def print_table(heads: tuple[str, ...], rows: list[tuple[Any, ...]], when_empty: str) -> None:
    """Print rows under their heads; the sentence ``when_empty`` where there are none."""
    if not rows:
        notify(when_empty)
        return
    cells = [heads, *([flatten_text(item) for item in row] for row in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(heads))]
    for row in cells:
        say("  ".join(item.ljust(width) for item, width in zip(row, widths, strict=True)).rstrip())


def _clean_lines(text: object) -> str:
    return "\n".join(flatten_text(line) for line in str(text).split("\n"))
