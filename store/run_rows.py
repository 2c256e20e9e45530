"""Rows of the table of runs: read as frozen copies, locked, changed and deleted."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeAlias

from sqlalchemy import Column, ColumnElement, Connection, Row, Select, Table, delete, insert, select, update

from store.cells import (
    CellReader,
    describe_damage,
    is_flag,
    is_number,
    is_plain,
    is_text,
    is_time,
    match_list,
    match_nullable,
    match_object,
    match_whole,
)
from store.database import Database, now
from store.errors import Conflict, DamagedRow, LostClaim, NotFound
from store.tables import (
    checkpoint_parts,
    checkpoints,
    corpora,
    earlier_checkpoints,
    events,
    points,
    runs,
    snapshots,
    topic_labels,
)

STALE_SECONDS = 15.0
_MOST = 1 << 48  # mini-batches, or attempts: more is damage
STATES = ("queued", "running", "paused", "stopped", "finished", "failed")
REQUESTS = ("run", "pause", "stop")

# The parts of the JSON of a row that readers rely on; other parts are not checked.
_LAYERS = match_list(match_whole(1))
_VALUES = match_object(
    {"layers": match_list(match_whole(1), 1)}, lambda value: is_plain(value) or match_list(is_plain)(value)
)
_PROTOCOL = match_object(
    {
        **dict.fromkeys(("documents", "burn_in", "collect", "thin"), match_whole()),
        "observed": match_nullable(is_number),
        "part": is_text,
    },
    lambda _: False,
    ("documents",),
)
_OPTIONS = match_object(
    {
        **dict.fromkeys(("minibatches", "threads"), match_whole(1)),
        **dict.fromkeys(("averaged", "paper_point", "until_plateau", "whole"), is_flag),
        **{name: match_nullable(match_whole(least)) for name, least in (("burn_in", 0), ("samples", 1), ("keep", 2))},
        "plateau_from": match_whole(),
        "on": is_text,
        **dict.fromkeys(("protocol", "test_protocol"), match_nullable(_PROTOCOL)),
    }
)
_WORKER = match_object(
    {
        **dict.fromkeys(("address", "name"), is_text),
        **dict.fromkeys(("documents", "memory", "limit"), match_whole()),
        **dict.fromkeys(("tokens_per_second", "lost"), match_nullable(is_number)),
    },
    required=("address", "name", "documents", "tokens_per_second", "memory", "limit"),
)
_PROCESS = match_object(
    {
        "pid": match_whole(),
        **dict.fromkeys(("created", "since_boot"), is_time),
        **dict.fromkeys(("host", "boot"), is_text),
        "cluster": match_object({"dashboard": is_text, "workers": match_list(_WORKER)}),
    }
)
MEASURES = ("tokens_per_second", "point_perplexity", "averaged_perplexity")
FINAL_MEASURES = (  # of a run that has ended; one that goes on makes them again
    *("test_mean_perplexity", "test_point_perplexity", "test_mean_loglik", "test_point_loglik"),
)


def _match_settings(value: Any) -> bool:
    return _VALUES(value) and ("layers" in value or not value.get("grow"))


def _match_options(value: Any) -> bool:
    return _OPTIONS(value) and not (
        value.get("averaged") and (value.get("burn_in") or 0) >= value.get("minibatches", 0)
    )


# Cells that nothing writes again; a worker that takes the run over, or people, write all others.
_NEEDED = frozenset(
    ("number", "corpus", "model", "inference", "settings", "options", "seed", "state", "attempt", "planned")
)


@dataclass(frozen=True)
class RunRow:
    """A frozen copy of a run.

    Attributes
    ----------
    layers : tuple of int
        Present widths; where they are learnt, these differ from the settings.
    seconds : float
        Training time so far.
    planned : int
        Mini-batches the run is to have in the end.
    message : str
        Its present activity, or why it failed, for people.
    process : dict
        The worker: pid, creation time of the process, host; the last reports of its cluster (``cluster``).
    heartbeat_age : float or None
        Seconds since the worker last wrote, by the database's clock at the moment of reading.
    parent, parent_snapshot, parent_minibatch : int or None
        The run and the snapshot it was forked from; they may have been deleted since.
    family : int
        The run that its line of forks began with, its own number where it was not forked.
    run_group : int or None
        Of runs ordered together, the number of the first of them.
    place : float or None
        Place in the queue where a person moved it; see `order`.
    lease_left : float or None
        Seconds, by the database's clock, until the lease of a worker that is being started ends; negative when it has
        ended; None when there is no lease.
    starter : dict
        The process of that worker, as `process`; empty until it is known.
    damage : str
        The cells of the row that cannot be read and why, for people; neutral values replace them.
    unusable : bool
        Whether cells among these are needed to train it, to go on with it or to place documents in its topics.
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
    damage: str = ""
    unusable: bool = False

    @property
    def order(self) -> tuple[float, int]:
        """The sort key of queued runs: the place that a person chose, else the number."""
        return (self.number if self.place is None else self.place, self.number)

    @property
    def alive(self) -> bool:
        """Whether a worker trains it and has written lately."""
        return self.state == "running" and self.heartbeat_age is not None and self.heartbeat_age <= STALE_SECONDS

    def check_usable(self) -> None:
        """Refuse to work with a run whose row is damaged where it matters.

        Raises
        ------
        DamagedRow
            Names the cells and what to do.
        """
        if self.unusable:
            raise DamagedRow(
                f"run {self.number} is damaged: {self.damage}; restore the store from a backup, or delete the run"
            )


