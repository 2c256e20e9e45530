"""Import, append or inspect a file or folder: read documents, count their words, divide them and store them."""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import compress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from topiary.app.ingest import registry, vectorise
from topiary.app.ingest.column_kinds import ValueWriter, ensure_columns
from topiary.app.ingest.errors import IngestError, plural
from topiary.app.ingest.new_documents import Rules, WordCounts, find_rules, make_recounter
from topiary.app.ingest.options import APPENDED, ImportOptions
from topiary.app.ingest.readers.matrices import MOST_TOKENS
from topiary.app.ingest.registry import Paths, list_paths, name_corpus, open_paths
from topiary.app.ingest.report import Observer, Report, Share, Tally, describe_parts, list_warnings
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
    cut_rows,
)
from topiary.app.ingest.tables.joining import encode_labels
from topiary.app.ingest.tables.values import ColumnProfiles
from topiary.app.ingest.text.cleaning import make_storable
from topiary.app.ingest.text.languages import count_scripts
from topiary.app.ingest.text.passages import Division
from topiary.app.ingest.text.words import Wording
from topiary.engine.contract import TEST, TRAIN, VALIDATION, Counts
from topiary.engine.parts import PartSizes, divide_share, draw_parts, draw_validation, hash_contents, return_duplicates
from topiary.store import blocks, corpora, corpus_writer, full_text
from topiary.store.blocks import DocumentBlock
from topiary.store.corpus_rows import CorpusRow
from topiary.store.corpus_writer import CorpusWriter
from topiary.store.database import Database
from topiary.store.errors import StoreError


class PreparedDocuments(NamedTuple):
    """Documents with counts and parts, ready to be stored.

    Attributes
    ----------
    source : CountSource
    part : (documents,) int8
        TRAIN, TEST or VALIDATION.
    keep_mask : (documents,) bool
        True for documents that are stored.
    lengths : (documents,) int64
        Number of cells (different words) of each document.
    observer : Observer
        Observations of the source, complete once it has been read.
    texts : bool
        Whether the source had texts, before their words were counted.
    """

    source: CountSource
    part: Array
    keep_mask: Array
    lengths: Array
    observer: Observer
    texts: bool


def prepare_documents(
    source: Source, options: ImportOptions, progress: Progress, map_batches: Map = map
) -> PreparedDocuments:
    """Count the words of documents, divide the documents into parts, and choose those that are stored.

    Parameters
    ----------
    map_batches : Map
        Applies a function to batches of texts, here or in other processes.
    """
    observer = Observer()
    # Tags and mail headers are removed before a text is divided into passages.
    wording = Wording(html=options.html, strip_mail=options.strip_mail, pattern="")
    source, division = _divide_source(source, options, wording)
    counted = _count_words(observer.watch(source), options, progress, observer, map_batches)
    lengths, contents = _measure_documents(counted, options, progress)
    keep_mask = select_documents(counted, lengths)
    part = choose_parts(counted, contents, keep_mask, options, division)
    return PreparedDocuments(counted, part, keep_mask, lengths, observer, isinstance(source, TextSource))


def _divide_source(
    source: Source, options: ImportOptions, wording: Wording, *, strict: bool = True
) -> tuple[Source, Division | None]:
    """Return a source of the passages into which the options divide its texts, if they do, and the division."""
    if not options.divides or not isinstance(source, TextSource):
        return source, None
    division = Division(str(options.split), wording.prepare_text, strict=strict)
    return division.divide_source(source), division


def _count_words(
    source: Source, options: ImportOptions, progress: Progress, observer: Observer, map_batches: Map
) -> CountSource:
    """Return a source of counts over the chosen vocabulary."""
    if isinstance(source, TextSource):
        return vectorise.count_texts(source, options, progress, observer, map_batches)
    if map_batches is not map:
        raise IngestError(source.where, "holds counts, which need not be cut into words; import it without --on")
    if vectorise.is_pruning_requested(options):
        progress("Choosing words", None)
        return vectorise.prune_words(source, options, observer)
    return source


