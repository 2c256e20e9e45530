"""Boxes have one style at each zoom level: letters grow with the share alone, and words that do not fit are cut."""

import itertools

import pytest
from topic_hierarchies import make_hierarchy

from app.views.text import BOLD, measure_text
from app.views.tree.boxes import cut_legible, make_boxes


@pytest.mark.parametrize(
    ("word", "cut"), [("key", "key"), ("apple", "apple"), ("encryption", "encr…"), ("a", "a"), ("", "")]
)
def test_a_word_is_cut_until_it_can_be_read_from_afar(word, cut):
    assert cut_legible(word, lambda line: 120 / max(len(line), 1)) == cut


def test_of_a_word_that_never_can_the_first_letters_stay():
    assert cut_legible("extraordinary", lambda _: 1.0) == "ext…"


def test_letters_grow_with_the_share_of_a_topic_and_never_because_its_box_is_small():
    hierarchy = make_hierarchy((40, 20, 8))
    for layer in (1, 2, 3):
        boxes = list(make_boxes(hierarchy, hierarchy.nodes(layer)).values())
        assert len({box.width for box in boxes}) > 1
        for larger, smaller in itertools.pairwise(boxes):
            for size in ("font", "gist_font", "lead_font"):
                assert getattr(larger, size) >= getattr(smaller, size)


def test_all_that_a_box_shows_at_any_zoom_fits_into_it():
    hierarchy = make_hierarchy((40, 20, 8), labels={(2, 3): "The longest name that anybody gives"})
    for box in make_boxes(hierarchy, [node for layer in (1, 2, 3) for node in hierarchy.nodes(layer)]).values():
        shown = [(box.font, box.lines, 1.0), (box.font, box.title, BOLD), (box.gist_font, box.gist, BOLD)]
        for size, lines, bold in shown:
            assert all(bold * size * measure_text(line) <= box.width - 10 for line in lines)
        assert box.gist_font * 1.15 * len(box.gist) <= box.height - 15


def test_a_topic_and_its_parent_do_not_read_the_same():
    hierarchy = make_hierarchy((40, 20, 8), n_words=400)
    boxes = make_boxes(hierarchy, [node for layer in (1, 2, 3) for node in hierarchy.nodes(layer)])
    for node in boxes:
        for parent in hierarchy.parents(node, 1):
            assert set(boxes[parent.node].gist) != set(boxes[node].gist)
            assert set(boxes[parent.node].title) != set(boxes[node].title)
