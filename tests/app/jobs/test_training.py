"""Parts of training that need no process: examples of topics, blocks, views, and trials of the widths of layers."""

from dataclasses import replace

import numpy as np
import pytest
from inference_samples import replace_methods

from tests.benchmarks.synthetic import small_corpus
from topiary.app.jobs import training
from topiary.app.jobs import training as mathematics
from topiary.app.jobs.plan import RunOptions, ScoreProtocol, make_plan
from topiary.app.jobs.training import (
    EXAMPLES,
    Training,
    TreeReference,
    WidthTrial,
    choose_trial,
    describe_trials,
    find_best_documents,
    measure_effort,
    try_widths,
)
from topiary.engine import models
from topiary.engine.contract import TEST, TRAIN, VALIDATION, Counts, Facts
from topiary.engine.corpus import Corpus
from topiary.engine.hierarchy import evaluate
from topiary.engine.models.dlda import kernel as dlda
from topiary.engine.models.sdatm import kernel as sdatm


def test_the_best_documents_of_a_topic_come_first_and_unknown_ones_not_at_all():
    shares = np.array([[0.1, -1], [0.7, 0.2], [0.2, -1]], dtype=np.float32)
    documents, weights = find_best_documents(shares, np.array([40, 10, 30]))
    assert documents.shape == weights.shape == (2, EXAMPLES)
    assert documents[0, :4].tolist() == [10, 30, 40, -1]
    assert documents[1, :2].tolist() == [10, -1]
    np.testing.assert_allclose(weights[0, :4], [0.7, 0.2, 0.1, 0])
    assert weights[1, 1] == 0


def test_equal_shares_keep_the_order_of_their_rows():
    documents, _ = find_best_documents(np.full((20, 1), 0.5, dtype=np.float32), np.arange(100, 120))
    assert documents[0].tolist() == list(range(100, 120))


def test_the_best_documents_are_those_of_a_full_sort():
    shares = np.random.default_rng(5).random((300, 4)).astype(np.float32)
    documents, weights = find_best_documents(shares, np.arange(300))
    np.testing.assert_array_equal(documents, np.argsort(-shares, axis=0)[:EXAMPLES].T)
    np.testing.assert_array_equal(weights, -np.sort(-shares, axis=0)[:EXAMPLES].T)


def test_the_first_epoch_follows_the_file_for_benchmarks_only():
    corpus = small_corpus(100)
    kernel = dlda.build(dlda.Config(layers=(3,), batch_size=20), Facts(corpus.n_words, 80))
    kernel.sweeps_after = None
    filed, shuffled = (
        np.concatenate(
            [Training(corpus, kernel, dlda.State, 1, filed=each).batch(t, None).documents for t in (1, 2, 3, 4)]
        )
        for each in (True, False)
    )
    assert np.array_equal(filed, corpus.documents(TRAIN))
    assert not np.array_equal(shuffled, filed)
    assert np.array_equal(np.sort(shuffled), filed)


def test_the_label_error_is_of_labelled_test_documents_only_the_same_ones_for_all_runs():
    corpus = small_corpus(100)
    labels = np.where(np.arange(100) % 3, np.arange(100) % 2, -1).astype(np.int32)
    corpus = replace(corpus, labels=labels, label_names=("even", "odd"))
    config = sdatm.Config(layers=(4, 3), batch_size=20, hidden=(3, 3), burn_in=1, collect=1, predict_samples=3)
    kernel = sdatm.build(config, Facts(corpus.n_words, 80, 2))
    asked = []
    report = replace_methods(kernel, predict=lambda *given: asked.append(given[2]) or kernel.predict(*given))
    first, second = (Training(corpus, report, sdatm.State, seed) for seed in (1, 2))
    state = first.first_state()
    about = measure_effort(first, state, 4.0, 20.0)
    test = [int(j) for j in corpus.documents(TEST) if labels[j] >= 0]
    assert (about.labelled, about.asking) == (len(test), 350 + 1.3 * 7)
    made = make_plan(RunOptions(minibatches=4), about, train_documents=80, test_documents=20)
    assert made.predicted_documents == len(test)
    position = first.start(state, made)
    right = (kernel.predict(1, state, corpus.batch(np.array(test)), 5).argmax(axis=1) == labels[test]).mean()
    assert first.label_error(position, made) == pytest.approx(100 * (1 - right))
    second.label_error(position, made)
    assert sorted(asked[0].documents.tolist()) == test
    np.testing.assert_array_equal(asked[0].documents, asked[1].documents)


