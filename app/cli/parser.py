"""The parser of command lines and the readers of its values; every refusal is one sentence."""

import argparse
import math
import re
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from app.cli.console import write_output
from app.ingest.options import LARGEST_COUNT
from app.jobs.new_run import read_seeds

MISTAKE = 2  # exit status of everything the user can put right
LONGEST_NAME = 200  # characters of a run or corpus: as many as the fields of the pages take


class Parser(argparse.ArgumentParser):
    """A parser whose refusals are one sentence."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong in one line and leave with status 2."""
        self.exit(MISTAKE, f"{self.prog}: {message}; see {self.prog} --help\n")

    def print_help(self, file: Any = None) -> None:
        """Write the help to standard output, as every other text."""
        if file is not None:
            super().print_help(file)
        else:
            write_output(self.format_help())

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Refuse unknown words here, so that the sentence names the help of the command.

        Parameters
        ----------
        args, namespace
            As in :class:`argparse.ArgumentParser`.
        """
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return found, unknown


def read_choices(known: Sequence[str]) -> Callable[[str], tuple[str, ...]]:
    """Return a reader of some of these names, with commas between them; it refuses every other."""

    def read(text: str) -> tuple[str, ...]:
        names = tuple(part for part in text.lower().replace(" ", "").split(",") if part)
        if unknown := [name for name in names if name not in known]:
            raise argparse.ArgumentTypeError(f"there is no {unknown[0]!r}; there are {', '.join(known)}")
        return names

    return read


def read_whole(low: int, high: int = LARGEST_COUNT) -> Callable[[str], int]:
    """Return a reader of whole numbers from ``low`` to ``high``; it refuses every other text."""

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
    """Return a name that fits into a listing; refuse every longer one."""
    if len(text) > LONGEST_NAME:
        raise argparse.ArgumentTypeError(f"a name has at most {LONGEST_NAME} characters; got {len(text):,}")
    return text


def read_share(text: str) -> float:
    """Read a number from 0 to 1; refuse every other text."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0.0 <= value <= 1.0:
        raise argparse.ArgumentTypeError(f"must be a number from 0 to 1; got {text!r}")
    return value


def read_weight(text: str) -> float:
    """Read a number of at least 0; refuse every other text, infinite ones too."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0.0 <= value < math.inf:
        raise argparse.ArgumentTypeError(f"must be a number of at least 0; got {text!r}")
    return value


def read_size(text: str) -> int:
    """Read a number of bytes, as in ``200MB`` or ``1.5 GB``; refuse every other text."""
    found = re.fullmatch(r"(\d{1,12}(?:\.\d{1,6})?)\s*([kMG]?B)", text.strip())
    if found is None:
        raise argparse.ArgumentTypeError(f"must be a size such as 200MB or 1.5GB; got {text!r}")
    return int(float(found[1]) * {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9}[found[2]])


def read_setting_values(text: str) -> tuple[str, tuple[str, ...]]:
    """Read a setting and the values it takes in turn, as in ``eta=0.01,0.05``; refuse every other text."""
    name, sign, listed = text.partition("=")
    found = tuple(value.strip() for value in listed.split(","))
    if not sign or not name.strip() or not all(found):
        raise argparse.ArgumentTypeError(f"must be NAME=VALUE,VALUE, as in eta=0.01,0.05; got {text!r}")
    return name.strip(), found


def read_seed_list(text: str) -> tuple[int, ...]:
    """Read seeds, as in ``1-5`` or ``1,3,7-9``; refuse every other text, and more than 100 of them."""
    try:
        return read_seeds(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def read_budgets(text: str) -> tuple[float, ...]:
    """Read seconds, as in ``10,30,120``; refuse every other text."""
    try:
        values = tuple(sorted(float(part) for part in text.split(",")))
    except ValueError:
        values = ()
    if not values or values[0] <= 0.0:
        raise argparse.ArgumentTypeError(f"must be seconds above 0, as 10,30,120; got {text!r}")
    return values
