"""What words say of a class by their ratios, each with a weight that is learned: sDATM may ask it too.

Naive Bayes says of a word the logarithm of how much more often a class has it than the others, and adds these ratios
as if words did not depend on each other.  Here the size of every ratio is multiplied by a weight, and the weights are
learned as those of logistic regression (Wang and Manning, "Baselines and bigrams: simple, good sentiment and topic
classification", ACL 2012): words that say much move at once, those that say nothing stay, so few are learned by heart.
"""

from typing import NamedTuple

import numpy as np
from scipy import sparse, special

from engine.autoencoder import adam
from engine.autoencoder.encoder import TINY
from engine.autoencoder.naive_bayes import Said, weighed
from engine.contract import Array, Batch, FloatArray

PRIOR = 30.0  # weight of the words of all classes beside those of one, in the ratios; a document weighs about 8
PENALTY = 0.3  # of a squared weight, half of it, beside the log-probability of one label
RATE = 0.01  # step size of Adam


class Learned(NamedTuple):
    """Weights (V, C) of ratios, Adam's ``first`` and ``second`` moments of them, and how many ``steps`` () int64."""

    weights: FloatArray
    first: FloatArray
    second: FloatArray
    steps: Array


def begun(n_classes: int, n_words: int) -> Learned:
    """Nothing learned yet: all classes are as likely."""
    weights, first, second = (np.zeros((n_words, n_classes)) for _ in range(3))
    return Learned(weights, first, second, np.array(0))


def stepped(now: Learned, said: Said, docs: Batch) -> Learned:
    """After one step of Adam with the labelled documents of a mini-batch; words that these lack stay.

    Parameters
    ----------
    now : Learned
    said : Said
        What naive Bayes has heard, of which the ratios are.
    docs : Batch
    """
    known = np.flatnonzero(docs.labels >= 0)
    rows = weighed(docs, len(now.weights))[known]
    words = np.unique(rows.indices).astype(np.int32)  # as the encoder has them: one kernel for both
    if not len(words):
        return now
    rows, sizes = rows[:, words], _sizes(said, words)
    missed = -np.exp(_logs(rows, now.weights[words] * sizes))
    missed[np.arange(len(known)), docs.labels[known]] += 1.0
    faded = PENALTY / max(1.0, said.documents.sum()) * now.weights[words]
    rise = np.asarray(rows.T @ missed) * sizes / len(known) - faded
    steps = np.asarray(now.steps + 1)
    moments = adam.Moments((now.first,), (now.second,))
    gradient = adam.Rows(words, np.ascontiguousarray(rise))
    (weights,), ((first,), (second,)) = adam.step((now.weights,), moments, [gradient], [RATE], int(steps))
    return Learned(weights, first, second, steps)


def told(now: Learned, said: Said, docs: Batch) -> FloatArray:
    """``ln p(class | words)``, (documents, C)."""
    return _logs(weighed(docs, len(now.weights)), now.weights * _sizes(said))


def kept(now: Learned) -> dict[str, Array]:
    """As named arrays; the moments begin anew in a run that goes on from them."""
    return {"ratios.0": now.weights}


def restored(arrays: dict[str, Array], new: Learned) -> Learned:
    """What :func:`kept` gave, of double precision again; ``new`` where there is none, or of other classes or words."""
    if "ratios.0" not in arrays or arrays["ratios.0"].shape != new.weights.shape:
        return new
    return new._replace(weights=np.asarray(arrays["ratios.0"], dtype=np.float64))


def _sizes(said: Said, words: Array | slice = slice(None)) -> FloatArray:
    """How much each word speaks for or against each class, ``|ln p(word | class) / p(word | others)|``, (words, C)."""
    together = said.words.sum(axis=0)
    together = together + 1.0 / len(together)
    whole = together.sum()
    share = PRIOR * together[words] / whole
    own = said.words.T[words] + share[:, None]
    others = np.maximum(own.sum(axis=1, keepdims=True) - own, TINY)
    n_own = said.words.sum(axis=1) + PRIOR
    n_others = np.maximum(n_own.sum() - n_own, TINY)
    return np.asarray(np.abs(np.log(own / n_own) - np.log(others / n_others)))


def _logs(rows: sparse.csr_array, weights: FloatArray) -> FloatArray:
    """``ln p(class)`` of documents, (documents, C)."""
    return np.asarray(special.log_softmax(rows @ weights, axis=1))
