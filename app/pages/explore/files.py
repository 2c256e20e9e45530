"""The tree on screen as a file for the visitor."""

from collections.abc import Mapping, Sequence

from app.analysis.hierarchy import Frame
from app.analysis.pruned_topics import Remains
from app.export import trees
from app.pages.components.tree_view import TreeView
from app.views.palette import LIGHT
from app.views.tree.picture import Choice, draw
from engine.hierarchy.tree import Node


def hand_over(
    window: TreeView,
    frame: Frame,
    choice: Choice,
    form: str,
    *,
    aspect: float,
    previous: Mapping[int, Sequence[Node]] | None,
    remains: Sequence[Remains] = (),
) -> None:
    """Hand the chosen part of a frame over; nothing happens for a format that there is not.

    Parameters
    ----------
    window : TreeView
        Through which files go to the browser.
    frame : Frame
    choice : Choice
    form : str
        "png", or one of the formats of :mod:`app.export.trees`.
    aspect : float
        Width / height of the window.
    previous : mapping, optional
        ``Layout.order`` of the picture on screen, which the file keeps.
    remains : sequence of Remains
        Pruned topics that are on screen.
    """
    name = f"topiary-run-{frame.run}-minibatch-{frame.minibatch}.{form}"
    if form in ("png", "svg"):  # the picture on screen, in the colours of paper
        picture = draw(frame, choice, theme=LIGHT, aspect=aspect, previous=previous, remains=remains)
        if form == "svg":
            window.hand_over(name, picture.svg)
        else:
            window.hand_over_picture(name, picture.svg, *picture.size)
    elif form in trees.formats():
        window.hand_over(name, trees.render(frame, choice, form, remains))
