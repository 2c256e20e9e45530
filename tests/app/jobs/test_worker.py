"""The worker, in this process: what it writes, and that interruptions change nothing of it."""

import dataclasses

import numpy as np
import pytest
from process_samples import SMALL, Written, bury, kill_after, more_documents, order, small_corpus, written
from store_samples import damage_rows, flip_checkpoint

from topiary.app.analysis.shares import find_shares
from topiary.app.jobs import (
    claim,
    estimates,
    forks,
    launcher,
    map_work,
    new_run,
    process,
    records,
    run_rules,
    trainer,
    training,
    worker,
)
from topiary.app.jobs.estimates import read_concentrations, read_latest
from topiary.app.jobs.load_corpus import load_corpus
from topiary.app.jobs.process import find_state
from topiary.app.jobs.run_rules import RunRequest
from topiary.engine import models, settings
from topiary.engine.hierarchy import evaluate
from topiary.engine.hierarchy.effects import present_hierarchy
from topiary.engine.hierarchy.topics import unpack_topics
from topiary.store import checkpoints, corpora, corpus_writer, events, points, runs, snapshots
from topiary.store.errors import Conflict, DamagedRow, LostClaim, StoreError
from topiary.store.points import Point

pytestmark = pytest.mark.usefixtures("seldom")
TINY = {"layers": "5-3", "batch_size": "20", "burn_in": "1", "collect": "1"}  # of models with an encoder


def names(db, run):
    return {point.name for point in points.read_points(db, run)}


def score_checkpoint(db, row):
    """Return the point perplexity of the topics of the checkpoint on all test documents, by the engine alone."""
    corpus, module = load_corpus(db, corpora.get_corpus(db, row.corpus)), models.load(row.model)
    kernel = module.build(settings.from_json(module.Config, row.settings), training.collect_facts(corpus))
    saved = checkpoints.load_checkpoint(db, row.number)
    run = training.Training(corpus, kernel, module.State, row.seed)
    state = run.unpack(saved.minibatch, saved.arrays).state
    return evaluate.evaluate_point(kernel, row.seed, state, *corpus.split_tokens(run.test), evaluate.SHORT)


def test_a_run_writes_points_snapshots_and_a_checkpoint_and_finishes(db):
    small_corpus(db)
    run = order(db).number
    trainer.train_run(db, run)
    row = runs.get_run(db, run)
    assert row.state == "finished"
    assert row.minibatch == row.planned == 60
    assert row.point_perplexity == score_checkpoint(db, row)
    curve = points.read_curve(db, run, "point_perplexity")
    assert curve[-1] == (60, row.point_perplexity)
    about = "20 + 20 sweeps, 30 test documents, 80% of each observed"
    best = estimates.choose_headline(row, read_latest(db, run))
    assert best.kind == "mean_perplexity"
    assert row.message.startswith(f"finished: perplexity of the mean topics {best.value:,.1f} ({about})")
    assert row.message.endswith(estimates.describe_trend(curve))
    assert {point.value for point in points.read_points(db, run) if point.name == "evaluation_documents"} == {30}
    assert row.seconds > 0
    assert row.tokens_per_second is not None
    assert row.tokens_per_second > 0
    assert row.process == process.identify_process()
    assert names(db, run) == {
        "step_size_mean", "step_size_low", "step_size_high", "active_topics", "share_entropy", "r_sum",
        "tokens_per_second",
        "point_perplexity", "mean_perplexity", "evaluation_documents",
    }  # fmt: skip
    saved = checkpoints.load_checkpoint(db, run)
    assert saved is not None
    assert saved.minibatch == 60
    kept = snapshots.list_snapshots(db, run)
    assert kept[0].minibatch == 1
    assert kept[-1].minibatch == 60


def test_the_papers_evaluation_is_a_figure_of_its_own_and_never_the_point_perplexity(file):
    plain, paper = (
        new_run.create_run(file, "small", model="dlda", texts=SMALL, minibatches=10, paper_point=each).number
        for each in (False, True)
    )
    for run in (plain, paper):
        trainer.train_run(file, run)
    one, two = runs.get_run(file, plain), runs.get_run(file, paper)
    assert one.point_perplexity == two.point_perplexity
    ((at, value),) = points.read_curve(file, paper, "test_perplexity")
    assert at == 10
    assert value != two.point_perplexity
    assert two.message == f"{one.message}; test perplexity (600 sweeps, all test documents) {value:,.1f}"
    assert points.read_curve(file, plain, "test_perplexity") == []


