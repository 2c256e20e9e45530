"""What a snapshot says of its topics beside their weights: coherence, how evenly documents use them, common words."""

from collections.abc import Mapping, Sequence

import numpy as np

from engine.contract import TRAIN, Array, Counts, IntArray, Topics
from engine.corpus import Corpus
from engine.hierarchy import effects, topics
from engine.quality import background, coherence
from engine.quality.background import measure_spread


def training_counts(corpus: Corpus, most: int = coherence.SAMPLED) -> Counts:
    """The training documents of a corpus; of more than ``most``, every second, third ..."""
    documents = corpus.documents(TRAIN)
    return corpus.batch(documents[:: -(-len(documents) // most) or 1]).cells


def worded(corpus: Corpus) -> bool:
    """Whether the documents are words that were counted; pixels and real numbers are none."""
    return corpus.image_shape is None and corpus.counts.values.dtype.kind != "f"


def common(corpus: Corpus) -> IntArray:
    """Numbers of the words that the corpus puts everywhere; none of a corpus of pixels or real numbers."""
    if not worded(corpus):
        return np.zeros(0, dtype=np.int32)
    return background.list_common_words(training_counts(corpus), corpus.n_words)


def topic_facts(
    corpus: Corpus, everywhere: IntArray, arrays: Mapping[str, Array], places: Sequence[Array]
) -> dict[str, Array]:
    """Say what is known of the topics of a snapshot.

    Parameters
    ----------
    corpus : Corpus
    everywhere : (m,) int array
        Its `common` words.
    arrays : mapping
        The snapshot: ``phi.l`` and ``r``, and ``mean.l``, which is shown where there is one.
    places : sequence of (n, K_l) arrays
        Share of every topic in some training documents; -1 where it is not known.

    Returns
    -------
    dict of str to array
        ``everywhere``; ``npmi.l`` (K_l,), the document NPMI of the ten words shown first, of words; ``spread.l``
        (K_l,), see `engine.quality.spread.spread`, as soon as enough documents are placed.
    """
    facts: dict[str, Array] = {}
    if worded(corpus):
        facts["everywhere"] = everywhere
        coherences = npmi(corpus, topics.unpack_topics(arrays, shown=True))
        facts |= {f"npmi.{layer}": values for layer, values in enumerate(coherences)}
    found = [measure_spread(shares) for shares in places]
    return facts | {f"spread.{layer}": each.astype(np.float32) for layer, each in enumerate(found) if each is not None}


def npmi(corpus: Corpus, found: Topics) -> list[Array]:
    """Document NPMI of every topic, of the words that are shown first, over the training documents."""
    single = found._replace(phi=tuple(np.asarray(table, dtype=np.float32) for table in found.phi))  # as it is kept
    seen = effects.present_hierarchy(single)
    shown = [
        topics.find_relevant_words(table, topics.compute_shares(weights), coherence.WORDS)[0]
        for table, weights in zip(seen.words, seen.popularity, strict=True)
    ]
    if shown[0].shape[1] < 2:
        return [np.zeros(len(words), dtype=np.float32) for words in shown]
    met = coherence.count_pairs_within(np.concatenate(shown), training_counts(corpus), corpus.n_words)
    return [coherence.npmi(words, met).astype(np.float32) for words in shown]
