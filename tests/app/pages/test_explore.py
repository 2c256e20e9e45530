"""The explore page without a browser: what clicks do to the view, and what the view does to the boards."""

import re
from collections.abc import Callable
from dataclasses import replace
from html import unescape
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from page_sessions import make_context
from pruned_samples import pruned
from topic_hierarchies import hierarchy_with_classes, make_hierarchy
from topic_pairs import narrow

from topiary.app.analysis.hierarchy import Hierarchy, format_identity, parse_identity
from topiary.app.live.feed import Tick
from topiary.app.pages.explore import ExplorePage
from topiary.app.pages.explore_reading import FetchedHierarchy, KeptTopic, explain_waiting, keep_topic
from topiary.app.pages.session import View, from_query, to_query
from topiary.app.server.visit import read_size
from topiary.app.views.explore.cards import WordPassages
from topiary.app.views.tree.opening import choose_first_roots
from topiary.app.views.tree.picture import TreeChoice, cut_tree
from topiary.engine.hierarchy.tree import Node

_WORD = re.compile(r'<li><button class="ex-word"[^>]*>([^<]+)</button><i')


class Feed:
    """Frames as a session would find them in memory."""

    def __init__(self, hierarchy: Hierarchy | None) -> None:
        self.hierarchies = {} if hierarchy is None else {None: hierarchy}

    def get_cached_hierarchy(self, run: int, snapshot: int | None) -> Hierarchy | None:
        return self.hierarchies.get(snapshot) if run == 7 else None

    def run(self, run: int) -> None:
        return None

    def runs(self) -> list[Any]:
        return []

    def state(self, run: int) -> str:
        return ""

    def damage(self, run: int) -> str:
        return ""


class Session:
    """An explore page with everything around it replaced; ``tasks`` are what it wants done elsewhere."""

    def __init__(self, hierarchy: Hierarchy | None, window: dict[str, int] | None = None, **fields: Any) -> None:
        self.view = View(**({"page": "explore", "run": 7, "picture": "tree", "tab": "list-more"} | fields))
        self.feed = Feed(hierarchy)
        self.ticks: list[Callable[[Tick], None]] = []
        self.tasks: list[Callable[[], Any]] = []
        self.report: list[tuple[str, str]] = []
        context = make_context(
            self.view,
            self.feed,
            lambda work, *_: self.tasks.append(work),
            on_tick=self.ticks.append,
            notify=lambda *report: self.report.append(report),
            window=window or {},
        )
        self.page = ExplorePage(context)

    def handle(self, do: str, **more: Any) -> None:
        self.page.handle({"do": do, **more})

    def shown(self) -> set[str]:
        return set(re.findall(r'data-id="(L\d+:\d+)" role="treeitem"', self.page._tree.svg))

    def roots(self) -> list[str]:
        return [format_identity(root) for root in self.page.choice.roots]


@pytest.fixture
def hierarchy() -> Hierarchy:
    return make_hierarchy((40, 20, 8))


@pytest.fixture
def session(hierarchy: Hierarchy) -> Session:
    return Session(hierarchy, threshold=1.5)


def test_the_first_view_shows_the_most_popular_topics_without_a_click(session: Session, hierarchy: Hierarchy) -> None:
    first = format_identity(hierarchy.at_rank(3, 1))
    assert first in session.shown()
    assert session.roots()[0] == first
    assert f'data-key="{first}"' in session.page._detail.html
    assert session.view.roots == ()


def test_a_run_without_a_snapshot_shows_a_sentence_and_then_the_tree(hierarchy: Hierarchy) -> None:
    session = Session(None)
    assert session.page._tree.svg == ""
    assert session.page._tree.note
    session.feed.hierarchies[None] = hierarchy
    session.ticks[0](Tick(snapshots=frozenset({7})))
    assert session.shown()
    assert session.page._tree.note == ""


def test_a_snapshot_written_while_an_older_one_is_read_is_read_next(session: Session, hierarchy: Hierarchy) -> None:
    before = len(session.tasks)  # what the page asked for when it was opened is not answered yet
    session.ticks[0](Tick(snapshots=frozenset({7})))
    assert len(session.tasks) == before
    for _ in range(2):
        session.page._latest._receive((7, 0), session.page._receive, FetchedHierarchy(7, 0, hierarchy))
        assert len(session.tasks) == before + 1


