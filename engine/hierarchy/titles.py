"""Titles of topics: three of the words shown, which tell a topic from its neighbours and from its parent."""

import itertools
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from topiary.engine.contract import Array, IntArray
from topiary.engine.hierarchy.effects import Presentation
from topiary.engine.hierarchy.topics import (
    compute_shares,
    compute_smooth_relevance,
    find_light,
    find_relevant_words,
    order_topics,
)

WORDS = 3  # words of a title
SHOWN = 12  # words of a topic that pages show, among which its title is chosen
_LASTING = 8  # of these, the first among which the words of a title must be for it to stay
_REPEAT_PENALTY = 0.25  # a word that is already in n titles of the layer loses this times ln(1 + n) of its relevance
_PARENT_PENALTY = 1e3  # more than any relevance: puts a word behind all others that may be in a title
_BACKGROUND_PENALTY, _COMMON_PENALTY = 1e5, 1e6  # put words behind these too, common ones behind all
_LEAST_FOREGROUND = 0.5  # least share of a word's weight that must not come from background topics
_LEAST_WHOLE, _ENDING = 3, 2  # least letters of a word, and most letters that another form adds to it
_LEAST_BEGINNING = 4  # least letters with which two forms of a word begin, unless one is the beginning of the other
TWIN = 0.9  # cosine of the words of two topics of a layer from which they are nearly the same ...
_SHARED = 0.5  # ... if they have this share of the words shown in common, too


class _Candidates(NamedTuple):
    """The words shown of the topics of a layer, among which their titles are chosen.

    Attributes
    ----------
    words : (K, m) int array
        Word numbers, most relevant first.
    values : (K, m) array
        How well each word serves in the title, apart from the next field; -inf for words of weight 0.
    repeated : (K, m) bool array
        True for words in the title of the topic's parent, in any form.
    """

    words: IntArray
    values: NDArray[np.float64]
    repeated: NDArray[np.bool_]


def choose_titles(
    presentation: Presentation,
    *,
    background: Sequence[NDArray[np.bool_]] = (),
    everywhere: Sequence[int] = (),
    vocabulary: Sequence[str] = (),
    earlier: Sequence[IntArray] = (),
) -> list[IntArray]:
    """Choose the words of the titles of all topics, from the top layer down.

    A title consists of words shown (:func:`engine.hierarchy.topics.find_relevant_words`): the first that is not common
    in the whole corpus and does not come from background topics, then the first others that the title of the parent
    does not have.  Two forms of one word are not in one title.  If there are too few such words, others follow.

    Topics of a layer choose in the order of their popularity.  A word counts less the more titles of the layer it is in
    already, and no two topics have the same set of words, unless all sets are taken.  An earlier title stays as long as
    all its words are among the first eight and one of them is not in the parent's title.

    Parameters
    ----------
    presentation : Presentation
        The topics of every layer.  The parent of a topic is the one in which it weighs most, leaving out light ones.
    background : sequence of (K_l,) bool arrays
        Background topics of every layer; empty if they are not known, or topics are no mixtures of those below.
    everywhere : sequence of int
        Words that are common in the whole corpus; so are other forms of them.
    vocabulary : sequence of str
        The words, to recognise forms of one word; without it, there are none.
    earlier : sequence of (K_l, n) int arrays
        Titles that the same topics had before; rows of -1 for topics that had none, empty if none had.

    Returns
    -------
    list of (K_l, n) int arrays
        Word numbers, n = 3 or the whole vocabulary.
    """
    shares = [compute_shares(popularity) for popularity in presentation.popularity]
    foreground = share_foreground(presentation.weights, background)
    titles: list[IntArray] = []
    for layer, projection in reversed(list(enumerate(presentation.words))):
        words, heaviness = find_relevant_words(projection, shares[layer], SHOWN)
        values = compute_smooth_relevance(projection, shares[layer], words, heaviness)
        values = values - _COMMON_PENALTY * _find_words(words, everywhere, vocabulary)
        if foreground:
            behind = np.take_along_axis(foreground[layer].T, words, axis=1) < _LEAST_FOREGROUND
            values = values - _BACKGROUND_PENALTY * behind
        repeated = np.zeros(words.shape, dtype=bool)
        if titles:
            parents = _find_parents(presentation.weights[layer + 1], shares[layer + 1])
            repeated = _find_repeated(words, parents, titles[-1], vocabulary)
        candidates = _Candidates(words, values, repeated)
        before = earlier[layer] if layer < len(earlier) else np.full((len(words), 1), -1)
        titles.append(_title_layer(candidates, order_topics(shares[layer]), before, vocabulary))
    return titles[::-1]


