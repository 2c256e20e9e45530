"""The tree as SVG: nodes, edges and captions, drawn alike for the page and for a file."""

import re
from collections.abc import Collection, Mapping
from typing import NamedTuple

from topiary.app.analysis.hierarchy import LIVE as LIVE_ROLE
from topiary.app.analysis.hierarchy import EdgeMark, Hierarchy, format_identity
from topiary.app.names import format_signed
from topiary.app.views.compare.recurrence import describe_found
from topiary.app.views.text import BOLD, escape, format_percent, format_weight, measure_text
from topiary.app.views.theme import LIVE, RARER_DASHES, PictureTheme, find_layer_border, find_layer_colour
from topiary.app.views.tree.boxes import (
    FAR,
    GIST_HEAD,
    GIST_LEADING,
    HEAD,
    HEADER,
    LEADING,
    PADDING,
    TAG,
    BoxPicture,
    ClassOverlay,
    Gist,
    TopicBox,
    measure_head,
)
from topiary.app.views.tree.layout import APART, CHIP, MARGIN, Band, Curve, TreeLayout
from topiary.engine.hierarchy.tree import Direction, Edge, Node, Subnetwork


def draw_more_offer(threshold: float | None) -> str:
    """Return a button that lowers the threshold, so that some topics are joined; empty for None."""
    if threshold is None:
        return ""
    hint = "No topics are joined at the chosen threshold; at this one some are"
    return (
        f'<button class="ex-more" data-do="threshold" data-value="{threshold:g}" title="{hint}">'
        f"Show more: threshold {threshold:g}</button>"
    )


TINT = 0.36  # opacity of a box's tint at the largest weight for a class
_BOLD = ' font-weight="700"'


class WordMarking(NamedTuple):
    """Words of a box to mark, their colour, and their line: "underline" or "line-through"."""

    words: Collection[str]
    colour: str
    line: str


PLAIN = WordMarking((), "", "")


def draw_text(x: float, y: float, size: float, fill: str, text: str, more: str = "") -> str:
    """Draw one line of text, which is escaped; ``more`` are further attributes, inserted unchanged."""
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size:.1f}" fill="{fill}"{more}>{escape(text)}</text>'


def draw_outline(box: TopicBox, theme: PictureTheme) -> str:
    """Draw the outline of a box in the colour and border style of its layer."""
    colour, border = find_layer_colour(theme, box.node.layer), find_layer_border(box.node.layer)
    dash = f' stroke-dasharray="{border.dash}"' if border.dash else ""
    stroke = f'stroke="{colour}" stroke-width="{border.width}"{dash}'
    outer = _draw_rect(box.width, box.height, f'class="tp-box" rx="7" fill="{theme.box}" {stroke}')
    if not border.double:
        return outer
    inner = f'x="2.5" y="2.5" rx="4.8" fill="none" stroke="{colour}" stroke-width=".9"'
    return outer + _draw_rect(box.width - 5, box.height - 5, inner)


def draw_words(box: TopicBox, theme: PictureTheme, marking: WordMarking = PLAIN) -> str:
    """Draw the contents of a box: identity, share with its bar, the title, and the other words or the picture."""
    colour, font, ink = find_layer_colour(theme, box.node.layer), box.font, _choose_ink(box, theme)
    baseline, bar = PADDING + font * 0.92, PADDING + font * (HEAD - 0.42)
    full = box.width - 2 * PADDING
    bar_attributes = f'x="{PADDING}" y="{bar:.1f}" rx="1" fill="{colour}"'
    pieces = [
        draw_text(PADDING, baseline, font * HEADER, colour, box.identity, _BOLD),
        draw_text(
            box.width - PADDING, baseline, font * 0.82, theme.muted, box.share, ' class="tp-share" text-anchor="end"'
        ),
        _draw_rect(full, 2, f'{bar_attributes} opacity=".18"'),
        _draw_rect(max(2.0, full * box.bar), 2, bar_attributes),
    ]
    y = PADDING + font * (HEAD + 0.78)
    if box.title:
        rows = _draw_rows(box.title, PADDING, y, LEADING * font, marking)
        pieces.append(f'<text font-size="{font:.1f}" fill="{ink}"{_BOLD}>{rows}</text>')
        y += LEADING * font * len(box.title)
    if box.picture is None:
        rows = _draw_rows(box.lines, PADDING, y, LEADING * font, marking)
        pieces.append(f'<text font-size="{font:.1f}" fill="{ink}">{rows}</text>')
    else:
        pieces.append(_draw_picture(box.picture))
    css_class = "tp-words" if box.picture is None else "tp-shown"
    return f'<g class="{css_class}">{"".join(pieces)}</g>'


