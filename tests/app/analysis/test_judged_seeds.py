"""How well two runs predict held-out words, beside how far seeds lie apart in that."""

from types import SimpleNamespace

from app.analysis.judged_seeds import judged_pair


def run(number, point, averaged=None):
    plan = {"minibatches": 100, "protocol": {"documents": 30}}
    fields = {"number": number, "minibatch": 100, "options": plan, "point_perplexity": point}
    return SimpleNamespace(**fields, averaged_perplexity=averaged)


def test_the_best_estimate_that_both_have_is_held_against_the_largest_difference_of_seeds():
    a, b, c, d = run(1, 900.0, 800.0), run(2, 950.0), run(3, 910.0), run(4, 870.0)
    found = judged_pair(a, b, [(a, c), (c, d)], lambda _: {})
    assert (found.a.kind, found.a.value, found.b.value) == ("point_perplexity", 900.0, 950.0)
    assert (found.gap, found.difference, found.beyond) == (40.0, 50.0, True)
    assert not judged_pair(a, c, [(c, d)], lambda _: {}).beyond
    means = {1: 700.0, 2: 710.0}
    assert judged_pair(a, b, [], lambda number: {"mean_perplexity": means.get(number)}).a.value == 700.0


def test_without_seeds_there_is_no_difference_to_speak_of_and_without_a_common_estimate_nothing():
    found = judged_pair(run(1, 900.0), run(2, 950.0), [], lambda _: {})
    assert (found.gap, found.beyond) == (None, False)
    assert judged_pair(run(1, 900.0), run(2, None), [], lambda _: {}) is None
