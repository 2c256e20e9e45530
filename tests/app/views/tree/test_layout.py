"""The layout: no overlaps, few crossings, the same every time, steady from picture to picture."""

import itertools

import numpy as np
import pytest
from topic_hierarchies import make_hierarchy

from topiary.app.analysis.hierarchy import Hierarchy
from topiary.app.views.tree.boxes import TopicBox, make_boxes
from topiary.app.views.tree.layout import (
    APART,
    BoxGaps,
    BoxSizes,
    TreeLayout,
    count_crossings,
    fit_isotonic,
    fold_layers,
    lay_out_tree,
    order_layers,
    settle_centres,
)
from topiary.app.views.tree.opening import choose_first_roots
from topiary.app.views.tree.picture import TreeChoice, cut_tree, draw_tree
from topiary.engine.hierarchy.tree import Node, Subnetwork


def picture(
    hierarchy: Hierarchy, threshold: float = 2.0, **more: object
) -> tuple[Subnetwork, dict[Node, TopicBox], TreeLayout]:
    part, left_out = cut_tree(hierarchy, TreeChoice(tuple(hierarchy.nodes(hierarchy.n_layers)[:3]), threshold))
    contents = make_boxes(hierarchy, part.nodes)
    return part, contents, lay_out_tree(part, contents, more=left_out, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("aspect", [0.6, 1.78, 4.0])
def test_no_two_boxes_overlap_and_all_are_inside(seed: int, aspect: float) -> None:
    hierarchy = make_hierarchy((60, 25, 8), seed=seed)
    part, contents, layout = picture(hierarchy, aspect=aspect)
    assert set(layout.places) == set(part.nodes)
    areas = [
        (place.x, place.y, place.x + contents[node].width, place.y + contents[node].height)
        for node, place in layout.places.items()
    ]
    for left, top, right, bottom in areas:
        assert left >= 0
        assert top >= 0
        assert right <= layout.width
        assert bottom <= layout.height
    for one, other in itertools.combinations(areas, 2):
        apart = one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]
        assert apart


def test_the_same_tree_is_drawn_the_same_every_time() -> None:
    hierarchy = make_hierarchy((60, 25, 8))
    choice = TreeChoice(tuple(hierarchy.nodes(3)[:3]), 2.0)
    assert draw_tree(hierarchy, choice).svg == draw_tree(make_hierarchy((60, 25, 8)), choice).svg


def random_links(seed: int, sizes: tuple[int, ...]) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [(rng.random((upper, lower)) < 1.4 / upper).astype(np.int64) for upper, lower in itertools.pairwise(sizes)]


def crossings_by_hand(links: list[np.ndarray], order: list[np.ndarray]) -> int:
    total = 0
    for gap, link in enumerate(links):
        above = {int(node): place for place, node in enumerate(order[gap])}
        below = {int(node): place for place, node in enumerate(order[gap + 1])}
        ends = [(above[int(a)], below[int(b)]) for a, b in np.argwhere(link)]
        total += sum((a - c) * (b - d) < 0 for (a, b), (c, d) in itertools.combinations(ends, 2))
    return total


@pytest.mark.parametrize("seed", range(4))
def test_crossings_are_counted_as_by_hand(seed: int) -> None:
    links = random_links(seed, (4, 9, 15))
    rng = np.random.default_rng(seed)
    order = [rng.permutation(size) for size in (4, 9, 15)]
    assert count_crossings(links, order) == crossings_by_hand(links, order)


@pytest.mark.parametrize("sizes", [(1, 4, 32), (3, 9, 53), (6, 17, 86)])
def test_the_order_found_has_far_fewer_crossings_than_the_order_of_the_columns(sizes: tuple[int, ...]) -> None:
    links = random_links(1, sizes)
    found = order_layers(links, sizes)
    assert [sorted(layer.tolist()) for layer in found] == [list(range(size)) for size in sizes]
    assert count_crossings(links, found) < 0.6 * count_crossings(links, [np.arange(size) for size in sizes])


def test_an_order_that_was_good_is_kept_when_the_graph_hardly_changes() -> None:
    sizes = (3, 9, 40)
    links = random_links(2, sizes)
    before = order_layers(links, sizes)
    changed = [link.copy() for link in links]
    changed[1][0, 5] ^= 1
    after = order_layers(changed, sizes, before)
    moved = sum(int((one != other).sum()) for one, other in zip(before, after, strict=True))
    assert moved <= 4


def test_a_picture_starts_from_the_order_of_the_one_before() -> None:
    hierarchy = make_hierarchy((60, 25, 8))
    part, contents, layout = picture(hierarchy)
    again = lay_out_tree(part, contents, previous=layout.order())
    assert again.order() == layout.order()