@pytest.mark.parametrize(
    ("state", "message", "said"),
    [
        (
            "running",
            "compiling kernels, once",
            "Run 7 is on its way (compiling kernels, once); the first topics appear",
        ),
        (
            "stopped",
            "stopped while no worker was training it",
            "Run 7 was stopped before its first snapshot; resume it",
        ),
        ("failed", "MemoryError: too many words.", "Run 7 failed before its first snapshot; Watch says why"),
        ("silent", "compiling kernels, once", "Run 7 has fallen silent before its first snapshot; Watch offers"),
    ],
)
def test_it_is_said_why_there_is_no_tree_and_what_to_do_and_only_topics_that_come_are_promised(
    hierarchy: Hierarchy, state: str, message: str, said: str
) -> None:
    session = Session(hierarchy)
    session.feed.run = lambda number: SimpleNamespace(message=message)
    session.feed.latest = lambda number: None
    session.feed.state = lambda number: state
    assert explain_waiting(session.page._context).startswith(said)
    session.feed.damage = lambda number: "All 11 snapshots of run 7 are damaged"
    assert explain_waiting(session.page._context) == "All 11 snapshots of run 7 are damaged."


def test_a_click_selects_the_topic_everywhere(session: Session, hierarchy: Hierarchy) -> None:
    node = hierarchy.at_rank(2, 1)
    session.handle("select", id=format_identity(node))
    assert (session.view.layer, session.view.topic) == (2, node.column + 1)
    assert session.page._tree.selected == format_identity(node)
    assert f'<article class="ex-detail" data-key="{format_identity(node)}"' in session.page._detail.html
    assert re.search(f'data-key="{format_identity(node)}"[^>]*aria-current="true"', session.page._list.html)


def test_folding_hides_topics_and_unfolding_brings_them_back(session: Session) -> None:
    before, root = session.shown(), session.roots()[0]
    session.handle("toggle", id=root)
    assert session.view.closed == (root,)
    assert session.shown() < before
    session.handle("toggle", id=root)
    assert session.shown() == before


def test_changing_the_tree_makes_its_roots_part_of_the_link(session: Session) -> None:
    roots = session.roots()
    session.handle("threshold", value="2.5")
    assert session.view.threshold == 2.5
    assert list(session.view.roots) == roots


def test_as_in_the_paper_a_narrow_model_has_a_tree_and_it_is_said_at_which_threshold() -> None:
    session = Session(narrow())
    session.handle("detail", value="paper")
    assert session.view.threshold == 2.0
    assert len(session.shown()) > 6
    assert "Shown at the threshold 2:" in session.page._foot.html
    assert "<output>2</output>" in session.page._controls.html
    session.handle("detail", value="normal")
    assert session.view.threshold is None
    assert 'data-input="threshold"' not in session.page._controls.html


def list_bar(session: Session) -> list[tuple[str, bool]]:
    """The topics of the bar above the tree, and whether each is marked as a root."""
    cell = r'role="gridcell"[^>]*?( aria-current="true")?><button data-do="root" data-id="([^"]+)"'
    cells = re.findall(cell, session.page._tops.html)
    return [(key, bool(mark)) for mark, key in cells]


def test_all_topics_of_the_top_layer_stand_above_the_tree_and_a_click_makes_one_the_root(hierarchy: Hierarchy) -> None:
    session = Session(hierarchy)
    tops, before = [format_identity(node) for node in hierarchy.nodes(3)], session.shown()
    assert list_bar(session) == [(key, key == tops[0]) for key in tops]
    session.handle("root", id=tops[2])
    assert session.view.roots == (tops[2],)
    assert len(session.shown()) > 1
    assert list_bar(session) == [(key, key == tops[2]) for key in tops]
    again = Session(hierarchy, **from_query(to_query(session.view)))
    assert again.shown() == session.shown()
    session.handle("popular")
    assert session.shown() == before
    session.handle("picture", value="map")
    assert list_bar(session) == []


