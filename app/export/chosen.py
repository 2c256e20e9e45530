"""The graph of what was chosen, as the graph formats write it."""

from collections.abc import Sequence

import networkx as nx

from app.analysis.hierarchy import PRINTED_WORDS, Hierarchy, identity
from app.analysis.pruned_topics import LastSeen
from app.export.graph import graph_of
from app.views.text import printable
from app.views.tree.picture import Choice, cut
from app.views.tree.pruned_layout import Hanging, hang


def chosen_graph(hierarchy: Hierarchy, choice: Choice, last_seen: Sequence[LastSeen] = ()) -> "nx.DiGraph[str]":
    """Build the graph of the chosen part, its texts freed of characters XML forbids.

    Pruned topics of ``last_seen`` that have neighbours in it are nodes without rank and popularity.  Their attribute
    pruned is the mini-batch at which they went, and share, title and words are their last.  Their edges have a kind:
    "successor" leads to a topic that has a part of their words now, the weight being that part, and "made of" to a
    topic of the layer below, the weight being its weight in them.
    """
    part, _ = cut(hierarchy, choice)
    graph = graph_of(hierarchy, choice.threshold, part.nodes, part.edges)
    for each in hang(last_seen, hierarchy, part, choice.threshold).shown:
        _add_pruned(graph, each)
    for attributes in (graph.graph, *(data for _, data in graph.nodes(data=True))):
        attributes.update({key: printable(value) for key, value in attributes.items() if isinstance(value, str)})
    return graph


def _add_pruned(graph: "nx.DiGraph[str]", each: Hanging) -> None:
    name, left = identity(each.node), each.last_seen
    graph.add_node(
        name,
        layer=each.node.layer,
        topic=each.node.column + 1,
        share=left.share,
        label="",
        title=left.title,
        words=" ".join(left.words[:PRINTED_WORDS]),
        pruned=left.when.minibatch,
    )
    for successor in each.successors:
        graph.add_edge(name, identity(successor.node), weight=successor.part, kind="successor")
    for child in each.children:
        graph.add_edge(name, identity(child.node), weight=child.weight, kind="made of")
