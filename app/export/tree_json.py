"""A tree as JSON in networkx's node-link form, which d3 and most graph libraries read."""

import json

import networkx as nx

from app.analysis.hierarchy import Hierarchy
from app.export.graph import chosen_graph
from app.views.tree.picture import TreeChoice


def render(hierarchy: Hierarchy, choice: TreeChoice) -> str:
    """Write nodes (id and the attributes of `chosen_graph`) and edges (source, target, weight)."""
    table = nx.node_link_data(chosen_graph(hierarchy, choice), edges="edges")
    return json.dumps(table, ensure_ascii=False, allow_nan=False, indent=1) + "\n"
