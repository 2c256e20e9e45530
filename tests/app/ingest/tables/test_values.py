"""Dates in the forms in which people and programs write them, and what is none."""

import math
from datetime import UTC, datetime

import pytest

from topiary.app.ingest.tables.values import (
    MOST_COLUMNS,
    MOST_LEVELS,
    NO_DATE,
    Column,
    ColumnProfiles,
    Columns,
    is_date_column,
    parse_date,
    parse_moment,
    parse_number,
    profile_texts,
)
from topiary.store.corpus_rows import CATEGORY, DATE, DAY_FIRST, DECIMAL_COMMA, ID, NUMBER, TEXT


@pytest.mark.parametrize(
    ("text", "iso"),
    [
        ("2018-02-08 17:13:00", "2018-02-08T17:13:00"), ("2018-02-08T17:13:00.123Z", "2018-02-08T17:13:00+00:00"),
        ("2018-02-08T17:13:00+02:00", "2018-02-08T17:13:00+02:00"), ("20180208T171300Z", "2018-02-08T17:13:00+00:00"),
        ("2018/02/08", "2018-02-08"), ("2018-02", "2018-02"), ("May 2020", "2020-05"), ("12/2020", "2020-12"),
        ("08.02.2018 17:13", "2018-02-08T17:13:00"), ("3.4.2020, 17.30 Uhr", "2020-04-03T17:30:00"),
        ("8-Feb-18", "2018-02-08"), ("26-FEB-1987 15:01:01.79", "1987-02-26T15:01:01"), ("31/12/2020", "2020-12-31"),
        ("Mon Apr 06 22:19:45 PDT 2009", "2009-04-06T22:19:45-07:00"), ("December 31, 2017 ", "2017-12-31"),
        ("Mon Mar 01 23:10:00 +0000 2021", "2021-03-01T23:10:00+00:00"), ("January 3rd, 2020", "2020-01-03"),
        ("Mon, 01 Mar 2021 23:10:00 +0000", "2021-03-01T23:10:00+00:00"), ("1. März 2021", "2021-03-01"),
        ("Thu Feb 08 2018 17:13:00 GMT+0100 (CET)", "2018-02-08T17:13:00+01:00"), ("Do., 5. März 2020", "2020-03-05"),
        ("2021/05/01 10:00:00 AM GMT+2", "2021-05-01T10:00:00+02:00"), ("5/1/2021 3:07 PM", "2021-05-01T15:07:00"),
        ("mar. 3 mars 2020", "2020-03-03"), ("3 de enero de 2020", "2020-01-03"), ("2020年1月3日", "2020-01-03"),
    ],
)  # fmt: skip
def test_usual_forms_of_dates_are_read_as_exactly_as_they_are_given(text: str, iso: str) -> None:
    moment = datetime.fromisoformat(iso if len(iso) > 7 else f"{iso}-01")
    assert parse_date(text) == (moment if moment.tzinfo else moment.replace(tzinfo=UTC))


@pytest.mark.parametrize(
    "text",
    ["", "yesterday", "may", "Jan 5", "10:30", "2020", "12.50", "1.2.3", "555-12-1234", "1990-1995", "192.168.1.10",
     "in May 2020 we went", "THE 1999", "2020 2021 2022", "1999-00-00", "a long line about the year 2020-01-01"],
)  # fmt: skip
def test_other_texts_and_numbers_are_no_dates(text: str) -> None:
    assert parse_date(text) is None


@pytest.mark.parametrize(
    ("name", "values", "found"),
    [
        ("created_utc", ["1514764800", "1514764801.0"], True), ("timestamp_ms", ["1577872800000"], True),
        ("score", ["1514764800", "1514764801"], False), ("year", ["1999", "2001"], True),
        ("stars", ["1999", "2001"], False), ("publish_date", ["20030219", "20030220"], True),
        ("month", ["1", "12"], True), ("Datum", ["44197", "44198"], True), ("when", ["2020-01-01"] * 19 + ["?"], True),
        ("when", ["2020-01-01", "unknown"], False), ("", ["3.4.2020"], True), ("date", [], False),
    ],
)  # fmt: skip
def test_numbers_are_dates_where_the_name_of_the_column_says_so(name: str, values: list[str], found: bool) -> None:
    assert is_date_column(name, values) is found


