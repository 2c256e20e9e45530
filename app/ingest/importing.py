"""Import or inspect a file or folder: read, count, draw the parts, report and store."""

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import compress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from app.ingest import registry
from app.ingest.dividing import choose_parts
from app.ingest.errors import IngestError
from app.ingest.options import ImportOptions
from app.ingest.readers.matrices import MOST_TOKENS
from app.ingest.registry import Paths, name_corpus, open_paths
from app.ingest.report.observing import Observer, Tally, list_warnings
from app.ingest.report.report import Report, Share
from app.ingest.source import BLOCK, Array, CountSource, Map, Progress, Rows, Source, TextSource, cut_rows
from app.ingest.tables.joining import encode_labels
from app.ingest.text.cleaning import make_storable
from app.ingest.text.languages import count_scripts
from app.ingest.text.passages import Division
from app.ingest.text.wording import Wording
from engine.contract import TEST, TRAIN, VALIDATION, Counts
from engine.parts import number_contents
from store import blocks, corpus_writer, full_text
from store.blocks import DocumentBlock
from store.corpus_rows import CorpusRow
from store.database import Database
from store.errors import StoreError


class Prepared(NamedTuple):
    """Documents that are ready to be stored.

    Attributes
    ----------
    source : CountSource
    part : (documents,) int8
        TRAIN, TEST or VALIDATION.
    stays : (documents,) bool
        True for documents that are stored.
    lengths : (documents,) int64
        Number of cells (different words) of each document.
    observer : Observer
        Observations of the source, complete once it has been read.
    texts : bool
        Whether the source has texts, not counts.
    """

    source: CountSource
    part: Array
    stays: Array
    lengths: Array
    observer: Observer
    texts: bool


def prepare(source: Source, options: ImportOptions, progress: Progress, mapped: Map = map) -> Prepared:
    """Count the words of a source's documents, divide the documents into parts, and choose those that are stored.

    Parameters
    ----------
    mapped : Map
        Applies a function to batches of texts, here or in other processes.
    """
    observer = Observer()
    division = None
    if options.divides and isinstance(source, TextSource):
        wording = Wording(html=options.html, strip_mail=options.strip_mail, pattern="")  # removes tags and mail headers
        division = Division(str(options.split), wording.prepare_text)
        source = division.divide_source(source)
    counted = _count_words(observer.watch(source), options, progress, observer, mapped)
    lengths, contents = _measure_documents(counted, options, progress)
    stays = find_staying(counted, lengths)
    part = choose_parts(counted, contents, stays, options, division)
    return Prepared(counted, part, stays, lengths, observer, isinstance(source, TextSource))


def _count_words(
    source: Source, options: ImportOptions, progress: Progress, observer: Observer, mapped: Map
) -> CountSource:
    """Return the source with counts of the chosen words instead of texts."""
    from app.ingest import vectorise  # slow to import

    if isinstance(source, TextSource):
        return vectorise.count_texts(source, options, progress, observer, mapped)
    if mapped is not map:
        raise IngestError(source.where, "holds counts, which need not be cut into words; import it without --on")
    if vectorise.is_pruning_asked(options):
        progress("Choosing words", None)
        return vectorise.prune_words(source, options, observer)
    return source


def _measure_documents(source: CountSource, options: ImportOptions, progress: Progress) -> tuple[Array, Array]:
    """Return the number of cells of each document, and a number that is equal for duplicates (`number_contents`).

    If the source does not know them, its counts are read once, which also checks them.
    """
    if source.lengths is not None and source.contents is not None:
        return source.lengths, source.contents
    lengths, contents, n_read = [np.empty(0, np.int64)], [np.empty(0, np.uint64)], 0
    for rows in source.blocks():
        lengths.append(np.diff(rows.counts.starts))
        contents.append(number_contents(rows.counts, binary=options.binary))
        n_read += len(rows.labels)
        progress(f"Reading documents: {n_read:,}", min(n_read / max(source.n_documents, 1), 1.0))
    return np.concatenate(lengths), np.concatenate(contents)


def find_staying(source: CountSource, lengths: Array) -> Array:
    """Return a mask of the documents that are stored, (documents,) bool.

    Documents without words are left out.  Test documents are kept if the file says which they are, so that test sets
    keep their published size.
    """
    if len(lengths) == 0:
        raise IngestError(source.where, "has no documents; give a file that has some")
    empty = lengths == 0
    what = "document" if source.part is None else "training document"
    if source.part is not None:
        empty &= source.part != TEST
        if VALIDATION in source.part:
            what = "training or validation document"
        if not np.any((source.part == TRAIN) & ~empty):
            raise IngestError(source.where, "has no training document with a word of the vocabulary in it")
    elif empty.all():
        raise IngestError(source.where, "has no document with a word of the vocabulary in it")
    return note_wordless(source, empty, what)


