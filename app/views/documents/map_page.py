"""The map of all documents on the documents page: its controls, the legend, the regions, and what is selected."""

from collections.abc import Sequence
from typing import NamedTuple

from topiary.app.analysis.hierarchy import Hierarchy, format_identity
from topiary.app.analysis.typical import TypicalTopic
from topiary.app.jobs.progress import Notice
from topiary.app.views.filters import draw_conditions, draw_filter_form
from topiary.app.views.markup import draw_options, draw_select, draw_title, write_element
from topiary.app.views.palette import declare_hue
from topiary.app.views.runs.corpus_form import draw_meter
from topiary.app.views.text import escape, format_percent, shorten, write_title
from topiary.engine.hierarchy.tree import Node

TOPIC = "Topic"  # the first way to colour documents
_COLOUR_TIP = "By the parent of a document's strongest topic, or by a column"
_TOPIC_TIP = "Documents of which the topic has at least 20 % stand out"
_REGION_TIP = "Documents there whose strongest topic of layer 1 is this one, or comes from it most"
_TYPICAL_TIP = "Beyond chance among all topics of layer 1; in brackets the share in all other documents"
_WORDS_TIP = "Log odds against all other documents, beyond chance among all words"
_TITLE = 90  # letters


class MapLegend(NamedTuple):
    """A colour of the map: its hue from 1, what has it, and the message that a click sends, with its value."""

    hue: int
    text: str
    do: str
    value: str


class MapColours(NamedTuple):
    """How documents are coloured.

    Attributes
    ----------
    hues : list of int
        The hue of every code, 0 for grey.
    others : bool
        Whether some documents are grey.
    columns : sequence of str
        The columns by which they can be coloured.
    """

    hues: Sequence[int] = ()
    legend: Sequence[MapLegend] = ()
    others: bool = False
    columns: Sequence[str] = ()


class MapRegion(NamedTuple):
    """An island of a topic, and the number of documents there."""

    node: Node
    documents: int


class ListedPoint(NamedTuple):
    """A document of a selection."""

    number: int
    title: str


class SelectionSummary(NamedTuple):
    """What is selected: of how many documents, their typical topics, some of them, and their typical words.

    ``words`` is None until they are known.
    """

    selected: int
    documents: int
    topics: Sequence[TypicalTopic] = ()
    listed: Sequence[ListedPoint] = ()
    words: Sequence[str] | None = None


class MapControls(NamedTuple):
    """What the controls show.

    Attributes
    ----------
    hierarchy : Hierarchy or None
        None where there is no map.
    topic : Node or None
        The chosen topic.
    colour : str
        The column by which documents are coloured, "" by topic.
    where, columns : sequence of str
        The conditions on documents, and the columns for others.
    can_make : bool
        Whether there is a button that has the map made.
    notice : Notice
        How far the map is that is being made, or why it has failed.
    """

    hierarchy: Hierarchy | None
    topic: Node | None = None
    colour: str = ""
    colours: MapColours = MapColours()
    where: Sequence[str] = ()
    columns: Sequence[str] = ()
    note: str = ""
    can_make: bool = False
    notice: Notice = Notice()


def draw_map_controls(controls: MapControls) -> str:
    """Return the choice of colours and of a topic, the conditions, and how far the map is."""
    rows = []
    hierarchy = controls.hierarchy
    if hierarchy is not None:
        entries = [("", TOPIC), *((name, shorten(name, 30)) for name in controls.colours.columns)]
        colour = draw_select("colour", entries, controls.colour, "Colour by", _COLOUR_TIP)
        tree = ""
        if controls.topic is not None:
            key = format_identity(controls.topic)
            tree = write_element("button", "Show in the tree", class_="ex-soft", data_do="explore", data_id=key)
        form = draw_filter_form(controls.columns)
        rows.append(
            f'<div class="dc-row dm-controls"><label>Colour by {colour}</label>'
            f"{_draw_topic_choice(hierarchy, controls.topic)}{tree}{draw_conditions(controls.where)}{form}</div>"
        )
    rows.append(_draw_state(controls))
    return f'<div class="dm-head">{"".join(rows)}</div>'


def _draw_topic_choice(hierarchy: Hierarchy, chosen: Node | None) -> str:
    groups = "".join(
        write_element(
            "optgroup",
            draw_options(
                (
                    (format_identity(node), f"{format_identity(node)} · {hierarchy.title(node)}")
                    for node in hierarchy.nodes(layer)
                ),
                "" if chosen is None else format_identity(chosen),
            ),
            label=f"Layer {layer}",
        )
        for layer in range(hierarchy.n_layers, 0, -1)
    )
    options = draw_options([("", "All topics")], None if chosen else "") + groups
    names = {"data_change": "topic", "aria_label": "Topic that stands out", "title": _TOPIC_TIP}
    return write_element("select", options, class_="ex-select", **names)


def _draw_state(controls: MapControls) -> str:
    """Return the note about the map, its progress, and the button that has it made."""
    notice = controls.notice
    sentences = [notice.sentence, controls.note] if notice.failed else [controls.note]
    text = " ".join(filter(None, sentences))
    parts = [f'<p class="dc-read" role="status">{escape(text)}</p>'] if text else []
    if notice.sentence and not notice.failed:
        share = notice.share or 0.0
        parts.append(f'<p class="dc-read">{escape(notice.sentence)}, {100 * share:.0f} %</p>')
        parts.append(draw_meter(share, "Progress of the map"))
    elif notice.failed or controls.can_make:
        word = "Make the map" if controls.hierarchy is None or notice.failed else "Make a newer map"
        parts.append(write_element("button", word, class_="tp-button", data_do="make"))
    return f'<div class="dm-state">{"".join(parts)}</div>' if parts else ""