def select_runs() -> Select[Any]:
    """Return the query of all visible runs, with the name of the corpus, the age of the heartbeat and the lease."""
    age = (now() - runs.c.heartbeat).label("heartbeat_age")
    left = (runs.c.lease - now()).label("lease_left")
    return (
        select(runs, corpora.c.name.label("corpus_name"), age, left)
        .join(corpora, corpora.c.number == runs.c.corpus)
        .where(runs.c.state != "deleted")
    )


def read_run(connection: Connection, n: int) -> RunRow:
    """Return the run with this number; raise ``NotFound`` if there is none."""
    row = connection.execute(select_runs().where(runs.c.number == n)).first()
    if row is None:
        raise make_missing_error(n)
    return make_row(row)


def read_runs(connection: Connection) -> list[RunRow]:
    """Return all runs, oldest first."""
    return [make_row(row) for row in connection.execute(select_runs().order_by(runs.c.number))]


def lock_run(connection: Connection, n: int) -> RunRow:
    """Return a run, and keep others from changing it until the transaction ends."""
    hold_run(connection, n)
    return read_run(connection, n)


def update_run(connection: Connection, n: int, *, if_attempt: int | None = None, **values: Any) -> None:
    """Change a run's row; compare-and-set when ``if_attempt`` is given."""
    here = runs.c.number == n
    if if_attempt is not None:
        here &= runs.c.attempt == if_attempt
    if connection.execute(update(runs).where(here).values(**values)).rowcount != 1:
        raise Conflict(f"run {n} was taken by another program at this moment; look at it again")


