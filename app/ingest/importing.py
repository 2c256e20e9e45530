"""Import or inspect a file or folder: read documents, count their words, divide them and store them."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import compress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from topiary.app.ingest import registry, vectorise
from topiary.app.ingest.column_kinds import ValueWriter
from topiary.app.ingest.errors import IngestError
from topiary.app.ingest.observing import Observer, Tally, list_warnings
from topiary.app.ingest.options import ImportOptions
from topiary.app.ingest.readers.matrices import MOST_TOKENS
from topiary.app.ingest.registry import Paths, name_corpus, open_paths
from topiary.app.ingest.report import Report, Share
from topiary.app.ingest.source import (
    BLOCK,
    Array,
    CountSource,
    Map,
    Progress,
    Rows,
    Source,
    TextSource,
    cut_rows,
    ignore_progress,
)
from topiary.app.ingest.tables.joining import encode_labels
from topiary.app.ingest.text.cleaning import make_storable
from topiary.app.ingest.text.languages import count_scripts
from topiary.app.ingest.text.passages import Division
from topiary.app.ingest.text.words import Wording
from topiary.engine.contract import TEST, TRAIN, VALIDATION, Counts
from topiary.engine.parts import PartSizes, divide_share, draw_parts, draw_validation, hash_contents, return_duplicates
from topiary.store import blocks, corpus_writer, full_text
from topiary.store.blocks import DocumentBlock
from topiary.store.corpus_rows import CorpusRow
from topiary.store.corpus_writer import CorpusWriter
from topiary.store.database import Database
from topiary.store.errors import StoreError

MOST_LABELS = 50  # labels listed in a report; a column of ids has a different label for every document
MOST_CORPUS_TOKENS = 10_000_000_000  # largest plausible number of tokens in a corpus
QUICKLY_INDEXED = 20_000  # documents that are indexed within seconds
# Combined with a corpus's seed, so that draws are independent of other uses of the seed: of held-out documents, and of
# validation documents from the training documents of a file.
_DRAW = 0x5EED
_VALIDATE = 0x5EED2


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
    source, division = divide_source(source, options, wording)
    counted = _count_words(observer.watch(source), options, progress, observer, map_batches)
    lengths, contents = _measure_documents(counted, options, progress)
    keep_mask = select_documents(counted, lengths)
    part = choose_parts(counted, contents, keep_mask, options, division)
    return PreparedDocuments(counted, part, keep_mask, lengths, observer, isinstance(source, TextSource))


def divide_source(
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
        store_documents(writer, prepared, values, progress, binary=options.binary)
        writer.set_columns(values.list_columns())
        counted.notes.extend((*values.list_notes(), *tally.columns.list_notes()))
        record = make_report(prepared, options, file=facts.get("file", counted.where), form=facts["format"], why=why)
        writer.meta.update(facts | wording_facts | {"notes": counted.notes, "record": record.to_json()})
    finish_corpus(db, writer.row, counted.notes, progress, map_batches)
    return writer.row


def store_documents(
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


def finish_corpus(db: Database, corpus: CorpusRow, notes: Iterable[str], progress: Progress, map_batches: Map) -> None:
    """Index a stored corpus if it is large, and report the notes.

    Others are indexed by a process that nobody waits for, by the server, or when the library first searches.
    """
    if corpus.documents > QUICKLY_INDEXED:
        index_corpus(db, corpus.number, progress, map_batches)
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
