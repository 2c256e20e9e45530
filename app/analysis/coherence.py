"""Coherence and diversity of the topics that are shown, from what a snapshot keeps: no corpus is read."""

from app.analysis.hierarchy import Hierarchy
from engine.hierarchy import topics
from engine.quality.coherence import WORDS
from engine.quality.measures import Coherence


def coherence_of(hierarchy: Hierarchy) -> tuple[Coherence, ...]:
    """Coherence of every layer, layer 1 first; empty where the snapshot has no NPMI."""
    return tuple(
        Coherence(live=~topics.find_light(parts), words=words[:, :WORDS], npmi=npmi)
        for parts, words, npmi in zip(hierarchy.shares, hierarchy.words, hierarchy.npmi, strict=False)
    )
