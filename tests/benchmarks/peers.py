"""Other topic models, trained step by step on the same documents for comparison: LDA of three libraries, and NMF.

Each has the settings that its own documentation recommends.  A peer is an iterator that trains for a while and yields
its topics, again and again; only training is timed.  Topics of a sampler are averaged over as many samples as Topiary's
are; variational methods return the mean of a posterior already.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy import sparse

from topiary.engine.contract import Counts, FloatArray
from topiary.engine.pool import Pool
from topiary.engine.topic_moves.steps import count_memory, init_mean, update_mean


class PeerTopics(NamedTuple):
    """Topics that a peer has learned so far.

    Attributes
    ----------
    seconds : float
        Time of training.
    steps : int
        Number of iterations, passes or sweeps.
    phi : (V, K) float64
        The topics; columns sum to 1.
    alpha : (K,) float64
        Dirichlet parameter of the topics of a document; empty for a method without one, which cannot predict words.
    shares : (K,) float64
        Share of the tokens that each topic holds.
    """

    seconds: float
    steps: int
    phi: FloatArray
    alpha: FloatArray
    shares: FloatArray


PIECE = 10  # iterations of tomotopy between two results
Peer: TypeAlias = Callable[[Counts, int, int, int, int], Iterator[PeerTopics]]


class MissingPeerError(ValueError):
    """Raised when a peer is not installed; the message is one sentence for the user."""


def train_tomotopy(
    counts: Counts, n_words: int, width: int, seed: int, threads: int, seeds: Sequence[Sequence[int]] = ()
) -> Iterator[PeerTopics]:
    """Train LDA by collapsed Gibbs sampling, its prior optimised every ten iterations (tomotopy's defaults).

    The topics are the mean over the last samples: a single one gives a higher perplexity.  ``seeds`` are words of the
    first topics, whose priors are those of the example in tomotopy's documentation of ``set_word_prior``.
    """
    model = _import_library("tomotopy").LDAModel(k=width, seed=seed)
    names = np.array([str(word) for word in range(n_words)])
    for first, last in zip(counts.starts, counts.starts[1:], strict=False):
        model.add_doc(np.repeat(names[counts.words[first:last]], counts.values[first:last]).tolist())
    for k, seeded in enumerate(seeds):
        for word in seeded:
            model.set_word_prior(names[word], [1.0 if other == k else 0.1 for other in range(width)])
    seconds, mean, pool = 0.0, init_mean(np.full((n_words, width), 1.0 / n_words)), Pool(threads)
    while True:
        for _ in range(PIECE):
            began = time.perf_counter()
            model.train(1, workers=threads)
            seconds += time.perf_counter() - began
            sample = np.full((n_words, width), 1e-12)
            used = np.array([int(word) for word in model.used_vocabs])
            sample[used] = np.array([model.get_topic_word_dist(k) for k in range(width)]).T
            mean, _ = update_mean(mean, sample, 0.0, pool, count_memory(model.global_step))
        phi = mean.phi.astype(np.float64)
        shares = np.array(model.get_count_by_topics(), dtype=np.float64)
        alpha = np.array(model.alpha, dtype=np.float64)
        yield PeerTopics(seconds, model.global_step, phi / phi.sum(axis=0), alpha, shares / shares.sum())


def train_gensim(counts: Counts, n_words: int, width: int, seed: int, threads: int) -> Iterator[PeerTopics]:
    """Train LDA by online variational Bayes with both priors learned, as in gensim's tutorial, on one thread.

    Hoffman, Blei and Bach, "Online learning for latent Dirichlet allocation" (2010).
    """
    documents = [
        list(zip(counts.words[first:last].tolist(), counts.values[first:last].tolist(), strict=True))
        for first, last in zip(counts.starts, counts.starts[1:], strict=False)
    ]
    model = _import_library("gensim.models").LdaModel(
        id2word={word: str(word) for word in range(n_words)}, num_topics=width, alpha="auto", eta="auto",
        iterations=400, eval_every=None, random_state=seed,
    )  # fmt: skip
    seconds, passes = 0.0, 0
    while True:
        began = time.perf_counter()
        model.state.numdocs = 0  # otherwise gensim would take the documents of this pass for further ones
        model.update(documents)
        seconds += time.perf_counter() - began
        passes += 1
        topics = np.ascontiguousarray(model.get_topics().T, dtype=np.float64)
        sizes = np.asarray(model.state.sstats, dtype=np.float64).sum(axis=1)
        alpha = np.array(model.alpha, dtype=np.float64)
        yield PeerTopics(seconds, passes, topics / topics.sum(axis=0), alpha, sizes / sizes.sum())


def train_sklearn(counts: Counts, n_words: int, width: int, seed: int, threads: int) -> Iterator[PeerTopics]:
    """Train LDA by online variational Bayes: one pass after another over mini-batches of 128 documents."""
    from sklearn.decomposition import LatentDirichletAllocation

    table, seconds, passes = build_matrix(counts, n_words), 0.0, 0
    model = LatentDirichletAllocation(
        width, learning_method="online", total_samples=counts.n_documents, random_state=seed, n_jobs=threads
    )
    while True:
        began = time.perf_counter()
        model.partial_fit(table)
        seconds += time.perf_counter() - began
        passes += 1
        topics = np.ascontiguousarray(model.components_.T)
        sizes = (topics - model.topic_word_prior_).clip(min=0.0).sum(axis=0)
        alpha = np.full(width, model.doc_topic_prior_)
        yield PeerTopics(seconds, passes, topics / topics.sum(axis=0), alpha, sizes / sizes.sum())


def train_nmf(counts: Counts, n_words: int, width: int, seed: int, threads: int) -> Iterator[PeerTopics]:
    """Factorise tf-idf into non-negative matrices by coordinate descent; yield one result, at the end."""
    from sklearn.decomposition import NMF
    from sklearn.feature_extraction.text import TfidfTransformer

    began = time.perf_counter()
    table = TfidfTransformer().fit_transform(build_matrix(counts, n_words).astype(np.float64))
    model: Any = NMF(width, init="nndsvd", random_state=seed, max_iter=200, tol=1e-3)
    document_topics = model.fit_transform(table)
    seconds = time.perf_counter() - began
    topics = np.ascontiguousarray(model.components_.T) + 1e-12
    sizes = document_topics.sum(axis=0) * topics.sum(axis=0)
    yield PeerTopics(seconds, model.n_iter_, topics / topics.sum(axis=0), np.zeros(0), sizes / max(sizes.sum(), 1e-300))


def _import_library(name: str) -> Any:
    """Import a library; if it is missing, raise an error that says how to install it."""
    try:
        return import_module(name)
    except ImportError:
        package = name.partition(".")[0]
        raise MissingPeerError(
            f"{package} is not installed; pip install '{package}', or leave it out of --methods"
        ) from None


PEERS: dict[str, Peer] = {
    "tomotopy": train_tomotopy,
    "gensim": train_gensim,
    "sklearn": train_sklearn,
    "nmf": train_nmf,
}


def build_matrix(counts: Counts, n_words: int) -> Any:
    """Return documents as a sparse matrix (documents, words) of SciPy."""
    return sparse.csr_matrix((counts.values, counts.words, counts.starts), shape=(counts.n_documents, n_words))
