"""Points of a map as the browser reads them."""

import numpy as np

from topiary.app.views.documents.map_page import NO_CODE, SELECTED, pack_map


def draw(n=500):
    """Positions and codes of documents."""
    rng = np.random.default_rng(2)
    return rng.normal((3, -4), (5, 2), (n, 2)).astype(np.float32), rng.integers(-1, 7, n)


def read(packed, n):
    numbers = np.frombuffer(packed.data, "<u2")
    return numbers[: 2 * n].reshape(n, 2), numbers[2 * n :]


def test_the_browser_gets_positions_to_a_65535th_and_codes_in_six_bytes_a_document():
    positions, codes = draw()
    packed = pack_map(positions, codes)
    points, read_codes = read(packed, 500)
    assert len(packed.data) == 6 * 500
    assert sorted(packed.order.tolist()) == list(range(500))
    assert np.abs(packed.trace(points / 65535) - positions[packed.order]).max() <= 0.51 * packed.side / 65535
    expected = codes[packed.order]
    assert np.array_equal(read_codes, np.where(expected < 0, NO_CODE, expected))
    assert pack_map(positions, codes).data == packed.data
    assert packed.frame[0] == 1
    assert packed.order[packed.find_point(17)] == 17
    assert packed.find_point(500) == -1


def test_what_is_selected_keeps_its_code_and_is_marked():
    positions, codes = draw()
    selected = np.arange(500) % 3 == 0
    packed = pack_map(positions, codes, selected)
    marked = read(packed, 500)[1]
    assert np.array_equal(marked >= SELECTED, selected[packed.order])
    assert np.array_equal(marked & NO_CODE, read(pack_map(positions, codes), 500)[1])


def test_the_first_points_are_a_sample_of_all():
    first = pack_map(*draw()).order[:100]
    assert not np.array_equal(np.sort(first), np.arange(100))
    assert 150 < first.mean() < 350


def test_maps_of_no_document_and_of_one_are_packed():
    assert pack_map(*draw(0)).data == b""
    one = pack_map(*draw(1))
    assert len(one.data) == 6
    assert np.isfinite(one.frame).all()
