"""Import texts that a program has in memory."""

import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from pathlib import Path
from typing import Any

from app.ingest.errors import IngestError
from app.ingest.importing import import_source, quiet
from app.ingest.options import ImportOptions
from app.ingest.registry import refuse_idle
from app.ingest.source import Map, Progress, TextDocument, TextSource
from app.ingest.words import storable
from store import corpus_writer
from store.corpus_rows import CorpusRow
from store.database import Database

NAME = "texts"
ACCEPTS = ("token_pattern",)
MISSING = ("nan", "NaT", "<NA>")  # what pandas and NumPy have where there is no label


def import_texts(
    db: Database,
    texts: Iterable[str],
    labels: Iterable[Any] | None = None,
    titles: Iterable[str] | None = None,
    options: ImportOptions | None = None,
    progress: Progress = quiet,
    *,
    mapped: Map = map,
) -> CorpusRow:
    """Make a corpus of texts.

    Parameters
    ----------
    db : Database
    texts : iterable of str
        One for each document.
    labels : iterable, optional
        Its class, None or NaN where it has none.
    titles : iterable of str, optional
        "document 1" and so on when not given.
    options : ImportOptions, optional
        The name of the corpus is "texts" when they have none.
    progress, mapped
        As in :func:`app.ingest.importing.import_path`.

    Raises
    ------
    IngestError
        When these cannot become a corpus; one sentence.
    store.errors.Conflict, StoreError
        When the name of the corpus is taken, or cannot be one.
    """
    options = options or ImportOptions()
    refuse_idle(Path(NAME), ACCEPTS, options)
    name = storable(options.name or NAME)
    corpus_writer.check_name(db, name)
    found = list(texts)
    _check(found)
    classes = _filled("labels", labels, found)
    _check_labels(classes)
    named = _filled("titles", titles, found)

    def documents() -> Iterator[TextDocument]:
        for number, (text, label, title) in enumerate(zip(found, classes, named, strict=True), start=1):
            yield TextDocument(text, str(title or f"document {number}"), _class(label), titled=bool(title))

    source = TextSource(where=NAME, documents=documents)
    facts = {"format": NAME, "options": options.report()}
    return import_source(db, source, name, options, progress, facts, mapped=mapped)


def why_no_text(value: Any) -> str:
    """Say of a document that is no text what it is, and what to give instead."""
    said = f"is no text but {value!r:.60}"
    if value is None or str(value) in MISSING:
        return f"{said}; leave it out, or give an empty string"
    if isinstance(value, bytes | bytearray):
        return f"{said}; decode it, as in data.decode('utf-8')"
    if isinstance(value, os.PathLike):
        return f"{said}; give paths as a list, and no texts with them"
    if isinstance(value, list | tuple) and all(isinstance(each, str) for each in value):
        return f"{said}; put its words together, as in ' '.join(words)"
    return f"{said}; give strings, or leave it out"


def _check(texts: Sequence[Any]) -> None:
    if not texts:
        raise IngestError(NAME, "there are none; give a list with a string for each document")
    for number, text in enumerate(texts, start=1):
        if not isinstance(text, str):
            raise IngestError(NAME, f"document {number:,} {why_no_text(text)}")


def _filled(what: str, values: Iterable[Any] | None, texts: Sequence[str]) -> list[Any]:
    """Values as a list, one for each text; None for each when there are none."""
    found = list(repeat(None, len(texts)) if values is None else values)
    if len(found) != len(texts):
        raise IngestError(NAME, f"there are {len(texts):,} texts and {len(found):,} {what}; give one for each")
    return found


def _check_labels(labels: Sequence[Any]) -> None:
    for number, label in enumerate(labels, start=1):
        if isinstance(label, str) or not isinstance(label, Iterable):
            continue
        what = "decode it as UTF-8" if isinstance(label, bytes) else "a document has one label, so choose one"
        raise IngestError(NAME, f"the label of document {number:,} is {label!r:.60}; {what}")


def _class(label: Any) -> str | None:
    return None if label is None or (not isinstance(label, str) and str(label) in MISSING) else str(label)
