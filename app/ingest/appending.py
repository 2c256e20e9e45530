"""Append documents to a corpus: count them over its vocabulary, and divide them as it is divided."""

from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from topiary.app.ingest import registry, vectorise
from topiary.app.ingest.column_kinds import ValueWriter, ensure_columns
from topiary.app.ingest.errors import IngestError, plural
from topiary.app.ingest.importing import (
    PreparedDocuments,
    divide_source,
    draw_part,
    drop_wordless_documents,
    finish_corpus,
    store_documents,
)
from topiary.app.ingest.new_documents import Rules, WordCounts, find_rules, make_recounter
from topiary.app.ingest.observing import Observer
from topiary.app.ingest.options import APPENDED, ImportOptions
from topiary.app.ingest.registry import Paths, list_paths, open_paths
from topiary.app.ingest.report import describe_parts
from topiary.app.ingest.source import (
    BLOCK,
    LEFT_OUT,
    Array,
    CountSource,
    Map,
    Progress,
    Rows,
    Source,
    TextDocument,
    TextSource,
    ignore_progress,
)
from topiary.app.ingest.tables.values import ColumnProfiles
from topiary.app.ingest.text.passages import Division
from topiary.engine.contract import TEST, TRAIN, VALIDATION, Counts
from topiary.engine.parts import PartSizes, divide_share, hash_contents
from topiary.store import corpora, corpus_writer
from topiary.store.corpus_rows import CorpusRow
from topiary.store.database import Database

# Options of the corpus's import that also apply to appended files of its format, and one that applies to all texts.
_INHERITED = (
    *(name for name in APPENDED if name not in ("format", "vocabulary", "metadata", "split")),
    "levels",
    "binary",
)
_OF_TEXTS = "split"
_MOST_LISTED = 8  # unknown words or labels that are listed


@dataclass(frozen=True, kw_only=True)
class Addition:
    """The result of appending documents to a corpus.

    Attributes
    ----------
    corpus : CorpusRow
        The corpus with the new documents.
    documents, train, validation : int
        Number of new documents, and of those among them for training and for validation.
    tokens, outside : int
        Number of words read, and of those among them that are not in the vocabulary.
    strangers : tuple of str
        The words outside the vocabulary that occur in most documents.
    notes : tuple of str
    """

    corpus: CorpusRow
    documents: int
    train: int
    validation: int
    tokens: int
    outside: int
    strangers: tuple[str, ...]
    notes: tuple[str, ...]

    def __str__(self) -> str:
        """Return a sentence on the appended documents."""
        parts = describe_parts(self.documents, self.train, self.validation)
        return f"{plural(self.documents, 'document')} appended ({parts}), {self.vocabulary_said}"

    @property
    def vocabulary_said(self) -> str:
        """A clause on how many words are not in the vocabulary, with examples."""
        if not self.outside:
            return "all words are in its vocabulary"
        share = 100 * self.outside / self.tokens
        named = f": {', '.join(self.strangers)}" if self.strangers else ""
        return f"{self.outside:,} of {self.tokens:,} words ({share:.1f}%) are outside its vocabulary{named}"


class _Reading:
    """The words, labels and parts collected in the first pass over the new documents."""

    def __init__(self, row: CorpusRow, progress: Progress) -> None:
        self._progress = progress
        self._numbers = {name: number for number, name in enumerate(row.label_names)}
        self.recounts: list[tuple[Array, Array]] = []
        self.labels: list[int] = []
        self.part: list[int | None] = []
        self.tokens = self.known = 0
        self.strangers: Counter[str] = Counter()
        self.classes: Counter[str] = Counter()  # labels that the corpus does not have, with their frequencies
        self.columns = ColumnProfiles()

    def add(self, counted: WordCounts, label: str | None, part: int | None) -> None:
        """Add a document."""
        self.recounts.append((counted.words, counted.counts))
        self.tokens += counted.tokens
        self.known += counted.known
        self.strangers.update(counted.unknown)
        number = -1 if label is None else self._numbers.get(label, -1)
        if label is not None and number < 0:
            self.classes[label] += 1
        self.labels.append(number)
        self.part.append(part)
        if len(self.labels) % BLOCK == 0:
            self._progress(f"Counting words: {len(self.labels):,} documents", None)

    @property
    def facts(self) -> dict[str, Any]:
        """The numbers of words, stored with the corpus."""
        strangers = [word for word, _ in self.strangers.most_common(_MOST_LISTED)]
        return {"tokens_read": self.tokens, "outside": self.tokens - self.known, "strangers": strangers}