def _measure_documents(source: CountSource, options: ImportOptions, progress: Progress) -> tuple[Array, Array]:
    """Return the number of cells of each document, and a hash of its contents, which is equal for duplicates.

    If the source does not have them yet, its counts are read once, which also checks them.
    """
    if source.lengths is not None and source.contents is not None:
        return source.lengths, source.contents
    lengths, contents, n_read = [np.empty(0, np.int64)], [np.empty(0, np.uint64)], 0
    for rows in source.blocks():
        lengths.append(np.diff(rows.counts.starts))
        contents.append(hash_contents(rows.counts, binary=options.binary))
        n_read += len(rows.labels)
        progress(f"Reading documents: {n_read:,}", min(n_read / max(source.n_documents, 1), 1.0))
    return np.concatenate(lengths), np.concatenate(contents)


def select_documents(source: CountSource, lengths: Array) -> Array:
    """Return a mask of the documents that are stored, (documents,) bool.

    Documents without words are left out.  Test documents are kept if the file says which they are, so that test sets
    keep their published size.
    """
    if len(lengths) == 0:
        raise IngestError(source.where, "has no documents; give a file that has some")
    empty = lengths == 0
    noun = "document" if source.part is None else "training document"
    if source.part is not None:
        empty &= source.part != TEST
        if VALIDATION in source.part:
            noun = "training or validation document"
        if not np.any((source.part == TRAIN) & ~empty):
            raise IngestError(source.where, "has no training document with a word of the vocabulary in it")
    elif empty.all():
        raise IngestError(source.where, "has no document with a word of the vocabulary in it")
    return drop_wordless_documents(source, empty, noun)


def drop_wordless_documents(source: CountSource, empty: Array, noun: str) -> Array:
    """Return a mask of the documents that are not ``empty``, and add a note on how many are left out.

    ``noun`` names one of them in the note, such as "training document".
    """
    n = int(np.count_nonzero(empty))
    if n:
        subject = f"{noun} is" if n == 1 else f"{noun}s are"
        source.notes.append(f"{n:,} {subject} without words and left out")
    return np.logical_not(empty)


def read_kept_documents(prepared: PreparedDocuments) -> Iterator[tuple[Rows, Array]]:
    """Read the documents again; yield those to be stored in blocks of at most BLOCK, with the part of each."""
    source, part, keep_mask, offset = prepared.source, prepared.part, prepared.keep_mask, 0
    for rows in source.blocks():
        n = len(rows.labels)
        for start in range(0, n, BLOCK):
            stop = min(start + BLOCK, n)
            span = slice(offset + start, offset + stop)
            if keep_mask[span].any():
                yield _select_rows(cut_rows(rows, start, stop), keep_mask[span]), part[span][keep_mask[span]]
        offset += n


def _select_rows(rows: Rows, keep_mask: Array) -> Rows:
    """Return the documents where ``keep_mask`` is True."""
    if keep_mask.all():
        return rows
    titles, texts = (list(compress(each, keep_mask)) for each in (rows.titles, rows.texts))
    columns = list(compress(rows.columns, keep_mask))
    remaining = rows.with_counts(lambda counts: _select_cells(counts, keep_mask))
    return remaining._replace(labels=rows.labels[keep_mask], titles=titles, texts=texts, columns=columns)


def _select_cells(counts: Counts, keep_mask: Array) -> Counts:
    """Return the counts of the documents where ``keep_mask`` is True."""
    lengths = np.diff(counts.starts)
    cells = np.repeat(keep_mask, lengths)
    return Counts.of(lengths[keep_mask], counts.words[cells], counts.values[cells])


MOST_LABELS = 50  # labels listed in a report; a column of ids has a different label for every document


