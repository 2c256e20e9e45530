"""Forks: new runs that continue from a snapshot of a run, with another model, seed or settings; and retries."""

from collections.abc import Mapping
from itertools import count, islice
from typing import Any, NamedTuple

from topiary.app.jobs.plan import read_options
from topiary.app.names import name_step
from topiary.engine import models, settings
from topiary.engine.gpu.memory import NAME
from topiary.engine.settings import Setting
from topiary.engine.shared_settings import EncoderSettings
from topiary.store import corpora, edits, runs, snapshots
from topiary.store.database import Database
from topiary.store.edits import NewEdit
from topiary.store.errors import Conflict, DamagedRow, NotFound, StoreError
from topiary.store.run_rows import RunRow
from topiary.store.snapshots import SnapshotRow

LABEL_MODEL = "sdatm"  # the model that continues a run of another model with labels


class ForkOrigin(NamedTuple):
    """The run and snapshot from which a fork continues.

    Attributes
    ----------
    run : RunRow
        The parent.
    layers : tuple of int
        Widths of the layers of the snapshot.
    """

    run: RunRow
    snapshot: SnapshotRow
    layers: tuple[int, ...]


def find_origin(db: Database, run: int, *, minibatch: int | None = None, snapshot: int | None = None) -> ForkOrigin:
    """Return a run and its snapshot: with a number, or at or before a mini-batch, or else the latest one.

    Raises
    ------
    NotFound
        When there is no such run, or it has no such snapshot.
    DamagedRow
        When its row, or that of its corpus, is damaged.
    """
    row = runs.get_run(db, run)
    if row.model not in models.list_names():
        raise DamagedRow(f"run {run} is of a model {row.model!r}, which there is not; it cannot be continued")
    corpora.get_corpus(db, row.corpus)
    chosen = snapshots.find_sound(db, run, minibatch)
    if snapshot is not None:
        chosen = next(
            (candidate for candidate in snapshots.list_snapshots(db, run) if candidate.number == snapshot), None
        )
    if chosen is None:
        if sentence := snapshots.explain_absence(db, run):
            raise NotFound(sentence)
        when = "" if minibatch is None else f" at or before {name_step(row)} {minibatch:,}"
        lost = " that number; fork from its latest one" if snapshot is not None else f"{when} to fork from"
        raise NotFound(f"run {run} has no snapshot{' of' if snapshot is not None else ''}{lost}")
    shapes = snapshots.read_shapes(db, chosen.number)
    widths = [shapes[f"phi.{layer}"][1] for layer in range(sum(name.startswith("phi.") for name in shapes))]
    return ForkOrigin(row, chosen, tuple(widths))


def inherit_settings(origin: ForkOrigin, model: str, given: Mapping[str, str]) -> dict[str, str]:
    """Return settings of a fork as texts: the widths, and the parent's settings that the model has too.

    If the widths are learnt (in the parent, or as ``given``), ``layers`` stays the budget of the parent.
    """
    parent = origin.run.settings
    described = {setting.name: setting for setting in settings.describe(models.load(model).Config)}
    parent_settings = {setting.name: setting for setting in settings.describe(models.load(origin.run.model).Config)}
    shared = [
        name
        for name, setting in described.items()
        if name in parent_settings and _fits(setting, parent_settings[name], parent)
    ]
    texts = {name: format_default(_make_plain(parent[name])) for name in shared}
    if not learns_widths(texts | dict(given)):
        texts["layers"] = format_default(origin.layers)
        eta = parent.get("eta")
        if "eta" in texts and isinstance(eta, list) and len(eta) not in (1, len(origin.layers)):
            del texts["eta"]
    return texts


def learns_widths(texts: dict[str, str]) -> bool:
    """Return whether settings let the widths be learnt, so that ``layers`` is a budget."""
    return texts.get("grow", "").strip().lower() in ("true", "yes", "1")


def find_wrong_layers(origin: ForkOrigin, config: Any) -> str:
    """Return a sentence if ``layers`` does not fit the snapshot, else an empty string."""
    requested, present = tuple(config.layers), origin.layers
    if getattr(config, "grow", False):
        fits = len(requested) >= len(present)
        return "" if fits else f"layers must be at least the {len(present)} of the snapshot; got {len(requested)}"
    widths, given = format_default(present), format_default(requested)
    return "" if requested == present else f"layers must be those of the snapshot, {widths}; got {given}"


def learns_without_labels(origin: ForkOrigin) -> bool:
    """Return whether the parent has an encoder, so that a fork can learn from labels at once."""
    return issubclass(models.load(origin.run.model).Config, EncoderSettings)


