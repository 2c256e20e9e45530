"""Annotations of topics by users: names of topics, and decisions which topics of two runs are the same."""

from typing import NamedTuple

from sqlalchemy import Connection, delete, insert

from topiary.store.database import Database, now, retry_reads
from topiary.store.errors import StoreError
from topiary.store.run_rows import hold_run
from topiary.store.tables import matches, select_sound, topic_labels


def set_label(db: Database, run: int, layer: int, topic: int, text: str) -> None:
    """Name a topic, in one line; an empty text removes its name.

    Parameters
    ----------
    db : Database
        Open for writing.
    run : int
        The run's number.
    layer, topic : int
        The topic's numbers as shown: ``L3:17`` is layer 3, topic 17.
    text : str
        The name.

    Raises
    ------
    NotFound
        If there is no such run.
    """
    name = " ".join(text.split())

    def work(connection: Connection) -> None:
        hold_run(connection, run)
        is_topic = (topic_labels.c.run == run) & (topic_labels.c.layer == layer) & (topic_labels.c.topic == topic)
        connection.execute(delete(topic_labels).where(is_topic))
        if name:
            values = {"run": run, "layer": layer, "topic": topic, "text": name}
            connection.execute(insert(topic_labels).values(**values))

    db.transact(work)


@retry_reads
def list_labels(db: Database, run: int) -> dict[tuple[int, int], str]:
    """Return the names of a run's topics, by ``(layer, topic)``."""
    columns = topic_labels.c.layer, topic_labels.c.topic, topic_labels.c.text
    query = select_sound(topic_labels, *columns).where(topic_labels.c.run == run)
    with db.read() as connection:
        return {(layer, topic): text for layer, topic, text in connection.execute(query)}


class MatchDecision(NamedTuple):
    """A decision that topic ``a`` of one run is topic ``b`` of the other; 0 in either place: the topic has no partner.

    Topics count from 1 within their layer, as in ``L3:17``.
    """

    layer: int
    a: int
    b: int

    @property
    def mirrored(self) -> "MatchDecision":
        """The same decision with the two runs exchanged."""
        return MatchDecision(self.layer, self.b, self.a)


def save_match(db: Database, run_a: int, run_b: int, decision: MatchDecision) -> None:
    """Save a decision; it replaces earlier ones about the same topics.

    Parameters
    ----------
    db : Database
        Open for writing.
    run_a, run_b : int
        The runs that ``decision.a`` and ``decision.b`` belong to.
    decision : MatchDecision

    Raises
    ------
    NotFound
        If one of the runs does not exist.
    StoreError
        If both runs are the same, or the decision names no topic.
    """
    if run_a == run_b:
        raise StoreError(f"topics of one run are matched by their numbers; {run_a} and {run_b} are the same run")
    if min(decision) < 0 or decision.layer == 0 or decision.a == decision.b == 0:
        raise StoreError(f"a match names a layer and at least one topic, counted from 1; got {tuple(decision)}")
    low, high, ordered = _order_runs(run_a, run_b, decision)

    def work(connection: Connection) -> None:
        hold_run(connection, low)
        hold_run(connection, high)
        _delete_matches(connection, low, high, ordered)
        values = {"run_a": low, "run_b": high, "layer": ordered.layer, "topic_a": ordered.a, "topic_b": ordered.b}
        connection.execute(insert(matches).values(created=now(), **values))

    db.transact(work)


def undo_match(db: Database, run_a: int, run_b: int, decision: MatchDecision) -> None:
    """Delete earlier decisions about the topics that ``decision`` names; no error if there are none."""
    low, high, ordered = _order_runs(run_a, run_b, decision)
    db.transact(lambda connection: _delete_matches(connection, low, high, ordered))


@retry_reads
def list_matches(db: Database, run_a: int, run_b: int) -> list[MatchDecision]:
    """Return all decisions about two runs, by layer and topic."""
    low, high = min(run_a, run_b), max(run_a, run_b)
    columns = matches.c.layer, matches.c.topic_a, matches.c.topic_b
    query = select_sound(matches, *columns).where(matches.c.run_a == low, matches.c.run_b == high)
    with db.read() as connection:
        decisions = [MatchDecision(*row) for row in connection.execute(query)]
    return sorted(decisions if run_a == low else [decision.mirrored for decision in decisions])


def _order_runs(run_a: int, run_b: int, decision: MatchDecision) -> tuple[int, int, MatchDecision]:
    """Return two runs, the lower number first, with the decision turned accordingly."""
    return (run_a, run_b, decision) if run_a <= run_b else (run_b, run_a, decision.mirrored)


def _delete_matches(connection: Connection, low: int, high: int, decision: MatchDecision) -> None:
    """Delete the decisions about either topic of a decision."""
    is_same_layer = (matches.c.run_a == low) & (matches.c.run_b == high) & (matches.c.layer == decision.layer)
    for column, topic in ((matches.c.topic_a, decision.a), (matches.c.topic_b, decision.b)):
        if topic:
            connection.execute(delete(matches).where(is_same_layer, column == topic))
