"""Chapters of books: headings of many kinds, tables of contents, and what only looks like a heading."""

import pytest

from app.ingest.text.passages import count_words
from app.ingest.text.splitting import divide_into_chapters, has_chapters

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
