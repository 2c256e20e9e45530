"""Excel workbooks: cells as people see them, the sheet that is read, and how much of a sheet is looked at."""

import datetime
import sys
from pathlib import Path

import openpyxl
import pytest
from format_samples import workbook

from app.ingest.errors import IngestError
from app.ingest.importing import read_source
from app.ingest.options import ImportOptions
from app.ingest.readers import sheets
from app.ingest.source import TextSource
from app.ingest.tables.values import Column

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
    monkeypatch.setattr(sheets, "BLANK_ROWS", 5)
    path = workbook(tmp_path, [["text", "n"], ["red pear", 1], *[[None]] * 9, ["green fig", 2]])
    assert [document.text for document in opened(path).documents()] == ["red pear"]


def test_without_its_package_one_sentence_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = workbook(tmp_path)
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(IngestError, match=r"pip install 'topiary\[xlsx\]'"):
        read_source(path)


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
    return source.columns.found()