def draw_gist(box: TopicBox, theme: PictureTheme, marking: WordMarking = PLAIN, *, note: str | None = None) -> str:
    """Draw the contents of a box in a small tree, for each zoom level; the style sheet shows one of them.

    All have the identity, the share or ``note``, and some words; if the tree is smaller still, there is the identity.
    """
    if box.picture is not None:
        return ""
    aside = box.share if note is None else note
    levels = "".join(
        f'<g class="tp-level tp-level-{level}">{_draw_gist_level(box, gist, aside, theme, marking)}</g>'
        for level, gist in enumerate(box.gists)
    )
    size = min(FAR, box.width / max(BOLD * measure_text(box.identity), 1.0))
    colour = find_layer_colour(theme, box.node.layer)
    identity = draw_text(0, 0.36 * size, size, colour, box.identity, f' text-anchor="middle"{_BOLD}')
    place = f'transform="translate({box.width / 2:.1f} {box.height / 2:.1f})"'
    return f'<g class="tp-gist">{levels}<g {place} class="tp-far"><g>{identity}</g></g></g>'


def _draw_gist_level(box: TopicBox, gist: Gist, aside: str, theme: PictureTheme, marking: WordMarking) -> str:
    colour, ink, size = find_layer_colour(theme, box.node.layer), _choose_ink(box, theme), gist.head
    full, bar = box.width - 2 * PADDING, f'x="{PADDING}" y="{1.32 * size:.1f}" rx="1" fill="{colour}"'
    head = max(size, min(size * HEADER, full / (BOLD * measure_text(box.identity))))
    pieces = [draw_text(PADDING, 1.12 * size, head, colour, box.identity, _BOLD)]
    if measure_head(box.identity, aside) * size <= full + 0.1:
        pieces.append(draw_text(box.width - PADDING, 1.12 * size, size, theme.muted, aside, ' text-anchor="end"'))
    pieces.append(_draw_rect(full, 2.5, f'{bar} opacity=".18"') + _draw_rect(max(2.0, full * box.bar), 2.5, bar))
    y, leading = GIST_HEAD * size + 0.92 * gist.font, GIST_LEADING * gist.font
    for lines, weight in ((gist.title, _BOLD), (gist.lines, "")):
        if lines:
            rows = _draw_rows(lines, PADDING, y, leading, marking)
            pieces.append(f'<text font-size="{gist.font:.1f}" fill="{ink}"{weight}>{rows}</text>')
            y += leading * len(lines)
    return "".join(pieces)


def draw_centred(
    lines: tuple[str, ...], at: tuple[float, float], size: float, fill: str, kind: str, marking: WordMarking = PLAIN
) -> str:
    """Draw lines below each other, centred at the point ``at``; ``kind`` is their CSS class."""
    leading = 1.15 * size
    rows = _draw_rows(lines, at[0], at[1] - (len(lines) - 1) * leading / 2 + size * 0.36, leading, marking)
    return f'<text class="{kind}" font-size="{size:.1f}" fill="{fill}" text-anchor="middle">{rows}</text>'


