"""Passages at the ends of paragraphs, and of about as many words each."""

from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from topiary.app.ingest.appending import append_path
from topiary.app.ingest.errors import IngestError
from topiary.app.ingest.importing import import_path, inspect_path
from topiary.app.ingest.memory import import_texts
from topiary.app.ingest.new_documents import find_rules, read_new_documents
from topiary.app.ingest.options import ImportOptions, OptionError
from topiary.app.ingest.report import load_report
from topiary.app.ingest.text.passages import (
    count_words,
    divide_by_words,
    divide_into_chapters,
    divide_into_paragraphs,
    has_chapters,
    strip_licence,
)
from topiary.engine.contract import TEST, TRAIN, VALIDATION
from topiary.store import corpora
from topiary.store.database import Database

SENTENCE = "Rain fell on the harbour, and Mr. Roe went home."  # ten words


@pytest.mark.parametrize(
    ("text", "words"),
    [("", 0), ("It rained, didn't it?", 4), ("boat-house 1990", 2), ("我们去图书馆学习。", 4), ("東京 is far", 3)],
)
def test_words_are_counted_in_texts_with_and_without_spaces(text: str, words: int) -> None:
    assert count_words(text) == words


def test_short_paragraphs_are_joined_with_those_after_them() -> None:
    long, short = " ".join([SENTENCE] * 6), "A heading"
    found = divide_into_paragraphs("\n\n".join([short, long, long, short, long, "The end."]))
    assert [passage.text for passage in found] == [f"{short}\n\n{long}", long, f"{short}\n\n{long}\n\nThe end."]
    assert [passage.text for passage in divide_into_paragraphs(short)] == [short]


@pytest.mark.parametrize("between", ["\n\n", "\n \t\n\n", "\f", "\n"])
def test_paragraphs_are_told_by_blank_lines_or_are_long_lines(between: str) -> None:
    paragraph = " ".join([SENTENCE] * 6)
    assert [passage.text for passage in divide_into_paragraphs(between.join([paragraph] * 4))] == [paragraph] * 4


def test_wrapped_lines_are_one_paragraph_and_an_indented_line_begins_another() -> None:
    wrapped = "\n".join([SENTENCE] * 6)
    assert len(divide_into_paragraphs(f"{wrapped}\n\n{wrapped}")) == 2
    assert len(divide_into_paragraphs(f"   {wrapped}\n   {wrapped}\n   {wrapped}")) == 3
    assert len(divide_into_paragraphs("\n".join(f"    {line}" for line in wrapped.split("\n")))) == 1


def test_passages_have_about_as_many_words_each_and_end_with_a_sentence() -> None:
    text = " ".join([SENTENCE] * 97)
    found = divide_by_words(text, 100)
    assert [passage.text[-5:] for passage in found] == ["home."] * len(found)
    assert " ".join(passage.text for passage in found) == text
    assert {count_words(passage.text) for passage in found} <= {90, 100, 110}


def test_a_passage_ends_with_a_paragraph_where_one_ends_nearby() -> None:
    text = "\n\n".join(" ".join([SENTENCE] * size) for size in (11, 9, 10, 10))
    assert [count_words(passage.text) for passage in divide_by_words(text, 100)] == [110, 90, 100, 100]


def test_a_text_without_sentences_is_cut_between_words() -> None:
    found = divide_by_words("word " * 1000, 300)
    assert [count_words(passage.text) for passage in found] == [333, 334, 333]
    assert len(divide_by_words("word " * 40, 300)) == 1


def test_texts_without_spaces_are_divided_too() -> None:
    found = divide_by_words("我们去图书馆学习。大船在海上航行。" * 100, 80)
    assert all(passage.text.endswith("。") for passage in found)
    assert {72 <= count_words(passage.text) <= 88 for passage in found} == {True}
    assert all(one.text != "" for one, _ in pairwise(found))


BODY = "The boat was far from the harbour when the storm came up, and nobody at the oars could see the light. " * 4
ROMAN = ("I", "II", "III", "IV", "V")


def book(headings: list[str], before: str = "", between: str = "\n\n") -> str:
    return before + "".join(f"{heading}{between}{BODY}{between}" for heading in headings)


