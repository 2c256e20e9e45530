"""Files that were read wrongly before, as users of other programs make them: each is read as what it is."""

import os
from pathlib import Path
from typing import Any

import pytest

from app.ingest import registry
from app.ingest.options import ImportOptions
from app.ingest.source import CountSource, TextSource

REPOSITORY = Path(__file__).resolve().parents[3]
THREE = ["garden", "sea", "space"]
TABLES: dict[str, tuple[str, dict[str, str], int, list[str]]] = {  # format, roles, documents with a text, labels
    "date_as_title_and_label/dates_tw.csv": ("csv", {"created_at": "date", "text": "text"}, 60, []),
    "date_as_title_and_label/dates_news.csv": ("csv", {"date": "date", "text": "text"}, 100, []),
    "duplicate_column_names/dupcols.csv": ("csv", {"text": "text", "label": "label"}, 60, THREE),
    "duplicate_column_names/sqljoin.csv": ("csv", {"id": "id", "text": "text", "label": "label"}, 60, THREE),
    "excel_mac_cr/cr.csv": ("csv", {"text": "text", "label": "label"}, 60, THREE),
    "excel_mac_cr/cr.txt": ("lines", {}, 60, []),
    "header_lost_short_texts/survey.csv": ("csv", {"comment": "text", "department": "label"}, 96, THREE),
    "header_lost_short_texts/missing_strings.csv": ("csv", {"text": "text", "label": "label"}, 40, THREE),
    "json_nested/api.json": (
        "json",
        {"id": "id", "fields.headline": "title", "fields.body": "text", "section": "label", "date": "date"},
        60, ["court", "farm", "sea"],
    ),
    "json_pandas_columns/df.json": ("json", {"title": "title", "text": "text"}, 60, []),
    "pandas_to_json/records_index.json": ("json", {"id": "id", "text": "text", "label": "label"}, 60, THREE),
    "pandas_to_json/split.json": ("json", {"text": "text", "label": "label"}, 60, THREE),
    "nan_string_labels/nanlabels.csv": ("csv", {"id": "id", "text": "text", "label": "label"}, 100, THREE),
    "nan_string_labels/nans.csv": ("csv", {"id": "id", "text": "text", "label": "label"}, 80, THREE),
    "pretokenised_lists/tokens.jsonl": ("jsonl", {"text": "text", "label": "label"}, 60, THREE),
    "pretokenised_lists/textlist.parquet": ("parquet", {"text": "text", "label": "label"}, 60, THREE),
    "pretokenised_lists/tokens.parquet": ("parquet", {"tokens": "text", "label": "label"}, 60, THREE),
    "qualtrics/export.csv": (
        "csv", {"StartDate": "date", "ResponseId": "id", "Q2": "label", "Q3_TEXT": "text"}, 53, ["Owner", "Tenant"],
    ),
    "r_row_names/r_writetable.csv": ("csv", {"row name": "id", "text": "text", "label": "label"}, 60, THREE),
    "r_row_names/r_writetable_id.csv": ("csv", {"id": "id", "text": "text", "label": "label"}, 60, THREE),
    "sep_line/sepline.csv": ("csv", {"Id": "id", "Text": "text", "Kategorie": "label"}, 60, THREE),
    "tab_txt_as_lines/tab4.txt": (
        "csv", {"Id": "id", "Text": "text", "Kategorie": "label", "Datum": "date"}, 60, THREE,
    ),
    "tab_txt_as_lines/unicode.txt": ("csv", {"Id": "id", "Text": "text", "Kategorie": "label"}, 60, THREE),
    "xlsx_title_row/title_rows.xlsx": (
        "xlsx", {"ID": "id", "Comment": "text", "Group": "label", "When": "date"}, 60, THREE,
    ),
    "windows_zip_backslash/win.zip": ("text", {}, 60, THREE),
}  # fmt: skip
COUNTS = {
    "dtm_csv/dtm_plain.csv": "dtm", "dtm_csv/dtm_sklearn.csv": "dtm", "dtm_csv/dtm_quanteda.csv": "dtm",
    "word_count_files/tidy_n.csv": "triples",
}  # fmt: skip


def opened(name: str, **options: Any) -> tuple[str, TextSource | CountSource]:
    folder = Path(os.environ.get("TOPIARY_SHARED_CASES", REPOSITORY.parent / "shared" / "cases"))
    if not (folder / name).exists():
        pytest.skip(f"needs the shared cases at {folder}; set TOPIARY_SHARED_CASES to where they are")
    reader = registry.choose_reader(folder / name, ImportOptions())
    return reader.name, reader.read(folder / name, ImportOptions(**options))


@pytest.mark.data
@pytest.mark.parametrize("name", TABLES)
def test_a_table_of_texts_is_read_as_what_it_is(name: str) -> None:
    form, source = opened(name)
    assert isinstance(source, TextSource)
    documents = list(source.documents())
    roles = {} if source.columns is None else source.columns.roles
    filled = sum(bool(document.text) for document in documents)
    labels = sorted({document.label for document in documents if document.label is not None})
    assert (form, roles, filled, labels) == TABLES[name]


@pytest.mark.data
def test_dates_of_tweets_are_dates_that_of_the_tweet_first() -> None:
    _, source = opened("dates_as_title_csv/tweets.csv")
    assert isinstance(source, TextSource)
    assert source.columns is not None
    roles = source.columns.roles
    assert (roles["created_at"], roles["update_time"], roles["text"]) == ("date", "date", "text")
    assert "no title" in source.notes[0]
    assert "date is 'created_at'" in source.notes[0]


@pytest.mark.data
def test_questions_are_names_and_one_with_a_comma_can_be_chosen() -> None:
    question = "Generally, when you send a paper to a journal, what do you do with the files of data that belong to it?"
    _, source = opened("long_question_header_xlsx/answers.xlsx", text_column=question)
    assert isinstance(source, TextSource)
    documents = list(source.documents())
    assert len(documents) == 120
    assert {document.label for document in documents} == {"France", "Italy", "Spain"}
    assert "Send them along" in {document.text for document in documents}


@pytest.mark.data
@pytest.mark.parametrize("name", COUNTS)
def test_a_table_of_counts_is_read_as_counts(name: str) -> None:
    form, source = opened(name)
    assert isinstance(source, CountSource)
    assert (form, source.n_documents, len(source.vocabulary)) == (COUNTS[name], 60, 30)
    assert sum(int(rows.counts.values.sum()) for rows in source.blocks()) == 1080
