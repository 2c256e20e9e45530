"""What became of the edges: the legend of the two trees with its counts, and the changes as lists."""

import math
from collections.abc import Sequence

from app.analysis.comparison import KINDS, Comparison, EdgeChange, Kind, Side, counted
from app.analysis.hierarchy import Hierarchy, identity
from app.views.compare.table import topic_title
from app.views.compare.trees import dashes, edge_colour
from app.views.palette import LIVE, LOWERED
from app.views.text import escape, number
from engine.hierarchy.tree import Edge

_LISTED = 25
_MARKED = (
    '<span title="Among the 12 heaviest words in B and not among the 24 heaviest in A"><ins class="cm-in">word</ins> '
    'entered</span><span title="Among the 12 heaviest words in A and not among the 24 heaviest in B">'
    '<del class="cm-out">word</del> left</span>'
)
_LOWERS = (
    '<span title="The parent makes the child rarer: the weight of the line is negative">'
    '<svg class="tp-stroke cm-stroke" viewBox="0 0 40 8" aria-hidden="true">'
    '<line x1="2" y1="4" x2="38" y2="4" stroke="var(--tp-lowers)" '
    f'stroke-width="7" stroke-opacity=".6" stroke-dasharray="{LOWERED}"/></svg>Makes rarer</span>'
)
_BACK = '<button class="ex-soft" data-do="popular" title="Back to the most popular topics">Reset roots</button>'
TITLES: dict[Kind, tuple[str, str]] = {
    "gained": ("Gained", "Above the threshold in B and not in A"),
    "lost": ("Lost", "Above the threshold in A and not in B"),
    "stronger": ("Stronger", "In both, at least 1.5 times heavier in B against a flat topic"),
    "weaker": ("Weaker", "In both, at least 1.5 times lighter in B against a flat topic"),
    "same": ("Kept", "In both, about as heavy"),
}


def edge_legend(
    drawn: Sequence[EdgeChange],
    every: Sequence[EdgeChange],
    chooser: str = "",
    *,
    words: bool = True,
    chosen: bool = False,
) -> str:
    """Write colour, line style and number of every kind: how many are in the picture, how many there are.

    ``chooser`` is the HTML of the choice of a class, empty where no topic has an opinion; ``words`` says whether
    words are marked in the trees, ``chosen`` whether somebody has chosen the roots, who may want them back.
    """
    back = _BACK if chosen else ""
    signed = any(edge is not None and edge.weight < 0 for change in drawn for edge in (change.a, change.b))
    here, all_of = counted(drawn), counted(every)
    entries = "".join(
        f'<span title="{TITLES[kind][1]}">{_stroke(kind)}{TITLES[kind][0]} '
        f"<b>{here[kind]:,}</b> of {all_of[kind]:,}</span>"
        for kind in KINDS
    )
    more = f"{_LOWERS if signed else ''}{_MARKED if words else ''}"
    return (
        f'<div class="cm-legend"><h2 class="tp-h2">Trees</h2><div class="tp-legend" role="group" '
        f'aria-label="Edges by what became of them">{entries}{more}</div>{chooser}{back}'
        '<span class="tp-dim">Matched topics stand in the same place; dashed places are empty.</span></div>'
    )


def edge_lists(comparison: Comparison, every: Sequence[EdgeChange]) -> str:
    """Write the changed edges as text, the largest changes first."""
    lists = "".join(_list(comparison, kind, [each for each in every if each.kind == kind]) for kind in KINDS[:4])
    return f'<details class="ex-fold cm-edges"><summary>The edges as text</summary><div>{lists}</div></details>'


def by_size(change: EdgeChange) -> float:
    """Sort key: how much an edge changed, the most first."""
    if change.kind in ("stronger", "weaker"):
        return -abs(math.log(change.ratio)) if 0 < change.ratio < math.inf else -math.inf
    edge = change.b if change.kind == "gained" else change.a
    return -(edge.size if edge else 0.0)


def _list(comparison: Comparison, kind: Kind, changes: list[EdgeChange]) -> str:
    rows = "".join(_row(comparison, change) for change in sorted(changes, key=by_size)[:_LISTED])
    rest = len(changes) - _LISTED
    more = f'<li class="tp-dim">and {rest:,} more</li>' if rest > 0 else ""
    title = f"<h3>{_stroke(kind)}{TITLES[kind][0]} <small>{len(changes):,}</small></h3>"
    return f"<section>{title}<ol>{rows}{more}</ol></section>"


def _row(comparison: Comparison, change: EdgeChange) -> str:
    side: Side = "a" if change.kind == "lost" else "b"
    edge = change.a if side == "a" else change.b
    if edge is None:
        return ""
    hierarchy = comparison.hierarchy(side)
    weights = " → ".join(number(each.weight) if each else "none" for each in (change.a, change.b))
    upper, lower = _end(hierarchy, edge, above=True), _end(hierarchy, edge, above=False)
    choose = f'data-do="select" data-side="{side}" data-id="{identity(edge.below)}"'
    return f"<li><button {choose}>{upper} › {lower}</button> <small>{weights}</small></li>"


def _end(hierarchy: Hierarchy, edge: Edge, *, above: bool) -> str:
    node = edge.above if above else edge.below
    return f"{node.layer}·{hierarchy.rank(node)} {escape(topic_title(hierarchy, node))}"


def _stroke(kind: Kind) -> str:
    width = 4.5 if kind == "stronger" else 2.6
    pattern = dashes(kind, width)
    dash = f' stroke-dasharray="{pattern}"' if pattern else ""
    return (
        '<svg class="tp-stroke cm-stroke" viewBox="0 0 40 8" aria-hidden="true"><line x1="2" y1="4" x2="38" y2="4" '
        f'stroke="{edge_colour(LIVE, kind)}" stroke-width="{width}" stroke-linecap="round"{dash}/></svg>'
    )
