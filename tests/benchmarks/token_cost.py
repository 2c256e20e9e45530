"""Time per token draw against the size of the vocabulary, and against the number of topics.

The documents stay the same: their words are spread over a larger vocabulary.  A token draw is timed by the
difference between many and few sweeps of the same mini-batch, so that what is done once per mini-batch (moving V x K
numbers) stands in a column of its own.
"""

import dataclasses
import sys
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tests.benchmarks.report import corpus_of, interleaved, load, parser, say
from topiary.engine import models
from topiary.engine.contract import TRAIN, Facts
from topiary.engine.corpus import Corpus, draw_minibatch

FEW, MANY = 10, 60  # sweeps


class Cost(NamedTuple):
    """Nanoseconds of a token draw, and milliseconds once per mini-batch."""

    draw: float
    once: float


def main(argv: Sequence[str] | None = None) -> int:
    """Print two tables and the slopes fitted to them."""
    options = parser(__doc__ or "")
    options.add_argument("--vocabularies", type=int, nargs="+", default=[2000, 5000, 10_000, 20_000, 50_000])
    options.add_argument("--topics", type=int, nargs="+", default=[32, 64, 128, 256, 512])
    options.add_argument("--above", default="", help="layers above the first, as in 64-32 (default: none)")
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--warm-up", type=int, default=60, help="mini-batches before timing (default 60)")
    arguments = options.parse_args(argv)
    corpus = corpus_of(arguments)
    above = tuple(int(width) for width in arguments.above.split("-") if width)
    say(f"one thread, mini-batches of 200 documents; {load()}")
    middle = arguments.topics[len(arguments.topics) // 2]
    for label, sizes in (("V", [max(v, corpus.n_words) for v in arguments.vocabularies]), ("K", arguments.topics)):
        costs = []
        say(f"{label:>8}{'ns a token draw':>18}{'ms once a mini-batch':>22}")
        for size in sizes:
            spread_out = widened(corpus, size) if label == "V" else corpus
            layers = (middle if label == "V" else size, *above)
            costs.append(cost(spread_out, layers, arguments.rounds, arguments.warm_up))
            say(f"{size:>8}{costs[-1].draw:>18.1f}{costs[-1].once:>22.1f}")
        say(f"a token draw grows as {label}^{slope(sizes, [each.draw for each in costs]):.2f}; ratio of last to first "
            f"{costs[-1].draw / costs[0].draw:.2f} for {sizes[-1] / sizes[0]:.0f} times the {label}")  # fmt: skip
    return 0


def widened(corpus: Corpus, n_words: int) -> Corpus:
    """The same documents with their words scattered over ``n_words`` words."""
    places = np.random.default_rng(3).permutation(n_words)[: corpus.n_words].astype(np.int32)
    counts = corpus.counts._replace(words=places[corpus.counts.words])
    return dataclasses.replace(corpus, counts=counts, scored=None, vocabulary=("",) * n_words)


def cost(corpus: Corpus, layers: tuple[int, ...], rounds: int, warm_up: int) -> Cost:
    """What a TLASGR mini-batch costs per token draw and once, topics warmed up."""
    module = models.load("dlda")
    train = corpus.documents(TRAIN)
    facts = Facts(corpus.n_words, len(train))
    size = min(200, len(train))
    short, long, state = (
        module.build(
            module.Config(layers=layers, inference="tlasgr", batch_size=size, burn_in=burn_in, collect=FEW // 2), facts
        )
        for burn_in in (FEW - FEW // 2, MANY - FEW // 2, FEW)
    )
    topics = state.init(1)
    for t in range(1, warm_up + 1):
        topics, _ = state.step(1, topics, corpus.batch(draw_minibatch(1, t, train, size)))
    docs = corpus.batch(draw_minibatch(1, warm_up + 1, train, size))
    contestants = {"short": lambda: short.step(1, topics, docs), "long": lambda: long.step(1, topics, docs)}
    interleaved(contestants, 1)
    seconds = interleaved(contestants, rounds)
    least = {name: min(each.processor) for name, each in seconds.items()}  # one thread: what no neighbour disturbs
    per_sweep = (least["long"] - least["short"]) / ((MANY - FEW) * len(layers))
    once = least["short"] - FEW * len(layers) * per_sweep
    return Cost(1e9 * per_sweep / int(docs.counts.sum()), 1e3 * once)


def slope(sizes: Sequence[int], costs: Sequence[float]) -> float:
    """The exponent of the power law through the points, by least squares of logarithms."""
    if len(set(sizes)) < 2:
        return float("nan")
    return float(np.polyfit(np.log(sizes), np.log(np.maximum(costs, 1e-9)), 1)[0])


if __name__ == "__main__":
    sys.exit(main())