def headings_of(text: str) -> list[str]:
    return [passage.heading for passage in divide_into_chapters(text)]


@pytest.mark.parametrize(
    "headings",
    [
        [f"CHAPTER {number}." for number in ROMAN],
        [f"Chapter {number}: Of Boats" for number in range(1, 5)],
        ["Chapter One", "Chapter Two", "Chapter Twenty-One", "Chapter the Last"],
        [f"{number}. Kapitel" for number in range(1, 5)],
        ["Erstes Kapitel", "Zweites Kapitel", "Drittes Kapitel"],
        ["CHAPITRE PREMIER", "CHAPITRE II", "CHAPITRE III"],
        ["ГЛАВА ПЕРВАЯ", "Глава 2", "Глава 3"],
        ["第一章 开始", "第二章 航海", "第十三章"],
        list(ROMAN),
        [f"{number}. A SCANDAL" for number in ROMAN],
        ["Prologue", "Chapter 1", "Chapter 2", "Epilogue"],
        ["ACT I", "Act II", "ACT III"],
        ["_Letter 1_", "_Letter 2_", "_Letter 3_"],
        ["CHAPTER I—M. MYRIEL", "CHAPTER II—M. MYRIEL BECOMES", "CHAPTER III—A HARD BISHOPRIC"],
        ["Capítulo primero. Que trata de la mar", "Capítulo II. Que trata de los barcos"],
        [f"[ {number} ]" for number in ROMAN],
    ],
)
def test_headings_of_many_kinds_begin_chapters(headings: list[str]) -> None:
    found = divide_into_chapters(book(headings))
    assert len(found) == len(headings)
    if headings[0].strip("[ ]") != "I":
        assert headings_of(book(headings, between="\n")) == [each.strip("_") for each in headings]  # no blank lines


def test_numerals_below_a_numeral_with_a_title_divide_no_story() -> None:
    story = f"I.\n\n{BODY}\n\nII.\n\n{BODY}\n\nIII.\n\n{BODY}"
    text = book([f"{number}. A SCANDAL" + (f"\n\n{story}" if number == "I" else "") for number in ROMAN])
    assert headings_of(text) == [f"{number}. A SCANDAL" for number in ROMAN]


def test_headings_of_markdown_divide_at_the_highest_level_that_several_have() -> None:
    text = book(["# Title"]) + book(["## Boats", "## Oars\n\n### Of wood", "## Lights"])
    text += "```\n## no heading\n```\n"
    assert headings_of(text) == ["Title", "Boats", "Oars", "Lights"]
    assert headings_of(book(["Boats\n=====", "Oars\n====", "Lights\n======"])) == ["Boats", "Oars", "Lights"]


def test_form_feeds_divide_what_has_no_headings() -> None:
    assert len(divide_into_chapters("\f".join([BODY] * 3))) == 3
    assert len(divide_into_chapters(BODY)) == 1
    assert not has_chapters(BODY)


@pytest.mark.parametrize(
    "contents",
    [
        "CONTENTS\n\n" + "\n".join(f" CHAPTER {n}. Of Boats" for n in ROMAN) + "\n\n",
        "CONTENTS\n\n"
        + "\n\n".join(f"CHAPTER {n}. Of Boats" for n in ROMAN)
        + f"\n\nPreface to this edition\n\n{BODY}\n\n",
    ],
)
def test_a_table_of_contents_is_no_chapters(contents: str) -> None:
    found = headings_of(book([f"CHAPTER {n}. Of Boats" for n in ROMAN], before=contents + BODY + "\n\n"))
    assert found == ["", *(f"CHAPTER {n}. Of Boats" for n in ROMAN)]


def test_parts_above_chapters_that_begin_again_are_kept_with_them_and_not_taken_for_contents() -> None:
    parts = [f"CHAPTER {number}" for number in ROMAN]
    parts = [f"BOOK ONE\n\n{parts[0]}", *parts[1:], f"BOOK TWO\n\n{parts[0]}", *parts[1:]]
    contents = "\n\n".join(part.replace("\n\n", "\n") for part in parts)
    found = headings_of(book(parts, before=f"CONTENTS\n\n{contents}\n\n"))
    assert found == ["BOOK ONE / CHAPTER I", *(f"CHAPTER {n}" for n in ROMAN[1:]),
                     "BOOK TWO / CHAPTER I", *(f"CHAPTER {n}" for n in ROMAN[1:])]  # fmt: skip


