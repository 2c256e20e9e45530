"""Folders of texts: titles that say something, columns that documents bring along, files of several parts."""

from pathlib import Path

import office_samples as made
import pytest
from ingest_samples import write

from topiary.app.ingest.importing import read_source
from topiary.app.ingest.source import TextDocument, TextSource
from topiary.app.ingest.tables.values import find_date


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