def make_report(prepared: PreparedDocuments, options: ImportOptions, *, file: str, form: str, why: str) -> Report:
    """Return the report on how an input was read and on which of its documents and words were chosen.

    Parameters
    ----------
    prepared : PreparedDocuments
        Documents that have been read.
    options : ImportOptions
    file, form, why : str
        Name of the file or folder, name of its format, and why that format was chosen.
    """
    source, observer = prepared.source, prepared.observer
    tally = observer.tally or Tally()
    # The vocabulary was cut if the observer has cuts; its words and tokens are then those before the cuts.
    words, tokens = (observer.words, observer.tokens) if observer.cuts else (len(source.vocabulary), tally.tokens)
    tokens_kept = tokens - sum(cut.tokens for cut in observer.cuts)
    wordless = int(np.count_nonzero(prepared.lengths == 0))
    warnings = list_warnings(
        observer,
        wordless=wordless,
        tokens_kept=tokens_kept,
        words_kept=len(source.vocabulary),
        texts=prepared.texts,
        split=options.split if options.divides else None,
    )
    return Report(
        path=file,
        format=form,
        why=why,
        understood=dict(source.understood),
        columns=observer.columns,
        kinds={name: chosen.kind for name, chosen in tally.columns.choose_kinds().items()},
        kind="binary" if options.binary else source.kind,
        documents=int(np.count_nonzero(prepared.keep_mask)),
        train=int(np.count_nonzero(prepared.keep_mask & (prepared.part == TRAIN))),
        validation=int(np.count_nonzero(prepared.keep_mask & (prepared.part == VALIDATION))),
        read=len(prepared.keep_mask),
        empty=tally.empty,
        duplicates=tally.duplicates,
        wordless=wordless,
        tokens=tokens,
        tokens_kept=tokens_kept,
        words=words,
        words_kept=len(source.vocabulary),
        cuts=observer.cuts,
        scripts=_share_scripts(tally.characters.count_all()),
        languages=tuple(Share(*each) for each in observer.languages),
        classes=len(tally.labels),
        labels=_count_classes(prepared.observer),
        warnings=warnings,
        notes=tuple(source.notes),
        options={name: value for name, value in options.report().items() if name != "name"},
        proposed={name: value for name, value in observer.proposed.items() if getattr(options, name) != value},
        recommended=observer.recommended,
    )


def _count_classes(observer: Observer) -> tuple[tuple[str, int], ...]:
    """Return the names of the classes and the number of documents in each, the largest first."""
    label_counts = observer.tally.labels.most_common() if observer.tally is not None else []
    numbers, names = encode_labels([label for label, _ in label_counts], observer.classes)
    pairs = zip(numbers.tolist()[:MOST_LABELS], label_counts[:MOST_LABELS], strict=True)
    return tuple((names[number], count) for number, (_, count) in pairs)


def _share_scripts(characters: Mapping[str, int]) -> tuple[Share, ...]:
    """Return the share of all letters that each script has, the largest first."""
    counted: Counter[str] = Counter()
    for letter, count in characters.items():
        for script in count_scripts(letter):
            counted[script] += count
    total = counted.total()
    return tuple(Share(script, count / total) for script, count in counted.most_common())


MOST_CORPUS_TOKENS = 10_000_000_000  # largest plausible number of tokens in a corpus


def ignore_progress(message: str, share: float | None) -> None:
    """Ignore a report of progress."""


def read_source(path: Path | str, options: ImportOptions | None = None) -> Source:
    """Return the documents at ``path``, as texts or as counts; their format is recognised, or named by the options.

    Raises
    ------
    IngestError
        When it cannot be read; the message is one sentence with file, line and cause.
    """
    options = options or ImportOptions()
    path = Path(path)
    return registry.choose_reader(path, options).read(path, options)


