"""Completion of documents of which a tenth is observed: Table 2 of the DEF paper on a corpus at hand.

Ranganath, Tang, Charlin and Blei, "Deep exponential families" (AISTATS 2015), section 6.1.  DEFs of every family and
depth, and LDA with as many topics as their first layer, in one protocol (:mod:`engine.hierarchy.completion`).  DEFs
have their defaults, or the settings of their paper, and nothing is chosen for them; LDA has the priors with the least
perplexity on documents cut from the training part.
"""

import argparse
import itertools
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from tests.benchmarks.commands import read_choices, run_benchmark
from tests.benchmarks.peers import build_matrix
from tests.benchmarks.published import COMPLETION
from tests.benchmarks.report import TimeLeft
from topiary.app.cli.console import Parser, read_whole, say, threads
from topiary.app.jobs.load_corpus import load_corpus
from topiary.app.jobs.progress import Progress, format_duration
from topiary.app.jobs.run_rules import find_preset
from topiary.engine import models, settings
from topiary.engine.contract import TEST, TRAIN, Array, Batch, Facts, FloatArray, Kernel
from topiary.engine.corpus import Corpus
from topiary.engine.hierarchy import completion
from topiary.store import corpora
from topiary.store.database import open_existing

LDA = "lda"
FAMILIES: dict[str, dict[str, str]] = {
    "gamma": {"family": "gamma"},
    "sigmoid": {"family": "bernoulli"},
    "poisson": {"family": "poisson", "link": "softplus"},
    "poisson-log": {"family": "poisson", "link": "log"},
}
METHODS = (LDA, *FAMILIES)
_PASSES = 20  # of LDA


class Row(NamedTuple):
    """One measured row of the table.

    Attributes
    ----------
    method : str
        One of ``METHODS``.
    layers : str
        As ``100-30``.
    seed : int
    settings : str
        How the units of a DEF are moved, and whose settings it has; of LDA, its priors.
    perplexity : float
        Of the cells that were not observed.
    training_seconds, test_seconds : float
        Of all steps, and of the completion of one test document.
    """

    method: str
    layers: str
    seed: int
    settings: str
    perplexity: float
    training_seconds: float
    test_seconds: float


class Split(NamedTuple):
    """Documents to judge by: their observed cells, and the others."""

    observed: Batch
    scored: Batch


class Parts(NamedTuple):
    """Documents to train on, to choose LDA's priors by, and to judge by."""

    train: Batch
    validation: Split
    test: Split
    n_words: int


@dataclass(frozen=True, kw_only=True)
class Setup:
    """What all rows share.

    Attributes
    ----------
    steps : int
        Of every DEF.
    preset : str
        "paper", or empty for the defaults.
    threads : int
    priors : (float, float)
        Of LDA: parameters of its Dirichlet priors of documents and of topics, as from :func:`best_priors`.
    """

    steps: int
    preset: str = ""
    threads: int = 1
    priors: tuple[float, float] = (0.1, 0.1)


Watch: TypeAlias = Callable[[int], None]  # called with the number of steps done


