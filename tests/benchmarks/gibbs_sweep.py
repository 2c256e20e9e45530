"""Batch Gibbs sweeps of single-layer DLDA against tomotopy's LDA: tokens per second, same topics, same threads.

Both have swept the corpus ``--burn-in`` times before they are timed, because topics that have settled are quicker.
"""

import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tests.benchmarks.report import corpus_of, interleaved, load, median, parser, ratio, say
from topiary.engine import models
from topiary.engine.contract import TRAIN, Facts
from topiary.engine.corpus import Corpus


def main(argv: Sequence[str] | None = None) -> int:
    """Print tokens per second of both, and how many times ours is faster."""
    options = parser(__doc__ or "")
    options.add_argument("--topics", type=int, default=128)
    options.add_argument("--burn-in", type=int, default=200, help="sweeps before timing (default 200)")
    options.add_argument("--sweeps", type=int, default=10, help="sweeps in a round (default 10)")
    options.add_argument("--rounds", type=int, default=7)
    options.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    arguments = options.parse_args(argv)
    corpus = corpus_of(arguments)
    docs = corpus.batch(corpus.documents(TRAIN))
    tokens = int(docs.counts.sum())
    say(f"batch Gibbs, K = {arguments.topics}, {len(docs.documents):,} documents, {tokens:,} tokens; {load()}")
    for threads in arguments.threads:
        contestants = {"topiary": ours(corpus, arguments.topics, threads, arguments.sweeps)}
        rival = tomotopy_lda(docs, corpus.vocabulary, arguments.topics, threads)
        if rival is None:
            say("tomotopy is not installed (pip install tomotopy): nothing to compare with")
        else:
            contestants["tomotopy"] = lambda train=rival: train(arguments.sweeps)
        for _ in range(-(-arguments.burn_in // arguments.sweeps)):
            for work in contestants.values():
                work()
        seconds = interleaved(contestants, arguments.rounds)
        for name, each in seconds.items():
            clock, processor = (arguments.sweeps * tokens / median(times) / 1e6 for times in each)
            rates = f"{clock:8.2f} million tokens a second, {processor:.2f} a processor second"
            say(f"  {threads} threads  {name:<9}{rates}")
        if rival is not None:
            say(f"  {threads} threads  ratio to tomotopy: {ratio(seconds['tomotopy'], seconds['topiary'])}")
    return 0


def ours(corpus: Corpus, topics: int, threads: int, sweeps: int) -> Callable[[], None]:
    """Batch Gibbs of one layer: every call goes on for ``sweeps`` sweeps."""
    module = models.load("dlda")
    docs = corpus.batch(corpus.documents(TRAIN))
    config = module.Config(layers=(topics,), inference="gibbs")
    kernel = module.build(config, Facts(corpus.n_words, len(docs.documents)), n_threads=threads)
    state = kernel.prepare(1, kernel.init(1), docs)

    def work() -> None:
        nonlocal state
        for _ in range(sweeps):
            state, _ = kernel.step(1, state, docs)

    return work


def tomotopy_lda(
    docs: Any, vocabulary: Sequence[str], topics: int, threads: int, alpha: float = 0.1, eta: float = 0.01
) -> Callable[[int], None] | None:
    """The ``train`` of tomotopy's LDA on the same documents, without its search for hyperparameters."""
    try:
        import tomotopy as tp
    except ImportError:
        return None
    model = tp.LDAModel(tw=tp.TermWeight.ONE, k=topics, alpha=alpha, eta=eta, seed=1, min_cf=0, min_df=0, rm_top=0)
    words = np.array(vocabulary)[docs.words]
    for begin, end in zip(docs.starts[:-1], docs.starts[1:], strict=True):
        model.add_doc(np.repeat(words[begin:end], docs.counts[begin:end]).tolist())
    model.optim_interval = 0

    def train(sweeps: int) -> None:
        with warnings.catch_warnings():  # with more workers its seed fixes nothing, and it says so every time
            warnings.simplefilter("ignore", RuntimeWarning)
            model.train(sweeps, workers=threads)

    train(1)
    return train


if __name__ == "__main__":
    sys.exit(main())
