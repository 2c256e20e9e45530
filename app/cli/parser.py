"""The parser of command lines and the functions that read its values; every error message is one sentence."""

import argparse
import math
import re
from collections.abc import Callable
from difflib import get_close_matches
from typing import Any, NoReturn

from topiary.app.cli.console import write_output
from topiary.app.machine import find_version
from topiary.app.names import LARGEST_COUNT, SIZES

MISTAKE = 2  # exit status after an error that the user can correct
NEAR = 0.7  # likeness, of 1, from which a command counts as misspelled: tran is train, and dance is not place
LONGEST_NAME = 200  # characters in the name of a run or corpus, as in the fields of the pages


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


def read_share(text: str) -> float:
    """Return a number from 0 to 1; raise an error for any other text."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0.0 <= value <= 1.0:
        raise argparse.ArgumentTypeError(f"must be a number from 0 to 1; got {text!r}")
    return value


def read_weight(text: str) -> float:
    """Return a finite number of at least 0; raise an error for any other text."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0.0 <= value < math.inf:
        raise argparse.ArgumentTypeError(f"must be a number of at least 0; got {text!r}")
    return value


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
