"""A tree as JSON in networkx's node-link form, which d3 and most graph libraries read."""

import json

import networkx as nx

from app.export.chosen import chosen_graph
from app.frame import Frame
from app.views.picture import Choice


def render(frame: Frame, choice: Choice) -> str:
    """Write nodes (id and the attributes of `build_graph`) and edges (source, target, weight)."""
    return (
        json.dumps(
            nx.node_link_data(chosen_graph(frame, choice), edges="edges"), ensure_ascii=False, allow_nan=False, indent=1
        )
        + "\n"
    )
