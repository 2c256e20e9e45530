"""The Poisson bootstrap; the false-alarm rate of the random test is 1e-5, its seed is fixed."""

import numpy as np
from drawing import RARE
from lens_samples import bootstrap, make_shares
from scipy import stats

from topiary.engine.lens.bootstrap import DRAWS, _draw_counts, draw_variances
from topiary.engine.lens.moments import weigh_documents
from topiary.engine.pool import Pool

SHARES = make_shares(40)
WEIGHTS = weigh_documents(SHARES, "tokens")


def draw(order, ranges, n_threads=1, seed=1):
    return draw_variances(seed, SHARES, WEIGHTS, np.asarray(order), np.asarray(ranges), Pool(n_threads))


def test_variances_are_those_of_the_plain_twin():
    got = draw(np.arange(40), [[0, 12], [8, 40]])
    np.testing.assert_allclose(got[0], bootstrap(1, SHARES, WEIGHTS, np.arange(12), DRAWS), rtol=1e-9)
    np.testing.assert_allclose(got[1], bootstrap(1, SHARES, WEIGHTS, np.arange(8, 40), DRAWS), rtol=1e-9)


def test_counts_are_poisson():
    drawn = np.empty((300, DRAWS))
    for document in range(300):
        _draw_counts(7, document, drawn[document])
    observed = np.bincount(np.minimum(drawn.ravel(), 6).astype(int), minlength=7)
    law = np.r_[stats.poisson.pmf(np.arange(6), 1.0), stats.poisson.sf(5, 1.0)]
    assert stats.chisquare(observed, law * drawn.size).pvalue > RARE
    assert abs(np.corrcoef(drawn)[np.triu_indices(300, 1)]).max() < 0.45  # of 200 draws, over 44,850 pairs


def test_one_and_two_threads_give_the_same_bits():
    ranges = [[first, first + 5] for first in range(30)]
    assert draw(np.arange(40), ranges, 1).tobytes() == draw(np.arange(40), ranges, 2).tobytes()


def test_the_draws_of_a_group_do_not_depend_on_other_documents():
    alone = draw([4, 9, 17, 30], [[0, 4]])
    among = draw([1, 2, 4, 9, 17, 30, 33], [[0, 2], [2, 6], [6, 7]])
    assert alone[0].tobytes() == among[1].tobytes()


def test_another_seed_gives_other_draws():
    assert draw(np.arange(20), [[0, 20]], seed=1).tolist() != draw(np.arange(20), [[0, 20]], seed=2).tolist()


def test_a_single_document_does_not_vary():
    assert np.abs(draw([5], [[0, 1]])).max() < 1e-30