def test_a_snapshot_holds_topics_step_sizes_and_examples_of_every_topic(trained):
    arrays = snapshots.load_snapshot(trained, snapshots.list_snapshots(trained, 1)[-1].number)
    assert arrays["phi.0"].shape == (40, 6)
    assert arrays["phi.1"].shape == (6, 3)
    assert arrays["r"].shape == (3,)
    for layer, width in enumerate((6, 3)):
        np.testing.assert_allclose(arrays[f"phi.{layer}"].sum(axis=0), 1, rtol=1e-5)
        assert arrays[f"step.{layer}"].shape == (width,)
        documents, weights = arrays[f"top_documents.{layer}"], arrays[f"top_weights.{layer}"]
        assert documents.shape == weights.shape == (width, 20)
        assert np.all(documents[documents >= 0] % 4 != 3), "examples are training documents"
        assert np.all(np.diff(weights, axis=1) <= 0)
        assert np.all((weights >= 0) & (weights <= 1 + 1e-6))


def test_a_snapshot_says_how_coherent_its_topics_are_and_which_words_are_everywhere(trained):
    row = snapshots.list_snapshots(trained, 1)[-1]
    arrays = snapshots.load_snapshot(trained, row.number)
    corpus = load_corpus(trained, corpora.get_corpus(trained, 1))
    np.testing.assert_array_equal(arrays["everywhere"], records.find_common_words(corpus))
    for layer, values in enumerate(records.measure_npmi(corpus, present_hierarchy(unpack_topics(arrays, shown=True)))):
        np.testing.assert_allclose(arrays[f"npmi.{layer}"], values, atol=1e-6)
        assert values.max() > 0
        assert f"spread.{layer}" not in arrays  # too few documents are placed in so short a run


def test_examples_are_about_the_subject_of_their_topic(file):
    run = order(file, minibatches=120).number
    trainer.train_run(file, run)
    arrays = snapshots.load_snapshot(file, snapshots.list_snapshots(file, run)[-1].number)
    clear = 0
    for topic in range(6):
        by_subject = arrays["phi.0"][:, topic].reshape(4, 10).sum(axis=1)
        if by_subject.max() > 0.8:
            clear += 1
            assert arrays["top_documents.0"][topic, 0] % 4 == by_subject.argmax()
    assert clear >= 2


def test_step_sizes_are_reported_for_every_layer_and_for_r(trained):
    last = {(p.name, p.layer): p.value for p in points.read_points(trained, 1) if p.minibatch == 60}
    for layer in (1, 2, 3):
        assert 0 < last["step_size_low", layer] <= last["step_size_mean", layer] <= last["step_size_high", layer] * 1.5
    assert 1 <= last["active_topics", 1] <= 6


def test_the_averaged_protocol_is_reported_as_it_accumulates(file):
    run = order(file, averaged=True).number
    trainer.train_run(file, run)
    averaged = [p.minibatch for p in points.read_points(file, run) if p.name == "averaged_perplexity"]
    assert averaged[0] == 60 * 4 // 7 + 1
    assert averaged[-1] == 60
    row = runs.get_run(file, run)
    assert row.averaged_perplexity is not None
    assert 1 < row.averaged_perplexity < 80


@pytest.mark.parametrize("learns", ["no", "yes"])
def test_batch_gibbs_is_trained_and_resumed_like_the_others(file, learns, monkeypatch):
    monkeypatch.setattr(claim, "BEAT_SECONDS", 0.0)
    texts = {"inference": "gibbs", "learn_concentrations": learns}
    whole, broken = (order(file, minibatches=20, **texts).number for _ in range(2))
    trainer.train_run(file, whole)
    assert kill_after(file, broken, 30)
    trainer.train_run(file, runs.requeue_run(file, bury(file, broken)).number)
    assert written(file, broken) == written(file, whole)
    learnt = read_concentrations(file, runs.get_run(file, whole))
    assert list(learnt) == (["eta_1", "eta_2", "gamma0", "c0"] if learns == "yes" else [])