def import_path(
    db: Database,
    path: Paths,
    options: ImportOptions | None = None,
    progress: Progress = ignore_progress,
    *,
    display_name: str = "",
    map_batches: Map = map,
) -> CorpusRow:
    """Make a corpus of the file or folder at ``path``, or of several files of one format.

    Parameters
    ----------
    progress : callable
        Called with a sentence on the current work, and the share of it that is done (None where unknown).
    display_name : str
        As in :func:`app.ingest.registry.open_paths`.
    map_batches : Map
        Applies a function to batches of texts, here or in other processes; the corpus is the same.

    Raises
    ------
    IngestError
        When the input cannot become a corpus; the message is one sentence with file, line and cause.
    store.errors.Conflict, StoreError
        When the name of the corpus is taken or not valid; raised before anything is read.

    Notes
    -----
    After any exception the store is unchanged.
    """
    options = options or ImportOptions()
    name = name_corpus(path, options)
    corpus_writer.check_name(db, name)
    opened_source = open_paths(path, options, display_name)
    progress(f"Reading {opened_source.file}", None)
    facts = {"file": opened_source.file, "format": opened_source.format, "options": options.report()}
    return import_source(
        db, opened_source.source, name, options, progress, facts, why=opened_source.why, map_batches=map_batches
    )


def import_source(
    db: Database,
    source: Source,
    name: str,
    options: ImportOptions,
    progress: Progress,
    facts: dict[str, Any],
    *,
    why: str = "",
    map_batches: Map = map,
) -> CorpusRow:
    """Store the documents of a source as the corpus ``name``.

    Parameters
    ----------
    facts : dict
        Stored with the corpus, together with the record of the import.
    why : str
        Why the format was chosen.
    map_batches : Map
        As in `import_path`.
    """
    prepared = prepare_documents(source, options, progress, map_batches)
    counted = prepared.source
    wording_facts = {} if counted.wording is None else {"wording": dict(counted.wording)}
    with corpus_writer.write_corpus(
        db,
        name,
        counted.vocabulary,
        label_names=counted.label_names,
        kind="binary" if options.binary else counted.kind,
        image_shape=counted.image_shape,
        split_seed=options.seed,
        source=make_storable(counted.where),
        has_scored=counted.has_scored,
    ) as writer:
        tally = prepared.observer.tally or Tally()
        values = ValueWriter(tally.columns.choose_kinds())
        _store_documents(writer, prepared, values, progress, binary=options.binary)
        writer.set_columns(values.list_columns())
        counted.notes.extend((*values.list_notes(), *tally.columns.list_notes()))
        record = make_report(prepared, options, file=facts.get("file", counted.where), form=facts["format"], why=why)
        writer.meta.update(facts | wording_facts | {"notes": counted.notes, "record": record.to_json()})
    _finish(db, writer.row.number, counted.notes, progress, map_batches)
    return writer.row


def _store_documents(
    writer: CorpusWriter,
    prepared: PreparedDocuments,
    values: ValueWriter,
    progress: Progress,
    first: int = 0,
    *,
    binary: bool,
) -> Array:
    """Store documents, numbered from ``first``, and the values of their columns; return the part of each."""
    parts, stored, tokens, total = [np.empty(0, np.int8)], 0, 0, int(np.count_nonzero(prepared.keep_mask))
    for rows, part in read_kept_documents(prepared):
        tokens += check_tokens(prepared.source.where, rows, tokens)
        writer.add(make_block(rows, part, first + stored, binary=binary))
        for block in values.add(rows.columns):
            writer.add_values(block)
        parts.append(part)
        stored += len(part)
        progress(f"Storing documents: {stored:,}", stored / total)
    for block in values.finish():
        writer.add_values(block)
    return np.concatenate(parts)


def _finish(db: Database, corpus: int, notes: Iterable[str], progress: Progress, map_batches: Map) -> None:
    """Index a stored corpus, and report the notes."""
    index_corpus(db, corpus, progress, map_batches)
    for note in notes:
        progress(f"Note: {note}", None)


def index_corpus(db: Database, corpus: int, progress: Progress, map_batches: Map = map) -> None:
    """Build the full-text index of a stored corpus; a failure is reported but not raised.

    Without the index, searches are slower.

    Parameters
    ----------
    map_batches : Map
        Applies a function to batches of stored texts, here or in other processes.
    """

    def report(done: int, total: int) -> bool:
        progress(f"Preparing the search: {done:,} documents", done / total)
        return True

    try:
        full_text.build_index(db, corpus, report, map_batches)
    except StoreError as error:
        progress(f"Note: the search in the corpus is not prepared ({error}); the server will do it later", None)