def draw_opinion(box: TopicBox, theme: PictureTheme, part: float, text: str) -> str:
    """Tint a box by the relative weight ``part`` of a class (-1 to 1), and draw ``text`` on a tab at its top."""
    colour = theme.speaks if part > 0 else theme.denies
    tint = _draw_rect(box.width, box.height, f'class="tp-tint" rx="7" fill="{colour}" opacity="{TINT * abs(part):.3f}"')
    width = 10.0 + 6.6 * len(text)
    tab = _draw_rect(width, 17, f'rx="5" fill="{theme.box}" stroke="{colour}" stroke-width="1.4"')
    label = draw_text(width / 2, 12.2, 11, theme.ink, text, f' text-anchor="middle"{_BOLD}')
    place = f'transform="translate({box.width - width + 5:.1f} -11)"'  # above the line of rank and share
    return f'{tint}<g {place} class="tp-opinion"><g class="tp-grow">{tab}{label}</g></g>'


def draw_handle(box: TopicBox, theme: PictureTheme, more: int | None, *, below: bool, live: bool) -> str:
    """Draw the button on the border of a box: ``+12`` if topics are folded away, a minus if they can be folded.

    A file shows only the first kind.
    """
    if more is None and not live:
        return ""
    text = "−" if more is None else f"+{more}"
    width = 12.0 + 7.0 * len(text)
    shut_class = "" if more is None else " tp-shut"
    css = f' class="tp-toggle{shut_class}"' if live else ""
    top = -4.0 if below else -14.0  # it hangs outside of the box, and grows outwards in a small tree
    sign = draw_text(0, top + 13, 12, theme.box, text, f' text-anchor="middle"{_BOLD}')
    pill = _draw_rect(
        width, 18, f'x="{-width / 2:.1f}" y="{top}" rx="9" fill="{find_layer_colour(theme, box.node.layer)}"'
    )
    y = box.height if below else 0.0
    return f'<g transform="translate({box.width / 2:.1f} {y:.1f})"{css}><g class="tp-grow">{pill}{sign}</g></g>'


def _choose_ink(box: TopicBox, theme: PictureTheme) -> str:
    return theme.muted if box.quiet else theme.ink


def _draw_picture(picture: BoxPicture) -> str:
    place = f'x="{PADDING}" y="{picture.top:.1f}" width="{picture.width:.1f}" height="{picture.height:.1f}"'
    return f'<image href="{picture.uri}" {place} style="image-rendering:pixelated"/>'


def _draw_rect(width: float, height: float, attributes: str) -> str:
    return f'<rect width="{width:.1f}" height="{height:.1f}" {attributes}/>'


def _draw_rows(lines: tuple[str, ...], x: float, y: float, leading: float, marking: WordMarking) -> str:
    return "".join(
        f'<tspan x="{x:.1f}" y="{y + row * leading:.1f}">{_draw_line(line, marking)}</tspan>'
        for row, line in enumerate(lines)
    )


def _draw_line(line: str, marking: WordMarking) -> str:
    if not marking.words:
        return escape(line)
    look = f'fill="{marking.colour}" font-weight="600" text-decoration="{marking.line}"'
    pattern = "|".join(re.escape(word) for word in sorted(marking.words, key=len, reverse=True))
    # every second part is a marked word, which may have blanks, and in a title a comma behind it
    parts = re.split(rf"(?<!\S)({pattern})(?=,?(?:\s|$))", line)
    return "".join(f"<tspan {look}>{escape(part)}</tspan>" if i % 2 else escape(part) for i, part in enumerate(parts))


FAINT, SOLID = 0.1, 0.52  # opacity of an edge that exists with probability 0, and with probability 1
FONT = "Helvetica, Arial, Liberation Sans, sans-serif"
_CAPTION_SIZE = 11  # font size of the caption
HEM = 5.0  # the mark of a negative weight is wider by this than the line drawn over it
CAPTION = 24.0  # height of the line below the picture of a file


class EdgeStroke(NamedTuple):
    """The look of an edge that differs from others, and a word about it for its tooltip."""

    colour: str
    dash: str
    word: str


