"""What a step shows of itself: the points and the arrays of a snapshot, computed from arrays."""

import math
from typing import Any

import numpy as np

from app.jobs.structure_words import in_short
from engine.contract import Array, Event, Info, Kernel, Topics
from engine.hierarchy import effects
from engine.hierarchy import topics as hierarchy
from engine.models import RegisteredModel
from store.errors import DamagedRow
from store.events import StructureChange
from store.points import Point

KEPT = "model."  # before the names of what only the model itself reads in a snapshot
MOST = float(np.finfo(np.float32).max)  # snapshots are of single precision: more would be infinite there
ACTIVE = 0.01  # a topic counts as active from this part of the mean share of its layer


def step_points(
    info: Info, topics: Topics, *, minibatch: int, documents: int, seconds: float, n_layers: int = 0
) -> list[Point]:
    """Step sizes (mean, 5 % and 95 % quantile over topics), active topics and the ELBO after one mini-batch.

    Layers are counted from 1; step sizes of ``r`` come as layer L + 1, where L is the number of layers the run
    will have in the end (``n_layers``), so that a curve stays that of one layer when layers are added.
    """
    here = len(topics.phi)

    def point(name: str, layer: int, value: Any) -> Point:
        return Point(minibatch, documents, seconds, name, layer, float(value))

    points: list[Point] = []
    for place, sizes in enumerate(info.step_sizes, start=1):
        layer = place if place <= here else place - here + max(here, n_layers)
        low, high = np.quantile(sizes, (0.05, 0.95))
        points.append(point("step_size_mean", layer, np.mean(sizes)))
        points.append(point("step_size_low", layer, low))
        points.append(point("step_size_high", layer, high))
    for layer, weights in enumerate(effects.compute_popularity(topics), start=1):
        points.append(point("active_topics", layer, active(weights)))
    if not math.isnan(info.elbo):
        points.append(point("elbo", 0, info.elbo))
    return points


def refuse_nonsense(topics: Topics, minibatch: int) -> None:
    """Stop before anything is written of topics that are no longer numbers, or none of single precision.

    Raises
    ------
    ArithmeticError
        With what it is and the mini-batch.
    """
    named = {f"the topics of layer {layer}": phi for layer, phi in enumerate(topics.phi, start=1)}
    for name, values in (named | {"the popularities of the top layer (r)": topics.r}).items():
        if not np.all(np.abs(values) <= MOST):
            raise ArithmeticError(
                f"{name} are no longer finite numbers after mini-batch {minibatch}; try a smaller step size"
            )


def active(weights: Array) -> int:
    """How many topics of a layer weigh at least one hundredth of the layer's mean."""
    return int(np.count_nonzero(weights >= ACTIVE * weights.mean()))


def model_of(run: Any) -> tuple[RegisteredModel, Any]:
    """Return the model of a run (a row of the store), and its settings.

    Raises
    ------
    DamagedRow
        When the row is damaged, or names a model that there is not.
    engine.settings.SettingError
        When the model does not take the settings any more.
    """
    from engine import models, settings

    run.check_usable()
    try:
        module = models.load(run.model)
    except LookupError as error:
        raise DamagedRow(f"run {run.number} cannot be used: {error.args[0]}") from error
    return module, settings.from_json(module.Config, run.settings)


def snapshot_arrays(kernel: Kernel, state: Any, info: Info, examples: dict[str, Array]) -> dict[str, Array]:
    """The arrays of a snapshot.

    ``phi.l`` and ``r``, their means ``mean.l`` and ``mean_r``, ``step.l``, the examples of every topic, and under
    ``model.`` what the model keeps.
    """
    topics = kernel.topics(state)
    arrays = hierarchy.pack_topics(topics)
    if kernel.averaged is not None:
        mean = kernel.topics(kernel.averaged(state))
        arrays |= {f"mean.{layer}": phi for layer, phi in enumerate(mean.phi)} | {"mean_r": mean.r}
    arrays |= {f"step.{layer}": sizes for layer, sizes in enumerate(info.step_sizes[: len(topics.phi)])}
    return arrays | examples | {_name_array(name): array for name, array in kernel.keep(state).items()}


def report(event: Event) -> str:
    """A change of the structure in words, for the list of events."""
    said = in_short(event)
    gone = " ".join(f"L{event.layer}:{name + 1}" for name in event.topics)
    return f"{said}, without {gone}" if gone else said


def changed(event: Event) -> StructureChange:
    """A change of the structure as the store keeps it: topics count from 1 there."""
    return StructureChange(event.layer, tuple(name + 1 for name in event.topics), event.before, event.after)


def _name_array(name: str) -> str:
    """Names of topics are for everybody; all else that a kernel keeps is for the model itself."""
    return name if name.startswith("names.") else f"{KEPT}{name}"


def from_snapshot(kernel: Kernel, seed: int, arrays: dict[str, Array], *, shown: bool = False) -> Any:
    """The state that goes on from the arrays of a snapshot, of this model or of one it can learn from.

    With ``shown`` its topics are those that people are shown: the means, where the snapshot has them.
    """
    own = {name.removeprefix(KEPT): array for name, array in arrays.items()}
    if shown:
        own |= {f"phi.{layer}": mean for layer, mean in enumerate(hierarchy.collect_arrays(arrays, "mean"))}
        own["r"] = arrays.get("mean_r", arrays["r"])
    return kernel.restore(seed, own)
