"""All runs looked at again and again, at little more than the cost of those that changed."""

from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

from sqlalchemy import Connection, select

from store import run_rows
from store.database import Database
from store.run_rows import RunRow
from store.tables import runs

_AT_ONCE = 500  # rows asked for by number in one statement; databases bound how many numbers it may have

# What else is in a row is large or never changes; layers, process and traceback are written with one of these.
_SIGNS = (
    "number", "state", "name", "wish", "attempt", "minibatch", "planned", "seconds", "tokens_per_second",
    "point_perplexity", "averaged_perplexity", "message", "started", "ended", "heartbeat",
)  # fmt: skip
_LOOK = select(*(runs.c[name] for name in _SIGNS)).where(runs.c.state != "deleted").order_by(runs.c.number)
_Signs: TypeAlias = tuple[Any, ...]  # sets of plain tuples are compared without a step of Python for each


class RunWatch:
    """Every run as it is now; a row that is the same as at the last look is the same object.  One caller at a time.

    Parameters
    ----------
    db : Database
    """

    def __init__(self, db: Database) -> None:
        self._db = db
        self._signs: frozenset[_Signs] = frozenset()
        self._rows: dict[int, RunRow] = {}

    def look(self) -> dict[int, RunRow]:
        """All runs by number, oldest first; those that train are read anew, for the age of their heartbeats."""
        with self._db.read() as connection:
            found = [tuple(row) for row in connection.execute(_LOOK).all()]
            signs = frozenset(found)
            stale = {each[0] for each in signs - self._signs} | {each[0] for each in found if each[1] == "running"}
            fresh = {row.number: row for row in _read(connection, stale)}
        self._signs = signs
        self._rows = {each[0]: fresh[each[0]] if each[0] in stale else self._rows[each[0]] for each in found}
        return self._rows


def _read(connection: Connection, numbers: Iterable[int]) -> Iterator[RunRow]:
    ordered = sorted(numbers)
    for start in range(0, len(ordered), _AT_ONCE):
        some = ordered[start : start + _AT_ONCE]
        for row in connection.execute(run_rows.visible().where(runs.c.number.in_(some))):
            yield run_rows.read(row)
