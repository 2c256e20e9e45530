"""Passages at the ends of paragraphs, and of about as many words each."""

from itertools import pairwise

import pytest

from app.ingest.text.passages import count_words, divide_by_words, divide_into_paragraphs

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
