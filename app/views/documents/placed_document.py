"""A document in the hierarchy as HTML: its label, paths and topics, with the words behind them."""

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from topiary.app.analysis.hierarchy import Hierarchy
from topiary.app.analysis.topic_images import draw_picture_uri
from topiary.app.ingest.new_documents import MARKED, Span, describe_known_words, explain_unknown_words
from topiary.app.views.html import render
from topiary.app.views.text import break_lines, shorten
from topiary.engine.hierarchy.paths import Path
from topiary.engine.hierarchy.tree import Node

TOPICS = 6  # listed per layer
_MOST_UNKNOWN = 8  # unknown words listed at most
_LETTERS = 24  # of one of them
_MOST_WORDS = 400  # listed of a document without its text


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
    spots : sequence of Span
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
    spots: Sequence[Span]
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
        unknown = placed.reading.unknown if placed.reading is not None else ()
        sentence = explain_unknown_words([shorten(word, _LETTERS) for word in unknown])
        return render("documents.blank", placed, sentence, _draw_body(hierarchy, placed, (), {}))
    # The browser scrolls to the document when the key changes.
    key = placed.document if placed.document >= 0 else f"text-{len(placed.text)}"
    layers = [_describe_layer(hierarchy, layer, placed) for layer in range(len(placed.theta), 0, -1)]
    reading, body = _describe_reading(placed.reading), _draw_body(hierarchy, placed, trail, parts)
    return render("documents.placed", hierarchy, placed, trail, key, reading, body, beneath, layers)


def mark_words(text: str, spots: Sequence[Span], parts: Mapping[int, float]) -> str:
    """Return a text as HTML with its words marked, the more strongly the more of a word the trail explains."""
    pieces, last = [], 0
    for spot in spots:
        if spot.end > MARKED:
            break
        gap = break_lines(text[last : spot.begin])
        pieces.append((gap, text[spot.begin : spot.end], parts.get(spot.word, 0.0)))
        last = spot.end
    return render("documents.marked_text", pieces, break_lines(text[last:MARKED]), len(text) - MARKED)


def _draw_body(hierarchy: Hierarchy, placed: PlacedDocument, trail: Sequence[Node], parts: Mapping[int, float]) -> str:
    """Return the document itself: a picture, its text, or its words."""
    if hierarchy.has_pictures:
        return _draw_pictures(hierarchy, placed, trail, parts)
    if placed.text.strip():
        return render("documents.text_of", mark_words(placed.text, placed.spots, parts))
    order = np.argsort(-placed.counts, kind="stable")[:_MOST_WORDS].tolist()
    pairs = zip(placed.words[order].tolist(), placed.counts[order].tolist(), strict=True)
    words = [(hierarchy.vocabulary[word], parts.get(word, 0.0), count) for word, count in pairs]
    return render("documents.bag", words)


def _describe_reading(reading: TextReading | None) -> SimpleNamespace | None:
    if reading is None:
        return None
    unknown = ", ".join(shorten(word, _LETTERS) for word in reading.unknown[:_MOST_UNKNOWN])
    ellipsis = " …" if len(reading.unknown) > _MOST_UNKNOWN else ""
    return SimpleNamespace(known=describe_known_words(reading.tokens, reading.stopped), unknown=unknown + ellipsis)


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
    return render(
        "documents.pictures", [(name, draw_picture_uri(shape, values, most)) for name, values, most in pictures]
    )


def _describe_layer(hierarchy: Hierarchy, layer: int, placed: PlacedDocument) -> SimpleNamespace:
    """Return the heaviest topics of a layer, and how much of its posterior comes from above, with an encoder."""
    shares = placed.shares[layer - 1]
    heaviest = np.argsort(-shares, kind="stable")[:TOPICS].tolist()
    position = "next to the words" if layer == 1 else "the most general" if layer == len(placed.theta) else "in between"
    return SimpleNamespace(
        number=layer,
        position=position,
        most=TOPICS,
        above=placed.above[layer - 1] if layer <= len(placed.above) else None,
        largest=float(shares[heaviest[0]]),
        topics=[
            (node, float(shares[column]))
            for column in heaviest
            if shares[column] > 0 and (node := hierarchy.node(layer, column))
        ],
    )
