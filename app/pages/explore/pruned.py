"""Topics that were pruned, as one session has looked at them: read in the background and remembered."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

from app.analysis.hierarchy import Hierarchy
from app.analysis.pruned_topics import LastSeen, Pruned
from app.analysis.read_pruned import Reader, all_last_seen, hierarchy_before
from app.pages.session import Context
from engine.hierarchy.tree import Node

_REMEMBERED = 60


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


def reader(context: Context) -> Reader:
    """How a page reads: what is in memory first."""
    return Reader(context.db, context.feed.run, context.feed.hierarchy)


def pruned_box(context: Context, node: Node, when: Pruned | None) -> PrunedBox:
    """Find what a pruned topic was; waits for the store."""
    last = None if when is None else hierarchy_before(reader(context), when)
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
            work = partial(pruned_box, self._context, node, when)
            self._context.later(work, partial(self._keep, key, then), partial(self._failed, key, then))
            known = self._known.get(key)
        return known if known is not None and known.pruned == when else None

    def last_seen(self, run: int, pruned: Mapping[Node, Pruned], then: Callable[[], None]) -> tuple[LastSeen, ...]:
        """Give what is left of all pruned topics as far as it is here; ``then`` is called when there is more."""
        known, of, left = self._left
        if (known, of) != (run, pruned) and self._requested != (run, pruned):
            self._requested = (run, pruned)
            work = partial(all_last_seen, reader(self._context), pruned)
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
        if len(self._known) >= _REMEMBERED:
            self._known.clear()
        self._known[key] = found
        then()