def _fits(own: Setting, theirs: Setting, values: dict[str, Any]) -> bool:
    """Return whether a setting has the same meaning in both models, and accepts the parent's value."""
    if own.name not in values or (own.kind != theirs.kind and not _is_alike(own, theirs, values[own.name])):
        return False
    if own.default != theirs.default and _make_plain(values[own.name]) == theirs.default:
        return False  # the parent has its default: the fork keeps its own default
    return own.kind != "choice" or values[own.name] in own.choices


def _is_alike(own: Setting, theirs: Setting, value: Any) -> bool:
    """Return whether one model takes a number, the other a list, and the parent has one value for all layers."""
    return {own.kind, theirs.kind} == {"number", "numbers"} and not (isinstance(value, list) and len(value) > 1)


def _make_plain(value: Any) -> Any:
    """Return a list as a tuple, and other values unchanged."""
    return tuple(value) if isinstance(value, list) else value


def format_default(value: Any) -> str:
    """Return a value as a user would type it: ``128-64-32``, ``0.05``, ``true``."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return ("-" if all(isinstance(item, int) for item in value) else ",").join(str(item) for item in value)
    return str(value)


LEAST_BATCH = 2  # documents of a mini-batch that can be halved


class Remedy(NamedTuple):
    """An action for a failed run, and words for users.

    Actions are ``retry``, ``resume``, ``resume-here``, ``log`` and ``delete``.
    """

    action: str
    words: str


def list_remedies(row: RunRow) -> list[Remedy]:
    """Return the remedies for a failed run, the most promising first; none for other runs."""
    if row.state != "failed":
        return []
    remedies = [Remedy("resume", "Resume from the checkpoint")]
    if str(row.options.get("on")).startswith(NAME):
        remedies.append(Remedy("resume-here", "Resume without the graphics processor"))
    size = read_batch_size(row)
    if size is not None:
        half = Remedy("retry", f"Start again with mini-batches of {size // 2:,} documents")
        remedies.insert(0 if _lacked_memory(row) else 1, half)
    return [*remedies, Remedy("log", "Show the log"), Remedy("delete", "Delete the run")]


def read_batch_size(row: RunRow) -> int | None:
    """Return the number of documents in a mini-batch of a run; None if it has none, or it cannot be halved."""
    size = row.settings.get("batch_size")
    return size if isinstance(size, int) and size >= LEAST_BATCH else None


def retry_run(db: Database, run: int, size: int | None = None) -> RunRow:
    """Create a new run like a failed one, with mini-batches of another size.

    Parameters
    ----------
    size : int, optional
        Documents of a mini-batch; half as many as before by default.

    Raises
    ------
    Conflict
        When the run has not failed, or has no mini-batches.
    StoreError
        When its model does not accept this size.
    """
    row = runs.get_run(db, run)
    if row.state != "failed":
        raise Conflict(f"run {run} is {row.state}; only one that failed is ordered again with smaller mini-batches")
    old_size = read_batch_size(row)
    if old_size is None:
        raise Conflict(f"run {run} has no mini-batches that could be smaller; resume it, or order another one")
    values = row.settings | {"batch_size": old_size // 2 if size is None else size}
    try:
        config = settings.from_json(models.load(row.model).Config, values)
    except (LookupError, ValueError) as error:
        raise StoreError(str(error.args[0])) from error
    return _create_like(db, row, settings.to_json(config), row.seed)


def repeat_with_seeds(db: Database, run: int, n: int) -> list[RunRow]:
    """Create ``n`` runs like a run with seeds that no run on its corpus has.

    Raises
    ------
    NotFound
        When there is no such run.
    """
    row = runs.get_run(db, run)
    taken = {each.seed for each in runs.list_runs(db) if each.corpus == row.corpus}
    free = (seed for seed in count(1) if seed not in taken)
    return [_create_like(db, row, row.settings, seed) for seed in islice(free, n)]


def _create_like(db: Database, row: RunRow, values: dict[str, Any], seed: int) -> RunRow:
    """Create a run like another one, with these settings and this seed."""
    return runs.create_run(
        db,
        corpus=row.corpus,
        model=row.model,
        inference=row.inference,
        layers=tuple(values.get("layers", row.layers)),
        settings=values,
        options=read_options(row).to_json(),
        seed=seed,
        name=row.name,
        fork=row.parent_snapshot,
        group=row.run_group,
        edits=_repeat_edits(db, row),
    )


def _repeat_edits(db: Database, row: RunRow) -> list[NewEdit]:
    """Return the edits of a run that mean the same with another seed: they name words, or topics made of words."""
    own = [each for each in edits.list_edits(db, row.number) if each.step > 0 and each.state != edits.WITHDRAWN]
    return [edits.repeat_edit(each, each.step) for each in own if not each.topics or each.topics[0] < 0]


def _lacked_memory(row: RunRow) -> bool:
    return row.message.startswith("out of memory")
