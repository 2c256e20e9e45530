"""Rows of the table of runs: read as frozen copies, held, changed."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, Row, Select, select, update

from store.database import now
from store.errors import Conflict
from store.ownership import hold, missing
from store.tables import corpora, runs

STALE_SECONDS = 15.0


@dataclass(frozen=True)
class RunRow:
    """A frozen copy of a run.

    Attributes
    ----------
    layers : tuple of int
        Widths as they are now; where they are learnt, not those of the settings.
    seconds : float
        Training time so far.
    planned : int
        Mini-batches the run is to have in the end.
    message : str
        What it is doing now, or why it failed, for eyes.
    process : dict
        The worker: pid, when the process was created, host; what its helpers on a cluster last said (``cluster``).
    heartbeat_age : float or None
        Seconds since the worker last wrote, by the database's clock at the moment of reading.
    parent, parent_snapshot, parent_minibatch : int or None
        The run and the snapshot it was forked from; they may have been deleted since.
    family : int
        The run that its line of forks began with, its own number where it was not forked.
    run_group : int or None
        Of runs ordered together, the number of the first of them.
    place : float or None
        Where a person put it in the queue; see `order`.
    """

    number: int
    name: str
    corpus: int
    corpus_name: str
    model: str
    inference: str
    layers: tuple[int, ...]
    settings: dict[str, Any]
    plan: dict[str, Any]
    seed: int
    state: str
    wish: str
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

    @property
    def order(self) -> tuple[float, int]:
        """By what queued runs wait: where a person put them, else when they were ordered."""
        return (self.number if self.place is None else self.place, self.number)

    @property
    def alive(self) -> bool:
        """Whether a worker is at it and has written lately."""
        return self.state == "running" and self.heartbeat_age is not None and self.heartbeat_age <= STALE_SECONDS


def visible() -> Select[Any]:
    """Every run that is not being deleted, with the name of its corpus and the age of its heartbeat."""
    age = (now() - runs.c.heartbeat).label("heartbeat_age")
    return (
        select(runs, corpora.c.name.label("corpus_name"), age)
        .join(corpora, corpora.c.number == runs.c.corpus)
        .where(runs.c.state != "deleted")
    )


def get(connection: Connection, n: int) -> RunRow:
    """The run with this number; ``NotFound`` when there is none."""
    row = connection.execute(visible().where(runs.c.number == n)).first()
    if row is None:
        raise missing(n)
    return read(row)


def held(connection: Connection, n: int) -> RunRow:
    """The run as it is, and stays until the transaction ends."""
    hold(connection, n)
    return get(connection, n)


def change(connection: Connection, n: int, *, if_attempt: int | None = None, **values: Any) -> None:
    """Change a run's row; compare-and-set when ``if_attempt`` is given."""
    here = runs.c.number == n
    if if_attempt is not None:
        here &= runs.c.attempt == if_attempt
    if connection.execute(update(runs).where(here).values(**values)).rowcount != 1:
        raise Conflict(f"run {n} was taken by somebody else at this moment; look at it again")


def read(row: Row[Any]) -> RunRow:
    """What :func:`visible` found, as a frozen copy."""
    values = row._asdict()
    del values["heartbeat"]
    values["layers"] = tuple(values["layers"])
    values["family"] = values["number"] if values["family"] is None else values["family"]
    age = values["heartbeat_age"]
    values["heartbeat_age"] = None if age is None else max(0.0, age)
    for name in ("created", "started", "ended"):
        values[name] = None if values[name] is None else datetime.fromtimestamp(values[name], UTC)
    return RunRow(**values)