def test_the_curve_and_the_label_error_read_validation_documents_where_there_are_some():
    corpus = small_corpus(100)
    part = corpus.part.copy()
    part[np.flatnonzero(part == TEST)[::2]] = VALIDATION
    corpus = replace(corpus, part=part, labels=(np.arange(100) % 2).astype(np.int32), label_names=("even", "odd"))
    kernel = dlda.build(dlda.Config(layers=(3,), batch_size=20), Facts(corpus.n_words, 80))
    training = Training(corpus, kernel, dlda.State, 1)
    state = training.first_state()
    about = measure_effort(training, state, 4.0, 20.0)
    made = mathematics.plan_run(training, RunOptions(minibatches=4), about)
    assert (made.curve_documents, made.test_documents) == (10, 10)
    assert sorted(training.labelled) == sorted(training.watched) == corpus.documents(VALIDATION).tolist()
    for value, documents in (
        (training.curve_point(state, made), training.watched),
        (training.test_point(state, made), training.test),
    ):
        point = evaluate.evaluate_point(kernel, 1, state, *corpus.split_tokens(documents), evaluate.SHORT)
        assert value == pytest.approx(point, rel=1e-12)
    assert set(training.watched).isdisjoint(training.test)
    paper = mathematics.plan_run(training, RunOptions(minibatches=4, paper_point=True, averaged=True), about)
    assert paper.paper_documents == len(training.test) == 10
    assert len(training.start(state, paper).rates.totals) == 10


def test_a_model_that_learns_no_labels_has_no_label_error():
    corpus = small_corpus(100)
    corpus = replace(corpus, labels=np.zeros(100, np.int32), label_names=("one", "two"))
    kernel = dlda.build(dlda.Config(layers=(3,), batch_size=20), Facts(corpus.n_words, 80, 2))
    training = Training(corpus, kernel, dlda.State, 1)
    state = training.first_state()
    made = make_plan(
        RunOptions(minibatches=4), measure_effort(training, state, 4.0, 20.0), train_documents=80, test_documents=20
    )
    assert not made.predictions
    assert np.isnan(training.label_error(training.start(state, made), made))


def test_a_point_of_the_curve_is_that_of_its_documents_in_one_piece_however_many_blocks_they_make(monkeypatch):
    corpus = small_corpus(100)
    kernel = dlda.build(dlda.Config(layers=(3,), batch_size=20), Facts(corpus.n_words, 80))
    values = []
    for block in (2000, 7):
        monkeypatch.setattr(mathematics, "BLOCK", block)
        training = Training(corpus, kernel, dlda.State, 1)
        state = training.first_state()
        about = measure_effort(training, state, 4.0, 20.0)
        made = make_plan(RunOptions(minibatches=4), about, train_documents=80, test_documents=20)
        values.append(training.curve_point(training.start(state, made).state, made))
    assert made.curve_documents == len(training.test) == 20
    assert values[0] == pytest.approx(values[1], rel=1e-12)
    point = evaluate.evaluate_point(kernel, 1, state, *corpus.split_tokens(training.test), evaluate.SHORT)
    assert values[0] == pytest.approx(point, rel=1e-12)


def test_the_curve_has_points_where_the_first_test_documents_have_nothing_to_hold_out():
    corpus = small_corpus(100)
    kernel = dlda.build(dlda.Config(layers=(3,), batch_size=20), Facts(corpus.n_words, 80))
    chosen = Training(corpus, kernel, dlda.State, 1).test
    rows = [corpus.batch(np.array([j])) for j in range(100)]
    lengths = [1 if j in set(chosen.tolist()) - {int(chosen[-1])} else len(row.words) for j, row in enumerate(rows)]
    cut = Counts(
        starts=np.concatenate([[0], np.cumsum(lengths)]),
        words=np.concatenate([row.words[:n] for row, n in zip(rows, lengths, strict=True)]),
        values=np.concatenate([np.minimum(row.counts, 1)[:n] for row, n in zip(rows, lengths, strict=True)]),
    )
    training = Training(replace(corpus, counts=cut), kernel, dlda.State, 1)
    state = training.first_state()
    made = make_plan(
        RunOptions(minibatches=4), measure_effort(training, state, 4.0, 20.0), train_documents=80, test_documents=20
    )
    position = training.start(state, replace(made, curve_documents=3))
    assert training.curve_point(position.state, replace(made, curve_documents=3)) > 1


