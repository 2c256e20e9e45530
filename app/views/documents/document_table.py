"""The table of a corpus with its filters, and the bar above a document that is read."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from topiary.app.analysis.document_table import DocumentFilter, StrongestTopic
from topiary.app.analysis.hierarchy import BACKGROUND, Hierarchy, format_identity
from topiary.app.analysis.passages import ContextLine
from topiary.app.views.documents.documents_form import ListedDocument
from topiary.app.views.documents.placed_document import mark_words
from topiary.app.views.explore.refining import draw_refine_selection
from topiary.app.views.filters import draw_conditions, draw_filter_form
from topiary.app.views.markup import draw_icon, draw_options, draw_select, draw_title, name_condition, write_element
from topiary.app.views.palette import declare_hue
from topiary.app.views.save_table import draw_save_table
from topiary.app.views.text import describe_origin, escape, format_percent, shorten, write_title
from topiary.engine.lens.explained import LISTED

CONTEXTS = 3  # matches of a search that are shown of a document
PAGE_ROWS = 25  # documents on a page
_NUMBER_TIP = "Number of the document in the corpus, counted from 0"
_WORDS_TIP = "Words that the corpus counts in the document, repetitions included"
_TOPIC_TIP = (
    "The topic of layer {layer} with the largest share of the document in that layer, topics of the background left out"
)
_USES_TIP = "The documents that use the topic most, the strongest first; short documents rank lower"
_NO_TEXTS = "The corpus was imported as counts, so its texts are not kept: titles are those that came with it."
_BADLY_TIP = "Only the documents whose words the topics expect least, the worst first"
_BADLY = (
    f"Badly explained are the {100 * LISTED:g} % of all documents whose words the topics expect least, compared "
    "with documents of similar length; the worst come first. Look for another language, lists and tables, copied "
    "text, or a subject that has no topic."
)
_FIT_TIP = (
    "Mean log rate of the document's words, standardised among documents of similar length: 0 is usual, and below -2 "
    "are about 2 % of documents that differ by chance alone"
)
_TEXT_TIP = 'Words from their beginning, a "phrase", or /a regular expression/; press / to type here'


class DocumentRow(NamedTuple):
    """A document in the table.

    Attributes
    ----------
    words : float
        Number of words counted in it.
    picture : str
        Data URI, or "" where documents are texts.
    contexts : tuple of ContextLine
        The first matches of the search in it.
    """

    number: int
    title: str
    label: str
    words: float
    has_text: bool
    picture: str = ""
    contexts: tuple[ContextLine, ...] = ()


@dataclass(frozen=True, kw_only=True)
class TablePage:
    """What the table shows.

    Attributes
    ----------
    total : int or None
        Number of documents that the filters select; None while they are sought.
    documents : int
        Number of documents of the corpus; 0 while it is read.
    page : int
        From 0.
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
    return (
        f'<section class="dc-card dc-corpus" aria-label="Documents of the corpus">{_draw_filters(table)}'
        f"{_explain_badly(table)}"
        f'<div class="dc-row dc-count">{_draw_count(table)}{_draw_pager(table)}</div>{_draw_body(table)}</section>'
    )


def draw_clear_button() -> str:
    """Return the button that removes all filters."""
    return write_element("button", "Clear filters", class_="ex-soft", data_do="clear")


def _explain_badly(table: TablePage) -> str:
    return f'<p class="dc-read">{_BADLY}</p>' if table.wanted.badly else ""


