"""Scripts of letters."""

import pytest

from app.ingest.scripts import script_of, scripts


@pytest.mark.parametrize(
    ("letters", "name"),
    [
        ("aßé", "Latin"), ("яЖ", "Cyrillic"), ("λΩ", "Greek"), ("語", "Han"), ("ひ", "Hiragana"), ("カｶ", "Katakana"),
        ("한", "Hangul"), ("ع", "Arabic"), ("א", "Hebrew"), ("क", "Devanagari"), ("ก", "Thai"), ("ａ", "Latin"),
    ],
)  # fmt: skip
def test_a_letter_is_of_its_script(letters: str, name: str) -> None:
    assert {script_of(letter) for letter in letters} == {name}


@pytest.mark.parametrize("letter", ["7", " ", "_", "🙂", "µ", "ª", "𝐱", "\ue000"])
def test_what_is_no_letter_of_a_script_is_none(letter: str) -> None:
    assert script_of(letter) == ""


def test_shares_are_of_all_letters_the_largest_first() -> None:
    assert scripts({"a": 1, "я": 3, "7": 100}) == (("Cyrillic", 0.75), ("Latin", 0.25))
    assert scripts({"7": 3}) == ()
