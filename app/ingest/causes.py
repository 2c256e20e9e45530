"""Why nothing is left of a vocabulary, each cause in a sentence of its own."""

import re
from collections.abc import Mapping

import numpy as np

from app.ingest.cuts import Limits
from app.ingest.observing import Observer
from app.ingest.options import ImportOptions
from app.ingest.source import Array

WAYS = "--split paragraphs, chapters or '500 words'"
_NAMED = 5  # stop words named
_BETWEEN = re.compile(r"[^\w\s.()/-]|\t")  # in a cell that is probably several
_FEW = 3.0  # words of a usual document below which the text is hardly in the column that was read


def of_no_words(observer: Observer, stopped: Mapping[str, int], options: ImportOptions) -> str:
    """Return why no document has a word to count.

    Parameters
    ----------
    observer : Observer
        Of documents that were read.
    stopped : mapping of str to int
        Stop words that were met.
    options : ImportOptions
    """
    tally = observer.tally
    filled = 0 if tally is None else tally.documents - tally.empty
    column = "name the column of the text with --text-column" if observer.columns else ""
    if tally is not None and not filled:
        what = "its only document is" if tally.documents == 1 else f"all of its {tally.documents:,} documents are"
        return f"has no words: {what} empty; {column or 'give texts'}"
    if tally is not None and tally.numeric == filled:
        counts = "give the texts that were counted, or counts in one of the formats of counts"
        return f"has numbers where texts should be; {column or counts}"
    if options.token_pattern is not None:
        pattern = f"--token-pattern {options.token_pattern!r} finds no words in it"
        return f"{pattern}{' but stop words' if stopped else ''}; give another pattern, or none"
    if stopped:
        most = " ".join(sorted(stopped, key=lambda word: (-stopped[word], word))[:_NAMED])
        return f"has no words but stop words ({most}); keep them with --stop-words none, or give longer texts"
    return "has no words of two letters or more; is it text, and in the encoding that it is read in?"


def of_no_vocabulary(
    observer: Observer, document_counts: Array, lengths: Array, limits: Limits, options: ImportOptions
) -> str:
    """Return why no word of documents with words is kept.

    Parameters
    ----------
    observer : Observer
        Knows what each cut takes away.
    document_counts : (V,)
        In how many documents each word occurs, before the cuts.
    lengths : (documents,)
        Words of each document.
    limits : Limits
    options : ImportOptions
    """
    documents, filled = len(lengths), int(np.count_nonzero(lengths))
    if filled == 1:
        return _of_one(documents, int(lengths.max()), options)
    if document_counts.min() == filled:
        same = observer.tally is not None and observer.tally.duplicates == filled - 1
        alike = "have the same text" if same else "have the same words"
        return f"has nothing that tells its documents apart: all {filled:,} {alike}; give documents that differ"
    if limits.min_df > limits.max_df * documents:
        cuts = (
            f"--min-df {limits.min_df:,} (documents or more) and --max-df {limits.max_df:g} (of all documents or less)"
        )
        cause = f"has only {documents:,} documents, and no word can pass {cuts}"
        return f"{cause}; give more documents, lower --min-df or raise --max-df"
    if document_counts.max() == 1:
        return f"has no word that two of its {filled:,} documents share; {_unlike(observer, lengths[lengths > 0])}"
    return of_cuts(observer)


def of_cuts(observer: Observer) -> str:
    """Return which cuts take all words away."""
    taken = [
        f"--{cut.option.replace('_', '-')} {cut.setting} takes {cut.words:,}" for cut in observer.cuts if cut.words
    ]
    return f"has {observer.words:,} different words, and none is left: {', '.join(taken)}; cut less"


def _of_one(documents: int, words: int, options: ImportOptions) -> str:
    """Return why a single document is no corpus."""
    if documents > 1:
        return f"has {documents:,} documents, but words in only 1 of them; is the text where it is read?"
    if options.divides:
        return f"is a single passage of {words:,} words; divide it more finely with {WAYS}"
    many = "and topics are learnt from many: give more documents"
    return f"is read as a single document, {many}, or divide it into passages with {WAYS}"


def _unlike(observer: Observer, lengths: Array) -> str:
    """Return what is probably wrong with documents that have no words in common."""
    columns = observer.columns
    if len(columns) == 1:
        name, samples = columns[0].name, columns[0].samples
        cells = samples if name.isdecimal() else (name, *samples)
        if cells and all(map(_BETWEEN.search, cells)):
            return f"the table has one column ({cells[0]!r}), so say with --separator what stands between its cells"
    text = next((column.name for column in columns if column.role == "text"), None)
    if text is not None and np.median(lengths) < _FEW:
        return f"{text!r} was taken for the text and has few words, so name the column of the text with --text-column"
    return "are they long enough, and in one language? --min-df 1 keeps all words"
