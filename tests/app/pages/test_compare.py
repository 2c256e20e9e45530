"""The compare page without a browser: what clicks do to the view, and what the view does to the boards."""

import re
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from page_sessions import make_context
from topic_hierarchies import hierarchy_with_classes, make_hierarchy
from topic_pairs import changed

from topiary.app.analysis.comparison import Comparison, Pair, compare
from topiary.app.analysis.hierarchy import format_identity
from topiary.app.analysis.seeds import SeedBaseline
from topiary.app.live.cache import History
from topiary.app.live.feed import Tick
from topiary.app.pages import compare_reading
from topiary.app.pages.compare import ComparePage
from topiary.app.pages.curves import CompareCurves
from topiary.app.pages.session import Context, View, from_query, to_query
from topiary.app.views.compare.labels import LabelAccuracy, rank_classes
from topiary.store.notes import MatchDecision


def run_row(number: int, **more: Any) -> SimpleNamespace:
    row = {
        "number": number, "name": f"run {number}", "corpus": 1, "corpus_name": "news", "model": "dlda",
        "inference": "tlasgr", "layers": (24, 12, 6), "settings": {"eta": 0.05}, "options": {}, "seed": number,
        "minibatch": 700, "planned": 700, "seconds": 70.0, "point_perplexity": 900.0 + number,
        "averaged_perplexity": None, "message": "", "state": "finished", "parent": None, "parent_minibatch": None,
        "family": number,
    }  # fmt: skip
    return SimpleNamespace(**(row | more))


class Feed:
    """Runs as a session would find them in memory."""

    def __init__(self, *rows: SimpleNamespace) -> None:
        self.rows = {row.number: row for row in rows}
        self.newest = {row.number: SimpleNamespace(number=3, minibatch=700) for row in rows}
        self.reader = SimpleNamespace(find_seeds=lambda _: SeedBaseline((), "no other seed yet"))

    def runs(self) -> tuple[Any, ...]:
        return tuple(sorted(self.rows.values(), key=lambda row: -row.number))

    def run(self, number: int) -> Any:
        return self.rows.get(number)

    def latest(self, number: int) -> Any:
        return self.newest.get(number)

    def state(self, number: int) -> str:
        return self.rows[number].state

    def read_sparks(self, numbers: Any) -> None:
        """All are there."""

    def get_latest_values(self, number: int) -> dict[str, float]:
        return {}

    def spark(self, number: int) -> tuple[float, ...]:
        return (900.0, 800.0 + number)

    def get_cached_history(self, number: int) -> None:
        return None

    def history(self, number: int) -> None:
        return None


