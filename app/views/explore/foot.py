"""What stands beneath the tree: where it comes from, what changed, hints, and the tree as text."""

from collections.abc import Sequence

from app.analysis.hierarchy import Hierarchy
from app.views.explore.pruned import pruned_since
from app.views.text import escape
from app.views.tree.outline import tree_outline
from app.views.tree.picture import Choice, Drawing, caption
from app.views.tree.pruned_layout import pruned_outline


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
    outline = tree_outline(hierarchy, drawing.part, choice.direction) + pruned_outline(drawing.pruned_layout, hierarchy)
    return (
        f'<p class="ex-caption">{escape(caption(hierarchy, choice))}{news}</p>{said}{pruned_since(before, hierarchy)}'
        f'<details class="ex-fold"><summary>The tree as text</summary>{outline}</details>'
    )
