"""The panel about a word: its share of the corpus, its topics at every layer, and passages with it."""

from collections.abc import Sequence
from typing import NamedTuple

from topiary.app.analysis.hierarchy import Hierarchy, format_identity
from topiary.app.analysis.word_use import WordContext, WordUse, find_word, find_word_uses, measure_everywhere
from topiary.app.views.explore.detail import draw_heading, draw_place_button
from topiary.app.views.markup import draw_title, write_attributes, write_element
from topiary.app.views.palette import declare_hue
from topiary.app.views.text import escape, format_percent, shorten, write_title
from topiary.engine.hierarchy.tree import Node

_MOST_TOPICS = 5  # topics listed for each layer
_EVERYWHERE_TIP = "Share of the word in all topics of layer 1 together, weighted by their shares"
_PART_TIP = "Of all occurrences of the word, {part} belong to this topic; of the topic, the word is {weight}"
_TOPICS_TIP = "Share of the word's occurrences that belong to each topic; these sum to 100 % in a layer"
_PASSAGES_TIP = "Documents of the corpus with this word, or with words that begin with it, in the order of the corpus"


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
    back = write_element(
        "button", "← Back to the topic", class_="ex-soft", data_do="word", data_value="", data_autofocus=focus
    )
    number = find_word(hierarchy, found.word)
    name = escape(found.word)
    if number is None:
        place, topics = "Not a word of this run", ""
    else:
        share = float(measure_everywhere(hierarchy, 1)[number])
        place = f"Word · {format_percent(share)} of the corpus"
        topics = draw_word_topics(hierarchy, number, _MOST_TOPICS)
    more = ""
    if number is not None:
        more = write_element(
            "button", "Over time, by group, in context →", class_="ex-soft", data_do="word-page", data_value=found.word
        )
    key = escape(f"word {found.word}")
    return (
        f'<article class="ex-detail" data-key="{key}" data-from-top="{key}"><p>{back} {more}</p>'
        f'<header style="{declare_hue(1)}"><p class="ex-over"{write_title(_EVERYWHERE_TIP, hierarchy)}>{place}</p>'
        f'<h2 class="ex-name">{name}</h2></header>{topics}{_draw_passages(found)}</article>'
    )


def draw_word_topics(hierarchy: Hierarchy, number: int, most: int, chosen: Node | None = None) -> str:
    """Return the topics to which a word's occurrences belong, at most ``most`` of each layer, the top layer first.

    Parameters
    ----------
    number : int
        Number of the word in the vocabulary.
    chosen : Node, optional
        The topic that is shown as chosen.
    """
    return "".join(_draw_layer(hierarchy, number, layer, most, chosen) for layer in range(hierarchy.n_layers, 0, -1))


def _draw_layer(hierarchy: Hierarchy, number: int, layer: int, most: int, chosen: Node | None) -> str:
    uses = find_word_uses(hierarchy, number, layer, most)
    rows = "".join(_draw_use(hierarchy, use, chosen) for use in uses)
    body = f'<ol class="ex-bars ex-kin" data-rove>{rows}</ol>' if rows else '<p class="ex-ident">In no topic.</p>'
    return f"<section>{draw_heading(f'Topics of layer {layer}', 'of its occurrences', _TOPICS_TIP)}{body}</section>"


def _draw_use(hierarchy: Hierarchy, use: WordUse, chosen: Node | None) -> str:
    node = use.node
    tip = _PART_TIP.format(part=format_percent(use.part), weight=format_percent(use.weight))
    pressed = write_attributes(aria_current="true" if node == chosen else None)
    return (
        f'<li><button data-do="select" data-id="{format_identity(node)}" style="{declare_hue(node.layer)}"{pressed}>'
        f"<b>{format_identity(node)}</b>{draw_title(hierarchy.title(node))}</button>"
        f'<i style="--part:{100 * use.part:.1f}%"></i>'
        f"<small{write_title(tip, hierarchy)}>{format_percent(use.part)}</small></li>"
    )


def _draw_passages(found: WordPassages) -> str:
    """Return the passages; a document without the word as written is shown by its beginning."""
    if found.total is None:
        note, body = "searching …", ""
    else:
        shown = len(found.passages)
        note = f"the first {shown} of {found.total:,}" if found.total > shown else f"{found.total:,}"
        body = "".join(_draw_passage(passage) for passage in found.passages)
    rows = f'<ul class="ex-docs">{body}</ul>' if body else ""
    return f"<section>{draw_heading('Passages', note, _PASSAGES_TIP)}{rows}</section>"


def _draw_passage(document: WordPassage) -> str:
    before, word, after = (escape(piece) for piece in document.passage)
    marked = f"<mark>{word}</mark>" if word else ""
    head = f"<strong>{escape(shorten(document.title, 90))}</strong>{draw_place_button(document.number)}"
    return f"<li><div>{head}</div><span>{before}{marked}{after}</span></li>"