def test_a_run_watches_and_ends_by_validation_documents_and_is_judged_on_test_documents_at_the_end(file, monkeypatch):
    monkeypatch.setattr(estimates, "LEAST_SWEEPS", 30)
    found = {}
    for name, strange in (("usual", False), ("strange", True)):
        small_corpus(file, name=name, validation=True, strange=strange)
        made = new_run.create_run(file, name, model="dlda", texts=SMALL | {"inference": "auto"}, until="good")
        trainer.train_run(file, made.number)
        row = runs.get_run(file, made.number)
        assert row.state == "finished"
        found[name] = row
    usual, strange = found["usual"], found["strange"]
    for curve in ("point_perplexity", "mean_perplexity"):
        assert points.read_curve(file, usual.number, curve) == points.read_curve(file, strange.number, curve)
    assert usual.minibatch == strange.minibatch < 300, "what is in test documents ends no run"
    for row in (usual, strange):
        ((at, value),) = points.read_curve(file, row.number, "test_mean_perplexity")
        best = estimates.choose_headline(row, read_latest(file, row.number))
        assert (at, best.kind, best.value) == (row.minibatch, "test_mean_perplexity", value)
        about = "20 + 20 sweeps, 15 test documents, 80% of each observed"
        said = f"finished: test perplexity of the mean topics {value:,.1f} ({about})"
        assert row.message.startswith(f"{said}; validation point perplexity no longer improving")
        assert best.protocol.endswith(about)
        running = dataclasses.replace(row, state="running")
        before = estimates.choose_headline(running, read_latest(file, row.number))
        assert before.name == "validation perplexity of the mean topics"
        assert before.protocol.endswith("15 validation documents, 80% of each observed")
    usual_value, strange_value = (read_latest(file, row.number)["test_mean_perplexity"] for row in found.values())
    assert strange_value < 0.5 * usual_value, "those of the usual corpus are of a subject that training lacks"


def test_the_figure_on_test_documents_is_of_a_run_that_has_ended_and_made_again_by_one_that_goes_on(file, monkeypatch):
    small_corpus(file, name="three", validation=True)
    whole, run = (order(file, minibatches=20, corpus="three", inference="gibbs").number for _ in range(2))
    trainer.train_run(file, whole)
    worked = claim.Claim.record_minibatch

    def ask(claim, minibatch, *rest):
        worked(claim, minibatch, *rest)
        if minibatch == 10:
            runs.send_request(file, run, "pause")

    monkeypatch.setattr(claim.Claim, "record_minibatch", ask)
    monkeypatch.setattr(claim, "BEAT_SECONDS", 0.0)
    trainer.train_run(file, run)
    monkeypatch.setattr(claim.Claim, "record_minibatch", worked)
    paused = runs.get_run(file, run)
    assert paused.state == "paused"
    assert paused.message == f"paused after sweep {paused.minibatch} of 20"
    ((at, value),) = points.read_curve(file, run, "test_mean_perplexity")
    assert at == paused.minibatch < 20
    assert estimates.choose_headline(paused, read_latest(file, run)).value == value
    runs.requeue_run(file, run)
    trainer.train_run(file, run)
    assert written(file, run) == written(file, whole)
    assert [at for at, _ in points.read_curve(file, run, "test_mean_perplexity")] == [20]


def test_a_corpus_without_validation_documents_is_watched_on_test_documents_as_ever(file):
    run = order(file, minibatches=6).number
    trainer.train_run(file, run)
    assert "test_mean_perplexity" not in names(file, run)
    assert runs.get_run(file, run).options["test_protocol"] is None
    assert "30 test documents" in runs.get_run(file, run).message


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        ({"test": False}, "no test documents"),
        ({"lone": True}, "no test document has two words"),
        ({"lone": True, "validation": True}, "no validation document has two words"),
    ],
)
def test_without_tokens_to_hold_out_there_is_no_perplexity_and_the_run_says_so(file, kind, why):
    small_corpus(file, name="other", **kind)
    run = order(file, minibatches=20, corpus="other", averaged="lone" in kind).number
    trainer.train_run(file, run)
    row = runs.get_run(file, run)
    assert row.state == "finished"
    assert row.point_perplexity is None
    assert row.averaged_perplexity is None
    assert why in row.message
    assert not {name for name in names(file, run) if "perplexity" in name}


@pytest.mark.parametrize("link", ["bernoulli"])
def test_links_other_than_poisson_report_a_held_out_log_likelihood(file, link):
    run = order(file, minibatches=6, link=link).number
    trainer.train_run(file, run)
    assert "heldout_loglik" in names(file, run)
    assert runs.get_run(file, run).point_perplexity is None


TWO_PHASES = {"inference": "auto", "first_minibatches": "20"}


def test_a_run_of_mini_batches_and_then_sweeps_is_trained_and_resumed_to_the_same_bits(file, monkeypatch):
    monkeypatch.setattr(claim, "BEAT_SECONDS", 0.0)
    whole, broken = order(file, **TWO_PHASES).number, order(file, **TWO_PHASES).number
    trainer.train_run(file, whole)
    for kill_at in (30, 45, 25):  # in the first phase, across the border, and in the second
        assert kill_after(file, broken, kill_at)
        runs.requeue_run(file, bury(file, broken))
    trainer.train_run(file, broken)
    assert written(file, broken) == written(file, whole)


