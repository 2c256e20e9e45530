"""Folders of texts: titles that say something, columns that documents bring along, files of several parts."""

import csv
import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import office_samples as made
import openpyxl
import pytest
from ingest_samples import write

from topiary.app.ingest.appending import append_path
from topiary.app.ingest.errors import IngestError
from topiary.app.ingest.importing import import_path, inspect_path, read_source
from topiary.app.ingest.options import ImportOptions
from topiary.app.ingest.report import Report
from topiary.app.ingest.source import TextDocument, TextSource
from topiary.app.ingest.tables.values import find_date
from topiary.app.jobs.uploads import Uploads
from topiary.store import corpora
from topiary.store.database import Database


def documents(folder: Path) -> tuple[TextSource, list[TextDocument]]:
    source = read_source(folder)
    assert isinstance(source, TextSource)
    return source, sorted(source.documents(), key=lambda document: document.columns["file"])


@pytest.mark.parametrize(
    ("line", "date"),
    [
        ("September 26, 1975", "September 26, 1975"), ("  Friday, 26th of Sept. 1975 ", "Friday, 26th of Sept. 1975"),
        ("Published on: 3 May 2020", "3 May 2020"), ("Date: 3 May 2020", "3 May 2020"), ("26.09.1975", "26.09.1975"),
        ("2021-03-12T14:05:00Z", "2021-03-12T14:05:00Z"), ("26. September 1975", "26. September 1975"),
        ("Mon, 02 Feb 1990 10:00:00 GMT", "Mon, 02 Feb 1990 10:00:00 GMT"), ("le 3 août 1999", "le 3 août 1999"),
        ("26 сентября 1975 г.", "26 сентября 1975 г."), ("2020年5月3日", "2020年5月3日"), ("May 1968", "May 1968"),
        ("May 1968 in Paris", None), ("1984", None), ("Section 12.10.2", None), ("March on Washington", None),
        ("12 May", None), ("99 May 1968", None), ("10.1145/3411764", None),
    ],
)  # fmt: skip
def test_a_line_is_a_date_where_it_is_nothing_else(line: str, date: str | None) -> None:
    assert find_date(line) == date


def test_a_date_above_a_text_is_a_column_and_the_next_line_that_is_its_own_the_title(tmp_path: Path) -> None:
    for n in range(8):
        write(
            tmp_path / f"{n}.txt", f"September {n + 1}, 1975\n\nOBITUARY\n\nBody {n}, Worker\n\nThe ferry was late.\n"
        )
    write(tmp_path / "8.txt", "A title of its own\nMay 1968\n")
    source, found = documents(tmp_path)
    assert [document.title for document in found] == [*(f"Body {n}, Worker" for n in range(8)), "A title of its own"]
    assert [document.columns.get("date") for document in found][6:] == ["September 7, 1975", "September 8, 1975", None]
    assert found[0].text.startswith("September 1, 1975\n\nOBITUARY")
    assert source.understood["columns"] == "date (8)"


def test_a_folder_may_mix_kinds_of_documents_and_says_what_it_left_out(tmp_path: Path) -> None:
    write(tmp_path / "a.txt", "Plain\ntext")
    write(tmp_path / "b.epub", made.epub({"1.xhtml": "Book"}, "<dc:creator>Ann</dc:creator>", ["1.xhtml"]))
    write(tmp_path / "c.ipynb", made.notebook(("markdown", "Note"), ("code", "x")))
    write(tmp_path / "d.rtf", rb"{\rtf1 Rich}")
    write(tmp_path / "e.rtf", "poor")
    write(tmp_path / "f.vtt", "WEBVTT\n\n00:00.000 --> 00:01.000\nSaid\n")
    write(tmp_path / "g.xml", made.tei("<p>Marked</p>"))
    write(tmp_path / "h.bib", "@article{a, title={Not read}}")
    source, found = documents(tmp_path)
    assert [document.text for document in found] == ["Plain\ntext", "Book", "Note", "Rich", "Said", "Marked"]
    assert [document.columns.get("author") for document in found] == [None, "Ann", None, None, None, "Ann"]
    assert "left out what is not read as text: 1 .bib; save such documents as .txt" in source.notes
    assert "cells of code were left out of 1 document" in source.notes
    assert "e.rtf is no RTF: left out" in source.notes


