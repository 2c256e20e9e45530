"""Tables of counts: a row for each document and word, or a column for each word, as programs of text analysis do."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from ingest_samples import write

from topiary.app.ingest import registry
from topiary.app.ingest.errors import IngestError
from topiary.app.ingest.importing import read_source
from topiary.app.ingest.options import ImportOptions
from topiary.app.ingest.source import CountSource, Rows, TextSource

WORDS = ("pear", "fig", "nut", "rye")
COUNTS = [[2, 0, 1, 0], [0, 4, 0, 0], [0, 0, 1, 1], [3, 0, 0, 0]]


def rows_of(path: Path, **options: str) -> tuple[CountSource, Rows, list[list[float]]]:
    """The source of a file, its rows, and its counts as a whole matrix over the words in their order here."""
    source = read_source(path, ImportOptions(**options))  # type: ignore[arg-type]
    assert isinstance(source, CountSource)
    (rows,) = source.blocks()
    whole = np.zeros((len(rows.labels), len(WORDS)))
    numbers = [WORDS.index(word) if word in WORDS else place for place, word in enumerate(source.vocabulary)]
    for place in range(len(whole)):
        _, words, values = rows.counts.rows(place, place + 1)
        whole[place, [numbers[word] for word in words]] = values
    return source, rows, whole.tolist()


def table(rows: list[list[object]], sign: str = ",") -> str:
    return "".join(sign.join(map(str, row)) + "\n" for row in rows)


TURNED = [[word, *column] for word, column in zip(WORDS, zip(*COUNTS, strict=True), strict=True)]
MATRICES = {
    "plain.csv": table([list(WORDS), *COUNTS]),
    "sklearn.csv": table([["", *WORDS], *([n, *row] for n, row in enumerate(COUNTS))]),
    "quanteda.csv": table([['""', '"doc_id"', *WORDS], *([n, f'"d{n}"', *row] for n, row in enumerate(COUNTS, 1))]),
    "r.txt": table([[f'"{word}"' for word in WORDS], *([f'"d{n}"', *row] for n, row in enumerate(COUNTS))], " "),
    "labels.tsv": table([[*WORDS, "label"], *([*row, "ab"[n % 2]] for n, row in enumerate(COUNTS))], "\t"),
    "about.csv": table([["term", "document", "count", "n"], *COUNTS]),
    "terms.csv": table([["", "d0", "d1", "d2", "d3"], *TURNED]),
    "tm.csv": table([["", 1, 2, 3, 4], *TURNED]),
}  # fmt: skip


@pytest.mark.parametrize("name", MATRICES)
def test_a_document_term_matrix_is_read_as_counts(name: str, tmp_path: Path) -> None:
    path = write(tmp_path / name, MATRICES[name])
    assert registry.choose_reader(path, ImportOptions()).name == "dtm"
    source, rows, counts = rows_of(path)
    assert counts == COUNTS
    assert source.kind == "counts"
    assert "taken for words" in source.understood["guess"]
    if name in ("quanteda.csv", "r.txt", "terms.csv"):
        assert rows.titles[1].startswith("d")
    assert source.label_names == (("a", "b") if name == "labels.tsv" else ())


def test_a_matrix_in_a_workbook_or_of_parquet_is_one_too_and_reals_are_real(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    for row in [["Survey"], [], ["doc", *WORDS], *(["d", *row] for row in COUNTS)]:
        book.active.append(row)
    book.save(tmp_path / "a.xlsx")
    assert rows_of(tmp_path / "a.xlsx")[2] == COUNTS
    halves = pa.table({word: [row[n] / 2 for row in COUNTS] for n, word in enumerate(WORDS)})
    pq.write_table(halves, tmp_path / "a.parquet")
    source, _, counts = rows_of(tmp_path / "a.parquet")
    assert source.kind == "real"
    assert counts == (np.array(COUNTS) / 2).tolist()


TRIPLES = [
    [f"doc {n}", word, value] for n, row in enumerate(COUNTS) for word, value in zip(WORDS, row, strict=True) if value
]


@pytest.mark.parametrize(
    ("names", "before", "after"),
    [
        (["document", "term", "count"], [], []), (["doc_id", "feature", "frequency"], [], []),
        (["book", "word", "n"], [], []), (["chapter", "word", "n"], [], []), (["Dokument", "Wort", "Anzahl"], [], []),
        (["", "title", "word", "n"], [1], []), (["book", "word", "n", "total", "tf", "tf_idf"], [], [9, 0.1, 2]),
        (["author", "title", "word", "n"], ["Ann"], []),
    ],
)  # fmt: skip
@pytest.mark.parametrize("ending", [".csv", ".txt"])
def test_words_and_their_counts_are_read_as_counts_by_the_names_of_the_columns(
    names: list[str], before: list[object], after: list[object], ending: str, tmp_path: Path
) -> None:
    rows = [[*([n] if before == [1] else before), *row, *after] for n, row in enumerate(TRIPLES)]
    path = write(tmp_path / f"a{ending}", table([names, *rows], "," if ending == ".csv" else "\t"))
    assert registry.choose_reader(path, ImportOptions()).name == "triples"
    source, found, counts = rows_of(path)
    assert counts == COUNTS
    assert found.titles == ["doc 0", "doc 1", "doc 2", "doc 3"]
    assert "guess" not in source.understood
    assert any("left out" in note for note in source.notes) == (len(names) > 3 and before != [1])


def test_a_word_in_each_row_counts_once(tmp_path: Path) -> None:
    once = [[row[0], row[1], "x"] for row in TRIPLES for _ in range(int(row[2]))]
    source, _, counts = rows_of(write(tmp_path / "a.csv", table([["doc_id", "token", "pos"], *once])))
    assert counts == COUNTS
    assert source.notes == ["each row is a word once, in the columns 'doc_id' and 'token'; left out: 'pos'"]


@pytest.mark.parametrize(
    "text",
    [
        "id,comment_text,toxic,threat,insult\n" + "1,this ferry was late again,0,1,0\n2,it is,0,0,0\n" * 4,
        "text,a,b,c\n" + "never on time again,0,1,0\nlate all day and night,0,0,1\n" * 4,
    ],
)
def test_texts_with_columns_of_zeros_and_ones_are_texts(text: str, tmp_path: Path) -> None:
    assert registry.choose_reader(write(tmp_path / "a.csv", text), ImportOptions()).name == "csv"


def test_what_is_counts_but_named_or_taken_as_texts_says_what_to_do(tmp_path: Path) -> None:
    words = write(tmp_path / "words.csv", "word,n\n" + "pear,3\nfig,1\n" * 9)
    with pytest.raises(IngestError, match="the counts of one document; give a table of documents, words and counts"):
        read_source(words)
    path = write(tmp_path / "a.csv", table([["book", "word", "n"], *TRIPLES]))
    with pytest.raises(IngestError, match="leave --format csv out"):
        read_source(path, ImportOptions(format="csv"))
    assert "--format triples" in read_source(write(tmp_path / "b.csv", table(TRIPLES))).understood["guess"]
    with pytest.raises(IngestError, match="--format dtm"):
        read_source(write(tmp_path / "c.csv", MATRICES["plain.csv"]), ImportOptions(format="csv"))


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
TABLES_OF_COUNTS = {
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
@pytest.mark.parametrize("name", TABLES_OF_COUNTS)
def test_a_table_of_counts_is_read_as_counts(name: str) -> None:
    form, source = opened(name)
    assert isinstance(source, CountSource)
    assert (form, source.n_documents, len(source.vocabulary)) == (TABLES_OF_COUNTS[name], 60, 30)
    assert sum(int(rows.counts.values.sum()) for rows in source.blocks()) == 1080
