"""The panel about one topic: words, quality, parents, children, columns and documents."""

from collections.abc import Sequence
from typing import NamedTuple

from topiary.app.analysis.column_topics import (
    Above,
    ColumnTopic,
    find_topics_above,
    list_column_layers,
    rank_column_topics,
)
from topiary.app.analysis.hierarchy import LIVE, REASONS, Hierarchy, Relative, TopicWord, format_identity
from topiary.app.analysis.notes import rank_tags
from topiary.app.analysis.passages import TopicPassage
from topiary.app.analysis.topic_images import draw_atom_uri, has_pictures
from topiary.app.analysis.word_use import measure_everywhere
from topiary.app.names import format_signed, plural
from topiary.app.views.compare.recurrence import draw_found_link
from topiary.app.views.explore.controls import draw_segments
from topiary.app.views.markup import draw_title, mark_places, write_element
from topiary.app.views.notes import NoteForm, draw_notes
from topiary.app.views.palette import declare_hue
from topiary.app.views.text import break_lines, escape, format_percent, format_weight, shorten, write_title
from topiary.app.views.tree.tree_svg import describe_mark
from topiary.engine.hierarchy.titles import SHOWN, TWIN
from topiary.engine.hierarchy.topics import TRADE
from topiary.engine.hierarchy.tree import Node


def draw_bar(share: float, most: float, hint: str, everywhere: float | None = None) -> str:
    """Return a share as a bar whose full length is ``most``, and in percent with the `title` attribute ``hint``.

    A share may be negative, for an effect that makes something rarer.  With ``everywhere``, a second bar of another
    tone shows the share in the whole corpus on the same scale.
    """
    corpus = "" if everywhere is None else f";--corpus:{min(100.0, 100 * everywhere / most):.1f}%"
    two = "" if everywhere is None else ' class="ex-two"'
    sign = "−" if share < 0 else ""
    return (
        f'<i{two} style="--part:{100 * abs(share) / most:.1f}%{corpus}"></i>'
        f"<small{hint}>{sign}{escape(format_percent(abs(share)))}</small>"
    )


def draw_heading(word: str, note: str, hint: str) -> str:
    """Return the heading of a list with a note next to it that ``hint`` explains."""
    return f'<h3>{word} <small title="{hint}">{note}</small></h3>'


_MOST_COLUMN_TOPICS = 4  # column topics listed for a topic
_HINT = "Groups of columns in which this topic weighs most: its share of all that the group changes"
_COLUMNS_NOTE = "The columns have topics of their own above layer 1, which they share with the rows: groups of columns."


def list_columns_above(hierarchy: Hierarchy, node: Node) -> str:
    """Return the column topics that weigh most in a topic of layer 1; empty for other layers and models."""
    topics = find_topics_above(hierarchy, node, _MOST_COLUMN_TOPICS)
    if not topics:
        return ""
    rows = "".join(_draw_column_above(each, topics[0].weight) for each in topics)
    return f'<section>{draw_heading("Column topics", "layer 2", _HINT)}<ol class="ex-bars ex-kin">{rows}</ol></section>'


def _draw_column_above(above: Above, largest: float) -> str:
    topic = above.topic
    title = escape(shorten(topic.title, 44))
    name = f'<span title="{_list_items(topic)}"><b>{topic.identity}</b> {title}</span>'
    return f"<li>{name}{draw_bar(above.weight, largest, write_title(_HINT))}</li>"


def draw_column_topics(hierarchy: Hierarchy) -> str:
    """Return the folded list of all column topics, layer by layer, top first; empty for other models."""
    layers = "".join(_draw_column_layer(hierarchy, layer) for layer in reversed(list_column_layers(hierarchy)))
    if not layers:
        return ""
    note = f'<p class="ex-hint">{_COLUMNS_NOTE}</p>'
    return f'<details class="ex-fold ex-columns"><summary>Column topics</summary>{note}{layers}</details>'


def _draw_column_layer(hierarchy: Hierarchy, layer: int) -> str:
    topics = rank_column_topics(hierarchy, layer)
    rows = "".join(
        f"<li><b>{topic.identity}</b> <small>{format_percent(topic.share)}</small> {_list_items(topic)}</li>"
        for topic in topics
    )
    return f'<p class="ex-hint">Layer {layer}, {len(topics)} topics</p><ul class="ex-outline">{rows}</ul>'


