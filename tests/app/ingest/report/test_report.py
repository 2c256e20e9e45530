"""A report in words."""

from dataclasses import replace

import pytest

from topiary.app.ingest.report import Cut, Report, Share, list_columns, list_cuts, list_lines, list_summary
from topiary.app.ingest.tables.values import Column

REPORT = Report(
    path="notes.csv", format="csv", why="table of texts", understood={"encoding": "utf-8"},
    columns=(Column("body", "text", ("apple", "pear")), Column("year", "date", ("1999",))), kind="counts",
    documents=9, train=8, read=10, empty=1, duplicates=2, wordless=3, tokens=100, tokens_kept=40, words=30,
    words_kept=20, cuts=(Cut("stop_words", "english", 0, 0, ()), Cut("min_df", "2", 1, 60, ("rare",))),
    scripts=(Share("Latin", 0.98), Share("Greek", 0.0196), Share("Han", 0.0001)), classes=8,
    languages=(Share("English", 1.0),),
    labels=tuple((f"class {n}", 9 - n) for n in range(8)), warnings=(), notes=(), options={"min_df": 2},
)  # fmt: skip


def said(report: Report) -> dict[str, str]:
    return dict(list_lines(report))


def test_every_fact_has_a_line() -> None:
    assert said(REPORT) == {
        "file": "notes.csv",
        "format": "csv (table of texts)",
        "encoding": "utf-8",
        "documents": "10 documents, 1 with nothing in it, 2 duplicates, 2 more without a word that is kept, 1 left out",
        "parts": "8 training, 1 test",
        "labels": "8 classes: class 0 9, class 1 8, class 2 7, class 3 6, class 4 5, class 5 4 and 2 more",
        "scripts": "Latin 98 %, Greek 2.0 %",
        "languages": "English 100 %",
        "words": "100 words, 30 different",
        "kept": "40 words (40 %), 20 different",
        "chosen": "--min-df 2",
    }
    assert list_columns(REPORT) == (("body", "text", "apple | pear"), ("year", "date", "1999"))
    assert list_cuts(REPORT) == (
        ("stop words", "--stop-words english", "none", ""),
        ("rare words", "--min-df 2", "1 word, 60 times", "rare"),
    )


def test_what_is_not_known_has_no_line() -> None:
    bare = replace(
        REPORT, why="", labels=(), classes=0, scripts=(), languages=(), options={}, understood={}, kind="real", tokens=0
    )
    assert said(bare)["format"] == "csv"
    assert said(bare)["counts"] == "real numbers"
    assert not {"labels", "scripts", "languages", "chosen", "encoding"} & set(said(bare))


@pytest.mark.parametrize(
    "report", [REPORT, replace(REPORT, columns=(), understood={}, cuts=(), scripts=(), languages=())]
)
def test_the_summary_has_five_lines(report: Report) -> None:
    lines = list_summary(report)
    assert len(lines) == 5
    assert all(lines)
    assert lines[0].startswith("read as csv (table of texts)")
    assert lines[3].startswith("30 different words met, 20 kept")


def test_the_summary_names_what_was_left_out() -> None:
    assert list_summary(REPORT)[1] == "text is 'body'"
    assert list_summary(REPORT)[3] == "30 different words met, 20 kept; left out 1 rare word"