def found(records: list[dict[str, object]], **roles: str) -> dict[str, Column]:
    columns = Columns(roles)
    for record in records:
        columns.see(record)
    return {column.name: column for column in columns.list_all()}


def test_three_different_values_stand_for_a_column() -> None:
    records: list[dict[str, object]] = [{"body": text, "n": 1} for text in ("a", "a", "", "b", None, "c", "d")]
    columns = found(records, body="text")
    assert columns["body"] == Column("body", "text", ("a", "b", "c"))
    assert columns["n"] == Column("n", "other", ("1",))


def test_a_long_value_is_one_short_line_and_a_list_reads_as_one() -> None:
    columns = found([{"body": "word \n" * 99, "tags": ["x", "y"]}])
    (sample,) = columns["body"].samples
    assert len(sample) <= 80
    assert sample.endswith("…")
    assert "\n" not in sample
    assert columns["tags"].samples == ("x, y",)


@pytest.mark.parametrize(
    ("name", "values", "role"),
    [
        ("date", ["2020-01-31", "2020-02-01T10:00:00Z"], "date"),
        ("year", ["1999", "2001"], "date"),
        ("stars", ["1999", "2001"], "other"),
        ("when", ["31.1.2020", "1/2/20"], "date"),
        ("sent", ["26-FEB-1987 15:01:01.79", "1 March 2021"], "date"),
        ("date", ["yesterday", "2020-01-01"], "other"),
        ("date", [""], "other"),
    ],
)
def test_a_date_is_told_by_its_values_and_a_bare_year_by_its_name_too(
    name: str, values: list[object], role: str
) -> None:
    assert found([{name: value} for value in values])[name].role == role


def test_of_a_long_table_only_the_beginning_is_looked_at() -> None:
    records: list[dict[str, object]] = [{"a": "x"} for _ in range(500)]
    assert found([*records, {"a": "late", "b": "late"}])["a"].samples == ("x",)


def milliseconds(*parts: int) -> int:
    return round(1000 * datetime(*parts, tzinfo=UTC).timestamp())  # type: ignore[misc,arg-type]


@pytest.mark.parametrize(
    ("name", "texts", "kind", "notation"),
    [
        ("posted", ["2021-03-04", "2021-03-05T10:00:00Z", "n/a"], DATE, ""),
        ("seen", ["3/4/2021", "25/12/2020", "1/2/2021"], DATE, DAY_FIRST),
        ("seen", ["3/4/2021", "12/25/2020", "1/2/2021"], DATE, ""),
        ("Date", ["Tue, 5 Jan 2010 10:00:00 -0800 (PST)", "Wed, 6 Jan 2010 09:12:44 +0000"], DATE, ""),
        ("year", ["1999", "2001", "1899"], DATE, ""),
        ("pages", ["1999", "2001", "1899"], NUMBER, ""),
        ("month", ["1", "12", "7", "3"], NUMBER, ""),
        ("price", ["3,5", "1.234,50", "7"], NUMBER, DECIMAL_COMMA),
        ("price", ["1,234", "12,500.25", "7"], NUMBER, ""),
        ("share", ["12 %", "3.5%", "€ 7"], NUMBER, ""),
        ("score", [*map(str, range(18)), "none yet", "17"], NUMBER, ""),
        ("stars", ["1", "2", "3", "4", "5"] * 3, NUMBER, ""),
        ("won", ["0", "1", "1", "0"], CATEGORY, ""),
        ("post code", ["01234", "10115", "01234", "10115"], CATEGORY, ""),
        ("author", ["Ann", "Bo", "Ann", "Bo"], CATEGORY, ""),
        ("station_id", ["7", "8", "9"] * 3, CATEGORY, ""),
        ("author", ["Ann", "Bo", "Cy Lee", "Di"], TEXT, ""),
        ("id", ["17", "18", "19"], ID, ""),
        ("code", ["a7", "b8", "c9"], ID, ""),
        ("row name", ["1", "2", "3"], ID, ""),
        ("seen at", ["https://a.example/1 ", "https://a.example/1 ", "www.a.example/2"], ID, ""),
        ("remarks", ["It rained all day", "It did not rain", "Some sun"], TEXT, ""),
        ("remarks", ["", "NaN", " "], TEXT, ""),
    ],
)
def test_a_column_has_the_kind_of_most_of_its_values(name: str, texts: list[str], kind: str, notation: str) -> None:
    chosen = profile_texts(name, texts).choose()
    assert (chosen.kind, chosen.notation) == (kind, notation)


