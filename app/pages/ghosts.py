"""Topics that were pruned: when that was, and what they were in the last snapshot that had them."""

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

from app.frame import Frame, parse_identity
from app.session import Context
from engine.tree import Node
from store import events, snapshots

_IDENTITY = re.compile(r"L\d+:\d+")
_REMEMBERED = 60


class Pruned(NamedTuple):
    """When a topic went: the run in which that was (a fork's may be its parent), and the mini-batch."""

    run: int
    minibatch: int


class Ghost(NamedTuple):
    """A topic that a snapshot lacks.

    Attributes
    ----------
    node : Node
    pruned : Pruned or None
        None for one that was never pruned: its layer comes later, or there is no such topic.
    last : Frame or None
        The last snapshot that had it, where one is kept.
    """

    node: Node
    pruned: Pruned | None
    last: Frame | None


def pruned_topics(context: Context, run: int) -> dict[Node, Pruned]:
    """List every topic that was pruned in a run, or in those it was forked from; waits for the store."""
    found: dict[Node, Pruned] = {}
    until: int | None = None
    while (row := context.feed.run(run)) is not None:
        for event in events.since(context.db, run)[0]:
            if event.kind == "pruned" and (until is None or event.minibatch <= until):
                nodes = (parse_identity(text) for text in _IDENTITY.findall(event.text))
                found |= {node: Pruned(run, event.minibatch) for node in nodes if node is not None}
        if row.parent is None:
            break
        run, until = row.parent, row.parent_minibatch
    return found


def ghost(context: Context, node: Node, when: Pruned | None) -> Ghost:
    """Find what a pruned topic was; waits for the store."""
    if when is None:
        return Ghost(node, None, None)
    before = [row for row in snapshots.every(context.db, when.run) if row.minibatch < when.minibatch]
    newest = max(before, key=lambda row: row.minibatch, default=None)
    last = context.feed.frame(when.run, newest.number) if newest is not None else None
    return Ghost(node, when, last if last is not None and last.has(node) else None)


class Ghosts:
    """The ghosts that one session has looked at, read in the background and remembered.

    Parameters
    ----------
    context : Context
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._known: dict[tuple[int, Node], Ghost] = {}
        self._asked: set[tuple[int, Node]] = set()

    def of(self, run: int, node: Node, pruned: Mapping[Node, Pruned], then: Callable[[], None]) -> Ghost | None:
        """Give the ghost of a topic, or None and call ``then`` when it is here."""
        key, when = (run, node), pruned.get(node)
        known = self._known.get(key)
        if (known is None or known.pruned != when) and key not in self._asked:
            self._asked.add(key)
            self._context.later(partial(ghost, self._context, node, when), partial(self._keep, key, then))
            known = self._known.get(key)
        return known if known is not None and known.pruned == when else None

    def _keep(self, key: tuple[int, Node], then: Callable[[], None], found: Ghost) -> None:
        self._asked.discard(key)
        if len(self._known) >= _REMEMBERED:
            self._known.clear()
        self._known[key] = found
        then()
