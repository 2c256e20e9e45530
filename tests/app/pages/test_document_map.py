"""Messages of the map in the browser."""

import pytest

from topiary.app.pages.map_tab import MapView, read_polygon


def test_a_drawn_line_is_read():
    assert read_polygon({"polygon": [[0, 0.5], [1, 0], [1, 1]]}).tolist() == [[0, 0.5], [1, 0], [1, 1]]
    assert read_polygon({"polygon": []}).shape == (0, 2)


@pytest.mark.parametrize("corners", [None, "x", [[0, 1, 2]], [[0, "a"]], [[0]], [[0, float("nan")]], [[0, 1]] * 20_001])
def test_a_line_that_no_map_sends_is_refused(corners):
    assert read_polygon({"polygon": corners}) is None


def test_only_messages_that_say_what_to_do_are_passed_on():
    heard = []
    view = MapView(heard.append)
    for message in ({"do": "lasso", "polygon": []}, {"do": 3}, "lasso", {}):
        view._handle_msg(message)
    assert heard == [{"do": "lasso", "polygon": []}]
