"""What changed in the trees: topics whose parents changed, between their parents in A and in B."""

from collections.abc import Sequence
from typing import NamedTuple

from topiary.app.analysis.comparison import SIDES, Comparison, Pair, Side
from topiary.app.analysis.hierarchy import Hierarchy, format_identity
from topiary.app.views.html import render
from topiary.app.views.markup import write_element
from topiary.app.views.text import escape, fit_lines, format_percent
from topiary.engine.hierarchy.tree import Node

MOST = 8  # topics drawn
_CHANGED = 0.5  # part of its parents above which a topic is said to have others
_LINE = 0.15  # part of a topic from which the line of a parent is drawn
_WIDTH, _ROW, _BOX, _HEAD = 1340.0, 33.0, 30.0, 34.0
_PARENT, _CHILD = 244.0, 270.0  # widths of boxes
_LETTERS, _THICK = 13.0, 9.0  # size of titles, and the width of the line of a whole topic


class MovedTopic(NamedTuple):
    """A topic whose parents changed.

    Attributes
    ----------
    pair : Pair
        The topic in A and in B.
    changed : float
        The part of its parents that is others in B, from 0 to 1.
    before, after : mapping of Node to float
        The part of it that is of each parent, in A and in B.
    """

    pair: Pair
    changed: float
    before: dict[Node, float]
    after: dict[Node, float]


class MovedLine(NamedTuple):
    """The line from a parent to a topic on one side; ``kind`` is "left", "came" or "stayed"."""

    side: Side
    parent: Node
    part: float
    kind: str


def find_moved(comparison: Comparison, layer: int) -> list[MovedTopic]:
    """Return the topics of a layer that have a partner, those whose parents changed most first."""
    moved = []
    for pair in comparison.pairs:
        if pair.layer != layer or pair.a is None or pair.b is None:
            continue
        before, after = _divide(comparison.a, pair.a), _divide(comparison.b, pair.b)
        if not before or not after:
            continue
        partners = {comparison.partner("a", node): part for node, part in before.items()}
        kept = sum(min(part, partners.get(node, 0.0)) for node, part in after.items())
        moved.append(MovedTopic(pair, 1.0 - kept, before, after))
    return sorted(moved, key=lambda each: -each.changed)


def _divide(hierarchy: Hierarchy, node: Node) -> dict[Node, float]:
    """Return the part of a topic that is of each parent: weights in the parents times their shares."""
    weights = {
        each.node: abs(each.weight) * hierarchy.share(each.node)
        for each in hierarchy.parents(node, hierarchy.widths[node.layer])
    }
    total = sum(weights.values())
    return {parent: weight / total for parent, weight in weights.items()} if total > 0 else {}


def list_lines(comparison: Comparison, topic: MovedTopic) -> list[MovedLine]:
    """Return the lines of a topic to its parents in A and in B."""
    sides: tuple[tuple[Side, dict[Node, float], dict[Node, float], str], ...] = (
        ("a", topic.before, topic.after, "left"), ("b", topic.after, topic.before, "came"),
    )  # fmt: skip
    lines = []
    for side, here, there, word in sides:
        for parent, part in here.items():
            partner = comparison.partner(side, parent)
            stays = partner is not None and there.get(partner, 0.0) >= _LINE
            if part >= _LINE:
                lines.append(MovedLine(side, parent, part, "stayed" if stays else word))
    return lines


def draw_moved(comparison: Comparison, layer: int) -> str:
    """Return the card: a picture, for narrow windows a list, or a sentence if nothing changed."""
    if min(comparison.a.n_layers, comparison.b.n_layers) <= layer:
        return ""
    every = find_moved(comparison, layer)
    moved = [each for each in every if each.changed > _CHANGED]
    drawn = moved[:MOST]
    lines = [list_lines(comparison, each) for each in drawn]
    rows = _list_parents(comparison, [line for each in lines for line in each])
    order = sorted(range(len(drawn)), key=lambda place: _find_height(comparison, lines[place], rows))
    drawn, lines = [drawn[place] for place in order], [lines[place] for place in order]
    picture = _draw_picture(comparison, layer, drawn, lines, rows) if drawn else ""
    items = [_describe_move(comparison, *each) for each in zip(drawn, lines, strict=True)]
    return render("compare.moved", layer, len(every), len(moved), len(drawn), picture, items)


def _list_parents(comparison: Comparison, lines: Sequence[MovedLine]) -> list[Pair]:
    """Return the pairs of parents that have a line, those of A by their share, then those that only B has."""
    found = {pair for line in lines if (pair := comparison.pair(line.side, line.parent)) is not None}
    shares = {
        pair: (pair.a is None, -(comparison.a.share(pair.a) if pair.a else comparison.b.share(pair.b or Node(0, 0))))
        for pair in found
    }
    return sorted(found, key=lambda pair: (*shares[pair], pair.a or pair.b or Node(0, 0)))


