"""The page where a run's topics are explored: list, tree, topic, all three one selection."""

from collections.abc import Callable, Mapping
from functools import cached_property, partial
from typing import Any

import panel as pn
from panel.viewable import Viewable

from app.board import Board, Message
from app.export import trees
from app.frame import Frame, identity, parse_identity
from app.pages import explore_reading as reading
from app.pages.explore_files import hand_over
from app.pages.ghosts import Ghosts
from app.remains import Pruned, Remains, gone
from app.session import DEFAULTS, DIRECTIONS, PARTS, Context
from app.theme import style
from app.views.cards import Finding, Marks, topic_list
from app.views.controls import Controls, Moment, control_row
from app.views.detail import ONLY_ROOT, topic_detail
from app.views.find import find_topics
from app.views.foot import tree_foot
from app.views.ghost import WAITING, ghost_detail
from app.views.ghost_tree import ghost_sentence
from app.views.layout import WIDE
from app.views.offer import more_offer
from app.views.opening import first_roots, joined, more_at, threshold_of
from app.views.picture import Choice, Drawing, draw, reveal
from app.views.tree_view import TreeView
from engine.tree import Node

_WIDE_TAB = "wide"
_RECUT = ("roots", "direction", "part")  # another cut of the graph begins with few topics again
_SHOWN = (
    *("page", "run", "snapshot", "layer", "topic", "tab"),
    *("roots", "closed", "hidden", "most", "threshold", "direction", "part", "label", "pruned"),
)


def explore_page(context: Context) -> Viewable:
    """Build the page of one session."""
    return Explorer(context).page


