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
    """Documents ready to be stored.

    Attributes
    ----------
    source : CountSource
    part : (documents,) int8
        TRAIN, TEST or VALIDATION.
    stays : (documents,) bool
        Which documents are stored.
    lengths : (documents,)
        Cells of each.
    observer : Observer
        What was seen of the source; complete once it has been read.
    texts : bool
        Whether they came as texts.
    """

    source: CountSource
    part: Array
    stays: Array
    lengths: Array
    observer: Observer
    texts: bool


def prepare(source: Source, options: ImportOptions, progress: Progress, mapped: Map = map) -> Prepared:
    """Count the documents of a source, divide them into parts, and say which of them stay.

    Parameters
    ----------
    mapped : Map
        Cuts batches of texts into words.
    """
    observer = Observer()
    division = None
    if options.divides and isinstance(source, TextSource):
        wording = Wording(html=options.html, strip_mail=options.strip_mail, pattern="")  # takes away tags and the like
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
    from app.ingest import vectorise  # takes long to import

    if isinstance(source, TextSource):
        return vectorise.count_texts(source, options, progress, observer, mapped)
    if mapped is not map:
        raise IngestError(source.where, "holds counts, which need not be cut into words; import it without --on")
    if vectorise.is_pruning_asked(options):
        progress("Choosing words", None)
        return vectorise.prune_words(source, options, observer)
    return source


def _measure_documents(source: CountSource, options: ImportOptions, progress: Progress) -> tuple[Array, Array]:
    """Return the cells of each document, and what its duplicates have in common with it (`number_contents`).

    Where only the counts tell, they are read once, which also checks them.
    """
    if source.lengths is not None and source.contents is not None:
        return source.lengths, source.contents
    lengths, contents, seen = [np.empty(0, np.int64)], [np.empty(0, np.uint64)], 0
    for rows in source.blocks():
        lengths.append(np.diff(rows.counts.starts))
        contents.append(number_contents(rows.counts, binary=options.binary))
        seen += len(rows.labels)
        progress(f"Reading documents: {seen:,}", min(seen / max(source.n_documents, 1), 1.0))
    return np.concatenate(lengths), np.concatenate(contents)


def find_staying(source: CountSource, lengths: Array) -> Array:
    """Return a mask of the documents that are stored, (documents,) bool.

    A document without words teaches nothing and is left out.  Where the file says which documents are for the test,
    those stay, so that test sets keep their published size.
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
    """Return a mask of the documents that stay, and note those that do not; ``what`` is the word for one of them."""
    n = int(np.count_nonzero(empty))
    if n:
        are = f"{what} is" if n == 1 else f"{what}s are"
        source.notes.append(f"{n:,} {are} without words and left out")
    return np.logical_not(empty)


def read_stored(prepared: Prepared) -> Iterator[tuple[Rows, Array]]:
    """Yield runs of at most BLOCK documents that stay, and the part of each."""
    source, part, stays, begin = prepared.source, prepared.part, prepared.stays, 0
    for run in source.blocks():
        n = len(run.labels)
        for first in range(0, n, BLOCK):
            last = min(first + BLOCK, n)
            here = slice(begin + first, begin + last)
            if stays[here].any():
                yield _keep_rows(cut_rows(run, first, last), stays[here]), part[here][stays[here]]
        begin += n


def _keep_rows(rows: Rows, stays: Array) -> Rows:
    """Return the documents where ``stays``; those that go have no cells, or take them along."""
    if stays.all():
        return rows
    titles, texts = (list(compress(each, stays)) for each in (rows.titles, rows.texts))
    columns = list(compress(rows.columns, stays))
    left = rows.with_counts(lambda counts: _keep_cells(counts, stays))
    return left._replace(labels=rows.labels[stays], titles=titles, texts=texts, columns=columns)


def _keep_cells(counts: Counts, stays: Array) -> Counts:
    lengths = np.diff(counts.starts)
    cells = np.repeat(stays, lengths)
    return Counts.of(lengths[stays], counts.words[cells], counts.values[cells])


MOST_LABELS = 50  # that a report counts one by one; a column of ids would fill the record of a corpus


def make_report(prepared: Prepared, options: ImportOptions, *, file: str, form: str, why: str) -> Report:
    """Make the report of what was understood and chosen.

    Parameters
    ----------
    prepared : Prepared
        Its documents have been read.
    options : ImportOptions
    file, form, why : str
        Name of the file or folder, name of its format, and why that was taken.
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
    """Return how many documents have each class, by the name it has in the corpus, the largest first."""
    found = observer.tally.labels.most_common() if observer.tally is not None else []
    coded, names = encode_labels([label for label, _ in found], observer.classes)
    named = zip(coded.tolist()[:MOST_LABELS], found[:MOST_LABELS], strict=True)
    return tuple((names[number], times) for number, (_, times) in named)


