"""The report of a run: one page for people who will never open the application, made to be read and printed."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from topiary.app.analysis.hierarchy import BACKGROUND, INCOHERENT, LIGHT, Hierarchy, format_identity
from topiary.app.analysis.notes import Note, list_remarks, list_tags
from topiary.app.analysis.passages import TopicPassage
from topiary.app.analysis.topic_images import draw_atom_uri, has_pictures
from topiary.app.names import plural
from topiary.app.views.compare.recurrence import describe_found
from topiary.app.views.markup import mark_places
from topiary.app.views.notes import sign_note
from topiary.app.views.report_trends import ReportTrends, draw_changes, draw_topic_trends
from topiary.app.views.text import escape, format_percent
from topiary.app.views.tree.opening import list_top_topics
from topiary.engine.hierarchy.tree import Node

_WORDS = 12  # of a topic, with bars
_RELATIVES = 6  # parents and children of a topic
_FINER_TOPICS, _FINER_WORDS = 8, 6  # of a run on the documents of a topic, and of each of these
_ROLES = {
    BACKGROUND: "background: it is in most documents, and says little about any of them",
    INCOHERENT: "its first words rarely occur together",
    LIGHT: "it has under 0.1 % of the words",
}


class ReportTopic(NamedTuple):
    """A topic of the report, and the passages that are quoted for it."""

    node: Node
    quotes: Sequence[TopicPassage]


class ReportRefinement(NamedTuple):
    """A run on documents of a topic: its name, how many documents it has, what they have in common, its topics."""

    name: str
    documents: int
    where: str
    hierarchy: Hierarchy


class ReportContents(NamedTuple):
    """What the report says.

    Attributes
    ----------
    title : str
    lead : str
        One or two sentences about the corpus and the model.
    hierarchy : Hierarchy
    topics : sequence of ReportTopic
        By layer from the top, most popular first.
    tree : str
        Picture of the tree as SVG, with its caption; empty without one.
    facts : mapping of str to str
        How the report was made: names of facts and their values.
    document_notes : mapping of int to sequence of Note
        Notes and tags on the documents that are quoted.
    trends : ReportTrends
        Topics over time and by group.
    refinements : mapping of Node to sequence of ReportRefinement
        Runs on the documents of a topic.
    """

    title: str
    lead: str
    hierarchy: Hierarchy
    topics: Sequence[ReportTopic]
    tree: str
    facts: Mapping[str, str]
    document_notes: Mapping[int, Sequence[Note]]
    trends: ReportTrends
    refinements: Mapping[Node, Sequence[ReportRefinement]]


def draw_report(contents: ReportContents, style: str) -> str:
    """Return the report as an HTML page that needs no other file.

    Parameters
    ----------
    contents : ReportContents
    style : str
        The style sheet.
    """
    hierarchy = contents.hierarchy
    layers = sorted({topic.node.layer for topic in contents.topics}, reverse=True)
    sections = [_draw_overview(contents, layers)] if layers else []
    links = {topic.node: _draw_link(hierarchy, topic.node, {topic.node}) for topic in contents.topics}
    sections.append(draw_changes(contents.trends, hierarchy, links))
    if contents.tree:
        sections.append(
            f'<section class="rp-tree" id="tree"><h2>How topics are connected</h2>{contents.tree}</section>'
        )
    sections += [_draw_layer(contents, layer) for layer in layers]
    sections.append(_draw_method(contents.facts))
    return _PAGE.format(
        title=escape(contents.title),
        lead=escape(contents.lead),
        style=style,
        body="\n".join(sections),
        corpus=escape(hierarchy.corpus),
    )


def _draw_overview(contents: ReportContents, layers: Sequence[int]) -> str:
    """Return the largest topics of the highest layer in the report as a list with bars."""
    hierarchy, top = contents.hierarchy, layers[0]
    nodes = [topic.node for topic in contents.topics if topic.node.layer == top]
    shown = [node for node in nodes if hierarchy.role(node) != BACKGROUND] or nodes
    largest = max(hierarchy.share(node) for node in shown)
    rows = "".join(_draw_overview_row(hierarchy, node, largest) for node in shown)
    apart = len(nodes) - len(shown)
    note = f"<p class='rp-note'>{plural(apart, 'background topic')} follow below.</p>" if apart else ""
    return f'<section id="overview"><h2>What it is about</h2><ol class="rp-bars">{rows}</ol>{note}</section>'


def _draw_overview_row(hierarchy: Hierarchy, node: Node, largest: float) -> str:
    share = hierarchy.share(node)
    words = " ".join(hierarchy.other_words(node, 5))
    bar = f'<i style="width:{100 * share / max(largest, 1e-12):.1f}%"></i>'
    return (
        f'<li><a href="#{_make_anchor(node)}">{escape(hierarchy.title(node))}</a> <span>{escape(words)}</span>'
        f"<b>{format_percent(share)}</b>{bar}</li>"
    )


def _draw_layer(contents: ReportContents, layer: int) -> str:
    hierarchy = contents.hierarchy
    heading = f"Layer {layer}"
    if hierarchy.n_layers > 1:
        heading += {1: ": the most specific topics", hierarchy.n_layers: ": the broadest topics"}.get(layer, "")
    included = {topic.node for topic in contents.topics}
    topics = "".join(_draw_topic(contents, topic, included) for topic in contents.topics if topic.node.layer == layer)
    return f'<section id="layer-{layer}"><h2>{heading}</h2>{topics}</section>'


def _draw_topic(contents: ReportContents, topic: ReportTopic, included: set[Node]) -> str:
    """Return the section of a topic: notes, words, what it is certain of, relatives, quotes, trends."""
    hierarchy, node = contents.hierarchy, topic.node
    picture = f'<img alt="" src="{draw_atom_uri(hierarchy, node)}">' if has_pictures(hierarchy) else ""
    words = picture or _draw_words(hierarchy, node)
    identity = f"{format_identity(node)}, {hierarchy.rank(node)} of {hierarchy.widths[node.layer - 1]} by size"
    share = f"{format_percent(hierarchy.share(node))} of the words"
    facts = " · ".join((share, identity, *_list_notes(hierarchy, node)))
    relatives = _draw_relatives(hierarchy, node, included)
    quotes = "".join(_draw_quote(quote, contents.document_notes.get(quote.document, ())) for quote in topic.quotes)
    heading = f'<h3><i class="rp-hue rp-l{min(node.layer, 3)}"></i>{escape(hierarchy.title(node))}</h3>'
    columns = f'<div class="rp-columns"><div>{words}{relatives}</div><div>{quotes}</div></div>'
    trends = draw_topic_trends(contents.trends, hierarchy, node)
    notes = _draw_notes(hierarchy.notes.get(node, ()))
    head = f'{heading}<p class="rp-facts">{escape(facts)}</p>{notes}'
    finer = "".join(map(_draw_refinement, contents.refinements.get(node, ())))
    return f'<article id="{_make_anchor(node)}">{head}{columns}{trends}{finer}</article>'


def _draw_refinement(refinement: ReportRefinement) -> str:
    """Return a run on the documents of a topic, with its largest topics of the top layer and their words."""
    hierarchy = refinement.hierarchy
    n_words = 0 if has_pictures(hierarchy) else _FINER_WORDS
    rows = "".join(
        f"<li><b>{escape(hierarchy.title(node))}</b> {escape(' '.join(hierarchy.other_words(node, n_words)))} "
        f"<small>{format_percent(hierarchy.share(node))}</small></li>"
        for node in list_top_topics(hierarchy)[:_FINER_TOPICS]
    )
    name = f", “{refinement.name}”," if refinement.name else ""
    said = f"Refined in run {hierarchy.run}{name} on {plural(refinement.documents, 'document')} with {refinement.where}"
    return f'<div class="rp-finer"><p>{escape(said)}</p><ol>{rows}</ol></div>'


def _draw_notes(notes: Sequence[Note]) -> str:
    """Return the tags and notes of analysts, each note with its author and time; empty without any."""
    tags = "".join(f"<li>{escape(tag)}</li>" for tag in list_tags(notes))
    listed = f'<ul class="rp-tags">{tags}</ul>' if tags else ""
    remarks = "".join(
        f'<p class="rp-remark">{escape(note.text)}<small>{escape(sign_note(note))}</small></p>'
        for note in list_remarks(notes)
    )
    return listed + remarks


def _list_notes(hierarchy: Hierarchy, node: Node) -> list[str]:
    """Return remarks on what kind of topic it is and how sure it is."""
    notes = []
    if role := _ROLES.get(hierarchy.role(node)):
        notes.append(role)
    if (found := hierarchy.count_runs(node)) is not None and hierarchy.recurrence is not None:
        notes.append(describe_found(found, hierarchy.recurrence.n_runs))
    if hierarchy.wanders(node):
        notes.append("not one topic: its words change from draw to draw")
    if (twin := hierarchy.twin(node)) is not None:
        notes.append(f"nearly the same as {format_identity(twin)}")
    return notes


def _draw_words(hierarchy: Hierarchy, node: Node) -> str:
    """Return the first words of a topic with bars for their weights, and 90 % intervals where they are known."""
    words = hierarchy.top_words(node, _WORDS)
    largest = max((word.weight for word in words), default=0.0) or 1.0
    rows = []
    for word in words:
        ends = (format_percent(end) for end in (word.low, word.high) if end is not None)
        bar = f'<i style="width:{100 * word.weight / largest:.1f}%"></i>'
        cells = (bar, format_percent(word.weight), " – ".join(ends))
        rows.append(f"<tr><th>{escape(word.text)}</th>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>")
    has_intervals = any(word.low is not None for word in words)
    head = f"<tr><th>Word</th><th></th><th>Share</th><th>{'90 % interval' if has_intervals else ''}</th></tr>"
    return f'<table class="rp-words"><thead>{head}</thead><tbody>{"".join(rows)}</tbody></table>'


def _draw_relatives(hierarchy: Hierarchy, node: Node, included: set[Node]) -> str:
    """Return the parents and children of a topic, those of the report as links."""
    parts = []
    kin = {"Consists of": hierarchy.children(node, _RELATIVES), "Makes up": hierarchy.parents(node, 3)}
    for name, relatives in kin.items():
        joint = "of " if name == "Makes up" else ""
        links = [
            f"{format_percent(relative.weight)} {joint}{_draw_link(hierarchy, relative.node, included)}"
            for relative in relatives
            if relative.weight >= 0.01 and relative.node not in hierarchy.light
        ]
        if links:
            parts.append(f"<p><b>{name}</b> {', '.join(links)}</p>")
    return "".join(parts)


def _draw_link(hierarchy: Hierarchy, node: Node, included: set[Node]) -> str:
    title = escape(hierarchy.title(node))
    return f'<a href="#{_make_anchor(node)}">{title}</a>' if node in included else title


def _draw_quote(quote: TopicPassage, notes: Sequence[Note]) -> str:
    """Return a passage with the topic's words marked, and its document with the notes on it."""
    passage = mark_places(quote.text, quote.marks)
    source = f"<footer>{escape(quote.title)} · document {quote.document:,}</footer>"
    return f"<blockquote><p>{passage}</p>{source}</blockquote>{_draw_notes(notes)}"


def _draw_method(facts: Mapping[str, str]) -> str:
    rows = "".join(f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in facts.items())
    table = f'<table class="rp-facts-table">{rows}</table>'
    return f'<section id="method"><h2>How this was made</h2><p>{_EXPLANATION}</p>{table}</section>'


def _make_anchor(node: Node) -> str:
    return f"topic-{node.layer}-{node.column + 1}"


_EXPLANATION = (
    "A topic is a set of words that occur together; the model finds topics in the texts alone, without being told what "
    "to look for. A topic of layer 1 is made of words, one of a higher layer of the topics below it, and a topic may "
    "be part of several others. Shares are of all words of the corpus. A quotation is the passage, among the documents "
    "that use a topic most, whose words belong most to the topic; these words are marked."
)
_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<title>{title}</title>
<style>
{style}
</style>
</head>
<body>
<header><h1>{title}</h1><p>{lead}</p></header>
<main>
{body}
</main>
<footer class="rp-end">Made with Topiary from the corpus {corpus}.</footer>
</body>
</html>
"""
