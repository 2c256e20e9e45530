"""The map: the topics of layer 1 as circles, coloured by their heaviest parent, similar ones close together.

Lines join topics that documents use together.  All sizes are in units of the picture.  There is a set of labels for
each zoom level, of which the style sheet shows one: the nearer one looks, the smaller the letters, relative to the
picture, and the more of them find a place.
"""

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from topiary.app.analysis.hierarchy import BACKGROUND, Hierarchy, format_identity
from topiary.app.views.text import BOLD, LONGEST_TITLE, escape, format_percent, measure_text, shorten, shorten_words
from topiary.app.views.theme import LIVE, PictureTheme, find_layer_colour
from topiary.app.views.tree import tree_svg
from topiary.app.views.tree.boxes import LONGEST
from topiary.app.views.tree.tree_svg import FONT
from topiary.engine.contract import FloatArray
from topiary.engine.hierarchy import tree as layer_map
from topiary.engine.hierarchy.tree import Node

BoolArray: TypeAlias = NDArray[np.bool_]
LEADING = 1.15  # distance of the lines of a label, relative to its letters
_GAP = 4.0  # between a circle and its label
_MOVES = 9, 4.5  # positions of a caption across and down, and how far it moves, relative to its letters
_DISTANCE_COST = 0.35  # of a caption's distance from its centre, relative to what it covers of circles
_WORD_COST = 2.5  # of each word that a caption lacks, relative to its letters
_COUNTS = (1, 2, 2, 3, 3, 3)  # parts of each way of `list_lines`

# places of a label around a circle: the direction from the centre of the circle to the label
_SIDES = ((1, 0), (-1, 0), (0, 1), (0, -1), (0.7, -0.7), (0.7, 0.7), (-0.7, -0.7), (-0.7, 0.7))
PARENT_LAYERS = (2, 3)
_WORDS_SHARE = 0.4  # of the words in the distance of two topics; the rest is of their parents, equal for each layer
_HEIGHT, _MARGIN = 900.0, 40.0
_COVERED = 0.07  # share of the picture that all circles together cover
_SMALLEST, _LARGEST = 6.0, 80.0  # radii
_APART = 16.0  # space between circles, for their labels
SIZES = (5.5, 8.0, 12.0, 17.0, 24.0, 34.0)  # of letters at each zoom level, in units of the picture, nearest first
WHOLE = 3  # the level at which the whole picture is seen; from it on, captions are those of layer 3
_CAPTION_SIZES = (1.3, 1.5)  # of the captions of layer 2, and from afar, relative to the letters of labels
_ROUNDS = 30  # of the search for a centre
_LEGEND_SIZE, _LEGEND_ROW, _LEGEND_GAP = 15.0, 26.0, 26.0


class Circles(NamedTuple):
    """The circles of the map: centres (K, 2), radii (K,), and the width and height of the picture."""

    centres: FloatArray
    radii: FloatArray
    size: tuple[float, float]


class PlacedText(NamedTuple):
    """Lines of a label or caption, the size of its letters, and its box (left, top, right, bottom)."""

    lines: tuple[str, ...]
    size: float
    box: FloatArray

    @property
    def centre(self) -> tuple[float, float]:
        """The centre of the box."""
        left, top, right, bottom = self.box.tolist()
        return (left + right) / 2, (top + bottom) / 2


