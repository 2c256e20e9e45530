"""Weak topics told from good ones: one word for every topic, and the reason for it."""

import numpy as np
from numpy.typing import NDArray

from engine.hierarchy import topics
from engine.quality.background import find_background

LIVE, LIGHT, BACKGROUND, INCOHERENT = "live", "light", "background", "incoherent"
LEAST_NPMI = 0.0  # below it the first words of a topic meet less often than chance would have them

REASONS = {
    LIVE: "",
    LIGHT: "Under 0.1 % of the tokens: the words of so small a topic are mostly noise",
    BACKGROUND: "Spread evenly over the documents, its words meeting hardly more often than by chance",
    INCOHERENT: "NPMI below 0: its first words meet in fewer documents than by chance",
}


def roles(
    parts: NDArray[np.float64], spread: NDArray[np.float32] | None, npmi: NDArray[np.float32] | None
) -> tuple[str, ...]:
    """Say of every topic of a layer whether it is live, and if not, the first reason why.

    Parameters
    ----------
    parts : (K,) array
        Shares of the tokens.
    spread : (K,) array or None
        How evenly documents use it (`engine.quality.spread.spread`), where that is known.
    npmi : (K,) array or None
        Coherence of its first words, where that is known.
    """
    none = np.zeros(len(parts), dtype=bool)
    light = topics.find_light(parts)
    wide = none if spread is None else find_background(spread, npmi)
    poor = none if npmi is None else np.asarray(npmi) < LEAST_NPMI
    words = np.select([light, wide, poor], [LIGHT, BACKGROUND, INCOHERENT], LIVE)
    return tuple(words.tolist())
