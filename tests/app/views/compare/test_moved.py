"""What changed in the trees: topics whose parents changed, and the lines to those."""

import re
from dataclasses import replace

import numpy as np
import pytest
from topic_hierarchies import NASTY, arrays
from topic_pairs import WIDTHS, frame_of, same

from topiary.app.analysis.comparison import compare
from topiary.app.views.compare.moved import draw_moved, find_moved, list_lines


def turn_parents():
    """Return a comparison of runs whose topics are the same, but those of layer 2 have the parents of others in B."""
    made = arrays(WIDTHS)
    turned = made | {"phi.2": np.ascontiguousarray(np.roll(made["phi.2"], 1, axis=0))}
    comparison = compare(frame_of(made, 7), frame_of(made, 8))
    return replace(comparison, b=frame_of(turned, 8))


def test_where_the_trees_are_the_same_a_sentence_says_so():
    comparison = same()[0]
    assert all(each.changed == pytest.approx(0.0, abs=1e-6) for each in find_moved(comparison, 2))
    drawn = draw_moved(comparison, 2)
    assert "keep at least half of their parents" in drawn
    assert "<svg" not in drawn
    assert draw_moved(comparison, 3) == ""


def test_the_topics_that_changed_most_have_lines_to_the_parents_they_left_and_came_to():
    comparison = turn_parents()
    moved = find_moved(comparison, 2)
    assert moved[0].changed > 0.5
    assert [each.changed for each in moved] == sorted((each.changed for each in moved), reverse=True)
    lines = list_lines(comparison, moved[0])
    for line in lines:
        there = moved[0].after if line.side == "a" else moved[0].before
        stays = there.get(comparison.partner(line.side, line.parent), 0.0) >= 0.15
        assert (line.kind == "stayed") == stays
        assert line.part >= 0.15
    assert {line.kind for line in lines} >= {"left", "came"}
    drawn = draw_moved(comparison, 2)
    changed = sum(each.changed > 0.5 for each in moved)
    assert drawn.count('class="cm-child"') == min(changed, 8)
    assert f" of {len(moved)} topics of layer 2 drawn" in drawn
    assert re.search("<del>[^<]+</del> → <ins>", drawn)


def test_titles_are_text():
    made = arrays(WIDTHS)
    labels = {(layer, number): NASTY[0] for layer in (2, 3) for number in range(1, 13)}
    turned = made | {"phi.2": np.ascontiguousarray(np.roll(made["phi.2"], 1, axis=0))}
    comparison = compare(frame_of(made, 7, labels=labels), frame_of(made, 8))
    drawn = draw_moved(replace(comparison, b=frame_of(turned, 8, labels=labels)), 2)
    assert "<script" not in drawn
    assert "&lt;script&gt;" in drawn
