"""The tree as nested lists, for screen readers, for copying, and for tests."""

from collections.abc import Mapping

from app.analysis.hierarchy import Frame, identity
from app.views.text import escape, percent
from engine.hierarchy.tree import Direction, Edge, Node, Subnetwork


def tree_outline(frame: Frame, part: Subnetwork, direction: Direction = "down") -> str:
    """Write what the picture shows as nested lists, heaviest edges first.

    A topic under several parents stands in full under the first; elsewhere it is named only.
    """
    onward: dict[Node, list[tuple[Node, Edge]]] = {}
    for edge in part.edges:
        near, far = (edge.above, edge.below) if direction == "down" else (edge.below, edge.above)
        onward.setdefault(near, []).append((far, edge))
    told: set[Node] = set()
    items = "".join(_item(frame, root, None, onward, part.hidden, told) for root in part.roots if root not in told)
    rest = [node for node in part.nodes if node not in told]
    items += "".join(_item(frame, node, None, onward, part.hidden, told) for node in rest if node not in told)
    return f'<ul class="ex-outline">{items}</ul>'


def _item(
    frame: Frame,
    node: Node,
    edge: Edge | None,
    onward: Mapping[Node, list[tuple[Node, Edge]]],
    hidden: Mapping[Node, int],
    told: set[Node],
) -> str:
    words = " ".join(escape(word.text) for word in frame.top_words(node, 8))
    name = f"<strong>{escape(frame.name(node))}</strong> " if frame.name(node) else ""
    via = f" · edge {percent(edge.weight)}" if edge else ""
    head = (
        f'<button data-do="select" data-id="{identity(node)}">Layer {node.layer}, topic {frame.rank(node)}</button> '
        f"<small>{percent(frame.share(node))}{via}</small> {name}"
    )
    if node in told:
        return f"<li>{head}<em>(above)</em></li>"
    told.add(node)
    folded = f" <em>{hidden[node]} more folded away</em>" if node in hidden else ""
    further = sorted(onward.get(node, ()), key=lambda step: -step[1].weight)
    children = "".join(_item(frame, child, link, onward, hidden, told) for child, link in further)
    return f"<li>{head}{words}{folded}{f'<ul>{children}</ul>' if children else ''}</li>"
