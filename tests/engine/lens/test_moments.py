"""Sums of shares by group."""

import numpy as np
import pytest
from lens_samples import make_shares, tabulate

from topiary.engine.lens.moments import assign_groups, sum_moments, sum_products, weigh_documents


@pytest.mark.parametrize("by", ["tokens", "documents"])
def test_sums_are_those_of_the_table_of_shares(by):
    shares = make_shares(60)
    groups = np.random.default_rng(2).integers(-1, 3, 60).astype(np.int32)
    weights = weigh_documents(shares, by)
    sums = sum_moments(shares, groups, 3, weights)
    table = tabulate(shares)
    for group in range(3):
        rows = np.flatnonzero(groups == group)
        a, w = weights[rows][:, None], table[rows]
        assert sums.documents[group] == (shares.tokens[rows] > 0).sum()
        np.testing.assert_allclose(sums.totals[group], [a.sum(), (a * a).sum()])
        expected = np.stack([(a * w).sum(0), (a * a * w).sum(0), (a * a * w * w).sum(0)], axis=1)
        np.testing.assert_allclose(sums.sums[group], expected, rtol=1e-12)


def test_a_document_without_tokens_has_no_weight_even_by_documents():
    shares = make_shares(5)
    assert weigh_documents(shares, "documents").tolist() == [1, 1, 1, 0, 1]
    assert weigh_documents(shares, "tokens")[3] == 0


def test_no_documents_give_sums_of_zero():
    shares = make_shares(0)
    assert (
        sum_products(shares, np.zeros(0, np.int32), 2, np.zeros((0, 1)), np.zeros(0)).tolist() == [[[0.0] * 2] * 7] * 2
    )


def test_documents_outside_the_selection_are_in_no_group():
    codes = np.array([0, 1, -1, 1])
    assert assign_groups(codes).tolist() == [0, 1, -1, 1]
    assert assign_groups(codes, np.array([True, False, True, True])).tolist() == [0, -1, -1, 1]
