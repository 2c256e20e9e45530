"""How documents are divided into those to train on and those for the test."""

from pathlib import Path

import numpy as np
import pytest

from app.ingest.appending import append_path
from app.ingest.importing import import_path
from app.ingest.options import ImportOptions
from app.ingest.preparing import draw_part, draw_test
from engine.contract import TEST
from store import corpora
from store.database import Database


def test_documents_that_are_left_out_have_no_influence_on_the_draw() -> None:
    stays = np.ones(100, bool)
    whole = draw_part(stays, 0.2, 3, [])
    assert np.array_equal(whole, draw_test(100, 0.2, 3))
    more = np.zeros(250, bool)
    more[np.random.default_rng(0).choice(250, 100, replace=False)] = True
    part = draw_part(more, 0.2, 3, [])
    assert np.array_equal(part[more], whole)
    assert not np.any(part[~more] == TEST)


@pytest.mark.parametrize("empty", [0, 60])
def test_empty_answers_are_left_out_before_test_documents_are_drawn(tmp_path: Path, db: Database, empty: int) -> None:
    answers = [f"apple pear {'fig' * (n % 2)}" for n in range(40)]
    rows = [*answers[:20], *['""'] * empty, *answers[20:]]
    path = tmp_path / "answers.csv"
    path.write_text("\n".join(["text", *rows]))
    row = import_path(db, path, ImportOptions(test_share=0.25, min_df=1, max_df=1.0))
    assert (row.documents, row.train_documents) == (40, 30)
    assert ("60 documents are without words and left out" in row.meta["notes"]) == bool(empty)
    part = corpora.load_corpus(db, row.number).part
    assert np.array_equal(part, draw_test(40, 0.25, 0))
    added = append_path(db, row.number, path)
    assert (added.documents, added.train) == (40, 30)
