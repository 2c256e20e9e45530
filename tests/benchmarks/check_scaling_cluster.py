"""The model of what a step costs on many machines, and the benchmark that fits it."""

import json
import math

import numpy as np
import pytest

from tests.benchmarks.scaling import main
from tests.benchmarks.scaling_model import Model, Row, fitted

PLANTED = Model(work=10.0, each=0.03, move=0.1, rest=0.2, documents=800_000)


def rows(*processes: int) -> list[Row]:
    """Rows that cost what the planted model says, each process on a processor of its own."""
    alone = Row(0, 1, PLANTED.work + PLANTED.move, PLANTED.move)
    on = [
        Row(p, 1, float(PLANTED.step(p)), PLANTED.move, gather=PLANTED.work / p, work=PLANTED.work) for p in processes
    ]
    return [alone, *on]


def test_the_model_finds_the_constants_that_were_planted():
    np.testing.assert_allclose(fitted(rows(1, 2, 4, 8), 800_000, 8), PLANTED, rtol=1e-9)


def test_the_work_is_that_of_processes_with_a_processor_each():
    crowded = [row._replace(work=3 * row.work) if row.processes > 2 else row for row in rows(1, 2, 4, 8)]
    assert fitted(crowded, 800_000, 2).work == PLANTED.work


@pytest.mark.parametrize("documents", [None, 10_000_000])
@pytest.mark.parametrize("tree", [False, True])
def test_a_step_is_least_where_the_curve_bends(tree, documents):
    bend = PLANTED.bend(documents, tree=tree)
    least = PLANTED.step(bend, documents, tree=tree)
    assert least < min(PLANTED.step(each, documents, tree=tree) for each in (0.8 * bend, 1.2 * bend))


def test_workers_that_cost_nothing_never_bend_it():
    assert PLANTED._replace(each=0.0).bend() == math.inf


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # Dask leaves sockets to the garbage collector
def test_the_command_measures_fits_and_draws(tmp_path, capsys):
    pytest.importorskip("distributed")
    picture, found = tmp_path / "scaling.svg", tmp_path / "scaling.json"
    sizes = ["--documents", "600", "--layers", "4-2", "--processes", "1,2", "--steps", "3"]
    assert main([*sizes, "--picture", str(picture), "--json", str(found)]) == 0
    said = capsys.readouterr().out
    assert "2 processes of 1 thread" in said
    assert "it bends at" in said
    assert picture.read_text().startswith("<?xml")
    kept = json.loads(found.read_text())
    assert [row["processes"] for row in kept["rows"] if row["processes"]] == [1, 2]
    assert kept["model"]["work"] > 0
