"""The library says of every topic and edge in how many runs with other seeds it is found."""

import json

import numpy as np
import pandas as pd
import pytest
from databases import open_filled
from inference_samples import DOCUMENTS, plain_model, plant
from seed_samples import add_group, add_seed, plant_arrays

import topiary
from topiary.store.database import open_database

__all__ = ["plain_model"]


@pytest.fixture
def store(tmp_path):
    path = tmp_path / "store.db"
    db = open_database(path)
    add_group(db)
    add_seed(db, 1, plant_arrays(), settings={"eta": 1.0})
    db.close()
    with topiary.open(path) as opened:
        yield opened


def test_a_table_of_topics_says_what_comes_back(store):
    table = store.runs[1].recurrence(threshold=1.0)
    assert table.loc["L1:4", ["found_in", "of_runs"]].tolist() == [4, 5]
    assert set(table["found_in"].drop("L1:4")) == {5}
    assert table.index[0].startswith("L2:")
    assert table.loc["L2:2", "edges"] == {"L1:3": 5, "L1:4": 4}
    assert table.loc["L1:1", "words"][:3] == ["word0", "word1", "word2"]
    assert table.attrs["runs"] == [1, 2, 3, 4, 5]
    assert table.attrs["agreement"][2] == pytest.approx(1.0)
    assert store.runs[1].recurrence(1)["layer"].unique().tolist() == [1]
    with pytest.raises(LookupError, match="No run differs from run 6 in its seed alone"):
        store.runs[6].recurrence()


def test_certainty_says_in_how_many_runs_edges_are_found_and_is_empty_without_samples_and_seeds(store):
    table = store.runs[1].certainty(threshold=1.0).set_index(["parent", "child"])
    assert table.loc[("L2:2", "L1:4"), "found_in"] == 4
    assert table.loc[("L2:2", "L1:4"), ["parent_found_in", "child_found_in", "of_runs"]].tolist() == [5, 4, 5]
    assert table["inclusion"].isna().all()  # snapshots of one draw have no variance
    assert table["found_in"].dtype == pd.Int64Dtype()
    assert store.runs[6].certainty(threshold=1.0).empty


def test_exports_have_a_column_for_it_where_there_are_other_seeds(store, tmp_path):
    table = pd.read_csv(store.runs[1].export(tmp_path / "topics.csv"))
    assert table.set_index("topic").loc["L1:4", ["found_in", "of_runs"]].tolist() == [4, 5]
    graph = json.loads(store.runs[1].export(tmp_path / "tree.json", roots=["L2:2"], threshold=1.0).read_text())
    assert {node["id"]: node["found_in"] for node in graph["nodes"]} == {"L2:2": 5, "L1:3": 5, "L1:4": 4}
    assert "found_in" not in pd.read_csv(store.runs[6].export(tmp_path / "alone.csv"))


def test_shares_of_all_documents_are_a_sparse_matrix_with_the_columns_of_the_weights(tmp_path, plain_model):
    db = open_filled(tmp_path / "store.db", plant)
    db.close()
    with topiary.open(tmp_path / "store.db") as opened:
        run = opened.runs[1]
        matrix = run.shares(1)
        assert matrix.shape == (DOCUMENTS, 4)
        np.testing.assert_allclose(matrix.toarray(), np.eye(4)[np.arange(DOCUMENTS) % 4], atol=2e-5)
        np.testing.assert_allclose(run.shares(1, rest=True).sum(axis=1), 1, atol=1e-6)
        assert run.theta(1).shape == (DOCUMENTS, 4)
        np.testing.assert_allclose(run.theta(1) / 5, np.eye(4)[np.arange(DOCUMENTS) % 4])  # words of each subject
        assert run.shares(2).shape == (DOCUMENTS, run.weights(2).shape[1])
        np.testing.assert_allclose(run.shares(2).sum(axis=1), 1, atol=0.02)  # without those below 1 %
        with pytest.raises(LookupError):
            run.shares(3)
