"""The first sentence of a comparison speaks of a difference only beyond what another seed changes."""

from types import SimpleNamespace

from app.analysis.comparison import Agreement
from app.analysis.seeds import Range, SeedSpread, compare_estimates
from app.views.compare.summary import compare_perplexities, describe_seeds, draw_verdict, format_range, write_verdict

SPREAD = SeedSpread(2, (Range(0.5, 0.56), Range(0.6, 0.7)), (None, None), Range(0.4, 0.5), None, (), ())
SEEDS = describe_seeds(["3 and 4", "3 and 5"], 3, alone=False)


def test_a_difference_is_told_with_what_two_seeds_reach():
    html = draw_verdict(Agreement((0.41, 0.65), (1.0, 1.0), 0.45, 0.1), SPREAD, SEEDS)
    assert "<b>More than another seed changes:</b> likeness of layer 1 0.41, two seeds 0.50 to 0.56. " in html
    assert "2 pairs of runs that differ in nothing but the seed, 3 and 4; 3 and 5." in html
    assert "layer 2" not in html


def test_what_lies_among_the_seeds_is_called_no_difference():
    now = Agreement((0.53, 0.9), (1.0, 1.0), 0.45, 0.1)
    assert "<b>No more than another seed changes:</b>" in draw_verdict(now, SPREAD, SEEDS)
    assert write_verdict(now, SPREAD, SEEDS).startswith("no more than another seed changes")


def test_without_a_second_seed_that_is_said_and_how_to_get_one():
    now = Agreement((0.1,), (0.1,), 0.1, 0.1)
    html = draw_verdict(now, None, describe_seeds([], 8, alone=False))
    assert "no difference below can be told from chance: train run 8 once more with another seed" in html
    assert "More than" not in html
    assert "Looking for runs with other seeds" in draw_verdict(now, None, "")


def test_two_seeds_of_one_model_are_chance_however_far_apart():
    html = draw_verdict(Agreement((0.1, 0.1), (1.0, 1.0), 0.1, 0.1), SPREAD, describe_seeds(["3 and 5"], 3, alone=True))
    assert "differ only in their seed, so every difference here is chance" in html
    assert "More than" not in html


def test_perplexities_are_told_beside_those_of_seeds():
    def run(number, point):
        plan = {"minibatches": 9, "protocol": {"documents": 30}}
        fields = {"number": number, "minibatch": 9, "options": plan, "averaged_perplexity": None}
        return SimpleNamespace(**fields, point_perplexity=point)

    a, b, c = run(1, 2013.7), run(2, 2070.0), run(3, 1943.5)
    said = compare_perplexities(compare_estimates(a, b, [(a, c)], lambda _: {}))
    assert said == (
        "Point perplexity: 2,013.7 in A, 2,070.0 in B: 56.3 apart, no more than two seeds of one model, which differ "
        "by up to 70.2."
    )
    assert compare_perplexities(compare_estimates(a, b, [], lambda _: {})).endswith(
        "no second seed tells whether that is more than chance."
    )


def test_a_range_of_one_figure_is_written_once():
    assert [format_range(Range(0.501, 0.5)), format_range(Range(0.5, 0.61)), format_range(None)] == [
        "0.50",
        "0.50 to 0.61",
        "–",
    ]