def test_the_line_below_a_heading_is_its_title() -> None:
    found = headings_of(book([f"CHAPTER {n}.\nDown the Rabbit-Hole" for n in ROMAN]))
    assert found[0] == "CHAPTER I. Down the Rabbit-Hole"
    assert found == [f"CHAPTER {n}. Down the Rabbit-Hole" for n in ROMAN]


@pytest.mark.parametrize(
    "line",
    [
        "Chapter 3 describes what was found there",  # a sentence
        "chapter two",
        "Book it!",
        "I.",  # counts no further
        "Part of the ship",
    ],
)
def test_a_line_that_only_looks_like_a_heading_divides_nothing(line: str) -> None:
    assert len(divide_into_chapters(f"{BODY}\n\n{line}\n\n{BODY}\n\n{line}\n\n{BODY}")) == 1


def test_numbers_of_pages_are_no_chapters_and_numbers_of_long_chapters_are() -> None:
    assert len(divide_into_chapters("".join(f"{BODY}\n\n{page}\n\n" for page in range(1, 30)))) == 1
    assert len(divide_into_chapters("".join(f"{chapter}\n\n{BODY * 9}\n\n" for chapter in range(1, 5)))) == 4


def test_nothing_of_a_text_is_lost() -> None:
    text = book([f"CHAPTER {n}" for n in ROMAN], before="A title\n\n")
    assert sum(count_words(passage.text) for passage in divide_into_chapters(text)) == count_words(text)


WORDS = ("ship harbour storm ferry anchor", "judge verdict ruling witness counsel", "field plough seed harvest barn")
ALL = {"min_df": 1, "max_df": 1.0}
BEGIN = "*** START OF THE PROJECT GUTENBERG EBOOK {} ***"
END = "*** END OF THE PROJECT GUTENBERG EBOOK {} ***"


def chapter(number: int) -> str:
    """A chapter of two paragraphs of sixty words."""
    paragraph = ". ".join([WORDS[number % 3].capitalize()] * 12) + "."
    return f"CHAPTER {number}\n\n{paragraph}\n\n{paragraph}\n\n"


def novel(title: str, chapters: int = 6) -> str:
    return f"{title}\n\n" + "".join(map(chapter, range(1, chapters + 1)))


@pytest.fixture
def novels(tmp_path: Path) -> Path:
    """Ten novels in two folders."""
    for number in range(10):
        path = tmp_path / "novels" / ("old", "new")[number % 2] / f"{number}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(novel(f"Novel {number}"), encoding="utf-8")
    return tmp_path / "novels"


def parts(db: Database, corpus: int, documents: int, begin: int = 0) -> dict[str, set[int]]:
    """In which parts the passages of each document are."""
    found = defaultdict(set)
    for each in corpora.read_documents(db, corpus, range(begin, documents)):
        found[each.columns["document"]].add(each.part)
    return found


def test_passages_keep_title_label_columns_and_place_of_their_document(novels: Path, db: Database) -> None:
    row = import_path(db, novels, ImportOptions(split="chapters", **ALL))
    assert (row.documents, row.label_names) == (60, ("new", "old"))
    documents = corpora.read_documents(db, row.number, range(row.documents))
    of_one = [each for each in documents if each.columns["document"] == "Novel 3"]
    assert [each.columns["passage"] for each in of_one] == [f"{place} of 6" for place in range(1, 7)]
    second = of_one[1]
    assert second.title == "Novel 3, 2 of 6: CHAPTER 2"
    assert (second.label, second.columns["file"], second.columns["chapter"]) == ("new", "new/3.txt", "CHAPTER 2")
    assert second.text == chapter(2).strip()


