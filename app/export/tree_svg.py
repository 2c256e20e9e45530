"""A tree as a picture for print: the very picture of the page, colours fixed, caption beneath."""

from app.frame import Frame
from app.views.palette import LIGHT
from app.views.picture import Choice, draw


def render(frame: Frame, choice: Choice) -> str:
    """Draw the chosen part in the colours of paper."""
    return draw(frame, choice, theme=LIGHT).svg + "\n"
