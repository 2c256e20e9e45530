"""Run a benchmark as a command: its mistakes as one sentence, and the kinds of its options."""

import argparse
import sys
from collections.abc import Callable, Sequence

from topiary.app.benchmarks.topics import check_file
from topiary.app.cli.console import UserError
from topiary.app.cli.parser import MISTAKE
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