def test_a_wide_layer_is_folded_towards_the_shape_of_the_window() -> None:
    layers = [BoxSizes(np.full(1, 100.0), np.full(1, 60.0)), BoxSizes(np.full(40, 100.0), np.full(40, 60.0))]
    gaps = BoxGaps(10.0, 20.0, 80.0)
    assert fold_layers(layers, gaps, aspect=1.78)[0] == 1
    assert fold_layers(layers, gaps, aspect=50.0) == [1, 1]
    assert fold_layers(layers, gaps, aspect=0.6)[1] > fold_layers(layers, gaps, aspect=1.78)[1] > 1


def test_pooled_positions_are_the_least_squares_ones() -> None:
    np.testing.assert_allclose(fit_isotonic(np.array([1.0, 3.0, 2.0, 4.0]), np.ones(4)), [1.0, 2.5, 2.5, 4.0])
    np.testing.assert_allclose(fit_isotonic(np.array([3.0, 1.0]), np.array([3.0, 1.0])), [2.5, 2.5])


def test_settled_boxes_keep_their_order_and_their_distance() -> None:
    rng = np.random.default_rng(0)
    widths = rng.uniform(50, 120, 30)
    centres = settle_centres(rng.uniform(0, 500, 30), np.ones(30), widths, 12.0)
    free = np.diff(centres) - (widths[:-1] + widths[1:]) / 2
    assert free.min() >= 12.0 - 1e-9


def test_edges_pass_between_the_boxes_of_the_rows_they_cross() -> None:
    hierarchy = make_hierarchy((60, 25, 8))
    _, contents, layout = picture(hierarchy, aspect=0.7)
    rows: dict[int, list[Node]] = {}
    for node, place in layout.places.items():
        rows.setdefault(place.row, []).append(node)
    crossed = 0
    for curve in layout.curves:
        top, bottom = layout.places[curve.edge.above].row, layout.places[curve.edge.below].row
        straight = [piece.split("V") for piece in curve.path.split("C")[1:-1]]
        assert len([piece for piece in straight if len(piece) == 2]) == bottom - top - 1
        for row, piece in zip(range(top + 1, bottom), straight, strict=False):
            x = float(piece[0].split()[-2])
            crossed += 1
            for node in rows[row]:
                left = layout.places[node].x
                assert not left < x < left + contents[node].width
    assert crossed > 0


def test_the_cap_leaves_out_the_least_popular_and_says_how_many() -> None:
    hierarchy = make_hierarchy((60, 25, 8))
    roots = tuple(hierarchy.nodes(3)[:3])
    whole, nothing = cut_tree(hierarchy, TreeChoice(roots, 2.0, cap=1000))
    part, more = cut_tree(hierarchy, TreeChoice(roots, 2.0, cap=5))
    assert nothing == {}
    middle = [node for node in whole.nodes if node.layer == 2]
    assert more[2] == len(middle) - 5
    assert {node for node in part.nodes if node.layer == 2} == set(sorted(middle, key=hierarchy.rank)[:5])


def test_the_first_view_has_the_most_popular_topics_of_the_top_layer_as_roots() -> None:
    hierarchy = make_hierarchy((60, 25, 8))
    roots = choose_first_roots(hierarchy, 2.0)
    assert list(roots) == hierarchy.nodes(3)[: len(roots)]
    assert len(roots) >= 1


@pytest.mark.parametrize("widths", [(1,), (5,), (4, 1), (3, 3, 3, 3, 3)])
def test_any_number_of_layers_is_drawn(widths: tuple[int, ...]) -> None:
    hierarchy = make_hierarchy(widths)
    for threshold in (0.0, 2.0, 1000.0):
        drawing = draw_tree(hierarchy, TreeChoice(tuple(hierarchy.nodes(hierarchy.n_layers)[:2]), threshold))
        assert len(drawing.layout.places) == len(drawing.part.nodes) >= 1


def test_roots_of_another_run_are_left_out_quietly() -> None:
    hierarchy = make_hierarchy()
    assert draw_tree(hierarchy, TreeChoice((Node(9, 0), Node(3, 0)))).part.roots == (Node(3, 0),)


def test_background_topics_stand_apart_below_and_no_line_enters_the_captions() -> None:
    hierarchy = make_hierarchy((60, 25, 8))
    part, contents, _ = picture(hierarchy)
    lonely = next(node for node in hierarchy.nodes(3) if node not in part.nodes)
    contents |= make_boxes(hierarchy, [lonely])
    layout = lay_out_tree(part._replace(nodes=(*part.nodes, lonely)), contents, apart=(lonely,))
    others = [place.y + contents[node].height for node, place in layout.places.items() if node != lonely]
    assert layout.places[lonely].y > max(others)
    assert layout.bands[-1].layer == APART
    captions_end = min(place.x for place in layout.places.values())
    assert captions_end >= 90
    numbers = [piece.split()[-2] for curve in layout.curves for piece in curve.path.split("C")[1:] if "V" not in piece]
    assert min(map(float, numbers)) > captions_end - 8
