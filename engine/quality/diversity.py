"""Diversity of topics: how few words their lists share (Dieng, Ruiz and Blei, TACL 2020; Nan et al., ACL 2019)."""

import numpy as np

from engine.contract import FloatArray, IntArray


def topic_diversity(words: IntArray) -> float:
    """Distinct words among the lists (K, n) over all their words: 1 when no two topics share one; nan without any."""
    return len(np.unique(words)) / words.size if words.size else float("nan")


def uniqueness(words: IntArray) -> FloatArray:
    """Topic uniqueness (K,): the mean of 1 over the number of lists that hold a word; its mean is the diversity."""
    _, place, lists = np.unique(words, return_inverse=True, return_counts=True)
    return np.asarray((1.0 / lists)[place].reshape(words.shape).mean(axis=1))
