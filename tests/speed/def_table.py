"""Order of Table 2 of the DEF paper on a corpus at hand, and what implicit gradients gain over score functions.

Perplexity of the paper's protocol (a tenth of the cells of each test document observed) of sparse gamma DEFs of one,
two and three layers, and of LDA (scikit-learn) with as many topics as their first layer; then, with one thread, the
noise of both gradients at the same state and the evidence lower bound after equal processor time.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from engine import models, settings
from engine.black_box import inference, prediction
from engine.contract import TEST, TRAIN, Array, Batch, Facts, Kernel
from engine.corpus import Corpus
from engine.models import deep_exp_family

from .report import corpus_of, load, parser, say

SEED = 1


class Parts(NamedTuple):
    """Training documents, and the observed and the judged cells of test documents."""

    train: Batch
    observed: Batch
    scored: Batch
    n_words: int


class Trained(NamedTuple):
    """A model after its steps: the ``elbo`` of the last, and the processor seconds of all."""

    kernel: Kernel
    state: Any
    elbo: float
    seconds: float


def main(argv: Sequence[str] | None = None) -> int:
    """Print both tables."""
    options = parser(__doc__ or "")
    options.add_argument("--layers", default="100-30-15", help="widths of the deepest (default 100-30-15, the paper's)")
    options.add_argument("--train", type=int, default=2_000, help="training documents, at most (default 2,000)")
    options.add_argument("--test", type=int, default=300, help="test documents, at most (default 300)")
    options.add_argument("--steps", type=int, default=200, help="of every model (default 200)")
    options.add_argument("--seconds", type=float, default=60.0, help="processor seconds of each gradient (default 60)")
    options.add_argument("--threads", type=int, default=2)
    options.add_argument("--seeds", type=int, default=1, help="runs of every model (default 1)")
    arguments = options.parse_args(argv)
    report(parts_of(corpus_of(arguments), arguments.train, arguments.test), arguments)
    return 0


def parts_of(corpus: Corpus, most: int, judged: int) -> Parts:
    """The first documents of both parts, the test documents split by the paper's protocol."""
    train, test = (corpus.documents(part) for part in (TRAIN, TEST))
    observed, scored = prediction.split(SEED, corpus.batch(test[:judged]))
    return Parts(corpus.batch(train[:most]), observed, scored, len(corpus.vocabulary))


def report(parts: Parts, arguments: argparse.Namespace) -> None:
    """Print the table of models, then that of gradients."""
    widths = arguments.layers.split("-")
    tokens = int(parts.train.counts.sum())
    say(f"{len(parts.train.documents):,} training documents, {tokens:,} tokens, {parts.n_words:,} words; {load()}")
    say(f"{len(parts.observed.documents):,} test documents, a tenth of their cells observed; {arguments.steps} steps")
    for name, found in lda(parts, int(widths[0])).items():
        say(f"  {name:<28} {found:8.1f}")
    for seed in range(SEED, SEED + arguments.seeds):
        for depth in range(1, len(widths) + 1):
            layers = "-".join(widths[:depth])
            run = trained(parts, arguments.steps, arguments.threads, seed, layers=layers)
            done = prediction.complete(run.kernel, seed, run.state, parts.observed, parts.scored)
            say(
                f"  {'sparse gamma ' + layers:<28} {done.perplexity:8.1f}  ELBO {run.elbo:.1f} a document, "
                f"{run.seconds / arguments.steps:.3f} processor s a step, fit {done.steps} steps, seed {seed}"
            )
    say("gradients, one thread:")
    for name, values in noise(parts, arguments.layers).items():
        say(f"  {name:<28} {values}")
    for gradient in ("implicit", "score"):
        run = until(parts, arguments.seconds, arguments.layers, gradient)
        say(f"  {gradient:<28} ELBO {run.elbo:.1f} after {run.seconds:.0f} processor s, {int(run.state.t)} steps")


def kernel_of(parts: Parts, threads: int, **texts: str) -> Kernel:
    """The kernel of a DEF with these settings."""
    facts = Facts(parts.n_words, len(parts.train.documents), n_tokens=int(parts.train.counts.sum()))
    config = settings.parse(deep_exp_family.Config, texts)
    return models.load("deep-exp-family").build(config, facts, threads)  # type: ignore[no-any-return]


