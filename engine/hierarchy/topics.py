"""Contents of a hierarchy of topics: projections to words, popularity, ranks, top words (models.md 0).

Letters follow the papers: ``phi[l-1]`` is Phi^(l), (K_{l-1}, K_l) with columns on the simplex and
``K_0 = V`` words; ``r`` (K_L,) are the gamma shapes of the top layer.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topiary.engine import contract
from topiary.engine.contract import Array, IntArray, Link, Topics

TRADE = 0.1  # trade-off between weight and lift in the words shown; chosen together with FLOOR on seven corpora
FLOOR = 0.2  # smoothing of the lift: FLOOR K / V for K topics over V words
_CANDIDATES = 100  # number of heaviest words of a topic among which the relevant ones are sought

KINDS, RESPONSES, UNITS = (
    (contract.SIMPLEX, contract.POSITIVE, contract.SIGNED),
    (contract.LINEAR, contract.SIGMOID, contract.SOFTPLUS),
    (contract.GAMMA, contract.BINARY, contract.COUNT, contract.SHARE),
)
COLUMNS = "columns."  # prefix of the arrays of the columns' hierarchy
_FLAT = Link(contract.SIMPLEX, contract.LINEAR, np.zeros(0))

LIGHT = 0.001  # share of the tokens; the words of a topic with a smaller share are noise


def project_topics(phi: Sequence[Array]) -> list[Array]:
    """Project the topics of every layer down to the words.

    Parameters
    ----------
    phi : sequence of (K_{l-1}, K_l) arrays
        The topics of layers 1..L, columns on the simplex.

    Returns
    -------
    list of (V, K_l) arrays
        ``Phi^(1) ... Phi^(l)`` for l = 1..L (DLDA section 4); columns are distributions over words.
    """
    projected = [phi[0]]
    for layer in phi[1:]:
        projected.append(projected[-1] @ layer)
    return projected


def pack_topics(topics: Topics) -> dict[str, Array]:
    """Return a hierarchy as the arrays of a snapshot, which :func:`unpack_topics` reads.

    They are ``phi.l`` and ``r``; if the model has them, ``popularity.l``, ``means.l``, ``bias.l``, ``units`` (L,),
    ``links`` (L - 1, 2), the indices of kind and response in ``KINDS`` and ``RESPONSES``, and ``directed`` (); for a
    model of rows and columns, the same arrays of the columns' hierarchy with the prefix ``columns.``.
    """
    arrays: dict[str, Array] = {f"phi.{layer}": phi for layer, phi in enumerate(topics.phi)} | {"r": topics.r}
    arrays |= {f"popularity.{layer}": values for layer, values in enumerate(topics.popularity)}
    arrays |= {f"means.{layer}": values for layer, values in enumerate(topics.means)}
    arrays |= {f"bias.{layer}": link.bias for layer, link in enumerate(topics.links)}
    if topics.links:
        codes = [(KINDS.index(link.kind), RESPONSES.index(link.response)) for link in topics.links]
        arrays |= {"links": np.array(codes, dtype=np.int8), "directed": np.array(topics.directed)}
    if topics.units:
        arrays["units"] = np.array([UNITS.index(unit) for unit in topics.units], dtype=np.int8)
    if topics.columns is not None:
        arrays |= {f"{COLUMNS}{name}": array for name, array in pack_topics(topics.columns).items()}
    return arrays


def unpack_topics(arrays: Mapping[str, Array], *, shown: bool = False) -> Topics:
    """Return the hierarchy in a snapshot, in double precision, with simplex columns scaled to sum 1 again.

    Parameters
    ----------
    arrays : mapping of str to array
        As made by :func:`pack_topics`; other arrays are ignored.
    shown : bool
        True: return the topics that users see (the means ``mean.l`` and ``mean_r`` if there are any), not scaled.
    """
    topics = Topics(collect_arrays(arrays, "phi"), np.asarray(arrays["r"], dtype=np.float64), *_unpack_links(arrays))
    columns = {name.removeprefix(COLUMNS): array for name, array in arrays.items() if name.startswith(COLUMNS)}
    if columns:
        topics = topics._replace(columns=unpack_topics(columns, shown=shown))
    if shown:
        phi = collect_arrays(arrays, "mean") or topics.phi
        return topics._replace(phi=phi, r=np.asarray(arrays.get("mean_r", topics.r), dtype=np.float64))
    tables = [np.asarray(table, dtype=np.float64) for table in topics.phi]
    kinds = [contract.SIMPLEX, *(link.kind for link in topics.links or (_FLAT,) * (len(tables) - 1))]
    phi = tuple(
        np.ascontiguousarray(table / table.sum(axis=0) if kind == contract.SIMPLEX else table)
        for table, kind in zip(tables, kinds, strict=True)
    )
    return topics._replace(phi=phi)


def _unpack_links(arrays: Mapping[str, Array]) -> tuple[Any, ...]:
    """Return the fields of Topics that follow ``r``: links, units, popularity, means, and ``directed``."""
    codes = arrays["links"].tolist() if "links" in arrays else []
    biases = collect_arrays(arrays, "bias")
    links = tuple(
        Link(KINDS[kind], RESPONSES[response], np.asarray(bias, dtype=np.float64))
        for (kind, response), bias in zip(codes, biases, strict=True)
    )
    units = tuple(UNITS[code] for code in arrays["units"].tolist()) if "units" in arrays else ()
    popularity, means = (
        tuple(np.asarray(values, dtype=np.float64) for values in collect_arrays(arrays, name))
        for name in ("popularity", "means")
    )
    return links, units, popularity, means, bool(arrays.get("directed", True))


def collect_arrays(arrays: Mapping[str, Array], name: str) -> tuple[Array, ...]:
    """Return the arrays ``name.0``, ``name.1`` ... of a snapshot; () if it has none."""
    found: list[Array] = []
    while (key := f"{name}.{len(found)}") in arrays:
        found.append(arrays[key])
    return tuple(found)


def weigh_topics(phi: Sequence[Array], r: Array) -> list[NDArray[np.float64]]:
    """Return the popularity of the topics of every layer: ``Phi^(l+1) ... Phi^(L) r``, and ``r`` itself for the top.

    Returns
    -------
    list of (K_l,) float64 arrays, >= 0
        Since columns are on the simplex, every layer has the same sum, that of ``r``.
    """
    weights = [np.asarray(r, dtype=np.float64)]
    for layer in reversed(phi[1:]):
        weights.append(np.asarray(layer, dtype=np.float64) @ weights[-1])
    return weights[::-1]


def compute_shares(weights: Array) -> NDArray[np.float64]:
    """Return the share of each topic in its layer: popularity (K_l,) scaled to sum 1 (equal shares if all are 0)."""
    total = float(weights.sum())
    if total <= 0.0:
        return np.full(len(weights), 1.0 / len(weights))
    return np.asarray(weights, dtype=np.float64) / total


def find_light(parts: Array) -> NDArray[np.bool_]:
    """Return a mask (K_l,) of the topics of a layer with so small a share of the tokens that their words are noise.

    The limit is 0.1 % of the tokens, or half an equal share in layers of more than 500 topics.
    """
    return np.asarray(parts) < min(LIGHT, 0.5 / len(parts))


def order_topics(weights: Array) -> NDArray[np.intp]:
    """Return topic columns (K_l,) by popularity, largest first; ties stay in the order of their columns."""
    return np.argsort(-np.asarray(weights), kind="stable")


def rank_topics(weights: Array) -> NDArray[np.intp]:
    """Return the rank of every topic (K_l,), 1 = most popular: the number printed in the papers' figures."""
    by_rank = order_topics(weights)
    ranks = np.empty_like(by_rank)
    ranks[by_rank] = np.arange(1, len(by_rank) + 1)
    return ranks


