"""The tree on screen as a file for the visitor."""

from collections.abc import Mapping, Sequence

from app.analysis.hierarchy import Hierarchy
from app.export import trees
from app.pages.components.tree_view import TreeView
from app.views.palette import LIGHT
from app.views.tree.map_svg import MapChoice, MapDrawing, draw_map
from app.views.tree.picture import Choice, Drawing, draw
from engine.hierarchy.tree import Node


def hand_over(
    window: TreeView,
    hierarchy: Hierarchy,
    choice: Choice,
    form: str,
    *,
    aspect: float,
    previous: Mapping[int, Sequence[Node]] | None,
    on_map: MapChoice | None = None,
) -> None:
    """Hand the chosen part of a hierarchy over; nothing happens for a format that there is not.

    Parameters
    ----------
    window : TreeView
        Through which files go to the browser.
    hierarchy : Hierarchy
    choice : Choice
    form : str
        "png", or one of the formats of :mod:`app.export.trees`.
    aspect : float
        Width / height of the window.
    previous : mapping, optional
        ``Layout.order`` of the picture on screen, which the file keeps.
    on_map : MapChoice, optional
        Where the map is on screen instead of the tree: what it shows.
    """
    name = f"topiary-run-{hierarchy.run}-minibatch-{hierarchy.minibatch}.{form}"
    if form in ("png", "svg"):  # the picture on screen, in the colours of paper
        picture: MapDrawing | Drawing
        if on_map is not None:
            picture = draw_map(hierarchy, on_map._replace(selected=None), theme=LIGHT, aspect=aspect)
        else:
            picture = draw(hierarchy, choice, theme=LIGHT, aspect=aspect, previous=previous)
        if form == "svg":
            window.hand_over(name, picture.svg)
        else:
            window.hand_over_picture(name, picture.svg, *picture.size)
    elif form in trees.formats():
        window.hand_over(name, trees.render(hierarchy, choice, form))