def list_lines(words: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the ways of writing the first one, two or three parts of a title, the shortest first.

    What lacks a part ends with an ellipsis.

    >>> list_lines(["film,", "award"])
    [('film…',), ('film, award',), ('film,', 'award')]
    """
    ways: list[tuple[str, ...]] = [_end(words[:1], cut=len(words) > 1)]
    if len(words) > 1:
        two = _end(words[:2], cut=len(words) > 2)
        ways += [(" ".join(two),), two]
    if len(words) > 2:
        ways += [(" ".join(words[:3]),), (" ".join(words[:2]), words[2]), tuple(words[:3])]
    return ways


def _end(words: Sequence[str], *, cut: bool) -> tuple[str, ...]:
    return (*words[:-1], f"{words[-1].rstrip(',')}…") if cut else tuple(words)


def place_labels(
    words: Sequence[Sequence[str]], circles: Circles, sizes: Sequence[float], captions: Sequence[Sequence[PlacedText]]
) -> list[dict[int, PlacedText]]:
    """Place the labels of circles at each zoom level.

    Every circle gets one word if there is a place for it, the first circles first; then labels get more words where
    there is room.  A label that is there at one level stays at the next nearer one, unless a caption takes its place.

    Parameters
    ----------
    words : sequence of sequences of str
        The parts of the title of each circle, at most three, the most important circle first.
    sizes : sequence of float
        The size of letters at each level, the nearest level (with the smallest letters) first.
    captions : sequence of sequences of PlacedText
        The captions at each level, which labels do not cover.

    Returns
    -------
    list of dict of int to PlacedText
        At each level, the labels of the circles that have one.
    """
    levels: list[dict[int, PlacedText]] = []
    before: dict[int, tuple[int, int]] = {}
    for size, taken in zip(reversed(sizes), reversed(captions), strict=True):
        labels, before = _place_level(words, circles, size, taken, before)
        levels.insert(0, labels)
    return levels


def _place_level(
    words: Sequence[Sequence[str]],
    circles: Circles,
    size: float,
    captions: Sequence[PlacedText],
    before: dict[int, tuple[int, int]],
) -> tuple[dict[int, PlacedText], dict[int, tuple[int, int]]]:
    """Return the labels of a level, and the (way, side) of each; ``before`` are those of the level farther away."""
    n_captions = len(captions)
    boxes = np.zeros((n_captions + len(words), 4))  # empty ones cover nothing
    boxes[:n_captions] = [caption.box for caption in captions] or np.zeros((0, 4))
    ways = [list_lines(each) for each in words]
    candidates = [_list_boxes(each, circles, number, size) for number, each in enumerate(ways)]
    free = [~_covers_circle(each, circles) & _is_inside(each, circles.size) for each in candidates]
    chosen: dict[int, tuple[int, int]] = {}
    for number, choice in before.items():  # letters are smaller now, so these do not cover each other
        at = n_captions + number
        box = candidates[number][choice]
        if free[number][choice] and not _overlap(box[None], boxes).any():
            chosen[number], boxes[at] = choice, box
    for most in (1, 2, 3):
        for number in range(len(words)):
            if most > 1 and number not in chosen:
                continue
            at = n_captions + number
            own, boxes[at] = boxes[at].copy(), 0.0
            open_places = free[number] & ~_overlap(candidates[number].reshape(-1, 4), boxes).reshape(free[number].shape)
            found = _choose_place(open_places, most, chosen.get(number))
            boxes[at] = own
            if found is not None:
                chosen[number], boxes[at] = found, candidates[number][found]
    labels = {number: PlacedText(ways[number][way], size, candidates[number][way, side])
              for number, (way, side) in sorted(chosen.items())}  # fmt: skip
    return labels, chosen


def _choose_place(is_free: BoolArray, most: int, now: tuple[int, int] | None) -> tuple[int, int] | None:
    """Return the (way, side) with ``most`` words that is free, at the side of ``now`` if possible; None for none."""
    sides = list(range(len(_SIDES)))
    if now is not None:
        if _COUNTS[now[0]] >= most:
            return None
        sides = sorted(sides, key=lambda side: side != now[1])
    fitting = [way for way, count in enumerate(_COUNTS[: len(is_free)]) if count == most]
    return next(((way, side) for side, way in product(sides, fitting) if is_free[way, side]), None)


def _list_boxes(ways: Sequence[tuple[str, ...]], circles: Circles, number: int, size: float) -> FloatArray:
    """Return the boxes (ways, sides, 4) of a circle's label in all ways of writing it, at all its sides."""
    half = np.array([_measure_lines(lines, size) for lines in ways])[:, None] / 2  # (ways, 1, 2)
    sides = np.array(_SIDES)
    edges = circles.centres[number] + sides * (circles.radii[number] + _GAP)
    middles = edges + np.sign(sides) * half
    return np.concatenate([middles - half, middles + half], axis=2)


def _measure_lines(lines: Sequence[str], size: float, weight: float = 1.0) -> tuple[float, float]:
    return weight * size * max(map(measure_text, lines), default=0.0), size * LEADING * len(lines)


def place_captions(
    titles: Sequence[Sequence[str]], centres: FloatArray, circles: Circles, size: float
) -> list[PlacedText | None]:
    """Place captions in bold letters of one size near their centres, the first ones first; None for lack of room.

    A caption covers no other one, and as little of the circles as possible.
    """
    placed: list[PlacedText | None] = []
    for words, centre in zip(titles, centres, strict=True):
        taken = np.array([each.box for each in placed if each is not None]).reshape(-1, 4)
        placed.append(_place_caption(words, centre, circles, size, taken))
    return placed


def _place_caption(
    words: Sequence[str], centre: FloatArray, circles: Circles, size: float, taken: FloatArray
) -> PlacedText | None:
    ways, steps = list_lines(words), np.linspace(-1.0, 1.0, _MOVES[0])
    half = np.array([_measure_lines(lines, size, BOLD) for lines in ways])[:, None] / 2  # (ways, 1, 2)
    moves = np.array(list(product(steps, steps))) * (half + _MOVES[1] * size)  # (ways, positions, 2)
    boxes = np.concatenate([centre + moves - half, centre + moves + half], axis=2)
    open_places = _is_inside(boxes, circles.size) & ~_overlap(boxes.reshape(-1, 4), taken).reshape(boxes.shape[:2])
    if not open_places.any():
        return None
    lacking = max(_COUNTS[: len(ways)]) - np.array(_COUNTS[: len(ways)])
    cost = np.maximum(circles.radii - _measure_distances(boxes, circles), 0.0).sum(axis=2)
    cost += _DISTANCE_COST * np.linalg.norm(moves, axis=2) + _WORD_COST * size * lacking[:, None]
    way, position = np.unravel_index(np.argmin(np.where(open_places, cost, np.inf)), cost.shape)
    return PlacedText(ways[way], size, boxes[way, position])


def _measure_distances(boxes: FloatArray, circles: Circles) -> FloatArray:
    """Return the distances (..., K) of boxes from the centres of the circles; 0 inside a box."""
    low, high = boxes[..., None, :2], boxes[..., None, 2:]
    away = np.maximum(np.maximum(low - circles.centres, circles.centres - high), 0.0)
    distances: FloatArray = np.sqrt((away**2).sum(axis=-1))
    return distances


def _covers_circle(boxes: FloatArray, circles: Circles) -> BoolArray:
    covers: BoolArray = np.logical_or.reduce(_measure_distances(boxes, circles) < circles.radii, axis=-1)
    return covers


def _is_inside(boxes: FloatArray, size: tuple[float, float]) -> BoolArray:
    inside = np.concatenate([boxes[..., :2] >= 0, boxes[..., 2:] <= np.array(size)], axis=-1)
    all_inside: BoolArray = np.logical_and.reduce(inside, axis=-1)
    return all_inside


def _overlap(boxes: FloatArray, taken: FloatArray) -> BoolArray:
    """Return for each of the boxes (n, 4) whether it overlaps any of those that are taken (m, 4)."""
    meets = (boxes[:, None, :2] < taken[None, :, 2:]) & (taken[None, :, :2] < boxes[:, None, 2:])
    overlap: BoolArray = np.logical_or.reduce(np.logical_and.reduce(meets, axis=2), axis=1)
    return overlap


class Family(NamedTuple):
    """A parent on the map, and the numbers of the topics of which it is the heaviest parent, in the map's order."""

    parent: Node
    topics: tuple[int, ...]


def trace_parents(hierarchy: Hierarchy, columns: Sequence[int]) -> list[FloatArray]:
    """Return from which topics of layer 2, and of layer 3, topics of layer 1 come.

    The part that comes from a parent is the weight of the edge times the popularity of the parent.  Parents that make
    a topic rarer have no part in it.  Background topics have none, unless all parents are background.

    Parameters
    ----------
    columns : sequence of int
        Columns of Phi^(1).

    Returns
    -------
    list of (n, K_l) float64 arrays
        Rows sum to 1; empty for a hierarchy of one layer.
    """
    traced: list[FloatArray] = []
    weights = np.eye(hierarchy.widths[0])[list(columns)]
    for layer in PARENT_LAYERS:
        if layer > hierarchy.n_layers:
            break
        weights = weights @ np.maximum(np.asarray(hierarchy.phi[layer - 1], dtype=np.float64), 0.0)
        parts = weights * np.maximum(hierarchy.popularity[layer - 1], 0.0)
        apart = np.array([role == BACKGROUND for role in hierarchy.roles[layer - 1]])
        if not apart.all():
            parts = np.where(apart, 0.0, parts)
        totals = parts.sum(axis=1, keepdims=True)
        traced.append(np.where(totals > 0, parts / np.where(totals > 0, totals, 1.0), 1.0 / parts.shape[1]))
    return traced


def describe_topics(words: FloatArray, traced: Sequence[FloatArray]) -> FloatArray:
    """Return the features (F, n) whose Hellinger distances place topics: their words (V, n) and their parents."""
    if not traced:
        return words
    part = (1.0 - _WORDS_SHARE) / len(traced)
    return np.concatenate([_WORDS_SHARE * words, *(part * parts.T for parts in traced)])


def group_topics(hierarchy: Hierarchy, layer: int, parts: FloatArray, shares: FloatArray) -> list[Family]:
    """Return the topics of each parent of a layer, the parents with the largest sum of ``shares`` (n,) first."""
    heaviest = np.argmax(parts, axis=1)
    sums = np.bincount(heaviest, weights=shares, minlength=parts.shape[1])
    order = [column for column in np.argsort(-sums, kind="stable").tolist() if (heaviest == column).any()]
    return [
        Family(hierarchy.node(layer, column), tuple(np.flatnonzero(heaviest == column).tolist())) for column in order
    ]


def choose_families(families: Sequence[Sequence[Family]], n_hues: int) -> Sequence[Family]:
    """Return those by which the map is coloured: the lowest layer with a hue for each parent, or the highest layer."""
    return next((each for each in families if len(each) <= n_hues), families[-1]) if families else ()


def assign_hues(families: Sequence[Family], n_hues: int) -> dict[Node, int]:
    """Return the hue of the first parents, at most one for each of ``n_hues``.

    A parent takes the hue of its column if it is free, so that most parents keep their hues from snapshot to snapshot.
    """
    hues: dict[Node, int] = {}
    for family in families[:n_hues]:
        wanted = ((family.parent.column + step) % n_hues for step in range(n_hues))
        hues[family.parent] = next(hue for hue in wanted if hue not in hues.values())
    return hues


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
    if hierarchy.has_pictures and not hierarchy.name(node):
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
