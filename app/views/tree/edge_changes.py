"""What changed between two snapshots among the topics on screen: lines that are new, and lines that are gone."""

from collections.abc import Mapping
from typing import NamedTuple

from app.analysis.hierarchy import Hierarchy, identity
from app.views.text import escape, percent
from app.views.tree.boxes import Box
from app.views.tree.layout import Layout
from app.views.tree.tree_svg import Stroke
from engine.hierarchy.tree import Edge, Node, Subnetwork


class EdgeNews(NamedTuple):
    """Edges between topics on screen that only one of two snapshots has.

    Attributes
    ----------
    since : int
        Mini-batch of the earlier snapshot.
    new : tuple of Edge
    gone : tuple of Edge
        With the weights they had.
    """

    since: int
    new: tuple[Edge, ...] = ()
    gone: tuple[Edge, ...] = ()

    def words(self) -> str:
        """Say it in a caption; empty when nothing changed."""
        counts = ((len(self.new), "new (dashed)"), (len(self.gone), "gone (dotted)"))
        pieces = [f"{count} {word}" for count, word in counts if count]
        return f"Lines since mini-batch {self.since:,}: {' and '.join(pieces)}." if pieces else ""


def edge_news(before: Hierarchy | None, now: Hierarchy, part: Subnetwork, threshold: float) -> EdgeNews | None:
    """Compare two snapshots of a run; None where there is nothing to compare with.

    Parameters
    ----------
    before, now : Hierarchy
    part : Subnetwork
        What is drawn of ``now``.
    threshold : float
    """
    if before is None or before.run != now.run or before.n_layers != now.n_layers:
        return None
    had = {(edge.above, edge.below) for edge in before.edges(threshold)}
    has = {(edge.above, edge.below) for edge in now.edges(threshold)}
    shown = set(part.nodes)
    gone = (edge for edge in before.edges(threshold) if (edge.above, edge.below) not in has)
    return EdgeNews(
        before.minibatch,
        tuple(edge for edge in part.edges if (edge.above, edge.below) not in had),
        tuple(edge for edge in gone if edge.above in shown and edge.below in shown),
    )


def new_strokes(news: EdgeNews | None) -> dict[tuple[Node, Node], Stroke]:
    """How new edges are drawn."""
    if news is None:
        return {}
    word = f"new since mini-batch {news.since:,}"
    return {
        (edge.above, edge.below): Stroke("var(--tp-new)", f"{8 + 1.5 * _width(edge):.1f} {_gap(edge):.1f}", word)
        for edge in news.new
    }


def gone_edges(news: EdgeNews | None, boxes: Mapping[Node, Box], layout: Layout) -> str:
    """Draw the edges that are gone, beneath everything else."""
    if news is None:
        return ""
    return "".join(_gone(edge, news.since, boxes, layout) for edge in news.gone)


def _gone(edge: Edge, since: int, boxes: Mapping[Node, Box], layout: Layout) -> str:
    above, below = layout.places[edge.above], layout.places[edge.below]
    x, y = above.x + boxes[edge.above].width / 2, above.y + boxes[edge.above].height
    to_x, to_y = below.x + boxes[edge.below].width / 2, below.y
    half = (to_y - y) / 2
    path = f"M{x:.1f} {y:.1f}C{x:.1f} {y + half:.1f} {to_x:.1f} {to_y - half:.1f} {to_x:.1f} {to_y:.1f}"
    title = (
        f"gone since mini-batch {since:,}: {percent(edge.weight)} of {identity(edge.above)} was {identity(edge.below)}"
    )
    dash = f'stroke-width="{_width(edge):.2f}" stroke-dasharray="0.1 {_gap(edge):.1f}" stroke-linecap="round"'
    look = f'class="tp-gone" fill="none" stroke="var(--tp-gone)" stroke-opacity=".75" {dash}'
    return f'<path d="{path}" {look}><title>{escape(title)}</title></path>'


def _gap(edge: Edge) -> float:
    """Gaps grow with the width, whose round ends would close them."""
    return 4 + 1.25 * _width(edge)


def _width(edge: Edge) -> float:
    return max(1.6, 9.0 * edge.size**0.5)
