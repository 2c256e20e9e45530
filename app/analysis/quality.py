"""The quality of the topics of a snapshot in the documents of its corpus, read from the store."""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from topiary.app.analysis.hierarchy import Hierarchy
from topiary.app.analysis.inference import open_inference
from topiary.app.analysis.read_hierarchy import find_snapshot
from topiary.app.jobs.plan import PLACE_SWEEPS
from topiary.engine.contract import TEST, TRAIN, Array, Batch, Counts, IntArray
from topiary.engine.hierarchy import completion
from topiary.engine.quality import measures
from topiary.engine.quality.measures import SAMPLED, WORDS, LabelledDocuments, Quality, copy_documents, measure_quality
from topiary.store import blocks, corpora
from topiary.store.corpora import CorpusArrays
from topiary.store.database import Database
from topiary.store.run_rows import RunRow

PLACED = 1000  # number of labelled documents placed at most


def read_quality(db: Database, run: RunRow, hierarchy: Hierarchy, *, labels: bool = True) -> tuple[Quality, ...]:
    """Measure the quality of every layer of a snapshot, reading the counts of the corpus.

    Where the corpus has labels, some documents are placed in the topics.

    Parameters
    ----------
    hierarchy : Hierarchy
        The hierarchy of one of the run's snapshots.
    labels : bool
        Whether to measure how well topics distinguish the labels, which takes longest.

    Raises
    ------
    engine.settings.SettingError
        When documents are to be placed, and the run used a setting that has since been removed.
    """
    arrays = corpora.load_counts(db, corpora.get_run_corpus(db, run))
    train, test = (_list_documents(arrays, part) for part in (TRAIN, TEST))
    return measure_quality(
        hierarchy.presentation,
        _sample_counts(arrays, train),
        _sample_counts(arrays, test) if len(test) else None,
        words=[words[:, :WORDS] for words in hierarchy.words],
        labelled=_place_labelled(db, run, hierarchy, arrays) if labels else None,
        totals=(len(train), len(test)),
    )


def add_npmi(db: Database, run: RunRow, hierarchy: Hierarchy) -> Hierarchy:
    """Return the hierarchy with the NPMI of its topics, computed from the corpus if the snapshot has none."""
    if hierarchy.npmi:
        return hierarchy
    arrays = corpora.load_counts(db, corpora.get_run_corpus(db, run))
    lists = [words[:, :WORDS] for words in hierarchy.words]
    all_words = np.concatenate([words.ravel() for words in lists])
    pairs = measures.count_pairs(
        all_words, _sample_counts(arrays, _list_documents(arrays, TRAIN)), len(hierarchy.vocabulary)
    )
    return replace(hierarchy, npmi=tuple(measures.compute_npmi(words, pairs) for words in lists))


def list_figures(quality: Quality) -> dict[str, Any]:
    """Return the figures of a layer by their names in JSON and tables; unknown ones are nan or None."""
    affinity, clusters = quality.affinity, quality.clusters
    return {
        "topics": quality.n_topics,
        "live": quality.n_live,
        "npmi": quality.mean_npmi,
        "npmi_all": quality.mean_npmi_all,
        "worst_tenth": quality.worst_tenth,
        "diversity": quality.diversity,
        "umass": quality.mean_umass,
        "npmi_test": quality.mean_held_out,
        "specialization": quality.mean_specialization,
        "affinity_child": affinity.child if affinity else np.nan,
        "affinity_other": affinity.other if affinity else np.nan,
        "affinity_weighted": affinity.weighted if affinity else np.nan,
        "cross_npmi": quality.cross_npmi,
        "label_nmi": clusters.nmi if clusters else np.nan,
        "label_purity": clusters.purity if clusters else np.nan,
    }


def _list_documents(arrays: CorpusArrays, part: int) -> IntArray:
    return np.flatnonzero(arrays.part == part)


