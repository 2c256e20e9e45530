"""Order of Table 2 of the DEF paper on a corpus at hand, and what implicit gradients gain over score functions.

Perplexity of the paper's protocol (a tenth of the cells of each test document observed) of sparse gamma DEFs of one,
two and three layers, and of LDA (scikit-learn) with as many topics as their first layer.  The priors of both, one
choice for all depths, are those with the least perplexity on documents cut from the training part; nothing is chosen
on the test documents.  Then, with one thread, the noise of both gradients at the same state and the evidence lower
bound after equal processor time.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

from engine import models, settings
from engine.black_box import inference, prediction
from engine.contract import TEST, TRAIN, Array, Batch, Facts, Kernel
from engine.corpus import Corpus
from engine.models import deep_exp_family

from .report import corpus_of, load, parser, say

SEED = 1


class Split(NamedTuple):
    """Documents to judge by, their observed and their scored cells apart."""

    observed: Batch
    scored: Batch


class Parts(NamedTuple):
    """Training documents, and those to choose by and to judge by."""

    train: Batch
    validation: Split
    test: Split
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
    options.add_argument("--corpus", type=Path, help="any file or folder that topiary import reads")
    options.add_argument("--layers", default="100-30-15", help="widths of the deepest (default 100-30-15, the paper's)")
    options.add_argument("--train", type=int, default=2_000, help="training documents, at most (default 2,000)")
    options.add_argument("--test", type=int, default=300, help="test documents, at most (default 300)")
    options.add_argument("--steps", type=int, default=200, help="of every model (default 200)")
    options.add_argument("--seconds", type=float, default=60.0, help="processor seconds of each gradient (default 60)")
    options.add_argument("--threads", type=int, default=2)
    options.add_argument("--seeds", type=int, default=1, help="runs of every model (default 1)")
    arguments = options.parse_args(argv)
    corpus = imported(arguments.corpus) if arguments.corpus else corpus_of(arguments)
    parts = parts_of(corpus, arguments.train, arguments.test)
    about(parts, arguments)
    depths(parts, arguments)
    if arguments.seconds > 0:
        gradients(parts, arguments)
    return 0


def imported(path: Path) -> Corpus:
    """The corpus that ``topiary import`` makes of a file or folder."""
    from app.ingest.importing import import_path
    from app.jobs.load_corpus import load_corpus
    from store.database import open_database

    with TemporaryDirectory() as folder:
        db = open_database(str(Path(folder) / "store.db"))
        try:
            return load_corpus(db, import_path(db, path))
        finally:
            db.close()


def parts_of(corpus: Corpus, most: int, judged: int) -> Parts:
    """The first documents of both parts; those to choose by are the last of the training part."""
    train, test = (corpus.documents(part) for part in (TRAIN, TEST))
    aside = min(judged, len(train) // 5)

    def split(numbers: Array) -> Split:
        return Split(*prediction.split(SEED, corpus.batch(numbers)))

    return Parts(
        corpus.batch(train[:-aside][:most]), split(train[-aside:]), split(test[:judged]), len(corpus.vocabulary)
    )


def about(parts: Parts, arguments: argparse.Namespace) -> None:
    """Print what is compared."""
    tokens = int(parts.train.counts.sum())
    say(f"{len(parts.train.documents):,} training documents, {tokens:,} tokens, {parts.n_words:,} words; {load()}")
    say(
        f"{len(parts.validation.observed.documents):,} documents to choose by, {len(parts.test.observed.documents):,} "
        f"test documents, a tenth of their cells observed; {arguments.steps} steps"
    )


def depths(parts: Parts, arguments: argparse.Namespace) -> None:
    """Print the perplexity of LDA and of DEFs of every depth."""
    widths = arguments.layers.split("-")
    seeds = range(SEED, SEED + arguments.seeds)
    priors, validation = best_lda(parts, int(widths[0]))
    found = [lda(parts, int(widths[0]), priors, parts.test, seed) for seed in seeds]
    say(f"  LDA, priors {priors[0]:.3g} and {priors[1]:.3g} (validation {validation:.1f}): {_series(found)}")
    chosen, validation = best_def(parts, arguments)
    named = ", ".join(f"{name}={value}" for name, value in chosen.items())
    say(f"  sparse gamma DEF, {named} (validation {validation:.1f})")
    for depth in range(1, len(widths) + 1):
        layers = "-".join(widths[:depth])
        runs = [trained(parts, arguments.steps, arguments.threads, seed, layers=layers, **chosen) for seed in seeds]
        found = [judged(run, parts.test, seed) for run, seed in zip(runs, seeds, strict=True)]
        bound, each = np.mean([run.elbo for run in runs]), np.mean([run.seconds for run in runs]) / arguments.steps
        say(f"  {layers:<12} {_series(found)}; ELBO {bound:.1f} a document, {each:.3f} processor s a step")


def _series(found: Sequence[float]) -> str:
    return f"mean {np.mean(found):.1f} of " + ", ".join(f"{each:.1f}" for each in found)


def gradients(parts: Parts, arguments: argparse.Namespace) -> None:
    """Print the noise of both gradients and what they reach in equal time."""
    say("gradients, one thread:")
    for name, values in noise(parts, arguments.layers).items():
        say(f"  {name:<28} {values}")
    for gradient in ("implicit", "score"):
        run = until(parts, arguments.seconds, arguments.layers, gradient)
        say(f"  {gradient:<28} ELBO {run.elbo:.1f} after {run.seconds:.0f} processor s, {int(run.state.t)} steps")


def best_lda(parts: Parts, width: int) -> tuple[tuple[float, float], float]:
    """The priors of documents and topics with the least perplexity on the documents to choose by, and that."""
    tried = {
        (alpha, eta): lda(parts, width, (alpha, eta), parts.validation, SEED)
        for alpha in (1.0 / width, 0.1, 0.3, 1.0)
        for eta in (1.0 / width, 0.1)
    }
    return min(tried.items(), key=lambda item: item[1])


def best_def(parts: Parts, arguments: argparse.Namespace) -> tuple[dict[str, str], float]:
    """The prior shapes of a DEF of two layers with the least perplexity on the documents to choose by, and that."""
    layers = "-".join(arguments.layers.split("-")[:2])
    tried = []
    for weight_shape in ("0.03", "0.1"):
        for shape in ("0.1", "0.3"):
            texts = {"weight_shape": weight_shape, "shape": shape}
            run = trained(parts, arguments.steps, arguments.threads, SEED, layers=layers, **texts)
            tried.append((texts, judged(run, parts.validation, SEED)))
    return min(tried, key=lambda each: each[1])


def judged(run: Trained, split: Split, seed: int) -> float:
    """Perplexity of the paper's protocol."""
    return prediction.complete(run.kernel, seed, run.state, split.observed, split.scored).perplexity


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


def lda(parts: Parts, width: int, priors: tuple[float, float], split: Split, seed: int) -> float:
    """Perplexity of LDA (scikit-learn) with these priors of documents and topics, by the same protocol."""
    from scipy.sparse import csr_matrix
    from sklearn.decomposition import LatentDirichletAllocation

    def table(docs: Batch) -> Any:
        shape = (len(docs.documents), parts.n_words)
        return csr_matrix((docs.counts, docs.words, docs.starts), shape=shape)

    model = LatentDirichletAllocation(
        width, doc_topic_prior=priors[0], topic_word_prior=priors[1], max_iter=20, random_state=seed
    )
    model.fit(table(parts.train))
    topics = model.components_ / model.components_.sum(axis=1, keepdims=True)
    shares = model.transform(table(split.observed))
    owners = np.repeat(np.arange(len(shares)), np.diff(split.scored.starts))
    rates = np.einsum("ck,kc->c", shares[owners], topics[:, split.scored.words])
    totals = shares.sum(axis=1)
    return prediction.perplexity(rates, totals, np.zeros(len(totals)), split.scored.cells)


if __name__ == "__main__":
    sys.exit(main())
