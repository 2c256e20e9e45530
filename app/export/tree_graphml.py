"""A tree as GraphML, for yEd, Gephi, Cytoscape, igraph."""

import networkx as nx

from app.analysis.hierarchy import Hierarchy
from app.export.graph import chosen_graph
from app.views.tree.picture import TreeChoice


def render(hierarchy: Hierarchy, choice: TreeChoice) -> str:
    """Write the graph with all its attributes, typed."""
    lines = nx.generate_graphml(chosen_graph(hierarchy, choice), named_key_ids=True)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + "\n".join(lines) + "\n"
