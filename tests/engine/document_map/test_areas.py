"""Places of topics: planted discs are found with their documents; far-off documents; and the inside of polygons."""

import numpy as np
import pytest

from topiary.engine.document_map.areas import TopicPlace, bound_map, find_inside, find_places
from topiary.engine.document_map.features import NONE
from topiary.engine.document_map.layout import DocumentMap

RNG = np.random.default_rng(3)


def plant(*discs) -> DocumentMap:
    """Documents in discs (topic, x, y, number)."""
    points, topics = [], []
    for topic, x, y, n in discs:
        points.append(RNG.normal((x, y), 0.4, (n, 2)).clip((x - 1, y - 1), (x + 1, y + 1)))
        topics += [topic] * n
    return DocumentMap(np.concatenate(points).astype(np.float32), np.array(topics, np.int32))


def test_each_topic_has_a_place_where_most_of_its_documents_are_largest_first():
    found = find_places(*plant((0, 0, 0, 300), (1, 10, 0, 200), (0, 0, 12, 150)))
    assert [(each.column, each.documents) for each in found] == [(0, 450), (1, 200)]
    places = np.array([(each.x, each.y) for each in found])
    assert np.abs(places - [(0, 0), (10, 0)]).max() < 0.8


def test_a_caption_stands_where_most_documents_are_and_not_in_the_middle():
    dense = plant((0, 0, 0, 400))
    tail = np.stack([np.linspace(0, 30, 200), np.zeros(200)], axis=1).astype(np.float32)
    (found,) = find_places(np.concatenate([dense.positions, tail]), np.zeros(600, np.int32))
    assert found.documents == 600
    assert abs(found.x) < 1  # the mean is above 5


def test_documents_without_a_topic_belong_to_no_place():
    assert [each.documents for each in find_places(*plant((0, 0, 0, 50), (NONE, 5, 5, 50)))] == [50]
    assert find_places(np.zeros((2, 2), np.float32), np.full(2, NONE, np.int32)) == []


@pytest.mark.parametrize("n", [1, 2])
def test_a_document_alone_has_a_place(n):
    assert find_places(np.ones((n, 2), np.float32), np.zeros(n, np.int32)) == [TopicPlace(0, n, 1.0, 1.0)]


def test_far_off_documents_come_to_the_border_and_are_counted():
    near = plant((0, 0, 0, 1000)).positions
    far = np.concatenate([near, [[500, 0], [0, -900]]]).astype(np.float32)
    bounded = bound_map(far)
    low, high = np.percentile(far, (1.2, 98.8), axis=0)
    assert bounded.positions[-2, 0] == pytest.approx(high[0])
    assert bounded.positions[-1, 1] == pytest.approx(low[1])
    assert np.abs(bounded.positions).max() < 1
    assert bounded.n_far == ((far < low) | (far > high)).any(axis=1).sum()
    grid = np.stack(np.divmod(np.arange(400), 20), axis=1).astype(np.float32)
    assert bound_map(grid).n_far == 0  # whole rows of it lie at the bounds
    assert bound_map(np.zeros((0, 2), np.float32)).n_far == 0


def test_the_inside_of_a_polygon_is_what_matplotlib_finds():
    path = pytest.importorskip("matplotlib.path")
    points = RNG.normal(0, 1, (2000, 2)).astype(np.float32)
    angles = np.sort(RNG.uniform(0, 2 * np.pi, 40))
    star = np.stack([np.cos(angles), np.sin(angles)], axis=1) * RNG.uniform(0.3, 2, 40)[:, None]
    expected = path.Path(star, closed=False).contains_points(points)
    assert 100 < expected.sum() < 1900
    assert np.array_equal(find_inside(points, star), expected)


def test_what_a_line_encloses_twice_is_outside():
    square = np.array([(0, 0), (2, 0), (2, 2), (0, 2)])
    hole = np.array([(0, 0), (0.5, 0.5), (0.5, 1.5), (1.5, 1.5), (1.5, 0.5), (0.5, 0.5)])
    points = np.array([(1.0, 1.0), (0.25, 1.0), (3.0, 1.0), (1.0, 1.75)])
    assert find_inside(points, np.concatenate([square, hole])).tolist() == [False, True, False, True]


@pytest.mark.parametrize("corners", [0, 1, 2])
def test_fewer_than_three_corners_contain_nothing(corners):
    assert not find_inside(np.zeros((3, 2)), np.zeros((corners, 2))).any()
