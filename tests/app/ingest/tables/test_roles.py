"""What columns are: by their names, else by what they hold; dates and missing values are never texts or labels."""

import json
from pathlib import Path
from typing import Any

import pytest
from ingest_samples import write

from topiary.app.ingest.errors import IngestError
from topiary.app.ingest.importing import inspect_path, read_source
from topiary.app.ingest.options import ImportOptions
from topiary.app.ingest.report import list_lines
from topiary.app.ingest.source import TextSource
from topiary.app.ingest.tables.roles import Roles, find_roles

PROSE = [
    f"the {a} and the {b} were late again {n}" for n, (a, b) in enumerate(zip("abcd" * 10, "efgh" * 10, strict=True))
]
WORDS = ["garden", "sea", "space", "sea"] * 10
DAYS = [f"2021-03-{1 + n % 28:02d} 10:00:00" for n in range(40)]


def roles_of(options: dict[str, Any] | None = None, **columns: list[Any]) -> Roles:
    names = [name.replace("__", " ") for name in columns]
    rows = [dict(zip(names, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return find_roles(rows, ImportOptions(**(options or {})), Path("a.csv"))


def test_dates_are_neither_title_nor_label_and_the_one_of_the_document_comes_first() -> None:
    same = ["2021-03-01", "2021-03-02"] * 20
    found = roles_of(update_time=same, created_at=DAYS, text=PROSE, epoch=[str(1514764800 + n) for n in range(40)])
    assert (found.title, found.label) == (None, None)
    assert found.dates == ("created_at", "epoch", "update_time")
    assert roles_of(date=same, text=PROSE).label is None
    assert roles_of(date=["3 hours ago", "yesterday"] * 20, text=PROSE)[2:] == (None, None, None, ("date",), "")
    assert roles_of({"label_column": "date"}, date=same, text=PROSE).label == "date"


def test_a_column_called_text_is_the_text_unless_it_is_nearly_empty() -> None:
    links = ['<a href="https://example.org/a/very/long/address" rel="nofollow">a program for the telephone</a>'] * 40
    assert roles_of(source=links, text=["ok", "no"] * 20).text == ("text",)
    assert roles_of(notes=PROSE, text=["ok", *[""] * 39]).text == ("notes",)
    assert roles_of(notes=PROSE, text=[["late", "ferry"]] * 40, label=WORDS)[:3] == (("text",), None, "label")
    assert roles_of(link_flair_text=["a b"] * 40, selftext=PROSE).text == ("selftext",)


def test_words_are_labels_before_numbers_and_ids_and_years_are_none() -> None:
    stars, ids = ["1", "5", "3", "4"] * 10, ["77", "78"] * 20
    assert roles_of(text=PROSE, stars=stars, town=WORDS).label == "town"
    assert roles_of(text=PROSE, user_id=ids, stars=stars).label == "stars"
    assert roles_of(text=PROSE, user_id=ids, year=["1999", "2000"] * 20).label is None
    sparse = ["x", *[""] * 9] * 4
    assert roles_of(text=PROSE, category=sparse, section=WORDS).label == "section"
    assert roles_of(text=PROSE, kind=["message"] * 39 + ["service"]).label is None


def test_a_second_text_is_no_title_and_a_subject_of_few_values_is_a_label() -> None:
    assert roles_of(text=PROSE, text__2=PROSE[::-1]).title is None
    assert roles_of(subject=WORDS, title=[f"Line {n}" for n in range(40)], text=PROSE)[1:3] == ("title", "subject")


def test_what_was_decided_by_values_is_a_guess_and_what_by_names_is_none() -> None:
    assert roles_of(title=PROSE, text=PROSE, label=WORDS, created_at=DAYS).guessed == ""
    guess = roles_of(Aussage=PROSE, Bereich=WORDS).guessed
    assert "the text is 'Aussage'" in guess
    assert "the label is 'Bereich', whose values repeat" in guess


def test_a_guess_is_said_in_the_third_line_of_a_report(tmp_path: Path) -> None:
    rows = "".join(f"{text};{word}\n" for text, word in zip(PROSE, WORDS, strict=True))
    report = inspect_path(write(tmp_path / "a.csv", f"Aussage;Bereich\n{rows}"), ImportOptions(max_df=1.0))
    assert list_lines(report)[2].name == "guess"
    assert "'Aussage', 'Bereich'" in list_lines(report)[2].text


def test_numbers_alone_are_refused_with_the_formats_of_counts() -> None:
    with pytest.raises(IngestError, match=r"only numbers and dates; .* --format dtm .* --format triples"):
        roles_of(Q1=["1", "2"] * 20, Q2=["3", "4"] * 20, when=DAYS)


def test_words_for_missing_values_are_no_texts_titles_or_labels_and_are_counted(tmp_path: Path) -> None:
    rows = [
        "title,text,label",
        "A,red pear,fruit",
        "nan,green fig,NULL",
        "B,None,<NA>",
        "C,N/A,-",
        "D,none at all,none",
    ]
    source = read_source(write(tmp_path / "a.csv", "\n".join(rows)))
    assert isinstance(source, TextSource)
    documents = list(source.documents())
    assert [document.text for document in documents] == ["red pear", "green fig", "", "", "none at all"]
    assert [document.label for document in documents] == ["fruit", None, None, None, "none"]
    assert documents[1].title == "document 2"
    said = "1 title and 3 labels and 2 texts say nothing but 'nan', 'NULL', 'None', '<NA>', 'N/A', '-'"
    list(source.documents())
    assert [note for note in source.notes if "missing" in note] == [f"{said}, which counts as missing"]


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        ("Why, then?", "p1"),
        (["Why, then?", "b"], "p1\n\np2"),
        ('b,"Why, then?"', "p2\n\np1"),
        ("b,Why, then?", "p2\n\np1"),
    ],
)
def test_a_column_with_a_comma_in_its_name_is_chosen_alone_and_among_others(
    asked: Any, text: str, tmp_path: Path
) -> None:
    path = write(tmp_path / "a.csv", '"Why, then?",b,c\np1,p2,p3\np4,p5,p6\n')
    source = read_source(path, ImportOptions(text_column=asked))
    assert isinstance(source, TextSource)
    assert next(source.documents()).text == text


def test_lists_of_words_are_texts_in_json_and_as_python_writes_them_into_cells(tmp_path: Path) -> None:
    records = [{"tokens": ["red", "pear"], "label": "a"}, {"tokens": ["fig"], "label": "b"}]
    for path in (
        write(tmp_path / "a.jsonl", "\n".join(map(json.dumps, records))),
        write(tmp_path / "b.csv", "tokens,label\n\"['red', 'pear']\",a\n\"['fig']\",b\n"),
    ):
        source = read_source(path)
        assert isinstance(source, TextSource)
        assert [(document.text, document.label) for document in source.documents()] == [("red pear", "a"), ("fig", "b")]
