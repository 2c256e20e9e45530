"""A curve is level when its last third brings next to nothing; noise of 0.3 % makes none, nor hides one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.jobs.plateau import GAIN, LEAST_POINTS, SMOOTH, WINDOW, burnt_in, plateau, trend

STEPS = (1, 2, 5, 10, *range(20, 601, 20))


def curve(level_from, seed=0, noise=0.003):
    """Falls by 30 % on the way to ``level_from`` (a power law, as real ones do), and not after that."""
    rng = np.random.default_rng(seed)
    values = 1700 * (1 + 0.3 * (1 - np.minimum(STEPS, level_from) / level_from) ** 1.5)
    return list(zip(STEPS, values * np.exp(noise * rng.standard_normal(len(STEPS))), strict=True))


@pytest.mark.parametrize("seed", range(20))
def test_a_level_curve_is_told_where_it_became_level_and_a_falling_one_is_not(seed):
    since = plateau(curve(300, seed))
    assert since is not None
    assert 180 <= since <= 400
    assert plateau(curve(600, seed)) is None
    assert trend(curve(600, seed)) == "still falling"
    assert trend(curve(300, seed)) == f"no longer improving since step {since:,}"


def test_a_curve_that_rises_again_improves_no_longer():
    risen = [(step, 1000 + abs(step - 200)) for step in STEPS]
    assert plateau(risen) is not None
    assert plateau(risen) <= 200


def test_a_level_curve_that_begins_to_fall_again_is_falling():
    again = [(step, 1000.0 if step < 450 else 990.0) for step in STEPS]
    assert plateau([point for point in again if point[0] < 450]) is not None
    assert plateau(again) is None
    assert trend(again) == "still falling"


@pytest.mark.parametrize("few", [[], [(1, 900.0)], [(t, 900.0) for t in (1, 2, 5, 10, 15, 18)]])
def test_few_points_say_nothing(few):
    assert plateau(few) is None
    assert trend(few) == ""


def test_what_is_not_a_number_is_left_out():
    known = curve(300)
    holes = [(step + 1, float(hole)) for (step, _), hole in zip(known, ["nan", "inf"] * 20, strict=False)]
    assert plateau(sorted(known + holes)) == plateau(known)
    assert burnt_in(sorted(known + holes)) == burnt_in(known)


def test_a_run_has_burnt_in_where_its_curve_is_first_near_the_lowest_value():
    assert burnt_in([(1, 2000.0), (5, 1021.0), (9, 1020.0), (10, 1000.0), (12, 1030.0)]) == 9
    assert burnt_in([]) is None


@given(st.lists(st.tuples(st.integers(1, 1000), st.floats(1, 1e6)), max_size=60))
def test_the_answer_is_a_step_of_the_curve_and_no_later_point_makes_it_earlier_than_it_could_be_known(points):
    known = sorted(dict(points).items())
    since = plateau(known)
    assert since is None or since in [step for step, _ in known]
    assert plateau([(10 * step, 7 * value) for step, value in known]) == (None if since is None else 10 * since)


def by_definition(points):
    """As :func:`plateau` describes it, window by window: slow."""
    since = None
    for end in range(len(points), 0, -1):
        begin = sum(step <= points[end - 1][0] * (1 - WINDOW) for step, _ in points[:end])
        values = [value for _, value in points[:end]]
        if min(begin, end - begin) < LEAST_POINTS:
            return since
        lowest = min(np.mean(values[place : place + SMOOTH]) for place in range(begin + 1 - SMOOTH))
        if np.mean(values[begin:]) <= lowest * (1 - GAIN):
            return since
        since = points[begin - 1][0]
    return since


@given(st.lists(st.tuples(st.integers(1, 400), st.floats(99.0, 101.0)), max_size=40))
def test_all_windows_at_once_say_what_one_after_the_other_says(points):
    points = sorted(points)
    assert plateau(points) == by_definition(points)
