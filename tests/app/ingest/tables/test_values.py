"""Dates in the forms in which people and programs write them, and what is none."""

from datetime import UTC, datetime

import pytest

from topiary.app.ingest.tables.values import Column, Columns, is_date_column, parse_date


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
