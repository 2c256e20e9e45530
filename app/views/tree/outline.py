"""The tree as nested lists, for screen readers, for copying, and for tests."""

from collections.abc import Mapping

from app.analysis.hierarchy import Hierarchy, identity
from app.views.text import escape, percent
from engine.hierarchy.tree import Direction, Edge, Node, Subnetwork


def tree_outline(hierarchy: Hierarchy, part: Subnetwork, direction: Direction = "down") -> str:
    """Write what the picture shows as nested lists, heaviest edges first.

    A topic under several parents stands in full under the first; elsewhere it is named only.
    """
    onward: dict[Node, list[tuple[Node, Edge]]] = {}
    for edge in part.edges:
        near, far = (edge.above, edge.below) if direction == "down" else (edge.below, edge.above)
        onward.setdefault(near, []).append((far, edge))
    report: set[Node] = set()
    items = "".join(
        _item(hierarchy, root, None, onward, part.hidden, report) for root in part.roots if root not in report
    )
    rest = [node for node in part.nodes if node not in report]
    items += "".join(_item(hierarchy, node, None, onward, part.hidden, report) for node in rest if node not in report)
    return f'<ul class="ex-outline">{items}</ul>'


def _item(
    hierarchy: Hierarchy,
    node: Node,
    edge: Edge | None,
    onward: Mapping[Node, list[tuple[Node, Edge]]],
    hidden: Mapping[Node, int],
    report: set[Node],
) -> str:
    words = " ".join(escape(word.text) for word in hierarchy.top_words(node, 8))
    name = f"<strong>{escape(hierarchy.name(node))}</strong> " if hierarchy.name(node) else ""
    via = f" · edge {'−' if edge.weight < 0 else ''}{percent(edge.size)}" if edge else ""
    via += " (rarer)" if edge and edge.weight < 0 else ""
    head = (
        f'<button data-do="select" data-id="{identity(node)}">Layer {node.layer}, '
        f"topic {hierarchy.rank(node)}</button> "
        f"<small>{percent(hierarchy.share(node))}{via}</small> {name}"
    )
    if node in report:
        return f"<li>{head}<em>(above)</em></li>"
    report.add(node)
    folded = f" <em>{hidden[node]} more folded away</em>" if node in hidden else ""
    further = sorted(onward.get(node, ()), key=lambda step: -step[1].size)
    children = "".join(_item(hierarchy, child, link, onward, hidden, report) for child, link in further)
    return f"<li>{head}{words}{folded}{f'<ul>{children}</ul>' if children else ''}</li>"
