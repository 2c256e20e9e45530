"""What the explore page reads of topics: their documents, and the passages of these that say most of a topic."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import Generic, TypeAlias, TypeVar

from topiary.app.analysis.errors import ReadError
from topiary.app.analysis.hierarchy import Hierarchy
from topiary.app.analysis.passages import TopicPassage, choose_passages, weigh_words
from topiary.app.ingest.new_documents import find_rules
from topiary.app.pages.filters import find_placed, open_documents
from topiary.app.pages.session import Context
from topiary.app.views.explore.detail import TopicDocument
from topiary.engine.contract import Array
from topiary.engine.hierarchy.tree import Node
from topiary.store import corpora
from topiary.store.corpora import Document
from topiary.store.corpus_rows import CorpusRow
from topiary.store.errors import StoreError
from topiary.store.run_rows import RunRow

_SHOWN_DOCUMENTS = 8
_READ_DOCUMENTS = 24  # among which passages are sought
_MOST_CACHED_TOPICS = 200  # topics whose documents are cached


def _find_topic_passages(
    corpus: CorpusRow, hierarchy: Hierarchy, node: Node, documents: Sequence[Document]
) -> dict[int, TopicPassage]:
    """Return the passage of every document that says most of a topic; documents without a text have none."""
    with_text = [document for document in documents if document.text.strip()]
    if not with_text or hierarchy.image_shape is not None:
        return {}
    rules, weights = find_rules(corpus.meta, corpus.kind, hierarchy.vocabulary), weigh_words(hierarchy, node)
    passages = choose_passages(with_text, rules, weights, len(with_text))
    return {passage.document: passage for passage in passages}


# Run, snapshot, topic, state of the run, and the conditions of the view.
TopicKey: TypeAlias = tuple[int, int, Node, str, tuple[str, ...]]


Found = TypeVar("Found")


class TopicReading(ABC, Generic[Found]):
    """Something about topics that is read in other threads and cached."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._cached: dict[TopicKey, Found] = {}
        self._pending: set[TopicKey] = set()

    @abstractmethod
    def _read(self, hierarchy: Hierarchy, node: Node, where: tuple[str, ...]) -> Found:
        """Read it; this waits for the store."""

    def of(self, hierarchy: Hierarchy, node: Node, then: Callable[[], None]) -> Found | None:
        """Return what is known of a topic, or None if it must be read first; then call ``then`` after reading."""
        # When a run ends, all documents have been placed, so they are read again.
        where = self._context.view.where
        key = (hierarchy.run, hierarchy.snapshot, node, self._context.feed.state(hierarchy.run), where)
        found = self._cached.get(key)
        if found is None and key not in self._pending:
            self._pending.add(key)
            work = partial(self._read, hierarchy, node, where)
            self._context.later(work, partial(self._receive, key, then), partial(self._fail, key, then))
        return found

    def _fail(self, key: TopicKey, then: Callable[[], None]) -> None:
        self._pending.discard(key)
        then()

    def _receive(self, key: TopicKey, then: Callable[[], None], found: Found) -> None:
        self._pending.discard(key)
        if len(self._cached) >= _MOST_CACHED_TOPICS:
            self._cached.clear()
        self._cached[key] = found
        then()


class TopicDocuments(TopicReading[list[TopicDocument]]):
    """The documents of topics."""

    def _read(self, hierarchy: Hierarchy, node: Node, where: tuple[str, ...]) -> list[TopicDocument]:
        row, reader = self._context.feed.run(hierarchy.run), self._context.reader
        if row is None:
            return []
        if where:
            return self._choose(hierarchy, node, row, where)
        found = reader.find_shares(hierarchy.run, hierarchy.snapshot)  # there may be some that were not there before
        key = hierarchy.run, hierarchy.snapshot, node, found
        return reader.fetch("topic documents", key, lambda: self._choose(hierarchy, node, row, ()))

    def _choose(self, hierarchy: Hierarchy, node: Node, row: RunRow, where: tuple[str, ...]) -> list[TopicDocument]:
        """Return the documents of a topic that meet conditions, those first whose passages say most of it."""
        selected = self._select(hierarchy, row, where)
        placed = hierarchy
        if selected is not None:  # else the newest examples are enough
            placed = find_placed(self._context, hierarchy).hierarchy
        used = placed if placed.has(node) else hierarchy
        uses = self._context.reader.rank(used, node, selected).list_uses(_READ_DOCUMENTS)
        if not uses:
            return []
        corpus = corpora.get_run_corpus(self._context.db, row)
        rows = corpora.read_documents(self._context.db, corpus.number, [use.document for use in uses])
        passages = _find_topic_passages(corpus, hierarchy, node, rows)
        documents = {document.number: document for document in rows}
        read = [
            TopicDocument(
                document.title, document.text, document.label or "", use.weight, document.number,
                passages.get(document.number),
            )
            for use in uses
            if (document := documents.get(use.document)) is not None
        ]  # fmt: skip
        return sorted(read, key=lambda each: -each.passage.score if each.passage is not None else 0.0)[
            :_SHOWN_DOCUMENTS
        ]

    def _select(self, hierarchy: Hierarchy, row: RunRow, where: tuple[str, ...]) -> Array | None:
        """Return which documents meet the conditions; None for all, also if the conditions mean nothing."""
        if not where:
            return None
        try:
            corpus = corpora.get_run_corpus(self._context.db, row)
            return open_documents(self._context, corpus, hierarchy, where).selected
        except (ReadError, StoreError):
            return None
