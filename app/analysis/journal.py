"""The journal of a run as pages, commands and the library show it: the edits of its topics, and what each did."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from topiary.app.analysis.hierarchy import format_identity
from topiary.app.jobs.edit_orders import describe_edit, describe_result
from topiary.engine.hierarchy.tree import Node
from topiary.engine.steering.edit import PLACE
from topiary.store.edits import CHOSEN, EditRow


class JournalEntry(NamedTuple):
    """An edit in the journal of a run.

    Attributes
    ----------
    number : int
    state : {"waiting", "applied", "refused", "withdrawn"}
    kind, strength, name, author, created, step, message, tokens, documents, perplexity_before, perplexity_after
        As in :class:`store.edits.EditRow`.
    layer : int
    topics : tuple of str
        Identities of its topics; "edit 3" for one that edit 3 has yet to make, "chosen" for a parent yet to be chosen.
    words : tuple of str
    what, result : str
        Phrases for users.
    topic : str or None
        Identity of the topic that it made, or chose as a parent.
    changed : tuple of str
        Identities of the topics that it changed.
    """

    number: int
    state: str
    kind: str
    layer: int
    topics: tuple[str, ...]
    words: tuple[str, ...]
    strength: str
    name: str
    author: str
    created: datetime
    step: int
    what: str
    result: str
    message: str
    topic: str | None
    changed: tuple[str, ...]
    tokens: int
    documents: int
    perplexity_before: float | None
    perplexity_after: float | None


def make_entries(rows: Sequence[EditRow], vocabulary: Sequence[str]) -> list[JournalEntry]:
    """Return the rows of a journal, oldest first, with words and identities."""
    made = {row.edit: row.topic for row in rows}
    return [_make_entry(row, vocabulary, made) for row in rows]


def _make_entry(row: EditRow, vocabulary: Sequence[str], made: Mapping[int, int | None]) -> JournalEntry:
    topics = [made.get(-topic) or topic if topic < 0 else topic or row.topic or CHOSEN for topic in row.topics]
    last = row.layer + (row.kind == PLACE)  # the layer of its last topic
    layers = [row.layer] * (len(topics) - 1) + [last]
    own = {name: getattr(row, name) for name in JournalEntry._fields if hasattr(row, name)}
    return JournalEntry(
        **own
        | {
            "number": row.edit,
            "topics": tuple(_name_topic(layer, topic) for layer, topic in zip(layers, topics, strict=False)),
            "words": tuple(vocabulary[word] for word in row.words),
            "what": describe_edit(row._replace(topics=tuple(topics)), vocabulary),
            "result": describe_result(row),
            "topic": None if row.topic is None else _name_topic(last, row.topic),
            "changed": tuple(_name_topic(row.layer, topic) for topic in row.changed),
        }
    )


def _name_topic(layer: int, topic: int) -> str:
    if topic == CHOSEN:
        return "chosen"
    return f"edit {-topic}" if topic < 0 else format_identity(Node(layer, topic - 1))
