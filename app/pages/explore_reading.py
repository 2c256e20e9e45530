"""What Explore reads in other threads, and the sentences and files that it makes of that."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from topiary.app.analysis.hierarchy import Hierarchy
from topiary.app.analysis.passages import cut_passage
from topiary.app.export import trees
from topiary.app.pages.components import TreeView
from topiary.app.pages.session import Context
from topiary.app.views.explore.cards import FoundDocument, SearchResult, WordPassage, WordPassages
from topiary.app.views.explore.detail import cut_excerpt
from topiary.app.views.runs.run_list import explain_missing_run, explain_no_topics
from topiary.app.views.text import break_lines
from topiary.app.views.theme import LIGHT
from topiary.app.views.tree.map_svg import MapChoice, MapDrawing, draw_map
from topiary.app.views.tree.opening import USUAL, find_opening_threshold
from topiary.app.views.tree.picture import TreeChoice, TreeDrawing, cut_tree, describe_sure, draw_tree, list_ancestors
from topiary.app.views.tree.tiles import TilesChoice, TilesDrawing, draw_tiles
from topiary.engine import models
from topiary.engine.hierarchy.tree import Node
from topiary.store import corpora

_FOUND_DOCUMENTS = 12  # shown of a search
_SHOWN_PASSAGES = 8  # of a word


READ_TILES = "Area = share of all words · click a topic to read it, double-click to open its tree"
READ_TREE = (
    "Line width = share of the parent · a topic may have several parents · click a topic to read it, double-click to "
    "make it the root"
)
READ_MAP = "Area = share of all words · close together: similar words · click a topic to read it"


class FetchedHierarchy(NamedTuple):
    """The requested hierarchy; None if there is none yet."""

    run: int
    snapshot: int
    hierarchy: Hierarchy | None


def fetch_hierarchy(context: Context, run: int, snapshot: int) -> FetchedHierarchy:
    """Return a hierarchy; this waits for the store."""
    return FetchedHierarchy(run, snapshot, context.feed.hierarchy(run, snapshot or None))


def explain_children(context: Context, run: int) -> str:
    """Return the sentence of a run's model about child topics; empty if there is no such run."""
    row = context.feed.run(run)
    return "" if row is None else _explain_model(row.model)


@cache
def _explain_model(model: str) -> str:
    return str(models.load(model).CHILD)


def find_documents(context: Context, run: int, text: str, request: Callable[[], bool]) -> SearchResult:
    """Search the documents of a run's corpus while ``request()`` returns True; this waits for the store."""
    row = context.feed.run(run)
    if row is None:
        return SearchResult(text, total=0)
    total, rows = corpora.search_documents(context.db, row.corpus, text, 0, _FOUND_DOCUMENTS, request)
    documents = [
        FoundDocument(document.number, document.title or "untitled", cut_excerpt(document.text, 160))
        for document in rows
    ]
    return SearchResult(text, documents=documents, total=total)


def find_passages(context: Context, run: int, word: str, request: Callable[[], bool]) -> WordPassages:
    """Find passages with a word in a run's corpus while ``request()`` returns True; this waits for the store."""
    row = context.feed.run(run)
    text = word.replace("_", " ")  # phrases are written with underscores
    if row is None or not text.strip():
        return WordPassages(word, total=0)
    total, rows = corpora.search_documents(context.db, row.corpus, text, 0, _SHOWN_PASSAGES, request)
    passages = [
        WordPassage(document.number, document.title or "untitled", cut_passage(break_lines(document.text), word))
        for document in rows
    ]
    return WordPassages(word, passages, total)


def explain_waiting(context: Context) -> str:
    """Explain why there is no tree yet."""
    view = context.view
    row = context.feed.run(view.run)
    if row is None:
        return explain_missing_run(view.run)
    if context.feed.latest(view.run) is not None:
        return f"Reading the topics of run {view.run} …"
    return explain_no_topics(view.run, context.feed.state(view.run), row.message, context.feed.damage(view.run))


def explain_lonely_roots(hierarchy: Hierarchy, choice: TreeChoice) -> str:
    """Explain why only the roots are shown."""
    if choice.closed.issuperset(choice.roots):
        return ""
    if choice.part == "shared":
        return "These roots share no topic."
    if choice.direction == "up" or all(root.layer == 1 for root in choice.roots):
        return "Nothing lies beyond these roots in this direction."
    if hierarchy.minibatch < 50:
        return "Training has just begun: no edge is strong enough yet. Wait a little."
    if choice.detail != "paper":
        return f"No edge of these roots is {describe_sure(hierarchy)}, or their children are hidden."
    return "No edge of these roots is above the threshold; lower it to see their heaviest children."


