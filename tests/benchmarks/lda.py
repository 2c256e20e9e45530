"""The models of LDA: sweeps beside tomotopy's, mini-batches beside scikit-learn's, perplexity beside what is published.

All with the same priors, on the same documents and as many threads.  Held-out perplexity of mini-batches is that of
our own evaluation for both; what is published is the averaged perplexity of Table 1 of deep Poisson factor analysis.
"""

import sys
from argparse import Namespace
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tests.benchmarks.gibbs_sweep import tomotopy_lda
from tests.benchmarks.report import Seconds, corpus_of, interleaved, load, median, parser, ratio, say
from topiary.engine import models
from topiary.engine.contract import TEST, TRAIN, Batch, Facts, Kernel, Rates, Sweeps
from topiary.engine.corpus import Corpus, draw_minibatch
from topiary.engine.hierarchy import evaluate

PUBLISHED = 893.0  # Gan et al., "Scalable deep Poisson factor analysis for topic modeling" (ICML 2015), K = 128
TAU, KAPPA = 1.0, 0.7
PARTS = ("gibbs", "svi", "fidelity")


def main(argv: Sequence[str] | None = None) -> int:
    """Print what each part found."""
    options = parser(__doc__ or "")
    options.add_argument("--only", nargs="+", choices=PARTS, default=PARTS)
    options.add_argument("--topics", type=int, default=128)
    options.add_argument("--alpha", type=float, default=0.0, help="0 (default): 50 over the number of topics")
    options.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    options.add_argument("--burn-in", type=int, default=200, help="sweeps before timing (default 200)")
    options.add_argument("--sweeps", type=int, default=10, help="sweeps in a round (default 10)")
    options.add_argument("--rounds", type=int, default=7)
    options.add_argument("--epochs", type=int, default=5, help="of mini-batches, each a round (default 5)")
    options.add_argument("--batch-size", type=int, default=256)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--train", type=int, default=2000, help="sweeps before samples are collected (default 2,000)")
    options.add_argument("--collect", type=int, default=1500, help="samples (default 1,500)")
    options.add_argument("--start", default="random", help="of the topics, for what is published (default random)")
    arguments = options.parse_args(argv)
    corpus = corpus_of(arguments)
    tokens = corpus.count_tokens(TRAIN)
    say(f"LDA, K = {arguments.topics}, {len(corpus.documents(TRAIN)):,} documents, {tokens:,} tokens; {load()}")
    for part in arguments.only:
        for threads in arguments.threads[-1:] if part == "fidelity" else arguments.threads:
            {"gibbs": sweeps, "svi": minibatches, "fidelity": fidelity}[part](corpus, arguments, threads)
    return 0


def kernel_of(name: str, corpus: Corpus, arguments: Namespace, threads: int, **changed: Any) -> Kernel:
    """A model with the priors of the options."""
    module = models.load(name)
    config = module.Config(layers=(arguments.topics,), alpha=(arguments.alpha,), beta=(0.05,), **changed)
    facts = Facts(corpus.n_words, len(corpus.documents(TRAIN)), n_tokens=corpus.count_tokens(TRAIN))
    kernel: Kernel = module.build(config, facts, threads)
    return kernel


def alpha_of(arguments: Namespace) -> float:
    """Alpha as others want it told."""
    return float(arguments.alpha) or 50.0 / float(arguments.topics)


