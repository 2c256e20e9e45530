"""Texts to counts, through scikit-learn's CountVectorizer."""

from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

from app.ingest import beside, prune, sparse
from app.ingest.cuts import Limits, Vocabulary
from app.ingest.errors import IngestError
from app.ingest.languages import name_of
from app.ingest.observing import Observer
from app.ingest.options import ImportOptions
from app.ingest.source import BLOCK, LEFT_OUT, Array, CountSource, Progress, Rows, TextDocument, TextSource
from app.ingest.survey import wording_of
from app.ingest.wording import Wording
from engine.contract import TEST, TRAIN, Counts

MIN_DF, MAX_DF, MAX_WORDS = 2, 0.7, 10_000


class _Ledger:
    """What the first reading of the documents finds beside their words."""

    def __init__(self, source: TextSource, wording: Wording, progress: Progress) -> None:
        self.labels: list[str | None] = []
        self.part: list[int | None] = []
        self.left_out = 0
        self._source, self._wording, self._progress = source, wording, progress

    def texts(self) -> Iterator[str]:
        """What is to be counted, one text for each document that is not left out."""
        for document in self._source.documents():
            if document.part == LEFT_OUT:
                self.left_out += 1
                continue
            self.labels.append(document.label)
            self.part.append(document.part)
            if len(self.labels) % BLOCK == 0:
                self._progress(f"Counting words: {len(self.labels):,} documents", None)
            yield self._source.counted(self._wording.prepared_document(document))

    def split(self) -> Array | None:
        """Part of each document when the file has documents of both parts."""
        if {TRAIN, TEST} <= set(self.part):
            return np.array([TRAIN if part is None else part for part in self.part], np.int8)
        return None


def count(
    source: TextSource, options: ImportOptions, progress: Progress, observer: Observer | None = None
) -> CountSource:
    """The same documents as counts; texts are read a second time when the blocks are asked for.

    Words are counted over all documents, training and test; the vocabulary is in the order of
    frequency.  The observer, where there is one, is told what the cuts take away.

    Raises
    ------
    IngestError
        When there is no document, or no word is left.
    """
    observer = observer or Observer()
    wording, recognised, notes = wording_of(source, options, progress)
    observer.languages = tuple((name_of(code), share) for code, share in recognised.languages.items())
    ledger = _Ledger(source, wording, progress)
    vocabulary, matrix = _count(source, wording, ledger, options, observer)
    labels, label_names = beside.encode(ledger.labels, dict(source.classes))
    part = ledger.split()
    _say(source, ledger, part)
    source.notes.extend(notes)
    counts = sparse.of_matrix(matrix, source.where)
    return CountSource(
        where=source.where,
        vocabulary=vocabulary,
        blocks=lambda: blocks(source, counts, labels),
        n_documents=len(labels),
        label_names=label_names,
        part=part,
        lengths=np.diff(counts.starts),
        notes=source.notes,
        understood=source.understood,
        wording=wording.record(),
    )


def _limits(options: ImportOptions, wording: Wording) -> Limits:
    """The cuts, the usual ones where the options say nothing."""
    return Limits(
        options.stop_words or " and ".join(name_of(code).lower() for code in wording.stop_words) or "none",
        MIN_DF if options.min_df is None else options.min_df,
        MAX_DF if options.max_df is None else options.max_df,
        MAX_WORDS if options.max_words is None else options.max_words,
        options.leave_out_common,
    )


def _count(
    source: TextSource, wording: Wording, ledger: _Ledger, options: ImportOptions, observer: Observer
) -> tuple[tuple[str, ...], Any]:
    """The vocabulary, the most frequent word first, and the scipy matrix of counts."""
    stopped: Counter[str] = Counter()
    vectoriser = CountVectorizer(
        analyzer=partial(wording.tokens, left_out=stopped), dtype=np.int32
    )  # it takes texts cleaned
    try:
        matrix = vectoriser.fit_transform(ledger.texts())
    except ValueError as error:
        if "empty vocabulary" not in str(error):
            raise
        if not ledger.labels:
            raise IngestError(source.where, "has no documents for training or test; look at its split") from None
        raise IngestError(source.where, _wordless(options.token_pattern)) from None
    ordered = vectoriser.get_feature_names_out()
    del vectoriser
    document_counts = np.bincount(matrix.indices, minlength=len(ordered))
    totals, lengths = (np.asarray(matrix.sum(axis=axis)).ravel() for axis in (0, 1))
    cut, common = _limits(options, wording), np.empty(0, np.int64)
    if options.leave_out_common:
        common = prune.common(document_counts, totals, lengths, ordered, source.notes)
    observer.take(Vocabulary(ordered, document_counts, totals, matrix.shape[0], stopped, common), cut)
    document_counts[common] = 0
    kept = prune.keep(document_counts, totals, matrix.shape[0], cut.min_df, cut.max_df, cut.max_words)
    if not options.leave_out_common:
        prune.propose(kept, document_counts, totals, lengths, ordered, source.notes)
    if len(kept) == 0:
        cause = f"no word occurs in {options.min_df or MIN_DF} documents or more and in at most "
        cause += f"{options.max_df or MAX_DF:.0%} of them; lower --min-df or raise --max-df"
        raise IngestError(source.where, cause)
    return tuple(ordered[kept].tolist()), matrix[:, kept]


def _wordless(pattern: str | None) -> str:
    """Why no text has a word to count: the pattern's fault where somebody gave one."""
    if pattern is None:
        return "has no words but stop words; is it text, in this alphabet?"
    return f"--token-pattern {pattern!r} finds no words in it but stop words; give another pattern, or none"


def _say(source: TextSource, ledger: _Ledger, part: Array | None) -> None:
    if ledger.left_out:
        them = "1 document is" if ledger.left_out == 1 else f"{ledger.left_out:,} documents are"
        source.notes.append(f"{them} in neither the training nor the test part and left out")
    if part is None and set(ledger.part) != {None}:
        source.notes.append("the file has only one of training and test documents, so the test part is drawn by seed")


def blocks(source: TextSource, counts: Counts, labels: Array) -> Iterator[Rows]:
    """The documents of a source with the counts that were found in them, which are read again for their texts."""
    begin = 0
    for documents in _in_blocks(source):
        end = begin + len(documents)
        if end > len(labels):
            break
        yield Rows(
            counts.rows(begin, end),
            labels[begin:end],
            [document.title for document in documents],
            [document.text for document in documents],
            [dict(document.columns) for document in documents],
        )
        begin = end
    if begin != len(labels):
        raise IngestError(source.where, "changed while it was being read; import it again")


def _in_blocks(source: TextSource) -> Iterator[list[TextDocument]]:
    held: list[TextDocument] = []
    for document in source.documents():
        if document.part == LEFT_OUT:
            continue
        held.append(document)
        if len(held) == BLOCK:
            yield held
            held = []
    if held:
        yield held
