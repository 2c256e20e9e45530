"""Parquet and Arrow: values of every kind, parts by the names of files and folders, names of classes."""

import datetime
import json
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from format_samples import dataset, parquet
from ingest_samples import write

from app.ingest.errors import IngestError
from app.ingest.importing import import_path, read
from app.ingest.options import ImportOptions
from app.ingest.source import TextSource
from engine.contract import TEST, TRAIN
from store import corpora
from store.database import Database


def test_a_dataset_of_hugging_face_has_its_parts_and_the_names_of_its_classes(tmp_path: Path, db: Database) -> None:
    row = import_path(db, dataset(tmp_path / "data"), ImportOptions(min_df=1, max_df=1.0))
    assert row.meta["format"] == "parquet"
    whole = corpora.load_corpus(db, row.number)
    assert whole.part.tolist() == [TRAIN, TRAIN, TRAIN, TEST]
    assert row.label_names == ("fruit", "metal")
    assert whole.labels.tolist() == [0, 1, 0, 0]


def test_shards_on_the_hub_are_one_corpus_and_names_stand_in_the_table(tmp_path: Path) -> None:
    about = {"info": {"features": {"label": {"_type": "ClassLabel", "names": ["no", "yes"]}}}}
    for number, name in enumerate(["train-00000-of-00002", "train-00001-of-00002", "test-00000-of-00001"]):
        table = pa.table({"text": [f"pear {number}", "fig fig"], "label": [0, 1]})
        table = table.replace_schema_metadata({"huggingface": json.dumps(about)})
        (tmp_path / "data").mkdir(exist_ok=True)
        pq.write_table(table, tmp_path / "data" / f"{name}.parquet")
    source = read(tmp_path)
    assert isinstance(source, TextSource)
    found = list(source.documents())
    assert [document.part for document in found] == [TRAIN] * 4 + [TEST] * 2
    assert found[0].text == "pear 0"
    assert source.classes == {"0": "no", "1": "yes"}


def test_values_of_every_kind_are_kept_as_people_would_write_them(tmp_path: Path) -> None:
    table = pa.table(
        {
            "text": ["pear", None],
            "day": [datetime.date(2024, 5, 1), None],
            "price": pa.array([None, 1], pa.decimal128(5, 2)),
            "picture": [b"\x89PNG", b""],
            "tags": [["a", "b"], []],
            "more": [{"n": 1}, {"n": 2}],
        }
    )
    pq.write_table(table, tmp_path / "a.parquet")
    source = read(tmp_path / "a.parquet", ImportOptions(text_column="text"))
    assert isinstance(source, TextSource)
    one, other = source.documents()
    assert (one.text, other.text) == ("pear", "")
    assert dict(one.columns) == {
        "day": "2024-05-01", "price": "", "picture": "", "tags": "a, b", "more": '{"n": 1}',
    }  # fmt: skip
    assert other.columns["price"] == "1.00"


def test_an_arrow_file_with_its_list_of_batches_is_read_too(tmp_path: Path) -> None:
    table = pa.table({"text": ["red pear", "green fig"]})
    with pa.ipc.new_file(tmp_path / "a.feather", table.schema) as out:
        out.write_table(table, max_chunksize=1)
    source = read(tmp_path / "a.feather")
    assert isinstance(source, TextSource)
    assert [document.text for document in source.documents()] == ["red pear", "green fig"]


def test_without_its_package_one_sentence_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = parquet(tmp_path)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(IngestError, match=r"pip install 'topiary-explorer\[parquet\]'"):
        read(path)


def test_a_folder_of_tables_of_no_known_part_beside_others_is_refused(tmp_path: Path) -> None:
    parquet(tmp_path)
    write(tmp_path / "test.parquet", (tmp_path / "rows.parquet").read_bytes())
    with pytest.raises(IngestError, match="has tables of training or test documents and others"):
        read(tmp_path)
