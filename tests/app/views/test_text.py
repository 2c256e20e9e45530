"""A topic has one title everywhere, and every number says what it is and from which snapshot."""

import csv
import io
import json
import re
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
from numbers_traced import untraced
from topic_hierarchies import arrays, make_hierarchy
from topic_pairs import WIDTHS, changed, frame_of, opinionated, permuted

from topiary.app.analysis.comparison import Comparison, compare, find_edge_changes, measure_agreement
from topiary.app.analysis.hierarchy import Hierarchy, format_identity
from topiary.app.export import comparison as files
from topiary.app.export import topics, trees
from topiary.app.export.comparison import write_summary
from topiary.app.views.compare import head as compare_pair
from topiary.app.views.compare import summary
from topiary.app.views.compare import table as compare_table
from topiary.app.views.compare.head import draw_strip
from topiary.app.views.compare.labels import LabelAccuracy, draw_labels
from topiary.app.views.compare.summary import summarise_changes
from topiary.app.views.documents.placed_document import PlacedDocument, TextReading, draw_placed_document
from topiary.app.views.explore.cards import FoundDocument, SearchResult, TopicMarks, draw_topic_list, find_topics
from topiary.app.views.explore.controls import draw_share_bar
from topiary.app.views.explore.detail import PanelState, draw_topic
from topiary.app.views.explore.detail import TopicDocument as DocumentReading
from topiary.app.views.runs.kpis import draw_preview
from topiary.app.views.text import describe_origin, write_title
from topiary.app.views.theme import declare_hue
from topiary.app.views.tree.boxes import make_boxes
from topiary.app.views.tree.picture import TreeChoice, draw_tree
from topiary.engine.hierarchy import paths
from topiary.engine.hierarchy.tree import Node

NAMED = Node(2, 3)
WORDS = tuple(f"word{number}" for number in range(60))


@pytest.fixture(scope="module")
def hierarchy() -> Hierarchy:
    return frame_of(arrays(WIDTHS), 7, WORDS, labels={(2, 4): "Belief"})


@pytest.fixture(scope="module")
def comparison(hierarchy: Hierarchy) -> Comparison:
    return compare(hierarchy, frame_of(permuted(arrays(WIDTHS))[0], 8, WORDS))


@pytest.fixture(scope="module")
def titles(hierarchy: Hierarchy) -> dict[str, str]:
    """Title by identity; most are not simply the three heaviest words."""
    every = [node for layer in (1, 2, 3) for node in hierarchy.nodes(layer)]
    probable = hierarchy.choose_words(1.0)
    heaviest = {format_identity(node): ", ".join(word.text for word in probable.top_words(node, 3)) for node in every}
    found = {format_identity(node): hierarchy.title(node) for node in every}
    assert found[format_identity(NAMED)] == "Belief"
    assert sum(found[key] != heaviest[key] for key in found) > 30
    return found


def is_shown(text: str, title: str) -> bool:
    """Return whether a text is a title, or its beginning with an ellipsis."""
    return text == title or (text.endswith("…") and len(text) > 1 and title.startswith(text[:-1]))


def test_a_card_leads_with_the_title_and_goes_on_with_the_first_words(
    hierarchy: Hierarchy, titles: dict[str, str]
) -> None:
    for layer in (1, 2, 3):
        html = draw_topic_list(hierarchy, layer, TopicMarks(light=True), SearchResult(""))
        cards = re.findall(r'data-key="(L[^"]+)".*?<strong>(.*?)</strong> (.*?)</span>', html)
        assert [key for key, _, _ in cards] == [format_identity(node) for node in hierarchy.nodes(layer)]
        for node, (key, lead, rest) in zip(hierarchy.nodes(layer), cards, strict=True):
            assert lead == titles[key]
            words = [word.text for word in hierarchy.top_words(node, 12)]
            others = [word for word in words if word not in lead.split(", ")]
            expected = others[:7]
            assert rest.split() == expected