def _share_scripts(characters: Mapping[str, int]) -> tuple[Share, ...]:
    """Return scripts and the share of all letters that each has, the largest first."""
    counted: Counter[str] = Counter()
    for letter, times in characters.items():
        for script in count_scripts(letter):
            counted[script] += times
    total = counted.total()
    return tuple(Share(script, times / total) for script, times in counted.most_common())


MOST_OF_CORPUS = 10_000_000_000  # words of all documents together


def ignore_progress(message: str, share: float | None) -> None:
    """Ignore progress."""


def read_source(path: Path | str, options: ImportOptions | None = None) -> Source:
    """Return the documents at ``path``, as text or as counts; the format is recognised or taken from the options.

    Raises
    ------
    IngestError
        One sentence with file, line and cause.
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
        Called with what is being done and how much of it is (a share, or None where that is unknown).
    called : str
        As in :func:`app.ingest.registry.open_paths`.
    mapped : Map
        Does the work on texts, batch by batch: here, or in other processes.  The corpus is the same.

    Raises
    ------
    IngestError
        When the input cannot become a corpus; one sentence with file, line and cause.
    store.errors.Conflict, StoreError
        When the name of the corpus is taken, or cannot be one; before anything is read.

    Notes
    -----
    After any exception the store is as it was.
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
        Kept with the corpus, next to the record of what was understood and chosen.
    why : str
        Why the format was taken.
    mapped : Map
        As in `import_path`.
    """
    prepared = prepare(source, options, progress, mapped)
    counted = prepared.source
    how = {} if counted.wording is None else {"wording": dict(counted.wording)}
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
        for rows, here in read_stored(prepared):
            tokens += check_tokens(source.where, rows, tokens)
            writer.add(make_block(rows, here, stored, binary=options.binary))
            stored += len(here)
            progress(f"Storing documents: {stored:,}", stored / total)
        record = make_report(prepared, options, file=facts.get("file", counted.where), form=facts["format"], why=why)
        writer.meta.update(facts | how | {"notes": counted.notes, "record": record.to_json()})
    index_corpus(db, writer.row.number, progress, mapped)
    for note in counted.notes:
        progress(f"Note: {note}", None)
    return writer.row


def index_corpus(db: Database, corpus: int, progress: Progress, mapped: Map = map) -> None:
    """Make the full-text index of a corpus that is stored; without it searches take longer, and that is all.

    Parameters
    ----------
    mapped : Map
        Finds the words of stored texts.
    """

    def report(done: int, total: int) -> bool:
        progress(f"Preparing the search: {done:,} documents", done / total)
        return True

    try:
        full_text.build_index(db, corpus, report, mapped)
    except StoreError as error:
        progress(f"Note: the search in the corpus is not prepared ({error}); the server will do it later", None)


def check_tokens(where: str, rows: Rows, before: int) -> int:
    """Return the number of words of some documents; refuse more than a document or corpus can be meant to have."""
    starts, _, values = rows.counts
    if values.dtype.kind == "f" or not len(values):
        return 0
    total = np.zeros(len(values) + 1, np.int64)
    np.cumsum(values, out=total[1:])
    each = np.diff(total[starts])
    worst = int(np.argmax(each))
    if each[worst] > MOST_TOKENS:
        cause = f"has a document of {each[worst]:,} words, {rows.titles[worst]!r}; at most {MOST_TOKENS:,} can be meant"
        raise IngestError(where, f"{cause}, so correct its counts")
    if before + total[-1] > MOST_OF_CORPUS:
        raise IngestError(where, f"has more than {MOST_OF_CORPUS:,} words; import a part of it, or correct its counts")
    return int(total[-1])


def make_block(rows: Rows, part: Array, first: int, *, binary: bool) -> DocumentBlock:
    """Return documents as the store takes them, from number ``first`` on; ``binary`` makes every count 1."""
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
    """Return the report of a file or folder, or of several files of one format; nothing is stored.

    It is made by what an import does before it stores, so that both say the same.

    Parameters
    ----------
    path : path, or sequence of paths
    options : ImportOptions, optional
    progress, called
        As in :func:`app.ingest.importing.import_path`.

    Raises
    ------
    IngestError
        When it cannot become a corpus; one sentence with file, line and cause.
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
