"""DPFA against its published perplexities on 20News, and how long a step takes.

The averaged protocol (models.md 1.4): after every step one sweep of all test documents under the topics of then; the
rates of the last ``--collect`` steps are added up and normalised.  The paper has 2,000 steps before these and 1,500 of
them; fewer are faster, and a little worse.
"""

import sys
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from tests.benchmarks.report import corpus_of, load, median, parser, say
from topiary.engine import models, settings
from topiary.engine.contract import TEST, TRAIN, Batch, Facts, Kernel, Rates, Sweeps
from topiary.engine.corpus import Corpus, draw_minibatch
from topiary.engine.hierarchy import evaluate


class Row(NamedTuple):
    """One published figure: its settings as texts, and the perplexity."""

    texts: dict[str, str]
    published: float


PAPER = {"start": "flat", "inference": "gibbs", "everything_on": "50", "shrinkage": "gaussian"}
BATCHES = {"start": "flat", "layers": "128-64-32", "shrinkage": "gaussian"}
ROWS = {
    "nb-ftm": Row(PAPER | {"layers": "128"}, 887.0),
    "sbn-gibbs-2": Row(PAPER | {"layers": "128-64"}, 851.0),
    "sbn-gibbs": Row(PAPER | {"layers": "128-64-32"}, 846.0),
    "sbn-t-gibbs": Row(PAPER | {"layers": "128-64-32", "shrinkage": "student"}, 827.0),
    "sbn-sgnht": Row(BATCHES | {"inference": "sgnht"}, 846.0),
    "rbm-sgnht": Row(BATCHES | {"inference": "sgnht", "hierarchy": "rbm"}, 896.0),
    "sbn-bcdf": Row(BATCHES | {"inference": "bcdf"}, 905.0),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Print a row for each trial asked for."""
    options = parser(__doc__ or "")
    options.add_argument("--rows", nargs="+", default=["nb-ftm", "sbn-gibbs"], choices=sorted(ROWS))
    options.add_argument("--burn-in", type=int, default=2000, help="steps before rates add up (default 2000)")
    options.add_argument("--collect", type=int, default=1500, help="steps whose rates add up (default 1500)")
    options.add_argument("--threads", type=int, default=2)
    options.add_argument("--every", type=int, default=100, help="steps between two lines of progress (default 100)")
    options.add_argument("--set", nargs="*", default=[], metavar="NAME=VALUE", help="settings in place of a row's own")
    arguments = options.parse_args(argv)
    corpus = corpus_of(arguments)
    say(f"{len(corpus.documents(TRAIN)):,} training documents, {arguments.threads} threads; {load()}")
    changed = dict(text.split("=", 1) for text in arguments.set)
    for name in arguments.rows:
        row = ROWS[name]
        kernel = build(corpus, row.texts | changed, arguments.threads)
        found = averaged(corpus, kernel, arguments.burn_in, arguments.collect, arguments.every)
        off = 100 * (found / row.published - 1)
        say(f"{name:<12} averaged {found:.1f}, published {row.published:.0f} ({off:+.1f}%)")
    return 0


def build(corpus: Corpus, texts: dict[str, str], threads: int) -> Kernel:
    """The kernel of a trial."""
    module = models.load("dpfa")
    config = settings.parse(module.Config, texts)
    facts = Facts(corpus.n_words, len(corpus.documents(TRAIN)), n_tokens=corpus.count_tokens(TRAIN))
    return module.build(config, facts, n_threads=threads)


def averaged(corpus: Corpus, kernel: Kernel, burn_in: int, collect: int, every: int, seed: int = 1) -> float:
    """Averaged perplexity after training; the standing is printed every so many steps."""
    numbers = corpus.documents(TRAIN)
    whole = corpus.batch(numbers)
    observed, scored = corpus.split_tokens(corpus.documents(TEST))
    state = kernel.init_from_documents(seed, whole)
    if kernel.sweeps_after is not None:
        state = kernel.prepare(seed, state, whole)
    chain, total, seconds = kernel.start_chain(seed, state, observed), None, []
    for t in range(1, burn_in + collect + 1):
        docs = whole if kernel.is_sweeping(state) else corpus.batch(draw_minibatch(seed, t, numbers, kernel.batch_size))
        begin = time.perf_counter()
        state, _ = kernel.step(seed, state, docs)
        seconds.append(time.perf_counter() - begin)
        if t > burn_in - 10:  # the chains of test documents come to rest first
            chain, rates = kernel.advance_chain(seed, state, chain, observed, scored, Sweeps(0, 1))
            total = total_of(total, rates) if t > burn_in else None
        if t % every == 0:
            _standing(t, state, total, scored, seconds)
    return float("nan") if total is None else evaluate.compute_perplexity(total, scored)


def total_of(total: Rates | None, rates: Rates) -> Rates:
    """Rates added up."""
    return rates if total is None else Rates(total.cells + rates.cells, total.totals + rates.totals)


def _standing(t: int, state: Any, total: Rates | None, scored: Batch, seconds: list[float]) -> None:
    score = "" if total is None else f", averaged so far {evaluate.compute_perplexity(total, scored):.1f}"
    r = state.shapes.sum()
    say(f"  step {t}: {median(seconds[-50:]):.2f} s a step, sum of r {r:.1f}{score}")


if __name__ == "__main__":
    sys.exit(main())
