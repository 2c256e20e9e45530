"""Functions to read rows of the table of runs as frozen copies, and to lock, change and delete them."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any, TypeAlias

from sqlalchemy import Column, ColumnElement, Connection, Row, Select, Table, delete, func, insert, select, update

from topiary.store.database import Database, now, reads
from topiary.store.errors import Conflict, DamagedArrays, DamagedRow, LostClaim, NotFound, StoreError
from topiary.store.tables import (
    checkpoint_parts,
    checkpoints,
    corpora,
    earlier_checkpoints,
    events,
    points,
    runs,
    select_damaged,
    select_sound,
    snapshots,
)

STALE_SECONDS = 15.0  # since the last heartbeat, after which a worker counts as dead
STATES = ("queued", "running", "paused", "stopped", "finished", "failed")
REQUESTS = ("run", "pause", "stop")
MEASURES = ("tokens_per_second", "point_perplexity", "averaged_perplexity")
FINAL_MEASURES = (  # measured at the end of a run; a resumed run measures them again
    *("test_mean_perplexity", "test_point_perplexity", "test_mean_loglik", "test_point_loglik"),
)


@dataclass(frozen=True)
class RunRow:
    """A frozen copy of a run.

    Attributes
    ----------
    layers : tuple of int
        Present widths; they differ from the settings if widths are learned.
    seconds : float
        Training time so far.
    planned : int
        Number of mini-batches at which the run ends.
    message : str
        The present activity of the run, or why it failed, for users.
    process : dict
        The worker: pid, creation time of the process, host, and the last report of its cluster (``cluster``).  Once
        the run has ended, also the process that makes its map of documents, and how far it is (``map``).
    heartbeat_age : float or None
        Seconds since the worker last wrote, by the database's clock when the row was read.
    parent, parent_snapshot, parent_minibatch : int or None
        The run, snapshot and mini-batch it was forked from; the first two may have been deleted since.
    family : int
        The first run of its line of forks; its own number if it is no fork.
    run_group : int or None
        For runs created together, the number of the first of them.
    place : float or None
        Place in the queue to which a user moved it; see `order`.
    lease_left : float or None
        Seconds, by the database's clock, until the lease of a worker that is being started ends; negative if it has
        ended; None without a lease.
    starter : dict
        The process of the worker that is being started, as ``process``; empty until it is known.
    """

    number: int
    name: str
    corpus: int
    corpus_name: str
    model: str
    inference: str
    layers: tuple[int, ...]
    settings: dict[str, Any]
    options: dict[str, Any]
    seed: int
    state: str
    request: str
    attempt: int
    minibatch: int
    planned: int
    seconds: float
    tokens_per_second: float | None
    point_perplexity: float | None
    averaged_perplexity: float | None
    message: str
    traceback: str
    process: dict[str, Any]
    created: datetime
    started: datetime | None
    ended: datetime | None
    heartbeat_age: float | None
    parent: int | None = None
    parent_snapshot: int | None = None
    parent_minibatch: int | None = None
    family: int = 0
    run_group: int | None = None
    place: float | None = None
    lease_left: float | None = None
    starter: dict[str, Any] = field(default_factory=dict)

    @property
    def order(self) -> tuple[float, int]:
        """Sort key of queued runs: the place that a user chose, else the number."""
        return (self.number if self.place is None else self.place, self.number)

    @property
    def alive(self) -> bool:
        """Whether a worker is training the run and has written lately."""
        return self.state == "running" and self.heartbeat_age is not None and self.heartbeat_age <= STALE_SECONDS


_COLUMNS = [
    *(runs.c[each.name] for each in fields(RunRow) if each.name in runs.c and each.name != "family"),
    corpora.c.name.label("corpus_name"),
    func.coalesce(runs.c.family, runs.c.number).label("family"),
    (now() - runs.c.heartbeat).label("heartbeat_age"),
    (runs.c.lease - now()).label("lease_left"),
]


def select_runs() -> Select[Any]:
    """Return the query of all visible runs, with the name of the corpus, the age of the heartbeat and the lease."""
    return (
        select_sound(runs, *_COLUMNS).join(corpora, corpora.c.number == runs.c.corpus).where(runs.c.state != "deleted")
    )


def read_run(connection: Connection, n: int) -> RunRow:
    """Return the run with this number; raise ``NotFound`` if there is none."""
    row = connection.execute(select_runs().where(runs.c.number == n)).first()
    if row is None:
        raise explain_absence(connection, runs, n) or make_missing_error(n)
    return make_row(row)


def explain_absence(connection: Connection, table: Table, n: int) -> StoreError | None:
    """Return the error about a row of runs or corpora that is there but damaged; None if it is not there."""
    is_it = (table.c.number == n) & (table.c.state.not_in(("deleted", "incomplete")))
    if connection.execute(select(table.c.number).where(is_it)).first() is None:
        return None
    what = "corpus" if table is corpora else "run"
    return DamagedRow(f"{what} {n} is damaged: its row is not what was written; restore the store from a backup")


@reads
def describe_left_out(connection: Connection) -> str:
    """Return the sentence about the damaged rows of runs and corpora, which lists leave out; empty if all are sound."""
    parts = []
    for table, one, many in ((runs, "run", "runs"), (corpora, "corpus", "corpora")):
        n = len(connection.execute(select_damaged(table)).all())
        parts += [f"{n:,} {one if n == 1 else many}"] * (n > 0)
    return f"{' and '.join(parts)} left out because the rows are damaged; topiary check says which" if parts else ""


def read_runs(connection: Connection) -> list[RunRow]:
    """Return all runs, oldest first."""
    return [make_row(row) for row in connection.execute(select_runs().order_by(runs.c.number))]


def lock_run(connection: Connection, n: int) -> RunRow:
    """Return a run, and keep others from changing it until the transaction ends."""
    hold_run(connection, n)
    return read_run(connection, n)


def update_run(connection: Connection, n: int, *, if_attempt: int | None = None, **values: Any) -> None:
    """Change a run's row; with ``if_attempt`` only if that is still its attempt, else raise Conflict."""
    condition = runs.c.number == n
    if if_attempt is not None:
        condition &= runs.c.attempt == if_attempt
    if connection.execute(update(runs).where(condition).values(**values)).rowcount != 1:
        raise Conflict(f"run {n} was taken by another program at this moment; look at it again")


