"""Two hierarchies drawn side by side, on the page and as one picture for print."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from topiary.app.analysis.comparison import (
    KINDS,
    SIDES,
    Absence,
    Comparison,
    EdgeChange,
    Kind,
    Pair,
    Side,
    count_kinds,
    get_other_side,
)
from topiary.app.analysis.hierarchy import format_identity
from topiary.app.views.text import escape, fit_lines, measure_text, shorten
from topiary.app.views.theme import LIGHT, LIVE, PictureTheme
from topiary.app.views.tree.boxes import (
    GIST_LEADING,
    GIST_SIZE,
    LEVELS,
    LONGEST,
    PADDING,
    SMALLEST,
    ClassOverlay,
    TopicBox,
    find_class_overlay,
    make_boxes,
)
from topiary.app.views.tree.layout import MARGIN, WIDE, Curve, TreeLayout, lay_out_tree
from topiary.app.views.tree.opening import choose_first_roots
from topiary.app.views.tree.picture import TreeChoice, cut_tree, write_caption
from topiary.app.views.tree.tree_svg import (
    CAPTION,
    FONT,
    TINT,
    EdgeStroke,
    TreeLook,
    TreeScene,
    WordMarking,
    draw_centred,
    draw_text,
    draw_tree_svg,
)
from topiary.engine.hierarchy.tree import Edge, Node, Subnetwork

WORDS: Mapping[Kind, str] = {
    "gained": "gained: not in A",
    "lost": "lost: not in B",
    "stronger": "stronger in B",
    "weaker": "weaker in B",
    "same": "the same in both",
}


class CompareCut(NamedTuple):
    """The part of both hierarchies to show: the roots of each side, the threshold, and a cap on topics.

    ``cap`` is the most topics per layer and side.  ``label`` is the number, from 1, of the class in
    `list_shared_classes` whose weights are shown; 0 for none.
    """

    roots_a: tuple[Node, ...]
    roots_b: tuple[Node, ...]
    threshold: float
    cap: int
    label: int = 0


class TwoTrees(NamedTuple):
    """The pictures of both trees.

    Attributes
    ----------
    a, b : str
        SVG of each side; both have the same size.
    changes : list of EdgeChange
        The edges that are drawn.
    pairs : frozenset of Pair
        The pairs that are drawn.
    order : mapping of layer to nodes
        The order of nodes, to be passed to the next drawing so that topics keep their places.
    size : (width, height)
        The size of either picture on the page.
    """

    a: str
    b: str
    changes: list[EdgeChange]
    pairs: frozenset[Pair]
    order: dict[int, tuple[Node, ...]]
    size: tuple[float, float]


class _Seats(NamedTuple):
    """The seats (places in the joint picture) of the shown pairs, each a ``Node(layer, place among all pairs)``."""

    pairs: dict[Node, Pair]
    of: dict[Side, dict[Node, Node]]


def draw_trees(
    comparison: Comparison,
    changes: Sequence[EdgeChange],
    request: CompareCut,
    *,
    aspect: float = WIDE,
    previous: Mapping[int, Sequence[Node]] | None = None,
    selected: Pair | None = None,
    theme: PictureTheme = LIVE,
) -> TwoTrees:
    """Draw both trees, with the topics of a pair at the same place in each.

    Parameters
    ----------
    changes : sequence of EdgeChange
        `find_edge_changes` at the threshold of ``request``.
    aspect : float
        Width / height of the window of one tree.
    previous : mapping, optional
        ``order`` of the previous picture.
    theme : PictureTheme
        `LIVE` for the page, `LIGHT` for a file.
    """
    seats, left_out = _seat_pairs(comparison, request)
    edges = [change for change in changes if _find_ends(seats, change) is not None]
    contents: dict[Side, dict[Node, TopicBox]] = {
        "a": make_boxes(comparison.a, seats.of["a"], n_lines=2),
        "b": make_boxes(comparison.b, seats.of["b"], n_lines=2),
    }
    joint = {seat: _join_boxes(seat, pair, contents) for seat, pair in seats.pairs.items()}
    nodes = tuple(sorted(seats.pairs, key=lambda seat: (-seat.layer, seat.column)))
    part = Subnetwork((), nodes, tuple(_join_edge(seats, change) for change in edges), {})
    layout = lay_out_tree(part, joint, aspect=aspect, previous=previous, more=left_out)
    halves = []
    for side in SIDES:
        look = TreeLook(
            theme,
            selected=selected.on(side) if selected else None,
            beneath=_draw_absent(comparison, side, seats, (joint, layout), theme),
            opinion=find_overlay(comparison, side, request.label),
            marks=_mark_words(comparison, side, seats, theme),
        )
        halves.append(_draw_half(comparison, side, seats, (contents[side], joint, layout), edges, look))
    size = layout.width, layout.height
    return TwoTrees(halves[0], halves[1], edges, frozenset(seats.pairs.values()), layout.order(), size)


def list_shared_classes(comparison: Comparison) -> tuple[str, ...]:
    """Return the names of the classes that can be laid over both trees: those of B, or of A if B has none."""
    return comparison.b.classes or comparison.a.classes


def find_overlay(comparison: Comparison, side: Side, label: int) -> ClassOverlay | None:
    """Return the overlay of class ``label`` of `list_shared_classes` for a side; None if it has no such class."""
    names, hierarchy = list_shared_classes(comparison), comparison.hierarchy(side)
    name = names[label - 1] if 1 <= label <= len(names) else None
    return find_class_overlay(hierarchy, hierarchy.classes.index(name) + 1) if name in hierarchy.classes else None


ABSENT: Mapping[Absence, str] = {"": "no partner", "pruned": "pruned", "new": "not there yet"}
_REASONS: Mapping[Absence, str] = {
    "": "has no partner here",
    "pruned": "was pruned between the two snapshots",
    "new": "came with a new layer between the two snapshots",
}


def _seat_pairs(comparison: Comparison, request: CompareCut) -> tuple[_Seats, dict[int, int]]:
    """Return the seats of the pairs reached from the roots, and how many topics of each layer are left out."""
    roots = pair_roots(comparison, request)
    pairs: set[Pair] = set()
    left_out: dict[int, int] = {}
    for side in SIDES:
        part, n_left_out = cut_tree(
            comparison.hierarchy(side), TreeChoice(roots[side], request.threshold, cap=request.cap, light=True)
        )
        pairs |= {pair for node in part.nodes if (pair := comparison.pair(side, node))}
        left_out = {
            layer: max(left_out.get(layer, 0), n_left_out.get(layer, 0))
            for layer in left_out.keys() | n_left_out.keys()
        }
    seats: dict[Node, Pair] = {}
    by_side: dict[Side, dict[Node, Node]] = {"a": {}, "b": {}}
    for place, pair in enumerate(comparison.pairs):
        if pair in pairs:
            seat = Node(pair.layer, place)
            seats[seat] = pair
            for side in SIDES:
                node = pair.on(side)
                if node is not None:
                    by_side[side][node] = seat
    return _Seats(seats, by_side), left_out


def pair_roots(comparison: Comparison, request: CompareCut) -> dict[Side, tuple[Node, ...]]:
    """Return the roots of each side: its own, and the partners of the roots of the other side."""
    own: dict[Side, tuple[Node, ...]] = {"a": request.roots_a, "b": request.roots_b}
    roots: dict[Side, tuple[Node, ...]] = {}
    for side in SIDES:
        partners = (comparison.partner(get_other_side(side), node) for node in own[get_other_side(side)])
        candidates = (*own[side], *(node for node in partners if node is not None))
        roots[side] = tuple(dict.fromkeys(node for node in candidates if comparison.hierarchy(side).has(node)))
    return roots


def _join_boxes(seat: Node, pair: Pair, contents: Mapping[Side, Mapping[Node, TopicBox]]) -> TopicBox:
    """Return a box at the seat of a pair that is large enough for the boxes of both sides."""
    boxes = [contents[side][node] for side in SIDES if (node := pair.on(side)) is not None]
    largest = max(boxes, key=lambda box: box.width)  # its picture fills the place if topics are pictures
    return largest._replace(node=seat, height=max(box.height for box in boxes))


def _fit_box(own: TopicBox, place: TopicBox) -> TopicBox:
    """Return the box and picture of a topic, resized to its place in the joint picture."""
    picture = own.picture and place.picture and place.picture._replace(uri=own.picture.uri)
    return own._replace(width=place.width, height=place.height, picture=picture)


def _find_ends(seats: _Seats, change: EdgeChange) -> tuple[Node, Node] | None:
    """Return the seats of the parent and the child of an edge; None if either is not shown."""
    side: Side = "b" if change.b is not None and change.kind != "lost" else "a"
    edge = change.b if side == "b" else change.a
    if edge is None:
        return None
    above, below = seats.of[side].get(edge.above), seats.of[side].get(edge.below)
    return None if above is None or below is None else (above, below)


def _join_edge(seats: _Seats, change: EdgeChange) -> Edge:
    above, below = _find_ends(seats, change) or (Node(0, 0), Node(0, 0))
    weight = max(edge.size for edge in (change.a, change.b) if edge is not None)
    return Edge(above.layer, above.column, below.column, weight)


def _draw_half(
    comparison: Comparison,
    side: Side,
    seats: _Seats,
    picture: tuple[Mapping[Node, TopicBox], Mapping[Node, TopicBox], TreeLayout],
    changes: Sequence[EdgeChange],
    look: TreeLook,
) -> str:
    """Draw the tree of one side, with its topics and edges at their places in the joint picture."""
    own_boxes, joint_boxes, layout = picture
    hierarchy, own_seats = comparison.hierarchy(side), seats.of[side]
    sized = {node: _fit_box(own_boxes[node], joint_boxes[seat]) for node, seat in own_seats.items()}
    paths = {(curve.edge.above, curve.edge.below): curve.path for curve in layout.curves}
    curves, strokes = [], {}
    for change in changes:
        edge, ends = (change.a if side == "a" else change.b), _find_ends(seats, change)
        if edge is None or ends is None or change.kind == ("gained" if side == "a" else "lost"):
            continue
        curve = Curve(edge, paths[ends], max(0.9, 9.0 * edge.size**0.5))
        curves.append(curve)
        strokes[edge.above, edge.below] = EdgeStroke(
            choose_edge_colour(look.theme, change.kind), choose_dashes(change.kind, curve.width), WORDS[change.kind]
        )
    places = {node: layout.places[seat] for node, seat in own_seats.items()}
    bands = tuple(
        band._replace(shown=sum(node.layer == band.layer for node in own_seats))
        for band in layout.bands
        if band.layer <= hierarchy.n_layers
    )
    part = Subnetwork((), tuple(own_seats), tuple(curve.edge for curve in curves), {})
    twins = {
        node: format_identity(partner) for node in own_seats if (partner := comparison.partner(side, node)) is not None
    }
    scene = TreeScene(hierarchy, part, sized, layout._replace(places=places, curves=tuple(curves), bands=bands))
    return draw_tree_svg(scene, look._replace(strokes=strokes, twins=twins))


def choose_edge_colour(theme: PictureTheme, kind: Kind) -> str:
    """Return the colour of a kind of edge."""
    return theme.changes[KINDS.index(kind)]


def choose_dashes(kind: Kind, width: float) -> str:
    """Return the dash pattern of a kind of edge; gaps grow with the width, as round line ends would close them."""
    gap = 4 + 1.25 * width
    patterns: dict[Kind, str] = {
        "gained": f"{8 + 1.5 * width:.1f} {gap:.1f}",
        "lost": f"0.1 {gap:.1f}",
        "weaker": f"{8 + width:.1f} {gap:.1f} 0.1 {gap:.1f}",
    }
    return patterns.get(kind, "")


def _mark_words(comparison: Comparison, side: Side, seats: _Seats, theme: PictureTheme) -> dict[Node, WordMarking]:
    """Return the words to mark in each topic: those that left for A, those that entered for B."""
    kind: Kind = "lost" if side == "a" else "gained"
    markings = {}
    for pair in seats.pairs.values():
        node, change = pair.on(side), comparison.words(pair)
        words, line = (change.left, "line-through") if side == "a" else (change.entered, "underline")
        if node is not None and words:
            shortened = {shorten(word, LONGEST) for word in words}
            markings[node] = WordMarking(frozenset(shortened.union(words)), choose_edge_colour(theme, kind), line)
    return markings


def _draw_absent(
    comparison: Comparison,
    side: Side,
    seats: _Seats,
    places: tuple[Mapping[Node, TopicBox], TreeLayout],
    theme: PictureTheme,
) -> str:
    """Draw dashed empty boxes for topics that only the other side has, with the reason."""
    joint_boxes, layout = places
    pieces, other = [], get_other_side(side)
    for seat, pair in seats.pairs.items():
        counterpart = pair.on(other)
        if pair.on(side) is None and counterpart is not None:
            place, box = layout.places[seat], joint_boxes[seat]
            absence = comparison.find_absence(pair)
            topic = f"topic {format_identity(counterpart)} of {other.upper()}"
            title = escape(f"{topic} {_REASONS[absence]}")
            text = _write_absence(ABSENT[absence], (place.x, place.y), box, theme)
            pieces.append(
                f'<g class="cm-pruned-line" fill="none"><title>{title}</title>'
                f'<rect x="{place.x:.1f}" y="{place.y:.1f}" '
                f'width="{box.width:.1f}" height="{box.height:.1f}" rx="7" stroke="{theme.muted}" stroke-opacity=".6" '
                f'stroke-width="1.3" stroke-dasharray="4 5"/>{text}</g>'
            )
    return "".join(pieces)


def _write_absence(text: str, corner: tuple[float, float], box: TopicBox, theme: PictureTheme) -> str:
    """Return the words in the place of a missing topic, on the page for each zoom level."""
    middle = corner[0] + box.width / 2, corner[1] + box.height / 2
    if theme is not LIVE:
        return draw_centred((text,), middle, 12.0, theme.muted, "cm-absent")
    levels = []
    for level, magnification in enumerate(LEVELS):
        size = GIST_SIZE * SMALLEST * magnification
        lines = fit_lines(text, (box.width - PADDING) / size, max(1, int(box.height / (GIST_LEADING * size))))
        words = draw_centred(tuple(lines), middle, size, theme.muted, "cm-absent")
        levels.append(f'<g class="tp-level tp-level-{level}">{words}</g>')
    return "".join(levels)


_TITLE, _SMALL, _LEGEND = 17.0, 11.0, 12.0  # font sizes
_HEAD, _FOOT = 40.0, 58.0  # heights above and below the trees
_SAMPLE, _SWATCH = 40.0, 24.0  # lengths of a line and of a tint in the legend
_MARKED: tuple[tuple[Kind, str, str], ...] = (("lost", "line-through", "left"), ("gained", "underline", "entered"))


class ComparePicture(NamedTuple):
    """A finished picture: its SVG text and its size."""

    svg: str
    width: float
    height: float


def choose_first_cut(comparison: Comparison, threshold: float, cap: int) -> CompareCut:
    """Return the cut to show before the user chooses one: the most popular topics of each side and their partners."""
    return CompareCut(
        choose_first_roots(comparison.a, threshold), choose_first_roots(comparison.b, threshold), threshold, cap
    )


def draw_compare_picture(
    comparison: Comparison,
    changes: Sequence[EdgeChange],
    request: CompareCut,
    *,
    aspect: float = WIDE / 2,
    previous: Mapping[int, Sequence[Node]] | None = None,
) -> ComparePicture:
    """Draw the trees of the page for print.

    Parameters
    ----------
    changes : sequence of EdgeChange
        `find_edge_changes` at the threshold of ``request``.
    aspect : float
        Width / height of one tree.
    previous : mapping, optional
        ``order`` of the picture on the page, which this picture keeps.
    """
    trees = draw_trees(comparison, changes, request, aspect=aspect, previous=previous, theme=LIGHT)
    captions: dict[Side, str] = {side: _draw_captions(comparison, side, request) for side in SIDES}
    half = math.ceil(max(trees.size[0], *(measure_text(text) * _SMALL + 2 * MARGIN for text in captions.values())))
    bottom = _HEAD + trees.size[1] + CAPTION
    legend, right = _draw_legend(trees.changes, bottom + 32, words=not comparison.b.has_pictures)
    tints, tints_right = _draw_tint_legend(comparison, request, (right, bottom + 32))
    right = max(right, tints_right)
    width, height = max(2 * half, right), bottom + _FOOT
    pieces = [_draw_picture_head(comparison, width, height)]
    sides: tuple[tuple[Side, float, str], ...] = (("a", 0.0, trees.a), ("b", half, trees.b))
    for side, left, tree in sides:
        hierarchy = comparison.hierarchy(side)
        title = f"{side.upper()} · run {hierarchy.run}, {hierarchy.moment}"
        pieces.append(draw_text(left + MARGIN, 27, _TITLE, LIGHT.ink, title, ' font-weight="700"'))
        pieces.append(f'<g transform="translate({left:.1f} {_HEAD})">{tree}</g>')
        pieces.append(draw_text(left + MARGIN, bottom - 6, _SMALL, LIGHT.muted, captions[side]))
    return ComparePicture("".join([*pieces, legend, tints, "</svg>\n"]), width, height)


def _draw_picture_head(comparison: Comparison, width: float, height: float) -> str:
    box = f'viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {box} role="img" font-family="{FONT}">'
        f"<title>Topic trees of run {comparison.a.run} (A) and run {comparison.b.run} (B)</title>"
        f'<rect width="100%" height="100%" fill="{LIGHT.paper}"/>'
    )


def _draw_captions(comparison: Comparison, side: Side, request: CompareCut) -> str:
    roots = request.roots_a if side == "a" else request.roots_b
    opinion = find_overlay(comparison, side, request.label)
    return write_caption(
        comparison.hierarchy(side),
        TreeChoice(roots, request.threshold, label=opinion.label + 1 if opinion is not None else 0),
    )


def _draw_legend(changes: Sequence[EdgeChange], y: float, *, words: bool) -> tuple[str, float]:
    """Return the legend of the edges and the marked words, and the x coordinate of its right end."""
    counts = count_kinds(changes)
    x, pieces = MARGIN, []
    for kind in KINDS:
        text = f"{WORDS[kind]} ({counts[kind]})"
        pieces += [_draw_sample(kind, x, y - 4), draw_text(x + _SAMPLE + 8, y, _LEGEND, LIGHT.ink, text)]
        x += _SAMPLE + 26 + _LEGEND * measure_text(text)
    for kind, line, text in _MARKED if words else ():
        look = f' font-weight="600" text-decoration="{line}"'
        pieces.append(draw_text(x, y, _LEGEND, choose_edge_colour(LIGHT, kind), "word", look))
        pieces.append(draw_text(x + 36, y, _LEGEND, LIGHT.ink, text))
        x += 54 + _LEGEND * measure_text(text)
    return f"<g>{''.join(pieces)}</g>", x


def _draw_tint_legend(comparison: Comparison, request: CompareCut, at: tuple[float, float]) -> tuple[str, float]:
    """Return the legend of the box tints, drawn at ``at``, and the x of its right end; empty without a class."""
    overlays = [each for side in SIDES if (each := find_overlay(comparison, side, request.label)) is not None]
    if not overlays:
        return "", at[0]
    (x, y), pieces, name = at, [], shorten(overlays[-1].name, 40)
    for colour, text in ((LIGHT.speaks, f"speaks for {name}"), (LIGHT.denies, f"speaks against {name}")):
        place = f'x="{x:.1f}" y="{y - 12:.1f}" width="{_SWATCH}" height="16" rx="4"'
        tint = f'fill="{colour}" fill-opacity="{TINT}" stroke="{colour}" stroke-width="1.4"'
        pieces += [f"<rect {place} {tint}/>", draw_text(x + _SWATCH + 8, y, _LEGEND, LIGHT.ink, text)]
        x += _SWATCH + 26 + _LEGEND * measure_text(text)
    return f'<g data-legend="class">{"".join(pieces)}</g>', x


def _draw_sample(kind: Kind, x: float, y: float) -> str:
    width = 4.5 if kind == "stronger" else 2.6
    pattern = choose_dashes(kind, width)
    dash = f' stroke-dasharray="{pattern}"' if pattern else ""
    return (
        f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{x + _SAMPLE:.1f}" y2="{y:.1f}" stroke-linecap="round" '
        f'stroke="{choose_edge_colour(LIGHT, kind)}" stroke-width="{width}"{dash}/>'
    )
