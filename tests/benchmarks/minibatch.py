"""A mini-batch of TLASGR with three layers against the same written plainly with numba, on one thread.

200 documents, 60 burn-in and 30 collected sweeps, 128-64-32 topics, and the move of the topics.  All start from the
same topics, trained for ``--warm-up`` mini-batches.
"""

import sys
from collections.abc import Callable, Sequence
from typing import Any

from tests.benchmarks.report import corpus_of, interleaved, load, median, parser, ratio, say
from tests.benchmarks.rivals import Plain, PlainState
from topiary.engine import models
from topiary.engine.contract import TRAIN, Batch, Facts, Kernel
from topiary.engine.corpus import Corpus, draw_minibatch

SIZE = 200


def main(argv: Sequence[str] | None = None) -> int:
    """Print seconds of a mini-batch, and how many times ours is faster."""
    options = parser(__doc__ or "")
    options.add_argument("--layers", default="128-64-32")
    options.add_argument("--warm-up", type=int, default=100, help="mini-batches before timing (default 100)")
    options.add_argument("--steps", type=int, default=5, help="mini-batches in a round (default 5)")
    options.add_argument("--rounds", type=int, default=7)
    options.add_argument("--threads", type=int, nargs="+", default=[2, 1])
    arguments = options.parse_args(argv)
    corpus = corpus_of(arguments)
    layers = tuple(map(int, arguments.layers.split("-")))
    say(f"TLASGR {arguments.layers}, mini-batches of {SIZE} documents, {30 * len(layers)} sweeps; {load()}")
    start = trained(corpus, layers, arguments.warm_up)
    runners = {f"topiary, {n} threads": ours(corpus, layers, start, n) for n in arguments.threads}
    runners["plain numba, 1 thread"] = plain(corpus, layers, start)
    for run in runners.values():  # compiles
        run(1)
    contestants = {name: lambda run=run: run(arguments.steps) for name, run in runners.items()}
    seconds = interleaved(contestants, arguments.rounds)
    for name, each in seconds.items():
        clock, processor = (1e3 * median(times) / arguments.steps for times in each)
        say(f"  {name:<24}{clock:9.1f} ms a mini-batch, {processor:.1f} of processors")
    for name, each in seconds.items():
        if name.startswith("topiary"):
            say(f"  {name}: ratio to plain {ratio(seconds['plain numba, 1 thread'], each)}")
    return 0


def trained(corpus: Corpus, layers: tuple[int, ...], steps: int) -> Any:
    """The state after some mini-batches."""
    kernel = _kernel(corpus, layers, 1)
    state = kernel.init(1)
    for t in range(1, steps + 1):
        state, _ = kernel.step(1, state, _batch(corpus, t))
    return state


def ours(corpus: Corpus, layers: tuple[int, ...], start: Any, threads: int) -> Callable[[int], None]:
    """Training that goes on for some mini-batches at every call."""
    kernel, state = _kernel(corpus, layers, threads), start

    def run(steps: int) -> None:
        nonlocal state
        for _ in range(steps):
            state, _ = kernel.step(1, state, _batch(corpus, int(state.t) + 1))

    return run


def plain(corpus: Corpus, layers: tuple[int, ...], start: Any) -> Callable[[int], None]:
    """The same by the plain rival, over the same mini-batches."""
    rival = Plain(corpus.n_words, len(corpus.documents(TRAIN)), layers)
    state = PlainState(start.phi, start.r, start.scale, float(start.top_scale), int(start.t))

    def run(steps: int) -> None:
        nonlocal state
        for _ in range(steps):
            docs = _batch(corpus, state.t + 1)
            state = rival.step(state, docs.words, docs.counts, docs.starts)

    return run


def _kernel(corpus: Corpus, layers: tuple[int, ...], threads: int) -> Kernel:
    module = models.load("dlda")
    config = module.Config(
        layers=layers, inference="tlasgr", batch_size=SIZE, burn_in=20, collect=10
    )  # as the rival sweeps
    kernel: Kernel = module.build(config, Facts(corpus.n_words, len(corpus.documents(TRAIN))), n_threads=threads)
    return kernel


def _batch(corpus: Corpus, t: int) -> Batch:
    return corpus.batch(draw_minibatch(1, t, corpus.documents(TRAIN), SIZE))


if __name__ == "__main__":
    sys.exit(main())