def parts_of(corpus: Corpus, train: int, test: int, seed: int = 1) -> Parts:
    """The first ``train`` training and ``test`` test documents; the validation documents are the last for training.

    Raises
    ------
    ValueError
        When the corpus has no test documents, or too few for training.
    """
    known, judged = corpus.documents(TRAIN), corpus.documents(TEST)[:test]
    aside = min(test, len(known) // 5)
    if not aside or not len(judged):
        raise ValueError(
            f"completion needs at least 5 training documents and 1 test document; the corpus has {len(known)} and "
            f"{len(judged)}; import it with another --test-share"
        )

    def split(numbers: Array) -> Split:
        return Split(*completion.split_cells(seed, corpus.batch(numbers)))

    return Parts(corpus.batch(known[:-aside][:train]), split(known[-aside:]), split(judged), corpus.n_words)


def trials(methods: tuple[str, ...], layers: tuple[int, ...]) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Methods with the widths they have; one layer has no link, so that both Poisson DEFs are one there."""
    for method in methods:
        if method == LDA:
            yield method, layers[:1]
            continue
        first = 2 if method == "poisson-log" else 1
        yield from ((method, layers[:depth]) for depth in range(first, len(layers) + 1))


def measure(parts: Parts, method: str, layers: tuple[int, ...], seed: int, setup: Setup, watch: Watch) -> Row:
    """Train a method and complete the test documents."""
    if method == LDA:
        return _lda_row(parts, layers[0], seed, setup.priors)
    texts = texts_of(method, layers, setup.preset)
    kernel = kernel_of(parts.train, parts.n_words, texts, setup.threads)
    _compile(parts, kernel, seed)
    began = time.perf_counter()
    state = begun(kernel, seed, parts.train)
    for done in range(1, setup.steps + 1):
        state, _ = kernel.step(seed, state, parts.train)
        watch(done)
    trained = time.perf_counter()
    found = completion.complete_documents(kernel, seed, state, *parts.test).perplexity
    took = (time.perf_counter() - trained) / len(parts.test.observed.documents)
    return Row(method, texts["layers"], seed, _gradients(texts), found, trained - began, took)


def _compile(parts: Parts, kernel: Kernel, seed: int) -> None:
    """One step and the completion of one document, so that neither is compiled while it is timed."""
    state, _ = kernel.step(seed, begun(kernel, seed, parts.train), parts.train)
    completion.complete_documents(kernel, seed, state, *(_first(each, 1) for each in parts.test))


def _first(docs: Batch, n: int) -> Batch:
    return docs.cells.rows(0, n).batch(docs.documents[:n], docs.labels[:n])


def texts_of(method: str, layers: tuple[int, ...], name: str = "") -> dict[str, str]:
    """The settings of a DEF: of a preset, with the method's family and link, and these widths."""
    widths = "-".join(map(str, layers))
    return find_preset("deep-exp-family", name).texts | FAMILIES[method] | {"layers": widths}


def kernel_of(train: Batch, n_words: int, texts: dict[str, str], threads: int) -> Kernel:
    """The kernel of a DEF with these settings, for these training documents."""
    module = models.load("deep-exp-family")
    facts = Facts(n_words, len(train.documents), n_tokens=int(train.counts.sum()))
    kernel: Kernel = module.build(settings.parse(module.Config, texts), facts, n_threads=threads)
    return kernel


def begun(kernel: Kernel, seed: int, train: Batch) -> Any:
    """The state of a DEF before its first step."""
    state = kernel.init_from_documents(seed, train)
    return kernel.prepare(seed, state, train)


def _gradients(texts: dict[str, str]) -> str:
    """How the units of a DEF are moved, and whose settings it has."""
    score = texts.get("gradient") == "score"
    units = "score functions" if score or texts["family"] != "gamma" else "implicit"
    return f"{units}, {'as in the paper' if score else 'defaults'}"


def _lda_row(parts: Parts, width: int, seed: int, priors: tuple[float, float]) -> Row:
    began = time.perf_counter()
    model = _lda(parts, width, priors, seed)
    trained = time.perf_counter()
    found = _completed(model, parts.test, parts.n_words)
    took = (time.perf_counter() - trained) / len(parts.test.observed.documents)
    return Row(LDA, str(width), seed, f"priors {priors[0]:.3g}, {priors[1]:.3g}", found, trained - began, took)


def best_priors(parts: Parts, width: int) -> tuple[float, float]:
    """LDA's priors of documents and of topics with the least perplexity on the validation documents, of eight."""

    def perplexity(priors: tuple[float, float]) -> float:
        return _completed(_lda(parts, width, priors, 1), parts.validation, parts.n_words)

    return min(itertools.product((1.0 / width, 0.1, 0.3, 1.0), (1.0 / width, 0.1)), key=perplexity)


def _lda(parts: Parts, width: int, priors: tuple[float, float], seed: int) -> Any:
    """LDA of scikit-learn by variational Bayes."""
    from sklearn.decomposition import LatentDirichletAllocation

    model = LatentDirichletAllocation(
        width, doc_topic_prior=priors[0], topic_word_prior=priors[1], max_iter=_PASSES, random_state=seed
    )
    return model.fit(build_matrix(parts.train.cells, parts.n_words))


def _completed(model: Any, split: Split, n_words: int) -> float:
    """Perplexity of the unobserved cells under LDA."""
    topics: FloatArray = model.components_ / model.components_.sum(axis=1, keepdims=True)
    shares = model.transform(build_matrix(split.observed.cells, n_words))
    owners = np.repeat(np.arange(len(shares)), np.diff(split.scored.starts))
    rates = np.einsum("ck,kc->c", shares[owners], topics[:, split.scored.words])
    totals = shares.sum(axis=1)
    return completion.compute_perplexity(rates, totals, np.zeros(len(totals)), split.scored.cells)


HEAD = (
    f"{'method':<13}{'layers':<12}{'seed':>5}{'perplexity':>12}{'training':>12}{'a document':>12}"
    f"{'NYT':>7}{'Science':>9}  settings"
)
NOTE = """\
Completion protocol of the DEF paper: a tenth of the cells of each test document is observed, and perplexity is of the
others under normalised mean rates.  gamma, sigmoid, poisson and poisson-log are DEFs with these units and links; LDA is
scikit-learn's, its priors chosen on validation documents.  NYT and Science are the figures of Table 2, of two corpora
that are not this one: only their order compares."""


def line(row: Row) -> str:
    """One row, beside the published figures of its method and depth."""
    published = COMPLETION.get((row.method, row.layers.count("-") + 1))
    beside = f"{published[0]:>7.0f}{published[1]:>9.0f}" if published else " " * 16
    name = "LDA" if row.method == LDA else row.method
    return (
        f"{name:<13}{row.layers:<12}{row.seed:>5}{row.perplexity:>12,.1f}{format_duration(row.training_seconds):>12}"
        f"{1e3 * row.test_seconds:>9.1f} ms{beside}  {row.settings}"
    )


def build_parser() -> Parser:
    """Return the parser of this benchmark."""
    about = "Complete test documents by LDA and DEFs, a tenth of each observed."
    parser = Parser(prog="python -m tests.benchmarks.completion", description=about)
    parser.add_argument("corpus", metavar="CORPUS", help="name or number of a corpus of the store")
    parser.add_argument("--store", metavar="URL", help="file or database URL of the store")
    parser.add_argument(
        "--methods", type=read_choices(METHODS), default=METHODS, help=f"any of {','.join(METHODS)} (default: all)"
    )
    parser.add_argument("--layers", default="100-30-15", help="of the deepest (default 100-30-15, the paper's)")
    parser.add_argument("--train", type=read_whole(5), default=2_000, help="training documents, at most (default 2000)")
    parser.add_argument("--test", type=read_whole(1), default=1_000, help="test documents, at most (default 1000)")
    parser.add_argument("--steps", type=read_whole(1), default=150, help="of every DEF (default 150)")
    parser.add_argument("--preset", default="", choices=("paper",), help="DEFs with the paper's settings")
    parser.add_argument(
        "--seeds", type=read_whole(1), default=1, help="runs of every row, with seeds 1, 2, ... (default 1)"
    )
    parser.add_argument("--threads", type=threads, default=2, help="threads (default 2); no effect on results")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write every row to this file")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table of completion."""
    return run_benchmark(print_table, build_parser(), argv)


def print_table(arguments: argparse.Namespace) -> None:
    """Measure and print row by row."""
    db = open_existing(arguments.store)
    about = corpora.find_corpus(db, arguments.corpus)
    layers = settings.parse(models.load("deep-exp-family").Config, {"layers": arguments.layers}).layers
    parts = parts_of(load_corpus(db, about), arguments.train, arguments.test)
    say(
        f"{NOTE}\n\n{about.name}: {len(parts.train.documents):,} training, "
        f"{len(parts.validation.observed.documents):,} validation and {len(parts.test.observed.documents):,} test "
        f"documents, {parts.n_words:,} words; {arguments.steps:,} steps, {arguments.threads} threads\n{HEAD}"
    )
    progress, rows = Progress(), list[Row]()
    setup = Setup(steps=arguments.steps, preset=arguments.preset, threads=arguments.threads)
    if LDA in arguments.methods:
        progress.show("choosing the priors of LDA on the validation documents")
        setup = replace(setup, priors=best_priors(parts, layers[0]))
    seeds = range(1, arguments.seeds + 1)
    for (method, widths), seed in itertools.product(trials(arguments.methods, layers), seeds):
        watch = _watch(progress, f"{method} {'-'.join(map(str, widths))} seed {seed}", setup.steps)
        rows.append(measure(parts, method, widths, seed, setup, watch))
        progress.end()
        say(line(rows[-1]))
        if arguments.json is not None:
            arguments.json.write_text(json.dumps([row._asdict() for row in rows], indent=1) + "\n")


def _watch(progress: Progress, name: str, steps: int) -> Watch:
    """A bar that grows with the steps of one row."""
    left = TimeLeft(steps)
    progress.show(name)
    return lambda done: progress.show(name, done / steps, left.words(done))


if __name__ == "__main__":
    sys.exit(main())