def make_row(row: Row[Any]) -> RunRow:
    """Return a row of :func:`select_runs` as a frozen copy."""
    cells = CellReader(row._asdict())
    number, age = cells.read_whole("number"), cells.read_optional(cells.read_real, "heartbeat_age")
    family = cells.read_optional(cells.read_whole, "family")
    values: dict[str, Any] = {
        "number": number,
        **{
            name: cells.read_text(name)
            for name in ("name", "corpus_name", "model", "inference", "message", "traceback")
        },
        **{name: cells.read_whole(name) for name in ("corpus", "seed")},
        **{name: cells.read_whole(name, _MOST) for name in ("attempt", "minibatch", "planned")},
        "layers": tuple(cells.read_json("layers", _LAYERS, list[int]())),
        "settings": cells.read_json("settings", _match_settings, dict[str, Any]()),
        "options": cells.read_json("options", _match_options, dict[str, Any]()),
        "process": cells.read_json("process", _PROCESS, dict[str, Any]()),
        "starter": cells.read_optional(lambda name: cells.read_json(name, _PROCESS, dict[str, Any]()), "starter") or {},
        "state": cells.read_text("state", STATES) or "damaged",
        "request": cells.read_text("request", REQUESTS) or "run",
        "seconds": cells.read_real("seconds"),
        **{name: cells.read_optional(cells.read_real, name) for name in MEASURES},
        "created": cells.read_time("created"),
        **{name: cells.read_optional(cells.read_time, name) for name in ("started", "ended")},
        "heartbeat_age": None if age is None else max(0.0, age),
        **{
            name: cells.read_optional(cells.read_whole, name)
            for name in ("parent", "parent_snapshot", "parent_minibatch")
        },
        "family": number if family is None else family,
        "run_group": cells.read_optional(cells.read_whole, "run_group"),
        **{name: cells.read_optional(cells.read_real, name) for name in ("place", "lease_left")},
    }
    return RunRow(**values, damage=describe_damage(cells.damage), unusable=not _NEEDED.isdisjoint(cells.damage))


def own_run(connection: Connection, run: int, attempt: int, **values: Any) -> None:
    """Hold the run's row until the transaction ends, and write its heartbeat and ``values``.

    Raises
    ------
    LostClaim
        When ``attempt`` is not the run's current one, or the run was deleted.
    """
    mine = (runs.c.number == run) & (runs.c.attempt == attempt) & (runs.c.state != "deleted")
    if connection.execute(update(runs).where(mine).values(heartbeat=now(), **values)).rowcount != 1:
        raise LostClaim(
            f"attempt {attempt} of run {run} was replaced by a later one, or the run was deleted; it stops here"
        )


