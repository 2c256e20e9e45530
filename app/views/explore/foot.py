"""What stands beneath the tree: where it comes from, what changed, hints, and the tree as text."""

from collections.abc import Sequence

from app.analysis.hierarchy import Frame
from app.views.explore.pruned import pruned_since
from app.views.text import escape
from app.views.tree.outline import tree_outline
from app.views.tree.picture import Choice, Drawing, caption
from app.views.tree.pruned_layout import ghost_outline


def tree_foot(frame: Frame, choice: Choice, drawing: Drawing, before: Frame | None, hints: Sequence[str]) -> str:
    """Write the lines beneath a tree.

    Parameters
    ----------
    frame : Frame
    choice : Choice
    drawing : Drawing
        The tree of both.
    before : Frame or None
        The snapshot shown until now.
    hints : sequence of str
        Sentences; empty ones are left out.
    """
    news = f" · <span>{escape(drawing.news.words())}</span>" if drawing.news else ""
    said = "".join(f'<p class="ex-hint">{escape(hint)}</p>' for hint in hints if hint)
    outline = tree_outline(frame, drawing.part, choice.direction) + ghost_outline(drawing.haunting, frame)
    return (
        f'<p class="ex-caption">{escape(caption(frame, choice))}{news}</p>{said}{pruned_since(before, frame)}'
        f'<details class="ex-fold"><summary>The tree as text</summary>{outline}</details>'
    )
