"""Tables of counts: a row for each document and word, or a column for each word, as programs of text analysis do."""

from pathlib import Path

import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from ingest_samples import write

from app.ingest import registry
from app.ingest.errors import IngestError
from app.ingest.importing import read_source
from app.ingest.options import ImportOptions
from app.ingest.source import CountSource, Rows

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
