"""Append documents to a corpus: its words and classes stay, and what they do not cover is reported."""

from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from app.ingest import registry
from app.ingest.dividing import draw_part
from app.ingest.errors import IngestError
from app.ingest.importing import (
    Prepared,
    check_tokens,
    ignore_progress,
    index_corpus,
    make_block,
    note_wordless,
    read_stored,
)
from app.ingest.new_documents import Recount, Rules, find_rules, make_recounter
from app.ingest.options import APPENDED, ImportOptions
from app.ingest.registry import Paths, list_paths, open_paths
from app.ingest.report.observing import Observer
from app.ingest.report.report import describe_parts
from app.ingest.source import BLOCK, LEFT_OUT, Array, CountSource, Map, Progress, Rows, Source, TextDocument, TextSource
from app.ingest.survey import batch_documents
from app.ingest.text.passages import Division
from engine.contract import TEST, TRAIN, VALIDATION, Counts
from engine.parts import PartSizes, divide_share, number_contents
from store import corpora, corpus_writer
from store.corpus_rows import CorpusRow
from store.database import Database

# Options of the import that hold for more files of its format, and the one that holds for all texts.
_KEPT = (*(name for name in APPENDED if name not in ("format", "vocabulary", "metadata", "split")), "levels", "binary")
_OF_TEXTS = "split"
_NAMED = 8  # unknown words and labels