def test_the_test_part_is_drawn_by_document_and_the_report_says_so(novels: Path, db: Database) -> None:
    for number, path in enumerate(sorted(novels.rglob("*.txt"))):  # no two have a passage in common
        text = path.read_text()
        for word in ("Ship", "Judge", "Field"):
            text = text.replace(word, word + "abcdefghij"[number])
        path.write_text(text)
    options = ImportOptions(split="60 words", test_share=0.2, **ALL)
    report = inspect_path(novels, options)
    row = import_path(db, novels, options)
    assert load_report(row.meta) == report
    assert report.understood["split"] == "60 words: 10 documents in 120 passages"
    found = parts(db, row.number, row.documents)
    assert sorted(map(sorted, found.values())) == [[TRAIN]] * 8 + [[TEST], [VALIDATION]]
    said = "2 of 10 documents, with all their passages, are drawn for validation (1) and the test (1)"
    assert said in " ".join(report.notes)
    (novels / "empty.txt").write_text("")  # one that is left out changes nothing
    again = import_path(db, novels, ImportOptions(name="again", split="60 words", test_share=0.2, **ALL))
    assert (again.documents, again.train_documents) == (row.documents, row.train_documents)


def test_passages_that_other_parts_have_too_are_for_training(novels: Path, db: Database) -> None:
    row = import_path(db, novels, ImportOptions(split="60 words", test_share=0.2, **ALL))
    assert row.train_documents == row.documents, "all novels have the same chapters"
    assert any("24 passages that other parts have too are for training" in note for note in row.meta["notes"])


def test_documents_that_are_appended_are_divided_as_those_of_the_corpus_and_placed_ones_are_not(
    novels: Path, tmp_path: Path, db: Database
) -> None:
    row = import_path(db, novels, ImportOptions(split="chapters", test_share=0.2, **ALL))
    more = tmp_path / "more.txt"
    more.write_text(novel("Another", 8))
    added = append_path(db, row.number, more)
    assert added.documents == 8
    assert set(parts(db, row.number, added.corpus.documents, row.documents)) == {"Another"}
    whole = append_path(db, row.number, more, ImportOptions(split="none", format="text"))
    assert whole.documents == 1
    rules = find_rules(row.meta, row.kind, corpora.read_vocabulary(db, row.number))
    assert len(read_new_documents(str(more), rules, ImportOptions())) == 1
    lines = import_path(db, listed(tmp_path / "list.csv", 6), ImportOptions(split="60 words", **ALL))
    some = tmp_path / "some.txt"
    some.write_text("\n".join([". ".join([WORDS[0]] * 24)] * 3))  # a list stays a list
    assert append_path(db, lines.number, some).documents == 6


def listed(path: Path, n: int) -> Path:
    """A table of texts of two passages."""
    path.write_text(
        "title,text\n" + "".join(f"T{number},{'. '.join([WORDS[number % 3]] * 24)}\n" for number in range(n))
    )
    return path


def test_tables_and_texts_in_memory_are_divided_too(tmp_path: Path, db: Database) -> None:
    row = import_path(db, listed(tmp_path / "list.csv", 6), ImportOptions(split="60 words", **ALL))
    assert row.documents == 12
    texts = [". ".join([WORDS[number % 3]] * 24) for number in range(6)]
    made = import_texts(db, texts, ["a", "b"] * 3, options=ImportOptions(split="60 words", **ALL))
    first = corpora.read_documents(db, made.number, [0])[0]
    assert (made.documents, first.title, first.label) == (12, "document 1, 1 of 2", "a")
    (tmp_path / "docword.txt").write_text("1\n1\n1\n1 1 1\n")
    (tmp_path / "vocab.txt").write_text("word\n")
    with pytest.raises(IngestError, match="holds counts, which cannot be divided into passages; leave --split out"):
        import_path(db, tmp_path / "docword.txt", ImportOptions(split="chapters"))


def test_one_long_file_becomes_a_corpus_of_its_chapters(tmp_path: Path, db: Database) -> None:
    path = tmp_path / "book.txt"
    path.write_text(novel("A book", 12))
    row = import_path(db, path, ImportOptions(split="chapters", **ALL))
    assert (row.documents, row.train_documents) == (12, 11)
    assert any("all passages are of one document" in note for note in row.meta["notes"])
    with pytest.raises(IngestError, match=r"is read as a single document.*--split '\d+ words'"):
        import_path(db, path, ImportOptions(name="whole", format="text"))


