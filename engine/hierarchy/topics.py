"""Contents of a hierarchy of topics: projections to words, popularity, ranks, top words, titles (models.md 0).

Letters follow the papers: ``phi[l-1]`` is Phi^(l), (K_{l-1}, K_l) with columns on the simplex and
``K_0 = V`` words; ``r`` (K_L,) are the gamma shapes of the top layer.
"""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine import contract
from engine.contract import Array, IntArray, Link, Topics

TRADE = 0.1  # between weight and lift in the words that are shown; measured together with FLOOR on seven corpora
FLOOR = 0.2  # of a lift: K topics over V words smooth it by FLOOR K / V
_CANDIDATES = 100  # heaviest words of a topic among which the relevant ones are sought

KINDS, RESPONSES, UNITS = (
    (contract.SIMPLEX, contract.POSITIVE, contract.SIGNED),
    (contract.LINEAR, contract.SIGMOID, contract.SOFTPLUS),
    (contract.GAMMA, contract.BINARY, contract.COUNT, contract.SHARE),
)
COLUMNS = "columns."  # prefix of the arrays of the columns' hierarchy
_FLAT = Link(contract.SIMPLEX, contract.LINEAR, np.zeros(0))

LIGHT = 0.001  # share of the tokens; words of topics with fewer are noise


def project_topics(phi: Sequence[Array]) -> list[Array]:
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


def pack_topics(topics: Topics) -> dict[str, Array]:
    """Return a hierarchy as the arrays of a snapshot, which :func:`unpack_topics` reads.

    ``phi.l`` and ``r``; where the model has more, ``popularity.l``, ``means.l``, ``bias.l``, ``units`` (L,),
    ``links`` (L - 1, 2) kind and response by their places in ``KINDS`` and ``RESPONSES``, and ``directed`` (); for a
    model of rows and columns the same of the columns' hierarchy, with ``columns.`` before each name.
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
    """Read the hierarchy that a snapshot keeps in single precision; simplex columns sum to 1 in double precision again.

    Parameters
    ----------
    arrays : mapping of str to array
        As made by :func:`pack_topics`; other arrays are ignored.
    shown : bool
        True: return the topics that users see, the means ``mean.l`` and ``mean_r`` where there are any, unchanged.
    """
    bare = Topics(collect_arrays(arrays, "phi"), np.asarray(arrays["r"], dtype=np.float64), *_unpack_links(arrays))
    columns = {name.removeprefix(COLUMNS): array for name, array in arrays.items() if name.startswith(COLUMNS)}
    if columns:
        bare = bare._replace(columns=unpack_topics(columns, shown=shown))
    if shown:
        phi = collect_arrays(arrays, "mean") or bare.phi
        return bare._replace(phi=phi, r=np.asarray(arrays.get("mean_r", bare.r), dtype=np.float64))
    tables = [np.asarray(table, dtype=np.float64) for table in bare.phi]
    kinds = [contract.SIMPLEX, *(link.kind for link in bare.links or (_FLAT,) * (len(tables) - 1))]
    phi = tuple(
        np.ascontiguousarray(table / table.sum(axis=0) if kind == contract.SIMPLEX else table)
        for table, kind in zip(tables, kinds, strict=True)
    )
    return bare._replace(phi=phi)


def _unpack_links(arrays: Mapping[str, Array]) -> tuple[Any, ...]:
    """Return the fields of a snapshot's topics behind ``r``: links, units, popularity, means, and ``directed``."""
    codes = arrays["links"].tolist() if "links" in arrays else []
    biases = collect_arrays(arrays, "bias")
    links = tuple(
        Link(KINDS[kind], RESPONSES[response], np.asarray(bias, dtype=np.float64))
        for (kind, response), bias in zip(codes, biases, strict=True)
    )
    units = tuple(UNITS[code] for code in arrays["units"].tolist()) if "units" in arrays else ()
    popular, means = (
        tuple(np.asarray(each, dtype=np.float64) for each in collect_arrays(arrays, name))
        for name in ("popularity", "means")
    )
    return links, units, popular, means, bool(arrays.get("directed", True))


