"""Notes and tags of analysts on topics and documents, in the form that views, exports and commands read."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import NamedTuple

from topiary.engine.hierarchy.tree import Node
from topiary.store import notes
from topiary.store.database import Database
from topiary.store.notes import NoteRow

LONGEST_NOTE, LONGEST_TAG = (notes.LONGEST[kind] for kind in notes.KINDS)  # characters
LONGEST_AUTHOR = notes.LONGEST_AUTHOR  # characters


class Note(NamedTuple):
    """A note or a tag on a topic or a document, with its author, who may be unknown (""), and its time."""

    number: int
    is_tag: bool
    text: str
    author: str
    created: datetime


def group_by_topic(rows: Iterable[NoteRow]) -> dict[Node, tuple[Note, ...]]:
    """Return the notes and tags on the topics of a run, in the order of their rows."""
    found: defaultdict[Node, list[Note]] = defaultdict(list)
    for row in rows:
        if row.topic is not None:
            found[Node(row.layer, row.topic - 1)].append(_make_note(row))
    return {node: tuple(each) for node, each in found.items()}


def read_document_notes(
    db: Database, corpus: int, documents: Collection[int] | None = None
) -> dict[int, tuple[Note, ...]]:
    """Return the notes and tags on some documents of a corpus (None: on all), oldest first."""
    found: defaultdict[int, list[Note]] = defaultdict(list)
    for row in notes.list_document_notes(db, corpus, documents):
        if row.document is not None:
            found[row.document].append(_make_note(row))
    return {document: tuple(each) for document, each in sorted(found.items())}


def list_tags(written: Iterable[Note]) -> list[str]:
    """Return the texts of the tags among some notes."""
    return [note.text for note in written if note.is_tag]


def list_remarks(written: Iterable[Note]) -> list[Note]:
    """Return the notes that are no tags."""
    return [note for note in written if not note.is_tag]


def sign_note(note: Note) -> str:
    """Return the author of a note, if known, and its time as text: ``Ada · 27 Nov 2026, 14:03``."""
    return " · ".join(filter(None, (note.author, _format_time(note.created))))


def _format_time(time: datetime) -> str:
    local = time.astimezone()
    return f"{local.day} {local:%b %Y, %H:%M}"


def rank_tags(written: Mapping[Node, Iterable[Note]]) -> list[str]:
    """Return every tag on some topics once, the most frequent first."""
    counts = Counter(tag for each in written.values() for tag in list_tags(each))
    return sorted(counts, key=lambda tag: (-counts[tag], tag))


def _make_note(row: NoteRow) -> Note:
    return Note(row.number, row.kind == notes.TAG, row.text, row.author, row.created)
