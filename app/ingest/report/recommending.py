"""Recommended options of an import: leave out mail headers and quotes, and words that are everywhere."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from topiary.app.ingest.source import Array, TextDocument
from topiary.app.ingest.text.cleaning import is_message
from topiary.app.ingest.text.wording import Wording
from topiary.engine.quality.background import find_common_words

STRIP_MAIL, LEAVE_OUT_COMMON = "strip_mail", "leave_out_common"  # the options that can be recommended
EXAMPLES = 10  # words in most documents that are named, before and after
_FEWEST_MESSAGES = 10
_MESSAGE_SHARE = 0.5  # share of the documents that must be messages
_SAMPLED = 400  # most documents from which the words of messages are counted
_ENOUGH_DOCUMENTS = 200  # documents needed before common words are recommended for removal
_NAMED_COMMON = 8  # common words named in a sentence


class Recommendation(NamedTuple):
    """An option of an import that leaves out what says nothing about the subjects of texts, with its effect.

    Attributes
    ----------
    option : str
        ``"strip_mail"`` or ``"leave_out_common"``.
    documents : int
        Number of documents that begin as messages do; of all documents for common words.
    of : int
        Number of documents.
    words : tuple of str
        Common words that are left out, those in most documents first; empty for messages.
    before, after : tuple of str
        Of the words that are kept without the option, and with it, those in most documents.
    """

    option: str
    documents: int
    of: int
    words: tuple[str, ...]
    before: tuple[str, ...]
    after: tuple[str, ...]


def describe_recommendation(recommendation: Recommendation) -> str:
    """Return a recommendation in one sentence, with the option of the command line."""
    effect = f"words in most documents now: {' '.join(recommendation.before)}; then: {' '.join(recommendation.after)}"
    if recommendation.option == STRIP_MAIL:
        begin = f"these look like messages: {recommendation.documents:,} of {recommendation.of:,} documents begin with"
        return f"{begin} From: and Subject:; --strip-mail leaves out headers, quoted lines and signatures ({effect})"
    words = recommendation.words
    are = "1 word is" if len(words) == 1 else f"{len(words):,} words are"
    named = f"{', '.join(words[:_NAMED_COMMON])}{', …' if len(words) > _NAMED_COMMON else ''}"
    where = f"{are} everywhere in this corpus and may say little ({named})"
    return f"{where}; --leave-out-common leaves them out ({effect})"


class MessageSample:
    """A counter of messages among documents, with an evenly spread sample of the documents."""

    def __init__(self) -> None:
        self.documents = self.messages = 0
        self._sample: list[TextDocument] = []
        self._stride = 1

    def add(self, document: TextDocument) -> None:
        """Add a document as it was read."""
        self.messages += is_message(document.text)
        if self.documents % self._stride == 0:
            self._sample.append(document)
            if len(self._sample) > _SAMPLED:
                self._sample = self._sample[::2]
                self._stride *= 2
        self.documents += 1

    def recommend(
        self, counted: Callable[[TextDocument], str], wording: Wording, max_df: float
    ) -> tuple[Recommendation, ...]:
        """Return the recommendation to leave out headers and quotes; none if most documents are no messages.

        Parameters
        ----------
        counted : callable
            Returns the text of a document to count, as in :class:`app.ingest.source.TextSource`.
        wording : Wording
            How words are found; its ``strip_mail`` is ignored.
        max_df : float
            Share of the documents above which a word is not kept.
        """
        if self.messages < max(_FEWEST_MESSAGES, _MESSAGE_SHARE * self.documents):
            return ()
        before, after = (
            _list_usual_words(self._sample, counted, replace(wording, strip_mail=strip), max_df)
            for strip in (False, True)
        )
        return (Recommendation(STRIP_MAIL, self.messages, self.documents, (), before, after),)


def _list_usual_words(
    documents: Sequence[TextDocument], counted: Callable[[TextDocument], str], wording: Wording, max_df: float
) -> tuple[str, ...]:
    """Return the words in most documents, without those in more than the share ``max_df`` of them."""
    document_counts: Counter[str] = Counter()
    for document in documents:
        document_counts.update(set(wording.tokens(wording.clean_document(document, counted))))
    ranked = sorted(document_counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return tuple(word for word, n in ranked if n <= max_df * len(documents))[:EXAMPLES]


def recommend_common(
    kept: Array, document_counts: Array, totals: Array, lengths: Array, vocabulary: Sequence[str]
) -> tuple[Recommendation, ...]:
    """Return the recommendation to leave out words that are everywhere; none if there are none, or few documents.

    Parameters
    ----------
    kept : (n,) int
        Numbers of the words that are kept otherwise.
    document_counts, totals : (V,)
        Number of documents with each word, and of its occurrences.
    lengths : (documents,)
        Number of words in each document.
    vocabulary : sequence of str
    """
    if len(lengths) < _ENOUGH_DOCUMENTS:
        return ()
    ranked = kept[np.argsort(-document_counts[kept], kind="stable")]
    everywhere = np.isin(ranked, find_common_words(document_counts, totals, lengths))
    if not everywhere.any():
        return ()
    words, before, after = (
        tuple(vocabulary[word] for word in numbers.tolist())
        for numbers in (ranked[everywhere], ranked[:EXAMPLES], ranked[~everywhere][:EXAMPLES])
    )
    return (Recommendation(LEAVE_OUT_COMMON, len(lengths), len(lengths), words, before, after),)