def _draw_filters(table: TablePage) -> str:
    wanted = table.wanted
    text = (
        '<div class="ex-find"><input type="search" data-input="find" data-hold data-keys="/" '
        f'value="{escape(wanted.text)}" placeholder="Words of a document" title="{escape(_TEXT_TIP)}" '
        'aria-label="Filter by words"><kbd aria-hidden="true">/</kbd></div>'
    )
    label = ""
    if table.labels:
        entries = [(0, "Any label"), *((n, shorten(name, 50)) for n, name in enumerate(table.labels, 1))]
        label = draw_select("label", entries, wanted.label, "Filter by label")
    clear = draw_clear_button() if wanted != DocumentFilter() else ""
    badly = ""
    if table.has_shares or wanted.badly:
        badly = write_element(
            "button", "Badly explained", class_="ex-soft", data_do="badly", title=_BADLY_TIP,
            aria_pressed="true" if wanted.badly else "false",
        )  # fmt: skip
    number = (
        '<form class="dc-goto" data-do="read"><input class="tp-input" name="number" inputmode="numeric" '
        f'autocomplete="off" placeholder="Number" aria-label="Number of a document"{write_title(_tell_range(table))}>'
        '<button type="submit" class="ex-soft">Open</button></form>'
    )
    save = ""
    if table.hierarchy is not None and not wanted.badly:
        save = draw_save_table(table.hierarchy, "documents", layer=1, query=wanted.text)
    row = f"{text}{label}{_draw_topic_choice(table)}{badly}{clear}{number}{save}"
    first = f'<div class="dc-row dc-filters">{row}</div>'
    more = draw_conditions(wanted.where) + draw_filter_form(table.columns)
    if table.hierarchy is not None and table.total is not None and not wanted.badly:
        selection = (table.conditions, wanted.text, table.total, table.documents)
        more += draw_refine_selection(*selection, busy=table.refining)
    return f'{first}<div class="dc-row">{more}</div>' if more else first


def _tell_range(table: TablePage) -> str:
    return f"Documents are numbered from 0 to {max(0, table.documents - 1):,}"


def _draw_topic_choice(table: TablePage) -> str:
    """Return the choice of a topic, by layer and rank; topics without stored documents cannot be chosen."""
    hierarchy = table.hierarchy
    if hierarchy is None or not hierarchy.documents:
        return ""
    groups = "".join(
        write_element(
            "optgroup",
            draw_options(
                (
                    (format_identity(node), f"{format_identity(node)} · {hierarchy.title(node)}")
                    for node in hierarchy.nodes(layer)
                ),
                table.wanted.subject,
            ),
            label=f"Layer {layer}",
        )
        for layer in range(hierarchy.n_layers, 0, -1)
    )
    anything = draw_options([("", "Any topic")], table.wanted.subject)
    return write_element(
        "select",
        anything + groups,
        class_="ex-select",
        data_change="subject",
        aria_label="Filter by topic",
        title=_USES_TIP,
    )


def _draw_count(table: TablePage) -> str:
    """Return how many documents there are, which a screen reader reads out when it changes."""
    if table.total is None:
        sentence = "Searching …" if table.documents else "Reading the corpus …"
    elif not table.total:
        sentence = "No document fits all filters." if table.documents else "The corpus has no documents."
    else:
        first = table.page * PAGE_ROWS
        sentence = f"{first + 1:,}–{first + len(table.rows):,} of {table.total:,} documents{_describe_filters(table)}"
    tip = write_title("Documents shown, of those that fit all filters, counted in the whole corpus")
    return f'<p class="dc-read" role="status" aria-live="polite"{tip}>{sentence}</p>'


def _describe_filters(table: TablePage) -> str:
    """Return what the selected documents have in common, and of how many they are; "" without filters."""
    wanted, hierarchy = table.wanted, table.hierarchy
    parts = []
    if wanted.node is not None and hierarchy is not None and hierarchy.has(wanted.node):
        parts.append(f" that use “{draw_title(hierarchy.title(wanted.node))}” most")
    if wanted.text.strip():
        query = escape(shorten(wanted.text.strip(), 40))
        parts.append(f" with {query}" if wanted.text.strip()[0] in '"“„«/' else f" with “{query}”")
    if 0 < wanted.label <= len(table.labels):
        parts.append(f" labelled {escape(shorten(table.labels[wanted.label - 1], 40))}")
    if wanted.badly:
        parts.append(" that are badly explained")
    lines = [text for text in wanted.where if name_condition(text) != text]
    if others := [text for text in wanted.where if text not in lines]:
        parts.append(f" with {escape(shorten(' and '.join(others), 80))}")
    parts += [f" {name_condition(text)}" for text in lines]
    return f"{','.join(parts)}, in a corpus of {table.documents:,}" if parts else ""


