"""What is said of files before anything is stored, and that an import says the same."""

from pathlib import Path
from typing import Any

import pytest

from app.ingest.importing import import_path, inspect_path
from app.ingest.options import ImportOptions
from app.ingest.report.report import Report, load_report
from store.database import Database

SUBJECTS = {"fruit": "apple pear fig plum", "cars": "wheel engine brake clutch"}


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Sixty rows of two subjects: one empty text, ten that came before, a word of one row."""
    rows = ["id;date;headline;body;category"]
    for n in range(60):
        category = ("fruit", "cars")[n % 2]
        words = SUBJECTS[category].split()
        body = f"the {words[n % 4]} and {words[(n + 1) % 4]} are everywhere {chr(97 + n % 10) * 3}"
        body = "" if n == 7 else f"{body} once" if n == 4 else f"{body} row{'abcdefghij'[n // 10]}"
        rows.append(f"{n};2020-01-{n % 28 + 1:02d};Of {words[n % 4]} number {chr(97 + n % 26)};{body};{category}")
    rows += [";".join([str(60 + n), "2021-02-03", *rows[1 + n].split(";")[2:]]) for n in range(10, 20)]
    path = tmp_path / "notes.csv"
    path.write_text("\n".join(rows), encoding="utf-8")
    return path


def inspected(path: Any, **options: Any) -> Report:
    return inspect_path(path, ImportOptions(**options))


def test_a_table_is_said_to_have_columns_documents_words_and_a_script(table: Path) -> None:
    found = inspected(table)
    assert (found.path, found.format) == ("notes.csv", "csv")
    assert found.understood["separator"] == "semicolon"
    roles = {column.name: column.role for column in found.columns}
    assert roles == {"id": "id", "date": "date", "headline": "title", "body": "text", "category": "label"}
    assert found.columns[4].samples == ("fruit", "cars")
    assert [len(column.samples) for column in found.columns] == [3, 3, 3, 3, 2]
    assert (found.read, found.documents, found.train, found.empty, found.duplicates) == (70, 70, 63, 1, 10)
    assert found.classes == 2
    assert dict(found.labels) == {"fruit": 35, "cars": 35}
    assert [each.name for each in found.scripts] == ["Latin"]


def test_every_cut_says_what_it_takes_and_together_they_explain_the_vocabulary(table: Path, db: Database) -> None:
    found = inspected(table, max_words=12)
    cuts = {cut.option: cut for cut in found.cuts}
    assert set(cuts["stop_words"].examples) == {"the", "and", "are", "of", "once", "everywhere"}
    assert cuts["stop_words"].words == 6
    assert cuts["max_df"].examples == ("number",)
    assert cuts["max_words"].words > 0
    assert found.words - sum(cut.words for cut in found.cuts) == found.words_kept == 12
    row = import_path(db, table, ImportOptions(max_words=12))
    assert (row.words, row.tokens) == (found.words_kept, found.tokens_kept)


@pytest.mark.parametrize("options", [{}, {"max_words": 12, "test_share": 0.3}, {"leave_out_common": True}])
def test_an_import_keeps_the_record_that_was_said_before(table: Path, db: Database, options: dict[str, Any]) -> None:
    before = inspected(table, **options)
    row = import_path(db, table, ImportOptions(**options))
    assert load_report(row.meta) == before
    assert (row.documents, row.train_documents) == (before.documents, before.train)


@pytest.mark.parametrize("cut", [{}, {"min_df": 2, "stop_words": "english"}])
def test_counts_are_said_too_and_cut_only_where_that_is_asked(
    tmp_path: Path, db: Database, cut: dict[str, Any]
) -> None:
    (tmp_path / "docword.notes.txt").write_text("5\n4\n6\n1 1 2\n1 2 3\n2 1 2\n2 2 3\n3 3 1\n4 4 9\n")
    (tmp_path / "vocab.notes.txt").write_text("apple\npear\nfig\nthe\n")
    found = inspected(tmp_path, name="notes", **cut)
    assert (found.read, found.empty, found.duplicates, found.tokens, found.words) == (5, 1, 1, 20, 4)
    assert found.columns == ()
    assert [(each.option, each.examples) for each in found.cuts if each.words] == (
        [("stop_words", ("the",)), ("min_df", ("fig",))] if cut else []
    )
    row = import_path(db, tmp_path, ImportOptions(name="notes", **cut))
    assert load_report(row.meta) == found
    assert (row.words, row.tokens, row.documents) == (found.words_kept, found.tokens_kept, found.documents)


def test_a_report_goes_through_json(table: Path) -> None:
    found = inspected(table)
    assert Report.from_json(found.to_json()) == found


def test_nothing_is_written_beside_what_is_inspected(table: Path) -> None:
    before = sorted(table.parent.iterdir())
    inspected(table)
    assert sorted(table.parent.iterdir()) == before


def test_several_files_are_one_report(table: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.csv"
    other.write_text(table.read_text(encoding="utf-8"), encoding="utf-8")
    found = inspected([table, other])
    assert (found.path, found.read) == ("notes.csv and 1 more", 140)
    assert found.duplicates == 79


def test_a_column_of_ids_does_not_fill_the_record(tmp_path: Path) -> None:
    path = tmp_path / "ids.csv"
    path.write_text("text,label\n" + "\n".join(f"apple pear fig,number {n}" for n in range(120)))
    found = inspected(path, max_df=1.0, label_column="label")
    assert (found.classes, len(found.labels)) == (120, 50)
