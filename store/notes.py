"""Notes and tags by users on topics of runs and on documents of corpora, each with its author and time.

A note on a topic belongs to its run, and is copied to the forks of the run; a note on a document belongs to the corpus,
so that it outlives all runs on it.

Annotations of topics by users: names of topics, and decisions which topics of two runs are the same; and what they
have said of the topics of a run, edits too, read at once.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Select, delete, insert, literal, select, update

from topiary.store import corpus_rows
from topiary.store.database import Database, now, reads, writes
from topiary.store.edits import EditRow, read_edits
from topiary.store.errors import NotFound, StoreError
from topiary.store.run_rows import hold_run, lock_run
from topiary.store.tables import matches, notes, select_sound, topic_labels

NOTE, TAG = KINDS = ("note", "tag")
LONGEST: Mapping[str, int] = {NOTE: 4000, TAG: 60}  # characters of a text, by its kind
LONGEST_AUTHOR = 80  # characters


class NoteRow(NamedTuple):
    """A note or a tag.

    Attributes
    ----------
    number, corpus : int
    run : int or None
        The run of a topic; None for a document.
    layer : int
        The layer of a topic, from 1; 0 for a document.
    topic : int or None
        The identity number of a topic, from 1; None for a document.
    document : int or None
        The number of a document in its corpus, from 0; None for a topic.
    kind : {"note", "tag"}
    text : str
    author : str
        Who wrote it, as they call themselves; may be empty.
    created : datetime
        When it was written, or its text was changed last.
    """

    number: int
    corpus: int
    run: int | None
    layer: int
    topic: int | None
    document: int | None
    kind: str
    text: str
    author: str
    created: datetime


class NewNote(NamedTuple):
    """A note to add, or a tag if that is its kind."""

    text: str
    kind: str = NOTE
    author: str = ""


@writes
def add_topic_note(connection: Connection, run: int, layer: int, topic: int, new: NewNote) -> NoteRow:
    """Add a note or a tag to a topic; a tag that the topic has already is returned as it is.

    Parameters
    ----------
    db : Database
        Open for writing.
    run : int
        The run's number.
    layer, topic : int
        The topic's numbers as shown: ``L3:17`` is layer 3, topic 17.
    new : NewNote

    Raises
    ------
    NotFound
        If there is no such run.
    StoreError
        If the text is empty or too long.
    """
    text = clean_text(new.text, new.kind)
    corpus = lock_run(connection, run).corpus
    subject = {"corpus": corpus, "run": run, "layer": layer, "topic": topic, "document": None}
    is_same = _is_about(run, layer, topic) & (notes.c.kind == TAG) & (notes.c.text == text)
    return _insert_note(connection, subject, new._replace(text=text), is_same)


@writes
def add_document_note(connection: Connection, corpus: int, document: int, new: NewNote) -> NoteRow:
    """Add a note or a tag to a document of a corpus, counted from 0; a tag that it has already is returned as it is.

    Raises
    ------
    NotFound
        If there is no such corpus or document.
    StoreError
        If the text is empty or too long.
    """
    text = clean_text(new.text, new.kind)
    row = corpus_rows.read_corpus(connection, corpus, lock=True)
    if not 0 <= document < row.documents:
        raise NotFound(f"corpus {row.name} has no document {document}; its documents are 0 to {row.documents - 1}")
    subject = {"corpus": corpus, "run": None, "layer": 0, "topic": None, "document": document}
    is_same = _is_on_document(corpus, document) & (notes.c.kind == TAG) & (notes.c.text == text)
    return _insert_note(connection, subject, new._replace(text=text), is_same)


@writes
def change_note(connection: Connection, number: int, text: str, author: str = "") -> NoteRow:
    """Replace the text of a note, and its author and time by those of the change.

    Raises
    ------
    NotFound
        If there is no such note.
    StoreError
        If it is a tag, or the text is empty or too long.
    """
    row = _read_note(connection, number)
    if row.kind != NOTE:
        raise StoreError(f"{number} is the tag {row.text!r}; delete it and add another one")
    values = {"text": clean_text(text, NOTE), "author": _clean_author(author), "created": now()}
    connection.execute(update(notes).where(notes.c.number == number).values(**values))
    return _read_note(connection, number)


@writes
def delete_note(connection: Connection, number: int) -> NoteRow:
    """Delete a note or a tag and return what it was.

    Raises
    ------
    NotFound
        If there is none with this number.
    """
    row = _read_note(connection, number)
    connection.execute(delete(notes).where(notes.c.number == number))
    return row


@reads
def list_document_notes(connection: Connection, corpus: int, documents: Collection[int] | None = None) -> list[NoteRow]:
    """Return the notes and tags on some documents of a corpus, on all of them if None, oldest first."""
    mine = (notes.c.corpus == corpus) & notes.c.document.is_not(None)
    if documents is not None and len(documents) == 1:
        return _read_notes(connection, select_sound(notes).where(_is_on_document(corpus, next(iter(documents)))))
    rows = _read_notes(connection, select_sound(notes).where(mine))
    return [row for row in rows if documents is None or row.document in documents]


@reads
def count_tags(connection: Connection, corpus: int) -> dict[str, int]:
    """Return how often each tag is on a topic of a run on this corpus or on its documents, the most frequent first."""
    query = select_sound(notes, notes.c.text).where(notes.c.corpus == corpus, notes.c.kind == TAG)
    counts = Counter(connection.execute(query).scalars())
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


class TopicCopy(NamedTuple):
    """What a topic of a run is to have too: a name, which may be empty, and notes and tags of another topic."""

    layer: int
    topic: int
    name: str
    rows: Sequence[NoteRow]


class CopyResult(NamedTuple):
    """What a topic got: whether it got the name, and how many notes and tags that it did not have."""

    named: bool
    added: int


@writes
def copy_to_topics(connection: Connection, run: int, copies: Sequence[TopicCopy]) -> list[CopyResult]:
    """Add names, notes and tags of other topics to topics of a run, all or none of them.

    A topic that has a name keeps it, and a note or tag with the same text is not added again; authors and times are
    those of the originals.

    Raises
    ------
    NotFound
        If there is no such run.
    """
    corpus = lock_run(connection, run).corpus
    names = connection.execute(select(topic_labels.c.layer, topic_labels.c.topic).where(topic_labels.c.run == run))
    named = {tuple(row) for row in names}
    present = {
        (row.layer, row.topic, row.kind, row.text)
        for row in _read_notes(connection, select_sound(notes).where(notes.c.run == run))
    }
    return [_copy_to_topic(connection, {"corpus": corpus, "run": run}, copy, named, present) for copy in copies]


def copy_topic_notes(connection: Connection, source: int, target: int) -> None:
    """Copy the notes and tags on the topics of a run to a new fork of it, inside the transaction that creates it."""
    copied = ("corpus", "layer", "topic", "kind", "text", "author", "created")
    rows = select(literal(target), *(notes.c[name] for name in copied)).where(notes.c.run == source)
    connection.execute(insert(notes).from_select(["run", *copied], rows.order_by(notes.c.number)))


def clean_text(text: str, kind: str) -> str:
    """Return the text of a note or tag without blanks at its ends; a tag is one line.

    Raises
    ------
    StoreError
        If there is no such kind, or the text is empty or too long.
    """
    if kind not in KINDS:
        raise StoreError(f"a text on a topic or document is a {' or a '.join(KINDS)}, not a {kind!r}")
    cleaned = " ".join(text.split()) if kind == TAG else text.strip()
    if not cleaned:
        raise StoreError(f"a {kind} without a text says nothing; write one")
    if len(cleaned) > LONGEST[kind]:
        raise StoreError(f"a {kind} has at most {LONGEST[kind]:,} characters, and this one has {len(cleaned):,}")
    return cleaned


def _clean_author(author: str) -> str:
    return " ".join(author.split())[:LONGEST_AUTHOR]


def _copy_to_topic(
    connection: Connection,
    owner: Mapping[str, int],
    copy: TopicCopy,
    named: Collection[tuple[Any, ...]],
    present: set[tuple[Any, ...]],
) -> CopyResult:
    """Add what a topic does not have yet; ``present`` then includes it."""
    subject = {"layer": copy.layer, "topic": copy.topic}
    gets_name = bool(copy.name) and (copy.layer, copy.topic) not in named
    if gets_name:
        connection.execute(insert(topic_labels).values(run=owner["run"], text=copy.name, **subject))
    added = 0
    for row in copy.rows:
        key = (copy.layer, copy.topic, row.kind, row.text)
        if key not in present:
            present.add(key)
            said = {"kind": row.kind, "text": row.text, "author": row.author, "created": row.created}
            connection.execute(insert(notes).values(**owner, **subject, **said))
            added += 1
    return CopyResult(gets_name, added)


def _insert_note(
    connection: Connection, subject: Mapping[str, int | None], new: NewNote, is_same: ColumnElement[bool]
) -> NoteRow:
    """Insert a note, or return the tag that is the same."""
    same = _read_notes(connection, select_sound(notes).where(is_same)) if new.kind == TAG else []
    if same:
        return same[0]
    said = {"kind": new.kind, "text": new.text, "author": _clean_author(new.author), "created": now()}
    number = connection.execute(insert(notes).values(**subject, **said).returning(notes.c.number)).scalar_one()
    return _read_note(connection, number)


def _is_about(run: int, layer: int, topic: int) -> ColumnElement[bool]:
    return (notes.c.run == run) & (notes.c.layer == layer) & (notes.c.topic == topic)


def _is_on_document(corpus: int, document: int) -> ColumnElement[bool]:
    return (notes.c.corpus == corpus) & (notes.c.document == document)


def _read_note(connection: Connection, number: int) -> NoteRow:
    found = _read_notes(connection, select_sound(notes).where(notes.c.number == number))
    if not found:
        raise NotFound(f"there is no note or tag number {number}; list the notes of the run to see their numbers")
    return found[0]


def _read_notes(connection: Connection, query: Select[Any]) -> list[NoteRow]:
    return [NoteRow(**row._asdict()) for row in connection.execute(query.order_by(notes.c.number))]


@writes
def set_label(connection: Connection, run: int, layer: int, topic: int, text: str) -> None:
    """Name a topic, in one line; an empty text removes its name.

    Parameters
    ----------
    db : Database
        Open for writing.
    run : int
        The run's number.
    layer, topic : int
        The topic's numbers as shown: ``L3:17`` is layer 3, topic 17.
    text : str
        The name.

    Raises
    ------
    NotFound
        If there is no such run.
    """
    name = " ".join(text.split())
    hold_run(connection, run)
    is_topic = (topic_labels.c.run == run) & (topic_labels.c.layer == layer) & (topic_labels.c.topic == topic)
    connection.execute(delete(topic_labels).where(is_topic))
    if name:
        values = {"run": run, "layer": layer, "topic": topic, "text": name}
        connection.execute(insert(topic_labels).values(**values))


class TopicRemarks(NamedTuple):
    """What users have said of the topics of a run: names by ``(layer, topic)``, then notes and edits, oldest first."""

    names: dict[tuple[int, int], str]
    notes: list[NoteRow]
    edits: list[EditRow]


@reads
def read_remarks(connection: Connection, run: int) -> TopicRemarks:
    """Return what users have said of the topics of a run, of one moment; damaged rows are left out."""
    named = connection.execute(select_sound(topic_labels).where(topic_labels.c.run == run))
    names = {(row.layer, row.topic): row.text for row in named}
    written = _read_notes(connection, select_sound(notes).where(notes.c.run == run))
    return TopicRemarks(names, written, read_edits(connection, run))


class MatchDecision(NamedTuple):
    """A decision that topic ``a`` of one run is topic ``b`` of the other; 0 in either place: the topic has no partner.

    Topics count from 1 within their layer, as in ``L3:17``.
    """

    layer: int
    a: int
    b: int

    @property
    def mirrored(self) -> "MatchDecision":
        """The same decision with the two runs exchanged."""
        return MatchDecision(self.layer, self.b, self.a)


@writes
def save_match(connection: Connection, run_a: int, run_b: int, decision: MatchDecision) -> None:
    """Save a decision; it replaces earlier ones about the same topics.

    Parameters
    ----------
    db : Database
        Open for writing.
    run_a, run_b : int
        The runs that ``decision.a`` and ``decision.b`` belong to.
    decision : MatchDecision

    Raises
    ------
    NotFound
        If one of the runs does not exist.
    StoreError
        If both runs are the same, or the decision names no topic.
    """
    if run_a == run_b:
        raise StoreError(f"topics of one run are matched by their numbers; {run_a} and {run_b} are the same run")
    if min(decision) < 0 or decision.layer == 0 or decision.a == decision.b == 0:
        raise StoreError(f"a match names a layer and at least one topic, counted from 1; got {tuple(decision)}")
    low, high, ordered = _order_runs(run_a, run_b, decision)
    hold_run(connection, low)
    hold_run(connection, high)
    _delete_matches(connection, low, high, ordered)
    values = {"run_a": low, "run_b": high, "layer": ordered.layer, "topic_a": ordered.a, "topic_b": ordered.b}
    connection.execute(insert(matches).values(created=now(), **values))


def undo_match(db: Database, run_a: int, run_b: int, decision: MatchDecision) -> None:
    """Delete earlier decisions about the topics that ``decision`` names; no error if there are none."""
    low, high, ordered = _order_runs(run_a, run_b, decision)
    db.transact(lambda connection: _delete_matches(connection, low, high, ordered))


@reads
def list_matches(connection: Connection, run_a: int, run_b: int) -> list[MatchDecision]:
    """Return all decisions about two runs, by layer and topic."""
    low, high = min(run_a, run_b), max(run_a, run_b)
    columns = matches.c.layer, matches.c.topic_a, matches.c.topic_b
    query = select_sound(matches, *columns).where(matches.c.run_a == low, matches.c.run_b == high)
    decisions = [MatchDecision(*row) for row in connection.execute(query)]
    return sorted(decisions if run_a == low else [decision.mirrored for decision in decisions])


def _order_runs(run_a: int, run_b: int, decision: MatchDecision) -> tuple[int, int, MatchDecision]:
    """Return two runs, the lower number first, with the decision turned accordingly."""
    return (run_a, run_b, decision) if run_a <= run_b else (run_b, run_a, decision.mirrored)


def _delete_matches(connection: Connection, low: int, high: int, decision: MatchDecision) -> None:
    """Delete the decisions about either topic of a decision."""
    is_same_layer = (matches.c.run_a == low) & (matches.c.run_b == high) & (matches.c.layer == decision.layer)
    for column, topic in ((matches.c.topic_a, decision.a), (matches.c.topic_b, decision.b)):
        if topic:
            connection.execute(delete(matches).where(is_same_layer, column == topic))
