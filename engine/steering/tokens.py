"""Moves of tokens from topic to topic, the one place where an edit does them.

Tokens are moved by short chains of their own: a prior alone moves next to none, because tokens of a document hold each
other where they are.
"""

from typing import NamedTuple

import numpy as np

from topiary.engine.contract import Array, Batch, FloatArray
from topiary.engine.gibbs.local import find_token_starts
from topiary.engine.jit import compiled
from topiary.engine.streams import EDIT, draw_uniform, start_stream

SCANS = 20  # Gibbs scans in which tokens choose between two topics
HELD = 0.1  # pseudo-tokens of each of the two topics in a document
SPREAD = 0.05  # pseudo-tokens of every topic in a document whose tokens are scattered


class EditAddress(NamedTuple):
    """The random numbers of one part of an edit: the run's ``seed``, the ``step``, and the ``item``."""

    seed: int
    step: int
    item: int


class TokenTable(NamedTuple):
    """The tokens of documents: ``words`` and ``topics`` (tokens,), and where documents begin, (documents + 1,)."""

    words: Array
    starts: Array
    topics: Array


def list_tokens(docs: Batch, topics: Array) -> TokenTable:
    """Return the tokens of documents with these topics."""
    return TokenTable(np.repeat(docs.words, docs.counts), find_token_starts(docs), topics)


@compiled
def count_tokens(table: TokenTable, n_words: int, n_topics: int) -> Array:
    """Return the number of tokens of every word and topic, (V, K) int32."""
    counts = np.zeros((n_words, n_topics), np.int32)
    for i in range(len(table.words)):
        counts[table.words[i], table.topics[i]] += 1
    return counts


@compiled
def halve_tokens(at: EditAddress, chosen: Array) -> None:
    """Choose one of two of the chosen tokens, at random, in place."""
    rng = start_stream(at.seed, EDIT, at.step, at.item)
    for i in range(len(chosen)):
        if chosen[i]:
            u, rng = draw_uniform(rng)
            chosen[i] = u < 0.5


@compiled
def divide_tokens(
    at: EditAddress, table: TokenTable, chosen: Array, own: Array, k: int, prior: FloatArray, eta: float, counts: Array
) -> None:
    """Let every chosen token take topic ``k`` or its ``own`` topic, by Gibbs scans with both topics integrated out.

    ``chosen`` (tokens,) bool; ``own`` (tokens,) topics; ``prior`` (V,) is added to ``eta`` in topic ``k``; ``counts``
    (V, K) are those of ``table``, whose ``topics`` change with them.
    """
    rng = start_stream(at.seed, EDIT, at.step, at.item)
    words, starts, topics = table
    n_words, n_topics = counts.shape
    sizes, held = np.zeros(n_topics), np.zeros(n_topics)
    for v in range(n_words):
        for topic in range(n_topics):
            sizes[topic] += counts[v, topic]
    base, prior_sum = eta * n_words, prior.sum()
    for _ in range(SCANS):
        for j in range(len(starts) - 1):
            first, last = starts[j], starts[j + 1]
            if not chosen[first:last].any():
                continue
            for i in range(first, last):
                held[topics[i]] += 1.0
            for i in range(first, last):
                if not chosen[i]:
                    continue
                v, old, other = words[i], topics[i], own[i]
                held[old] -= 1.0
                counts[v, old] -= 1
                sizes[old] -= 1.0
                a = (held[k] + HELD) * (counts[v, k] + eta + prior[v]) / (sizes[k] + base + prior_sum)
                b = (held[other] + HELD) * (counts[v, other] + eta) / (sizes[other] + base)
                u, rng = draw_uniform(rng)
                new = k if u * (a + b) < a else other
                topics[i] = new
                held[new] += 1.0
                counts[v, new] += 1
                sizes[new] += 1.0
            for i in range(first, last):
                held[topics[i]] = 0.0


def measure_split(
    at: EditAddress, table: TokenTable, sources: Array, second: Array, eta: float, n_words: int
) -> tuple[float, Array]:
    """Return what one more topic gains in log-likelihood per token of ``sources``, and the words of all, (V, K + 1).

    ``second`` (tokens,) bool says which tokens of the sources begin in the new topic, which is the last; all of them
    then choose by Gibbs scans.  ``table`` changes.
    """
    own, new = table.topics.copy(), int(table.topics.max()) + 1
    mine = np.isin(own, sources)
    before = count_tokens(table, n_words, new + 1)
    table.topics[mine & second] = new
    counts = count_tokens(table, n_words, new + 1)
    divide_tokens(at, table, mine, own, new, np.zeros(n_words), eta, counts)
    owners = np.repeat(np.arange(len(table.starts) - 1), np.diff(table.starts))[mine] * (new + 1)
    gain = sum(rate_words(counts[:, k]) for k in (*sources, new)) - sum(rate_words(before[:, k]) for k in sources)
    for sign, topics in ((1.0, table.topics), (-1.0, own)):
        gain += sign * sum_entropies(np.unique(owners + topics[mine], return_counts=True)[1])
    return float(gain / mine.sum()), counts


def rate_words(counts: FloatArray) -> float:
    """Return the log-likelihood of words under their own frequencies."""
    return sum_entropies(counts) - sum_entropies(np.array([counts.sum()]))


def sum_entropies(counts: Array) -> float:
    """Return the sum of ``n ln n``."""
    values = counts[counts > 0]
    return float((values * np.log(values)).sum())


@compiled
def scatter_tokens(at: EditAddress, table: TokenTable, chosen: Array, closed: Array, phi: FloatArray) -> None:
    """Draw a topic for every chosen token, in proportion to ``phi_vk`` and to what its document has of the topic.

    ``closed`` (K,) bool are the topics that none of them gets.
    """
    rng = start_stream(at.seed, EDIT, at.step, at.item)
    words, starts, topics = table
    n_topics = phi.shape[1]
    held, sums = np.zeros(n_topics), np.zeros(n_topics)
    for j in range(len(starts) - 1):
        first, last = starts[j], starts[j + 1]
        if not chosen[first:last].any():
            continue
        held[:] = SPREAD
        for i in range(first, last):
            if not chosen[i]:
                held[topics[i]] += 1.0
        for i in range(first, last):
            if not chosen[i]:
                continue
            total = 0.0
            for k in range(n_topics):
                total += 0.0 if closed[k] else held[k] * phi[words[i], k]
                sums[k] = total
            u, rng = draw_uniform(rng)
            new = min(np.searchsorted(sums, u * total, side="right"), n_topics - 1)
            topics[i] = new
            held[new] += 1.0


def compile_moves(docs: Batch) -> None:
    """Compile what edits need, on a few documents, so that the first edit of a run does not wait for it."""
    table = list_tokens(docs, np.zeros(int(docs.counts.sum()), np.uint16))
    chosen, n_words = np.ones(len(table.words), np.bool_), int(table.words.max()) + 1
    at = EditAddress(0, 0, 0)
    halve_tokens(at, chosen)
    counts = count_tokens(table, n_words, 2)
    divide_tokens(at, table, chosen, table.topics.copy(), 1, np.zeros(n_words), 1.0, counts)
    scatter_tokens(at, table, chosen, np.zeros(2, np.bool_), np.ones((n_words, 2)))
