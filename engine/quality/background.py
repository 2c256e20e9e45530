"""Words that a corpus puts everywhere, whatever a document is about: mail headers, boilerplate, habits of speech."""

import numpy as np
from numpy.typing import NDArray

from engine.contract import Array, Counts, FloatArray, IntArray

MOST = 0.3  # share of the documents from which a word is everywhere
EVEN_MOST = 0.1  # the same for a word that is spread more evenly than chance would
EVEN = 1.1  # documents that hold a word, beside those that would if its tokens fell where they like


def find_common_words(documents: Array, totals: Array, lengths: Array) -> IntArray:
    """Find the words of a corpus that say nothing about a document because nearly every one might have them.

    Those in a large share of the documents; and those in a smaller one that are spread more evenly than chance.  Where
    tokens fall independently a word of rate q is in ``1 - exp(-q n_j)`` of documents of n_j tokens.  Words of content
    come in bursts and are in fewer; lines that a form or a mail program puts into a document come once in each and are
    in more.  Where words are only present or absent nothing can be said of bursts.

    Parameters
    ----------
    documents : (V,) int array
        How many documents hold the word.
    totals : (V,) array
        How often it occurs altogether.
    lengths : (N,) array
        Tokens of every document.

    Returns
    -------
    (m,) int32 array
        Word numbers, ascending.
    """
    n_documents = max(len(lengths), 1)
    shares = np.asarray(documents) / n_documents
    found = shares >= MOST
    if (np.asarray(totals) > documents).any():
        rates = np.asarray(totals, dtype=np.float64) / max(float(np.sum(totals)), 1.0)
        each, times = np.unique(np.asarray(lengths), return_counts=True)
        for word in np.flatnonzero(~found & (shares >= EVEN_MOST)).tolist():
            expected = float(-np.expm1(-rates[word] * each) @ times) / n_documents
            found[word] = shares[word] >= EVEN * expected
    return np.flatnonzero(found).astype(np.int32)


def list_common_words(counts: Counts, n_words: int) -> IntArray:
    """`words_everywhere` of documents x words."""
    totals = np.bincount(counts.words, weights=counts.values, minlength=n_words)
    tokens = np.concatenate([[0], np.cumsum(counts.values, dtype=np.int64)])
    lengths = np.diff(tokens[counts.starts])
    return find_common_words(np.bincount(counts.words, minlength=n_words), totals, lengths)


FEWEST = 50  # documents, below which nothing can be said
BACKGROUND = 0.3  # effective share of the documents from which a topic may be background
BY_CHANCE = 0.2  # NPMI below which words meet little more often than chance has them
_TIMES = 3.0  # and how many times the median of its layer: in some corpora, and in upper layers, all are spread wide


def measure_spread(shares: Array) -> FloatArray | None:
    """Effective share of the documents that use each topic, 0 to 1.

    ``exp(entropy) / n`` of the topic's distribution over n documents: 1 where all use it alike, 1 / n where one does.

    Parameters
    ----------
    shares : (n, K) array
        Share of every topic in documents; -1 in rows that are not known.

    Returns
    -------
    (K,) float64 array, or None where too few documents are known
        0 for a topic that no document uses.
    """
    known = np.asarray(shares, dtype=np.float64)
    known = known[(known >= 0).all(axis=1)]
    if len(known) < FEWEST:
        return None
    totals = known.sum(axis=0)
    part = known / np.where(totals > 0, totals, 1.0)
    entropy = -(part * np.log(np.where(part > 0, part, 1.0))).sum(axis=0)
    return np.asarray(np.where(totals > 0, np.exp(entropy) / len(known), 0.0))


def find_background(spreads: Array, npmi: Array | None = None) -> NDArray[np.bool_]:
    """Which topics (K,) of a layer are spread so evenly over the documents that they say nothing of any.

    Parameters
    ----------
    spreads : (K,) array
        See :func:`spread`.
    npmi : (K,) array, optional
        Coherence of their first words, where it is known: what many documents are about has words that meet, and is
        no background however many these are.
    """
    wide = np.asarray(spreads)
    if not len(wide):
        return np.zeros(0, dtype=bool)
    even = wide >= max(BACKGROUND, _TIMES * float(np.median(wide)))
    return even if npmi is None else even & (np.asarray(npmi) < BY_CHANCE)
