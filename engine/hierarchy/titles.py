"""Titles of topics: three words that name what a topic has and its neighbours have not."""

import itertools
from collections.abc import Sequence

import numpy as np

from engine.contract import Array, IntArray
from engine.hierarchy import topics

WORDS = 3
CANDIDATES = 12  # most relevant words of a topic among which its title is chosen
_AGAIN = 0.25  # what a word loses, in relevance, by being in a title already: so much times ln(1 + titles)
_LAST = 1e6  # more than any relevance
_LEAST = 1e-6  # weight of what is left of a topic without its background, below which nothing is


def title_words(
    projection: Array, shares: Array, n: int = WORDS, *, without: Sequence[int] = (), first: IntArray | None = None
) -> IntArray:
    """Choose the words that set every topic of one layer apart, no two topics alike.

    Topics choose in turn, among their most relevant words.  A word counts less the more titles it is in already.
    Who would choose the same words as somebody before, in whatever order, exchanges the last for the next until nobody
    has them, then the last but one, and so on; a topic that finds all taken keeps its most relevant ones, and none
    takes a word of weight 0 instead.

    Parameters
    ----------
    projection : (V, K) array
        Topics over words, such as those of `foreground`.
    shares : (K,) array
        Of the topics in their layer.
    n : int
        How many words; fewer when there are fewer.
    without : sequence of int
        Words that the corpus puts everywhere: in no title, unless a topic has no other words.
    first : (K,) int array, optional
        Topics in the order in which they choose, such as `topics.order`; by their numbers without.

    Returns
    -------
    (K, n) int array
        Word numbers, by what they are worth to the title.
    """
    words, weights = topics.relevant_words(projection, shares, CANDIDATES + len(without))
    value = topics.smoothed(projection, shares, words, weights)
    value = value - _LAST * np.isin(words, np.asarray(without, dtype=np.int64))
    places = np.argsort(-value, axis=1, kind="stable")[:, :CANDIDATES]
    words, value = np.take_along_axis(words, places, axis=1), np.take_along_axis(value, places, axis=1)
    titles = words[:, :n].copy()
    used, taken = np.zeros(len(projection)), set[frozenset[int]]()
    for topic in range(len(titles)) if first is None else first.tolist():
        worth = value[topic] - _AGAIN * np.log1p(used[words[topic]])
        ranked = words[topic, np.argsort(-worth, kind="stable")].tolist()
        held = int(np.isfinite(worth).sum())  # words of weight 0 have no relevance
        choices = itertools.combinations(ranked[:held], titles.shape[1])
        titles[topic] = next(
            (choice for choice in choices if frozenset(choice) not in taken), ranked[: titles.shape[1]]
        )
        taken.add(frozenset(titles[topic].tolist()))
        used[titles[topic]] += 1
    return titles


def foreground(phi: Sequence[Array], background: Sequence[Array]) -> list[Array]:
    """Project the topics of every layer down to the words, without what their background children bring.

    A topic that nearly consists of them keeps them all, and so does a background topic its own words.

    Parameters
    ----------
    phi : sequence of (K_{l-1}, K_l) arrays
        The topics of layers 1..L, columns on the simplex.
    background : sequence of (K_l,) bool arrays
        Background topics of every layer.

    Returns
    -------
    list of (V, K_l) arrays
    """
    projected = [phi[0]]
    for layer, below in zip(phi[1:], background, strict=False):
        kept = layer * ~np.asarray(below, dtype=bool)[:, None]
        mass = kept.sum(axis=0)
        enough = mass > _LEAST
        projected.append(
            projected[-1] @ np.where(enough, kept / np.where(enough, mass, 1.0), layer).astype(layer.dtype)
        )
    return projected
