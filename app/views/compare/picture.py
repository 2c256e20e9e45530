"""Both trees as one picture for print: side by side, a caption under each, the legend at the foot."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from app.analysis.comparison import KINDS, Comparison, EdgeChange, Kind, Side, counted
from app.analysis.topic_images import has_pictures
from app.views.compare.trees import WORDS, Cut, dashes, draw_trees, edge_colour, overlay_of
from app.views.palette import LIGHT, Theme
from app.views.text import shorten, text_width
from app.views.tree.layout import MARGIN, WIDE
from app.views.tree.node_svg import TINT, svg_text
from app.views.tree.opening import first_roots
from app.views.tree.picture import Choice, caption
from app.views.tree.tree_svg import CAPTION, FONT
from engine.hierarchy.tree import Node

_TITLE, _SMALL, _LEGEND = 17.0, 11.0, 12.0  # sizes of letters
_HEAD, _FOOT = 40.0, 58.0  # heights above and below the trees
_SAMPLE, _SWATCH = 40.0, 24.0  # lengths of a line and of a tint in the legend
_SIDES: tuple[Side, ...] = ("a", "b")
_MARKED: tuple[tuple[Kind, str, str], ...] = (("lost", "line-through", "left"), ("gained", "underline", "entered"))


class ComparePicture(NamedTuple):
    """A finished picture: its SVG text and its size."""

    svg: str
    width: float
    height: float


def first_cut(comparison: Comparison, threshold: float, cap: int) -> Cut:
    """Choose what is shown while nobody has chosen: the most popular topics of either side, and their partners."""
    return Cut(first_roots(comparison.a, threshold), first_roots(comparison.b, threshold), threshold, cap)


def compare_picture(
    comparison: Comparison,
    changes: Sequence[EdgeChange],
    request: Cut,
    *,
    aspect: float = WIDE / 2,
    previous: Mapping[int, Sequence[Node]] | None = None,
    theme: Theme = LIGHT,
) -> ComparePicture:
    """Draw what the page shows, in the colours of paper.

    Parameters
    ----------
    comparison : Comparison
    changes : sequence of EdgeChange
        `edge_changes` at the threshold of ``request``.
    request : Cut
    aspect : float
        Width / height of one tree.
    previous : mapping, optional
        ``order`` of the picture on the page, which this one keeps.
    theme : Theme
    """
    trees = draw_trees(comparison, changes, request, aspect=aspect, previous=previous, theme=theme)
    captions: dict[Side, str] = {side: _caption(comparison, side, request) for side in _SIDES}
    half = math.ceil(max(trees.size[0], *(text_width(text) * _SMALL + 2 * MARGIN for text in captions.values())))
    bottom = _HEAD + trees.size[1] + CAPTION
    legend, right = _legend(trees.changes, theme, bottom + 32, words=not has_pictures(comparison.b))
    tints, far = _tints(comparison, request, theme, (right, bottom + 32))
    right = max(right, far)
    width, height = max(2 * half, right), bottom + _FOOT
    pieces = [_head(comparison, width, height, theme)]
    sides: tuple[tuple[Side, float, str], ...] = (("a", 0.0, trees.a), ("b", half, trees.b))
    for side, left, tree in sides:
        hierarchy = comparison.hierarchy(side)
        title = f"{side.upper()} · run {hierarchy.run}, mini-batch {hierarchy.minibatch:,}"
        pieces.append(svg_text(left + MARGIN, 27, _TITLE, theme.ink, title, ' font-weight="700"'))
        pieces.append(f'<g transform="translate({left:.1f} {_HEAD})">{tree}</g>')
        pieces.append(svg_text(left + MARGIN, bottom - 6, _SMALL, theme.muted, captions[side]))
    return ComparePicture("".join([*pieces, legend, tints, "</svg>\n"]), width, height)


def _head(comparison: Comparison, width: float, height: float, theme: Theme) -> str:
    box = f'viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {box} role="img" font-family="{FONT}">'
        f"<title>Topic trees of run {comparison.a.run} (A) and run {comparison.b.run} (B)</title>"
        f'<rect width="100%" height="100%" fill="{theme.paper}"/>'
    )


def _caption(comparison: Comparison, side: Side, request: Cut) -> str:
    roots = request.roots_a if side == "a" else request.roots_b
    opinion = overlay_of(comparison, side, request.label)
    return caption(
        comparison.hierarchy(side),
        Choice(roots, request.threshold, label=opinion.label + 1 if opinion is not None else 0),
    )


def _legend(drawn: Sequence[EdgeChange], theme: Theme, y: float, *, words: bool) -> tuple[str, float]:
    """Write colour, dashes and number of every kind of edge and how words are marked; and where that ends."""
    counts = counted(drawn)
    x, pieces = MARGIN, []
    for kind in KINDS:
        text = f"{WORDS[kind]} ({counts[kind]})"
        pieces += [_sample(kind, theme, x, y - 4), svg_text(x + _SAMPLE + 8, y, _LEGEND, theme.ink, text)]
        x += _SAMPLE + 26 + _LEGEND * text_width(text)
    for kind, line, text in _MARKED if words else ():
        look = f' font-weight="600" text-decoration="{line}"'
        pieces.append(svg_text(x, y, _LEGEND, edge_colour(theme, kind), "word", look))
        pieces.append(svg_text(x + 36, y, _LEGEND, theme.ink, text))
        x += 54 + _LEGEND * text_width(text)
    return f"<g>{''.join(pieces)}</g>", x


def _tints(comparison: Comparison, request: Cut, theme: Theme, at: tuple[float, float]) -> tuple[str, float]:
    """Write what the tints of the boxes mean, from ``at`` on; and where that ends.  Empty without a class."""
    shown = [each for side in _SIDES if (each := overlay_of(comparison, side, request.label)) is not None]
    if not shown:
        return "", at[0]
    (x, y), pieces, name = at, [], shorten(shown[-1].name, 40)
    for colour, text in ((theme.speaks, f"speaks for {name}"), (theme.denies, f"speaks against {name}")):
        place = f'x="{x:.1f}" y="{y - 12:.1f}" width="{_SWATCH}" height="16" rx="4"'
        tint = f'fill="{colour}" fill-opacity="{TINT}" stroke="{colour}" stroke-width="1.4"'
        pieces += [f"<rect {place} {tint}/>", svg_text(x + _SWATCH + 8, y, _LEGEND, theme.ink, text)]
        x += _SWATCH + 26 + _LEGEND * text_width(text)
    return f'<g data-legend="class">{"".join(pieces)}</g>', x


def _sample(kind: Kind, theme: Theme, x: float, y: float) -> str:
    width = 4.5 if kind == "stronger" else 2.6
    pattern = dashes(kind, width)
    dash = f' stroke-dasharray="{pattern}"' if pattern else ""
    return (
        f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{x + _SAMPLE:.1f}" y2="{y:.1f}" stroke-linecap="round" '
        f'stroke="{edge_colour(theme, kind)}" stroke-width="{width}"{dash}/>'
    )
