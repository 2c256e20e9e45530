"""Words and topics that are everywhere in a corpus, whatever its documents are about: mail headers, boilerplate."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from topiary.engine.contract import Array, Counts, FloatArray, IntArray

MOST = 0.3  # share of the documents from which a word counts as common
EVEN_MOST = 0.1  # the same for a word that is spread more evenly than by chance
EVEN = 1.1  # documents with a word over those expected if tokens fell at random, from which a word counts as even


def find_common_words(documents: Array, totals: Array, lengths: Array) -> IntArray:
    """Return the words of a corpus that say nothing about a document because nearly any document may have them.

    These are words in a large share of the documents, and words in a smaller share that are spread more evenly than by
    chance.  If tokens fell independently, a word of rate q would be in ``1 - exp(-q n_j)`` of documents of n_j tokens.
    Words with content come in bursts and are in fewer documents; lines that a form or a mail program inserts come once
    in each and are in more.  In binary data there are no bursts, so only the first criterion is used.

    Parameters
    ----------
    documents : (V,) int array
        Number of documents with the word.
    totals : (V,) array
        Occurrences of the word in all documents.
    lengths : (N,) array
        Number of tokens of every document.

    Returns
    -------
    (m,) int32 array
        Word numbers, ascending.
    """
    n_documents = max(len(lengths), 1)
    shares = np.asarray(documents) / n_documents
    common = shares >= MOST
    if (np.asarray(totals) > documents).any():
        rates = np.asarray(totals, dtype=np.float64) / max(float(np.sum(totals)), 1.0)
        values, repeats = np.unique(np.asarray(lengths), return_counts=True)
        for word in np.flatnonzero(~common & (shares >= EVEN_MOST)).tolist():
            expected = float(-np.expm1(-rates[word] * values) @ repeats) / n_documents
            common[word] = shares[word] >= EVEN * expected
    return np.flatnonzero(common).astype(np.int32)


def list_common_words(counts: Counts, n_words: int) -> IntArray:
    """Return the common words (:func:`find_common_words`) of a table of documents x words."""
    totals = np.bincount(counts.words, weights=counts.values, minlength=n_words)
    tokens = np.concatenate([[0], np.cumsum(counts.values, dtype=np.int64)])
    lengths = np.diff(tokens[counts.starts])
    return find_common_words(np.bincount(counts.words, minlength=n_words), totals, lengths)


FEWEST = 50  # documents needed to measure the spread
BACKGROUND = 0.3  # effective share of the documents from which a topic may be background
BY_CHANCE = 0.2  # NPMI below which words co-occur hardly more often than by chance
# Multiple of the layer's median from which a topic may be background: in some corpora all topics are spread widely.
_MEDIAN_MULTIPLE = 3.0


def measure_spread(shares: Array) -> FloatArray | None:
    """Return the effective share of the documents that use each topic, 0 to 1.

    ``exp(entropy) / n`` of the topic's distribution over n documents: 1 if all use it equally, 1 / n if only one does.

    Parameters
    ----------
    shares : (n, K) array
        Share of every topic in documents; -1 in rows that are not known.

    Returns
    -------
    (K,) float64 array, or None if too few documents are known
        0 for a topic that no document uses.
    """
    rows = np.asarray(shares, dtype=np.float64)
    rows = rows[(rows >= 0).all(axis=1)]
    if len(rows) < FEWEST:
        return None
    totals = rows.sum(axis=0)
    part = rows / np.where(totals > 0, totals, 1.0)
    entropy = -(part * np.log(np.where(part > 0, part, 1.0))).sum(axis=0)
    return np.asarray(np.where(totals > 0, np.exp(entropy) / len(rows), 0.0))


def find_background(spreads: Array, npmi: Array | None = None) -> NDArray[np.bool_]:
    """Return which topics (K,) of a layer are spread so evenly over the documents that they characterise none.

    Parameters
    ----------
    spreads : (K,) array
        See :func:`measure_spread`.
    npmi : (K,) array, optional
        Coherence of their first words, if known.  A topic whose words co-occur is a subject and not background, however
        many documents it is in.
    """
    values = np.asarray(spreads)
    if not len(values):
        return np.zeros(0, dtype=bool)
    even = values >= max(BACKGROUND, _MEDIAN_MULTIPLE * float(np.median(values)))
    return even if npmi is None else even & (np.asarray(npmi) < BY_CHANCE)


def mark_background(spreads: Sequence[Array], npmi: Sequence[Array] = ()) -> tuple[NDArray[np.bool_], ...]:
    """Return the mask of background topics (:func:`find_background`) of every layer, layer 1 first.

    Parameters
    ----------
    spreads : sequence of (K_l,) arrays
    npmi : sequence of (K_l,) arrays
        Of the same layers; empty if it is not known.
    """
    return tuple(find_background(each, npmi[layer] if npmi else None) for layer, each in enumerate(spreads))
