"""The quality of every layer of a hierarchy, all measures at once."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from engine.contract import Array, Counts, FloatArray, IntArray
from engine.hierarchy import topics
from engine.hierarchy.effects import Shown
from engine.quality import clusters, coherence, diversity, hierarchy
from engine.quality.coherence import SAMPLED, WORDS, Meetings
from engine.quality.hierarchy import THRESHOLD, Affinity


class Sample(NamedTuple):
    """How many documents were looked at, and how many there are."""

    documents: int
    every: int


class Labelled(NamedTuple):
    """Documents with labels and where they are in the hierarchy: ``labels`` (D,) int, ``theta[l-1]`` (D, K_l)."""

    labels: IntArray
    theta: Sequence[Array]


class Clusters(NamedTuple):
    """How well the topic that a document uses most tells its label."""

    nmi: float
    purity: float
    documents: int


@dataclass(frozen=True, eq=False, kw_only=True)
class Coherence:
    """Coherence and diversity of a layer: figures are those of its live topics where nothing else is said.

    Attributes
    ----------
    live : (K,) bool
        Which topics hold at least 0.1 % of the tokens (see `engine.hierarchy.topics.light`).
    words : (K, n) int
        The first words of every topic.
    npmi : (K,) float
        Their document NPMI in training documents.
    """

    live: Array
    words: IntArray
    npmi: Array

    @property
    def n_topics(self) -> int:
        """K."""
        return len(self.live)

    @property
    def n_live(self) -> int:
        """How many of them are live."""
        return int(self.live.sum())

    @property
    def mean_npmi(self) -> float:
        """Mean NPMI; nan without live topics."""
        return _mean(self.npmi[self.live])

    @property
    def mean_npmi_all(self) -> float:
        """Mean NPMI of all topics, light ones too."""
        return _mean(self.npmi)

    @property
    def worst_tenth(self) -> float:
        """Mean NPMI of the tenth of the topics where it is lowest."""
        return coherence.worst_tenth(self.npmi[self.live])

    @property
    def diversity(self) -> float:
        """Distinct words among the first words over all of them."""
        return diversity.topic_diversity(self.words[self.live])


@dataclass(frozen=True, eq=False, kw_only=True)
class Quality(Coherence):
    """All measures of one layer.

    Attributes
    ----------
    layer : int
        From 1.
    umass : (K,) float64
        UMass coherence of every topic in training documents.
    held_out : (K,) float64 or None
        NPMI in test documents; None where there are none.
    missing : (K,) int
        How many first words of every topic are in no test document, so that their pairs count -1.
    specialization : (K,) float64
        Of every topic.
    affinity : Affinity or None
        With the layer below; None for layer 1.
    cross_npmi : float
        CLNPMI with the layer below, signed; nan for layer 1.
    clusters : Clusters or None
        None without labels.
    train, test : Sample
        The documents behind the figures.
    """

    layer: int
    umass: FloatArray
    held_out: FloatArray | None
    missing: IntArray
    specialization: FloatArray
    affinity: Affinity | None
    cross_npmi: float
    clusters: Clusters | None
    train: Sample
    test: Sample

    @property
    def mean_umass(self) -> float:
        """Mean UMass coherence."""
        return _mean(self.umass[self.live])

    @property
    def mean_held_out(self) -> float:
        """Mean NPMI in test documents; nan without any."""
        return float("nan") if self.held_out is None else _mean(self.held_out[self.live])

    @property
    def mean_specialization(self) -> float:
        """Mean topic specialization."""
        return _mean(self.specialization[self.live])


class _Layer(NamedTuple):
    """A layer that is measured: its topics over the words (V, K), over the layer below (J, K), and as in `Quality`."""

    table: Array
    weights: Array
    words: IntArray
    live: Array


def measure(
    shown: Shown,
    train: Counts,
    test: Counts | None = None,
    *,
    words: Sequence[IntArray] | None = None,
    labelled: Labelled | None = None,
    threshold: float = THRESHOLD,
    most: int = SAMPLED,
    of: tuple[int, int] | None = None,
) -> tuple[Quality, ...]:
    """Measure every layer.

    Parameters
    ----------
    phi : sequence of (K_{l-1}, K_l) arrays
    r : (K_L,) array
    train : Counts
        Training documents x words.
    test : Counts, optional
        Test documents.
    words : sequence of (K_l, n) int arrays, optional
        First words of the topics of every layer; the ten heaviest of each when not given.
    labelled : Labelled, optional
        Documents with labels, for clusters.
    threshold : float
        A child is heavier in its parent than ``threshold / K_{l-1}``.
    most : int
        Of more training (or test) documents every second, third ... is looked at.
    of : (int, int), optional
        How many training and test documents there are, where ``train`` and ``test`` are samples of them already.

    Returns
    -------
    tuple of Quality
        Layer 1 first.
    """
    layers = _layers(shown, words)
    n_words = len(shown.words[0])
    seen = coherence.every_so_many(train, most)
    met = _meetings(layers, seen, n_words, most)
    again = None if test is None else _meetings(layers, test, n_words, most)
    n_train, n_test = of or (train.n_documents, 0 if test is None else test.n_documents)
    frequencies = np.bincount(seen.words, seen.values, minlength=n_words)
    return tuple(
        Quality(
            layer=place + 1,
            live=layer.live,
            words=layer.words,
            npmi=coherence.npmi(layer.words, met),
            umass=coherence.umass(layer.words, met),
            held_out=None if again is None else coherence.npmi(layer.words, again),
            missing=np.zeros(len(layer.live), int) if again is None else coherence.missing(layer.words, again),
            specialization=hierarchy.specialization(layer.table, frequencies),
            affinity=_affinity(layers[place - 1], layer, threshold) if place else None,
            cross_npmi=_cross_npmi(layers[place - 1], layer, threshold, met) if place else float("nan"),
            clusters=None if labelled is None else _clusters(labelled.labels, labelled.theta[place]),
            train=Sample(met.n_documents, n_train),
            test=Sample(0 if again is None else again.n_documents, n_test),
        )
        for place, layer in enumerate(layers)
    )


def _layers(shown: Shown, words: Sequence[IntArray] | None) -> list[_Layer]:
    lists = [topics.top_words(table, WORDS)[0] for table in shown.words] if words is None else words
    live = [~topics.light(topics.shares(weights)) for weights in shown.popularity]
    return [_Layer(*each) for each in zip(shown.words, shown.weights, lists, live, strict=True)]


def _meetings(layers: Sequence[_Layer], counts: Counts, n_words: int, most: int) -> Meetings:
    return coherence.meetings(np.concatenate([layer.words.ravel() for layer in layers]), counts, n_words, most)


def _affinity(below: _Layer, layer: _Layer, threshold: float) -> Affinity:
    """Of the live topics of both: those that trees draw."""
    edges = hierarchy.children(layer.weights, threshold)
    both = np.ix_(below.live, layer.live)
    return hierarchy.affinity(layer.table[:, layer.live], below.table[:, below.live], layer.weights[both], edges[both])


def _cross_npmi(below: _Layer, layer: _Layer, threshold: float, met: Meetings) -> float:
    edges = hierarchy.children(layer.weights, threshold) & np.outer(below.live, layer.live)
    return hierarchy.cross_npmi(layer.words, below.words, edges, met)


def _clusters(labels: IntArray, theta: Array) -> Clusters:
    found = clusters.strongest(theta)
    return Clusters(clusters.nmi(labels, found), clusters.purity(labels, found), len(labels))


def _mean(values: Array) -> float:
    """Mean of the values that are known; nan where none is."""
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else float("nan")