def test_background_topics_of_the_top_layer_are_no_first_root_but_are_in_the_bar() -> None:
    hierarchy = make_hierarchy((60, 25, 8))
    first = hierarchy.at_rank(3, 1)
    spread = tuple(np.full(width, 0.05, np.float32) for width in (60, 25, 8))
    spread[2][first.column] = 0.9
    session = Session(replace(hierarchy, spread=spread))
    assert format_identity(first) not in session.shown()
    assert (format_identity(first), False) in list_bar(session)


def test_topics_in_every_kind_of_text_are_set_apart_together_and_come_back() -> None:
    hierarchy = make_hierarchy((60, 25, 8))
    first = hierarchy.at_rank(3, 1)
    spread = tuple(np.full(width, 0.05, np.float32) for width in (60, 25, 8))
    spread[2][first.column] = 0.9
    session = Session(replace(hierarchy, spread=spread), picture="topics")
    assert 'data-do="apart" data-value="" aria-pressed="false"' in session.page._controls.html
    session.handle("apart")
    assert session.view.hidden == (format_identity(first),)
    assert 'data-do="apart" data-value="" aria-pressed="true"' in session.page._controls.html
    session.handle("apart")
    assert session.view.hidden == ()


def test_a_short_panel_is_unfolded_by_a_click_and_stays_so(hierarchy: Hierarchy) -> None:
    session = Session(hierarchy, tab="")
    assert "Technical figures" not in session.page._detail.html
    session.handle("rest")
    assert session.view.tab == "more"
    assert "Technical figures" in session.page._detail.html


def test_the_documents_of_a_topic_are_those_that_were_counted(hierarchy: Hierarchy) -> None:
    session, topic = Session(hierarchy), format_identity(hierarchy.nodes(2)[0])
    session.handle("documents", id=topic)
    assert (session.view.page, session.view.where) == ("documents", (f"{topic}=0.2..",))


def test_a_root_of_the_top_layer_leads_down_and_one_of_layer_one_up(hierarchy: Hierarchy) -> None:
    session = Session(hierarchy)
    for layer, direction in ((1, "up"), (2, "up"), (3, "down"), (2, "down")):
        session.handle("root", id=format_identity(hierarchy.at_rank(layer, 2)))
        assert session.view.direction == direction
        assert len(session.shown()) > 1


def test_more_detail_draws_more_and_the_rule_is_in_the_caption(hierarchy: Hierarchy) -> None:
    root = format_identity(hierarchy.at_rank(3, 1))
    shown = []
    for detail, said in (("backbone", "40%"), ("normal", "70%"), ("all", "95%")):
        session = Session(hierarchy, roots=(root,))
        session.handle("detail", value=detail)
        assert f"until {said} of the parent is covered" in session.page._foot.html
        shown.append(session.shown())
    assert shown[0] < shown[1] < shown[2]


def test_up_cannot_be_chosen_where_nothing_is_above(hierarchy: Hierarchy) -> None:
    up = r'data-value="up"[^>]*?( disabled| title)[^>]*>Up'
    for layer, is_closed in ((3, True), (2, False)):
        session = Session(hierarchy, roots=(format_identity(hierarchy.at_rank(layer, 1)),))
        found = re.search(up, session.page._controls.html)
        assert found
        assert (found[1] == " disabled") == is_closed


def test_the_chosen_topic_is_marked_so_that_the_list_scrolls_to_it(session: Session, hierarchy: Hierarchy) -> None:
    assert "data-reveal" not in session.page._list.html
    key = format_identity(hierarchy.at_rank(1, 20))
    session.handle("select", id=key)
    assert re.findall(r'data-reveal="([^"]*)"', session.page._list.html) == [key]


def test_where_nothing_is_joined_the_next_threshold_is_offered_on_the_canvas() -> None:
    session = Session(narrow(), threshold=5.0)
    assert len(session.shown()) == 3
    assert 'data-do="threshold" data-value="2"' in session.page._offer.html
    session.handle("threshold", value="2")
    assert len(session.shown()) > 6
    assert session.page._offer.html == ""


