"""A corpus straight from a file, without a store."""

from pathlib import Path

import numpy as np

from app.ingest import importing
from app.ingest.errors import IngestError
from app.ingest.source import Array, CountSource
from engine.corpus import Corpus, Counts


def read_corpus(path: Path) -> Corpus:
    """The corpus of a file of counts that brings its own training and test documents.

    Raises
    ------
    IngestError
        When the file cannot be read, holds texts, or does not say which documents are for the test.
    """
    source = importing.read(path)
    if not isinstance(source, CountSource) or source.part is None:
        raise IngestError(path, "does not hold counts with training and test documents, which a benchmark compares on")
    rows = list(source.blocks())
    return Corpus(
        counts=joined([(run.starts, run.words, run.values) for run in rows]),
        vocabulary=source.vocabulary,
        part=source.part,
        labels=np.concatenate([run.labels for run in rows]),
        label_names=source.label_names,
        scored=joined([run.scored for run in rows if run.scored is not None]) if source.has_scored else None,
    )


def joined(parts: list[tuple[Array, Array, Array]]) -> Counts:
    """Runs of compressed rows as one."""
    lengths = np.concatenate([np.diff(starts) for starts, _, _ in parts])
    starts = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=starts[1:])
    return Counts(starts, np.concatenate([words for _, words, _ in parts]), np.concatenate([part[2] for part in parts]))
