"""Topics that were pruned: when that was, and what they were in the last snapshot that had them."""

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

from app.frame import Frame, parse_identity
from app.remains import Pruned, Remains, remains_of
from app.session import Context
from app.views.atoms import atom_uri, has_pictures
from engine.tree import Node
from store import events, snapshots

_IDENTITY = re.compile(r"L\d+:\d+")
_REMEMBERED = 60


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
                when = Pruned(run, event.minibatch, row.settings.get("prune_below"))
                found |= {node: when for node in nodes if node is not None}
        if row.parent is None:
            break
        run, until = row.parent, row.parent_minibatch
    return found


def ghost(context: Context, node: Node, when: Pruned | None) -> Ghost:
    """Find what a pruned topic was; waits for the store."""
    last = None if when is None else _frame_before(context, when)
    return Ghost(node, when, last if last is not None and last.has(node) else None)


def all_remains(context: Context, pruned: Mapping[Node, Pruned]) -> tuple[Remains, ...]:
    """Find what is left of every pruned topic of which a snapshot is kept; waits for the store."""
    found = []
    for when in sorted(set(pruned.values())):  # those of one moment share a snapshot
        last = _frame_before(context, when)
        if last is None:
            continue
        nodes = sorted(node for node, its in pruned.items() if its == when and last.has(node))
        found += [remains_of(last, node, when, atom_uri(last, node) if has_pictures(last) else "") for node in nodes]
    return tuple(found)


def _frame_before(context: Context, when: Pruned) -> Frame | None:
    """Read the last snapshot before a pruning."""
    before = [row for row in snapshots.every(context.db, when.run) if row.minibatch < when.minibatch]
    newest = max(before, key=lambda row: row.minibatch, default=None)
    return context.feed.frame(when.run, newest.number) if newest is not None else None


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
        self._left: tuple[int, Mapping[Node, Pruned], tuple[Remains, ...]] = (0, {}, ())
        self._wanted: tuple[int, Mapping[Node, Pruned]] | None = None

    def of(self, run: int, node: Node, pruned: Mapping[Node, Pruned], then: Callable[[], None]) -> Ghost | None:
        """Give the ghost of a topic, or None and call ``then`` when it is here."""
        key, when = (run, node), pruned.get(node)
        known = self._known.get(key)
        if (known is None or known.pruned != when) and key not in self._asked:
            self._asked.add(key)
            self._context.later(partial(ghost, self._context, node, when), partial(self._keep, key, then))
            known = self._known.get(key)
        return known if known is not None and known.pruned == when else None

    def remains(self, run: int, pruned: Mapping[Node, Pruned], then: Callable[[], None]) -> tuple[Remains, ...]:
        """Give what is left of all pruned topics as far as it is here; ``then`` is called when there is more."""
        known, of, left = self._left
        if (known, of) != (run, pruned) and self._wanted != (run, pruned):
            self._wanted = (run, pruned)
            work = partial(all_remains, self._context, pruned)
            self._context.later(work, partial(self._keep_remains, (run, pruned), then))
            known, of, left = self._left
        return left if known == run else ()

    def forget(self) -> None:
        """Read everything again when it is asked for next: topics have other names."""
        self._left, self._wanted = (0, {}, ()), None
        self._known.clear()

    def _keep_remains(
        self, key: tuple[int, Mapping[Node, Pruned]], then: Callable[[], None], found: tuple[Remains, ...]
    ) -> None:
        if self._wanted == key:
            self._left, self._wanted = (*key, found), None
            then()

    def _keep(self, key: tuple[int, Node], then: Callable[[], None], found: Ghost) -> None:
        self._asked.discard(key)
        if len(self._known) >= _REMEMBERED:
            self._known.clear()
        self._known[key] = found
        then()
