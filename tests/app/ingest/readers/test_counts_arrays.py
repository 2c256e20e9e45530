"""Counts of NumPy and SciPy, in every form that SciPy saves."""

from pathlib import Path

import numpy as np
import pytest
from format_samples import COUNTS, VOCABULARY, saved_array, saved_sparse
from ingest_samples import write
from scipy import sparse

from topiary.app.ingest.errors import IngestError
from topiary.app.ingest.importing import import_path, read_source
from topiary.app.ingest.options import ImportOptions
from topiary.engine.contract import TEST, TRAIN
from topiary.store import corpora
from topiary.store.corpus_rows import CorpusRow
from topiary.store.database import Database

NONE = ImportOptions(test_share=0)


def dense(db: Database, row: CorpusRow) -> list[list[float]]:
    whole = corpora.load_corpus(db, row.number)
    starts, words, values = whole.counts
    found: list[list[float]] = (
        sparse.csr_matrix((values, words, starts), shape=(row.documents, row.words)).toarray().tolist()
    )
    return found


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "dia", "bsr"])
@pytest.mark.parametrize("kind", [np.int64, np.uint8, np.float32, np.float64])
def test_every_form_and_kind_of_numbers_gives_the_counts(form: str, kind: type, tmp_path: Path, db: Database) -> None:
    write(tmp_path / "vocab.txt", VOCABULARY)
    sparse.save_npz(tmp_path / "a.npz", sparse.csr_matrix(COUNTS.astype(kind)).asformat(form))
    row = import_path(db, tmp_path / "a.npz", NONE)
    assert row.kind == "counts"
    assert dense(db, row) == COUNTS.tolist()


def test_a_matrix_of_words_by_documents_is_turned_and_labels_stand_beside_it(tmp_path: Path, db: Database) -> None:
    row = import_path(db, saved_sparse(tmp_path, COUNTS.T), NONE)
    assert dense(db, row) == COUNTS.tolist()
    assert row.label_names == ("x", "y")


def test_arrays_are_read_and_values_that_are_not_whole_stay_real(tmp_path: Path, db: Database) -> None:
    row = import_path(db, saved_array(tmp_path, COUNTS), NONE)
    assert dense(db, row) == COUNTS.tolist()
    row = import_path(db, saved_array(tmp_path, COUNTS / 2), ImportOptions(test_share=0, name="real"))
    assert (row.kind, dense(db, row)) == ("real", (COUNTS / 2).tolist())
    np.savez(tmp_path / "one.npz", bow=COUNTS)
    row = import_path(db, tmp_path / "one.npz", NONE)
    assert dense(db, row) == COUNTS.tolist()


def test_a_folder_of_train_and_test_is_one_corpus(tmp_path: Path, db: Database) -> None:
    saved_sparse(tmp_path, COUNTS[:3], "train.npz")
    saved_sparse(tmp_path, COUNTS[3:], "test.npz")
    (tmp_path / "counts.label").unlink()
    row = import_path(db, tmp_path, NONE)
    assert corpora.load_corpus(db, row.number).part.tolist() == [TRAIN] * 3 + [TEST]
    assert dense(db, row) == COUNTS.tolist()


@pytest.mark.parametrize(
    ("parts", "why"),
    [
        ({"data": np.ones((2, 3)), "offsets": np.array([1, 1]), "format": b"dia"}, "is no sound file of NumPy"),
        ({"data": np.ones((2, 3)), "offsets": np.array([1]), "format": b"dia"}, "is no sound file of NumPy"),
        ({"data": np.ones((1, 9)), "offsets": np.array([0])}, "has no sparse matrix"),
        ({"data": np.ones((2, 2, 2)), "indices": np.array([0, 1]), "indptr": np.array([0, 1, 2]), "format": b"bsr"},
         "a place outside of it"),
        ({"data": np.ones((1, 2, 1)), "indices": np.array([7]), "indptr": np.array([0, 1, 1]), "format": b"bsr"},
         "a place outside of it"),
        ({"data": np.ones(2), "indices": np.array([0, 7]), "indptr": np.array([0, 1, 2, 2, 2])}, "outside of it"),
    ],
)  # fmt: skip
def test_positions_outside_of_a_matrix_are_refused(parts: dict[str, object], why: str, tmp_path: Path) -> None:
    write(tmp_path / "vocab.txt", VOCABULARY)
    np.savez(tmp_path / "a.npz", shape=np.array([4, 3]), **parts)  # type: ignore[arg-type]
    with pytest.raises(IngestError, match=why):
        read_source(tmp_path / "a.npz")


def test_a_matrix_whose_form_is_not_named_is_compressed_by_rows(tmp_path: Path) -> None:
    write(tmp_path / "vocab.txt", VOCABULARY)
    matrix = sparse.csr_matrix(COUNTS)
    np.savez(tmp_path / "a.npz", data=matrix.data, indices=matrix.indices, indptr=matrix.indptr, shape=matrix.shape)
    (rows,) = read_source(tmp_path / "a.npz").blocks()  # type: ignore[union-attr]
    assert rows.counts.values.sum() == COUNTS.sum()