def _join_counts(documents: Sequence[tuple[Array, Array]]) -> Counts:
    """Return the words and counts of documents as one `Counts`."""
    lengths = np.array([len(words) for words, _ in documents], np.int64)
    words = np.concatenate([np.empty(0, np.int32), *(words for words, _ in documents)])
    values = [values for _, values in documents]
    return Counts.of(lengths, words, np.concatenate(values) if values else np.empty(0, np.int32))


def append_path(
    db: Database,
    corpus: str | int,
    path: Paths,
    options: ImportOptions | None = None,
    progress: Progress = ignore_progress,
    *,
    display_name: str = "",
    map_batches: Map = map,
) -> Addition:
    """Append the documents of a file or folder, or of several files, to a corpus.

    Words are found by the rules of the corpus and counted over its vocabulary.  A label that the corpus does not have
    becomes a column.  Documents are divided into parts as the file says.  Where it says nothing, a document with a
    duplicate in the corpus goes to the part of the duplicate, and the others are drawn with the corpus's shares of
    validation and test documents.  Existing runs continue with the documents they started with.

    Parameters
    ----------
    db : Database
    corpus : str or int
        Name or number of the corpus.
    path : path, or sequence of paths
    options : ImportOptions, optional
        How the file is read (:data:`app.ingest.options.APPENDED`); for files of the corpus's format, options that are
        not given are those of its import.
    progress, display_name, map_batches
        As in :func:`app.ingest.importing.import_path`.

    Raises
    ------
    IngestError
        When the input cannot be appended; the message is one sentence with file, line and cause.
    store.errors.NotFound, Conflict
        When the corpus does not exist, or another process changes it meanwhile.

    Notes
    -----
    After any exception the store is unchanged.
    """
    row = corpora.find_corpus(db, corpus)
    ensure_columns(db, row)
    options = _find_options(row, path, options or ImportOptions())
    opened_source = open_paths(path, options, display_name)
    progress(f"Reading {opened_source.file}", None)
    rules = find_rules(row.meta, row.kind, corpora.read_vocabulary(db, row.number))
    reading = _Reading(row, progress)
    texts, division = divide_source(opened_source.source, options, rules.wording, strict=False)
    prepared = _prepare_addition(db, _recount_words(texts, rules, row, reading, map_batches), row, reading, division)
    facts = {"file": opened_source.file, "format": opened_source.format, "options": options.report()} | reading.facts
    with corpus_writer.append_documents(db, row.number) as appender:
        first = appender.before.documents
        values = ValueWriter(reading.columns.choose_kinds(), first, appender.columns_before)
        part = store_documents(appender, prepared, values, progress, first, binary=row.kind == "binary")
        appender.set_columns(values.list_columns())
        notes = [*prepared.source.notes, *values.list_notes()]
        train, validation = (int(np.count_nonzero(part == each)) for each in (TRAIN, VALIDATION))
        appender.meta |= facts | {"added": len(part), "added_train": train, "notes": notes}
    finish_corpus(db, appender.row, notes, progress, map_batches)
    return Addition(
        corpus=appender.row,
        documents=len(part),
        train=train,
        validation=validation,
        tokens=reading.tokens,
        outside=reading.tokens - reading.known,
        strangers=tuple(facts["strangers"]),
        notes=tuple(notes),
    )


def _find_options(row: CorpusRow, path: Paths, options: ImportOptions) -> ImportOptions:
    """Return the given options, completed by those of the corpus's import that apply to the file."""
    reader = registry.choose_reader(list_paths(path)[0], options)
    import_options, form = row.meta.get("options") or {}, row.meta.get("format")
    names = _INHERITED if form == reader.name else ()
    if "token_pattern" in reader.accepts:
        names = (*names, _OF_TEXTS)
    inherited = {name: value for name, value in import_options.items() if name in names}
    if _OF_TEXTS in inherited and options.split is None and form != "text":
        inherited["format"] = reader.name  # else a file that lists documents would be read as one text to divide
    return ImportOptions(**inherited | options.report())