def _draw_pager(table: TablePage) -> str:
    if not table.total or not table.last_page:
        return ""
    page, last = table.page, table.last_page
    entries = (
        (0, "First", page > 0),
        (page - 1, "Previous", page > 0),
        (page + 1, "Next", page < last),
        (last, "Last", page < last),
    )
    buttons = "".join(
        write_element(
            "button", word, class_="ex-soft", data_do="page", data_number=to, disabled=not usable, data_key=word
        )
        for to, word, usable in entries
    )
    tip = write_title(f"A page has {PAGE_ROWS} documents")
    where = f'<span class="tp-dim"{tip}>page {page + 1:,} of {last + 1:,}</span>'
    return f'<nav class="dc-pager" aria-label="Pages of the table">{where}{buttons}</nav>'


def _draw_body(table: TablePage) -> str:
    if not table.rows:
        return ""
    node = table.wanted.node
    topic_tip = describe_origin(_TOPIC_TIP.format(layer=node.layer if node is not None else 1), table.hierarchy)
    columns: list[tuple[str, str | None, str | None]] = [
        ("Number", "dc-number", describe_origin(_NUMBER_TIP)),
        ("Title", None, None),
    ]
    columns += [("Label", None, None)] if table.labels else []
    columns += [("Strongest topic", None, topic_tip)] if table.hierarchy is not None else []
    columns += [("Fit", "dc-number", describe_origin(_FIT_TIP, table.hierarchy))] if table.wanted.badly else []
    columns += [("Words", "dc-number", describe_origin(_WORDS_TIP))]
    # A phone shows rows as blocks, which would take their roles from them unless these are written.
    heads = "".join(
        write_element("th", word, role="columnheader", scope="col", class_=kind, title=tip)
        for word, kind, tip in columns
    )
    rows = "".join(_draw_row(table, row) for row in table.rows)
    notes = [table.note] if table.note else []
    if not any(row.has_text or row.picture for row in table.rows):
        notes.append(_NO_TEXTS)
    foot = "".join(f'<p class="dc-read" role="status">{escape(note)}</p>' for note in notes)
    return (
        '<div class="dc-scroll"><table class="dc-table" role="table" aria-label="Documents">'
        f'<thead role="rowgroup"><tr role="row">{heads}</tr></thead>'
        f'<tbody role="rowgroup" data-rove="jk">{rows}</tbody></table></div>{foot}'
        '<p class="dc-read dc-keys">Keys: <kbd>j</kbd> and <kbd>k</kbd> or the arrow keys move through the rows, '
        "<kbd>Enter</kbd> opens, <kbd>/</kbd> filters.</p>"
    )


def _draw_row(table: TablePage, row: DocumentRow) -> str:
    is_last = row.number == table.read
    picture = f'<img src="{row.picture}" alt="">' if row.picture else ""
    title = write_element(
        "a",
        escape(shorten(row.title, 160) or "untitled"),
        href=f"?{table.link}&documents={row.number}",
        data_go=True,
        data_do="read",
        data_number=row.number,
        data_autofocus=is_last and table.focus,
    )
    number_tip, words_tip = describe_origin(_NUMBER_TIP), describe_origin(_WORDS_TIP)
    cells: list[tuple[str, str | None, str | None]] = [(f"{row.number:,}", "dc-number", number_tip)]
    cells += [(picture + title + "".join(map(_draw_context, row.contexts)), "dc-title", None)]
    cells += [(_draw_label(row.label), None, None)] if table.labels else []
    cells += [(_draw_strongest(table, row), None, None)] if table.hierarchy is not None else []
    if table.wanted.badly:
        score = f"{table.scores.get(row.number, math.nan):.1f}".replace("-", "−")
        cells += [(score, "dc-number", describe_origin(_FIT_TIP, table.hierarchy))]
    cells += [(f"{row.words:,.6g}", "dc-number", words_tip)]
    return write_element(
        "tr",
        "".join(write_element("td", content, role="cell", class_=kind, title=tip) for content, kind, tip in cells),
        role="row",
        data_key=f"d{row.number}",
        aria_current="true" if is_last else None,
    )


def _draw_context(line: ContextLine) -> str:
    """Return a match of the search with the text around it."""
    return (
        f'<span class="dc-context"><span>{escape(line.before)}</span>'
        f"<mark>{escape(line.match)}</mark><span>{escape(line.after)}</span></span>"
    )


