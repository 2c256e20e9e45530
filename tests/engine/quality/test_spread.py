"""How evenly documents use topics, and which are the background."""

import numpy as np
import pytest

from engine.quality.spread import BACKGROUND, FEWEST, background, spread


def test_a_topic_of_all_documents_is_spread_over_all_and_one_of_a_few_over_these():
    shares = np.zeros((100, 4), dtype=np.float32)
    shares[:, 0] = 0.3
    shares[:10, 1] = 0.5
    shares[3, 2] = 0.9
    np.testing.assert_allclose(spread(shares), [1.0, 0.1, 0.01, 0.0], atol=1e-6)


def test_the_spread_is_the_exponential_of_the_entropy():
    shares = np.random.default_rng(2).gamma(0.3, 1.0, (60, 3))
    for topic, found in enumerate(spread(shares)):
        part = shares[:, topic] / shares[:, topic].sum()
        assert found == pytest.approx(np.exp(-(part * np.log(part)).sum()) / 60)


def test_documents_that_are_not_placed_yet_do_not_count():
    shares = np.full((2 * FEWEST, 2), -1.0, dtype=np.float32)
    shares[:FEWEST] = 0.5
    np.testing.assert_allclose(spread(shares), [1.0, 1.0])
    shares[0] = -1.0
    assert spread(shares) is None


@pytest.mark.parametrize(
    ("spreads", "expected"),
    [
        ([0.5, 0.05, 0.04, 0.06], [True, False, False, False]),
        ([BACKGROUND, 0.05, 0.04], [True, False, False]),
        ([BACKGROUND - 0.01, 0.01, 0.01], [False, False, False]),
        ([0.7, 0.65, 0.6, 0.62], [False, False, False, False]),
        ([0.9], [False]),
        ([], []),
    ],
)
def test_background_is_spread_wide_and_much_wider_than_its_neighbours(spreads, expected):
    assert background(np.array(spreads)).tolist() == expected


def test_what_many_documents_are_about_is_no_background_for_its_words_meet():
    spreads, npmi = np.array([0.5, 0.5, 0.05, 0.04, 0.03]), np.array([0.35, 0.1, 0.0, 0.3, 0.2])
    assert background(spreads, npmi).tolist() == [False, True, False, False, False]
