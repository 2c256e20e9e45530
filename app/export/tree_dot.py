"""A tree as Graphviz DOT, drawn as the authors draw Figure 7: ranks level, pen by weight, font by popularity."""

from app.frame import Frame, identity
from app.views.boxes import font_size
from app.views.palette import LIGHT, layer_colour
from app.views.picture import Choice, caption, cut
from app.views.text import printable, wrap
from engine.tree import Node


def render(frame: Frame, choice: Choice) -> str:
    """Write the chosen part; every layer is one rank."""
    part, _ = cut(frame, choice)
    lines = [
        "digraph topics {",
        "  ranksep=1.2; nodesep=0.15;",
        '  node [shape=box, style=rounded, fontname="Helvetica"];',
    ]
    lines.append(f"  label={_quoted([caption(frame, choice)])};")
    for layer in range(frame.n_layers, 0, -1):
        nodes = [node for node in part.nodes if node.layer == layer]
        if nodes:
            lines.extend(["  { rank=same;", *(f"    {_node(frame, node)}" for node in nodes), "  }"])
    for edge in part.edges:
        ends = f'"{identity(edge.above)}" -> "{identity(edge.below)}"'
        lines.append(f"  {ends} [penwidth={max(0.5, 9 * edge.weight**0.5):.2f}, weight={1 + round(20 * edge.weight)}];")
    return "\n".join([*lines, "}", ""])


def _node(frame: Frame, node: Node) -> str:
    name = [frame.name(node)] if frame.name(node) else []
    label = _quoted([str(frame.rank(node)), *name, *wrap([word.text for word in frame.top_words(node)], 11.0)])
    style = f'fontsize={font_size(frame, node):.1f}, color="{layer_colour(LIGHT, node.layer)}"'
    return f'"{identity(node)}" [label={label}, {style}];'


def _quoted(lines: list[str]) -> str:
    escaped = (printable(line).replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ") for line in lines)
    return '"' + "\\n".join(escaped) + '"'