def _list_items(topic: ColumnTopic) -> str:
    return " · ".join(escape(item.text) for item in topic.items)


_FIRST_WORDS = f"ten first words at λ = {TRADE:g}"  # the snapshot has the NPMI of these words only
NPMI = (
    f"Document NPMI of its {_FIRST_WORDS} over the training documents, -1 to 1: how much more often they meet in one "
    "document than by chance (0)"
)
_MEAN_NPMI_TIP = (
    f"Mean document NPMI of the topics that are not light: how much more often their {_FIRST_WORDS} meet than by chance"
)
_DIVERSITY_TIP = "Different words among the first ten of the topics that are not light: 1 when no two share one"
_RELEVANCE_TIP = (
    "How much the frequency of a word counts (λ of relevance): near 0, words that few other topics have come "
    "first; near 1, the most probable ones"
)
_WANDERS_TIP = (
    "Draws of this topic differ so much (cosine below 0.8) that the words shown, their mean, are not one topic"
)
_TWIN_TIP = (
    f"The cosine of the words of the two topics is {TWIN:g} or more, and they share half of their {SHOWN} words shown"
)
_SHARE_STEP = 0.05


def draw_role_tag(hierarchy: Hierarchy, node: Node) -> str:
    """Return a tag that says why a topic is weak, with an explanation on hover; empty for a live topic."""
    role = hierarchy.role(node)
    return "" if role == LIVE else f'<small class="ex-role ex-{role}" title="{REASONS[role]}">{role}</small>'


def draw_wander_tag(hierarchy: Hierarchy, node: Node) -> str:
    """Return a tag for a topic whose draws disagree, with an explanation on hover; empty for other topics."""
    return f'<small class="ex-role" title="{_WANDERS_TIP}">wanders</small>' if hierarchy.wanders(node) else ""


def draw_twin_tag(hierarchy: Hierarchy, node: Node, *, titled: bool = False) -> str:
    """Return a tag that names the more popular topic of which this one is nearly the same; empty without one."""
    twin = hierarchy.twin(node)
    if twin is None:
        return ""
    title = f" {draw_title(hierarchy.title(twin))}" if titled and hierarchy.image_shape is None else ""
    text = f"nearly the same as {format_identity(twin)}{title}"
    return f'<small class="ex-role" title="{_TWIN_TIP}">{text}</small>'


def draw_coherence(hierarchy: Hierarchy, node: Node) -> str:
    """Return the NPMI of a topic with its meaning on hover; empty if it is not known."""
    value = hierarchy.coherence(node)
    return "" if value is None else f' · <span title="{NPMI}">coherence {format_coherence(value)}</span>'


def draw_layer_quality(hierarchy: Hierarchy, layer: int) -> str:
    """Return the NPMI and the diversity of a layer, for the head of its list."""
    quality = hierarchy.quality(layer)
    npmi = (
        ""
        if quality.npmi is None
        else f'<span title="{_MEAN_NPMI_TIP}">coherence {format_coherence(quality.npmi)}</span> · '
    )
    diversity = f'<span title="{_DIVERSITY_TIP}">diversity {quality.diversity:.2f}</span>' if quality.topics else ""
    return f'<p class="ex-quality">{npmi}{diversity}</p>'


def draw_word_choice(trade: float) -> str:
    """Return the switch between relevant and probable words, and the slider between them."""
    relevant = f"{TRADE:g}"
    options = (
        (relevant, "Relevant", "First the words that tell a topic from its neighbours"),
        ("1", "Probable", "First the most probable words, as in the papers"),
    )
    buttons = draw_segments("relevance", relevant if trade < 1.0 else "1", options, "Words")
    scale = f'min="0" max="1" step="{_SHARE_STEP:g}" value="{trade:g}"'
    return (
        f'<div class="ex-choice">{buttons}'
        f'<label class="ex-lambda" title="{_RELEVANCE_TIP}"><span>Frequency</span><input type="range" {scale}'
        f' data-input="relevance" aria-label="Frequency, the lambda of relevance"><output>{trade:.2f}</output>'
        "</label></div>"
    )


