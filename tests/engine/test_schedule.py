"""Step sizes fall as the papers say."""

import pytest

from topiary.engine.schedule import Schedule, step_size


def test_the_first_step_size_is_the_one_asked_for():
    assert step_size(Schedule(0.3, 20.0, 0.7), 1) == pytest.approx(0.3)


def test_the_authors_step_sizes_are_reproduced():
    assert step_size(Schedule(1.0, 20.0, 0.7), 100) == pytest.approx((120 / 21) ** -0.7)
    assert step_size(Schedule(0.001, 1000.0, 0.6), 8000) == pytest.approx(0.001 * (9000 / 1001) ** -0.6)


@pytest.mark.parametrize("t", [1, 2, 50, 3500])
def test_the_form_of_the_paper_gives_the_same_numbers(t):
    a, b, c = 1.0347, 20.0, 0.7
    assert step_size(Schedule(a * ((b + 1.0) / b) ** -c, b, c), t) == pytest.approx(a * (1 + t / b) ** -c)
