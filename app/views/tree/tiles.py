"""The first view of a hierarchy: each topic of the top layer is a tile, and in it are the topics it is made of.

The area of a tile is the topic's share, and that of a child in it the parent's share times the child's part of the
parent; so the tiles of a child that has several parents add up to its own share.  Tiles stand in rows, largest first.
"""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache, lru_cache, partial
from itertools import accumulate, combinations, pairwise
from typing import NamedTuple

from topiary.app.analysis.hierarchy import BACKGROUND, Hierarchy, format_identity
from topiary.app.names import plural
from topiary.app.views.text import BOLD, escape, fit_lines, format_percent, measure_text, wrap_words
from topiary.app.views.theme import LIVE, PictureTheme, find_layer_colour
from topiary.app.views.tree.tree_svg import FONT, draw_text
from topiary.engine.hierarchy.tree import Node

SMALLEST = 12.0  # size of letters of shares and words
LEAST_TOP, LEAST_CHILD = (
    4000.0,
    1500.0,
)  # areas of tiles in square pixels; smaller ones are counted in a place of their own
MOST_DRAWN = 60  # topics of the top layer, and children of one
_IDEAL = 1.75  # width / height of a tile
_LONGEST_ROW = 24
_GAP, _CHILD_GAP, _PADDING = 3.0, 1.5, 7.0  # around a tile, around a child's, and within both
_LEADING = 1.2
_BAR = 28.0  # height of the row of topics that are set apart
_TITLE = 12.5  # size of the letters of the smallest titles
_TOP_SIZES = ((40_000.0, 20.0), (15_000.0, 14.0), (0.0, _TITLE))  # least area, and size of the letters of the title
_CHILD_SIZES = ((30_000.0, 16.0), (0.0, _TITLE))
_LEAST_PART = 0.03  # of a child: parents with less of it are not joined by a line
_NUMBERS = ("One", "Two", "Three", "Four")
_DARKEST = 0.5  # part of a parent from which the tint of a child is the deepest


class Rectangle(NamedTuple):
    """A place in the picture, in pixels."""

    x: float
    y: float
    width: float
    height: float

    def shrink(self, by: float) -> "Rectangle":
        """Return the rectangle without a margin."""
        return Rectangle(self.x + by, self.y + by, max(0.0, self.width - 2 * by), max(0.0, self.height - 2 * by))


class TileRows(NamedTuple):
    """The order of the topics of the top layer that are drawn, and the number of places in each row."""

    nodes: tuple[Node, ...]
    rows: tuple[int, ...]


class TilesChoice(NamedTuple):
    """The choices for the tiles.

    Attributes
    ----------
    size : (width, height)
        Of the picture, in pixels.
    apart : collection of Node
        Topics of the top layer that stand in a bar at the foot, so that the others have the whole area.
    previous : TileRows or None
        The rows of the picture before: they are kept while every title has room in them.
    links : mapping of Node to str
        The addresses to which the tiles of these topics lead, in a file.
    """

    size: tuple[float, float]
    apart: Collection[Node] = ()
    previous: TileRows | None = None
    links: Mapping[Node, str] = {}


class TilesDrawing(NamedTuple):
    """The picture as one SVG element, its size, its rows, and the number of top topics that are not drawn."""

    svg: str
    size: tuple[float, float]
    rows: TileRows
    left_out: int


class _Label(NamedTuple):
    """The title of a tile, broken into lines that have room, and where its share stands."""

    lines: tuple[str, ...]
    size: float
    share: str
    is_beside: bool

    @property
    def height(self) -> float:
        """Height of title and share."""
        share = 0.0 if self.is_beside or not self.share else _LEADING * SMALLEST
        return _PADDING + _LEADING * self.size * len(self.lines) + share


# ------------------------------------------------------------------ places


