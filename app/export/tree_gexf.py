"""A tree as GEXF, Gephi's own format."""

from collections.abc import Sequence

import networkx as nx

from app.analysis.hierarchy import Hierarchy
from app.analysis.pruned_topics import LastSeen
from app.export.graph import chosen_graph
from app.views.tree.picture import Choice


def render(hierarchy: Hierarchy, choice: Choice, last_seen: Sequence[LastSeen] = ()) -> str:
    """Write the graph with its attributes; the words are the labels of the nodes."""
    graph = chosen_graph(hierarchy, choice, last_seen)
    for _, data in graph.nodes(data=True):
        data["name"] = data.pop("label")
        data["label"] = f"{data.get('rank', 'pruned')} {data['name'] or data['words']}"
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + "\n".join(nx.generate_gexf(graph)) + "\n"