def collect_arrays(arrays: Mapping[str, Array], name: str) -> tuple[Array, ...]:
    """Return the arrays ``name.0``, ``name.1`` ... of a snapshot; none where it has none."""
    names = itertools.takewhile(arrays.__contains__, (f"{name}.{layer}" for layer in itertools.count()))
    return tuple(arrays[each] for each in names)


def weigh_topics(phi: Sequence[Array], r: Array) -> list[NDArray[np.float64]]:
    """Return the popularity of the topics of every layer: ``Phi^(l+1) ... Phi^(L) r``, and ``r`` itself for the top.

    Returns
    -------
    list of (K_l,) float64 arrays, >= 0
        Since columns are on the simplex every layer has the same sum, that of ``r``.
    """
    weights = [np.asarray(r, dtype=np.float64)]
    for layer in reversed(phi[1:]):
        weights.append(np.asarray(layer, dtype=np.float64) @ weights[-1])
    return weights[::-1]


def compute_shares(weights: Array) -> NDArray[np.float64]:
    """Return the share of each topic in its layer: popularity (K_l,) scaled to sum 1 (equal shares when all are 0)."""
    total = float(weights.sum())
    if total <= 0.0:
        return np.full(len(weights), 1.0 / len(weights))
    return np.asarray(weights, dtype=np.float64) / total


def find_light(parts: Array) -> NDArray[np.bool_]:
    """Return which topics (K_l,) of a layer, given their shares, hold so few tokens that their words are noise.

    Those with under 0.1 % of the tokens; in layers of more than 500 topics, those with under half an equal share.
    """
    return np.asarray(parts) < min(LIGHT, 0.5 / len(parts))


def order_topics(weights: Array) -> NDArray[np.intp]:
    """Return topic columns (K_l,) by popularity, largest first; equals stay in the order of their columns."""
    return np.argsort(-np.asarray(weights), kind="stable")


def rank_topics(weights: Array) -> NDArray[np.intp]:
    """Return the rank of every topic (K_l,), 1 = most popular: the number printed in the papers' figures."""
    by_rank = order_topics(weights)
    places = np.empty_like(by_rank)
    places[by_rank] = np.arange(1, len(by_rank) + 1)
    return places


def compute_relevance(
    weights: Array, everywhere: Array, trade: float = TRADE, floor: float = 0.0
) -> NDArray[np.float64]:
    """Return the relevance of words to a topic: ``trade ln w_vk + (1 - trade) ln(w_vk / (p_v + floor))``.

    Relevance of Sievert and Shirley ("LDAvis", ILLVI 2014, equation 1), with a floor.  With ``trade`` 1 words are
    ordered by their weight; with 0 by their lift, how much heavier they are here than in the whole layer.

    Parameters
    ----------
    weights : (...) array, >= 0
        ``w_vk``, weights of words in a topic.
    everywhere : (...) array, >= 0
        ``p_v``, weights of the same words in all topics of the layer, weighted by popularity.
    trade : float
        Their lambda, 0 to 1.  They recommend 0.6, without a floor, which would bring up rare words for smaller values.
    floor : float
        Smooths the lift, which is largest for words that are too rare to be informative.

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
    """Find the heaviest words of every topic of one layer.

    Parameters
    ----------
    projection : (V, K) array
        Topics over words, one of :func:`project_topics`.
    n : int
        Number of words; fewer when the vocabulary is smaller.

    Returns
    -------
    words : (K, n) int array
        Word numbers, heaviest first; equals in the order of their numbers.
    weights : (K, n) array
        Their weights.
    """
    return find_largest(np.ascontiguousarray(projection.T), n)


def find_largest(values: Array, n: int) -> tuple[IntArray, NDArray[Any]]:
    """Return the places of the ``n`` largest values of every row, largest first, equals in their order, and these."""
    n = min(n, values.shape[1])
    places = np.sort(np.argpartition(-values, n - 1, axis=1)[:, :n], axis=1)
    largest = np.take_along_axis(values, places, axis=1)
    order = np.argsort(-largest, axis=1, kind="stable")
    return np.take_along_axis(places, order, axis=1), np.take_along_axis(largest, order, axis=1)


def find_relevant_words(
    projection: Array, shares: Array, n: int, trade: float = TRADE
) -> tuple[IntArray, NDArray[Any]]:
    """Find the most relevant words of every topic of one layer.

    The lift is smoothed by ``FLOOR K / V``.  A word of one topic only has at most K times its weight in the layer, so
    that with a floor that grows with K such words count alike in wide and in narrow layers.

    Parameters
    ----------
    projection : (V, K) array
        Topics over words, one of :func:`project_topics`.
    shares : (K,) array
        Of the topics in their layer.
    n : int
        Number of words; fewer when the vocabulary is smaller.
    trade : float
        The lambda of :func:`compute_relevance`, 0 to 1; with 1 these are the top words.

    Returns
    -------
    words : (K, n) int array
        Word numbers, most relevant first; equals heaviest first.
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


