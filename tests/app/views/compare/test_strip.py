"""The largest topics of both runs above each other."""

import re
from dataclasses import replace

import numpy as np
from topic_hierarchies import NASTY, arrays, make_hierarchy
from topic_pairs import WIDTHS, changed, frame_of, opinionated, reword, same

from topiary.app.analysis.comparison import compare
from topiary.app.analysis.hierarchy import format_identity
from topiary.app.views.compare.pair import draw_pair
from topiary.app.views.compare.strip import TOPICS, choose_largest, draw_strip
from topiary.app.views.compare.trees import find_overlay


def list_cells(page):
    """Return the halves of the cards: those of A, and those of B."""
    halves = [re.findall(r'<span class="cm-half".*?(?=<span class="cm-alike"|</button>)', card)
              for card in re.findall(r"<li>.*?</li>", page)]  # fmt: skip
    return [list(each) for each in zip(*halves, strict=True)]


def test_the_largest_of_a_stand_above_their_nearest_partners():
    comparison = changed()
    pairs = choose_largest(comparison)
    assert [pair.a for pair in pairs] == comparison.a.nodes(1)[:TOPICS]
    page = draw_strip(comparison, 0)
    for pair, below in zip(pairs, list_cells(page)[1], strict=True):
        text = f"{100 * pair.score:.0f}% alike" if pair.paired else "no partner"
        assert (format_identity(pair.b) if pair.b else "no partner") in below
        assert text in page
    assert "became" not in page
    assert re.search(r"layer 1 · (all \d+|\d+ of \d+) are paired, half of them under \d+% alike", page)


def test_runs_with_the_same_topics_have_no_mark():
    page = draw_strip(same()[0], 0)
    assert [len(row) for row in list_cells(page)] == [TOPICS, TOPICS]
    assert page.count("<ins>") == page.count("<del>") == 1  # of the legend


def test_topics_that_were_edited_have_a_mark_that_says_how_on_their_side_alone():
    comparison = same()[0]
    largest = choose_largest(comparison)[0]
    edited = replace(comparison, b=replace(comparison.b, edited={largest.b: "keep <i>; pin"}))
    above, below = list_cells(draw_strip(edited, 0))
    assert "✎" not in "".join([*above, *below[1:]])
    assert 'title="Edited by hand: keep &lt;i&gt;; pin"' in below[0]
    assert "✎" in draw_pair(edited, largest, one_run=False)


def test_words_that_differ_are_marked_on_their_side_alone():
    comparison = reword()
    above, below = list_cells(draw_strip(comparison, 0))
    marked = 0
    for pair, first, second in zip(choose_largest(comparison), above, below, strict=True):
        change = comparison.words(pair)
        assert set(re.findall("<del>(.*?)</del>", first)) <= set(change.left)
        assert set(re.findall("<ins>(.*?)</ins>", second)) <= set(change.entered)
        assert "<ins>" not in first
        assert "<del>" not in second
        marked += len(re.findall("<ins>", second))
    assert marked


def test_topics_are_tinted_by_the_class_on_the_side_that_has_it():
    comparison = opinionated((), ("space", "sport"))
    above, below = list_cells(draw_strip(comparison, 2))
    assert "color-mix" not in "".join(above)
    for pair, cell in zip(choose_largest(comparison), below, strict=True):
        if pair.b is not None:
            speaks = find_overlay(comparison, "b", 2).weight(pair.b) > 0
            assert f"--tp-{'speaks' if speaks else 'denies'}" in cell
            opinions = [comparison.b.opinion(pair.b, label) for label in (0, 1)]
            assert f">{('space', 'sport')[int(np.argmax(opinions))]}</em>" in cell
    assert "speaks for sport" in draw_strip(comparison, 2)
    assert "speaks for" not in draw_strip(changed(), 0)


def test_the_chosen_pair_is_pressed_and_words_are_text():
    labels = {(1, number): NASTY[0] for number in range(1, 25)}
    comparison = compare(frame_of(arrays(WIDTHS), 7, labels=labels), frame_of(arrays(WIDTHS), 8))
    page = draw_strip(comparison, 0, choose_largest(comparison)[1])
    assert page.count('aria-pressed="true"') == 1
    assert "<script" not in page
    assert "&lt;script&gt;" in page


def test_topics_that_are_pictures_are_drawn():
    hierarchy = make_hierarchy(image_shape=(6, 10))
    page = draw_strip(compare(hierarchy, replace(hierarchy, run=8)), 0)
    assert page.count("<img") == 2 * TOPICS
