"""Forks: a run that begins with a snapshot of another one, and outlives it."""

from sqlalchemy import Connection, insert, literal, select

from store.database import now
from store.errors import Conflict, NotFound
from store.tables import runs, snapshots, topic_labels


def parent(connection: Connection, snapshot: int, corpus: int) -> dict[str, int]:
    """The columns of a run's row that say where it was forked from.

    Raises
    ------
    NotFound
        When there is no such snapshot (any more).
    Conflict
        When it belongs to a run on another corpus.
    """
    query = (
        select(runs.c.number, runs.c.corpus, runs.c.family, snapshots.c.minibatch)
        .join(runs, runs.c.number == snapshots.c.run)
        .where(snapshots.c.number == snapshot, runs.c.state != "deleted")
        .with_for_update(of=snapshots)  # its run may be thinning its snapshots at this moment
    )
    found = connection.execute(query).first()
    if found is None:
        raise NotFound(f"snapshot {snapshot} is not kept any more; fork from the run's latest one")
    if found.corpus != corpus:
        raise Conflict(f"run {found.number} is on another corpus; a fork stays on the corpus of its parent")
    own = {"parent": found.number, "parent_snapshot": snapshot, "parent_minibatch": found.minibatch}
    return own | {"family": found.family if isinstance(found.family, int) else found.number}


def inherit(connection: Connection, run: int, origin: dict[str, int]) -> None:
    """Copy the snapshot to mini-batch 0 of the new run, and the names people gave to the topics."""
    columns = ["run", "minibatch", "seconds", "created", "size", "arrays"]
    first = select(literal(run), literal(0), literal(0.0), now(), snapshots.c.size, snapshots.c.arrays)
    copied = first.where(snapshots.c.number == origin["parent_snapshot"])
    connection.execute(insert(snapshots).from_select(columns, copied))
    names = select(literal(run), topic_labels.c.layer, topic_labels.c.topic, topic_labels.c.text)
    report = names.where(topic_labels.c.run == origin["parent"])
    connection.execute(insert(topic_labels).from_select(["run", "layer", "topic", "text"], report))
