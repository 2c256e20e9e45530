"""The benchmark of filters, trends and tables runs through on a small store, and a report of its topics is small."""

import re

import numpy as np

from tests.benchmarks import lens_speed, lens_store
from tests.benchmarks.screen import LAYERS
from topiary.app.analysis.read_hierarchy import find_snapshot_at
from topiary.app.export.report import write_report
from topiary.engine.hierarchy.paths import UNITS
from topiary.engine.hierarchy.tree import Node
from topiary.store import runs


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


def test_a_report_on_224_topics_with_all_that_it_can_have_is_under_five_megabytes(tmp_path, monkeypatch):
    monkeypatch.setattr(lens_store, "TOKENS", 160)  # so that quotations are as long as they can be
    db = lens_store.open_store(tmp_path, 2000)
    row = runs.get_run(db, 1)
    every = [Node(layer, column) for layer, width in enumerate(LAYERS, 1) for column in range(width)]
    path = write_report(db, row, find_snapshot_at(db, row, None), tmp_path / "report.html", topics=every)
    db.close()
    page = path.read_text(encoding="utf-8")
    counts = {name: page.count(name) for name in ("<article ", "<blockquote", 'class="rp-line"', "<caption>By source")}
    assert [*counts.values()] == [224, 3 * 224, 224, 224]
    assert path.stat().st_size < 5_000_000
