"""The commands about corpora: what came in, what a corpus keeps of it, and more documents."""

import io
import json
import sys
from types import SimpleNamespace

import pandas as pd
import pytest

from topiary.app.cli import main
from topiary.app.ingest.importing import import_path
from topiary.app.ingest.options import ImportOptions
from topiary.store import corpora, corpus_writer
from topiary.store.database import open_database

SUBJECTS = ("apple pear fig plum", "wheel engine brake clutch")


def rows(n, begin=0, more=""):
    lines = ["title;text;kind"]
    for number in range(begin, begin + n):
        words = SUBJECTS[number % 2].split()
        lines.append(
            f"Of {words[number % 4]};the {words[number % 4]} {words[(number + 1) % 4]}{more};{'ab'[number % 2]}"
        )
    return "\n".join(lines)


@pytest.fixture
def store(tmp_path, monkeypatch):
    """Path of an empty store, and the table of forty rows beside it."""
    monkeypatch.delenv("TOPIARY_STORE", raising=False)
    (tmp_path / "notes.csv").write_text(rows(40))
    return str(tmp_path / "store.db")


def call(capsys, *words):
    status = main.main([*map(str, words)])
    return (status, *capsys.readouterr())


def test_inspect_says_what_an_import_would_make_and_stores_nothing(capsys, store, tmp_path):
    status, out, err = call(capsys, "inspect", tmp_path / "notes.csv", "--max-words", "6", "--store", store)
    assert status == 0
    lines = [line.split() for line in out.splitlines()]
    assert out.splitlines()[2] == "guess      the label is 'kind', whose values repeat"
    assert ["separator", "semicolon"] in lines
    assert ["columns", "title", "title", "Of", "apple", "|", "Of", "engine", "|", "Of", "fig"] in lines
    assert ["kind", "label", "a", "|", "b"] in lines
    assert any(line[:3] == ["documents", "40", "documents,"] for line in lines)
    assert "--max-words 6" in out
    assert "nothing is stored yet; make a corpus of it with topiary import" in err
    assert not (tmp_path / "store.db").exists()
    read = json.loads(call(capsys, "inspect", tmp_path / "notes.csv", "--json")[1])
    assert (read["read"], read["words_kept"], read["labels"]) == (40, 8, {"a": 20, "b": 20})


def test_an_import_says_the_same_in_five_lines_and_the_corpus_keeps_it(capsys, store, tmp_path):
    status, out, _ = call(capsys, "import", tmp_path / "notes.csv", "--min-df", "3", "--store", store)
    first, *lines = out.splitlines()
    assert status == 0
    assert first == "corpus 1, notes: 40 documents (30 training, 10 test), 8 words, 120 tokens"
    assert len([line for line in lines if not line.startswith("  warning")]) == 5
    assert lines[0].startswith("  read as csv (table of texts; ")
    said = json.loads(call(capsys, "inspect", tmp_path / "notes.csv", "--min-df", "3", "--json")[1])
    kept = json.loads(call(capsys, "corpora", "notes", "--json", "--store", store)[1])
    assert kept["record"] == said
    shown = call(capsys, "corpora", "show", "1", "--store", store)[1]
    assert shown.startswith(first)
    assert "chosen     --min-df 3" in shown


def test_separator_and_quotes_that_are_chosen_are_kept_and_give_the_same_again(capsys, store, tmp_path):
    (tmp_path / "odd.csv").write_text(rows(40).replace(";", "~"))
    chosen = ("--separator", "~", "--quote", "'", "--store", store)
    said = json.loads(call(capsys, "inspect", tmp_path / "odd.csv", *chosen, "--json")[1])
    assert (said["understood"]["separator"], said["understood"]["quote"]) == ("~", "single quotation mark")
    assert said["read"] == 40
    assert call(capsys, "import", tmp_path / "odd.csv", *chosen)[0] == 0
    shown = call(capsys, "corpora", "odd", "--store", store)[1]
    assert "chosen     --separator ~, --quote single" in shown
    assert "separator  ~" in shown
    kept = json.loads(call(capsys, "corpora", "odd", "--json", "--store", store)[1])["record"]["options"]
    again = [word for name, value in kept.items() for word in (f"--{name}", value)]
    assert call(capsys, "import", tmp_path / "odd.csv", "--name", "again", *again, "--store", store)[0] == 0
    (tmp_path / "more.csv").write_text(rows(10, 40).replace(";", "~"))
    assert call(capsys, "append", "odd", tmp_path / "more.csv", "--store", store)[0] == 0  # read as the first was
    (tmp_path / "other.csv").write_text(rows(10, 40).replace(";", "^"))
    assert call(capsys, "append", "odd", tmp_path / "other.csv", "--separator", "^", "--store", store)[0] == 0
    db = open_database(store)
    odd, same = corpora.list_corpora(db)
    assert (odd.documents, same.documents) == (60, 40)
    assert [each["options"]["separator"] for each in odd.meta["additions"]] == ["~", "^"]
    db.close()


