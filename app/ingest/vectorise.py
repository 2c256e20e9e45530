"""Texts to counts: cut into bags of words batch by batch, their frequencies added up, and then the vocabulary."""

from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from app.ingest import beside, causes, prune
from app.ingest.bags import Bags, bags_of, batches
from app.ingest.count_file import CountFile, lengths_of
from app.ingest.cuts import Limits, Vocabulary
from app.ingest.errors import IngestError
from app.ingest.languages import name_of
from app.ingest.observing import Observer
from app.ingest.options import ImportOptions
from app.ingest.source import BLOCK, LEFT_OUT, Array, CountSource, Map, Progress, Rows, TextDocument, TextSource
from app.ingest.survey import wording_of
from app.ingest.wording import Wording
from engine.contract import TEST, TRAIN, Counts

MIN_DF, MAX_DF, MAX_WORDS = 2, 0.7, 10_000


class _Ledger:
    """What the first reading of the documents finds beside their words."""

    def __init__(self, source: TextSource, progress: Progress) -> None:
        self.labels: list[str | None] = []
        self.part: list[int | None] = []
        self.left_out = 0
        self._source, self._progress = source, progress

    def documents(self) -> Iterator[TextDocument]:
        """Every document that is not left out."""
        for document in self._source.documents():
            if document.part == LEFT_OUT:
                self.left_out += 1
                continue
            self.labels.append(document.label)
            self.part.append(document.part)
            if len(self.labels) % BLOCK == 0:
                self._progress(f"Counting words: {len(self.labels):,} documents", None)
            yield document

    def split(self) -> Array | None:
        """Part of each document when the file has documents of both parts."""
        if {TRAIN, TEST} <= set(self.part):
            return np.array([TRAIN if part is None else part for part in self.part], np.int8)
        return None


class _Sums:
    """The frequencies of all words, as bags come in; words have numbers in the order in which they are met.

    Attributes
    ----------
    document_counts, totals : (words or more,) int64
        In how many documents a word occurs, and how often altogether.
    stopped : Counter of str
        Stop words, and how often they were met.
    counts : CountFile
        Of every document.
    """

    def __init__(self, where: str) -> None:
        self.document_counts, self.totals = np.zeros(0, np.int64), np.zeros(0, np.int64)
        self.stopped: Counter[str] = Counter()
        self.counts = CountFile(where)
        self._numbers: dict[str, int] = {}
        self._lengths = [np.empty(0, np.int64)]

    def add(self, bags: Bags) -> None:
        """Add some documents."""
        known = self._numbers
        numbers = np.array([known.setdefault(word, len(known)) for word in bags.words], np.int32)
        if len(known) > len(self.totals):
            self.document_counts, self.totals = (
                np.concatenate([sums, np.zeros(len(known), np.int64)]) for sums in (self.document_counts, self.totals)
            )
        starts, words, values = bags.counts
        self.document_counts[numbers] += np.bincount(words, minlength=len(numbers))
        self.totals[numbers] += np.bincount(words, values, minlength=len(numbers)).astype(np.int64)
        self._lengths.append(np.diff(np.concatenate([[0], np.cumsum(values, dtype=np.int64)])[starts]))
        self.stopped.update(bags.stopped)
        self.counts.add(bags.counts._replace(words=numbers[words]))

    @property
    def lengths(self) -> Array:
        """Words of each document, (documents,) int64."""
        return np.concatenate(self._lengths)

    def in_order(self) -> tuple[list[str], Array]:
        """The words by the alphabet, and the number of each."""
        words = sorted(self._numbers)
        return words, np.array([self._numbers[word] for word in words], np.int64)


