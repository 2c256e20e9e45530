"""Columns get their kinds at import and when documents are appended, earlier corpora get them later, kinds change."""

import json
import mailbox
from email.message import EmailMessage
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

from topiary.app.ingest import column_kinds
from topiary.app.ingest.appending import append_path
from topiary.app.ingest.column_kinds import KindError, change_kind, ensure_columns, list_columns, read_values
from topiary.app.ingest.importing import import_path, inspect_path
from topiary.app.ingest.options import ImportOptions
from topiary.app.ingest.report import list_columns as list_reported
from topiary.app.ingest.report import list_lines, list_summary, load_report
from topiary.store import corpora, corpus_writer
from topiary.store.blocks import DocumentBlock, StoredCounts
from topiary.store.columns import find_column, is_typed
from topiary.store.corpus_rows import CorpusRow
from topiary.store.database import Database

WORDS = [stem + end for stem in ("com", "plan", "orb", "moo", "gar", "spa") for end in ("et", "ut", "ab", "ix")]
AUTHORS = ("Ann", "Bo", "Cy")


def make_text(number: int) -> str:
    return " ".join(WORDS[(number * step + step) % len(WORDS)] for step in range(1, 7))


def make_table(n: int, begin: int = 0, more: str = "") -> str:
    lines = ["text,posted,score,author,kind" + (",new" if more else "")]
    for number in range(begin, begin + n):
        score = {3: "n/a", 4: "bad"}.get(number, f"{number / 2}")
        posted = f"{1 + number % 28}/{1 + number % 12}/2020"
        cells = [make_text(number), posted, score, AUTHORS[number % 3], "ab"[number % 2]]
        lines.append(",".join([*cells, more] if more else cells))
    return "\n".join(lines)


@pytest.fixture
def corpus(tmp_path: Path, db: Database) -> CorpusRow:
    (tmp_path / "notes.csv").write_text(make_table(40))
    return import_path(db, tmp_path / "notes.csv", ImportOptions(label_column="kind"))


def read(db: Database, corpus: CorpusRow, name: str) -> np.ndarray:
    return read_values(db, corpus, find_column(list_columns(db, corpus), name))


def test_an_import_finds_the_kinds_and_says_what_does_not_fit(db: Database, corpus: CorpusRow) -> None:
    found = {each.name: (each.kind, each.filled, each.invalid) for each in list_columns(db, corpus)[1:]}
    assert found == {"posted": ("date", 40, 0), "score": ("number", 38, 1), "author": ("category", 40, 0)}
    assert list_columns(db, corpus)[0].name == "kind"
    assert read(db, corpus, "posted")[:3].astype("datetime64[D]").astype(str).tolist() == [
        "2020-01-01", "2020-02-02", "2020-03-03",
    ]  # fmt: skip
    assert read(db, corpus, "posted")[28] == np.datetime64(
        "2020-05-01"
    )  # 1/5/2020; other dates show that days come first
    assert np.array_equal(read(db, corpus, "score")[:6], [0, 0.5, 1, np.nan, np.nan, 2.5], equal_nan=True)
    assert read(db, corpus, "author")[:4].tolist() == [0, 1, 2, 0]
    assert read(db, corpus, "kind")[:3].tolist() == [0, 1, 0]
    assert "1 text of column 'score' is no number and counts as missing, such as 'bad'" in corpus.meta["notes"]


def test_the_report_of_an_import_lists_the_kinds(tmp_path: Path, corpus: CorpusRow) -> None:
    report = load_report(corpus.meta)
    assert report is not None
    kinds = "posted (date), score (number), author (category)"
    assert ("kinds", kinds) in list_lines(report)
    assert list_summary(report)[1].endswith(f"; other columns: {kinds}")
    assert [kind for _, kind, _ in list_reported(report)] == ["text", "date", "number", "category", "label"]
    inspected = inspect_path(tmp_path / "notes.csv", ImportOptions(label_column="kind"))
    assert inspected.kinds == report.kinds


def test_appended_documents_are_read_with_the_kinds_that_are_there(
    tmp_path: Path, db: Database, corpus: CorpusRow
) -> None:
    (tmp_path / "more.csv").write_text(make_table(6, 56, more="x").replace("Bo", "Di"))
    added = append_path(db, corpus.number, tmp_path / "more.csv", ImportOptions(label_column="kind"))
    row = added.corpus
    assert is_typed(row)
    author = find_column(list_columns(db, row), "author")
    assert author.levels == ("Ann", "Bo", "Cy", "Di")
    assert read(db, row, "author")[40:].tolist() == [2, 0, 3, 2, 0, 3]
    first = read(db, row, "posted")[40]  # written 1/9/2020; no date of these documents shows that days come first
    assert first == np.datetime64("2020-09-01")
    new = read(db, row, "new")
    assert (new[:40] == -1).all()
    assert new[40:].tolist() == [0] * 6
    assert read(db, row, "score")[40:].tolist() == [28, 28.5, 29, 29.5, 30, 30.5]


