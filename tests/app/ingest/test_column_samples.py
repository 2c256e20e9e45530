"""Columns of a table: their roles and some of their values."""

import pytest

from app.ingest.tables.values import Column, Columns


def found(records: list[dict[str, object]], **roles: str) -> dict[str, Column]:
    columns = Columns(roles)
    for record in records:
        columns.see(record)
    return {column.name: column for column in columns.found()}


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
