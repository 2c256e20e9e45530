"""What each choice about the vocabulary takes away: how many words, how many tokens, and which for example."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from app.ingest.source import Array

EXAMPLES = 10  # words named of a cut


class Cut(NamedTuple):
    """One cut of a vocabulary.

    Attributes
    ----------
    option : str
        The option of an import that makes it, such as ``"min_df"``.
    setting : str
        Its value, as it is typed.
    words, tokens : int
        Words that it takes away, and how often they occur altogether.
    examples : tuple of str
        The most frequent of them.
    """

    option: str
    setting: str
    words: int
    tokens: int
    examples: tuple[str, ...]


class Vocabulary(NamedTuple):
    """Words with their frequencies, before any cut but that of stop words.

    Attributes
    ----------
    words : sequence of str
    document_counts, totals : (V,)
        In how many documents a word occurs, and how often altogether.
    n_documents : int
    stopped : mapping of str to int
        Stop words that were met, and how often; they are not among ``words``.
    common : (n,) int
        Numbers of the words that are left out because the corpus puts them everywhere.
    """

    words: Sequence[str]
    document_counts: Array
    totals: Array
    n_documents: int
    stopped: Mapping[str, int] = {}
    common: Array = np.empty(0, np.int64)


class Limits(NamedTuple):
    """The settings of the cuts, their defaults filled in; ``stop_words`` is what was asked for."""

    stop_words: str
    min_df: int
    max_df: float
    max_words: int | None
    leave_out_common: bool = False


def cuts(vocabulary: Vocabulary, limits: Limits) -> tuple[Cut, ...]:
    """Every cut in the order in which they are made; each is of the words that those before it left."""
    return tuple(_cuts(vocabulary, limits))


def met(vocabulary: Vocabulary) -> tuple[int, int]:
    """How many different words there are before any cut, and how many tokens."""
    tokens = int(vocabulary.totals.sum()) + sum(vocabulary.stopped.values())
    return len(vocabulary.words) + len(vocabulary.stopped), tokens


def _cuts(found: Vocabulary, limits: Limits) -> Iterator[Cut]:
    ranked = sorted(found.stopped, key=lambda word: (-found.stopped[word], word))
    yield Cut("stop_words", limits.stop_words, len(ranked), sum(found.stopped.values()), tuple(ranked[:EXAMPLES]))
    left = np.ones(len(found.words), bool)
    everywhere = np.zeros(len(found.words), bool)
    everywhere[np.asarray(found.common, np.int64)] = True
    if limits.leave_out_common:
        yield _cut("leave_out_common", "true", found, left, everywhere)
    yield _cut("min_df", str(limits.min_df), found, left, found.document_counts < limits.min_df)
    most = limits.max_df * found.n_documents
    yield _cut("max_df", f"{limits.max_df:g}", found, left, found.document_counts > most)
    ranks = np.flatnonzero(left)[np.argsort(-found.totals[left], kind="stable")]
    late = np.zeros(len(found.words), bool)
    late[ranks[limits.max_words :] if limits.max_words is not None else ranks[:0]] = True
    yield _cut("max_words", "all" if limits.max_words is None else str(limits.max_words), found, left, late)


def _cut(option: str, setting: str, found: Vocabulary, left: Array, falls: Array) -> Cut:
    """The cut of the words that fall among those that are left, which are fewer afterwards."""
    gone = np.flatnonzero(left & falls)
    left[gone] = False
    ranked = gone[np.argsort(-found.totals[gone], kind="stable")][:EXAMPLES]
    examples = tuple(str(found.words[place]) for place in ranked.tolist())
    return Cut(option, setting, len(gone), int(found.totals[gone].sum()), examples)
