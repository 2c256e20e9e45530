"""What edits tell every later step: the part of a step that a state with steering takes in addition.

With ``phi_k ~ Dir(eta + e_k)`` a topic is drawn from ``Dir(eta + e_k + x_k)``, so ``e`` is added to the counts and all
else stays as it is.  A word kept out of a topic has the weight 0 there, a pinned topic keeps the weights and the mean
that it has.  A banned word has in every topic the share that it has of all tokens: its tokens then follow the others of
their document and say nothing about topics, and held-out documents can be scored as before.  No topic shows it.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from topiary.engine.contract import Array, FloatArray
from topiary.engine.hierarchy.topics import collect_arrays
from topiary.engine.steering.edit import Steering, read_steering
from topiary.engine.topic_moves.steps import LayerMeans, TopicMean

# Weights of 0: samplers divide by sums of weights, which must not be 0, and products of three must not be subnormal.
ABSENT = 1e-100


class Entries(NamedTuple):
    """Some entries of a table, and what belongs to each of them."""

    rows: Array
    columns: Array
    values: Array


class Guide:
    """The steering of a state in its present columns."""

    def __init__(self, steering: Steering, names: Sequence[Array]) -> None:
        self.prior = choose_entries(steering.prior, names[0])
        self.removed = [
            find_columns(names[layer - 1], steering.removed[steering.removed[:, 0] == layer, 1])[0]
            for layer in range(1, len(names) + 1)
        ]
        self.out = [self._choose_out(steering.out, names, layer) for layer in range(1, len(names) + 1)]
        self.pinned = [
            find_columns(names[layer - 1], steering.pinned[steering.pinned[:, 0] == layer, 1])[0]
            for layer in range(1, len(names) + 1)
        ]
        self.banned, self.shares = steering.banned[:, 0].astype(np.int64), steering.banned[:, 1:]

    def _choose_out(self, out: Array, names: Sequence[Array], layer: int) -> tuple[Array, Array]:
        """Return the rows and columns of a layer whose weights are 0, among them the rows of removed topics."""
        _, rows, columns = out[out[:, 0] == layer].T
        columns, found = find_columns(names[layer - 1], columns)
        rows = rows[found]
        if layer == 1:
            return rows, columns
        rows, there = find_columns(names[layer - 2], rows)
        gone, width = self.removed[layer - 2], len(names[layer - 1])
        return np.append(rows, np.repeat(gone, width)), np.append(columns[there], np.tile(np.arange(width), len(gone)))

    def drop_banned(self, tables: Sequence[Array]) -> list[Array]:
        """Return the counts of all layers without those of banned words."""
        first, *others = tables
        if len(self.banned):
            first = first.copy()
            first[self.banned] = 0
        return [first, *others]

    def add_prior(self, tables: Sequence[Array]) -> list[Array]:
        """Return the counts of all layers with what is added to the prior of words."""
        first, *others = tables
        if len(self.prior.rows):
            first = first.copy()
            np.add.at(first, (self.prior.rows, self.prior.columns), self.prior.values)
        return [first, *others]

    def hold_topics(self, old: Sequence[Array], new: Sequence[Array]) -> None:
        """Put back, in the new topics of all layers (or of none), what no step may change."""
        for layer, (before, after) in enumerate(zip(old, new, strict=False)):
            rows, columns = self.out[layer]
            banned = self.banned if layer == 0 else self.banned[:0]
            if len(rows) or len(banned):
                lost = np.bincount(columns, weights=after[rows, columns], minlength=after.shape[1])
                after[rows, columns] = ABSENT
                lost = lost + after[banned].sum(axis=0)
                after[banned] = 0.0
                left = 1.0 - lost if lost.max() < 0.5 else after.sum(axis=0, dtype=np.float64)
                scale = (1.0 - self.shares[: len(banned)].sum()) / left
                np.multiply(after, scale.astype(after.dtype), out=after)
                after[banned] = self.shares[: len(banned)]
            after[:, self.pinned[layer]] = before[:, self.pinned[layer]]

    def cut_top(self, r: FloatArray) -> FloatArray:
        """Return what is above the topics of the last layer, of which removed ones get nothing."""
        r = r.copy()
        r[self.removed[-1]] = ABSENT
        return r

    def hold_means(self, old: LayerMeans, new: LayerMeans) -> None:
        """Put back, in the new running means, what no step may change."""
        self.hold_topics(old.mean, new.mean)
        for layer, pinned in enumerate(self.pinned):
            new.averaged[layer][pinned] = old.averaged[layer][pinned]
            new.variance[layer][:, pinned] = old.variance[layer][:, pinned] if len(old.variance) else 0.0
            new.variance[layer][self.out[layer]] = 0.0
        new.variance[0][self.banned] = 0.0

    def hold_mean(self, old: TopicMean, new: TopicMean) -> None:
        """Do what :meth:`hold_means` does for a model of one layer."""
        before, after = (LayerMeans((mean.phi,), (mean.samples,), (mean.variance,), np.zeros(0)) for mean in (old, new))
        self.hold_means(before, after)


def read_guide(arrays: Sequence[Array], names: Sequence[Array]) -> Guide | None:
    """Return the guide of a state with this steering and these original columns; None before the first edit."""
    return Guide(read_steering(arrays), names) if arrays else None


def keep_steering(arrays: Sequence[Array]) -> dict[str, Array]:
    """Return the arrays that a snapshot needs to be steered as before (for ``Kernel.keep``)."""
    return {f"steering.{i}": array for i, array in enumerate(arrays)}


def restore_steering(
    arrays: dict[str, Array], phi: Sequence[FloatArray], names: Sequence[Array]
) -> tuple[tuple[Array, ...], tuple[FloatArray, ...]]:
    """Return the steering of a snapshot, or (), and its topics with the weights that banned and absent words have."""
    kept = read_steering(collect_arrays(arrays, "steering"))
    if not int(kept.applied):
        return (), tuple(phi)
    steering = Steering(*(np.asarray(array, empty.dtype) for array, empty in zip(kept, read_steering(()), strict=True)))
    phi = tuple(layer.copy() for layer in phi)
    Guide(steering, names).hold_topics(phi, phi)
    return tuple(steering), phi


def hide_banned(phi: FloatArray, arrays: Sequence[Array]) -> FloatArray:
    """Return the topics of layer 1 as they are shown: without the words that the steering of a state bans."""
    banned = read_steering(arrays).banned[:, 0].astype(np.int64)
    if not len(banned):
        return phi
    shown = phi.copy()
    shown[banned] = 0.0
    shown /= shown.sum(axis=0)
    shown[banned] = ABSENT
    return shown


def find_columns(names: Array, wanted: Array) -> tuple[Array, Array]:
    """Return where the topics with the ``wanted`` original columns are, without those that are gone, and a mask."""
    places = np.minimum(np.searchsorted(names, wanted), len(names) - 1)
    found = names[places] == wanted
    return places[found], found


def choose_entries(prior: Array, names: Array) -> Entries:
    """Return the entries of ``Steering.prior`` whose topics are still there."""
    columns, found = find_columns(names, prior[:, 1])
    return Entries(prior[found, 0], columns, prior[found, 2])
