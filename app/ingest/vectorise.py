"""Turn texts into counts: bags of words batch by batch, their frequencies, and the choice of the vocabulary."""

import tempfile
import weakref
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from app.ingest.errors import IngestError
from app.ingest.options import ImportOptions
from app.ingest.readers import matrices
from app.ingest.report import observing
from app.ingest.report.observing import Limits, Observer, Vocabulary
from app.ingest.source import BLOCK, LEFT_OUT, Array, CountSource, Map, Progress, Rows, TextDocument, TextSource
from app.ingest.survey import Bags, batch_documents, count_bags, find_wording
from app.ingest.tables import joining
from app.ingest.text.cleaning import read_stop_words
from app.ingest.text.languages import name_language
from app.ingest.text.wording import Wording
from engine.contract import TEST, TRAIN, Counts
from engine.parts import number_contents
from engine.quality.background import find_common_words

IN_MEMORY = 1 << 25  # bytes; counts of a small corpus never reach the disk


class _Block(NamedTuple):
    """The place of some documents in the file."""

    begin: int
    documents: int
    cells: int


class CountFile:
    """Counts of documents, written and read in their order; gone with the last reference to it.

    Parameters
    ----------
    where : str
        What is being imported, for the refusal where the disk is full.
    """

    def __init__(self, where: str) -> None:
        self._where = where
        self._file = tempfile.SpooledTemporaryFile(max_size=IN_MEMORY, prefix="topiary-")  # noqa: SIM115
        weakref.finalize(self, self._file.close)
        self._blocks: list[_Block] = []
        self._end = 0

    def add(self, counts: Counts) -> None:
        """Write the next documents.

        Raises
        ------
        IngestError
            When there is no room.
        """
        lengths = np.diff(counts.starts)
        raw = b"".join(np.asarray(each).astype(np.int32).tobytes() for each in (lengths, counts.words, counts.values))
        try:
            self._file.seek(self._end)
            self._file.write(raw)
        except OSError as error:
            folder = tempfile.gettempdir()
            cause = f"has counts that do not fit into {folder}, the folder of temporary files ({error.strerror})"
            raise IngestError(self._where, f"{cause}; make room there, or set TMPDIR to another one") from None
        self._blocks.append(_Block(self._end, len(lengths), len(counts.words)))
        self._end += len(raw)

    def __iter__(self) -> Iterator[Counts]:
        for begin, documents, cells in self._blocks:
            self._file.seek(begin)
            whole = np.frombuffer(self._file.read(4 * (documents + 2 * cells)), np.int32)
            lengths, words, values = np.split(whole, [documents, documents + cells])
            yield Counts.of(lengths, words, values)

    def reader(self) -> Callable[[int, int], Counts]:
        """Return a function that gives the documents ``begin:end``, called for one run after the other."""
        blocks = iter(self)
        held = Counts.of(*(np.empty(0, np.int32) for _ in range(3)))

        def rows(begin: int, end: int) -> Counts:
            nonlocal held
            parts, n = [held], held.n_documents
            while n < end - begin:
                parts.append(next(blocks))
                n += parts[-1].n_documents
            whole = matrices.join_counts(parts)
            held = whole.rows(end - begin, n)
            return whole.rows(0, end - begin)

        return rows


def measure_counts(counts: CountFile) -> Array:
    """Return the number of cells of each document, (documents,) int64."""
    return np.concatenate([np.empty(0, np.int64), *(np.diff(each.starts) for each in counts)])


_MANY = 200  # documents from which a word can be said to be everywhere
_NAMED_COMMON = 8  # words named of those that are


def choose_words(
    document_counts: Array, totals: Array, n_documents: int, min_df: int, max_df: float, most: int | None
) -> Array:
    """Return numbers of the words to keep, the most frequent first; equals stay in their order.

    Parameters
    ----------
    document_counts, totals : (V,)
        In how many documents a word occurs, and how often altogether.

    >>> choose_words(np.array([1, 3, 2, 4]), np.array([9, 3, 5, 4]), 4, 2, 0.9, None)
    array([2, 1])
    """
    fits = np.flatnonzero((document_counts >= min_df) & (document_counts <= max_df * n_documents))
    ranked = fits[np.argsort(-totals[fits], kind="stable")]
    return ranked if most is None else ranked[:most]


def find_common(
    document_counts: Array, totals: Array, lengths: Array, vocabulary: Sequence[str], notes: list[str]
) -> Array:
    """Return numbers of the words that the corpus puts everywhere, and a note that they are left out."""
    found = find_common_words(document_counts, totals, lengths)
    ranked = found[np.argsort(-document_counts[found], kind="stable")]
    if len(ranked):
        are = "1 word that is" if len(ranked) == 1 else f"{len(ranked)} words that are"
        notes.append(f"{are} everywhere left out: {' '.join(vocabulary[word] for word in ranked.tolist())}")
    return found