def begun(parts: Parts, kernel: Kernel, seed: int) -> Any:
    """The state before the first step."""
    state = kernel.begin(seed, parts.train) if kernel.begin is not None else kernel.init(seed)
    return kernel.prepare(seed, state, parts.train)


def trained(parts: Parts, steps: int, threads: int, seed: int, **texts: str) -> Trained:
    """A DEF after so many steps."""
    kernel = kernel_of(parts, threads, **texts)
    state, info = begun(parts, kernel, seed), None
    began = time.process_time()
    for _ in range(steps):
        state, info = kernel.step(seed, state, parts.train)
    return Trained(kernel, state, info.elbo if info else float("nan"), time.process_time() - began)


def until(parts: Parts, seconds: float, layers: str, gradient: str) -> Trained:
    """A DEF after so many seconds of one processor, its last bound the mean over ten looks with implicit gradients."""
    kernel = kernel_of(parts, 1, layers=layers, gradient=gradient)
    state = begun(parts, kernel, SEED)
    kernel.step(SEED, state, parts.train)  # compiled
    began = time.process_time()
    while time.process_time() - began < seconds:
        state, _ = kernel.step(SEED, state, parts.train)
    took = time.process_time() - began
    judge = kernel_of(parts, 1, layers=layers)
    looks = [judge.step(SEED + 1 + look, state, parts.train)[1].elbo for look in range(5)]
    return Trained(kernel, state, float(np.mean(looks)), took)


def noise(parts: Parts, layers: str) -> dict[str, str]:
    """Standard deviation of one estimate of the gradients of layer 1 of some documents, at the same state."""
    few = _first(parts.train, 50)
    found = {}
    start = trained(parts, 20, 1, SEED, layers=layers).state
    for gradient in ("implicit", "score"):
        plan = deep_exp_family.plan_of(
            settings.parse(deep_exp_family.Config, {"layers": layers, "gradient": gradient}),
            Facts(parts.n_words, len(parts.train.documents)),
        )
        local = inference.Local(*(each[:50] for each in deep_exp_family.local_of(start)))
        began, matrices = time.process_time(), deep_exp_family.matrices_of(start)
        estimates = [inference.gradients(plan, seed, 1, matrices, few, local) for seed in range(8)]
        seconds = (time.process_time() - began) / 8
        stacked = np.stack(estimates)
        spread, size = stacked.std(axis=0, ddof=1), np.abs(stacked.mean(axis=0))
        found[gradient] = (
            f"deviation {np.sqrt((spread**2).mean()):.3g} (median {np.median(spread):.3g}), "
            f"size of the mean {np.sqrt((size**2).mean()):.3g}, {seconds:.2f} processor s each"
        )
    return found


def _first(docs: Batch, n: int) -> Batch:
    cells = docs.cells.rows(0, n)
    return cells.batch(docs.documents[:n], docs.labels[:n])


def lda(parts: Parts, width: int) -> dict[str, float]:
    """LDA of scikit-learn under the same protocol, with its own priors and with sparser ones."""
    from scipy.sparse import csr_matrix
    from sklearn.decomposition import LatentDirichletAllocation

    def table(docs: Batch) -> Any:
        shape = (len(docs.documents), parts.n_words)
        return csr_matrix((docs.counts, docs.words, docs.starts), shape=shape)

    found = {}
    for name, priors in (("LDA, priors 1/K", (None, None)), ("LDA, priors 0.1 and 0.05", (0.1, 0.05))):
        model = LatentDirichletAllocation(
            width, doc_topic_prior=priors[0], topic_word_prior=priors[1], max_iter=20, random_state=SEED
        )
        model.fit(table(parts.train))
        topics = model.components_ / model.components_.sum(axis=1, keepdims=True)
        found[name] = _judged(model.transform(table(parts.observed)), topics, parts)
    return found


def _judged(shares: Array, topics: Array, parts: Parts) -> float:
    owners = np.repeat(np.arange(len(shares)), np.diff(parts.scored.starts))
    rates = np.einsum("ck,kc->c", shares[owners], topics[:, parts.scored.words])
    totals = shares.sum(axis=1)
    return prediction.perplexity(rates, totals, np.zeros(len(totals)), parts.scored.cells)


if __name__ == "__main__":
    sys.exit(main())