def divide_into_rows(
    areas: Sequence[float], width: float, fits: Callable[[int, float, float], bool]
) -> tuple[int, ...]:
    """Return the number of items in each row: of all ways to cut the ordered items, that with the best shapes.

    Parameters
    ----------
    areas : sequence of float
        The area of every item; an item is as high as its row.
    width : float
        The width of every row.
    fits : (item, width, height) -> bool
        Whether an item can be read in such a place; a way in which more can be read is always better.
    """
    sums = [0.0, *accumulate(areas)]
    unread = 10.0 * sums[-1] ** 0.75  # what an item that cannot be read costs
    best, cuts = [0.0] + [math.inf] * len(areas), [0] * (len(areas) + 1)
    for end in range(1, len(areas) + 1):
        ways = []
        for start in range(max(0, end - _LONGEST_ROW), end):
            height = max((sums[end] - sums[start]) / width, 1e-9)
            shapes = sum(_judge_shape(area, height) for area in areas[start:end])
            ways.append((best[start] + shapes, start, height))
        for least, start, height in sorted(ways):  # finding out what fits takes long, so it is asked of few
            cost = least
            for item in range(start, end):
                if cost >= best[end]:
                    break
                cost += 0.0 if fits(item, areas[item] / height, height) else unread
            if cost < best[end]:
                best[end], cuts[end] = cost, start
    rows, end = [], len(areas)
    while end:
        rows.append(end - cuts[end])
        end = cuts[end]
    return tuple(reversed(rows))


def _judge_shape(area: float, height: float) -> float:
    """Return what the shape of an item costs; large items count more."""
    return area**0.75 * abs(math.log(max(area / height, 1e-9) / height / _IDEAL)) ** 1.5


def place_rows(areas: Sequence[float], rows: Sequence[int], frame: Rectangle) -> list[Rectangle]:
    """Return the place of every item in rows of the given lengths; all together fill the frame."""
    places, start, y = [], 0, frame.y
    scale = frame.width * frame.height / max(sum(areas), 1e-9)
    for length in rows:
        row = [scale * area for area in areas[start : start + length]]
        height, x = sum(row) / frame.width, frame.x
        for area in row:
            places.append(Rectangle(x, y, area / max(height, 1e-9), height))
            x += area / max(height, 1e-9)
        start, y = start + length, y + height
    return places


# -------------------------------------------------------------- the picture


def draw_tiles(hierarchy: Hierarchy, choice: TilesChoice, *, theme: PictureTheme = LIVE) -> TilesDrawing:
    """Draw the topics of the top layer with their children; a theme other than `LIVE` needs no style sheet."""
    (width, height), apart = choice.size, choice.apart
    tops = [node for node in hierarchy.nodes(hierarchy.n_layers) if node not in apart]
    bar = _BAR if len(tops) < hierarchy.widths[-1] else 0.0
    frame = Rectangle(0.0, 0.0, width, height - bar)
    picture = _TilePicture(hierarchy, theme, choice.links)
    rows, places = picture.place_tops(tops, frame, choice.previous)
    pieces = [picture.draw_top(node, place) for node, place in zip(rows.nodes, places, strict=False)]
    left_out = [node for node in tops if node not in rows.nodes]
    if left_out:
        pieces.append(picture.draw_rest(places[-1], len(left_out), sum(map(hierarchy.share, left_out))))
    if bar:
        gone = [node for node in hierarchy.nodes(hierarchy.n_layers) if node in apart]
        pieces.append(picture.draw_apart(gone, Rectangle(0.0, height - bar, width, bar)))
    box = f'xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" class="tp-tiles"'
    name = f'aria-label="{plural(len(rows.nodes), "topic")} of the top layer and what they are made of"'
    if theme is not LIVE:
        role = "group" if choice.links else "img"
        box += f' width="{width:.0f}" height="{height:.0f}" font-family="{FONT}" role="{role}"'
    ground = "" if theme is LIVE else f'<rect width="100%" height="100%" fill="{theme.paper}"/>'
    hatch = (
        '<defs><pattern id="tp-hatch" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
        f'<rect width="1.6" height="7" fill="{theme.muted}" opacity=".32"/></pattern></defs>'
    )
    svg = f"<svg {box} {name}>{ground}{hatch}{''.join(pieces)}</svg>"
    return TilesDrawing(svg, choice.size, rows, len(left_out))


