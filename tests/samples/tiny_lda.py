"""LDA written out plainly for corpora small enough to enumerate: oracles of its three models."""

import itertools
from typing import NamedTuple

import numpy as np
from scipy.special import digamma, gammaln

from topiary.engine.contract import Batch


def batch_of(table, first=0):
    """A dense table (documents, V) of counts as a batch; documents are numbered from ``first``."""
    table = np.asarray(table)
    documents, words = np.nonzero(table)
    starts = np.concatenate([[0], np.cumsum(np.bincount(documents, minlength=len(table)))]).astype(np.int64)
    numbers = np.arange(first, first + len(table), dtype=np.int64)
    values = table[documents, words].astype(np.int32)
    return Batch(words.astype(np.int32), values, starts, np.full(len(table), -1, np.int32), numbers)


def tokens_of(table):
    """Document and word of every token, in the order in which the samplers keep them."""
    documents, words = np.nonzero(table)
    times = np.asarray(table)[documents, words]
    return np.repeat(documents, times), np.repeat(words, times)


def log_joint(table, z, alpha, beta):
    """ln p(w, z) of one assignment of topics to tokens, theta and phi integrated out."""
    owners, words = tokens_of(table)
    by_document, by_word = np.zeros((len(table), len(alpha))), np.zeros((len(beta), len(alpha)))
    np.add.at(by_document, (owners, z), 1.0)
    np.add.at(by_word, (words, z), 1.0)
    return _log_dirichlet_ratio(alpha, by_document.T) + _log_dirichlet_ratio(beta, by_word)


def _log_dirichlet_ratio(prior, counts):
    """ln of the chance of counts (n, many), each column from a Dirichlet of its own, as one sequence of tokens."""
    after = prior[:, None] + counts
    each = gammaln(after).sum(axis=0) - gammaln(after.sum(axis=0)) - gammaln(prior).sum() + gammaln(prior.sum())
    return each.sum()


def posterior(table, alpha, beta):
    """Every assignment z (many, tokens), the chance of each given the words, and ln p(w)."""
    n = int(np.sum(table))
    every = np.array(list(itertools.product(range(len(alpha)), repeat=n)))
    logs = np.array([log_joint(table, z, alpha, beta) for z in every])
    evidence = np.logaddexp.reduce(logs)
    return every, np.exp(logs - evidence), evidence


def shares_given_topics(document, phi, alpha):
    """E[theta | w] of one document (V,) whose topics phi (V, K) are known, by enumeration."""
    words = np.repeat(np.arange(len(document)), document)
    total, mean = 0.0, np.zeros(len(alpha))
    for z in itertools.product(range(len(alpha)), repeat=len(words)):
        counts = np.bincount(z, minlength=len(alpha))
        chance = np.exp(_log_dirichlet_ratio(alpha, counts[:, None].astype(float)))
        chance *= np.prod(phi[words, list(z)])
        total += chance
        mean += chance * (alpha + counts) / (alpha + counts).sum()
    return mean / total


class Variational(NamedTuple):
    """q(z), q(theta) and q(phi): ``p`` (documents, V, K), ``gamma`` (documents, K), ``lam`` (V, K)."""

    p: np.ndarray
    gamma: np.ndarray
    lam: np.ndarray


def elbo(table, q, alpha, beta):
    """Complete evidence lower bound, term by term as in Blei, Ng and Jordan (2003), equations 14 and 15."""
    log_theta = digamma(q.gamma) - digamma(q.gamma.sum(axis=1, keepdims=True))
    log_phi = digamma(q.lam) - digamma(q.lam.sum(axis=0))
    counts = np.asarray(table)[:, :, None] * q.p
    bound = (counts * log_phi).sum()  # E[ln p(w | z, phi)]
    bound += (counts * log_theta[:, None, :]).sum()  # E[ln p(z | theta)]
    bound += _expected_log_dirichlet(alpha, log_theta.T)  # E[ln p(theta)]
    bound += _expected_log_dirichlet(beta, log_phi)  # E[ln p(phi)]
    bound -= (counts * np.log(np.maximum(q.p, 1e-300))).sum()  # H[q(z)]
    for gamma, logs in zip(q.gamma, log_theta, strict=True):
        bound -= _expected_log_dirichlet(gamma, logs[:, None])  # H[q(theta)]
    for lam, logs in zip(q.lam.T, log_phi.T, strict=True):
        bound -= _expected_log_dirichlet(lam, logs[:, None])  # H[q(phi)]
    return bound


def _expected_log_dirichlet(prior, logs):
    """``sum over columns of E[ln Dir(x; prior)]`` from ``E[ln x]`` (n, many)."""
    normal = gammaln(prior.sum()) - gammaln(prior).sum()
    return logs.shape[1] * normal + ((prior - 1.0)[:, None] * logs).sum()


def split(gamma, lam):
    """The best q(z) of given q(theta) and q(phi): ``p`` (documents, V, K)."""
    log_theta = digamma(gamma) - digamma(gamma.sum(axis=1, keepdims=True))
    log_phi = digamma(lam) - digamma(lam.sum(axis=0))
    p = np.exp(log_theta[:, None, :] + log_phi[None])
    return p / p.sum(axis=2, keepdims=True)
