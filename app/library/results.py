"""Results of a run: new documents placed in its topics, classification, and comparison with another run."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from topiary.app.analysis import comparison as pairs_of
from topiary.app.analysis.comparison import find_edge_changes
from topiary.app.analysis.hierarchy import Hierarchy, format_identity
from topiary.app.analysis.inference import DocumentInference, DocumentTopics
from topiary.app.analysis.predictions import Classified
from topiary.app.analysis.read_hierarchy import find_snapshot
from topiary.app.analysis.reader import StoreReader
from topiary.app.analysis.shares import LayerUse, complete_shares, fetch_use, find_nearest_to
from topiary.app.export.class_facts import list_class_facts
from topiary.app.export.comparison import (
    ComparisonView,
    list_edges,
    list_pairs,
    summarize_comparison,
    write_comparison,
    write_summary,
)
from topiary.app.ingest.new_documents import NewDocument, read_new_documents, read_new_text
from topiary.app.ingest.options import NEW_DOCUMENT_OPTIONS, ImportOptions, OptionError
from topiary.app.jobs.progress import Progress
from topiary.app.names import plural
from topiary.app.views.tree.opening import choose_threshold
from topiary.engine.contract import FloatArray, PredictingKernel
from topiary.engine.hierarchy.tree import Node
from topiary.store import corpora, notes
from topiary.store.database import Database
from topiary.store.notes import MatchDecision
from topiary.store.run_rows import RunRow

from .corpora import OpenStore, find_index, list_texts, refuse_missing


@dataclass(frozen=True, eq=False)
class Inference:
    """New documents placed in the topics of a snapshot; returned by :meth:`Run.infer`.

    Documents are numbered from 0 in the order in which they were given; those of a pandas Series keep its index.
    A document without a word of the vocabulary is not placed: its row holds NaN, and it has no paths or neighbours.
    """

    _db: Database
    _hierarchy: Hierarchy
    _document_inference: DocumentInference
    _given: Sequence[NewDocument]
    _placed: Sequence[DocumentTopics]
    _index: pd.Index | None = None

    @cached_property
    def documents(self) -> pd.DataFrame:
        """A table by document: title, number of tokens, number of tokens in the vocabulary, and unknown words."""
        rows = [
            {
                "title": document.title,
                "tokens": document.word_counts.tokens,
                "known": document.word_counts.known,
                "unknown": list(document.word_counts.unknown),
            }
            for document in self._given
        ]
        return self._by_document(pd.DataFrame(rows, columns=["title", "tokens", "known", "unknown"]))

    def theta(self, layer: int) -> pd.DataFrame:
        """Return the activations of the topics of a layer, from 1: (documents, topics), with columns such as "L1:3".

        Raises
        ------
        LookupError
            When there is no such layer.
        """
        self._hierarchy.at_rank(layer, 1)
        return self._build_layer(layer, [placed.theta[layer - 1] for placed in self._placed])

    def shares(self, layer: int) -> pd.DataFrame:
        """Return the shares of the topics of a layer as `theta`; those of a document sum to 1, none is left out.

        Raises
        ------
        LookupError
            When there is no such layer.
        """
        self._hierarchy.at_rank(layer, 1)
        return self._build_layer(layer, [placed.shares[layer - 1] for placed in self._placed])

    @cached_property
    def classes(self) -> pd.DataFrame | None:
        """The probabilities of the classes, (documents, classes); None for a model without labels."""
        if not isinstance(self._document_inference.kernel, PredictingKernel):
            return None
        names = list(self._document_inference.corpus.label_names)
        rows = [
            np.full(len(names), np.nan) if blank or placed.probabilities is None else placed.probabilities
            for placed, blank in zip(self._placed, self._blank, strict=True)
        ]
        return self._by_document(pd.DataFrame(np.reshape(rows, (-1, len(names))), columns=names))

    def paths(self, n: int = 5) -> pd.DataFrame:
        """Return the ``n`` heaviest paths of each document from the top layer to layer 1, with shares and topics."""
        rows = [
            {
                "document": self._key(number),
                "share": path.share,
                "path": [format_identity(self._hierarchy.node(*node)) for node in path.nodes],
                "titles": [self._hierarchy.title(self._hierarchy.node(*node)) for node in path.nodes],
            }
            for number, placed in self._known_documents
            for path in self._document_inference.find_paths(placed, n)
        ]
        return pd.DataFrame(rows, columns=["document", "share", "path", "titles"])

    def nearest(self, n: int = 5, *, progress: bool = False) -> pd.DataFrame:
        """Return the ``n`` nearest documents of the corpus for each document, with their Hellinger distances.

        They are sought among all documents, by their shares of the topics of layer 1.  Where shares are not stored yet,
        they are computed and stored now, as by :meth:`Run.shares`.

        Parameters
        ----------
        n : int
        progress : bool, default=False
            Whether to show on standard error how many documents have been placed.

        Raises
        ------
        store.errors.NotFound
            When the snapshot is no longer kept, as of a run that trains.
        """
        if progress and self._known_documents:
            self._show_placing()
        rows = [row for number, placed in self._known_documents for row in self._list_neighbours(number, placed, n)]
        return pd.DataFrame(rows, columns=["document", "distance", "neighbour", "title", "label"])

    def __len__(self) -> int:
        return len(self._given)

    def __repr__(self) -> str:
        return f"<Inference: {self._sentence()}>"

    def _repr_html_(self) -> str:
        return f"<p>{escape(self._sentence())}</p>{self.documents.to_html(border=0)}"

    def _sentence(self) -> str:
        """Return a sentence about the documents, run and mini-batch."""
        where = f"run {self._hierarchy.run} at {self._hierarchy.moment}"
        return f"{plural(len(self), 'document')} in the topics of {where}"

    @cached_property
    def _use(self) -> LayerUse:
        """The shares of the topics of layer 1 in all documents of the corpus."""
        inference = self._document_inference
        return fetch_use(self._db, inference.run, inference.snapshot, 1, inference=inference)

    def _show_placing(self) -> None:
        """Place all documents, and show how many are placed."""
        inference, shown = self._document_inference, Progress()
        try:
            complete_shares(self._db, inference.run, inference.snapshot, shown.show_placing, inference)
        finally:
            shown.end()

    def _build_layer(self, layer: int, values: Sequence[FloatArray]) -> pd.DataFrame:
        """Return values of the topics of a layer for each document as a table (documents, topics)."""
        width = self._hierarchy.widths[layer - 1]
        names = [format_identity(self._hierarchy.node(layer, column)) for column in range(width)]
        rows = [np.full(width, np.nan) if blank else row for row, blank in zip(values, self._blank, strict=True)]
        return self._by_document(pd.DataFrame(np.reshape(rows, (-1, width)), columns=names))

    def _list_neighbours(self, number: int, placed: DocumentTopics, n: int) -> list[dict[str, Any]]:
        """Return a row for each of the ``n`` documents of the corpus that are nearest to a document."""
        neighbours = find_nearest_to(self._use, placed, n)
        documents = corpora.read_documents(
            self._db, self._document_inference.corpus.number, [neighbour.document for neighbour in neighbours]
        )
        return [
            {
                "document": self._key(number),
                "distance": neighbour.distance,
                "neighbour": neighbour.document,
                "title": document.title,
                "label": document.label,
            }
            for neighbour, document in zip(neighbours, documents, strict=True)
        ]

    def _by_document(self, frame: pd.DataFrame) -> pd.DataFrame:
        if self._index is None:
            return frame.rename_axis("document")
        indexed = frame.set_axis(self._index)
        return indexed if any(name is not None for name in self._index.names) else indexed.rename_axis("document")

    def _key(self, number: int) -> Any:
        """Return the index label of a document."""
        return number if self._index is None else self._index[number]

    @cached_property
    def _blank(self) -> list[bool]:
        return [each.word_counts.blank for each in self._given]

    @cached_property
    def _known_documents(self) -> list[tuple[int, DocumentTopics]]:
        return [(number, placed) for number, placed in enumerate(self._placed) if not self._blank[number]]


def infer(
    opened: OpenStore,
    run: RunRow,
    snapshot: int,
    texts: str | os.PathLike[str] | Iterable[str],
    options: dict[str, Any],
) -> Inference:
    """Return documents placed in the topics of a snapshot; see :meth:`Run.infer`."""
    inference = opened.places.inference(run.number, snapshot)
    given = _read_given(texts, inference, options)
    placed = inference.place_texts([document.word_counts for document in given])
    hierarchy = StoreReader(opened.db).hierarchy(run, inference.snapshot)
    return Inference(opened.db, hierarchy, inference, given, placed, find_index(texts))


def _read_given(
    texts: str | os.PathLike[str] | Iterable[str], inference: DocumentInference, options: dict[str, Any]
) -> list[NewDocument]:
    """Return the documents of texts or of a file, after checking the options."""
    is_file = isinstance(texts, os.PathLike)
    unknown = next((name for name in options if not is_file or name not in NEW_DOCUMENT_OPTIONS), None)
    if unknown is not None:
        raise OptionError(f"{unknown} is no option of {'a file' if is_file else 'texts'}; leave it out")
    if isinstance(texts, os.PathLike):
        return read_new_documents(str(Path(texts)), inference.rules, ImportOptions(**options))
    documents = [texts] if isinstance(texts, str) else list_texts(texts)
    refuse_missing(documents)
    return [read_new_text(text, inference.rules) for text in documents]


class Classification:
    """Predicted classes of test documents, and measures of their quality; returned by :meth:`Run.classify`.

    Attributes
    ----------
    run, minibatch, documents : int
    error : float
        Share of the documents with a wrong prediction.
    majority_error : float or None
        Error of always predicting the most frequent class of the training documents.
    macro_f1, log_loss, calibration_error : float
    layers : tuple of float
        Share of each layer in the predictions; empty if topics have no weights for classes.
    classes : pandas.DataFrame
        By class: number of training and test documents, precision, recall and F1.
    confusion : pandas.DataFrame
        Number of documents by true class (rows) and predicted class (columns).
    calibration : pandas.DataFrame
        By bin of confidence: number of documents, mean confidence and accuracy.
    misled : pandas.DataFrame
        The most confident wrong predictions, with the path of topics behind each.
    predictions : pandas.DataFrame
        By number of the document: its class, the predicted class, and the probability of every class.
    """

    def __init__(self, found: Classified, facts: dict[str, Any]) -> None:
        names = list(found.names)
        self.run: int = facts["run"]
        self.minibatch: int = facts["minibatch"]
        self.documents: int = facts["documents"]
        self.error: float = facts["error"]
        self.majority_error: float | None = facts["majority_error"]
        self.macro_f1: float = facts["macro_f1"]
        self.log_loss: float = facts["log_loss"]
        self.calibration_error: float = facts["calibration_error"]
        self.layers: tuple[float, ...] = tuple(facts["layers"])
        self.classes = pd.DataFrame(facts["classes"]).set_index("class")
        self.confusion = pd.DataFrame(
            facts["confusion"], index=pd.Index(names, name="class"), columns=pd.Index(names, name="predicted")
        )
        self.calibration = pd.DataFrame(facts["calibration"])
        self.misled = pd.DataFrame(
            [each | {"path": [step["topic"] for step in each["path"]]} for each in facts["misled"]],
            columns=["document", "class", "predicted", "probability", "share", "path"],
        )
        self.predictions = _build_predictions(found, names)

    def __repr__(self) -> str:
        return f"<Classification: {self._sentence()}>"

    def _repr_html_(self) -> str:
        return f"<p>{escape(self._sentence())}</p>{self.classes.to_html(border=0)}"

    def _sentence(self) -> str:
        return f"run {self.run}, error {100 * self.error:.2f}% of {self.documents:,} test documents"


def classify(opened: OpenStore, run: RunRow, snapshot: int) -> Classification:
    """Return the predictions of a snapshot, stored or computed now; see :meth:`Run.classify`."""
    classified = opened.classes.fetch(run.number, snapshot)
    hierarchy = StoreReader(opened.db).hierarchy(run, find_snapshot(opened.db, run.number, classified.snapshot))
    return Classification(classified, list_class_facts(classified, hierarchy))


def _build_predictions(classified: Classified, names: list[str]) -> pd.DataFrame:
    """Return a table of the true and predicted class and the probabilities of each document."""
    chances = pd.DataFrame(
        classified.probabilities, columns=names, index=pd.Index(classified.documents, name="document")
    )
    chances.insert(0, "class", [names[label] for label in classified.labels])
    chances.insert(1, "predicted", [names[label] for label in classified.probabilities.argmax(axis=1)])
    return chances


DEFAULT_CHANGED_TOPICS = 12  # changed topics listed in the text of a comparison


class Comparison:
    """A matching of the topics of run A, the reference, with those of run B; returned by :meth:`Run.compare`."""

    def __init__(self, db: Database, found: pairs_of.Comparison, threshold: float) -> None:
        self._db, self._found, self._threshold = db, found, threshold

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The agreement of the two runs by layer, and the numbers of edges kept, gained and lost."""
        return summarize_comparison(self._found, self._threshold)

    @cached_property
    def topics(self) -> pd.DataFrame:
        """A table with a row for each pair: layer, topic and title of a and b, score, margin and words.

        A topic without a partner has missing values in its place.  ``by_hand`` marks decisions of users; ``entered``
        and ``left`` are the words that b has gained and lost.
        """
        rows = [row | _name_side(row, "a") | _name_side(row, "b") for row in list_pairs(self._found)]
        changes = ["share_change", "score", "margin", "by_hand", "absence", "entered", "left"]
        return pd.DataFrame(rows, columns=["layer", "a", "title_a", "b", "title_b", *changes])

    @cached_property
    def edges(self) -> pd.DataFrame:
        """A table of the edges above the threshold in a or b: kind, ends, weights and their ratio."""
        return pd.DataFrame(list_edges(find_edge_changes(self._found, self._threshold)))

    def decide(self, a: str | None, b: str | None) -> "Comparison":
        """Store the decision that topic ``a`` (such as "L2:5") matches topic ``b``, or has no partner (None).

        Returns
        -------
        Comparison
            A new comparison of the two runs.

        Raises
        ------
        LookupError
            When there is no such topic.
        ValueError
            When the two are of different layers, or both None.
        """
        notes.save_match(self._db, self._found.a.run, self._found.b.run, self._make_decision(a, b))
        return compare(self._db, (self._found.a, self._found.b), self._threshold)

    def undo(self, a: str | None, b: str | None) -> "Comparison":
        """Remove a decision about these topics; return a new comparison."""
        notes.undo_match(self._db, self._found.a.run, self._found.b.run, self._make_decision(a, b))
        return compare(self._db, (self._found.a, self._found.b), self._threshold)

    def export(
        self, file: str | os.PathLike[str], *, layer: int | None = None, topics: Iterable[str] = (), label: str = ""
    ) -> Path:
        """Write a picture of both trees (``.svg``), or all facts (``.json``); return the path.

        Parameters
        ----------
        file : str or path
        layer : int, optional
            Layer of B whose most popular topic is the root of a picture, without ``topics``.
        topics : iterable of str
            Topics of B, such as "L3:17", that are the roots of a picture.
        label : str
            Class by whose evidence topics are tinted.
        """
        view = ComparisonView(self._threshold, layer or 0, tuple(topics), label)
        return write_comparison(self._db, (self._found.a, self._found.b), view, Path(file))

    def __repr__(self) -> str:
        return write_summary(self._found, self._threshold, DEFAULT_CHANGED_TOPICS)

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>"

    def _make_decision(self, a: str | None, b: str | None) -> MatchDecision:
        """Return a decision about two topics, after checking them."""
        node_a, node_b = _find_topic(self._found.a, a), _find_topic(self._found.b, b)
        layers = {node.layer for node in (node_a, node_b) if node is not None}
        if len(layers) != 1:
            raise ValueError(f"a decision is about topics of one layer; got {a} and {b}")
        return MatchDecision(layers.pop(), *(0 if node is None else node.column + 1 for node in (node_a, node_b)))


def compare(db: Database, hierarchies: tuple[Hierarchy, Hierarchy], threshold: float | None) -> Comparison:
    """Match two hierarchies, respecting users' decisions; see :meth:`Run.compare`."""
    comparison = StoreReader(db).compare(*hierarchies)
    return Comparison(db, comparison, choose_threshold(threshold, *hierarchies))


def _name_side(row: dict[str, Any], side: str) -> dict[str, Any]:
    """Return the identity and title of the topic of one side of a pair; None without a partner."""
    topic = row[side]
    if topic is None:
        return {side: None, f"title_{side}": None}
    return {side: topic["topic"], f"title_{side}": topic["title"]}


def _find_topic(hierarchy: Hierarchy, topic: str | None) -> Node | None:
    """Return the node of a topic such as "L2:5"; None for None."""
    return None if topic is None else hierarchy.find_topic(topic)