def test_roots_that_are_no_longer_joined_do_not_stay_while_training_goes_on() -> None:
    hierarchy = make_hierarchy((60, 25, 8))
    session = Session(hierarchy)
    session.handle("detail", value="paper")
    first = hierarchy.at_rank(3, 1)
    assert format_identity(first) in session.roots()
    flat = hierarchy.phi[2].copy()
    flat[:, first.column] = 1 / 25
    session.feed.hierarchies[None] = replace(hierarchy, phi=(*hierarchy.phi[:2], flat), minibatch=900, snapshot=4)
    session.ticks[0](Tick(snapshots=frozenset({7})))
    assert format_identity(first) not in session.roots()


def listed(session: Session) -> str:
    """The layer whose topics the list shows."""
    (layer,) = re.findall(r'data-layer="(\d)"[^>]*aria-selected="true"', session.page._list.html)
    return layer


def test_the_list_stays_on_its_layer_when_the_tree_changes(session: Session) -> None:
    assert listed(session) == "3"
    session.handle("threshold", value="1")
    assert listed(session) == "3"
    session.handle("layer", layer="2")
    session.handle("threshold", value="2")
    assert listed(session) == "2"
    session.handle("select", id="L1:3")
    session.handle("select", id="")
    assert listed(session) == "1"


@pytest.mark.parametrize(
    ("fields", "layer"),
    [
        ({"roots": ("L3:1",)}, "3"),
        ({"roots": ("L1:4", "L2:1")}, "2"),
        ({"layer": 2}, "2"),
        ({"tab": "layer-list"}, "1"),
    ],
)
def test_a_link_without_a_layer_lists_that_of_its_roots(
    hierarchy: Hierarchy, fields: dict[str, Any], layer: str
) -> None:
    assert listed(Session(hierarchy, **fields)) == layer


@pytest.mark.parametrize("action", [("layer", {"layer": "1"}), ("select", {"id": "L1:3"})])
def test_the_layer_chosen_is_still_listed_after_only_the_tree_was_shown(
    session: Session, action: tuple[str, dict[str, str]]
) -> None:
    session.handle(action[0], **action[1])
    session.handle("wide")
    assert "ex-only" in session.page.page.css_classes
    session.handle("select", id="")
    session.handle("wide")
    assert session.page.page.css_classes == ["ex-page", "ex-listed", "ex-outlined"]
    assert listed(session) == "1"


def test_a_search_opens_the_list_until_it_is_empty_again(hierarchy: Hierarchy) -> None:
    session = Session(hierarchy, tab="")
    assert "ex-listed" not in session.page.page.css_classes
    session.handle("search", value="word2")
    assert "ex-listed" in session.page.page.css_classes
    assert "ex-card" in session.page._list.html
    session.handle("search", value="")
    assert "ex-listed" not in session.page.page.css_classes
    assert "ex-card" not in session.page._list.html


def test_the_link_of_a_view_shows_the_same_tree(session: Session, hierarchy: Hierarchy) -> None:
    session.handle("threshold", value="1")
    session.handle("pin", id=format_identity(hierarchy.at_rank(3, 4)))
    session.handle("toggle", id=session.roots()[0])
    session.handle("part", value="unique")
    again = Session(hierarchy, **from_query(to_query(session.view)))
    assert again.shown() == session.shown()
    assert again.roots() == session.roots()


def test_a_root_is_replaced_added_and_removed(session: Session, hierarchy: Hierarchy) -> None:
    one, other = format_identity(hierarchy.at_rank(3, 3)), format_identity(hierarchy.at_rank(2, 2))
    session.handle("root", id=one)
    assert session.view.roots == (one,)
    session.handle("pin", id=other)
    assert session.view.roots == (one, other)
    session.handle("unpin", id=one)
    assert session.view.roots == (other,)
    session.handle("popular")
    assert session.view.roots == ()


def test_a_hidden_topic_can_be_shown_again(session: Session) -> None:
    node = sorted(session.shown() - set(session.roots()))[0]
    session.handle("hide", id=node)
    assert node not in session.shown()
    assert "1 hidden" in session.page._controls.html
    session.handle("unhide")
    assert node in session.shown()


