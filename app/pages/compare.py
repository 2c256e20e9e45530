"""The page that compares two runs or two snapshots: the differences, and how large they are."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar

import panel as pn

from topiary.app.analysis.carry import CarriedTopic, summarize_carrying
from topiary.app.analysis.comparison import (
    SIDES,
    Comparison,
    EdgeChange,
    Pair,
    Side,
    find_edge_changes,
    get_other_side,
    measure_agreement,
)
from topiary.app.analysis.hierarchy import format_identity, parse_identities, parse_identity
from topiary.app.analysis.seeds import (
    EstimatePair,
    SeedBaseline,
    SeedSpread,
    compare_estimates,
    get_layer_value,
    is_below_range,
    measure_seed_spread,
)
from topiary.app.export import comparison as files
from topiary.app.live.feed import Tick
from topiary.app.pages import compare_reading
from topiary.app.pages.compare_reading import SIDE_BY_NAME, SIDE_NAMES
from topiary.app.pages.components import Board, Message, TreeView
from topiary.app.pages.curves import CompareCurves
from topiary.app.pages.messages import LatestRequest, TreePage, on
from topiary.app.pages.session import ANOTHER_RUN, Context
from topiary.app.views.compare import head, summary, table
from topiary.app.views.compare.head import (
    ComparedRun,
    HeadFacts,
    LeadFacts,
    describe_yardsticks,
    draw_coherence,
    draw_head,
    draw_lead,
    draw_status,
    draw_strip,
)
from topiary.app.views.compare.labels import choose_class, draw_labels
from topiary.app.views.compare.moved import draw_moved
from topiary.app.views.compare.summary import (
    SeedVerdict,
    describe_doubt,
    draw_verdict,
    judge_comparison,
    summarise_changes,
)
from topiary.app.views.compare.trees import (
    CompareCut,
    ComparePicture,
    choose_first_cut,
    draw_compare_picture,
    draw_trees,
    list_shared_classes,
    pair_roots,
)
from topiary.app.views.tree.layout import WIDE
from topiary.app.views.tree.opening import choose_threshold, find_lower_threshold
from topiary.app.views.tree.picture import TreeChoice, reveal_topic
from topiary.app.views.tree.tree_svg import draw_more_offer
from topiary.engine.hierarchy.tree import Node
from topiary.store.notes import MatchDecision

_WATCHED = (  # fields of the view; a change of one draws the page again
    "page", "run", "snapshot", "partner", "partner_snapshot", "layer", "topic", "side", "roots", "partner_roots",
    "threshold", "most", "sort", "listed", "pairs", "identical", "axis", "label", "whole",
)  # fmt: skip
_REFETCHED = frozenset(("run", "snapshot", "partner", "partner_snapshot", "page"))


class ComparePage(TreePage):
    """The compare page of one session: it draws the chosen comparison, and turns clicks into changes of the view."""

    fields: ClassVar = {
        "snapshot-a": "partner_snapshot", "snapshot-b": "snapshot", "sort": "sort", "listed": "listed",
        "label": "label",
    }  # fmt: skip
    presets: ClassVar = {"popular": {"roots": (), "partner_roots": ()}, "seeds": {"page": "seeds", "tab": ""}}
    switches: ClassVar = ("identical", "whole")

    def __init__(self, context: Context) -> None:
        sheets = ["menu", "explore", "compare"]
        board = partial(Board, on_message=self.handle, sheets=sheets)
        self._head = board(css_classes=["cm-top"])
        self._lead = board(css_classes=["cm-lead"])
        self._moved = board(css_classes=["cm-moved-card"])
        self._numbers = board(css_classes=["cm-numbers"])
        self._legend = board(css_classes=["cm-key"])
        self._offer = board(css_classes=["ex-offer"])
        self._table = board(css_classes=["cm-list"])
        self._pair = board(css_classes=["cm-side"])
        self._edges = board(css_classes=["cm-foot"])
        self._settings = board(css_classes=["cm-set"])
        trees: dict[str, TreeView] = {
            side: TreeView(
                on_message=partial(self._on_tree_message, side),
                group="compare",
                css_classes=["ex-tree", f"cm-tree-{side}"],
                sheets=sheets,
            )
            for side in SIDES
        }
        boards = (
            self._head, self._lead, self._moved, self._numbers, self._legend, self._offer, self._table, self._pair,
            self._edges,
        )  # fmt: skip
        super().__init__(context, trees, (*boards, self._settings), aspect=WIDE / 2)
        self._latest: LatestRequest[compare_reading.ComparisonRequest] = LatestRequest(context, self._repeat)
        self._fetched: compare_reading.FetchedComparison | None = None
        self._baseline: tuple[Comparison, SeedBaseline] | None = None
        self._spread: tuple[SeedBaseline, float, SeedSpread | None] | None = None
        self._changes: tuple[Comparison, float, list[EdgeChange]] | None = None
        self._class: tuple[Comparison, int] | None = None
        self._order: dict[int, tuple[Node, ...]] | None = None
        self._drawn_pairs: frozenset[Pair] = frozenset()
        self._curves: CompareCurves | None = None
        self._curve_place = pn.Column(css_classes=["cm-curves"], sizing_mode="stretch_width", margin=0, min_height=380)
        self.page = pn.Row(
            self._head, self._lead, self._moved, self._legend, self._trees["a"], self._trees["b"], self._offer,
            self._table, self._pair, self._numbers, self._edges, self._curve_place, self._settings,
            css_classes=["cm-page"], sizing_mode="stretch_width", margin=0,
        )  # fmt: skip
        self._view.param.watch(self._on_view, list(_WATCHED))
        context.on_tick(self._on_tick)
        self._fetch()
        self._draw()
        context.soon(self._draw_curves)

    # ------------------------------------------------------------- changes

    def _on_view(self, *events: Any) -> None:
        if self._view.page != "compare":
            return
        changed = {event.name for event in events}
        if changed & _REFETCHED:
            self._fetch()
        if changed & {"run", "partner"}:
            self._order = None
        self._draw(trees=bool(changed - {"sort", "listed", "pairs", "identical", "axis"}))

    def _on_tick(self, tick: Tick) -> None:
        """Fetch and draw again the parts that a change of the store affects."""
        if self._view.page != "compare":
            return
        request = compare_reading.read_request(self._context)
        both = {request.run_a, request.run_b}
        live = {request.run_a} if not request.snapshot_a else set()
        live |= {request.run_b} if not request.snapshot_b else set()
        if self._comparison is None or live & tick.snapshots or both & tick.labels:
            self._fetch()
        if both & tick.points:
            self._draw_curves()
        if self._comparison is None and "cm-empty" not in self.page.css_classes:
            self._draw()  # one of the two runs was deleted, so it must disappear from the screen
        elif both & tick.rows or self._comparison is None:
            self._draw_head()
            self._draw_settings()
            self._draw_lead()

    def _fetch(self) -> None:
        request = compare_reading.read_request(self._context)
        feed = self._context.feed
        if not request.run_a or feed.latest(request.run_a) is None or feed.latest(request.run_b) is None:
            return  # nothing can be read yet; a later tick tries again
        self._latest.send(request, partial(self._read, request), self._receive)

    def _repeat(self) -> None:
        if self._view.page == "compare":
            self._fetch()

    def _read(self, request: compare_reading.ComparisonRequest) -> compare_reading.FetchedComparison:
        self._context.feed.read_sparks((request.run_a, request.run_b))
        return compare_reading.fetch_comparison(self._context, request)

    def _receive(self, fetched: compare_reading.FetchedComparison) -> None:
        if fetched.request != compare_reading.read_request(self._context):
            return
        previous, self._fetched = self._comparison, fetched
        comparison = fetched.comparison
        if comparison is not None and (previous is None or (previous.a, previous.b) != (comparison.a, comparison.b)):
            work = partial(self._context.reader.find_seeds, comparison)
            self._context.later(work, partial(self._receive_baseline, comparison))
        self._draw()

    def _receive_baseline(self, compared: Comparison, baseline: SeedBaseline) -> None:
        self._baseline = (compared, baseline)
        self._draw_head()
        self._draw_numbers()
        if (comparison := self._comparison) is not None and self._is_whole:
            self._draw_table(comparison, self._find_selected(comparison))

    # ------------------------------------------------------------ choices

    @property
    def _comparison(self) -> Comparison | None:
        """The comparison of the two chosen runs, possibly of older snapshots while the newest are being compared."""
        request = compare_reading.read_request(self._context)
        fetched, numbers = self._fetched, (request.run_a, request.run_b)
        if fetched is None or (fetched.request.run_a, fetched.request.run_b) != numbers:
            return None
        return None if any(self._context.feed.run(run) is None for run in numbers) else fetched.comparison

    def _edge_changes(self, comparison: Comparison) -> list[EdgeChange]:
        changes, threshold = self._changes, self._choose_threshold(comparison)
        if changes is None or changes[0] is not comparison or changes[1] != threshold:
            changes = self._changes = (comparison, threshold, find_edge_changes(comparison, threshold))
        return changes[2]

    def _choose_threshold(self, comparison: Comparison | None) -> float:
        hierarchies = (comparison.a, comparison.b) if comparison is not None else ()
        return choose_threshold(self._view.threshold, *hierarchies)

    def _find_selected(self, comparison: Comparison) -> Pair | None:
        if not self._view.topic:
            return None
        return comparison.pair(SIDE_BY_NAME[self._view.side], Node(self._view.layer, self._view.topic - 1))

    def _choose_cut(self, comparison: Comparison) -> CompareCut:
        view, threshold = self._view, self._choose_threshold(comparison)
        roots_a = tuple(filter(comparison.a.has, parse_identities(view.partner_roots)))
        roots_b = tuple(filter(comparison.b.has, parse_identities(view.roots)))
        if not roots_a and not roots_b:
            return choose_first_cut(comparison, threshold, view.most)._replace(label=self._choose_class(comparison))
        return CompareCut(roots_a, roots_b, threshold, view.most, self._choose_class(comparison))

    def _choose_class(self, comparison: Comparison) -> int:
        """Return the number of the class that tints the topics: the chosen one, or the one that differs most."""
        if self._view.label:
            return self._view.label
        if self._class is None or self._class[0] is not comparison:
            self._class = (comparison, choose_class(comparison))
        return self._class[1]

    def _compare_estimates(self, comparison: Comparison) -> EstimatePair | None:
        """Compare how well both runs predict held-out words; None if an older snapshot of either is on screen."""
        feed = self._context.feed
        rows = [feed.run(side.run) for side in (comparison.a, comparison.b)]
        newest = [feed.latest(side.run) for side in (comparison.a, comparison.b)]
        shown = (comparison.a.snapshot, comparison.b.snapshot)
        if tuple(each.number if each else 0 for each in newest) != shown or rows[0] is None or rows[1] is None:
            return None
        return compare_estimates(rows[0], rows[1], (), feed.get_latest_values)

    def _draw_picture(self) -> ComparePicture | None:
        """Draw both trees as they are on screen, in colours for print."""
        comparison = self._comparison
        if comparison is None:
            return None
        changes = self._edge_changes(comparison)
        cut = self._choose_cut(comparison)
        return draw_compare_picture(comparison, changes, cut, aspect=self._aspect, previous=self._order)

    # ------------------------------------------------------------- drawing

    @property
    def _is_whole(self) -> bool:
        """Whether trees, table, figures, curves and settings are shown."""
        return bool(self._view.whole == "shown")

    def _draw(self, *, trees: bool = True) -> None:
        """Draw the page, without the trees unless ``trees``."""
        comparison = self._comparison
        self._draw_head()
        self._draw_curves()
        self._draw_settings()
        self._draw_lead()
        self._draw_numbers()
        if comparison is None or not self._is_whole:
            for board in (self._table, self._legend, self._offer, self._edges):
                board.html = ""
            for tree in self._trees.values():
                tree.param.update(svg="", note="", selected="")
        if comparison is None:
            self._pair.html = self._moved.html = ""
            self.page.css_classes = ["cm-page", "cm-empty"]
            return
        selected = self._find_selected(comparison)
        states = {"cm-chosen": selected is not None, "cm-whole": self._is_whole}
        self.page.css_classes = ["cm-page", *(name for name, holds in states.items() if holds)]
        self._moved.html = draw_moved(comparison, self._choose_layer(comparison))
        if self._is_whole:
            self._draw_table(comparison, selected)
            if trees:
                self._draw_trees(comparison, selected)
        self._draw_pair(comparison, selected)

    def _choose_layer(self, comparison: Comparison) -> int:
        """Return the layer whose topics are looked at for other parents: the chosen one, or that below the top."""
        below = min(comparison.a.n_layers, comparison.b.n_layers) - 1
        return self._view.listed if 0 < self._view.listed <= below else max(below, 1)

    def _draw_curves(self) -> None:
        if self._curves is None and (self._is_whole or self._comparison is None):
            self._curves = CompareCurves(self._context)
            self._curve_place[:] = [self._curves.page]
        if self._curves is not None:
            request = compare_reading.read_request(self._context)
            self._curves.choose(request.run_a, request.run_b)

    def _draw_head(self) -> None:
        feed = self._context.feed
        request = compare_reading.read_request(self._context)
        fetched = self._fetched
        shown = fetched if fetched is not None and self._comparison is not None else None
        latest = [feed.latest(number) for number in (request.run_a, request.run_b)]
        compared = [
            ComparedRun(feed.run(run), moments, pinned, newest.minibatch if newest else None)
            for run, pinned, moments, newest in (
                (request.run_a, request.snapshot_a, shown.snapshots_a if shown else (), latest[0]),
                (request.run_b, request.snapshot_b, shown.snapshots_b if shown else (), latest[1]),
            )
        ]
        self._head.html = draw_head(
            compared[0], compared[1], feed.runs(), self._describe_head(), ready=shown is not None
        ) + self._draw_status(request)

    def _describe_head(self) -> HeadFacts:
        """Return the sentence that answers, what it is to be compared with, and what the menu has chosen."""
        comparison, fetched, feed = self._comparison, self._fetched, self._context.feed
        threshold = self._choose_threshold(comparison)
        runs = [feed.run(side.run) for side in (comparison.a, comparison.b)] if comparison is not None else []
        if comparison is None or fetched is None or runs[0] is None or runs[1] is None:
            return HeadFacts(threshold, whole=self._is_whole)
        facts = LeadFacts(comparison, runs[0], runs[1], fetched.accuracies, self._compare_estimates(comparison))
        classes, label = list_shared_classes(comparison), self._choose_class(comparison)
        layers = min(comparison.a.n_layers, comparison.b.n_layers) - 1
        return HeadFacts(
            threshold, draw_lead(facts), describe_yardsticks(facts), describe_doubt(self._judge(comparison)),
            chooser=table.draw_class_choice(classes, label) if classes else "", n_layers=layers,
            layer=self._choose_layer(comparison), whole=self._is_whole,
            rooted=bool(self._view.roots or self._view.partner_roots),
        )  # fmt: skip

    def _judge(self, comparison: Comparison) -> SeedVerdict:
        """Compare the differences between the runs with those between seeds."""
        spread, sentence = self._measure_seeds(comparison)
        agreement = measure_agreement(comparison, self._edge_changes(comparison))
        estimates = self._baseline[1].estimate_pair if sentence and self._baseline else None
        return judge_comparison(comparison, agreement, spread, sentence, estimates)

    def _draw_status(self, request: compare_reading.ComparisonRequest) -> str:
        fetched = self._fetched
        busy = self._latest.pending is not None
        is_over = fetched is not None and (fetched.sentence or self._comparison is not None)
        if fetched is None or fetched.request != request or busy or not is_over:
            return draw_status(compare_reading.explain_waiting(self._context, request), busy=busy)
        return draw_status(fetched.sentence, busy=False)

    def _draw_lead(self) -> None:
        """Draw the largest topics."""
        comparison = self._comparison
        self._lead.html = (
            ""
            if comparison is None
            else draw_strip(comparison, self._choose_class(comparison), self._find_selected(comparison))
        )

    def _draw_numbers(self) -> None:
        """Draw what labels bought, and the measures of agreement, next to those of other seeds of the model."""
        comparison, fetched = self._comparison, self._fetched
        if comparison is None or fetched is None or not self._is_whole:
            self._numbers.html = ""
            return
        spread, _ = self._measure_seeds(comparison)
        changes = self._edge_changes(comparison)
        agreement = measure_agreement(comparison, changes)
        seed_scores = get_layer_value(spread.scores, 0) if spread is not None else None
        by_chance = seed_scores is not None and not is_below_range(agreement.scores[0], seed_scores)
        label, estimates = self._choose_class(comparison), self._compare_estimates(comparison)
        self._numbers.html = (
            draw_verdict(self._judge(comparison))
            + draw_labels(comparison, fetched.accuracies, estimates, label)
            + '<h2 class="tp-h2 cm-alike">How alike</h2>'
            + summarise_changes(comparison, changes, by_chance=by_chance)
            + summary.draw_agreement(agreement, spread)
            + draw_coherence(comparison, spread)
        )

    def _measure_seeds(self, comparison: Comparison) -> tuple[SeedSpread | None, str]:
        """Return the differences between seeds of one model, None while unknown, and a sentence about them."""
        baseline, threshold = self._find_seeds(comparison), self._choose_threshold(comparison)
        if baseline is None:
            return None, ""
        if self._spread is None or self._spread[:2] != (baseline, threshold):
            self._spread = (baseline, threshold, measure_seed_spread(baseline.comparisons, threshold))
        return self._spread[2], baseline.sentence

    def _find_seeds(self, comparison: Comparison | None) -> SeedBaseline | None:
        """Return the other seeds against which to judge two runs; None until they have been found."""
        if comparison is None or self._baseline is None:
            return None
        compared, baseline = self._baseline
        return baseline if (compared.a.run, compared.b.run) == (comparison.a.run, comparison.b.run) else None

    def _draw_table(self, comparison: Comparison, selected: Pair | None) -> None:
        spread, _ = self._measure_seeds(comparison)
        floors = spread.floors if spread is not None else ()
        listing = table.PairListing(self._view.sort, self._view.listed, selected, self._view.pairs, floors)
        self._table.html = table.draw_pair_table(comparison, listing)

    def _draw_pair(self, comparison: Comparison, selected: Pair | None) -> None:
        one_run = comparison.a.run == comparison.b.run
        self._pair.html = (
            head.draw_pair(
                comparison, selected, one_run=one_run, drawn=not self._is_whole or selected in self._drawn_pairs
            )
            if selected
            else head.NOTHING
            if self._is_whole
            else ""
        )

    def _draw_trees(self, comparison: Comparison, selected: Pair | None) -> None:
        changes, cut = self._edge_changes(comparison), self._choose_cut(comparison)
        picture = draw_trees(comparison, changes, cut, aspect=self._aspect, previous=self._order, selected=selected)
        self._order, self._drawn_pairs = picture.order, picture.pairs
        self._offer.html = draw_more_offer(None if picture.changes else _find_threshold(comparison, cut))
        svgs: dict[Side, str] = {"a": picture.a, "b": picture.b}
        for side, svg in svgs.items():
            node = selected.on(side) if selected else None
            self._trees[side].param.update(svg=svg, note="", selected=format_identity(node) if node else "")
        self._legend.html = table.draw_edge_legend(picture.changes, changes, words=not comparison.b.has_pictures)
        self._edges.html = table.list_edge_changes(comparison, changes)

    def _draw_settings(self) -> None:
        request = compare_reading.read_request(self._context)
        run_a, run_b = self._context.feed.run(request.run_a), self._context.feed.run(request.run_b)
        is_shown = run_a is not None and run_b is not None and (self._is_whole or self._comparison is None)
        self._settings.visible = is_shown  # an empty card would be a thin line
        if run_a is None or run_b is None or not is_shown:
            self._settings.html = ""
        else:
            self._settings.html = head.draw_settings(
                run_a,
                run_b,
                (
                    self._context.feed.get_latest_values(run_a.number),
                    self._context.feed.get_latest_values(run_b.number),
                ),
                identical=self._view.identical == "shown",
            )

    # ------------------------------------------------------------ messages

    def read_argument(self, name: str, kind: Any, message: Message) -> Any:
        """Return what a handler wants to know: the comparison on screen, a topic of a side of it, or another field."""
        if kind is Comparison:
            return self._comparison
        value = super().read_argument(name, kind, message)
        if kind is not Node or value is None:
            return value
        side, comparison = super().read_argument("side", Side, message), self._comparison
        return value if comparison is not None and side and comparison.hierarchy(side).has(value) else None

    @on("more-pairs")
    def _list_more(self) -> None:
        self._put(pairs=self._view.pairs + table.ROWS_STEP)

    @on("select")
    def _select(self, side: Side, topic: Node) -> None:
        self._put(side=SIDE_NAMES[side], layer=topic.layer, topic=topic.column + 1)

    @on("select")
    def _clear_selection(self, _: Comparison) -> None:
        self._view.topic = 0

    @on("rename")
    def _rename(self, comparison: Comparison, side: Side, topic: Node, value: str) -> None:
        """Name a topic of either run, and fetch the comparison again."""
        self._rename_topic(comparison.hierarchy(side).run, topic, value)

    @on("root")
    def _set_root(self, comparison: Comparison, side: Side, topic: Node) -> None:
        roots = {"roots": (), "partner_roots": ()} | {
            ("roots" if side == "b" else "partner_roots"): (format_identity(topic),)
        }
        threshold = choose_threshold(
            self._view.threshold, comparison.a, comparison.b
        )  # one at which the roots are visible
        self._put(**roots, threshold=threshold, side=SIDE_NAMES[side], layer=topic.layer, topic=topic.column + 1)

    @on("show")
    def _reveal(self, comparison: Comparison, side: Side, topic: Node) -> None:
        """Add roots on one side so that its tree shows a topic, at the threshold on screen."""
        cut = self._choose_cut(comparison)
        before = pair_roots(comparison, cut)[side]
        choice = reveal_topic(
            comparison.hierarchy(side), TreeChoice(before, cut.threshold, cap=cut.cap, light=True), topic
        )
        roots: dict[Side, tuple[Node, ...]] = {"a": cut.roots_a, "b": cut.roots_b}
        roots[side] += choice.roots[len(before) :]
        names = {each: tuple(format_identity(root) for root in nodes) for each, nodes in roots.items()}
        self._put(roots=names["b"], partner_roots=names["a"], threshold=cut.threshold)

    @on("run-a", "run-b")
    def _choose_run(self, do: str, value: int) -> None:
        if self._context.feed.run(value) is None:
            return
        if do == "run-a":
            self._put(partner=value, partner_snapshot=0, partner_roots=())
        else:  # keep the reference run, even if it was not chosen by the user
            partner = compare_reading.read_request(self._context).run_a
            self._put(run=value, partner=partner if partner != value else 0, **ANOTHER_RUN)

    @on("swap")
    def _swap_runs(self) -> None:
        view, request = self._view, compare_reading.read_request(self._context)
        if not request.run_a:
            return
        self._put(
            run=request.run_a, snapshot=request.snapshot_a, roots=view.partner_roots,
            partner=request.run_b, partner_snapshot=request.snapshot_b, partner_roots=view.roots,
            side=SIDE_NAMES[get_other_side(SIDE_BY_NAME[view.side])], closed=(), overlay=(),
        )  # fmt: skip

    @on("match")
    def _match(self, comparison: Comparison, side: Side, topic: Node, value: str) -> None:
        there = comparison.hierarchy(get_other_side(side))
        partner = None if value == "none" else parse_identity(value)
        if value != "none" and (partner is None or partner.layer != topic.layer or not there.has(partner)):
            return
        self._submit_decision("match_topics", comparison, side, topic, partner)

    @on("unmatch")
    def _unmatch(self, comparison: Comparison, side: Side, topic: Node) -> None:
        self._submit_decision("unmatch_topics", comparison, side, topic, comparison.partner(side, topic))

    def _submit_decision(self, verb: str, comparison: Comparison, side: Side, node: Node, partner: Node | None) -> None:
        own, theirs = node.column + 1, partner.column + 1 if partner else 0
        decision = MatchDecision(node.layer, own, theirs) if side == "a" else MatchDecision(node.layer, theirs, own)
        act = getattr(self._context.actions, verb)
        self._select(side, node)
        self._context.later(partial(act, comparison.a.run, comparison.b.run, decision), lambda _: self._fetch())

    @on("carry")
    def _carry(self, comparison: Comparison) -> None:
        work = partial(self._context.actions.carry_annotations, comparison)
        self._context.aside(work, partial(self._report_carrying, comparison.b.run))

    def _report_carrying(self, run: int, carried: Sequence[CarriedTopic]) -> None:
        sentence = summarize_carrying(carried, run)
        self._context.notify(f"{sentence[0].upper()}{sentence[1:]}.", "success")
        self._fetch()

    @on("save")
    def _save(self, comparison: Comparison, value: str) -> None:
        threshold = choose_threshold(self._view.threshold, comparison.a, comparison.b)
        texts: dict[str, Callable[[], str]] = {
            "topics.csv": partial(files.render_pairs, comparison),
            "edges.csv": partial(files.render_edges, comparison, threshold),
            "json": partial(files.render_comparison, comparison, threshold, self._find_seeds(comparison)),
        }
        window = self._trees["b"]
        name = f"topiary-run-{comparison.a.run}-and-{comparison.b.run}"
        if value in texts:
            window.hand_over(f"{name}{'.' if value == 'json' else '-'}{value}", texts[value]())
        elif value in ("svg", "png") and (picture := self._draw_picture()) is not None:
            if value == "svg":
                window.hand_over(f"{name}.svg", picture.svg)
            else:
                window.hand_over_picture(f"{name}.png", *picture)

    # ---------------------------------------------------------- the window

    def _on_tree_message(self, side: Side, message: Message) -> None:
        self.handle(message | {"side": side})

    def _draw_again(self) -> None:
        if self._comparison is not None and self._is_whole:
            self._draw_trees(self._comparison, self._find_selected(self._comparison))


def _find_threshold(comparison: Comparison, cut: CompareCut) -> float | None:
    """Return the highest threshold below the present one that shows edges on either side; None if there is none."""
    sides = (comparison.a, cut.roots_a), (comparison.b, cut.roots_b)
    thresholds = [find_lower_threshold(hierarchy, roots, cut.threshold) for hierarchy, roots in sides]
    return max((threshold for threshold in thresholds if threshold is not None), default=None)
