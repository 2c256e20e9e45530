"""Boxes have one style at each zoom level: letters grow with the share alone, and words are whole."""

import itertools
from dataclasses import replace

import pytest
from topic_hierarchies import make_hierarchy

from topiary.app.views.text import BOLD, measure_text
from topiary.app.views.tree.boxes import GIST_HEAD, GIST_LEADING, PADDING, make_boxes


def test_letters_grow_with_the_share_of_a_topic_and_never_because_its_box_is_small():
    hierarchy = make_hierarchy((40, 20, 8))
    for layer in (1, 2, 3):
        boxes = list(make_boxes(hierarchy, hierarchy.nodes(layer)).values())
        assert len({box.width for box in boxes}) > 1
        for larger, smaller in itertools.pairwise(boxes):
            assert larger.font >= smaller.font
            for one, other in zip(larger.gists, smaller.gists, strict=True):
                assert one.font >= other.font
                assert one.head == other.head


def test_all_that_a_box_shows_at_any_zoom_fits_into_it():
    hierarchy = make_hierarchy((40, 20, 8), labels={(2, 3): "The longest name that anybody gives"})
    for box in make_boxes(hierarchy, [node for layer in (1, 2, 3) for node in hierarchy.nodes(layer)]).values():
        shown = [(box.font, box.lines, 1.0), (box.font, box.title, BOLD)]
        for gist in box.gists:
            shown += [(gist.font, gist.lines, 1.0), (gist.font, gist.title, BOLD)]
            n_lines = len(gist.title) + len(gist.lines)
            assert GIST_HEAD * gist.head + n_lines * GIST_LEADING * gist.font <= box.height
        for size, lines, bold in shown:
            assert all(bold * size * measure_text(line) <= box.width - 2 * PADDING + 1e-6 for line in lines)


@pytest.fixture
def words() -> list[str]:
    """Words of 3 to 19 letters."""
    return ["abcdefghijklmnopqrs"[: 3 + number % 17] + str(number) for number in range(400)]


def test_a_box_shows_no_other_word_beside_a_cut_title(words):
    hierarchy = replace(make_hierarchy((40, 20, 8), n_words=400), vocabulary=tuple(words))
    n_cut, counts = 0, []
    for box in make_boxes(hierarchy, [node for layer in (1, 2, 3) for node in hierarchy.nodes(layer)]).values():
        whole = {word.text for word in hierarchy.top_words(box.node)}
        for gist in box.gists:
            title = " ".join(gist.title)
            n_cut += title not in ("", " ".join(box.title))
            assert not gist.lines or title == " ".join(box.title)
            assert whole.issuperset(" ".join(gist.lines).split())
        counts.append([len(" ".join((*gist.title, *gist.lines)).split()) for gist in box.gists])
    assert n_cut > 0
    assert all(sorted(count, reverse=True) == count for count in counts)  # the larger the letters, the fewer words
    assert max(count[0] for count in counts) > 4


def test_at_no_zoom_a_topic_adds_words_to_its_title_that_a_parent_shows():
    hierarchy = make_hierarchy((40, 20, 8), n_words=400)
    nodes = [node for layer in (1, 2, 3) for node in hierarchy.nodes(layer)]
    edges = hierarchy.heaviest_edges(0.7, 2, 6)
    boxes = make_boxes(hierarchy, nodes, edges)
    assert len(edges) > 50
    for edge in edges:
        above, below = boxes[edge.above], boxes[edge.below]
        for one, other in zip(above.gists, below.gists, strict=True):
            shown = {word.rstrip(",") for word in " ".join((*one.title, *one.lines)).split()}
            assert not shown & set(" ".join(other.lines).split())


def test_a_topic_and_its_parent_have_different_titles():
    hierarchy = make_hierarchy((40, 20, 8), n_words=400)
    boxes = make_boxes(hierarchy, [node for layer in (1, 2, 3) for node in hierarchy.nodes(layer)])
    for node in boxes:
        for parent in hierarchy.parents(node, 1):
            assert set(boxes[parent.node].title) != set(boxes[node].title)
