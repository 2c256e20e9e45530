"""How often a word is used over time and by group, of the documents that a filter selects.

The share of word v in documents G is ``sum_{j in G} x_jv / sum_{j in G} n_j``, with x_jv occurrences among the n_j
tokens of document j; or the plain mean of ``x_jv / n_j``.  So a word is measured as a topic is whose tokens are its
occurrences, with the same intervals (:mod:`engine.lens.intervals`).

Only where the word does not occur, the documents of a group say nothing about its variance.  There the interval ends
at the share with which this has a probability of 5 %, ``1 - 0.05^(1 / n_e)``: the n_e independent answers that the
group is worth are those of all selected documents, R (1 - R) / V, in proportion to its weight.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from topiary.app.analysis.trends import DocumentGroups
from topiary.engine.contract import Array, FloatArray, IntArray
from topiary.engine.hierarchy.certainty import LEVEL
from topiary.engine.hierarchy.paths import UNITS
from topiary.engine.lens import groups, periods
from topiary.engine.lens.intervals import GroupShares
from topiary.engine.lens.moments import DocumentShares, Weighting
from topiary.engine.lens.periods import Periods
from topiary.store import corpora
from topiary.store.corpus_rows import CorpusRow
from topiary.store.database import Database

_AT_ONCE = 8192  # documents in memory
_TAIL = (1.0 - LEVEL) / 2.0  # probability outside of an interval on one side


class WordOccurrences(NamedTuple):
    """How often a word occurs in the documents of a corpus.

    Attributes
    ----------
    documents : (m,) int64
        Numbers of the documents that have it, ascending.
    counts : (m,) float64
        Its occurrences in each of them; for real data, its values.
    tokens : (N,) float64
        Number of tokens of every document of the corpus.
    """

    documents: IntArray
    counts: FloatArray
    tokens: FloatArray

    def count_uses(self, selected: Array | None = None) -> tuple[float, int, float]:
        """Return occurrences, documents that have the word, and tokens of the selected documents (default: all)."""
        if selected is None:
            return float(self.counts.sum()), len(self.documents), float(self.tokens.sum())
        inside = selected[self.documents]
        n_documents = int(np.count_nonzero(inside))
        return float(self.counts[inside].sum()), n_documents, float(self.tokens[selected].sum())


class WordPeriods(NamedTuple):
    """The share of a word in every period.

    Attributes
    ----------
    documents : (T,) int64
        Documents of every period.
    mean, low, high : (T,) float64
        Share and 90 % interval; nan without documents.
    before, after : float
        Shares in the first and the last third of the dated documents; nan if all dates are equal.
    change : (float, float)
        90 % interval of ``after - before``.
    missing : int
        Selected documents without a date.
    """

    periods: Periods
    documents: IntArray
    mean: FloatArray
    low: FloatArray
    high: FloatArray
    before: float
    after: float
    change: tuple[float, float]
    missing: int


class WordGroups(NamedTuple):
    """The share of a word in groups of documents.

    Attributes
    ----------
    documents : (G,) int64
    mean, low, high : (G,) float64
        Share and 90 % interval; nan without documents.
    everywhere : float
        Share in all selected documents.
    missing : int
        Selected documents without a value, or in a group that is not shown.
    """

    groups: DocumentGroups
    documents: IntArray
    mean: FloatArray
    low: FloatArray
    high: FloatArray
    everywhere: float
    missing: int


def read_occurrences(
    db: Database, corpus: CorpusRow, word: int, is_wanted: Callable[[], bool] = lambda: True
) -> WordOccurrences | None:
    """Return how often a word occurs in every document; None as soon as ``is_wanted()`` returns False.

    Parameters
    ----------
    word : int
        Number of the word in the vocabulary.
    is_wanted : () -> bool

    Raises
    ------
    DamagedArrays
        If a block of the corpus is damaged.
    """
    documents, found, tokens = [], [], np.zeros(corpus.documents)
    for first in range(0, corpus.documents, _AT_ONCE):
        if not is_wanted():
            return None
        counts = corpora.read_counts(db, corpus.number, range(first, min(first + _AT_ONCE, corpus.documents)))
        rows = np.repeat(np.arange(len(counts.starts) - 1), np.diff(counts.starts))
        tokens[first : first + len(counts.starts) - 1] = np.bincount(
            rows, counts.values, minlength=len(counts.starts) - 1
        )
        cells = np.flatnonzero((counts.words == word) & (counts.values > 0))
        documents.append(first + rows[cells])
        found.append(counts.values[cells].astype(np.float64))
    return WordOccurrences(
        np.concatenate([np.zeros(0, np.int64), *documents]), np.concatenate([np.zeros(0), *found]), tokens
    )


def convert_to_shares(word: WordOccurrences) -> DocumentShares:
    """Return the word as a layer of one topic that has its occurrences; shares are not rounded."""
    n = len(word.tokens)
    units = UNITS * word.counts / word.tokens[word.documents]
    rest = np.where(word.tokens > 0, float(UNITS), 0.0)
    rest[word.documents] -= units
    starts = np.searchsorted(word.documents, np.arange(n + 1)).astype(np.int64)
    return DocumentShares(starts, np.zeros(len(units), np.int32), units, rest, word.tokens, 1)


def measure_word_over_time(
    word: WordOccurrences,
    dates: Array,
    *,
    unit: str | None = None,
    moving: int = 1,
    by: Weighting = "tokens",
    selected: Array | None = None,
) -> WordPeriods:
    """Return the share of a word over time.

    Parameters
    ----------
    dates : (N,) int64 array
        Milliseconds since 1970, the smallest int64 where the date is missing.
    unit, moving, by, selected
        As in :func:`app.analysis.trends.measure_over_time`.

    Raises
    ------
    ValueError
        If there are too many periods.
    """
    shares, cut = convert_to_shares(word), periods.cut_periods(dates, unit)
    measured = periods.measure_periods(shares, cut, moving=moving, by=by, selected=selected)
    low, high = _find_intervals(shares, measured, by, selected)
    growth = periods.find_growth(shares, dates, by=by, selected=selected)
    counted = (cut.codes >= 0) & (word.tokens > 0)
    if selected is not None:
        counted &= selected
    return WordPeriods(
        periods=cut,
        documents=np.bincount(cut.codes[counted], minlength=len(cut.starts) - 1).astype(np.int64),
        mean=measured.mean[:, 0],
        low=low,
        high=high,
        before=float(growth.thirds.mean[0, 0]),
        after=float(growth.thirds.mean[1, 0]),
        change=(float(growth.effects.interval.low[0]), float(growth.effects.interval.high[0])),
        missing=growth.missing,
    )


def measure_word_by_group(
    word: WordOccurrences, found: DocumentGroups, *, by: Weighting = "tokens", selected: Array | None = None
) -> WordGroups:
    """Return the share of a word in groups of documents.

    Parameters
    ----------
    found : DocumentGroups
        Of all documents of the corpus.
    by : "tokens" or "documents"
    selected : (N,) bool array, optional
    """
    shares = convert_to_shares(word)
    measured = groups.measure_groups(shares, found.codes, len(found.names), by=by, selected=selected)
    everywhere = _measure_everywhere(shares, by, selected)
    low, high = _find_intervals(shares, measured, by, selected)
    return WordGroups(
        groups=found,
        documents=measured.documents,
        mean=measured.mean[:, 0],
        low=low,
        high=high,
        everywhere=float(everywhere.mean[0, 0]),
        missing=measured.missing,
    )


def _measure_everywhere(shares: DocumentShares, by: Weighting, selected: Array | None) -> GroupShares:
    """Return the share of a word in all selected documents together."""
    return groups.measure_groups(shares, np.zeros(len(shares.rest), np.int32), 1, by=by, selected=selected)


def _find_intervals(
    shares: DocumentShares, measured: GroupShares, by: Weighting, selected: Array | None
) -> tuple[FloatArray, FloatArray]:
    """Return both ends of the 90 % intervals of the share of a word in groups, (G,)."""
    low, high = (ends[:, 0] for ends in measured.find_intervals())
    everywhere = _measure_everywhere(shares, by, selected)
    mean, variance = float(everywhere.mean[0, 0]), float(everywhere.variance[0, 0])
    if variance > 0.0:
        answers = mean * (1.0 - mean) / variance * measured.sums.totals[:, 0] / everywhere.sums.totals[0, 0]
        never = (measured.mean[:, 0] == 0.0) & (answers > 0.0)
        high[never] = np.minimum(high[never], 1.0 - _TAIL ** (1.0 / answers[never]))
    return low, high
