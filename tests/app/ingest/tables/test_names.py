"""Patterns of the names of files: what they find, what they refuse, and which are proposed."""

import pytest

from topiary.app.ingest.tables.names import Pattern, PatternError, propose_pattern


@pytest.mark.parametrize(
    ("pattern", "name", "found"),
    [
        ("{year}_{label}_{author}", "1990_sea_Miller-Ann", {"year": "1990", "label": "sea", "author": "Miller-Ann"}),
        ("{year}_{label}_{author}", "1990_deep_sea_Miller", None),  # which part is which?
        ("{year}_{title*}", "1990_deep_sea", {"year": "1990", "title": "deep_sea"}),
        ("{author} - {title} ({year})", "Roe - A Day (1990)", {"author": "Roe", "title": "A Day", "year": "1990"}),
        ("speech-{}-{label}", "Speech-17-sea", {"label": "sea"}),
        ("{label}/{number}", "letters/sea/17", {"label": "sea", "number": "17"}),
        ("{label}/{number}", "17", None),
        ("{straße}_{n}", "mu\u0308nster_1", {"straße": "münster", "n": "1"}),
    ],
)
def test_a_field_ends_where_the_mark_next_to_it_stands(pattern: str, name: str, found: dict[str, str] | None) -> None:
    assert Pattern(pattern).match_name(name) == found


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("year_label", "must have fields in braces"),
        ("{year", "must have fields in braces"),
        ("{year}{label}", "must have something between two fields"),
        ("{a}_{a}", "names 'a' twice"),
        ("{}_{}", "names no field"),
        ("{_}_{a}", "must name its fields by letters"),
    ],
)
def test_what_can_be_no_pattern_is_refused(pattern: str, said: str) -> None:
    with pytest.raises(PatternError, match=said):
        Pattern(pattern)


@pytest.mark.parametrize(
    ("name", "pattern"),
    [
        ("{year}-{kind}-{n}", "{year}-{label}-{part3}"),
        ("speech_{year}_{n}", "speech_{year}_{part3}"),
        ("{year}-03-{day:02}", "{date}"),
        ("{kind} - {n} of them", "{label} - {part2}"),
        ("letter_{n}", ""),  # a number says nothing
        ("{n}", ""),
        ("{word}", ""),
    ],
)
def test_fields_are_proposed_where_names_fall_into_parts_that_say_something(name: str, pattern: str) -> None:
    words = ("a day", "out at_sea", "with-no", "two.the same in_it")
    names = [
        name.format(year=1990 + n, kind=("sea", "court")[n % 2], n=n, day=n + 1, word=words[n % 4]) for n in range(20)
    ]
    assert propose_pattern([*names[:19], "else"]) == pattern
    assert propose_pattern(names[:15] + ["else"] * 5) == ""
