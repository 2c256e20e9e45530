"""``topiary benchmark topics``: the quality of topics by time, next to that of other programs."""

import argparse
import json
import math

from topiary.app.benchmarks import topics as measuring
from topiary.app.benchmarks.peers import MissingPeerError
from topiary.app.benchmarks.topics import TableError, check_file, replace_file
from topiary.app.cli.console import UserError, say
from topiary.app.jobs.load_corpus import load_corpus
from topiary.app.jobs.plan import RunOptions
from topiary.app.jobs.progress import Progress
from topiary.app.jobs.run_rules import propose_widths, tries_widths
from topiary.app.jobs.width_trials import choose_trial, try_widths
from topiary.engine import models
from topiary.engine.contract import TRAIN, VALIDATION
from topiary.engine.corpus import Corpus
from topiary.store import corpora
from topiary.store.corpus_rows import CorpusRow
from topiary.store.database import Database, open_existing


def topics(arguments: argparse.Namespace) -> int:
    """Print a table of the quality of topics by time for each corpus."""
    if measuring.OURS not in arguments.methods and math.inf in arguments.budgets:
        raise UserError("the budget 'end' is the time that topiary takes: add topiary to --methods, or give seconds")
    try:
        check_file(arguments.json)
        _print_tables(arguments)
    except (MissingPeerError, TableError) as error:
        raise UserError(str(error)) from error
    return 0


def _print_tables(arguments: argparse.Namespace) -> None:
    """Measure and print corpus by corpus, writing all rows so far to the JSON file after each."""
    db = open_existing(arguments.store)
    chosen, rows = [corpora.find_corpus(db, name) for name in arguments.corpora], list[measuring.TopicsRow]()
    say(measuring.NOTE)
    for row in chosen:
        corpus_rows = _measure_corpus(db, row, arguments)
        rows += corpus_rows
        say("\n".join(measuring.format_rows(corpus_rows)))
        if arguments.json is not None:
            replace_file(arguments.json, (json.dumps([each._asdict() for each in rows], indent=1) + "\n").encode())
    say("\n" + "\n".join(measuring.write_verdicts(rows)))


def _measure_corpus(db: Database, row: CorpusRow, arguments: argparse.Namespace) -> list[measuring.TopicsRow]:
    """Print the head of the table of a corpus, and return its rows for all methods and seeds."""
    progress, rows = Progress(), list[measuring.TopicsRow]()
    corpus = measuring.add_validation(load_corpus(db, row))
    tokens, training = corpus.count_tokens(TRAIN), len(corpus.documents(TRAIN))
    layers = _read_layers(arguments.layers) if arguments.layers else _choose_layers(corpus, row, arguments.threads)
    widths = "-".join(map(str, layers))
    say(
        f"\n{row.name}: {training:,} training documents, {len(corpus.documents(VALIDATION)):,} validation, "
        f"{tokens:,} tokens, {corpus.n_words:,} words, {widths}; medians of {len(arguments.seeds)} seeds\n"
        f"{measuring.HEAD}"
    )
    setup = measuring.TopicsSetup(layers=layers, budgets=arguments.budgets, threads=arguments.threads)
    for method in sorted(
        arguments.methods, key=lambda name: name != measuring.OURS
    ):  # peers have the time that ours took
        progress.show(f"{row.name}: {method}")
        end = max((measured.seconds for measured in rows if measured.method == measuring.OURS), default=None)
        for measured in measuring.measure_method(row.name, corpus, method, arguments.seeds, setup, end):
            progress.show(f"{row.name}: {method}, seed {measured.seed}")
            rows.append(measured)
    progress.end()
    return rows


def _choose_layers(corpus: Corpus, row: CorpusRow, threads: int) -> tuple[int, ...]:
    """Return the widths that a run of Topiary with its defaults has on a corpus."""
    module, training = models.load("dlda"), len(corpus.documents(TRAIN))
    config = module.Config(layers=propose_widths(training, corpus.count_tokens(TRAIN)))
    if not tries_widths(config, row):
        return config.layers
    return choose_trial(try_widths(corpus, module, config, RunOptions(minibatches=1, threads=threads))).layers


def _read_layers(text: str) -> tuple[int, ...]:
    """Return the widths in a text such as ``64-32``."""
    try:
        return tuple(int(width) for width in text.split("-"))
    except ValueError:
        raise UserError(f"--layers are numbers of topics, as 64-32; got {text!r}") from None