def test_the_cards_of_the_watch_page_have_the_colour_of_their_layer(hierarchy: Hierarchy) -> None:
    assert len({declare_hue(layer) for layer in (1, 2, 3)}) == 3
    for layer in (1, 2, 3):
        assert f'<div class="tp-topics" data-rove style="{declare_hue(layer)}">' in draw_preview(hierarchy, layer)


def test_the_cards_of_the_watch_page_lead_with_the_title(hierarchy: Hierarchy, titles: dict[str, str]) -> None:
    html = draw_preview(hierarchy, 3)
    cards = re.findall(r'data-key="(L[^"]+)".*?<strong>(.*?)</strong> (.*?)</span>', html)
    assert len(cards) == 6
    for key, lead, rest in cards:
        assert lead == titles[key]
        assert len({*lead.split(", "), *rest.split()}) == 10
    named = re.search(r'data-key="L2:4".*?<strong>(.*?)</strong>', draw_preview(hierarchy, 2))
    assert named
    assert named[1] == "Belief"


def test_the_cards_begin_with_what_some_documents_are_about_and_not_with_the_background() -> None:
    hierarchy = make_hierarchy((10, 4), n_words=200)
    first, second = hierarchy.nodes(1)[:2]
    spread = (np.full(10, 0.05, np.float32), np.full(4, 0.05, np.float32))
    spread[0][first.column] = 0.9
    keys = re.findall(r'data-key="([^"]*)"', draw_preview(replace(hierarchy, spread=spread), 1))
    assert keys[0] == format_identity(second)
    assert format_identity(first) not in keys
    assert re.findall(r'data-key="([^"]*)"', draw_preview(hierarchy, 1))[0] == format_identity(first)


def test_the_tree_says_the_title_from_afar_and_in_the_tooltip(hierarchy: Hierarchy, titles: dict[str, str]) -> None:
    for node, box in make_boxes(hierarchy, [node for layer in (1, 2, 3) for node in hierarchy.nodes(layer)]).items():
        assert all(is_shown(" ".join(gist.title), titles[format_identity(node)]) for gist in box.gists)
        assert " ".join(box.title) == titles[format_identity(node)]
        words = " ".join((*(() if hierarchy.name(node) else box.title), *box.lines)).replace(",", "").split()
        assert sorted(words) == sorted(word.text for word in hierarchy.top_words(node, 12))
    svg = draw_tree(hierarchy, TreeChoice(tuple(hierarchy.nodes(3)), 0.0)).svg
    tips = dict(re.findall(r'data-id="(L[^"]+)"[^>]*data-tip="([^&]*)&#10;', svg))
    assert len(tips) > 20
    assert tips == {key: titles[key] for key in tips}


def test_roots_the_chosen_topic_and_its_relatives_are_called_by_their_titles(
    hierarchy: Hierarchy, titles: dict[str, str]
) -> None:
    root = hierarchy.nodes(3)[0]
    assert f">{titles[format_identity(root)]}</button>" in draw_share_bar(hierarchy, 3, (root,), 4000.0)
    html = draw_topic(hierarchy, root, 0.0, [], PanelState(root=True))
    assert f">{titles[format_identity(root)]}</h2>" in html
    relatives = re.findall(r'data-do="select" data-id="(L[^"]+)" title="[^"]*">([^<]*)</button>', html)
    assert len(relatives) > 2
    assert relatives == [(key, titles[key]) for key, _ in relatives]


