"""One figure stands for a run, and every estimate says what it is of."""

from types import SimpleNamespace

import pytest

from app.jobs.estimates import estimates, headline, in_short, protocol_of

PROTOCOL = {"documents": 312, "burn_in": 20, "collect": 20, "thin": 1, "observed": 0.8}


def run(**fields):
    known = {"minibatch": 200, "options": {"minibatches": 200, "protocol": PROTOCOL}}
    return SimpleNamespace(**({"point_perplexity": None, "averaged_perplexity": None} | known | fields))


@pytest.mark.parametrize(
    ("point", "mean", "averaged", "kind", "value"),
    [
        (2044.5, 1900.1, 1824.5, "averaged_perplexity", 1824.5),
        (2044.5, 1900.1, None, "mean_perplexity", 1900.1),
        (2044.5, None, None, "point_perplexity", 2044.5),
        (2044.5, float("nan"), None, "point_perplexity", 2044.5),
        (None, None, 0.0, "averaged_perplexity", 0.0),
    ],
)
def test_the_averaged_estimate_stands_for_a_run_else_the_mean_topics_else_the_point(point, mean, averaged, kind, value):
    row = run(point_perplexity=point, averaged_perplexity=averaged)
    best = headline(row, {"mean_perplexity": mean})
    assert (best.kind, best.value, best.lower_is_better) == (kind, value, True)


def test_a_run_that_was_not_judged_has_no_figure():
    assert headline(run(), {}) is None


def test_every_estimate_has_a_name_of_its_own_and_says_what_it_is_of():
    row = run(point_perplexity=3.0, averaged_perplexity=1.0)
    found = estimates(row, {"mean_perplexity": 2.0})
    assert [each.name for each in found] == ["averaged perplexity", "perplexity of the mean topics", "point perplexity"]
    assert "86 samples, those of mini-batches 115 to 200" in found[0].protocol  # 4/7 of 200 are the burn-in
    assert "mean over the last 20 samples" in found[1].protocol
    assert "those of the last step alone. 20 + 20 sweeps, 312 test documents, 80 % of each" in found[2].protocol


def test_a_run_of_cells_that_are_no_counts_is_judged_by_its_log_likelihood():
    best = headline(run(), {"mean_loglik": -0.4, "heldout_loglik": -0.5})
    assert (best.name, best.lower_is_better) == ("log-likelihood of the mean topics", False)
    assert "higher is better" in best.protocol


@pytest.mark.parametrize(
    ("point", "averaged", "latest", "said"),
    [
        (812.34, None, {}, "point perplexity 812.3 (20 + 20 sweeps, 312 test documents, 80 % of each observed), T"),
        (
            812.3,
            None,
            {"mean_perplexity": 11_799.9},
            "perplexity of the mean topics 11,800 (20 + 20 sweeps, 312 test documents, 80 % of each observed); "
            "point perplexity T",
        ),
        (812.3, 700.0, {}, "averaged perplexity 700.0 (86 samples, all test documents); point perplexity T"),
    ],
)
def test_the_line_about_a_run_names_its_figure_as_pages_do_and_whose_curve_falls(point, averaged, latest, said):
    row = run(point_perplexity=point, averaged_perplexity=averaged)
    best = headline(row, latest)
    assert in_short(row, best, "T") == said
    assert in_short(row, best, "") == said.removesuffix(", T").removesuffix("; point perplexity T")


def test_a_log_likelihood_is_written_with_three_digits_and_its_sign():
    assert str(headline(run(), {"mean_loglik": -0.41234})) == "log-likelihood of the mean topics -0.412"


def test_samples_are_counted_as_far_as_they_have_come():
    assert "5 samples, those of mini-batches 115 to 119" in protocol_of(run(minibatch=119), "averaged_perplexity")