def compute_relevance(
    weights: Array, everywhere: Array, trade: float = TRADE, floor: float = 0.0
) -> NDArray[np.float64]:
    """Return the relevance of words to a topic: ``trade ln w_vk + (1 - trade) ln(w_vk / (p_v + floor))``.

    This is the relevance of Sievert and Shirley ("LDAvis", ILLVI 2014, equation 1), with a floor.  With ``trade`` 1
    words are ordered by weight; with 0 by lift: the ratio of their weight in the topic to that in the whole layer.

    Parameters
    ----------
    weights : (...) array, >= 0
        ``w_vk``, weights of words in a topic.
    everywhere : (...) array, >= 0
        ``p_v``, weights of the same words in all topics of the layer, weighted by popularity.
    trade : float
        The lambda of the paper, 0 to 1.  The paper recommends 0.6, without a floor; smaller values then favour rare
        words.
    floor : float
        Smooths the lift, which is otherwise largest for words that are too rare to be informative.

    Returns
    -------
    (...) float64 array
        Higher is more relevant; -inf for a word of weight 0.
    """
    tiny = np.finfo(np.float64).tiny
    log_weights = np.log(np.maximum(np.asarray(weights, dtype=np.float64), tiny))
    # an unused topic may have words that no used topic has: p_v = 0
    log_everywhere = np.log(np.maximum(np.asarray(everywhere, dtype=np.float64) + floor, tiny))
    return np.where(np.asarray(weights) > 0, log_weights - (1.0 - trade) * log_everywhere, -np.inf)


