"""The page Documents: its forms and lists, a document in the hierarchy, and the line between two documents.

A document is shown by its label, paths and topics, with the words behind them.
"""

from collections.abc import Mapping, Sequence, Set
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from topiary.app.analysis.hierarchy import Hierarchy
from topiary.app.analysis.inference import ALIKE, MOST, Step, measure_distance, round_percent
from topiary.app.analysis.topic_images import draw_picture_uri
from topiary.app.ingest.new_documents import MARKED, Span, describe_known_words, explain_unknown_words
from topiary.app.ingest.packing import TEXTUAL
from topiary.app.views.html import render
from topiary.app.views.text import SnapshotSource, break_lines, describe_origin, format_percent, shorten
from topiary.engine.hierarchy.paths import Path
from topiary.engine.hierarchy.tree import Node

TOPICS = 6  # listed per layer
_MOST_UNKNOWN = 8  # unknown words listed at most
_LETTERS = 24  # of one of them
_MOST_WORDS = 400  # listed of a document without its text
_DISTANCE_TIP = (
    "Hellinger distance of the shares of the topics of layer {layer}: 0 is the same mixture, 1 nothing in common; "
    "it has no unit"
)
_PLACED_ONES = "Documents of the corpus that were placed in the topics and compared"
_STORED_ONES = (
    "All documents of the corpus were compared by their stored shares; those below 1% count as one more topic"
)


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


class ListedDocument(NamedTuple):
    """A document of the corpus in a list.

    Attributes
    ----------
    distance : float or None
        The distance from the placed document.
    picture : str
        Data URI, or "" where documents are texts.
    """

    number: int
    title: str
    excerpt: str
    label: str
    distance: float | None = None
    picture: str = ""


class NeighbourChoice(NamedTuple):
    """The layer whose topics are compared, and the number of layers to choose from."""

    layer: int
    layers: int


class DocumentAction(NamedTuple):
    """A button next to a document: the message it sends, the word on it, and the value that goes with it."""

    do: str
    word: str
    value: str = ""


def draw_neighbours(
    documents: Sequence[ListedDocument] | None,
    done: int,
    total: int,
    acts: Sequence[DocumentAction],
    source: SnapshotSource,
    choice: NeighbourChoice | None = None,
    link: str = "",
) -> str:
    """Return the card of the nearest documents, or of the progress of placing them.

    Parameters
    ----------
    documents : sequence of ListedDocument or None
        None until they are known.
    done, total : int
        How many documents of the corpus have been placed so far, and how many will be.
    source : SnapshotSource
        The snapshot in which they were placed.
    choice : NeighbourChoice, optional
        If the shares of all documents are stored; then nothing had to be placed.
    link : str
        Address of the page, to which the number of a document is added.
    """
    tip = describe_origin(_DISTANCE_TIP.format(layer=1 if choice is None else choice.layer), source)
    if choice is None:
        hint, among = f"{_PLACED_ONES}, at most {MOST:,} of them", ""
    else:
        hint, among = _STORED_ONES, "all "
    layers = [(layer, f"Topics of layer {layer}") for layer in range(choice.layers, 0, -1)] if choice else []
    return render(
        "documents.neighbours", documents, done, total, acts, tip, describe_origin(hint, source), among,
        layers if len(layers) > 1 else [], choice.layer if choice else 0, link,
    )  # fmt: skip


MAP, FORM, BETWEEN = "map", "topics", "between"  # tabs; that of the table and the reader is ""
TABS = (("", "Table"), (MAP, "Map"), (FORM, "Place a text"), (BETWEEN, "Between two"))
STEPS = (5, 7, 9, 11, 15, 21)


class SearchState(NamedTuple):
    """The text searched for and the documents found; ``total`` is None while the search is running."""

    text: str = ""
    total: int | None = None
    found: Sequence[ListedDocument] = ()


class MixingChoice(NamedTuple):
    """The number of layers, the layer to mix (0 = not chosen), and the highest layer that tells the ends apart."""

    layers: int
    chosen: int
    telling: int


class LineEnd(NamedTuple):
    """One end of a line: a document of the corpus, its picture (if it is one) and its opening words (if it has any)."""

    number: int
    title: str
    label: str
    picture: str
    excerpt: str = ""


def draw_head(tab: str, note: str, *, newer: str = "") -> str:
    """Return the top of the page: the title, a note about the topics in use, and the choice of what to do.

    Parameters
    ----------
    note : str
        A sentence about the topics that are used.
    newer : str
        A sentence if the run has newer topics than those shown, else "".
    """
    return render("documents.head", tab, TABS, note, newer)


def draw_placing_form(text: str, search: SearchState, *, images: bool, some: Sequence[ListedDocument] = ()) -> str:
    """Return the two ways to choose a document: a text (not for images) or one of the corpus.

    ``some`` documents of the corpus are listed until a search begins.
    """
    acts = (DocumentAction("document", "Find its topics"),)
    return render("documents.placing_form", text, TEXTUAL, search, acts, images, some)


def draw_line_form(chosen: Sequence[LineEnd], search: SearchState, steps: int, mixed: MixingChoice | None) -> str:
    """Return the two ends of a line, its number of steps, and the search for other ends.

    Parameters
    ----------
    chosen : sequence of LineEnd
        No, one or two ends.
    mixed : MixingChoice or None
        None as long as there is no line.
    """
    ends = [(word, chosen[place] if place < len(chosen) else None) for place, word in enumerate(("From", "To"))]
    acts = [DocumentAction("end", "From", "0"), *[DocumentAction("end", "To", "1")] * bool(chosen)]
    entries = [(n, str(n)) for n in sorted({*STEPS, steps})]
    layers = [] if mixed is None else [(0, f"as usual: layer {mixed.telling}")]
    if mixed is not None:
        tops = {mixed.layers: " (top)"}
        layers += [(layer, f"layer {layer}{tops.get(layer, '')}") for layer in range(mixed.layers, 0, -1)]
    return render("documents.line_form", ends, search, acts, steps, entries, mixed, layers)


def draw_line(hierarchy: Hierarchy, steps: Sequence[Step]) -> str:
    """Return the steps from one document to the other as a list."""
    common_words = set.intersection(*(set(step.words) for step in steps))
    distance = measure_distance(steps[0].rates, steps[-1].rates)
    common = format_percent(1 - distance) if distance < ALIKE else ""  # both ends look alike
    drawn = [_describe_step(hierarchy, step, common_words) for step in steps]
    return render("documents.line", hierarchy, drawn, common, hierarchy.has_pictures)


def _describe_step(hierarchy: Hierarchy, step: Step, common_words: Set[int]) -> SimpleNamespace:
    name = f"{round_percent(step.weight)}%"
    if hierarchy.has_pictures:
        return SimpleNamespace(name=name, picture=draw_picture_uri(hierarchy.image_shape or (1, 1), step.rates))
    words = [
        (hierarchy.vocabulary[word], share, "dc-new" if new else "dc-stay" if word in common_words else "")
        for word, share, new in zip(step.words, step.shares, step.new, strict=True)
    ]
    return SimpleNamespace(name=name, words=words)
