"""Other makers of topics, trained step by step on the same documents: LDA of three libraries, and NMF.

Each has the settings that its own documentation recommends.  A peer is an iterator of what it has made after every
piece of its work; only that work is timed.
"""

import time
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy import sparse

from engine.contract import Counts, FloatArray

PIECE = 10  # iterations of tomotopy between two looks


class Made(NamedTuple):
    """What a method has made so far.

    Attributes
    ----------
    seconds : float
        Of its work alone.
    steps : int
        Its own: iterations, passes, sweeps.
    phi : (V, K) float64
        Its topics, columns on the simplex.
    alpha : (K,) float64
        Dirichlet parameter of the topics of a document; empty where the method has none and predicts nothing.
    shares : (K,) float64
        Of the tokens that each topic holds.
    """

    seconds: float
    steps: int
    phi: FloatArray
    alpha: FloatArray
    shares: FloatArray


Peer: TypeAlias = Callable[[Counts, int, int, int, int], Iterator[Made]]


class MissingPeerError(ValueError):
    """A peer is not installed; the message is one sentence for the user."""


def tomotopy(counts: Counts, n_words: int, width: int, seed: int, threads: int) -> Iterator[Made]:
    """LDA by collapsed Gibbs sampling, its prior on documents optimised every ten iterations (tomotopy's defaults)."""
    model = _library("tomotopy").LDAModel(k=width, seed=seed)
    names = np.array([str(word) for word in range(n_words)])
    for first, last in zip(counts.starts, counts.starts[1:], strict=False):
        model.add_doc(np.repeat(names[counts.words[first:last]], counts.values[first:last]).tolist())
    seconds = 0.0
    while True:
        began = time.perf_counter()
        model.train(PIECE, workers=threads)
        seconds += time.perf_counter() - began
        phi = np.full((n_words, width), 1e-12)
        seen = np.array([int(word) for word in model.used_vocabs])
        phi[seen] = np.array([model.get_topic_word_dist(k) for k in range(width)]).T
        shares = np.array(model.get_count_by_topics(), dtype=np.float64)
        alpha = np.array(model.alpha, dtype=np.float64)
        yield Made(seconds, model.global_step, phi / phi.sum(axis=0), alpha, shares / shares.sum())


def gensim_lda(counts: Counts, n_words: int, width: int, seed: int, threads: int) -> Iterator[Made]:  # noqa: ARG001
    """LDA by online variational Bayes with both priors learned, as gensim's tutorial has it: passes on one thread.

    Hoffman, Blei and Bach, "Online learning for latent Dirichlet allocation" (2010).
    """
    documents = [
        list(zip(counts.words[first:last].tolist(), counts.values[first:last].tolist(), strict=True))
        for first, last in zip(counts.starts, counts.starts[1:], strict=False)
    ]
    model = _library("gensim.models").LdaModel(
        id2word={word: str(word) for word in range(n_words)}, num_topics=width, alpha="auto", eta="auto",
        iterations=400, eval_every=None, random_state=seed,
    )  # fmt: skip
    seconds, passes = 0.0, 0
    while True:
        began = time.perf_counter()
        model.state.numdocs = 0  # a pass reads the same documents once more, not as many others
        model.update(documents)
        seconds += time.perf_counter() - began
        passes += 1
        topics = np.ascontiguousarray(model.get_topics().T, dtype=np.float64)
        sizes = np.asarray(model.state.sstats, dtype=np.float64).sum(axis=1)
        alpha = np.array(model.alpha, dtype=np.float64)
        yield Made(seconds, passes, topics / topics.sum(axis=0), alpha, sizes / sizes.sum())


def sklearn_lda(counts: Counts, n_words: int, width: int, seed: int, threads: int) -> Iterator[Made]:
    """LDA by online variational Bayes: one pass after another over mini-batches of 128 documents."""
    from sklearn.decomposition import LatentDirichletAllocation

    table, seconds, passes = matrix(counts, n_words), 0.0, 0
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
        yield Made(seconds, passes, topics / topics.sum(axis=0), alpha, sizes / sizes.sum())


def nmf(counts: Counts, n_words: int, width: int, seed: int, threads: int) -> Iterator[Made]:  # noqa: ARG001 - a Peer
    """Non-negative matrix factorisation of tf-idf by coordinate descent, to its end: it cannot be looked at before."""
    from sklearn.decomposition import NMF
    from sklearn.feature_extraction.text import TfidfTransformer

    began = time.perf_counter()
    table = TfidfTransformer().fit_transform(matrix(counts, n_words).astype(np.float64))
    model: Any = NMF(width, init="nndsvd", random_state=seed, max_iter=200, tol=1e-3)
    places = model.fit_transform(table)
    seconds = time.perf_counter() - began
    topics = np.ascontiguousarray(model.components_.T) + 1e-12
    sizes = places.sum(axis=0) * topics.sum(axis=0)
    yield Made(seconds, model.n_iter_, topics / topics.sum(axis=0), np.zeros(0), sizes / max(sizes.sum(), 1e-300))


def _library(name: str) -> Any:
    """A library of the extra, or the sentence how to get it."""
    try:
        return import_module(name)
    except ImportError:
        package = name.partition(".")[0]
        raise MissingPeerError(
            f"{package} is not installed; pip install 'topiary-explorer[peers]', or leave it out of --methods"
        ) from None


PEERS: dict[str, Peer] = {"tomotopy": tomotopy, "gensim": gensim_lda, "sklearn": sklearn_lda, "nmf": nmf}


def matrix(counts: Counts, n_words: int) -> Any:
    """Documents as a sparse matrix of SciPy, (documents, words)."""
    return sparse.csr_matrix((counts.values, counts.words, counts.starts), shape=(counts.n_documents, n_words))
