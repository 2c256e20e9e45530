"""The shares of topics in the documents of a corpus: found in the store, completed, ranked, and as a sparse matrix."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from topiary.app.analysis.hierarchy import Hierarchy, Neighbour, UseOfTopic
from topiary.app.analysis.read_hierarchy import find_snapshot, find_snapshot_at
from topiary.app.jobs.plan import PLACE_SWEEPS, hash_share_origin
from topiary.app.names import UNFINISHED, name_step
from topiary.engine.contract import Counts, FloatArray
from topiary.store import corpora, shares
from topiary.store.arrays import Array
from topiary.store.corpus_rows import CorpusRow
from topiary.store.database import Database
from topiary.store.errors import DamagedArrays, NotFound
from topiary.store.run_rows import RunRow
from topiary.store.shares import LayerShares, ShareSet
from topiary.store.snapshots import SnapshotRow

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from topiary.app.analysis.inference import DocumentInference, DocumentTopics
    from topiary.engine.lens.moments import SampledShares
    from topiary.engine.lens.typical import BadlyExplained

_AT_ONCE = 8192  # documents in memory
_EARLIER = (
    "These are the topics and shares of {step} {placed:,}, the last one whose documents have all been placed; the "
    "newest topics are of {step} {newest:,}."
)
LENGTH = 10.0  # tokens of other topics with which a document is ranked, so that very short ones do not come first


class LayerUse(NamedTuple):
    """The shares of the topics of a layer in all documents of a corpus, and the number of tokens of each document.

    ``samples`` are shares of some documents under samples of the topics; None where they are not known.
    """

    layer: LayerShares
    tokens: NDArray[np.float64]
    samples: "SampledShares | None" = None

    @property
    def size(self) -> int:
        """Size of the arrays in bytes."""
        return sum(int(array.nbytes) for array in (*self.layer, self.tokens))


def find_shares(db: Database, run: RunRow, snapshot: int) -> ShareSet | None:
    """Return the stored shares of documents under a snapshot of a run; None if there are none that are valid.

    They may lack documents that were appended to the corpus later.
    """
    return shares.find_set(db, snapshot, hash_share_origin(run))


def find_newest_shares(db: Database, run: RunRow) -> ShareSet | None:
    """Return the stored shares under the newest snapshot of a run that has some; None as for `find_shares`.

    While a run trains, they are those of an earlier snapshot than its latest one.
    """
    return shares.find_newest_set(db, run.number, hash_share_origin(run))


def find_placed_snapshot(db: Database, run: RunRow, minibatch: int | None = None) -> SnapshotRow:
    """Return the snapshot at or before a mini-batch; without one, the newest snapshot that has shares of documents.

    While a run trains, that is an earlier one than the newest, which is returned if none has shares.

    Raises
    ------
    NotFound
        If the run has no such snapshot.
    """
    chosen = find_snapshot_at(db, run, minibatch)
    if minibatch is not None or find_shares(db, run, chosen.number) is not None:
        return chosen
    found = find_newest_shares(db, run)
    return chosen if found is None else find_snapshot(db, run.number, found.snapshot)


def explain_no_shares(run: RunRow, hierarchy: Hierarchy) -> str:
    """Return why the shares of the topics of a snapshot in documents cannot be read."""
    advice = f"topiary place {run.number} computes those of the newest one"
    if run.state in UNFINISHED:
        advice = "those of the newest topics are computed while the run trains, and when it ends"
    return f"run {run.number} has no shares of documents under the snapshot of {hierarchy.moment}; {advice}"


def describe_placed(run: RunRow, placed: int, newest: int) -> str:
    """Return a sentence on topics and shares that are of an earlier mini-batch than the newest topics; else ""."""
    return _EARLIER.format(step=name_step(run), placed=placed, newest=newest) if placed < newest else ""


def complete_shares(
    db: Database,
    run: RunRow,
    snapshot: SnapshotRow,
    report: Callable[[int, int], None] = lambda *_: None,
    inference: "DocumentInference | None" = None,
) -> ShareSet:
    """Return the shares of all documents under a snapshot; compute and store those that are missing.

    Parameters
    ----------
    db : Database
        Open for writing.
    report : (done, total) -> None, optional
        Called repeatedly with the number of documents placed so far and the number of all.
    inference : DocumentInference, optional
        Places documents under that snapshot; opened here if it is needed.

    Raises
    ------
    NotFound, Conflict
        If the snapshot is gone, or another program replaces its shares.
    engine.settings.SettingError
        If the run used a setting that has since been removed.
    """

    def proceed(done: int, total: int) -> bool:
        report(done, total)
        return True

    found = find_shares(db, run, snapshot.number)
    if found is not None and found.documents == corpora.get_corpus(db, run.corpus).documents:
        return found
    from topiary.app.jobs.shares import store_shares

    if inference is None:
        from topiary.app.analysis.inference import open_inference  # loads the compiler

        inference = open_inference(db, run, snapshot)
    store_shares(db, run, snapshot.number, inference.kernel, inference.state, proceed)
    found = find_shares(db, run, snapshot.number)
    if found is None:
        raise NotFound(f"the corpus of run {run.number} has no documents to place")
    return found


def read_use(db: Database, found: ShareSet, layer: int) -> LayerUse:
    """Return the stored shares of the topics of a layer, counted from 1, in all documents of a set.

    Raises
    ------
    NotFound, DamagedArrays
        If they are gone, or their bytes were altered.
    """
    return LayerUse(shares.read_layer(db, found.snapshot, layer), shares.read_tokens(db, found.snapshot))


def fetch_use(
    db: Database,
    run: RunRow,
    snapshot: SnapshotRow,
    layer: int,
    report: Callable[[int, int], None] = lambda *_: None,
    inference: "DocumentInference | None" = None,
) -> LayerUse:
    """Return the shares of the topics of a layer in all documents; compute those that are missing or damaged.

    Parameters and errors are those of `complete_shares`.
    """
    found = complete_shares(db, run, snapshot, report, inference)
    try:
        return read_use(db, found, layer)
    except DamagedArrays:
        shares.begin_set(db, snapshot.number, hash_share_origin(run))  # drops what is damaged
        return read_use(db, complete_shares(db, run, snapshot, report, inference), layer)


def build_matrix(layer: LayerShares, n_topics: int, *, rest: bool = False) -> "csr_array":
    """Return the shares of a layer as a sparse matrix (documents, topics) of float32; shares below 1 % are missing.

    With ``rest``, one more column holds them together, so that each row sums to 1.
    """
    from scipy.sparse import csr_array, hstack

    found = csr_array((layer.shares, layer.topics, layer.starts), shape=(len(layer.rest), n_topics))
    if not rest:
        return found
    return csr_array(hstack([found, csr_array(layer.rest[:, None] / np.float32(shares.UNITS))], format="csr"))


def infer_theta(
    db: Database, inference: "DocumentInference", layer: int, numbers: NDArray[np.int64]
) -> Iterator[tuple[NDArray[np.int64], FloatArray]]:
    """Yield documents of the corpus, some at a time, and their activations of all topics of a layer, (documents, K).

    The documents are placed again, in the way in which their shares were stored.  A document without words has NaN.
    """
    for first in range(0, max(len(numbers), 1), _AT_ONCE // 4):
        some = numbers[first : first + _AT_ONCE // 4]
        counts = corpora.read_counts(db, inference.corpus.number, some.tolist())
        theta = np.array(inference.infer_activations(counts, some.tolist(), PLACE_SWEEPS)[layer - 1])
        theta[np.diff(counts.starts) == 0] = np.nan
        yield some, theta


def read_topic_shares(use: LayerUse, column: int) -> NDArray[np.float64]:
    """Return the share of a topic in every document, (N,); shares below 1 % count as 0."""
    own = np.flatnonzero(use.layer.topics == column)
    found = np.zeros(len(use.layer.rest))
    found[np.searchsorted(use.layer.starts, own, side="right") - 1] = use.layer.units[own] / shares.UNITS
    return found


def find_strongest_topics(layer: LayerShares, apart: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the column of the topic with the largest share of every document, (N,); -1 where none has 1 %.

    Of equal shares the first column counts.

    Parameters
    ----------
    apart : (K,) bool array
        Topics that count only where there are no others: those of the background.
    """
    n_topics = len(apart)
    ranks = (layer.units + np.where(apart[layer.topics], 0, shares.UNITS + 1)) * n_topics + n_topics - 1 - layer.topics
    strongest = np.full(len(layer.rest), -1, dtype=np.int64)
    filled = np.flatnonzero(np.diff(layer.starts) > 0)
    if len(filled):
        strongest[filled] = n_topics - 1 - np.maximum.reduceat(ranks, layer.starts[filled]) % n_topics
    return strongest