def _recount_words(source: Source, rules: Rules, row: CorpusRow, reading: _Reading, map_batches: Map) -> CountSource:
    """Return the documents of a source with their counts over the vocabulary of the corpus."""
    if row.has_scored and not (isinstance(source, CountSource) and source.has_scored):
        cause = f"has no words held out for scoring, as corpus {row.name!r} has"
        raise IngestError(source.where, f"{cause}; append files of its kind, or make another corpus")
    if isinstance(source, TextSource):
        return _count_texts(_keep_unknown_labels(source, row), rules, row, reading, map_batches)
    if map_batches is not map:
        raise IngestError(source.where, "holds counts, which need not be cut into words; append it without --on")
    if source.kind == "real" and row.kind != "real":
        cause = f"holds real numbers, and corpus {row.name!r} counts"
        raise IngestError(source.where, f"{cause}; make another corpus of it")
    return _count_counts(source, rules, row, reading)


def _count_texts(source: TextSource, rules: Rules, row: CorpusRow, reading: _Reading, map_batches: Map) -> CountSource:
    """Count the words of texts in batches, which ``map_batches`` may count in other processes."""
    pending: deque[tuple[str | None, int | None]] = deque()  # label and part of documents whose words are being counted

    def documents() -> Iterator[TextDocument]:
        for document in source.documents():
            if document.part != LEFT_OUT:
                label = None if document.label is None else source.classes.get(document.label, document.label)
                pending.append((label, document.part))
                reading.columns.add(document.columns)
                yield document

    recount = partial(_recount_texts, counted=source.counted, rules=rules)
    for recounts in map_batches(recount, vectorise.batch_documents(documents())):
        for each in recounts:
            reading.add(each, *pending.popleft())
    counts, labels = _join_counts(reading.recounts), np.array(reading.labels, np.int32)
    return _make_source(source, row, reading, lambda: vectorise.read_blocks(source, counts.rows, labels))


def _recount_texts(
    documents: Sequence[TextDocument], counted: Callable[[TextDocument], str], rules: Rules
) -> list[WordCounts]:
    """Count the words of documents by the rules of the corpus, dropping the positions of words."""
    recounts = (rules.count_clean(rules.wording.clean_document(document, counted)) for document in documents)
    return [each._replace(spans=()) for each in recounts]


def _keep_unknown_labels(source: TextSource, row: CorpusRow) -> TextSource:
    """Return the source with labels that the corpus does not have as an additional column."""
    classes = set(row.label_names)

    def documents() -> Iterator[TextDocument]:
        for document in source.documents():
            label = None if document.label is None else source.classes.get(document.label, document.label)
            extra = {} if label is None or label in classes else {"label": label}
            yield document._replace(columns={**document.columns, **extra})

    return replace(source, documents=documents)


def _count_counts(source: CountSource, rules: Rules, row: CorpusRow, reading: _Reading) -> CountSource:
    """Translate counts over another vocabulary to that of the corpus."""
    recount = make_recounter(source.vocabulary, rules)
    held_out: list[tuple[Array, Array]] = []
    for rows in source.blocks():
        for columns in rows.columns:
            reading.columns.add(columns)
        for index in range(len(rows.labels)):
            number, label = len(reading.labels), int(rows.labels[index])
            part = None if source.part is None else int(source.part[number])
            reading.add(recount(rows.counts, index), None if label < 0 else source.label_names[label], part)
            if row.has_scored and rows.scored is not None:
                scored_part = recount(rows.scored, index)
                held_out.append((scored_part.words, scored_part.counts))
    counts, labels = _join_counts(reading.recounts), np.array(reading.labels, np.int32)
    scored = _join_counts(held_out) if row.has_scored else None

    def blocks() -> Iterator[Rows]:
        start = 0
        for rows in source.blocks():
            stop = start + len(rows.labels)
            scored_rows = None if scored is None else scored.rows(start, stop)
            yield rows._replace(counts=counts.rows(start, stop), labels=labels[start:stop], scored=scored_rows)
            start = stop

    return _make_source(source, row, reading, blocks)


