"""``topiary benchmark completion``: LDA and deep exponential families, judged as in the DEF paper."""

import argparse
import itertools
import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.cli import output
from app.cli.parser import some_of, threads, whole
from app.jobs.progress import Progress, TimeLeft

if TYPE_CHECKING:
    from app.benchmarks.completion import Row, Watch

METHODS = ("lda", "gamma", "sigmoid", "poisson", "poisson-log")


def add(benchmarks: Any) -> None:
    """Add the command to the benchmarks."""
    one = benchmarks.add_parser("completion", help="LDA and DEFs, a tenth of each test document observed")
    one.add_argument("corpus", metavar="CORPUS", help="name or number of a corpus of the store")
    one.add_argument("--store", metavar="URL", help="file or database URL of the store")
    one.add_argument(
        "--methods", type=some_of(METHODS), default=METHODS, help=f"any of {','.join(METHODS)} (default: all)"
    )
    one.add_argument("--layers", default="100-30-15", help="of the deepest (default 100-30-15, the paper's)")
    one.add_argument("--train", type=whole(5), default=2_000, help="training documents, at most (default 2000)")
    one.add_argument("--test", type=whole(1), default=1_000, help="test documents, at most (default 1000)")
    one.add_argument("--steps", type=whole(1), default=150, help="of every DEF (default 150)")
    one.add_argument("--preset", default="", choices=("paper",), help="DEFs with the paper's settings")
    one.add_argument("--seeds", type=whole(1), default=1, help="runs of every row, with seeds 1, 2, ... (default 1)")
    one.add_argument("--threads", type=threads, default=2, help="threads (default 2); no effect on results")
    one.add_argument("--json", type=Path, metavar="FILE", help="also write every row to this file")


def completion(arguments: argparse.Namespace) -> int:
    """Print the table row by row."""
    from app.benchmarks import completion as measuring
    from app.benchmarks import completion_table as table
    from app.jobs.load_corpus import load_corpus
    from engine import models, settings
    from store import corpora
    from store.database import open_existing

    db = open_existing(arguments.store)
    about = corpora.find_corpus(db, arguments.corpus)
    layers = settings.parse(models.load("deep-exp-family").Config, {"layers": arguments.layers}).layers
    parts = measuring.parts_of(load_corpus(db, about), arguments.train, arguments.test)
    output.write(
        f"{table.NOTE}\n\n{about.name}: {len(parts.train.documents):,} training, "
        f"{len(parts.validation.observed.documents):,} validation and {len(parts.test.observed.documents):,} test "
        f"documents, {parts.n_words:,} words; {arguments.steps:,} steps, {arguments.threads} threads\n{table.HEAD}\n"
    )
    progress, rows = Progress(), list["Row"]()
    setup = measuring.Setup(steps=arguments.steps, preset=arguments.preset, threads=arguments.threads)
    if measuring.LDA in arguments.methods:
        progress.show("choosing the priors of LDA on the validation documents")
        setup = replace(setup, priors=measuring.best_priors(parts, layers[0]))
    seeds = range(1, arguments.seeds + 1)
    for (method, widths), seed in itertools.product(measuring.trials(arguments.methods, layers), seeds):
        watch = _watch(progress, f"{method} {'-'.join(map(str, widths))} seed {seed}", setup.steps)
        rows.append(measuring.measure(parts, method, widths, seed, setup, watch))
        progress.end()
        output.write(f"{table.line(rows[-1])}\n")
        if arguments.json is not None:
            arguments.json.write_text(json.dumps([row._asdict() for row in rows], indent=1) + "\n")
    return 0


def _watch(progress: Progress, name: str, steps: int) -> "Watch":
    """A bar that grows with the steps of one row."""
    left = TimeLeft(steps)
    progress.show(name)
    return lambda done: progress.show(name, done / steps, left.words(done))
