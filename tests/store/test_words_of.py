"""Words by which a text is found."""

import pytest

from store.words_of import LONGEST, MOST_BYTES, asked_words, different_words, words_of


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("New York's e-mail, 3.5 C++", ["new", "york", "s", "e", "mail", "3", "5", "c"]),
        ("snake_case", ["snake", "case"]),
        ("STRASSE Straße", ["strasse", "strasse"]),
        ("Ελλάδα Привет", ["ελλάδα", "привет"]),
        ("हिन्दी", ["हिन्दी"]),
        ("abc機械学習def", ["abc", "機械", "械学", "学習", "習", "def"]),
        ("-- ++", []),
    ],
)
def test_a_text_has_these_words(text, words):
    assert list(words_of(text)) == words


@pytest.mark.parametrize("part", ["機械学習", "械学", "学習", "習", "機"])
def test_any_part_of_a_run_without_spaces_is_found_by_its_words(part):
    there = list(words_of("これは機械学習の本"))
    assert all(any(word.startswith(asked) for word in there) for asked in asked_words(part))


def test_a_part_that_is_not_there_is_not_found():
    there = list(words_of("これは機械学習の本"))
    assert not all(any(word.startswith(asked) for word in there) for asked in asked_words("機学"))


def test_words_are_bounded_in_length_and_number():
    assert list(words_of("a" * 500)) == ["a" * LONGEST]
    many = different_words("", " ".join(f"{n:060d}" for n in range(30_000)))
    assert sum(len(word) + 4 for word in many) <= MOST_BYTES
    assert len(many) > 10_000
