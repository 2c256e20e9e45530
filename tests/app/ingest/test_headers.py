"""A line of column names is never a document, and what each column is shows in what it holds."""

import random

import pytest

from app.ingest.headers import has_header
from app.ingest.importing import import_path
from app.ingest.options import ImportOptions
from store import corpora
from store.database import open_database

WORDS = tuple("river stone cloud apple garden winter bread music window paper letter horse market forest".split())  # noqa: SIM905


def prose(n, seed=1, least=6, most=30):
    rng = random.Random(seed)
    return [" ".join(rng.choices(WORDS, k=rng.randint(least, most))) for _ in range(n)]


def table(head, columns, sign=","):
    rows = [sign.join(row) for row in zip(*columns, strict=True)]
    return "\n".join(([sign.join(head)] if head else []) + rows) + "\n"


STARS = [str(1 + n % 5) for n in range(40)]
MOODS = [("good", "bad")[n % 2] for n in range(40)]
TITLES = [f"{WORDS[n % 14]} number {n}" for n in range(40)]
DAYS = [f"2024-01-{1 + n % 28:02d}" for n in range(40)]
CASES = {
    "names nobody listed": (table(("Review Text", "Rating"), (prose(40), STARS)), ("Review Text", "Rating", None)),
    "names in German": (table(("Kommentar", "Note"), (prose(40), STARS)), ("Kommentar", "Note", None)),
    "a label of words": (table(("Was", "Stimmung"), (prose(40), MOODS)), ("Was", "Stimmung", None)),
    "the label first": (table(("Urteil", "Meinung"), (MOODS, prose(40))), ("Meinung", "Urteil", None)),
    "a title beside": (
        table(("Überschrift", "Beitrag", "Art"), (TITLES, prose(40), MOODS)),
        ("Beitrag", "Art", "Überschrift"),
    ),
    "semicolons": (table(("Tekst", "Ocena"), (prose(40), STARS), ";"), ("Tekst", "Ocena", None)),
    "other columns": (table(("Id", "When", "Said"), (TITLES, DAYS, prose(40))), ("Said", None, None)),
    "one column": (table(("Remarks",), (prose(40),)), ("Remarks", None, None)),
    "two rows": (table(("Bericht", "Punkte"), (prose(2), ["5", "3"])), ("Bericht", None, None)),
    "no names": (table((), (prose(40), MOODS)), ("1", "2", None)),
    "no names, one column": (table((), (prose(40),)), ("1", None, None)),
    "no names, numbers first": (table((), (STARS, TITLES, prose(40))), ("3", "1", "2")),
    "no names, short texts": (table((), (prose(40, least=1, most=3),)), ("1", None, None)),
    "no names, one row": (table((), (prose(1),)), ("1", None, None)),
}


@pytest.mark.parametrize("case", CASES)
def test_columns_are_told_by_what_they_hold(tmp_path, case):
    text, (said, label, title) = CASES[case]
    path = tmp_path / "table.csv"
    path.write_text(text, encoding="utf-8")
    db = open_database(tmp_path / "store.db")
    row = import_path(db, path, ImportOptions(min_df=1, max_df=1.0, test_share=0))
    named = not said.isdigit()
    assert row.documents == text.count("\n") - named
    documents = corpora.documents(db, row.number, range(row.documents))
    assert all(document.text in text and len(document.text) >= 3 for document in documents)
    assert bool(row.label_names) is (label is not None)
    note = row.meta["notes"][0]
    assert f"text is '{said}'" in note
    assert (f"label is '{label}'" if label else "no label") in note
    assert (f"title is '{title}'" if title else "no title") in note
    assert note.startswith("the first line has the column names" if named else "there is no line of column names")
    db.close()


@pytest.mark.parametrize(("header", "documents"), [("yes", 39), ("no", 40)])
def test_what_was_decided_can_be_overridden(tmp_path, header, documents):
    path = tmp_path / "table.csv"
    path.write_text(table((), (prose(40),)), encoding="utf-8")
    db = open_database(tmp_path / "store.db")
    row = import_path(db, path, ImportOptions(min_df=1, max_df=1.0, test_share=0, header=header))
    assert row.documents == documents
    db.close()


@pytest.mark.parametrize(
    ("first", "rows", "found"),
    [
        (["a", "b"], [["1", "2"], ["3", "4"]], True),
        (["1", "b"], [["1", "2"]], False),
        (["name", "name"], [["1", "2"]], True),
        (["", "b"], [["1", "2"]], True),
        (["", "b"], [["x", "c"], ["y", "d"]], None),
        (["a"], [], None),
        (["good"], [["good"], ["bad"], ["good"]], False),
        (["apple"], [["pear"], ["fig"]], None),
    ],
)
def test_what_tells_nothing_is_left_open(first, rows, found):
    assert has_header(first, rows) is found