def draw_common_words(hierarchy: Hierarchy) -> str:
    """Return the folded list of words that are left out of titles; empty if there are none."""
    if not hierarchy.common_words:
        return ""
    words = " ".join(escape(hierarchy.vocabulary[number]) for number in hierarchy.common_words)
    common = plural(len(hierarchy.common_words), "word is", "words are")
    hint = "Found from the counts; they are left out of titles. A corpus can be added without them"
    return (
        f'<details class="ex-common"><summary title="{hint}">{common} everywhere in this'
        f" corpus</summary><p>{words}</p></details>"
    )


def format_coherence(value: float) -> str:
    """Return a coherence with two digits and a typographic minus."""
    return f"{value:.2f}".replace("-", "−")


_EXCERPT, _LONGEST_TEXT = 220, 6000  # characters of an excerpt, and of a text that is unfolded
_MOST_CLASSES = 8  # classes listed for a topic
CLOSE = '<button class="ex-close" data-do="select" data-id="" aria-label="Close the details" title="Close">×</button>'
ONLY_ROOT = "The tree has no other root: make another topic a root first"
_SHARE_TIP = "Number of the topic in the whole run, rank by share, and share of the layer's tokens in percent"
_STEP_TIP = "Size of the topic's last step in training: each topic has its own"
_WORD_TIP = "Share of the word in the topic: {here}; in the whole corpus, as the topics of this layer say: {everywhere}"
_WORD_HINT = "Its topics at every layer, and passages with it"
_RARER_TIP = "By how much the expected number of the word falls when this topic is on, relative to the first one"
_CLASS_TIP = "Weight of the topic for the class, minus the mean over all classes"
_PASSAGE_TIP = (
    "Among the documents that use the topic most, the passage of each whose words belong most to the topic, all "
    "together; those are marked of which 40 % or more of the occurrences belong to it"
)
_EDGES_TIP = "Share of the child in its parent; paler ones are not above the threshold"
_LEAST_CHILD = 0.01  # relatives with a smaller share are folded
_MOST_RELATIVES, _FEWEST_RELATIVES, _MOST_FOLDED = 12, 3, 24  # listed at most and at least, and in the fold


class TopicDocument(NamedTuple):
    """A document that uses a topic: its title, text and label, how strongly it uses the topic, and its best passage."""

    title: str
    text: str
    label: str
    weight: float
    number: int = -1
    passage: TopicPassage | None = None


def cut_excerpt(text: str, most: int = _EXCERPT) -> str:
    """Return the beginning of a text on one line."""
    return shorten(" ".join(break_lines(text[: 4 * most]).split()), most)


def draw_missing_topic(hierarchy: Hierarchy, node: Node) -> str:
    """Return the panel about a topic that is not in the snapshot on screen."""
    key = format_identity(node)
    return (
        f'<article class="ex-detail" data-key="{key}">{CLOSE}<header style="{declare_hue(node.layer)}">'
        f'<h2 class="ex-name">{key}</h2><p class="ex-gone" role="status">Topic {key} is not in the snapshot of '
        f"{hierarchy.moment}: it was pruned, or its layer was not there yet. "
        "Choose another snapshot above the tree.</p></header></article>"
    )


def draw_topic(
    hierarchy: Hierarchy,
    node: Node,
    threshold: float,
    documents: Sequence[TopicDocument] | None,
    *,
    root: bool,
    alone: bool = False,
    drawn: bool = True,
    sent: int = 0,
    focus: bool = False,
    closer: str = "",
) -> str:
    """Return the panel about a topic.

    Parameters
    ----------
    threshold : float
        Relatives on lighter edges are listed paler.
    documents : sequence of TopicDocument, or None
        None while they are being read.
    root, alone : bool
        Whether the topic is a root of the tree, and whether it is the only root.
    drawn : bool
        Whether the tree shows it.
    sent, focus : int and bool
        How often the visitor has added notes, and whether the field for the next one takes the focus.
    closer : str
        The section about a closer look at its documents.
    """
    key = format_identity(node)
    actions = _draw_actions(key, root=root, alone=alone, drawn=drawn) if hierarchy.n_layers > 1 else ""
    tip = "Documents of which it has at least 20 % stand out on the map of documents"
    actions += write_element("button", "On the map", data_do="map", data_id=key, title=tip)
    form = NoteForm(key, "this topic", rank_tags(hierarchy.notes), sent, focus)
    parts = [CLOSE, _draw_head(hierarchy, node, actions), draw_notes(hierarchy.notes.get(node, ()), form)]
    if has_pictures(hierarchy):
        label = f"picture of topic {key}"
        parts.append(f'<img class="ex-picture" src="{draw_atom_uri(hierarchy, node)}" alt="{label}">')
    else:
        parts += [_draw_words(hierarchy, node), _draw_rarer_words(hierarchy, node)]
    parts += [list_relatives(hierarchy, node, threshold, above=above) for above in (True, False)]
    parts += [list_columns_above(hierarchy, node), _draw_classes(hierarchy, node)]
    parts += [closer, _draw_documents(documents)]
    return f'<article class="ex-detail" data-key="{key}">{"".join(parts)}</article>'


