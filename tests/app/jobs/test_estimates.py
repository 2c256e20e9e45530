"""One figure stands for a run, and every estimate says what it is of."""

from types import SimpleNamespace

import numpy as np
import pytest
from databases import open_filled
from hypothesis import given
from hypothesis import strategies as st
from store_samples import append_points, claimed_run

from topiary.app.jobs.estimates import (
    GAIN,
    KINDS,
    LEAST_POINTS,
    SMOOTH,
    WINDOW,
    choose_headline,
    describe_estimate,
    describe_trend,
    find_burn_in,
    find_overfitting,
    find_plateau,
    list_estimates,
    read_all_latest,
    read_latest,
    summarize_estimate,
)
from topiary.app.live.feed import Feed
from topiary.store.points import Point

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
    best = choose_headline(row, {"mean_perplexity": mean})
    assert (best.kind, best.value, best.lower_is_better) == (kind, value, True)


def test_a_run_that_was_not_judged_has_no_figure():
    assert choose_headline(run(), {}) is None


def test_every_estimate_has_a_name_of_its_own_and_says_what_it_is_of():
    row = run(point_perplexity=3.0, averaged_perplexity=1.0)
    found = list_estimates(row, {"mean_perplexity": 2.0})
    assert [each.name for each in found] == ["averaged perplexity", "perplexity of the mean topics", "point perplexity"]
    assert "86 samples, those of mini-batches 115 to 200" in found[0].protocol  # 4/7 of 200 are the burn-in
    assert "mean over the last samples" in found[1].protocol
    assert "those of the last step alone. 20 + 20 sweeps, 312 test documents, 80% of each" in found[2].protocol


def test_the_estimates_of_a_run_with_validation_documents_say_which_part_they_are_of():
    options = {"minibatches": 200, "protocol": PROTOCOL | {"part": "validation"}, "test_protocol": PROTOCOL}
    latest = {"mean_perplexity": 2.0, "test_mean_perplexity": 2.5}
    row = run(point_perplexity=3.0, options=options, state="finished")
    found = list_estimates(row, latest)
    assert [each.name for each in found] == [
        *("test perplexity of the mean topics", "validation perplexity of the mean topics"),
        "validation point perplexity",
    ]
    assert [each.protocol.split(", ")[-2] for each in found] == [
        "312 test documents",
        *["312 validation documents"] * 2,
    ]
    assert summarize_estimate(row, found[0], "still falling").endswith("); validation point perplexity still falling")
    assert all(KINDS[each.name] == each.kind for each in found)
    for state in ("queued", "running"):
        assert choose_headline(run(options=options, state=state), latest).kind == "mean_perplexity"
    averaged = run(options=options, state="finished", averaged_perplexity=1.0)
    assert choose_headline(averaged, latest).name == "averaged perplexity"


def test_a_run_of_cells_that_are_no_counts_is_judged_by_its_log_likelihood():
    best = choose_headline(run(), {"mean_loglik": -0.4, "heldout_loglik": -0.5})
    assert (best.name, best.lower_is_better) == ("log-likelihood of the mean topics", False)
    assert "higher is better" in best.protocol


@pytest.mark.parametrize(
    ("point", "averaged", "latest", "said"),
    [
        (812.34, None, {}, "point perplexity 812.3 (20 + 20 sweeps, 312 test documents, 80% of each observed), T"),
        (
            812.3,
            None,
            {"mean_perplexity": 11_799.9},
            "perplexity of the mean topics 11,800 (20 + 20 sweeps, 312 test documents, 80% of each observed); "
            "point perplexity T",
        ),
        (812.3, 700.0, {}, "averaged perplexity 700.0 (86 samples, all test documents); point perplexity T"),
    ],
)
def test_the_line_about_a_run_names_its_figure_as_pages_do_and_whose_curve_falls(point, averaged, latest, said):
    row = run(point_perplexity=point, averaged_perplexity=averaged)
    best = choose_headline(row, latest)
    assert summarize_estimate(row, best, "T") == said
    assert summarize_estimate(row, best, "") == said.removesuffix(", T").removesuffix("; point perplexity T")


def test_a_log_likelihood_is_written_with_three_digits_and_its_sign():
    assert str(choose_headline(run(), {"mean_loglik": -0.41234})) == "log-likelihood of the mean topics -0.412"


def test_samples_are_counted_as_far_as_they_have_come():
    assert "5 samples, those of mini-batches 115 to 119" in describe_estimate(run(minibatch=119), "averaged_perplexity")


STEPS = (1, 2, 5, 10, *range(20, 601, 20))


def curve(level_from, seed=0, noise=0.003):
    """Falls by 30 % on the way to ``level_from`` (a power law, as real ones do), and not after that."""
    rng = np.random.default_rng(seed)
    values = 1700 * (1 + 0.3 * (1 - np.minimum(STEPS, level_from) / level_from) ** 1.5)
    return list(zip(STEPS, values * np.exp(noise * rng.standard_normal(len(STEPS))), strict=True))


