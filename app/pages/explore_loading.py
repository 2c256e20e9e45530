"""What the explore page reads outside the session's thread, and the sentences shown meanwhile."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

from app.analysis.hierarchy import Hierarchy
from app.analysis.pruned_topics import LastSeen, Pruned
from app.analysis.read_pruned import Reader, all_last_seen, hierarchy_before, pruned_topics
from app.pages.session import Context
from app.views.explore.cards import Finding, Found
from app.views.explore.controls import SnapshotOption
from app.views.explore.detail import Reading, excerpt
from app.views.runs.notices import no_snapshot, run_not_here
from app.views.tree.opening import USUAL
from app.views.tree.picture import Choice
from engine import models
from engine.hierarchy.tree import Node
from store import corpora, snapshots

_MOST_PRUNED = 60


class PrunedBox(NamedTuple):
    """A topic that a snapshot lacks.

    Attributes
    ----------
    node : Node
    pruned : Pruned or None
        None for one that was never pruned: its layer comes later, or there is no such topic.
    last : Hierarchy or None
        The last snapshot that had it, where one is kept.
    """

    node: Node
    pruned: Pruned | None
    last: Hierarchy | None


def make_reader(context: Context) -> Reader:
    """How a page reads: what is in memory first."""
    return Reader(context.db, context.feed.run, context.feed.hierarchy)


def find_pruned_box(context: Context, node: Node, when: Pruned | None) -> PrunedBox:
    """Find what a pruned topic was; waits for the store."""
    last = None if when is None else hierarchy_before(make_reader(context), when)
    return PrunedBox(node, when, last if last is not None and last.has(node) else None)


class PrunedTopics:
    """The pruned topics that one session has looked at, read in the background and remembered.

    Parameters
    ----------
    context : Context
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._known: dict[tuple[int, Node], PrunedBox] = {}
        self._asked: set[tuple[int, Node]] = set()
        self._left: tuple[int, Mapping[Node, Pruned], tuple[LastSeen, ...]] = (0, {}, ())
        self._requested: tuple[int, Mapping[Node, Pruned]] | None = None

    def of(self, run: int, node: Node, pruned: Mapping[Node, Pruned], then: Callable[[], None]) -> PrunedBox | None:
        """Give the pruned topic of a topic, or None and call ``then`` when it is here."""
        key, when = (run, node), pruned.get(node)
        known = self._known.get(key)
        if (known is None or known.pruned != when) and key not in self._asked:
            self._asked.add(key)
            work = partial(find_pruned_box, self._context, node, when)
            self._context.later(work, partial(self._keep, key, then), partial(self._failed, key, then))
            known = self._known.get(key)
        return known if known is not None and known.pruned == when else None

    def last_seen(self, run: int, pruned: Mapping[Node, Pruned], then: Callable[[], None]) -> tuple[LastSeen, ...]:
        """Give what is left of all pruned topics as far as it is here; ``then`` is called when there is more."""
        known, of, left = self._left
        if (known, of) != (run, pruned) and self._requested != (run, pruned):
            self._requested = (run, pruned)
            work = partial(all_last_seen, make_reader(self._context), pruned)
            again = partial(self._last_seen_failed, (run, pruned), then)
            self._context.later(work, partial(self._keep_last_seen, (run, pruned), then), again)
            known, of, left = self._left
        return left if known == run else ()

    def forget(self) -> None:
        """Read everything again when it is asked for next: topics have other names."""
        self._left, self._requested = (0, {}, ()), None
        self._known.clear()

    def _failed(self, key: tuple[int, Node], then: Callable[[], None]) -> None:
        self._asked.discard(key)
        then()

    def _last_seen_failed(self, key: tuple[int, Mapping[Node, Pruned]], then: Callable[[], None]) -> None:
        if self._requested == key:
            self._requested = None
            then()

    def _keep_last_seen(
        self, key: tuple[int, Mapping[Node, Pruned]], then: Callable[[], None], found: tuple[LastSeen, ...]
    ) -> None:
        if self._requested == key:
            self._left, self._requested = (*key, found), None
            then()

    def _keep(self, key: tuple[int, Node], then: Callable[[], None], found: PrunedBox) -> None:
        self._asked.discard(key)
        if len(self._known) >= _MOST_PRUNED:
            self._known.clear()
        self._known[key] = found
        then()


_SHOWN_DOCUMENTS = 8
_FOUND_DOCUMENTS = 12
_MOST_DOCUMENTS = 200


