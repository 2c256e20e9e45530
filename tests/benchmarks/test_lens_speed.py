"""The benchmark of filters, trends and tables runs through on a small store, whose shares are those of real runs."""

import re

import numpy as np

from engine.hierarchy.shares import UNITS
from tests.benchmarks import lens_speed, lens_store


def test_every_line_of_the_pages_has_a_ratio_to_its_target(tmp_path, capsys):
    assert lens_speed.main([str(tmp_path), "--documents", "3000", "--rounds", "1", "--only", "pages"]) == 0
    lines = capsys.readouterr().out.splitlines()[2:-1]
    assert len(lines) == 44
    assert all(re.search(r"target [23]00, ratio \d+\.\d\d", line) for line in lines[1:])


def test_shares_of_a_document_sum_to_one_and_are_as_many_as_in_real_runs():
    first, layers = next(lens_store.draw_shares(2000))
    assert (first, [len(layer.rest) for layer in layers]) == (0, [2000] * 3)
    for layer in layers:
        sums = np.bincount(np.repeat(np.arange(2000), np.diff(layer.starts)), layer.units, 2000) + layer.rest
        assert set(sums.tolist()) == {0.0, float(UNITS)}
    assert 6 < np.diff(layers[0].starts).mean() < 10
