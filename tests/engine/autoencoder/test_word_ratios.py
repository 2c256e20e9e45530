"""Word ratios with weights, against their formula written word by word and against finite differences."""

import math

import numpy as np
from scipy.special import log_softmax

from engine.autoencoder import naive_bayes, word_ratios
from engine.corpus import rows
from tests.engine.autoencoder.test_image_shifts import batch_of
from tests.engine.autoencoder.test_naive_bayes import CLASSES, V, documents, unit


def ratio(table, labels, word, c):
    """``|ln p(word | c) / p(word | other classes)|``, smoothed by the words of all."""
    spoken = np.array([sum((unit(one) for one in table[labels == k]), np.zeros(V)) for k in range(CLASSES)])
    everything = spoken.sum(axis=0) + 1.0 / V
    counts = spoken + word_ratios.PRIOR * everything / everything.sum()
    own, others = counts[c], np.delete(counts, c, axis=0).sum(axis=0)
    return abs(math.log(own[word] / own.sum()) - math.log(others[word] / others.sum()))


def heard(docs, n):
    return naive_bayes.heard(naive_bayes.begun(CLASSES, V), docs, n)


def with_weights(seed=3):
    new = word_ratios.begun(CLASSES, V)
    return new._replace(weights=np.random.default_rng(seed).normal(size=(V, CLASSES)))


def by_hand(table, labels, weights):
    scores = [
        [sum(unit(row)[w] * weights[w, c] * ratio(table, labels, w, c) for w in range(V)) for c in range(CLASSES)]
        for row in table
    ]
    return log_softmax(scores, axis=1)


def trained(docs, steps, n):
    said, now = heard(docs, n), word_ratios.begun(CLASSES, V)
    for _ in range(steps):
        now = word_ratios.stepped(now, said, docs)
    return now, said


def test_it_is_a_linear_classifier_of_scaled_words():
    table, docs, _ = documents()
    now = with_weights()
    got = word_ratios.told(now, heard(docs, len(table)), docs)
    np.testing.assert_allclose(got, by_hand(table, docs.labels, now.weights), rtol=1e-10)


def test_a_step_follows_the_gradient_of_log_probability_and_penalty():
    table, docs, _ = documents(12)
    now, said = with_weights(), heard(docs, 12)
    known = np.flatnonzero(docs.labels >= 0)

    def objective(weights):
        logs = word_ratios.told(now._replace(weights=weights), said, docs)[known, docs.labels[known]]
        return logs.mean() - word_ratios.PENALTY / 2 / len(known) * (weights**2).sum()

    expected, size = np.zeros((V, CLASSES)), 1e-6
    for place in np.ndindex(V, CLASSES):
        moved = np.zeros((V, CLASSES))
        moved[place] = size
        expected[place] = (objective(now.weights + moved) - objective(now.weights - moved)) / 2 / size
    assert table[docs.labels >= 0].any(axis=0).all()
    stepped = word_ratios.stepped(now, said, docs)
    np.testing.assert_allclose(stepped.first / 0.1, expected, rtol=1e-5, atol=1e-9)  # of Adam's first moment
    assert (np.sign(stepped.weights - now.weights) == np.sign(expected)).all()
    assert int(stepped.steps) == 1


def test_documents_without_a_label_and_words_that_are_absent_move_nothing():
    _, docs, _ = documents(20)
    said, now = heard(docs, 20), with_weights()
    unknown = docs._replace(labels=np.full_like(docs.labels, -1))
    assert word_ratios.stepped(now, said, unknown) is now
    one = rows(docs, 0, 1)
    after = word_ratios.stepped(now, said, one)
    moved = (after.weights != now.weights).any(axis=1)
    np.testing.assert_array_equal(np.flatnonzero(moved), np.sort(one.words))
    mixed = docs._replace(labels=np.where(np.arange(20) < 1, docs.labels, -1))
    np.testing.assert_allclose(word_ratios.stepped(now, said, mixed).weights, after.weights, rtol=1e-12)


def test_new_documents_of_planted_subjects_are_told_apart_and_nothing_is_said_before():
    _, docs, _ = documents(400)
    np.testing.assert_allclose(
        word_ratios.told(word_ratios.begun(CLASSES, V), heard(docs, 400), docs), -math.log(CLASSES)
    )
    now, said = trained(docs, 150, 400)
    _, fresh, subject = documents(200, seed=2)
    assert np.mean(word_ratios.told(now, said, fresh).argmax(axis=1) == subject) > 0.85


def test_a_word_that_comes_with_another_is_not_counted_twice():
    """Naive Bayes believes a pair of words that always come together twice as much as it should."""
    rng = np.random.default_rng(5)
    subject = rng.integers(0, CLASSES, 900)
    table = rng.poisson(0.4 + 0.8 * (np.arange(V) // 4 == subject[:, None]))
    table[:, 1:4] = table[:, :1]
    table[:, 5:8] = table[:, 4:5]
    table[:, 9:12] = table[:, 8:9]
    docs = batch_of(table)._replace(labels=subject.astype(np.int32))
    now, said = trained(docs, 300, 900)
    truth = np.arange(900), subject
    surprise = {
        "ratios": -word_ratios.told(now, said, docs)[truth].mean(),
        "naive Bayes": -log_softmax(naive_bayes.told(said, docs), axis=1)[truth].mean(),
    }
    assert surprise["ratios"] < surprise["naive Bayes"] - 0.01, surprise


def test_weights_are_kept_for_a_run_of_the_same_words_and_classes():
    _, docs, _ = documents()
    now, _ = trained(docs, 3, 40)
    new = word_ratios.begun(CLASSES, V)
    single = {name: array.astype(np.float32) for name, array in word_ratios.kept(now).items()}
    again = word_ratios.restored(single, new)
    np.testing.assert_allclose(again.weights, now.weights, rtol=1e-6)
    assert again.weights.dtype == float
    assert int(again.steps) == 0
    assert word_ratios.restored(single, word_ratios.begun(CLASSES + 1, V)).weights.shape == (V, CLASSES + 1)
    assert word_ratios.restored({}, new) is new