def test_a_placed_document_calls_topics_by_their_titles(hierarchy: Hierarchy, titles: dict[str, str]) -> None:
    theta = tuple(np.random.default_rng(2).gamma(0.5, 2.0, width) for width in hierarchy.widths)
    found = PlacedDocument(
        title="", text="", document=-1, label="", reading=TextReading(4, 4, 0, (), own=True),
        words=np.array([3], np.int32),
        counts=np.array([4.0]), spots=[], theta=theta, shares=tuple(map(paths.normalise_shares, theta)),
        rates=None, classes=[],
        paths=paths.find_best_paths(hierarchy.phi, theta, 5),
    )  # fmt: skip
    html = draw_placed_document(hierarchy, found, (), {})
    rows = [row for row in html.split("<li ") if "Explore this topic" in row]
    listed = [re.findall(r'<span class="dc-name"[^>]*>([^<]*)<.*data-id="(L[^"]+)"', row)[0] for row in rows]
    assert len(listed) > 5
    assert all(name == titles[key] for name, key in listed)
    chip = r'class="dc-chip"[^>]*title="Topic (L\d+:\d+) [^>]*><b>\1</b><span class="dc-name"[^>]*>([^<]*)<'
    chips = re.findall(chip, html)
    assert len(chips) > 5
    assert all(name == titles[key] for key, name in chips)


def test_the_compare_page_calls_topics_of_both_sides_by_their_titles(
    comparison: Comparison, titles: dict[str, str]
) -> None:
    html = compare_table.draw_pair_table(comparison, compare_table.PairListing("change", 0, None, 99))
    rows = re.findall(r'data-side="(.)" data-id="(L[^"]+)"[^>]*title="([^"]*)">.*?<span><span[^>]*>([^<]*)', html)
    assert len(rows) == 2 * sum(WIDTHS)
    for side, key, hint, shown in rows:
        hierarchy = comparison.hierarchy(side)
        node = next(node for node in hierarchy.nodes(int(key[1])) if format_identity(node) == key)
        assert hint == shown.strip() == hierarchy.title(node)
        assert side == "b" or shown.strip() == titles[key]
    for pair in comparison.pairs:
        detail = compare_pair.draw_pair(comparison, pair, one_run=False)
        leads = re.findall(r"<p><strong>(.*?)</strong></p>", detail)
        assert leads == [comparison.a.title(pair.a), comparison.b.title(pair.b)]
        key = format_identity(pair.a)
        assert re.search(rf'value="{key}" selected>{key} · [^%]+% alike · {titles[key]}<', detail)


def test_the_edges_as_text_call_both_ends_by_their_titles(hierarchy: Hierarchy) -> None:
    changed = compare(hierarchy, frame_of(arrays(WIDTHS, seed=2), 8, WORDS))
    html = compare_table.list_edge_changes(changed, find_edge_changes(changed, 1.0))
    ends = re.findall(r'data-side="(.)" data-id="[^"]+">(L\S+) (.*?) › (L\S+) (.*?)</button>', html)
    assert len(ends) > 5
    for side, *report in ends:
        shown = changed.hierarchy(side)
        for identity, title in (report[:2], report[2:]):
            assert re.sub("<[^>]*>", "", title) == shown.title(shown.find_topic(identity))


def test_files_and_commands_call_topics_by_their_titles(
    hierarchy: Hierarchy, comparison: Comparison, titles: dict[str, str], tmp_path
) -> None:
    table = topics.list_topics(hierarchy)
    assert {row["topic"]: row["title"] for row in table} == titles
    rows = csv.DictReader(io.StringIO(topics.render_topics(table, "csv")))
    assert {row["topic"]: row["title"] for row in rows} == titles
    roots = hierarchy.nodes(3)
    read = nx.read_graphml(trees.write_tree(hierarchy, roots, 0.0, "down", tmp_path / "tree.graphml", light=True))
    assert {key: data["title"] for key, data in read.nodes(data=True)} == titles
    path = trees.write_tree(hierarchy, roots, 0.0, "down", tmp_path / "tree.json", light=True)
    written = json.loads(path.read_text(encoding="utf-8"))
    assert {node["id"]: node["title"] for node in written["nodes"]} == titles
    report = files.list_pairs(comparison)
    assert {row["a"]["topic"]: row["a"]["title"] for row in report} == titles
    flat = csv.DictReader(io.StringIO(files.render_pairs(comparison)))
    assert {row["topic_a"]: row["title_a"] for row in flat} == titles
    said = write_summary(comparison, 1.0, 99)
    for pair in comparison.pairs:
        assert f"  {comparison.a.cite(pair.a)} -> {comparison.b.cite(pair.b)}" in said


