"""A tree as GEXF, Gephi's own format."""

import networkx as nx

from app.analysis.hierarchy import Hierarchy
from app.export.graph import chosen_graph
from app.views.tree.picture import TreeChoice


def render(hierarchy: Hierarchy, choice: TreeChoice) -> str:
    """Write the graph with its attributes; the words are the labels of the nodes."""
    graph = chosen_graph(hierarchy, choice)
    for _, data in graph.nodes(data=True):
        data["name"] = data.pop("label")
        data["label"] = f"{data['rank']} {data['name'] or data['words']}"
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + "\n".join(nx.generate_gexf(graph)) + "\n"