def explain_threshold(hierarchy: Hierarchy, choice: TreeChoice) -> str:
    """Explain why the threshold that was proposed is not the usual one; empty if it is, or is not used."""
    if choice.detail != "paper" or choice.threshold == USUAL:
        return ""
    opening = find_opening_threshold(hierarchy)
    if choice.threshold != opening:
        return ""
    return f"Shown at the threshold {opening:g}: at the usual {USUAL:g}, too few edges join the most popular topics."


# words of the tab: only the picture is shown; the visitor chose the listed layer; the list is next to the picture; the
# panel shows all of a topic
ONLY_TREE, OWN_LAYER, LISTED, WHOLE = "wide", "layer", "list", "more"


def split_tab(tab: str) -> tuple[str, ...]:
    """Split the page's tab at hyphens into its words: ONLY_TREE, OWN_LAYER, LISTED and WHOLE."""
    return tuple(filter(None, tab.split("-")))


def reset_tab(tab: str) -> str:
    """Return the tab without OWN_LAYER, for a run in which no layer has been chosen."""
    return "-".join(word for word in split_tab(tab) if word != OWN_LAYER)


def toggle_identity(identities: tuple[str, ...], toggled: str) -> tuple[str, ...]:
    """Return the identities without the given one, or with it if it was missing."""
    return tuple(other for other in identities if other != toggled) if toggled in identities else (*identities, toggled)


def keep_topic(hierarchy: Hierarchy, choice: TreeChoice, node: Node) -> TreeChoice:
    """Return a choice that draws a topic: its nearest ancestors, or the topic itself, become roots if necessary.

    Folded and hidden topics remain folded and hidden.
    """
    for ancestor in list_ancestors(hierarchy, choice, node):
        nodes = cut_tree(hierarchy, choice)[0].nodes
        if node in nodes:
            return choice
        if ancestor not in nodes and ancestor not in choice.without:
            choice = choice._replace(roots=(*choice.roots, ancestor))
    if node not in cut_tree(hierarchy, choice)[0].nodes:
        choice = choice._replace(roots=(*choice.roots, node))
    return choice


class KeptTopic:
    """A topic that stays in the picture when a newer snapshot arrives."""

    def __init__(self) -> None:
        self._node: Node | None = None
        self._cached: tuple[Hierarchy, TreeChoice, TreeChoice] | None = None

    def hold(self, node: Node | None) -> None:
        """Hold a topic in the picture; None releases it."""
        self._node, self._cached = node, None

    def choice(self, hierarchy: Hierarchy, choice: TreeChoice) -> TreeChoice:
        """Return a choice that draws the topic; the same choice if it does already or the topic no longer exists."""
        if self._node is None or not hierarchy.has(self._node):
            return choice
        if self._cached is None or self._cached[0] is not hierarchy or self._cached[1] != choice:
            self._cached = (hierarchy, choice, keep_topic(hierarchy, choice, self._node))
        return self._cached[2]


def send_tree_file(
    window: TreeView,
    hierarchy: Hierarchy,
    choice: TreeChoice,
    form: str,
    *,
    aspect: float,
    previous: Mapping[int, Sequence[Node]] | None,
    on_map: MapChoice | None = None,
    tiles: TilesChoice | None = None,
) -> None:
    """Send the chosen part of a hierarchy to the browser as a file; do nothing for an unknown format.

    Parameters
    ----------
    window : TreeView
        The component that sends files to the browser.
    form : str
        "png", or one of the formats of :mod:`app.export.trees`.
    aspect : float
        Width / height of the window.
    previous : mapping, optional
        ``Layout.order`` of the picture on screen, so that the file has the same order.
    on_map : MapChoice, optional
        The choice of the map, if the map is on screen instead of the tree.
    tiles : TilesChoice, optional
        The choice of the tiles, if they are on screen instead of the tree.
    """
    name = f"topiary-run-{hierarchy.run}-minibatch-{hierarchy.minibatch}.{form}"
    if form in ("png", "svg"):  # the picture on screen, in colours for print
        picture: MapDrawing | TilesDrawing | TreeDrawing
        if tiles is not None:
            picture = draw_tiles(hierarchy, tiles, theme=LIGHT)
        elif on_map is not None:
            picture = draw_map(hierarchy, on_map._replace(selected=None), theme=LIGHT, aspect=aspect)
        else:
            picture = draw_tree(hierarchy, choice, theme=LIGHT, aspect=aspect, previous=previous)
        if form == "svg":
            window.hand_over(name, picture.svg)
        else:
            window.hand_over_picture(name, picture.svg, *picture.size)
    elif form in trees.FORMATS:
        window.hand_over(name, trees.render_tree(hierarchy, choice, form))
