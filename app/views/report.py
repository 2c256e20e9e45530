"""The report of a run: one page for people who will never open the application, made to be read and printed."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

from topiary.app.analysis.hierarchy import BACKGROUND, INCOHERENT, LIGHT, Hierarchy, format_identity
from topiary.app.analysis.notes import Note
from topiary.app.analysis.passages import TopicPassage
from topiary.app.views.compare.recurrence import describe_found
from topiary.app.views.html import render
from topiary.app.views.report_trends import ReportTrends, draw_changes, draw_topic_trends
from topiary.app.views.text import format_percent
from topiary.app.views.tree.opening import list_top_topics
from topiary.engine.hierarchy.tree import Node

_FINER_TOPICS = 8  # of a run on the documents of a topic
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
    lead : str
        One or two sentences about the corpus and the model.
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
    style : str
        The style sheet.
    """
    hierarchy = contents.hierarchy
    nodes = [topic.node for topic in contents.topics]
    highest = [node for node in nodes if node.layer == nodes[0].layer]
    overview = [node for node in highest if hierarchy.role(node) != BACKGROUND] or highest
    return render(
        "report.page", contents.title, contents.lead, style, hierarchy, contents.topics, overview,
        apart=len(highest) - len(overview), changes=draw_changes(contents.trends, hierarchy, nodes),
        tree=contents.tree, facts=contents.facts, draw_topic=partial(_draw_topic, contents, set(nodes)),
    )  # fmt: skip


def _draw_topic(contents: ReportContents, included: set[Node], topic: ReportTopic) -> str:
    """Return the section of a topic: notes, words, what it is certain of, relatives, quotes, trends."""
    hierarchy, node = contents.hierarchy, topic.node
    finer = [
        (refinement, list_top_topics(refinement.hierarchy)[:_FINER_TOPICS])
        for refinement in contents.refinements.get(node, ())
    ]
    return render(
        "report.topic", hierarchy, node, topic.quotes, _list_facts(hierarchy, node), included,
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