def test_sweeps_that_follow_mini_batches_are_told_of_read_all_documents_and_have_no_step_sizes(file):
    run = order(file, minibatches=30, **TWO_PHASES).number
    trainer.train_run(file, run)
    told = [each for each in events.read_new_events(file, run)[0] if each.kind == "sweeps begin"]
    assert [(each.minibatch, each.text) for each in told] == [
        (20, "sweeps of all 90 training documents begin, after 20 mini-batches")
    ]
    table = list(points.read_points(file, run))
    assert max(point.minibatch for point in table if point.name == "step_size_mean") == 20
    assert {point.documents for point in table if point.minibatch == 20} == {20 * 20}
    assert {point.documents for point in table if point.minibatch == 30} == {20 * 20 + 10 * 90}
    curve = points.read_curve(file, run, "point_perplexity")
    assert curve[0][0] == 1
    assert curve[-1][0] == 30


def test_a_fork_goes_on_in_the_phase_of_its_snapshot(file):
    run = order(file, minibatches=30, **TWO_PHASES).number
    trainer.train_run(file, run)
    for at, begins in ((30, []), (10, [10])):
        made = new_run.fork_run(file, forks.find_origin(file, run, minibatch=at), texts={}, minibatches=15)
        trainer.train_run(file, made.number)
        told = [each.minibatch for each in events.read_new_events(file, made.number)[0] if each.kind == "sweeps begin"]
        assert told == begins


def test_a_run_whose_length_nobody_gave_ends_where_its_curve_no_longer_falls(file, monkeypatch):
    monkeypatch.setattr(estimates, "LEAST_SWEEPS", 30)
    made = new_run.create_run(file, "small", model="dlda", texts=SMALL | {"inference": "auto"})
    assert (made.planned, made.options["until_plateau"], made.options["until_settled"]) == (3_000, True, True)
    trainer.train_run(file, made.number)
    row = runs.get_run(file, made.number)
    assert row.state == "finished"
    assert 30 <= row.minibatch == row.planned < 3_000
    assert "no longer improving since step" in row.message
    assert snapshots.list_snapshots(file, made.number)[-1].minibatch == row.minibatch
    assert estimates.has_settled(points.read_curve(file, made.number, "point_perplexity"), row.minibatch)
    stayed = points.read_curve(file, made.number, "tree_persistence")
    assert stayed[-1][1] >= 100 * training.SETTLED


def test_a_run_whose_tree_still_changes_goes_on_when_its_curve_is_level(file, monkeypatch):
    monkeypatch.setattr(estimates, "LEAST_SWEEPS", 3)
    monkeypatch.setattr(training, "SETTLED", 1.1)
    texts = SMALL | {"inference": "auto"}
    good, settled = (
        new_run.create_run(file, "small", model="dlda", texts=texts, minibatches=400, until=until)
        for until in ("good", "settled")
    )
    for run in (good, settled):
        trainer.train_run(file, run.number)
    level_at = runs.get_run(file, good.number).minibatch
    assert level_at < 400
    assert runs.get_run(file, settled.number).minibatch == 400
    said = [each.minibatch for each in events.read_new_events(file, settled.number)[0] if each.kind == "readable"]
    assert said == [level_at], "only the tree had to settle from then on"


def test_runs_of_a_group_give_way_until_all_are_readable_and_end_with_the_bits_of_runs_alone(file, monkeypatch):
    monkeypatch.setattr(estimates, "LEAST_SWEEPS", 3)
    monkeypatch.setattr(training, "SETTLED", 1.1)
    texts = SMALL | {"inference": "auto"}
    asked = {"model": "dlda", "texts": texts, "minibatches": 60, "until": "settled"}
    group = new_run.create_runs(file, RunRequest(corpus="small", seeds=(1, 2), **asked))
    alone = new_run.create_run(file, "small", model="dlda", texts=texts, minibatches=60, until="settled", seed=1)
    trained = []
    while waiting := runs.list_waiting(file):
        trained.append(waiting[0].number)
        trainer.train_run(file, waiting[0].number)
    first, second = (row.number for row in group)
    assert trained == [first, second, first, alone.number]
    assert [runs.get_run(file, n).state for n in trained] == ["finished"] * 4
    kinds = [[each.kind for each in events.read_new_events(file, n)[0]] for n in (first, second)]
    assert [each.count("queued") for each in kinds] == [1, 0]
    ends = [snapshots.load_snapshot(file, snapshots.find_latest(file, n).number) for n in (first, alone.number)]
    assert all(np.array_equal(ends[0][name], ends[1][name]) for name in ends[1])