class Explorer:
    """The page of one session: turns the view and the newest frame into text, and clicks into the view.

    Parameters
    ----------
    context : Context
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._view = context.view
        self._frame: Frame | None = None
        self._before: Frame | None = None  # the snapshot shown until the newest came
        self._drawing: Drawing | None = None
        self._asked: tuple[int, int] | None = None  # (run, snapshot) being fetched
        self._moments: tuple[Moment, ...] = ()
        self._auto: tuple[Node, ...] = ()
        self._aspect = WIDE
        self._finding = Finding("")
        self._documents = reading.Documents(context)
        self._ghosts = Ghosts(context)
        self._pruned: Mapping[Node, Pruned] = {}
        sheets = ["explore"]
        self._controls = Board(heard=self._hear, css_classes=["ex-top"], sheets=sheets)
        self._list = Board(heard=self._hear, css_classes=["ex-list"], sheets=sheets)
        self._tree = TreeView(heard=self._hear, css_classes=["ex-tree"], sheets=sheets)
        self._offer = Board(heard=self._hear, css_classes=["ex-offer"], sheets=sheets)
        self._detail = Board(heard=self._hear, css_classes=["ex-side"], sheets=sheets)
        self._foot = Board(heard=self._hear, css_classes=["ex-foot"], sheets=sheets)
        self.page = pn.Row(
            self._controls, self._list, self._tree, self._offer, self._detail, self._foot,
            css_classes=["ex-page"], stylesheets=[style("explore")], sizing_mode="stretch_width", margin=0,
        )  # fmt: skip
        self._view.param.watch(self._on_view, list(_SHOWN))
        context.on_tick(self._on_tick)
        self._fetch()
        if self._frame is None:
            self._draw_nothing()

    # --------------------------------------------------------- what is shown

    @property
    def choice(self) -> Choice:
        """What of the graph is shown, from the view."""
        view = self._view
        return Choice(
            self._roots(),
            self._threshold(),
            view.direction,
            view.part,
            closed=_nodes(view.closed),
            without=_nodes(view.hidden),
            cap=view.most,
            label=view.label,
        )

    def _threshold(self) -> float:
        return threshold_of(self._view.threshold, *([self._frame] if self._frame else []))

    def _roots(self) -> tuple[Node, ...]:
        if self._frame is None:
            return ()
        wanted = tuple(node for node in _ordered(self._view.roots) if self._frame.has(node))
        return wanted or self._auto

    def _selected(self) -> Node | None:
        node = Node(self._view.layer, self._view.topic - 1)
        return node if self._view.topic and self._frame is not None and self._frame.has(node) else None

    def _missing(self, frame: Frame) -> Node | None:
        """The chosen topic, or a root of the link, that this snapshot lacks."""
        wanted = (Node(self._view.layer, self._view.topic - 1),) if self._view.topic else _ordered(self._view.roots)
        return next((node for node in wanted if not frame.has(node)), None)

    def _layer(self, frame: Frame) -> int:
        """Choose the layer to list: the view's, but that of the highest root as long as nobody chose."""
        if self._view.topic == 0 and self._view.tab != "layer" and self._view.layer == 1:
            return max((root.layer for root in self._roots()), default=frame.n_layers)
        return min(self._view.layer, frame.n_layers)

    # ------------------------------------------------------------ what's new

    def _on_tick(self, tick: Any) -> None:
        run = self._view.run
        if self._view.page != "explore" or run not in tick.snapshots | tick.rows | tick.labels:
            return
        if run in tick.labels:
            self._ghosts.forget()
        if self._frame is None or run in tick.labels or (run in tick.snapshots and not self._view.snapshot):
            self._fetch()
        if self._frame is None:
            self._draw_all()

    def _on_view(self, *events: Any) -> None:
        if self._view.page != "explore":
            return
        changed = {event.name for event in events}
        if self._frame is not None and self._frame.run != self._view.run:
            self._forget()
        if changed & {"run", "snapshot", "page"}:
            self._fetch()
        if "threshold" in changed and self._frame is not None:
            self._auto = first_roots(self._frame, self._threshold())
        self._draw_all(tree=bool(changed - {"layer", "topic", "tab"}))

    def _fetch(self) -> None:
        run, snapshot = self._view.run, self._view.snapshot
        known = self._context.feed.known_frame(run, snapshot or None)
        if known is not None:
            self._take((run, snapshot), known)
        if run and self._asked != (run, snapshot):
            self._asked = (run, snapshot)
            self._context.later(partial(reading.frame_and_moments, self._context, run, snapshot), self._fetched)

    def _fetched(self, answer: reading.Fetched) -> None:
        self._asked = None
        if (answer.run, answer.snapshot) != (self._view.run, self._view.snapshot):
            return
        self._moments = answer.moments
        known, self._pruned = self._pruned, answer.pruned
        if answer.frame is not None and answer.frame is not self._frame:
            self._take((answer.run, answer.snapshot), answer.frame)
        elif self._frame is not None:
            self._draw_controls(self._frame)
            if known != self._pruned:
                self._draw_all(tree=self._view.pruned == "shown")
        else:
            self._draw_nothing()

    def _forget(self) -> None:
        """Begin anew with another run."""
        self._frame, self._before, self._drawing, self._auto = None, None, None, ()
        self._moments, self._finding, self._pruned = (), Finding(""), {}

    def _take(self, key: tuple[int, int], frame: Frame) -> None:
        if key != (self._view.run, self._view.snapshot) or frame is self._frame:
            return
        live = not self._view.snapshot and self._frame is not None and self._frame.minibatch < frame.minibatch
        self._before = self._frame if live else None
        self._frame = frame
        fresh = first_roots(frame, self._threshold())
        # the same few topics stay in sight while their ranks change a little
        if not self._auto or not {*self._auto} <= {*joined(frame, self._threshold())[: 2 * len(fresh)]}:
            self._auto = fresh
        self._draw_all()

    # ------------------------------------------------------------- drawing

    def _draw_all(self, *, tree: bool = True) -> None:
        frame = self._frame
        if frame is None:
            self._draw_nothing()
            return
        if tree:
            self._draw_tree(frame)
        selected = self._selected()
        chosen = selected or self._missing(frame)
        self._tree.selected = identity(chosen) if chosen else ""
        self._draw_controls(frame)
        self._draw_list(frame)
        self._draw_detail(frame)

    def _draw_nothing(self) -> None:
        sentence = reading.waiting_for(self._context)
        self._tree.param.update(svg="", note=sentence, selected="")
        self.page.css_classes = ["ex-page", "ex-only"]
        for board in (self._controls, self._list, self._offer, self._detail, self._foot):
            board.html = ""

    def _draw_tree(self, frame: Frame) -> None:
        choice = self.choice
        previous = self._drawing.layout.order() if self._drawing else None
        selected, before = self._selected(), self._before
        drawing = draw(
            frame, choice, aspect=self._aspect, previous=previous, selected=selected, before=before,
            remains=self._remains(),
        )  # fmt: skip
        self._drawing = drawing
        self._tree.param.update(svg=drawing.svg, note="")
        alone = len(drawing.part.nodes) == len(drawing.part.roots)
        least = more_at(frame, drawing.part.roots, choice.threshold, choice.direction) if alone else None
        self._offer.html = more_offer(least) if choice.part == "union" else ""
        hints = [reading.lonely(frame, choice) if alone else "", reading.opened(self._view.threshold, choice)]
        if self._view.pruned == "shown" and gone(self._pruned, frame):
            hints.append(ghost_sentence(drawing.haunting))
        self._foot.html = tree_foot(frame, choice, drawing, before, hints)

    def _draw_controls(self, frame: Frame) -> None:
        state = Controls(
            chosen=bool(self._view.roots),
            hidden=len(self._view.hidden),
            moments=self._moments,
            pinned=self._view.snapshot,
            wide=self._view.tab == _WIDE_TAB,
            formats=("svg", *(name for name in trees.formats() if name != "svg")),
            pruned=len(gone(self._pruned, frame)),
            ghosts=self._view.pruned == "shown",
        )
        self._controls.html = control_row(frame, self.choice, state)
        classes = ["ex-page", "ex-only"] if state.wide else ["ex-page"]
        if self.page.css_classes != classes:
            self.page.css_classes = classes

    def _draw_list(self, frame: Frame, *, focus: bool = False) -> None:
        pruned = {node: when.minibatch for node, when in self._pruned.items()}
        marks = Marks(self._selected(), frozenset(self._roots()), pruned)
        finding = self._finding._replace(topics=find_topics(frame, self._finding.text))
        self._list.html = topic_list(frame, self._layer(frame), marks, finding, focus=focus)

    def _draw_detail(self, frame: Frame) -> None:
        missing = self._missing(frame)
        if missing is not None:
            ghost = self._ghosts.of(frame.run, missing, self._pruned, self._draw_again)
            self._detail.html = WAITING if ghost is None else ghost_detail(frame, *ghost)
            return
        node = self._selected() or next(iter(self._roots()), None)
        if node is None:
            self._detail.html = ""
            return
        documents = self._documents.of(frame, node, self._draw_again)
        roots, drawing = self._roots(), self._drawing
        self._detail.html = topic_detail(
            frame, node, self._threshold(), documents, root=node in roots, alone=(node,) == roots,
            drawn=drawing is None or node in drawing.part.nodes,
        )  # fmt: skip

    def _remains(self) -> tuple[Remains, ...]:
        """What is left of the pruned topics, where they are wanted in the tree."""
        if self._frame is None or self._view.pruned != "shown" or not self._pruned:
            return ()
        return self._ghosts.remains(self._frame.run, self._pruned, self._draw_ghosts)

    def _draw_ghosts(self) -> None:
        if self._frame is not None and self._view.pruned == "shown":
            self._draw_tree(self._frame)

    def _draw_again(self) -> None:
        if self._frame is not None:
            self._draw_detail(self._frame)

    # -------------------------------------------------------------- wishes

    def _hear(self, message: Message) -> None:
        """Do what a click asks; messages come from the browser, so nothing in them is trusted."""
        wish, value = message["do"], str(message.get("value", ""))
        node = parse_identity(str(message.get("id", "")))
        if wish in self._on_topic:
            if node is not None and self._frame is not None and self._frame.has(node):
                self._on_topic[wish](node)
            elif wish == "select" and node is not None and node in self._pruned:
                self._put(layer=node.layer, topic=node.column + 1)
            elif wish == "select" and self._view.topic:  # nothing; the list stays on its layer
                self._put(topic=0, tab=self._view.tab or "layer")
        elif wish in self._on_anything:
            self._on_anything[wish](message, value)

    @cached_property
    def _on_topic(self) -> dict[str, Callable[[Node], None]]:
        return {
            "select": lambda node: self._put(layer=node.layer, topic=node.column + 1),
            "toggle": lambda node: self._shape(closed=_flip(self._view.closed, identity(node))),
            "root": lambda node: self._put(roots=(identity(node),), layer=node.layer, topic=node.column + 1),
            "pin": self._pin,
            "unpin": self._pin,
            "hide": self._hide,
            "show": self._show,
        }

    @cached_property
    def _on_anything(self) -> dict[str, Callable[[Message, str], None]]:
        return {
            "popular": lambda *_: self._put(roots=(), closed=(), hidden=(), part="union"),
            "open-all": lambda *_: self._put(closed=()),
            "wide": lambda *_: self._put(tab="" if self._view.tab == _WIDE_TAB else _WIDE_TAB),
            "direction": lambda _, value: self._shape(direction=value) if value in DIRECTIONS else None,
            "part": lambda _, value: self._shape(part=value) if value in PARTS else None,
            "threshold": lambda _, value: self._set_threshold(reading.threshold(value)),
            "snapshot": lambda _, value: self._put(snapshot=int(value)) if value.isdecimal() else None,
            "label": lambda _, value: self._put(label=int(value)) if value.isdecimal() else None,
            "layer": lambda message, _: self._list_layer(str(message.get("layer", ""))),
            "ghosts": lambda *_: self._put(pruned="hidden" if self._view.pruned == "shown" else "shown"),
            "unhide": lambda *_: self._put(hidden=()),
            "more": lambda *_: self._shape(most=2 * self._view.most),
            "size": lambda message, _: self._resize(message),
            "search": lambda message, value: self._search(value) if "value" in message else self._focus_search(),
            "rename": self._rename,
            "save": lambda _, value: self._save(value),
            "place": lambda message, _: self._place(str(message.get("number", ""))),
        }

    def _put(self, **fields: Any) -> None:
        if any(fields.get(name, was) != was for name, was in self._view.param.values().items() if name in _RECUT):
            fields = {"most": DEFAULTS["most"]} | fields
        if fields.get("roots"):  # of the visitor's choice, and so is the threshold that they are seen at
            fields = {"threshold": self._threshold()} | fields
        self._view.param.update(**fields)

    def _shape(self, **fields: Any) -> None:
        """Change the tree on screen: its roots become the visitor's choice, and so part of the link."""
        self._put(roots=tuple(identity(root) for root in self._roots()), **fields)

    def _set_threshold(self, threshold: float | None) -> None:
        if threshold is not None:
            self._shape(threshold=threshold)

    def _pin(self, node: Node) -> None:
        self._put(roots=_flip(tuple(identity(root) for root in self._roots()), identity(node)))

    def _rename(self, message: Message, value: str) -> None:
        node = parse_identity(str(message.get("id", "")))
        if node is not None:
            act = partial(self._context.actions.rename_topic, self._view.run, node.layer, node.column + 1, value[:120])
            self._context.later(act, lambda _: self._fetch())

    def _hide(self, node: Node) -> None:
        roots = self._roots()
        if node in roots and len(roots) > 1:
            self._put(roots=tuple(identity(root) for root in roots if root != node))
        elif node not in roots:
            self._shape(hidden=(*self._view.hidden, identity(node)))
        else:
            self._context.tell(f"{ONLY_ROOT}.", "info")

    def _show(self, node: Node) -> None:
        if self._frame is None:
            return
        shown, view = reveal(self._frame, self.choice, node), self._view
        self._put(
            roots=tuple(identity(root) for root in shown.roots),
            closed=tuple(text for text in view.closed if parse_identity(text) in shown.closed),
            hidden=tuple(text for text in view.hidden if parse_identity(text) in shown.without),
            most=view.most,
        )

    def _list_layer(self, text: str) -> None:
        if self._frame is not None and text.isdecimal() and 1 <= int(text) <= self._frame.n_layers:
            self._view.param.update(layer=int(text), topic=0, tab="layer")

    def _resize(self, message: Message) -> None:
        width, height = message.get("width"), message.get("height")
        if not isinstance(width, int | float) or not isinstance(height, int | float) or min(width, height) < 50:
            return
        if message.get("here") != len(self._tree.svg):
            self._send_again()
        aspect = min(2.6, max(0.6, width / height))
        if abs(aspect / self._aspect - 1) > 0.12:
            self._aspect = aspect
            if self._frame is not None:
                self._draw_tree(self._frame)

    def _send_again(self) -> None:
        """Send everything once more, changed by a blank so that it counts as new."""
        self._tree.svg += " "
        for board in (self._controls, self._list, self._offer, self._detail, self._foot):
            board.html += " "

    def _focus_search(self) -> None:
        if self._frame is not None:
            self._draw_list(self._frame, focus=True)

    def _search(self, text: str) -> None:
        self._finding = Finding(text[:200])
        if self._frame is not None:
            self._draw_list(self._frame)
            if self._finding.text.strip():
                self._context.later(
                    partial(reading.search, self._context, self._view.run, self._finding.text), self._searched
                )

    def _searched(self, finding: Finding) -> None:
        if finding.text == self._finding.text and self._frame is not None:
            self._finding = finding
            self._draw_list(self._frame)

    def _place(self, number: str) -> None:
        if number.isdecimal():
            self._put(page="documents", documents=(int(number),), trail=(), tab="")

    def _save(self, form: str) -> None:
        if self._frame is not None:
            previous = self._drawing.layout.order() if self._drawing else None
            remains = self._remains()
            hand_over(
                self._tree, self._frame, self.choice, form, aspect=self._aspect, previous=previous, remains=remains
            )


def _ordered(identities: tuple[str, ...]) -> list[Node]:
    return [node for text in identities if (node := parse_identity(text)) is not None]


def _nodes(identities: tuple[str, ...]) -> frozenset[Node]:
    return frozenset(_ordered(identities))


def _flip(identities: tuple[str, ...], one: str) -> tuple[str, ...]:
    """Put one in, or take it out."""
    return tuple(each for each in identities if each != one) if one in identities else (*identities, one)
