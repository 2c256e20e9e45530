"""The double DEF: planted factors on both sides, its ranking of what rows have not seen, its two hierarchies."""

import numba
import numpy as np
import pytest

from topiary.engine.contract import Counts, Facts
from topiary.engine.hierarchy import completion
from topiary.engine.hierarchy.topics import compute_shares
from topiary.engine.models.double_def import kernel as double_def
from topiary.engine.settings import parse

pytestmark = pytest.mark.skipif(numba.config.DISABLE_JIT, reason="many steps, too slow with the compiler off")

SEED = 5


def table_of(seed=2, rows=120, items=30, factors=3):
    """Counts of rows and items that belong to three factors; and the factor of every item."""
    rng = np.random.default_rng(seed)
    of_items = np.arange(items) % factors
    of_rows = rng.integers(0, factors, rows)
    rates = 0.05 + 2.0 * (of_rows[:, None] == of_items[None, :]) * rng.gamma(2.0, 0.5, items)
    return rng.poisson(rates), of_items


def batch_of(table, first=0):
    rows, words = np.nonzero(table)
    counts = Counts.of((table > 0).sum(axis=1), words.astype(np.int32), table[rows, words].astype(np.int32))
    return counts.batch(np.arange(first, first + len(table), dtype=np.int64))


def trained(table, steps, n_threads=1, **texts):
    docs = batch_of(table)
    config = parse(double_def.Config, {"layers": "3-2", **texts})
    facts = Facts(table.shape[1], len(table), n_tokens=int(table.sum()))
    kernel = double_def.build(config, facts, n_threads)
    state, elbos = kernel.prepare(SEED, kernel.init_from_documents(SEED, docs), docs), []
    for _ in range(steps):
        state, info = kernel.step(SEED, state, docs)
        elbos.append(info.elbo)
    return kernel, state, elbos


def test_planted_factors_are_found_on_both_sides_and_the_bound_rises():
    table, of_items = table_of()
    kernel, state, elbos = trained(table, 80)
    shown = kernel.topics(state)
    heaviest = shown.phi[0].argmax(axis=1)
    assert len({(a, b) for a, b in zip(of_items, heaviest, strict=True)}) == 3, "one topic for every factor of items"
    assert np.mean(elbos[-5:]) > np.mean(elbos[:5]) + 1.0
    assert shown.columns is not None
    assert [each.shape for each in shown.columns.phi] == [(30, 3), (3, 2)]
    assert shown.columns.links[0].kind == "positive"
    assert all(compute_shares(each).std() > 0 for each in shown.columns.popularity)


def test_the_columns_own_layers_move():
    table, _ = table_of()
    _, one, _ = trained(table, 1)
    _, many, _ = trained(table, 40)
    assert not np.array_equal(one.item_first, many.item_first)
    assert not np.array_equal(one.column_first[0], many.column_first[0])


def test_new_rows_are_completed_and_their_unseen_items_ranked_better_than_by_popularity():
    """Half of the cells observed; rows with few of them too."""
    table, _ = table_of(rows=160)
    kernel, state, _ = trained(table[:120], 80)
    observed, scored = completion.split_cells(7, batch_of(table[120:], 120), share=0.4)
    found = completion.rank_words(kernel, SEED, state, observed, scored, 30)
    popular = table[:120].sum(axis=0).astype(float)
    baseline = []
    for j in range(40):
        seen = observed.words[observed.starts[j] : observed.starts[j + 1]]
        gains = np.zeros(30)
        gains[scored.words[scored.starts[j] : scored.starts[j + 1]]] = scored.counts[
            scored.starts[j] : scored.starts[j + 1]
        ]
        left = np.setdiff1d(np.arange(30), seen)
        baseline.append(completion.compute_ndcg(popular[left], gains[left]))
    assert np.nanmean(found) > np.nanmean(baseline) + 0.1
    few = completion.find_low_activity(observed, 4)
    assert 0 < len(few) < 40
    assert np.isfinite(found[few]).any()
    assert completion.complete_documents(kernel, SEED, state, observed, scored).perplexity < 20.0


@pytest.mark.parametrize("layers", ["3", "3-2-2"])
def test_any_depth_has_columns_of_as_many_layers(layers):
    table, _ = table_of(rows=20)
    kernel, state, _ = trained(table, 2, layers=layers)
    shown = kernel.topics(state)
    assert len(shown.columns.phi) == len(shown.phi) == len(layers.split("-"))