def test_more_values_than_can_be_kept_are_judged_by_an_even_sample() -> None:
    mostly = [f"2021-01-{1 + n % 28:02}T00:00:{n % 60:02}.{n:06}" if n > 800 else f"late {n}" for n in range(20_000)]
    assert profile_texts("when", mostly).choose().kind == DATE
    assert profile_texts("when", mostly[:1600]).choose().kind == TEXT
    assert profile_texts("n", [f"w{n % (MOST_LEVELS + 1)} x" for n in range(9000)]).choose().kind == TEXT
    levels = profile_texts("n", [f"w{n % MOST_LEVELS} x" for n in range(9000)]).choose().levels
    assert len(levels) == MOST_LEVELS


def test_categories_are_in_the_order_of_numbers_or_of_the_alphabet() -> None:
    assert profile_texts("won", ["10", "9", "10", "9"]).choose().levels == ("9", "10")
    assert profile_texts("by", ["bo", "Ann", "cy"] * 2).choose().levels == ("Ann", "bo", "cy")


@pytest.mark.parametrize(
    ("text", "notation", "number"),
    [
        ("-1.5", "", -1.5),
        ("\u22122e3", "", -2000.0),
        ("1 234", "", 1234.0),
        ("1.234", "", 1.234),
        ("1.234", DECIMAL_COMMA, 1234.0),
        ("1\u202f234,5", DECIMAL_COMMA, 1234.5),
        ("1.5.2", "", math.nan),
        ("1.5", DECIMAL_COMMA, math.nan),
        ("1,2", "", math.nan),
        ("1_000", "", math.nan),
        ("inf", "", math.nan),
        ("12 apples", "", math.nan),
    ],
)
def test_numbers_are_read_in_the_notation_of_their_column(text: str, notation: str, number: float) -> None:
    assert parse_number(text, notation) == pytest.approx(number, nan_ok=True)


@pytest.mark.parametrize(
    ("text", "notation", "moment"),
    [
        ("2021-03-04T05:06:07.250+02:00", "", milliseconds(2021, 3, 4, 3, 6, 7) + 250),
        ("1850-01-01", "", milliseconds(1850, 1, 1)),
        ("May 2021", "", milliseconds(2021, 5, 1)),
        ("1999", "", milliseconds(1999, 1, 1)),
        ("1514764800", "", milliseconds(2018, 1, 1)),
        ("Mon Apr 06 22:19:45 PDT 2009", "", milliseconds(2009, 4, 7, 5, 19, 45)),
        ("5/1/2021 3:07 PM", "", milliseconds(2021, 5, 1, 15, 7)),
        ("5/1/2021 3:07", DAY_FIRST, milliseconds(2021, 1, 5, 3, 7)),
        ("5-1-21", DAY_FIRST, milliseconds(2021, 1, 5)),
        ("5/13/2021", DAY_FIRST, milliseconds(2021, 5, 13)),
        ("31. März 2021", "", milliseconds(2021, 3, 31)),
        ("2021-02-30", "", NO_DATE),
        ("9999-12-31", "", NO_DATE),
        ("3 hours ago", "", NO_DATE),
        ("tomorrow", "", NO_DATE),
    ],
)
def test_dates_are_read_to_the_millisecond(text: str, notation: str, moment: int) -> None:
    assert parse_moment(text, notation) == moment


def test_a_column_is_read_as_another_kind_only_if_a_value_fits() -> None:
    profile = profile_texts("when", ["1999", "2001", "soon"])
    assert profile.choose().kind == ID
    kinds = [profile.read_as(kind) for kind in (DATE, NUMBER, CATEGORY, ID)]
    assert [None if each is None else each.kind for each in kinds] == [DATE, NUMBER, CATEGORY, ID]
    assert profile_texts("by", ["Ann", "Bo"]).read_as(DATE) is None
    assert profile_texts("by", [f"{n} a" for n in range(MOST_LEVELS + 1)]).read_as(CATEGORY) is None


def test_records_with_thousands_of_fields_keep_the_first_columns() -> None:
    profiles = ColumnProfiles()
    for n in range(MOST_COLUMNS + 5):
        profiles.add({f"field{n}": "1"})
    assert len(profiles.choose_kinds()) == MOST_COLUMNS
    assert profiles.list_notes() == ["there are more than 200 columns; only the first 200 can be used in filters"]
