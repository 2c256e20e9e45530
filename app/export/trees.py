"""Trees as graphs of networkx and as files: Graphviz DOT, GEXF, GraphML, JSON and SVG."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from topiary.app.analysis.hierarchy import PRINTED_WORDS, Hierarchy, format_identity
from topiary.app.export.texts import find_format, render_json
from topiary.app.export.topics import write_note_attributes
from topiary.app.views.text import replace_unprintable, wrap_words
from topiary.app.views.theme import LIGHT, find_layer_colour
from topiary.app.views.tree.boxes import choose_font_size
from topiary.app.views.tree.picture import TreeChoice, cut_tree, describe_rule, draw_tree, write_caption
from topiary.engine.hierarchy.tree import Direction, Edge, Node, cut_subnetwork

if TYPE_CHECKING:
    import networkx as nx

EVERYTHING = 1_000_000  # a limit of nodes that no tree reaches


def render_tree(hierarchy: Hierarchy, choice: TreeChoice, form: str) -> str:
    """Return the chosen part of a hierarchy as text in one of the `FORMATS`."""
    return FORMATS[form](hierarchy, choice)


def write_tree(
    hierarchy: Hierarchy,
    roots: Iterable[Node],
    threshold: float,
    direction: Direction,
    path: str | Path,
    *,
    label: int = 0,
    light: bool = False,
) -> Path:
    """Write the whole subnetwork of ``roots`` to a file, in the format named by its suffix.

    In a picture, topics are tinted by their weights for the class ``label``, counted from 1 (0 = none).  Topics of few
    tokens are included only if ``light``.

    Raises
    ------
    ValueError
        When the suffix names no known format, there is no root, or a root is not a topic of the run.
    OSError
        When the file cannot be written.
    """
    path = Path(path)
    form = find_format(path, FORMATS, f"a tree as {str(path)!r}")
    nodes = tuple(roots)
    if not nodes:
        raise ValueError("cannot write a tree without a root; choose at least one topic")
    for node in nodes:
        if not hierarchy.has(node):
            raise ValueError(
                f"run {hierarchy.run} has no topic {format_identity(node)}; its layers have {hierarchy.widths} topics"
            )
    choice = TreeChoice(nodes, threshold, direction, cap=EVERYTHING, label=label, light=light)
    path.write_text(render_tree(hierarchy, choice, form), encoding="utf-8", newline="\n")
    return path


def _render_dot(hierarchy: Hierarchy, choice: TreeChoice) -> str:
    """Return the chosen part of a hierarchy as Graphviz DOT, in the style of the paper's Figure 7.

    Pen widths follow the weights of edges and font sizes the popularity of topics; every layer is one rank.
    """
    part, _ = cut_tree(hierarchy, choice)
    lines = [
        "digraph topics {",
        "  ranksep=1.2; nodesep=0.15;",
        '  node [shape=box, style=rounded, fontname="Helvetica"];',
    ]
    lines.append(f"  label={_quote_lines([write_caption(hierarchy, choice)])};")
    for layer in range(hierarchy.n_layers, 0, -1):
        nodes = [_write_node(hierarchy, node) for node in part.nodes if node.layer == layer]
        if nodes:
            lines.extend(["  { rank=same;", *(f"    {node}" for node in nodes), "  }"])
    for edge in part.edges:
        ends = f'"{format_identity(edge.above)}" -> "{format_identity(edge.below)}"'
        style = f', style=dashed, color="{LIGHT.lowers}"' if edge.weight < 0 else ""
        lines.append(
            f"  {ends} [penwidth={max(0.5, 9 * edge.size**0.5):.2f}, weight={1 + round(20 * edge.size)}{style}];"
        )
    return "\n".join([*lines, "}", ""])


def _write_node(hierarchy: Hierarchy, node: Node) -> str:
    """Return the DOT statement of a topic."""
    words = wrap_words(hierarchy.other_words(node, PRINTED_WORDS), 11.0)
    label = _quote_lines([format_identity(node), hierarchy.title(node), *words])
    style = f'fontsize={choose_font_size(hierarchy, node):.1f}, color="{find_layer_colour(LIGHT, node.layer)}"'
    return f'"{format_identity(node)}" [label={label}, {style}];'


def _quote_lines(lines: list[str]) -> str:
    escaped = (replace_unprintable(line).replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ") for line in lines)
    return '"' + "\\n".join(escaped) + '"'


def _render_gexf(hierarchy: Hierarchy, choice: TreeChoice) -> str:
    """Return the chosen graph in Gephi's format GEXF; nodes are labelled by their identity and title."""
    import networkx as nx

    graph = build_chosen_graph(hierarchy, choice)
    for identity, data in graph.nodes(data=True):
        data["name"] = data.pop("label")
        data["label"] = f"{identity} {data['title']}"
    return _join_xml(nx.generate_gexf(graph))


def _render_graphml(hierarchy: Hierarchy, choice: TreeChoice) -> str:
    """Return the chosen graph as GraphML with typed attributes, for yEd, Gephi, Cytoscape and igraph."""
    import networkx as nx

    return _join_xml(nx.generate_graphml(build_chosen_graph(hierarchy, choice), named_key_ids=True))