def note_wordless(source: CountSource, empty: Array, what: str) -> Array:
    """Return a mask of the documents that are not empty, and note how many are; ``what`` is the word for one."""
    n = int(np.count_nonzero(empty))
    if n:
        subject = f"{what} is" if n == 1 else f"{what}s are"
        source.notes.append(f"{n:,} {subject} without words and left out")
    return np.logical_not(empty)


def read_stored(prepared: Prepared) -> Iterator[tuple[Rows, Array]]:
    """Yield blocks of at most BLOCK documents that are stored, with the part of each document."""
    source, part, stays, offset = prepared.source, prepared.part, prepared.stays, 0
    for rows in source.blocks():
        n = len(rows.labels)
        for start in range(0, n, BLOCK):
            stop = min(start + BLOCK, n)
            span = slice(offset + start, offset + stop)
            if stays[span].any():
                yield _select_rows(cut_rows(rows, start, stop), stays[span]), part[span][stays[span]]
        offset += n


def _select_rows(rows: Rows, stays: Array) -> Rows:
    """Return the documents where ``stays`` is True."""
    if stays.all():
        return rows
    titles, texts = (list(compress(each, stays)) for each in (rows.titles, rows.texts))
    columns = list(compress(rows.columns, stays))
    remaining = rows.with_counts(lambda counts: _select_cells(counts, stays))
    return remaining._replace(labels=rows.labels[stays], titles=titles, texts=texts, columns=columns)


def _select_cells(counts: Counts, stays: Array) -> Counts:
    """Return the counts of the documents where ``stays`` is True."""
    lengths = np.diff(counts.starts)
    cells = np.repeat(stays, lengths)
    return Counts.of(lengths[stays], counts.words[cells], counts.values[cells])


MOST_LABELS = 50  # labels that a report counts one by one; otherwise a column of ids would fill the record of a corpus


def make_report(prepared: Prepared, options: ImportOptions, *, file: str, form: str, why: str) -> Report:
    """Return the report on how an input was understood and on what was chosen.

    Parameters
    ----------
    prepared : Prepared
        Documents that have been read.
    options : ImportOptions
    file, form, why : str
        Name of the file or folder, name of its format, and why that format was chosen.
    """
    source, observer = prepared.source, prepared.observer
    tally = observer.tally or Tally()
    words, tokens = (observer.words, observer.tokens) if observer.cuts else (len(source.vocabulary), tally.tokens)
    tokens_kept = tokens - sum(cut.tokens for cut in observer.cuts)
    wordless = int(np.count_nonzero(prepared.lengths == 0))
    warnings = list_warnings(
        observer, wordless=wordless, tokens_kept=tokens_kept, words_kept=len(source.vocabulary), texts=prepared.texts
    )
    return Report(
        path=file,
        format=form,
        why=why,
        understood=dict(source.understood),
        columns=observer.columns,
        kind="binary" if options.binary else source.kind,
        documents=int(np.count_nonzero(prepared.stays)),
        train=int(np.count_nonzero(prepared.stays & (prepared.part == TRAIN))),
        validation=int(np.count_nonzero(prepared.stays & (prepared.part == VALIDATION))),
        read=len(prepared.stays),
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
        proposed=observer.proposed,
    )


def _count_classes(observer: Observer) -> tuple[tuple[str, int], ...]:
    """Return the names of the classes in the corpus and their numbers of documents, the largest first."""
    label_counts = observer.tally.labels.most_common() if observer.tally is not None else []
    numbers, names = encode_labels([label for label, _ in label_counts], observer.classes)
    pairs = zip(numbers.tolist()[:MOST_LABELS], label_counts[:MOST_LABELS], strict=True)
    return tuple((names[number], count) for number, (_, count) in pairs)


def _share_scripts(characters: Mapping[str, int]) -> tuple[Share, ...]:
    """Return the share of each script in all letters, the largest first."""
    counted: Counter[str] = Counter()
    for letter, count in characters.items():
        for script in count_scripts(letter):
            counted[script] += count
    total = counted.total()
    return tuple(Share(script, count / total) for script, count in counted.most_common())


