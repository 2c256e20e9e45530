"""Texts that are cut into words already, with the vocabulary to count them by."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from app.ingest import beside, sparse
from app.ingest.errors import IngestError
from app.ingest.source import Array, CountSource
from engine.contract import Counts


def counted(texts: Sequence[str], vocabulary: Sequence[str]) -> tuple[Counts, int]:
    """How often each word of the vocabulary stands in each text, words between blanks; and how many others there are.

    >>> counts, others = counted(["tea and tea", ""], ["tea"])
    >>> counts.values.tolist(), others
    ([2], 1)
    """
    numbers = {word: number for number, word in enumerate(vocabulary)}
    lengths, words, values = [], [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    others = 0
    for text in texts:
        tokens = text.split()
        known = [number for token in tokens if (number := numbers.get(token)) is not None]
        others += len(tokens) - len(known)
        found, times = np.unique(np.array(known, np.int64), return_counts=True)
        lengths.append(len(found))
        words.append(found)
        values.append(times)
    counts = Counts.of(np.array(lengths, np.int64), np.concatenate(words), np.concatenate(values))
    return sparse.tidy(counts, len(vocabulary), ""), others


def source(
    path: Path,
    vocabulary: tuple[str, ...],
    counts: Counts,
    texts: Sequence[str],
    labels: Sequence[str | None],
    part: Array | None,
    notes: list[str],
) -> CountSource:
    """Documents whose counts and texts are both known; ``path`` is the folder they are of.

    Raises
    ------
    IngestError
        When counts, texts and labels are not of as many documents.
    """
    if not counts.n_documents == len(texts) == len(labels):
        cause = f"has {counts.n_documents:,} documents of counts, {len(texts):,} texts and {len(labels):,} labels"
        raise IngestError(path, f"{cause}, which do not belong together")
    numbers, names = beside.encode(labels, {})
    titles = [_title(text) or f"document {number}" for number, text in enumerate(texts, 1)]
    return CountSource(
        where=str(path),
        vocabulary=vocabulary,
        blocks=lambda: (
            rows._replace(texts=list(texts[begin : begin + len(rows.labels)]))
            for rows, begin in sparse.numbered(sparse.blocks(counts, labels=numbers, titles=titles))
        ),
        n_documents=counts.n_documents,
        label_names=names,
        part=part,
        notes=notes,
    )


def _title(text: str) -> str:
    words = text.split()
    return " ".join(words[:_TITLE]) + (" …" if len(words) > _TITLE else "")


_TITLE = 8  # words
