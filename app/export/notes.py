"""Facts about notes and tags of a run: those on its topics, and those on the documents of its corpus."""

from typing import Any

from topiary.app.analysis.hierarchy import Hierarchy, format_identity
from topiary.app.analysis.reader import StoreReader
from topiary.app.machine import find_user
from topiary.engine.hierarchy.tree import Node
from topiary.store import notes, snapshots
from topiary.store.database import Database
from topiary.store.notes import NOTE, TAG, NewNote, NoteRow
from topiary.store.run_rows import RunRow


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
        ``number``, ``topic`` or ``document`` (the other is None), ``title`` of the topic (None too where the newest
        snapshot no longer has it), ``kind`` (note or tag), ``text``, ``author``, and the time of writing, ``created``.

    Raises
    ------
    LookupError
        If the newest snapshot of the run has no such topic.
    """
    hierarchy = _read_newest(db, row) if topic is not None or snapshots.list_snapshots(db, row.number) else None
    if hierarchy is not None and topic is not None:
        hierarchy.find_topic(topic)
    rows = [*notes.list_topic_notes(db, row.number), *notes.list_document_notes(db, row.corpus)]
    facts = [_list_facts(each, hierarchy) for each in sorted(rows, key=lambda each: each.number)]
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
        return _list_facts(notes.add_document_note(db, row.corpus, document, new), None)
    hierarchy = _read_newest(db, row)
    node = hierarchy.find_topic(topic or "")
    return _list_facts(notes.add_topic_note(db, row.number, node.layer, node.column + 1, new), hierarchy)


def _read_newest(db: Database, row: RunRow) -> Hierarchy:
    return StoreReader(db).hierarchy_at(row)


def _list_facts(row: NoteRow, hierarchy: Hierarchy | None) -> dict[str, Any]:
    node = None if row.topic is None else Node(row.layer, row.topic - 1)
    title = hierarchy.title(node) if node is not None and hierarchy is not None and hierarchy.has(node) else None
    topic = None if node is None else format_identity(node)
    return {"number": row.number, "topic": topic, "title": title} | {
        name: getattr(row, name) for name in ("document", "kind", "text", "author", "created")
    }
