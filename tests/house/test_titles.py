"""Whatever a topic is called, its title is whole or cut at its end, and whole on hover: no word within is left out.

Every picture, list and table of a page is looked through for text that stands for a topic.
"""

import re
from html import unescape

import pytest
from topic_hierarchies import make_hierarchy

from topiary.app.analysis.comparison import compare, find_edge_changes
from topiary.app.analysis.hierarchy import Hierarchy, format_identity
from topiary.app.views.compare.head import draw_pair, draw_strip
from topiary.app.views.compare.table import PairListing, draw_pair_table, list_edge_changes
from topiary.app.views.compare.trees import choose_first_cut, draw_trees
from topiary.app.views.explore.cards import SearchResult, TopicMarks, draw_topic_list
from topiary.app.views.explore.controls import draw_map_legend, draw_rows, draw_share_bar, list_top_rows
from topiary.app.views.explore.detail import PanelState, draw_topic
from topiary.app.views.markup import draw_options, draw_title
from topiary.app.views.runs.kpis import draw_preview
from topiary.app.views.text import LONGEST_TITLE, fit_lines, measure_text, shorten, shorten_words
from topiary.app.views.tree.boxes import make_boxes
from topiary.app.views.tree.map_svg import MapChoice, draw_map, list_lines
from topiary.app.views.tree.picture import TreeChoice, draw_tree

NAMES = (
    "Takeovers & mining",
    "&",
    "Money market operations of the Bank of England, daily and weekly, 1987 to 1989",
    "Donaudampfschifffahrtsgesellschaftskapitän and others",
    "<b>bold</b> “quotes” 'and' \"more\"",
    "👩‍👩‍👧‍👦 families 👍🏽 and 🇩🇪 flags, with words enough to be cut somewhere in between",
    "政府与企业的关系研究报告以及其他许多没有空格的文字和更多更多的文字和更多更多的文字",
    "कृषि और किसान आन्दोलन की समस्याएँ और सरकार की नीतियाँ एवं योजनाएँ",
    "العربية من اليمين إلى اليسار",
    "a, b, c…",
)


def is_shown(text: str, title: str) -> bool:
    """Return whether a text is a title, or its beginning with an ellipsis."""
    return text == title or (text.endswith("…") and len(text) > 1 and title.startswith(text[:-1]))


@pytest.fixture(scope="module")
def hierarchy() -> Hierarchy:
    """Topics of which half have names, among them all of the top layer."""
    names = {(layer, topic): name for layer in (1, 2, 3) for topic, name in enumerate(NAMES, start=1)}
    return make_hierarchy((20, 12, 6), labels={key: name for key, name in names.items() if key != (3, 7)})


def list_titles(hierarchy: Hierarchy) -> dict[str, str]:
    every = [node for layer in (1, 2, 3) for node in hierarchy.nodes(layer)]
    return {format_identity(node): hierarchy.title(node) for node in every}


@pytest.mark.parametrize("name", NAMES)
def test_a_text_without_room_is_cut_at_its_end(name: str) -> None:
    for width in (0.5, 2.0, 4.0, 9.0, 100.0):
        for n_lines in (0, 1, 2, 3, 9):
            lines = fit_lines(name, width, n_lines)
            assert len(lines) <= n_lines
            assert all(measure_text(line) <= width for line in lines)
            assert not lines or is_shown(" ".join(lines), name)
    assert fit_lines(name, 100.0, 1) == [name]
    for most in (2, 9, LONGEST_TITLE):
        assert is_shown(shorten(name, most), name) or shorten(name, most) == "…"
        assert is_shown(shorten_words(name, most), name) or shorten_words(name, most) == "…"
    ways = [" ".join(way) for way in list_lines(name.split(maxsplit=2))]
    assert ways[-1] == name
    assert all(is_shown(way, name) for way in ways)


def test_accents_and_joined_emoji_are_not_cut_in_two() -> None:
    assert shorten("ab👍🏽cdef", 4) == "ab…"
    assert shorten("ab👩‍👧cdef", 5) == "ab…"
    assert shorten("noe\u0308l and more", 4) == "no…"