def write_untyped(db: Database, documents: int) -> CorpusRow:
    """Write a corpus as a refinement does, which types its columns afterwards."""
    with corpus_writer.write_corpus(db, "earlier", ["word"]) as writer:
        writer.add(
            DocumentBlock(
                first=0,
                counts=StoredCounts(np.arange(documents + 1), np.zeros(documents, np.int32), np.ones(documents, int)),
                part=np.zeros(documents, np.int8),
                labels=np.full(documents, -1),
                titles=[""] * documents,
                texts=["word"] * documents,
                columns=[{"year": str(1900 + n), "by": AUTHORS[n % 2]} if n % 10 else {} for n in range(documents)],
            )
        )
    return writer.row


def test_columns_are_typed_once_when_they_are_needed(db: Database) -> None:
    row = write_untyped(db, 40)
    assert list_columns(db, row) == ()
    with mock.patch.object(column_kinds, "_type_columns", wraps=column_kinds._type_columns) as typing:
        found = ensure_columns(db, row)
        assert ensure_columns(db, row) == found  # the row is still that of before
        assert typing.call_count == 1
    assert [(each.name, each.kind, each.filled) for each in found] == [("year", "date", 36), ("by", "category", 36)]
    years = read(db, row, "year")
    assert np.isnat(years[::10]).all()
    assert years[1:4].astype("datetime64[Y]").astype(int).tolist() == [-69, -68, -67]


def test_values_are_the_same_in_any_number_of_blocks(db: Database) -> None:
    row = write_untyped(db, 40)
    whole = [read_values(db, row, each) for each in ensure_columns(db, row)]
    with mock.patch.object(column_kinds, "DOCUMENTS_PER_BLOCK", 7):
        column_kinds._type_columns(db, corpora.get_corpus(db, row.number), None)
        pieces = [read_values(db, row, each) for each in list_columns(db, row)]
    for one, other in zip(whole, pieces, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_kind_is_changed_without_importing_again(db: Database, corpus: CorpusRow) -> None:
    assert change_kind(db, corpus, "score", "category").levels[:3] == ("0.0", "0.5", "1.0")
    assert read(db, corpus, "score")[:5].tolist()[:2] == [0, 1]
    assert change_kind(db, corpus, "score", "number").invalid == 1
    assert change_kind(db, corpus, "author", "id").levels == ()
    assert read(db, corpus, "author")[:2].tolist() == ["Ann", "Bo"]
    for name, kind, sentence in (
        (
            "author",
            "date",
            "column 'author' cannot be of kind date: none of its texts is a date; its first text is 'Ann",
        ),
        ("kind", "number", "column 'kind' is the label of the documents, which is always a category"),
        ("author", "colour", "a column is of kind date, number, category, text, id, and not 'colour'"),
    ):
        with pytest.raises(KindError, match=sentence):
            change_kind(db, corpus, name, kind)


def test_passages_have_the_columns_of_their_documents(tmp_path: Path, db: Database) -> None:
    texts = [{"text": "\n\n".join(make_text(9 * n + p) * 12 for p in range(3)), "year": 1990 + n} for n in range(8)]
    (tmp_path / "books.jsonl").write_text("\n".join(map(json.dumps, texts)))
    row = import_path(db, tmp_path / "books.jsonl", ImportOptions(split="paragraphs"))
    years = read(db, row, "year").astype("datetime64[Y]").astype(int) + 1970
    assert row.documents > 8
    assert sorted(set(years.tolist())) == list(range(1990, 1998))


def test_messages_have_their_dates(tmp_path: Path, db: Database) -> None:
    box = mailbox.mbox(tmp_path / "list.mbox")
    for n in range(8):
        message = EmailMessage()
        message["From"], message["Subject"] = f"{AUTHORS[n % 3]} <a@b.example>", f"Note {n}"
        message["Date"] = f"Tue, {n + 1} Jan 2008 10:00:00 -0200"
        message.set_content(make_text(n))
        box.add(message)
    box.close()
    row = import_path(db, tmp_path / "list.mbox", ImportOptions(min_df=1))
    assert row.meta["record"]["kinds"]["date"] == "date"
    assert sorted(read(db, row, "date").astype(str).tolist())[0] == "2008-01-01T12:00:00.000"


def test_a_table_next_to_texts_gives_them_its_columns(tmp_path: Path, db: Database) -> None:
    folder = tmp_path / "letters"
    folder.mkdir()
    for n in range(8):
        (folder / f"{n:03}.txt").write_text(make_text(n))
    rows = "\n".join(f"letters/{n:03},{1990 + n},{AUTHORS[n % 2]}" for n in range(8))
    (folder / "about.csv").write_text(f"name,year,author\n{rows}")
    row = import_path(db, folder, ImportOptions(min_df=1))
    kinds = {each.name: each.kind for each in list_columns(db, row)}
    assert kinds == {"file": "id", "year": "date", "author": "category"}
    files = read(db, row, "file").tolist()
    years = (read(db, row, "year").astype("datetime64[Y]").astype(int) + 1970).tolist()
    assert dict(zip(files, years, strict=True)) == {f"{n:03}.txt": 1990 + n for n in range(8)}
