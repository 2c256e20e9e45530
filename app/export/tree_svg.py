"""A tree as a picture for print: the very picture of the page, colours fixed, caption beneath."""

from collections.abc import Sequence

from app.analysis.hierarchy import Frame
from app.analysis.pruned_topics import Remains
from app.views.palette import LIGHT
from app.views.tree.picture import Choice, draw


def render(frame: Frame, choice: Choice, remains: Sequence[Remains] = ()) -> str:
    """Draw the chosen part in the colours of paper, with the pruned topics that have neighbours in it."""
    return draw(frame, choice, theme=LIGHT, remains=remains).svg + "\n"