class FetchedHierarchy(NamedTuple):
    """The hierarchy that was wanted (None when there is none yet), the moments one may choose, and pruned topics.

    ``child`` is the model's sentence of what a child topic is.
    """

    run: int
    snapshot: int
    hierarchy: Hierarchy | None
    moments: tuple[SnapshotOption, ...]
    pruned: Mapping[Node, Pruned] = {}
    child: str = ""


def fetch_hierarchy(context: Context, run: int, snapshot: int) -> FetchedHierarchy:
    """Fetch a hierarchy and the list of snapshots; waits for the store."""
    rows = snapshots.list_snapshots(context.db, run)
    moments = tuple(SnapshotOption(row.number, row.minibatch) for row in sorted(rows, key=lambda row: row.minibatch))
    hierarchy = context.feed.hierarchy(run, snapshot or None)
    row = context.feed.run(run)
    child = models.load(row.model).CHILD if row is not None else ""
    return FetchedHierarchy(run, snapshot, hierarchy, moments, pruned_topics(make_reader(context), run), child)


def find_documents(context: Context, run: int, text: str, request: Callable[[], bool]) -> Finding:
    """Search the documents of a run's corpus as long as that is ``request``; waits for the store."""
    row = context.feed.run(run)
    if row is None:
        return Finding(text, total=0)
    total, found = corpora.search_documents(context.db, row.corpus, text, 0, _FOUND_DOCUMENTS, request)
    documents = [
        Found(document.number, document.title or "untitled", excerpt(document.text, 160)) for document in found
    ]
    return Finding(text, documents=documents, total=total)


class TopicDocuments:
    """The documents of the topic on screen, read in the background and remembered.

    Parameters
    ----------
    context : Context
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._known: dict[tuple[int, int, Node], list[Reading]] = {}
        self._asked: set[tuple[int, int, Node]] = set()

    def of(self, hierarchy: Hierarchy, node: Node, then: Callable[[], None]) -> list[Reading] | None:
        """Give the documents of a topic, or None and call ``then`` when they are here."""
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

    def _read(self, hierarchy: Hierarchy, node: Node) -> list[Reading]:
        row = self._context.feed.run(hierarchy.run)
        uses = hierarchy.uses(node, _SHOWN_DOCUMENTS)
        if row is None or not uses:
            return []
        found = corpora.read_documents(self._context.db, row.corpus, [use.document for use in uses])
        texts = {document.number: document for document in found}
        return [
            Reading(document.title, document.text, document.label or "", use.weight, document.number)
            for use in uses
            if (document := texts.get(use.document)) is not None
        ]

    def _failed(self, key: tuple[int, int, Node], then: Callable[[], None]) -> None:
        self._asked.discard(key)
        then()

    def _keep(self, key: tuple[int, int, Node], then: Callable[[], None], found: list[Reading]) -> None:
        self._asked.discard(key)
        if len(self._known) >= _MOST_DOCUMENTS:
            self._known.clear()
        self._known[key] = found
        then()


def explain_waiting(context: Context) -> str:
    """Say why there is no tree yet."""
    view = context.view
    row = context.feed.run(view.run)
    if row is None:
        return run_not_here(view.run)
    if context.feed.latest(view.run) is not None:
        return f"Reading the topics of run {view.run} …"
    return no_snapshot(view.run, context.feed.state(view.run), row.message)


def explain_lonely_roots(hierarchy: Hierarchy, choice: Choice) -> str:
    """Say why only the roots are seen."""
    if choice.part == "shared":
        return "These roots share no topic at this threshold."
    if choice.direction == "up" or all(root.layer == 1 for root in choice.roots):
        return "Nothing lies beyond these roots in this direction at this threshold."
    if hierarchy.minibatch < 50:
        return "Training has just begun: no edge is above the threshold yet. Lower τ, or wait a little."
    return "No edge of these roots is above the threshold; lower τ to see their heaviest children."


def explain_threshold(chosen: float | None, choice: Choice) -> str:
    """Say that another threshold than usual was chosen, and why."""
    if chosen is not None or choice.threshold == USUAL:
        return ""
    return f"Shown at τ = {choice.threshold:g}: at the usual {USUAL:g}, too few edges join the most popular topics."


def read_threshold(text: str) -> float | None:
    """Read a threshold; None when it is not one."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0.0 <= value <= 1e6 else None
