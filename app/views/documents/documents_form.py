"""The form of the documents page, its lists of documents, and the line between two of them."""

from collections.abc import Sequence, Set
from types import SimpleNamespace
from typing import NamedTuple

from topiary.app.analysis.hierarchy import Hierarchy
from topiary.app.analysis.inference import ALIKE, MOST, Step, measure_distance, round_percent
from topiary.app.analysis.topic_images import draw_picture_uri
from topiary.app.ingest.packing import TEXTUAL
from topiary.app.views.html import render
from topiary.app.views.text import SnapshotSource, describe_origin, format_percent

_DISTANCE_TIP = (
    "Hellinger distance of the shares of the topics of layer {layer}: 0 is the same mixture, 1 nothing in common; "
    "it has no unit"
)
_PLACED_ONES = "Documents of the corpus that were placed in the topics and compared"
_STORED_ONES = (
    "All documents of the corpus were compared by their stored shares; those below 1% count as one more topic"
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
