"""New documents placed in the topics of a run."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from app.analysis.hierarchy import Hierarchy, identity
from app.analysis.inference import DocumentInference, DocumentTopics, Neighbourhood
from app.analysis.read_hierarchy import read_hierarchy
from app.ingest.new_documents import NewDocument, read_new_documents, read_new_text
from app.ingest.options import PLACED, ImportOptions, OptionError
from store import corpora
from store.database import Database
from store.run_rows import RunRow

from .opened import Opened
from .texts import index_of, refuse_missing, texts_of


@dataclass(frozen=True, eq=False)
class Inference:
    """Documents in the topics of a snapshot; made by :meth:`Run.infer`.

    Documents are numbered from 0 in the order in which they were given; those of a column of pandas keep its index.
    One without a word that the corpus knows is placed nowhere: its row holds NaN, and it has no paths and neighbours.
    """

    _db: Database
    _hierarchy: Hierarchy
    _document_inference: DocumentInference
    _near: Neighbourhood
    _given: Sequence[NewDocument]
    _placed: Sequence[DocumentTopics]
    _index: pd.Index | None = None

    @cached_property
    def documents(self) -> pd.DataFrame:
        """By document: title, tokens, how many of them the corpus knows, and the unknown words."""
        rows = [
            {
                "title": each.title,
                "tokens": each.counted.tokens,
                "known": each.counted.known,
                "unknown": list(each.counted.unknown),
            }
            for each in self._given
        ]
        return self._by_document(pd.DataFrame(rows, columns=["title", "tokens", "known", "unknown"]))

    @cached_property
    def theta(self) -> tuple[pd.DataFrame, ...]:
        """Activations of layer 1, 2 and so on: (documents, topics), columns such as "L1:3"."""
        return tuple(self._layer(layer) for layer in range(1, self._hierarchy.n_layers + 1))

    @cached_property
    def shares(self) -> pd.DataFrame:
        """Activations of all layers side by side, each layer of a document scaled to sum 1."""
        return pd.concat([layer.div(layer.sum(axis=1, skipna=False), axis=0) for layer in self.theta], axis=1)

    @cached_property
    def classes(self) -> pd.DataFrame | None:
        """Probabilities of the classes, (documents, classes); None for a model without labels."""
        if self._document_inference.kernel.predict is None:
            return None
        names = list(self._document_inference.corpus.label_names)
        rows = [
            np.full(len(names), np.nan) if blank or placed.probabilities is None else placed.probabilities
            for placed, blank in zip(self._placed, self._blank, strict=True)
        ]
        return self._by_document(pd.DataFrame(np.reshape(rows, (-1, len(names))), columns=names))

    def paths(self, n: int = 5) -> pd.DataFrame:
        """The ``n`` heaviest paths of each document from the top layer to the words: share and topics."""
        rows = [
            {
                "document": self._key(number),
                "share": path.share,
                "path": [identity(self._hierarchy.node(*node)) for node in path.nodes],
                "titles": [self._hierarchy.title(self._hierarchy.node(*node)) for node in path.nodes],
            }
            for number, placed in self._report
            for path in self._document_inference.paths_of(placed.theta, n)
        ]
        return pd.DataFrame(rows, columns=["document", "share", "path", "titles"])

    def nearest(self, n: int = 5) -> pd.DataFrame:
        """The ``n`` documents of the corpus nearest to each: Hellinger distance, number, title and label.

        The first call places the documents of the corpus, at most 3,000 of them.
        """
        while not self._near.ready:
            self._near.advance()
        rows = [row for number, placed in self._report for row in self._neighbours(number, placed, n)]
        return pd.DataFrame(rows, columns=["document", "distance", "neighbour", "title", "label"])

    def __len__(self) -> int:
        return len(self._given)

    def __repr__(self) -> str:
        return f"<Inference: {self._sentence()}>"

    def _repr_html_(self) -> str:
        return f"<p>{escape(self._sentence())}</p>{self.documents.to_html(border=0)}"

    def _sentence(self) -> str:
        where = f"run {self._hierarchy.run} at mini-batch {self._hierarchy.minibatch:,}"
        return f"{len(self)} {'document' if len(self) == 1 else 'documents'} in the topics of {where}"

    def _layer(self, layer: int) -> pd.DataFrame:
        width = self._hierarchy.widths[layer - 1]
        names = [identity(self._hierarchy.node(layer, column)) for column in range(width)]
        rows = [
            np.full(width, np.nan) if blank else placed.theta[layer - 1]
            for placed, blank in zip(self._placed, self._blank, strict=True)
        ]
        return self._by_document(pd.DataFrame(np.reshape(rows, (-1, width)), columns=names))

    def _neighbours(self, number: int, placed: DocumentTopics, n: int) -> list[dict[str, Any]]:
        found = self._near.nearest(placed.theta[0], n)
        known = corpora.read_documents(
            self._db, self._document_inference.corpus.number, [each.document for each in found]
        )
        return [
            {
                "document": self._key(number),
                "distance": each.distance,
                "neighbour": each.document,
                "title": document.title,
                "label": document.label,
            }
            for each, document in zip(found, known, strict=True)
        ]

    def _by_document(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return a table whose rows are known by their documents."""
        if self._index is None:
            return frame.rename_axis("document")
        found = frame.set_axis(self._index)
        return found if any(name is not None for name in self._index.names) else found.rename_axis("document")

    def _key(self, number: int) -> Any:
        """Return by what a document is known."""
        return number if self._index is None else self._index[number]

    @cached_property
    def _blank(self) -> list[bool]:
        return [each.counted.blank for each in self._given]

    @cached_property
    def _report(self) -> list[tuple[int, DocumentTopics]]:
        return [(number, placed) for number, placed in enumerate(self._placed) if not self._blank[number]]


def infer(
    opened: Opened, run: RunRow, snapshot: int, texts: str | os.PathLike[str] | Iterable[str], options: dict[str, Any]
) -> Inference:
    """Place documents under a snapshot; see :meth:`Run.infer`."""
    inference = opened.places.inference(run.number, snapshot)
    near = opened.places.neighbourhood(run.number, snapshot)
    given = _given(texts, inference, options)
    placed = inference.texts([each.counted for each in given])
    hierarchy = read_hierarchy(opened.db, run, inference.snapshot)
    return Inference(opened.db, hierarchy, inference, near, given, placed, index_of(texts))


def _given(
    texts: str | os.PathLike[str] | Iterable[str], inference: DocumentInference, options: dict[str, Any]
) -> list[NewDocument]:
    is_file = isinstance(texts, os.PathLike)
    strange = next((name for name in options if not is_file or name not in PLACED), None)
    if strange is not None:
        raise OptionError(f"{strange} is no option of {'a file' if is_file else 'texts'}; leave it out")
    if isinstance(texts, os.PathLike):
        return read_new_documents(str(Path(texts)), inference.rules, ImportOptions(**options))
    found = [texts] if isinstance(texts, str) else texts_of(texts)
    refuse_missing(found)
    return [read_new_text(text, inference.rules) for text in found]
