"""Several files of one format as one source."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from app.ingest.errors import IngestError
from app.ingest.source import Array, CountSource, Rows, Source, TextDocument, TextSource
from engine.contract import Counts


def joined(sources: Sequence[Source]) -> Source:
    """The documents of all sources, one source after the other; their words and classes are those of any.

    Raises
    ------
    IngestError
        When tables take different columns for the text, the title, the label or the split, or counts are of different
        kinds.
    """
    first, *others = sources
    if not others:
        return first
    for other in others:
        _refuse_other(first, other)
    if isinstance(first, TextSource):
        return _texts([source for source in sources if isinstance(source, TextSource)])
    return _counts([source for source in sources if isinstance(source, CountSource)])


def _roles(source: TextSource) -> dict[str, str]:
    """The columns of a table by what they are, but those of dates, which one file may have and another not."""
    roles = {} if source.columns is None else source.columns.roles
    return {name: role for name, role in roles.items() if role != "date"}


def _refuse_other(first: Source, other: Source) -> None:
    if isinstance(first, TextSource) and isinstance(other, TextSource):
        mine, theirs = map(_roles, (first, other))
        if mine != theirs:
            cause = f"has {_said(theirs)}, where {first.where} has {_said(mine)}"
            raise IngestError(other.where, f"{cause}; name the columns with --text-column, --title-column and the like")
    elif isinstance(first, CountSource) and isinstance(other, CountSource):
        same = (first.kind, first.image_shape, first.has_scored) == (other.kind, other.image_shape, other.has_scored)
        if not same:
            cause = f"holds counts of another kind than {first.where}"
            raise IngestError(other.where, f"{cause}; import them one by one")
    else:
        raise IngestError(other.where, f"is read otherwise than {first.where}; import them one by one")


def _said(roles: dict[str, str]) -> str:
    return ", ".join(f"{role} {name!r}" for name, role in roles.items())


def _texts(sources: Sequence[TextSource]) -> TextSource:
    first = sources[0]
    notes = _Notes(sources)

    def documents() -> Iterator[TextDocument]:
        for source in sources:
            yield from source.documents()
        notes.gather()

    classes = {name: label for source in reversed(sources) for name, label in source.classes.items()}
    stops = frozenset().union(*(source.stop_words for source in sources))
    return replace(first, documents=documents, classes=classes, stop_words=stops, notes=notes.all)


class _Notes:
    """The notes of several sources in one list; each may grow while its documents are read."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self._sources = sources
        self.all: list[str] = []
        self.gather()

    def gather(self) -> None:
        """Take over what is new; what all files say is said once."""
        for note in (note for source in self._sources for note in source.notes):
            if note not in self.all:
                self.all.append(note)


def _counts(sources: Sequence[CountSource]) -> CountSource:
    vocabulary, words = _union([source.vocabulary for source in sources])
    names, labels = _union([source.label_names for source in sources])
    parts = [source.part for source in sources]
    notes = _Notes(sources)

    def blocks() -> Iterator[Rows]:
        for source, new_words, new_labels in zip(sources, words, labels, strict=True):
            for rows in source.blocks():
                yield _renumbered(rows, new_words, new_labels)
        notes.gather()

    return replace(
        sources[0],
        vocabulary=vocabulary,
        label_names=names,
        blocks=blocks,
        n_documents=sum(source.n_documents for source in sources),
        part=_together(sources, parts),
        lengths=_together(sources, [source.lengths for source in sources]),
        notes=notes.all,
    )


def _together(sources: Sequence[CountSource], arrays: Sequence[Array | None]) -> Array | None:
    """Arrays of all documents; None where one source has none."""
    known = [each for each in arrays if each is not None]
    return np.concatenate(known) if len(known) == len(sources) else None


def _union(lists: Sequence[Sequence[str]]) -> tuple[tuple[str, ...], list[Array]]:
    """All names, each once in the order in which they are met, and the new numbers of those of each list."""
    numbers: dict[str, int] = {}
    new = [np.array([numbers.setdefault(name, len(numbers)) for name in names], np.int32) for names in lists]
    return tuple(numbers), new


def _renumbered(rows: Rows, words: Array, labels: Array) -> Rows:
    old = rows.labels
    if len(labels):
        rows = rows._replace(labels=np.where(old >= 0, labels[np.maximum(old, 0)], -1).astype(np.int32))
    scored = None if rows.scored is None else _reworded(rows.scored, words)
    return rows._replace(counts=_reworded(rows.counts, words), scored=scored)


def _reworded(counts: Counts, words: Array) -> Counts:
    """Counts under the new numbers of their words, which ascend in every document again."""
    counts = counts._replace(words=words[counts.words])
    documents = np.repeat(np.arange(counts.n_documents), np.diff(counts.starts))
    order = np.lexsort((counts.words, documents))
    return counts._replace(words=counts.words[order], values=counts.values[order])