def make_row(row: Row[Any]) -> RunRow:
    """Return a row of :func:`select_runs` as a frozen copy."""
    values = row._asdict()
    if values["heartbeat_age"] is not None:
        values["heartbeat_age"] = max(0.0, values["heartbeat_age"])
    return RunRow(**values)


def own_run(connection: Connection, run: int, attempt: int, **values: Any) -> None:
    """Lock the run's row until the transaction ends, and write its heartbeat and ``values``.

    Raises
    ------
    LostClaim
        If ``attempt`` is not the run's current one, or the run was deleted.
    """
    is_current = (runs.c.number == run) & (runs.c.attempt == attempt) & (runs.c.state != "deleted")
    if connection.execute(update(runs).where(is_current).values(heartbeat=now(), **values)).rowcount != 1:
        raise LostClaim(
            f"attempt {attempt} of run {run} was replaced by a later one, or the run was deleted; it stops here"
        )


def hold_run(connection: Connection, run: int) -> None:
    """Lock the run's row until the transaction ends, for changes by users.

    Raises
    ------
    NotFound
        If there is no such run.
    """
    query = select(runs.c.number).where(runs.c.number == run, runs.c.state != "deleted").with_for_update()
    if connection.execute(query).first() is None:
        raise make_missing_error(run)


def make_missing_error(run: int | str) -> NotFound:
    """Return the error about a run that does not exist."""
    return NotFound(f"there is no run number {run}; list the runs to see those that exist")


_PARTS = (  # tables with rows of runs, the column to order by, and how many rows to delete at a time
    (points, "number", 20_000),
    (events, "number", 20_000),
    (snapshots, "number", 20),
    (checkpoint_parts, "part", 20),
)


def rewind_run(connection: Connection, run: int) -> tuple[int, float]:
    """Delete what was written after the run's checkpoint; return its mini-batch and seconds (0, 0 without one).

    A resumed run then writes exactly the rows of a run that never stopped.  The snapshot at mini-batch 0, from which a
    fork starts, stays.
    """
    last, earlier = (find_checkpoint(connection, table, run) for table in (checkpoints, earlier_checkpoints))
    minibatch, seconds = (-1, 0.0) if last is None else (last.minibatch, last.seconds)
    for table, end in ((points, minibatch), (events, minibatch), (snapshots, max(minibatch, 0))):
        connection.execute(delete(table).where(table.c.run == run, table.c.minibatch > end))
    connection.execute(delete(points).where(points.c.run == run, points.c.name.in_(FINAL_MEASURES)))
    generations = {row.generation for row in (last, earlier) if row is not None}
    unfinished = checkpoint_parts.c.generation.not_in(generations)
    connection.execute(delete(checkpoint_parts).where(checkpoint_parts.c.run == run, unfinished))
    return max(minibatch, 0), seconds