class TreeLook(NamedTuple):
    """The look of the picture.

    Attributes
    ----------
    theme : PictureTheme
        `LIVE` for the page; `LIGHT` gives a file that needs no style sheet.
    caption : str
        One line below the picture of a file: run, snapshot, threshold, seed.
    onward : collection of Node
        Topics with children (parents, if the direction is "up"), which can be opened and closed.
    direction : "down" or "up"
        The direction in which topics are opened.
    strokes : mapping of (parent, child) to EdgeStroke
        Edges that are not drawn in the colour of their layer.
    twins : mapping of Node to str
        Identities of the partners of topics in the other of two pictures.
    beneath : str
        SVG drawn under everything else.
    marks : mapping of Node to WordMarking
        The words of topics to mark.
    opinion : ClassOverlay or None
        The class whose weights are shown on the topics.
    threshold : float or None
        The threshold tau of the edges; None if their certainty is not shown.
    tags : mapping of Node to str
        What stands at the foot of boxes that have room for it.
    """

    theme: PictureTheme = LIVE
    caption: str = ""
    onward: Collection[Node] = ()
    direction: Direction = "down"
    selected: Node | None = None
    strokes: Mapping[tuple[Node, Node], EdgeStroke] = {}
    twins: Mapping[Node, str] = {}
    beneath: str = ""
    marks: Mapping[Node, WordMarking] = {}
    opinion: ClassOverlay | None = None
    threshold: float | None = None
    tags: Mapping[Node, str] = {}

    @property
    def live(self) -> bool:
        """True if the picture is for the page and not for a file."""
        return self.theme is LIVE


class TreeScene(NamedTuple):
    """The contents of a picture: a hierarchy, the part of it, its boxes, and their positions."""

    hierarchy: Hierarchy
    part: Subnetwork
    boxes: Mapping[Node, TopicBox]
    layout: TreeLayout


def draw_tree_svg(scene: TreeScene, look: TreeLook) -> str:
    """Return the picture as one SVG element."""
    layout, theme = scene.layout, look.theme
    label = f"Topic tree, {len(scene.part.nodes)} topics"
    inside = [
        look.beneath,
        *_draw_edges(scene, look),
        *_draw_bands(scene, look),
        *(_draw_node(scene, node, look) for node in layout.places if node in scene.boxes),
    ]
    width, height = measure_picture(layout, look)
    box = f'xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}"'
    if look.live:
        return f'<svg {box} role="tree" aria-label="{label}">{"".join(inside)}</svg>'
    caption = draw_text(MARGIN, height - 14, _CAPTION_SIZE, theme.muted, look.caption)
    ground = f'<title>{label}</title><rect width="100%" height="100%" fill="{theme.paper}"/>'
    head = f'<svg {box} width="{width:.0f}" height="{height:.0f}" role="img" font-family="{FONT}">'
    return "".join([head, ground, *inside, caption, "</svg>"])


def measure_picture(layout: TreeLayout, look: TreeLook) -> tuple[float, float]:
    """Return the width and height of the picture, in a file with its caption."""
    if look.live:
        return layout.width, layout.height
    return max(layout.width, 2 * MARGIN + _CAPTION_SIZE * measure_text(look.caption)), layout.height + CAPTION


def _draw_bands(scene: TreeScene, look: TreeLook) -> list[str]:
    pieces = []
    for band in scene.layout.bands:
        lines = ["Background: words that documents of all kinds use"]
        if band.layer != APART:
            lines = [f"Layer {band.layer}", f"{band.shown} of {scene.hierarchy.widths[band.layer - 1]}"]
        rows = "".join(
            f'<tspan x="{MARGIN}" dy="{1.2 * row:g}em"{_BOLD if not row else ""}>{line}</tspan>'
            for row, line in enumerate(lines)
        )
        start = f'<text x="{MARGIN}" y="{band.y:.1f}" font-size="11" fill="{look.theme.muted}" class="tp-band">'
        pieces.append(f"{start}{rows}</text>")
        if band.more:
            pieces.append(_draw_chip(band, look))
    return pieces


