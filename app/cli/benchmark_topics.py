"""``topiary benchmark topics``: how good topics are after so many seconds, beside other makers of topics."""

import argparse
import itertools
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.cli import output
from app.cli.parser import some_of, threads, whole
from app.jobs.progress import Progress

if TYPE_CHECKING:
    from app.benchmarks.topics import Row
    from store.corpus_rows import CorpusRow
    from store.database import Database

BUDGETS = (10.0, 30.0, 120.0)
METHODS = ("topiary", "tomotopy", "gensim", "sklearn", "nmf")


def add(benchmarks: Any) -> None:
    """Add the command to the benchmarks."""
    one = benchmarks.add_parser("topics", help="coherence, diversity and perplexity by time, beside LDA and NMF")
    one.add_argument("corpora", nargs="+", metavar="CORPUS", help="names or numbers of corpora of the store")
    one.add_argument("--store", metavar="URL", help="file or database URL of the store")
    one.add_argument(
        "--methods", type=some_of(METHODS), default=METHODS, help=f"any of {','.join(METHODS)} (default: all)"
    )
    one.add_argument("--budgets", type=_budgets, default=BUDGETS, help="seconds of training (default 10,30,120)")
    one.add_argument("--layers", help="topics per layer; peers have the first (default: proposed for the corpus)")
    one.add_argument("--seeds", type=_seeds, default=(1, 2, 3), help="of the runs, as 1-3 or 5,7 (default 1-3)")
    one.add_argument("--threads", type=threads, default=2, help="threads of every method (default 2)")
    one.add_argument("--json", type=Path, metavar="FILE", help="also write every row to this file")


def topics(arguments: argparse.Namespace) -> int:
    """Print the table, corpus by corpus."""
    from app.benchmarks import topics_table as table
    from store import corpora
    from store.database import open_existing

    db = open_existing(arguments.store)
    chosen, rows = [corpora.find_corpus(db, name) for name in arguments.corpora], list["Row"]()
    output.write(f"{table.NOTE}\n")
    for about in chosen:
        found = _of_corpus(db, about, arguments)
        rows += found
        output.write("\n".join(table.lines(found)) + "\n")
        if arguments.json is not None:
            arguments.json.write_text(json.dumps([row._asdict() for row in rows], indent=1) + "\n")
    output.write("\n" + "\n".join(table.verdicts(rows)) + "\n")
    return 0


def _of_corpus(db: "Database", about: "CorpusRow", arguments: argparse.Namespace) -> "list[Row]":
    from app.benchmarks import topics as measuring
    from app.benchmarks import topics_table as table
    from app.jobs.load_corpus import load_corpus
    from app.jobs.run_rules import propose_widths
    from engine.contract import TRAIN

    progress = Progress()
    rows: list[Row] = []
    corpus = load_corpus(db, about)
    tokens = corpus.tokens(TRAIN)
    layers = propose_widths(about.train_documents, tokens)
    if arguments.layers:
        layers = tuple(int(width) for width in arguments.layers.split("-"))
    widths = "-".join(map(str, layers))
    output.write(
        f"\n{about.name}: {about.train_documents:,} training documents, {tokens:,} tokens, {corpus.n_words:,} words, "
        f"{widths}; medians of {len(arguments.seeds)} seeds\n{table.HEAD}\n"
    )
    setup = measuring.Setup(layers=layers, budgets=arguments.budgets, threads=arguments.threads)
    for method, seed in itertools.product(arguments.methods, arguments.seeds):
        progress.show(f"{about.name}: {method}, seed {seed}")
        rows += measuring.measure(about.name, corpus, method, seed, setup)
    progress.end()
    return rows


def _budgets(text: str) -> tuple[float, ...]:
    try:
        values = tuple(sorted(float(part) for part in text.split(",")))
    except ValueError:
        values = ()
    if not values or values[0] <= 0.0:
        raise argparse.ArgumentTypeError(f"must be seconds above 0, as 10,30,120; got {text!r}")
    return values


def _seeds(text: str) -> tuple[int, ...]:
    read = whole(0)
    first, dash, last = text.partition("-")
    return tuple(range(read(first), read(last) + 1)) if dash else tuple(read(part) for part in text.split(","))