def join_words(words: Iterable[str]) -> str:
    """Return the title that words make: ``shares, offer, corp``; with commas, so that nobody reads a phrase."""
    return ", ".join(words)


def are_forms(first: str, second: str) -> bool:
    """Return whether two words look like forms of one, as *car* and *cars*, or *economy* and *economic*.

    One begins with all of the other, three letters or more, and has two more at most; or they begin with the same four
    letters or more, which are over half of the longer.  Words with other characters than letters have no forms.
    """
    if not (first.isalpha() and second.isalpha()):
        return first == second
    shorter, longer = sorted((first, second), key=len)
    if len(shorter) >= _LEAST_WHOLE and longer.startswith(shorter) and len(longer) <= len(shorter) + _ENDING:
        return True
    n_same = sum(itertools.takewhile(bool, (one == other for one, other in zip(shorter, longer, strict=False))))
    return n_same >= _LEAST_BEGINNING and 2 * n_same > len(longer)


def share_foreground(phi: Sequence[Array], background: Sequence[Array]) -> list[Array]:
    """Return the share of every word's weight in every topic that does not come from background topics below it.

    A background topic keeps its own words.

    Parameters
    ----------
    phi : sequence of (K_{l-1}, K_l) arrays
        The topics of layers 1..L, columns on the simplex.
    background : sequence of (K_l,) bool arrays
        Background topics of every layer.

    Returns
    -------
    list of (V, K_l) arrays
        1 for words without weight; empty if no topic is background.
    """
    if not any(each.any() for each in background):
        return []
    whole = kept = phi[0]
    parts = [np.ones_like(phi[0])]
    for layer, below in zip(phi[1:], background, strict=False):
        whole, kept = whole @ layer, (kept * ~np.asarray(below, dtype=bool)) @ layer
        parts.append(np.divide(kept, whole, out=np.ones_like(whole), where=whole > 0))
    return parts


def find_twins(projection: Array, shares: Array, words: IntArray | None = None) -> IntArray:
    """Return, for every topic of a layer, the most popular of the topics above it in rank that are nearly the same.

    Two topics are nearly the same if the cosine of their words is .9 or more and they share half of the words shown.
    Light topics are left out.

    Parameters
    ----------
    projection : (V, K) array
        Topics over words.
    shares : (K,) array
        Of the topics in their layer.
    words : (K, n) int array, optional
        The words shown, if they have been found already.

    Returns
    -------
    (K,) int array
        Columns; -1 for topics without such a twin.
    """
    if words is None:
        words, _ = find_relevant_words(projection, shares, SHOWN)
    shown = [set(row) for row in words.tolist()]
    least = _SHARED * words.shape[1]
    order = order_topics(shares)
    order = order[~find_light(shares)[order]].tolist()
    twins = np.full(len(shares), -1)
    for rank, topic in enumerate(order):
        alike = (other for other in order[:rank] if len(shown[topic] & shown[other]) >= least)
        twins[topic] = next((other for other in alike if _measure_cosine(projection, topic, other) >= TWIN), -1)
    return twins


def _measure_cosine(projection: Array, first: int, second: int) -> float:
    one, other = projection[:, first], projection[:, second]
    return float(one @ other / max(np.linalg.norm(one) * np.linalg.norm(other), np.finfo(projection.dtype).tiny))


