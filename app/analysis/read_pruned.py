"""Reading from the store which topics a run has pruned, and what is left of them.

An event names them and no more; their words are those of the last snapshot before it.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from app.analysis.hierarchy import Hierarchy
from app.analysis.pruned_topics import LastSeen, Pruned, last_seen_of
from app.analysis.topic_images import atom_uri, has_pictures
from engine.hierarchy.tree import Node
from store import events, snapshots
from store.database import Database
from store.run_rows import RunRow


class Reader(NamedTuple):
    """How to read: the store, a run (None where there is none), and the hierarchy of a run's snapshot."""

    db: Database
    run: Callable[[int], RunRow | None]
    hierarchy: Callable[[int, int], Hierarchy | None]


def pruned_topics(reader: Reader, run: int) -> dict[Node, Pruned]:
    """List every topic that was pruned in a run, or in those it was forked from."""
    found: dict[Node, Pruned] = {}
    until: int | None = None
    while (row := reader.run(run)) is not None:
        for event in events.list_changes(reader.db, run):
            if event.change is not None and (until is None or event.minibatch <= until):
                when = Pruned(run, event.minibatch, row.settings.get("prune_below"))
                found |= {Node(event.change.layer, topic - 1): when for topic in event.change.topics}
        if row.parent is None:
            break
        run, until = row.parent, row.parent_minibatch
    return found


def all_last_seen(reader: Reader, pruned: Mapping[Node, Pruned]) -> tuple[LastSeen, ...]:
    """Find what is left of every pruned topic of which a snapshot is kept."""
    found = []
    for when in sorted(set(pruned.values())):  # those of one moment share a snapshot
        last = hierarchy_before(reader, when)
        if last is None:
            continue
        nodes = sorted(node for node, its in pruned.items() if its == when and last.has(node))
        found += [last_seen_of(last, node, when, atom_uri(last, node) if has_pictures(last) else "") for node in nodes]
    return tuple(found)


def hierarchy_before(reader: Reader, when: Pruned) -> Hierarchy | None:
    """Read the last snapshot before a pruning; None where none is kept."""
    before = [row for row in snapshots.list_snapshots(reader.db, when.run) if row.minibatch < when.minibatch]
    newest = max(before, key=lambda row: row.minibatch, default=None)
    return reader.hierarchy(when.run, newest.number) if newest is not None else None