class RankedDocuments(NamedTuple):
    """The documents with the largest shares of a topic, largest first: their numbers, int64, and these shares."""

    numbers: Array
    shares: Array

    def list_uses(self, n: int | None = None) -> list[UseOfTopic]:
        """Return the first ``n``, all by default, one by one."""
        pairs = zip(self.numbers[:n].tolist(), self.shares[:n].tolist(), strict=True)
        return [UseOfTopic(*pair) for pair in pairs]


def order_documents(use: LayerUse, column: int, selected: Array | None = None) -> RankedDocuments:
    """Return the documents that have at least 1 % of a topic, those with the largest shares first.

    A document is ranked as if it had ``LENGTH`` more tokens of other topics; equal ones are in the order of the corpus.

    Parameters
    ----------
    column : int
        Column of the topic.
    selected : (N,) bool array, optional
        The documents to rank, of the first N of the corpus; by default all.
    """
    entries = np.flatnonzero(use.layer.topics == column)
    documents = np.searchsorted(use.layer.starts, entries, side="right") - 1  # ascending
    if selected is not None:
        documents = documents[: np.searchsorted(documents, len(selected))]
        chosen = np.flatnonzero(selected[documents])
        entries, documents = entries[chosen], documents[chosen]
    weights = use.layer.units[entries] / np.float32(shares.UNITS)
    ranks = weights * use.tokens[documents] / (use.tokens[documents] + LENGTH)
    order = np.argsort(-ranks, kind="stable")
    return RankedDocuments(documents[order], weights[order])


