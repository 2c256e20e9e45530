"""Tables of topics and of notes, and their files in CSV and JSON."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from topiary.app.analysis.column_topics import list_column_layers, rank_column_topics
from topiary.app.analysis.hierarchy import PRINTED_WORDS, Hierarchy, format_identity
from topiary.app.analysis.notes import Note, list_remarks, list_tags
from topiary.app.analysis.reader import StoreReader
from topiary.app.export.texts import drop_infinite, find_format, render_csv, render_json
from topiary.app.machine import find_user
from topiary.engine.hierarchy.tree import Node
from topiary.store import notes, snapshots
from topiary.store.database import Database
from topiary.store.notes import NOTE, TAG, NewNote, NoteRow
from topiary.store.run_rows import RunRow

_COLUMNS = (
    *("topic", "layer", "rank", "share", "name", "title", "words", "light", "role", "npmi", "twin"),
    *("tags", "notes"),
)


def list_topics(hierarchy: Hierarchy, layer: int | None = None, words: int = PRINTED_WORDS) -> list[dict[str, Any]]:
    """Return facts about the topics of one layer, or of all from layer 1 up, most popular first.

    Each has its first ``words`` words.

    Returns
    -------
    list of dict
        ``layer``; ``rank`` (1 = most popular in this snapshot); ``topic`` (the identity, the same in every snapshot,
        such as "L3:17"); ``share`` of the layer's popularity, 0 to 1; ``words``; ``name`` given by a user, or "";
        ``title``, that name or the three words that distinguish the topic, as on every page; ``light``, whether it has
        so few tokens that its words are noise; ``role``, live, light, background or incoherent
        (`app.analysis.hierarchy.find_roles`); ``npmi``, the document NPMI of its first ten words in the training
        documents, None where the snapshot has none; ``twin``, the more popular topic of which it is nearly
        the same, None without one; ``tags`` of users, and their ``notes``, each with number, text, author and time
        (``created``, ISO 8601, UTC).  Where what comes back with other seeds has been measured
        (`app.analysis.seeds`), ``found_in`` is the number of the runs that have the topic, this one included, and
        ``of_runs`` the number of these runs.

    Raises
    ------
    LookupError
        When the run has no such layer.
    """
    recurrence = hierarchy.recurrence
    if layer is not None:
        hierarchy.at_rank(layer, 1)
    layers = range(1, hierarchy.n_layers + 1) if layer is None else [layer]
    return [
        {
            "layer": node.layer,
            "rank": hierarchy.rank(node),
            "topic": format_identity(node),
            "share": hierarchy.share(node),
            "words": [word.text for word in hierarchy.top_words(node, words)],
            "name": hierarchy.name(node),
            "title": hierarchy.title(node),
            "light": node in hierarchy.light,
            "role": hierarchy.role(node),
            "npmi": _find_npmi(hierarchy, node),
            "twin": _find_twin(hierarchy, node),
            **_list_note_facts(hierarchy.notes.get(node, ())),
            **({} if recurrence is None else {"found_in": hierarchy.count_runs(node), "of_runs": recurrence.n_runs}),
        }
        for number in layers
        for node in hierarchy.nodes(number)
    ]


def list_column_topics(
    hierarchy: Hierarchy, layer: int | None = None, words: int = PRINTED_WORDS
) -> list[dict[str, Any]]:
    """Return facts about the topics of the columns in a model of rows and columns; empty for other models.

    They are like those of `list_topics`, but begin in layer 2 and have no names, roles or NPMI; ``words`` are the
    columns with the largest weights.
    """
    return [
        {
            "layer": topic.layer,
            "rank": topic.rank,
            "topic": topic.identity,
            "share": topic.share,
            "words": [item.text for item in topic.items],
            "title": topic.title,
        }
        for number in list_column_layers(hierarchy)
        if layer in (None, number)
        for topic in rank_column_topics(hierarchy, number, words)
    ]


def list_row_and_column_topics(
    hierarchy: Hierarchy, layer: int | None = None, words: int = PRINTED_WORDS
) -> list[dict[str, Any]]:
    """Return facts about topics of rows and of columns, distinguished by ``side``.

    Where there are no topics of columns, the key ``side`` is missing.
    """
    table, columns = list_topics(hierarchy, layer, words), list_column_topics(hierarchy, layer, words)
    if not columns:
        return table
    unknown = dict.fromkeys(table[0]) | {"name": "", "light": False, "role": "", "tags": [], "notes": []}
    return [{"side": "rows"} | row for row in table] + [{"side": "columns"} | unknown | row for row in columns]


def _list_note_facts(written: Sequence[Note]) -> dict[str, Any]:
    """Return the ``tags`` among some notes as texts, and the ``notes`` as facts."""
    notes = [
        {"number": note.number, "text": note.text, "author": note.author, "created": note.created.isoformat()}
        for note in list_remarks(written)
    ]
    return {"tags": list_tags(written), "notes": notes}


def _find_twin(hierarchy: Hierarchy, node: Node) -> str | None:
    """Return the topic of which a topic is nearly the same; None without one."""
    twin = hierarchy.twin(node)
    return None if twin is None else format_identity(twin)


def _find_npmi(hierarchy: Hierarchy, node: Node) -> float | None:
    if len(hierarchy.npmi) < node.layer:
        return None
    return drop_infinite(hierarchy.npmi[node.layer - 1][hierarchy.place(node)])


def _render_csv(table: list[dict[str, Any]]) -> str:
    """Return CSV with one row per topic.

    Words are separated by blanks, tags by "; " and notes by " | "; ``light`` is 0 or 1, None is empty.
    """
    sides = ("side",) if table and "side" in table[0] else ()
    rows = [
        row
        | {"words": " ".join(row["words"]), "light": int(row["light"])}
        | {name: "" if row[name] is None else row[name] for name in ("npmi", "twin")}
        | _join_notes(row)
        for row in table
    ]
    seeds = ("found_in", "of_runs") if table and "of_runs" in table[0] else ()
    return render_csv(rows, (*sides, *_COLUMNS, *seeds))


def _join_notes(facts: dict[str, Any]) -> dict[str, str]:
    return {"tags": "; ".join(facts["tags"]), "notes": " | ".join(map(_write_note, facts["notes"]))}


def _write_note(note: dict[str, Any]) -> str:
    """Return a note as one line, with its author and date."""
    signature = ", ".join(filter(None, (note["author"], note["created"][:10])))
    return f"{' '.join(note['text'].split())} ({signature})"


FORMATS: dict[str, Callable[[list[dict[str, Any]]], str]] = {"csv": _render_csv, "json": render_json}  # by file suffix


def write_note_attributes(written: Sequence[Note]) -> dict[str, str]:
    """Return the ``tags`` and ``notes`` among some notes as texts of one line, as in the CSV of topics."""
    return _join_notes(_list_note_facts(written))


def render_topics(table: list[dict[str, Any]], form: str) -> str:
    """Return a table of topics as text in one of the `FORMATS`."""
    return FORMATS[form](table)


def write_topics(hierarchy: Hierarchy, layer: int | None, path: str | Path) -> Path:
    """Write the topics of rows and of columns to a file in the format named by its suffix.

    Raises
    ------
    ValueError
        When the suffix names no known format.
    LookupError
        When the run has no such layer.
    OSError
        When the file cannot be written.
    """
    path = Path(path)
    form = find_format(path, FORMATS, f"topics as {path.name!r}")
    path.write_text(render_topics(list_row_and_column_topics(hierarchy, layer), form), encoding="utf-8", newline="\n")
    return path


def list_run_notes(
    db: Database, row: RunRow, *, topic: str | None = None, document: int | None = None
) -> list[dict[str, Any]]:
    """Return facts about the notes and tags on the topics of a run and on the documents of its corpus, oldest first.

    Parameters
    ----------
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
    rows = [*notes.read_remarks(db, row.number).notes, *notes.list_document_notes(db, row.corpus)]
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
