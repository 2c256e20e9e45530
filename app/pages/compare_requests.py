"""The requests of the compare page: what it reads in other threads, and what messages of the browser do."""

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import ClassVar, NamedTuple

from topiary.app.analysis.carry import CarriedTopic, summarize_carrying
from topiary.app.analysis.comparison import Comparison, Side, get_other_side
from topiary.app.analysis.hierarchy import Hierarchy, format_identity, parse_identity
from topiary.app.analysis.partners import choose_partner
from topiary.app.analysis.seeds import SeedBaseline
from topiary.app.export import comparison as files
from topiary.app.jobs.plan import TEST, find_part
from topiary.app.pages.components import Message, TreeView
from topiary.app.pages.requests import PageRequests, list_moments
from topiary.app.pages.session import ANOTHER_RUN, Context
from topiary.app.views.compare.labels import LabelAccuracy
from topiary.app.views.compare.table import ROWS_STEP
from topiary.app.views.compare.trees import CompareCut, ComparePicture, pair_roots
from topiary.app.views.explore.controls import SnapshotOption
from topiary.app.views.runs.notices import explain_missing_run, explain_no_topics
from topiary.app.views.tree.opening import choose_threshold
from topiary.app.views.tree.picture import TreeChoice, reveal_topic
from topiary.engine.hierarchy.tree import Node
from topiary.store import corpora, points
from topiary.store.annotations import MatchDecision
from topiary.store.run_rows import RunRow

MOST_COUNTED = 100_000  # documents whose labels are counted for the commonest class


class ComparisonRequest(NamedTuple):
    """Which snapshots to compare: of the reference run ``a`` and of the run on screen ``b``; 0 = the newest."""

    run_a: int
    snapshot_a: int
    run_b: int
    snapshot_b: int


class FetchedComparison(NamedTuple):
    """A comparison, or None and a sentence that says why, and the snapshots to choose from on either side.

    ``accuracies`` says of either side how well its topics predict labels, None if they do not.
    """

    request: ComparisonRequest
    comparison: Comparison | None
    sentence: str
    snapshots_a: tuple[SnapshotOption, ...]
    snapshots_b: tuple[SnapshotOption, ...]
    accuracies: tuple[LabelAccuracy | None, LabelAccuracy | None] = (None, None)


def read_request(context: Context) -> ComparisonRequest:
    """Return what the view asks to compare; ``run_a`` is 0 if there is no run to compare with."""
    view = context.view
    row = context.feed.run(view.run)
    partner = view.partner
    if not partner and row is not None:
        usual = choose_partner(row, context.feed.runs())
        partner = usual.number if usual else 0
    return ComparisonRequest(partner, view.partner_snapshot, view.run, view.snapshot)


def fetch_comparison(context: Context, request: ComparisonRequest) -> FetchedComparison:
    """Fetch both hierarchies and match them; blocks while the store is read and topics are matched."""
    a = context.feed.hierarchy(request.run_a, request.snapshot_a or None)
    b = context.feed.hierarchy(request.run_b, request.snapshot_b or None)
    options = list_moments(context, request.run_a), list_moments(context, request.run_b)
    if a is None or b is None:
        missing = request.run_a if a is None else request.run_b
        return FetchedComparison(request, None, f"Run {missing} has no such snapshot; choose another one.", *options)
    try:
        comparison = context.reader.compare(a, b)
        return FetchedComparison(request, comparison, "", *options, _read_accuracies(context, a, b))
    except ValueError as error:
        return FetchedComparison(request, None, str(error), *options)


def _read_accuracies(context: Context, a: Hierarchy, b: Hierarchy) -> tuple[LabelAccuracy | None, LabelAccuracy | None]:
    """Return how well the topics of A and of B predict labels, of the same part of the corpus in both."""
    accuracy_a, accuracy_b = read_accuracy(context, a), read_accuracy(context, b)
    if accuracy_a is not None and accuracy_b is not None and accuracy_a.part != accuracy_b.part:
        return read_accuracy(context, a, predicted=False), read_accuracy(context, b, predicted=False)
    return accuracy_a, accuracy_b


def read_accuracy(context: Context, hierarchy: Hierarchy, *, predicted: bool = True) -> LabelAccuracy | None:
    """Return how well the topics of a snapshot predict labels, as far as that has been measured; else None.

    Predictions of all test documents come first, if the page Classes has computed them for this snapshot, unless
    `predicted` is false; otherwise it is the last point of the label error until then.
    """
    row = context.feed.run(hierarchy.run)
    errors = points.read_curve(context.db, hierarchy.run, "label_error")
    if row is None or not (errors or hierarchy.classes):
        return None
    stored = context.feed.classes.recall(hierarchy.run, hierarchy.snapshot) if predicted else None
    if stored is not None:
        total = int(stored.train_counts.sum())
        commonest = float(stored.train_counts.max()) / total if total else None
        return LabelAccuracy(1.0 - stored.scores.error, TEST, commonest)
    values = [value for minibatch, value in errors if minibatch <= hierarchy.minibatch and value == value]  # noqa: PLR0124 - not a number
    return LabelAccuracy(1.0 - values[-1] / 100.0, find_part(row), _find_commonest(context, row)) if values else None


