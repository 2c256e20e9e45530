"""Separators and quotation marks by name: one name for each, however it is typed, and what can be none."""

import pytest

from topiary.app.ingest import options
from topiary.app.ingest.options import ImportOptions, OptionError, parse_options


@pytest.mark.parametrize("typed", [*options.SEPARATORS, *options.SEPARATORS.values(), "~", "\x1f", "é", "🍐"])
def test_the_name_of_a_separator_names_it_again(typed: str) -> None:
    name = options.name_separator(typed)
    assert name is not None
    assert options.name_separator(name) == name
    assert options.find_separator(name) == options.SEPARATORS.get(typed, typed)


@pytest.mark.parametrize("typed", ["", "::", "commas", "\n", "\r", "\0", '"', "'", "\ud800", "e\u0301"])
def test_what_can_separate_no_cells_is_refused_in_a_sentence(typed: str) -> None:
    with pytest.raises(OptionError, match=r"^separator must be comma, .* space or one character that is no quotation"):
        ImportOptions(separator=typed)


@pytest.mark.parametrize("typed", ["", "''", "«", "mark"])
def test_what_quotes_nothing_is_refused_in_a_sentence(typed: str) -> None:
    with pytest.raises(OptionError, match=r"""^quote must be double \("\), single \('\) or none; got """):
        ImportOptions(quote=typed)


def test_options_keep_names_and_what_is_found_leaves_no_trace() -> None:
    assert ImportOptions(separator="|", quote="'").report() == {"separator": "pipe", "quote": "single"}
    assert ImportOptions(separator="auto", quote="auto").report() == {}


def test_a_tab_that_is_typed_into_a_field_is_one_and_blanks_are_nothing() -> None:
    assert parse_options({"separator": "\t", "quote": ' " '}) == ImportOptions(separator="tab", quote="double")
    assert parse_options({"separator": "  ", "quote": " "}) == ImportOptions()
    assert parse_options({"separator": " ; "}) == ImportOptions(separator="semicolon")
