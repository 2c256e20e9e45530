"""The badge of a comparison counts a difference only beyond what another seed changes; details are in a fold."""

from types import SimpleNamespace

from topic_pairs import changed

from topiary.app.analysis.comparison import Agreement
from topiary.app.analysis.seeds import Range, SeedSpread, compare_estimates, describe_seeds
from topiary.app.views.compare.summary import (
    compare_perplexities,
    draw_verdict,
    format_range,
    judge_comparison,
    write_verdict,
)

SPREAD = SeedSpread(2, (Range(0.5, 0.56), Range(0.6, 0.7)), (None, None), Range(0.4, 0.5), None, (), ())
SEEDS = describe_seeds(["3 and 4", "3 and 5"], 3, alone=False)
FAR = Agreement((0.41, 0.65), (1.0, 1.0), 0.45, 0.1)


def judge(now, spread, sentence, judged=None):
    return judge_comparison(changed(), now, spread, sentence, judged)


def test_the_badge_counts_the_figures_beyond_seeds_and_the_fold_names_them():
    verdict = judge(FAR, SPREAD, SEEDS)
    assert (len(verdict.excesses), verdict.n_figures) == (1, 3)  # two likenesses and the edges; no other is known
    html = draw_verdict(verdict)
    assert "<summary title=" in html
    assert '<span class="cm-badge">differences beyond seeds: 1 of 3</span></summary>' in html
    inside = html.partition("</summary>")[2]
    assert "<li>likeness of layer 1 0.41, two seeds 0.50 to 0.56</li>" in inside
    assert "2 pairs of runs that differ in nothing but the seed, 3 and 4; 3 and 5." in inside
    assert 'data-do="seeds"' in inside
    assert "layer 2" not in html
    assert write_verdict(verdict) == (
        f"differences beyond seeds: 1 of 3 (likeness of layer 1 0.41, two seeds 0.50 to 0.56). {SEEDS}"
    )


def test_what_lies_among_the_seeds_is_called_no_difference():
    verdict = judge(Agreement((0.53, 0.9), (1.0, 1.0), 0.45, 0.1), SPREAD, SEEDS)
    assert "differences beyond seeds: 0 of 3" in draw_verdict(verdict)
    assert write_verdict(verdict).startswith("differences beyond seeds: 0 of 3. Two seeds")


def test_coherence_and_perplexity_count_as_differences():
    judged = SimpleNamespace(a=SimpleNamespace(name="point perplexity"), difference=50.0, gap=40.0, exceeds_seeds=True)
    verdict = judge(FAR, SPREAD, SEEDS, judged)
    assert (len(verdict.excesses), verdict.n_figures) == (2, 4)
    assert "point perplexity differs by 50, two seeds by up to 40" in write_verdict(verdict)


def test_without_a_second_seed_the_badge_says_so_and_the_fold_how_to_get_one():
    verdict = judge(Agreement((0.1,), (0.1,), 0.1, 0.1), None, describe_seeds([], 8, alone=False))
    html = draw_verdict(verdict)
    assert ">no second seed yet</span></summary>" in html
    assert "train run 8 once more with another seed" in html.partition("</summary>")[2]
    assert "beyond seeds" not in html
    assert "looking for other seeds" in draw_verdict(judge(FAR, None, ""))
    assert "<details" not in draw_verdict(judge(FAR, None, ""))


def test_two_seeds_of_one_model_are_chance_however_far_apart():
    now = Agreement((0.1, 0.1), (1.0, 1.0), 0.1, 0.1)
    html = draw_verdict(judge(now, SPREAD, describe_seeds(["3 and 5"], 3, alone=True)))
    assert ">two seeds of one model</span></summary>" in html
    assert "differ only in their seed, so every difference here is chance" in html
    assert "<li>" not in html
    assert 'data-do="seeds"' in html


def test_perplexities_are_told_beside_those_of_seeds():
    def run(number, point):
        plan = {"minibatches": 9, "protocol": {"documents": 30}}
        fields = {"number": number, "minibatch": 9, "options": plan, "averaged_perplexity": None}
        return SimpleNamespace(**fields, point_perplexity=point, corpus_name="garden")

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