def test_the_only_root_cannot_be_hidden_and_it_is_said_why(session: Session) -> None:
    root = session.roots()[0]
    session.handle("root", id=root)
    before = to_query(session.view)
    assert re.search(r'data-do="hide"[^>]* disabled title="The tree has no other root[^"]*"', session.page._detail.html)
    session.handle("hide", id=root)  # by the key H
    assert to_query(session.view) == before
    assert session.report == [("The tree has no other root: make another topic a root first.", "info")]
    session.handle("pin", id="L3:1" if root != "L3:1" else "L3:2")
    assert "disabled" not in session.page._detail.html
    session.handle("hide", id=root)
    assert root not in session.view.roots


def test_a_chosen_topic_that_is_not_drawn_can_be_shown_in_the_tree(hierarchy: Hierarchy) -> None:
    session = Session(hierarchy, threshold=5.0)
    before = session.shown()
    node = next(node for node in hierarchy.nodes(1) if format_identity(node) not in before)
    session.handle("select", id=format_identity(node))
    assert session.shown() == before
    assert f'data-do="show" data-id="{format_identity(node)}"' in session.page._detail.html
    assert 'data-do="hide"' not in session.page._detail.html
    session.handle("show", id=format_identity(node))
    assert session.shown() > before
    assert {format_identity(node), format_identity(hierarchy.parents(node, 1)[0].node)} <= session.shown()
    assert (session.view.layer, session.view.topic) == (1, node.column + 1)
    assert 'data-do="show"' not in session.page._detail.html
    again = Session(hierarchy, **from_query(to_query(session.view)))
    assert again.shown() == session.shown()


def test_a_hidden_topic_is_shown_in_the_tree_again(session: Session) -> None:
    node, other = sorted(session.shown() - set(session.roots()))[:2]
    session.handle("hide", id=node)
    session.handle("hide", id=other)
    session.handle("select", id=node)
    session.handle("show", id=node)
    assert node in session.shown()
    assert session.view.hidden == (other,)


@pytest.mark.parametrize(
    "message",
    [
        {"do": "select", "id": "L9:9"},
        {"do": "toggle", "id": "<script>"},
        {"do": "root"},
        {"do": "threshold", "value": "nan"},
        {"do": "threshold", "value": "-1"},
        {"do": "direction", "value": "sideways"},
        {"do": "part", "value": "half"},
        {"do": "layer", "layer": "99"},
        {"do": "size", "width": "wide"},
        {"do": "snapshot", "value": "latest"},
        {"do": "save", "value": "exe"},
        {"do": "no such request", "id": "L1:1"},
    ],
)
def test_a_message_that_makes_no_sense_changes_nothing(session: Session, message: dict[str, str]) -> None:
    before, shown = to_query(session.view), session.shown()
    session.page.handle(message)
    assert (to_query(session.view), session.shown()) == (before, shown)


def test_a_newer_snapshot_keeps_selection_roots_and_what_is_folded(session: Session, hierarchy: Hierarchy) -> None:
    root = session.roots()[0]
    session.handle("toggle", id=root)
    session.handle("select", id=root)
    session.feed.hierarchies[None] = make_hierarchy((40, 20, 8), labels={(3, 1): "new name"})
    query = to_query(session.view)
    session.ticks[0](Tick(snapshots=frozenset({7})))
    assert to_query(session.view) == query
    assert session.page._hierarchy is session.feed.hierarchies[None]
    assert (
        f'data-id="{root}" role="treeitem" tabindex="-1" aria-level="1" aria-expanded="false"' in session.page._tree.svg
    )
    assert session.page._tree.selected == root


def test_a_pinned_snapshot_stays_when_newer_ones_come(hierarchy: Hierarchy) -> None:
    session = Session(hierarchy, snapshot=3)
    session.feed.hierarchies[3] = hierarchy
    session.view.param.trigger("snapshot")
    before = session.page._tree.svg
    session.feed.hierarchies[None] = make_hierarchy((40, 20, 8), seed=9)
    session.ticks[0](Tick(snapshots=frozenset({7})))
    assert session.page._hierarchy is hierarchy
    assert session.page._tree.svg == before


