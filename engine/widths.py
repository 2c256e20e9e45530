"""Widths learnt layer by layer: a layer is added, all are trained together, idle topics of the new one are pruned.

Algorithm 2 of DATM (Zhang et al. 2020), after the greedy training of the gamma belief network (Zhou, Cong and
Chen 2016).  Only the top layer is ever pruned, so nothing above it has to be divided out again.

A model that learns its widths keeps two arrays more in its State (:class:`Structure`): the original numbers of the
topics that are left, which are their names for people, and when the stage of the top layer began.  At the beginning
of a step it asks :func:`grow` for what is due and carries its own arrays along: ``columns`` says which topics of the
former top layer stay, ``added`` whether a new layer stands above them::

    change = widths.grow(seed, t, structure, widths.rule_of(config))  # t steps are done, step t + 1 begins
    if change is not None:
        mine = (*mine[:-1], mine[-1][change.columns])  # per topic of the former top layer
        if change.added:
            mine = (*mine, np.zeros(change.structure.phi[-1].shape[1]))
"""

from typing import Any, NamedTuple

import numpy as np

from engine import streams
from engine.contract import Array, Event, FloatArray, IntArray

SETTLED = -1  # ``born`` of a structure that does not change any more


class GrowthRule(NamedTuple):
    """How a structure grows.

    Attributes
    ----------
    layers : int
        Layers wanted.
    budget : int
        Topics the first layer starts with.
    every : int
        Steps of each stage: a layer is trained so long before it is pruned.
    below : float
        A topic of the top layer goes when its ``r_k`` is below this.
    """

    layers: int
    budget: int
    every: int
    below: float


class Structure(NamedTuple):
    """A hierarchy whose widths are being learnt.

    Attributes
    ----------
    phi : tuple of (K_{l-1}, K_l) float64
    r : (K_L,) float64
    names : tuple of (K_l,) int64
        The column every topic had when its layer began: its name for the whole life of a run.
    born : () int64
        Steps done when the stage of the top layer began; ``SETTLED`` when all are done.
    """

    phi: tuple[FloatArray, ...]
    r: FloatArray
    names: tuple[IntArray, ...]
    born: Array


class StructureChange(NamedTuple):
    """A structure after pruning, and perhaps with a layer more.

    Attributes
    ----------
    structure : Structure
    columns : (kept,) int64
        Columns of the former top layer that stay, ascending.
    added : bool
        Whether there is a new top layer.
    events : tuple of Event
    """

    structure: Structure
    columns: IntArray
    added: bool
    events: tuple[Event, ...]


def read_rule(config: Any) -> GrowthRule | None:
    """The rule that a Config asks for by ``layers``, ``grow``, ``grow_every`` and ``prune_below``; None without."""
    if not config.grow:
        return None
    return GrowthRule(len(config.layers), config.layers[0], config.grow_every, config.prune_below)


def choose_first_widths(config: Any) -> tuple[int, ...]:
    """Widths a run begins with: one layer when they are learnt, else those of the settings."""
    return tuple(config.layers[:1] if config.grow else config.layers)


def name_topics(phi: tuple[FloatArray, ...]) -> tuple[IntArray, ...]:
    """Names of topics none of which has been pruned: their columns."""
    return tuple(np.arange(layer.shape[1], dtype=np.int64) for layer in phi)


def restore_names(
    arrays: dict[str, Array], phi: tuple[FloatArray, ...], t: int, rule: GrowthRule | None
) -> tuple[tuple[IntArray, ...], Array]:
    """``names`` and ``born`` of a structure that goes on from a snapshot.

    A structure that still lacks layers goes on growing where it was; one that never grew begins a stage now.
    """
    names = tuple(np.asarray(arrays.get(f"names.{i}", name), dtype=np.int64) for i, name in enumerate(name_topics(phi)))
    if rule is None:
        return names, np.array(SETTLED, dtype=np.int64)
    born = int(arrays.get("born", SETTLED))
    if born > t or (born < 0 and len(phi) < rule.layers):
        born = t
    return names, np.array(born, dtype=np.int64)


def keep_names(names: tuple[IntArray, ...], born: Array) -> dict[str, Array]:
    """What a snapshot keeps of a structure beside its topics (for ``Kernel.keep``)."""
    return {f"names.{layer}": numbers for layer, numbers in enumerate(names)} | {"born": born}


def grow_structure(seed: int, t: int, structure: Structure, rule: GrowthRule | None) -> StructureChange | None:
    """Change a structure where a change is due after ``t`` steps; None where none is."""
    born = int(structure.born)
    if rule is None or born == SETTLED or t - born < rule.every:
        return None
    columns = find_active(structure.r, rule.below)
    phi, r, names = prune_topics(structure, columns)
    layer, before = len(phi), len(structure.r)
    gone = np.setdiff1d(structure.names[-1], names[-1])
    events = [Event("pruned", layer, tuple(gone.tolist()), before, len(r))]
    added = layer < rule.layers
    if added:
        phi, r, names = add_layer(seed, t, phi, names)
        events.append(Event("layer added", layer + 1, (), 0, len(r)))
    grown = Structure(phi, r, names, np.array(t if added else SETTLED, dtype=np.int64))
    return StructureChange(grown, columns, added, tuple(events))


def find_active(r: FloatArray, below: float) -> IntArray:
    """Columns of the top layer to keep, ascending: ``r_k >= below``, and the heaviest in any case."""
    columns = np.flatnonzero(r >= below)
    return columns if len(columns) else np.array([int(r.argmax())])


def prune_topics(
    structure: Structure, columns: IntArray
) -> tuple[tuple[FloatArray, ...], FloatArray, tuple[IntArray, ...]]:
    """``phi``, ``r`` and ``names`` with only these columns of the top layer."""
    phi = (*structure.phi[:-1], np.ascontiguousarray(structure.phi[-1][:, columns]))
    return phi, structure.r[columns], (*structure.names[:-1], structure.names[-1][columns])


def add_layer(
    seed: int, t: int, phi: tuple[FloatArray, ...], names: tuple[IntArray, ...]
) -> tuple[tuple[FloatArray, ...], FloatArray, tuple[IntArray, ...]]:
    """Put a nearly flat layer on top, as wide as the one below: 0.05 + 0.95 U(0, 1) normalised, r = 1/K."""
    width = phi[-1].shape[1]
    layer = draw_flat_topics(streams.make_generator(seed, streams.INIT, t), width, width)
    return (*phi, layer), np.full(width, 1.0 / width), (*names, np.arange(width, dtype=np.int64))


def draw_flat_topics(rng: np.random.Generator, rows: int, width: int) -> FloatArray:
    """Topics as the authors start them, (rows, width): 0.05 + 0.95 U(0, 1), columns divided by their sum."""
    raw = 0.05 + 0.95 * rng.random((rows, width))
    return np.asarray(raw / raw.sum(axis=0))
