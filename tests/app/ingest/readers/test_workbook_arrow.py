"""Parquet and Arrow: values of every kind, parts by the names of files and folders, names of classes."""

import datetime
import json
import sys
from pathlib import Path

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from format_samples import dataset, parquet, workbook
from ingest_samples import write

from topiary.app.ingest.errors import IngestError
from topiary.app.ingest.importing import import_path, read_source
from topiary.app.ingest.options import ImportOptions
from topiary.app.ingest.readers import workbook_arrow
from topiary.app.ingest.source import TextSource
from topiary.app.ingest.tables.values import Column
from topiary.engine.contract import TEST, TRAIN
from topiary.store import corpora
from topiary.store.database import Database


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
    source = read_source(tmp_path)
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
    source = read_source(tmp_path / "a.parquet", ImportOptions(text_column="text"))
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
    source = read_source(tmp_path / "a.feather")
    assert isinstance(source, TextSource)
    assert [document.text for document in source.documents()] == ["red pear", "green fig"]


def test_without_pyarrow_one_sentence_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = parquet(tmp_path)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(IngestError, match=r"pip install 'topiary-explorer\[parquet\]'"):
        read_source(path)


def test_a_folder_of_tables_of_no_known_part_beside_others_is_refused(tmp_path: Path) -> None:
    parquet(tmp_path)
    write(tmp_path / "test.parquet", (tmp_path / "rows.parquet").read_bytes())
    with pytest.raises(IngestError, match="has tables of training or test documents and others"):
        read_source(tmp_path)


DAY = datetime.datetime(2024, 5, 1)  # noqa: DTZ001 - Excel knows no zones of time
NOON = datetime.datetime(2024, 5, 2, 12, 30)  # noqa: DTZ001


def opened(path: Path, **options: str) -> TextSource:
    source = read_source(path, ImportOptions(**options))  # type: ignore[arg-type]
    assert isinstance(source, TextSource)
    return source


def test_cells_come_as_people_see_them_and_other_sheets_are_told(tmp_path: Path) -> None:
    rows = [
        ["title", "text", "year", "day", "share"],
        ["Harbour", "the ferry was late again", 1992.0, DAY, 0.5],
        [None, None, None],
        ["Weather", "rain all day and all night", 2001, NOON, True],
    ]
    source = opened(workbook(tmp_path, rows))
    one, other = source.documents()
    assert (one.title, one.text) == ("Harbour", "the ferry was late again")
    assert dict(one.columns) == {"year": "1992", "day": "2024-05-01", "share": "0.5"}
    assert other.columns["day"] == "2024-05-02T12:30:00"
    assert source.understood == {"sheet": "Sheet", "header": "the first line"}
    assert source.notes[-1] == "only the sheet 'Sheet' is read; the others (Notes) are left out"


def test_a_table_without_names_has_columns_by_number(tmp_path: Path) -> None:
    source = opened(workbook(tmp_path, [["a", "rain all day and all night"], ["b", "the ferry was late again"]]))
    assert source.understood["header"] == "none"
    assert next(source.documents()).text.startswith("rain")


def test_an_empty_first_sheet_and_a_hidden_one_are_passed_over(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    hidden = book.create_sheet("Lists")
    hidden.append(["x", "y"])
    hidden.sheet_state = "hidden"
    book.create_sheet("Data").append(["text", "n"])
    book["Data"].append(["red pear", 1])
    book.save(tmp_path / "a.xlsx")
    source = opened(tmp_path / "a.xlsx")
    assert source.understood["sheet"] == "Data"
    assert [document.text for document in source.documents()] == ["red pear"]


def test_rows_far_below_the_last_cell_are_not_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workbook_arrow, "BLANK_ROWS", 5)
    path = workbook(tmp_path, [["text", "n"], ["red pear", 1], *[[None]] * 9, ["green fig", 2]])
    assert [document.text for document in opened(path).documents()] == ["red pear"]


def test_titles_notes_and_empty_lines_above_the_names_are_left_out_and_dates_are_dates(tmp_path: Path) -> None:
    rows = [["Survey 2021"], ["As of May"], [], ["Nr", "Comment", "Group", "When"]]
    rows += [[n, f"the ferry was late again {n}", "ab"[n % 2], DAY] for n in range(6)]
    source = opened(workbook(tmp_path, rows))
    assert [document.label for document in source.documents()] == ["a", "b"] * 3
    assert source.columns is not None
    assert source.columns.roles["When"] == "date"
    assert source.understood["header"] == "below 2 lines of titles or notes"
    assert "left out above the column names: 'Survey 2021 / As of May'" in source.notes
    assert len(list(opened(workbook(tmp_path, rows), skip_lines=3).documents())) == 6  # type: ignore[arg-type]


def test_a_question_above_its_answers_is_the_name_of_a_column_and_can_be_chosen(tmp_path: Path) -> None:
    asked = "Please tell us, in your own words,\nwhat would help you most, and why you think that it would be of help"
    rows = [["Which of these describes you best, all things considered?", asked]]
    rows += [["Owner" if n % 3 else "Tenant", f"the ferry was late again {n}"] for n in range(9)]
    source = opened(workbook(tmp_path, rows), text_column=" ".join(asked.split()))
    assert next(source.documents()).text == "the ferry was late again 0"
    assert next(source.documents()).label == "Tenant"


def test_a_label_that_is_merged_over_several_rows_is_that_of_each(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    for row in [["Group", "Comment"], ["sea", "red pear"], [None, "green fig"], ["land", "an apple"], [None, "a plum"]]:
        book.active.append(row)
    book.active.merge_cells("A2:A3")
    book.save(tmp_path / "a.xlsx")
    assert [document.label for document in opened(tmp_path / "a.xlsx").documents()] == ["sea", "sea", "land", None]


def test_names_in_two_lines_whose_groups_are_merged_are_put_together(tmp_path: Path) -> None:
    rows = [["Person", None, "Answer", "Text"], ["Name", "Age", "Day", None]]
    rows += [[f"P{n}", 20 + n, DAY, f"the ferry was late again {n}"] for n in range(6)]
    source = opened(workbook(tmp_path, rows))
    assert [column.name for column in columns_of(source)] == ["Person Name", "Person Age", "Answer Day", "Text"]


def columns_of(source: TextSource) -> tuple[Column, ...]:
    list(source.documents())
    assert source.columns is not None
    return source.columns.list_all()
