"""Import a file or folder as a corpus of the store."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from app.ingest import files, prune, registry
from app.ingest.errors import IngestError
from app.ingest.options import ImportOptions
from app.ingest.parsing import MOST_TOKENS
from app.ingest.source import BLOCK, Array, CountSource, Progress, Rows, Source, TextSource, piece
from app.ingest.words import storable
from engine.contract import TEST, TRAIN, Counts
from store import corpora, full_text
from store.corpora import CorpusRow, DocumentBlock
from store.database import Database
from store.errors import StoreError

MOST_OF_CORPUS = 10_000_000_000  # words of all documents together
_DRAW = 0x5EED  # keeps the draw of test documents apart from other uses of the same seed


def quiet(message: str, share: float | None) -> None:
    """Progress that nobody watches."""


def read(path: Path | str, options: ImportOptions | None = None) -> Source:
    """The documents at ``path``, as text or as counts; the format is recognised or taken from the options.

    Raises
    ------
    IngestError
        One sentence with file, line and cause.
    """
    options = options or ImportOptions()
    path = Path(path)
    return registry.choose(path, options).read(path, options)


def import_path(
    db: Database, path: Path | str, options: ImportOptions | None = None, progress: Progress = quiet
) -> CorpusRow:
    """Make a corpus of the file or folder at ``path``.

    Parameters
    ----------
    progress : callable
        Called with what is being done and how much of it is (a share, or None where that is unknown).

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
    path = Path(path)
    whole = Path(os.path.realpath(path))  # fails for no path; resolve() does for links that lead to each other
    name = storable(options.name or files.stem(whole))
    corpora.check_name(db, name)
    reader = registry.choose(path, options)
    progress(f"Reading {path.name}", None)
    facts = {"file": path.name, "format": reader.NAME, "options": options.report()}
    return import_source(db, reader.read(path, options), name, options, progress, facts)


def import_source(
    db: Database, source: Source, name: str, options: ImportOptions, progress: Progress, facts: dict[str, Any]
) -> CorpusRow:
    """Store the documents of a source as the corpus ``name``; ``facts`` are kept with it."""
    counted = _counted(source, options, progress)
    lengths = _lengths(counted, progress)
    part = draw_test(len(lengths), options.test_share, options.seed) if counted.part is None else counted.part
    stays = _staying(counted, part, lengths)
    how = {} if counted.wording is None else {"wording": dict(counted.wording)}
    with corpora.writer(
        db,
        name,
        counted.vocabulary,
        label_names=counted.label_names,
        kind="binary" if options.binary else counted.kind,
        image_shape=counted.image_shape,
        split_seed=options.seed,
        source=storable(counted.where),
        meta=facts | how | {"notes": counted.notes},
        has_scored=counted.has_scored,
    ) as writer:
        stored, tokens, total = 0, 0, int(np.count_nonzero(stays))
        for rows, here in _ready(counted, part, stays):
            tokens += _tokens(source.where, rows, tokens)
            writer.add(_block(_as_binary(rows) if options.binary else rows, here, stored))
            stored += len(here)
            progress(f"Storing documents: {stored:,}", stored / total)
    _index(db, writer.row.number, progress)
    for note in counted.notes:
        progress(f"Note: {note}", None)
    return writer.row


def _index(db: Database, corpus: int, progress: Progress) -> None:
    """Make the full-text index of a corpus that is stored; without it searches take longer, and that is all."""

    def report(done: int, total: int) -> bool:
        progress(f"Preparing the search: {done:,} documents", done / total)
        return True

    try:
        full_text.build(db, corpus, report)
    except StoreError as error:
        progress(f"Note: the search in the corpus is not prepared ({error}); the server will do it later", None)