def _find_height(comparison: Comparison, lines: Sequence[MovedLine], rows: Sequence[Pair]) -> float:
    """Return the mean height of the parents of a topic, so that few lines cross."""
    places = {pair: place for place, pair in enumerate(rows)}
    weights = [(line.part, pair) for line in lines if (pair := comparison.pair(line.side, line.parent)) is not None]
    return sum(part * places[pair] for part, pair in weights) / max(sum(part for part, _ in weights), 1e-9)


def _draw_picture(
    comparison: Comparison,
    layer: int,
    drawn: Sequence[MovedTopic],
    lines: Sequence[Sequence[MovedLine]],
    rows: Sequence[Pair],
) -> str:
    n_rows = max(len(rows), len(drawn))
    height = _HEAD + n_rows * _ROW
    middle = (_WIDTH - _CHILD) / 2
    step = (n_rows * _ROW) / len(drawn)
    right = _WIDTH - _PARENT
    heads = (
        (0.0, f"Parents in A, run {comparison.a.run}"),
        (middle, f"Topics of layer {layer}, how alike in A and B"),
        (right, f"Parents in B, run {comparison.b.run}"),
    )
    parts = [f'<text class="cm-head-of" x="{x:.0f}" y="16">{escape(text)}</text>' for x, text in heads]
    places = {pair: _HEAD + place * _ROW + _BOX / 2 for place, pair in enumerate(rows)}
    boxes = []
    for place, (topic, own) in enumerate(zip(drawn, lines, strict=True)):
        y = _HEAD + place * step + (step - _ROW) / 2 + _BOX / 2
        for line in sorted(own, key=lambda line: line.kind != "stayed"):
            pair = comparison.pair(line.side, line.parent)
            if pair is None:
                continue
            x0, x1 = (_PARENT, middle) if line.side == "a" else (right, middle + _CHILD)
            bend, wide = (x0 + x1) / 2, max(1.5, _THICK * line.part)
            path = f"M{x0:.0f} {places[pair]:.1f}C{bend:.0f} {places[pair]:.1f} {bend:.0f} {y:.1f} {x1:.0f} {y:.1f}"
            dash = {"left": f"0.1 {wide + 4:.1f}", "came": f"{8 + wide:.0f} {4 + wide:.0f}"}.get(line.kind)
            tip = write_element("title", f"{_WORDS[line.kind]}: {format_percent(line.part)} of the topic")
            parts.append(write_element("path", tip, class_=f"cm-{line.kind}", d=path, stroke_width=f"{wide:.1f}",
                                       stroke_dasharray=dash))  # fmt: skip
        alike = format_percent(topic.pair.score, 0)
        boxes.append(_draw_box(comparison, "b", topic.pair.b, (middle, y), _CHILD, alike, "cm-child"))
    for pair in rows:
        for side, x in zip(SIDES, (0.0, right), strict=True):
            node = pair.on(side)
            share = format_percent(comparison.hierarchy(side).share(node)) if node is not None else ""
            boxes.append(_draw_box(comparison, side, node, (x, places[pair]), _PARENT, share, "cm-parent"))
    label = f"Topics of layer {layer} whose parents changed, between their parents in A and in B"
    frame = f'viewBox="0 0 {_WIDTH:.0f} {height:.0f}" aria-label="{escape(label)}" role="group"'
    return f'<svg class="cm-moved" {frame}>{"".join(parts)}<g data-rove>{"".join(boxes)}</g></svg>'


_WORDS = {"left": "left this parent", "came": "came to this one", "stayed": "stayed"}


def _draw_box(
    comparison: Comparison, side: Side, node: Node | None, at: tuple[float, float], width: float, number: str, kind: str
) -> str:
    """Return a topic as a box whose left side has its middle at a place; without one, a sentence."""
    x, y = at
    if node is None:
        return f'<text class="cm-lacking" x="{x + 10:.0f}" y="{y + 4.5:.1f}">no partner: nothing as near</text>'
    title = comparison.hierarchy(side).title(node)
    room = (width - 24) / _LETTERS - 0.6 * len(number) - 0.6
    written = escape("".join(fit_lines(title, room, 1)))
    middle = f'y="{y + 4.5:.1f}"'
    size = (
        f'x="{x + 0.75:.2f}" y="{y - _BOX / 2 + 0.75:.2f}" width="{width - 1.5:.1f}" height="{_BOX - 1.5:.1f}" rx="7"'
    )
    return (
        f'<a href="#" data-do="select" data-side="{side}" data-id="{format_identity(node)}">'
        f'<title>{escape(title)}</title><rect class="{kind}" {size}/>'
        f'<text class="cm-name" x="{x + 10:.0f}" {middle}>{written}</text>'
        f'<text class="cm-part" x="{x + width - 10:.0f}" {middle}>{number}</text></a>'
    )


def _describe_move(comparison: Comparison, topic: MovedTopic, lines: Sequence[MovedLine]) -> tuple[str, str, str, str]:
    """Return the topic, the parents that it left and those it came to, for narrow windows, and its identity in B."""
    node = topic.pair.b or Node(0, 0)
    left, came = (
        "; ".join(comparison.hierarchy(line.side).title(line.parent) for line in lines if line.kind == kind)
        for kind in ("left", "came")
    )
    return comparison.b.title(node), left, came, format_identity(node)