def test_a_search_finds_a_topic_by_each_word_of_its_title_and_by_the_whole_of_it(
    hierarchy: Hierarchy, titles: dict[str, str]
) -> None:
    for layer in (1, 2, 3):
        for node in hierarchy.nodes(layer):
            for word in hierarchy.title_words(node):
                assert node in {match.node for match in find_topics(hierarchy, word, 999)}
            title = titles[format_identity(node)]
            for text in (title.upper(), title[:-1]):
                found = find_topics(hierarchy, text)
                assert node in {match.node for match in found}
                assert all(match.word == hierarchy.title(match.node) for match in found)
    title = titles["L3:1"]
    note = "by its title"
    assert note in draw_topic_list(hierarchy, 1, TopicMarks(), SearchResult(title, find_topics(hierarchy, title)))
    assert note not in draw_topic_list(
        hierarchy, 1, TopicMarks(), SearchResult("Belief", find_topics(hierarchy, "Belief"))
    )


HIERARCHY = make_hierarchy()
COMPARISON = changed()
CHANGES = find_edge_changes(COMPARISON, 1.0)
SOURCE = "Run 7, snapshot of mini-batch 700."


def chosen_pair():
    return next(each for each in COMPARISON.pairs if each.paired and each.layer == 1)


def found():
    documents = [FoundDocument(3, "a title", "some words")]
    return SearchResult("word1", find_topics(HIERARCHY, "word1"), documents, 9)


PIECES = {
    "cards of Watch": lambda: draw_preview(HIERARCHY, 1),
    "list of Explore": lambda: draw_topic_list(HIERARCHY, 2, TopicMarks(HIERARCHY.at_rank(2, 1)), SearchResult("")),
    "search of Explore": lambda: draw_topic_list(HIERARCHY, 2, TopicMarks(), found()),
    "details of a topic": lambda: draw_topic(
        HIERARCHY, HIERARCHY.at_rank(2, 1), 1.0, [DocumentReading("a", "b", "", 0.25, 3)], PanelState(root=True)
    ),
    "numbers of Compare": lambda: summary.draw_agreement(measure_agreement(COMPARISON, CHANGES), None),
    "largest topics of Compare": lambda: draw_strip(COMPARISON, 0),
    "classes of Compare": lambda: draw_labels(opinionated((), ("x", "y")), (None, LabelAccuracy(0.9, "test")), None, 1),
    "sentence of Compare": lambda: summary.draw_verdict(summary.SeedVerdict()) + summarise_changes(COMPARISON, CHANGES),
    "table of Compare": lambda: compare_table.draw_pair_table(
        COMPARISON, compare_table.PairListing("change", 0, None, 99)
    ),
    "pair of Compare": lambda: compare_pair.draw_pair(COMPARISON, chosen_pair(), one_run=False),
}


@pytest.mark.parametrize("name", PIECES)
def test_every_number_says_what_it_is(name):
    seen, silent = untraced(PIECES[name]())
    assert seen > 0 or "sentence" in name
    assert silent == []


@pytest.mark.parametrize("name", ["cards of Watch", "list of Explore", "details of a topic"])
def test_numbers_of_a_snapshot_name_it(name):
    assert SOURCE in PIECES[name]()
    later = replace(HIERARCHY, minibatch=900)
    assert "snapshot of mini-batch 900" in draw_preview(later, 1)


def test_what_is_said_is_text():
    assert write_title('5 < 6 "x"') == ' title="5 &lt; 6 &#34;x&#34;."'
    assert describe_origin("A share") == "A share."