def check_tokens(where: str, rows: Rows, before: int) -> int:
    """Return the number of tokens in documents; raise an error if a document or the corpus has implausibly many.

    ``before`` is the number of tokens in the documents before these.
    """
    starts, _, values = rows.counts
    if values.dtype.kind == "f" or not len(values):
        return 0
    total = np.zeros(len(values) + 1, np.int64)
    np.cumsum(values, out=total[1:])
    lengths = np.diff(total[starts])
    worst = int(np.argmax(lengths))
    if lengths[worst] > MOST_TOKENS:
        cause = (
            f"has a document of {lengths[worst]:,} words, {rows.titles[worst]!r}; at most {MOST_TOKENS:,} can be meant"
        )
        raise IngestError(where, f"{cause}, so correct its counts")
    if before + total[-1] > MOST_CORPUS_TOKENS:
        raise IngestError(
            where, f"has more than {MOST_CORPUS_TOKENS:,} words; import a part of it, or correct its counts"
        )
    return int(total[-1])


def make_block(rows: Rows, part: Array, first: int, *, binary: bool) -> DocumentBlock:
    """Return documents as a block for the store, numbered from ``first``; if ``binary``, every count becomes 1."""
    if binary:
        rows = rows.with_counts(lambda counts: counts._replace(values=np.ones(len(counts.values), np.int32)))
    return DocumentBlock(
        first=first,
        counts=blocks.StoredCounts(*rows.counts),
        part=part,
        labels=rows.labels,
        titles=rows.titles,
        texts=rows.texts,
        columns=rows.columns,
        scored=None if rows.scored is None else blocks.StoredCounts(*rows.scored),
    )


def inspect_path(
    path: Paths, options: ImportOptions | None = None, progress: Progress = ignore_progress, *, display_name: str = ""
) -> Report:
    """Return the report on a file or folder, or on several files of one format, without storing anything.

    It uses the same functions as an import, so that the report of an import would be the same.

    Parameters
    ----------
    path : path, or sequence of paths
    options : ImportOptions, optional
    progress, display_name
        As in :func:`app.ingest.importing.import_path`.

    Raises
    ------
    IngestError
        When the input cannot become a corpus; the message is one sentence with file, line and cause.
    """
    options = options or ImportOptions()
    opened_source = open_paths(path, options, display_name)
    progress(f"Reading {opened_source.file}", None)
    prepared = prepare_documents(opened_source.source, options, progress)
    if prepared.observer.tally is None:  # nothing has read the counts yet, so that the observer is not complete
        done, total = 0, len(prepared.keep_mask)
        for rows, _ in read_kept_documents(prepared):
            done += len(rows.labels)
            progress(f"Reading documents: {done:,}", done / total)
    return make_report(prepared, options, file=opened_source.file, form=opened_source.format, why=opened_source.why)


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
        return f"{self.outside:,} of {self.tokens:,} words ({share:.1f} %) are outside its vocabulary{named}"


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
    texts, division = _divide_source(opened_source.source, options, rules.wording, strict=False)
    prepared = _prepare_addition(db, _recount_words(texts, rules, row, reading, map_batches), row, reading, division)
    facts = {"file": opened_source.file, "format": opened_source.format, "options": options.report()} | reading.facts
    with corpus_writer.append_documents(db, row.number) as appender:
        first = appender.before.documents
        values = ValueWriter(reading.columns.choose_kinds(), first, appender.columns_before)
        part = _store_documents(appender, prepared, values, progress, first, binary=row.kind == "binary")
        appender.set_columns(values.list_columns())
        notes = [*prepared.source.notes, *values.list_notes()]
        train, validation = (int(np.count_nonzero(part == each)) for each in (TRAIN, VALIDATION))
        appender.meta |= facts | {"added": len(part), "added_train": train, "notes": notes}
    _finish(db, row.number, notes, progress, map_batches)
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


# Combined with a corpus's seed, so that draws are independent of other uses of the seed: of held-out documents, and of
# validation documents from the training documents of a file.
_DRAW = 0x5EED
_VALIDATE = 0x5EED2


