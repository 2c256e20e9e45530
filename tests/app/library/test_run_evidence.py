"""Evidence from the library: topics and shares of a word, similar documents, and those that are explained badly."""

import numpy as np
import pytest
from databases import open_filled
from inference_samples import DOCUMENTS, plain_model, plant
from trend_samples import plant_trends

import topiary

__all__ = ["plain_model"]


@pytest.fixture
def run(tmp_path, plain_model):
    db = open_filled(tmp_path / "store.db", plant)
    db.close()
    with topiary.open(tmp_path / "store.db") as opened:
        yield opened.runs[1]


def test_the_parts_of_a_word_sum_to_one_in_every_layer(run):
    table = run.word("rose")
    assert table.groupby("layer")["part"].sum().tolist() == pytest.approx(
        [1.0, 1.0], abs=0.03
    )  # without parts below 1 %
    assert table.loc["L1:1", "part"] > 0.9
    with pytest.raises(LookupError, match="'no such word' is not in the vocabulary"):
        run.word("no such word")


def test_similar_documents_are_about_the_same_subject_the_nearest_first(run):
    table = run.similar(6, 5)
    assert {number % 4 for number in table.index} == {2}
    assert 6 not in table.index
    assert table["distance"].is_monotonic_increasing
    assert len(run.similar(6, 100, layer=2)) == DOCUMENTS - 1
    for wrong in ({"document": DOCUMENTS}, {"document": 0, "layer": 3}):
        with pytest.raises(LookupError):
            run.similar(**wrong)


def test_badly_explained_documents_are_the_two_percent_with_the_lowest_fit(run):
    table = run.badly_explained()
    assert len(table) == int(np.ceil(0.02 * DOCUMENTS))
    assert table["fit"].iloc[0] < 0
    assert table.columns.tolist() == ["fit", "title", "label"]


def test_shares_of_a_word_are_by_period_or_group(tmp_path):
    db = open_filled(tmp_path / "store.db", plant_trends)
    db.close()
    with topiary.open(tmp_path / "store.db") as opened:
        run = opened.runs[1]
        months = run.word_shares("garden", unit="month")
        assert months.index[0] == "2004-01-01"
        assert (months["share"].dropna() == 1.0).all()
        groups = run.word_shares("rose", "source", where=["day=2004-01"])
        assert groups["documents"].tolist() == [16, 15]
        assert (groups["share"] == 0.0).all()
