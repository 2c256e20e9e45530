"""Priors of LDA: theta_d ~ Dir(alpha), phi_k ~ Dir(beta), either symmetric or not; and what its three models share."""

from typing import Any

import numpy as np

from engine import first_topics, streams, widths
from engine.contract import Batch, FloatArray
from engine.pool import Pool
from engine.settings import ALWAYS, PRIORS, SettingError, setting

GUESSED = 50.0  # alpha summed over topics where nobody says any


def topics_setting() -> Any:
    """The field ``layers`` of a Config: a single layer."""
    return setting((128,), ALWAYS, "Topics", "How many topics; LDA has one layer of them.", low=1, high=65535)


def start_setting() -> Any:
    """The field ``start`` of a Config."""
    return setting(
        "clusters",
        ALWAYS,
        "Start of the topics",
        "clusters: from groups of similar documents (k-means), which gives far better topics; random: nearly equal "
        "ones, as published.",
        choices=("clusters", "random"),
    )


def alpha_setting(default: float) -> Any:
    """The field ``alpha`` of a Config."""
    return setting(
        (default,),
        PRIORS,
        "Topic shares alpha",
        "Dirichlet parameter of every document's topic shares: one number, or one per topic separated by commas; small "
        "(0.1 is usual): few topics in a document; 0: 50 divided by the number of topics, as often published.",
        low=0,
        high=1000,
    )


def beta_setting(default: float) -> Any:
    """The field ``beta`` of a Config."""
    return setting(
        (default,),
        PRIORS,
        "Topic smoothing beta",
        "Dirichlet parameter of the topics: one number, or one per word of the vocabulary; larger is smoother; 0.05, "
        "0.1 and 0.01 are usual.",
        low=1e-6,
        high=100,
    )


def check_priors(layers: tuple[int, ...], alpha: tuple[float, ...]) -> None:
    """Raise SettingError unless there is one layer and alpha fits it."""
    if len(layers) != 1:
        asked = "-".join(map(str, layers))
        raise SettingError(f"layers must be a single number of topics, such as 128, as LDA has one layer; got {asked}")
    if len(alpha) not in (1, layers[0]):
        raise SettingError(f"alpha needs 1 value or {layers[0]}, one per topic; got {len(alpha)}")
    if len(alpha) > 1 and min(alpha) <= 0.0:
        raise SettingError("alpha must be above 0 for every topic where there is one per topic; got 0")


def alphas(alpha: tuple[float, ...], n_topics: int) -> FloatArray:
    """Alpha of every topic, (K,); one number, or numbers for another K, count for all: their mean."""
    if len(alpha) == n_topics and min(alpha) > 0.0:
        return np.array(alpha, dtype=np.float64)
    mean = sum(alpha) / len(alpha)
    return np.full(n_topics, mean if mean > 0.0 else GUESSED / n_topics)


def betas(beta: tuple[float, ...], n_words: int) -> FloatArray:
    """Beta of every word, (V,)."""
    if len(beta) not in (1, n_words):
        raise SettingError(f"beta needs 1 value or {n_words}, one per word of the vocabulary; got {len(beta)}")
    return np.array(beta, dtype=np.float64) if len(beta) == n_words else np.full(n_words, beta[0])


def first_phi(seed: int, n_words: int, n_topics: int) -> FloatArray:
    """Nearly flat topics, (V, K)."""
    return widths.flat(streams.generator(seed, streams.INIT), n_words, n_topics)


def clustered(seed: int, docs: Batch, n_words: int, n_topics: int, pool: Pool) -> tuple[FloatArray, FloatArray]:
    """Topics from groups of similar documents, (V, K), and the share of the tokens of every group, (K,)."""
    begun = first_topics.topics(seed, docs, n_words, (n_topics,), pool)
    return begun.phi[0], begun.r