def _draw_actions(key: str, *, root: bool, alone: bool, drawn: bool) -> str:
    """Return the buttons for a topic in the tree."""
    actions = [("root", "Make root", ""), ("pin", "Remove from roots" if root else "Add to roots", "")]
    if drawn:
        actions.append(("hide", "Hide", ONLY_ROOT if alone else ""))
    else:
        actions.insert(0, ("show", "Show in the tree", ""))
    return "".join(
        write_element("button", word, data_do=do, data_id=key, disabled=bool(reason), title=reason or None)
        for do, word, reason in actions
    )


def _draw_head(hierarchy: Hierarchy, node: Node, buttons: str) -> str:
    key, width = format_identity(node), hierarchy.widths[node.layer - 1]
    place = f"{key} · rank {hierarchy.rank(node)} of {width} · {format_percent(hierarchy.share(node))}"
    alive = bool(hierarchy.alive[node.layer - 1][hierarchy.place(node)])
    unused_note = "" if alive else '<p class="ex-none">No document uses this topic at present.</p>'
    edit = f'tabindex="0" data-edit="rename" data-id="{key}" data-label="Name of the topic"'
    marks = "".join(
        (draw_role_tag(hierarchy, node), draw_wander_tag(hierarchy, node), draw_twin_tag(hierarchy, node, titled=True))
    )
    tags = f'<p class="ex-tags">{marks}</p>' if marks else ""
    return (
        f'<header style="{declare_hue(node.layer)}"><p class="ex-over"{write_title(_SHARE_TIP, hierarchy)}>{place}</p>'
        f'<h2 class="ex-name" {edit} title="Double-click or F2 to name it">{escape(hierarchy.title(node))}</h2>'
        f"{tags}"
        f'{draw_found_link(hierarchy, node)}{unused_note}<div class="ex-acts">{buttons}</div>'
        f"{_draw_figures(hierarchy, node)}</header>"
    )


def _draw_figures(hierarchy: Hierarchy, node: Node) -> str:
    """Return the folded technical numbers of a topic: its identity, its coherence and its step size."""
    step = (
        f" · <span{write_title(_STEP_TIP, hierarchy)}>step size "
        f"{format_weight(float(hierarchy.step_sizes[node.layer - 1][hierarchy.place(node)]))}</span>"
        if hierarchy.step_sizes
        else ""
    )
    identity = f'<span title="The number of a topic, the same for the whole run">{format_identity(node)}</span>'
    return (
        '<details class="ex-figures"><summary>Technical figures</summary>'
        f'<p class="ex-ident">{identity}{draw_coherence(hierarchy, node)}{step}</p></details>'
    )


def _draw_words(hierarchy: Hierarchy, node: Node) -> str:
    words = hierarchy.top_words(node, 30)
    everywhere = measure_everywhere(hierarchy, node.layer)
    numbers = hierarchy.words[node.layer - 1][hierarchy.place(node), : len(words)].tolist()
    largest = max((word.weight for word in words), default=0.0) or 1.0
    rows = [
        _draw_word(hierarchy, word, largest, float(everywhere[number]))
        for word, number in zip(words, numbers, strict=True)
    ]
    mass = format_percent(sum(word.weight for word in words))
    order = "the most probable first" if hierarchy.trade >= 1.0 else "the most relevant first"
    hint = f"Share of the topic that these words have together; {order}"
    title = draw_heading("Words", f"{mass} in {len(rows)}", hint)
    more_words = ""
    if len(rows) > 12:
        rest = "".join(rows[12:])
        more_words = f'<details><summary>{len(rows) - 12} more words</summary><ol class="ex-bars">{rest}</ol></details>'
    return f'<section>{title}{_TONES}<ol class="ex-bars">{"".join(rows[:12])}</ol>{more_words}</section>'


