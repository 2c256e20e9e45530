"""Pages as HTML that browsers show until they have the scripts for the components: the first view of Explore.

A preview has the style sheets of the page and looks like it, but answers to nothing.  The next visitor who opens the
same address gets it with the first bytes, as long as the snapshot and the names of its topics are the same.
"""

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

from topiary.app.analysis.hierarchy import Hierarchy
from topiary.app.live.feed import Feed
from topiary.app.pages.components import Board, TreeView

MOST = 24  # previews in memory, of about 60 kB
PREVIEW = "preview"  # the name of the preview among the variables of a document


class Preview(NamedTuple):
    """The HTML of a page, and the hierarchy that it shows; ``snapshot`` is 0 for the newest."""

    html: str
    run: int
    snapshot: int
    hierarchy: Hierarchy | None


class Previews:
    """The previews of the pages that were opened last.

    Parameters
    ----------
    feed : Feed
    """

    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self._drawn: dict[Hashable, Preview] = {}

    def find(self, key: Hashable) -> str:
        """Return the HTML kept for a request; an empty text if there is none, or other topics or names by now."""
        preview = self._drawn.get(key)
        if preview is None or self._feed.get_cached_hierarchy(preview.run, preview.snapshot) is not preview.hierarchy:
            return ""
        return preview.html

    def keep(self, key: Hashable, preview: Preview) -> None:
        """Keep a preview for requests like the one that it was drawn for."""
        self._drawn.pop(key, None)
        self._drawn[key] = preview
        if len(self._drawn) > MOST:
            del self._drawn[next(iter(self._drawn))]


def draw_preview(layout: Any) -> str:
    """Return the page Explore as HTML; an empty text if it shows no tiles."""
    if not any(isinstance(each, TreeView) and 'class="tp-tiles"' in each.svg for each in layout):
        return ""
    parts = "".join(_draw_part(each.css_classes, *_draw_component(each)) for each in layout)
    return f'<div id="tp-preview" inert>{_draw_part(layout.css_classes, ("menu", "explore"), parts)}</div>'


def _draw_component(component: Any) -> tuple[Sequence[str], str]:
    """Return the style sheets and the content of a component."""
    if isinstance(component, TreeView):
        svg = component.svg.replace('class="tp-tiles"', 'class="tp-canvas"')
        return component.sheets, f'<div class="tp-stage" data-kind="tiles">{svg}</div>'
    if isinstance(component, Board):
        return ("board", *component.sheets), f'<div class="tp-board">{component.html}</div>'
    return (), ""  # the film is drawn in the browser


def _draw_part(classes: Sequence[str], sheets: Sequence[str], content: str) -> str:
    """Return an element whose content ``js/page.js`` moves into a shadow root with these style sheets."""
    return f'<div class="{" ".join(classes)}"><template data-sheets="{" ".join(sheets)}">{content}</template></div>'
