"""Islands: planted discs are found with their documents, in every layer; and the inside of polygons."""

import numpy as np
import pytest

from topiary.engine.document_map.areas import Island, find_inside, find_islands
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


def test_each_disc_is_an_island_with_all_its_documents_largest_first():
    found = find_islands(plant((0, 0, 0, 300), (1, 10, 0, 200), (0, 0, 12, 150)))
    assert [(each.layer, each.column, each.documents) for each in found] == [(1, 0, 300), (1, 1, 200), (1, 0, 150)]
    places = np.array([(each.x, each.y) for each in found])
    assert np.abs(places - [(0, 0), (10, 0), (0, 12)]).max() < 0.8


def test_a_caption_stands_where_most_documents_are_and_not_in_the_middle():
    dense = plant((0, 0, 0, 400))
    tail = np.stack([np.linspace(0, 30, 200), np.zeros(200)], axis=1).astype(np.float32)
    (found,) = find_islands(DocumentMap(np.concatenate([dense.positions, tail]), np.zeros(600, np.int32)))
    assert found.documents == 600
    assert abs(found.x) < 1  # the mean is above 5


def test_small_parts_of_a_topic_have_no_caption_of_their_own():
    found = find_islands(plant((0, 0, 0, 300), (0, 12, 0, 10)))
    assert [each.documents for each in found] == [300]


def test_the_islands_of_higher_layers_are_those_of_the_heaviest_parents():
    document_map = plant((0, 0, 0, 100), (1, 10, 0, 120), (2, 10.5, 0, 50))
    found = find_islands(document_map, [np.array([0, 1, 1]), np.array([0, 0, 0])])
    second = [each for each in found if each.layer == 2]
    assert [(each.column, each.documents) for each in second] == [(1, 170), (0, 100)]
    assert [(each.column, each.documents) for each in found if each.layer == 3] == [(0, 170), (0, 100)]


def test_documents_without_a_topic_belong_to_no_island():
    document_map = plant((0, 0, 0, 50), (NONE, 5, 5, 50))
    assert [each.documents for each in find_islands(document_map)] == [50]
    nothing = DocumentMap(np.zeros((2, 2), np.float32), np.full(2, NONE, np.int32))
    assert find_islands(nothing) == []


@pytest.mark.parametrize("n", [1, 2])
def test_a_document_alone_is_an_island(n):
    found = find_islands(DocumentMap(np.ones((n, 2), np.float32), np.zeros(n, np.int32)))
    assert found == [Island(1, 0, n, 1.0, 1.0)]


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