class _TilePicture:
    """Draws the tiles of one picture.

    Parameters
    ----------
    hierarchy : Hierarchy
    theme : PictureTheme
    links : mapping of Node to str
        The addresses to which tiles lead.
    """

    def __init__(self, hierarchy: Hierarchy, theme: PictureTheme, links: Mapping[Node, str]) -> None:
        self._hierarchy = hierarchy
        self._theme = theme
        self._links = links
        self._ink, self._muted = theme.ink, theme.muted
        self._title = cache(hierarchy.title)
        self._share = cache(lambda node: format_percent(hierarchy.share(node)))

    # ---------------------------------------------------------- top layer

    def place_tops(
        self, tops: Sequence[Node], frame: Rectangle, previous: TileRows | None
    ) -> tuple[TileRows, list[Rectangle]]:
        """Return the rows of the topics that are drawn, and their places; the last is that of the others, if any."""
        shares = {node: max(self._hierarchy.share(node), 1e-9) for node in tops}
        scale = frame.width * frame.height / max(sum(shares.values()), 1e-9)
        drawn = [node for node in tops if scale * shares[node] >= LEAST_TOP][:MOST_DRAWN] or list(tops[:1])
        areas = [scale * shares[node] for node in drawn]
        rest = scale * sum(shares.values()) - sum(areas)
        every = [*areas, rest] if rest > 1 else areas
        if previous is not None and {*previous.nodes} == {*drawn}:
            kept = [scale * shares[node] for node in previous.nodes]
            is_ordered = all(after <= 1.25 * before for before, after in pairwise(kept))
            kept = [*kept, rest] if rest > 1 else kept
            if is_ordered and sum(previous.rows) == len(kept):
                places = place_rows(kept, previous.rows, frame)
                if all(self._top_fits(previous.nodes, item, *place[2:]) for item, place in enumerate(places)):
                    return previous, places
        rows = divide_into_rows(every, frame.width, partial(self._top_fits, drawn))
        return TileRows(tuple(drawn), rows), place_rows(every, rows, frame)

    def _top_fits(self, drawn: Sequence[Node], item: int, width: float, height: float) -> bool:
        if item == len(drawn):  # the place of the others
            return width >= 60 and height >= 30
        return self._find_label(drawn[item], width - 2 * _GAP, height - 2 * _GAP, _TOP_SIZES) is not None

    def draw_top(self, node: Node, place: Rectangle) -> str:
        """Return the tile of a topic of the top layer, with its children."""
        hierarchy, theme = self._hierarchy, self._theme
        outer = place.shrink(_GAP)
        place = Rectangle(0.0, 0.0, outer.width, outer.height)
        label = self._find_label(node, place.width, place.height, _TOP_SIZES) or self._cut_label(node, place)
        colour = find_layer_colour(theme, node.layer)
        is_background = hierarchy.role(node) == BACKGROUND
        fill = f'fill="{colour}" fill-opacity=".07" stroke="{colour}" stroke-opacity=".65"'
        pieces = [_draw_rect(place, f'rx="8" class="tp-box" {fill}')]
        if is_background:
            pieces.append(_draw_rect(place, 'rx="8" fill="url(#tp-hatch)" class="tp-hatched"'))
        pieces.append(self._draw_label(label, place, is_serif=label.size >= _TOP_SIZES[0][1]))
        within = Rectangle(outer.x + 4, outer.y + label.height + 3, outer.width - 8, outer.height - label.height - 7)
        return self._draw_tile(node, outer, pieces) + "".join(self._draw_children(node, within))

    # ----------------------------------------------------------- children

    def _draw_children(self, parent: Node, frame: Rectangle) -> list[str]:
        """Return the tiles of a topic's children, with a place that counts those that have no room."""
        if parent.layer == 1 or frame.width < 48 or frame.height < 24:
            return []
        hierarchy = self._hierarchy
        children = [(each.node, abs(each.weight)) for each in hierarchy.children(parent, hierarchy.widths[-2])]
        total = sum(part for _, part in children)
        if total <= 0:
            return []
        parts = {node: part / total for node, part in children if part > 0}
        scale = frame.width * frame.height
        drawn = [node for node in parts if scale * parts[node] >= LEAST_CHILD][:MOST_DRAWN]
        while True:
            rest = 1.0 - sum(parts[node] for node in drawn)
            areas = [scale * parts[node] for node in drawn] + ([scale * rest] if len(drawn) < len(parts) else [])
            rows = divide_into_rows(areas, frame.width, partial(self._child_fits, drawn))
            places = place_rows(areas, rows, frame)
            bad = [
                item
                for item, place in enumerate(places[: len(drawn)])
                if not self._child_fits(drawn, item, place.width, place.height)
            ]
            if not bad:
                break
            drawn = drawn[:-1]
        pieces = [
            self._draw_child(node, parent, parts[node], place) for node, place in zip(drawn, places, strict=False)
        ]
        if len(drawn) < len(parts):
            share = rest * hierarchy.share(parent)
            pieces.append(self.draw_rest(places[-1], len(parts) - len(drawn), share, parent))
        return pieces

    def _child_fits(self, drawn: Sequence[Node], item: int, width: float, height: float) -> bool:
        if item == len(drawn):
            return width >= 34 and height >= 20
        across, down = width - 2 * _CHILD_GAP, height - 2 * _CHILD_GAP
        return self._find_label(drawn[item], across, down, _CHILD_SIZES) is not None

    def _draw_child(self, node: Node, parent: Node, part: float, place: Rectangle) -> str:
        hierarchy, theme = self._hierarchy, self._theme
        outer = place.shrink(_CHILD_GAP)
        place = Rectangle(0.0, 0.0, outer.width, outer.height)
        share = format_percent(part * hierarchy.share(parent))
        label = self._find_label(node, place.width, place.height, _CHILD_SIZES, share) or self._cut_label(node, place)
        colour = find_layer_colour(theme, node.layer)
        tint = 0.1 + 0.22 * min(1.0, part / _DARKEST)
        pieces = [_draw_rect(place, f'rx="5" class="tp-box" fill="{colour}" fill-opacity="{tint:.2f}"')]
        pieces.append(self._draw_label(label, place))
        pieces.append(self._draw_other_words(node, label, place))
        return self._draw_tile(node, outer, pieces, parent)

    def _draw_tile(self, node: Node, place: Rectangle, pieces: Sequence[str], parent: Node | None = None) -> str:
        """Return a tile whose pieces are drawn from its upper left corner."""
        corner = f'transform="translate({place.x:.1f} {place.y:.1f})"'
        tile = f"<g {corner}{self._write_roles(node, parent)}>{''.join(pieces)}</g>"
        return f'<a href="{escape(self._links[node])}">{tile}</a>' if node in self._links else tile

    def _draw_other_words(self, node: Node, label: _Label, place: Rectangle) -> str:
        """Return further words of a large tile, in whole lines only."""
        if label.size < _CHILD_SIZES[0][1]:
            return ""
        top = place.y + label.height + 4
        lines = int((place.y + place.height - top - 4) / (1.4 * SMALLEST))
        wrapped = wrap_words(self._hierarchy.other_words(node, 9), (place.width - 2 * _PADDING) / SMALLEST)
        return "".join(
            draw_text(place.x + _PADDING, top + (1.4 * row + 1) * SMALLEST, SMALLEST, self._muted, line)
            for row, line in enumerate(wrapped[: max(0, min(3, lines))])
        )

    # -------------------------------------------------------- other places

    def draw_rest(self, place: Rectangle, count: int, share: float, parent: Node | None = None) -> str:
        """Return the dashed place of topics that are not drawn: their number, and their share if there is room.

        A click on it opens the list of topics, or selects the parent, whose panel lists its children.
        """
        place = place.shrink(_CHILD_GAP)
        amount = format_percent(share)
        longest = f"{count} more, {amount}" if parent else f"{plural(count, 'smaller topic')}, {amount}: open as a list"
        texts = (longest, f"{count} more", f"+{count}")
        room = (place.width - 10) / SMALLEST
        text = next((text for text in texts if measure_text(text) <= room), "") if place.height >= 18 else ""
        tip = escape(f"{plural(count, 'smaller topic')}: {amount} of all words")
        shape = _draw_rect(
            place, f'rx="5" fill="none" stroke="{self._muted}" stroke-opacity=".5" stroke-dasharray="3 3"'
        )
        words = draw_text(place.x + 6, place.y + 15, SMALLEST, self._muted, text) if text else ""
        of = f' data-of="{format_identity(parent)}"' if parent else ""
        live = f' class="tp-rest"{of} data-tip="{tip}"' if self._theme is LIVE else ""
        return f"<g{live}>{shape}{words}</g>"

    def draw_apart(self, nodes: Sequence[Node], place: Rectangle) -> str:
        """Return the bar of the topics that are set apart, each with its share."""
        pieces, x = [], place.x + _GAP
        for node in nodes:
            text = f"{self._title(node)}, {self._share(node)} set apart"
            width = min(BOLD * _TITLE * measure_text(text) + 2 * _PADDING, place.x + place.width - x - _GAP)
            box = Rectangle(0.0, 0.0, width, place.height - 5)
            lines = fit_lines(text, (width - 2 * _PADDING) / _TITLE / BOLD, 1)
            if width < 60 or not lines:
                break
            rect = _draw_rect(box, f'rx="5" class="tp-box" fill="url(#tp-hatch)" stroke="{self._muted}"')
            words = draw_text(_PADDING, 17, _TITLE, self._ink, lines[0])
            pieces.append(self._draw_tile(node, box._replace(x=x, y=place.y + 4), [rect, words]))
            x += width + 2 * _GAP
        return "".join(pieces)

    # -------------------------------------------------------------- labels

    def _find_label(
        self, node: Node, width: float, height: float, sizes: Sequence[tuple[float, float]], share: str = ""
    ) -> _Label | None:
        """Return the title of a tile with its share if that has room; None if the title has none."""
        if min(width, height) <= 0:
            return None
        size = next(size for least, size in sizes if width * height >= least)
        share = share or self._share(node)
        room, title = width - 2 * _PADDING, self._title(node)
        beside = room - SMALLEST * measure_text(share) - 10
        for is_beside in (True, False):
            across = beside if is_beside else room
            if across <= 0:
                continue
            lines = _break_title(title, across / size / BOLD, 1 if is_beside else 3)
            if lines is None:
                continue
            label = _Label(lines, size, share, is_beside)
            if label.height + 3 <= height:
                return label
            if not is_beside and label._replace(share="").height + 3 <= height:
                return label._replace(share="")
        return None

    def _cut_label(self, node: Node, place: Rectangle) -> _Label:
        """Return a title that is cut at its end, for a tile that is too small for all of it."""
        width = (place.width - 2 * _PADDING) / _TITLE / BOLD
        lines = int(max(1.0, (place.height - _PADDING) / (_LEADING * _TITLE)))
        return _Label(tuple(fit_lines(self._title(node), width, lines)), _TITLE, "", is_beside=False)

    def _draw_label(self, label: _Label, place: Rectangle, *, is_serif: bool = False) -> str:
        x, y = place.x + _PADDING, place.y + _PADDING + 0.82 * label.size
        serif = ' class="tp-serif"' if is_serif else ""
        pieces = [
            draw_text(x, y + _LEADING * label.size * row, label.size, self._ink, line, f' font-weight="600"{serif}')
            for row, line in enumerate(label.lines)
        ]
        if label.share and label.is_beside:
            end = place.x + place.width - _PADDING
            pieces.append(draw_text(end, y, SMALLEST, self._muted, label.share, ' text-anchor="end"'))
        elif label.share:
            down = y + _LEADING * label.size * (len(label.lines) - 1) + _LEADING * SMALLEST + 2
            pieces.append(draw_text(x, down, SMALLEST, self._muted, label.share))
        return "".join(pieces)

    # --------------------------------------------------------------- roles

    def _write_roles(self, node: Node, parent: Node | None) -> str:
        """Return the attributes of a tile for screen readers, the tooltip, and the lines between a child's tiles."""
        if self._theme is not LIVE:
            return ""
        hierarchy, identity = self._hierarchy, format_identity(node)
        words = ", ".join(word.text for word in hierarchy.top_words(node, 8))
        head = f"topic {identity}, {self._share(node)} of all words"
        within = f' data-in="{format_identity(parent)}" data-parents="{self._list_parts(node)}"' if parent else ""
        level = 1 + hierarchy.n_layers - node.layer
        title = self._title(node)
        return (
            f' class="tp-node tp-tile" data-id="{identity}" role="treeitem" tabindex="-1" aria-level="{level}"'
            f' aria-selected="false"{within} aria-label="{escape(f"{title}: {head}. {words}")}"'
            f' data-tip="{escape(title)}&#10;{escape(head)}&#10;{escape(words)}"'
        )

    def _list_parts(self, node: Node) -> str:
        """Return the parents of a child with the part of its words that is in each: ``L3:1=38 L3:4=22``."""
        kept = [each for each in self._hierarchy.belongs(node) if each.weight >= _LEAST_PART]
        return " ".join(f"{format_identity(each.node)}={100 * each.weight:.0f}" for each in kept)