def propose_common(
    kept: Array, document_counts: Array, totals: Array, lengths: Array, vocabulary: Sequence[str], notes: list[str]
) -> None:
    """Note which of the kept words the corpus puts everywhere, and how to leave them out; of few documents nothing."""
    if len(lengths) < _MANY:
        return
    everywhere = set(find_common_words(document_counts, totals, lengths).tolist())
    ranked = [word for word in kept[np.argsort(-document_counts[kept], kind="stable")].tolist() if word in everywhere]
    if ranked:
        are = "1 word is" if len(ranked) == 1 else f"{len(ranked):,} words are"
        some = ", ".join(vocabulary[word] for word in ranked[:_NAMED_COMMON])
        named = f"{some}{', …' if len(ranked) > _NAMED_COMMON else ''}"
        where = f"{are} everywhere in this corpus and may say little ({named})"
        notes.append(f"{where}; --leave-out-common leaves them out")


def is_pruning_asked(options: ImportOptions) -> bool:
    """Return whether the options say something about the vocabulary of a count format, kept whole otherwise."""
    cut = any(value is not None for value in (options.min_df, options.max_df, options.max_words))
    return cut or options.leave_out_common or options.stop_words not in (None, "none")


def prune_words(source: CountSource, options: ImportOptions, observer: Observer | None = None) -> CountSource:
    """Return the source with only the words that the options keep, in their order; reads the counts once.

    The observer, where there is one, gets what the cuts take away.
    """
    n_words = len(source.vocabulary)
    document_counts, totals, lengths = np.zeros(n_words, np.int64), np.zeros(n_words), [np.zeros(0)]
    if options.leave_out_common and (source.kind == "real" or source.image_shape is not None):
        raise IngestError(source.where, "has no words that were counted; leave --leave-out-common out")
    for rows in source.blocks():
        tokens = np.concatenate([[0], np.cumsum(rows.counts.values, dtype=np.float64)])
        lengths.append(np.diff(tokens[rows.counts.starts]))
        document_counts += np.bincount(rows.counts.words, minlength=n_words)
        totals += np.bincount(rows.counts.words, weights=rows.counts.values, minlength=n_words)
    stops = read_stop_words(options.stop_words or "none")
    limits = Limits(options.stop_words or "none", options.min_df or 1, options.max_df or 1.0, options.max_words,
                    options.leave_out_common)  # fmt: skip
    stopped = np.array([word.lower() in stops for word in source.vocabulary])
    document_counts[stopped] = 0
    everywhere = np.empty(0, np.int64)
    if options.leave_out_common:
        everywhere = find_common(document_counts, totals, np.concatenate(lengths), source.vocabulary, source.notes)
    if observer is not None:
        observer.take(_describe_vocabulary(source, document_counts, totals, stopped, everywhere), limits)
    document_counts[everywhere] = 0
    kept = np.sort(
        choose_words(document_counts, totals, source.n_documents, limits.min_df, limits.max_df, limits.max_words)
    )
    if len(kept) == 0:
        cause = "no word is left; ask for less with --min-df, --max-df and --stop-words"
        known = observer is not None and observer.cuts
        raise IngestError(source.where, observing.explain_cuts(observer) if observer and known else cause)
    new_number = np.full(n_words, -1, np.int32)
    new_number[kept] = np.arange(len(kept))
    return replace(
        source,
        vocabulary=tuple(source.vocabulary[word] for word in kept),
        blocks=lambda: _renumber_source(source, new_number),
    )


def _describe_vocabulary(
    source: CountSource, document_counts: Array, totals: Array, stopped: Array, everywhere: Array
) -> Vocabulary:
    """Return the words of a source as the cuts see them, stop words apart."""
    others = np.flatnonzero(~stopped)
    words = np.array(source.vocabulary, dtype=object)
    met = {word: int(times) for word, times in zip(words[stopped], totals[stopped], strict=True)}
    common = np.flatnonzero(np.isin(others, everywhere))
    return Vocabulary(words[others].tolist(), document_counts[others], totals[others], source.n_documents, met, common)


def _renumber_source(source: CountSource, new_number: Array) -> Iterator[Rows]:
    for rows in source.blocks():
        yield rows.with_counts(partial(_renumber_cells, new_number=new_number))


def _renumber_cells(counts: Counts, new_number: Array) -> Counts:
    words = new_number[counts.words]
    return counts._replace(words=words).select_cells(words >= 0)


MIN_DF, MAX_DF, MAX_WORDS = 2, 0.7, 10_000


class _Ledger:
    """The findings of the first reading of the documents other than their words."""

    def __init__(self, source: TextSource, progress: Progress) -> None:
        self.labels: list[str | None] = []
        self.part: list[int | None] = []
        self.left_out = 0
        self._source, self._progress = source, progress

    def documents(self) -> Iterator[TextDocument]:
        """Yield every document that is not left out."""
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
        """Return part of each document when the file has documents of both parts."""
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

    def list_sorted(self) -> tuple[list[str], Array]:
        """Return the words by the alphabet, and the number of each."""
        words = sorted(self._numbers)
        return words, np.array([self._numbers[word] for word in words], np.int64)