def count(
    source: TextSource, options: ImportOptions, progress: Progress, observer: Observer | None = None, mapped: Map = map
) -> CountSource:
    """The same documents as counts; texts are read a second time when the blocks are asked for.

    Words are counted over all documents, training and test; the vocabulary is in the order of
    frequency.  The observer, where there is one, is told what the cuts take away.

    Parameters
    ----------
    mapped : Map
        Cuts batches of texts into words.

    Raises
    ------
    IngestError
        When there is no document, or no word is left.
    """
    observer = observer or Observer()
    wording, recognised, notes = wording_of(source, options, progress, mapped)
    observer.languages = tuple((name_of(code), share) for code, share in recognised.languages.items())
    ledger = _Ledger(source, progress)
    sums = _Sums(source.where)
    for bags in mapped(partial(bags_of, counted=source.counted, wording=wording), batches(ledger.documents())):
        sums.add(bags)
    vocabulary, counts = _chosen(source, wording, sums, options, observer, notes)
    labels, label_names = beside.encode(ledger.labels, dict(source.classes))
    part = ledger.split()
    _say(source, ledger, part)
    source.notes.extend(notes)
    return CountSource(
        where=source.where,
        vocabulary=vocabulary,
        blocks=lambda: blocks(source, counts.reader(), labels),
        n_documents=len(labels),
        label_names=label_names,
        part=part,
        lengths=lengths_of(counts),
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


def _chosen(
    source: TextSource, wording: Wording, sums: _Sums, options: ImportOptions, observer: Observer, notes: list[str]
) -> tuple[tuple[str, ...], CountFile]:
    """The vocabulary, the most frequent word first, and the counts over it; words to leave out are noted."""
    ordered, numbers = sums.in_order()
    lengths = sums.lengths
    if not len(lengths):
        raise IngestError(source.where, "has no documents for training or test; look at its split")
    if not ordered:
        raise IngestError(source.where, causes.of_no_words(observer, sums.stopped, options))
    document_counts, totals = sums.document_counts[numbers], sums.totals[numbers]
    cut, common = _limits(options, wording), np.empty(0, np.int64)
    if options.leave_out_common:
        common = prune.common(document_counts, totals, lengths, ordered, source.notes)
    observer.take(Vocabulary(ordered, document_counts, totals, len(lengths), sums.stopped, common), cut)
    document_counts[common] = 0
    kept = prune.keep(document_counts, totals, len(lengths), cut.min_df, cut.max_df, cut.max_words)
    if not options.leave_out_common:
        prune.propose(kept, document_counts, totals, lengths, ordered, notes)
    if len(kept) == 0:
        met = sums.document_counts[numbers]
        raise IngestError(source.where, causes.of_no_vocabulary(observer, met, lengths, cut, options))
    new_number = np.full(len(numbers), -1, np.int32)
    new_number[numbers[kept]] = np.arange(len(kept))
    return tuple(ordered[word] for word in kept.tolist()), _renumbered(sums.counts, new_number, source.where)


def _renumbered(counts: CountFile, new_number: Array, where: str) -> CountFile:
    """Counts over the vocabulary that was chosen; words ascend in every document."""
    found = CountFile(where)
    for block in counts:
        words = new_number[block.words]
        chosen = block._replace(words=words).only(words >= 0)
        documents = np.repeat(np.arange(chosen.n_documents), np.diff(chosen.starts))
        order = np.lexsort((chosen.words, documents))
        found.add(chosen._replace(words=chosen.words[order], values=chosen.values[order]))
    return found


def _say(source: TextSource, ledger: _Ledger, part: Array | None) -> None:
    if ledger.left_out:
        them = "1 document is" if ledger.left_out == 1 else f"{ledger.left_out:,} documents are"
        source.notes.append(f"{them} in neither the training nor the test part and left out")
    if part is None and set(ledger.part) != {None}:
        source.notes.append("the file has only one of training and test documents, so the test part is drawn by seed")


def blocks(source: TextSource, rows: Callable[[int, int], Counts], labels: Array) -> Iterator[Rows]:
    """The documents of a source with the counts that were found in them, which are read again for their texts.

    Parameters
    ----------
    rows : callable
        Gives the counts of the documents ``begin:end``.
    """
    begin = 0
    for documents in _in_blocks(source):
        end = begin + len(documents)
        if end > len(labels):
            break
        yield Rows(
            rows(begin, end),
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
