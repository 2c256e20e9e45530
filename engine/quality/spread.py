"""How evenly documents use a topic, and which topics are the background of all of them."""

import numpy as np
from numpy.typing import NDArray

from engine.contract import Array, FloatArray

FEWEST = 50  # documents, below which nothing can be said
BACKGROUND = 0.3  # effective share of the documents from which a topic may be background
BY_CHANCE = 0.2  # NPMI below which words meet little more often than chance has them
_TIMES = 3.0  # and how many times the median of its layer: in some corpora, and in upper layers, all are spread wide


def spread(shares: Array) -> FloatArray | None:
    """Effective share of the documents that use each topic, 0 to 1.

    ``exp(entropy) / n`` of the topic's distribution over n documents: 1 where all use it alike, 1 / n where one does.

    Parameters
    ----------
    shares : (n, K) array
        Share of every topic in documents; -1 in rows that are not known.

    Returns
    -------
    (K,) float64 array, or None where too few documents are known
        0 for a topic that no document uses.
    """
    known = np.asarray(shares, dtype=np.float64)
    known = known[(known >= 0).all(axis=1)]
    if len(known) < FEWEST:
        return None
    totals = known.sum(axis=0)
    part = known / np.where(totals > 0, totals, 1.0)
    entropy = -(part * np.log(np.where(part > 0, part, 1.0))).sum(axis=0)
    return np.asarray(np.where(totals > 0, np.exp(entropy) / len(known), 0.0))


def background(spreads: Array, npmi: Array | None = None) -> NDArray[np.bool_]:
    """Which topics (K,) of a layer are spread so evenly over the documents that they say nothing of any.

    Parameters
    ----------
    spreads : (K,) array
        See :func:`spread`.
    npmi : (K,) array, optional
        Coherence of their first words, where it is known: what many documents are about has words that meet, and is
        no background however many these are.
    """
    wide = np.asarray(spreads)
    if not len(wide):
        return np.zeros(0, dtype=bool)
    even = wide >= max(BACKGROUND, _TIMES * float(np.median(wide)))
    return even if npmi is None else even & (np.asarray(npmi) < BY_CHANCE)
