"""What units of a layer do to the layer below: the change of its mean when one is switched on, all others at theirs."""

import numpy as np

from engine.belief.network import MOST_LOGIT
from engine.contract import FloatArray


def sigmoids(x: FloatArray) -> FloatArray:
    """The logistic function of log-odds held within bounds."""
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(x, -MOST_LOGIT, MOST_LOGIT))))


def switched(weights: FloatArray, bias: FloatArray, above: FloatArray) -> FloatArray:
    """Change of every unit's mean, (K_l, K_{l+1}), when one unit above goes from off to on.

    ``above`` (K_{l+1},) are the mean activations, at which all other units stay.
    """
    rest = (weights @ above + bias)[:, None] - weights * above
    return sigmoids(rest + weights) - sigmoids(rest)


def popularity(
    load: FloatArray, active: tuple[FloatArray, ...], weights: tuple[FloatArray, ...], biases: tuple[FloatArray, ...]
) -> tuple[FloatArray, ...]:
    """How much of the documents every unit carries, a layer each.

    Of layer 1 the share of tokens, ``load`` (K_1,); of a unit above, how often it is on times what it changes when it
    is: the sum over the units below of the size of the change of their mean, relative to it, times their popularity.
    """
    found = [load]
    for below, above, table, bias in zip(active[:-1], active[1:], weights, biases[:-1], strict=True):
        worth = found[-1] / np.maximum(below, 1e-9)
        found.append(above * (np.abs(switched(table, bias, above)).T @ worth))
    return tuple(found)
