"""Topics of images are shown as pictures wherever words stand for other topics."""

import re
from dataclasses import replace

import pytest
from topic_hierarchies import make_hierarchy

from topiary.app.analysis.comparison import Comparison, compare, find_edge_changes
from topiary.app.analysis.hierarchy import Hierarchy, format_identity, parse_identity
from topiary.app.views.compare.summary import summarise_changes
from topiary.app.views.compare.table import PairListing, draw_edge_legend, draw_pair_table
from topiary.app.views.compare.trees import choose_first_cut, draw_compare_picture, draw_trees
from topiary.app.views.explore.controls import draw_share_bar
from topiary.app.views.runs.kpis import CARDS, draw_preview


@pytest.fixture
def hierarchy() -> Hierarchy:
    return make_hierarchy((9, 3), n_words=20, image_shape=(4, 5))


@pytest.fixture
def comparison(hierarchy: Hierarchy) -> Comparison:
    return compare(hierarchy, replace(make_hierarchy((9, 3), n_words=20, seed=2, image_shape=(4, 5)), run=8))


def test_cards_of_popular_topics_are_pictures_and_not_pixels_by_name(hierarchy: Hierarchy) -> None:
    html = draw_preview(hierarchy, 1)
    assert html.count('<img class="tp-topic-picture" src="data:image/png') == CARDS
    assert not any(word in html for word in hierarchy.vocabulary[10:])
    assert "<img" not in draw_preview(make_hierarchy((9, 3), n_words=20), 1)


def test_roots_are_small_pictures_until_they_have_a_name(hierarchy: Hierarchy) -> None:
    root = hierarchy.nodes(2)[0]
    assert draw_share_bar(hierarchy, 2, (root,), 900.0).count("<img") == 3
    html = draw_share_bar(replace(hierarchy, labels={root: "the round ones"}), 2, (root,), 900.0)
    assert html.count("<img") == 2
    assert ">the round ones</button>" in html


def test_a_comparison_of_images_speaks_of_no_words(comparison: Comparison) -> None:
    changes = find_edge_changes(comparison, 1.0)
    table = draw_pair_table(comparison, PairListing("change", 0, None, 40))
    shown = [
        table,
        draw_edge_legend(changes, changes, words=False),
        summarise_changes(comparison, changes),
        draw_compare_picture(comparison, changes, choose_first_cut(comparison, 1.0, 40)).svg,
    ]
    for html in shown:
        assert "entered" not in html
    assert table.count("<th ") == 6
    assert {row.count("<td") for row in table.split("<tr ")[1:] if "<td" in row} == {6}
    assert table.count("<img") == sum(side is not None for pair in comparison.pairs for side in (pair.a, pair.b))


def test_the_pictures_of_a_topic_and_its_partner_have_one_size(hierarchy: Hierarchy) -> None:
    turned = tuple(weights[::-1] for weights in hierarchy.popularity)  # popular here is rare there: other sizes
    comparison = compare(hierarchy, replace(hierarchy, run=8, popularity=turned))
    cut = choose_first_cut(comparison, 0.1, 40)
    trees = draw_trees(comparison, find_edge_changes(comparison, 0.1), cut)
    sizes: list[dict[str, tuple[str, ...]]] = []
    for svg in (trees.a, trees.b):
        found = re.findall(r'data-id="([^"]+)" role.*?<image href="[^"]+" x="[^"]+" y="([^"]+)" width="([^"]+)"', svg)
        sizes.append({key: tuple(size) for key, *size in found})
    partners = [(a, b) for a in sizes[0] if (b := comparison.partner("a", parse_identity(a))) is not None]
    assert partners
    for a, b in partners:
        assert sizes[0][a] == sizes[1][format_identity(b)]
    assert len({size for each in sizes for size in each.values()}) > 1


def test_a_comparison_of_words_has_a_cell_for_every_head() -> None:
    pair = compare(make_hierarchy((9, 3)), replace(make_hierarchy((9, 3), seed=2), run=8))
    table = draw_pair_table(pair, PairListing("change", 0, None, 40))
    assert table.count("<th ") == 8
    assert {row.count("<td") for row in table.split("<tr ")[1:] if "<td" in row} == {8}
