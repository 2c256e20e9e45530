"""Seconds of all quality measures of a hierarchy, on a large synthetic corpus in memory; bound: 1 s, 224 topics."""

import argparse
import sys
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from tests.benchmarks.report import interleaved, load, median, parser, say
from tests.benchmarks.synthetic import small_corpus
from topiary.engine.contract import Array, Counts, Topics
from topiary.engine.hierarchy.effects import present_hierarchy
from topiary.engine.quality.measures import measure_quality

TEST_EVERY = 10


def main(argv: Sequence[str] | None = None) -> int:
    """Print the seconds of every round, and how many documents were looked at."""
    options = parser(__doc__ or "", corpus=False)
    options.add_argument("--documents", type=int, default=500_000)
    options.add_argument("--words", type=int, default=10_000)
    options.add_argument("--tokens", type=int, default=90, help="of a document, on average (default 90)")
    options.add_argument("--layers", default="128-64-32")
    options.add_argument("--rounds", type=int, default=5)
    arguments = options.parse_args(argv)
    train, test = parts(arguments)
    phi = hierarchy(tuple(map(int, arguments.layers.split("-"))), train, arguments.words)
    (seconds,) = interleaved(
        {"quality": lambda: measure_quality(present_hierarchy(Topics(phi, np.ones(phi[-1].shape[1]))), train, test)},
        arguments.rounds,
    ).values()
    found = measure_quality(present_hierarchy(Topics(phi, np.ones(phi[-1].shape[1]))), train, test)[0]
    say(f"{sum(each.shape[1] for each in phi)} topics, {len(train.words):,} cells of training documents; {load()}")
    for name, sample in (("training", found.train), ("test", found.test)):
        say(f"  {sample.documents:,} of {sample.total:,} {name} documents looked at")
    each = " ".join(f"{value:.2f}" for value in seconds.clock)
    say(f"  median {median(seconds.clock):.2f} s, in processor time {median(seconds.processor):.2f} s; rounds {each}")
    return 0


def parts(arguments: argparse.Namespace) -> tuple[Counts, Counts]:
    """Training and test documents; the last tenth is for the test."""
    counts = small_corpus(arguments.documents, arguments.words, arguments.tokens).counts
    border = arguments.documents - arguments.documents // TEST_EVERY
    return counts.rows(0, border), counts.rows(border, arguments.documents)


def hierarchy(widths: tuple[int, ...], counts: Counts, n_words: int) -> tuple[Array, ...]:
    """Topics whose heaviest words are frequent ones, as those of trained models are."""
    rng = np.random.default_rng(3)
    frequencies = np.bincount(counts.words, minlength=n_words) + 1.0
    first = rng.gamma(0.1, 1.0, (n_words, widths[0])) * frequencies[:, None]
    above = [rng.dirichlet(np.full(below, 0.1), width).T for below, width in pairwise(widths)]
    return (first / first.sum(axis=0), *above)


if __name__ == "__main__":
    sys.exit(main())
