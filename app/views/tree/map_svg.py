"""The map: the topics of layer 1 as circles, similar ones close together, with lines between those used together."""

from typing import NamedTuple

import numpy as np

from app.analysis.hierarchy import Hierarchy, format_identity
from app.views.palette import LIVE, PictureTheme, find_layer_colour
from app.views.text import escape, format_percent, measure_text, shorten
from app.views.tree import tree_svg
from app.views.tree.boxes import cut_legible
from app.views.tree.tree_svg import FONT
from engine.contract import FloatArray
from engine.hierarchy import tree as layer_map
from engine.hierarchy.tree import Node

_HEIGHT, _MARGIN = 900.0, 36.0
_COVERED = 0.22  # share of the picture that all circles together cover
_SMALLEST, _LARGEST = 9.0, 120.0  # radii
SMALLEST_FONT, LARGEST_FONT = 9.0, 26.0
LETTERS = 14  # letters of a word at most


class MapChoice(NamedTuple):
    """The choices on the map: whether to show light topics, the selected topic, the least correlation of a line."""

    light: bool = False
    selected: Node | None = None
    relation: float = 0.85


class MapDrawing(NamedTuple):
    """The map as one SVG element, its size, and its numbers of topics, lines, and light topics that are left out."""

    svg: str
    size: tuple[float, float]
    topics: int
    lines: int
    hidden: int


def draw_map(hierarchy: Hierarchy, choice: MapChoice, *, aspect: float = 1.6, theme: PictureTheme = LIVE) -> MapDrawing:
    """Draw the topics of layer 1 as circles whose areas are proportional to the shares of the topics."""
    topics = hierarchy.nodes(1)
    nodes = [node for node in topics if choice.light or node not in hierarchy.light] or topics
    columns = np.array([hierarchy.place(node) for node in nodes])
    width = _HEIGHT * aspect
    share = hierarchy.shares[0][columns]
    radii = np.sqrt(share / max(float(share.sum()), 1e-12) * _COVERED * width * _HEIGHT / np.pi)
    radii = np.clip(radii, _SMALLEST, _LARGEST)
    centres, radii = _settle_circles(layer_map.place_topics(hierarchy.projections[0][:, columns]), radii, width)
    lines = _draw_lines(hierarchy, columns, centres, choice.relation, theme)
    circles = [
        _draw_circle(hierarchy, node, centre, float(radius), choice, theme)
        for node, centre, radius in zip(nodes, centres, radii, strict=True)
    ]
    box = f'xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {_HEIGHT:.0f}"'
    label = f'role="tree" aria-label="Map of {len(nodes)} topics"'
    live = "" if theme is LIVE else f' width="{width:.0f}" height="{_HEIGHT:.0f}" font-family="{FONT}"'
    ground = "" if theme is LIVE else f'<rect width="100%" height="100%" fill="{theme.paper}"/>'
    svg = f"<svg {box}{live} {label}>{ground}{''.join(lines)}{''.join(circles)}</svg>"
    return MapDrawing(svg, (width, _HEIGHT), len(nodes), len(lines), len(topics) - len(nodes))


def _settle_circles(places: FloatArray, radii: FloatArray, width: float) -> tuple[FloatArray, FloatArray]:
    """Return the centres and radii of the circles, pushed apart where they overlap, and scaled to fit the picture."""
    available = np.array([width, _HEIGHT]) - 2 * _MARGIN
    spread = np.maximum(np.ptp(places, axis=0), 1e-9)
    centres = layer_map.separate_circles((places - places.min(axis=0)) / spread * available, radii, 4.0)
    low = (centres - radii[:, None]).min(axis=0)
    size = np.maximum((centres + radii[:, None]).max(axis=0) - low, 1e-9)
    scale = min(1.0, float((available / size).min()))
    return (centres - low) * scale + _MARGIN + (available - size * scale) / 2, radii * scale


def _draw_lines(
    hierarchy: Hierarchy, columns: FloatArray, centres: FloatArray, least: float, theme: PictureTheme
) -> list[str]:
    """Draw lines between topics that documents use together, with a correlation of at least ``least``."""
    positions = {int(column): centre for column, centre in zip(columns, centres, strict=True)}
    lines = []
    for first, second, correlation in hierarchy.relations:
        if correlation >= least and first in positions and second in positions:
            (x1, y1), (x2, y2) = positions[first], positions[second]
            names = " — ".join(hierarchy.title(hierarchy.node(1, column)) for column in (first, second))
            tip = f"<title>{escape(names)}: correlation {correlation:.2f}</title>"
            ends = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
            lines.append(f'<line {ends} stroke="{theme.muted}" stroke-opacity=".6" stroke-width="1.6">{tip}</line>')
    return lines


def _draw_circle(
    hierarchy: Hierarchy, node: Node, centre: FloatArray, radius: float, choice: MapChoice, theme: PictureTheme
) -> str:
    title, rank, share = hierarchy.title(node), hierarchy.rank(node), format_percent(hierarchy.share(node))
    words = ", ".join(word.text for word in hierarchy.top_words(node))
    tip = f"{escape(title)}&#10;topic {rank}, {share}&#10;{escape(words)}"
    is_selected = "true" if node == choice.selected else "false"
    colour = find_layer_colour(theme, 1)
    shape = (
        f'<circle class="tp-box" r="{radius:.1f}" fill="{theme.box}" fill-opacity=".86" stroke="{colour}" '
        f'stroke-width="1.4"/>'
    )
    return (
        f'<g transform="translate({centre[0]:.1f} {centre[1]:.1f})" class="tp-node" data-id="{format_identity(node)}" '
        f'role="treeitem" tabindex="{0 if rank == 1 else -1}" aria-level="1" aria-selected="{is_selected}" '
        f'aria-label="{escape(f"topic {rank}, {share}. {words}")}" data-tip="{tip}">'
        f"{shape}{_draw_label(hierarchy, node, radius, theme)}</g>"
    )


def _draw_label(hierarchy: Hierarchy, node: Node, radius: float, theme: PictureTheme) -> str:
    """Draw the words of the title below each other, as large as fits; when the map is small, only one of them."""
    name, rank = hierarchy.name(node), str(hierarchy.rank(node))
    words = tuple(shorten(word, LETTERS) for word in (name.split()[:3] if name else hierarchy.title_words(node)))
    lines, size = words or (rank,), _fit_font(words, radius)
    if size < SMALLEST_FONT:
        lines, size = (rank,), SMALLEST_FONT
    text = tree_svg.draw_centred(lines, (0.0, 0.0), size, theme.ink, "tp-lines")
    if theme is not LIVE or not words:
        return text
    lead = cut_legible(words[0], lambda cut: _fit_font((cut,), radius))
    lead_text = tree_svg.draw_centred((lead,), (0.0, 0.0), _fit_font((lead,), radius), theme.ink, "tp-lead")
    return f'<g class="tp-gist">{text}{lead_text}</g>'


def _fit_font(lines: tuple[str, ...], radius: float) -> float:
    """Return the largest font size in which lines fit into a circle."""
    widest = max(map(measure_text, lines), default=1.0)
    return min(LARGEST_FONT, 1.7 * radius / max(widest, 1.3 * len(lines)))
