"""Place documents in the hierarchy of a stored snapshot: texts, files and documents of the corpus.

The state is restored from the snapshot (:func:`app.jobs.records.restore_state`), and the kernel of the run's own
model and settings infers the activations, so this module is the same for every model.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from topiary.app.analysis.hierarchy import Neighbour
from topiary.app.ingest.new_documents import Rules, WordCounts, find_rules
from topiary.app.jobs import compile_kernels, records
from topiary.app.jobs.plan import PLACE_SWEEPS
from topiary.app.jobs.records import load_model
from topiary.app.jobs.shares import infer_shares
from topiary.app.machine import choose_threads
from topiary.engine.contract import Array, Counts, Facts, FloatArray, Kernel, PredictingKernel, Sweeps, Topics
from topiary.engine.corpus import number_document
from topiary.engine.hierarchy import paths
from topiary.engine.hierarchy.paths import compute_shares, cut_shares
from topiary.store import blocks, corpora, snapshots
from topiary.store.corpus_rows import CorpusRow
from topiary.store.database import Database
from topiary.store.run_rows import RunRow
from topiary.store.shares import LayerShares
from topiary.store.snapshots import SnapshotRow


class DocumentTopics(NamedTuple):
    """The words of one document and its activations in every layer of the hierarchy.

    Attributes
    ----------
    words : (n,) int32
    counts : (n,) int32 or float32
    theta : tuple of (K_l,) float64
        Posterior means of the activations of every layer.
    shares : tuple of (K_l,) float64
        The share of every topic in the document (:mod:`engine.hierarchy.paths`), summing to 1 in every layer.
    probabilities : (C,) float64 or None
        Probabilities of the classes; None where the model predicts no labels.
    above : tuple of float
        For every layer below the top, the part of the shape of its posterior that comes from the layer above;
        empty for models without an encoder.
    """

    words: Array
    counts: Array
    theta: tuple[FloatArray, ...]
    shares: tuple[FloatArray, ...]
    probabilities: FloatArray | None
    above: tuple[float, ...] = ()


@dataclass(frozen=True, eq=False, kw_only=True)
class DocumentInference:
    """A snapshot with everything needed to place documents in it; may be used from several threads.

    Attributes
    ----------
    run, corpus, snapshot : rows of the store
    kernel : Kernel
    state : State
        State of the model at the snapshot.
    topics : Topics
    rules : Rules
        How the corpus finds words in a text.
    """

    run: RunRow
    corpus: CorpusRow
    snapshot: SnapshotRow
    kernel: Kernel
    state: Any
    topics: Topics
    rules: Rules
    lock: Lock

    @property
    def mixtures(self) -> tuple[FloatArray, ...]:
        """The topics of the layers through which documents have paths.

        These are all layers if every topic is a mixture of the layer below.  Where links are not linear it is layer 1
        alone, because no share of a document passes through a topic above.
        """
        return self.topics.phi[:1] if self.topics.links else self.topics.phi

    def find_paths(self, placed: DocumentTopics, n: int) -> list[paths.Path]:
        """Return the ``n`` heaviest paths of a document through the layers of `mixtures`.

        The shares of the paths through a topic sum to the share of the topic.
        """
        phi = self.mixtures
        return paths.find_best_paths(phi, (placed.shares[0], *placed.theta[1 : len(phi)]), n)

    def place_texts(self, recounts: Sequence[WordCounts]) -> list[DocumentTopics]:
        """Place texts whose words have been counted; the result for a text does not depend on the others."""
        cells = [(recount.words, recount.counts) for recount in recounts]
        return self._place(cells, np.array([number_document(*pair) for pair in cells], dtype=np.int64), None)

    def place_documents(self, counts: blocks.StoredCounts, numbers: Sequence[int]) -> list[DocumentTopics]:
        """Place documents of the corpus, given their counts and numbers; their shares are those that are stored."""
        bounds = zip(counts.starts[:-1], counts.starts[1:], strict=True)
        cells = [(counts.words[start:stop], counts.values[start:stop]) for start, stop in bounds]
        return self._place(cells, np.asarray(numbers, dtype=np.int64), PLACE_SWEEPS)

    def cut_shares(self, counts: blocks.StoredCounts, numbers: Sequence[int]) -> tuple[LayerShares, ...]:
        """Return the shares of topics in documents of the corpus as they are stored, for layers 1, 2, ..."""
        return tuple(LayerShares(*cut_shares(layer)) for layer in self.infer_shares(counts, numbers))

    def infer_shares(self, counts: blocks.StoredCounts, numbers: Sequence[int]) -> tuple[FloatArray, ...]:
        """Return the share of every topic in documents of the corpus, (documents, K_l) for layers 1, 2, ..."""
        batch = Counts(*counts).batch(np.asarray(numbers, dtype=np.int64))
        with self.lock:
            return infer_shares(self.kernel, self.run.seed, self.state, batch)

    def infer_activations(
        self, counts: blocks.StoredCounts, numbers: Sequence[int], sweeps: Any = None
    ) -> tuple[FloatArray, ...]:
        """Return the activations of documents in every layer, (documents, K_l)."""
        batch = Counts(*counts).batch(np.asarray(numbers, dtype=np.int64))
        with self.lock:
            return self.kernel.infer(self.run.seed, self.state, batch, sweeps).theta

    def _place(self, cells: list[tuple[Array, Array]], numbers: Array, sweeps: Sweeps | None) -> list[DocumentTopics]:
        """Place documents, given pairs of words and counts, and the numbers that seed their random streams."""
        value_type = np.float32 if self.corpus.kind == "real" else np.int32
        words = np.concatenate([np.empty(0, np.int32), *(words for words, _ in cells)])
        values = np.concatenate([np.empty(0, value_type), *(values for _, values in cells)])
        batch = Counts.of(np.array([len(words) for words, _ in cells], np.int64), words, values).batch(numbers)
        with self.lock:
            local = self.kernel.infer(self.run.seed, self.state, batch, sweeps)
            classes = None
            if isinstance(self.kernel, PredictingKernel):
                classes = self.kernel.predict(self.run.seed, self.state, batch)
        shares = compute_shares(self.topics, local, batch)
        return [
            DocumentTopics(
                *pair,
                tuple(layer[row] for layer in local.theta),
                tuple(layer[row] for layer in shares),
                None if classes is None else np.asarray(classes[row]),
                tuple(float(layer[row]) for layer in local.above),
            )
            for row, pair in enumerate(cells)
        ]


def open_inference(db: Database, run: RunRow, snapshot: SnapshotRow) -> DocumentInference:
    """Prepare a snapshot for placing documents; kernels that are not compiled yet are compiled in other processes.

    Parameters
    ----------
    db : Database
    run : RunRow
    snapshot : SnapshotRow
        A snapshot of that run.

    Raises
    ------
    engine.settings.SettingError
        When the run used a setting that has since been removed.
    DamagedRow
        When the row of the run or of its corpus is damaged.
    """
    corpus = corpora.get_run_corpus(db, run)
    module, config = load_model(run)
    for process in compile_kernels.start_compilers(_request_kernels(run, corpus), db.url):
        process.wait()
    facts = Facts(corpus.words, corpus.train_documents, len(corpus.label_names), corpus.image_shape)
    kernel = module.build(config, facts, n_threads=choose_threads())
    state = records.restore_state(kernel, run.seed, snapshots.load_snapshot(db, snapshot.number), shown=True)
    vocabulary = corpora.read_vocabulary(db, corpus.number)
    return DocumentInference(
        run=run,
        corpus=corpus,
        snapshot=snapshot,
        kernel=kernel,
        state=state,
        topics=kernel.topics(state),
        rules=find_rules(corpus.meta, corpus.kind, vocabulary),
        lock=Lock(),
    )


def must_compile(run: RunRow, corpus: CorpusRow) -> bool:
    """Return True if placing documents has to wait for kernels that are not compiled yet on this machine."""
    return bool(compile_kernels.list_missing(_request_kernels(run, corpus)))


def _request_kernels(run: RunRow, corpus: CorpusRow) -> compile_kernels.KernelRequest:
    """Return the request for the kernels of a run."""
    return compile_kernels.KernelRequest.of(run.model, run.settings, corpus, averaged=bool(run.options.get("averaged")))


MOST = 3000  # documents placed at most; in a larger corpus they are evenly spaced
BLOCK = 250  # documents placed by one call of `Neighbourhood.advance`


class Neighbourhood:
    """Documents of the corpus placed under one snapshot.

    Parameters
    ----------
    db : Database
    inference : DocumentInference
    """

    def __init__(self, db: Database, inference: DocumentInference) -> None:
        self._db, self._document_inference = db, inference
        n = inference.corpus.documents
        self.numbers = np.unique(np.linspace(0, n - 1, min(n, MOST)).round().astype(np.int64))
        self._shares: NDArray[np.float32] = np.zeros((len(self.numbers), len(inference.topics.phi[0].T)), np.float32)
        self._lock = Lock()
        self.done = 0

    @property
    def ready(self) -> bool:
        """Return True if every document has been placed."""
        return self.done >= len(self.numbers)

    def advance(self) -> None:
        """Place the next block of documents; concurrent callers wait for each other."""
        with self._lock:
            block = self.numbers[self.done : self.done + BLOCK]
            if len(block):
                counts = corpora.read_counts(self._db, self._document_inference.corpus.number, block.tolist())
                shares = self._document_inference.infer_shares(counts, block.tolist())[0]
                self._shares[self.done : self.done + len(block)] = shares
                self.done += len(block)

    def find_nearest(self, shares: Array, n: int, *, without: int = -1) -> list[Neighbour]:
        """Find the ``n`` nearest of the documents placed so far.

        Parameters
        ----------
        shares : (K_1,) array
            Shares of layer 1 of the document whose neighbours are wanted.
        n : int
        without : int
            Number of a document to leave out, usually that document itself.
        """
        distances = paths.measure_hellinger(paths.normalise_shares(shares), self._shares[: self.done])
        order = np.argsort(distances, kind="stable")[: n + 1]
        neighbours = [Neighbour(int(self.numbers[index]), float(distances[index])) for index in order]
        return [each for each in neighbours if each.document != without][:n]


ALIKE = 0.15  # two documents whose distance (total variation) is smaller are nearly the same


class Step(NamedTuple):
    """One point of the line between two documents.

    Attributes
    ----------
    weight : float
        0 at the first document, 1 at the second.
    words : tuple of int
        Numbers of the words with the largest rates, largest first.
    shares : tuple of float
        Shares of these words in the total rate.
    new : tuple of bool
        True for words that were not among those of the step before.
    rates : (V,) float64
        Rates of all words, summing to 1; used to draw pictures.
    """

    weight: float
    words: tuple[int, ...]
    shares: tuple[float, ...]
    new: tuple[bool, ...]
    rates: FloatArray


def decode_line(
    phi: Sequence[Array], thetas: tuple[Sequence[Array], Sequence[Array]], layer: int, steps: int, n_words: int
) -> list[Step]:
    """Return the steps of the line between two documents, each decoded to word rates.

    Parameters
    ----------
    phi : sequence of (K_{l-1}, K_l) arrays
    thetas : two sequences of (K_l,) arrays
        Activations of all layers of each document.
    layer : int
        The layer whose activations are mixed, from 1.
    steps, n_words : int
        Number of points on the line, and of words listed at each.
    """
    rates = paths.interpolate_documents(phi, (thetas[0][layer - 1], thetas[1][layer - 1]), layer, steps)
    line: list[Step] = []
    for step, row in enumerate(rates):
        words = np.argsort(-row, kind="stable")[:n_words].tolist()
        previous_words = set(line[-1].words) if line else set(words)
        new = tuple(word not in previous_words for word in words)
        line.append(Step(step / (steps - 1), tuple(words), tuple(row[words].tolist()), new, row))
    return line


def measure_distance(one: FloatArray, other: FloatArray) -> float:
    """Return the total variation between the rates of two steps: 0 = the same, 1 = nothing in common."""
    return float(np.abs(one - other).sum()) / 2


def round_percent(weight: float) -> int:
    """Return a weight in whole percent, halves rounded up; Python's `round` makes 12 of 12.5, but 38 of 37.5."""
    return int(100 * weight + 0.5)


def find_telling_layer(phi: Sequence[Array], thetas: tuple[Sequence[Array], Sequence[Array]]) -> int:
    """Return the highest layer that distinguishes two documents, or the one with the largest distance if none does."""
    distances = {}
    for layer in range(len(phi), 0, -1):
        ends = thetas[0][layer - 1], thetas[1][layer - 1]
        distances[layer] = measure_distance(*paths.interpolate_documents(phi, ends, layer, 2))
        if distances[layer] >= ALIKE:
            return layer
    return max(distances, key=distances.__getitem__)