@pytest.mark.parametrize("seed", range(20))
def test_a_level_curve_is_told_where_it_became_level_and_a_falling_one_is_not(seed):
    since = find_plateau(curve(300, seed))
    assert since is not None
    assert 180 <= since <= 400
    assert find_plateau(curve(600, seed)) is None
    assert describe_trend(curve(600, seed)) == "still falling"
    assert describe_trend(curve(300, seed)) == f"no longer improving since step {since:,}"


def test_a_curve_that_rises_again_improves_no_longer():
    risen = [(step, 1000 + abs(step - 200)) for step in STEPS]
    assert find_plateau(risen) is not None
    assert find_plateau(risen) <= 200


def test_a_level_curve_that_begins_to_fall_again_is_falling():
    again = [(step, 1000.0 if step < 450 else 990.0) for step in STEPS]
    assert find_plateau([point for point in again if point[0] < 450]) is not None
    assert find_plateau(again) is None
    assert describe_trend(again) == "still falling"


@pytest.mark.parametrize("few", [[], [(1, 900.0)], [(t, 900.0) for t in (1, 2, 5, 10, 15, 18)]])
def test_few_points_say_nothing(few):
    assert find_plateau(few) is None
    assert describe_trend(few) == ""


def test_what_is_not_a_number_is_left_out():
    known = curve(300)
    holes = [(step + 1, float(hole)) for (step, _), hole in zip(known, ["nan", "inf"] * 20, strict=False)]
    assert find_plateau(sorted(known + holes)) == find_plateau(known)
    assert find_burn_in(sorted(known + holes)) == find_burn_in(known)


def test_a_run_has_burnt_in_where_its_curve_is_first_near_the_lowest_value():
    assert find_burn_in([(1, 2000.0), (5, 1021.0), (9, 1020.0), (10, 1000.0), (12, 1030.0)]) == 9
    assert find_burn_in([]) is None


VALLEY = [(step, 1000.0 + abs(step - 200) / 5.0) for step in range(10, 410, 10)]


def test_a_curve_that_has_risen_by_more_than_two_percent_overfits_since_its_lowest_mean():
    assert find_overfitting([point for point in VALLEY if point[0] <= 310]) is None  # 1 to 2 % above 1,000
    assert find_overfitting(VALLEY) == 200
    assert find_overfitting([*VALLEY, (410, 1000.0), (420, 1000.0), (430, 1000.0)]) is None, "it fell again"


def test_a_single_high_point_and_a_short_curve_do_not_overfit():
    level = [(step, 1000.0) for step in range(10, 210, 10)]
    assert find_overfitting([*level, (210, 1050.0)]) is None
    assert find_overfitting([*level, (210, 1050.0), (220, 1050.0), (230, 1050.0)]) == 190
    assert find_overfitting([(1, 500.0), (2, 600.0), (3, 700.0), (4, 800.0), (5, 900.0)]) is None


def test_a_run_with_labels_overfits_only_once_its_label_error_no_longer_falls():
    falling = [(step, 50.0 - step / 10.0) for step, _ in VALLEY]
    assert find_overfitting(VALLEY, falling) is None
    turned = [(step, 20.0 + abs(step - 150) / 10.0) for step, _ in VALLEY]
    assert find_overfitting(VALLEY, turned) == 150
    assert find_overfitting(falling, turned) is None, "the words are explained ever better"
    unchanging = [(step, 90.0) for step, _ in VALLEY]
    assert find_overfitting(VALLEY, unchanging) == 390, "no step is better than the last"


@given(st.lists(st.tuples(st.integers(1, 1000), st.floats(1, 1e6)), max_size=60))
def test_the_answer_is_a_step_of_the_curve_and_no_later_point_makes_it_earlier_than_it_could_be_known(points):
    known = sorted(dict(points).items())
    since = find_plateau(known)
    assert since is None or since in [step for step, _ in known]
    assert find_plateau([(10 * step, 7 * value) for step, value in known]) == (None if since is None else 10 * since)


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
    assert find_plateau(points) == by_definition(points)


@pytest.fixture
def db(tmp_path):
    opened = open_filled(tmp_path / "store.db")
    yield opened
    opened.close()


def test_the_newest_value_of_each_curve_is_read_for_one_run_and_for_all_and_by_the_feed(db):
    judged, bare = claimed_run(db), claimed_run(db)
    written = [
        Point(t, 10 * t, 0.1, name, 0, value)
        for t, name, value in ((1, "mean_perplexity", 9.0), (3, "mean_perplexity", 7.0), (3, "point_perplexity", 8.0))
    ]
    append_points(db, judged.number, judged.attempt, written)
    assert read_latest(db, judged.number) == {"mean_perplexity": 7.0}
    assert read_latest(db, bare.number) == {}
    assert read_all_latest(db) == {judged.number: {"mean_perplexity": 7.0}}
    feed = Feed(db)
    feed.look_now()
    feed.read_sparks([judged.number, bare.number])
    assert (feed.get_latest_values(judged.number), feed.get_latest_values(bare.number)) == (
        {"mean_perplexity": 7.0},
        {},
    )
    feed.stop()