def _draw_chip(band: Band, look: TreeLook) -> str:
    width, height = CHIP
    text, muted = f"{band.more} more", look.theme.muted
    size = f'width="{width}" height="{height}" rx="{height / 2}"'
    shape = f'<rect {size} fill="{look.theme.paper}" stroke="{muted}" stroke-dasharray="3 3"/>'
    inside = draw_text(width / 2, height / 2 + 4, 12, muted, text, ' text-anchor="middle"')
    place = f'transform="translate({band.chip[0]:.1f} {band.chip[1]:.1f})"'
    if not look.live:
        return f"<g {place}>{shape}{inside}</g>"
    role = f'class="tp-more" data-layer="{band.layer}" role="button" tabindex="0"'
    return (
        f'<g {place} {role} aria-label="show {text} of layer {band.layer}"><g class="tp-grow">{shape}{inside}</g></g>'
    )


def _draw_edges(scene: TreeScene, look: TreeLook) -> list[str]:
    by_layer: dict[int, list[Curve]] = {}
    for curve in scene.layout.curves:
        by_layer.setdefault(curve.edge.layer, []).append(curve)
    pieces = []
    for layer, curves in by_layer.items():
        colour = find_layer_colour(look.theme, layer)
        pieces.append(f'<g class="tp-edges" fill="none" stroke="{colour}" stroke-opacity=".42" stroke-linecap="round">')
        # light edges last, so that a heavy edge does not hide them
        pieces.extend(
            _draw_edge(scene.hierarchy, curve, look) for curve in sorted(curves, key=lambda curve: -curve.width)
        )
        pieces.append("</g>")
    return pieces


def _draw_edge(hierarchy: Hierarchy, curve: Curve, look: TreeLook) -> str:
    path = f'<path d="{curve.path}" stroke-width="{curve.width:.2f}"'
    stroke = look.strokes.get((curve.edge.above, curve.edge.below))
    hem = ""
    if stroke is not None:
        if curve.edge.weight < 0:  # its colour and dashes have another meaning, so a wider line under it shows the sign
            hem = (
                f'<path d="{curve.path}" stroke-width="{curve.width + HEM:.2f}" stroke="{look.theme.lowers}" '
                f'stroke-opacity=".6" stroke-dasharray="{RARER_DASHES}" stroke-linecap="butt" class="tp-line tp-hem"/>'
            )
        path += f' stroke="{stroke.colour}" stroke-opacity=".75"'
        path += f' stroke-dasharray="{stroke.dash}"' if stroke.dash else ""
    elif curve.edge.weight < 0:
        path += f' stroke="{look.theme.lowers}" stroke-opacity=".75" stroke-dasharray="{RARER_DASHES}"'
    edge = curve.edge
    tau = look.threshold
    mark = None if tau is None else hierarchy.find_mark(edge.above, edge.below, tau)
    if mark is not None and mark.strength is not None and stroke is None and edge.weight >= 0:
        path += f' stroke-opacity="{FAINT + (SOLID - FAINT) * mark.strength:.2f}"'
    if not look.live:
        return f"{hem}{path}/>"
    tip = describe_edge(hierarchy, edge)
    tip += "" if mark is None else "".join(f"\n{line}" for line in describe_mark(mark))
    tip = f"{stroke.word}\n{tip}" if stroke is not None else tip
    lines = "&#10;".join(escape(line) for line in tip.split("\n"))  # a plain newline in an attribute is read as a blank
    ends = f'data-from="{format_identity(edge.above)}" data-to="{format_identity(edge.below)}" data-tip="{lines}"'
    return f'<g class="tp-edge" {ends}><path class="tp-hit" d="{curve.path}"/>{hem}{path} class="tp-line"/></g>'


