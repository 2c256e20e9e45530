"""The page where two runs, or two snapshots, are compared: what changed, where, and by how much."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import panel as pn
from panel.viewable import Viewable

from app.analysis.changes import Agreement, EdgeChange, agreement, edge_changes
from app.analysis.comparison import Comparison, Pair, Side
from app.analysis.hierarchy import Frame, identity, parse_identity
from app.analysis.topic_images import has_pictures
from app.live.ticks import Tick
from app.pages.compare import loading as reading
from app.pages.compare.curves import CompareCurves
from app.pages.compare.requests import SIDES, Doors, Wishes
from app.pages.components.board import Board, Message
from app.pages.components.latest import Latest
from app.pages.components.tree_view import TreeView, aspect_of
from app.pages.session import Context
from app.views.compare import edges, numbers, pair, settings, table
from app.views.compare.head import End, compare_head, status
from app.views.compare.picture import ComparePicture, compare_picture, first_cut
from app.views.compare.summary import in_short
from app.views.compare.trees import Cut, classes_of, draw_trees
from app.views.explore.controls import class_chooser
from app.views.theme import style
from app.views.tree.layout import WIDE
from app.views.tree.offer import more_offer
from app.views.tree.opening import more_at, threshold_of
from engine.hierarchy.tree import Node

_SHOWN = (
    "page", "run", "snapshot", "partner", "partner_snapshot", "layer", "topic", "side", "roots", "partner_roots",
    "threshold", "most", "sort", "listed", "pairs", "identical", "axis", "label",
)  # fmt: skip
_CHOICES = frozenset(("run", "snapshot", "partner", "partner_snapshot", "page"))


def compare_page(context: Context) -> Viewable:
    """Build the page of one session."""
    return Compare(context).page


class Compare:
    """The page of one session: turns the view and the newest comparison into text, and clicks into the view.

    Parameters
    ----------
    context : Context
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._view = context.view
        self._latest: Latest[reading.Wanted] = Latest()  # what is being fetched
        self._fetched: reading.Fetched | None = None
        self._baseline: tuple[Comparison, reading.Baseline] | None = None
        self._changes: tuple[Comparison, float, list[EdgeChange]] | None = None
        self._order: dict[int, tuple[Node, ...]] | None = None
        self._drawn: frozenset[Pair] = frozenset()
        self._aspect = WIDE / 2
        sheets = ["explore", "compare"]
        board = partial(Board, heard=self._hear, sheets=sheets)
        self._head = board(css_classes=["cm-top"])
        self._numbers = board(css_classes=["cm-numbers"])
        self._table = board(css_classes=["cm-list"])
        self._pair = board(css_classes=["cm-side"])
        self._legend = board(css_classes=["cm-key"])
        self._trees: dict[Side, TreeView] = {
            side: TreeView(
                heard=partial(self._hear_tree, side),
                group="compare",
                css_classes=["ex-tree", f"cm-tree-{side}"],
                sheets=sheets,
            )
            for side in ("a", "b")
        }
        doors = Doors(lambda: self._comparison, self._fetch, self._resize, self._cut, self._picture, self._trees["b"])
        self._wishes = Wishes(context, doors)
        self._offer = board(css_classes=["ex-offer"])
        self._edges = board(css_classes=["cm-foot"])
        self._settings = board(css_classes=["cm-set"])
        self._curves: CompareCurves | None = None
        self._curve_place = pn.Column(css_classes=["cm-curves"], sizing_mode="stretch_width", margin=0, min_height=380)
        self.page = pn.Row(
            self._head, self._numbers, self._legend, self._trees["a"], self._trees["b"], self._offer, self._table,
            self._pair, self._edges, self._curve_place, self._settings,
            css_classes=["cm-page"], stylesheets=[style("compare")], sizing_mode="stretch_width", margin=0,
        )  # fmt: skip
        self._view.param.watch(self._on_view, list(_SHOWN))
        context.on_tick(self._on_tick)
        self._fetch()
        self._draw()
        context.soon(self._add_curves)

    def _add_curves(self) -> None:
        self._curves = CompareCurves(self._context)
        self._curve_place[:] = [self._curves.page]
        self._draw_curves()

    # ------------------------------------------------------------ what's new

    def _on_view(self, *events: Any) -> None:
        if self._view.page != "compare":
            return
        changed = {event.name for event in events}
        if changed & _CHOICES:
            self._fetch()
        if changed & {"run", "partner"}:
            self._order = None
        self._draw(trees=bool(changed - {"sort", "listed", "pairs", "identical", "axis"}))

    def _on_tick(self, tick: Tick) -> None:
        if self._view.page != "compare":
            return
        wanted = reading.wanted(self._context)
        both = {wanted.run_a, wanted.run_b}
        live = {wanted.run_a} if not wanted.snapshot_a else set()
        live |= {wanted.run_b} if not wanted.snapshot_b else set()
        if self._comparison is None or live & tick.snapshots or both & tick.labels:
            self._fetch()
        if both & tick.points:
            self._draw_curves()
        if self._comparison is None and "cm-empty" not in self.page.css_classes:
            self._draw()  # one of the two was deleted: nothing of it stays on screen
        elif both & tick.rows or self._comparison is None:
            self._draw_head()
            self._draw_settings()

    def _fetch(self) -> None:
        wanted = reading.wanted(self._context)
        feed = self._context.feed
        if not wanted.run_a or feed.latest(wanted.run_a) is None or feed.latest(wanted.run_b) is None:
            return  # nothing to wait for in a thread: the next tick tells
        if self._latest.begin(wanted):
            self._context.later(partial(self._read, wanted), self._arrived, partial(self._failed, wanted))

    def _failed(self, wanted: reading.Wanted) -> None:
        """Ask again for what could not be read."""
        if self._latest.end(wanted) and self._view.page == "compare":
            self._fetch()

    def _read(self, wanted: reading.Wanted) -> reading.Fetched:
        self._context.feed.read_sparks((wanted.run_a, wanted.run_b))
        return reading.fetch(self._context, wanted)

    def _arrived(self, fetched: reading.Fetched) -> None:
        if self._latest.end(fetched.wanted) and self._latest.repeated:
            self._fetch()
        if fetched.wanted != reading.wanted(self._context):
            return
        before, self._fetched = self._comparison, fetched
        now = fetched.comparison
        if now is not None and (before is None or (before.a, before.b) != (now.a, now.b)):
            self._context.later(partial(reading.baseline, self._context, now), partial(self._based, now))
        self._draw()

    def _based(self, shown: Comparison, found: reading.Baseline) -> None:
        self._baseline = (shown, found)
        self._draw_numbers()

    # --------------------------------------------------------- what is shown

    @property
    def _comparison(self) -> Comparison | None:
        """The comparison of the two runs that are chosen, of an older snapshot while the next is worked out."""
        wanted = reading.wanted(self._context)
        known, both = self._fetched, (wanted.run_a, wanted.run_b)
        if known is None or (known.wanted.run_a, known.wanted.run_b) != both:
            return None
        return None if any(self._context.feed.run(run) is None for run in both) else known.comparison

    def _edge_changes(self, comparison: Comparison) -> list[EdgeChange]:
        known, threshold = self._changes, self._threshold(comparison)
        if known is None or known[0] is not comparison or known[1] != threshold:
            known = self._changes = (comparison, threshold, edge_changes(comparison, threshold))
        return known[2]

    def _threshold(self, comparison: Comparison | None) -> float:
        frames = (comparison.a, comparison.b) if comparison is not None else ()
        return threshold_of(self._view.threshold, *frames)

    def _selected(self, comparison: Comparison) -> Pair | None:
        if not self._view.topic:
            return None
        return comparison.pair(SIDES[self._view.side], Node(self._view.layer, self._view.topic - 1))

    def _cut(self, comparison: Comparison) -> Cut:
        view, threshold = self._view, self._threshold(comparison)
        roots = _known(comparison.a, view.partner_roots), _known(comparison.b, view.roots)
        if not any(roots):
            return first_cut(comparison, threshold, view.most)._replace(label=view.label)
        return Cut(*roots, threshold, view.most, view.label)

    def _picture(self) -> ComparePicture | None:
        """Draw both trees as they are on screen, in the colours of paper."""
        comparison = self._comparison
        if comparison is None:
            return None
        changes = self._edge_changes(comparison)
        cut = self._cut(comparison)
        return compare_picture(comparison, changes, cut, aspect=self._aspect, previous=self._order)

    # ------------------------------------------------------------- drawing

    def _draw(self, *, trees: bool = True) -> None:
        comparison = self._comparison
        self._draw_head()
        self._draw_curves()
        self._draw_settings()
        self._draw_numbers()
        if comparison is None:
            for board in (self._table, self._pair, self._legend, self._offer, self._edges):
                board.html = ""
            for tree in self._trees.values():
                tree.param.update(svg="", note="", selected="")
            self.page.css_classes = ["cm-page", "cm-empty"]
            return
        self.page.css_classes = ["cm-page"]
        selected = self._selected(comparison)
        self._draw_table(comparison, selected)
        if trees:
            self._draw_trees(comparison, selected)
        self._draw_pair(comparison, selected)

    def _draw_curves(self) -> None:
        if self._curves is not None:
            wanted = reading.wanted(self._context)
            self._curves.choose(wanted.run_a, wanted.run_b)

    def _draw_head(self) -> None:
        feed = self._context.feed
        wanted = reading.wanted(self._context)
        fetched = self._fetched
        here = fetched if fetched is not None and self._comparison is not None else None
        latest = [feed.latest(number) for number in (wanted.run_a, wanted.run_b)]
        ends = [
            End(feed.run(run), moments, pinned, newest.minibatch if newest else None)
            for run, pinned, moments, newest in (
                (wanted.run_a, wanted.snapshot_a, here.moments_a if here else (), latest[0]),
                (wanted.run_b, wanted.snapshot_b, here.moments_b if here else (), latest[1]),
            )
        ]
        self._head.html = compare_head(
            ends[0], ends[1], feed.runs(), self._threshold(self._comparison), ready=here is not None
        ) + self._status(wanted)

    def _status(self, wanted: reading.Wanted) -> str:
        known = self._fetched
        told = known is not None and known.wanted == wanted and (known.sentence or self._comparison is not None)
        busy = self._latest.pending is not None
        if known is None or busy or not told:
            return status(reading.waiting_for(self._context, wanted), busy=busy)
        return status(known.sentence, busy=False)

    def _draw_numbers(self) -> None:
        comparison = self._comparison
        if comparison is None:
            self._numbers.html = ""
            return
        base, sentence = self._base(comparison)
        changes = self._edge_changes(comparison)
        now, short = agreement(comparison, changes), in_short(comparison, changes)
        self._numbers.html = numbers.agreement_strip(now, base, sentence, short)

    def _base(self, comparison: Comparison) -> tuple[Agreement | None, str]:
        if self._baseline is None or (self._baseline[0].a.run, self._baseline[0].b.run) != (
            comparison.a.run,
            comparison.b.run,
        ):
            return None, ""
        found = self._baseline[1]
        if found.comparison is None:
            return None, found.sentence
        changes = edge_changes(found.comparison, self._threshold(comparison))
        return agreement(found.comparison, changes), found.sentence

    def _draw_table(self, comparison: Comparison, selected: Pair | None) -> None:
        listing = table.Listing(self._view.sort, self._view.listed, selected, self._view.pairs)
        self._table.html = table.pair_table(comparison, listing)

    def _draw_pair(self, comparison: Comparison, selected: Pair | None) -> None:
        one_run = comparison.a.run == comparison.b.run
        self._pair.html = (
            pair.pair_detail(comparison, selected, one_run=one_run, drawn=selected in self._drawn)
            if selected
            else pair.NOTHING
        )

    def _draw_trees(self, comparison: Comparison, selected: Pair | None) -> None:
        changes, wanted = self._edge_changes(comparison), self._cut(comparison)
        drawn = draw_trees(comparison, changes, wanted, aspect=self._aspect, previous=self._order, selected=selected)
        self._order, self._drawn = drawn.order, drawn.pairs
        self._offer.html = more_offer(None if drawn.changes else _more(comparison, wanted))
        pictures: dict[Side, str] = {"a": drawn.a, "b": drawn.b}
        for side, svg in pictures.items():
            node = selected.on(side) if selected else None
            self._trees[side].param.update(svg=svg, note="", selected=identity(node) if node else "")
        classes = classes_of(comparison)
        chooser = class_chooser(classes, self._view.label) if classes else ""
        self._legend.html = edges.edge_legend(
            drawn.changes,
            changes,
            chooser,
            words=not has_pictures(comparison.b),
            chosen=bool(self._view.roots or self._view.partner_roots),
        )
        self._edges.html = edges.edge_lists(comparison, changes)

    def _draw_settings(self) -> None:
        wanted = reading.wanted(self._context)
        one, two = self._context.feed.run(wanted.run_a), self._context.feed.run(wanted.run_b)
        self._settings.visible = one is not None and two is not None  # an empty card is a thin line
        if one is None or two is None:
            self._settings.html = ""
        else:
            ends = self._curve_end(one.number), self._curve_end(two.number)
            shown = self._view.identical == "shown"
            self._settings.html = settings.settings_table(one, two, ends, identical=shown)

    def _curve_end(self, run: int) -> Sequence[float]:
        """The last points of a run's curve, from what is in memory."""
        history = self._context.feed.known_history(run)
        last = history.last("point_perplexity") if history is not None else None
        return self._context.feed.spark(run) if last is None else (last,)

    # ---------------------------------------------------------- the window

    def _hear_tree(self, side: Side, message: Message) -> None:
        self._hear(message | {"side": side})

    def _hear(self, message: Message) -> None:
        self._wishes.hear(message)

    def _resize(self, message: Message) -> None:
        aspect = aspect_of(message, self._aspect)
        if aspect is None:
            return
        side = message.get("side")
        if side in ("a", "b") and message.get("here") != len(self._trees[side].svg):
            self._send_again()
        if aspect != self._aspect:
            self._aspect = aspect
            if self._comparison is not None:
                self._draw_trees(self._comparison, self._selected(self._comparison))

    def _send_again(self) -> None:
        """Send everything once more, changed by a blank so that it counts as new."""
        for tree in self._trees.values():
            tree.svg += " "
        boards = (self._head, self._numbers, self._table, self._pair, self._legend, self._offer, self._edges)
        for board in (*boards, self._settings):
            board.html += " "


def _more(comparison: Comparison, wanted: Cut) -> float | None:
    """The highest threshold at which lines of either side are seen."""
    sides = (comparison.a, wanted.roots_a), (comparison.b, wanted.roots_b)
    found = [more_at(frame, roots, wanted.threshold) for frame, roots in sides]
    return max((each for each in found if each is not None), default=None)


def _known(frame: Frame, identities: tuple[str, ...]) -> tuple[Node, ...]:
    nodes = (parse_identity(text) for text in identities)
    return tuple(node for node in nodes if node is not None and frame.has(node))