def _find_commonest(context: Context, row: RunRow) -> float | None:
    """Return the share of the labelled training documents in the commonest class; None if reading takes long."""
    if corpora.get_corpus(context.db, row.corpus).documents > MOST_COUNTED:
        return None
    counts = corpora.count_labels(context.db, row.corpus)
    return float(counts.max() / counts.sum()) if counts.sum() else None


def explain_waiting(context: Context, request: ComparisonRequest) -> str:
    """Explain what is being read, or why there is nothing to compare."""
    row, partner = context.feed.run(request.run_b), context.feed.run(request.run_a)
    if row is None:
        return explain_missing_run(request.run_b)
    if partner is None and request.run_a:
        return f"There is no run {request.run_a} in this store; choose another one as A."
    if partner is None:
        return (
            "There is only one run yet. Train another one (another seed, other widths, another model), "
            "or choose this run as A with an older snapshot to see how it changed."
        )
    for run in (partner, row):
        if context.feed.latest(run.number) is None:
            return explain_no_topics(run.number, context.feed.state(run.number), run.message)
    size = "{:,} topics of run {}"
    sizes = " with ".join(size.format(sum(run.layers), run.number) for run in (partner, row))
    return f"Reading two snapshots and matching {sizes} …"


# In the fields of the view, "run" is the run on screen and "partner" the reference run.
SIDE_BY_NAME: dict[str, Side] = {"run": "b", "partner": "a"}
SIDE_NAMES: dict[Side, str] = {"b": "run", "a": "partner"}


class CompareCallbacks(NamedTuple):
    """The functions of the page that requests call.

    Attributes
    ----------
    comparison : () -> Comparison or None
        Return the comparison on screen.
    refetch : () -> None
        Fetch the comparison again after a decision about a match.
    resize : (message) -> None
        Respond to a new size of the window of a tree.
    cut : (comparison) -> CompareCut
        Return the part of a comparison that the trees show.
    picture : () -> ComparePicture or None
        Return both trees as they are on screen, in the colours for print.
    window : TreeView
        The component that offers files for download.
    seeds : () -> SeedBaseline or None
        Return the differences between seeds, if they are known for the comparison on screen.
    """

    comparison: Callable[[], Comparison | None]
    refetch: Callable[[], None]
    resize: Callable[[Message], None]
    cut: Callable[[Comparison], CompareCut]
    picture: Callable[[], ComparePicture | None]
    window: TreeView
    seeds: Callable[[], SeedBaseline | None]