def test_the_licence_of_a_book_is_no_passage(tmp_path: Path) -> None:
    licence = "Redistribution is subject to the trademark licence. " * 40
    for number in range(3):
        name = f"NOVEL {number}"
        inside = f"{BEGIN.format(name)}\n\n{novel(name)}\n\n{END.format(name)}"
        text = f"The eBook of {name}\n\n{licence}\n\n{inside}\n\n{licence}"
        (tmp_path / f"{number}.txt").write_text(text)
    report = inspect_path(tmp_path, ImportOptions(split="chapters", **ALL))
    assert "the licence of Project Gutenberg is left out of 3 books" in report.notes
    assert "18 passages" in report.understood["split"]
    assert report.words == sum(len(words.split()) for words in WORDS) + 2  # and novel, chapter
    assert strip_licence(novel("Any")) == novel("Any")


def test_texts_without_chapters_are_said(novels: Path) -> None:
    (novels / "old" / "poem.txt").write_text("Ode\n\n" + "storm " * 90)
    report = inspect_path(novels, ImportOptions(split="chapters", **ALL))
    assert "1 document has no headings of chapters and is kept whole ('Ode')" in report.notes
    with pytest.raises(IngestError, match=r"has no headings of chapters.*--split '500 words', or paragraphs"):
        inspect_path(novels / "old" / "poem.txt", ImportOptions(split="chapters", **ALL))


def test_pages_are_divided_by_what_one_reads_of_them(tmp_path: Path, db: Database) -> None:
    page = "<html><head><style>p {{color: red}}</style></head><body>{}<script>color()</script></body></html>"
    body = "".join(f"<p>{'. '.join([words] * 24)}</p>" for words in WORDS)
    row = import_texts(db, [page.format(body)] * 3, options=ImportOptions(split="120 words", **ALL))
    assert row.documents == 9
    assert "color" not in corpora.read_vocabulary(db, row.number)


@pytest.mark.parametrize(
    ("chapters", "said", "proposed"),
    [(46, "--split chapters (found in 4 of 4) or --split '500 words'", "chapters"),
     (1, "--split paragraphs or --split '500 words'", "500 words")],
)  # fmt: skip
def test_long_documents_are_warned_of_with_a_way_to_divide_them(
    tmp_path: Path, chapters: int, said: str, proposed: str
) -> None:
    for number in range(6):
        text = f"{WORDS[number % 3]}. " * 1_110 if chapters == 1 else novel(f"Novel {number}", chapters)
        (tmp_path / f"{number}.txt").write_text(text if number < 4 else WORDS[number % 3])
    report = inspect_path(tmp_path, ImportOptions(**ALL))
    (warning,) = (warning for warning in report.warnings if "--split" in warning)
    assert warning.startswith("half of the documents have 5,")
    assert warning.endswith(said)
    assert report.proposed["split"] == proposed
    divided = inspect_path(tmp_path, ImportOptions(split=proposed, **ALL))
    assert not any("--split" in warning for warning in divided.warnings)


@pytest.mark.parametrize(("given", "kept"), [("500words", "500 words"), (" Chapters ", "chapters"), ("80", "80 words")])
def test_a_way_to_divide_is_written_in_one_way(given: str, kept: str) -> None:
    assert ImportOptions(split=given).split == kept


@pytest.mark.parametrize("given", ["verses", "5 words", "-1", ""])
def test_no_other_way_is_taken(given: str) -> None:
    with pytest.raises(OptionError, match="split must be paragraphs, chapters, none, or a number of words from 10"):
        ImportOptions(split=given)


@pytest.mark.data
def test_the_single_document_of_the_shared_cases_is_said_to_be_one(shared_data: Path) -> None:
    case = shared_data.parent / "cases" / "single_document" / "single.txt"
    if not case.is_file():
        pytest.skip(f"needs the shared cases at {case.parent}")
    options: Any
    for options in (ImportOptions(), ImportOptions(format="text")):
        with pytest.raises(IngestError, match="is read as a single document, and topics are learnt from many"):
            inspect_path(case, options)