def draw_map_legend(colours: MapColours, hierarchy: Hierarchy | None, regions: Sequence[MapRegion]) -> str:
    """Return the legend, and the table of regions, which says in words what the map shows."""
    entries = "".join(
        write_element(
            "button",
            f'<i style="--hue:var(--tp-hue-{each.hue})"></i>{draw_title(each.text)}',
            class_="dm-entry",
            data_do=each.do,
            data_value=each.value,
        )
        for each in colours.legend
    )
    others = '<span class="dm-entry"><i style="--hue:var(--tp-muted)"></i>others</span>' if colours.others else ""
    legend = f'<div class="dm-legend" role="group" aria-label="Colours">{entries}{others}</div>'
    return f"{legend if entries else ''}{_draw_regions(hierarchy, regions)}"


def _draw_regions(hierarchy: Hierarchy | None, regions: Sequence[MapRegion]) -> str:
    if hierarchy is None or not regions:
        return ""
    rows = "".join(
        f'<tr><td>{region.node.layer}</td><th scope="row">{_draw_topic_button(hierarchy, region.node)}</th>'
        f"<td>{region.documents:,}</td></tr>"
        for region in regions
    )
    head = (
        f'<th scope="col">Layer</th><th scope="col">Topic</th><th scope="col"{write_title(_REGION_TIP)}>Documents</th>'
    )
    return (
        f'<details class="dm-regions"><summary>Regions of the map as a table</summary>'
        f"<table><thead><tr>{head}</tr></thead><tbody data-rove>{rows}</tbody></table></details>"
    )


def _draw_topic_button(hierarchy: Hierarchy, node: Node) -> str:
    return write_element(
        "button",
        draw_title(hierarchy.title(node)),
        class_="dm-topic",
        style=declare_hue(node.layer),
        data_do="select",
        data_value=format_identity(node),
    )


def draw_map_help() -> str:
    """Return how documents are selected, which is shown while none are."""
    return (
        '<section class="dc-card dm-card"><h3 aria-level="2">Nothing is selected</h3><ul class="dm-help">'
        "<li>A caption, or a topic chosen above, makes the documents stand out that have at least 20 % of it.</li>"
        "<li>A line drawn around documents selects them: hold <kbd>Shift</kbd> and drag, or use the button ◌.</li>"
        "<li>By keyboard: <kbd>Tab</kbd> to the map, move with the arrows, zoom with <kbd>+</kbd> and <kbd>−</kbd>, "
        "and press <kbd>S</kbd> to select what is on screen.</li>"
        "<li>A click on a point opens the document.</li></ul></section>"
    )


def _draw_heading(text: str, tip: str | None = None) -> str:
    return write_element("h4", text, aria_level=3, title=tip)


def draw_selection_card(summary: SelectionSummary, hierarchy: Hierarchy, *, busy: bool) -> str:
    """Return what is selected: how many documents, what can be done with them, topics, words, and some of them."""
    acts = (
        ("list", "List them", "In the table of documents"),
        ("trends", "Over time", "Topics over time and by group, of these documents"),
        ("export", "Export", "Documents with the shares of topics, as CSV"),
        ("seed-topic", "New topic from these", "Begins a new topic of this run with the words that distinguish them"),
        ("refine", "New run on this selection", "Makes a corpus of these documents"),
        ("clear", "Clear", "Escape, on the map"),
    )
    buttons = "".join(
        write_element("button", word, class_="ex-soft", data_do=do, title=tip, disabled=busy and do == "refine")
        for do, word, tip in acts
        if summary.selected or do == "clear"
    )
    parts = [
        f'<h3 aria-level="2"><span role="status">{summary.selected:,} of {summary.documents:,} documents</span></h3>'
        f'<div class="dm-acts">{buttons}</div>'
    ]
    if summary.topics:
        rows = "".join(
            f"<li>{_draw_topic_button(hierarchy, each.node)}<span>{format_percent(each.share)} "
            f"<small>({format_percent(each.share - each.difference)})</small></span></li>"
            for each in summary.topics
        )
        parts.append(f'{_draw_heading("More than elsewhere", _TYPICAL_TIP)}<ul class="dm-topics" data-rove>{rows}</ul>')
    if summary.words is None:
        parts.append(f'{_draw_heading("Typical words")}<p class="dc-read">Counting words …</p>')
    elif summary.words:
        words = ", ".join(escape(shorten(word, 26)) for word in summary.words)
        parts.append(f'{_draw_heading("Typical words", _WORDS_TIP)}<p class="dm-words">{words}</p>')
    if summary.listed:
        rows = "".join(
            f'<li data-key="d{each.number}"><button class="dm-open" data-do="read" data-number="{each.number}">'
            f"{escape(shorten(each.title, _TITLE) or 'untitled')}</button></li>"
            for each in summary.listed
        )
        parts.append(f'{_draw_heading("Documents")}<ul class="dm-docs" data-rove>{rows}</ul>')
    return f'<section class="dc-card dm-card">{"".join(parts)}</section>'
