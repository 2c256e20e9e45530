"""The callouts of the demo: three hints, each of which points at the thing that it is about, once in every browser."""

from typing import Any, ClassVar

import param

from topiary.app.machine import find_asset
from topiary.app.pages.components import Component

_TOPICS = [".tp-node.tp-root", ".tp-tile[aria-level='1']", ".ex-rows button"]  # in a tree, as tiles, on phones
_DOCUMENTS = ".ex-documents"
_ADD_BUTTON, _RUNS_LINK = "[data-do='add']", ".tp-nav [data-page='runs']"


class Callouts(Component):
    """A component of no size that shows one callout at a time, over the page.

    A visitor closes a callout with its button, with Escape, or by doing what it says; the browser remembers how many
    have been closed.  The next one comes when the thing that it points at is on screen.

    Parameters
    ----------
    active : bool
        Whether the run on screen is one of the demo.
    steps : list of dict
        For each callout its heading and text, the selectors ``at`` of the things that it may point at, the first seen
        of which counts, and the ``sides`` of the thing, in the order in which a place for the callout is looked for.
    """

    active = param.Boolean(default=False)
    steps = param.List(default=[], item_type=dict)

    _bundle = find_asset("js/callouts.js")
    _steps: ClassVar[list[dict[str, Any]]] = [
        {
            "heading": "Click a topic",
            "text": "Each large box is a broad topic; the boxes in it, or below it, are what it is made of.",
            "at": _TOPICS,
            "sides": ["left", "below", "above", "right"],
        },
        {
            "heading": "Read its documents",
            "text": "These documents use the topic most: they show what its words mean.",
            "at": [_DOCUMENTS],
            "sides": ["left", "above", "below", "right"],
        },
        {
            "heading": "Add your own",
            "text": "Texts, PDF files, tables, mail and more. They stay on this machine.",
            "at": [_ADD_BUTTON, _RUNS_LINK],
            "sides": ["below", "above", "left", "right"],
        },
    ]

    def __init__(self, **params: Any) -> None:
        super().__init__(**({"steps": self._steps} | params), width=0, height=0, margin=0)