def seed_parts(seed: int) -> np.random.Generator:
    """Return the random generator that draws the held-out documents of a corpus with this seed."""
    return np.random.default_rng((seed, _DRAW))


def seed_validation(seed: int) -> np.random.Generator:
    """Return the random generator that draws validation documents from the training documents of a corpus."""
    return np.random.default_rng((seed, _VALIDATE))


def choose_parts(
    counted: CountSource, contents: Array, keep_mask: Array, options: ImportOptions, division: Division | None
) -> Array:
    """Return the part of each document, (documents,) int8: as the file says, or drawn where it says nothing."""
    wants_validation = options.validation_share > 0
    if counted.part is None:
        sizes = partial(divide_share, share=options.test_share, validation=wants_validation)
        return draw_part(keep_mask, contents, sizes, options.seed, counted.notes, division)
    if not wants_validation:
        return np.where(counted.part == VALIDATION, TRAIN, counted.part).astype(np.int8)
    part = counted.part.copy()
    if VALIDATION not in part:
        documents = None if division is None else division.groups()[keep_mask]
        share, seed = options.validation_share, options.seed
        part[keep_mask] = draw_validation(seed_validation(seed), part[keep_mask], contents[keep_mask], share, documents)
    return part


def draw_part(
    keep_mask: Array,
    contents: Array,
    sizes: Callable[[int], PartSizes],
    seed: int,
    notes: list[str],
    division: Division | None = None,
) -> Array:
    """Draw the part of each document that is stored; the others get TRAIN.  Return an array (documents,) int8.

    Duplicates are put into the same part.  So are the passages of a document, except that passages with a duplicate in
    another part are put into training.

    Parameters
    ----------
    keep_mask : (documents,) bool
        True for documents that are stored; the others have no influence on the draw.
    contents : (documents,) integers
        Numbers that are equal for duplicates.
    sizes : callable
        Returns the sizes of the held-out parts for a number of documents.
    seed : int
    notes : list of str
        A sentence about passages is appended to it.
    division : Division, optional
        How documents were divided into passages.
    """
    part = np.full(len(keep_mask), TRAIN, np.int8)
    n = int(np.count_nonzero(keep_mask))
    if division is None:
        part[keep_mask] = draw_parts(seed_parts(seed), contents[keep_mask], sizes(n))
        return part
    documents, document_of = np.unique(division.groups()[keep_mask], return_inverse=True)
    if len(documents) < 2:
        part[keep_mask] = draw_parts(seed_parts(seed), contents[keep_mask], sizes(n))
        notes.append("all passages are of one document, so the parts are drawn passage by passage")
        return part
    drawn = draw_parts(seed_parts(seed), np.arange(len(documents)), sizes(len(documents)))[document_of]
    part[keep_mask] = return_duplicates(drawn, contents[keep_mask])
    _note_passages(drawn, part[keep_mask], document_of, notes)
    return part


def _note_passages(drawn: Array, part: Array, of: Array, notes: list[str]) -> None:
    """Append notes on how many documents were held out, and how many of their passages were returned to training.

    Parameters
    ----------
    drawn, part : (passages,) int8
        The part of each passage before and after those with duplicates in another part were returned to training.
    of : (passages,) int64
        The document of each passage.
    """
    test, validation = (len(np.unique(of[drawn == each])) for each in (TEST, VALIDATION))
    held_out = test + validation
    if not held_out:
        return
    whole = f"{held_out:,} of {of.max() + 1:,} documents, with all their passages, {'is' if held_out == 1 else 'are'}"
    purpose = f"for validation ({validation:,}) and the test ({test:,})" if validation else "for the test"
    notes.append(f"{whole} drawn {purpose}, so that no document is in two parts")
    n_returned = int(np.count_nonzero(drawn != part))
    if n_returned:
        passages = (
            "passage that another part has too is" if n_returned == 1 else "passages that other parts have too are"
        )
        notes.append(f"of these {n_returned:,} {passages} for training")
