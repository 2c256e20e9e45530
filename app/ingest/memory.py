"""Corpora that are not read from files of documents: texts in memory, and docstrings of the installed packages."""

import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np

from topiary.app.ingest import docstrings
from topiary.app.ingest.docstrings import Docstring
from topiary.app.ingest.errors import IngestError
from topiary.app.ingest.importing import import_source
from topiary.app.ingest.options import ImportOptions
from topiary.app.ingest.registry import refuse_idle
from topiary.app.ingest.source import Map, Progress, TextDocument, TextSource, ignore_progress
from topiary.app.ingest.text.cleaning import make_storable
from topiary.app.machine import find_asset
from topiary.store import corpus_writer
from topiary.store.corpus_rows import CorpusRow
from topiary.store.database import Database

_SHUFFLE = 1  # seed of the order of documents

_NOISE = "stop_words/docstrings.txt"  # words that docstrings use whatever their subject
TEXTS_NAME = "texts"
TEXTS_ACCEPTS = ("token_pattern",)
MISSING = ("nan", "NaT", "<NA>")  # missing values of pandas and NumPy as text


def import_builtin(db: Database, progress: Progress = ignore_progress, name: str = docstrings.DOCS_NAME) -> CorpusRow:
    """Make a corpus of the docstrings of the standard library and of the installed packages.

    It has a document for each module, class or function with a docstring of useful length.  Identifiers are split into
    their words, and examples and code removed.  The label is the top-level package.  The same installation gives the
    same corpus, in an order that is shuffled with a fixed seed, so that the first documents are of many packages.

    Raises
    ------
    IngestError
        When this Python installation has no sources to read.
    store.errors.Conflict
        When the name is taken.
    """
    progress("Reading the documentation of the Python packages on this machine", None)
    collected, prose = docstrings.collect_docstrings(docstrings.list_packages(), progress)
    if not collected:
        raise IngestError("Python", "its standard library and packages are installed without sources or docstrings")
    order = np.random.default_rng(_SHUFFLE).permutation(len(collected))
    source = TextSource(
        where="docstrings of the installed Python packages",
        documents=lambda: (_make_document(collected[index]) for index in order),
        counted=lambda document: prose[document.text],
        stop_words=frozenset(find_asset(_NOISE).read_text(encoding="utf-8").split()),
    )
    options = ImportOptions(max_df=0.3, min_df=5, html="no", hyphens="keep")  # HTML in docstrings is example code
    return import_source(db, source, name, options, progress, {"format": "built-in"})


def _make_document(docstring: Docstring) -> TextDocument:
    """Return a docstring as a document, titled by its dotted name and labelled by its package."""
    name = f"{docstring.module}.{docstring.name}".rstrip(".")
    columns = {"name": docstring.name, "module": docstring.module, "kind": docstring.kind}
    return TextDocument(docstring.text, name, docstring.package, None, columns)


def import_texts(
    db: Database,
    texts: Iterable[str],
    labels: Iterable[Any] | None = None,
    titles: Iterable[str] | None = None,
    options: ImportOptions | None = None,
    progress: Progress = ignore_progress,
    *,
    map_batches: Map = map,
) -> CorpusRow:
    """Make a corpus of texts in memory.

    Parameters
    ----------
    db : Database
    texts : iterable of str
        The text of each document.
    labels : iterable, optional
        The class of each document, None or NaN where it has none.
    titles : iterable of str, optional
        The title of each document, by default "document 1" and so on.
    options : ImportOptions, optional
        Without a name in them, the corpus is called "texts".
    progress, map_batches
        As in :func:`app.ingest.importing.import_path`.

    Raises
    ------
    IngestError
        When the texts cannot become a corpus; the message is one sentence.
    store.errors.Conflict, StoreError
        When the name of the corpus is taken or not valid.
    """
    options = options or ImportOptions()
    refuse_idle(Path(TEXTS_NAME), TEXTS_ACCEPTS, options)
    name = make_storable(options.name or TEXTS_NAME)
    corpus_writer.check_name(db, name)
    text_list = list(texts)
    _check_texts(text_list)
    classes = _fill_values("labels", labels, text_list)
    _check_labels(classes)
    title_list = _fill_values("titles", titles, text_list)

    def documents() -> Iterator[TextDocument]:
        for number, (text, label, title) in enumerate(zip(text_list, classes, title_list, strict=True), start=1):
            yield TextDocument(text, str(title or f"document {number}"), _name_class(label), titled=bool(title))

    source = TextSource(where=TEXTS_NAME, documents=documents)
    facts = {"format": TEXTS_NAME, "options": options.report()}
    return import_source(db, source, name, options, progress, facts, map_batches=map_batches)


def explain_no_text(value: Any) -> str:
    """Return a clause on what a document is that is not a text, and what to give instead."""
    cause = f"is no text but {value!r:.60}"
    if value is None or str(value) in MISSING:
        return f"{cause}; leave it out, or give an empty string"
    if isinstance(value, bytes | bytearray):
        return f"{cause}; decode it, as in data.decode('utf-8')"
    if isinstance(value, os.PathLike):
        return f"{cause}; give paths as a list, and no texts with them"
    if isinstance(value, list | tuple) and all(isinstance(each, str) for each in value):
        return f"{cause}; put its words together, as in ' '.join(words)"
    return f"{cause}; give strings, or leave it out"


def _check_texts(texts: Sequence[Any]) -> None:
    """Raise an error if there are no documents, or if one is not a text."""
    if not texts:
        raise IngestError(TEXTS_NAME, "there are none; give a list with a string for each document")
    for number, text in enumerate(texts, start=1):
        if not isinstance(text, str):
            raise IngestError(TEXTS_NAME, f"document {number:,} {explain_no_text(text)}")


def _fill_values(what: str, values: Iterable[Any] | None, texts: Sequence[str]) -> list[Any]:
    """Return values as a list with one for each text: all None if no values are given."""
    filled = list(repeat(None, len(texts)) if values is None else values)
    if len(filled) != len(texts):
        raise IngestError(TEXTS_NAME, f"there are {len(texts):,} texts and {len(filled):,} {what}; give one for each")
    return filled


def _check_labels(labels: Sequence[Any]) -> None:
    """Raise an error if a label is bytes, or several labels."""
    for number, label in enumerate(labels, start=1):
        if isinstance(label, str) or not isinstance(label, Iterable):
            continue
        what = "decode it as UTF-8" if isinstance(label, bytes) else "a document has one label, so choose one"
        raise IngestError(TEXTS_NAME, f"the label of document {number:,} is {label!r:.60}; {what}")


def _name_class(label: Any) -> str | None:
    """Return a label as text, None for a missing one."""
    return None if label is None or (not isinstance(label, str) and str(label) in MISSING) else str(label)
