"""Points and captions of a map as the browser reads them."""

import numpy as np

from topiary.app.views.document_map import NO_CODE, list_captions, pack_map
from topiary.engine.document_map.areas import Island
from topiary.engine.document_map.layout import DocumentMap


def draw(n=500) -> DocumentMap:
    rng = np.random.default_rng(2)
    return DocumentMap(rng.normal((3, -4), (5, 2), (n, 2)).astype(np.float32), rng.integers(-1, 7, n).astype(np.int32))


def read(packed, n):
    numbers = np.frombuffer(packed.data, "<u2")
    return numbers[: 2 * n].reshape(n, 2), numbers[2 * n :]


def test_the_browser_gets_positions_to_a_65535th_and_topics_in_six_bytes_a_document():
    document_map = draw()
    packed = pack_map(document_map)
    points, topics = read(packed, 500)
    assert len(packed.data) == 6 * 500
    assert sorted(packed.order.tolist()) == list(range(500))
    assert (
        np.abs(packed.trace(points / 65535) - document_map.positions[packed.order]).max() <= 0.51 * packed.side / 65535
    )
    expected = document_map.topics[packed.order]
    assert np.array_equal(topics, np.where(expected < 0, NO_CODE, expected))
    assert pack_map(document_map).data == packed.data


def test_the_first_points_are_a_sample_of_all():
    packed = pack_map(draw())
    first = packed.order[:100]
    assert not np.array_equal(np.sort(first), np.arange(100))
    assert 150 < first.mean() < 350


def test_an_outlier_does_not_make_the_first_view_small():
    document_map = draw()
    far = document_map._replace(positions=np.concatenate([document_map.positions[:-1], [[500, 0]]]).astype(np.float32))
    assert pack_map(document_map).view[2] > 0.8
    packed = pack_map(far)
    x, y, size = packed.view
    places = packed.place(far.positions)
    assert size < 0.1
    assert (np.abs(places - (x, y)).max(axis=1) < size / 2).mean() > 0.97


def test_maps_of_no_document_and_of_one_are_packed():
    assert pack_map(draw(0)).data == b""
    one = pack_map(draw(1))
    assert len(one.data) == 6
    assert np.isfinite(one.view).all()


def test_captions_come_higher_layers_first_at_their_places():
    packed = pack_map(draw())
    islands = [Island(1, 4, 90, 3.0, -4.0), Island(2, 1, 50, 5.0, -4.0), Island(2, 0, 70, 1.0, -4.0)]
    captions = list_captions(packed, islands, lambda layer, column: (f"L{layer}:{column}", f"{layer}-{column}", column))
    assert [each["id"] for each in captions] == ["L2:0", "L2:1", "L1:4"]
    place = packed.trace(np.array([[captions[2]["x"], captions[2]["y"]]]))
    assert np.abs(place - (3, -4)).max() < 1e-4 * packed.side
