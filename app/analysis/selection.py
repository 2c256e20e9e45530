"""What is typical of a selection of documents: the topics and the words that it has more of than all others."""

from typing import NamedTuple

import numpy as np

from app.analysis.hierarchy import BACKGROUND, Hierarchy
from app.analysis.shares import LayerUse
from app.analysis.trends import join_shares
from engine.contract import Array, Counts, IntArray
from engine.hierarchy.tree import Node
from engine.lens import groups
from engine.lens.typical import compare_words, sum_words
from store import corpora
from store.corpus_rows import CorpusRow
from store.database import Database

MOST_READ = 20_000  # documents of the selection, and of the others, whose words are counted


class TypicalTopic(NamedTuple):
    """A topic that is more frequent in a selection, beyond chance: its share there, and in all other documents."""

    node: Node
    share: float
    elsewhere: float


def find_typical_topics(hierarchy: Hierarchy, layer: int, use: LayerUse, selected: Array, n: int) -> list[TypicalTopic]:
    """Return the topics of a layer that are more frequent in a selection than elsewhere, the surest first.

    Parameters
    ----------
    hierarchy : Hierarchy
    layer : int
    use : LayerUse
        Shares of the topics of the layer.
    selected : (N,) bool array
    n : int
        Number of topics at most; those of the background are left out.
    """
    shares = join_shares(use, hierarchy.widths[layer - 1])
    codes = np.where(selected[: len(shares.rest)], 0, 1).astype(np.int32)
    measured = groups.measure_groups(shares, codes, 2)
    ranked = groups.compare_groups(measured, 0, 1).rank_increases().tolist()
    found = [TypicalTopic(hierarchy.node(layer, column), *measured.mean[:, column].tolist()) for column in ranked]
    return [each for each in found if hierarchy.role(each.node) != BACKGROUND][:n]


def find_typical_words(db: Database, corpus: CorpusRow, selected: Array, n: int) -> IntArray:
    """Return the words that are more frequent in a selection than elsewhere, the surest first, (at most n,).

    Of more than ``MOST_READ`` documents of the selection, or of the others, so many are drawn at random; the same
    selection has the same words.

    Parameters
    ----------
    db : Database
    corpus : CorpusRow
    selected : (N,) bool array
    n : int

    Raises
    ------
    DamagedArrays
        If the counts of a document were altered.
    """
    rng = np.random.default_rng(0)
    parts = [np.flatnonzero(selected), np.flatnonzero(~selected)]
    read = [part if len(part) <= MOST_READ else rng.choice(part, MOST_READ, replace=False) for part in parts]
    numbers = np.sort(np.concatenate(read))
    counts = Counts(*corpora.read_counts(db, corpus.number, numbers.tolist()))
    inside = sum_words(counts, corpus.words, selected[numbers])
    return compare_words(inside, sum_words(counts, corpus.words)).rank_increases()[:n]
