"""Purity and NMI against the golden values, scikit-learn and by hand."""

import numpy as np
import pytest
from sklearn.metrics import normalized_mutual_info_score

from engine.quality import clusters

LABELS = np.array([0, 0, 0, 1, 1, 1, 0, 0])
FOUND = np.array([0, 0, 1, 2, 2, 2, 2, 1])


def test_purity_and_nmi_are_those_of_the_literature():
    assert clusters.purity(LABELS, FOUND) == pytest.approx(0.875)
    assert clusters.nmi(LABELS, FOUND) == pytest.approx(0.447187, abs=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_nmi_is_that_of_scikit_learn_whatever_the_numbers_of_labels_and_clusters(seed):
    rng = np.random.default_rng(seed)
    labels, found = rng.integers(0, 6, 200) * 3, rng.integers(0, 1 + 4 * seed, 200)
    assert clusters.nmi(labels, found) == pytest.approx(normalized_mutual_info_score(labels, found), abs=1e-9)


def test_clusters_of_one_kind_are_judged_as_by_scikit_learn():
    one, two = np.zeros(4, int), np.array([0, 0, 1, 1])
    assert (clusters.nmi(one, one), clusters.nmi(two, one), clusters.nmi(two, 1 - two)) == (1.0, 0.0, 1.0)
    assert clusters.purity(two, one) == 0.5
    assert np.isnan(clusters.nmi(one[:0], one[:0]))
    assert np.isnan(clusters.purity(one[:0], one[:0]))


def test_a_document_belongs_to_the_topic_it_uses_most():
    assert clusters.strongest(np.array([[0.1, 0.9], [2.0, 1.0]])).tolist() == [1, 0]
