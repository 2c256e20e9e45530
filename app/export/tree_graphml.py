"""A tree as GraphML, for yEd, Gephi, Cytoscape, igraph."""

from collections.abc import Sequence

import networkx as nx

from app.analysis.hierarchy import Frame
from app.analysis.pruned_topics import Remains
from app.export.chosen import chosen_graph
from app.views.tree.picture import Choice


def render(frame: Frame, choice: Choice, remains: Sequence[Remains] = ()) -> str:
    """Write the graph with all its attributes, typed."""
    lines = nx.generate_graphml(chosen_graph(frame, choice, remains), named_key_ids=True)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + "\n".join(lines) + "\n"