def _find_parents(weights: Array, shares: Array) -> IntArray:
    """Return the parent (K_l,) in which each topic weighs most, leaving out light ones; -1 for topics without one."""
    heaviness = np.where(find_light(shares), -np.inf, weights)
    return np.where(heaviness.max(axis=1) > 0, heaviness.argmax(axis=1), -1)


def _find_repeated(
    words: IntArray, parents: IntArray, titles: IntArray, vocabulary: Sequence[str]
) -> NDArray[np.bool_]:
    """Return which words (K, m) are in the titles (K_above, n) of the topics' parents, in any form."""
    repeated = np.zeros(words.shape, dtype=bool)
    for topic in np.flatnonzero(parents >= 0).tolist():
        repeated[topic] = _find_words(words[topic], titles[parents[topic]].tolist(), vocabulary)
    return repeated


def _find_words(words: IntArray, sought: Sequence[int], vocabulary: Sequence[str]) -> NDArray[np.bool_]:
    """Return which of the words (...) are sought, in any form."""
    alike: dict[str, list[int]] = {}  # forms have their first letters in common, which saves most comparisons
    for other in (word for word in sought if vocabulary and vocabulary[word].isalpha()):
        alike.setdefault(vocabulary[other][:_LEAST_WHOLE], []).append(other)
    found = {*sought} | {
        word
        for word in (np.unique(words).tolist() if vocabulary else ())
        if any(_are_same(word, other, vocabulary) for other in alike.get(vocabulary[word][:_LEAST_WHOLE], ()))
    }
    return np.isin(words, np.array(sorted(found), dtype=np.int64))


def _title_layer(candidates: _Candidates, order: IntArray, earlier: IntArray, vocabulary: Sequence[str]) -> IntArray:
    """Return the titles of one layer, chosen by its topics in ``order``, after those that keep their earlier ones."""
    titles = candidates.words[:, :WORDS].copy()
    n = titles.shape[1]
    n_uses: Counter[int] = Counter()
    taken: set[frozenset[int]] = set()
    waiting: list[int] = []
    for topic in order.tolist():
        before = frozenset(earlier[topic].tolist())
        words, repeated = candidates.words[topic, :_LASTING], candidates.repeated[topic, :_LASTING]
        own = set(words[~repeated].tolist()) or set(words.tolist())
        if len(before) == n and before <= set(words.tolist()) and before & own and before not in taken:
            titles[topic] = earlier[topic]
            taken.add(before)
            n_uses.update(before)
        else:
            waiting.append(topic)
    for topic in waiting:
        words = candidates.words[topic].tolist()
        value = candidates.values[topic] - _REPEAT_PENALTY * np.log1p([n_uses[word] for word in words])
        first = int(value.argmax())
        behind = candidates.repeated[topic] & (np.arange(len(words)) != first)
        ranked = [words[place] for place in np.argsort(_PARENT_PENALTY * behind - value, kind="stable")]
        n_usable = int(np.isfinite(value).sum())  # words of weight 0 come last and have no relevance
        titles[topic] = _choose_words(ranked, n_usable, n, taken, vocabulary)
        taken.add(frozenset(titles[topic].tolist()))
        n_uses.update(titles[topic].tolist())
    return titles


def _choose_words(
    ranked: list[int], n_usable: int, n: int, taken: set[frozenset[int]], vocabulary: Sequence[str]
) -> list[int]:
    """Return the first ``n`` usable words that are no forms of each other and not taken as a set.

    If there are none, forms of each other are allowed; if all sets are taken, the first ``n`` words are returned.
    """
    free = [each for each in itertools.combinations(ranked[:n_usable], n) if frozenset(each) not in taken]
    distinct = (
        each for each in free if not any(_are_same(*pair, vocabulary) for pair in itertools.combinations(each, 2))
    )
    return list(next(distinct, free[0] if free else ranked[:n]))


def _are_same(first: int, second: int, vocabulary: Sequence[str]) -> bool:
    """Return whether two numbers are of the same word, or of forms of it."""
    return first == second or (bool(vocabulary) and are_forms(vocabulary[first], vocabulary[second]))