@dataclass(frozen=True, kw_only=True)
class Addition:
    """Documents that were appended to a corpus.

    Attributes
    ----------
    corpus : CorpusRow
        The corpus with the new documents.
    documents, train, validation : int
        New documents, and those of them to train on and for validation.
    tokens, outside : int
        Words of what was read, and those of them that are not in the vocabulary.
    strangers : tuple of str
        The most frequent of these, by the documents they occur in.
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
        """Return the addition in a sentence."""
        more = "1 document" if self.documents == 1 else f"{self.documents:,} documents"
        return (
            f"{more} appended ({describe_parts(self.documents, self.train, self.validation)}), {self.vocabulary_said}"
        )

    @property
    def vocabulary_said(self) -> str:
        """Return how many words are not in the vocabulary, with examples."""
        if not self.outside:
            return "all words are in its vocabulary"
        share = 100 * self.outside / self.tokens
        named = f": {', '.join(self.strangers)}" if self.strangers else ""
        return f"{self.outside:,} of {self.tokens:,} words ({share:.1f} %) are outside its vocabulary{named}"


class _Reading:
    """The findings of the first reading of the new documents."""

    def __init__(self, row: CorpusRow) -> None:
        self._numbers = {name: number for number, name in enumerate(row.label_names)}
        self.recounts: list[tuple[Array, Array]] = []
        self.labels: list[int] = []
        self.part: list[int | None] = []
        self.tokens = self.known = 0
        self.strangers: Counter[str] = Counter()
        self.classes: Counter[str] = Counter()  # that the corpus has not

    def add(self, counted: Recount, label: str | None, part: int | None) -> None:
        """Take a document."""
        self.recounts.append((counted.words, counted.counts))
        self.tokens += counted.tokens
        self.known += counted.known
        self.strangers.update(counted.unknown)
        number = -1 if label is None else self._numbers.get(label, -1)
        if label is not None and number < 0:
            self.classes[label] += 1
        self.labels.append(number)
        self.part.append(part)


def _join_counts(documents: Sequence[tuple[Array, Array]]) -> Counts:
    """Return the words and counts of all documents."""
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
    called: str = "",
    mapped: Map = map,
) -> Addition:
    """Append the documents of a file or folder, or of several files, to a corpus.

    Words are found by the rules of the corpus and counted over its vocabulary; a label that it has not becomes a
    column.  Documents are divided as the file says; otherwise each comes into the part of its duplicate in the
    corpus, and of the others the same shares are drawn for validation and test as the corpus has.  Runs that
    there are keep to the documents they began with.

    Parameters
    ----------
    db : Database
    corpus : str or int
        Name or number.
    path : path, or sequence of paths
    options : ImportOptions, optional
        How the file is read (:data:`app.ingest.options.APPENDED`); what they leave alone is as in the import, for
        files of its format.
    progress, called, mapped
        As in :func:`app.ingest.importing.import_path`.

    Raises
    ------
    IngestError
        When the input cannot be appended; one sentence with file, line and cause.
    store.errors.NotFound, Conflict
        When there is no such corpus, or another process changes it meanwhile.

    Notes
    -----
    After any exception the store is as it was.
    """
    row = corpora.find_corpus(db, corpus)
    row.check_usable()
    options = _find_options(row, path, options or ImportOptions())
    opening = open_paths(path, options, called)
    progress(f"Reading {opening.file}", None)
    rules = find_rules(row.meta, row.kind, corpora.read_vocabulary(db, row.number))
    found = _Reading(row)
    texts, division = opening.source, None
    if options.divides and isinstance(texts, TextSource):
        division = Division(str(options.split), rules.wording.prepare_text, strict=False)
        texts = division.divide_source(texts)
    source = _count_words(texts, rules, row, found, progress, mapped)
    prepared = _prepare(db, source, row, found, division)
    addition = _store(db, row, prepared, progress, _make_facts(opening.file, opening.format, options, found, source))
    index_corpus(db, row.number, progress, mapped)
    for note in addition.notes:
        progress(f"Note: {note}", None)
    return addition


def _find_options(row: CorpusRow, path: Paths, options: ImportOptions) -> ImportOptions:
    """Return the options of the import where the file has its format, and those given."""
    reader = registry.choose_reader(list_paths(path)[0], options)
    before, form = row.meta.get("options") or {}, row.meta.get("format")
    names = _KEPT if form == reader.name else ()
    if "token_pattern" in reader.accepts:
        names = (*names, _OF_TEXTS)
    kept = {name: value for name, value in before.items() if name in names}
    if _OF_TEXTS in kept and options.split is None and form != "text":
        kept["format"] = reader.name  # a list of documents stays one, where a text file would be one to divide
    return ImportOptions(**kept | options.report())


def _count_words(
    source: Source, rules: Rules, row: CorpusRow, found: _Reading, progress: Progress, mapped: Map
) -> CountSource:
    """Count the documents over the words of the corpus."""
    if isinstance(source, TextSource):
        return _count_texts(source, rules, row, found, progress, mapped)
    if mapped is not map:
        raise IngestError(source.where, "holds counts, which need not be cut into words; append it without --on")
    return _count_counts(source, rules, row, found, progress)


def _count_texts(
    source: TextSource, rules: Rules, row: CorpusRow, found: _Reading, progress: Progress, mapped: Map
) -> CountSource:
    if row.has_scored:
        cause = f"has no words held out for scoring, as corpus {row.name!r} has"
        raise IngestError(source.where, f"{cause}; append files of its kind, or make another corpus")
    known: deque[tuple[str | None, int | None]] = deque()  # label and part of documents whose words are on their way

    def documents() -> Iterator[TextDocument]:
        for document in source.documents():
            if document.part != LEFT_OUT:
                label = None if document.label is None else source.classes.get(document.label, document.label)
                known.append((label, document.part))
                yield document

    for counted in mapped(partial(_recount_texts, counted=source.counted, rules=rules), batch_documents(documents())):
        for each in counted:
            found.add(each, *known.popleft())
            _report_progress(len(found.labels), progress)
    from app.ingest import vectorise  # scikit-learn takes a second to import; counts need it not

    kept = replace(source, documents=lambda: _keep_strange_labels(source, row))
    counts, labels = _join_counts(found.recounts), np.array(found.labels, np.int32)
    return _make_source(source, row, found, lambda: vectorise.read_blocks(kept, counts.rows, labels))


def _recount_texts(
    documents: Sequence[TextDocument], counted: Callable[[TextDocument], str], rules: Rules
) -> list[Recount]:
    """Return the words of documents by the rules of the corpus, without their places."""
    found = (rules.count_clean(counted(rules.wording.prepare_document(document))) for document in documents)
    return [each._replace(spans=()) for each in found]


def _keep_strange_labels(source: TextSource, row: CorpusRow) -> Iterator[TextDocument]:
    """Yield the documents; a label that the corpus does not have becomes a column."""
    known = set(row.label_names)
    for document in source.documents():
        label = None if document.label is None else source.classes.get(document.label, document.label)
        strange = {} if label is None or label in known else {"label": label}
        yield document._replace(columns={**document.columns, **strange})


def _count_counts(
    source: CountSource, rules: Rules, row: CorpusRow, found: _Reading, progress: Progress
) -> CountSource:
    _refuse_kind(source, row)
    recounted = make_recounter(source.vocabulary, rules)
    held_out: list[tuple[Array, Array]] = []
    for rows in source.blocks():
        for place in range(len(rows.labels)):
            number, label = len(found.labels), int(rows.labels[place])
            part = None if source.part is None else int(source.part[number])
            found.add(recounted(rows.counts, place), None if label < 0 else source.label_names[label], part)
            if row.has_scored and rows.scored is not None:
                scored_part = recounted(rows.scored, place)
                held_out.append((scored_part.words, scored_part.counts))
        _report_progress(len(found.labels), progress)
    counts, labels = _join_counts(found.recounts), np.array(found.labels, np.int32)
    scored = _join_counts(held_out) if row.has_scored else None

    def blocks() -> Iterator[Rows]:
        begin = 0
        for rows in source.blocks():
            end = begin + len(rows.labels)
            some = None if scored is None else scored.rows(begin, end)
            yield rows._replace(counts=counts.rows(begin, end), labels=labels[begin:end], scored=some)
            begin = end

    return _make_source(source, row, found, blocks)


def _refuse_kind(source: CountSource, row: CorpusRow) -> None:
    if source.kind == "real" and row.kind != "real":
        cause = f"holds real numbers, and corpus {row.name!r} counts"
        raise IngestError(source.where, f"{cause}; make another corpus of it")
    if row.has_scored and not source.has_scored:
        cause = f"has no words held out for scoring, as corpus {row.name!r} has"
        raise IngestError(source.where, f"{cause}; append files of its kind, or make another corpus")


def _make_source(source: Source, row: CorpusRow, found: _Reading, blocks: Callable[[], Iterator[Rows]]) -> CountSource:
    return CountSource(
        where=source.where,
        vocabulary=(),
        blocks=blocks,
        n_documents=len(found.labels),
        label_names=row.label_names,
        kind=row.kind,
        notes=[*source.notes, *_note_labels(found, row)],
    )


def _note_labels(found: _Reading, row: CorpusRow) -> list[str]:
    """Return a note about labels that the corpus does not have."""
    if not found.classes:
        return []
    named = ", ".join(repr(name) for name, _ in found.classes.most_common(_NAMED))
    times = found.classes.total()
    have = "1 document has a label" if times == 1 else f"{times:,} documents have labels"
    none = "which has no classes" if not row.label_names else "whose classes stay"
    return [f"{have} that the corpus does not know, {none}: {named}; they are kept as a column, label"]


def _prepare(db: Database, source: CountSource, row: CorpusRow, found: _Reading, division: Division | None) -> Prepared:
    lengths = np.array([len(words) for words, _ in found.recounts], np.int64)
    if any(part is not None for part in found.part):
        part = np.array([TRAIN if each is None else each for each in found.part], np.int8)
        if not row.validation_documents:
            part[part == VALIDATION] = TRAIN
        what = "training document" if VALIDATION not in part else "training or validation document"
        stays = _find_staying(source, row, (part != TEST) & (lengths == 0), lengths, what)
    else:
        stays = _find_staying(source, row, lengths == 0, lengths, "document")
        part = _draw_parts(db, source, row, found, stays, division)
    return Prepared(source, part, stays, lengths, Observer(), isinstance(source, TextSource))


def _draw_parts(
    db: Database, source: CountSource, row: CorpusRow, found: _Reading, stays: Array, division: Division | None
) -> Array:
    """Return the part of each document: that of its duplicate in the corpus, else drawn, shares as in the corpus."""
    contents = number_contents(_join_counts(found.recounts), binary=row.kind == "binary")
    before, of = _number_stored(db, row), corpora.read_marks(db, row).part
    known = np.isin(contents, before)
    part = draw_part(
        stays & ~known, contents, partial(_divide_as, row), row.split_seed + row.documents, source.notes, division
    )
    order = np.argsort(before, kind="stable")
    part[known] = of[order[np.searchsorted(before[order], contents[known])]]
    return part


def _number_stored(db: Database, row: CorpusRow) -> Array:
    """Return what each document of a corpus has in common with its duplicates; some are read at a time."""
    found = [np.empty(0, np.uint64)]
    for first in range(0, row.documents, BLOCK):
        counts = corpora.read_counts(db, row.number, range(first, min(first + BLOCK, row.documents)))
        found.append(number_contents(Counts(*counts), binary=row.kind == "binary"))
    return np.concatenate(found)


def _divide_as(row: CorpusRow, n: int) -> PartSizes:
    """Return how many of ``n`` documents are held out for each part, as a corpus has them."""
    held_out = row.test_documents + row.validation_documents
    drawn = divide_share(n, held_out / row.documents, validation=False, least=0).test
    test = -(-drawn * row.test_documents // max(held_out, 1))
    return PartSizes(test, drawn - test)


def _find_staying(source: CountSource, row: CorpusRow, empty: Array, lengths: Array, what: str) -> Array:
    """Return a mask of the documents that are stored: all but empty ones, called ``what`` in a note."""
    if not len(lengths):
        raise IngestError(source.where, "has no documents; give a file that has some")
    if not lengths.any():
        cause = f"has no word of the vocabulary of corpus {row.name!r} in it"
        raise IngestError(source.where, f"{cause}; are its documents in another language?")
    return note_wordless(source, empty, what)


def _make_facts(file: str, form: str, options: ImportOptions, found: _Reading, source: CountSource) -> dict[str, Any]:
    """Return what the corpus keeps of the addition."""
    return {
        "file": file,
        "format": form,
        "options": options.report(),
        "tokens_read": found.tokens,
        "outside": found.tokens - found.known,
        "strangers": [word for word, _ in found.strangers.most_common(_NAMED)],
        "notes": source.notes,
    }


def _store(db: Database, row: CorpusRow, prepared: Prepared, progress: Progress, facts: dict[str, Any]) -> Addition:
    train, validation, stored, tokens, total = 0, 0, 0, 0, int(np.count_nonzero(prepared.stays))
    with corpus_writer.append_documents(db, row.number) as appender:
        first = appender.before.documents
        for rows, here in read_stored(prepared):
            tokens += check_tokens(prepared.source.where, rows, tokens)
            appender.add(make_block(rows, here, first + stored, binary=row.kind == "binary"))
            stored += len(here)
            train += int(np.count_nonzero(here == TRAIN))
            validation += int(np.count_nonzero(here == VALIDATION))
            progress(f"Storing documents: {stored:,}", stored / total)
        appender.meta |= facts | {"added": stored, "added_train": train}
    return Addition(
        corpus=appender.row,
        documents=stored,
        train=train,
        validation=validation,
        tokens=facts["tokens_read"],
        outside=facts["outside"],
        strangers=tuple(facts["strangers"]),
        notes=tuple(facts["notes"]),
    )


def _report_progress(documents: int, progress: Progress) -> None:
    if documents % BLOCK == 0:
        progress(f"Counting words: {documents:,} documents", None)