def test_documents_are_appended_and_the_corpus_says_so(capsys, store, tmp_path):
    call(capsys, "import", tmp_path / "notes.csv", "--store", store)
    (tmp_path / "more.csv").write_text(rows(10, 40, " boat"))
    status, out, _ = call(capsys, "append", "notes", tmp_path / "more.csv", "--store", store)
    assert status == 0
    assert out.splitlines() == [
        "10 documents appended (7 training, 3 test), 10 of 40 words (25.0%) are outside its vocabulary: boat",
        "corpus 1, notes: 50 documents (37 training, 13 test), 8 words, 150 tokens",
    ]
    shown = call(capsys, "corpora", "notes", "--store", store)[1].splitlines()
    assert shown[-1] == "appended   10 documents of more.csv, after the first 40; 10 of 40 words outside the vocabulary"
    read = json.loads(call(capsys, "append", "1", tmp_path / "more.csv", "--json", "--store", store)[1])
    assert (read["documents"], read["outside"], read["corpus"]["documents"]) == (10, 10, 60)


def test_standard_input_and_several_files_are_imported(capsys, store, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(rows(8).encode())))
    assert call(capsys, "import", "-", "--name", "piped", "--store", store)[0] == 0
    (tmp_path / "more.csv").write_text(rows(10, 40))
    assert call(capsys, "import", tmp_path / "notes.csv", tmp_path / "more.csv", "--store", store)[0] == 0
    db = open_database(store)
    assert [(row.name, row.documents, row.meta["file"]) for row in corpora.list_corpora(db)] == [
        ("piped", 8, "standard input"),
        ("notes", 50, "notes.csv and 1 more"),
    ]
    db.close()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("inspect nowhere.csv", "topiary inspect: nowhere.csv: there is no such file or folder"),
        ("inspect {}/notes.csv --text-column body", "has no column 'body'; its columns are title, text, kind"),
        (
            "inspect {}/notes.csv --separator ::",
            "topiary inspect: --separator must be comma, semicolon, tab, pipe, space",
        ),
        (
            "append notes {}/notes.csv --quote <",
            "topiary append: --quote must be double (\"), single (') or none; got '<'",
        ),
        (
            "inspect {}/letters.txt --separator tab",
            "with separated cells (--format csv reads a text file as one); leave",
        ),
        ("inspect {}/letters.txt --quote none", "leave --quote out"),
        ("inspect {}/notes.csv --max-df 3", "topiary inspect: --max-df must be a share of the documents"),
        ("append nothing {}/notes.csv", "topiary append: there is no corpus 'nothing'"),
        ("append notes {}/notes.csv --encoding none", "topiary append: there is no text encoding 'none'"),
        ("append notes {}/notes.csv --on nowhere", "--on takes local:N, such as local:2, or the address of a Dask"),
        ("append notes nowhere.csv", "topiary append: nowhere.csv: there is no such file or folder"),
        ("append notes {}/notes.csv --min-df 3", "unrecognized arguments: --min-df 3"),
        ("corpora show", "say which corpus to show, by name or number"),
        ("corpora nothing", "there is no corpus 'nothing'; the store has notes (1)"),
        ("corpora kill notes", "corpora does list, show or delete, and not 'kill'; say which"),
    ],
)
def test_a_mistake_is_one_sentence_and_changes_nothing(capsys, store, tmp_path, monkeypatch, words, said):
    call(capsys, "import", tmp_path / "notes.csv", "--store", store)
    (tmp_path / "letters.txt").write_text("the ship\nthe sea\n")
    monkeypatch.chdir(tmp_path)
    status, out, err = refused(capsys, *words.format(tmp_path).split(), "--store", store)
    assert (status, out) == (2, "")
    assert said in err
    db = open_database(store)
    assert [row.documents for row in corpora.list_corpora(db)] == [40]
    db.close()


