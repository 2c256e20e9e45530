"""What two seeds of one model reach, and what lies beyond it."""

from math import isnan, nan
from types import SimpleNamespace

import numpy as np
import pytest
from topic_hierarchies import arrays
from topic_pairs import WIDTHS, changed, frame_of, same

from topiary.app.analysis.comparison import compare, find_edge_changes, measure_agreement
from topiary.app.analysis.seeds import Range, compare_estimates, is_below_range, measure_seed_spread


def test_the_spread_goes_from_the_lowest_to_the_highest_of_all_pairs_of_seeds():
    alike, apart = same()[0], changed()
    other = compare(frame_of(arrays(WIDTHS), 7), frame_of(arrays(WIDTHS, seed=2), 9))
    spread = measure_seed_spread((alike, apart, other), 1.5)
    found = [measure_agreement(each, find_edge_changes(each, 1.5)) for each in (alike, apart, other)]
    for place in range(3):
        scores = [each.scores[place] for each in found if not isnan(each.scores[place])]
        assert spread.scores[place] == (min(scores), max(scores))
    assert spread.edges == (min(each.edges for each in found), max(each.edges for each in found))
    assert spread.pairs == 3
    every = [pair.score for each in (alike, apart, other) for pair in each.pairs if pair.layer == 1 and pair.paired]
    assert np.mean(np.array(every) < spread.floors[0]) == pytest.approx(0.05, abs=0.03)


def test_without_seeds_there_is_no_spread():
    assert measure_seed_spread((), 1.5) is None


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
    assert is_below_range(value, usual) is said


def run(number, point, averaged=None, corpus="garden"):
    plan = {"minibatches": 100, "protocol": {"documents": 30}}
    fields = {"number": number, "minibatch": 100, "options": plan, "point_perplexity": point}
    return SimpleNamespace(**fields, averaged_perplexity=averaged, corpus_name=corpus)


def test_the_best_estimate_that_both_have_is_held_against_the_largest_difference_of_seeds():
    a, b, c, d = run(1, 900.0, 800.0), run(2, 950.0), run(3, 910.0), run(4, 870.0)
    found = compare_estimates(a, b, [(a, c), (c, d)], lambda _: {})
    assert (found.a.kind, found.a.value, found.b.value) == ("point_perplexity", 900.0, 950.0)
    assert (found.gap, found.difference, found.exceeds_seeds) == (40.0, 50.0, True)
    assert not compare_estimates(a, c, [(c, d)], lambda _: {}).exceeds_seeds
    means = {1: 700.0, 2: 710.0}
    assert compare_estimates(a, b, [], lambda number: {"mean_perplexity": means.get(number)}).a.value == 700.0


def test_without_seeds_there_is_no_difference_to_speak_of_and_without_a_common_estimate_nothing():
    found = compare_estimates(run(1, 900.0), run(2, 950.0), [], lambda _: {})
    assert (found.gap, found.exceeds_seeds) == (None, False)
    assert compare_estimates(run(1, 900.0), run(2, None), [], lambda _: {}) is None
    assert compare_estimates(run(1, 900.0), run(2, 950.0, corpus="pond"), [], lambda _: {}) is None