class Session:
    """A compare page with everything around it replaced; ``asked`` are the comparisons it wants."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, comparison: Comparison | None = None, **fields: Any) -> None:
        self.comparison = comparison or changed()
        self.view = View(**({"page": "compare", "run": 8, "threshold": 1.0, "whole": "shown"} | fields))
        self.feed = Feed(run_row(7), run_row(8))
        self.ticks: list[Callable[[Tick], None]] = []
        self.asked: list[compare_reading.ComparisonRequest] = []
        self.acts: list[tuple[str, tuple[Any, ...]]] = []
        self.sentence = ""
        self.accuracies: tuple[LabelAccuracy | None, LabelAccuracy | None] = (None, None)
        self.hold = False
        self.waiting: list[Callable[[], None]] = []
        monkeypatch.setattr(compare_reading, "fetch_comparison", self._fetch)
        actions = SimpleNamespace(
            match_topics=lambda *request: self.acts.append(("match", request)),
            unmatch_topics=lambda *request: self.acts.append(("unmatch", request)),
        )
        self.context = make_context(self.view, self.feed, self._later, actions=actions, on_tick=self.ticks.append)
        self.page = ComparePage(self.context)

    def _fetch(self, _: Context, request: compare_reading.ComparisonRequest) -> compare_reading.FetchedComparison:
        self.asked.append(request)
        return compare_reading.FetchedComparison(
            request, None if self.sentence else self.comparison, self.sentence, (), (), self.accuracies
        )

    def _later(self, work: Callable[[], Any], then: Callable[[Any], None], failed: Any = None) -> None:
        if self.hold:
            self.waiting.append(lambda: then(work()))
        else:
            then(work())

    def handle(self, do: str, **more: Any) -> None:
        self.page.handle({"do": do, **more})

    def shown(self, side: str) -> set[str]:
        return set(re.findall(r'data-id="(L\d+:\d+)" role="treeitem"', self.page._trees[side].svg))

    def pair(self, layer: int = 2) -> Pair:
        shown = self.shown("b")
        return next(
            pair
            for pair in self.comparison.pairs
            if pair.layer == layer and pair.a and pair.b and format_identity(pair.b) in shown
        )


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> Session:
    return Session(monkeypatch)


def test_without_a_click_a_run_is_compared_with_the_latest_other_run_of_its_corpus(session: Session) -> None:
    assert session.asked == [compare_reading.ComparisonRequest(7, 0, 8, 0)]
    assert session.shown("a")
    assert session.shown("b")
    assert "What changed" in session.page._table.html
    assert "one seed each:" in session.page._head.html
    assert "no other seed yet" in session.page._numbers.html
    assert session.view.partner == 0


def test_coherence_of_both_runs_is_on_the_page_where_their_snapshots_know_it(monkeypatch: pytest.MonkeyPatch) -> None:
    found = changed()
    assert "Worst tenth" not in Session(monkeypatch, found).page._numbers.html
    known = [replace(each, npmi=tuple(np.full(width, 0.123) for width in each.widths)) for each in (found.a, found.b)]
    html = Session(monkeypatch, compare(*known)).page._numbers.html
    assert html.count(">0.123</td>") == 4 * 3  # NPMI and worst tenth of both, in three layers


def test_a_fork_is_compared_with_the_run_it_came_from(monkeypatch: pytest.MonkeyPatch) -> None:
    session = Session(monkeypatch)
    session.feed.rows |= {9: run_row(9, parent=7), 10: run_row(10)}
    session.feed.newest |= dict.fromkeys((9, 10), SimpleNamespace(number=3, minibatch=700))
    session.view.run = 9
    assert session.asked[-1] == compare_reading.ComparisonRequest(7, 0, 9, 0)


def test_a_lonely_run_gets_a_sentence_and_so_does_one_without_a_snapshot(monkeypatch: pytest.MonkeyPatch) -> None:
    session = Session(monkeypatch)
    session.feed.rows[9] = run_row(9, state="queued")
    session.view.partner = 9
    assert "Run 9 is waiting for its turn" in session.page._head.html
    session.feed.rows[9].state = "failed"
    session.ticks[0](Tick(rows=frozenset({9})))
    assert "Run 9 failed before its first snapshot; Watch says why" in session.page._head.html
    del session.feed.rows[9], session.feed.rows[7]
    session.view.partner = 0
    assert "There is only one run yet" in session.page._head.html
    assert session.page._table.html == ""
    assert not session.page._settings.visible
    assert "cm-empty" in session.page.page.css_classes


def test_while_topics_are_matched_the_page_says_so_and_what_was_there_stays_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    session = Session(monkeypatch)
    session.hold = True
    session.feed.rows[9] = run_row(9)
    session.feed.newest[9] = SimpleNamespace(number=3, minibatch=700)
    session.view.partner = 9
    assert "matching 42 topics of run 9 with 42 topics of run 8" in session.page._head.html
    assert session.page._trees["a"].svg == ""
    while session.waiting:
        session.waiting.pop(0)()
    assert session.shown("a")
    assert '<div role="status"></div>' in session.page._head.html


def test_a_snapshot_that_comes_while_the_one_before_is_matched_is_read_after_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    session = Session(monkeypatch)
    session.hold = True
    before = len(session.asked)
    for _ in range(3):
        session.ticks[0](Tick(snapshots=frozenset({8})))
    while session.waiting:
        session.waiting.pop(0)()
    assert len(session.asked) == before + 2, "once as it came, once more for what came meanwhile"


def test_runs_that_cannot_be_compared_say_why(monkeypatch: pytest.MonkeyPatch) -> None:
    session = Session(monkeypatch)
    session.sentence = "Runs 7 and 8 have no word in common, so their topics cannot be compared."
    session.view.snapshot = 2
    assert "no word in common" in session.page._head.html


def test_a_click_in_either_tree_or_the_table_selects_the_pair_everywhere(session: Session) -> None:
    pair = session.pair()
    for side, node, other in (("a", pair.a, pair.b), ("b", pair.b, pair.a)):
        session.handle("select", side=side, id=format_identity(node))
        assert session.view.side == ("partner" if side == "a" else "run")
        assert (session.view.layer, session.view.topic) == (node.layer, node.column + 1)
        assert session.page._trees[side].selected == format_identity(node)
        assert session.page._trees["b" if side == "a" else "a"].selected == format_identity(other)
        assert f'data-key="{format_identity(pair.a)}-{format_identity(pair.b)}"' in session.page._pair.html
        assert re.search(f'data-key="b{format_identity(pair.b)}"[^>]*aria-selected="true"', session.page._table.html)
    session.page._on_tree_message("a", {"do": "select", "id": ""})
    assert session.view.topic == 0


def test_matched_topics_stand_in_the_same_place_of_two_pictures_of_one_size(session: Session) -> None:
    places: dict[str, dict[str, tuple[str, str]]] = {}
    sizes = []
    for side in ("a", "b"):
        svg = session.page._trees[side].svg
        sizes.append(re.findall(r'viewBox="([^"]+)"', svg)[0])
        found = re.findall(r'transform="translate\(([\d. -]+)\)" class="tp-node[^"]*" data-id="(L\d+:\d+)"', svg)
        places[side] = {key: place for place, key in found}
    assert sizes[0] == sizes[1]
    pairs = [(pair.a, pair.b) for pair in session.comparison.pairs if pair.a and pair.b]
    both = [(format_identity(a), format_identity(b)) for a, b in pairs if format_identity(a) in places["a"]]
    assert len(both) > 10
    for a, b in both:
        assert places["a"][a] == places["b"][b]
        assert box_size(session, "a", a) == box_size(session, "b", b)
        assert f'data-id="{a}" role="treeitem"' in session.page._trees["a"].svg
        assert re.search(f'data-id="{a}"[^>]*data-twin="{b}"', session.page._trees["a"].svg)
        assert re.search(f'data-id="{b}"[^>]*data-twin="{a}"', session.page._trees["b"].svg)


def box_size(session: Session, side: str, key: str) -> tuple[str, ...]:
    svg = session.page._trees[side].svg
    (size,) = re.findall(rf'data-id="{key}" role.*?<rect width="([\d.]+)" height="([\d.]+)" class="tp-box"', svg)
    return size


def test_gained_edges_are_drawn_on_one_side_and_lost_ones_on_the_other(session: Session) -> None:
    a, b = session.page._trees["a"].svg, session.page._trees["b"].svg
    assert "cm-lost" in a
    assert "cm-gained" not in a
    assert "cm-gained" in b
    assert "cm-lost" not in b
    for svg in (a, b):
        for path in re.findall(r"<path[^>]*cm-(?:lost|gained)[^>]*>", svg):
            assert "stroke-dasharray" in path
    counts = [int(each) for each in re.findall(r"<b>(\d+)</b> of \d+", session.page._legend.html)]
    drawn_a = len(re.findall(r'class="tp-edge"', a))
    drawn_b = len(re.findall(r'class="tp-edge"', b))
    gained, lost, *kept = counts
    assert (drawn_a, drawn_b) == (lost + sum(kept), gained + sum(kept))


def test_a_chosen_pair_that_is_not_drawn_can_be_shown_in_both_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    session = Session(monkeypatch, threshold=5.0)
    before = session.shown("a"), session.shown("b")
    pair = next(
        pair
        for pair in session.comparison.pairs
        if pair.a is not None and pair.b is not None and format_identity(pair.b) not in before[1]
    )
    session.handle("select", side="b", id=format_identity(pair.b))
    assert (session.shown("a"), session.shown("b")) == before
    assert f'data-do="show" data-side="b" data-id="{format_identity(pair.b)}"' in session.page._pair.html
    session.handle("show", side="b", id=format_identity(pair.b))
    assert session.shown("a") >= {*before[0], format_identity(pair.a)}
    assert session.shown("b") >= {*before[1], format_identity(pair.b)}
    assert 'data-do="show"' not in session.page._pair.html
    assert session.view.partner_roots  # those of A stay as they were


def test_where_nothing_is_joined_the_next_threshold_is_offered_on_the_canvas(session: Session) -> None:
    assert session.page._offer.html == ""
    session.handle("threshold", value="30")
    (value,) = re.findall(r'data-do="threshold" data-value="([\d.]+)"', session.page._offer.html)
    session.handle("threshold", value=value)
    assert session.page._offer.html == ""


def test_a_topic_without_a_partner_leaves_a_dashed_place_on_the_other_side(session: Session) -> None:
    session.handle("threshold", value="0.2")
    svgs = {side: session.page._trees[side].svg for side in ("a", "b")}
    alone = {
        side: len(re.findall(r'data-id="[^"]+" role="treeitem"(?![^>]*data-twin)', svg)) for side, svg in svgs.items()
    }
    pruned_boxes = {side: svg.count("cm-pruned-line") for side, svg in svgs.items()}
    assert alone["a"] + alone["b"] > 0
    assert pruned_boxes == {"a": alone["b"], "b": alone["a"]}


def test_a_class_tints_the_topics_of_the_run_that_predicts_it_on_screen_and_in_the_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    comparison = compare(make_hierarchy(), replace(hierarchy_with_classes(), run=8))
    session = Session(monkeypatch, comparison)
    files: list[dict[str, Any]] = []
    monkeypatch.setattr(session.page._trees["b"], "_send_msg", files.append)
    assert "medicine &amp; more</option>" in session.page._head.html
    most = rank_classes(comparison)[0].label
    assert f'<option value="{most}" selected>' in session.page._head.html, "without a choice, what differs most"
    assert session.page._trees["b"].svg.count("tp-tint") == len(session.shown("b"))
    assert session.page._lead.html.count("--tp-speaks") + session.page._lead.html.count("--tp-denies") == 6
    session.handle("label", value="4")  # no class
    assert "tp-tint" not in session.page._trees["b"].svg
    assert "--tp-speaks" not in session.page._lead.html
    session.handle("label", value="3")
    assert session.view.label == 3
    assert session.page._trees["b"].svg.count("tp-tint") == len(session.shown("b"))
    assert "tp-tint" not in session.page._trees["a"].svg
    session.handle("save", value="svg")
    assert files[0]["text"].count("tp-tint") == len(session.shown("b"))
    assert "weight for medicine &amp; more" in files[0]["text"]
    session.handle("root", side="b", id=format_identity(comparison.b.nodes(2)[0]))
    assert session.page._trees["b"].svg.count("tp-tint") == len(session.shown("b"))
    assert 'data-change="label"' not in Session(monkeypatch).page._head.html


@pytest.mark.parametrize("form", ["svg", "png"])
def test_the_picture_that_is_saved_shows_the_topics_on_screen(
    session: Session, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    files: list[dict[str, Any]] = []
    monkeypatch.setattr(session.page._trees["b"], "_send_msg", files.append)
    session.handle("root", side="b", id=format_identity(session.pair(3).b))
    session.handle("save", value=form)
    (sent,) = files
    assert sent["name"] == f"topiary-run-7-and-8.{form}"
    assert sent.get("paint", False) == (form == "png")
    titles = re.findall(r"<title>Topic tree, (\d+) topics</title>", sent["text"])
    assert [int(each) for each in titles] == [len(session.shown(side)) for side in ("a", "b")]
    assert "seed 12" in sent["text"]


def test_the_link_of_a_view_shows_the_same_page(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    pair = session.pair()
    session.handle("root", side="a", id=format_identity(session.pair(3).a))
    session.handle("select", side="a", id=format_identity(pair.a))
    session.handle("threshold", value="1.5")
    session.handle("sort", value="margin")
    session.handle("listed", value="2")
    session.handle("identical")
    session.handle("run-a", value="7")
    again = Session(monkeypatch, session.comparison, **from_query(to_query(session.view)))
    for board in ("_table", "_pair", "_legend", "_edges", "_settings", "_head"):
        assert getattr(again.page, board).html == getattr(session.page, board).html, board
    assert again.shown("a") == session.shown("a")
    assert again.page._trees["a"].selected == session.page._trees["a"].selected


def test_a_root_of_either_side_is_the_root_of_both(session: Session) -> None:
    pair = session.pair(3)
    session.handle("root", side="a", id=format_identity(pair.a))
    assert (session.view.roots, session.view.partner_roots) == ((), (format_identity(pair.a),))
    assert {each for each in session.shown("b") if each.startswith("L3")} == {format_identity(pair.b)}
    session.handle("root", side="b", id=format_identity(pair.b))
    assert (session.view.roots, session.view.partner_roots) == ((format_identity(pair.b),), ())
    assert {each for each in session.shown("a") if each.startswith("L3")} == {format_identity(pair.a)}
    session.handle("popular")
    assert len({each for each in session.shown("b") if each.startswith("L3")}) > 1


def test_swapping_turns_the_whole_view_round(session: Session) -> None:
    pair = session.pair()
    session.handle("select", side="b", id=format_identity(pair.b))
    session.view.snapshot = 4
    session.handle("swap")
    view = session.view
    assert (view.run, view.snapshot, view.partner, view.partner_snapshot) == (7, 0, 8, 4)
    assert (view.side, view.topic) == ("partner", pair.b.column + 1)
    assert session.asked[-1] == compare_reading.ComparisonRequest(8, 4, 7, 0)


def test_another_partner_or_none_is_stored_for_the_runs_as_they_stand(session: Session) -> None:
    pair = session.pair()
    wrong = next(other for other in session.comparison.pairs if other.layer == 2 and other.a not in (None, pair.a))
    session.handle("match", side="b", id=format_identity(pair.b), value=format_identity(wrong.a))
    session.handle("match", side="b", id=format_identity(pair.b), value="none")
    session.handle("unmatch", side="b", id=format_identity(pair.b))
    own, theirs = pair.b.column + 1, pair.a.column + 1
    assert session.acts == [
        ("match", (7, 8, MatchDecision(2, wrong.a.column + 1, own))),
        ("match", (7, 8, MatchDecision(2, 0, own))),
        ("unmatch", (7, 8, MatchDecision(2, theirs, own))),
    ]
    assert len(session.asked) == 4  # matched again after each


def test_a_new_snapshot_of_a_live_run_is_matched_and_one_of_a_pinned_run_is_not(session: Session) -> None:
    before = len(session.asked)
    session.ticks[0](Tick(snapshots=frozenset({7})))
    assert len(session.asked) == before + 1
    session.view.partner_snapshot = 2
    before = len(session.asked)
    session.ticks[0](Tick(snapshots=frozenset({7})))
    assert len(session.asked) == before
    session.ticks[0](Tick(snapshots=frozenset({8})))
    session.ticks[0](Tick(labels=frozenset({7})))
    assert len(session.asked) == before + 2
    session.view.page = "runs"
    session.ticks[0](Tick(snapshots=frozenset({8})))
    assert len(session.asked) == before + 2


def test_identical_settings_are_hidden_until_asked_for(session: Session) -> None:
    assert '<th scope="row">Seed</th>' in session.page._settings.html
    assert "Topic smoothing eta</th>" not in session.page._settings.html
    session.handle("identical")
    assert "Topic smoothing eta</th>" in session.page._settings.html


MESSAGES = [
    {"do": "select", "id": "L9:9", "side": "c"},
    {"do": "select", "id": "L1:1"},
    {"do": "root", "id": "<script>", "side": "a"},
    {"do": "match", "id": "L1:1", "side": "a", "value": "L2:1"},
    {"do": "match", "id": "L1:1", "side": "a", "value": "L1:999"},
    {"do": "run-a", "value": "99"},
    {"do": "run-b", "value": "latest"},
    {"do": "snapshot-a", "value": "-1"},
    {"do": "threshold", "value": "nan"},
    {"do": "sort", "value": "colour"},
    {"do": "listed", "value": "9999"},
    {"do": "save", "value": "exe"},
    {"do": "size", "width": "wide"},
    {"do": "no such request", "id": "L1:1"},
]


def test_messages_that_make_no_sense_change_nothing(session: Session) -> None:
    before, shown = to_query(session.view), session.shown("a")
    for message in MESSAGES:
        session.page.handle(message)
        assert (to_query(session.view), session.shown("a"), session.acts) == (before, shown, []), message


@pytest.mark.parametrize(
    ("partner", "sentence"),
    [(7, "There is no run 7 in this store; choose another one as A."), (0, "There is only one run yet.")],
)
def test_after_run_a_is_deleted_nothing_of_it_stays_and_that_is_said(
    monkeypatch: pytest.MonkeyPatch, partner: int, sentence: str
) -> None:
    session = Session(monkeypatch, partner=partner)
    assert session.page._table.html
    assert session.page._trees["a"].svg
    del session.feed.rows[7], session.feed.newest[7]
    session.ticks[0](Tick(rows=frozenset({7})))
    assert sentence in session.page._head.html
    assert (session.page._table.html, session.page._trees["a"].svg) == ("", "")
    assert (session.page._settings.visible, session.page._settings.html) == (False, "")


def test_the_page_begins_with_a_sentence_on_what_labels_bought_and_what_they_cost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    comparison = compare(make_hierarchy(), replace(hierarchy_with_classes(), run=8))
    session = Session(monkeypatch, comparison, run=0)
    session.accuracies = (None, LabelAccuracy(0.957, "test", 0.23))
    session.view.run = 8
    assert (
        ">With labels the topics name the right label for 96% of test documents; "
        "point perplexity is about the same.</p>" in session.page._head.html
    )
    assert "The commonest class alone: 23% · " in session.page._head.html
    assert "the commonest class has 23% of the documents" in session.page._numbers.html
    assert "907.0 → 908.0" in session.page._numbers.html
    session.view.snapshot = 2  # the perplexity is that of the newest snapshot
    session.feed.newest[8] = SimpleNamespace(number=4, minibatch=900)
    session.ticks[0](Tick(rows=frozenset({8})))
    assert ">With labels the topics name the right label for 96% of test documents.</p>" in session.page._head.html


def test_the_page_has_what_changed_first_and_the_rest_when_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    session = Session(monkeypatch, whole="hidden")
    page = session.page
    assert "What changed in the trees" in page._moved.html
    assert (page._table.html, page._numbers.html, page._trees["a"].svg, page._settings.visible) == ("", "", "", False)
    session.handle("whole")
    assert session.view.whole == "shown"
    assert all((page._table.html, page._numbers.html, page._trees["a"].svg, page._settings.visible))
    assert "cm-whole" in page.page.css_classes


def test_the_settings_tell_the_point_perplexity_of_both(monkeypatch: pytest.MonkeyPatch) -> None:
    table = Session(monkeypatch).page._settings.html
    assert "<td>907.0</td><td>908.0</td>" in table
    assert table.count("perplexity") == 1
    assert '<details class="cm-fold"><summary><h2 class="tp-h2">Settings</h2>' in table
    assert ">1 differs: Seed</span></summary>" in table


def test_the_curves_say_which_run_has_no_point_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    session = Session(monkeypatch)
    curves = CompareCurves(session.context)
    curves.choose(7, 8)
    assert "no point yet" not in curves._head.html, "nobody knows before they are read"
    known = {7: History(7, 1), 8: History(8, 1)}
    point = SimpleNamespace(minibatch=5, documents=50, seconds=0.5, name="point_perplexity", layer=0, value=900.0)
    known[8].add([point])
    monkeypatch.setattr(session.feed, "get_cached_history", known.get)
    curves.choose(7, 8)
    assert re.findall(r"(\d) · run \d([^<]*)", curves._head.html) == [("7", ", no point yet"), ("8", "")]


def test_the_curve_of_a_fork_begins_where_that_of_its_parent_was(monkeypatch: pytest.MonkeyPatch) -> None:
    session = Session(monkeypatch)
    session.feed.rows[8] = run_row(8, parent=7, parent_minibatch=15)
    known = {7: History(7, 1), 8: History(8, 1)}
    for step in (10, 20):
        place = {"minibatch": step, "documents": 10 * step, "seconds": 0.1 * step, "layer": 0, "value": 900.0}
        for history in known.values():
            history.add([SimpleNamespace(name="point_perplexity", **place)])
    parent = known.pop(7)
    monkeypatch.setattr(session.feed, "get_cached_history", known.get)
    curves = CompareCurves(session.context)
    curves.choose(7, 8)
    known[7] = parent  # it is read after that of the fork
    curves.choose(7, 8)
    data = [source.data for source in curves._chart.sources]
    assert [list(each["minibatches"]) for each in data] == [[10, 20], [25, 35]]
    assert [list(each["documents"]) for each in data] == [[100, 200], [250, 350]]
    assert list(data[1]["seconds"]) == pytest.approx([2.5, 3.5])
    assert "8 · run 8, from mini-batch 15 of run 7" in curves._head.html
    curves.choose(8, 9)
    assert list(curves._chart.sources[0].data["minibatches"]) == [10, 20], "next to another run, a fork begins at 0"
