"""Effects of units of any layer on the words: projections for linear links on the simplex, changes of rates otherwise.

The effect of a unit is the change of the expected rates of the words when it goes from off to on (binary units) or up
by one (all others), with everything else at its mean, sent down layer by layer.  A word whose rate rises is *raised*,
one whose rate falls *lowered*.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import expit

from engine.contract import BINARY, LINEAR, SIGMOID, Array, FloatArray, Link, Topics
from engine.hierarchy import topics as simplex

_LEAST = 1e-12  # mean activation of a unit that is never on


class Effects(NamedTuple):
    """Effects of the units of every layer, layer 1 first.

    Attributes
    ----------
    raises : tuple of (V, K_l) arrays, >= 0
        Increase of the rates of words.
    lowers : tuple of (V, K_l) arrays or None
        Decrease of the rates; None where no weight from that layer down is negative.
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
        The words that topics lower, see :class:`Effects`.
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

    For hierarchies whose links are all linear and on the simplex ``raises`` are Phi^(1) ... Phi^(l), bit for bit.
    """
    if not topics.links:
        return Effects(tuple(simplex.project_topics(topics.phi)), (None,) * len(topics.phi))
    raises: list[Array] = [topics.phi[0]]
    lowers: list[Array | None] = [None]
    falls = False
    for layer in range(2, len(topics.phi) + 1):
        on, off = _switch_units(topics, layer)
        change = topics.phi[0] @ (_send_down(topics, layer, on) - _send_down(topics, layer, off))
        falls = falls or bool((topics.phi[layer - 1] < 0).any())
        raises.append(np.maximum(change, 0.0))
        lowers.append(np.maximum(-change, 0.0) if falls else None)
    return Effects(tuple(raises), tuple(lowers))


def list_topic_words(topics: Topics, effects: Effects | None = None) -> list[Array]:
    """Return the words of the units of every layer, (V, K_l), proportional to what a unit raises; columns sum to 1.

    Columns of units that raise nothing are flat.
    """
    raises = (effects or compute_effects(topics)).raises
    return list(raises) if not topics.links else [raises[0], *map(_normalise_columns, raises[1:])]


def compute_edge_weights(topics: Topics) -> list[Array]:
    """Return the weights (K_{l-1}, K_l) of the edges between neighbouring layers, from layer 2 on.

    For links on the simplex these are the topics themselves.  For others they are the changes that a parent makes in
    each child, relative to the child's mean and with their sign, as shares of all its changes: absolute values of a
    column sum to 1, so that a threshold means the same in every model.
    """
    if not topics.links:
        return list(topics.phi[1:])
    return [_normalise_columns(_compare_means(topics, layer)) for layer in range(2, len(topics.phi) + 1)]


def compute_popularity(topics: Topics) -> list[FloatArray]:
    """Return how much of the documents each unit carries, (K_l,) per layer: given by the model, or Phi^(l+1) ... r."""
    return list(topics.popularity) or simplex.weigh_topics(topics.phi, topics.r)


def _switch_units(topics: Topics, layer: int) -> tuple[FloatArray, FloatArray]:
    """Return activations (K_l, K_l) of a layer, one unit per column on, and off, the others at their means."""
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
    return np.asarray((on - off) / np.maximum(np.abs(base), _LEAST))


def _send_down(topics: Topics, layer: int, above: FloatArray) -> FloatArray:
    """Return the tokens (K_1, m) of layer 1 under activations (K_l, m) of a layer."""
    values = above
    for below in range(layer - 1, 0, -1):
        link, weights = topics.links[below - 1], topics.phi[below]
        values = _compute_means(link, weights, values)
    return values if topics.links[0].response == LINEAR else np.asarray(topics.means[0][:, None] * values)


def _compute_means(link: Link, weights: Array, above: FloatArray) -> FloatArray:
    """Return the means of the units below under activations (K_l, m) of those above."""
    raw = weights @ above + link.bias[:, None]
    if link.response == LINEAR:
        return np.asarray(raw)
    return np.asarray(expit(raw) if link.response == SIGMOID else np.logaddexp(0.0, raw))


def _normalise_columns(table: Array) -> Array:
    """Return columns whose absolute values sum to 1; flat ones where a column is 0."""
    totals = np.abs(table).sum(axis=0)
    return np.asarray(np.where(totals > 0, table / np.where(totals > 0, totals, 1.0), 1.0 / len(table)))
