"""Measures of the quality of every layer of a hierarchy, of its edges, and of the clusters of documents by topic.

Specialization and affinity are those of Kim et al. (CIKM 2012), as in the code of tsntm (Isonuma et al., ACL 2020), and
CLNPMI is that of Chen et al. (2021).  The topics of every layer are compared as distributions over words.

Coherence and diversity of topics: how often their first words co-occur, and how few words their lists share.

NPMI: Bouma (GSCL 2009), for topics Lau, Newman and Baldwin (EACL 2014); UMass: Mimno et al. (EMNLP 2011).  The windows
are whole documents, so counts suffice and no word order is needed: document NPMI, which is not the c_npmi of gensim,
whose windows are ten words.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy

from topiary.engine.contract import Array, Counts, FloatArray, IntArray
from topiary.engine.hierarchy import topics
from topiary.engine.hierarchy.effects import Presentation

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


def find_strongest_topics(theta: Array) -> IntArray:
    """Return the topic with the largest activation of every document, (documents,), given ``theta`` (documents, K)."""
    return np.asarray(np.argmax(theta, axis=1))


def compute_purity(labels: IntArray, clusters: IntArray) -> float:
    """Return the share of documents with the most common label of their cluster; nan without documents."""
    return float(_cross_tabulate(labels, clusters).max(axis=0).sum() / len(labels)) if len(labels) else float("nan")


def compute_nmi(labels: IntArray, clusters: IntArray) -> float:
    """Return the normalised mutual information of labels and clusters, scikit-learn's "arithmetic" NMI.

    It is the mutual information divided by the mean of both entropies: 1 if both have a single value; nan without
    documents.
    """
    if not len(labels):
        return float("nan")
    shares = _cross_tabulate(labels, clusters) / len(labels)
    by_label, by_cluster = shares.sum(axis=1), shares.sum(axis=0)
    if len(by_label) == len(by_cluster) == 1:
        return 1.0
    shared = _compute_entropy(by_label) + _compute_entropy(by_cluster) - _compute_entropy(shares)
    return max(0.0, 2.0 * shared / (_compute_entropy(by_label) + _compute_entropy(by_cluster)))


def _cross_tabulate(labels: IntArray, clusters: IntArray) -> IntArray:
    """Count documents by label (rows) and cluster (columns)."""
    rows, columns = (np.unique(each, return_inverse=True)[1] for each in (labels, clusters))
    size = int(rows.max()) + 1, int(columns.max()) + 1
    return np.bincount(rows * size[1] + columns, minlength=size[0] * size[1]).reshape(size)


def _compute_entropy(shares: FloatArray) -> float:
    """Return the entropy of a distribution, in nats."""
    positive = shares[shares > 0]
    return float(-(positive * np.log(positive)).sum())


THRESHOLD = 5.0  # tau: a child weighs this many times more in its parent than in a topic with equal weights


class Affinity(NamedTuple):
    """Mean cosine similarities of topics and topics of the layer below; nan if there are no such pairs.

    Attributes
    ----------
    child : float
        Similarity to their children: the mean over the children of a topic, then over the topics that have any.
    other : float
        Similarity to topics that are not their children, averaged in the same way.
    weighted : float
        Similarity to all topics of the layer below, averaged by their weights in the topic; no threshold is used.
    """

    child: float
    other: float
    weighted: float


def find_children(weights: Array, threshold: float = THRESHOLD) -> Array:
    """Return a mask of the edges, (J, K): True for absolute ``weights`` above ``threshold / J``."""
    return np.abs(weights) > threshold / len(weights)


def measure_affinity(parents: Array, below: Array, weights: Array, edges: Array) -> Affinity:
    """Return the hierarchical affinity of a layer with the layer below.

    Parameters
    ----------
    parents : (V, K) array
        Topics over the words.
    below : (V, J) array
        Topics of the layer below.
    weights : (J, K) array
        Weights of the topics below in the parents.
    edges : (J, K) bool array
        The edges (:func:`find_children`).
    """
    cosines = _scale_columns(below).T @ _scale_columns(parents)
    return Affinity(
        _average_parents(cosines, edges), _average_parents(cosines, ~edges), _average_parents(cosines, np.abs(weights))
    )


def measure_specialization(projection: Array, word_counts: Array) -> FloatArray:
    """Return the specialization of topics, (K,): one minus their cosine similarity to the word counts of the corpus.

    It is 0 for a topic with the word frequencies of the corpus, and should be higher in lower layers.

    Parameters
    ----------
    projection : (V, K) array
        Topics over the words.
    word_counts : (V,) array
    """
    corpus = np.asarray(word_counts, dtype=np.float64)
    return np.asarray(1.0 - _scale_columns(corpus[:, None])[:, 0] @ _scale_columns(projection))


def compute_cross_npmi(parents: IntArray, below: IntArray, edges: Array, pairs: WordPairs) -> float:
    """Return the cross-level NPMI (CLNPMI): the mean over edges of the mean NPMI of the parent's and the child's words.

    Words that both topics have are left out; the NPMI of an edge between topics with the same words is 0.

    Parameters
    ----------
    parents, below : (K, n) and (J, n) int arrays
        First words of the topics of a layer and of the layer below.
    edges : (J, K) bool array
        The edges (:func:`find_children`).
    pairs : WordPairs
        Counts that cover all these words.

    Returns
    -------
    float
        nan without an edge.
    """
    child, parent = np.nonzero(edges)
    if not len(child):
        return float("nan")
    upper, lower = parents[parent], below[child]
    value = compute_pair_npmi(pairs.find_rows(upper)[:, :, None], pairs.find_rows(lower)[:, None, :], pairs)
    same = upper[:, :, None] == lower[:, None, :]
    shared = same.any(axis=2)[:, :, None] | same.any(axis=1)[:, None, :]
    n_pairs = (~shared).sum(axis=(1, 2))
    return float((np.where(shared, 0.0, value).sum(axis=(1, 2)) / np.maximum(n_pairs, 1)).mean())


def _scale_columns(columns: Array) -> FloatArray:
    """Scale columns to Euclidean norm 1; columns of zeros stay zero."""
    table = np.asarray(columns, dtype=np.float64)
    return np.asarray(table / np.maximum(np.linalg.norm(table, axis=0), np.finfo(np.float64).tiny))


def _average_parents(cosines: FloatArray, weights: Array) -> float:
    """Return the mean over parents of their weighted mean cosines, leaving out parents without weights."""
    total = weights.sum(axis=0)
    used = total > 0
    return float(((cosines * weights).sum(axis=0)[used] / total[used]).mean()) if used.any() else float("nan")


class SampleSize(NamedTuple):
    """The number of ``documents`` used, and the ``total`` number of documents."""

    documents: int
    total: int


class LabelledDocuments(NamedTuple):
    """Documents with labels: ``labels`` (D,) int, and their activations ``theta[l-1]`` (D, K_l)."""

    labels: IntArray
    theta: Sequence[Array]


class ClusterScores(NamedTuple):
    """Agreement of the labels of documents with the topics that the documents use most."""

    nmi: float
    purity: float
    documents: int


@dataclass(frozen=True, eq=False, kw_only=True)
class Coherence:
    """Coherence and diversity of a layer; means are over its live topics unless stated otherwise.

    Attributes
    ----------
    live : (K,) bool
        True for topics with at least 0.1 % of the tokens (see :func:`engine.hierarchy.topics.find_light`).
    words : (K, n) int
        The first words of every topic.
    npmi : (K,) float
        Document NPMI of every topic in training documents.
    """

    live: Array
    words: IntArray
    npmi: Array

    @property
    def n_topics(self) -> int:
        """Number of topics, K."""
        return len(self.live)

    @property
    def n_live(self) -> int:
        """Number of live topics."""
        return int(self.live.sum())

    @property
    def mean_npmi(self) -> float:
        """Mean NPMI; nan without live topics."""
        return _average_finite(self.npmi[self.live])

    @property
    def mean_npmi_all(self) -> float:
        """Mean NPMI of all topics, including light ones."""
        return _average_finite(self.npmi)

    @property
    def worst_tenth(self) -> float:
        """Mean NPMI of the tenth of the topics with the lowest NPMI."""
        return average_worst_tenth(self.npmi[self.live])

    @property
    def diversity(self) -> float:
        """Number of distinct first words over the number of first words."""
        return measure_diversity(self.words[self.live])


@dataclass(frozen=True, eq=False, kw_only=True)
class Quality(Coherence):
    """All measures of one layer.

    Attributes
    ----------
    layer : int
        Number of the layer, from 1.
    umass : (K,) float64
        UMass coherence of every topic in training documents.
    held_out : (K,) float64 or None
        NPMI in test documents; None if there are none.
    missing : (K,) int
        Number of first words of every topic that are in no test document; the NPMI of their pairs is -1.
    specialization : (K,) float64
        Specialization of every topic.
    affinity : Affinity or None
        Affinity with the layer below; None for layer 1.
    cross_npmi : float
        CLNPMI with the layer below, signed; nan for layer 1.
    clusters : ClusterScores or None
        None without labels.
    train, test : SampleSize
        Numbers of training and test documents used.
    """

    layer: int
    umass: FloatArray
    held_out: FloatArray | None
    missing: IntArray
    specialization: FloatArray
    affinity: Affinity | None
    cross_npmi: float
    clusters: ClusterScores | None
    train: SampleSize
    test: SampleSize

    @property
    def mean_umass(self) -> float:
        """Mean UMass coherence."""
        return _average_finite(self.umass[self.live])

    @property
    def mean_held_out(self) -> float:
        """Mean NPMI in test documents; nan without any."""
        return float("nan") if self.held_out is None else _average_finite(self.held_out[self.live])

    @property
    def mean_specialization(self) -> float:
        """Mean topic specialization."""
        return _average_finite(self.specialization[self.live])


class _Layer(NamedTuple):
    """A layer: topics over the words (V, K) and over the layer below (J, K), and fields as in :class:`Quality`."""

    table: Array
    weights: Array
    words: IntArray
    live: Array


def measure_quality(
    hierarchy: Presentation,
    train: Counts,
    test: Counts | None = None,
    *,
    words: Sequence[IntArray] | None = None,
    labelled: LabelledDocuments | None = None,
    threshold: float = THRESHOLD,
    max_documents: int = SAMPLED,
    totals: tuple[int, int] | None = None,
) -> tuple[Quality, ...]:
    """Return the quality of every layer.

    Parameters
    ----------
    hierarchy : Presentation
        The hierarchy.
    train : Counts
        Training documents x words.
    test : Counts, optional
        Test documents.
    words : sequence of (K_l, n) int arrays, optional
        First words of the topics of every layer; by default the ten heaviest of each.
    labelled : LabelledDocuments, optional
        Documents with labels, for clusters.
    threshold : float
        The weight of a child in its parent is above ``threshold / K_{l-1}``.
    max_documents : int
        Largest number of training (or test) documents to use; if there are more, every second, third ... is used.
    totals : (int, int), optional
        Total numbers of training and test documents, if ``train`` and ``test`` are already samples of them.

    Returns
    -------
    tuple of Quality
        Layer 1 first.
    """
    layers = _list_layers(hierarchy, words)
    n_words = len(hierarchy.words[0])
    sample = thin_documents(train, max_documents)
    pairs = _count_pairs(layers, sample, n_words, max_documents)
    test_pairs = None if test is None else _count_pairs(layers, test, n_words, max_documents)
    n_train, n_test = totals or (train.n_documents, 0 if test is None else test.n_documents)
    frequencies = np.bincount(sample.words, sample.values, minlength=n_words)
    return tuple(
        Quality(
            layer=index + 1,
            live=layer.live,
            words=layer.words,
            npmi=compute_npmi(layer.words, pairs),
            umass=compute_umass(layer.words, pairs),
            held_out=None if test_pairs is None else compute_npmi(layer.words, test_pairs),
            missing=np.zeros(len(layer.live), int) if test_pairs is None else count_missing(layer.words, test_pairs),
            specialization=measure_specialization(layer.table, frequencies),
            affinity=_measure_layer_affinity(layers[index - 1], layer, threshold) if index else None,
            cross_npmi=_measure_cross_npmi(layers[index - 1], layer, threshold, pairs) if index else float("nan"),
            clusters=None if labelled is None else _measure_clusters(labelled.labels, labelled.theta[index]),
            train=SampleSize(pairs.n_documents, n_train),
            test=SampleSize(0 if test_pairs is None else test_pairs.n_documents, n_test),
        )
        for index, layer in enumerate(layers)
    )


def _list_layers(hierarchy: Presentation, words: Sequence[IntArray] | None) -> list[_Layer]:
    """Return the layers to measure, layer 1 first."""
    lists = [topics.find_top_words(table, WORDS)[0] for table in hierarchy.words] if words is None else words
    live = [~topics.find_light(topics.compute_shares(weights)) for weights in hierarchy.popularity]
    return [_Layer(*each) for each in zip(hierarchy.words, hierarchy.weights, lists, live, strict=True)]


def _count_pairs(layers: Sequence[_Layer], counts: Counts, n_words: int, max_documents: int) -> WordPairs:
    """Return the pair counts of the first words of all layers."""
    return count_pairs(np.concatenate([layer.words.ravel() for layer in layers]), counts, n_words, max_documents)


def _measure_layer_affinity(below: _Layer, layer: _Layer, threshold: float) -> Affinity:
    """Return the affinity of the live topics of a layer with those of the layer below; trees show only live topics."""
    edges = find_children(layer.weights, threshold)
    both = np.ix_(below.live, layer.live)
    return measure_affinity(layer.table[:, layer.live], below.table[:, below.live], layer.weights[both], edges[both])


def _measure_cross_npmi(below: _Layer, layer: _Layer, threshold: float, pairs: WordPairs) -> float:
    """Return the cross-level NPMI of the edges between live topics of two layers."""
    edges = find_children(layer.weights, threshold) & np.outer(below.live, layer.live)
    return compute_cross_npmi(layer.words, below.words, edges, pairs)


def _measure_clusters(labels: IntArray, theta: Array) -> ClusterScores:
    """Return the agreement of labels with the topics that the documents use most."""
    clusters = find_strongest_topics(theta)
    return ClusterScores(compute_nmi(labels, clusters), compute_purity(labels, clusters), len(labels))


def _average_finite(values: Array) -> float:
    """Return the mean of the finite values; nan if there are none."""
    finite = values[np.isfinite(values)]
    return float(finite.mean()) if len(finite) else float("nan")