@pytest.mark.parametrize("link", ["poisson", "bernoulli"])
def test_a_run_of_mini_batches_until_its_plateau_ends_there_and_not_before_it_could(file, link, monkeypatch):
    monkeypatch.setattr(claim, "BEAT_SECONDS", 0.0)
    texts = SMALL | {"link": link}
    first, broken = (
        new_run.create_run(file, "small", model="dlda", texts=texts, minibatches=600, until="good") for _ in range(2)
    )
    trainer.train_run(file, first.number)
    row = runs.get_run(file, first.number)
    name = "point_perplexity" if link == "poisson" else "heldout_loglik"
    curve = points.read_curve(file, first.number, name)
    falling = curve if link == "poisson" else [(step, np.exp(-value)) for step, value in curve]
    assert row.state == "finished"
    assert first.options["plateau_from"] == 9  # two passes over 90 documents by twenties
    assert 9 <= row.minibatch == row.planned < 600
    assert estimates.find_plateau(falling) is not None
    earlier = [estimates.find_plateau(falling[:end]) for end in range(len(falling)) if end and falling[end - 1][0] >= 9]
    assert earlier == [None] * len(earlier)
    assert kill_after(file, broken.number, 12)
    runs.requeue_run(file, bury(file, broken.number))
    trainer.train_run(file, broken.number)
    assert written(file, broken.number) == written(file, first.number)


def overfit(monkeypatch, lowest=100):
    """Make the curve of every run fall up to a step and rise after it."""

    def curve_point(self, state, plan):
        return 1000.0 + abs(int(state.t) - lowest)

    monkeypatch.setattr(training.Training, "curve_point", curve_point)


def test_a_run_that_overfits_ends_with_its_best_topics_whether_or_not_it_was_interrupted(file, monkeypatch):
    monkeypatch.setattr(claim, "BEAT_SECONDS", 0.0)
    overfit(monkeypatch)
    first, broken = (new_run.create_run(file, "small", model="datm", texts=TINY) for _ in range(2))
    assert (first.planned, first.options["until_overfit"]) == (3_500, True)
    trainer.train_run(file, first.number)
    row = runs.get_run(file, first.number)
    assert row.state == "finished"
    assert 100 < row.minibatch <= 250
    curve = points.read_curve(file, first.number, "point_perplexity")
    assert estimates.find_overfitting(curve) is not None
    assert all(estimates.find_overfitting(curve[:end]) is None for end in range(len(curve)))
    best = snapshots.find_latest(file, first.number)
    assert 80 <= best.minibatch <= 100
    assert f"the topics are those of mini-batch {best.minibatch}" in row.message
    assert row.point_perplexity == [value for step, value in curve if step <= best.minibatch][-1]
    assert kill_after(file, broken.number, 8)
    runs.requeue_run(file, bury(file, broken.number))
    trainer.train_run(file, broken.number)
    assert written(file, broken.number) == written(file, first.number)


def test_a_run_of_a_given_length_and_one_of_another_model_do_not_end_because_they_overfit(file, monkeypatch):
    overfit(monkeypatch)
    given = new_run.create_run(file, "small", model="datm", texts=TINY, minibatches=160)
    assert not given.options["until_overfit"]
    trainer.train_run(file, given.number)
    assert runs.get_run(file, given.number).minibatch == 160
    assert snapshots.find_latest(file, given.number).minibatch == 160
    assert not new_run.create_run(file, "small", model="dlda", texts=SMALL).options["until_overfit"]


def test_a_run_keeps_no_more_snapshots_than_it_was_ordered_to(file):
    run = new_run.create_run(file, "small", model="dlda", texts=SMALL, minibatches=60, keep=4).number
    trainer.train_run(file, run)
    left = [row.minibatch for row in snapshots.list_snapshots(file, run)]
    assert len(left) <= 4
    assert (left[0], left[-1]) == (1, 60)


def test_a_plateau_that_nobody_could_see_is_refused(file):
    small_corpus(file, name="untested", test=False)
    with pytest.raises(new_run.NewRunError, match="nobody can tell when a run on it no longer improves"):
        new_run.create_run(file, "untested", model="dlda", texts=SMALL, until="good")


