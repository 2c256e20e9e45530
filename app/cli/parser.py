"""How every command refuses words it does not know."""

import argparse
import math
from collections.abc import Callable
from typing import Any, NoReturn

from app.cli import output
from app.ingest.options import LARGEST

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
            output.write(self.format_help())

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Refuse unknown words here: left to the parser above, they would be told with its help and not the command's.

        Parameters
        ----------
        args, namespace
            As in :class:`argparse.ArgumentParser`.
        """
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return found, unknown


def whole(low: int, high: int = LARGEST) -> Callable[[str], int]:
    """What reads a whole number from ``low`` to ``high``, and refuses every other text."""

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


threads = whole(1, 1024)  # no machine has more processors, and every thread takes memory


def named(text: str) -> str:
    """A name that fits into a listing; refuse every longer one."""
    if len(text) > LONGEST_NAME:
        raise argparse.ArgumentTypeError(f"a name has at most {LONGEST_NAME} characters; got {len(text):,}")
    return text


def part(text: str) -> float:
    """Read a number from 0 to 1; refuse every other text."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0.0 <= value <= 1.0:
        raise argparse.ArgumentTypeError(f"must be a number from 0 to 1; got {text!r}")
    return value


def weight(text: str) -> float:
    """Read a number of at least 0; refuse every other text, infinite ones too."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0.0 <= value < math.inf:
        raise argparse.ArgumentTypeError(f"must be a number of at least 0; got {text!r}")
    return value
