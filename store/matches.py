"""Matches: what people decided about which topic of one run is which of another.

A decision belongs to two runs whichever of them is named first; it is stored with the lower number as ``a``.
"""

from typing import NamedTuple

from sqlalchemy import Connection, delete, insert, select

from store.database import Database, now, repeated
from store.errors import StoreError
from store.ownership import hold
from store.tables import matches


class Decision(NamedTuple):
    """Topic ``a`` of one run is topic ``b`` of the other; 0 instead of either: its partner does not exist.

    Topics count from 1 within their layer, as in ``L3:17``.
    """

    layer: int
    a: int
    b: int

    @property
    def turned(self) -> "Decision":
        """The same seen from the other run."""
        return Decision(self.layer, self.b, self.a)


def decide(db: Database, run_a: int, run_b: int, decision: Decision) -> None:
    """Write a decision down; earlier ones about the same topics are forgotten.

    Parameters
    ----------
    db : Database
        Open for writing.
    run_a, run_b : int
        The runs that ``decision.a`` and ``decision.b`` belong to.
    decision : Decision

    Raises
    ------
    NotFound
        When one of the runs does not exist.
    StoreError
        When both runs are the same, or the decision names no topic.
    """
    if run_a == run_b:
        raise StoreError(f"topics of one run are matched by their numbers; {run_a} and {run_b} are the same run")
    if min(decision) < 0 or decision.layer == 0 or decision.a == decision.b == 0:
        raise StoreError(f"a match names a layer and at least one topic, counted from 1; got {tuple(decision)}")
    low, high, report = _ordered(run_a, run_b, decision)

    def work(connection: Connection) -> None:
        hold(connection, low)
        hold(connection, high)
        _forget(connection, low, high, report)
        values = {"run_a": low, "run_b": high, "layer": report.layer, "topic_a": report.a, "topic_b": report.b}
        connection.execute(insert(matches).values(created=now(), **values))

    db.transact(work)


def undo(db: Database, run_a: int, run_b: int, decision: Decision) -> None:
    """Take back whatever was decided about the topics that ``decision`` names; no error when there was nothing."""
    low, high, report = _ordered(run_a, run_b, decision)
    db.transact(lambda connection: _forget(connection, low, high, report))


@repeated
def every(db: Database, run_a: int, run_b: int) -> list[Decision]:
    """All decisions about two runs, by layer and topic."""
    low, high = min(run_a, run_b), max(run_a, run_b)
    query = select(matches.c.layer, matches.c.topic_a, matches.c.topic_b).where(
        matches.c.run_a == low, matches.c.run_b == high
    )
    with db.read() as connection:
        rows = connection.execute(query).all()
    found = [Decision(*row) for row in rows if all(type(cell) is int for cell in row)]
    return sorted(found if run_a == low else [decision.turned for decision in found])


def _ordered(run_a: int, run_b: int, decision: Decision) -> tuple[int, int, Decision]:
    return (run_a, run_b, decision) if run_a <= run_b else (run_b, run_a, decision.turned)


def _forget(connection: Connection, low: int, high: int, decision: Decision) -> None:
    here = (matches.c.run_a == low) & (matches.c.run_b == high) & (matches.c.layer == decision.layer)
    for column, topic in ((matches.c.topic_a, decision.a), (matches.c.topic_b, decision.b)):
        if topic:
            connection.execute(delete(matches).where(here, column == topic))
