"""From a layout to SVG text: the very same picture for the page and for the file.

Everything that comes from a corpus goes through `escape`.
"""

from collections.abc import Collection, Mapping
from typing import NamedTuple

from app.analysis.hierarchy import LIVE as LIVE_ROLE
from app.analysis.hierarchy import Hierarchy, identity
from app.views.palette import LIVE, LOWERED, Theme, layer_colour
from app.views.text import escape, number, percent, text_width
from app.views.tree import node_svg
from app.views.tree.boxes import Box
from app.views.tree.class_overlay import ClassOverlay, signed
from app.views.tree.layout import CHIP, MARGIN, Band, Curve, Layout
from engine.hierarchy.tree import Direction, Edge, Node, Subnetwork

FONT = "Helvetica, Arial, Liberation Sans, sans-serif"
_SMALL = 11  # size of the caption
HEM = 5.0  # by which the mark of a negative weight is wider than the line above it
CAPTION = 24.0  # height of the line beneath the picture of a file


class Stroke(NamedTuple):
    """How one edge is drawn that differs from the others, and the word for it in its tooltip."""

    colour: str
    dash: str
    word: str


class Look(NamedTuple):
    """How the picture is drawn.

    Attributes
    ----------
    theme : Theme
        `LIVE` for the page; `LIGHT` or `DARK` give a file that needs no style sheet.
    caption : str
        One line beneath the picture of a file: run, snapshot, threshold, seed.
    onward : collection of Node
        Topics with something beyond them, which can be opened and closed.
    direction : "down" or "up"
        Where opening leads.
    selected : Node or None
    strokes : mapping of (parent, child) to Stroke
        Edges drawn otherwise than in the colour of their layer.
    twins : mapping of Node to str
        Identities of the same topics in the picture beside this one.
    beneath, above : str
        SVG drawn under everything else, and over it.
    marks : mapping of Node to Marking
        Words of topics that stand out.
    opinion : ClassOverlay or None
        The class whose weights are shown on the topics.
    """

    theme: Theme = LIVE
    caption: str = ""
    onward: Collection[Node] = ()
    direction: Direction = "down"
    selected: Node | None = None
    strokes: Mapping[tuple[Node, Node], Stroke] = {}
    twins: Mapping[Node, str] = {}
    beneath: str = ""
    above: str = ""
    marks: Mapping[Node, node_svg.Marking] = {}
    opinion: ClassOverlay | None = None

    @property
    def live(self) -> bool:
        """Whether this is for the page."""
        return self.theme is LIVE


class Scene(NamedTuple):
    """What is drawn: a hierarchy, the part of it, its boxes, and where they stand."""

    hierarchy: Hierarchy
    part: Subnetwork
    boxes: Mapping[Node, Box]
    layout: Layout


def tree_svg(scene: Scene, look: Look) -> str:
    """Write the picture as one SVG element."""
    layout, theme = scene.layout, look.theme
    label = f"Topic tree, {len(scene.part.nodes)} topics"
    inside = [
        look.beneath,
        *_edges(scene, look),
        *_bands(scene, look),
        *(_node(scene, node, look) for node in layout.places if node in scene.boxes),
        look.above,
    ]
    width, height = size_of(layout, look)
    box = f'xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}"'
    if look.live:
        return f'<svg {box} role="tree" aria-label="{label}">{"".join(inside)}</svg>'
    caption = node_svg.svg_text(MARGIN, height - 14, _SMALL, theme.muted, look.caption)
    ground = f'<title>{label}</title><rect width="100%" height="100%" fill="{theme.paper}"/>'
    head = f'<svg {box} width="{width:.0f}" height="{height:.0f}" role="img" font-family="{FONT}">'
    return "".join([head, ground, *inside, caption, "</svg>"])


def size_of(layout: Layout, look: Look) -> tuple[float, float]:
    """Width and height of the picture; a file has room for its caption too."""
    if look.live:
        return layout.width, layout.height
    return max(layout.width, 2 * MARGIN + _SMALL * text_width(look.caption)), layout.height + CAPTION


def _bands(scene: Scene, look: Look) -> list[str]:
    pieces = []
    halo = f' class="tp-band" stroke="{look.theme.box}" stroke-width="5" stroke-linejoin="round" paint-order="stroke"'
    for band in scene.layout.bands:
        title = f"Layer {band.layer} · {band.shown} of {scene.hierarchy.widths[band.layer - 1]} topics"
        pieces.append(node_svg.svg_text(MARGIN, band.y, 11, look.theme.muted, title, halo))
        if band.more:
            pieces.append(_chip(band, look))
    return pieces


def _chip(band: Band, look: Look) -> str:
    width, height = CHIP
    text, muted = f"{band.more} more", look.theme.muted
    size = f'width="{width}" height="{height}" rx="{height / 2}"'
    shape = f'<rect {size} fill="{look.theme.paper}" stroke="{muted}" stroke-dasharray="3 3"/>'
    inside = node_svg.svg_text(width / 2, height / 2 + 4, 12, muted, text, ' text-anchor="middle"')
    place = f'transform="translate({band.chip[0]:.1f} {band.chip[1]:.1f})"'
    if not look.live:
        return f"<g {place}>{shape}{inside}</g>"
    role = f'class="tp-more" data-layer="{band.layer}" role="button" tabindex="0"'
    return (
        f'<g {place} {role} aria-label="show {text} of layer {band.layer}"><g class="tp-grow">{shape}{inside}</g></g>'
    )


