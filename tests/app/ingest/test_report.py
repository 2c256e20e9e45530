"""What each cut of a vocabulary takes away."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from topiary.app.ingest import vectorise
from topiary.app.ingest.errors import IngestError
from topiary.app.ingest.importing import inspect_path
from topiary.app.ingest.observing import Limits, Vocabulary, count_met, make_cuts
from topiary.app.ingest.options import ImportOptions
from topiary.app.ingest.report import Cut, Report, Share, list_columns, list_cuts, list_lines, list_summary
from topiary.app.ingest.tables.values import Column

WORDS = ("rare", "usual", "common", "other", "everywhere")
DOCUMENTS, TOTALS = np.array([1, 4, 9, 5, 5]), np.array([1, 12, 30, 11, 20])


def vocabulary(**more: object) -> Vocabulary:
    return Vocabulary(WORDS, DOCUMENTS, TOTALS, 10, **more)  # type: ignore[arg-type]


def test_cuts_are_told_in_order_each_of_what_those_before_it_left() -> None:
    found = make_cuts(
        vocabulary(stopped={"the": 7, "a": 7, "of": 9}, common=np.array([4])), Limits("english", 2, 0.7, 1, True)
    )
    assert [(cut.option, cut.setting, cut.words, cut.tokens, cut.examples) for cut in found] == [
        ("stop_words", "english", 3, 23, ("of", "a", "the")),
        ("leave_out_common", "true", 1, 20, ("everywhere",)),
        ("min_df", "2", 1, 1, ("rare",)),
        ("max_df", "0.7", 1, 30, ("common",)),
        ("max_words", "1", 1, 11, ("other",)),
    ]


def test_what_no_cut_takes_is_what_is_kept() -> None:
    for limits in (
        Limits("none", 2, 0.7, None),
        Limits("none", 1, 1.0, 2),
        Limits("none", 4, 0.5, 1),
        Limits("none", 1, 0.9, 9),
    ):
        found = make_cuts(vocabulary(), limits)
        kept = vectorise.choose_words(DOCUMENTS, TOTALS, 10, limits)
        words, tokens = count_met(vocabulary())
        assert words - sum(cut.words for cut in found) == len(kept)
        assert tokens - sum(cut.tokens for cut in found) == TOTALS[kept].sum()


def test_examples_are_ten_at_most() -> None:
    many = Vocabulary([f"w{n}" for n in range(50)], np.ones(50), np.arange(50), 10)
    (fallen,) = (cut for cut in make_cuts(many, Limits("none", 2, 1.0, None)) if cut.words)
    assert fallen.words == 50
    assert fallen.examples == tuple(f"w{n}" for n in range(49, 39, -1))


@pytest.mark.parametrize(
    ("name", "content", "options", "said"),
    [
        ("a.jsonl", '{"text": "apple bread"}', {}, "is read as a single document, and topics are learnt"),
        ("a.csv", "text,n\napple pear,1\n,2\n,3\n", {}, "has 3 documents, but words in only 1 of"),
        ("a.csv", "text,n\n,1\n,2\n,3\n", {"text_column": "text"}, "all of its 3 documents are empty; name the"),
        ("a.csv", "text\n12.5\n8\n17\n", {"header": "yes", "text_column": "text"}, "has numbers where texts should be"),
        ("a.txt", "the and of\nof the\n", {"stop_words": "english"}, r"no words but stop words \(of the and\)"),
        ("a.txt", "a b c\n? !\nx y\n", {}, "has no words of two letters or more; is it text"),
        ("a.txt", "apple pear\nfig\n", {"token_pattern": "[0-9]+"}, "--token-pattern '.*' finds no words in it; g"),
        ("a.txt", "apple pear\n" * 9, {}, "tells its documents apart: all 9 have the same text"),
        ("a.txt", "apple pear\npear apple\n" * 4, {}, "tells its documents apart: all 8 have the same words"),
        ("a.txt", "apple pear\napple fig\n", {}, "only 2 documents, and no word can pass --min-df 2 "),
        ("a.txt", "apple\nfig\npear\nplum\n", {}, "no word that two of its 4 documents share; are they"),
        ("a.csv", "code,n\nab,1\nbc,2\ncd,3\n", {}, "'code' was taken for the text and has few words"),
        ("a.csv", "a~b\nred apple~fine\nblue sky~well\ngreen pear~good\nold oak~hm\n", {"separator": "pipe"},
         r"the table has one column \('a~b'\), so say with --separator what stands between its cells"),
        ("a.txt", "apple pear\napple fig\npear fig\n" * 4, {"max_df": 0.5},
         "has 3 different words, and none is left: --max-df 0.5 takes 3; cut less"),
    ],
)  # fmt: skip
def test_each_cause_of_an_empty_vocabulary_is_named(
    tmp_path: Path, name: str, content: str, options: dict[str, object], said: str
) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(IngestError, match=said) as refused:
        inspect_path(tmp_path / name, ImportOptions(**options))  # type: ignore[arg-type]
    assert "\n" not in str(refused.value)


def test_counts_whose_words_are_all_cut_say_by_what(tmp_path: Path) -> None:
    (tmp_path / "docword.txt").write_text("3\n2\n3\n1 1 1\n2 1 1\n3 2 1\n")
    (tmp_path / "vocab.txt").write_text("the\nfig\n")
    with pytest.raises(
        IngestError, match=r"2 different words, and none is left: --stop-words english takes 1, --min-df 2"
    ):
        inspect_path(tmp_path / "docword.txt", ImportOptions(stop_words="english", min_df=2))


@pytest.mark.parametrize("split", ["500 words", "paragraphs"])
def test_a_single_passage_is_said_to_be_one(tmp_path: Path, split: str) -> None:
    (tmp_path / "a.txt").write_text("apple pear " * 20)
    with pytest.raises(IngestError, match="is a single passage of 40 words; divide it more finely with --split"):
        inspect_path(tmp_path / "a.txt", ImportOptions(split=split))


VOCABULARY = [f"word{chr(97 + n % 26)}{chr(97 + n // 26)}" for n in range(120)]


def sound(n: int) -> str:
    return " ".join(VOCABULARY[(7 * n + 3 * k) % 120] for k in range(12))


def warnings(tmp_path: Path, body: Callable[[int], str], label: Callable[[int], str], **options: object) -> list[str]:
    path = tmp_path / "notes.csv"
    path.write_text("\n".join(["body,label", *(f"{body(n)},{label(n)}" for n in range(100))]), encoding="utf-8")
    asked = ImportOptions(text_column="body", label_column="label", **options)  # type: ignore[arg-type]
    return list(inspect_path(path, asked).warnings)


def test_a_sound_table_has_no_warnings(tmp_path: Path) -> None:
    assert warnings(tmp_path, sound, lambda n: "ab"[n % 2]) == []


@pytest.mark.parametrize(
    ("body", "label", "said"),
    [
        (lambda n: sound(n % 10), lambda n: "ab"[n % 2], "nine of ten documents have the same content"),
        (lambda n: sound(n) if n % 2 else "", lambda n: "ab"[n % 2], "50% of the documents are empty"),
        (sound, lambda n: f"label {n}", "the label is another one in every document"),
        (sound, lambda n: f"label {n // 2 * 2 if n > 50 else n}", "the label has 75 values in 100 documents"),
        (sound, lambda _: "a", "the label is 'a' in every document"),
        (lambda n: sound(n) if n < 5 else f"{n}.5", lambda n: "ab"[n % 2], "the text has a number in 95% of the"),
        (
            lambda n: f"{sound(n)[:24]} {'0123456789' * 4}7",
            lambda n: "ab"[n % 2],
            "two of three characters are not in any word",
        ),
        (lambda n: f"{sound(n)} \ufffd", lambda n: "ab"[n % 2], "the replacement character \ufffd occurs 100 times"),
    ],
)
def test_what_is_odd_is_said(
    tmp_path: Path, body: Callable[[int], str], label: Callable[[int], str], said: str
) -> None:
    found = warnings(tmp_path, body, label, min_df=1, max_df=1.0)
    assert any(warning.startswith(said) for warning in found), found


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"max_words": 3}, "only 3 different words are kept"),
        ({"max_words": 3}, "the cuts take"),
        ({"max_words": 1, "test_share": 0.5}, "documents have no word that is kept"),
    ],
)
def test_cuts_that_leave_too_little_are_said(tmp_path: Path, options: dict[str, object], said: str) -> None:
    found = warnings(tmp_path, sound, lambda n: "ab"[n % 2], **options)
    assert any(said in warning for warning in found), found


def test_a_handful_of_documents_is_said_to_be_few(tmp_path: Path) -> None:
    path = tmp_path / "notes.csv"
    path.write_text(f"text\n{sound(1)}\n{sound(2)}\n", encoding="utf-8")
    found = inspect_path(path, ImportOptions(min_df=1, max_df=1.0)).warnings
    assert found[0].startswith("there are only 2 documents, and topics are learnt from many")


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
        "scripts": "Latin 98%, Greek 2.0%",
        "languages": "English 100%",
        "words": "100 words, 30 different",
        "kept": "40 words (40%), 20 different",
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
