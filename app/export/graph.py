"""The topic hierarchy as a networkx graph, for exports and computations."""

from collections.abc import Iterable
from typing import Any

import networkx as nx

from topiary.app.analysis.hierarchy import Hierarchy, format_identity
from topiary.app.export.topics import write_note_attributes
from topiary.app.views.text import replace_unprintable
from topiary.app.views.tree.picture import TreeChoice, cut_tree, describe_rule
from topiary.engine.hierarchy.tree import Direction, Edge, Node, cut_subnetwork


def build_graph(
    hierarchy: Hierarchy, threshold: float, roots: Iterable[Node], direction: Direction = "down", *, light: bool = False
) -> "nx.DiGraph[str]":
    """Build the graph of the part of a hierarchy that is reached from ``roots``, the same as in exported trees.

    Nodes are identities such as ``L3:17``.  Their attributes are layer, topic (the identity again), rank, popularity,
    share, label (the name that a user gave, may be empty), title (that name, or the words that distinguish the
    topic), words (the first 12), tags and notes (of users, each as one text).  Topics of few tokens that are no root
    are included only if ``light``.

    Edges run from parent to child.  Their attribute weight is Phi^(l)(child, parent), negative where the parent makes
    the child rarer.  Where the snapshot has them, there are also inclusion, the probability of being above the
    threshold, and low and high, the 90 % interval of the weight.

    Where what comes back with other seeds has been measured (`app.analysis.recurrence`), nodes and edges have found_in,
    the number of runs that have them too, this one included, and the graph has of_runs, the number of these runs.
    """
    chosen = tuple(roots)
    without = frozenset() if light else hierarchy.light.difference(chosen)
    part = cut_subnetwork(hierarchy.edges(threshold), chosen, direction, without=without)
    return _make_graph(hierarchy, threshold, part.nodes, part.edges)


def _make_graph(
    hierarchy: Hierarchy, threshold: float, nodes: Iterable[Node], edges: Iterable[Edge]
) -> "nx.DiGraph[str]":
    """Build the graph of given nodes and edges, with the attributes listed in `build_graph`."""
    graph: nx.DiGraph[str] = nx.DiGraph(
        run=hierarchy.run,
        corpus=hierarchy.corpus,
        snapshot=hierarchy.snapshot,
        minibatch=hierarchy.minibatch,
        threshold=threshold,
        seed=hierarchy.seed,
        **({} if hierarchy.recurrence is None else {"of_runs": hierarchy.recurrence.n_runs}),
    )
    for node in nodes:
        graph.add_node(format_identity(node), **_write_topic(hierarchy, node))
    for edge in edges:
        attributes = _write_edge(hierarchy, edge, threshold)
        graph.add_edge(format_identity(edge.above), format_identity(edge.below), **attributes)
    return graph


def _write_edge(hierarchy: Hierarchy, edge: Edge, threshold: float) -> dict[str, Any]:
    """Return the attributes of an edge."""
    certainty = hierarchy.find_certainty(edge.above, edge.below, threshold)
    known = {} if certainty is None else certainty._asdict()
    found = _write_found(hierarchy.count_edge_runs(edge.above, edge.below, threshold))
    return {"weight": edge.weight, **known, **found}


def _write_topic(hierarchy: Hierarchy, node: Node) -> dict[str, Any]:
    """Return the attributes of a topic."""
    return {
        "layer": node.layer,
        "topic": format_identity(node),
        "rank": hierarchy.rank(node),
        "popularity": hierarchy.weight(node),
        "share": hierarchy.share(node),
        "label": hierarchy.name(node),
        "title": hierarchy.title(node),
        "words": " ".join(word.text for word in hierarchy.top_words(node)),
        **write_note_attributes(hierarchy.notes.get(node, ())),
        **_write_found(hierarchy.count_runs(node)),
    }


def _write_found(n_runs: int | None) -> dict[str, int]:
    return {} if n_runs is None else {"found_in": n_runs}


def build_chosen_graph(hierarchy: Hierarchy, choice: TreeChoice) -> "nx.DiGraph[str]":
    """Build the graph of the chosen part of a hierarchy, replacing characters that XML forbids.

    Where the heaviest children are drawn, ``rule`` says how many, and inclusion is the probability of being above the
    average weight.
    """
    part, _ = cut_tree(hierarchy, choice)
    graph = _make_graph(hierarchy, choice.certain_above, part.nodes, part.edges)
    if choice.detail != "paper":
        graph.graph["rule"] = describe_rule(choice)
    for attributes in (graph.graph, *(data for _, data in graph.nodes(data=True))):
        attributes.update(
            {key: replace_unprintable(value) for key, value in attributes.items() if isinstance(value, str)}
        )
    return graph