def find_checkpoint(connection: Connection, table: Table, run: int) -> Row[Any] | None:
    """Return the row of a run in one of the tables of checkpoints; None if it has none there.

    Raises
    ------
    DamagedArrays
        If the row is damaged.
    """
    row = connection.execute(select_sound(table).where(table.c.run == run)).first()
    if row is None and connection.execute(select(table.c.run).where(table.c.run == run)).first() is not None:
        raise DamagedArrays(f"the row of a checkpoint of run {run} is damaged; restore the store from a backup")
    return row


def copy_checkpoint_row(connection: Connection, source: Table, target: Table, run: int) -> None:
    """Copy a run's row from one table of checkpoints to the other."""
    columns = [column.name for column in source.columns]
    row = select(*(source.c[name] for name in columns)).where(source.c.run == run)
    connection.execute(insert(target).from_select(columns, row))


def remove_run(db: Database, run: int) -> None:
    """Delete all rows of a run that is already marked as deleted."""
    for table, order, at_once in _PARTS:
        delete_piecewise(db, table, table.c.run == run, table.c[order], at_once)

    last = delete(runs).where(
        runs.c.number == run, runs.c.state == "deleted"
    )  # with what is left of its rows elsewhere
    db.transact(lambda connection: connection.execute(last))


def sweep_runs(db: Database) -> None:
    """Finish deletions of runs that were killed."""
    for number in list_deleted(db):
        remove_run(db, number)


@reads
def list_deleted(connection: Connection) -> Sequence[int]:
    """Return the numbers of the runs whose deletion was killed, or goes on."""
    return connection.execute(select(runs.c.number).where(runs.c.state == "deleted")).scalars().all()


def delete_piecewise(db: Database, table: Table, mine: ColumnElement[bool], order: Column[Any], at_once: int) -> None:
    """Delete the rows of a table that satisfy ``mine``, some at a time, so that no other writer waits long."""

    def delete_some(connection: Connection) -> bool:
        last = connection.execute(select(order).where(mine).order_by(order).offset(at_once - 1).limit(1)).scalar()
        connection.execute(delete(table).where(mine) if last is None else delete(table).where(mine, order <= last))
        return last is not None

    while db.transact(delete_some):
        pass


_AT_ONCE = 500  # rows read by number in one statement; databases limit the parameters of a statement

# Columns that show whether a row has changed.  Others never change, or only together with one of these.
_CHANGING_COLUMNS = (
    "number", "state", "name", "request", "attempt", "minibatch", "planned", "seconds", "tokens_per_second",
    "point_perplexity", "averaged_perplexity", "message", "started", "ended", "heartbeat",
)  # fmt: skip
_CHANGES_QUERY = (
    select_sound(runs, *(runs.c[name] for name in _CHANGING_COLUMNS))
    .where(runs.c.state != "deleted")
    .order_by(runs.c.number)
)
_ChangingCells: TypeAlias = tuple[Any, ...]  # plain tuples, as sets of them are compared fast


class RunWatch:
    """A reader of all runs that returns unchanged rows as the same objects; not safe to share between threads.

    Parameters
    ----------
    db : Database
    """

    def __init__(self, db: Database) -> None:
        self._db = db
        self._signs: frozenset[_ChangingCells] = frozenset()
        self._rows: dict[int, RunRow] = {}

    def look(self) -> dict[int, RunRow]:
        """Return all runs by number, oldest first; running ones are always read again, for the age of the heartbeat."""
        with self._db.read() as connection:
            rows = [tuple(row) for row in connection.execute(_CHANGES_QUERY).all()]
            signs = frozenset(rows)
            stale = {each[0] for each in signs - self._signs} | {each[0] for each in rows if each[1] == "running"}
            fresh = {row.number: row for row in _read_some_runs(connection, stale)}
        self._signs = signs
        self._rows = {each[0]: fresh[each[0]] if each[0] in stale else self._rows[each[0]] for each in rows}
        return self._rows


def _read_some_runs(connection: Connection, numbers: Iterable[int]) -> Iterator[RunRow]:
    """Yield the runs with some numbers, by few queries."""
    ordered = sorted(numbers)
    for start in range(0, len(ordered), _AT_ONCE):
        chunk = ordered[start : start + _AT_ONCE]
        for row in connection.execute(select_runs().where(runs.c.number.in_(chunk))):
            yield make_row(row)
