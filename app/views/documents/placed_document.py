"""A document in the hierarchy as HTML: its label, paths and topics, with the words behind them."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from topiary.app.analysis.hierarchy import Hierarchy, format_identity
from topiary.app.analysis.topic_images import draw_atom_uri, draw_picture_uri, has_pictures
from topiary.app.ingest.new_documents import MARKED, describe_known_words, explain_unknown_words
from topiary.app.views.markup import draw_title
from topiary.app.views.palette import declare_hue
from topiary.app.views.text import break_lines, describe_origin, escape, format_percent, shorten, write_title
from topiary.engine.hierarchy.paths import Path
from topiary.engine.hierarchy.tree import Node

TOPICS = 6  # listed per layer
_MOST_UNKNOWN = 8  # unknown words listed at most
_LEAST_PART = 0.04  # a word is marked only if at least this part of it comes from the topic
_KNOWN_TIP = (
    "Words of your text that the vocabulary of the corpus has, of all that count; topics are inferred from these alone"
)
_COUNT_TIP = "How often the word is in the document"
_PROBABILITY_TIP = (
    "Probability of the class, in percent: the mean over samples of the document's topics; all classes sum to 100 %"
)
_SHARE_TIP = "Share of the document that the topic has, in percent; those of a layer sum to 100 %"
_PATH_TIP = "Part of the document that comes along this path, in percent; all paths together are 100 %"
_TOPIC_TIP = "Share of the document's words that the topic of layer 1 has, in percent"
_TOTAL_TIP = "How many are listed, and the part of the document that they have together, in percent"


class WordSpan(NamedTuple):
    """The place of a known word in the text."""

    begin: int
    end: int
    word: int


class TextReading(NamedTuple):
    """How a text was read: the numbers of its tokens, known words and stop words, and its unknown words.

    ``own`` says whether words were found by the corpus's own rules (otherwise by the usual ones).
    """

    tokens: int
    known: int
    stopped: int
    unknown: Sequence[str]
    own: bool


class PlacedDocument(NamedTuple):
    """A document and its place in the hierarchy.

    Attributes
    ----------
    document : int
        Its number in the corpus; -1 for a text entered by the user.
    label : str
        Its label in the corpus, or "".
    reading : TextReading or None
        None for a document of the corpus.
    words, counts : (n,) arrays
        Word ids, and how often each word occurs.
    spots : sequence of WordSpan
        The places of known words in the text.
    theta : tuple of (K_l,) arrays
        Activations of the topics of each layer.
    shares : tuple of (K_l,) arrays
        Shares of the topics of each layer, which sum to 1.
    rates : (V,) array or None
        The reconstruction from the topics, for images.
    classes : sequence of (name, probability), or None if the model does not predict labels
        Most probable first.
    above : sequence of float
        For each layer below the top, the share of the posterior's shape that comes from the layer above;
        empty without an encoder.
    """

    title: str
    text: str
    document: int
    label: str
    reading: TextReading | None
    words: NDArray[np.int32]
    counts: NDArray[np.float64]
    spots: Sequence[WordSpan]
    theta: tuple[NDArray[np.float64], ...]
    shares: tuple[NDArray[np.float64], ...]
    rates: NDArray[np.float64] | None
    paths: Sequence[Path]
    classes: Sequence[tuple[str, float]] | None
    above: Sequence[float] = ()

    @property
    def blank(self) -> bool:
        """True if the document has no word of the corpus, so that it cannot be placed."""
        return not self.counts.any()


def draw_placed_document(
    hierarchy: Hierarchy, placed: PlacedDocument, trail: Sequence[Node], parts: Mapping[int, float], beneath: str = ""
) -> str:
    """Return the placed document as HTML, or the reason why it could not be placed.

    Parameters
    ----------
    trail : sequence of Node
        The topic or path whose words are marked.
    parts : mapping of int to float
        The part of each word, by its id, that the trail explains, 0 to 1.
    beneath : str
        HTML to show below the document.
    """
    if placed.blank:
        return f'<div class="dc-answer"><div class="dc-side">{_draw_blank(hierarchy, placed)}</div></div>'
    side = (
        f"{_draw_predictions(hierarchy, placed)}{_draw_paths(hierarchy, placed, trail)}"
        f"{_draw_layers(hierarchy, placed, trail)}"
    )
    main = f"{_draw_document(hierarchy, placed, trail, parts)}{beneath}"
    # The browser scrolls to the document when the key changes.
    key = placed.document if placed.document >= 0 else f"text-{len(placed.text)}"
    inside = f'<div class="dc-side">{main}</div><div class="dc-side">{side}</div>'
    return f'<div class="dc-answer" data-bring="{key}">{inside}</div>'


def mark_words(text: str, spots: Sequence[WordSpan], parts: Mapping[int, float]) -> str:
    """Return a text as HTML with its words marked, the more strongly the more of a word the trail explains."""
    pieces: list[str] = []
    last = 0
    for spot in spots:
        if spot.end > MARKED:
            break
        word = text[spot.begin : spot.end]
        pieces.append(escape(break_lines(text[last : spot.begin])))
        pieces.append(_mark_word(word, parts.get(spot.word, 0.0)))
        last = spot.end
    rest = escape(break_lines(text[last:MARKED]))
    rest_note = f'<span class="tp-dim"> … {len(text) - MARKED:,} more characters</span>' if len(text) > MARKED else ""
    return f"{''.join(pieces)}{rest}{rest_note}"


def _mark_word(word: str, part: float, suffix: str = "") -> str:
    if part < _LEAST_PART:
        return f'<span class="dc-known">{escape(word)}{suffix}</span>'
    hint = f"{format_percent(part)} of this word comes from here"
    return f'<mark style="--part:{part:.2f}" title="{hint}">{escape(word)}{suffix}</mark>'


def _draw_blank(hierarchy: Hierarchy, placed: PlacedDocument) -> str:
    unknown = placed.reading.unknown if placed.reading is not None else ()
    sentence = escape(explain_unknown_words([shorten(word, 24) for word in unknown]))
    return (
        f'<article class="dc-card dc-document">{_draw_title(placed)}<p class="dc-read" role="status">{sentence}</p>'
        f"{_draw_body(hierarchy, placed, (), {})}</article>"
    )


def _draw_document(
    hierarchy: Hierarchy, placed: PlacedDocument, trail: Sequence[Node], parts: Mapping[int, float]
) -> str:
    return (
        f'<article class="dc-card dc-document" data-key="d{placed.document}">{_draw_title(placed)}'
        f"{_describe_reading(placed)}{_draw_body(hierarchy, placed, trail, parts)}"
        f"{_draw_legend(hierarchy, trail)}</article>"
    )


def _draw_title(placed: PlacedDocument) -> str:
    label = f'<em class="dc-label" title="Its label in the corpus">{escape(placed.label)}</em>' if placed.label else ""
    return f'<h3 aria-level="2">{escape(shorten(placed.title, 120) or "untitled")}{label}</h3>'


def _draw_body(hierarchy: Hierarchy, placed: PlacedDocument, trail: Sequence[Node], parts: Mapping[int, float]) -> str:
    """Return the document itself: a picture, its text, or its words."""
    if has_pictures(hierarchy):
        return _draw_pictures(hierarchy, placed, trail, parts)
    if placed.text.strip():
        return f'<div class="dc-text" tabindex="0" role="document">{mark_words(placed.text, placed.spots, parts)}</div>'
    return f'<div class="dc-text dc-bag">{_draw_bag(hierarchy, placed, parts)}</div>'


def _describe_reading(placed: PlacedDocument) -> str:
    reading = placed.reading
    if reading is None:
        return ""
    numbers = f"<b>{reading.known:,} of {reading.tokens:,}</b> {describe_known_words(reading.tokens, reading.stopped)}"
    rules = "" if reading.own else "; the corpus came as counts, so words were found by the usual rules"
    words = ", ".join(escape(shorten(word, 24)) for word in reading.unknown[:_MOST_UNKNOWN])
    ellipsis = " …" if len(reading.unknown) > _MOST_UNKNOWN else ""
    unknown = f"; not known: <i>{words}{ellipsis}</i>" if words else ""
    return f'<p class="dc-read"{write_title(_KNOWN_TIP)}>{numbers}{rules}{unknown}.</p>'


def _draw_bag(hierarchy: Hierarchy, placed: PlacedDocument, parts: Mapping[int, float]) -> str:
    order = np.argsort(-placed.counts, kind="stable")[:400].tolist()
    words = placed.words[order].tolist()
    pairs = zip(words, placed.counts[order].tolist(), strict=True)
    tip = write_title(_COUNT_TIP)
    marked_words = (
        _mark_word(
            hierarchy.vocabulary[word], parts.get(word, 0.0), f"<small{tip}> × {count:g}</small>" if count != 1 else ""
        )
        for word, count in pairs
    )
    return " ".join(marked_words) or '<span class="tp-dim">This document has no words.</span>'


def _draw_pictures(
    hierarchy: Hierarchy, placed: PlacedDocument, trail: Sequence[Node], parts: Mapping[int, float]
) -> str:
    pixels = np.zeros(len(hierarchy.vocabulary))
    pixels[placed.words] = placed.counts
    explained = np.zeros_like(pixels)
    explained[placed.words] = placed.counts * [parts.get(caption, 0.0) for caption in placed.words.tolist()]
    pictures = [("the document", pixels, 0.0)]
    if placed.rates is not None and not placed.blank:
        pictures.append(("as its topics reconstruct it", placed.rates, 0.0))
    if trail:
        pictures.append(("the part of the chosen topics", explained, float(pixels.max(initial=0.0))))
    shape = hierarchy.image_shape or (1, 1)
    figures = (
        f'<figure><img src="{draw_picture_uri(shape, values, maximum)}" alt="{caption}">'
        f"<figcaption>{caption}</figcaption></figure>"
        for caption, values, maximum in pictures
    )
    return f'<div class="dc-pictures">{"".join(figures)}</div>'


def _draw_legend(hierarchy: Hierarchy, trail: Sequence[Node]) -> str:
    names = " › ".join(_draw_chip(hierarchy, node) for node in trail)
    word = "Brightest" if has_pictures(hierarchy) else "Marked"
    hint = "The stronger, the larger the part of a word that comes this way; choose another path or topic at the side"
    return f'<p class="dc-legend" title="{hint}"><span class="dc-swatch" aria-hidden="true"></span>{word}: {names}</p>'


def _draw_predictions(hierarchy: Hierarchy, placed: PlacedDocument) -> str:
    if placed.classes is None:
        return ""
    rows = "".join(
        f"<li><span>{escape(shorten(name, 60))}</span>"
        f"{_draw_bar(probability, 1.0, write_title(_PROBABILITY_TIP, hierarchy))}</li>"
        for name, probability in placed.classes[:5]
    )
    hint = "Probability that the model gives each class, averaged over its samples"
    return f'<section class="dc-card"><h3 title="{hint}">Predicted class</h3><ol class="dc-bars">{rows}</ol></section>'


def _draw_paths(hierarchy: Hierarchy, placed: PlacedDocument, trail: Sequence[Node]) -> str:
    largest = placed.paths[0].share if placed.paths else 1.0
    rows = "".join(_draw_path(hierarchy, path, largest, chosen=tuple(trail) == path.nodes) for path in placed.paths)
    total = format_percent(sum(path.share for path in placed.paths))
    hint = "Paths from the top layer down to layer 1; all paths of the document together are 100 %"
    if not hierarchy.linear:
        hint = (
            "Its share of the topics of layer 1: in this model what a topic above adds to a document depends on the "
            "others, so no part of the document comes by way of one"
        )
    return (
        f'<section class="dc-card"><h3 title="{hint}">{"Paths" if hierarchy.linear else "Topics of layer 1"} '
        f"<small{write_title(_TOTAL_TIP, hierarchy)}>{len(placed.paths)} that make up {total} of the document</small>"
        "</h3>"
        f'<ol class="dc-paths">{rows}</ol></section>'
    )


def _draw_path(hierarchy: Hierarchy, path: Path, largest: float, *, chosen: bool) -> str:
    names = "<i>›</i>".join(_draw_chip(hierarchy, node) for node in path.nodes)
    bar = _draw_bar(path.share, largest, write_title(_PATH_TIP if hierarchy.linear else _TOPIC_TIP, hierarchy))
    return (
        f'<li>{_open_choice(path.nodes, chosen=chosen)}<span class="dc-line">{bar}</span>'
        f'<span class="dc-chips">{names}</span></button></li>'
    )


def _draw_layers(hierarchy: Hierarchy, placed: PlacedDocument, trail: Sequence[Node]) -> str:
    tables = "".join(_draw_layer(hierarchy, layer, placed, trail) for layer in range(len(placed.theta), 0, -1))
    hint = "Shares of the document in each layer; the number of a topic is the same in the whole run"
    return f'<section class="dc-card"><h3 title="{hint}">Topics</h3>{tables}</section>'


def _draw_layer(hierarchy: Hierarchy, layer: int, placed: PlacedDocument, trail: Sequence[Node]) -> str:
    shares = placed.shares[layer - 1]
    heaviest = np.argsort(-shares, kind="stable")[:TOPICS].tolist()
    largest = float(shares[heaviest[0]])
    rows = "".join(
        _draw_topic(hierarchy, node, float(shares[column]), largest, chosen=tuple(trail) == (node,))
        for column in heaviest
        if shares[column] > 0 and (node := hierarchy.node(layer, column))
    )
    position = "next to the words" if layer == 1 else "the most general" if layer == len(placed.theta) else "in between"
    tip = write_title(
        f"Layer {layer} of {len(placed.theta)}, {position}; the {TOPICS} heaviest topics of the document", hierarchy
    )
    head = f'<h4 style="{declare_hue(layer)}"{tip}>Layer {layer}{_draw_share_from_above(hierarchy, placed, layer)}</h4>'
    return f'{head}<ol class="dc-topics">{rows}</ol>'


def _draw_share_from_above(hierarchy: Hierarchy, placed: PlacedDocument, layer: int) -> str:
    """Return how much of a layer's posterior comes from the layer above; empty without an encoder."""
    if layer > len(placed.above):
        return ""
    hint = (
        f"Of the shape of the encoder's answer for layer {layer}, the part that comes down from layer {layer + 1} "
        "(Phi theta); the rest is read from the document. IWHAI leaves it out"
    )
    return (
        f' <small class="tp-dim"{write_title(hint, hierarchy)}>'
        f"{format_percent(placed.above[layer - 1])} from above</small>"
    )