def test_files_of_latex_that_others_take_in_are_read_there(tmp_path: Path) -> None:
    main = (
        r"\begin{document}One. \input{parts/two} % \input{four}"
        + "\n"
        + r"\include{parts/three} \input{../out}\end{document}"
    )
    write(tmp_path / "in" / "main.tex", main)
    write(tmp_path / "in" / "parts" / "two.tex", r"Two. \input{parts/two}")
    write(tmp_path / "in" / "parts" / "three.tex", "Drei: schön.".encode("latin-1"))
    write(tmp_path / "in" / "four.tex", "Four.")
    write(tmp_path / "out.tex", "Never.")
    source, found = documents(tmp_path / "in")
    assert [" ".join(document.text.split()) for document in found] == ["Four.", "One. Two. Drei: schön."]
    assert "2 files of LaTeX are parts and read there" in source.notes


SUBJECTS = {"sea": "ship harbour storm ferry", "court": "judge verdict ruling witness"}
KINDS = tuple(SUBJECTS)
ALL = {"min_df": 1, "max_df": 1.0}
Key = Callable[[int], Any]


def texts(folder: Path, name: Callable[[int], str] = "{:03}.txt".format, n: int = 12) -> Path:
    """A folder with texts of two subjects."""
    for number in range(n):
        path = folder / name(number)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{SUBJECTS[KINDS[number % 2]]} {'xyz'[number % 3] * 2}", encoding="utf-8")
    return folder


def rows(key: Key = "{:03}.txt".format, n: int = 12, column: str = "filename") -> list[dict[str, Any]]:
    """A row for each text: its author, which is its label, and its date."""
    return [
        {column: key(number), "author": ("Miller", "Smith")[number % 2], "date": f"{1990 + number}-03-01"}
        for number in range(n)
    ]


def table(path: Path, listed: Sequence[dict[str, Any]], separator: str = ",") -> Path:
    with path.open("w", encoding="utf-8", newline="") as out:
        writer = csv.DictWriter(out, list(listed[0]), delimiter=separator)
        writer.writeheader()
        writer.writerows(listed)
    return path


def inspected(path: Path, **options: Any) -> Report:
    return inspect_path(path, ImportOptions(**ALL | options))


def test_a_table_among_texts_gives_them_label_date_and_further_columns(tmp_path: Path, db: Database) -> None:
    table(texts(tmp_path / "letters") / "metadata.csv", rows())
    report = inspected(tmp_path / "letters")
    said = "metadata.csv by its column 'filename': 12 of 12 texts have a row, label is 'author'"
    assert next(iter(report.understood.items())) == ("metadata", said)
    assert {column.name: column.role for column in report.columns} == {
        "filename": "id", "author": "label", "date": "date",
    }  # fmt: skip
    assert dict(report.labels) == {"Miller": 6, "Smith": 6}
    assert not any("left out" in note for note in report.notes)
    row = import_path(db, tmp_path / "letters", ImportOptions(**ALL))
    found = {each.columns["file"]: each for each in corpora.read_documents(db, row.number, range(row.documents))}
    assert (found["003.txt"].label, found["003.txt"].columns["date"]) == ("Smith", "1993-03-01")
    texts(tmp_path / "more", n=3)
    table(tmp_path / "more" / "about.tsv", rows(n=3), "\t")
    append_path(db, row.number, tmp_path / "more")
    last = corpora.read_documents(db, row.number, [row.documents])[0]
    assert last.label in ("Miller", "Smith")
    assert last.columns["date"].startswith("199")


@pytest.mark.parametrize(
    "key",
    [
        "{:03}".format,  # without its ending
        r"C:\Users\Ann\corpus\{:03}.TXT".format,  # as it lay on another machine
        "./texts/{:03}.pdf".format,  # of what the text was made
        str,  # as a spreadsheet shortens 001
    ],
)
def test_rows_are_joined_however_they_write_the_name_of_a_file(tmp_path: Path, key: Key) -> None:
    table(texts(tmp_path / "letters") / "metadata.csv", rows(key))
    assert "12 of 12 texts have a row" in inspected(tmp_path / "letters").understood["metadata"]


def test_tables_of_other_formats_and_in_other_places_are_joined_too(tmp_path: Path) -> None:
    texts(tmp_path / "a" / "texts")
    (tmp_path / "a" / "metadata.json").write_text(json.dumps(rows()))
    texts(tmp_path / "b" / "data" / "texts")
    (tmp_path / "b" / "data" / "about").mkdir()
    (tmp_path / "b" / "data" / "about" / "list.jsonl").write_text("\n".join(map(json.dumps, rows())))
    texts(tmp_path / "c", "sea/{}".format)  # files without endings
    book = openpyxl.Workbook()
    for line in (["id", "year"], *([number, 1990 + number] for number in range(12))):
        book.active.append(line)
    book.save(tmp_path / "c" / "list.xlsx")
    shutil.make_archive(str(tmp_path / "d"), "zip", tmp_path / "a")
    for name in ("a", "b", "c", "d.zip"):
        assert "12 of 12 texts have a row" in inspected(tmp_path / name).understood["metadata"], name


