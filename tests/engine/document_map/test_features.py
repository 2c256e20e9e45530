"""Rounded roots of shares, the strongest topics of documents, and topics in common."""

import numpy as np
import pytest
from map_samples import compress, densify, draw_shares

from topiary.engine.document_map.features import NONE, SCALE, count_cooccurrence, find_strongest, make_features
from topiary.engine.pool import Pool


def test_features_are_rounded_roots_of_shares_that_sum_to_one():
    shares = draw_shares(40, 9)
    table = densify(compress(0.5 * shares))  # what is not stored is missing from the sum
    kept = np.where(shares >= 0.02, shares, 0.0)
    assert np.abs(table / SCALE - np.sqrt(kept / kept.sum(axis=1, keepdims=True))).max() <= 0.5001 / SCALE


def test_single_precision_adds_the_products_of_rows_exactly_in_any_order():
    table = densify(compress(np.random.default_rng(3).dirichlet(np.ones(2000), 30), 0.0))
    exact = table.astype(np.int64) @ table.astype(np.int64).T
    single = table.astype(np.float32)
    order = np.random.default_rng(4).permutation(2000)
    assert exact.max() < 2**24
    assert np.array_equal(single @ single.T, exact)
    assert np.array_equal(single[:, order] @ single[:, order].T, exact)


def test_a_share_that_is_no_number_or_negative_counts_as_none():
    starts, topics = np.array([0, 3, 4]), np.array([0, 1, 2, 0])
    features = make_features(starts, topics, np.array([0.5, np.nan, -1.0, np.inf]), 3)
    assert densify(features).tolist() == [[SCALE, 0, 0], [0, 0, 0]]
    assert find_strongest(features).tolist() == [[0, NONE], [NONE, NONE]]


def test_the_strongest_topics_are_those_of_a_sorted_row():
    shares = draw_shares(200, 12)
    expected = np.argsort(-shares, axis=1)[:, :2]
    assert np.array_equal(find_strongest(compress(shares, 0.0)), expected)


@pytest.mark.parametrize("n_threads", [1, 2])
def test_topics_in_common_are_the_product_of_the_table_with_itself(n_threads):
    features = compress(draw_shares(101, 7))
    table = densify(features).astype(np.int64)
    assert np.array_equal(count_cooccurrence(features, Pool(n_threads)), table.T @ table)


def test_selected_documents_have_their_rows():
    features = compress(draw_shares(20, 5))
    chosen = np.array([0, 3, 4, 19])
    assert np.array_equal(densify(features.select(chosen)), densify(features)[chosen])
    assert features.select(np.arange(20)) is features
    assert features.select(np.arange(0)).n_documents == 0
