"""The topic hierarchy as a networkx graph: for exports, and for whoever wants to compute on it."""

from collections.abc import Iterable

import networkx as nx

from app.analysis.hierarchy import Frame, identity
from engine.hierarchy.tree import Direction, Edge, Node, subnetwork


def build_graph(
    frame: Frame, threshold: float, roots: Iterable[Node] | None = None, direction: Direction = "down"
) -> "nx.DiGraph[str]":
    """Build the graph of a frame, or of what is reached from ``roots``.

    Nodes are identities such as ``L3:17`` with the attributes layer, topic (identity number), rank,
    popularity, share, label (a person's name, may be empty), title (that name, or its three most
    distinctive words) and words (the 12 heaviest); edges run from parent to child with the attribute weight,
    Phi^(l)(child, parent).
    """
    edges = frame.edges(threshold)
    if roots is None:
        nodes = [node for layer in range(frame.n_layers, 0, -1) for node in frame.nodes(layer)]
        return graph_of(frame, threshold, nodes, edges)
    part = subnetwork(edges, roots, direction)
    return graph_of(frame, threshold, part.nodes, part.edges)


def graph_of(frame: Frame, threshold: float, nodes: Iterable[Node], edges: Iterable[Edge]) -> "nx.DiGraph[str]":
    """Build the graph of given nodes and edges, with the attributes `build_graph` lists."""
    graph: nx.DiGraph[str] = nx.DiGraph(
        run=frame.run,
        corpus=frame.corpus,
        snapshot=frame.snapshot,
        minibatch=frame.minibatch,
        threshold=threshold,
        seed=frame.seed,
    )
    for node in nodes:
        graph.add_node(
            identity(node),
            layer=node.layer,
            topic=node.column + 1,
            rank=frame.rank(node),
            popularity=frame.weight(node),
            share=frame.share(node),
            label=frame.name(node),
            title=frame.title(node),
            words=" ".join(word.text for word in frame.top_words(node)),
        )
    for edge in edges:
        graph.add_edge(identity(edge.above), identity(edge.below), weight=edge.weight)
    return graph
