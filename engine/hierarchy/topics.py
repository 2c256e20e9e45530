"""What a hierarchy of topics says: projections to words, popularity, ranks, top words, titles (models.md 0).

Letters follow the papers: ``phi[l-1]`` is Phi^(l), (K_{l-1}, K_l) with columns on the simplex and
``K_0 = V`` words; ``r`` (K_L,) are the gamma shapes of the top layer.
"""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.contract import Array, IntArray, Topics

TRADE = 0.3  # of a title, between weight and lift

LIGHT = 0.001  # share of the tokens; words of topics with fewer are noise


def projections(phi: Sequence[Array]) -> list[Array]:
    """Project the topics of every layer down to the words.

    Parameters
    ----------
    phi : sequence of (K_{l-1}, K_l) arrays
        The topics of layers 1..L, columns on the simplex.

    Returns
    -------
    list of (V, K_l) arrays
        ``Phi^(1) ... Phi^(l)`` for l = 1..L (DLDA section 4); columns lie on the simplex of words.
    """
    projected = [phi[0]]
    for layer in phi[1:]:
        projected.append(projected[-1] @ layer)
    return projected


def restored(arrays: Mapping[str, Array]) -> Topics:
    """Read the hierarchy that a snapshot keeps in single precision; columns sum to 1 in double precision again.

    Parameters
    ----------
    arrays : mapping of str to array
        ``phi.0``, ``phi.1`` ... and ``r``; anything else is passed over.
    """
    tables = [np.asarray(table, dtype=np.float64) for table in numbered(arrays, "phi")]
    phi = tuple(np.ascontiguousarray(table / table.sum(axis=0)) for table in tables)
    return Topics(phi, np.asarray(arrays["r"], dtype=np.float64))


def numbered(arrays: Mapping[str, Array], name: str) -> tuple[Array, ...]:
    """Give the arrays ``name.0``, ``name.1`` ... of a snapshot; none where it has none."""
    names = itertools.takewhile(arrays.__contains__, (f"{name}.{layer}" for layer in itertools.count()))
    return tuple(arrays[each] for each in names)


def popularity(phi: Sequence[Array], r: Array) -> list[NDArray[np.float64]]:
    """Weigh the topics of every layer: ``Phi^(l+1) ... Phi^(L) r``, and ``r`` itself for the top.

    Returns
    -------
    list of (K_l,) float64 arrays, >= 0
        Since columns are on the simplex every layer has the same sum, that of ``r``.
    """
    weights = [np.asarray(r, dtype=np.float64)]
    for layer in reversed(phi[1:]):
        weights.append(np.asarray(layer, dtype=np.float64) @ weights[-1])
    return weights[::-1]


def shares(weights: Array) -> NDArray[np.float64]:
    """Share of each topic in its layer: popularity (K_l,) scaled to sum 1 (equal parts when all are 0)."""
    total = float(weights.sum())
    if total <= 0.0:
        return np.full(len(weights), 1.0 / len(weights))
    return np.asarray(weights, dtype=np.float64) / total


def light(parts: Array) -> NDArray[np.bool_]:
    """Which topics (K_l,) of a layer hold so few tokens that their words are noise, by their shares.

    Those of under 0.1 % of the tokens; of more than 500 topics, those of under half an equal share.
    """
    return np.asarray(parts) < min(LIGHT, 0.5 / len(parts))


def order(weights: Array) -> NDArray[np.intp]:
    """Topic columns (K_l,) by popularity, largest first; equals stay in the order of their columns."""
    return np.argsort(-np.asarray(weights), kind="stable")


def ranks(weights: Array) -> NDArray[np.intp]:
    """Rank of every topic (K_l,), 1 = most popular: the number printed in the papers' figures."""
    by_rank = order(weights)
    places = np.empty_like(by_rank)
    places[by_rank] = np.arange(1, len(by_rank) + 1)
    return places