MOST_OF_CORPUS = 10_000_000_000  # words of all documents together at most


def ignore_progress(message: str, share: float | None) -> None:
    """Do nothing with a report of progress."""


def read_source(path: Path | str, options: ImportOptions | None = None) -> Source:
    """Return the documents at ``path``, as text or as counts; the format is recognised or taken from the options.

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
    called: str = "",
    mapped: Map = map,
) -> CorpusRow:
    """Make a corpus of the file or folder at ``path``, or of several files of one format.

    Parameters
    ----------
    progress : callable
        Called with a sentence on the current work, and the share of it that is done (None where unknown).
    called : str
        As in :func:`app.ingest.registry.open_paths`.
    mapped : Map
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
    opening = open_paths(path, options, called)
    progress(f"Reading {opening.file}", None)
    facts = {"file": opening.file, "format": opening.format, "options": options.report()}
    return import_source(db, opening.source, name, options, progress, facts, why=opening.why, mapped=mapped)


def import_source(
    db: Database,
    source: Source,
    name: str,
    options: ImportOptions,
    progress: Progress,
    facts: dict[str, Any],
    *,
    why: str = "",
    mapped: Map = map,
) -> CorpusRow:
    """Store the documents of a source as the corpus ``name``.

    Parameters
    ----------
    facts : dict
        Stored with the corpus, together with the record of the import.
    why : str
        Why the format was chosen.
    mapped : Map
        As in `import_path`.
    """
    prepared = prepare(source, options, progress, mapped)
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
        stored, tokens, total = 0, 0, int(np.count_nonzero(prepared.stays))
        for rows, parts in read_stored(prepared):
            tokens += check_tokens(source.where, rows, tokens)
            writer.add(make_block(rows, parts, stored, binary=options.binary))
            stored += len(parts)
            progress(f"Storing documents: {stored:,}", stored / total)
        record = make_report(prepared, options, file=facts.get("file", counted.where), form=facts["format"], why=why)
        writer.meta.update(facts | wording_facts | {"notes": counted.notes, "record": record.to_json()})
    index_corpus(db, writer.row.number, progress, mapped)
    for note in counted.notes:
        progress(f"Note: {note}", None)
    return writer.row


def index_corpus(db: Database, corpus: int, progress: Progress, mapped: Map = map) -> None:
    """Build the full-text index of a stored corpus; if that fails, searches are slower and nothing else.

    Parameters
    ----------
    mapped : Map
        Applies a function to batches of stored texts, here or in other processes.
    """

    def report(done: int, total: int) -> bool:
        progress(f"Preparing the search: {done:,} documents", done / total)
        return True

    try:
        full_text.build_index(db, corpus, report, mapped)
    except StoreError as error:
        progress(f"Note: the search in the corpus is not prepared ({error}); the server will do it later", None)


def check_tokens(where: str, rows: Rows, before: int) -> int:
    """Return the number of words of documents; raise an error if a document or the corpus has implausibly many.

    ``before`` is the number of words in the documents before these.
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
    if before + total[-1] > MOST_OF_CORPUS:
        raise IngestError(where, f"has more than {MOST_OF_CORPUS:,} words; import a part of it, or correct its counts")
    return int(total[-1])


def make_block(rows: Rows, part: Array, first: int, *, binary: bool) -> DocumentBlock:
    """Return documents as a block for the store, numbered from ``first``; ``binary`` makes every count 1."""
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
    path: Paths, options: ImportOptions | None = None, progress: Progress = ignore_progress, *, called: str = ""
) -> Report:
    """Return the report of a file or folder, or of several files of one format, without storing anything.

    It uses the same functions as an import, so that both agree.

    Parameters
    ----------
    path : path, or sequence of paths
    options : ImportOptions, optional
    progress, called
        As in :func:`app.ingest.importing.import_path`.

    Raises
    ------
    IngestError
        When the input cannot become a corpus; the message is one sentence with file, line and cause.
    """
    options = options or ImportOptions()
    opening = open_paths(path, options, called)
    progress(f"Reading {opening.file}", None)
    prepared = prepare(opening.source, options, progress)
    if prepared.observer.tally is None:  # counts that have not been read yet
        done, total = 0, len(prepared.stays)
        for rows, _ in read_stored(prepared):
            done += len(rows.labels)
            progress(f"Reading documents: {done:,}", done / total)
    return make_report(prepared, options, file=opening.file, form=opening.format, why=opening.why)
