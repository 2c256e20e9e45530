"""No text of a corpus is run as a formula by the spreadsheet that opens an export."""

import csv
import doctest
import io

import pytest

from topiary.app.export import texts, topics

ROW = {
    "layer": 1, "rank": 1, "topic": 3, "share": -0.5, "name": "@SUM(A1)", "title": "=cmd()", "words": ["+1", "pear"],
    "light": False, "role": "live", "npmi": -0.25, "twin": 3, "tags": ["=tag()", "pear"],
    "notes": [{"number": 1, "text": "+note()", "author": "", "created": "2026-11-27T12:00:00+00:00"}],
}  # fmt: skip


def test_topics_as_csv_have_no_formula_in_a_text_and_their_numbers_as_they_are() -> None:
    (row,) = csv.DictReader(io.StringIO(topics.render_topics([ROW], "csv")))
    assert (row["name"], row["title"], row["words"]) == ("'@SUM(A1)", "'=cmd()", "'+1 pear")
    assert (row["tags"], row["notes"]) == ("'=tag(); pear", "'+note() (2026-11-27)")
    assert (row["share"], row["npmi"], row["twin"]) == ("-0.5", "-0.25", "3")


def test_comparisons_as_csv_have_none_either() -> None:
    text = texts.render_csv([{"title_a": "-2+3", "score": -2.0, "words_b": "\tpear"}], ["title_a", "score", "words_b"])
    (row,) = csv.DictReader(io.StringIO(text))
    assert (row["title_a"], row["score"], row["words_b"]) == ("'-2+3", "-2.0", "'\tpear")


@pytest.mark.parametrize("text", ["=1", "+1", "-1", "@x", "\tx", "\rx"])
def test_every_sign_that_begins_a_formula_is_guarded(text: str) -> None:
    assert texts.guard_cell(text) == f"'{text}"
    assert texts.guard_cell(f"x{text}") == f"x{text}"
    assert doctest.testmod(texts).failed == 0
