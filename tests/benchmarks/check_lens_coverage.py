"""The reliability table of groups and time runs through, and its truth is that of documents as they are drawn."""

import numpy as np

from tests.benchmarks import lens_coverage
from topiary.engine.lens.groups import measure_groups


def test_the_table_has_a_line_for_every_kind_of_interval(capsys):
    assert lens_coverage.main(["--worlds", "2", "--sizes", "5"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line[:20].strip() for line in lines[2:]] == [
        "share, 5 documents",
        "percentiles of 200",
        "difference, 5 and 15",
        "24 months, 5 documen",
        "last third minus f",
    ]
    assert all(line.count("%") >= 3 for line in lines[2:])


def test_true_shares_are_the_mean_of_many_documents():
    means = lens_coverage.make_means()
    np.testing.assert_allclose(means.sum(axis=1), 1.0)
    shares = lens_coverage.draw_shares(np.random.default_rng(1), np.tile(means[0], (40_000, 1)))
    got = measure_groups(shares, np.zeros(40_000, int), 1)
    assert (abs(got.mean - lens_coverage.find_true_shares(means)[0]) < 4.5 * np.sqrt(got.variance) + 1e-5).all()


def test_groups_differ_in_the_changed_topics_alone():
    first, second = lens_coverage.find_true_shares(lens_coverage.make_means())
    assert np.flatnonzero(first != second).tolist() == list(lens_coverage.CHANGED)