def find_top_words(projection: Array, n: int) -> tuple[IntArray, NDArray[Any]]:
    """Return the heaviest words of every topic of one layer, and their weights.

    Parameters
    ----------
    projection : (V, K) array
        Topics over words, one of :func:`project_topics`.
    n : int
        Number of words; fewer if the vocabulary is smaller.

    Returns
    -------
    words : (K, n) int array
        Word numbers, heaviest first; ties in the order of their numbers.
    weights : (K, n) array
        Their weights.
    """
    return find_largest(np.ascontiguousarray(projection.T), n)


def find_largest(values: Array, n: int) -> tuple[IntArray, NDArray[Any]]:
    """Return the columns of the ``n`` largest values of every row, largest first (ties by column), and the values."""
    n = min(n, values.shape[1])
    places = np.sort(np.argpartition(-values, n - 1, axis=1)[:, :n], axis=1)
    largest = np.take_along_axis(values, places, axis=1)
    order = np.argsort(-largest, axis=1, kind="stable")
    return np.take_along_axis(places, order, axis=1), np.take_along_axis(largest, order, axis=1)


def find_relevant_words(
    projection: Array, shares: Array, n: int, trade: float = TRADE
) -> tuple[IntArray, NDArray[Any]]:
    """Return the most relevant words of every topic of one layer, and their weights.

    The lift is smoothed by ``FLOOR K / V``.  A word of a single topic has a lift of up to K, so a floor that grows with
    K makes such words count alike in wide and in narrow layers.

    Parameters
    ----------
    projection : (V, K) array
        Topics over words, one of :func:`project_topics`.
    shares : (K,) array
        Of the topics in their layer.
    n : int
        Number of words; fewer if the vocabulary is smaller.
    trade : float
        The lambda of :func:`compute_relevance`, 0 to 1; 1 gives the words of :func:`find_top_words`.

    Returns
    -------
    words : (K, n) int array
        Word numbers, most relevant first; ties heaviest first.
    weights : (K, n) array
        Their weights.
    """
    words, weights = find_top_words(projection, n if trade >= 1.0 else max(n, _CANDIDATES))
    places = np.argsort(-compute_smooth_relevance(projection, shares, words, weights, trade), axis=1, kind="stable")[
        :, :n
    ]
    return np.take_along_axis(words, places, axis=1), np.take_along_axis(weights, places, axis=1)


def compute_smooth_relevance(
    projection: Array, shares: Array, words: IntArray, weights: Array, trade: float = TRADE
) -> NDArray[np.float64]:
    """Return the relevance of some words (K, m) of every topic, with the floor of :func:`find_relevant_words`."""
    n_words, width = projection.shape
    everywhere = projection @ np.asarray(shares, dtype=projection.dtype)
    return compute_relevance(weights, everywhere[words], trade, FLOOR * width / n_words)
