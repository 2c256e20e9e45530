"""Edits that may be worth while, found by what they would do to the likelihood; they are proposed and never done.

The cosine of two topics alone misleads, so pairs are judged by the change in the log-likelihood of words and documents,
given the topics of all tokens, for every token of the two.
"""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from topiary.engine.contract import Array, Batch, FloatArray
from topiary.engine.pool import Pool
from topiary.engine.steering import tokens
from topiary.engine.steering.apply import LEAST_GAIN, divide_topic
from topiary.engine.steering.edit import EditRefused

NEAR = 8  # most similar topics of each with which a merge is judged
LEAST_TOKENS = 0.05  # of a mean topic; merges of topics with fewer say nothing, as they hardly change anything
LEAST_MERGE = -0.02  # change in log-likelihood per token above which two topics say the same
ETA = 0.05  # Dirichlet parameter of the words of the halves of a split
LEAST_SHARE = 0.1  # of the smaller half of a split that is proposed
SHOWN = 30  # first words of a topic among which words to ban are counted
WIDELY = 0.15  # share of the topics that must have such a word among them


class EditProposal(NamedTuple):
    """A proposed edit: columns of its ``topics`` or its ``words``, and the ``score`` by which proposals are ordered.

    The score of merges and splits is the change in log-likelihood per token; ``halves`` are the first words of the two
    topics that a split would make.
    """

    topics: tuple[int, ...]
    words: tuple[int, ...]
    score: float
    halves: tuple[tuple[int, ...], ...] = ()


def judge_merges(docs: Batch, topics: Array, n_words: int, n_topics: int) -> list[EditProposal]:
    """Return what it would do to merge each topic of layer 1 with those nearest to it, the best first.

    ``topics`` (tokens,) are the topics of all tokens of ``docs``.  The larger topic of a pair is named first; pairs
    above ``LEAST_MERGE`` say the same.
    """
    table = tokens.list_tokens(docs, topics)
    counts = tokens.count_tokens(table, n_words, n_topics).astype(np.float64)
    owners = np.repeat(np.arange(len(docs.documents)), np.diff(table.starts))
    shape = (len(docs.documents), n_topics)
    held = sp.coo_array((np.ones(len(topics)), (owners, topics)), shape).tocsc()
    sizes, words = counts.sum(axis=0), [tokens.rate_words(column) for column in counts.T]
    documents = [tokens.sum_entropies(held[:, [k]].data) for k in range(n_topics)]
    found = []
    for a, b in _list_similar(counts):
        change = tokens.rate_words(counts[:, a] + counts[:, b]) - words[a] - words[b]
        change += tokens.sum_entropies((held[:, [a]] + held[:, [b]]).data) - documents[a] - documents[b]
        pair = (a, b) if sizes[a] >= sizes[b] else (b, a)
        found.append(EditProposal(pair, (), float(change / (sizes[a] + sizes[b]))))
    return sorted(found, key=lambda each: -each.score)


def find_splits(
    seed: int, docs: Batch, topics: Array, n_words: int, n_topics: int, pool: Pool, most: int = 20
) -> list[EditProposal]:
    """Return topics of layer 1 that are two, the best first; the ``most`` largest ones are judged."""
    sizes = np.bincount(topics, minlength=n_topics)
    found = []
    for k in np.argsort(-sizes, kind="stable")[:most].tolist():
        try:
            halves = divide_topic(docs, topics, k, n_words, pool)
        except EditRefused:
            continue
        found.append(_judge_split(seed, tokens.list_tokens(docs, topics.copy()), k, halves, n_words))
    worth = [each for each in found if each is not None]
    return sorted(worth, key=lambda each: -each.score)


def find_bans(phi: FloatArray) -> list[EditProposal]:
    """Return words that are among the first of many topics, and so tell none apart, the most common first."""
    first = np.argsort(-phi, axis=0, kind="stable")[:SHOWN]
    counts = np.bincount(first.ravel(), minlength=len(phi))
    words = np.flatnonzero(counts >= max(3.0, WIDELY * phi.shape[1]))
    order = words[np.argsort(-counts[words], kind="stable")]
    return [EditProposal((), (int(v),), float(counts[v])) for v in order]


def _judge_split(seed: int, table: tokens.TokenTable, k: int, halves: Array, n_words: int) -> EditProposal | None:
    """Return what two restricted topics gain over topic ``k``; None if it is too little, or one of them is small."""
    at = tokens.EditAddress(seed, 0, -1 - k)  # edits have numbers above 0
    gain, counts = tokens.measure_split(at, table, np.array([k]), halves, ETA, n_words)
    a, b = counts[:, k], counts[:, -1]
    if gain < LEAST_GAIN or min(a.sum(), b.sum()) < LEAST_SHARE * (a.sum() + b.sum()):
        return None
    words = tuple(tuple(np.argsort(-half, kind="stable")[:SHOWN].tolist()) for half in (a, b))
    return EditProposal((k,), (), gain, words)


def _list_similar(counts: FloatArray) -> list[tuple[int, int]]:
    """Return the pairs of a column and one of those with the largest cosines to it, each pair once."""
    sizes = counts.sum(axis=0)
    there = np.flatnonzero(sizes >= LEAST_TOKENS * sizes.mean())
    unit = counts[:, there] / np.sqrt((counts[:, there] ** 2).sum(axis=0))
    cosines = unit.T @ unit
    np.fill_diagonal(cosines, -1.0)
    near = there[np.argsort(-cosines, axis=1, kind="stable")[:, : min(NEAR, len(there) - 1)]]
    return sorted({(min(a, b), max(a, b)) for a, row in zip(there.tolist(), near.tolist(), strict=True) for b in row})
