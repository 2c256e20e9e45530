"""Pruned topics as SVG: grey, dashed boxes, and the lines to what took their words and what they were.

Nothing of them has the colour of a layer, a rank or a share, so none is taken for a topic of the tree.
"""

from collections.abc import Mapping

from app.analysis.hierarchy import Hierarchy, identity
from app.analysis.pruned_topics import Successor
from app.views.palette import LIVE, Theme
from app.views.text import escape, format_percent
from app.views.tree.boxes import LEADING, PADDING, Box
from app.views.tree.layout import Layout
from app.views.tree.pruned_layout import HEAD, Hanging, PrunedLayout, report
from app.views.tree.tree_svg import draw_text
from engine.hierarchy.tree import Node

_TO_HEIR, _TO_CHILD = "6 4", "0.1 4.5"


def pruned_nodes(
    pruned_layout: PrunedLayout, now: Hierarchy, boxes: Mapping[Node, Box], layout: Layout, theme: Theme
) -> str:
    """Draw the boxes."""
    return "".join(_pruned_box(each, now, boxes[each.node], layout, theme) for each in pruned_layout.shown)


def pruned_lines(pruned_layout: PrunedLayout, boxes: Mapping[Node, Box], layout: Layout, theme: Theme) -> str:
    """Draw the lines, to be put beneath everything else."""
    paths = {(curve.edge.above, curve.edge.below): curve.path for curve in layout.ways}
    pieces = []
    for each in pruned_layout.shown:
        key = identity(each.node)
        for successor in each.successors:
            part = format_percent(successor.part)
            title = f"{part} of the heaviest words of {key} belong to {identity(successor.node)} now"
            pieces.append(_line(key, _arc(each.node, successor, boxes, layout), _TO_HEIR, title))
        for child in each.children:
            title = f"{format_percent(child.weight)} of {key} was {identity(child.node)}"
            pieces.append(_line(key, paths[each.node, child.node], _TO_CHILD, title))
    look = f'fill="none" stroke="{theme.muted}" stroke-opacity=".75" stroke-width="1.5" stroke-linecap="round"'
    return f"<g {look}>{''.join(pieces)}</g>" if pieces else ""


def _line(key: str, path: str, dash: str, title: str) -> str:
    return (
        f'<path class="tp-wake" data-pruned="{key}" d="{path}" stroke-dasharray="{dash}">'
        f"<title>{escape(title)}</title></path>"
    )


def _arc(pruned_box: Node, successor: Successor, boxes: Mapping[Node, Box], layout: Layout) -> str:
    """Lead from a pruned topic to a topic of its layer: over the boxes of a row, or from one row to the other."""
    here, there = layout.places[pruned_box], layout.places[successor.node]
    own, other = boxes[pruned_box], boxes[successor.node]
    x, to_x = here.x + own.width / 2, there.x + other.width * (0.32 if here.x < there.x else 0.68)
    if here.row == there.row:
        lift = min(here.y, there.y) - 22
        return f"M{x:.1f} {here.y:.1f}C{x:.1f} {lift:.1f} {to_x:.1f} {lift:.1f} {to_x:.1f} {there.y:.1f}"
    above = here.row < there.row
    y, to_y = (here.y + own.height, there.y) if above else (here.y, there.y + other.height)
    middle = (y + to_y) / 2
    return f"M{x:.1f} {y:.1f}C{x:.1f} {middle:.1f} {to_x:.1f} {middle:.1f} {to_x:.1f} {to_y:.1f}"


def _pruned_box(each: Hanging, now: Hierarchy, box: Box, layout: Layout, theme: Theme) -> str:
    place, live = layout.places[each.node], theme is LIVE
    head = f'<g transform="translate({place.x:.1f} {place.y:.1f})"{_roles(each, now, layout) if live else ""}>'
    size = f'width="{box.width:.1f}" height="{box.height:.1f}"'
    look = f'fill="{theme.box}" stroke="{theme.muted}" stroke-width="1.3" stroke-dasharray="4 4"'
    outline = f'<rect class="tp-box" {size} rx="7" {look}/>'
    return f"{head}{outline}{_words(each, box, theme)}{_gist(box, theme) if live else ''}</g>"


def _words(each: Hanging, box: Box, theme: Theme) -> str:
    font, ink = box.font, theme.muted
    pieces = [
        draw_text(PADDING, PADDING + font * 0.86, font, ink, "pruned", ' font-style="italic"'),
        draw_text(box.width - PADDING, PADDING + font * 0.86, font, ink, identity(each.node), ' text-anchor="end"'),
    ]
    y = PADDING + font * (HEAD + 0.72)
    pieces.append(draw_text(PADDING, y, font, ink, box.name, ' font-weight="600"'))
    for row, line in enumerate(box.lines, 1):
        pieces.append(draw_text(PADDING, y + row * LEADING * font, font, ink, line))
    if box.picture is not None:
        shown = box.picture
        size = f'y="{shown.top:.1f}" width="{shown.width:.1f}" height="{shown.height:.1f}" opacity=".6"'
        pieces.append(f'<image href="{shown.uri}" x="{PADDING}" {size} style="image-rendering:pixelated"/>')
    return f'<g class="{"tp-words" if box.picture is None else "tp-shown"}">{"".join(pieces)}</g>'


def _gist(box: Box, theme: Theme) -> str:
    """Write what is read from afar."""
    size = box.gist_font
    top = (box.height - (len(box.gist) - 1) * 1.15 * size) / 2 + size * 0.36
    rows = "".join(
        draw_text(box.width / 2, top + row * 1.15 * size, size, theme.muted, line, ' text-anchor="middle"')
        for row, line in enumerate(box.gist)
    )
    return f'<g class="tp-gist tp-faint">{rows}</g>' if box.gist else ""


def _roles(each: Hanging, now: Hierarchy, layout: Layout) -> str:
    """Say to screen readers, to the style sheet and to the tooltip that this is no topic of the tree."""
    key, words = identity(each.node), ", ".join(each.last_seen.words[:12])
    level = 1 + max(band.layer for band in layout.bands) - each.node.layer
    others = [*(successor.node for successor in each.successors), *(child.node for child in each.children)]
    kin = " ".join(identity(node) for node in others)
    said = report(each, now)
    label = f"Pruned topic {key} of layer {each.node.layer}, no longer in the tree: {said}. Its last words: {words}"
    tip = "&#10;".join(escape(line) for line in (each.last_seen.title, said[:1].upper() + said[1:], words))
    return (
        f' class="tp-node tp-pruned" data-id="{key}" data-kin="{kin}" role="treeitem"'
        f' aria-roledescription="pruned topic" tabindex="-1" aria-level="{level}" aria-selected="false"'
        f' aria-label="{escape(label)}"'
        f' data-tip="{tip}"'
    )