def count_texts(
    source: TextSource, options: ImportOptions, progress: Progress, observer: Observer | None = None, mapped: Map = map
) -> CountSource:
    """Return the same documents as counts; texts are read again when the blocks are asked for.

    Words are counted over all documents, training and test; the vocabulary is in the order of
    frequency.  The observer, where there is one, gets what the cuts take away.

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
    wording, recognised, notes = find_wording(source, options, progress, mapped)
    observer.languages = tuple((name_language(code), share) for code, share in recognised.languages.items())
    ledger = _Ledger(source, progress)
    sums = _Sums(source.where)
    batches = batch_documents(ledger.documents())
    for bags in mapped(partial(count_bags, counted=source.counted, wording=wording), batches):
        sums.add(bags)
    vocabulary, counts = _choose_vocabulary(source, wording, sums, options, observer, notes)
    labels, label_names = joining.encode_labels(ledger.labels, dict(source.classes))
    part = ledger.split()
    _note_parts(source, ledger, part)
    source.notes.extend(notes)
    return CountSource(
        where=source.where,
        vocabulary=vocabulary,
        blocks=lambda: read_blocks(source, counts.reader(), labels),
        n_documents=len(labels),
        label_names=label_names,
        part=part,
        lengths=measure_counts(counts),
        contents=np.concatenate([number_contents(each, binary=options.binary) for each in counts]),
        notes=source.notes,
        understood=source.understood,
        wording=wording.record(),
    )


def _find_limits(options: ImportOptions, wording: Wording) -> Limits:
    """Return the cuts, the usual ones where the options say nothing."""
    return Limits(
        options.stop_words or " and ".join(name_language(code).lower() for code in wording.stop_words) or "none",
        MIN_DF if options.min_df is None else options.min_df,
        MAX_DF if options.max_df is None else options.max_df,
        MAX_WORDS if options.max_words is None else options.max_words,
        options.leave_out_common,
    )


def _choose_vocabulary(
    source: TextSource, wording: Wording, sums: _Sums, options: ImportOptions, observer: Observer, notes: list[str]
) -> tuple[tuple[str, ...], CountFile]:
    """Choose the vocabulary, the most frequent word first, and the counts over it; words to leave out are noted."""
    ordered, numbers = sums.list_sorted()
    lengths = sums.lengths
    if not len(lengths):
        raise IngestError(source.where, "has no documents for training or test; look at its split")
    if not ordered:
        raise IngestError(source.where, observing.explain_no_words(observer, sums.stopped, options))
    document_counts, totals = sums.document_counts[numbers], sums.totals[numbers]
    cut, common = _find_limits(options, wording), np.empty(0, np.int64)
    if options.leave_out_common:
        common = find_common(document_counts, totals, lengths, ordered, source.notes)
    observer.take(Vocabulary(ordered, document_counts, totals, len(lengths), sums.stopped, common), cut)
    document_counts[common] = 0
    kept = choose_words(document_counts, totals, len(lengths), cut.min_df, cut.max_df, cut.max_words)
    if not options.leave_out_common:
        propose_common(kept, document_counts, totals, lengths, ordered, notes)
    if len(kept) == 0:
        met = sums.document_counts[numbers]
        raise IngestError(source.where, observing.explain_no_vocabulary(observer, met, lengths, cut, options))
    new_number = np.full(len(numbers), -1, np.int32)
    new_number[numbers[kept]] = np.arange(len(kept))
    return tuple(ordered[word] for word in kept.tolist()), _renumber_counts(sums.counts, new_number, source.where)


def _renumber_counts(counts: CountFile, new_number: Array, where: str) -> CountFile:
    """Return counts over the vocabulary that was chosen; words ascend in every document."""
    found = CountFile(where)
    for block in counts:
        words = new_number[block.words]
        found.add(matrices.sort_words(block._replace(words=words).select_cells(words >= 0)))
    return found


def _note_parts(source: TextSource, ledger: _Ledger, part: Array | None) -> None:
    if ledger.left_out:
        them = "1 document is" if ledger.left_out == 1 else f"{ledger.left_out:,} documents are"
        source.notes.append(f"{them} in neither the training nor the test part and left out")
    if part is None and set(ledger.part) != {None}:
        source.notes.append("the file has only one of training and test documents, so the test part is drawn by seed")


def read_blocks(source: TextSource, rows: Callable[[int, int], Counts], labels: Array) -> Iterator[Rows]:
    """Yield the documents of a source, read again for their texts, with the counts that were found in them.

    Parameters
    ----------
    rows : callable
        Gives the counts of the documents ``begin:end``.
    """
    begin = 0
    for documents in _group_documents(source):
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


def _group_documents(source: TextSource) -> Iterator[list[TextDocument]]:
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
