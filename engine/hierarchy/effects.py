"""Effects of units of any layer on the words: projections for linear links on the simplex, changes of rates otherwise.

The effect of a unit is the change in the expected rates of the words when the unit goes from off to on (binary units)
or increases by one (all others), with all other units at their means.  It is computed layer by layer, downwards.
A word is *raised* if its rate increases, *lowered* if it decreases.
"""

from typing import NamedTuple

import numpy as np
import scipy

from topiary.engine.contract import BINARY, LINEAR, SIGMOID, Array, FloatArray, Link, Topics
from topiary.engine.hierarchy import topics as simplex

_LEAST_MEAN = 1e-12  # least mean activation by which a change is divided


class Effects(NamedTuple):
    """Effects of the units of every layer, layer 1 first.

    Attributes
    ----------
    raises : tuple of (V, K_l) arrays, >= 0
        Increase of the rates of words.
    lowers : tuple of (V, K_l) arrays or None
        Decrease of the rates of words; None if no weight from that layer down is negative.
    """

    raises: tuple[Array, ...]
    lowers: tuple[Array | None, ...]


class Presentation(NamedTuple):
    """A hierarchy as users see it, for any model.

    Attributes
    ----------
    words : tuple of (V, K_l) arrays
        The words of every topic, columns that sum to 1: see :func:`list_topic_words`.
    lowers : tuple of (V, K_l) arrays or None
        Decrease of the rates of the words that topics lower, see :class:`Effects`.
    weights : tuple of (K_{l-1}, K_l) arrays
        ``phi[0]`` and the weights of the edges, see :func:`compute_edge_weights`.
    popularity : tuple of (K_l,) float64 arrays
    """

    words: tuple[Array, ...]
    lowers: tuple[Array | None, ...]
    weights: tuple[Array, ...]
    popularity: tuple[FloatArray, ...]


def present_hierarchy(topics: Topics) -> Presentation:
    """Return the words, weights and popularity of a hierarchy as users see them."""
    effects = compute_effects(topics)
    weights = (topics.phi[0], *compute_edge_weights(topics))
    return Presentation(
        tuple(list_topic_words(topics, effects)), effects.lowers, weights, tuple(compute_popularity(topics))
    )


def compute_effects(topics: Topics) -> Effects:
    """Return the effects of every unit on the words.

    If all links are linear and on the simplex, ``raises`` are exactly the products Phi^(1) ... Phi^(l).
    """
    if not topics.links:
        return Effects(tuple(simplex.project_topics(topics.phi)), (None,) * len(topics.phi))
    raises: list[Array] = [topics.phi[0]]
    lowers: list[Array | None] = [None]
    has_negative = False
    for layer in range(2, len(topics.phi) + 1):
        on, off = _switch_units(topics, layer)
        change = topics.phi[0] @ (_send_down(topics, layer, on) - _send_down(topics, layer, off))
        has_negative = has_negative or bool((topics.phi[layer - 1] < 0).any())
        raises.append(np.maximum(change, 0.0))
        lowers.append(np.maximum(-change, 0.0) if has_negative else None)
    return Effects(tuple(raises), tuple(lowers))


def list_topic_words(topics: Topics, effects: Effects | None = None) -> list[Array]:
    """Return the words of the units of every layer, (V, K_l): their increases, with columns scaled to sum 1.

    The column of a unit that raises no word is flat.
    """
    raises = (effects or compute_effects(topics)).raises
    return list(raises) if not topics.links else [raises[0], *map(_normalise_columns, raises[1:])]


def compute_edge_weights(topics: Topics) -> list[Array]:
    """Return the weights (K_{l-1}, K_l) of the edges between neighbouring layers, from layer 2 on.

    For links on the simplex these are the topics themselves.  For other links they are the signed changes that a parent
    makes in each child, relative to the child's mean, scaled so that the absolute values of a column sum to 1.  A
    threshold then means the same in every model.
    """
    if not topics.links:
        return list(topics.phi[1:])
    return [_normalise_columns(_compare_means(topics, layer)) for layer in range(2, len(topics.phi) + 1)]


def compute_popularity(topics: Topics) -> list[FloatArray]:
    """Return the popularity of each unit, (K_l,) per layer: given by the model, or ``Phi^(l+1) ... Phi^(L) r``."""
    return list(topics.popularity) or simplex.weigh_topics(topics.phi, topics.r)


def _switch_units(topics: Topics, layer: int) -> tuple[FloatArray, FloatArray]:
    """Return two tables (K_l, K_l) of activations of a layer: in column k unit k is on, or off, the others at means.

    A unit that is not binary is at its mean plus 1, or at its mean.
    """
    means = topics.means[layer - 1]
    off = np.tile(means[:, None], (1, len(means)))
    on = off.copy()
    binary = bool(topics.units) and topics.units[layer - 1] == BINARY
    np.fill_diagonal(on, 1.0 if binary else means + 1.0)
    if binary:
        np.fill_diagonal(off, 0.0)
    return on, off


def _compare_means(topics: Topics, layer: int) -> FloatArray:
    """Return the change of each mean below when a unit of ``layer`` is switched on, relative to that mean."""
    link, weights = topics.links[layer - 2], topics.phi[layer - 1]
    on, off = (_compute_means(link, weights, values) for values in _switch_units(topics, layer))
    base = _compute_means(link, weights, topics.means[layer - 1][:, None])
    return np.asarray((on - off) / np.maximum(np.abs(base), _LEAST_MEAN))


def _send_down(topics: Topics, layer: int, above: FloatArray) -> FloatArray:
    """Return the expected tokens (K_1, m) of the units of layer 1, given activations (K_l, m) of a layer."""
    values = above
    for below in range(layer - 1, 0, -1):
        link, weights = topics.links[below - 1], topics.phi[below]
        values = _compute_means(link, weights, values)
    return values if topics.links[0].response == LINEAR else np.asarray(topics.means[0][:, None] * values)


def _compute_means(link: Link, weights: Array, above: FloatArray) -> FloatArray:
    """Return the means (K_{l-1}, m) of the units below, given activations (K_l, m) of the units above."""
    sums = weights @ above + link.bias[:, None]
    if link.response == LINEAR:
        return np.asarray(sums)
    return np.asarray(scipy.special.expit(sums) if link.response == SIGMOID else np.logaddexp(0.0, sums))


def _normalise_columns(table: Array) -> Array:
    """Scale columns so that their absolute values sum to 1; a column of zeros becomes flat."""
    totals = np.abs(table).sum(axis=0)
    return np.asarray(np.where(totals > 0, table / np.where(totals > 0, totals, 1.0), 1.0 / len(table)))
