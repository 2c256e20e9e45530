"""The graph of what was chosen, as the graph formats write it."""

import networkx as nx

from app.analysis.hierarchy import Hierarchy
from app.export.graph import graph_of
from app.views.text import replace_unprintable
from app.views.tree.picture import TreeChoice, cut_tree


def chosen_graph(hierarchy: Hierarchy, choice: TreeChoice) -> "nx.DiGraph[str]":
    """Build the graph of the chosen part, its texts freed of characters XML forbids."""
    part, _ = cut_tree(hierarchy, choice)
    graph = graph_of(hierarchy, choice.threshold, part.nodes, part.edges)
    for attributes in (graph.graph, *(data for _, data in graph.nodes(data=True))):
        attributes.update(
            {key: replace_unprintable(value) for key, value in attributes.items() if isinstance(value, str)}
        )
    return graph
