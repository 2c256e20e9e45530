"""The form of the documents page, its lists of documents, and the line between two of them."""

from collections.abc import Sequence, Set
from typing import NamedTuple

from topiary.app.analysis.hierarchy import Hierarchy
from topiary.app.analysis.inference import ALIKE, MOST, Step, measure_distance, round_percent
from topiary.app.analysis.topic_images import draw_picture_uri, has_pictures
from topiary.app.ingest.readers.documents import KINDS
from topiary.app.views.markup import draw_icon, draw_select, write_element
from topiary.app.views.runs.kpis import draw_choices
from topiary.app.views.text import SnapshotSource, describe_origin, escape, format_percent, shorten, write_title

_DISTANCE_TIP = (
    "Hellinger distance of the shares of the topics of layer {layer}: 0 is the same mixture, 1 nothing in common; "
    "it has no unit"
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


def list_documents(documents: Sequence[ListedDocument], acts: Sequence[DocumentAction]) -> str:
    """Return a list of documents with their buttons."""
    return f'<ul class="dc-list">{"".join(_draw_document_row(document, acts) for document in documents)}</ul>'


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
    head = f'<h3 title="{escape(tip)}">Nearest documents'
    if documents is None:
        wait = f"Finding the topics of documents to compare with: {done:,} of {total:,} …"
        meter = f'<div class="tp-meter tp-running"><i style="width:{100 * done / max(total, 1):.0f}%"></i></div>'
        return f'<section class="dc-card">{head}</h3><p class="dc-read" role="status">{wait}</p>{meter}</section>'
    hint, among, select = (
        f"Documents of the corpus that were placed in the topics and compared, at most {MOST:,} of them",
        "",
        "",
    )
    if choice is not None:
        hint = (
            "All documents of the corpus were compared by their stored shares; those below 1 % count as one more topic"
        )
        among = "all "
        if choice.layers > 1:
            layers = [(layer, f"Topics of layer {layer}") for layer in range(choice.layers, 0, -1)]
            select = draw_select("near", layers, choice.layer, "Layer whose topics are compared")
    note = f" <small{write_title(hint, source)}>among {among}{total:,} of the corpus</small></h3>"
    rows = "".join(_draw_document_row(document, acts, tip, link) for document in documents)
    return f'<section class="dc-card">{head}{note}{select}<ul class="dc-list">{rows}</ul></section>'


def _draw_document_row(document: ListedDocument, acts: Sequence[DocumentAction], tip: str = "", link: str = "") -> str:
    label = f"<em>{escape(shorten(document.label, 40))}</em>" if document.label else ""
    distance = ""
    if document.distance is not None:
        distance = f'<small title="{escape(tip)}">{document.distance:.2f}</small>'
    picture = f'<img src="{document.picture}" alt="document {document.number}">' if document.picture else ""
    excerpt = f"<p>{escape(document.excerpt)}</p>" if document.excerpt else ""
    title = escape(shorten(document.title, 100) or "untitled")
    heading = title
    if link:
        address = f"?{link}&documents={document.number}"
        heading = write_element("a", title, href=address, data_go=True, data_do="document", data_number=document.number)
    buttons = "".join(
        f'<button class="ex-soft" data-do="{action.do}" data-number="{document.number}" data-side="{action.value}" '
        f'aria-label="{action.word}: {title}">{action.word}</button>'
        for action in acts
    )
    return (
        f'<li data-key="d{document.number}">{picture}<div><strong>{heading}</strong>{label}{distance}{excerpt}</div>'
        f'<span class="dc-acts">{buttons}</span></li>'
    )


MAP, FORM, BETWEEN = "map", "topics", "between"  # tabs; that of the table and the reader is ""
TABS = (("", "All documents"), (MAP, "Map of documents"), (FORM, "Find its topics"), (BETWEEN, "Between two documents"))
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
    update_button = write_element(
        "button", escape(newer), class_="ex-soft", data_do="again", title="Find its topics in the newest snapshot"
    )
    return (
        '<div class="tp-card-head"><h1>Documents</h1>'
        f'<span class="tp-dim">{escape(note)}</span>{update_button if newer else ""}'
        f"{draw_choices('tab', TABS, tab, 'What to do')}</div>"
    )


def draw_placing_form(text: str, search: SearchState, *, images: bool, some: Sequence[ListedDocument] = ()) -> str:
    """Return the two ways to choose a document: a text (not for images) or one of the corpus.

    ``some`` documents of the corpus are listed until a search begins.
    """
    own_text = "" if images else _draw_text_field(text)
    corpus = _draw_corpus_search(search, _PLACE, "any", "Any document", some)
    return f'<div class="dc-ask{" dc-one" if images else ""}">{own_text}{corpus}</div>'


def draw_line_form(chosen: Sequence[LineEnd], search: SearchState, steps: int, mixed: MixingChoice | None) -> str:
    """Return the two ends of a line, its number of steps, and the search for other ends.

    Parameters
    ----------
    chosen : sequence of LineEnd
        No, one or two ends.
    mixed : MixingChoice or None
        None as long as there is no line.
    """
    cards = "".join(_draw_line_end(place, chosen[place] if place < len(chosen) else None) for place in (0, 1))
    acts = (
        (DocumentAction("end", "From", "0"), DocumentAction("end", "To", "1"))
        if chosen
        else (DocumentAction("end", "From", "0"),)
    )
    return (
        f'<div class="dc-ask"><section class="dc-card"><h3>The two documents</h3><div class="dc-ends">{cards}</div>'
        f"{_draw_mixing(steps, mixed)}</section>"
        f"{_draw_corpus_search(search, acts, 'any-two', 'Any two documents')}</div>"
    )


def _draw_text_field(text: str) -> str:
    return (
        '<form class="dc-card" data-do="place"><h3 aria-level="2"><label for="dc-text">A text of your own</label></h3>'
        '<textarea id="dc-text" name="text" rows="7" data-input="typed" placeholder="Paste a text here" '
        f'aria-describedby="dc-help">{escape(text)}</textarea>'
        '<div class="dc-row"><button type="submit" class="tp-button tp-strong">'
        f"{draw_icon('page')}Find its topics</button>"
        '<label class="tp-button tp-file">Choose a file<input type="file" data-file="file" '
        f'accept="{",".join(KINDS)},text/plain" aria-label="Choose a text file"></label>'
        '<span class="tp-dim" id="dc-help">Cleaned and split into words like the corpus. It stays on this machine.'
        "</span></div></form>"
    )


_PLACE = (DocumentAction("document", "Find its topics"),)


def _draw_corpus_search(
    search: SearchState,
    acts: Sequence[DocumentAction],
    action: str,
    label: str,
    examples: Sequence[ListedDocument] = (),
) -> str:
    box = (
        '<div class="ex-find"><input type="search" data-input="find" data-hold '
        f'value="{escape(search.text)}" placeholder="Words of a document" '
        'aria-label="Search documents of the corpus"></div>'
    )
    random_button = write_element("button", label, class_="ex-soft", data_do=action, title="Chosen by chance")
    return (
        f'<section class="dc-card"><h3>A document of the corpus</h3><div class="dc-row">{box}{random_button}</div>'
        f"{_draw_hits(search, acts, examples)}</section>"
    )


def _draw_hits(search: SearchState, acts: Sequence[DocumentAction], examples: Sequence[ListedDocument]) -> str:
    if not search.text.strip() and search.total is None:
        return f'<p class="dc-read">Some of them:</p>{list_documents(examples, acts)}' if examples else ""
    if search.total is None:
        return '<p class="dc-read" role="status">Searching …</p>'
    if not search.total:
        return f'<p class="dc-read" role="status">No document has “{escape(shorten(search.text, 60))}” in it.</p>'
    limit_note = f", the first {len(search.found)}" if search.total > len(search.found) else ""
    tip = write_title("Documents of the corpus with all these words in them, counted in the whole corpus")
    status = f'<p class="dc-read" role="status"{tip}>{search.total:,} found{limit_note}:</p>'
    return f"{status}{list_documents(search.found, acts)}"


def _draw_line_end(index: int, end: LineEnd | None) -> str:
    word = ("From", "To")[index]
    if end is None:
        return f'<div class="dc-end"><b>{word}</b><span class="tp-dim">Choose a document of the corpus.</span></div>'
    picture = f'<img src="{end.picture}" alt="document {end.number}">' if end.picture else ""
    label = f"<em>{escape(shorten(end.label, 40))}</em>" if end.label else ""
    opening = f"<p>{escape(end.excerpt)}</p>" if end.excerpt else ""
    name = f"<span>{escape(shorten(end.title, 110) or 'untitled')}</span>"
    return (
        f'<div class="dc-end"><b>{word}</b>{picture}{name}{label}{opening}'
        f'<button class="ex-soft" data-do="document" data-number="{end.number}">Find its topics</button></div>'
    )


def _draw_mixing(steps: int, mixed: MixingChoice | None) -> str:
    steps_choice = draw_select("steps", ((n, str(n)) for n in sorted({*STEPS, steps})), steps)
    swap_button = write_element("button", "Swap", class_="ex-soft", data_do="turn", title="Exchange From and To")
    return (
        '<div class="dc-row"><label title="Points of the line, both ends included">Steps '
        f"{steps_choice}</label>{_draw_layer_choice(mixed) if mixed else ''}"
        f"{swap_button}</div>"
    )


def _draw_layer_choice(mixed: MixingChoice) -> str:
    entries = [(0, f"as usual: layer {mixed.telling}")] + [
        (layer, f"layer {layer}{' (top)' if layer == mixed.layers else ''}") for layer in range(mixed.layers, 0, -1)
    ]
    return (
        '<label title="Whose activations are mixed: the highest that tells the two apart, unless you choose another; '
        "DATM's figure mixes the top layer\">Mixed at "
        f"{draw_select('mixed', entries, mixed.chosen)}</label>"
    )


_WORD_LEGEND = (
    '<b class="dc-new">+ word</b> has come in since the step before, <span class="dc-stay">word</span> is in every step'
)
_POSITION_TIP = "How far this step is from the first document to the second, in percent of the way"


def draw_line(hierarchy: Hierarchy, steps: Sequence[Step]) -> str:
    """Return the steps from one document to the other as a list."""
    common_words = set.intersection(*(set(step.words) for step in steps))
    cards = "".join(_draw_line_step(hierarchy, step, common_words) for step in steps)
    pictures = " dc-line-pictures" if has_pictures(hierarchy) else ""
    hint = "" if pictures else f'<p class="dc-legend">{_WORD_LEGEND}</p>'
    body = f'<ol class="dc-steps{pictures}" tabindex="0">{cards}</ol>{_describe_alike(steps)}{hint}'
    return f'<section class="dc-card">{body}</section>'


def _describe_alike(steps: Sequence[Step]) -> str:
    """Return a note if the mixed layer hardly tells the documents apart, so that both ends look alike."""
    distance = measure_distance(steps[0].rates, steps[-1].rates)
    if distance >= ALIKE:
        return ""
    common = format_percent(1 - distance)
    return (
        f'<p class="dc-legend" role="status">Both ends are decoded to nearly the same ({common} in common): this layer '
        "hardly tells the two apart. Mix at another layer, or choose documents that differ more.</p>"
    )


def _draw_line_step(hierarchy: Hierarchy, step: Step, common_words: Set[int]) -> str:
    name = f"{round_percent(step.weight)}%"
    small = f"<small{write_title(_POSITION_TIP, hierarchy)}>{name}</small>"
    if has_pictures(hierarchy):
        image = draw_picture_uri(hierarchy.image_shape or (1, 1), step.rates)
        return f'<li><img src="{image}" alt="{name} of the way">{small}</li>'
    words = "".join(
        _draw_word(hierarchy, word, share, "dc-new" if new else "dc-stay" if word in common_words else "")
        for word, share, new in zip(step.words, step.shares, step.new, strict=True)
    )
    return f'<li>{small}<ol aria-label="Words {name} of the way">{words}</ol></li>'


def _draw_word(hierarchy: Hierarchy, word: int, share: float, kind: str) -> str:
    plus = "+ " if kind == "dc-new" else ""
    tip = write_title(f"{format_percent(share)} of the words expected at this step", hierarchy)
    return f'<li class="{kind}"{tip}>{plus}{escape(shorten(hierarchy.vocabulary[word], 22))}</li>'
