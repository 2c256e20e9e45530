"""Coherence and diversity of topics: how often their first words co-occur, and how few words their lists share.

NPMI: Bouma (GSCL 2009), for topics Lau, Newman and Baldwin (EACL 2014); UMass: Mimno et al. (EMNLP 2011).  The windows
are whole documents, so counts suffice and no word order is needed: document NPMI, which is not the c_npmi of gensim,
whose windows are ten words.
"""

from typing import NamedTuple

import numpy as np
import scipy

from topiary.engine.contract import Array, Counts, FloatArray, IntArray

WORDS = 10  # number of first words per topic that are used
SAMPLED = 50_000  # most documents to use: of more, every second, third ...
_PAIRS_AT_ONCE = 2_000  # pairs of words counted at a time, which bounds the memory
_EPSILON = 1e-12  # added to a share in UMass, as in gensim


class WordPairs(NamedTuple):
    """Numbers of documents in which words, and pairs of words, occur.

    Attributes
    ----------
    words : (U,) int
        Word numbers, ascending.
    documents : (U,) float64
        Documents with the word.
    together : (U, U) float64
        Documents with both words.
    n_documents : int
        Documents counted.
    """

    words: IntArray
    documents: FloatArray
    together: FloatArray
    n_documents: int

    def find_rows(self, words: IntArray) -> IntArray:
        """Return the rows of word numbers (any shape), all of which must be among ``words``."""
        return np.searchsorted(self.words, words)


def count_pairs(words: IntArray, counts: Counts, n_words: int, max_documents: int = SAMPLED) -> WordPairs:
    """Count the documents in which words occur together.

    Parameters
    ----------
    words : (...) int
        Word numbers, in any shape; repeated ones count once.
    counts : Counts
        Documents x words.
    n_words : int
        V.
    max_documents : int
        Largest number of documents to use; if there are more, every second, third ... is used.
    """
    wanted = np.unique(words)
    column = np.full(n_words, -1, dtype=np.int32)
    column[wanted] = np.arange(len(wanted))
    sample = thin_documents(counts, max_documents)
    n = sample.n_documents
    columns = column[sample.words]
    inside = columns >= 0
    starts = np.concatenate([[0], np.cumsum(inside)])[sample.starts]
    columns = columns[inside]
    present = scipy.sparse.csr_array((np.ones(len(columns), np.float32), columns, starts), shape=(n, len(wanted)))
    together = (present.T @ present).toarray().astype(np.float64)
    return WordPairs(wanted, together.diagonal().copy(), together, n)