def _draw_topic(hierarchy: Hierarchy, node: Node, share: float, largest: float, *, chosen: bool) -> str:
    key = format_identity(node)
    return (
        f'<li style="{declare_hue(node.layer)}">{_open_choice((node,), chosen=chosen)}'
        f"<b{write_title(f'Topic {key} {hierarchy.title(node)}', hierarchy)}>{key}</b>"
        f"{_draw_face(hierarchy, node)}{_draw_bar(share, largest, write_title(_SHARE_TIP, hierarchy))}</button>"
        f'<button class="dc-go" data-do="explore" data-id="{key}" title="Explore this topic" '
        f'aria-label="Explore topic {key}">→</button></li>'
    )


def _open_choice(nodes: Sequence[Node], *, chosen: bool) -> str:
    """Return the opening tag of a button that marks the words of a topic or path; the chosen one unmarks them."""
    ids = "" if chosen else ",".join(format_identity(node) for node in nodes)
    state = f'aria-pressed="{"true" if chosen else "false"}"'
    return f'<button class="dc-choice" data-do="trail" data-ids="{ids}" {state} title="Mark its words">'


def _draw_chip(hierarchy: Hierarchy, node: Node) -> str:
    tip = describe_origin(f"Topic {hierarchy.cite(node)}", hierarchy)
    return (
        f'<span class="dc-chip" style="{declare_hue(node.layer)}" title="{escape(tip)}">'
        f"<b>{format_identity(node)}</b>{_draw_face(hierarchy, node)}</span>"
    )


def _draw_face(hierarchy: Hierarchy, node: Node) -> str:
    """Return the picture of a topic, or its title if topics are words."""
    if has_pictures(hierarchy):
        return f'<img src="{draw_atom_uri(hierarchy, node)}" alt="topic {format_identity(node)}">'
    return draw_title(hierarchy.title(node), "dc-name")


def _draw_bar(share: float, largest: float, hint: str) -> str:
    part = 100 * share / largest if largest > 0 else 0.0
    return f'<i class="dc-bar" style="--part:{part:.1f}%"></i><small{hint}>{format_percent(share)}</small>'
