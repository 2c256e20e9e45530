"""A tree as a picture for print: the very picture of the page, colours fixed, caption beneath."""

from collections.abc import Sequence

from app.analysis.hierarchy import Hierarchy
from app.analysis.pruned_topics import LastSeen
from app.views.palette import LIGHT
from app.views.tree.picture import Choice, draw


def render(hierarchy: Hierarchy, choice: Choice, last_seen: Sequence[LastSeen] = ()) -> str:
    """Draw the chosen part in the colours of paper, with the pruned topics that have neighbours in it."""
    return draw(hierarchy, choice, theme=LIGHT, last_seen=last_seen).svg + "\n"