def test_a_run_with_proposed_widths_tries_narrower_ones_once_and_keeps_the_choice(file, monkeypatch):
    monkeypatch.setattr(run_rules, "propose_widths", lambda *_: (32, 16))
    real = training._try_layers
    monkeypatch.setattr(training, "_try_layers", lambda *given: real(*given)._replace(perplexity=100.0))
    small_corpus(file, name="judged", documents=800, validation=True)
    row = new_run.create_run(file, "judged", model="dlda", texts={}, minibatches=20)
    assert row.options["tries_widths"]
    trainer.train_run(file, row.number)
    done = runs.get_run(file, row.number)
    (event,) = [each for each in events.read_new_events(file, row.number)[0] if each.kind == "widths"]
    assert done.layers == (16, 8), event.text
    assert done.settings["layers"] == [16, 8]
    assert not done.options["tries_widths"]
    assert event.text.startswith("16-8: validation perplexity after 4 sweeps was 100 with 32-16, 100 with 16-8;")
    latest = snapshots.find_latest(file, row.number)
    assert find_shares(file, done, latest.number) is not None  # with the settings that the run has now


def test_a_run_of_a_given_length_has_that_length(file, monkeypatch):
    monkeypatch.setattr(estimates, "LEAST_SWEEPS", 3)
    run = order(file, minibatches=40, inference="auto").number
    trainer.train_run(file, run)
    assert runs.get_run(file, run).minibatch == 40


def test_a_snapshot_holds_the_mean_topics_and_the_curve_has_their_perplexity(file):
    run = order(file, inference="auto").number
    trainer.train_run(file, run)
    arrays = snapshots.load_snapshot(file, snapshots.list_snapshots(file, run)[-1].number)
    for layer in range(2):
        np.testing.assert_allclose(arrays[f"mean.{layer}"].sum(axis=0), 1, rtol=1e-5)
        assert not np.array_equal(arrays[f"mean.{layer}"], arrays[f"phi.{layer}"])
    assert arrays["mean_r"].shape == arrays["r"].shape
    drawn, mean = (dict(points.read_curve(file, run, f"{name}_perplexity")) for name in ("point", "mean"))
    assert mean.keys() == {*sorted(drawn)[::3], max(drawn)}
    late = [minibatch for minibatch in mean if minibatch > 30]
    assert np.mean([mean[minibatch] for minibatch in late]) < np.mean([drawn[minibatch] for minibatch in late])


def test_coordinate_ascent_ends_where_its_bound_no_longer_rises(file):
    run = new_run.create_run(file, "small", model="lda-cavi", texts={"layers": "3"}).number
    trainer.train_run(file, run)
    row = runs.get_run(file, run)
    assert row.state == "finished"
    assert row.minibatch < models.load("lda-cavi").STEPS
    assert row.message.endswith("the bound no longer rises")


def test_a_run_killed_between_any_two_writes_and_resumed_is_bit_identical(file, monkeypatch):
    monkeypatch.setattr(claim, "BEAT_SECONDS", 0.0)  # beats after every mini-batch: more places to die
    whole = order(file, minibatches=30, averaged=True).number
    trainer.train_run(file, whole)
    request = written(file, whole)
    rng = np.random.default_rng(3)
    for _ in range(2):
        run = order(file, minibatches=30, averaged=True).number
        kills = 0
        while kill_after(file, run, int(rng.integers(1, 40))):
            kills += 1
            runs.requeue_run(file, bury(file, run))
        assert kills > 0
        assert written(file, run) == request


def _last_generation(db, run):
    with db.read() as connection:
        return max(checkpoints.list_generations(connection, run))


@pytest.mark.parametrize("damaged", [1, 2])
def test_a_run_whose_checkpoint_is_damaged_goes_on_from_the_one_before_to_the_same_bits(trained, monkeypatch, damaged):
    run = order(trained).number
    worked, interrupt = claim.Claim.record_minibatch, claim.Interrupt()

    def ask(claim, minibatch, *rest):
        worked(claim, minibatch, *rest)
        interrupt.requested = minibatch >= 45

    monkeypatch.setattr(claim.Claim, "record_minibatch", ask)
    trainer.train_run(trained, run, interrupt=interrupt)
    monkeypatch.setattr(claim.Claim, "record_minibatch", worked)
    for generation in range(damaged):
        flip_checkpoint(trained, run, _last_generation(trained, run) - generation)
    runs.requeue_run(trained, run)
    trainer.train_run(trained, run)
    assert written(trained, run) == written(trained, 1)
    told = [each.text for each in events.read_new_events(trained, run)[0] if each.kind == "damaged"]
    (said,) = told  # what was told of a later mini-batch went with it
    assert said.endswith("begins from the start" if damaged == 2 else "at mini-batch 40")


