"""What a person can do about a run that failed: the action that mends it, as the page offers it."""

from typing import NamedTuple

from app.jobs.plan import options_of
from engine import models, settings
from store import runs
from store.database import Database
from store.errors import Conflict, StoreError
from store.run_rows import RunRow

LEAST = 2  # documents of a mini-batch, below which half of it helps nobody


class WayOut(NamedTuple):
    """An action for a failed run: its name in `app.live.actions` (``retry``, ``resume``, ``delete``), in words."""

    action: str
    words: str


def ways_out(row: RunRow) -> list[WayOut]:
    """What may help a run that failed, the likeliest first; nothing for a run that did not."""
    if row.state != "failed" or row.unusable:
        return []
    found = [WayOut("resume", "Resume from the checkpoint")]
    size = batch_size(row)
    if size is not None:
        half = WayOut("retry", f"Start again with mini-batches of {size // 2:,} documents")
        found.insert(0 if _lacked_memory(row) else 1, half)
    return [*found, WayOut("log", "Show the log"), WayOut("delete", "Delete the run")]


def batch_size(row: RunRow) -> int | None:
    """The documents of a mini-batch of a run; None where it has none, or they cannot be halved."""
    size = row.settings.get("batch_size")
    return size if isinstance(size, int) and size >= LEAST else None


def again(db: Database, run: int, size: int | None = None) -> RunRow:
    """Order a failed run again, as it was but for the documents of a mini-batch.

    Parameters
    ----------
    db : Database
    run : int
    size : int, optional
        Documents of a mini-batch; half of what they were when it is not given.

    Raises
    ------
    Conflict
        When the run has not failed, or has no mini-batches.
    StoreError
        When its model does not take such a size.
    """
    row = runs.get_run(db, run)
    row.check_usable()
    if row.state != "failed":
        raise Conflict(f"run {run} is {row.state}; only one that failed is ordered again with smaller mini-batches")
    now = batch_size(row)
    if now is None:
        raise Conflict(f"run {run} has no mini-batches that could be smaller; resume it, or order another one")
    wanted = row.settings | {"batch_size": now // 2 if size is None else size}
    try:
        config = settings.from_json(models.load(row.model).Config, wanted)
    except (LookupError, ValueError) as error:
        raise StoreError(str(error.args[0])) from error
    order = options_of(row)
    return runs.create_run(
        db,
        corpus=row.corpus,
        model=row.model,
        inference=row.inference,
        layers=tuple(wanted["layers"]),
        settings=settings.to_json(config),
        options=order.to_json(),
        seed=row.seed,
        name=row.name,
        fork=row.parent_snapshot,
        group=row.run_group,
    )


def _lacked_memory(row: RunRow) -> bool:
    return row.message.startswith("out of memory")