def describe_mark(mark: EdgeMark) -> list[str]:
    """Return in lines what speaks for an edge: how many other seeds found it, and how sure it is within its run."""
    lines = [describe_found(mark.found + 1, mark.others + 1)] if mark.others else []
    if mark.certainty is None:
        return lines
    _, low, high = mark.certainty
    sure = "sure within this run" if mark.certainty.is_sure else "within this run"
    above = f"{sure}: above the threshold with {format_percent(mark.certainty.inclusion)}"
    return [*lines, f"{above}, weight between {format_weight(low)} and {format_weight(high)} (90%)"]


def describe_edge(hierarchy: Hierarchy, edge: Edge) -> str:
    """Return the meaning of an edge in two lines: the share of the child in the parent, or in what that changes."""
    child = f"topic {hierarchy.cite(edge.below)}"
    parent = f"topic {hierarchy.cite(edge.above)}"
    multiple = edge.size * hierarchy.widths[edge.layer - 2]
    if hierarchy.linear:
        first = f"{format_percent(edge.weight)} of {parent} is {child}"
    else:
        change = "rarer" if edge.weight < 0 else "more frequent"
        first = f"{parent} makes {child} {change}: {format_percent(edge.size)} of what it changes"
    return f"{first}\nweight {format_weight(edge.weight)} = {multiple:.1f} / topics of layer {edge.layer - 1}"


def _draw_node(scene: TreeScene, node: Node, look: TreeLook) -> str:
    box, place = scene.boxes[node], scene.layout.places[node]
    pieces = [f'<g transform="translate({place.x:.1f} {place.y:.1f})"']
    pieces.append(f"{_write_roles(scene, box, look)}>" if look.live else ">")
    pieces.append(draw_outline(box, look.theme))
    opinion = None
    if look.opinion is not None:
        opinion = format_signed(look.opinion.weight(node))
        pieces.append(draw_opinion(box, look.theme, look.opinion.part(node), opinion))
    marking = look.marks.get(node, PLAIN)
    pieces.append(draw_words(box, look.theme, marking))
    if look.live:
        pieces.append(draw_gist(box, look.theme, marking, note=opinion))
    if node in look.tags:
        colour, foot = find_layer_colour(look.theme, node.layer), f"translate({PADDING} {box.height - PADDING:.1f})"
        text = draw_text(0, 0, TAG, colour, look.tags[node])
        pieces.append(f'<g transform="{foot}"><g class="tp-tag">{text}</g></g>')
    if node in look.onward:
        n_folded = scene.part.hidden.get(node)
        pieces.append(draw_handle(box, look.theme, n_folded, below=look.direction == "down", live=look.live))
    pieces.append("</g>")
    return "".join(pieces)


def _write_roles(scene: TreeScene, box: TopicBox, look: TreeLook) -> str:
    """Return the attributes of a node for screen readers, the style sheet and the tooltip."""
    node, hierarchy = box.node, scene.hierarchy
    words = ", ".join(word.text for word in hierarchy.top_words(node))
    head = f"topic {box.identity}, {box.share} of the layer"
    role = hierarchy.role(node)
    head = head if role == LIVE_ROLE else f"{head}, {role}"
    if look.opinion is not None:
        head = f"{head}; {look.opinion.words(node)}"
    label = f"{hierarchy.title(node)}: {head}. {words}"
    state = "false" if node in scene.part.hidden else "true"
    folds = f' aria-expanded="{state}"' if node in look.onward else ""
    is_selected = "true" if node == look.selected else "false"
    kind = " tp-root" if node in scene.part.roots else ""
    level = 1 + max(band.layer for band in scene.layout.bands) - node.layer
    source = f"run {hierarchy.run}, snapshot of {hierarchy.moment}"
    twin = f' data-twin="{look.twins[node]}"' if node in look.twins else ""
    return (
        f' class="tp-node{kind}" data-id="{format_identity(node)}"'
        f' role="treeitem" tabindex="-1" aria-level="{level}"{folds}'
        f' aria-selected="{is_selected}"{twin} aria-label="{escape(label)}"'
        f' data-tip="{escape(hierarchy.title(node))}&#10;{escape(head)}&#10;{escape(words)}&#10;{source}"'
    )
