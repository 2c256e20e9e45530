"""The graph of what was chosen, as the graph formats write it."""

import networkx as nx

from app.frame import Frame
from app.graph import graph_of
from app.views.picture import Choice, cut
from app.views.text import printable


def chosen_graph(frame: Frame, choice: Choice) -> "nx.DiGraph[str]":
    """Build the graph of the chosen part, its texts freed of characters XML forbids."""
    part, _ = cut(frame, choice)
    graph = graph_of(frame, choice.threshold, part.nodes, part.edges)
    for attributes in (graph.graph, *(data for _, data in graph.nodes(data=True))):
        attributes.update({key: printable(value) for key, value in attributes.items() if isinstance(value, str)})
    return graph
