"""Lemma 3.1: the network from the top down and DLDA's enlarge, partition, aggregate give the same counts."""

import naive
import numpy as np
import pytest
from drawing import RARE
from scipy import stats

N = 6_000
PHI = (
    np.array([[0.7, 0.05, 0.2], [0.1, 0.05, 0.5], [0.1, 0.8, 0.05], [0.1, 0.1, 0.25]]),
    np.array([[0.8, 0.1], [0.15, 0.3], [0.05, 0.6]]),
    np.array([[0.9, 0.25], [0.1, 0.75]]),
)
R = {1: np.array([0.8, 0.3, 1.5]), 2: np.array([0.7, 1.9]), 3: np.array([1.2, 0.5])}


def rates(n_layers):
    return np.tile(np.array([0.4, 0.9, 1.6])[:n_layers], (N, 1))


def features(counts):
    """Sums, word counts, squares and products: (documents, features)."""
    first, second = np.triu_indices(counts.shape[1])
    products = counts[:, first] * counts[:, second]
    return np.hstack([counts.sum(axis=1, keepdims=True), counts, products, counts == 0]).astype(float)


def least_p(first, second):
    """Smallest p-value of the differences of mean features, and of the distributions of totals."""
    a, b = features(first), features(second)
    spread = np.sqrt(a.var(axis=0) / len(a) + b.var(axis=0) / len(b))
    z = (a.mean(axis=0) - b.mean(axis=0)) / spread
    return min(2.0 * stats.norm.sf(np.abs(z)).min(), stats.ks_2samp(first.sum(axis=1), second.sum(axis=1)).pvalue)


@pytest.mark.parametrize("n_layers", [1, 2, 3])
def test_both_forms_of_the_model_give_the_same_sums_and_covariances(n_layers):
    rng = np.random.default_rng(31)
    top_down, _ = naive.pgbn_counts(rng, PHI[:n_layers], R[n_layers], rates(n_layers))
    bottom_up = naive.dlda_counts(rng, PHI[:n_layers], R[n_layers], rates(n_layers))
    assert least_p(top_down, bottom_up) > RARE / 30


@pytest.mark.parametrize("n_layers", [1, 2, 3])
def test_the_comparison_sees_a_wrong_rate(n_layers):
    rng = np.random.default_rng(31)
    top_down, _ = naive.pgbn_counts(rng, PHI[:n_layers], R[n_layers], rates(n_layers))
    wrong = rates(n_layers)
    wrong[:, -1] *= 1.3
    assert least_p(top_down, naive.dlda_counts(rng, PHI[:n_layers], R[n_layers], wrong)) < RARE / 30
