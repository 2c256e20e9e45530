"""The script of every letter, and the marks upon letters."""

import re
import unicodedata

import pytest

from app.ingest.text.languages import RANGES, count_scripts, list_marks

NAMED_OTHERWISE = {"Burmese": {"MYANMAR"}, "Han": {"CJK", "IDEOGRAPHIC"}, "Kana": {"HIRAGANA", "KATAKANA", "HALFWIDTH"}}
BORROWED = {"MODIFIER", "FULLWIDTH", "KATAKANA-HIRAGANA", "COPTIC"}  # Coptic letters stand among the Greek ones
PHONETIC = {"GREEK", "CYRILLIC"}  # small letters of these in the alphabet of phonetics, which is Latin


@pytest.mark.parametrize("script", RANGES)
def test_the_ranges_of_a_script_hold_its_letters_and_no_others(script):
    inside = re.compile(f"[{RANGES[script]}]")
    names = {
        unicodedata.name(letter).split()[0]
        for letter in map(chr, range(0x40, 0x20000))
        if letter.isalpha() and unicodedata.name(letter, "") and inside.match(letter)
    }
    expected = NAMED_OTHERWISE.get(script, {script.upper()})
    assert names >= {next(iter(sorted(expected)))}
    assert names <= expected | BORROWED | (PHONETIC if script == "Latin" else set())


def test_letters_are_told_by_script_and_nothing_else_is_a_letter():
    assert count_scripts("αβ γ, 12 ❤️ xyz日本") == {"Greek": 3, "Latin": 3, "Han": 2}
    assert count_scripts("12 ❤️ …") == {}


def test_marks_are_those_of_unicode():
    every = re.compile(f"[{list_marks()}]")
    assert all(every.match(mark) for mark in "\u0301\u0592\u064e\u093f\u0e31\u1039")
    assert not any(every.match(other) for other in "aé_ 1कאء日-]^")