def _join_xml(lines: Iterable[str]) -> str:
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + "\n".join(lines) + "\n"


def _render_json(hierarchy: Hierarchy, choice: TreeChoice) -> str:
    """Return the chosen graph in networkx's node-link form, which d3 and most graph libraries read."""
    import networkx as nx

    return render_json(nx.node_link_data(build_chosen_graph(hierarchy, choice), edges="edges"))


def _render_svg(hierarchy: Hierarchy, choice: TreeChoice) -> str:
    """Return the picture that the page shows, in light colours, with a caption below."""
    return draw_tree(hierarchy, choice, theme=LIGHT).svg + "\n"


# Renderers by the suffix of the file.
FORMATS: dict[str, Callable[[Hierarchy, TreeChoice], str]] = {
    "dot": _render_dot,
    "gexf": _render_gexf,
    "graphml": _render_graphml,
    "json": _render_json,
    "svg": _render_svg,
}


def build_graph(
    hierarchy: Hierarchy, threshold: float, roots: Iterable[Node], direction: Direction = "down", *, light: bool = False
) -> "nx.DiGraph[str]":
    """Build the graph of the part of a hierarchy that is reached from ``roots``, the same as in exported trees.

    Nodes are identities such as ``L3:17``.  Their attributes are layer, topic (the identity again), rank, popularity,
    share, label (the name that a user gave, may be empty), title (that name, or the words that distinguish the
    topic), words (the first 12), tags and notes (of users, each as one text).  Topics of few tokens that are no root
    are included only if ``light``.

    Edges run from parent to child.  Their attribute weight is Phi^(l)(child, parent), negative where the parent makes
    the child rarer.  Where the snapshot has them, there are also inclusion, the probability of being above the
    threshold, and low and high, the 90 % interval of the weight.

    Where what comes back with other seeds has been measured (`app.analysis.seeds`), nodes and edges have found_in,
    the number of runs that have them too, this one included, and the graph has of_runs, the number of these runs.
    """
    chosen = tuple(roots)
    without = frozenset() if light else hierarchy.light.difference(chosen)
    part = cut_subnetwork(hierarchy.edges(threshold), chosen, direction, without=without)
    return _make_graph(hierarchy, threshold, part.nodes, part.edges)


def _make_graph(
    hierarchy: Hierarchy, threshold: float, nodes: Iterable[Node], edges: Iterable[Edge]
) -> "nx.DiGraph[str]":
    """Build the graph of given nodes and edges, with the attributes listed in `build_graph`."""
    import networkx as nx

    graph: nx.DiGraph[str] = nx.DiGraph(
        run=hierarchy.run,
        corpus=hierarchy.corpus,
        snapshot=hierarchy.snapshot,
        minibatch=hierarchy.minibatch,
        threshold=threshold,
        seed=hierarchy.seed,
        **({} if hierarchy.recurrence is None else {"of_runs": hierarchy.recurrence.n_runs}),
    )
    for node in nodes:
        graph.add_node(format_identity(node), **_write_topic(hierarchy, node))
    for edge in edges:
        attributes = _write_edge(hierarchy, edge, threshold)
        graph.add_edge(format_identity(edge.above), format_identity(edge.below), **attributes)
    return graph


def _write_edge(hierarchy: Hierarchy, edge: Edge, threshold: float) -> dict[str, Any]:
    certainty = hierarchy.find_certainty(edge.above, edge.below, threshold)
    known = {} if certainty is None else certainty._asdict()
    found = _write_found(hierarchy.count_edge_runs(edge.above, edge.below, threshold))
    return {"weight": edge.weight, **known, **found}


def _write_topic(hierarchy: Hierarchy, node: Node) -> dict[str, Any]:
    return {
        "layer": node.layer,
        "topic": format_identity(node),
        "rank": hierarchy.rank(node),
        "popularity": hierarchy.weight(node),
        "share": hierarchy.share(node),
        "label": hierarchy.name(node),
        "title": hierarchy.title(node),
        "words": " ".join(word.text for word in hierarchy.top_words(node)),
        **write_note_attributes(hierarchy.notes.get(node, ())),
        **_write_found(hierarchy.count_runs(node)),
    }


def _write_found(n_runs: int | None) -> dict[str, int]:
    return {} if n_runs is None else {"found_in": n_runs}


def build_chosen_graph(hierarchy: Hierarchy, choice: TreeChoice) -> "nx.DiGraph[str]":
    """Build the graph of the chosen part of a hierarchy, replacing characters that XML forbids.

    Where the heaviest children are drawn, ``rule`` says how many, and inclusion is the probability of being above the
    average weight.
    """
    part, _ = cut_tree(hierarchy, choice)
    graph = _make_graph(hierarchy, choice.certain_above, part.nodes, part.edges)
    if choice.detail != "paper":
        graph.graph["rule"] = describe_rule(choice)
    for attributes in (graph.graph, *(data for _, data in graph.nodes(data=True))):
        attributes.update(
            {key: replace_unprintable(value) for key, value in attributes.items() if isinstance(value, str)}
        )
    return graph
