"""The table of a corpus with its filters, and the bar above a document that is read."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import NamedTuple

from topiary.app.analysis.document_table import DocumentFilter, StrongestTopic
from topiary.app.analysis.hierarchy import Hierarchy, format_identity
from topiary.app.analysis.passages import ContextLine
from topiary.app.views.documents.placed_document import ListedDocument, mark_words
from topiary.app.views.explore.refining import draw_refine_selection
from topiary.app.views.html import render
from topiary.app.views.markup import name_condition
from topiary.app.views.save_dialogs import draw_save_table
from topiary.app.views.text import describe_origin, shorten

CONTEXTS = 3  # matches of a search that are shown of a document
PAGE_ROWS = 25  # documents on a page
_NUMBER_TIP = "Number of the document in the corpus, counted from 0"
_WORDS_TIP = "Words that the corpus counts in the document, repetitions included"
_TOPIC_TIP = (
    "The topic of layer {layer} with the largest share of the document in that layer, topics of the background left out"
)
_NO_TEXTS = "The corpus was imported as counts, so its texts are not kept: titles are those that came with it."
_FIT_TIP = (
    "Mean log rate of the document's words, standardised among documents of similar length: 0 is usual, and below -2 "
    "are about 2% of documents that differ by chance alone"
)


class DocumentRow(NamedTuple):
    """A document in the table.

    Attributes
    ----------
    number : int
    title, label : str
    words : float
        Number of words counted in it.
    has_text : bool
    picture : str
        Data URI, or "" where documents are texts.
    contexts : tuple of ContextLine
        The first matches of the search in it.
    about : str
        Its day and its group, as far as it has them.
    """

    number: int
    title: str
    label: str
    words: float
    has_text: bool
    picture: str = ""
    contexts: tuple[ContextLine, ...] = ()
    about: str = ""


@dataclass(frozen=True, kw_only=True)
class TablePage:
    """What the table shows.

    Attributes
    ----------
    wanted : DocumentFilter
    total : int or None
        Number of documents that the filters select; None while they are sought.
    documents : int
        Number of documents of the corpus; 0 while it is read.
    page : int
        From 0.
    rows : sequence of DocumentRow
    labels : sequence of str
        The labels of the corpus.
    hierarchy : Hierarchy or None
        None where there are no topics yet.
    strongest : mapping of int to StrongestTopic
        The strongest topics of the documents placed so far.
    note : str
        A sentence about topics that are on their way or cannot be found.
    link : str
        Address of the table, to which the number of a document is added.
    read : int
        Number of the document read last; -1 for none.
    focus : bool
        Whether the row of that document takes the focus.
    columns : sequence of str
        Names of the columns by which documents can be filtered.
    scores : mapping of int to float
        How well the documents are explained, if only badly explained ones are listed.
    has_shares : bool
        Whether that can be measured.
    conditions : sequence of str
        All filters but the search as conditions.
    refining : bool
        Whether a corpus is being made of the documents selected.
    """

    wanted: DocumentFilter
    total: int | None = None
    documents: int = 0
    page: int = 0
    rows: Sequence[DocumentRow] = ()
    labels: Sequence[str] = ()
    hierarchy: Hierarchy | None = None
    strongest: Mapping[int, StrongestTopic] = field(default_factory=dict)
    note: str = ""
    link: str = ""
    read: int = -1
    focus: bool = False
    columns: Sequence[str] = ()
    scores: Mapping[int, float] = field(default_factory=dict)
    has_shares: bool = False
    conditions: Sequence[str] = ()
    refining: bool = False

    @property
    def last_page(self) -> int:
        """Number of the last page, from 0."""
        return max(0, ((self.total or 0) - 1) // PAGE_ROWS)


def draw_table(table: TablePage) -> str:
    """Return the filters, the number of documents, the table, and the buttons to its other pages."""
    wanted, hierarchy = table.wanted, table.hierarchy
    more, notes = "", [table.note] if table.note else []
    if hierarchy is not None and table.total is not None and not wanted.badly:
        selection = (table.conditions, wanted.text, table.total, table.documents)
        more = draw_refine_selection(*selection, busy=table.refining)
    if not any(row.has_text or row.picture for row in table.rows):
        notes.append(_NO_TEXTS)
    rows = [
        SimpleNamespace(
            document=row,
            strongest=find_row_topic(table, row),
            score=f"{table.scores.get(row.number, math.nan):.1f}".replace("-", "−"),
        )
        for row in table.rows
    ]
    return render(
        "documents.table", table, _list_filters(table), more, max(0, table.documents - 1), _describe_count(table),
        list_pages(table), _list_columns(table), rows, notes,
    )  # fmt: skip


def draw_clear_button() -> str:
    """Return the button that removes all filters."""
    return render("documents.clear_button")


def _list_filters(table: TablePage) -> SimpleNamespace:
    """Return the labels and topics to choose from, whether anything is chosen, and the dialog that saves the table."""
    wanted, hierarchy = table.wanted, table.hierarchy
    labels = [(0, "Any label"), *((n, shorten(name, 50)) for n, name in enumerate(table.labels, 1))]
    topics, save = [], ""
    if hierarchy is not None and hierarchy.documents:  # topics without stored documents cannot be chosen
        topics = [
            (
                layer,
                [(format_identity(n), f"{format_identity(n)} · {hierarchy.title(n)}") for n in hierarchy.nodes(layer)],
            )
            for layer in range(hierarchy.n_layers, 0, -1)
        ]
    if hierarchy is not None and not wanted.badly:
        save = draw_save_table(hierarchy, "documents", layer=1, query=wanted.text)
    has_any = wanted != DocumentFilter()
    return SimpleNamespace(labels=labels if table.labels else [], topics=topics, any=has_any, save=save)


def _describe_count(table: TablePage) -> str:
    """Return how many documents there are as markup, which a screen reader reads out when it changes."""
    if table.total is None:
        return "Searching …" if table.documents else "Reading the corpus …"
    if not table.total:
        return "No document fits all filters." if table.documents else "The corpus has no documents."
    first, wanted, hierarchy = table.page * PAGE_ROWS, table.wanted, table.hierarchy
    has_topic = wanted.node is not None and hierarchy is not None and hierarchy.has(wanted.node)
    topic = hierarchy.title(wanted.node) if has_topic and hierarchy and wanted.node else ""
    lines = [text for text in wanted.where if name_condition(text) != text]
    others = [text for text in wanted.where if text not in lines]
    shown = f"{first + 1:,}–{first + len(table.rows):,} of {table.total:,} documents"
    return shown + render("documents.found_in", table, topic, others, lines)


def list_pages(table: TablePage) -> SimpleNamespace | None:
    """Return the ways to the other pages of the table; None if there are none."""
    if not table.total or not table.last_page:
        return None
    page, last = table.page, table.last_page
    entries = (
        (0, "First", page > 0),
        (page - 1, "Previous", page > 0),
        (page + 1, "Next", page < last),
        (last, "Last", page < last),
    )
    return SimpleNamespace(rows=PAGE_ROWS, entries=entries)


def _list_columns(table: TablePage) -> list[tuple[str, str | None, str | None]]:
    """Return the columns of the table: name, style, and what it is."""
    node, hierarchy = table.wanted.node, table.hierarchy
    columns: list[tuple[str, str | None, str | None]] = [("Number", "dc-number", describe_origin(_NUMBER_TIP))]
    columns.append(("Title", None, None))
    if table.labels:
        columns.append(("Label", None, None))
    if hierarchy is not None:
        tip = describe_origin(_TOPIC_TIP.format(layer=node.layer if node is not None else 1), hierarchy)
        columns.append(("Strongest topic", None, tip))
    if table.wanted.badly:
        columns.append(("Fit", "dc-number", describe_origin(_FIT_TIP, hierarchy)))
    return [*columns, ("Words", "dc-number", describe_origin(_WORDS_TIP))]


def find_row_topic(table: TablePage, row: DocumentRow) -> StrongestTopic | None:
    """Return the strongest topic of a document; None until it is known, and without one on screen."""
    topic = table.strongest.get(row.number)
    return topic if topic is not None and table.hierarchy is not None and table.hierarchy.has(topic.node) else None


class ReaderPlace(NamedTuple):
    """The place of the document that is read.

    Attributes
    ----------
    document : int
    title : str
    place, total : int or None
        Its place among the selected documents, from 0, and their number; None where not known, or not among them.
    previous, following : int or None
        The documents before and after it.
    is_filtered : bool
    """

    document: int
    title: str
    place: int | None
    total: int | None
    previous: int | None
    following: int | None
    is_filtered: bool


def draw_reader_bar(reader: ReaderPlace) -> str:
    """Return the bar above a document: back to the table, its place, the next and previous ones, and *Quote*."""
    if reader.total is None:
        place = f"Document {reader.document:,}"
    elif reader.place is None:
        place = f"Document {reader.document:,}, not among the {reader.total:,} that the filters select"
    else:
        among = "documents that the filters select" if reader.is_filtered else "documents"
        place = f"{reader.place + 1:,} of {reader.total:,} {among}"
    return render("documents.reader_bar", reader, place)


def draw_reading(document: ListedDocument, sentence: str) -> str:
    """Return a document of the corpus while its topics are being found, or where there are none, with a sentence.

    The whole text of the document is in the place of its excerpt.
    """
    text = mark_words(document.excerpt, (), {}) if document.excerpt.strip() else ""
    return render("documents.reading", document, text, sentence)
