"""A tree as a picture for print: the very picture of the page, colours fixed, caption beneath."""

from app.analysis.hierarchy import Hierarchy
from app.views.palette import LIGHT
from app.views.tree.picture import TreeChoice, draw_tree


def render(hierarchy: Hierarchy, choice: TreeChoice) -> str:
    """Draw the chosen part in the colours of paper."""
    return draw_tree(hierarchy, choice, theme=LIGHT).svg + "\n"
