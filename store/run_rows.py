"""Rows of the table of runs: read as frozen copies, held, changed."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, Select, select, update

from store.cells import Cells, in_words, is_flag, is_number, is_plain, is_text, is_time, keyed, listed, or_null, whole
from store.database import now
from store.errors import Conflict, DamagedRow
from store.ownership import hold, missing
from store.tables import corpora, runs

STALE_SECONDS = 15.0
_MOST = 1 << 48  # mini-batches, or attempts: more is damage
STATES = ("queued", "running", "paused", "stopped", "finished", "failed")
REQUESTS = ("run", "pause", "stop")

# What readers rely on in the JSON of a row; whatever else is there is left to those who wrote it.
_LAYERS = listed(whole(1))
_VALUES = keyed({"layers": listed(whole(1), 1)}, lambda value: is_plain(value) or listed(is_plain)(value))
_PROTOCOL = {"documents": or_null(whole()), "observed": or_null(is_number)}
_ORDER = keyed(
    {
        **dict.fromkeys(("minibatches", "threads"), whole(1)),
        **dict.fromkeys(("averaged", "paper_point", "until_plateau", "whole"), is_flag),
        **{name: or_null(whole(least)) for name, least in (("burn_in", 0), ("samples", 0), ("keep", 2))},
        "plateau_from": whole(),
        "on": is_text,
        "protocol": or_null(
            keyed(_PROTOCOL | dict.fromkeys(("burn_in", "collect", "thin"), whole()), lambda _: False, ("documents",))
        ),
    }
)
_WORKER = keyed(
    {
        **dict.fromkeys(("address", "name"), is_text),
        **dict.fromkeys(("documents", "memory", "limit"), whole()),
        **dict.fromkeys(("tokens_per_second", "lost"), or_null(is_number)),
    },
    required=("address", "name", "documents", "tokens_per_second", "memory", "limit"),
)
_PROCESS = keyed(
    {
        "pid": whole(),
        **dict.fromkeys(("created", "since_boot"), is_time),
        **dict.fromkeys(("host", "boot"), is_text),
        "cluster": keyed({"dashboard": is_text, "workers": listed(_WORKER)}),
    }
)
_MEASURES = ("tokens_per_second", "point_perplexity", "averaged_perplexity")


def _are_settings(value: Any) -> bool:
    return _VALUES(value) and ("layers" in value or not value.get("grow"))


def _is_plan(value: Any) -> bool:
    return _ORDER(value) and not (value.get("averaged") and (value.get("burn_in") or 0) >= value.get("minibatches", 0))


# All others are written again by a worker that takes the run over, or by people.
_NEEDED = frozenset(
    ("number", "corpus", "model", "inference", "settings", "plan", "seed", "state", "attempt", "planned")
)


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
    lease_left : float or None
        Seconds, by the database's clock, for which the worker that is being started for it may take; negative when they
        are over; None when none is.
    starter : dict
        That worker, as `process`; empty until its process is known.
    damage : str
        The cells of the row that cannot be read and why, in words; what stands for them here is neutral.
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
    lease_left: float | None = None
    starter: dict[str, Any] = field(default_factory=dict)
    damage: str = ""
    unusable: bool = False

    @property
    def order(self) -> tuple[float, int]:
        """By what queued runs wait: where a person put them, else when they were ordered."""
        return (self.number if self.place is None else self.place, self.number)

    @property
    def alive(self) -> bool:
        """Whether a worker is at it and has written lately."""
        return self.state == "running" and self.heartbeat_age is not None and self.heartbeat_age <= STALE_SECONDS

    def check_usable(self) -> None:
        """Refuse to work with a run whose row is damaged where it matters.

        Raises
        ------
        DamagedRow
            With the cells, and what to do.
        """
        if self.unusable:
            raise DamagedRow(
                f"run {self.number} is damaged: {self.damage}; restore the store from a backup, or delete the run"
            )


def visible() -> Select[Any]:
    """Every run that is not being deleted, with the name of its corpus, the age of its heartbeat and its lease."""
    age = (now() - runs.c.heartbeat).label("heartbeat_age")
    left = (runs.c.lease - now()).label("lease_left")
    return (
        select(runs, corpora.c.name.label("corpus_name"), age, left)
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
    cells = Cells(row._asdict())
    number, age = cells.whole("number"), cells.maybe(cells.real, "heartbeat_age")
    family = cells.maybe(cells.whole, "family")
    values: dict[str, Any] = {
        "number": number,
        **{name: cells.text(name) for name in ("name", "corpus_name", "model", "inference", "message", "traceback")},
        **{name: cells.whole(name) for name in ("corpus", "seed")},
        **{name: cells.whole(name, _MOST) for name in ("attempt", "minibatch", "planned")},
        "layers": tuple(cells.json("layers", _LAYERS, list[int]())),
        "settings": cells.json("settings", _are_settings, dict[str, Any]()),
        "plan": cells.json("plan", _is_plan, dict[str, Any]()),
        "process": cells.json("process", _PROCESS, dict[str, Any]()),
        "starter": cells.maybe(lambda name: cells.json(name, _PROCESS, dict[str, Any]()), "starter") or {},
        "state": cells.text("state", STATES) or "damaged",
        "wish": cells.text("wish", REQUESTS) or "run",
        "seconds": cells.real("seconds"),
        **{name: cells.maybe(cells.real, name) for name in _MEASURES},
        "created": cells.time("created"),
        **{name: cells.maybe(cells.time, name) for name in ("started", "ended")},
        "heartbeat_age": None if age is None else max(0.0, age),
        **{name: cells.maybe(cells.whole, name) for name in ("parent", "parent_snapshot", "parent_minibatch")},
        "family": number if family is None else family,
        "run_group": cells.maybe(cells.whole, "run_group"),
        **{name: cells.maybe(cells.real, name) for name in ("place", "lease_left")},
    }
    return RunRow(**values, damage=in_words(cells.damage), unusable=not _NEEDED.isdisjoint(cells.damage))
