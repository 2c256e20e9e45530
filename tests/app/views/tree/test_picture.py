"""Between two snapshots, lines that came and lines that went are marked, and nothing else."""

from types import SimpleNamespace

import numpy as np
import pytest
from topic_hierarchies import arrays, vocabulary

from topiary.app.analysis.hierarchy import Hierarchy
from topiary.app.analysis.read_hierarchy import build_hierarchy
from topiary.app.views.theme import LIGHT
from topiary.app.views.tree.picture import TreeChoice, draw_tree, find_edge_news
from topiary.engine.hierarchy.tree import Node

ROOTS = tuple(Node(2, k) for k in range(3))
CHOICE = TreeChoice(ROOTS, 1.0)


def hierarchy(minibatch: int, children: list[list[int]], run: int = 7) -> Hierarchy:
    """Three topics over four; each has the given children in equal parts."""
    made = {name: array for name, array in arrays((4, 3)).items() if not name.startswith(("top_", "step"))}
    above = np.full((4, 3), 1e-4)
    for k, chosen in enumerate(children):
        above[chosen, k] = 1 / len(chosen)
    made["phi.1"] = above / above.sum(axis=0)
    snapshot = SimpleNamespace(number=minibatch, minibatch=minibatch)
    return build_hierarchy(
        made, vocabulary(60), {}, SimpleNamespace(number=run, seed=5, corpus_name="news", family=run), snapshot
    )


@pytest.fixture
def before() -> Hierarchy:
    return hierarchy(100, [[0, 1], [2], [3]])


@pytest.fixture
def now() -> Hierarchy:
    return hierarchy(200, [[0], [2, 1], [3]])


def test_what_came_and_what_went_is_marked(before: Hierarchy, now: Hierarchy) -> None:
    drawing = draw_tree(now, CHOICE, before=before)
    assert drawing.news is not None
    assert [(edge.above, edge.below) for edge in drawing.news.new] == [(Node(2, 1), Node(1, 1))]
    assert [(edge.above, edge.below) for edge in drawing.news.gone] == [(Node(2, 0), Node(1, 1))]
    assert drawing.news.words() == "Lines since mini-batch 100: 1 new (dashed) and 1 gone (dotted)."
    assert drawing.svg.count('stroke="var(--tp-new)"') == 1
    assert drawing.svg.count('class="tp-gone"') == 1
    assert "new since mini-batch 100" in drawing.svg


def test_the_same_edges_are_no_news(before: Hierarchy) -> None:
    drawing = draw_tree(hierarchy(200, [[0, 1], [2], [3]]), CHOICE, before=before)
    assert drawing.news is not None
    assert drawing.news.words() == ""
    assert "tp-gone" not in drawing.svg


def test_an_edge_of_a_topic_that_is_not_on_screen_is_not_marked(before: Hierarchy, now: Hierarchy) -> None:
    drawing = draw_tree(now, CHOICE._replace(roots=(Node(2, 2),)), before=before)
    assert drawing.news is not None
    assert drawing.news.words() == ""


def test_another_run_or_no_snapshot_before_is_nothing_to_compare_with(now: Hierarchy) -> None:
    part = draw_tree(now, CHOICE).part
    assert find_edge_news(None, now, part, CHOICE) is None
    assert find_edge_news(hierarchy(100, [[0], [1], [2]], run=8), now, part, CHOICE) is None


def test_a_saved_picture_has_no_marks(now: Hierarchy) -> None:
    assert "var(--" not in draw_tree(now, CHOICE, theme=LIGHT).svg