def _sample_counts(arrays: CorpusArrays, documents: IntArray) -> Counts:
    """Return the counts of the documents that are measured: evenly spaced ones where there are many.

    Copying the counts of all documents would take long.
    """
    step = max(1, -(-len(documents) // SAMPLED))
    return copy_documents(Counts(*arrays.counts), documents[::step])


def _place_labelled(db: Database, run: RunRow, hierarchy: Hierarchy, arrays: CorpusArrays) -> LabelledDocuments | None:
    """Return labelled test documents (else training ones) and their activations; None with fewer than two labels."""
    for part in (TEST, TRAIN):
        labelled = np.flatnonzero((arrays.part == part) & (arrays.labels >= 0))
        if len(np.unique(arrays.labels[labelled])) > 1:
            positions = np.linspace(0, len(labelled) - 1, min(len(labelled), PLACED)).round().astype(np.int64)
            documents = labelled[np.unique(positions)]
            return LabelledDocuments(
                arrays.labels[documents], _infer_activations(db, run, hierarchy, arrays, documents)
            )
    return None


def _infer_activations(
    db: Database, run: RunRow, hierarchy: Hierarchy, arrays: CorpusArrays, documents: IntArray
) -> tuple[Any, ...]:
    """Return the activations of documents in every layer, (documents, K_l)."""
    inference = open_inference(db, run, find_snapshot(db, run.number, hierarchy.snapshot))
    counts = copy_documents(Counts(*arrays.counts), documents)
    return inference.infer_activations(blocks.StoredCounts(*counts), documents.tolist(), PLACE_SWEEPS)


ROWS = 1000  # test rows completed at most
CELLS = 2_000_000  # cells of these rows, observed or not, whose rates are ranked at most
LOW = 5  # a row with fewer observed cells has low activity


class Completion(NamedTuple):
    """Scores of the completion of test rows from a tenth of their cells.

    Attributes
    ----------
    perplexity : float
        Perplexity of the other cells, see `engine.hierarchy.completion.complete_documents`.
    ndcg, ndcg_low : float
        Mean NDCG of all ranked rows and of those of low activity (nan where there are none), not truncated, see
        `engine.hierarchy.completion.rank_words`.
    rows, low, every : int
        Number of ranked rows, of those of low activity among them, and of all test rows.
    """

    perplexity: float
    ndcg: float
    ndcg_low: float
    rows: int
    low: int
    every: int


def read_completion(db: Database, run: RunRow, hierarchy: Hierarchy) -> Completion | None:
    """Complete test rows of the run's corpus; None for models without topics of columns, or without test rows.

    The seed of the corpus's split decides which cells are observed, so they are the same for all runs on it.

    Raises
    ------
    engine.settings.SettingError
        When the run used a setting that has since been removed.
    """
    arrays = corpora.load_counts(db, corpora.get_run_corpus(db, run))
    numbers = np.flatnonzero(arrays.part == TEST)
    if hierarchy.columns is None or not len(numbers):
        return None
    n_words = len(hierarchy.vocabulary)
    documents = numbers[:: _choose_step(len(numbers), n_words)]
    inference = open_inference(db, run, find_snapshot(db, run.number, hierarchy.snapshot))
    docs = copy_documents(Counts(*arrays.counts), documents).batch(documents)
    observed, scored = completion.split_cells(inference.corpus.split_seed, docs)
    with inference.lock:
        result = completion.complete_documents(inference.kernel, run.seed, inference.state, observed, scored)
        ndcg = completion.rank_words(inference.kernel, run.seed, inference.state, observed, scored, n_words)
    low = ndcg[_find_low_activity(observed, ndcg)]
    ranked = int(np.isfinite(ndcg).sum())
    return Completion(result.perplexity, _average_finite(ndcg), _average_finite(low), ranked, len(low), len(numbers))


def _choose_step(rows: int, n_words: int) -> int:
    return max(1, -(-rows // max(1, min(ROWS, CELLS // max(1, n_words)))))


def _find_low_activity(observed: Batch, ndcg: Array) -> Array:
    """Return the numbers of the ranked rows of low activity."""
    few = completion.find_low_activity(observed, LOW)
    return few[np.isfinite(ndcg[few])]


def _average_finite(values: Array) -> float:
    """Return the mean of the finite values, nan without any."""
    finite = values[np.isfinite(values)]
    return float(finite.mean()) if len(finite) else float("nan")