def refused(capsys, *words):
    """Also by the parser."""
    try:
        return call(capsys, *words)
    except SystemExit as left:
        return (left.code, *capsys.readouterr())


def test_a_corpus_without_a_record_says_why(capsys, store, tmp_path):
    db = open_database(store)
    with corpus_writer.write_corpus(db, "old", ("apple",)):
        pass
    db.close()
    status, out, err = call(capsys, "corpora", "old", "--store", store)
    assert (status, out) == (0, "corpus 1, old: 0 documents (0 training, 0 test), 1 words, 0 tokens\n")
    assert "it keeps no record of how its files were read" in err


def test_columns_with_commas_lines_above_the_names_and_the_place_of_records_are_options(capsys, store, tmp_path):
    head = "Survey\nof 2021\n" + '"Why, then?","What, else?",kind\n'
    (tmp_path / "a.csv").write_text(head + "".join(f"the pear {n},and the fig {n},{'ab'[n % 2]}\n" for n in range(9)))
    chosen = ("--text-column", "Why, then?", "--text-column", "What, else?", "--skip-lines", "2", "--max-df", "1")
    said = json.loads(call(capsys, "inspect", tmp_path / "a.csv", *chosen, "--json")[1])
    assert [column["role"] for column in said["columns"]] == ["text", "text", "label"]
    assert said["options"] == {"text_column": '"Why, then?","What, else?"', "skip_lines": 2, "max_df": 1.0}
    assert call(capsys, "import", tmp_path / "a.csv", *chosen, "--store", store)[0] == 0
    assert call(capsys, "append", "a", tmp_path / "a.csv", "--store", store)[0] == 0
    answer = {"a": {"items": [{"text": f"the pear and the fig {n}"} for n in range(9)]}}
    (tmp_path / "b.json").write_text(json.dumps(answer))
    said = json.loads(
        call(capsys, "inspect", tmp_path / "b.json", "--records", "a.items", "--max-df", "1", "--json")[1]
    )
    assert (said["read"], said["understood"]["records"]) == (9, "a.items")
    status, _, err = call(capsys, "inspect", tmp_path / "a.csv", "--skip-lines", "-1")
    assert (status, "--skip-lines must be a number of lines, 0 or more" in err) == (2, True)


WORDS = [stem + end for stem in ("com", "plan", "orb", "moo", "gar", "spa") for end in ("et", "ut", "ab", "ix")]


@pytest.fixture
def columned(tmp_path, monkeypatch):
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


def test_columns_are_listed_with_kind_share_and_range(capsys, columned):
    status, out, _ = call(capsys, "columns", "notes", "--store", columned)
    assert status == 0
    assert [" ".join(line.split()) for line in out.splitlines()[1:]] == [
        "kind category, label 100% 2 categories: a 20, b 20",
        "posted date 100% 2020-01-01 to 2020-01-28",
        "score number 25% 0 to 18",
        "section category 100% 5 categories: s0 8, s1 8, s2 8 and 2 more",
    ]
    (label, *_, section) = json.loads(call(capsys, "columns", 1, "--json", "--store", columned)[1])
    assert (label["is_label"], label["filled"]) == (True, 40)
    assert section["largest"] == {"s0": 8, "s1": 8, "s2": 8}


def test_a_kind_is_changed_and_what_cannot_be_is_refused_in_a_sentence(capsys, columned):
    status, out, err = call(
        capsys, "columns", "notes", "--kind", "section=text", "--kind", "score=category", "--store", columned
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
        status, _, err = call(capsys, "columns", "notes", "--kind", request, "--store", columned)
        assert (status, err.strip()) == (2, f"topiary columns: {sentence}")


def test_the_library_gives_the_same_columns_and_their_values(columned):
    topiary = pytest.importorskip("topiary")
    corpus = topiary.open(columned).corpora["notes"]
    table = corpus.columns
    assert table.loc["posted", ["kind", "first", "last"]].tolist() == ["date", "2020-01-01", "2020-01-28"]
    assert table.loc["section", "categories"] == 5
    assert corpus.column("posted")[3] == pd.Timestamp("2020-01-04")
    assert corpus.column("section").value_counts().to_dict() == {f"s{n}": 8 for n in range(5)}
    assert corpus.column("kind").cat.categories.tolist() == ["a", "b"]
    assert corpus.column("score").count() == 10
    corpus.change_kind("score", "text")
    assert corpus.column("score")[4] == "2.0"
