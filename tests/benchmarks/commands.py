"""Run a benchmark as a command: its mistakes as one sentence, and the kinds of its options."""

import argparse
import math
import sys
from collections.abc import Callable, Sequence

from tests.benchmarks.files import check_file
from topiary.app.cli.console import MISTAKE, UserError
from topiary.app.ingest.errors import IngestError
from topiary.store.errors import StoreError


def run_benchmark(
    run: Callable[[argparse.Namespace], None], parser: argparse.ArgumentParser, argv: Sequence[str] | None
) -> int:
    """Run a benchmark; the exit status is 0, or 2 for a mistake of the user."""
    arguments = parser.parse_args(argv)
    try:
        check_file(arguments.json)
        run(arguments)
    except (IngestError, LookupError, UserError, StoreError, ValueError) as error:
        sys.stderr.write(f"{parser.prog}: {' '.join(str(error).split())}\n")
        return MISTAKE
    except KeyboardInterrupt:
        sys.stderr.write("\n")
        return 130
    return 0


def read_names(text: str) -> tuple[str, ...]:
    """Return names with commas between them."""
    return tuple(part for part in text.lower().replace(" ", "").split(",") if part)


def read_positive(text: str) -> int:
    """Return a whole number of at least 1."""
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1; got {text!r}")
    return int(text)


def read_choices(known: Sequence[str]) -> Callable[[str], tuple[str, ...]]:
    """Return a function that reads known names separated by commas and raises an error for any other name."""

    def read(text: str) -> tuple[str, ...]:
        names = tuple(part for part in text.lower().replace(" ", "").split(",") if part)
        if unknown := [name for name in names if name not in known]:
            raise argparse.ArgumentTypeError(f"there is no {unknown[0]!r}; there are {', '.join(known)}")
        return names

    return read


def read_budgets(text: str) -> tuple[float, ...]:
    """Return numbers of seconds, sorted, from a text such as ``10,30,end``; raise an error for any other text.

    ``end`` is infinity.
    """
    parts = [part.strip() for part in text.split(",")]
    try:
        values = tuple(sorted(math.inf if part == "end" else float(part) for part in parts))
    except ValueError:
        values = ()
    if not values or not values[0] > 0.0 or sum(map(math.isfinite, values)) + parts.count("end") < len(values):
        raise argparse.ArgumentTypeError(f"must be seconds above 0 or end, as 10,30,end; got {text!r}")
    return values