def _draw_label(label: str) -> str:
    return f"<em>{escape(shorten(label, 40))}</em>" if label else '<span class="tp-dim">none</span>'


def _draw_strongest(table: TablePage, row: DocumentRow) -> str:
    """Return the strongest topic of a document as a button that filters by it."""
    hierarchy, topic = table.hierarchy, table.strongest.get(row.number)
    if hierarchy is None or topic is None or not hierarchy.has(topic.node):
        return '<span class="tp-dim">…</span>' if row.words else '<span class="tp-dim">no words</span>'
    node = topic.node
    key, name = format_identity(node), draw_title(hierarchy.title(node), "dc-name")
    role = ", of the background" if hierarchy.role(node) == BACKGROUND else ""
    tip = write_title(f"Topic {key}{role}: {format_percent(topic.share)} of the document; list its documents")
    return (
        f'<button class="dc-chip" data-do="subject" data-value="{key}" style="{declare_hue(node.layer)}"{tip}>'
        f"<b>{key}</b>{name}"
        f"<small>{format_percent(topic.share)}</small></button>"
    )


class ReaderPlace(NamedTuple):
    """The place of the document that is read.

    Attributes
    ----------
    place, total : int or None
        Its place among the selected documents, from 0, and their number; None where not known, or not among them.
    previous, following : int or None
        The documents before and after it.
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
    tip = write_title(f"Document {reader.document} of the corpus, counted from 0; its place in the table")
    back = write_element(
        "button", "← Back to the table", class_="ex-soft", data_do="back", data_keys="Escape", title="Key: Escape",
    )  # fmt: skip
    quote = write_element(
        "button", f"{draw_icon('page')}Quote", class_="tp-button", data_quote=".dc-text",
        data_cite=reader.title, data_keys="q",
        title="Copies what is selected, else the first lines, with the title and the address of this view. Key: q",
    )  # fmt: skip
    return (
        f'<div class="dc-reader">{back}<p class="dc-read" role="status" aria-live="polite"{tip}>{place}</p>'
        f"{_draw_step('Previous', reader.previous, 'k ArrowLeft')}"
        f"{_draw_step('Next', reader.following, 'j ArrowRight')}"
        f"{quote}</div>{_QUOTE_DIALOG}"
    )


_QUOTE_DIALOG = (
    '<dialog class="tp-dialog" data-refused aria-label="Quotation"><form method="dialog"><h2>Quotation</h2>'
    "<p>The browser did not allow copying. The text is selected: copy it with Ctrl+C, or with Cmd+C on a Mac.</p>"
    '<textarea class="tp-input" rows="8" readonly aria-label="Text of the quotation"></textarea>'
    '<div class="tp-dialog-acts"><button type="submit" class="tp-button">Close</button></div></form></dialog>'
)


def _draw_step(word: str, document: int | None, keys: str) -> str:
    return write_element(
        "button", word, class_="tp-button", data_do="step", data_number=document, data_keys=keys,
        disabled=document is None, data_key=word, title=f"Keys: {keys.replace(' ', ' or ')}",
    )  # fmt: skip


def draw_reading(document: ListedDocument, sentence: str) -> str:
    """Return a document of the corpus while its topics are being found, or where there are none, with a sentence.

    The whole text of the document is in the place of its excerpt.
    """
    label, body = f'<em class="dc-label">{escape(document.label)}</em>' if document.label else "", ""
    if document.picture:
        body = f'<div class="dc-pictures"><figure><img src="{document.picture}" alt="the document"></figure></div>'
    elif document.excerpt.strip():
        body = f'<div class="dc-text" tabindex="0" role="document">{mark_words(document.excerpt, (), {})}</div>'
    title = escape(shorten(document.title, 120) or "untitled")
    return (
        f'<div class="dc-answer" data-bring="{document.number}"><div class="dc-side">'
        f'<article class="dc-card dc-document" data-key="d{document.number}">'
        f'<h3 aria-level="2">{title}{label}</h3>{body}'
        f'</article></div><div class="dc-side"><section class="dc-card"><p class="dc-read" role="status">{sentence}</p>'
        "</section></div></div>"
    )