def explain_documents(db: Database, corpus: CorpusRow, hierarchy: Hierarchy, use: LayerUse) -> "BadlyExplained":
    """Return the documents that the topics explain badly, and the score of every document with stored shares.

    Parameters
    ----------
    use : LayerUse
        Shares of the topics of layer 1.

    Raises
    ------
    ValueError
        If the values of the corpus are real numbers, of which there are no rates per token.
    """
    if corpus.kind == "real":
        raise ValueError("how well a document is explained is measured per word, which real data do not have")
    from topiary.engine.lens.moments import DocumentShares
    from topiary.engine.lens.typical import find_badly_explained, measure_log_rates

    phi = np.ascontiguousarray(hierarchy.projections[0], dtype=np.float64)
    everywhere, measured = hierarchy.measure_everywhere(1), []
    for first in range(0, len(use.tokens), _AT_ONCE):
        numbers = np.arange(first, min(first + _AT_ONCE, len(use.tokens)))
        part = use.layer.select_rows(numbers)
        shares_of_part = DocumentShares(*part, use.tokens[numbers], phi.shape[1])
        counts = Counts(*corpora.read_counts(db, corpus.number, numbers.tolist()))
        measured.append(measure_log_rates(phi, everywhere, shares_of_part, counts))
    return find_badly_explained(np.concatenate([np.zeros(0), *measured]), use.tokens)


def find_nearest(use: LayerUse, one: LayerShares, n: int, *, without: int = -1) -> list[Neighbour]:
    """Return the ``n`` documents nearest to one, nearest first, of those with stored shares and tokens.

    The distance is that of :func:`engine.hierarchy.paths.measure_distances`: shares below 1 % count as one more topic.
    Equally near ones are in the order of the corpus.

    Parameters
    ----------
    one : LayerShares
        Shares of the topics of the layer in a single document.
    without : int
        Number of a document to leave out, usually that document itself.
    """
    from topiary.engine.hierarchy.paths import SparseShares, measure_distances  # compiled functions

    distances = measure_distances(SparseShares(*one), SparseShares(*use.layer))
    wanted = use.tokens > 0
    if without >= 0:
        wanted[without : without + 1] = False
    numbers = np.flatnonzero(wanted)
    order = numbers[np.argsort(distances[numbers], kind="stable")[:n]]
    return [Neighbour(number, float(distances[number])) for number in order.tolist()]


def find_nearest_to(use: LayerUse, topics: "DocumentTopics", n: int) -> list[Neighbour]:
    """Return the ``n`` documents nearest to a new one by the topics of layer 1, as `find_nearest`."""
    from topiary.engine.hierarchy.paths import cut_shares

    return find_nearest(use, LayerShares(*cut_shares(topics.shares[0][None, :])), n)
