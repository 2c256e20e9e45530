"""What stands beneath the tree: where it comes from, what changed, hints, and the tree as text."""

from collections.abc import Sequence

from app.analysis.hierarchy import Hierarchy, identity
from app.views.explore.pruned import pruned_since
from app.views.text import escape, percent
from app.views.tree.map_svg import MapDrawing
from app.views.tree.outline import tree_outline
from app.views.tree.picture import Choice, Drawing, caption
from app.views.tree.pruned_layout import pruned_outline
from engine.hierarchy.tree import Node


def map_foot(hierarchy: Hierarchy, drawing: MapDrawing, relation: float, child: str) -> str:
    """Write the lines beneath the map: what its circles and lines are, and the topics as a list."""
    facts = (
        f"{hierarchy.corpus} · run {hierarchy.run} · mini-batch {hierarchy.minibatch:,} · {drawing.topics} topics of "
        f"layer 1 · area: share of the tokens · close together: similar words · seed {hierarchy.seed} · Topiary"
    )
    joined = (
        f"{drawing.lines} pairs of topics are joined: documents use them together, with a correlation of at least "
        f"{relation:g}."
    )
    light = f"{drawing.hidden} light topics, of under 0.1 % of the tokens, are left out." if drawing.hidden else ""
    parents = child if hierarchy.n_layers > 1 else ""  # where there is one layer, no topic has any
    hints = [joined if hierarchy.relations else "", light, parents]
    said = "".join(f'<p class="ex-hint">{escape(hint)}</p>' for hint in hints if hint)
    rows = "".join(_listed(hierarchy, node) for node in hierarchy.nodes(1))
    return (
        f'<p class="ex-caption">{escape(facts)}</p>{said}'
        f'<details class="ex-fold"><summary>The map as text</summary><ul class="ex-outline">{rows}</ul></details>'
    )


def _listed(hierarchy: Hierarchy, node: Node) -> str:
    words = " ".join(escape(word.text) for word in hierarchy.top_words(node, 8))
    button = f'<button data-do="select" data-id="{identity(node)}">Topic {hierarchy.rank(node)}</button>'
    return f"<li>{button} <small>{percent(hierarchy.share(node))}</small> {words}</li>"


def tree_foot(
    hierarchy: Hierarchy, choice: Choice, drawing: Drawing, before: Hierarchy | None, hints: Sequence[str]
) -> str:
    """Write the lines beneath a tree.

    Parameters
    ----------
    hierarchy : Hierarchy
    choice : Choice
    drawing : Drawing
        The tree of both.
    before : Hierarchy or None
        The snapshot shown until now.
    hints : sequence of str
        Sentences; empty ones are left out.
    """
    news = f" · <span>{escape(drawing.news.words())}</span>" if drawing.news else ""
    said = "".join(f'<p class="ex-hint">{escape(hint)}</p>' for hint in hints if hint)
    about = escape(caption(hierarchy, choice, linking=len(drawing.linking)))
    outline = tree_outline(hierarchy, drawing.part, choice.direction) + pruned_outline(drawing.pruned_layout, hierarchy)
    return (
        f'<p class="ex-caption">{about}{news}</p>{said}{pruned_since(before, hierarchy)}'
        f'<details class="ex-fold"><summary>The tree as text</summary>{outline}</details>'
    )
