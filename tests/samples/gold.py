"""Eight documents of a few words, whose measures were computed with gensim 4.4.0 and the codes of papers."""

from collections.abc import Sequence

import numpy as np

from topiary.engine.contract import Counts

TEXTS = "cat dog pet / cat dog / dog pet vet / stock bond rate / stock bond / bond rate bank / cat bank / vet pet cat"
VOCABULARY = ("bank", "bond", "cat", "dog", "pet", "rate", "stock", "vet")


def numbers(lists: Sequence[Sequence[str]]) -> np.ndarray:
    """Lists of words as numbers."""
    return np.array([[VOCABULARY.index(word) for word in words] for words in lists])


def corpus() -> Counts:
    """The documents."""
    documents = [sorted(VOCABULARY.index(word) for word in text.split()) for text in TEXTS.split(" / ")]
    words = np.concatenate(documents).astype(np.int32)
    return Counts.of(np.array([len(each) for each in documents]), words, np.ones(len(words), np.int32))
