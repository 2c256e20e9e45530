"""The plan of a run is a pure function of counts, and keeps watching cheap."""

import json
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topiary.app.jobs import estimates, plan
from topiary.app.jobs.plan import Averaging, Effort, RunOptions, choose_protocol

TABLE_1 = Effort(200, 90.0, 51.1, 275_456, 266_500, 224)  # 128-64-32 on 20 Newsgroups
efforts = st.builds(
    Effort,
    documents=st.integers(1, 5000),
    sweeps=st.floats(1, 300),
    tokens_per_document=st.floats(1, 5000),
    snapshot_numbers=st.integers(10, 10**7),
    checkpoint_numbers=st.integers(10, 10**8),
    widths=st.integers(1, 2000),
    others=st.floats(0, 10**9),
    labelled=st.integers(0, 10**5),
    asking=st.floats(1, 10**6),
)


def make(minibatches=3500, effort=TABLE_1, train=11_284, test=7_502, validation=None, **order):
    return plan.make_plan(
        RunOptions(minibatches=minibatches, **order),
        effort,
        train_documents=train,
        test_documents=test,
        validation_documents=validation,
    )


def cost(made, effort):
    """Token draws of everything but training, as the plan counts them."""

    def sweeps(length):
        return length.burn_in + length.collect

    documents = len(made.evaluations) * made.curve_documents * sweeps(made.curve_sweeps)
    placed = made.placed_documents + (len(made.snapshots) - 1) * made.placed_each
    documents += placed * sweeps(plan.PLACE_SWEEPS)
    written = len(made.snapshots) * plan.SNAPSHOT_DRAWS * effort.snapshot_numbers
    written += len(made.checkpoints) * plan.CHECKPOINT_DRAWS * effort.checkpoint_numbers
    predicted = len(made.predictions) * made.predicted_documents * plan.PREDICTION_DRAWS * effort.asking
    return documents * effort.tokens_per_document + written + predicted


def test_with_validation_documents_the_curve_is_of_these_and_test_documents_are_judged_once():
    made = make(validation=375, paper_point=True)
    assert (made.curve_documents, made.test_documents, made.paper_documents) == (375, 978, 7_502)
    assert (make().curve_documents, make().test_documents) == (978, 0)
    assert not make(validation=0).evaluations, "they have nothing to hold out, and the test is not looked at instead"
    assert make(validation=0).test_documents == 978


def test_protocols_say_which_part_they_are_of_and_those_of_earlier_runs_are_of_test_documents():
    order = RunOptions(
        minibatches=9, protocol=choose_protocol(50.0, 9, part="validation"), test_protocol=choose_protocol(50.0, 8)
    )
    assert RunOptions.from_json(json.loads(json.dumps(order.to_json()))) == order
    row = SimpleNamespace(options=order.to_json())
    assert plan.find_part(row) == "validation"
    assert plan.describe_protocol(row) == "20 + 20 sweeps, 9 validation documents, 80% of each observed"
    assert plan.describe_protocol(row, at_end=True) == "20 + 20 sweeps, 8 test documents, 80% of each observed"
    del row.options["protocol"]["part"], row.options["test_protocol"]
    assert plan.find_part(row) == "test"
    assert plan.describe_protocol(row) == "20 + 20 sweeps, 9 test documents, 80% of each observed"
    assert plan.find_part(SimpleNamespace(options={})) == "test"
    scored = [choose_protocol(50.0, 9, part=part, has_scored=True).observed for part in ("validation", "test")]
    assert scored == [0.8, None], "what a corpus holds out is of its test documents"


@given(st.integers(1, 10**5), efforts, st.integers(1, 10**6), st.integers(0, 10**5), st.booleans())
@settings(max_examples=80)
def test_the_same_counts_make_the_same_plan_and_it_stays_within_the_run(minibatches, effort, train, test, averaged):
    made = make(minibatches, effort, train, test, averaged=averaged)
    assert made == make(minibatches, effort, train, test, averaged=averaged)
    for times in (made.reports, made.snapshots, made.checkpoints):
        assert minibatches in times
        assert min(times) >= 1
        assert max(times) == minibatches
    assert {1, minibatches} <= made.reports & made.snapshots
    assert (1 in made.evaluations) == (test > 0)
    assert (1 in made.predictions) == (minibatches in made.predictions) == (effort.labelled > 0)
    assert made.predicted_documents <= effort.labelled
    assert all(made.is_due(t) for t in made.predictions)
    assert made.curve_documents <= test
    assert made.paper_documents == 0
    assert 1 <= made.placed_each <= made.placed_documents <= train
    assert len(made.snapshots) < 190
    assert len(made.reports) < 450