def _edges(scene: Scene, look: Look) -> list[str]:
    by_layer: dict[int, list[Curve]] = {}
    for curve in scene.layout.curves:
        by_layer.setdefault(curve.edge.layer, []).append(curve)
    pieces = []
    for layer, curves in by_layer.items():
        colour = layer_colour(look.theme, layer)
        pieces.append(f'<g class="tp-edges" fill="none" stroke="{colour}" stroke-opacity=".42" stroke-linecap="round">')
        # light ones last, so that a heavy edge does not hide them
        pieces.extend(_edge(scene.hierarchy, curve, look) for curve in sorted(curves, key=lambda curve: -curve.width))
        pieces.append("</g>")
    return pieces


def _edge(hierarchy: Hierarchy, curve: Curve, look: Look) -> str:
    path = f'<path d="{curve.path}" stroke-width="{curve.width:.2f}"'
    stroke = look.strokes.get((curve.edge.above, curve.edge.below))
    lowered = ""
    if stroke is not None:
        if curve.edge.weight < 0:  # its own colour and dashes tell something else: the sign is a hem beneath it
            lowered = (
                f'<path d="{curve.path}" stroke-width="{curve.width + HEM:.2f}" stroke="{look.theme.lowers}" '
                f'stroke-opacity=".6" stroke-dasharray="{LOWERED}" stroke-linecap="butt" class="tp-line tp-hem"/>'
            )
        path += f' stroke="{stroke.colour}" stroke-opacity=".75"'
        path += f' stroke-dasharray="{stroke.dash}"' if stroke.dash else ""
    elif curve.edge.weight < 0:
        path += f' stroke="{look.theme.lowers}" stroke-opacity=".75" stroke-dasharray="{LOWERED}"'
    if not look.live:
        return f"{lowered}{path}/>"
    edge = curve.edge
    tip = edge_words(hierarchy, edge)
    tip = f"{stroke.word}\n{tip}" if stroke is not None else tip
    shown = "&#10;".join(escape(line) for line in tip.split("\n"))  # a bare new line in an attribute is read as a blank
    ends = f'data-from="{identity(edge.above)}" data-to="{identity(edge.below)}" data-tip="{shown}"'
    return f'<g class="tp-edge" {ends}><path class="tp-hit" d="{curve.path}"/>{lowered}{path} class="tp-line"/></g>'


def edge_words(hierarchy: Hierarchy, edge: Edge) -> str:
    """Say what an edge is: the child's part of its parent, or of what this changes; two lines."""
    child = f"topic {hierarchy.rank(edge.below)} (layer {edge.layer - 1})"
    parent = f"topic {hierarchy.rank(edge.above)} (layer {edge.layer})"
    flat = edge.size * hierarchy.widths[edge.layer - 2]
    if hierarchy.linear:
        first = f"{percent(edge.weight)} of {parent} is {child}"
    else:
        change = "rarer" if edge.weight < 0 else "more frequent"
        first = f"{parent} makes {child} {change}: {percent(edge.size)} of what it changes"
    return f"{first}\nweight {number(edge.weight)} = {flat:.1f} / topics of layer {edge.layer - 1}"


def _node(scene: Scene, node: Node, look: Look) -> str:
    box, place = scene.boxes[node], scene.layout.places[node]
    pieces = [f'<g transform="translate({place.x:.1f} {place.y:.1f})"']
    pieces.append(f"{_roles(scene, box, look)}>" if look.live else ">")
    pieces.append(node_svg.outline(box, look.theme))
    if look.opinion is not None:
        part, text = look.opinion.part(node), signed(look.opinion.weight(node))
        pieces.append(node_svg.opinion(box, look.theme, part, text))
    marking = look.marks.get(node, node_svg.PLAIN)
    pieces.append(node_svg.words(box, look.theme, marking))
    if look.live:
        pieces.append(node_svg.gist(box, look.theme, marking))
    if node in look.onward:
        more = scene.part.hidden.get(node)
        pieces.append(node_svg.handle(box, look.theme, more, below=look.direction == "down", live=look.live))
    pieces.append("</g>")
    return "".join(pieces)


def _roles(scene: Scene, box: Box, look: Look) -> str:
    """Say to screen readers, to the style sheet and to the tooltip what a node is."""
    node, hierarchy = box.node, scene.hierarchy
    words = ", ".join(word.text for word in hierarchy.top_words(node))
    head = f"topic {box.rank} of layer {node.layer}, {box.share} of the layer"
    role = hierarchy.role(node)
    head = head if role == LIVE_ROLE else f"{head}, {role}"
    if look.opinion is not None:
        head = f"{head}; {look.opinion.words(node)}"
    label = f"{box.name}: {head}. {words}" if box.name else f"{head}. {words}"
    state = "false" if node in scene.part.hidden else "true"
    opened = f' aria-expanded="{state}"' if node in look.onward else ""
    chosen = "true" if node == look.selected else "false"
    kind = " tp-root" if node in scene.part.roots else ""
    level = 1 + max(band.layer for band in scene.layout.bands) - node.layer
    source = f"run {hierarchy.run}, snapshot of mini-batch {hierarchy.minibatch:,}"
    twin = f' data-twin="{look.twins[node]}"' if node in look.twins else ""
    return (
        f' class="tp-node{kind}" data-id="{identity(node)}" role="treeitem" tabindex="-1" aria-level="{level}"{opened}'
        f' aria-selected="{chosen}"{twin} aria-label="{escape(label)}"'
        f' data-tip="{escape(hierarchy.title(node))}&#10;{escape(head)}&#10;{escape(words)}&#10;{source}"'
    )
