"""Facts about notes and tags of a run: those on its topics, and those on the documents of its corpus."""

from typing import Any

from app.analysis.hierarchy import format_identity, parse_identity
from app.analysis.read_hierarchy import find_snapshot_at, read_hierarchy
from app.machine import find_user
from engine.hierarchy.tree import Node
from store import notes
from store.database import Database
from store.notes import NOTE, TAG, NewNote, NoteRow
from store.run_rows import RunRow


def list_run_notes(
    db: Database, row: RunRow, *, topic: str | None = None, document: int | None = None
) -> list[dict[str, Any]]:
    """Return facts about the notes and tags on the topics of a run and on the documents of its corpus, oldest first.

    Parameters
    ----------
    db : Database
    row : RunRow
    topic, document : str and int, optional
        Only those on this topic, such as "L3:1", or on this document.

    Returns
    -------
    list of dict
        ``number``, ``topic`` or ``document`` (the other is None), ``kind`` (note or tag), ``text``, ``author``, and the
        time of writing, ``created``.
    """
    rows = [*notes.list_topic_notes(db, row.number), *notes.list_document_notes(db, row.corpus)]
    facts = [_list_facts(each) for each in sorted(rows, key=lambda each: each.number)]
    wanted = {name: value for name, value in (("topic", topic), ("document", document)) if value is not None}
    return [each for each in facts if wanted.items() <= each.items()]


def add_run_note(
    db: Database,
    row: RunRow,
    text: str,
    *,
    topic: str | None = None,
    document: int | None = None,
    tag: bool = False,
    author: str | None = None,
) -> dict[str, Any]:
    """Add a note, or a tag, to a topic of a run or to a document of its corpus; return facts about it.

    Parameters
    ----------
    db : Database
        Open for writing.
    row : RunRow
    text : str
    topic, document : str and int, optional
        The topic, such as "L3:1", or the document; exactly one of them.
    tag : bool
        Whether the text is a tag.
    author : str, optional
        The user of this process by default.

    Raises
    ------
    LookupError
        If the newest snapshot of the run has no such topic.
    NotFound
        If there is no such document, or no snapshot yet.
    StoreError
        If the text is empty or too long.
    ValueError
        If both a topic and a document are given, or neither.
    """
    new = NewNote(text, TAG if tag else NOTE, find_user() if author is None else author)
    if (topic is None) == (document is None):
        raise ValueError("a note is on one topic, such as L3:1, or on one document; give one of them")
    if document is not None:
        return _list_facts(notes.add_document_note(db, row.corpus, document, new))
    node = _find_topic(db, row, topic or "")
    return _list_facts(notes.add_topic_note(db, row.number, node.layer, node.column + 1, new))


def _find_topic(db: Database, row: RunRow, topic: str) -> Node:
    """Return a topic of the newest snapshot of a run."""
    hierarchy = read_hierarchy(db, row, find_snapshot_at(db, row, None))
    node = parse_identity(topic)
    if node is None or not hierarchy.has(node):
        raise LookupError(f"run {row.number} has no topic {topic!r}, as in 'L1:3'; its layers have {hierarchy.widths}")
    return node


def _list_facts(row: NoteRow) -> dict[str, Any]:
    topic = None if row.topic is None else format_identity(Node(row.layer, row.topic - 1))
    return {"number": row.number, "topic": topic} | {
        name: getattr(row, name) for name in ("document", "kind", "text", "author", "created")
    }
