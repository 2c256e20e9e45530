"""A tree as JSON in networkx's node-link form, which d3 and most graph libraries read."""

import json
from collections.abc import Sequence

import networkx as nx

from app.analysis.hierarchy import Frame
from app.analysis.pruned_topics import Remains
from app.export.chosen import chosen_graph
from app.views.tree.picture import Choice


def render(frame: Frame, choice: Choice, remains: Sequence[Remains] = ()) -> str:
    """Write nodes (id and the attributes of `chosen_graph`) and edges (source, target, weight)."""
    table = nx.node_link_data(chosen_graph(frame, choice, remains), edges="edges")
    return json.dumps(table, ensure_ascii=False, allow_nan=False, indent=1) + "\n"