def test_boxes_and_labels_show_titles_from_their_beginning_at_every_zoom(hierarchy: Hierarchy) -> None:
    titles = list_titles(hierarchy)
    nodes = [node for layer in (1, 2, 3) for node in hierarchy.nodes(layer)]
    for n_lines in (1, 2):
        for node, box in make_boxes(hierarchy, nodes, hierarchy.edges(1.0), n_lines=n_lines).items():
            for lines in (box.title, *(gist.title for gist in box.gists)):
                assert is_shown(" ".join(lines), titles[format_identity(node)])
    svg = draw_map(hierarchy, MapChoice(light=True)).svg
    circles = re.findall(
        r'class="tp-node" data-id="(.*?)".*?data-tip="(.*?)&#10;.*?(?=class="tp-node"|$)', svg, re.DOTALL
    )
    assert {key: unescape(tip) for key, tip in circles} == {
        key: title for key, title in titles.items() if key.startswith("L1:")
    }
    texts = re.findall(r'data-id="(L1:\d+)"((?:(?!class="tp-node").)*)', svg)
    labels = [(key, unescape(" ".join(re.findall(r"<tspan[^>]*>(.*?)</tspan>", each))))
              for key, inside in texts for each in re.findall(r'<text class="tp-halo.*?</text>', inside)]  # fmt: skip
    assert len(labels) > 20
    assert [each for each in labels if not is_shown(each[1], titles[each[0]])] == []


def test_every_part_of_a_page_has_the_whole_title_where_it_shows_a_part(hierarchy: Hierarchy) -> None:
    titles, other = list_titles(hierarchy), make_hierarchy((20, 12, 6), seed=2, labels={(3, 1): NAMES[2]})
    comparison = compare(hierarchy, other)
    changes, roots = find_edge_changes(comparison, 1.0), tuple(hierarchy.nodes(3))
    trees = draw_trees(comparison, changes, choose_first_cut(comparison, 1.0, 40))
    for svg in (draw_tree(hierarchy, TreeChoice(roots, 0.0)).svg, trees.a):
        tips = dict(re.findall(r'data-id="(L[^"]+)"[^>]*data-tip="(.*?)&#10;', svg))
        assert {key: unescape(tip) for key, tip in tips.items()} == {key: titles[key] for key in tips}
        assert len(tips) > 5
    pieces = {
        "cards": "".join(
            draw_topic_list(hierarchy, layer, TopicMarks(light=True), SearchResult("")) for layer in (1, 2, 3)
        ),
        "bar": draw_share_bar(hierarchy, 3, (), 400.0),
        "rows": draw_rows(hierarchy, list_top_rows(hierarchy), None),
        "details": "".join(draw_topic(hierarchy, root, 0.0, [], PanelState(root=True)) for root in roots),
        "map": draw_map_legend(hierarchy, draw_map(hierarchy, MapChoice())),
        "watch": draw_preview(hierarchy, 3),
        "table": draw_pair_table(comparison, PairListing("change", 0, None, 99)),
        "edges": list_edge_changes(comparison, changes),
        "strip": draw_strip(comparison, 0),
        "pair": "".join(draw_pair(comparison, pair, one_run=False) for pair in comparison.pairs),
    }
    every = {*titles.values(), *list_titles(other).values()}
    for place, html in pieces.items():
        hovers = {unescape(tip).split("\n")[0] for tip in re.findall(r'(?:title|data-tip)="(.*?)"', html)}
        named = {title for title in every if any(title in hover for hover in hovers)}
        texts = {unescape(text).strip() for text in re.findall(r">([^<>]+)<", html)}
        cut = {text.split("alike · ")[-1] for text in texts if text.endswith("…")}
        cut -= {text for text in cut if any(word.startswith(text[:-1]) for word in hierarchy.vocabulary)}
        beginnings = {text for text in cut - every if any(is_shown(text, title) for title in every)}
        wrong = {text for text in beginnings if not any(is_shown(text, title) for title in named)}
        assert wrong == set(), place
        assert len(named) + len(every & texts) > 2, place


def test_a_choice_and_a_title_are_whole_on_hover() -> None:
    long = NAMES[2]
    assert f'title="{long}"' in draw_title(long)
    assert f'title="3 · {long}"' in draw_options([(1, f"3 · {long}")])
    assert "title=" not in draw_options([(1, "short")])