@given(
    st.integers(1000, 10**5), st.integers(100, 1000), st.integers(30, 200), st.floats(50, 500), st.integers(0, 20_000)
)
@settings(max_examples=80)
def test_watching_costs_less_than_20_percent_of_training_and_a_few_seconds(
    minibatches, documents, sweeps, tokens, test
):
    effort = TABLE_1._replace(documents=documents, sweeps=float(sweeps), tokens_per_document=tokens)
    effort = effort._replace(labelled=test, asking=640.0)  # 128-64-32
    made = make(minibatches, effort, test=test)
    fixed = 3 * plan.LEAST_DRAWS + plan.LEAST_CURVE
    assert cost(made, effort) < 0.20 * effort.count_draws(minibatches) + fixed


@given(st.integers(1, 10**5), efforts, efforts)
@settings(max_examples=80)
def test_what_runs_of_one_corpus_are_judged_by_does_not_depend_on_the_run(minibatches, one, other):
    other = other._replace(tokens_per_document=one.tokens_per_document, labelled=one.labelled)
    first, second = make(3500, one), make(minibatches, other)
    assert (first.curve_documents, first.curve_sweeps) == (second.curve_documents, second.curve_sweeps)
    assert first.predicted_documents == second.predicted_documents


def test_a_run_whose_work_is_an_encoder_is_watched_as_one_whose_work_is_sweeps():
    light = Effort(200, 1.0, 60.0, 2_000_000, 3_000_000, 224, others=0.0)  # DATM, counts=encoder
    assert len(make(3500, light._replace(others=800_000.0)).snapshots) >= 15 > len(make(3500, light).snapshots)
    large = Effort(200, 8.0, 100.0, 35_000_000, 90_000_000, 960, others=10_000_000.0)  # sDATM, 33,420 words
    assert len(make(3500, large).snapshots) > 10
    assert len(make(3500, large).checkpoints) > 2


def test_a_short_run_of_a_small_model_is_seen_growing():
    small = Effort(200, 30.0, 100.0, 330_000, 900_000, 56)
    made = make(300, small, train=3600, test=400)
    assert len(made.snapshots) > 15
    assert len(made.evaluations) > 10


def test_evaluation_costs_less_than_a_tenth_at_the_settings_of_table_1():
    made = make()
    sweeps = made.curve_sweeps.burn_in + made.curve_sweeps.collect
    assert len(made.evaluations) * made.curve_documents * sweeps < 0.1 * 3500 * 200 * 90
    assert made.curve_documents == int(50_000 / 51.1)
    assert len(made.evaluations) > 70
    assert len(made.snapshots) > 100
    assert len(made.checkpoints) > 40


@given(st.integers(1, 10**5), efforts, st.integers(1, 10**5))
@settings(max_examples=80)
def test_the_live_curve_takes_no_more_than_its_share_of_training(minibatches, effort, test):
    made = make(minibatches, effort, test=test)
    sweeps = made.curve_sweeps.burn_in + made.curve_sweeps.collect
    cost_of_curve = len(made.evaluations) * made.curve_documents * sweeps * effort.tokens_per_document
    allowed = max(0.05 * effort.count_draws(minibatches), plan.LEAST_CURVE)
    assert cost_of_curve <= allowed or made.evaluations == {1, minibatches}


def test_the_share_of_the_live_curve_is_used():
    effort = TABLE_1._replace(sweeps=18.0)  # a run long enough for its share to be more than the least
    made = make(effort=effort)
    sweeps = made.curve_sweeps.burn_in + made.curve_sweeps.collect
    cost_of_curve = len(made.evaluations) * made.curve_documents * sweeps * effort.tokens_per_document
    assert 0.02 < cost_of_curve / effort.count_draws(3500) <= 0.05


def test_the_curve_of_a_short_run_has_a_dozen_points_and_no_more():
    news = Effort(200, 1.0, 180.0, 640_000, 900_000, 64, first=0, swept=2003)  # of five seconds: 300 sweeps
    made = make(300, news, train=2003, test=111, validation=111)
    assert 10 <= len(made.evaluations) <= 12
    assert len(made.evaluations) * made.curve_documents * 40 * 180.0 < 0.1 * news.count_draws(300)


def test_a_run_of_twenty_seconds_has_a_dozen_points_the_first_ones_early():
    news = Effort(200, 24.0, 127.0, 1_500_000, 1_600_000, 224, others=520_000.0)  # about eight mini-batches a second
    made = make(160, news, train=11_314, test=7_532)
    assert len(made.evaluations) >= 12
    assert sum(t <= 40 for t in made.evaluations) >= 4
    assert sum(t > 160 * 2 / 3 for t in made.evaluations) >= estimates.LEAST_POINTS, "enough to tell whether it falls"
    assert made.curve_documents == 393


