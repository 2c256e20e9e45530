"""What is typical of the documents that a filter selects, compared with all others: topics and words."""

from collections.abc import Callable, Sequence
from operator import add
from typing import NamedTuple

import numpy as np

from topiary.app.analysis.hierarchy import Hierarchy
from topiary.app.analysis.shares import LayerUse
from topiary.app.analysis.trends import join_shares
from topiary.engine.contract import Array, Counts
from topiary.engine.hierarchy.tree import Node
from topiary.engine.lens.groups import measure_groups
from topiary.engine.lens.intervals import EffectTable
from topiary.engine.lens.moments import Weighting
from topiary.engine.lens.typical import WordSums, compare_topics, compare_words, sum_words
from topiary.store import corpora
from topiary.store.corpus_rows import CorpusRow
from topiary.store.database import Database

BLOCK = 8192  # documents whose counts are in memory at a time


class TypicalTopic(NamedTuple):
    """A topic whose share in a selection differs from that in the rest beyond chance.

    ``difference`` is the share in the selection less that in the rest, ``low`` to ``high`` its 90 % interval.
    """

    node: Node
    share: float
    difference: float
    low: float
    high: float


class TypicalTopics(NamedTuple):
    """The topics of a layer that a selection has more, and less, than the rest; the surest first.

    ``compared`` is the number of comparisons, ``documents`` those of the selection and of the rest.
    """

    more: Sequence[TypicalTopic]
    less: Sequence[TypicalTopic]
    compared: int
    documents: tuple[int, int]


class TypicalWord(NamedTuple):
    """A word that a selection has more, or less, often than the rest beyond chance.

    ``ratio`` is the ratio of the odds of the word in the selection and in the rest, ``low`` to ``high`` its 90 %
    interval, and ``documents`` the number of documents of the selection with the word.
    """

    word: str
    ratio: float
    low: float
    high: float
    documents: int


class TypicalWords(NamedTuple):
    """The words that a selection has more, and less, often than the rest; the surest first.

    ``compared`` is the number of comparisons.
    """

    more: Sequence[TypicalWord]
    less: Sequence[TypicalWord]
    compared: int


def find_typical_topics(
    hierarchy: Hierarchy, layer: int, use: LayerUse, selected: Array, *, by: Weighting = "tokens"
) -> TypicalTopics:
    """Return the topics of a layer that are typical of the selected documents, (N,) bool, and those that are not."""
    shares = join_shares(use, hierarchy.widths[layer - 1])
    chosen = selected[: len(shares.rest)]
    effects = compare_topics(shares, chosen, by=by)
    share = measure_groups(shares, np.zeros(len(chosen), np.int32), 1, by=by, selected=chosen).mean[0]

    def describe(columns: Array) -> list[TypicalTopic]:
        low, high = effects.interval
        return [
            TypicalTopic(
                hierarchy.node(layer, column),
                float(share[column]),
                float(effects.value[column]),
                float(low[column]),
                float(high[column]),
            )
            for column in columns.tolist()
        ]

    filled = np.asarray(shares.tokens) > 0
    documents = int(np.count_nonzero(chosen & filled)), int(np.count_nonzero(~chosen & filled))
    return TypicalTopics(
        describe(effects.rank_increases()), describe(effects.rank_decreases()), effects.comparisons, documents
    )


def sum_corpus_words(
    db: Database,
    corpus: CorpusRow,
    n_words: int,
    selected: Array | None = None,
    is_wanted: Callable[[], bool] = lambda: True,
) -> WordSums:
    """Return the sums of the words of some documents of a corpus, reading some documents at a time.

    The words that are held out of the documents of a corpus are not among them.

    Parameters
    ----------
    n_words : int
        Size of the vocabulary.
    selected : (documents,) bool array, optional
        By default all documents.
    is_wanted : () -> bool
        Called before each block; False ends the work, whose result is then of no use.
    """
    numbers = np.arange(corpus.documents) if selected is None else np.flatnonzero(selected[: corpus.documents])
    total = sum_words(Counts(np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int32)), n_words)
    for first in range(0, len(numbers), BLOCK):
        if not is_wanted():
            break
        counts = corpora.read_counts(db, corpus.number, numbers[first : first + BLOCK].tolist())
        total = WordSums(*map(add, total, sum_words(Counts(*counts), n_words)))
    return total


def find_typical_words(selection: WordSums, everything: WordSums, vocabulary: Sequence[str], most: int) -> TypicalWords:
    """Return the words that are typical of a selection, and those that are not, at most so many of each.

    Parameters
    ----------
    selection, everything : WordSums
        Of the selected documents, and of all.
    """
    effects = compare_words(selection, everything)

    def describe(words: Array) -> list[TypicalWord]:
        return [_describe_word(effects, vocabulary[word], word) for word in words[:most].tolist()]

    return TypicalWords(describe(effects.rank_increases()), describe(effects.rank_decreases()), effects.comparisons)


def _describe_word(effects: EffectTable, text: str, word: int) -> TypicalWord:
    ratio, low, high = (float(np.exp(each[word])) for each in (effects.value, *effects.interval))
    return TypicalWord(text, ratio, low, high, int(effects.documents[word]))
