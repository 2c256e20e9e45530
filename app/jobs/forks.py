"""Continue a run from one of its snapshots: with another model, seed or settings, as a run of its own."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from app.jobs.plan import read_options
from engine import models, settings
from engine.settings import Setting
from engine.shared_settings import EncoderSettings
from store import corpora, runs, snapshots
from store.database import Database
from store.errors import Conflict, DamagedRow, NotFound, StoreError
from store.run_rows import RunRow
from store.snapshots import SnapshotRow

LABEL_MODEL = "sdatm"  # the model as which a run of another is continued with labels


class ForkOrigin(NamedTuple):
    """The run and snapshot that a fork begins with.

    Attributes
    ----------
    run : RunRow
        The parent.
    snapshot : SnapshotRow
    layers : tuple of int
        Widths of the snapshot.
    """

    run: RunRow
    snapshot: SnapshotRow
    layers: tuple[int, ...]


def find_origin(db: Database, run: int, *, minibatch: int | None = None, snapshot: int | None = None) -> ForkOrigin:
    """Return the snapshot of a run at or before a mini-batch, or of that number; the latest one without either.

    Raises
    ------
    NotFound
        When there is no such run, or it has no such snapshot.
    DamagedRow
        When its row, or that of its corpus, is damaged.
    """
    row = runs.get_run(db, run)
    row.check_usable()
    if row.model not in models.list_names():
        raise DamagedRow(f"run {run} is of a model {row.model!r}, which there is not; it cannot be continued")
    corpora.get_corpus(db, row.corpus).check_usable()
    found = snapshots.find_sound(db, run, minibatch)
    if snapshot is not None:
        found = next((each for each in snapshots.list_snapshots(db, run) if each.number == snapshot), None)
    if found is None:
        when = "" if minibatch is None else f" at or before mini-batch {minibatch:,}"
        lost = " that number; fork from its latest one" if snapshot is not None else f"{when} to fork from"
        raise NotFound(f"run {run} has no snapshot{' of' if snapshot is not None else ''}{lost}")
    shapes = snapshots.read_shapes(db, found.number)
    widths = [shapes[f"phi.{layer}"][1] for layer in range(sum(name.startswith("phi.") for name in shapes))]
    return ForkOrigin(row, found, tuple(widths))


def inherit_settings(origin: ForkOrigin, model: str, given: Mapping[str, str]) -> dict[str, str]:
    """Return settings of a fork as texts: those of the parent that the model knows by name and kind, and its widths.

    Where the widths are learnt (as in the parent, or as ``given``), ``layers`` stays the budget of the parent.
    """
    parent = origin.run.settings
    described = {setting.name: setting for setting in settings.describe(models.load(model).Config)}
    theirs = {setting.name: setting for setting in settings.describe(models.load(origin.run.model).Config)}
    shared = [name for name, setting in described.items() if name in theirs and _fits(setting, theirs[name], parent)]
    texts = {name: format_default(_make_plain(parent[name])) for name in shared}
    if not learns_widths(texts | dict(given)):
        texts["layers"] = format_default(origin.layers)
        eta = parent.get("eta")
        if "eta" in texts and isinstance(eta, list) and len(eta) not in (1, len(origin.layers)):
            del texts["eta"]
    return texts


def learns_widths(texts: dict[str, str]) -> bool:
    """Return whether settings ask for widths to be learnt, so that ``layers`` is a budget."""
    return texts.get("grow", "").strip().lower() in ("true", "yes", "1")


def find_wrong_layers(origin: ForkOrigin, config: Any) -> str:
    """Return a sentence about layers that the snapshot does not have, else an empty text."""
    ordered, own = tuple(config.layers), origin.layers
    if getattr(config, "grow", False):
        fits = len(ordered) >= len(own)
        return "" if fits else f"layers must be at least the {len(own)} of the snapshot; got {len(ordered)}"
    widths, got = format_default(own), format_default(ordered)
    return "" if ordered == own else f"layers must be those of the snapshot, {widths}; got {got}"


def learns_without_labels(origin: ForkOrigin) -> bool:
    """Return whether the parent has an encoder, so that labels count at once in a fork that learns from them."""
    return issubclass(models.load(origin.run.model).Config, EncoderSettings)


def _fits(mine: Setting, theirs: Setting, values: dict[str, Any]) -> bool:
    """Return whether a setting means the same to both models, and takes the parent's value."""
    if mine.name not in values or (mine.kind != theirs.kind and not _is_alike(mine, theirs, values[mine.name])):
        return False
    if mine.default != theirs.default and _make_plain(values[mine.name]) == theirs.default:
        return False  # nobody chose it: each model keeps its own default
    return mine.kind != "choice" or values[mine.name] in mine.choices


def _is_alike(mine: Setting, theirs: Setting, value: Any) -> bool:
    """Return whether one model has a number, the other a list of them, and the parent one value for all layers."""
    return {mine.kind, theirs.kind} == {"number", "numbers"} and not (isinstance(value, list) and len(value) > 1)


def _make_plain(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def format_default(value: Any) -> str:
    """Return a default as a person would type it: ``128-64-32``, ``0.05``, ``true``."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return ("-" if all(isinstance(item, int) for item in value) else ",").join(str(item) for item in value)
    return str(value)


LEAST_BATCH = 2  # documents of a mini-batch; a smaller one is not halved


class Remedy(NamedTuple):
    """An action for a failed run: its name in `app.live.actions` (``retry``, ``resume``, ``delete``), for people."""

    action: str
    words: str


def list_remedies(row: RunRow) -> list[Remedy]:
    """Return the remedies for a run that failed, the likeliest first; none for a run that did not fail."""
    if row.state != "failed" or row.unusable:
        return []
    found = [Remedy("resume", "Resume from the checkpoint")]
    size = read_batch_size(row)
    if size is not None:
        half = Remedy("retry", f"Start again with mini-batches of {size // 2:,} documents")
        found.insert(0 if _lacked_memory(row) else 1, half)
    return [*found, Remedy("log", "Show the log"), Remedy("delete", "Delete the run")]


def read_batch_size(row: RunRow) -> int | None:
    """Return the documents of a mini-batch of a run; None where it has none, or they cannot be halved."""
    size = row.settings.get("batch_size")
    return size if isinstance(size, int) and size >= LEAST_BATCH else None


def retry_run(db: Database, run: int, size: int | None = None) -> RunRow:
    """Create a failed run again with mini-batches of another size.

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
    now = read_batch_size(row)
    if now is None:
        raise Conflict(f"run {run} has no mini-batches that could be smaller; resume it, or order another one")
    wanted = row.settings | {"batch_size": now // 2 if size is None else size}
    try:
        config = settings.from_json(models.load(row.model).Config, wanted)
    except (LookupError, ValueError) as error:
        raise StoreError(str(error.args[0])) from error
    options = read_options(row)
    return runs.create_run(
        db,
        corpus=row.corpus,
        model=row.model,
        inference=row.inference,
        layers=tuple(wanted["layers"]),
        settings=settings.to_json(config),
        options=options.to_json(),
        seed=row.seed,
        name=row.name,
        fork=row.parent_snapshot,
        group=row.run_group,
    )


def _lacked_memory(row: RunRow) -> bool:
    return row.message.startswith("out of memory")