_TONES = (
    '<p class="ex-tones"><span><i class="ex-tone-topic"></i>in the topic</span>'
    '<span><i class="ex-tone-corpus"></i>in the corpus</span></p>'
)


def _draw_word(hierarchy: Hierarchy, word: TopicWord, largest: float, everywhere: float) -> str:
    """Return a word with its share, and on hover the 90 % interval of the share if it is known."""
    tip = _WORD_TIP.format(here=format_percent(word.weight), everywhere=format_percent(everywhere))
    if word.low is not None and word.high is not None:
        tip += f"; between {format_percent(word.low)} and {format_percent(word.high)} with 90 %"
    bar = draw_bar(word.weight, largest, write_title(tip, hierarchy), everywhere)
    return f"<li>{draw_word_button(word.text)}{bar}</li>"


def draw_word_button(text: str) -> str:
    """Return a word as a button that shows where it is used."""
    return write_element("button", escape(text), class_="ex-word", data_do="word", data_value=text, title=_WORD_HINT)


def _draw_rarer_words(hierarchy: Hierarchy, node: Node) -> str:
    """Return the words that a topic makes rarer, if there are any, relative to the word that falls most."""
    words = hierarchy.lowered_words(node, 12)
    if not words:
        return ""
    hint, largest = write_title(_RARER_TIP, hierarchy), words[0].weight
    rows = "".join(
        f"<li>{draw_word_button(word.text)}{draw_bar(word.weight / largest, 1.0, hint)}</li>" for word in words
    )
    title = draw_heading(
        "Makes rarer", f"{len(words)} words", "Words whose expected number falls when this topic is on"
    )
    return f'<section>{title}<ol class="ex-bars ex-rarer">{rows}</ol></section>'


def list_relatives(hierarchy: Hierarchy, node: Node, threshold: float, *, above: bool) -> str:
    """Return the parents or the children of a topic with the shares of the edges; empty if there are none.

    Those under 1 % are folded, except for the first three.  Edges not above ``threshold / K`` are paler, with K topics
    in the lower layer; the tip says how many other seeds found an edge, and how sure it is within this run.
    """
    relatives = (hierarchy.parents if above else hierarchy.children)(node, max(hierarchy.widths))
    if not relatives:
        return ""
    n_heavy = sum(abs(relative.weight) >= _LEAST_CHILD for relative in relatives)
    n_listed = min(max(n_heavy, _FEWEST_RELATIVES), _MOST_RELATIVES)
    largest, limit = abs(relatives[0].weight), threshold / hierarchy.widths[node.layer - 1 - (not above)]

    def draw(relative: Relative) -> str:
        ends = (relative.node, node) if above else (node, relative.node)
        tip = "; ".join((_EDGES_TIP, *describe_mark(hierarchy.find_mark(*ends, threshold))))
        weight = draw_bar(relative.weight, largest, write_title(tip, hierarchy))
        return _draw_relative(hierarchy, relative, weight, weak=abs(relative.weight) <= limit)

    title = draw_heading("Parents" if above else "Children", f"layer {relatives[0].node.layer}", _EDGES_TIP)
    listed = "".join(map(draw, relatives[:n_listed]))
    folded = relatives[n_listed : n_listed + _MOST_FOLDED]
    fold = ""
    if folded:
        n_more = len(relatives) - n_listed
        amount = f"{n_more} more" if n_heavy > n_listed else f"{n_more} under 1 %"
        note = f'<p class="ex-ident">The heaviest {len(folded)} of them.</p>' if n_more > len(folded) else ""
        rows = f'<ol class="ex-bars ex-kin" data-rove>{"".join(map(draw, folded))}</ol>'
        fold = f"<details><summary>and {amount}</summary>{rows}{note}</details>"
    return f'<section>{title}<ol class="ex-bars ex-kin" data-rove>{listed}</ol>{fold}</section>'