def test_another_run_begins_anew(session: Session) -> None:
    session.handle("hide", id=sorted(session.shown() - set(session.roots()))[0])
    session.view.page = "watch"
    session.view.run = 8
    session.view.page = "explore"
    assert session.page._tree.svg == ""
    assert session.page._list.html == ""


def test_the_chip_for_more_shows_more(hierarchy: Hierarchy) -> None:
    session = Session(make_hierarchy((120, 6)), threshold=0.0)
    before = len(session.shown())
    session.handle("more", layer=1)
    assert len(session.shown()) > before


def test_a_window_of_another_shape_gets_another_layout(session: Session) -> None:
    def shape() -> float:
        width, height = map(int, re.findall(r'viewBox="0 0 (\d+) (\d+)"', session.page._tree.svg)[0])
        return width / height

    session.handle("size", width=400, height=800, here=len(session.page._tree.svg))
    tall = shape()
    session.handle("size", width=1600, height=600, here=len(session.page._tree.svg))
    assert tall < shape()


def test_titles_above_a_tree_fit_a_window_that_is_narrower_in_the_same_shape(session: Session) -> None:
    session.handle("size", width=3200, height=1800, here=len(session.page._tree.svg))
    tree, wide = session.page._tree.svg, session.page._tops.html
    session.handle("size", width=320, height=180, here=len(tree))
    assert session.page._tree.svg is tree
    assert len(session.page._tops.html) < len(wide)


def test_a_window_that_is_remembered_is_drawn_for_once(hierarchy: Hierarchy) -> None:
    session = Session(hierarchy, read_size("801x600"), picture="topics")
    first = session.page._tree.svg
    assert 'viewBox="0 0 800 600"' in first
    session.handle("size", width=801, height=600, here=len(first))
    assert session.page._tree.svg is first
    assert read_size("801x6e3") == read_size("-1x600") == read_size("") == {}


def test_what_got_lost_on_the_way_is_sent_again(session: Session) -> None:
    before = session.page._tree.svg, session.page._list.html
    session.handle("size", width=800, height=450, here=0)
    assert (session.page._tree.svg.strip(), session.page._list.html.strip()) == tuple(text.strip() for text in before)
    assert session.page._list.html != before[1]


def test_a_search_lists_topics_at_once_and_asks_for_documents(session: Session) -> None:
    session.handle("search", value="word2")
    assert "searching …" in session.page._list.html
    assert "ex-card" in session.page._list.html
    assert session.tasks


def test_a_search_is_part_of_the_address_and_begins_with_it(session: Session) -> None:
    session.handle("search", value="word2")
    assert session.view.search == "word2"
    session.view.search = ""
    assert "searching …" not in session.page._list.html
    session.view.search = "word3"
    assert 'value="word3"' in session.page._controls.html
    assert "searching …" in session.page._list.html


def test_a_word_shows_its_topics_and_passages_until_the_topic_is_chosen_again(session: Session) -> None:
    word = re.findall(r'data-do="word" data-value="([^"]+)"', session.page._detail.html)[0]
    before, tasks = session.page._detail.html, len(session.tasks)
    session.handle("word", value=word)
    assert "Topics of layer 1" in session.page._detail.html
    assert "searching …" in session.page._detail.html
    assert len(session.tasks) == tasks + 1
    session.page._receive_passages(WordPassages("another word", total=5))
    assert "searching …" in session.page._detail.html
    session.page._receive_passages(WordPassages(word, total=5))
    assert "searching …" not in session.page._detail.html
    session.handle("word", value="")
    assert session.page._detail.html == before
    session.handle("word", value="no such word")
    assert session.page._detail.html == before
    topic = session.roots()[0]
    session.handle("select", id=topic)
    session.handle("word", value=word)
    session.handle("select", id=topic)
    assert f'data-key="{topic}"' in session.page._detail.html


