"""The requests of the explore page: reads in other threads, and the handling of messages."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, ClassVar, NamedTuple

from topiary.app.analysis.hierarchy import Hierarchy, format_identity, parse_identity
from topiary.app.analysis.word_use import cut_passage
from topiary.app.export import trees
from topiary.app.pages.components import Message, TreeView
from topiary.app.pages.filters import handle_filter
from topiary.app.pages.notes import ACTIONS, NoteRequests
from topiary.app.pages.requests import PageRequests, list_moments
from topiary.app.pages.session import CHOICES, DEFAULTS, Context
from topiary.app.views.documents.documents_form import MAP
from topiary.app.views.explore.cards import FoundDocument, SearchResult
from topiary.app.views.explore.controls import SnapshotOption
from topiary.app.views.explore.detail import ONLY_ROOT, cut_excerpt
from topiary.app.views.explore.word_card import WordPassage, WordPassages
from topiary.app.views.palette import LIGHT
from topiary.app.views.runs.notices import explain_missing_run, explain_no_topics
from topiary.app.views.text import break_lines
from topiary.app.views.tree.map_svg import MapChoice, MapDrawing, draw_map
from topiary.app.views.tree.opening import USUAL, find_opening_threshold
from topiary.app.views.tree.picture import (
    TreeChoice,
    TreeDrawing,
    cut_tree,
    describe_sure,
    draw_tree,
    list_ancestors,
    reveal_topic,
)
from topiary.engine import models
from topiary.engine.hierarchy.tree import Node
from topiary.store import corpora
from topiary.store.notes import NewNote

_FOUND_DOCUMENTS = 12  # shown of a search
_SHOWN_PASSAGES = 8  # of a word


class FetchedHierarchy(NamedTuple):
    """The requested hierarchy (None if there is none yet) and the snapshots to choose from.

    ``child`` is the model's sentence that explains its child topics.
    """

    run: int
    snapshot: int
    hierarchy: Hierarchy | None
    moments: tuple[SnapshotOption, ...]
    child: str = ""


def fetch_hierarchy(context: Context, run: int, snapshot: int) -> FetchedHierarchy:
    """Return a hierarchy and the list of snapshots; this waits for the store."""
    moments = list_moments(context, run)
    hierarchy = context.feed.hierarchy(run, snapshot or None)
    row = context.feed.run(run)
    child = models.load(row.model).CHILD if row is not None else ""
    return FetchedHierarchy(run, snapshot, hierarchy, moments, child)


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
    opening = find_opening_threshold(hierarchy)
    if choice.detail != "paper" or choice.threshold != opening or opening == USUAL:
        return ""
    return f"Shown at the threshold {opening:g}: at the usual {USUAL:g}, too few edges join the most popular topics."


ONLY_TREE, OWN_LAYER = "wide", "layer"  # words of the tab: only the tree is shown; the visitor chose the listed layer
_RECUT = ("roots", "direction", "part")  # a change of one of these resets the number of topics drawn


class ExploreCallbacks(NamedTuple):
    """The functions of the page that handling a request calls.

    Attributes
    ----------
    hierarchy : () -> Hierarchy or None
        Returns the hierarchy on screen.
    choice : () -> TreeChoice
        Returns the part of it that the tree shows.
    refetch : () -> None
        Reads the hierarchy again after a change of names.
    resize : (message) -> None
        Handles a new size of the tree's window.
    search : (text or None) -> None
        Finds topics and documents; None moves the focus to the search field.
    save : (format) -> None
        Sends the tree to the browser as a file.
    show_word : (word) -> None
        Shows where a word is used; an empty text shows the topic again.
    redraw : () -> None
        Draws the panel of the topic again.
    """

    hierarchy: Callable[[], Hierarchy | None]
    choice: Callable[[], TreeChoice]
    refetch: Callable[[], None]
    resize: Callable[[Message], None]
    search: Callable[[str | None], None]
    save: Callable[[str], None]
    show_word: Callable[[str], None]
    redraw: Callable[[], None]


class ExploreRequests(PageRequests[ExploreCallbacks]):
    """The requests of the explore page; ``notes`` handles those about notes."""

    text_fields: ClassVar = {name: name for name in ("relevance", "picture", "relation", "snapshot", "label")}

    def __init__(self, context: Context, callbacks: ExploreCallbacks) -> None:
        super().__init__(context, callbacks)
        self.notes = NoteRequests(context, self._prepare_notes, self._show_notes)
        self._actions = {
            **dict.fromkeys(ACTIONS, lambda message, _: self.notes.handle(message)),
            "popular": lambda *_: self._put(roots=(), closed=(), hidden=(), part="union", direction="down"),
            "open-all": lambda *_: self._change_tree(closed=()),
            "detail": lambda _, value: self._choose_detail(value),
            "wide": lambda *_: self._put(tab="-".join(_toggle_identity(split_tab(self._view.tab), ONLY_TREE))),
            "direction": lambda _, value: self._change_tree(direction=value) if value in CHOICES["direction"] else None,
            "part": lambda _, value: self._change_tree(part=value) if value in CHOICES["part"] else None,
            "layer": lambda message, _: self._list_layer(str(message.get("layer", ""))),
            "light": lambda *_: self._switch("light"),
            "sure": lambda *_: self._switch("sure"),
            "unhide": lambda *_: self._put(hidden=()),
            "more": lambda *_: self._put(most=2 * self._view.most),
            "search": lambda message, value: self._callbacks.search(value if "value" in message else None),
            "word": lambda _, value: self._callbacks.show_word(value),
            "word-page": lambda _, value: self._put(page="word", word=value[:100], trail=()),
            "rename": self._rename,
            "unfilter": lambda message, _: self._unfilter(message),
            "save": lambda _, value: self._callbacks.save(value),
            "seeds": lambda *_: self._put(page="seeds", tab=""),
            "place": lambda message, _: self._place(str(message.get("number", ""))),
        }

    def _unfilter(self, message: Message) -> None:
        handle_filter(self._view, message)

    def handle(self, message: Message) -> None:
        """Handle a message of the browser, whose contents are not trusted."""
        action = message["do"]
        if action not in self._topic_actions:
            super().handle(message)
            return
        if action == "select":
            self._callbacks.show_word("")
        node, hierarchy = parse_identity(str(message.get("id", ""))), self._callbacks.hierarchy()
        if node is not None and hierarchy is not None and hierarchy.has(node):
            self._topic_actions[action](node)
        elif action == "select" and self._view.topic:  # the selection is cleared; the list keeps its layer
            self._put(topic=0, tab=self._on_own_layer())

    @cached_property
    def _topic_actions(self) -> dict[str, Callable[[Node], None]]:
        return {
            "select": lambda node: self._put(layer=node.layer, topic=node.column + 1),
            "toggle": lambda node: self._change_tree(closed=_toggle_identity(self._view.closed, format_identity(node))),
            "root": self._make_root,
            "pin": self._pin,
            "unpin": self._unpin,
            "hide": self._hide,
            "show": self._show,
            "map": lambda node: self._put(page="documents", tab=MAP, layer=node.layer, topic=node.column + 1),
        }

    def _put(self, **fields: Any) -> None:
        if any(
            fields.get(name, previous) != previous
            for name, previous in self._view.param.values().items()
            if name in _RECUT
        ):
            fields = {"most": DEFAULTS["most"]} | fields
        super()._put(**fields)

    def _list_roots(self) -> tuple[str, ...]:
        return tuple(format_identity(root) for root in self._callbacks.choice().roots)

    def _choose_detail(self, value: str) -> None:
        hierarchy = self._callbacks.hierarchy()
        if value == "paper" and hierarchy is not None:
            self._put(threshold=find_opening_threshold(hierarchy))
        elif value in CHOICES["detail"]:
            self._put(detail=value, threshold=None)

    def _change_tree(self, **fields: Any) -> None:
        """Change the tree on screen; its roots are then fixed, and become part of the page's URL."""
        self._put(roots=self._list_roots(), **fields)

    def _make_root(self, node: Node) -> None:
        """Make a topic the only root; from the top layer the tree leads down, and from layer 1 up."""
        root, hierarchy = format_identity(node), self._callbacks.hierarchy()
        closed = tuple(other for other in self._view.closed if other != root)
        direction = self._view.direction
        if hierarchy is not None and hierarchy.n_layers > 1:
            direction = {1: "up", hierarchy.n_layers: "down"}.get(node.layer, direction)
        self._put(roots=(root,), closed=closed, direction=direction, layer=node.layer, topic=node.column + 1)

    def _pin(self, node: Node) -> None:
        self._put(roots=_toggle_identity(self._list_roots(), format_identity(node)))

    def _unpin(self, node: Node) -> None:
        self._put(roots=tuple(other for other in self._list_roots() if other != format_identity(node)))

    def _rename(self, message: Message, value: str) -> None:
        node = parse_identity(str(message.get("id", "")))
        if node is not None:
            self._rename_topic(self._view.run, node, value)

    def _prepare_notes(self, subject: str, new: Sequence[NewNote]) -> Callable[[], None] | None:
        node, hierarchy = parse_identity(subject), self._callbacks.hierarchy()
        if node is None or hierarchy is None or not hierarchy.has(node):
            return None
        return partial(self._context.actions.add_topic_notes, hierarchy.run, node.layer, node.column + 1, new)

    def _show_notes(self) -> None:
        self._callbacks.refetch()
        self._callbacks.redraw()

    def _hide(self, node: Node) -> None:
        roots, hidden = self._list_roots(), format_identity(node)
        if hidden not in roots:
            self._change_tree(hidden=(*self._view.hidden, hidden))
        elif len(roots) > 1:
            self._put(roots=_toggle_identity(roots, hidden))
        else:
            self._context.notify(f"{ONLY_ROOT}.", "info")

    def _show(self, node: Node) -> None:
        hierarchy = self._callbacks.hierarchy()
        if hierarchy is None:
            return
        choice, view = reveal_topic(hierarchy, self._callbacks.choice(), node), self._view
        self._put(
            roots=tuple(format_identity(root) for root in choice.roots),
            closed=tuple(text for text in view.closed if parse_identity(text) in choice.closed),
            hidden=tuple(text for text in view.hidden if parse_identity(text) in choice.without),
            most=view.most,
            light="shown" if choice.light else view.light,
        )

    def _list_layer(self, text: str) -> None:
        hierarchy = self._callbacks.hierarchy()
        if hierarchy is not None and text.isdecimal() and 1 <= int(text) <= hierarchy.n_layers:
            self._view.param.update(layer=int(text), topic=0, tab=self._on_own_layer())

    def _on_own_layer(self) -> str:
        """Return the tab with OWN_LAYER, which says that the visitor chose the listed layer."""
        return "-".join(dict.fromkeys((*split_tab(self._view.tab), OWN_LAYER)))

    def _place(self, number: str) -> None:
        if number.isdecimal():
            self._put(page="documents", documents=(int(number),), trail=(), tab="")


