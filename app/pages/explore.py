"""The page that explores a run's topics: a list, a tree and details, which share one selection."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar

import panel as pn

from topiary.app.analysis.filters import Condition
from topiary.app.analysis.hierarchy import Hierarchy, format_identity, parse_identities, parse_identity
from topiary.app.analysis.refinements import SHARE
from topiary.app.export import trees
from topiary.app.pages.components import Board, Message, TreeView
from topiary.app.pages.explore_reading import (
    LISTED,
    ONLY_TREE,
    OWN_LAYER,
    READ_MAP,
    READ_TILES,
    READ_TREE,
    WHOLE,
    FetchedHierarchy,
    KeptTopic,
    explain_children,
    explain_lonely_roots,
    explain_threshold,
    explain_waiting,
    fetch_hierarchy,
    find_documents,
    find_passages,
    send_tree_file,
    split_tab,
    toggle_identity,
)
from topiary.app.pages.film import Film
from topiary.app.pages.filters import DocumentFilters, SelectionReader, add_condition
from topiary.app.pages.messages import LatestRequest, TreePage, on
from topiary.app.pages.notes import NoteWriter
from topiary.app.pages.refining import CloserLooks, CorpusRefiner
from topiary.app.pages.saving import ReportSaver, ReportSubject, TableSaver
from topiary.app.pages.seeds import SeedReader
from topiary.app.pages.session import CHOICES, DEFAULTS, Context
from topiary.app.pages.topic_documents import NameProposer, TopicDocuments, TopicTrends
from topiary.app.views.documents.placed_document import MAP
from topiary.app.views.explore.cards import (
    SearchResult,
    TopicMarks,
    WordPassages,
    draw_topic_list,
    draw_word_card,
    find_topics,
)
from topiary.app.views.explore.controls import (
    ControlState,
    describe_tree,
    draw_column_topics,
    draw_controls,
    draw_map_foot,
    draw_map_legend,
    draw_rows,
    draw_selection,
    draw_share_bar,
    draw_tiles_foot,
    draw_tree_foot,
    list_everywhere,
    list_top_rows,
    list_tree_rows,
)
from topiary.app.views.explore.detail import (
    MUCH,
    ONLY_ROOT,
    NameOffer,
    PanelState,
    draw_missing_topic,
    draw_small_trends,
    draw_topic,
)
from topiary.app.views.save_dialogs import ReportScope, list_report_scopes
from topiary.app.views.tree.layout import WIDE
from topiary.app.views.tree.map_svg import MapChoice, draw_map
from topiary.app.views.tree.opening import (
    RULES,
    USUAL,
    Detail,
    choose_first_roots,
    choose_main_roots,
    choose_threshold,
    find_lower_threshold,
    find_opening_threshold,
    list_joined_topics,
    list_top_topics,
)
from topiary.app.views.tree.picture import TreeChoice, TreeDrawing, draw_tree, reveal_topic
from topiary.app.views.tree.tiles import TileRows, TilesChoice, describe_shares, draw_tiles
from topiary.app.views.tree.tree_svg import draw_more_offer
from topiary.engine.hierarchy.tree import Node
from topiary.store.notes import NewNote

_WATCHED = (
    *("page", "run", "snapshot", "layer", "topic", "tab"),
    *("roots", "closed", "hidden", "most", "threshold", "detail"),
    *("direction", "part", "label", "light", "sure", "relevance", "search"),
    *("picture", "relation", "where"),
)


_FORMATS = ("svg", *(name for name in trees.FORMATS if name != "svg"))  # of files, that of the picture first
_RECUT = ("roots", "direction", "part")  # a change of one of these resets the number of topics drawn
# fields of the view that say something about a tree: a link with one of them shows it
_TREE_FIELDS = ("roots", "closed", "most", "threshold", "detail", "direction", "part", "sure")
# fields of the view that choose the part of the graph to draw
_CUT_FIELDS = {"roots", "closed", "hidden", "most", "threshold", "detail", "direction", "part", "light", "sure"}


class ExplorePage(TreePage):
    """The explore page of one session: it draws the chosen hierarchy, and turns clicks into changes of the view."""

    fields: ClassVar = {name: name for name in ("relevance", "relation", "snapshot", "label")}
    presets: ClassVar = {
        "popular": {"roots": (), "closed": (), "hidden": (), "part": "union", "direction": "down"},
        "unhide": {"hidden": ()},
        "seeds": {"page": "seeds", "tab": ""},
    }
    switches: ClassVar = ("light", "sure")

    def __init__(self, context: Context) -> None:
        board = partial(Board, on_message=self.handle, sheets=["menu", "explore"])
        self._controls = board(css_classes=["ex-top"])
        self._list = board(css_classes=["ex-list"])
        self._tree = TreeView(on_message=self.handle, css_classes=["ex-tree"], sheets=["explore"])
        self._tops = board(css_classes=["ex-tops"])
        self._offer = board(css_classes=["ex-offer"])
        self._detail = board(css_classes=["ex-side"])
        self._foot = board(css_classes=["ex-foot"])
        boards = (self._controls, self._list, self._tops, self._offer, self._detail, self._foot)
        super().__init__(context, {"": self._tree}, boards, aspect=WIDE)
        self._hierarchy: Hierarchy | None = None  # with words by the relevance that the visitor chose
        self._original: Hierarchy | None = None  # the same hierarchy as cached for all sessions
        self._previous: Hierarchy | None = None  # the snapshot shown before the newest one
        self._drawing: TreeDrawing | None = None
        self._tiles: TileRows | None = None
        self._latest: LatestRequest[tuple[int, int]] = LatestRequest(context, self._repeat)  # (run, snapshot)
        self._first_roots: tuple[Node, ...] = ()
        self._kept_topic = KeptTopic()
        self._finding = SearchResult("")
        self._word: WordPassages | None = None  # shown in place of the topic
        self._documents = TopicDocuments(context)
        self._trends = TopicTrends(context)
        self._seeds = SeedReader(context)
        self._selection = SelectionReader(context)
        self._child = ""
        self._panel: tuple[int, Node] | None = None  # the run and the topic that the panel is about
        self._opening: tuple[Hierarchy, float] | None = None  # a hierarchy, and the threshold at which it opens
        self._listed: tuple[int, Node | None] = (0, None)  # as `_find_listed` returned it for the list on screen
        self._scopes: tuple[tuple[str, ReportScope], ...] = ()  # what a report can be about, as the dialog says
        self._reports = ReportSaver(context, self._tree, self._find_report_subject)
        self._tables = TableSaver(context, lambda: self._controls)
        self._refine = CorpusRefiner(context, self._redraw_detail)
        self._notes = NoteWriter(context, self._prepare_notes, self._show_notes)
        self._names = NameProposer(context, lambda: self._original, self._redraw_detail)
        self.helpers = self._tables, self._reports, self._refine, self._notes, self._names, DocumentFilters(context)
        self.page = pn.Row(
            self._controls, self._list, self._tops, self._tree, self._offer, self._detail, self._foot,
            css_classes=["ex-page"], sizing_mode="stretch_width", margin=0,
        )  # fmt: skip
        self._view.param.watch(self._on_view, list(_WATCHED))
        context.on_tick(self._on_tick)
        self._looks = CloserLooks(context, self._redraw_detail, self._redraw_controls)
        self._fetch()
        if self._hierarchy is None:
            self._draw_nothing()
        film = Film(context, "explore", choice=self._choose_film_tree, css_class="ex-film")
        self.page.append(film.bar)

    # ------------------------------------------------------------ choices

    @property
    def choice(self) -> TreeChoice:
        """The part of the graph to draw; a topic selected in the picture stays in it when a newer snapshot arrives."""
        view = self._view
        choice = TreeChoice(
            self._list_roots(),
            self._choose_threshold() if self._detail_rule == "paper" else USUAL,
            view.direction,
            view.part,
            closed=frozenset(parse_identities(view.closed)),
            without=frozenset(parse_identities(view.hidden)),
            cap=view.most,
            label=view.label,
            light=view.light == "shown",
            sure=view.sure == "shown",
            detail=self._detail_rule,
        )
        return choice if self._hierarchy is None else self._kept_topic.choice(self._hierarchy, choice)

    def _choose_film_tree(self) -> TreeChoice | None:
        """Return the part of the trees that a film shows; None before the first hierarchy."""
        return None if self._hierarchy is None else self.choice

    @property
    def _detail_rule(self) -> Detail:
        """The rule by which children are drawn: the threshold if the visitor has chosen one."""
        return self._view.detail if self._view.threshold is None else "paper"

    def _choose_threshold(self) -> float:
        """Return the threshold that the visitor chose, or that at which the newest topics open with a tree."""
        if self._view.threshold is not None or self._original is None:
            return choose_threshold(self._view.threshold)
        if self._opening is None or self._opening[0] is not self._original:
            self._opening = self._original, choose_threshold(None, self._original)
        return self._opening[1]

    def _list_roots(self) -> tuple[Node, ...]:
        if self._hierarchy is None:
            return ()
        chosen = tuple(node for node in parse_identities(self._view.roots) if self._hierarchy.has(node))
        return chosen or self._first_roots

    def _choose_first_roots(self, hierarchy: Hierarchy) -> tuple[Node, ...]:
        """Return the roots of the view with which the page opens."""
        detail = self._detail_rule
        if detail == "paper":
            return choose_first_roots(hierarchy, self._choose_threshold())
        return choose_main_roots(hierarchy, hierarchy.heaviest_edges(*RULES[detail][:3]))

    def _find_selected(self) -> Node | None:
        node = Node(self._view.layer, self._view.topic - 1)
        return node if self._view.topic and self._hierarchy is not None and self._hierarchy.has(node) else None

    def _find_open_topic(self) -> Node | None:
        """Return the topic whose panel is open: the selected one, or the first root."""
        return self._find_selected() or next(iter(self._list_roots()), None)

    def _find_selected_in_picture(self) -> Node | None:
        selected = self._find_selected()
        return selected if self._drawing is not None and selected in self._drawing.part.nodes else None

    def _find_missing(self, hierarchy: Hierarchy) -> Node | None:
        """Return the selected topic, or else a root from the link, if this snapshot lacks it."""
        nodes = (
            (Node(self._view.layer, self._view.topic - 1),) if self._view.topic else parse_identities(self._view.roots)
        )
        return next((node for node in nodes if not hierarchy.has(node)), None)

    def _choose_layer(self, hierarchy: Hierarchy) -> int:
        """Return the layer to list: the view's layer, or the layer of the highest root until one is chosen."""
        if self._view.topic == 0 and OWN_LAYER not in split_tab(self._view.tab) and self._view.layer == 1:
            return max((root.layer for root in self._list_roots()), default=hierarchy.n_layers)
        return min(self._view.layer, hierarchy.n_layers)

    # ------------------------------------------------------------ messages

    def read_argument(self, name: str, kind: Any, message: Message) -> Any:
        """Return what a handler wants to know: the hierarchy on screen, a topic of it, or another field."""
        if kind is Hierarchy:
            return self._hierarchy
        value = super().read_argument(name, kind, message)
        is_missing = kind is Node and value is not None and not (self._hierarchy and self._hierarchy.has(value))
        return None if is_missing else value

    def _put(self, **fields: Any) -> None:
        if any(fields.get(name, getattr(self._view, name)) != getattr(self._view, name) for name in _RECUT):
            fields = {"most": DEFAULTS["most"]} | fields
        super()._put(**fields)

    def _change_tree(self, **fields: Any) -> None:
        """Change the tree on screen; its roots are then fixed, and become part of the page's URL."""
        self._put(roots=self._name_roots(), **fields)

    def _name_roots(self) -> tuple[str, ...]:
        return tuple(map(format_identity, self.choice.roots))

    @on("open-all")
    def _unfold(self) -> None:
        self._change_tree(closed=())

    @on("detail")
    def _choose_detail(self, hierarchy: Hierarchy, value: str) -> None:
        if value == "paper":
            self._put(threshold=find_opening_threshold(hierarchy))
        elif value in CHOICES["detail"]:
            self._put(detail=value, threshold=None)

    @on("picture")
    def _choose_picture(self, value: str) -> None:
        if value in CHOICES["picture"]:
            self._put(
                picture=value, **({field: DEFAULTS[field] for field in _TREE_FIELDS} if value == "topics" else {})
            )

    @on("apart")
    def _set_apart(self, hierarchy: Hierarchy, topic: Node) -> None:
        """Put a topic of the top layer into the bar at the foot of the tiles, or back; one stays."""
        hidden = toggle_identity(self._view.hidden, format_identity(topic))
        tops = {format_identity(node) for node in hierarchy.nodes(hierarchy.n_layers)}
        if topic.layer == hierarchy.n_layers and not tops <= {*hidden}:
            self._put(hidden=hidden)

    @on("apart")
    def _set_all_apart(self, hierarchy: Hierarchy) -> None:
        """Put the topics that are in every kind of text into the bar at the foot of the tiles, or all topics back."""
        everywhere = tuple(map(format_identity, list_everywhere(hierarchy)))
        is_apart = {*everywhere} <= {*self._view.hidden}
        self._put(hidden=() if is_apart else tuple(dict.fromkeys((*self._view.hidden, *everywhere))))

    @on("list", "wide", "rest")
    def _toggle_part(self, do: str) -> None:
        part = {"list": LISTED, "wide": ONLY_TREE, "rest": WHOLE}[do]
        self._put(tab="-".join(toggle_identity(split_tab(self._view.tab), part)))

    @on("direction", "part")
    def _choose_part(self, do: str, value: str) -> None:
        if value in CHOICES[do]:
            self._change_tree(**{do: value})

    @on("layer")
    def _list_layer(self, hierarchy: Hierarchy, layer: int) -> None:
        if 1 <= layer <= hierarchy.n_layers:
            self._view.param.update(layer=layer, topic=0, tab=self._on_own_layer())

    def _on_own_layer(self) -> str:
        """Return the tab with OWN_LAYER, which says that the visitor chose the listed layer."""
        return "-".join(dict.fromkeys((*split_tab(self._view.tab), OWN_LAYER)))

    @on("word-page")
    def _open_word(self, value: str) -> None:
        self._put(page="word", word=value[:100], trail=())

    @on("place")
    def _open_document(self, number: int) -> None:
        self._put(page="documents", documents=(number,), trail=(), tab="")

    @on("documents")
    def _list_documents(self, topic: Node) -> None:
        """Show the documents of which a topic has much."""
        condition = f"{format_identity(topic)}={MUCH:g}.."
        self._put(page="documents", documents=(), trail=(), tab="", query="", table_page=1, subject=())
        add_condition(self._view, condition)

    @on("rename")
    def _rename(self, topic: Node, value: str) -> None:
        self._rename_topic(self._view.run, topic, value)

    @on("select")
    def _select(self, topic: Node) -> None:
        self._show_word("")
        self._put(layer=topic.layer, topic=topic.column + 1)

    @on("select")
    def _clear_selection(self) -> None:
        """Select no topic; the list keeps its layer."""
        self._show_word("")
        if self._view.topic:
            self._put(topic=0, tab=self._on_own_layer())

    @on("toggle")
    def _fold(self, topic: Node) -> None:
        self._change_tree(closed=toggle_identity(self._view.closed, format_identity(topic)))

    @on("map")
    def _show_on_map(self, topic: Node) -> None:
        own = str(Condition(format_identity(topic), f"{100 * SHARE:g}%.."))
        where = self._view.where if own in self._view.where else (*self._view.where, own)
        self._put(page="documents", tab=MAP, where=where, table_page=1)

    @on("root")
    def _make_root(self, hierarchy: Hierarchy, topic: Node) -> None:
        """Make a topic the only root; from the top layer the tree leads down, and from layer 1 up."""
        root, direction = format_identity(topic), self._view.direction
        closed = tuple(other for other in self._view.closed if other != root)
        if hierarchy.n_layers > 1:
            direction = {1: "up", hierarchy.n_layers: "down"}.get(topic.layer, direction)
        self._put(
            picture="tree", roots=(root,), closed=closed, direction=direction, layer=topic.layer, topic=topic.column + 1
        )

    @on("pin")
    def _pin(self, topic: Node) -> None:
        self._put(roots=toggle_identity(self._name_roots(), format_identity(topic)))

    @on("unpin")
    def _unpin(self, topic: Node) -> None:
        self._put(roots=tuple(other for other in self._name_roots() if other != format_identity(topic)))

    @on("hide")
    def _hide(self, topic: Node) -> None:
        roots, hidden = self._name_roots(), format_identity(topic)
        if hidden not in roots:
            self._change_tree(hidden=(*self._view.hidden, hidden))
        elif len(roots) > 1:
            self._put(roots=toggle_identity(roots, hidden))
        else:
            self._context.notify(f"{ONLY_ROOT}.", "info")

    @on("show")
    def _show(self, hierarchy: Hierarchy, topic: Node) -> None:
        choice, view = reveal_topic(hierarchy, self.choice, topic), self._view
        self._put(
            roots=tuple(map(format_identity, choice.roots)),
            closed=tuple(text for text in view.closed if parse_identity(text) in choice.closed),
            hidden=tuple(text for text in view.hidden if parse_identity(text) in choice.without),
            most=view.most,
            light="shown" if choice.light else view.light,
        )

    def _prepare_notes(self, subject: str, new: Sequence[NewNote]) -> Callable[[], None] | None:
        node, hierarchy = parse_identity(subject), self._hierarchy
        if node is None or hierarchy is None or not hierarchy.has(node):
            return None
        return partial(self._context.actions.add_topic_notes, hierarchy.run, node.layer, node.column + 1, new)

    def _show_notes(self) -> None:
        self._fetch()
        self._redraw_detail()

    # ------------------------------------------------------------- changes

    def _on_tick(self, tick: Any) -> None:
        run = self._view.run
        if self._view.page != "explore" or run not in tick.snapshots | tick.rows | tick.labels:
            return
        if self._hierarchy is None or run in tick.labels or (run in tick.snapshots and not self._view.snapshot):
            self._fetch()
        elif self._view.where and self._original is not None:
            self._selection.add(self._original, self._select_documents)  # measures again when the run has ended
        if self._hierarchy is None:
            self._draw_all()

    def _on_view(self, *events: Any) -> None:
        if self._view.page != "explore":
            return
        changed = {event.name for event in events}
        if self._hierarchy is not None and self._hierarchy.run != self._view.run:
            self._clear_run()
        if changed & {"run", "layer", "topic"}:
            self._word = None
        if "run" in changed:
            self._child = ""
        shown = self._original
        if changed & {"run", "snapshot", "page"}:
            self._fetch()
        if changed <= {"run", "snapshot"} and self._original is not shown and self._original is not None:
            return  # drawn when it was taken
        if changed <= {"layer", "topic"}:
            self._draw_selection()
            return
        self._follow_choices(changed)
        self._draw_all(tree=bool(changed - {"layer", "topic", "tab", "search"}))

    def _follow_choices(self, changed: set[str]) -> None:
        """Do what choices of the visitor change in what is drawn next."""
        if changed & _CUT_FIELDS:
            self._kept_topic.hold(None)
        if "relevance" in changed and self._hierarchy is not None:
            self._hierarchy = self._hierarchy.choose_words(self._view.relevance)
        if "where" in changed and self._original is not None:
            self._hierarchy = self._add_selection(self._original)
        if changed & {"threshold", "detail"} and self._hierarchy is not None:
            self._first_roots = self._choose_first_roots(self._hierarchy)

    def _fetch(self) -> None:
        run, snapshot = self._view.run, self._view.snapshot
        hierarchy = self._context.feed.get_cached_hierarchy(run, snapshot or None)
        if hierarchy is not None:
            self._child = self._child or explain_children(self._context, run)
            self._take((run, snapshot), hierarchy)
        elif run:
            work = partial(fetch_hierarchy, self._context, run, snapshot)
            self._latest.send((run, snapshot), work, self._receive)

    def _repeat(self) -> None:
        if self._view.page == "explore":
            self._fetch()

    def _receive(self, answer: FetchedHierarchy) -> None:
        if (answer.run, answer.snapshot) != (self._view.run, self._view.snapshot):
            return
        self._child = answer.child
        if answer.hierarchy is not None and answer.hierarchy is not self._original:
            self._take((answer.run, answer.snapshot), answer.hierarchy)
        elif self._hierarchy is None:
            self._draw_nothing()

    def _select_documents(self) -> None:
        """Show the shares of topics in the documents that the view selects, once they are measured."""
        if self._original is not None:
            self._hierarchy = self._add_selection(self._original)
            self._draw_all()

    def _add_selection(self, original: Hierarchy) -> Hierarchy:
        """Return a hierarchy as it is shown: with the shares in the selected documents, and words by the relevance."""
        shown = self._selection.add(original, self._select_documents) if self._view.where else original
        return shown.choose_words(self._view.relevance)

    def _clear_run(self) -> None:
        """Clear the state that belongs to the run shown before."""
        self._kept_topic.hold(None)
        self._hierarchy = self._original = self._previous = self._drawing = None
        self._first_roots = ()
        self._finding, self._word, self._scopes = SearchResult(""), None, ()

    def _take(self, key: tuple[int, int], hierarchy: Hierarchy) -> None:
        """Show a hierarchy if it answers the present request; keep topics in the picture if its snapshot is newer."""
        if key != (self._view.run, self._view.snapshot) or hierarchy is self._original:
            return
        is_newer = (
            not self._view.snapshot and self._hierarchy is not None and self._hierarchy.minibatch < hierarchy.minibatch
        )
        self._previous = self._hierarchy if is_newer else None
        if self._hierarchy is not None and self._hierarchy.minibatch != hierarchy.minibatch:
            self._kept_topic.hold(self._find_selected_in_picture())
        chosen = self._add_selection(hierarchy)
        self._original, self._hierarchy = hierarchy, chosen
        if not self._keeps_first_roots(hierarchy):
            self._first_roots = self._choose_first_roots(hierarchy)
        self._draw_all(patient=is_newer)

    def _keeps_first_roots(self, hierarchy: Hierarchy) -> bool:
        """Return whether the roots stay in the picture because their ranks have changed only a little."""
        if not (kept := self._first_roots):
            return False
        if self._detail_rule == "paper":
            nodes = list_joined_topics(hierarchy, self._choose_threshold())
        else:
            nodes = list_top_topics(hierarchy)
        return {*kept} <= {*nodes[: 2 * len(kept)]}

    # ------------------------------------------------------------- drawing

    def _draw_all(self, *, tree: bool = True, patient: bool = False) -> None:
        """Draw what is on screen; ``patient`` is explained in `_draw_detail`."""
        if self._hierarchy is None:
            self._draw_nothing()
            return
        hierarchy = self._add_seeds(self._hierarchy)
        if self._finding.text != self._view.search:
            self._find(self._view.search)
        if tree:
            self._draw_tree(hierarchy)
        self._draw_marks(hierarchy)
        self._draw_controls(hierarchy)
        self._draw_list(hierarchy)
        self._draw_detail(hierarchy, patient=patient)

    def _draw_selection(self) -> None:
        """Draw what depends on the selected topic: its panel and its marks, and the list if that has other topics."""
        if self._hierarchy is None:
            return
        self._draw_marks(self._hierarchy)
        if self._find_listed(self._hierarchy) != self._listed:
            self._draw_list(self._hierarchy)
        self._redraw_detail()

    def _find_listed(self, hierarchy: Hierarchy) -> tuple[int, Node | None]:
        """Return the layer that is listed, and the topic that is listed only because it is selected."""
        selected = self._find_selected()
        is_extra = selected in hierarchy.light and self._view.light != "shown"
        return self._choose_layer(hierarchy), selected if is_extra else None

    def _draw_nothing(self) -> None:
        sentence = explain_waiting(self._context)
        self._tree.param.update(svg="", note=sentence, selected="")
        self.page.css_classes = ["ex-page", "ex-only"]
        for board in self._boards:
            board.html = ""

    def _is_map_shown(self, hierarchy: Hierarchy) -> bool:
        """Return whether the map is on screen: it was chosen, or the hierarchy has only one layer."""
        return hierarchy.n_layers == 1 or self._view.picture == "map"

    def _is_tiled(self, hierarchy: Hierarchy) -> bool:
        """Return whether the tiles are on screen: they are chosen, and nothing that only a tree shows."""
        is_chosen = self._view.picture == "topics" and all(
            getattr(self._view, field) == DEFAULTS[field] for field in _TREE_FIELDS
        )
        return is_chosen and hierarchy.fills_tiles

    def _name_picture(self, hierarchy: Hierarchy) -> str:
        if self._is_tiled(hierarchy):
            return "topics"
        return "map" if self._is_map_shown(hierarchy) else "tree"

    def _make_tiles_choice(self) -> TilesChoice:
        return TilesChoice(self._window, frozenset(parse_identities(self._view.hidden)), self._tiles)

    def _draw_tiles(self, hierarchy: Hierarchy) -> None:
        drawing = draw_tiles(hierarchy, self._make_tiles_choice())
        self._drawing, self._tiles = None, drawing.rows
        self._tree.param.update(svg=drawing.svg, note="")
        self._offer.html = self._tops.html = ""
        self._foot.html = draw_tiles_foot(hierarchy, drawing, self._child) + draw_column_topics(hierarchy)

    def _make_map_choice(self) -> MapChoice:
        return MapChoice(self._view.light == "shown", self._find_selected(), self._view.relation)

    def _draw_map(self, hierarchy: Hierarchy) -> None:
        drawing = draw_map(hierarchy, self._make_map_choice(), aspect=self._aspect)
        self._drawing = None
        self._tree.param.update(svg=drawing.svg, note="")
        self._offer.html = ""
        self._tops.html = draw_map_legend(hierarchy, drawing)
        foot = draw_map_foot(hierarchy, drawing, self._view.relation, self._child)
        self._foot.html = foot + draw_column_topics(hierarchy)

    def _draw_tree(self, hierarchy: Hierarchy) -> None:
        self._is_exact = self._is_tiled(hierarchy)
        if self._is_exact:
            self._draw_tiles(hierarchy)
            return
        if self._is_map_shown(hierarchy):
            self._draw_map(hierarchy)
            return
        choice = self.choice
        previous_order = self._drawing.layout.order() if self._drawing else None
        selected, previous_hierarchy = self._find_selected(), self._previous
        drawing = draw_tree(
            hierarchy,
            choice,
            aspect=self._aspect,
            previous=previous_order,
            selected=selected,
            before=previous_hierarchy,
        )
        self._drawing = drawing
        self._tree.param.update(svg=drawing.svg, note="")
        self._draw_shares(hierarchy, drawing)
        has_only_roots = len(drawing.part.nodes) == len(drawing.part.roots)
        lower_threshold = (
            find_lower_threshold(hierarchy, drawing.part.roots, choice.threshold, choice.direction)
            if has_only_roots and choice.detail == "paper"
            else None
        )
        self._offer.html = draw_more_offer(lower_threshold) if choice.part == "union" else ""
        hints = [
            explain_lonely_roots(hierarchy, choice) if has_only_roots else "",
            explain_threshold(hierarchy, choice),
            self._child,
        ]
        self._foot.html = draw_tree_foot(hierarchy, choice, drawing, hints) + draw_column_topics(hierarchy)

    def _describe_picture(self, hierarchy: Hierarchy) -> tuple[str, str]:
        """Return the sentence above the picture that answers, and how the picture is read."""
        if self._is_tiled(hierarchy):
            return describe_shares(hierarchy), READ_TILES
        if self._drawing is None:
            return "", READ_MAP
        return describe_tree(hierarchy, self._drawing.part, self.choice.direction), READ_TREE

    def _draw_controls(self, hierarchy: Hierarchy) -> None:
        answer, reading = self._describe_picture(hierarchy)
        state = ControlState(
            chosen=bool(self._view.roots),
            hidden=len(self._view.hidden),
            wide=ONLY_TREE in split_tab(self._view.tab),
            formats=_FORMATS,
            scopes=self._scopes,
            picture=self._name_picture(hierarchy),
            listed=self._is_listed(),
            relation=self._view.relation,
            search=self._view.search,
            answer=answer,
            reading=reading,
        )
        selection = draw_selection(self._selection.answer) if self._view.where else ""
        rows = selection + self._looks.draw_origin(hierarchy.run)
        self._controls.html = draw_controls(hierarchy, self.choice, state) + rows

    def _draw_marks(self, hierarchy: Hierarchy) -> None:
        """Mark the selected topic in the tree and in the list, and have the window show its panel."""
        selected = self._find_selected()
        node = selected or self._find_missing(hierarchy)
        self._tree.selected = format_identity(node) if node else ""
        self._list.current = format_identity(selected) if selected else ""
        tab, is_tiled = split_tab(self._view.tab), self._is_tiled(hierarchy)
        optional = {
            "ex-only": ONLY_TREE in tab,
            "ex-chosen": bool(self._view.topic),
            "ex-tiled": is_tiled,
            "ex-listed": self._is_listed(),
            "ex-outlined": is_tiled or self._drawing is not None,
        }
        classes = ["ex-page", *(name for name, applies in optional.items() if applies)]
        if self.page.css_classes != classes:
            self.page.css_classes = classes

    def _is_listed(self) -> bool:
        """Return whether the list is next to the picture: it is chosen, or something is searched for."""
        return LISTED in split_tab(self._view.tab) or bool(self._view.search.strip())

    def _draw_list(self, hierarchy: Hierarchy) -> None:
        self._listed = self._find_listed(hierarchy)
        if not self._is_listed():
            self._list.html = self._draw_rows(hierarchy)
            return
        marks = TopicMarks(self._find_selected(), frozenset(self.choice.roots), light=self._view.light == "shown")
        finding = self._finding._replace(topics=find_topics(hierarchy, self._finding.text))
        self._list.html = draw_topic_list(hierarchy, self._listed[0], marks, finding)

    def _draw_rows(self, hierarchy: Hierarchy) -> str:
        """Return what a phone shows in place of tiles or of a tree."""
        if self._is_tiled(hierarchy):
            return draw_rows(hierarchy, list_top_rows(hierarchy), self._find_selected())
        if self._drawing is None or hierarchy.image_shape is not None:
            return ""
        rows = list_tree_rows(hierarchy, self._drawing.part, self.choice.direction)
        return draw_rows(hierarchy, rows, self._find_selected())

    def _draw_detail(self, hierarchy: Hierarchy, *, focus: bool = False, patient: bool = False) -> None:
        """Draw the panel; with ``patient`` that of the same topic stays until its documents have been read."""
        before, self._panel = self._panel, None
        if self._word is not None:
            self._detail.html = draw_word_card(hierarchy, self._word, focus=focus)
            return
        missing = self._find_missing(hierarchy)
        if missing is not None:
            self._detail.html = draw_missing_topic(hierarchy, missing)
            return
        node = self._find_open_topic()
        if node is None:
            self._detail.html = ""
            return
        documents = self._documents.of(hierarchy, node, self._redraw_detail) if hierarchy.documents else []
        trend = self._trends.of(hierarchy, node, self._redraw_detail)
        self._panel = hierarchy.run, node
        if patient and documents is None and before == self._panel:
            return
        roots, drawing = self.choice.roots, self._drawing
        state = PanelState(
            root=node in roots, alone=(node,) == roots, drawn=drawing is None or node in drawing.part.nodes,
            picture=self._name_picture(hierarchy), sent=self._notes.sent, focus=self._notes.focus,
            closer=self._looks.draw_topic(hierarchy, node, busy=self._refine.busy),
            using=self._looks.count(hierarchy, node, MUCH),
            trend="" if trend is None else draw_small_trends(trend),
            whole=WHOLE in split_tab(self._view.tab),
            naming=self._names.offer(hierarchy, node) if self._names.is_used else NameOffer(server=self._context.names),
        )  # fmt: skip
        self._detail.html = draw_topic(hierarchy, node, self._choose_threshold(), documents, state)

    def _add_seeds(self, hierarchy: Hierarchy) -> Hierarchy:
        """Return a hierarchy with what comes back of it with other seeds; once that is measured, all is drawn again."""
        return self._seeds.add(hierarchy, self._draw_all)

    def _redraw_detail(self, *, focus: bool = False) -> None:
        if self._hierarchy is not None:
            self._draw_detail(self._add_seeds(self._hierarchy), focus=focus)

    def _redraw_controls(self) -> None:
        if self._hierarchy is not None:
            self._draw_controls(self._add_seeds(self._hierarchy))

    # ---------------------------------------------------------- the window

    def _draw_again(self) -> None:
        if self._hierarchy is not None:
            self._draw_tree(self._add_seeds(self._hierarchy))

    @on("size")
    def _resize(self, message: dict[str, Any]) -> None:
        """Fit the bar above a tree to the width too, also where the picture stays."""
        before = self._window[0]
        super()._resize(message)
        if before != self._window[0] and self._hierarchy is not None and self._drawing is not None:
            self._draw_shares(self._hierarchy, self._drawing)

    def _draw_shares(self, hierarchy: Hierarchy, drawing: TreeDrawing) -> None:
        """Draw the bar of all topics of the layer of the roots, above the tree."""
        layer = max((root.layer for root in drawing.part.roots), default=hierarchy.n_layers)
        self._tops.html = draw_share_bar(hierarchy, layer, drawing.part.roots, self._window[0])

    @on("search")
    def _search(self, value: str) -> None:
        self._view.search = value.encode("utf-8", "replace").decode("utf-8")[:200]

    def _find(self, text: str) -> None:
        """Find documents with the words of a text; topics with them are found when the list is drawn."""
        self._finding = SearchResult(text)
        if text.strip():
            work = partial(find_documents, self._context, self._view.run, text, lambda: text == self._finding.text)
            self._context.aside(work, self._receive_search)

    def _receive_search(self, finding: SearchResult) -> None:
        if finding.text == self._finding.text and self._hierarchy is not None:
            self._finding = finding
            self._draw_list(self._hierarchy)

    @on("word")
    def _show_word(self, value: str = "") -> None:
        """Show the topics and passages of a word in place of the topic; an empty text shows the topic again."""
        word = value
        if self._hierarchy is None or (not word and self._word is None):
            return
        self._word = WordPassages(word) if word in self._hierarchy.vocabulary else None
        self._redraw_detail(focus=True)
        if self._word is not None:
            work = partial(find_passages, self._context, self._view.run, word, lambda: self._is_word_shown(word))
            self._context.aside(work, self._receive_passages)

    def _is_word_shown(self, word: str) -> bool:
        return self._word is not None and self._word.word == word

    def _receive_passages(self, found: WordPassages) -> None:
        if self._is_word_shown(found.word):
            self._word = found
            self._redraw_detail()

    def _find_report_subject(self) -> ReportSubject | None:
        """Return what a report would be about; filters change the shares on screen, but not what a report says."""
        if self._original is None:
            return None
        choice, is_layered = self.choice, self._original.n_layers > 1
        scopes = list_report_scopes(self._original, choice, self._find_open_topic())
        if self._is_tiled(self._original):
            scopes.pop("tree", None)
        return ReportSubject(self._original, choice if is_layered else None, scopes)

    @on("steer-topic")
    def _steer(self, topic: Node) -> None:
        self._put(page="steer", tab="", layer=topic.layer, topic=topic.column + 1)

    @on("report")
    def _offer_report(self, hierarchy: Hierarchy) -> None:
        """Draw the topics that a report can be about in its dialog, which has been opened."""
        subject = self._find_report_subject()
        self._scopes = () if subject is None else tuple(subject.scopes.items())
        self._draw_controls(self._add_seeds(hierarchy))

    @on("save")
    def _save(self, hierarchy: Hierarchy, value: str) -> None:
        previous = self._drawing.layout.order() if self._drawing else None
        hierarchy = self._add_seeds(hierarchy)
        send_tree_file(
            self._tree, hierarchy, self.choice, value, aspect=self._aspect, previous=previous,
            on_map=self._make_map_choice() if self._is_map_shown(hierarchy) else None,
            tiles=self._make_tiles_choice() if self._is_tiled(hierarchy) else None,
        )  # fmt: skip