def test_trees_are_compared_after_half_as_many_steps_again_and_kept_in_checkpoints():
    corpus = small_corpus(100)
    config = dlda.Config(layers=(4, 3, 2), inference="gibbs")
    training = Training(corpus, dlda.build(config, mathematics.collect_facts(corpus)), dlda.State, 1)
    state = training.first_state()
    effort = measure_effort(training, state, 4.0, 20.0)
    made = make_plan(RunOptions(minibatches=9), effort, train_documents=80, test_documents=20)
    position, compared = training.start(state, made), []
    for _ in range(9):
        position, _ = training.step(position)
        before, position = position, training.compare_trees(position)
        if position is not before:
            compared.append(int(position.tree.minibatch))
    assert compared == [1, 2, 3, 5, 8]
    assert [each.shape for each in position.tree.edges] == [(4, 3), (3, 2)]
    assert ((position.tree.persistence > 0.0) & (position.tree.persistence < 1.0)).all()
    assert not position.tree.is_settled, "so early all trees are alike"
    assert len(position.tree.largest) == 2
    position = position._replace(titles=(np.arange(12).reshape(4, 3), np.arange(9).reshape(3, 3)))
    kept = training.unpack(9, training.pack(position))
    again = kept.tree
    assert [table.tolist() for table in kept.titles] == [table.tolist() for table in position.titles]
    assert int(again.minibatch) == 8
    for mine, other in zip((*position.tree.edges, *position.tree[2:]), (*again.edges, *again[2:]), strict=True):
        np.testing.assert_array_equal(mine, other)


def test_a_tree_is_not_settled_while_its_largest_top_topic_still_falls():
    def tree(*largest):
        return TreeReference(np.array(750), (np.eye(2),), np.array([0.95]), np.array(largest))

    assert tree(0.3, 0.29).is_settled
    assert not tree(0.44, 0.3).is_settled, "the topic that the start made too large still gives its edges away"
    assert tree(0.2, 0.3).is_settled


@pytest.mark.parametrize(
    ("perplexities", "chosen"),
    [((900, 1_000), 128), ((985, 1_000), 64), ((990, 1_000, 1_100), 64), ((1_000, 1_000, 1_001), 32)],
)
def test_the_widest_layers_that_are_clearly_better_than_half_of_them_are_chosen(perplexities, chosen):
    widths = [(128, 64, 32), (64, 32, 16), (32, 16, 8)]
    trials = [WidthTrial(layers, value) for layers, value in zip(widths, perplexities, strict=False)]
    assert choose_trial(trials).layers[0] == chosen
    said = describe_trials(trials)
    assert said.startswith(f"{chosen}-{chosen // 2}-{chosen // 4}: validation perplexity after 4 sweeps was ")
    assert said.endswith(f"the trials took {4 * len(trials)} sweeps")


def plant_corpus(subjects: int) -> Corpus:
    """Return 600 documents of 60 words each, which all come from one of some subjects with 20 words of their own."""
    rng = np.random.default_rng(3)
    table = np.zeros((600, 640), dtype=np.int32)
    for document in range(600):
        first = 20 * (document % subjects)
        np.add.at(table[document], rng.integers(first, first + 20, 60), 1)
    documents, words = np.nonzero(table)
    return Corpus(
        counts=Counts(np.searchsorted(documents, np.arange(601)), words.astype(np.int32), table[documents, words]),
        vocabulary=tuple(map(str, range(640))),
        part=np.tile(np.array([TRAIN] * 8 + [VALIDATION, TEST], dtype=np.int8), 60),
        labels=np.full(600, -1, dtype=np.int32),
    )


OPTIONS = RunOptions(minibatches=1, protocol=ScoreProtocol(documents=60, part="validation"))


@pytest.mark.parametrize(("subjects", "tried"), [(4, 2), (31, 2)])
def test_widths_are_halved_while_documents_do_not_need_more_topics(subjects, tried):
    """Thirty-one subjects need 32 topics, four do with 16; narrower ones are not tried, as they would have 4 on top."""
    module, beats = models.load("dlda"), []
    config = replace(module.Config(), layers=(32, 16))
    trials = try_widths(plant_corpus(subjects), module, config, OPTIONS, lambda: beats.append(1))
    assert [trial.layers for trial in trials] == [(32, 16), (16, 8)]
    assert len(trials) == tried
    assert len(beats) == tried * training.TRIAL_SWEEPS
    assert choose_trial(trials).layers[0] == (32 if subjects == 31 else 16)
