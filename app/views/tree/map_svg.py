"""The map: the topics of layer 1 as circles, coloured by their heaviest parent, similar ones close together.

Lines join topics that documents use together.  Labels and captions of parents are drawn for every zoom level; the style
sheet shows those of one level, as in the tree.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from topiary.app.analysis.hierarchy import Hierarchy, format_identity
from topiary.app.analysis.topic_images import has_pictures
from topiary.app.views.palette import LIVE, PictureTheme, find_layer_colour
from topiary.app.views.text import LONGEST_TITLE, escape, format_percent, measure_text, shorten, shorten_words
from topiary.app.views.tree import tree_svg
from topiary.app.views.tree.boxes import LONGEST
from topiary.app.views.tree.map_labels import Circles, PlacedText, place_captions, place_labels
from topiary.app.views.tree.map_parents import (
    Family,
    assign_hues,
    choose_families,
    describe_topics,
    group_topics,
    trace_parents,
)
from topiary.app.views.tree.tree_svg import FONT
from topiary.engine.contract import FloatArray
from topiary.engine.hierarchy import tree as layer_map
from topiary.engine.hierarchy.tree import Node

_HEIGHT, _MARGIN = 900.0, 40.0
_COVERED = 0.07  # share of the picture that all circles together cover
_SMALLEST, _LARGEST = 6.0, 80.0  # radii
_APART = 16.0  # space between circles, for their labels
SIZES = (5.5, 8.0, 12.0, 17.0, 24.0, 34.0)  # of letters at each zoom level, in units of the picture, nearest first
WHOLE = 3  # the level at which the whole picture is seen; from it on, captions are those of layer 3
_CAPTION_SIZES = (1.3, 1.5)  # of the captions of layer 2, and from afar, relative to the letters of labels
_ROUNDS = 30  # of the search for a centre
_LEGEND_SIZE, _LEGEND_ROW, _LEGEND_GAP = 15.0, 26.0, 26.0


class MapChoice(NamedTuple):
    """The choices on the map: whether to show light topics, the selected topic, the least correlation of a line."""

    light: bool = False
    selected: Node | None = None
    relation: float = 0.85


class MapDrawing(NamedTuple):
    """The map as one SVG element, its size, and its numbers of topics, lines, and light topics that are left out.

    ``hues`` are the numbers of the colours of parents, the parent of most topics first; topics of other parents are
    grey, and ``others`` is their number.
    """

    svg: str
    size: tuple[float, float]
    topics: int
    lines: int
    hidden: int
    hues: dict[Node, int]
    others: int


class _MapTopics(NamedTuple):
    """The topics on the map, most popular first, with their columns, circles, and heaviest parents in a layer."""

    nodes: list[Node]
    columns: list[int]
    circles: Circles
    parents: dict[Node, Node]
    hues: dict[Node, int]


def draw_map(hierarchy: Hierarchy, choice: MapChoice, *, aspect: float = 1.6, theme: PictureTheme = LIVE) -> MapDrawing:
    """Draw the topics of layer 1 as circles whose areas are proportional to the shares of the topics.

    A file shows the labels and captions of the whole picture, and a legend.
    """
    listed = hierarchy.nodes(1)
    nodes = [node for node in listed if choice.light or node not in hierarchy.light] or listed
    columns = [hierarchy.place(node) for node in nodes]
    traced = trace_parents(hierarchy, columns)
    shares = hierarchy.shares[0][columns]
    places = layer_map.place_topics(describe_topics(hierarchy.projections[0][:, columns], traced))
    circles = _settle_circles(places, shares, _HEIGHT * aspect)
    families = [group_topics(hierarchy, layer, parts, shares) for layer, parts in enumerate(traced, start=2)]
    coloured = choose_families(families, len(theme.hues))
    parents = {nodes[number]: family.parent for family in coloured for number in family.topics}
    topics = _MapTopics(nodes, columns, circles, parents, assign_hues(coloured, len(theme.hues)))
    captions = _place_all_captions(hierarchy, families, circles)
    words = [_choose_words(hierarchy, node) for node in nodes]
    labels = place_labels(words, circles, SIZES, [list(each.values()) for each in captions])
    colours = {family.parent: _choose_colour(family, topics, theme) for layer in families for family in layer}
    levels = range(len(SIZES)) if theme is LIVE else (WHOLE,)
    lines = _draw_lines(hierarchy, topics, choice.relation, theme)
    pieces = [
        *(_draw_captions(captions[level], level, colours, theme) for level in levels),
        *lines,
        *(
            _draw_topic(
                hierarchy, topics, number, [(level, labels[level].get(number)) for level in levels], choice, theme
            )
            for number in range(len(nodes))
        ),
    ]
    width, height = circles.size
    if theme is not LIVE:
        legend, rows = _draw_legend(hierarchy, topics, theme)
        pieces.append(legend)
        height += rows * _LEGEND_ROW
    box = f'xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}"'
    name = f'role="tree" aria-label="Map of {len(nodes)} topics"'
    live = "" if theme is LIVE else f' width="{width:.0f}" height="{height:.0f}" font-family="{FONT}"'
    ground = "" if theme is LIVE else f'<rect width="100%" height="100%" fill="{theme.paper}"/>'
    others = sum(parent not in topics.hues for parent in parents.values())
    svg = f"<svg {box}{live} {name}>{ground}{''.join(pieces)}</svg>"
    return MapDrawing(svg, (width, height), len(nodes), len(lines), len(listed) - len(nodes), topics.hues, others)


def _settle_circles(places: FloatArray, shares: FloatArray, width: float) -> Circles:
    """Return circles that are pushed apart where they overlap, and scaled to fit the picture."""
    radii = np.sqrt(shares / max(float(shares.sum()), 1e-12) * _COVERED * width * _HEIGHT / np.pi)
    radii = np.clip(radii, _SMALLEST, _LARGEST)
    available = np.array([width, _HEIGHT]) - 2 * _MARGIN
    spread = np.maximum(np.ptp(places, axis=0), 1e-9)
    centres = layer_map.separate_circles((places - places.min(axis=0)) / spread * available, radii, _APART)
    low = (centres - radii[:, None]).min(axis=0)
    size = np.maximum((centres + radii[:, None]).max(axis=0) - low, 1e-9)
    scale = min(1.0, float((available / size).min()))
    return Circles((centres - low) * scale + _MARGIN + (available - size * scale) / 2, radii * scale, (width, _HEIGHT))


def _choose_words(hierarchy: Hierarchy, node: Node) -> list[str]:
    """Return the title of a topic in at most three parts; its rank if it is an image without a name."""
    if has_pictures(hierarchy) and not hierarchy.name(node):
        return [format_identity(node)]
    return shorten(shorten_words(hierarchy.title(node), LONGEST), LONGEST_TITLE).split(maxsplit=2)


def _place_all_captions(
    hierarchy: Hierarchy, families: Sequence[Sequence[Family]], circles: Circles
) -> list[dict[Node, PlacedText]]:
    """Return the captions of each zoom level: those of layer 3 from afar and of layer 2 nearer, for two topics or more.

    A hierarchy of two layers has those of layer 2 at every level.
    """
    levels: list[dict[Node, PlacedText]] = [{} for _ in SIZES]
    for is_afar in (False, True) if families else ():
        shown = [family for family in families[-1 if is_afar else 0] if len(family.topics) > 1]
        centres = np.array([_find_centre(circles, family.topics) for family in shown]).reshape(-1, 2)
        words = [_choose_words(hierarchy, family.parent) for family in shown]
        for level in range(WHOLE, len(SIZES)) if is_afar else range(WHOLE):
            placed = place_captions(words, centres, circles, SIZES[level] * _CAPTION_SIZES[is_afar])
            found = zip(shown, placed, strict=True)
            levels[level] = {family.parent: each for family, each in found if each is not None}
    return levels


def _find_centre(circles: Circles, members: Sequence[int]) -> FloatArray:
    """Return the point of the least distance from some circles, weighted by area (Weiszfeld's iterations)."""
    points, weights = circles.centres[list(members)], circles.radii[list(members)] ** 2
    centre: FloatArray = np.average(points, axis=0, weights=weights)
    for _ in range(_ROUNDS):
        pulls = weights / np.maximum(np.linalg.norm(points - centre, axis=1), 1.0)
        centre = np.average(points, axis=0, weights=pulls)
    return centre


def _draw_captions(captions: dict[Node, PlacedText], level: int, colours: dict[Node, str], theme: PictureTheme) -> str:
    pieces = []
    for parent, placed in captions.items():
        text = tree_svg.draw_centred(placed.lines, placed.centre, placed.size, colours[parent], "tp-caption")
        pieces.append(f'<g data-parent="{format_identity(parent)}">{text}</g>')
    look = 'class="tp-captions" aria-hidden="true" opacity=".8" font-weight="700"'
    return f"<g {look}>{_show_at(level, ''.join(pieces), theme)}</g>"


def _choose_colour(family: Family, topics: _MapTopics, theme: PictureTheme) -> str:
    """Return the colour of a caption: that of most of its topics by area, but of none above the coloured layer."""
    areas: dict[Node, float] = {}
    for number in family.topics:
        parent = topics.parents[topics.nodes[number]]
        areas[parent] = areas.get(parent, 0.0) + float(topics.circles.radii[number]) ** 2
    heaviest = max(areas, key=lambda parent: areas[parent])
    is_plain = family.parent.layer > heaviest.layer or heaviest not in topics.hues
    return theme.muted if is_plain else theme.hues[topics.hues[heaviest]]


def _show_at(level: int, pieces: str, theme: PictureTheme) -> str:
    """Put pieces into a group that is shown at a zoom level."""
    return f'<g class="tp-level tp-level-{level}">{pieces}</g>' if theme is LIVE else pieces


def _draw_lines(hierarchy: Hierarchy, topics: _MapTopics, least: float, theme: PictureTheme) -> list[str]:
    """Draw lines between topics that documents use together, with a correlation of at least ``least``."""
    positions = dict(zip(topics.columns, topics.circles.centres.tolist(), strict=True))
    lines = []
    for first, second, correlation in hierarchy.relations:
        if correlation >= least and first in positions and second in positions:
            (x1, y1), (x2, y2) = positions[first], positions[second]
            names = " — ".join(hierarchy.title(hierarchy.node(1, column)) for column in (first, second))
            tip = f"<title>{escape(names)}: correlation {correlation:.2f}</title>"
            ends = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
            lines.append(f'<line {ends} stroke="{theme.muted}" stroke-opacity=".6" stroke-width="1.6">{tip}</line>')
    return lines


def _draw_topic(
    hierarchy: Hierarchy,
    topics: _MapTopics,
    number: int,
    labels: Sequence[tuple[int, PlacedText | None]],
    choice: MapChoice,
    theme: PictureTheme,
) -> str:
    """Draw the circle of a topic, and its label at each of some levels where it has one."""
    node, (x, y) = topics.nodes[number], topics.circles.centres[number].tolist()
    title, identity, share = hierarchy.title(node), format_identity(node), format_percent(hierarchy.share(node))
    words = ", ".join(word.text for word in hierarchy.top_words(node))
    parent = topics.parents.get(node)
    under = f"heaviest parent: {hierarchy.title(parent)} (layer {parent.layer})" if parent is not None else ""
    tip = f"{escape(title)}&#10;topic {identity}, {share}&#10;{escape(words)}{f'&#10;{escape(under)}' if under else ''}"
    is_selected = "true" if node == choice.selected else "false"
    fill, opacity = _choose_fill(topics, parent, theme)
    shape = (
        f'<circle class="tp-box" r="{topics.circles.radii[number]:.1f}" fill="{fill}" '
        f'fill-opacity="{opacity}" stroke="{theme.ink}" stroke-opacity=".55" stroke-width="1"/>'
    )
    texts = "".join(_draw_label(*each, (x, y), theme) for each in labels)
    label = escape(f"{title}: topic {identity}, {share}. {words}")
    place = 0 if hierarchy.rank(node) == 1 else -1
    return (
        f'<g transform="translate({x:.1f} {y:.1f})" class="tp-node" data-id="{format_identity(node)}" role="treeitem" '
        f'tabindex="{place}" aria-level="1" aria-selected="{is_selected}" aria-label="{label}" '
        f'data-tip="{tip}">{shape}{texts}</g>'
    )


def _choose_fill(topics: _MapTopics, parent: Node | None, theme: PictureTheme) -> tuple[str, float]:
    """Return the colour and opacity of a circle: those of its parent; paler grey for parents without a colour."""
    if parent is None:
        return find_layer_colour(theme, 1), 0.6
    return (theme.hues[topics.hues[parent]], 0.85) if parent in topics.hues else (theme.muted, 0.4)


def _draw_label(level: int, label: PlacedText | None, origin: tuple[float, float], theme: PictureTheme) -> str:
    if label is None:
        return ""
    x, y = label.centre
    text = tree_svg.draw_centred(label.lines, (x - origin[0], y - origin[1]), label.size, theme.ink, "tp-halo")
    return _show_at(level, text, theme)


def _draw_legend(hierarchy: Hierarchy, topics: _MapTopics, theme: PictureTheme) -> tuple[str, int]:
    """Draw the colours of parents below the map; return them and their number of rows."""
    if not topics.parents:
        return "", 0
    entries = [(hierarchy.title(parent), theme.hues[hue]) for parent, hue in topics.hues.items()]
    if any(parent not in topics.hues for parent in topics.parents.values()):
        entries.append(("other parents", theme.muted))
    width, x, row, pieces = topics.circles.size[0], _MARGIN, 0, []
    for title, colour in entries:
        text = shorten(title, LONGEST_TITLE)
        length = 2 * _LEGEND_SIZE + _LEGEND_SIZE * measure_text(text)
        if x > _MARGIN and x + length > width - _MARGIN:
            x, row = _MARGIN, row + 1
        y = _HEIGHT + (row + 0.5) * _LEGEND_ROW
        pieces.append(f'<circle cx="{x + 6:.1f}" cy="{y - 8:.1f}" r="6" fill="{colour}"/>')
        pieces.append(tree_svg.draw_text(x + 1.3 * _LEGEND_SIZE, y - 3, _LEGEND_SIZE, theme.ink, text))
        x += length + _LEGEND_GAP
    return "".join(pieces), row + 1