def draw_test(n: int, share: float, seed: int) -> Array:
    """Part of each of ``n`` documents, (n,) int8: a share of them, at least one, drawn by seed for the test."""
    part = np.full(n, TRAIN, np.int8)
    request = min(max(round(n * share), 1), n - 1) if share > 0 else 0
    part[np.random.default_rng((seed, _DRAW)).permutation(n)[:request]] = TEST
    return part


def _counted(source: Source, options: ImportOptions, progress: Progress) -> CountSource:
    if isinstance(source, TextSource):
        from app.ingest import vectorise  # scikit-learn takes a second to import; counts need it not

        return vectorise.count(source, options, progress)
    if prune.asked_for(options):
        progress("Choosing words", None)
        return prune.pruned(source, options)
    return source


def _lengths(source: CountSource, progress: Progress) -> Array:
    """Cells of each document; where only the counts tell, they are read once, which also proves them sound."""
    if source.lengths is not None:
        return source.lengths
    found, seen = [np.empty(0, np.int64)], 0
    for rows in source.blocks():
        found.append(np.diff(rows.counts.starts))
        seen += len(rows.labels)
        progress(f"Reading documents: {seen:,}", min(seen / max(source.n_documents, 1), 1.0))
    return np.concatenate(found)


def _staying(source: CountSource, part: Array, lengths: Array) -> Array:
    """Which documents are stored, (documents,) bool.

    A training document without words teaches nothing and is left out; a test document stays, so that
    test sets keep their published size.
    """
    if len(lengths) == 0:
        raise IngestError(source.where, "has no documents; give a file that has some")
    empty = (part == TRAIN) & (lengths == 0)
    dropped = int(np.count_nonzero(empty))
    if dropped == np.count_nonzero(part == TRAIN):
        raise IngestError(source.where, "has no training document with a word of the vocabulary in it")
    if dropped:
        are = "training document is" if dropped == 1 else "training documents are"
        source.notes.append(f"{dropped:,} {are} without words and left out")
    stays: Array = ~empty
    return stays


def _ready(source: CountSource, part: Array, stays: Array) -> Iterator[tuple[Rows, Array]]:
    """Runs of at most BLOCK documents that stay, and the part of each."""
    begin = 0
    for run in source.blocks():
        n = len(run.labels)
        for first in range(0, n, BLOCK):
            last = min(first + BLOCK, n)
            here = slice(begin + first, begin + last)
            if stays[here].any():
                yield _only(piece(run, first, last), stays[here]), part[here][stays[here]]
        begin += n


def _tokens(where: str, rows: Rows, before: int) -> int:
    """Words of some documents, counted; refuse more than a document or a corpus can be meant to have."""
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


def _as_binary(rows: Rows) -> Rows:
    def binary(counts: Counts) -> Counts:
        return counts._replace(values=np.ones(len(counts.values), np.int32))

    return rows._replace(counts=binary(rows.counts), scored=None if rows.scored is None else binary(rows.scored))


def _only(rows: Rows, stays: Array) -> Rows:
    """The documents where ``stays``; those that go have no cells, or take them along."""
    if stays.all():
        return rows
    numbers = np.flatnonzero(stays)
    return Rows(
        _take(rows.counts, stays),
        rows.labels[stays],
        [rows.titles[n] for n in numbers],
        [rows.texts[n] for n in numbers],
        [rows.columns[n] for n in numbers],
        None if rows.scored is None else _take(rows.scored, stays),
    )


def _take(counts: Counts, stays: Array) -> Counts:
    lengths = np.diff(counts.starts)
    cells = np.repeat(stays, lengths)
    return Counts.of(lengths[stays], counts.words[cells], counts.values[cells])


def _block(rows: Rows, part: Array, first: int) -> DocumentBlock:
    return DocumentBlock(
        first=first,
        counts=corpora.Counts(*rows.counts),
        part=part,
        labels=rows.labels,
        titles=rows.titles,
        texts=rows.texts,
        columns=rows.columns,
        scored=None if rows.scored is None else corpora.Counts(*rows.scored),
    )
