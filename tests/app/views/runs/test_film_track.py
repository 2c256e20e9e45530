"""The track of the film: a tick for every snapshot that is kept, and the curve between the first and the last."""

import re

import numpy as np

from topiary.app.views.runs.film_track import HEIGHT, WIDTH, draw_curve, draw_track, place_moments

KEPT = [1, 2, 5, 10, 64, 128, 256, 300, 310, 320]


def list_ticks(track: str) -> list[tuple[float, float]]:
    """Return the place and the height of every tick."""
    found = re.findall(r'class="fm-tick" d="M([\d.]+) [\d.]+v-([\d.]+)"', track)
    return [(float(place), float(height)) for place, height in found]


def test_places_are_by_square_roots_from_one_end_to_the_other():
    places = place_moments(KEPT)
    assert (places[0], places[-1]) == (0.0, WIDTH)
    assert places == sorted(places)
    expected = [WIDTH * (each**0.5 - 1) / (320**0.5 - 1) for each in KEPT]
    np.testing.assert_allclose(places, expected)
    assert place_moments([]) == []
    assert place_moments([7]) == [0.0]


def test_every_snapshot_has_a_tick_and_the_largest_change_the_highest():
    plain = list_ticks(draw_track(KEPT, np.empty((0, 2))))
    assert [place for place, _ in plain] == [round(place, 1) for place in place_moments(KEPT)]
    assert len({height for _, height in plain}) == 1
    changes = dict.fromkeys(KEPT, 0.1) | {64: 0.4, 1: 0.0}
    ticks = list_ticks(draw_track(KEPT, np.empty((0, 2)), changes))
    assert max(ticks, key=lambda tick: tick[1])[0] == round(place_moments(KEPT)[KEPT.index(64)], 1)
    assert ticks[0][1] == plain[0][1]
    assert max(height for _, height in ticks) < HEIGHT


def test_the_curve_is_that_between_the_first_and_the_last_snapshot():
    curve = np.array([[1, 90.0], [100, 50.0], [200, np.nan], [320, 40.0], [400, 10.0]])
    points = re.search(r'points="([^"]+)"', draw_curve(KEPT, curve)).group(1).split()
    places = [float(point.split(",")[0]) for point in points]
    assert len(points) == 3  # neither the one without a value nor the one after the last snapshot
    assert (places[0], places[-1]) == (0.0, WIDTH)
    heights = [float(point.split(",")[1]) for point in points]
    assert heights == sorted(heights)  # y points down, the curve falls
    assert draw_curve(KEPT, curve[:1]) == ""
    assert draw_curve([], curve) == ""
