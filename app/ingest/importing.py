"""Import a file or folder as a corpus of the store."""

from pathlib import Path
from typing import Any

import numpy as np

from app.ingest import registry
from app.ingest.errors import IngestError
from app.ingest.openings import Paths, name_for, open_paths
from app.ingest.options import ImportOptions
from app.ingest.parsing import MOST_TOKENS
from app.ingest.preparing import prepare, ready
from app.ingest.reporting import report
from app.ingest.source import Array, Map, Progress, Rows, Source
from app.ingest.words import storable
from engine.contract import Counts
from store import blocks, corpus_writer, full_text
from store.blocks import DocumentBlock
from store.corpus_rows import CorpusRow
from store.database import Database
from store.errors import StoreError

MOST_OF_CORPUS = 10_000_000_000  # words of all documents together


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
    db: Database,
    path: Paths,
    options: ImportOptions | None = None,
    progress: Progress = quiet,
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
        As in :func:`app.ingest.openings.open_paths`.
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
    name = name_for(path, options)
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
        Kept with the corpus, beside the record of what was understood and chosen.
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
        source=storable(counted.where),
        has_scored=counted.has_scored,
    ) as writer:
        stored, tokens, total = 0, 0, int(np.count_nonzero(prepared.stays))
        for rows, here in ready(prepared):
            tokens += checked_tokens(source.where, rows, tokens)
            writer.add(block_of(rows, here, stored, binary=options.binary))
            stored += len(here)
            progress(f"Storing documents: {stored:,}", stored / total)
        record = report(prepared, options, file=facts.get("file", counted.where), form=facts["format"], why=why)
        writer.meta.update(facts | how | {"notes": counted.notes, "record": record.to_json()})
    index(db, writer.row.number, progress, mapped)
    for note in counted.notes:
        progress(f"Note: {note}", None)
    return writer.row


def index(db: Database, corpus: int, progress: Progress, mapped: Map = map) -> None:
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


def checked_tokens(where: str, rows: Rows, before: int) -> int:
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


def block_of(rows: Rows, part: Array, first: int, *, binary: bool) -> DocumentBlock:
    """Documents as the store takes them; ``first`` is the number of the first, and ``binary`` makes every count 1."""
    if binary:
        rows = _as_binary(rows)
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
