"""Naive Bayes beside a classifier, against its formula written document by document."""

import math

import numpy as np
import pytest

from engine.autoencoder import naive_bayes
from engine.corpus import minibatch, rows
from tests.engine.autoencoder.test_image_shifts import batch_of

CLASSES, V = 3, 12


def documents(n=40, seed=1):
    """Documents on three subjects of four words each; one is empty, and every fourth tells no label."""
    rng = np.random.default_rng(seed)
    subject = rng.integers(0, CLASSES, n)
    table = rng.poisson(0.3 + 1.5 * (np.arange(V) // 4 == subject[:, None]))
    table[5] = 0
    labels = np.where(np.arange(n) % 4 == 3, -1, subject).astype(np.int32)
    return table, batch_of(table)._replace(labels=labels), subject


def unit(row):
    weights = np.log1p(row)
    return weights / max(np.linalg.norm(weights), 1e-150)


def by_hand(table, labels, row):
    """``ln p(class) + sum of weights times ln p(word | class)``."""
    spoken = np.array([sum((unit(one) for one in table[labels == c]), np.zeros(V)) for c in range(CLASSES)])
    everything = spoken.sum(axis=0) + 1.0 / V
    found = []
    for c in range(CLASSES):
        counts = spoken[c] + naive_bayes.PRIOR * everything / everything.sum()
        often = math.log(((labels == c).sum() + 1) / ((labels >= 0).sum() + CLASSES))
        found.append(often + sum(w * math.log(p) for w, p in zip(unit(row), counts / counts.sum(), strict=True)))
    return found


def test_it_is_naive_bayes_of_documents_of_one_length():
    table, docs, _ = documents()
    said = naive_bayes.heard(naive_bayes.begun(CLASSES, V), docs, len(table))
    got = naive_bayes.told(said, docs)
    np.testing.assert_allclose(got, [by_hand(table, docs.labels, row) for row in table], rtol=1e-10)


def test_each_document_counts_once_and_those_without_a_label_not_at_all():
    table, docs, _ = documents()
    said = naive_bayes.heard(naive_bayes.begun(CLASSES, V), docs, len(table))
    again = naive_bayes.heard(said, docs, len(table))
    np.testing.assert_array_equal(again.words, said.words)
    assert said.documents.sum() == (docs.labels >= 0).sum()
    assert np.count_nonzero(said.met) == len(table)
    known = batch_of(table[docs.labels >= 0])._replace(labels=docs.labels[docs.labels >= 0])
    np.testing.assert_allclose(
        naive_bayes.heard(naive_bayes.begun(CLASSES, V), known, 99).words, said.words, rtol=1e-12
    )


def test_passes_whose_rest_is_skipped_count_every_document_once():
    table, docs, _ = documents(37)
    said = naive_bayes.begun(CLASSES, V)
    for t in range(1, 40):
        numbers = minibatch(4, t, np.arange(37), 8)
        some = batch_of(table[numbers])._replace(labels=docs.labels[numbers], documents=numbers)
        said = naive_bayes.heard(said, some, 37)
    at_once = naive_bayes.heard(naive_bayes.begun(CLASSES, V), docs, 37)
    np.testing.assert_allclose(said.words, at_once.words, rtol=1e-12)
    np.testing.assert_array_equal(said.documents, at_once.documents)


def test_what_was_heard_is_kept_with_which_documents():
    _, docs, _ = documents()
    first, rest = (rows(docs, *part) for part in ((0, 25), (15, 40)))
    halfway = naive_bayes.heard(naive_bayes.begun(CLASSES, V), first, 40)
    again = naive_bayes.restored(naive_bayes.kept(halfway), naive_bayes.begun(CLASSES, V))
    whole = naive_bayes.heard(naive_bayes.begun(CLASSES, V), docs, 40)
    np.testing.assert_allclose(naive_bayes.heard(again, rest, 40).words, whole.words, rtol=1e-12)
    single = {
        name: array.astype(np.float32) if array.dtype.kind == "f" else array
        for name, array in naive_bayes.kept(halfway).items()
    }
    assert [each.dtype for each in naive_bayes.restored(single, naive_bayes.begun(CLASSES, V))] == [float, float, bool]
    other = naive_bayes.begun(CLASSES + 1, V)
    assert naive_bayes.restored(naive_bayes.kept(halfway), other) is other
    assert naive_bayes.restored({}, other) is other


def test_a_run_of_the_version_that_kept_only_how_many_stays_with_what_it_heard():
    _, docs, _ = documents()
    old = naive_bayes.heard(naive_bayes.begun(CLASSES, V), docs, 40)._replace(met=np.array(40.0))
    assert naive_bayes.heard(old, docs, 40) is old


def test_where_nothing_was_said_it_has_no_opinion():
    _, docs, _ = documents()
    told = naive_bayes.told(naive_bayes.begun(CLASSES, V), docs)
    np.testing.assert_allclose(told, told[:, :1] * np.ones(CLASSES), rtol=1e-12)


def test_new_documents_of_planted_subjects_are_told_apart():
    _, docs, _ = documents(400)
    said = naive_bayes.heard(naive_bayes.begun(CLASSES, V), docs, 400)
    _, fresh, subject = documents(200, seed=2)
    assert np.mean(naive_bayes.told(said, fresh).argmax(axis=1) == subject) > 0.85


@pytest.mark.parametrize("share", [0.0, 0.4, 1.0])
def test_the_pool_is_the_mean_of_logarithms(share):
    rng = np.random.default_rng(3)
    one, other = rng.dirichlet(np.ones(CLASSES), 20), rng.dirichlet(np.ones(CLASSES), 20)
    raw = one ** (1 - share) * other**share
    got = naive_bayes.pooled(one, [(share, np.log(other) + 5.0)])
    np.testing.assert_allclose(got, raw / raw.sum(axis=1, keepdims=True), rtol=1e-12)


def test_a_class_that_is_impossible_to_one_of_them_gives_no_number_that_is_none():
    got = naive_bayes.pooled(np.array([[1.0, 0.0, 0.0]]), [(0.5, np.array([[-900.0, 0.0, -1.0]]))])
    assert np.isfinite(got).all()
    assert got.sum() == pytest.approx(1.0)
