"""How well a model of rows and columns completes new rows of its table, by the protocol of the DEF paper."""

from typing import NamedTuple

import numpy as np

from app.analysis.hierarchy import Hierarchy
from app.analysis.inference import find_snapshot, open_inference
from engine.contract import TEST, Array, Batch, Counts
from engine.hierarchy import completion
from engine.quality.coherence import copy_documents
from store import corpora
from store.database import Database
from store.run_rows import RunRow

ROWS = 1000  # test rows that are completed at most
CELLS = 2_000_000  # of them together, seen and unseen, whose rates are ranked
LOW = 5  # rows with fewer observed cells are of low activity


class Completion(NamedTuple):
    """Test rows completed from a tenth of their cells.

    Attributes
    ----------
    perplexity : float
        Of the other cells, see `engine.black_box.prediction.complete`.
    ndcg, ndcg_low : float
        Mean over rows, not truncated, see `engine.black_box.prediction.ranking`; of rows of low activity alone, nan
        where there are none.
    rows, low, every : int
        Rows that were ranked, those of low activity among them, and all test rows.
    """

    perplexity: float
    ndcg: float
    ndcg_low: float
    rows: int
    low: int
    every: int


def read_completion(db: Database, run: RunRow, hierarchy: Hierarchy) -> Completion | None:
    """Complete test rows of the run's corpus; None for models without topics of columns, or without test rows.

    The cells are divided by the seed of the corpus's own split, alike for all runs on it.

    Raises
    ------
    engine.settings.SettingError
        When the run used a setting that was removed since.
    """
    arrays = corpora.load_counts(db, corpora.get_run_corpus(db, run))
    numbers = np.flatnonzero(arrays.part == TEST)
    if hierarchy.columns is None or not len(numbers):
        return None
    n_words = len(hierarchy.vocabulary)
    chosen = numbers[:: _every(len(numbers), n_words)]
    inference = open_inference(db, run, find_snapshot(db, run.number, hierarchy.snapshot))
    docs = copy_documents(Counts(*arrays.counts), chosen).batch(chosen)
    observed, scored = completion.split_cells(inference.corpus.split_seed, docs)
    with inference.lock:
        found = completion.complete_documents(inference.kernel, run.seed, inference.state, observed, scored)
        ndcg = completion.rank_words(inference.kernel, run.seed, inference.state, observed, scored, n_words)
    low = ndcg[_low(observed, ndcg)]
    ranked = int(np.isfinite(ndcg).sum())
    return Completion(found.perplexity, _mean(ndcg), _mean(low), ranked, len(low), len(numbers))


def _every(rows: int, n_words: int) -> int:
    """Every how many-eth row is looked at."""
    return max(1, -(-rows // max(1, min(ROWS, CELLS // max(1, n_words)))))


def _low(observed: Batch, ndcg: Array) -> Array:
    """Ranked rows of low activity."""
    few = completion.find_low_activity(observed, LOW)
    return few[np.isfinite(ndcg[few])]


def _mean(values: Array) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else float("nan")
