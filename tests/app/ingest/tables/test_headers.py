"""A line of column names is never a document, and what each column is shows in what it holds."""

import random

import pytest

from topiary.app.ingest.errors import IngestError
from topiary.app.ingest.importing import import_path, read_source
from topiary.app.ingest.options import ImportOptions
from topiary.app.ingest.tables.headers import find_heading, has_header, name_columns
from topiary.store import corpora
from topiary.store.database import open_database

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
    documents = corpora.read_documents(db, row.number, range(row.documents))
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


SHORT = ["ok" if n % 10 == 0 else text for n, text in enumerate(prose(40))]


@pytest.mark.parametrize(
    ("head", "columns"),
    [
        (("comment", "department"), (SHORT, MOODS)),
        (("Kommentar",), (SHORT,)),
        (("id", "text", "id", "label"), (STARS, prose(40), STARS, MOODS)),
        (("Wert", "Antwort", "Wert"), (STARS, prose(40), STARS)),
        (("What do you like about the town in which you live and work, all things considered?",), (prose(40),)),
        (("Timestamp", "Which of these describes you best, all in all?", "Anything else"), (DAYS, MOODS, prose(40))),
        (("", "0", "1"), ([str(n) for n in range(40)], prose(40), MOODS)),
    ],
)
def test_known_names_settle_it_and_questions_and_repeated_names_are_names(head, columns):
    rows = list(zip(*columns, strict=True))
    assert has_header(head, rows) is True


@pytest.mark.parametrize("first", [("article", prose(1)[0]), ("good", "ok"), ("2024-01-01", prose(1)[0])])
def test_a_known_word_among_values_is_no_name(first):
    columns = (DAYS if first[0][0] == "2" else [("comment", "good", "post")[n % 3] for n in range(40)], prose(40))
    assert has_header(first, list(zip(*columns, strict=True))) is not True


QUALTRICS = [
    ["StartDate", "Q1", "Q3_TEXT"],
    ["Start Date", "How satisfied are you?", "What should be changed, in your own words?"],
    ['{"ImportId":"startDate"}', '{"ImportId":"QID1"}', '{"ImportId":"QID3_TEXT"}'],
]
MONKEY = [
    ["Respondent ID", "Which do you use?", "", "What else?"],
    ["", "Email", "Other (please specify)", "Open-Ended Response"],
]
USED = ["Email" if n % 2 else "" for n in range(40)]


@pytest.mark.parametrize(
    ("above", "columns", "rows", "names"),
    [
        (QUALTRICS, (DAYS, STARS, prose(40)), 3, ("StartDate", "Q1", "Q3_TEXT")),
        (QUALTRICS[:2], (DAYS, STARS, prose(40)), 2, ("StartDate", "Q1", "Q3_TEXT")),
        (MONKEY, (STARS, USED, [""] * 40, prose(40)), 2,
         ("Respondent ID", "Which do you use? Email", "Which do you use? Other (please specify)", "What else?")),
        ([["text", "n", "kg"], ["-", "pieces", "of it"]], (prose(40), STARS, STARS), 2, ("text", "n", "kg")),
        ([["text", "n", "kg"], ["unknown", "n/a", "7"]], (prose(40), STARS, STARS), 1, ("text", "n", "kg")),
    ],
)  # fmt: skip
def test_further_lines_of_names_are_no_documents(above, columns, rows, names):
    table = [*above, *map(list, zip(*columns, strict=True))]
    heading = find_heading(table)
    assert (heading.above, heading.rows) == (0, rows)
    assert name_columns(table[: 1 if "Qualtrics" in heading.kind else rows]) == names


@pytest.mark.parametrize("titles", [["Survey 2021", "", ""], ["Survey", "2021-05-01", ""]])
def test_titles_above_the_names_are_left_out_and_said(tmp_path, titles):
    rows = [titles, ["", "", ""], ["Nr", "Antwort", "Gruppe"], *zip(STARS, prose(40), MOODS, strict=True)]
    text = "\n".join(",".join(row) for row in rows)
    (tmp_path / "a.csv").write_text(text, encoding="utf-8")
    source = read_source(tmp_path / "a.csv")
    assert len(list(source.documents())) == 40
    assert set(source.columns.roles) == {"Antwort", "Gruppe"}
    if titles[1]:
        return  # half of the width of the names
    assert "2 lines above the column names, 'Nr', 'Antwort', 'Gruppe', are left out" in source.understood["guess"]
    source = read_source(tmp_path / "a.csv", ImportOptions(skip_lines=2))
    assert "above" not in source.understood["guess"]
    assert len(list(source.documents())) == 40
    assert len(list(read_source(tmp_path / "a.csv", ImportOptions(skip_lines=0)).documents())) > 40
    with pytest.raises(IngestError, match="nothing below its first 99 lines"):
        read_source(tmp_path / "a.csv", ImportOptions(skip_lines=99))


def test_a_name_that_comes_twice_gets_a_number_and_is_noted(tmp_path):
    text = table(("id", "text", "id", "label"), (STARS, prose(40), DAYS, MOODS))
    (tmp_path / "a.csv").write_text(text, encoding="utf-8")
    source = read_source(tmp_path / "a.csv")
    first = next(source.documents())
    assert dict(first.columns) == {"id": "1", "id 2": "2024-01-01"}
    assert "the column 'id' is there twice; the second one is called 'id 2'" in source.notes
