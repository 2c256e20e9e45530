"""Reading for the explore page outside the session's thread, and the sentences shown meanwhile."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from app.analysis.hierarchy import Hierarchy
from app.pages.session import Context
from app.views.explore.cards import FoundDocument, SearchResult
from app.views.explore.controls import SnapshotOption
from app.views.explore.detail import TopicDocument, cut_excerpt
from app.views.runs.notices import explain_missing_run, explain_no_topics
from app.views.tree.opening import USUAL
from app.views.tree.picture import TreeChoice
from engine import models
from engine.hierarchy.tree import Node
from store import corpora, snapshots

_SHOWN_DOCUMENTS = 8
_FOUND_DOCUMENTS = 12
_MOST_DOCUMENTS = 200


class FetchedHierarchy(NamedTuple):
    """The requested hierarchy (None when there is none yet) and the moments to choose from.

    ``child`` is the model's sentence of what a child topic is.
    """

    run: int
    snapshot: int
    hierarchy: Hierarchy | None
    moments: tuple[SnapshotOption, ...]
    child: str = ""


def fetch_hierarchy(context: Context, run: int, snapshot: int) -> FetchedHierarchy:
    """Fetch a hierarchy and the list of snapshots; waits for the store."""
    rows = snapshots.list_snapshots(context.db, run)
    moments = tuple(SnapshotOption(row.number, row.minibatch) for row in sorted(rows, key=lambda row: row.minibatch))
    hierarchy = context.feed.hierarchy(run, snapshot or None)
    row = context.feed.run(run)
    child = models.load(row.model).CHILD if row is not None else ""
    return FetchedHierarchy(run, snapshot, hierarchy, moments, child)


def find_documents(context: Context, run: int, text: str, request: Callable[[], bool]) -> SearchResult:
    """Search the documents of a run's corpus as long as that is ``request``; waits for the store."""
    row = context.feed.run(run)
    if row is None:
        return SearchResult(text, total=0)
    total, found = corpora.search_documents(context.db, row.corpus, text, 0, _FOUND_DOCUMENTS, request)
    documents = [
        FoundDocument(document.number, document.title or "untitled", cut_excerpt(document.text, 160))
        for document in found
    ]
    return SearchResult(text, documents=documents, total=total)


class TopicDocuments:
    """The documents of the topic on screen, read in the background and kept.

    Parameters
    ----------
    context : Context
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._known: dict[tuple[int, int, Node], list[TopicDocument]] = {}
        self._asked: set[tuple[int, int, Node]] = set()

    def of(self, hierarchy: Hierarchy, node: Node, then: Callable[[], None]) -> list[TopicDocument] | None:
        """Return the documents of a topic, or None and call ``then`` when they are here."""
        key = (hierarchy.run, hierarchy.snapshot, node)
        if not hierarchy.documents:
            return []
        known = self._known.get(key)
        if known is None and key not in self._asked:
            self._asked.add(key)
            self._context.later(
                partial(self._read, hierarchy, node), partial(self._keep, key, then), partial(self._failed, key, then)
            )
        return known

    def _read(self, hierarchy: Hierarchy, node: Node) -> list[TopicDocument]:
        row = self._context.feed.run(hierarchy.run)
        uses = hierarchy.uses(node, _SHOWN_DOCUMENTS)
        if row is None or not uses:
            return []
        found = corpora.read_documents(self._context.db, row.corpus, [use.document for use in uses])
        texts = {document.number: document for document in found}
        return [
            TopicDocument(document.title, document.text, document.label or "", use.weight, document.number)
            for use in uses
            if (document := texts.get(use.document)) is not None
        ]

    def _failed(self, key: tuple[int, int, Node], then: Callable[[], None]) -> None:
        self._asked.discard(key)
        then()

    def _keep(self, key: tuple[int, int, Node], then: Callable[[], None], found: list[TopicDocument]) -> None:
        self._asked.discard(key)
        if len(self._known) >= _MOST_DOCUMENTS:
            self._known.clear()
        self._known[key] = found
        then()


def explain_waiting(context: Context) -> str:
    """Explain why there is no tree yet."""
    view = context.view
    row = context.feed.run(view.run)
    if row is None:
        return explain_missing_run(view.run)
    if context.feed.latest(view.run) is not None:
        return f"Reading the topics of run {view.run} …"
    return explain_no_topics(view.run, context.feed.state(view.run), row.message)


def explain_lonely_roots(hierarchy: Hierarchy, choice: TreeChoice) -> str:
    """Explain why only the roots are shown."""
    if choice.part == "shared":
        return "These roots share no topic at this threshold."
    if choice.direction == "up" or all(root.layer == 1 for root in choice.roots):
        return "Nothing lies beyond these roots in this direction at this threshold."
    if hierarchy.minibatch < 50:
        return "Training has just begun: no edge is above the threshold yet. Lower τ, or wait a little."
    return "No edge of these roots is above the threshold; lower τ to see their heaviest children."


def explain_threshold(chosen: float | None, choice: TreeChoice) -> str:
    """Explain why another threshold than usual was chosen."""
    if chosen is not None or choice.threshold == USUAL:
        return ""
    return f"Shown at τ = {choice.threshold:g}: at the usual {USUAL:g}, too few edges join the most popular topics."


def read_threshold(text: str) -> float | None:
    """Read a threshold; return None when it is not one."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0.0 <= value <= 1e6 else None