def split_tab(tab: str) -> tuple[str, ...]:
    """Split the page's tab at hyphens into its words, ONLY_TREE and OWN_LAYER."""
    return tuple(filter(None, tab.split("-")))


def reset_tab(tab: str) -> str:
    """Return the tab without OWN_LAYER, for a run in which no layer has been chosen."""
    return "-".join(word for word in split_tab(tab) if word != OWN_LAYER)


def _toggle_identity(identities: tuple[str, ...], toggled: str) -> tuple[str, ...]:
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
) -> None:
    """Send the chosen part of a hierarchy to the browser as a file; do nothing for an unknown format.

    Parameters
    ----------
    window : TreeView
        The component that sends files to the browser.
    hierarchy : Hierarchy
    choice : TreeChoice
    form : str
        "png", or one of the formats of :mod:`app.export.trees`.
    aspect : float
        Width / height of the window.
    previous : mapping, optional
        ``Layout.order`` of the picture on screen, so that the file has the same order.
    on_map : MapChoice, optional
        The choice of the map, if the map is on screen instead of the tree.
    """
    name = f"topiary-run-{hierarchy.run}-minibatch-{hierarchy.minibatch}.{form}"
    if form in ("png", "svg"):  # the picture on screen, in colours for print
        picture: MapDrawing | TreeDrawing
        if on_map is not None:
            picture = draw_map(hierarchy, on_map._replace(selected=None), theme=LIGHT, aspect=aspect)
        else:
            picture = draw_tree(hierarchy, choice, theme=LIGHT, aspect=aspect, previous=previous)
        if form == "svg":
            window.hand_over(name, picture.svg)
        else:
            window.hand_over_picture(name, picture.svg, *picture.size)
    elif form in trees.FORMATS:
        window.hand_over(name, trees.render_tree(hierarchy, choice, form))