WORDS = 3
CANDIDATES = 12  # most relevant words of a topic from which its title is chosen
_AGAIN = 0.25  # relevance that a word loses by being in titles already, times ln(1 + titles)
_LAST = 1e6  # more than any relevance
_LEAST = 1e-6  # a topic whose weight without its background is below this has nothing left


def choose_titles(
    projection: Array, shares: Array, n: int = WORDS, *, without: Sequence[int] = (), first: IntArray | None = None
) -> IntArray:
    """Choose the words that set every topic of one layer apart, no two topics alike.

    Topics choose in turn, among their most relevant words.  A word counts less the more titles it is in already.
    A topic that would choose the same set of words as an earlier one exchanges its last word for the next most relevant
    until the set is new, then the last but one, and so on; if all sets are taken it keeps its most relevant words.  No
    topic takes a word of weight 0 instead.

    Parameters
    ----------
    projection : (V, K) array
        Topics over words, such as those of :func:`remove_background`.
    shares : (K,) array
        Of the topics in their layer.
    n : int
        Number of words; fewer when there are fewer.
    without : sequence of int
        Words that are everywhere in the corpus: in no title, unless a topic has no other words.
    first : (K,) int array, optional
        Topics in the order in which they choose, such as :func:`order_topics`; without it by their numbers.

    Returns
    -------
    (K, n) int array
        Word numbers, by their value for the title.
    """
    words, weights = find_relevant_words(projection, shares, CANDIDATES + len(without))
    value = compute_smooth_relevance(projection, shares, words, weights)
    value = value - _LAST * np.isin(words, np.asarray(without, dtype=np.int64))
    places = np.argsort(-value, axis=1, kind="stable")[:, :CANDIDATES]
    words, value = np.take_along_axis(words, places, axis=1), np.take_along_axis(value, places, axis=1)
    titles = words[:, :n].copy()
    n_uses, chosen_sets = np.zeros(len(projection)), set[frozenset[int]]()
    for topic in range(len(titles)) if first is None else first.tolist():
        worth = value[topic] - _AGAIN * np.log1p(n_uses[words[topic]])
        ranked = words[topic, np.argsort(-worth, kind="stable")].tolist()
        n_finite = int(np.isfinite(worth).sum())  # words of weight 0 have no relevance
        choices = itertools.combinations(ranked[:n_finite], titles.shape[1])
        titles[topic] = next(
            (choice for choice in choices if frozenset(choice) not in chosen_sets), ranked[: titles.shape[1]]
        )
        chosen_sets.add(frozenset(titles[topic].tolist()))
        n_uses[titles[topic]] += 1
    return titles


def remove_background(phi: Sequence[Array], background: Sequence[Array]) -> list[Array]:
    """Project the topics of every layer down to the words, without their background children.

    A topic that consists almost entirely of background children keeps them, and a background topic keeps its own words.

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
    layers = [phi[0]]
    for layer, below in zip(phi[1:], background, strict=False):
        rest = layer * ~np.asarray(below, dtype=bool)[:, None]
        mass = rest.sum(axis=0)
        enough = mass > _LEAST
        layers.append(np.where(enough, rest / np.where(enough, mass, 1.0), layer).astype(layer.dtype))
    return project_topics(layers)
