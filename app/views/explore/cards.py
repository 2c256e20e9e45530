"""The ranked topics of a layer as cards, and the results of a search.

The panel about a word: its share of the corpus, its topics at every layer, and passages with it.
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from topiary.app.analysis.hierarchy import BACKGROUND, LIGHT, REASONS, Hierarchy, format_identity
from topiary.app.analysis.passages import WordContext, find_word, find_word_uses
from topiary.app.analysis.topic_images import draw_mosaic_uri
from topiary.app.names import plural
from topiary.app.views.explore.detail import (
    draw_common_words,
    draw_layer_quality,
    draw_place_button,
    draw_role_tag,
    draw_twin_tag,
)
from topiary.app.views.html import render
from topiary.app.views.text import escape, format_percent, shorten, write_title
from topiary.app.views.theme import declare_hue
from topiary.engine.hierarchy.tree import Node


class TopicMatch(NamedTuple):
    """A topic found by a search, the word (or name) that matched, and the weight of that word in the topic."""

    node: Node
    word: str
    weight: float


def find_topics(hierarchy: Hierarchy, text: str, most: int = 60) -> list[TopicMatch]:
    """Return the topics that have ``text`` in their name, their title, or one of their first 30 words.

    Case is ignored.  Matches of names and titles come first, then those of words by decreasing weight; a topic is
    listed once, with its heaviest match.
    """
    query = text.casefold().strip()
    if not query:
        return []
    numbers = {number for number, word in enumerate(hierarchy.vocabulary) if query in word.casefold()}
    matches: list[TopicMatch] = []
    for layer in range(hierarchy.n_layers, 0, -1):
        for node in hierarchy.nodes(layer):
            if query in hierarchy.name(node).casefold():
                matches.append(TopicMatch(node, hierarchy.name(node), 1.0))
                continue
            words = hierarchy.words[layer - 1][hierarchy.place(node)].tolist()
            weights = hierarchy.word_weights[layer - 1][hierarchy.place(node)].tolist()
            matching = [(-weight, number) for number, weight in zip(words, weights, strict=True) if number in numbers]
            if matching:
                weight, number = min(matching)
                matches.append(TopicMatch(node, hierarchy.vocabulary[number], -weight))
            elif query.replace(",", "") in _find_searched_title(hierarchy, node).casefold().replace(",", ""):
                matches.append(TopicMatch(node, hierarchy.title(node), 1.0))
    return sorted(matches, key=lambda match: -match.weight)[:most]


def _find_searched_title(hierarchy: Hierarchy, node: Node) -> str:
    """Return the title of a topic without a name, so that a pasted title finds it; empty for images."""
    return "" if hierarchy.image_shape is not None or hierarchy.name(node) else hierarchy.title(node)


NUMBER_AND_SHARE = "The number of the topic in the whole run, and its share of the layer's tokens; the largest first"
_TOPICS_TIP = "Topics with these words among their first 30, or in their name"
_DOCUMENTS_TIP = "Documents of the corpus with all of these words"
_WORD_TIP = "Share of the word in the topic, in percent of the topic's weight"
_MOSAIC_COLUMNS = 8  # pictures in a row of the mosaic
_CARD_WORDS = 7  # words on a card after its title


class FoundDocument(NamedTuple):
    """A document that a search found."""

    number: int
    title: str
    excerpt: str


class SearchResult(NamedTuple):
    """The text searched for, and the topics and documents found; ``total`` is None while documents are searched."""

    text: str
    topics: Sequence[TopicMatch] = ()
    documents: Sequence[FoundDocument] = ()
    total: int | None = None


class TopicMarks(NamedTuple):
    """The chosen topics: the selected one and the roots of the tree.

    ``light`` says whether topics of few tokens are listed too.
    """

    selected: Node | None = None
    roots: Collection[Node] = ()
    light: bool = False


def draw_topic_list(hierarchy: Hierarchy, layer: int, marks: TopicMarks, finding: SearchResult) -> str:
    """Return the tabs of the layers, and the cards of one, or what a search found.

    Parameters
    ----------
    layer : int
        The layer whose topics are listed when the search is empty.
    """
    body = (
        _draw_search_result(hierarchy, marks, finding) if finding.text.strip() else _draw_layer(hierarchy, layer, marks)
    )
    quality = "" if hierarchy.has_pictures else draw_layer_quality(hierarchy, layer)
    view_key = escape(f"{layer} {finding.text.strip()}")  # when this changes, the list scrolls back to its top
    return (
        f'<div class="ex-head">{_draw_tabs(hierarchy, layer)}{quality}</div>'
        f'<div data-from-top="{view_key}" role="tabpanel" aria-label="Layer {layer}">{body}</div>'
    )


def _draw_tabs(hierarchy: Hierarchy, layer: int) -> str:
    tabs = "".join(_draw_tab(hierarchy, number, chosen=number == layer) for number in range(hierarchy.n_layers, 0, -1))
    count = f"<small{write_title('Topics of this layer', hierarchy)}>{hierarchy.widths[layer - 1]} topics</small>"
    return f'<div class="ex-tabs" data-rove role="tablist" aria-label="Layer"><span>Layer</span>{tabs}{count}</div>'


def _draw_tab(hierarchy: Hierarchy, layer: int, *, chosen: bool) -> str:
    label = (
        f'aria-label="Layer {layer}" title="Layer {layer}'
        f': {hierarchy.widths[layer - 1]} topics" style="{declare_hue(layer)}"'
    )
    state = f'aria-selected="{"true" if chosen else "false"}"'
    return f'<button role="tab" data-do="layer" data-layer="{layer}" {state} {label}>{layer}</button>'


def _draw_layer(hierarchy: Hierarchy, layer: int, marks: TopicMarks) -> str:
    switch = _draw_light_switch(hierarchy, layer, shown=marks.light)
    if hierarchy.has_pictures:
        return _draw_mosaic(hierarchy, layer, marks) + switch
    cards = "".join(draw_card(hierarchy, node, marks) for node in _select_topics(hierarchy, layer, marks))
    label = f'aria-label="Topics of layer {layer}, most popular first"'
    return f'<ol class="ex-cards" data-rove {label}>{cards}</ol>{switch}{draw_common_words(hierarchy)}'


def _select_topics(hierarchy: Hierarchy, layer: int, marks: TopicMarks) -> list[Node]:
    """Return the topics of a layer; light ones only if they are chosen or all are shown."""
    selection = {marks.selected, *marks.roots}
    return [node for node in hierarchy.nodes(layer) if marks.light or node in selection or node not in hierarchy.light]


def _draw_light_switch(hierarchy: Hierarchy, layer: int, *, shown: bool) -> str:
    number = sum(node.layer == layer for node in hierarchy.light)
    if not number:
        return ""
    verb, light = "Hide" if shown else "Show", plural(number, "light topic")
    return (
        f'<button class="ex-soft ex-light" data-do="light" aria-pressed="{"true" if shown else "false"}"'
        f' title="{REASONS[LIGHT]}">{verb} {light}</button>'
    )


def draw_card(hierarchy: Hierarchy, node: Node, marks: TopicMarks, note: str = "") -> str:
    """Return the card of a topic: identity, share as bar and number, why it is weak (if so), name or title, more words.

    It ends with the topic's twin, if it has one, and a ``note``.
    """
    key = format_identity(node)
    title = hierarchy.title(node)
    rest = " ".join(shorten(word, 26) for word in hierarchy.other_words(node, _CARD_WORDS))
    current = f' aria-current="true" data-reveal="{key}"' if node == marks.selected else ""
    quiet = " ex-quiet" if hierarchy.role(node) == BACKGROUND else ""
    line = (
        f'<span class="ex-line"{write_title(NUMBER_AND_SHARE, hierarchy)}>'
        f'<b class="ex-rank">{key}</b><span class="ex-bar">'
        f'<i style="width:{_measure_bar(hierarchy, node):.1f}%"></i></span>'
        f'<span class="ex-share">{format_percent(hierarchy.share(node))}</span>{draw_role_tag(hierarchy, node)}</span>'
    )
    return (
        f'<li class="ex-card{quiet}" data-key="{key}" style="{declare_hue(node.layer)}"{current}>'
        f'<button class="ex-topic" data-do="select" data-id="{key}">{line}'
        f'<span class="ex-words"><strong>{escape(title)}</strong> {escape(rest)}</span>'
        f"{draw_twin_tag(hierarchy, node)}{note}</button>"
        f"{_draw_pin(key, chosen=node in marks.roots) if hierarchy.n_layers > 1 else ''}</li>"
    )


def _measure_bar(hierarchy: Hierarchy, node: Node) -> float:
    largest = float(hierarchy.shares[node.layer - 1].max())
    return 100 * hierarchy.share(node) / largest if largest > 0 else 0.0


def _draw_pin(key: str, *, chosen: bool) -> str:
    mark, verb = ("✓", "Take out of") if chosen else ("+", "Add to")
    label = f'title="{verb} the roots of the tree" aria-label="{verb} the roots of the tree"'
    state = f'aria-pressed="{"true" if chosen else "false"}"'
    return f'<button class="ex-pin" data-do="pin" data-id="{key}" {state} {label}>{mark}</button>'


def _draw_mosaic(hierarchy: Hierarchy, layer: int, marks: TopicMarks) -> str:
    nodes, visible = hierarchy.nodes(layer), {*_select_topics(hierarchy, layer, marks)}
    rows = -(-len(nodes) // _MOSAIC_COLUMNS)
    tiles = "".join(
        _draw_tile(hierarchy, node, divmod(place, _MOSAIC_COLUMNS), rows, marks)
        for place, node in enumerate(nodes)
        if node in visible
    )
    shape = hierarchy.image_shape or (1, 1)
    size = f"--size:{100 * _MOSAIC_COLUMNS}% {100 * rows}%;--shape:{shape[1]}/{shape[0]}"
    look = f'style="--sheet:url({draw_mosaic_uri(hierarchy, layer, _MOSAIC_COLUMNS)});{size}"'
    return f'<div class="ex-atoms" data-rove role="group" aria-label="Topics of layer {layer}" {look}>{tiles}</div>'


def _draw_tile(hierarchy: Hierarchy, node: Node, cell: tuple[int, int], rows: int, marks: TopicMarks) -> str:
    x, y = 100 * cell[1] / (_MOSAIC_COLUMNS - 1), 100 * cell[0] / max(rows - 1, 1)
    key = format_identity(node)
    current = f' aria-current="true" data-reveal="{key}"' if node == marks.selected else ""
    name = f" {hierarchy.name(node)}" if hierarchy.name(node) else ""
    label = escape(f"topic {key}, {format_percent(hierarchy.share(node))}{name}")
    return (
        f'<button class="ex-atom" data-key="{key}" data-do="select" data-id="{key}"{current} aria-label="{label}"'
        f' title="{label}"><i style="background-position:{x:.3f}% {y:.3f}%"></i>'
        f"<small>{key}</small></button>"
    )


def _draw_search_result(hierarchy: Hierarchy, marks: TopicMarks, finding: SearchResult) -> str:
    cards = "".join(
        draw_card(hierarchy, match.node, marks, _explain_match(hierarchy, match)) for match in finding.topics
    )
    empty_note = f"No topic has “{escape(finding.text)}” among its first 30 words."
    topics = f'<ol class="ex-cards" data-rove>{cards}</ol>' if cards else f'<p class="ex-none">{empty_note}</p>'
    total = "searching …" if finding.total is None else f"{finding.total:,}"
    if finding.total is not None and finding.total > len(finding.documents):
        total = f"the first {len(finding.documents)} of {total}"
    rows = "".join(_draw_found_document(document) for document in finding.documents)
    return (
        f'<h3 class="ex-group">Topics <small{write_title(_TOPICS_TIP, hierarchy)}>'
        f"{len(finding.topics)}</small></h3>{topics}"
        f'<h3 class="ex-group">Documents <small{write_title(_DOCUMENTS_TIP)}>{total}</small></h3>'
        f'<ul class="ex-docs" data-rove>{rows}</ul>'
    )


def _draw_found_document(document: FoundDocument) -> str:
    head = f"<strong>{escape(shorten(document.title, 90))}</strong>{draw_place_button(document.number)}"
    return f"<li><div>{head}</div><span>{escape(document.excerpt)}</span></li>"


def _explain_match(hierarchy: Hierarchy, match: TopicMatch) -> str:
    reason = f"“{escape(shorten(match.word, 26))}” has {format_percent(match.weight)}"
    if match.word == hierarchy.title(match.node):
        reason = "by its name" if hierarchy.name(match.node) else "by its title"
    return f'<small class="ex-note"{write_title(_WORD_TIP, hierarchy)}>Layer {match.node.layer} · {reason}</small>'


_MOST_TOPICS = 5  # topics listed for each layer


class WordPassage(NamedTuple):
    """A document that has a word: its number, its title, and the text around the word."""

    number: int
    title: str
    passage: WordContext


class WordPassages(NamedTuple):
    """Passages with a word, and the number of documents that have it; ``total`` is None while they are read."""

    word: str
    passages: Sequence[WordPassage] = ()
    total: int | None = None


def draw_word_card(hierarchy: Hierarchy, found: WordPassages, *, focus: bool = False) -> str:
    """Return the panel about a word, with a button that goes back to the topic.

    Parameters
    ----------
    found : WordPassages
        The word, and passages with it.
    focus : bool
        Whether the button has the focus, as right after the word was chosen.
    """
    number, share, topics = find_word(hierarchy, found.word), 0.0, ""
    if number is not None:
        share = float(hierarchy.measure_everywhere(1)[number])
        topics = draw_word_topics(hierarchy, number, _MOST_TOPICS)
    return render("topic.word_card", hierarchy, found, focus, number, share, topics)


def draw_word_topics(hierarchy: Hierarchy, number: int, most: int, chosen: Node | None = None) -> str:
    """Return the topics to which a word's occurrences belong, at most ``most`` of each layer, the top layer first.

    Parameters
    ----------
    number : int
        Number of the word in the vocabulary.
    chosen : Node, optional
        The topic that is shown as chosen.
    """
    layers = range(hierarchy.n_layers, 0, -1)
    uses = [(layer, find_word_uses(hierarchy, number, layer, most)) for layer in layers]
    return render("topic.word_topics", hierarchy, uses, chosen)
