"""A tree as Graphviz DOT, drawn as the authors draw Figure 7: ranks level, pen by weight, font by popularity."""

from app.analysis.hierarchy import Hierarchy, identity
from app.views.palette import LIGHT, find_layer_colour
from app.views.text import replace_unprintable, wrap_words
from app.views.tree.boxes import choose_font_size
from app.views.tree.picture import TreeChoice, cut_tree, write_caption
from engine.hierarchy.tree import Node


def render(hierarchy: Hierarchy, choice: TreeChoice) -> str:
    """Write the chosen part; every layer is one rank."""
    part, _ = cut_tree(hierarchy, choice)
    lines = [
        "digraph topics {",
        "  ranksep=1.2; nodesep=0.15;",
        '  node [shape=box, style=rounded, fontname="Helvetica"];',
    ]
    lines.append(f"  label={_quoted([write_caption(hierarchy, choice)])};")
    for layer in range(hierarchy.n_layers, 0, -1):
        nodes = [_node(hierarchy, node) for node in part.nodes if node.layer == layer]
        if nodes:
            lines.extend(["  { rank=same;", *(f"    {node}" for node in nodes), "  }"])
    for edge in part.edges:
        ends = f'"{identity(edge.above)}" -> "{identity(edge.below)}"'
        rarer = f', style=dashed, color="{LIGHT.lowers}"' if edge.weight < 0 else ""
        lines.append(
            f"  {ends} [penwidth={max(0.5, 9 * edge.size**0.5):.2f}, weight={1 + round(20 * edge.size)}{rarer}];"
        )
    return "\n".join([*lines, "}", ""])


def _node(hierarchy: Hierarchy, node: Node) -> str:
    name = [hierarchy.name(node)] if hierarchy.name(node) else []
    label = _quoted(
        [str(hierarchy.rank(node)), *name, *wrap_words([word.text for word in hierarchy.top_words(node)], 11.0)]
    )
    style = f'fontsize={choose_font_size(hierarchy, node):.1f}, color="{find_layer_colour(LIGHT, node.layer)}"'
    return f'"{identity(node)}" [label={label}, {style}];'


def _quoted(lines: list[str]) -> str:
    escaped = (replace_unprintable(line).replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ") for line in lines)
    return '"' + "\\n".join(escaped) + '"'
