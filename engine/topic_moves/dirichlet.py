"""Exact Dirichlet draws of whole layers of topics.

A topic is a column; its draw is gammas divided by their sum.  Most entries of a table have no counts: see
``proposals.py`` for these and for the streams, and ``listed.py`` for the others.
"""

from typing import NamedTuple

import numpy as np

from engine.contract import Array, FloatArray
from engine.gibbs.augment import log_gamma_draw, log_gamma_of_root
from engine.gibbs.latent import poisson
from engine.gibbs.upper import place
from engine.jit import compiled
from engine.pool import Pool
from engine.streams import LISTED, Stream
from engine.topic_moves import listed, proposals
from engine.topic_moves.listed import Lists
from engine.topic_moves.proposals import COUNTED, KEEPS, REFUSED, Group, Prior, list_of, prior_of
from engine.topic_moves.rows import BLOCK, by_blocks, divide, row_stream

_SAFE = 0.2  # eta V from which no sum of V gammas is below 1e-290: the chance is 1e-290^(eta V)


class Kept(NamedTuple):
    """What topics keep of themselves: ``phi`` (K_{l-1}, K_l) and ``rates`` (K_l,), words of a topic on average."""

    phi: FloatArray
    rates: FloatArray


NOTHING = Kept(np.zeros((0, 0)), np.zeros(0))


def draw(counts: Array, eta: float, seed: int, step: int, layer: int, pool: Pool, kept: Kept = NOTHING) -> FloatArray:
    """Return a draw of every topic of one layer, ``phi_k ~ Dir(eta + counts[:, k])``, exact for tiny eta.

    What a topic keeps counts as further words, ``Pois(rates_k phi_vk)`` of every word.
    """
    new: FloatArray = np.empty(counts.shape)
    at = (prior_of(eta), seed, step, layer, new)
    if eta * len(counts) < _SAFE:
        by_blocks(_log_gammas, (counts, *kept, *at), new.shape, pool)
        np.exp(new - new.max(axis=0), out=new)
        sums = new.sum(axis=0)
    else:
        flat = np.ascontiguousarray(counts).ravel()
        sums = by_blocks(_gammas, (flat, kept.phi.ravel(), kept.rates, *at), new.shape, pool)
    return divide(new, sums, new, np.ones(new.shape[1], np.bool_), pool)


@compiled
def _gammas(
    counts: Array,
    phi: FloatArray,
    kept: FloatArray,
    prior: Prior,
    seed: int,
    step: int,
    layer: int,
    new: FloatArray,
    first: int,
    last: int,
    sums: FloatArray,
) -> None:
    """Write ``Gam(eta + counts + Pois(kept phi))`` to ``new`` and its column sums by block to ``sums``."""
    n_rows, n_topics = new.shape
    together = proposals.group_rows(n_topics)
    group = proposals.new_group(together * n_topics)
    lists = listed.new_lists(together * n_topics)
    values = new.reshape(new.size)
    for v in range(first * BLOCK, min(last * BLOCK, n_rows), together):
        end = min(v + together, n_rows)
        a, b = v * n_topics, end * n_topics
        if b - a < len(group.words):
            group = proposals.new_group(b - a)
        proposals.fill_words(seed, step, layer, v, end, counts[a:b], group.words, group.flags)
        if len(kept) > 0:
            proposals.flag_kept(phi[a:b], kept, group.words, group.rates, group.flags)
        rng = row_stream(seed, step, layer, v, LISTED)
        _draw_group(rng, counts[a:b], prior, len(kept) > 0, group, lists, values[a:b])
        _add_rows(new[v:end], sums[v // BLOCK])


@compiled
def _add_rows(rows: FloatArray, total: FloatArray) -> None:
    for v in range(rows.shape[0]):
        for k in range(rows.shape[1]):
            total[k] += rows[v, k]


@compiled
def _draw_group(
    rng: Stream, counts: Array, prior: Prior, keeps: bool, group: Group, lists: Lists, new: FloatArray
) -> None:
    """Write ``Gam(eta)``, for most as it is proposed, and add the gammas of counts and of what is kept."""
    flags, x = group.flags, lists.x
    small = prior.eta < 1.0
    if small:
        proposals.propose(group.words, prior, new)
        proposals.flag_refused(group.words, new, prior.eta, flags)
    else:
        new[:] = 0.0
        flags[:] |= COUNTED
    left = group.left[: proposals.list_flagged(flags, group.left)]
    if small:
        rng = listed.draw_refused(rng, group, list_of(REFUSED, flags, left, lists.mine), prior, lists, new)
    n = list_of(COUNTED, flags, left, lists.mine)
    beside = 0.0 if small else prior.eta
    for i in range(n):
        x[i] = counts[place(lists.mine[i])] + beside
    rng = listed.add_gammas(rng, n, lists, new)
    if keeps:
        listed.add_kept(rng, group, list_of(KEEPS, flags, left, lists.mine), lists, new)


@compiled
def _log_gammas(
    counts: Array,
    phi: FloatArray,
    kept: FloatArray,
    prior: Prior,
    seed: int,
    step: int,
    layer: int,
    new: FloatArray,
    first: int,
    last: int,
    _sums: FloatArray,
) -> None:
    """Write the logarithms of ``Gam(eta + counts + Pois(kept phi))`` to ``new``."""
    for v in range(first * BLOCK, min(last * BLOCK, new.shape[0])):
        rng = row_stream(seed, step, layer, v)
        for k in range(new.shape[1]):
            count = float(counts[v, k])
            if len(kept) > 0:
                n, rng = poisson(rng, kept[k] * phi[v, k])
                count += n
            if prior.root > 0 and count == 0.0:
                new[v, k], rng = log_gamma_of_root(rng, prior.root)
            else:
                new[v, k], rng = log_gamma_draw(rng, prior.eta + count)