def test_a_run_paused_again_and_again_is_bit_identical(trained, monkeypatch):
    run = order(trained).number
    for stop_at in (1, 2, 17, 18, 45):
        interrupt = claim.Interrupt()
        worked = claim.Claim.record_minibatch

        def ask(claim, minibatch, *rest, at=stop_at, flag=interrupt, real=worked):
            real(claim, minibatch, *rest)
            flag.requested = minibatch >= at

        monkeypatch.setattr(claim.Claim, "record_minibatch", ask)
        trainer.train_run(trained, run, interrupt=interrupt)
        monkeypatch.setattr(claim.Claim, "record_minibatch", worked)
        row = runs.get_run(trained, run)
        assert (row.state, row.minibatch) == ("paused", stop_at)
        runs.requeue_run(trained, run)
    trainer.train_run(trained, run)
    assert written(trained, run) == written(trained, 1)


def test_the_number_of_threads_changes_no_bit(file):
    results: list[Written] = []
    for threads in (1, 2):
        run = new_run.create_run(
            file, "small", model="dlda", texts=SMALL, minibatches=30, threads=threads, averaged=True
        )
        trainer.train_run(file, run.number)
        results.append(written(file, run.number))
    assert results[0] == results[1]


def test_a_wish_to_stop_ends_the_run_with_a_checkpoint(file):
    run = order(file, minibatches=20).number
    runs.send_request(file, run, "stop")
    trainer.train_run(file, run)
    row = runs.get_run(file, run)
    assert row.state == "stopped"
    assert row.minibatch < 20


def test_an_out_of_date_attempt_writes_nothing_and_says_so(file, monkeypatch):
    run = order(file, minibatches=25).number
    step = training.Training.step
    taken = []

    def steal(self, position):
        if position.minibatch == 20 and not taken:
            taken.append(runs.claim_run(file, run, {"pid": 1, "created": 0.0, "host": "elsewhere"}, force=True))
        return step(self, position)

    monkeypatch.setattr(training.Training, "step", steal)
    with pytest.raises(LostClaim):
        trainer.train_run(file, run)
    row = runs.get_run(file, run)
    assert (row.state, row.attempt, row.process["host"]) == ("running", 2, "elsewhere")
    assert max(p.minibatch for p in points.read_points(file, run)) <= 20


def test_an_error_ends_the_run_as_failed_with_a_sentence_and_the_traceback(file, monkeypatch):
    run = order(file).number

    def fail(*_):
        raise ArithmeticError("the topics\nare no longer finite")

    monkeypatch.setattr(training.Training, "step", fail)
    with pytest.raises(ArithmeticError):
        trainer.train_run(file, run)
    row = runs.get_run(file, run)
    assert row.state == "failed"
    assert row.message == "ArithmeticError: the topics are no longer finite"
    assert "Traceback" in row.traceback
    assert "in fail" in row.traceback


def test_the_error_that_ended_a_run_is_named_first_and_not_that_it_could_not_be_written_down(file, monkeypatch, capsys):
    run = order(file).number

    def fail(error):
        raise error

    first = StoreError("the database was lost")
    monkeypatch.setattr(training.Training, "step", lambda *_: fail(first))
    monkeypatch.setattr(runs, "finish_run", lambda *_: fail(StoreError("connection refused")))
    with pytest.raises(StoreError, match="the database was lost"):
        trainer.train_run(file, run)
    assert (
        "the database was lost; this could not be written to the store (connection refused)" in capsys.readouterr().err
    )


def test_what_is_an_error_of_the_store_is_its_sentence_without_a_traceback(file, monkeypatch):
    run = order(file).number
    damage_rows(file.path, "corpora", "UPDATE corpora SET meta = '[]'")
    with pytest.raises(DamagedRow):
        trainer.train_run(file, run)
    row = runs.get_run(file, run)
    assert row.message.startswith("corpus 1 is damaged: its row is not what was written; ")
    assert (row.state, row.traceback) == ("failed", "")


def test_running_out_of_memory_is_said_in_a_sentence(file, monkeypatch):
    run = order(file).number
    monkeypatch.setattr(training.Training, "step", lambda *_: (_ for _ in ()).throw(MemoryError()))
    with pytest.raises(MemoryError):
        trainer.train_run(file, run)
    assert runs.get_run(file, run).message.startswith("out of memory: use fewer topics")


def test_a_failed_run_can_be_resumed(trained, monkeypatch):
    run = order(trained).number
    step = training.Training.step
    monkeypatch.setattr(
        training.Training,
        "step",
        lambda self, p: step(self, p) if p.minibatch < 41 else (_ for _ in ()).throw(ValueError("no")),
    )
    with pytest.raises(ValueError, match="no"):
        trainer.train_run(trained, run)
    monkeypatch.setattr(training.Training, "step", step)
    runs.requeue_run(trained, run)
    trainer.train_run(trained, run)
    assert written(trained, run) == written(trained, 1)


