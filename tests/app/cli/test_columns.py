"""The command about columns lists kinds and ranges, and changes kinds; the library gives the same."""

import json

import pandas as pd
import pytest

from topiary.app.cli import main
from topiary.app.ingest.importing import import_path
from topiary.app.ingest.options import ImportOptions
from topiary.store.database import open_database

WORDS = [stem + end for stem in ("com", "plan", "orb", "moo", "gar", "spa") for end in ("et", "ut", "ab", "ix")]


@pytest.fixture
def store(tmp_path, monkeypatch):
    """Path of a store with one corpus of forty documents."""
    monkeypatch.delenv("TOPIARY_STORE", raising=False)
    lines = ["text,posted,score,section,kind"]
    for n in range(40):
        text = " ".join(WORDS[(n * step + step) % len(WORDS)] for step in range(1, 7))
        lines.append(f"{text},2020-01-{1 + n % 28:02},{'' if n % 4 else n / 2},s{n % 5},{'ab'[n % 2]}")
    (tmp_path / "notes.csv").write_text("\n".join(lines))
    db = open_database(tmp_path / "store.db")
    import_path(db, tmp_path / "notes.csv", ImportOptions(label_column="kind"))
    db.close()
    return str(tmp_path / "store.db")


def call(capsys, *words):
    status = main.main([*map(str, words)])
    return (status, *capsys.readouterr())


def test_columns_are_listed_with_kind_share_and_range(capsys, store):
    status, out, _ = call(capsys, "columns", "notes", "--store", store)
    assert status == 0
    assert [" ".join(line.split()) for line in out.splitlines()[1:]] == [
        "kind category, label 100 % 2 categories: a 20, b 20",
        "posted date 100 % 2020-01-01 to 2020-01-28",
        "score number 25 % 0 to 18",
        "section category 100 % 5 categories: s0 8, s1 8, s2 8 and 2 more",
    ]
    (label, *_, section) = json.loads(call(capsys, "columns", 1, "--json", "--store", store)[1])
    assert (label["is_label"], label["filled"]) == (True, 40)
    assert section["largest"] == {"s0": 8, "s1": 8, "s2": 8}


def test_a_kind_is_changed_and_what_cannot_be_is_refused_in_a_sentence(capsys, store):
    status, out, err = call(
        capsys, "columns", "notes", "--kind", "section=text", "--kind", "score=category", "--store", store
    )
    assert status == 0
    assert [line.split()[1] for line in out.splitlines()[2:]] == ["date", "category", "text"]
    for request, sentence in (
        (
            "section=date",
            "column 'section' cannot be of kind date: none of its texts is a date; its first text is 's0'",
        ),
        ("section", "--kind is NAME=KIND, such as --kind year=date; got 'section'"),
        ("day=date", "there is no column 'day'; the columns are kind, posted, score, section"),
    ):
        status, _, err = call(capsys, "columns", "notes", "--kind", request, "--store", store)
        assert (status, err.strip()) == (2, f"topiary columns: {sentence}")


def test_the_library_gives_the_same_columns_and_their_values(store):
    topiary = pytest.importorskip("topiary")
    corpus = topiary.open(store).corpora["notes"]
    table = corpus.columns
    assert table.loc["posted", ["kind", "first", "last"]].tolist() == ["date", "2020-01-01", "2020-01-28"]
    assert table.loc["section", "categories"] == 5
    assert corpus.column("posted")[3] == pd.Timestamp("2020-01-04")
    assert corpus.column("section").value_counts().to_dict() == {f"s{n}": 8 for n in range(5)}
    assert corpus.column("kind").cat.categories.tolist() == ["a", "b"]
    assert corpus.column("score").count() == 10
    corpus.change_kind("score", "text")
    assert corpus.column("score")[4] == "2.0"
