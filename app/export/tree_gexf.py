"""A tree as GEXF, Gephi's own format."""

from collections.abc import Sequence

import networkx as nx

from app.analysis.hierarchy import Frame
from app.analysis.pruned_topics import Remains
from app.export.chosen import chosen_graph
from app.views.tree.picture import Choice


def render(frame: Frame, choice: Choice, remains: Sequence[Remains] = ()) -> str:
    """Write the graph with its attributes; the words are the labels of the nodes."""
    graph = chosen_graph(frame, choice, remains)
    for _, data in graph.nodes(data=True):
        data["name"] = data.pop("label")
        data["label"] = f"{data.get('rank', 'pruned')} {data['name'] or data['words']}"
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + "\n".join(nx.generate_gexf(graph)) + "\n"
