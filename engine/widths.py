"""Widths learned layer by layer: add a layer, train all layers together, prune idle topics of the new one.

Algorithm 2 of DATM (Zhang et al. 2020), after the greedy training of the gamma belief network (Zhou, Cong and
Chen 2016).  Only the top layer is ever pruned, so no layer above it has to change.

A model that learns its widths has two more arrays in its State (see :class:`Structure`): ``names``, the original
numbers of the remaining topics, by which users know them, and ``born``, the step at which the top layer's stage began.
At the beginning of a step the model calls :func:`grow_structure` and, if a change is due, adapts its own arrays:
``columns`` are the topics of the former top layer that stay, ``added`` is True if there is a new layer above them::

    change = widths.grow_structure(seed, t, structure, widths.read_rule(config))  # step t + 1 begins
    if change is not None:
        mine = (*mine[:-1], mine[-1][change.columns])  # per topic of the former top layer
        if change.added:
            mine = (*mine, np.zeros(change.structure.phi[-1].shape[1]))
"""

from typing import Any, NamedTuple

import numpy as np

from topiary.engine import streams
from topiary.engine.contract import Array, Event, FloatArray, IntArray

SETTLED = -1  # ``born`` of a structure that no longer changes


class GrowthRule(NamedTuple):
    """The rule by which a structure grows.

    Attributes
    ----------
    layers : int
        Number of layers to grow.
    budget : int
        Number of topics of the first layer at its start.
    every : int
        Steps of each stage, after which the top layer is pruned.
    below : float
        A topic of the top layer is pruned when its ``r_k`` is below this.
    """

    layers: int
    budget: int
    every: int
    below: float


class Structure(NamedTuple):
    """A hierarchy whose widths are being learned.

    Attributes
    ----------
    phi : tuple of (K_{l-1}, K_l) float64
    r : (K_L,) float64
    names : tuple of (K_l,) int64
        The column of every topic when its layer was added; it identifies the topic throughout the run.
    born : () int64
        Steps done when the stage of the top layer began; ``SETTLED`` after the last stage.
    """

    phi: tuple[FloatArray, ...]
    r: FloatArray
    names: tuple[IntArray, ...]
    born: Array


class StructureChange(NamedTuple):
    """A structure after pruning, perhaps with one more layer.

    Attributes
    ----------
    structure : Structure
    columns : (kept,) int64
        Columns of the former top layer that stay, ascending.
    added : bool
        True if there is a new top layer.
    events : tuple of Event
    """

    structure: Structure
    columns: IntArray
    added: bool
    events: tuple[Event, ...]


def read_rule(config: Any) -> GrowthRule | None:
    """Return the rule that a Config sets by ``layers``, ``grow_every`` and ``prune_below``; None without ``grow``."""
    if not config.grow:
        return None
    return GrowthRule(len(config.layers), config.layers[0], config.grow_every, config.prune_below)


def choose_first_widths(config: Any) -> tuple[int, ...]:
    """Return the widths at the start of a run: one layer if widths are learned, else the layers of the settings."""
    return tuple(config.layers[:1] if config.grow else config.layers)


def name_topics(phi: tuple[FloatArray, ...]) -> tuple[IntArray, ...]:
    """Return the names of topics before any has been pruned: their columns."""
    return tuple(np.arange(layer.shape[1], dtype=np.int64) for layer in phi)


def restore_names(
    arrays: dict[str, Array], phi: tuple[FloatArray, ...], t: int, rule: GrowthRule | None
) -> tuple[tuple[IntArray, ...], Array]:
    """Return ``names`` and ``born`` of a structure that continues from a snapshot.

    A structure that still lacks layers continues to grow; one that never grew begins a stage now.
    """
    names = tuple(np.asarray(arrays.get(f"names.{i}", name), dtype=np.int64) for i, name in enumerate(name_topics(phi)))
    if rule is None:
        return names, np.array(SETTLED, dtype=np.int64)
    born = int(arrays.get("born", SETTLED))
    if born > t or (born < 0 and len(phi) < rule.layers):
        born = t
    return names, np.array(born, dtype=np.int64)


def keep_names(names: tuple[IntArray, ...], born: Array) -> dict[str, Array]:
    """Return the arrays that a snapshot needs in addition to the topics (for ``Kernel.keep``)."""
    return {f"names.{layer}": numbers for layer, numbers in enumerate(names)} | {"born": born}


def grow_structure(seed: int, t: int, structure: Structure, rule: GrowthRule | None) -> StructureChange | None:
    """Return the change that is due after ``t`` steps, or None."""
    born = int(structure.born)
    if rule is None or born == SETTLED or t - born < rule.every:
        return None
    columns = find_active(structure.r, rule.below)
    phi, r, names = prune_topics(structure, columns)
    layer, before = len(phi), len(structure.r)
    pruned = np.setdiff1d(structure.names[-1], names[-1])
    events = [Event("pruned", layer, tuple(pruned.tolist()), before, len(r))]
    added = layer < rule.layers
    if added:
        phi, r, names = add_layer(seed, t, phi, names)
        events.append(Event("layer added", layer + 1, (), 0, len(r)))
    grown = Structure(phi, r, names, np.array(t if added else SETTLED, dtype=np.int64))
    return StructureChange(grown, columns, added, tuple(events))


def find_active(r: FloatArray, below: float) -> IntArray:
    """Return the columns of the top layer to keep, ascending: those with ``r_k >= below``, or else the heaviest."""
    columns = np.flatnonzero(r >= below)
    return columns if len(columns) else np.array([int(r.argmax())])


def prune_topics(
    structure: Structure, columns: IntArray
) -> tuple[tuple[FloatArray, ...], FloatArray, tuple[IntArray, ...]]:
    """Return ``phi``, ``r`` and ``names`` with only these columns of the top layer."""
    phi = (*structure.phi[:-1], np.ascontiguousarray(structure.phi[-1][:, columns]))
    return phi, structure.r[columns], (*structure.names[:-1], structure.names[-1][columns])


def add_layer(
    seed: int, t: int, phi: tuple[FloatArray, ...], names: tuple[IntArray, ...]
) -> tuple[tuple[FloatArray, ...], FloatArray, tuple[IntArray, ...]]:
    """Return ``phi``, ``r`` and ``names`` with a nearly flat top layer as wide as the one below; ``r = 1 / K``."""
    width = phi[-1].shape[1]
    layer = draw_flat_topics(streams.make_generator(seed, streams.INIT, t), width, width)
    return (*phi, layer), np.full(width, 1.0 / width), (*names, np.arange(width, dtype=np.int64))


def draw_flat_topics(rng: np.random.Generator, rows: int, width: int) -> FloatArray:
    """Draw nearly flat topics (rows, width), the authors' start: 0.05 + 0.95 U(0, 1), columns divided by their sum."""
    raw = 0.05 + 0.95 * rng.random((rows, width))
    return np.asarray(raw / raw.sum(axis=0))