def relevance(weights: Array, everywhere: Array, trade: float = TRADE) -> NDArray[np.float64]:
    """Say how much words tell of a topic: ``trade ln w_vk + (1 - trade) ln(w_vk / p_v)``.

    Relevance of Sievert and Shirley ("LDAvis", ILLVI 2014, equation 1).  With 1 words go by their weight;
    with 0 by their lift, how much heavier they are here than in the whole layer.

    Parameters
    ----------
    weights : (...) array, >= 0
        ``w_vk``, weights of words in a topic.
    everywhere : (...) array, >= 0
        ``p_v``, weights of the same words in all topics of the layer, weighed by popularity.
    trade : float
        Their lambda, 0 to 1.  They recommend 0.6 for a list of thirty words; a title has three, and should
        tell topics apart: at 0.6 most topics of reviews of films are still called "movie just like".

    Returns
    -------
    (...) float64 array
        Higher is more relevant; -inf for a word of weight 0.
    """
    tiny = np.finfo(np.float64).tiny
    own = np.log(np.maximum(np.asarray(weights, dtype=np.float64), tiny))
    # a topic that nothing uses may hold words that no used topic has: p_v = 0
    whole = np.log(np.maximum(np.asarray(everywhere, dtype=np.float64), tiny))
    return np.where(np.asarray(weights) > 0, own - (1.0 - trade) * whole, -np.inf)


def title_words(
    words: IntArray, weights: Array, everywhere: Array, n: int = 3, *, first: IntArray | None = None
) -> IntArray:
    """Choose the most distinctive of the heaviest words of every topic of one layer, no two topics alike.

    Topics choose in turn.  Who would choose the same words as somebody before, in whatever order, exchanges the
    last for the next most relevant one until nobody has them, then the last but one, and so on; a topic that finds
    all taken keeps its most relevant ones, and none takes a word of weight 0 instead.

    Parameters
    ----------
    words, weights : (K, m) arrays
        Heaviest words of every topic and their weights, as `top_words` gives them: a word that is not
        among them is too rare in the topic to stand for it.
    everywhere : (V,) array
        Weights of all words in the layer, ``projection @ shares``.
    n : int
        How many words; fewer when there are fewer.
    first : (K,) int array, optional
        Topics in the order in which they choose, such as `order`; by their numbers without.

    Returns
    -------
    (K, n) int array
        Word numbers, by `relevance`, most relevant first; equals heaviest first.
    """
    places = np.argsort(-relevance(weights, everywhere[words]), axis=1, kind="stable")
    ranked = np.take_along_axis(words, places, axis=1)
    titles = ranked[:, :n].copy()
    held = (np.asarray(weights) > 0).sum(axis=1)
    taken: set[frozenset[int]] = set()
    for topic in range(len(titles)) if first is None else first.tolist():
        choices = itertools.combinations(ranked[topic, : held[topic]].tolist(), titles.shape[1])
        title = next((choice for choice in choices if frozenset(choice) not in taken), None)
        if title is not None:
            titles[topic] = title
            taken.add(frozenset(title))
    return titles


def top_words(projection: Array, n: int) -> tuple[IntArray, NDArray[Any]]:
    """Find the heaviest words of every topic of one layer.

    Parameters
    ----------
    projection : (V, K) array
        Topics over words, one of `projections`.
    n : int
        How many words; fewer when the vocabulary is smaller.

    Returns
    -------
    words : (K, n) int array
        Word numbers, heaviest first; equals in the order of their numbers.
    weights : (K, n) array
        Their weights.
    """
    by_topic = np.ascontiguousarray(projection.T)
    n = min(n, by_topic.shape[1])
    words = np.sort(np.argpartition(-by_topic, n - 1, axis=1)[:, :n], axis=1)
    weights = np.take_along_axis(by_topic, words, axis=1)
    places = np.argsort(-weights, axis=1, kind="stable")
    return np.take_along_axis(words, places, axis=1), np.take_along_axis(weights, places, axis=1)
