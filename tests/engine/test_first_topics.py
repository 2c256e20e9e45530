"""Topics begin as clusters of documents, and those of upper layers as clusters of these."""

import numpy as np
import pytest

from topiary.engine import first_topics
from topiary.engine.contract import Counts
from topiary.engine.pool import Pool

SUBJECTS, WORDS = 6, 60  # ten words each; subjects 0, 1, 2 and 3, 4, 5 share five more words
SHARED = 10


def planted(documents=240, seed=3):
    """Documents of one subject each, with some words of its group and a few of any."""
    rng = np.random.default_rng(seed)
    table = np.zeros((documents, WORDS + SHARED), dtype=np.int64)
    for j in range(documents):
        subject = j % SUBJECTS
        np.add.at(table[j], rng.integers(10 * subject, 10 * subject + 10, 20), 1)
        np.add.at(table[j], WORDS + rng.integers(0, 5, 6) + 5 * (subject // 3), 1)
        np.add.at(table[j], rng.integers(0, WORDS + SHARED, 4), 1)
    return table


def batch(table):
    """Documents as a kernel reads them."""
    rows, words = np.nonzero(table)
    counts = Counts.of(
        np.bincount(rows, minlength=len(table)), words.astype(np.int32), table[rows, words].astype(np.int32)
    )
    return counts.batch(np.arange(len(table)))


def made(table, layers=(SUBJECTS, 2), seed=1, threads=1):
    return first_topics.cluster_topics(seed, batch(table), table.shape[1], layers, Pool(threads))


def test_planted_subjects_begin_topics_and_their_groups_those_of_the_layer_above():
    """k-means may merge two subjects and divide another: of 30 planted in five runs at least 28 are found (seeded)."""
    subjects = groups = 0
    for seed in range(5):
        phi, r = made(planted(), seed=seed)[:2]
        of = np.array([phi[0][10 * subject : 10 * subject + 10].sum(axis=0) for subject in range(SUBJECTS)])
        subjects += len(set(of.argmax(axis=0).tolist()))
        assert np.median(of.max(axis=0)) > 0.5
        group = of.argmax(axis=0) // 3
        groups += [len(set(group[phi[1][:, k] > 0.2].tolist())) for k in range(2)] == [1, 1]
        assert r.min() > 0.3
    assert subjects >= 28
    assert groups >= 4


def test_topics_are_positive_and_sum_to_one_whatever_the_documents():
    for table in (planted(), planted(3), np.zeros((4, 5), int), np.eye(1, 7, dtype=int), planted(40)[:, :1]):
        phi, r = made(table, layers=(6, 3, 2))[:2]
        for layer in phi:
            assert (layer > 0).all()
            np.testing.assert_allclose(layer.sum(axis=0), 1.0)
        assert r.sum() == pytest.approx(1.0)
        assert [layer.shape for layer in phi] == [(table.shape[1], 6), (6, 3), (3, 2)]


def test_the_number_of_threads_changes_no_bit_and_the_seed_does():
    one, two, other = made(planted()), made(planted(), threads=3), made(planted(), seed=2)
    assert all(np.array_equal(a, b) for a, b in zip((*one.phi, one.r), (*two.phi, two.r), strict=True))
    assert not np.array_equal(one.phi[0], other.phi[0])


def naive_round(rows, centres):
    """One round of k-means on dense rows of unit length."""
    distance = ((rows[:, None, :] - centres[None]) ** 2).sum(axis=2)
    labels = distance.argmin(axis=1)
    return labels, np.array([rows[labels == k].mean(axis=0) for k in range(len(centres))])


def test_clusters_stand_where_another_round_of_k_means_leaves_them():
    table = planted()
    rows = first_topics._weigh_words(batch(table).cells, table.shape[1])
    labels, centres = first_topics.cluster_rows(5, 0, rows, table.shape[1], SUBJECTS, Pool(1))
    dense = np.zeros(table.shape)
    dense[np.nonzero(table)] = rows.values
    np.testing.assert_allclose((dense**2).sum(axis=1), 1.0, rtol=1e-6)
    again, means = naive_round(dense, centres.T.astype(float))
    np.testing.assert_array_equal(again, labels)
    np.testing.assert_allclose(means, centres.T, atol=1e-6)


def test_no_cluster_is_empty_while_there_are_documents_enough():
    table = np.repeat(planted(6), 5, axis=0)  # six different documents, five times each
    rows = first_topics._weigh_words(batch(table).cells, table.shape[1])
    labels, _ = first_topics.cluster_rows(1, 0, rows, table.shape[1], 10, Pool(1))
    assert len(set(labels.tolist())) == 10


def test_of_many_documents_so_many_are_looked_at_spread_over_the_file(monkeypatch):
    monkeypatch.setattr(first_topics, "SAMPLED", 50)
    documents = np.arange(100, 1100)
    found = first_topics.sample_documents(documents)
    assert len(set(found.tolist())) == 50
    assert set(found.tolist()) <= set(documents.tolist())
    assert found.max() - found.min() > 800