def hold_run(connection: Connection, run: int) -> None:
    """Hold the run's row until the transaction ends, for changes that people make.

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


_PARTS = (
    (points, "number", 20_000),
    (events, "number", 20_000),
    (snapshots, "number", 20),
    (checkpoint_parts, "part", 20),
)


def rewind_run(connection: Connection, run: int) -> tuple[int, float]:
    """Delete what is later than the run's checkpoint; return its mini-batch and seconds (0, 0 without one).

    A resumed run then writes exactly the rows of a run that never stopped.  The snapshot of mini-batch 0, with which a
    fork begins, stays.
    """
    _drop_damaged_checkpoints(connection, run)
    found = connection.execute(
        select(checkpoints.c.generation, checkpoints.c.minibatch, checkpoints.c.seconds).where(checkpoints.c.run == run)
    ).first()
    earlier = select(earlier_checkpoints.c.generation).where(earlier_checkpoints.c.run == run)
    generation, minibatch, seconds = found or (-1, -1, 0.0)
    for table, last in ((points, minibatch), (events, minibatch), (snapshots, max(minibatch, 0))):
        connection.execute(delete(table).where(table.c.run == run, table.c.minibatch > last))
    connection.execute(delete(points).where(points.c.run == run, points.c.name.in_(FINAL_MEASURES)))
    whole = {generation, *connection.execute(earlier).scalars()}
    unfinished = checkpoint_parts.c.generation.not_in(whole)
    connection.execute(delete(checkpoint_parts).where(checkpoint_parts.c.run == run, unfinished))
    return max(minibatch, 0), seconds


def _drop_damaged_checkpoints(connection: Connection, run: int) -> None:
    """Remove damaged rows of checkpoints; the one before replaces the last."""
    for table in (earlier_checkpoints, checkpoints):
        row = connection.execute(
            select(table.c.generation, table.c.minibatch, table.c.seconds).where(table.c.run == run)
        ).first()
        if row is not None and not (type(row[0]) is type(row[1]) is int and isinstance(row[2], int | float)):
            connection.execute(delete(table).where(table.c.run == run))
            if table is checkpoints:
                copy_checkpoint_row(connection, earlier_checkpoints, checkpoints, run)
                connection.execute(delete(earlier_checkpoints).where(earlier_checkpoints.c.run == run))


def copy_checkpoint_row(connection: Connection, source: Table, target: Table, run: int) -> None:
    """Copy the row of a run from one table of checkpoints to the other."""
    columns = [column.name for column in source.columns]
    mine = select(*(source.c[name] for name in columns)).where(source.c.run == run)
    connection.execute(insert(target).from_select(columns, mine))


def remove_run(db: Database, run: int) -> None:
    """Delete the rows of a run already marked as deleted."""
    for table, order, at_once in _PARTS:
        delete_piecewise(db, table, table.c.run == run, table.c[order], at_once)

    def last(connection: Connection) -> None:
        for table in (checkpoints, earlier_checkpoints, topic_labels):
            connection.execute(delete(table).where(table.c.run == run))
        connection.execute(delete(runs).where(runs.c.number == run, runs.c.state == "deleted"))

    db.transact(last)


def sweep_runs(db: Database) -> None:
    """Finish deletions that were killed."""
    with db.read() as connection:
        numbers = connection.execute(select(runs.c.number).where(runs.c.state == "deleted")).scalars().all()
    for number in numbers:
        remove_run(db, number)


def delete_piecewise(db: Database, table: Table, mine: ColumnElement[bool], order: Column[Any], at_once: int) -> None:
    """Delete the rows of a table that are ``mine``, some at a time, so that no writer waits long."""

    def some(connection: Connection) -> bool:
        last = connection.execute(select(order).where(mine).order_by(order).offset(at_once - 1).limit(1)).scalar()
        connection.execute(delete(table).where(mine) if last is None else delete(table).where(mine, order <= last))
        return last is not None

    while db.transact(some):
        pass


_AT_ONCE = 500  # rows asked for by number in one statement; databases bound how many numbers it may have

# Other columns are large or never change; layers, process and traceback are written together with one of these.
_SIGNS = (
    "number", "state", "name", "request", "attempt", "minibatch", "planned", "seconds", "tokens_per_second",
    "point_perplexity", "averaged_perplexity", "message", "started", "ended", "heartbeat",
)  # fmt: skip
_LOOK = select(*(runs.c[name] for name in _SIGNS)).where(runs.c.state != "deleted").order_by(runs.c.number)
_Signs: TypeAlias = tuple[Any, ...]  # sets of plain tuples are compared without a step of Python for each


class RunWatch:
    """A reader of all runs that returns unchanged rows as the same objects.  One caller at a time.

    Parameters
    ----------
    db : Database
    """

    def __init__(self, db: Database) -> None:
        self._db = db
        self._signs: frozenset[_Signs] = frozenset()
        self._rows: dict[int, RunRow] = {}

    def look(self) -> dict[int, RunRow]:
        """Return all runs by number, oldest first; those that train are read again, for the age of their heartbeats."""
        with self._db.read() as connection:
            found = [tuple(row) for row in connection.execute(_LOOK).all()]
            signs = frozenset(found)
            stale = {each[0] for each in signs - self._signs} | {each[0] for each in found if each[1] == "running"}
            fresh = {row.number: row for row in _read_some_runs(connection, stale)}
        self._signs = signs
        self._rows = {each[0]: fresh[each[0]] if each[0] in stale else self._rows[each[0]] for each in found}
        return self._rows


def _read_some_runs(connection: Connection, numbers: Iterable[int]) -> Iterator[RunRow]:
    ordered = sorted(numbers)
    for start in range(0, len(ordered), _AT_ONCE):
        some = ordered[start : start + _AT_ONCE]
        for row in connection.execute(select_runs().where(runs.c.number.in_(some))):
            yield make_row(row)