def _draw_relative(hierarchy: Hierarchy, relative: Relative, weight: str, *, weak: bool) -> str:
    node = relative.node
    css_classes = ["ex-weak"] if weak else []
    css_classes += ["ex-rarer"] if relative.weight < 0 else []
    kind = f' class="{" ".join(css_classes)}"' if css_classes else ""
    picture = f'<img src="{draw_atom_uri(hierarchy, node)}" alt=""> ' if has_pictures(hierarchy) else ""
    return (
        f'<li{kind}><button data-do="select" data-id="{format_identity(node)}" style="{declare_hue(node.layer)}">'
        f"<b>{format_identity(node)}</b>{picture}{draw_title(hierarchy.title(node))}</button>{weight}</li>"
    )


def _draw_classes(hierarchy: Hierarchy, node: Node) -> str:
    """Return the classes for which a topic has the largest weights; empty if there are no classes."""
    if not hierarchy.classes:
        return ""
    weights = hierarchy.class_weights[node.layer - 1][:, hierarchy.place(node)]
    largest = max(float(abs(weights).max()), 1e-12)
    order = abs(weights).argsort(kind="stable")[::-1][:_MOST_CLASSES].tolist()
    indices = sorted(order, key=lambda index: -weights[index])
    rows = "".join(
        _draw_class_weight(hierarchy.classes[index], index + 1, float(weights[index]), largest) for index in indices
    )
    hint = f"{_CLASS_TIP}. Positive: the topic speaks for the class; negative: against it"
    title = draw_heading("Classes", "for or against", hint)
    return f'<section>{title}<ol class="ex-bars ex-kin" data-rove>{rows}</ol></section>'


def _draw_class_weight(name: str, label: int, weight: float, largest: float) -> str:
    return (
        f'<li class="{"ex-for" if weight >= 0 else "ex-against"}">'
        f'<button data-do="label" data-value="{label}" title="Show this class on the tree">'
        f"<span>{escape(shorten(name, 40))}</span></button>"
        f'<i style="--part:{100 * abs(weight) / largest:.1f}%"></i>'
        f"<small{write_title(_CLASS_TIP)}>{format_signed(weight)}</small></li>"
    )


def _draw_documents(documents: Sequence[TopicDocument] | None) -> str:
    if documents is None:
        inside = '<p class="ex-none">Reading the documents …</p>'
    elif not documents:
        inside = '<p class="ex-none">No documents are known for this snapshot; a later one of the run has them.</p>'
    else:
        inside = f'<ul class="ex-docs">{"".join(_draw_document(document) for document in documents)}</ul>'
    heading = "Documents that use it most"
    if any(document.passage is not None for document in documents or ()):
        heading = f"Passages that say most of it <small{write_title(_PASSAGE_TIP)}>of its documents</small>"
    return f'<section><h3 class="ex-documents">{heading}</h3>{inside}</section>'


def _draw_document(document: TopicDocument) -> str:
    title = escape(shorten(document.title, 110) or "untitled")
    label = f"<em>{escape(shorten(document.label, 40))}</em>" if document.label else ""
    strength = f'<small title="Share of the topic in the document">{format_weight(document.weight)}</small>'
    head, place = f"<strong>{title}</strong>{label}{strength}", draw_place_button(document.number)
    if not document.text.strip():
        return f"<li><div>{head}{place}</div></li>"
    return (
        f"<li><details><summary><div>{head}</div><span>{_draw_passage(document)}</span></summary>"
        f"<pre>{escape(shorten(break_lines(document.text), _LONGEST_TEXT))}</pre></details>{place}</li>"
    )


def _draw_passage(document: TopicDocument) -> str:
    """Return the passage of a document that says most of the topic, or the beginning of its text."""
    passage = document.passage
    return escape(cut_excerpt(document.text)) if passage is None else mark_places(passage.text, passage.marks)


def draw_place_button(document: int) -> str:
    """Return the button that shows where a document lies among the topics; empty for a negative number."""
    if document < 0:
        return ""
    hint = "Where this document lies among the topics: its paths, and the words behind them"
    return f'<button class="ex-place" data-do="place" data-number="{document}" title="{hint}">place</button>'
