"""The report of a run: one page for people who will never open the application, made to be read and printed."""

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from topiary.app.analysis.hierarchy import BACKGROUND, INCOHERENT, LIGHT, Hierarchy, format_identity
from topiary.app.analysis.notes import Note
from topiary.app.analysis.passages import TopicPassage
from topiary.app.views.compare.recurrence import describe_found
from topiary.app.views.html import render
from topiary.app.views.report_trends import ReportTrends, draw_changes, draw_topic_trends
from topiary.app.views.text import format_percent
from topiary.app.views.theme import LIGHT as PAPER
from topiary.app.views.tree.opening import list_top_topics
from topiary.app.views.tree.tiles import TilesChoice, describe_shares, draw_tiles
from topiary.engine.hierarchy.tree import Node

_FINER_TOPICS = 8  # of a run on the documents of a topic
_TILES = (1040.0, 640.0)  # size of the picture of all topics, in pixels: as wide as the text
_ROLES = {
    BACKGROUND: "background: it is in most documents, and says little about any of them",
    INCOHERENT: "its first words rarely occur together",
    LIGHT: "it has under 0.1% of the words",
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
    lead : str
        One or two sentences about the corpus and the model.
    topics : sequence of ReportTopic
        By layer from the top, most popular first.
    apart : collection of Node
        Topics that stand below the picture of all topics, so that the others have the whole area.
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
    apart: Collection[Node]
    tree: str
    facts: Mapping[str, str]
    document_notes: Mapping[int, Sequence[Note]]
    trends: ReportTrends
    refinements: Mapping[Node, Sequence[ReportRefinement]]


def draw_report(contents: ReportContents, style: str) -> str:
    """Return the report as an HTML page that needs no other file.

    Parameters
    ----------
    style : str
        The style sheet.
    """
    hierarchy = contents.hierarchy
    nodes = [topic.node for topic in contents.topics]
    anchors = {node: f"topic-{node.layer}-{node.column + 1}" for node in nodes}
    highest = [node for node in nodes if node.layer == nodes[0].layer]
    overview = [node for node in highest if hierarchy.role(node) != BACKGROUND] or highest
    changes = draw_changes(contents.trends, hierarchy, anchors)
    layers = {layer: _name_layer(hierarchy, layer) for layer in dict.fromkeys(node.layer for node in nodes)}
    sections = {
        "overview": "What it is about",
        **({"changes": "What grew, what shrank"} if changes else {}),
        **({"tree": "How topics are connected"} if contents.tree else {}),
        **{f"layer-{layer}": name for layer, name in layers.items()},
        "method": "How this was made",
    }
    return render(
        "report.page", contents, style, sections, anchors, overview, answer=describe_shares(hierarchy),
        apart=len(highest) - len(overview), tiles=_draw_tiles(contents, anchors), changes=changes,
        draw_topic=partial(_draw_topic, contents, anchors),
    )  # fmt: skip


def _name_layer(hierarchy: Hierarchy, layer: int) -> str:
    kinds = {1: ": the most specific topics", hierarchy.n_layers: ": the broadest topics"}
    return f"Layer {layer}{kinds.get(layer, '') if hierarchy.n_layers > 1 else ''}"


def _draw_tiles(contents: ReportContents, anchors: Mapping[Node, str]) -> str:
    """Return the picture of all topics with which Explore opens; its tiles lead to the sections of their topics."""
    if not contents.hierarchy.fills_tiles:
        return ""
    links = {node: f"#{anchor}" for node, anchor in anchors.items()}
    return draw_tiles(contents.hierarchy, TilesChoice(_TILES, contents.apart, links=links), theme=PAPER).svg


def _draw_topic(contents: ReportContents, anchors: Mapping[Node, str], topic: ReportTopic) -> str:
    """Return the section of a topic: notes, words, what it is certain of, relatives, quotes, trends."""
    hierarchy, node = contents.hierarchy, topic.node
    finer = [
        (refinement, list_top_topics(refinement.hierarchy)[:_FINER_TOPICS])
        for refinement in contents.refinements.get(node, ())
    ]
    return render(
        "report.topic", hierarchy, node, topic.quotes, _list_facts(hierarchy, node), anchors,
        contents.document_notes, draw_topic_trends(contents.trends, hierarchy, node), finer,
    )  # fmt: skip


def _list_facts(hierarchy: Hierarchy, node: Node) -> list[str]:
    """Return the size of a topic, what kind of topic it is, and how sure it is."""
    identity = f"{format_identity(node)}, {hierarchy.rank(node)} of {hierarchy.widths[node.layer - 1]} by size"
    facts = [f"{format_percent(hierarchy.share(node))} of the words", identity]
    if role := _ROLES.get(hierarchy.role(node)):
        facts.append(role)
    if (found := hierarchy.count_runs(node)) is not None and hierarchy.recurrence is not None:
        facts.append(describe_found(found, hierarchy.recurrence.n_runs))
    if hierarchy.wanders(node):
        facts.append("not one topic: its words change from draw to draw")
    if (twin := hierarchy.twin(node)) is not None:
        facts.append(f"nearly the same as {format_identity(twin)}")
    return facts