def test_opening_the_page_draws_the_tree_once(hierarchy: Hierarchy, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[Hierarchy] = []
    monkeypatch.setattr(ExplorePage, "_draw_tree", lambda _, shown: drawn.append(shown))
    Session(hierarchy)
    assert drawn == [hierarchy]


def test_hidden_topics_and_opened_chips_are_in_the_address(hierarchy: Hierarchy) -> None:
    session = Session(make_hierarchy((120, 6)), threshold=0.0)
    session.handle("more", layer=1)
    gone = sorted(session.shown() - set(session.roots()))[0]
    session.handle("hide", id=gone)
    again = Session(make_hierarchy((120, 6)), **from_query(to_query(session.view)))
    assert gone not in again.shown()
    assert again.shown() == session.shown()


def test_another_cut_of_the_graph_begins_with_few_topics_again(hierarchy: Hierarchy) -> None:
    session = Session(make_hierarchy((120, 6)), threshold=0.0)
    session.handle("more", layer=1)
    session.handle("direction", value="up")
    assert session.view.most == View().most


def test_the_class_in_the_address_is_shown_on_the_tree_and_can_be_changed() -> None:
    session = Session(hierarchy_with_classes(), threshold=0.5, label=2)
    assert session.page._tree.svg.count('class="tp-opinion"') == len(session.shown())
    assert '<option value="2" selected>' in session.page._controls.html
    session.handle("label", value="0")
    assert "tp-opinion" not in session.page._tree.svg
    session.handle("label", value="nonsense")
    assert session.view.label == 0


def test_the_lines_that_changed_with_the_newest_snapshot_are_counted_beneath_the_tree(hierarchy: Hierarchy) -> None:
    session = Session(hierarchy, threshold=1.5)
    assert "Lines since" not in session.page._foot.html
    session.page._take((7, 0), replace(make_hierarchy((40, 20, 8), seed=2), minibatch=800))
    assert "Lines since mini-batch 700" in session.page._foot.html
    session.view.snapshot = 3
    session.page._take((7, 3), hierarchy)
    assert "Lines since" not in session.page._foot.html


def test_words_go_by_relevance_until_probability_or_another_lambda_is_asked_for(hierarchy: Hierarchy) -> None:
    session, node = Session(hierarchy, threshold=1.5, layer=2, tab="layer-more"), hierarchy.at_rank(2, 1)
    relevant = [word.text for word in hierarchy.top_words(node, 12)]
    probable = [word.text for word in hierarchy.choose_words(1.0).top_words(node, 12)]
    assert relevant != probable
    session.handle("select", id=format_identity(node))

    def words(html: str) -> list[str]:
        return [unescape(text) for text in _WORD.findall(html)[:12]]

    assert words(session.page._detail.html) == relevant
    title = re.search(r'class="ex-name"[^>]*>([^<]*)<', session.page._detail.html)
    for value, expected in (("1", probable), ("0.1", relevant), ("0.9", None)):
        session.handle("relevance", value=value)
        shown = [word.text for word in hierarchy.choose_words(float(value)).top_words(node, 12)]
        assert words(session.page._detail.html) == shown == (expected or shown)
        assert f"<output>{float(value):.2f}</output>" in session.page._controls.html
    assert "relevance=0.9" in to_query(session.view)
    assert title
    assert title[0] in session.page._detail.html  # titles stay


@pytest.mark.parametrize("value", ["", "2", "-1", "nan", "much", "inf"])
def test_a_lambda_that_is_none_changes_nothing(session: Session, value: str) -> None:
    session.handle("relevance", value=value)
    assert "relevance" not in to_query(session.view)


def test_a_newer_snapshot_has_its_words_by_the_lambda_chosen(session: Session) -> None:
    session.handle("relevance", value="1")
    newer = replace(make_hierarchy((40, 20, 8), seed=2), snapshot=4, minibatch=800)
    session.feed.hierarchies[None] = newer
    session.ticks[0](Tick(snapshots=frozenset({7})))
    node = newer.nodes(3)[0]
    session.handle("select", id=format_identity(node))
    shown = [unescape(text) for text in _WORD.findall(session.page._detail.html)[:12]]
    assert shown == [word.text for word in newer.choose_words(1.0).top_words(node)]
    assert shown != [word.text for word in newer.top_words(node)]


def test_topics_of_columns_stand_beneath_the_tree_and_beneath_the_map_of_models_that_have_them(
    hierarchy: Hierarchy,
) -> None:
    """The page asks only whether the frame has them; here they are the topics of the rows once more."""
    own = Session(replace(hierarchy, columns=hierarchy.presentation), threshold=1.5)
    assert "<summary>Column topics</summary>" in own.page._foot.html
    own.handle("select", id=format_identity(hierarchy.nodes(1)[0]))
    assert "Column topics" in own.page._detail.html
    own.view.picture = "map"
    assert "<summary>Column topics</summary>" in own.page._foot.html
    bare = Session(hierarchy, threshold=1.5)
    assert "Column topics" not in bare.page._foot.html


def later(seed: int, minibatch: int) -> Hierarchy:
    """A snapshot of the same run whose topics have other popularities and children."""
    return replace(make_hierarchy((40, 20, 8), seed=seed), minibatch=minibatch)


def lowest(session: Session) -> str:
    """A topic of layer 1 that is drawn."""
    return min(each for each in session.shown() if each.startswith("L1:"))


@pytest.mark.parametrize("threshold", [1.5, None])
def test_a_selected_topic_stays_in_the_tree_at_every_snapshot_that_comes(threshold: float | None) -> None:
    session = Session(later(1, 100), threshold=threshold)
    chosen = lowest(session)
    session.handle("select", id=chosen)
    fell = 0
    for seed in range(2, 9):
        session.feed.hierarchies[None] = now = later(seed, 100 * seed)
        session.ticks[0](Tick(snapshots=frozenset({7})))
        assert chosen in session.shown()
        assert session.page._tree.selected == chosen
        assert f'data-key="{chosen}"' in session.page._detail.html
        plain = TreeChoice(choose_first_roots(now, session.page._choose_threshold()), session.page._choose_threshold())
        fell += parse_identity(chosen) not in cut_tree(now, plain)[0].nodes
    assert fell  # without being held it would not be drawn


def test_a_topic_that_was_not_in_the_picture_is_not_brought_into_it() -> None:
    session = Session(later(1, 100), threshold=1.5)
    absent = next(
        format_identity(node)
        for node in session.page._hierarchy.nodes(1)
        if format_identity(node) not in session.shown()
    )
    session.handle("select", id=absent)
    session.feed.hierarchies[None] = later(1, 200)
    session.ticks[0](Tick(snapshots=frozenset({7})))
    assert absent not in session.shown()


def test_another_cut_of_the_visitor_is_shown_as_it_was_asked_for() -> None:
    session = Session(later(1, 100), threshold=1.5)
    chosen = lowest(session)
    session.handle("select", id=chosen)
    session.feed.hierarchies[None] = later(4, 200)
    session.ticks[0](Tick(snapshots=frozenset({7})))
    assert chosen in session.shown()
    session.handle("threshold", value="1000")
    assert session.shown() == set(session.view.roots)


def test_in_a_layer_that_was_pruned_the_topic_is_followed_by_its_number() -> None:
    before, now = pruned()
    session = Session(before, threshold=1.5, direction="up", roots=("L2:12",))
    session.handle("select", id="L2:12")
    session.feed.hierarchies[None] = now
    assert now.place(Node(2, 11)) == before.place(Node(2, 11)) - 3
    session.ticks[0](Tick(snapshots=frozenset({7})))
    assert "L2:12" in session.shown()
    assert session.page._tree.selected == "L2:12"


def test_what_is_folded_stays_folded_and_a_topic_that_is_gone_is_not_held():
    hierarchy = make_hierarchy((40, 20, 8))
    root = hierarchy.at_rank(3, 1)
    choice = TreeChoice((root,), 1.5)
    child = next(node for node in cut_tree(hierarchy, choice)[0].nodes if node.layer == 1)
    folded = choice._replace(closed=frozenset({root}))
    shown = keep_topic(hierarchy, folded, child)
    assert (shown.closed, child in cut_tree(hierarchy, shown)[0].nodes) == (folded.closed, True)
    held = KeptTopic()
    held.hold(Node(1, 999))
    assert held.choice(hierarchy, choice) is choice
