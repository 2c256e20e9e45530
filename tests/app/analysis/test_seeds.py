"""What two seeds of one model reach, and what lies beyond it."""

from math import isnan, nan

import numpy as np
import pytest
from topic_hierarchies import arrays
from topic_pairs import WIDTHS, changed, frame_of, same

from app.analysis.changes import agreement, edge_changes
from app.analysis.comparison import compare
from app.analysis.seeds import Range, below, spread_of


def test_the_spread_goes_from_the_lowest_to_the_highest_of_all_pairs_of_seeds():
    alike, apart = same()[0], changed()
    other = compare(frame_of(arrays(WIDTHS), 7), frame_of(arrays(WIDTHS, seed=2), 9))
    spread = spread_of((alike, apart, other), 1.5)
    found = [agreement(each, edge_changes(each, 1.5)) for each in (alike, apart, other)]
    for place in range(3):
        scores = [each.scores[place] for each in found if not isnan(each.scores[place])]
        assert spread.scores[place] == (min(scores), max(scores))
    assert spread.edges == (min(each.edges for each in found), max(each.edges for each in found))
    assert spread.pairs == 3
    every = [pair.score for each in (alike, apart, other) for pair in each.pairs if pair.layer == 1 and pair.paired]
    assert np.mean(np.array(every) < spread.floors[0]) == pytest.approx(0.05, abs=0.03)


def test_without_seeds_there_is_no_spread():
    assert spread_of((), 1.5) is None


@pytest.mark.parametrize(
    ("value", "usual", "said"),
    [
        (0.61, Range(0.62, 0.7), True),
        (0.617, Range(0.62, 0.7), False),  # reads 0.62 too
        (0.65, Range(0.62, 0.7), False),
        (0.9, Range(0.62, 0.7), False),
        (nan, Range(0.62, 0.7), False),
        (0.1, None, False),
    ],
)
def test_only_what_is_lower_than_every_pair_of_seeds_is_beyond_them(value, usual, said):
    assert below(value, usual) is said