def thin_documents(counts: Counts, max_documents: int = SAMPLED) -> Counts:
    """Return all documents, or every second, third ... one, so that there are at most ``max_documents``."""
    step = -(-counts.n_documents // max_documents)
    if step <= 1:
        return counts
    return copy_documents(counts, np.arange(0, counts.n_documents, step))


def copy_documents(counts: Counts, documents: IntArray) -> Counts:
    """Return copies of some documents, in the given order."""
    begins = counts.starts[documents]
    lengths = counts.starts[np.asarray(documents) + 1] - begins
    ends = np.cumsum(lengths)
    cells = np.arange(ends[-1] if len(ends) else 0) + np.repeat(begins - (ends - lengths), lengths)
    return Counts.of(lengths, counts.words[cells], counts.values[cells])


def count_pairs_within(lists: IntArray, counts: Counts, n_words: int, max_documents: int = SAMPLED) -> WordPairs:
    """Count as :func:`count_pairs` does, but only pairs of words in the same list, which is much faster; others are 0.

    Parameters
    ----------
    lists : (K, n) int
        First words of every topic.
    counts, n_words, max_documents
        As in :func:`count_pairs`.
    """
    wanted, places = np.unique(lists, return_inverse=True)
    places = places.reshape(lists.shape)
    column = np.full(n_words, -1, dtype=np.int32)
    column[wanted] = np.arange(len(wanted))
    step = -(-counts.n_documents // max_documents) if counts.n_documents else 1
    n = -(-counts.n_documents // step)
    columns = column[counts.words]
    cells = np.flatnonzero(columns >= 0)
    owner = np.searchsorted(counts.starts, cells, side="right") - 1
    if step > 1:
        cells, owner = cells[owner % step == 0], owner[owner % step == 0] // step
    present = np.zeros((len(wanted), -(-n // 64) * 64), dtype=bool)
    present[columns[cells], owner] = True
    bits = np.packbits(present, axis=1).view(np.uint64)
    together = np.zeros((len(wanted), len(wanted)))
    first, second = np.triu_indices(lists.shape[1], 1)
    first_words, second_words = places[:, first].ravel(), places[:, second].ravel()
    for start in range(0, len(first_words), _PAIRS_AT_ONCE):
        a, b = first_words[start : start + _PAIRS_AT_ONCE], second_words[start : start + _PAIRS_AT_ONCE]
        both = np.bitwise_count(bits[a] & bits[b]).sum(axis=1, dtype=np.int64)
        together[a, b] = together[b, a] = both
    documents = present.sum(axis=1).astype(np.float64)
    np.fill_diagonal(together, documents)
    return WordPairs(wanted, documents, together, n)


def compute_npmi(words: IntArray, pairs: WordPairs) -> FloatArray:
    """Return the document NPMI of topics, -1 to 1: the mean over pairs of ``ln(p_ij / (p_i p_j)) / -ln p_ij``.

    A pair that never occurs together counts -1; one that is in every document counts 1.

    Parameters
    ----------
    words : (K, n) int
        First words of every topic; with fewer than two there is no pair, and the result is nan.
    pairs : WordPairs
        Counts of at least these words.

    Returns
    -------
    (K,) float64
    """
    first, second = np.triu_indices(words.shape[1], 1)
    rows = pairs.find_rows(words)
    return _average_pairs(compute_pair_npmi(rows[:, first], rows[:, second], pairs))


def compute_pair_npmi(first: IntArray, second: IntArray, pairs: WordPairs) -> FloatArray:
    """Return the NPMI of pairs of words given by their rows in ``pairs``: -1 never together, 1 in every document."""
    n = max(pairs.n_documents, 1)
    both = pairs.together[first, second] / n
    with np.errstate(divide="ignore", invalid="ignore"):
        value = np.log(both / (pairs.documents[first] / n * (pairs.documents[second] / n))) / -np.log(both)
    return np.where(both >= 1.0, 1.0, np.where(both > 0.0, value, -1.0))


def _average_pairs(pairs: FloatArray) -> FloatArray:
    """Return the mean over the pairs of every topic; nan if topics have only one word, so no pair."""
    return np.asarray(pairs.mean(axis=1)) if pairs.shape[1] else np.full(len(pairs), np.nan)


def compute_umass(words: IntArray, pairs: WordPairs) -> FloatArray:
    """Return the UMass coherence: the mean of ``ln((D(w_i, w_j) / N + 1e-12) / (D(w_j) / N))``, w_j ranked higher.

    Arguments as in :func:`compute_npmi`; nan for a topic with a word in no document.
    """
    higher, lower = np.triu_indices(words.shape[1], 1)
    rows = pairs.find_rows(words)
    n = max(pairs.n_documents, 1)
    both, base = pairs.together[rows[:, lower], rows[:, higher]] / n, pairs.documents[rows[:, higher]] / n
    with np.errstate(divide="ignore", invalid="ignore"):
        value = np.log((both + _EPSILON) / base)
    return _average_pairs(np.where(base > 0.0, value, np.nan))


def count_missing(words: IntArray, pairs: WordPairs) -> IntArray:
    """Return how many first words of every topic (K,) are in none of the documents, so that their pairs count -1."""
    return np.asarray((pairs.documents[pairs.find_rows(words)] == 0).sum(axis=1))


def average_worst_tenth(values: Array) -> float:
    """Return the mean of the lowest tenth of the values, at least of one; nan without values."""
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    return float(ordered[: max(1, len(ordered) // 10)].mean()) if len(ordered) else float("nan")


def measure_diversity(words: IntArray) -> float:
    """Return the diversity of lists (K, n) of words: distinct words over all words, 1 when no two topics share one.

    Dieng, Ruiz and Blei (TACL 2020); Nan et al. (ACL 2019).  nan without words.
    """
    return len(np.unique(words)) / words.size if words.size else float("nan")