def _make_source(
    source: Source, row: CorpusRow, reading: _Reading, blocks: Callable[[], Iterator[Rows]]
) -> CountSource:
    return CountSource(
        where=source.where,
        vocabulary=(),
        blocks=blocks,
        n_documents=len(reading.labels),
        label_names=row.label_names,
        kind=row.kind,
        notes=[*source.notes, *_note_labels(reading, row)],
    )


def _note_labels(reading: _Reading, row: CorpusRow) -> list[str]:
    """Return notes about labels that the corpus does not have; at most one."""
    if not reading.classes:
        return []
    named = ", ".join(repr(name) for name, _ in reading.classes.most_common(_MOST_LISTED))
    n_documents = reading.classes.total()
    subject = plural(n_documents, "document has a label", "documents have labels")
    consequence = "which has no classes" if not row.label_names else "whose classes stay"
    return [f"{subject} that the corpus does not know, {consequence}: {named}; they are kept as a column, label"]


def _prepare_addition(
    db: Database, source: CountSource, row: CorpusRow, reading: _Reading, division: Division | None
) -> PreparedDocuments:
    """Choose the part of each document and which documents are stored: all but those without words."""
    lengths = np.array([len(words) for words, _ in reading.recounts], np.int64)
    if not len(lengths):
        raise IngestError(source.where, "has no documents; give a file that has some")
    if not lengths.any():
        cause = f"has no word of the vocabulary of corpus {row.name!r} in it"
        raise IngestError(source.where, f"{cause}; are its documents in another language?")
    if any(part is not None for part in reading.part):
        part = np.array([TRAIN if each is None else each for each in reading.part], np.int8)
        if not row.validation_documents:
            part[part == VALIDATION] = TRAIN
        noun = "training document" if VALIDATION not in part else "training or validation document"
        keep_mask = drop_wordless_documents(source, (part != TEST) & (lengths == 0), noun)
    else:
        keep_mask = drop_wordless_documents(source, lengths == 0, "document")
        part = _draw_parts(db, source, row, reading, keep_mask, division)
    return PreparedDocuments(source, part, keep_mask, lengths, Observer(), isinstance(source, TextSource))


def _draw_parts(
    db: Database, source: CountSource, row: CorpusRow, reading: _Reading, keep_mask: Array, division: Division | None
) -> Array:
    """Return the part of each document: that of its duplicate in the corpus, or drawn with the corpus's shares."""
    contents = hash_contents(_join_counts(reading.recounts), binary=row.kind == "binary")
    stored, stored_parts = _hash_stored_documents(db, row), corpora.read_marks(db, row).part
    is_stored = np.isin(contents, stored)
    part = draw_part(
        keep_mask & ~is_stored,
        contents,
        partial(_divide_like_corpus, row),
        row.split_seed + row.documents,
        source.notes,
        division,
    )
    order = np.argsort(stored, kind="stable")
    part[is_stored] = stored_parts[order[np.searchsorted(stored[order], contents[is_stored])]]
    return part


def _hash_stored_documents(db: Database, row: CorpusRow) -> Array:
    """Return a hash of each document of a corpus, equal for duplicates, reading a block at a time."""
    hashes = [np.empty(0, np.uint64)]
    for start in range(0, row.documents, BLOCK):
        counts = corpora.read_counts(db, row.number, range(start, min(start + BLOCK, row.documents)))
        hashes.append(hash_contents(Counts(*counts), binary=row.kind == "binary"))
    return np.concatenate(hashes)


def _divide_like_corpus(row: CorpusRow, n: int) -> PartSizes:
    """Return the sizes of the held-out parts of ``n`` documents, with the same shares as in a corpus."""
    held_out = row.test_documents + row.validation_documents
    drawn = divide_share(n, held_out / row.documents, validation=False, least=0).test
    test = -(-drawn * row.test_documents // max(held_out, 1))
    return PartSizes(test, drawn - test)