def _break_title(title: str, width: float, most: int) -> tuple[str, ...] | None:
    """Return the lines of a whole title; None if it needs more lines, or a wider one."""
    return tuple(wrap_words(title.split(), width)) if _measure_breaks(title)[most - 1] <= width else None


@lru_cache(maxsize=65536)
def _measure_breaks(title: str) -> tuple[float, ...]:
    """Return the narrowest widths, in ems, in which a title has room on one line, on two lines and on three."""
    words, narrowest = title.split(), [measure_text(" ".join(title.split()))]
    for n_cuts in (1, 2):
        ways = (pairwise((0, *cuts, len(words))) for cuts in combinations(range(1, len(words)), n_cuts))
        widths = (max(measure_text(" ".join(words[begin:end])) for begin, end in way) for way in ways)
        narrowest.append(min(narrowest[-1], *widths, math.inf))
    return tuple(narrowest)


def _draw_rect(place: Rectangle, attributes: str) -> str:
    x, y, width, height = place
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" {attributes}/>'


def describe_shares(hierarchy: Hierarchy) -> str:
    """Return one sentence about the top layer: the topics that hold half of all words, and how many share the rest."""
    nodes = [node for node in hierarchy.nodes(hierarchy.n_layers) if hierarchy.share(node) > 0]
    sums = list(accumulate(map(hierarchy.share, nodes)))
    half = next((number for number, share in enumerate(sums, start=1) if share >= 0.5), len(nodes))
    titles, rest = [hierarchy.title(node) for node in nodes[:half]], len(nodes) - half
    if half > len(_NUMBERS) or not nodes:
        largest = f"; the largest, {titles[0]}, holds {format_percent(sums[0])}" if nodes else ""
        return f"{plural(len(nodes), 'topic')} share the words{largest}."
    named = titles[0] if half == 1 else f"{'; '.join(titles[:-1])} and {titles[-1]}"
    others = f"; {rest:,} more {'shares' if rest == 1 else 'share'} the rest" if rest else ""
    topics = f"{_NUMBERS[half - 1]} {'topic holds' if half == 1 else 'topics hold'}"
    return f"{topics} {format_percent(sums[half - 1])} of all words: {named}{others}."