@pytest.mark.parametrize("shape", ["records by file", "labels by file", "values by column", "columns of lists"])
def test_a_table_of_json_may_be_of_any_shape_that_names_the_files(tmp_path: Path, shape: str) -> None:
    folder, listed = texts(tmp_path / "letters"), rows()
    by_file = {row.pop("filename"): row for row in rows()}
    written: Any = {
        "records by file": by_file,
        "labels by file": {file: row["author"] for file, row in by_file.items()},
        "values by column": {name: {str(n): row[name] for n, row in enumerate(listed)} for name in listed[0]},
        "columns of lists": {name: [row[name] for row in listed] for name in listed[0]},
    }[shape]
    (folder / "metadata.json").write_text(json.dumps(written))
    report = inspected(folder)
    assert report.understood["metadata"].startswith("metadata.json by its column 'file")
    assert "12 of 12 texts have a row" in report.understood["metadata"]
    assert dict(report.labels) == {"Miller": 6, "Smith": 6}


def test_texts_and_rows_without_a_counterpart_are_counted_and_named(tmp_path: Path) -> None:
    listed = [*rows(n=10), *rows("lost{}.txt".format, n=2), *rows(n=1)]
    table(texts(tmp_path / "letters") / "metadata.csv", listed)
    report = inspected(tmp_path / "letters")
    assert "10 of 12 texts have a row" in report.understood["metadata"]
    assert report.notes[:3] == (
        "2 texts have no row in metadata.csv: '010.txt', '011.txt'",
        "2 rows of metadata.csv name no text: 'lost0.txt', 'lost1.txt'",
        "1 row of metadata.csv names a text that another row names, which counts: '000.txt'",
    )


def test_a_name_that_two_folders_have_is_told_by_its_folder_or_said_to_be_doubtful(tmp_path: Path) -> None:
    names = [f"{kind}/{number}.txt" for number in range(6) for kind in KINDS]
    folder = texts(tmp_path / "letters", names.__getitem__)
    (folder / "sea" / "alone.txt").write_text("storm")
    listed = rows(lambda number: f"old/{names[number]}", n=8) + rows("{}.txt".format, n=6)[4:]
    table(folder / "metadata.csv", listed + rows(lambda _: "wood/alone.txt", n=1))
    report = inspected(folder)
    assert "9 of 13 texts have a row" in report.understood["metadata"]
    doubtful = "2 rows of metadata.csv could mean several texts and are left out: '4.txt', '5.txt'"
    assert any(note.startswith(doubtful) for note in report.notes)
    assert any("1 row of metadata.csv names another folder than that of its text" in note for note in report.notes)
    assert dict(report.labels) == {"sea": 7, "court": 6}
    assert any("the labels are the folders of the texts; --label-column 'author'" in note for note in report.notes)
    assert dict(inspected(folder, label_column="author").labels) == {"Miller": 5, "Smith": 4, "sea": 2, "court": 2}


@pytest.mark.parametrize(
    ("column", "said"),
    [
        ("id", "has 12 texts and the table reviews.csv, whose rows name none of these files"),
        ("filename", "the table reviews.csv, which has texts of its own in 'text'"),
    ],
)
def test_a_table_with_texts_of_its_own_among_texts_is_refused_and_both_ways_are_named(
    tmp_path: Path, column: str, said: str
) -> None:
    key = "r{}".format if column == "id" else "{:03}.txt".format
    prose = [row | {"text": "judge and ferry and storm and witness " * 4} for row in rows(key, column=column)]
    table(texts(tmp_path / "both") / "reviews.csv", prose)
    with pytest.raises(IngestError, match=said) as refused:
        inspected(tmp_path / "both")
    assert "--format text reads the files" in refused.value.cause
    assert "--format csv reads the rows" in refused.value.cause
    assert inspected(tmp_path / "both", format="text").documents == 12
    assert inspected(tmp_path / "both", format="csv").understood["header"] == "the first line"


def test_a_table_of_texts_with_a_readme_and_a_licence_is_read_as_ever(tmp_path: Path) -> None:
    table(tmp_path / "reviews.csv", [{"text": SUBJECTS[KINDS[n % 2]], "label": KINDS[n % 2]} for n in range(12)])
    for name in ("README.md", "LICENSE.txt", "classes.txt", "LICENSE"):
        (tmp_path / name).write_text("about these reviews")
    assert (inspected(tmp_path).format, inspected(tmp_path).documents) == ("csv", 12)