def test_the_last_point_of_the_curve_is_of_the_same_documents_and_sweeps_as_the_first():
    made = make(paper_point=True)
    assert {1, 3500} <= made.evaluations
    assert made.curve_sweeps == (20, 20, 1)
    assert make(test=90).curve_documents == 90, "all of a small corpus"


def test_stored_options_bring_their_protocol():
    protocol = choose_protocol(51.1, 7_502, has_scored=True)
    order = RunOptions(minibatches=700, protocol=protocol)
    assert RunOptions.from_json(json.loads(json.dumps(order.to_json()))) == order
    assert str(protocol) == "20 + 20 sweeps, 978 test documents, the words held out by the corpus"
    assert str(choose_protocol(160.0, 7_502)) == "20 + 20 sweeps, 312 test documents, 80% of each observed"


def test_the_curve_is_dense_at_the_start():
    assert {1, 2, 5, 10, 20, 50, 100, 3500} <= make().evaluations


def test_a_corpus_without_test_documents_is_not_evaluated():
    made = make(test=0, averaged=True)
    assert made.evaluations == frozenset()
    assert made.averaging is None
    assert made.curve_documents == 0


def test_the_averaged_protocol_is_that_of_table_1_and_keeps_its_shares_in_shorter_runs():
    assert make(3500, averaged=True).averaging == Averaging(2001, 3500)
    assert make(7000, averaged=True).averaging == Averaging(2001, 3500)
    assert make(700, averaged=True).averaging == Averaging(401, 700)
    assert make(700, averaged=True, burn_in=100, samples=50).averaging == Averaging(101, 150)
    assert make(700, averaged=True, burn_in=0, samples=50).averaging == Averaging(1, 50)
    assert make(3500).averaging is None


def test_a_burn_in_of_none_is_stored_as_what_it_is():
    order = RunOptions(minibatches=700, averaged=True, burn_in=0, samples=50)
    assert RunOptions.from_json(order.to_json()) == order
    usual = RunOptions(minibatches=700, averaged=True)
    assert RunOptions.from_json(usual.to_json()) == usual


def test_the_papers_point_perplexity_is_made_on_demand_on_all_test_documents():
    made = make(10, paper_point=True)
    assert made.paper_documents == 7502
    assert made.curve_documents == make(10).curve_documents < 1000
    assert make(10).paper_documents == 0


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"minibatches": 0}, "minibatches must be a whole number of at least 1; got 0"),
        ({"minibatches": 10, "threads": 0}, "threads must be a whole number of at least 1; got 0"),
        ({"minibatches": 2.5}, "minibatches must be a whole number of at least 1; got 2.5"),
        (
            {"minibatches": 10, "averaged": True, "burn_in": 10},
            "burn-in of the averaged protocol must be less than the 10",
        ),
        ({"minibatches": 10, "samples": 0}, "samples must be a whole number of at least 1; got 0"),
    ],
)
def test_an_order_that_cannot_be_is_refused_in_a_sentence(given, sentence):
    with pytest.raises(ValueError, match=sentence):
        RunOptions(**given)


def test_an_order_survives_json_and_ignores_keys_of_others():
    order = RunOptions(minibatches=7, threads=2, averaged=True, burn_in=3, samples=2, paper_point=True)
    assert RunOptions.from_json(order.to_json() | {"colour": "blue"}) == order


def test_ladder_and_spread_hold_both_ends():
    assert sorted(plan.spread_densely(100, 10)) == [1, 2, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100]
    assert sorted(plan.spread_evenly(10, 3)) == [1, 4, 8, 10]
    assert plan.spread_densely(1, 70) == plan.spread_evenly(1, 70) == frozenset({1})


def test_a_very_short_run_has_a_curve_of_ten_points_where_that_is_cheap():
    small = plan.Effort(40, 20.0, 28.0, 2000, 4000, 14)
    made = make(60, small, train=240, test=60)
    assert len(made.evaluations) >= 10
    costly = plan.Effort(40, 20.0, 40_000.0, 2000, 4000, 14)
    assert len(make(60, costly, train=240, test=60).evaluations) < 10


def test_the_label_error_is_a_curve_also_where_sweeps_are_few():
    reviews = Effort(200, 30.0, 94.0, 1_500_000, 4_000_000, 224, others=920_000.0, labelled=1_968, asking=640.0)
    made = make(1500, reviews, train=2_032, test=1_968)
    assert made.predicted_documents == 500
    assert len(made.predictions) > 25