@pytest.mark.parametrize("state", ["paused", "stopped", "failed", "finished"])
def test_a_worker_takes_no_run_that_somebody_has_ended(file, state):
    row = runs.claim_run(file, order(file).number, process.identify_process())
    runs.finish_run(file, row.number, row.attempt, state)
    with pytest.raises(Conflict, match=state):
        trainer.train_run(file, row.number)


@pytest.mark.parametrize(
    ("part", "times", "named"),
    [
        ("phi", np.nan, "the topics of layer 1"),
        ("r", np.inf, "the popularities of the top layer"),
        ("r", 1e100, "the popularities of the top layer"),  # finite here, infinite in a snapshot
    ],
)
def test_topics_that_are_no_longer_numbers_fail_the_run(part, times, named, file, monkeypatch):
    run = order(file).number
    real = training.Training.step

    def poison(self, position):
        position, info = real(self, position)
        values = getattr(position.state, part)
        poisoned = tuple(layer * times for layer in values) if part == "phi" else values * times
        return position._replace(state=position.state._replace(**{part: poisoned})), info

    monkeypatch.setattr(training.Training, "step", poison)
    with pytest.raises(ArithmeticError, match=named):
        trainer.train_run(file, run)
    assert "no longer finite" in runs.get_run(file, run).message
    assert snapshots.list_snapshots(file, run) == []


def test_every_setting_of_a_run_reaches_the_kernel(file, monkeypatch):
    seen = []
    module = models.load("dlda")
    build = module.build
    monkeypatch.setattr(
        module, "build", lambda config, facts, n_threads: seen.append(config) or build(config, facts, n_threads)
    )
    run = order(file, minibatches=2, eta="0.1,0.2").number
    trainer.train_run(file, run)
    assert dataclasses.asdict(seen[0]) | {"eta": (0.1, 0.2), "layers": (6, 3)} == dataclasses.asdict(seen[0])


def test_points_are_points(file):
    run = order(file, minibatches=3).number
    trainer.train_run(file, run)
    assert all(
        isinstance(point, Point) and point.documents == 20 * point.minibatch for point in points.read_points(file, run)
    )
    assert find_state(runs.get_run(file, run)) == "finished"


@pytest.mark.parametrize(
    ("error", "starts"), [(StoreError("the disk is full"), 0), (LostClaim("another attempt"), 1), (None, 1)]
)
def test_a_worker_that_cannot_write_starts_no_others(file, monkeypatch, error, starts):
    run, filled = order(file).number, []

    def train(*_, **__):
        if error:
            raise error

    monkeypatch.setattr(worker, "train_run", train)

    def map_and_fail(db, run):
        mapped.append(run)
        raise OSError("no more processes")

    mapped = []
    monkeypatch.setattr(map_work, "start_map", map_and_fail)
    monkeypatch.setattr(launcher, "start_queued_runs", filled.append)
    status = worker.main(["--store", file.url, "--run", str(run)])
    assert (status, len(filled)) == (worker.LOST if error else 0, starts)
    assert mapped == ([] if error else [run])


def test_documents_that_come_later_change_no_bit_of_a_run_and_a_fork_reads_them(file, monkeypatch):
    monkeypatch.setattr(claim, "BEAT_SECONDS", 0.0)
    whole, broken = (order(file, minibatches=20, inference="gibbs").number for _ in range(2))
    trainer.train_run(file, whole)
    assert kill_after(file, broken, 30)
    more = small_corpus(file, documents=40, name="more")
    with corpus_writer.append_documents(file, corpora.find_corpus(file, "small").number) as appender:
        appender.add(more_documents(file, more.number, first=120))
    trainer.train_run(file, runs.requeue_run(file, bury(file, broken)).number)
    assert written(file, broken) == written(file, whole)
    begin = forks.find_origin(file, broken)
    fork = new_run.fork_run(file, begin, texts={}, minibatches=5)
    trainer.train_run(file, fork.number)
    assert load_corpus(file, corpora.get_run_corpus(file, fork)).counts.n_documents == 160
    assert runs.get_run(file, fork.number).state == "finished"
    assert {point.documents for point in points.read_points(file, fork.number) if point.minibatch == 1} == {120}


def test_a_fork_of_the_length_of_its_parent_ends_too_if_it_overfits(file):
    parent = new_run.create_run(file, "small", model="datm", texts=TINY, minibatches=4)
    trainer.train_run(file, parent.number)
    origin = forks.find_origin(file, parent.number)
    same, given = (new_run.fork_run(file, origin, texts={}, minibatches=length) for length in (None, 4))
    assert (same.planned, same.options["until_overfit"]) == (4, True)
    assert not given.options["until_overfit"]
