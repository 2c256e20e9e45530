"""What a deep exponential family shows of itself: topics on the simplex, links, popularity, mean activations."""

import numpy as np

from engine.black_box.documents import Model
from engine.black_box.families import BERNOULLI, GAMMA, IDENTITY, SOFT
from engine.contract import BINARY, COUNT, LINEAR, POSITIVE, SIGMOID, SIGNED, SOFTPLUS, FloatArray, Link, Topics
from engine.contract import GAMMA as GAMMA_UNITS


def scales(table: FloatArray) -> FloatArray:
    """Column sums (K_1,) of the mean ``W_0``: tokens that one unit of activation brings."""
    return np.asarray(np.maximum(table.sum(axis=0), 1e-300))


def linear(model: Model) -> bool:
    """Whether means of units are linear in those above, so that the scale of ``W_0`` can move into them."""
    return model.link == IDENTITY


def presented(model: Model, matrices: tuple[FloatArray, ...], activity: tuple[FloatArray, ...]) -> Topics:
    """The hierarchy of a model of documents.

    Parameters
    ----------
    model : Model
    matrices : tuple of float64
        Mean weights ``E[W_0]`` (V, K_1), ``E[W_l]`` (K_l, K_{l+1} + intercept).
    activity : tuple of (K_l,) float64
        Mean ``E[z]`` over documents.

    Returns
    -------
    Topics
        ``phi[0]`` are the columns of ``W_0`` on the simplex; their scale c lives in the activations, which are tokens.
        Links that are linear say how many tokens of a unit below come with a unit above; others speak of the units
        themselves, and ``means[0]`` are then the tokens that a unit brings where it is on.  ``r`` are the mean
        activations of the top.
    """
    table, *upper = matrices
    scale = scales(table)
    phi, links, value = [table / scale], [], scale
    popularity = [scale * activity[0]]
    for link, matrix in enumerate(upper):
        width = len(activity[link + 1])
        size = scale[:, None] if link == 0 and linear(model) else np.ones((1, 1))
        weights = np.ascontiguousarray(matrix[:, :width] * size)
        bias = (matrix[:, width:] * size)[:, 0] if model.bias else np.zeros(len(matrix))
        links.append(Link(POSITIVE if model.positive else SIGNED, _response(model), np.ascontiguousarray(bias)))
        phi.append(weights)
        value = value @ _effects(model, matrix, activity[link + 1])
        popularity.append(value * activity[link + 1])
    first = activity[0] * scale if linear(model) else scale
    unit = {GAMMA: GAMMA_UNITS, BERNOULLI: BINARY}.get(model.family, COUNT)
    return Topics(
        phi=tuple(phi),
        r=activity[-1] * scale if len(activity) == 1 and linear(model) else activity[-1],
        links=tuple(links),
        units=(unit,) * len(activity),
        popularity=tuple(popularity),
        means=(first, *activity[1:]),
    )


def tokens(model: Model, scale: FloatArray, units: FloatArray) -> tuple[FloatArray, ...]:
    """Activations of every layer from mean units (documents, T): those of layer 1 in tokens."""
    layers = np.split(units, model.offsets[1:-1].tolist(), axis=1)
    return (layers[0] * scale, *layers[1:])


def _response(model: Model) -> str:
    return {IDENTITY: LINEAR, SOFT: SOFTPLUS}.get(model.link, SIGMOID)


def _effects(model: Model, matrix: FloatArray, activity: FloatArray) -> FloatArray:
    """Size of what one unit more does to the mean of each unit below (K_l, K_{l+1}), the others at their means."""
    weights = matrix[:, : len(activity)]
    if linear(model):
        return np.abs(weights)
    base = weights @ activity + (matrix[:, len(activity)] if model.bias else 0.0)
    off = base[:, None] - weights * (activity if model.family == BERNOULLI else 0.0)
    return np.abs(_mean(model, off + weights) - _mean(model, off))


def _mean(model: Model, sums: FloatArray) -> FloatArray:
    if model.link == SOFT:
        return np.logaddexp(0.0, sums)
    return 1.0 / (1.0 + np.exp(-sums))