def sweeps(corpus: Corpus, arguments: Namespace, threads: int) -> None:
    """Sweeps of all documents, ours and tomotopy's, after as many have settled the topics."""
    docs = corpus.batch(corpus.documents(TRAIN))
    kernel = kernel_of("lda-gibbs", corpus, arguments, threads, start="random")
    state = kernel.prepare(1, kernel.init(1), docs)

    def ours() -> None:
        nonlocal state
        for _ in range(arguments.sweeps):
            state, _ = kernel.step(1, state, docs)

    contestants: dict[str, Callable[[], object]] = {"topiary": ours}
    rival = tomotopy_lda(docs, corpus.vocabulary, arguments.topics, threads, alpha_of(arguments), 0.05)
    if rival is None:
        say("tomotopy is not installed (pip install tomotopy): nothing to compare with")
    else:
        contestants["tomotopy"] = lambda: rival(arguments.sweeps)
    for _ in range(-(-arguments.burn_in // arguments.sweeps)):
        for work in contestants.values():
            work()
    seconds = interleaved(contestants, arguments.rounds)
    for name, each in seconds.items():
        say(f"  sweeps, {threads} threads  {name:<12}{1e3 * median(each.clock) / arguments.sweeps:8.1f} ms a sweep")
    if rival is not None:
        say(f"  sweeps, {threads} threads  ratio to tomotopy: {ratio(seconds['tomotopy'], seconds['topiary'])}")


def minibatches(corpus: Corpus, arguments: Namespace, threads: int) -> None:
    """Epochs of mini-batches, ours and scikit-learn's, and the perplexity that each has after them."""
    train, test = corpus.documents(TRAIN), corpus.documents(TEST)[:2000]
    size = min(arguments.batch_size, len(train))
    kernel = kernel_of("lda-svi", corpus, arguments, threads, start="random", batch_size=size, tau=TAU, kappa=KAPPA)
    epochs = [[corpus.batch(draw_minibatch(1, t, train, size)) for t in range(1, len(train) // size + 1)]]
    state = kernel.init(arguments.seed)

    def ours() -> None:
        nonlocal state
        for docs in epochs[0]:
            state, _ = kernel.step(1, state, docs)

    contestants: dict[str, Callable[[], object]] = {"topiary": ours}
    rival = _scikit(corpus, arguments, threads, epochs[0])
    if rival is None:
        say("scikit-learn is not installed (pip install scikit-learn): nothing to compare with")
    else:
        contestants["scikit-learn"] = rival[0]
    warm, _ = kernel.step(1, state, epochs[0][0])  # compiled before it is timed
    del warm
    seconds: dict[str, Seconds] = interleaved(contestants, arguments.epochs)
    observed, scored = corpus.split_tokens(test)
    for name, each in seconds.items():
        if name == "topiary":
            shown = state
        else:
            lam = np.ascontiguousarray(rival[1]().T) if rival else state.lam
            shown = state._replace(lam=lam, totals=lam.sum(axis=0))
        found = evaluate.evaluate_point(kernel, 1, shown, observed, scored, evaluate.SHORT)
        say(
            f"  mini-batches, {threads} threads  {name:<12}{median(each.clock):8.2f} s an epoch, perplexity {found:.1f}"
        )
    if rival is not None:
        say(
            f"  mini-batches, {threads} threads  ratio to scikit-learn: "
            f"{ratio(seconds['scikit-learn'], seconds['topiary'])}"
        )


def _scikit(
    corpus: Corpus, arguments: Namespace, threads: int, batches: list[Batch]
) -> tuple[Callable[[], None], Callable[[], Any]] | None:
    """An epoch of scikit-learn's online LDA on the same mini-batches, and its topics."""
    try:
        from scipy.sparse import csr_array
        from sklearn.decomposition import LatentDirichletAllocation
    except ImportError:
        return None
    model = LatentDirichletAllocation(
        arguments.topics,
        doc_topic_prior=alpha_of(arguments),
        topic_word_prior=0.05,
        learning_method="online",
        learning_offset=TAU,
        learning_decay=KAPPA,
        total_samples=len(corpus.documents(TRAIN)),
        batch_size=arguments.batch_size,
        n_jobs=threads,
        random_state=arguments.seed,
    )
    tables = [
        csr_array(
            (docs.counts.astype(np.float64), docs.words, docs.starts.astype(np.int32)),
            shape=(len(docs.documents), corpus.n_words),
        )
        for docs in batches
    ]

    def epoch() -> None:
        for table in tables:
            model.partial_fit(table)

    return epoch, lambda: model.components_


def fidelity(corpus: Corpus, arguments: Namespace, threads: int) -> None:
    """Averaged perplexity of test documents: rates summed over one sweep under each of the last samples."""
    docs = corpus.batch(corpus.documents(TRAIN))
    observed, scored = corpus.split_tokens(corpus.documents(TEST))
    kernel = kernel_of("lda-gibbs", corpus, arguments, threads, start=arguments.start)
    seed = arguments.seed
    begun = kernel.init_from_documents(seed, docs)
    state = kernel.prepare(seed, begun, docs)
    chain = kernel.start_chain(seed, state, observed)
    total = Rates(np.zeros(len(scored.words)), np.zeros(len(observed.documents)))
    for sweep in range(arguments.train + arguments.collect):
        state, _ = kernel.step(seed, state, docs)
        chain, found = kernel.advance_chain(seed, state, chain, observed, scored, Sweeps(0, 1))
        if sweep >= arguments.train:
            total = Rates(total.cells + found.cells, total.totals + found.totals)
        done = sweep + 1 - arguments.train
        if done > 0 and (done % 250 == 0 or done == arguments.collect):
            value = evaluate.compute_perplexity(total, scored)
            away = 100.0 * (value / PUBLISHED - 1.0)
            say(f"  averaged over {done:,} samples: {value:.1f}, published {PUBLISHED:.0f} ({away:+.2f}%)")


if __name__ == "__main__":
    sys.exit(main())