class CompareRequests(PageRequests[CompareCallbacks]):
    """The requests of the compare page."""

    text_fields: ClassVar = {
        "snapshot-a": "partner_snapshot",
        "snapshot-b": "snapshot",
        "sort": "sort",
        "listed": "listed",
        "label": "label",
    }

    def __init__(self, context: Context, callbacks: CompareCallbacks) -> None:
        super().__init__(context, callbacks)
        self._actions = {
            "run-a": lambda _, value: self._choose_run(value, partner=True),
            "run-b": lambda _, value: self._choose_run(value, partner=False),
            "swap": lambda *_: self._swap_runs(),
            "identical": lambda *_: self._switch("identical"),
            "popular": lambda *_: self._put(roots=(), partner_roots=()),
            "more-pairs": lambda *_: self._put(pairs=self._view.pairs + ROWS_STEP),
            "more": lambda *_: self._put(most=2 * self._view.most),
            "save": lambda _, value: self._save(value),
            "seeds": lambda *_: self._put(page="seeds", tab=""),
            "carry": lambda *_: self._carry(),
        }

    def handle(self, message: Message) -> None:
        """Handle a message of the browser; its contents are checked, as they could be anything."""
        action = message["do"]
        if action not in self._topic_actions:
            super().handle(message)
            return
        comparison, side = self._callbacks.comparison(), message.get("side")
        if comparison is None or side not in ("a", "b"):
            return
        node = parse_identity(str(message.get("id", "")))
        if node is not None and comparison.hierarchy(side).has(node):
            self._topic_actions[action](comparison, side, node, str(message.get("value", "")))
        elif action == "select":
            self._view.topic = 0

    @cached_property
    def _topic_actions(self) -> dict[str, Callable[[Comparison, Side, Node, str], None]]:
        return {
            "select": lambda _, side, node, __: self._select(side, node),
            "root": self._set_root,
            "show": self._reveal,
            "rename": self._rename,
            "match": self._match,
            "unmatch": self._unmatch,
        }

    def _select(self, side: Side, node: Node) -> None:
        self._put(side=SIDE_NAMES[side], layer=node.layer, topic=node.column + 1)

    def _rename(self, comparison: Comparison, side: Side, node: Node, value: str) -> None:
        """Name a topic of either run, and fetch the comparison again."""
        self._rename_topic(comparison.hierarchy(side).run, node, value)

    def _set_root(self, comparison: Comparison, side: Side, node: Node, _: str) -> None:
        roots = {"roots": (), "partner_roots": ()} | {
            ("roots" if side == "b" else "partner_roots"): (format_identity(node),)
        }
        threshold = choose_threshold(
            self._view.threshold, comparison.a, comparison.b
        )  # one at which the roots are visible
        self._put(**roots, threshold=threshold, side=SIDE_NAMES[side], layer=node.layer, topic=node.column + 1)

    def _reveal(self, comparison: Comparison, side: Side, node: Node, _: str) -> None:
        """Add roots on one side so that its tree shows a topic, at the threshold on screen."""
        cut = self._callbacks.cut(comparison)
        before = pair_roots(comparison, cut)[side]
        choice = reveal_topic(
            comparison.hierarchy(side), TreeChoice(before, cut.threshold, cap=cut.cap, light=True), node
        )
        roots: dict[Side, tuple[Node, ...]] = {"a": cut.roots_a, "b": cut.roots_b}
        roots[side] += choice.roots[len(before) :]
        names = {each: tuple(format_identity(root) for root in nodes) for each, nodes in roots.items()}
        self._put(roots=names["b"], partner_roots=names["a"], threshold=cut.threshold)

    def _choose_run(self, value: str, *, partner: bool) -> None:
        if not value.isdecimal() or self._context.feed.run(int(value)) is None:
            return
        if partner:
            self._put(partner=int(value), partner_snapshot=0, partner_roots=())
        else:  # keep the reference run, even if it was not chosen by the user
            request = read_request(self._context)
            partner_run = request.run_a if request.run_a != int(value) else 0
            self._put(run=int(value), partner=partner_run, **ANOTHER_RUN)

    def _swap_runs(self) -> None:
        view, request = self._view, read_request(self._context)
        if not request.run_a:
            return
        self._put(
            run=request.run_a, snapshot=request.snapshot_a, roots=view.partner_roots,
            partner=request.run_b, partner_snapshot=request.snapshot_b, partner_roots=view.roots,
            side=SIDE_NAMES[get_other_side(SIDE_BY_NAME[view.side])], closed=(), overlay=(),
        )  # fmt: skip

    def _match(self, comparison: Comparison, side: Side, node: Node, value: str) -> None:
        there = comparison.hierarchy(get_other_side(side))
        partner = None if value == "none" else parse_identity(value)
        if value != "none" and (partner is None or partner.layer != node.layer or not there.has(partner)):
            return
        self._submit_decision("match_topics", comparison, side, node, partner)

    def _unmatch(self, comparison: Comparison, side: Side, node: Node, _: str) -> None:
        self._submit_decision("unmatch_topics", comparison, side, node, comparison.partner(side, node))

    def _submit_decision(self, verb: str, comparison: Comparison, side: Side, node: Node, partner: Node | None) -> None:
        own, theirs = node.column + 1, partner.column + 1 if partner else 0
        decision = MatchDecision(node.layer, own, theirs) if side == "a" else MatchDecision(node.layer, theirs, own)
        act = getattr(self._context.actions, verb)
        self._select(side, node)
        self._context.later(
            partial(act, comparison.a.run, comparison.b.run, decision), lambda _: self._callbacks.refetch()
        )

    def _carry(self) -> None:
        comparison = self._callbacks.comparison()
        if comparison is not None:
            work = partial(self._context.actions.carry_annotations, comparison)
            self._context.aside(work, partial(self._report_carrying, comparison.b.run))

    def _report_carrying(self, run: int, carried: Sequence[CarriedTopic]) -> None:
        sentence = summarize_carrying(carried, run)
        self._context.notify(f"{sentence[0].upper()}{sentence[1:]}.", "success")
        self._callbacks.refetch()

    def _save(self, form: str) -> None:
        comparison = self._callbacks.comparison()
        if comparison is None:
            return
        threshold = choose_threshold(self._view.threshold, comparison.a, comparison.b)
        texts: dict[str, Callable[[], str]] = {
            "topics.csv": partial(files.render_pairs, comparison),
            "edges.csv": partial(files.render_edges, comparison, threshold),
            "json": partial(files.render_comparison, comparison, threshold, self._callbacks.seeds()),
        }
        name = f"topiary-run-{comparison.a.run}-and-{comparison.b.run}"
        if form in texts:
            self._callbacks.window.hand_over(f"{name}{'.' if form == 'json' else '-'}{form}", texts[form]())
        elif form in ("svg", "png") and (picture := self._callbacks.picture()) is not None:
            if form == "svg":
                self._callbacks.window.hand_over(f"{name}.svg", picture.svg)
            else:
                self._callbacks.window.hand_over_picture(f"{name}.png", *picture)