def test_a_table_elsewhere_is_named_and_one_among_the_texts_can_be_left_out(tmp_path: Path) -> None:
    folder = texts(tmp_path / "letters")
    elsewhere = table(tmp_path / "elsewhere.csv", rows())
    assert "12 of 12" in inspected(folder, metadata=str(elsewhere)).understood["metadata"]
    table(folder / "metadata.csv", rows())
    assert "metadata" not in inspected(folder, metadata="none").understood
    other = table(tmp_path / "other.csv", rows("r{}".format))
    with pytest.raises(IngestError, match=r"has no column with the names of the files in letters, such as '000.txt'"):
        inspected(folder, metadata=str(other))
    with pytest.raises(IngestError, match=r"give files of one format.*given with --metadata"):
        inspect_path([folder, elsewhere])


def test_files_dropped_together_are_texts_and_their_table(tmp_path: Path) -> None:
    uploads = Uploads()
    token = uploads.begin()
    dropped = texts(tmp_path / "dropped", n=12)
    table(dropped / "metadata.csv", rows())
    for file in dropped.iterdir():
        coming = uploads.place(token, file.name)
        assert coming is not None
        shutil.copy(file, coming.half)
        uploads.keep(token, coming)
    sent = uploads.look(token)
    assert sent is not None
    assert "12 of 12 texts have a row" in inspected(sent).understood["metadata"]
    uploads.close()


def test_fields_in_the_names_of_files_are_proposed_shown_and_kept(tmp_path: Path, db: Database) -> None:
    author = ("Miller-Ann", "Li-X", "Roe-Jane")
    folder = texts(tmp_path / "letters", lambda n: f"{1990 + n}_{KINDS[n % 2]}_{author[n % 3]}{'abcd'[n % 4]}.txt")
    report = inspected(folder)
    assert report.proposed == {"name_fields": "{year}_{label}_{part3}"}
    assert any(note.startswith("--name-fields '{year}_{label}_{part3}' makes columns") for note in report.notes)
    (folder / "remarks.txt").write_text("storm")
    report = inspected(folder, name_fields="{year}_{label}_{author}")
    assert report.understood["file names"] == "{year}_{label}_{author}: 12 of 13 names fit"
    assert {column.name: column.role for column in report.columns} == {
        "year": "date", "label": "label", "author": "other",
    }  # fmt: skip
    assert (
        "1 name does not fit --name-fields '{year}_{label}_{author}' and gives no fields: 'remarks.txt'" in report.notes
    )
    assert report.proposed == {}
    row = import_path(db, folder, ImportOptions(name_fields="{year}_{label}_{author}", **ALL))
    found = {each.columns["file"]: each for each in corpora.read_documents(db, row.number, range(row.documents))}
    one = found["1990_sea_Miller-Anna.txt"]
    assert (one.label, one.columns["year"], one.columns["author"]) == ("sea", "1990", "Miller-Anna")
    assert found["remarks.txt"].label is None
    with pytest.raises(
        IngestError, match=r"has no file whose name fits --name-fields '\{label\} \{n\}'; the first is '1990"
    ):
        inspected(folder, name_fields="{label} {n}")


def test_names_of_files_and_a_table_are_taken_together(tmp_path: Path, db: Database) -> None:
    folder = texts(tmp_path / "letters", lambda n: f"{'train' if n % 4 else 'test'}-{n:03}.txt")
    listed = [{"title": f"Letter {row['filename']}"} | row for row in rows("{:03}".format)]
    for row in listed:
        row["filename"] = f"{'train' if int(row['filename']) % 4 else 'test'}-{row['filename']}.txt"
    table(folder / "metadata.csv", listed)
    made = import_path(db, folder, ImportOptions(name_fields="{split}-{number}", title_column="title", **ALL))
    assert (made.documents, made.train_documents) == (12, 9)
    one = corpora.read_documents(db, made.number, [0])[0]
    assert one.title == f"Letter {one.columns['number']}"


def test_a_file_that_is_no_text_is_not_said_to_be_a_damaged_archive(tmp_path: Path) -> None:
    for name, said in (("a.csv", "is neither a text"), ("a.txt", "is read as a single document")):
        (tmp_path / name).write_text("harbour storm")
        with pytest.raises(IngestError, match=said):
            inspect_path(tmp_path / name, ImportOptions(format="text"))


@pytest.mark.data
def test_the_texts_of_the_shared_case_are_the_documents_and_their_table_describes_them(shared_data: Path) -> None:
    case = shared_data.parent / "cases" / "texts_and_metadata"
    if not case.is_dir():
        pytest.skip(f"needs the shared cases at {case}")
    report = inspect_path(case)
    assert report.format == "text"
    assert "60 of 61 texts have a row, label is 'section'" in report.understood["metadata"]
    assert {"author", "date", "section"} <= {column.name for column in report.columns}
