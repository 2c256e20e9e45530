"""Which topics an edit has changed, beyond what goes on in a chain anyway."""

import numpy as np

from topiary.engine.contract import Array

ALIKE = 0.9  # cosine: in twenty sweeps each of two continuations of one state, no topic falls below it


def find_changed_topics(before: Array, after: Array) -> Array:
    """Return the columns of layer 1 whose words are others than before, ascending.

    ``before`` and ``after`` (V, K) are counts of words, or topics; new columns, for which ``after`` may be wider, have
    changed, and columns without words in both have not.  Total variation would not do: it is above .1 for nearly all
    topics of two continuations of one chain.
    """
    a = np.pad(np.asarray(before, np.float64), ((0, 0), (0, after.shape[1] - before.shape[1])))
    b = np.asarray(after, np.float64)
    lengths = np.sqrt((a * a).sum(axis=0) * (b * b).sum(axis=0))
    alike = (a * b).sum(axis=0) >= ALIKE * lengths
    there = a.any(axis=0) | b.any(axis=0)
    return np.flatnonzero(there & ~(alike & (lengths > 0.0)))
