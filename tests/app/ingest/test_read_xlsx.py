"""Excel workbooks: cells as people see them, the sheet that is read, and how much of a sheet is looked at."""

import datetime
import sys
from pathlib import Path

import openpyxl
import pytest
from format_samples import workbook

from app.ingest import workbooks
from app.ingest.errors import IngestError
from app.ingest.importing import read
from app.ingest.options import ImportOptions
from app.ingest.source import TextSource

DAY = datetime.datetime(2024, 5, 1)  # noqa: DTZ001 - Excel knows no zones of time
NOON = datetime.datetime(2024, 5, 2, 12, 30)  # noqa: DTZ001


def opened(path: Path, **options: str) -> TextSource:
    source = read(path, ImportOptions(**options))  # type: ignore[arg-type]
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
    monkeypatch.setattr(workbooks, "BLANK_ROWS", 5)
    path = workbook(tmp_path, [["text", "n"], ["red pear", 1], *[[None]] * 9, ["green fig", 2]])
    assert [document.text for document in opened(path).documents()] == ["red pear"]


def test_without_its_package_one_sentence_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = workbook(tmp_path)
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(IngestError, match=r"pip install 'topiary\[xlsx\]'"):
        read(path)
