"""What all commands share: the parser, values that they read, standard output, and errors of the user.

Every error message is one sentence.  Importing this loads nothing slow.
"""

import argparse
import json
import math
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from topiary.app.machine import find_version
from topiary.app.names import LARGEST_COUNT, SIZES, parse_count

if TYPE_CHECKING:
    from topiary.app.analysis.hierarchy import Hierarchy
    from topiary.engine.hierarchy.tree import Node
    from topiary.store.database import Database
    from topiary.store.run_rows import RunRow

MISTAKE = 2  # exit status after an error that the user can correct
NEAR = 0.7  # likeness, of 1, from which a command counts as misspelled: tran is train, and dance is not place
LONGEST_NAME = 200  # characters in the name of a run or corpus, as in the fields of the pages


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


class Parser(argparse.ArgumentParser):
    """A parser whose error messages are one sentence."""

    def error(self, message: str) -> NoReturn:
        """Print an error in one line and exit with status 2."""
        self.exit(MISTAKE, f"{self.prog}: {message}; see {self.prog} --help\n")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Refuse a command that does not exist with the ones that are spelled nearly like it, or else all."""
        known = list(map(str, action.choices or ()))
        if isinstance(action, argparse._SubParsersAction) and value not in known:  # noqa: SLF001 - it has no public name
            near = get_close_matches(str(value), known, n=3, cutoff=NEAR)
            advice = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(known)}"
            raise argparse.ArgumentError(None, f"there is no command {value!r}: {advice}")
        super()._check_value(action, value)

    def print_help(self, file: Any = None) -> None:
        """Print the help through `write_output`, which handles a closed standard output."""
        if file is not None:
            super().print_help(file)
        else:
            write_output(self.format_help())

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse arguments, and report unknown ones here so that the error names the help of the subcommand.

        Parameters
        ----------
        args, namespace
            As in :class:`argparse.ArgumentParser`.
        """
        parsed, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return parsed, unknown


class VersionAction(argparse.Action):
    """The option ``--version``, which looks the version up only when it is asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> NoReturn:
        """Print the version and exit."""
        write_output(f"topiary {find_version()}\n")
        parser.exit()


def read_whole(low: int, high: int = LARGEST_COUNT) -> Callable[[str], int]:
    """Return a function that reads a whole number from ``low`` to ``high`` and raises an error for any other text."""

    def read(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = low - 1
        if value < low:
            raise argparse.ArgumentTypeError(f"must be a whole number of at least {low}; got {text!r}")
        if value > high:
            raise argparse.ArgumentTypeError(f"must be a whole number of at most {high}; got {text!r}")
        return value

    return read


threads = read_whole(1, 1024)  # no machine has more processors, and every thread takes memory


def read_name(text: str) -> str:
    """Return a name; raise an error if it is longer than a listing can show."""
    if len(text) > LONGEST_NAME:
        raise argparse.ArgumentTypeError(f"a name has at most {LONGEST_NAME} characters; got {len(text):,}")
    return text


def read_number(high: float, what: str) -> Callable[[str], float]:
    """Return a function that reads a number from 0 to ``high`` and raises an error, which says ``what``, for others."""

    def read(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not 0.0 <= value <= high:
            raise argparse.ArgumentTypeError(f"must be a number {what}; got {text!r}")
        return value

    return read


read_share = read_number(1.0, "from 0 to 1")
read_weight = read_number(sys.float_info.max, "of at least 0")


def read_size(text: str) -> int:
    """Return a number of bytes from a text such as ``200MB`` or ``1.5 GB``; raise an error for any other text."""
    match = re.fullmatch(r"(\d{1,12}(?:\.\d{1,6})?)\s*([kMG]?B)", text.strip())
    if match is None:
        raise argparse.ArgumentTypeError(f"must be a size such as 200MB or 1.5GB; got {text!r}")
    return int(float(match[1]) * SIZES[match[2]])


def read_setting_values(text: str) -> tuple[str, tuple[str, ...]]:
    """Return a setting and its values from a text such as ``eta=0.01,0.05``; raise an error for any other text."""
    name, sign, listed = text.partition("=")
    values = tuple(value.strip() for value in listed.split(","))
    if not sign or not name.strip() or not all(values):
        raise argparse.ArgumentTypeError(f"must be NAME=VALUE,VALUE, as in eta=0.01,0.05; got {text!r}")
    return name.strip(), values


def read_seed_list(text: str) -> tuple[int, ...]:
    """Return at most 100 seeds from a text such as ``1-5`` or ``1,3,7-9``; raise an error for any other text."""
    from topiary.app.jobs.new_run import read_seeds  # loads the store, which --help does without

    try:
        return read_seeds(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
