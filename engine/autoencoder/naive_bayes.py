"""What words alone say of a class: naive Bayes, which sDATM may ask beside its classifier.

A classifier that is learned to tell classes apart leaves unsaid what words say of a class by themselves, and so has
other errors than naive Bayes (Ng and Jordan, "On discriminative vs. generative classifiers", NIPS 2001).  Words count
as ``ln(1 + x)`` and every document has the same length (Rennie, Shih, Teevan and Karger, "Tackling the poor assumptions
of naive Bayes text classifiers", ICML 2003); the words of a class have a Dirichlet prior about those of all classes.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import sparse

from engine.autoencoder.encoder import TINY, levelled
from engine.contract import Array, Batch, FloatArray
from engine.corpus import owners

PRIOR = 300.0  # weight of the words of all classes beside those of one, where a document weighs about 8


class Said(NamedTuple):
    """Documents with labels, added up.

    ``words`` (C, V) weights of words by class; ``documents`` (C,) how many; ``met`` (documents,) which numbers of
    documents have been looked at, as far as the highest.
    """

    words: FloatArray
    documents: FloatArray
    met: Array


def begun(n_classes: int, n_words: int) -> Said:
    """Nothing said yet."""
    return Said(np.zeros((n_classes, n_words)), np.zeros(n_classes), np.zeros(0, dtype=bool))


def heard(said: Said, docs: Batch, n_documents: int) -> Said:
    """With the labelled documents of one more mini-batch, each once, until ``n_documents`` have been met.

    Mini-batches rarely fill a pass, and the rest of it is skipped: which documents are new is not how many came before.
    Runs of an older version kept how many; they stay with what they heard.
    """
    if said.met.ndim == 0:
        return said
    met = _room(said.met, docs)
    if np.count_nonzero(met) >= n_documents:
        return said
    new = ~met[docs.documents] & (docs.labels >= 0)
    met[docs.documents] = True
    cells = new[owners(docs.starts)]
    words = said.words.copy()
    np.add.at(words, (docs.labels[owners(docs.starts)][cells], docs.words[cells]), _weights(docs)[cells])
    return Said(words, said.documents + np.bincount(docs.labels[new], minlength=len(words)), met)


def kept(said: Said) -> dict[str, Array]:
    """As named arrays."""
    return {f"said.{i}": values for i, values in enumerate(said)}


def restored(arrays: dict[str, Array], new: Said) -> Said:
    """What :func:`kept` gave, of double precision again; ``new`` where there is none, or of other classes or words."""
    if "said.0" not in arrays or arrays["said.0"].shape != new.words.shape:
        return new
    words, documents = (np.asarray(arrays[f"said.{i}"], dtype=np.float64) for i in range(2))
    return Said(words, documents, np.asarray(arrays["said.2"]))


def told(said: Said, docs: Batch) -> FloatArray:
    """``ln p(class, words)`` up to a constant of each document, (documents, C)."""
    n_classes, n_words = said.words.shape
    together = said.words.sum(axis=0) + 1.0 / n_words
    counts = said.words + PRIOR * together / together.sum()
    speaks = np.log(counts / counts.sum(axis=1, keepdims=True))
    often = np.log((said.documents + 1.0) / (said.documents.sum() + n_classes))
    return np.asarray(weighed(docs, n_words) @ speaks.T + often)


def weighed(docs: Batch, n_words: int) -> sparse.csr_array:
    """What each word of a document weighs, (documents, V)."""
    return sparse.csr_array((_weights(docs), docs.words, docs.starts), shape=(len(docs.documents), n_words))


def pooled(chances: FloatArray, voices: Sequence[tuple[float, FloatArray]]) -> FloatArray:
    """Probabilities (documents, C) whose logarithm is the mean of those of all ``voices``, each with its share.

    Genest and Zidek, "Combining probability distributions" (Statistical Science, 1986): a logarithmic pool.

    Parameters
    ----------
    chances : (documents, C)
        Probabilities, which have the rest of the shares.
    voices : sequence of (share, (documents, C))
        Logarithms of probabilities, up to a constant of each document.
    """
    rest = 1.0 - sum(share for share, _ in voices)
    logs = rest * np.log(np.maximum(chances, TINY)) + sum(share * told for share, told in voices)
    raw = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(raw / raw.sum(axis=1, keepdims=True))


def _room(met: Array, docs: Batch) -> Array:
    """A copy of ``met`` that has a place for each of the documents."""
    room = max(len(met), int(docs.documents.max(initial=-1)) + 1)
    return np.concatenate([met, np.zeros(room - len(met), dtype=bool)])


def _weights(docs: Batch) -> FloatArray:
    """What each cell says, (cells,)."""
    return levelled(np.log1p(docs.counts.astype(np.float64)), docs.starts)
