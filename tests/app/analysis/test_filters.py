"""Filters of documents: what each condition selects, and sentences about conditions that mean nothing."""

import numpy as np
import pytest

from topiary.app.analysis.errors import ReadError
from topiary.app.analysis.filters import (
    MOST_CORNERS,
    Condition,
    FilterSources,
    parse_condition,
    read_line,
    select_by_conditions,
    split_ranges,
    write_date_range,
    write_line,
)
from topiary.app.analysis.shares import LayerUse, find_strongest_topics
from topiary.store.corpus_rows import CorpusColumn
from topiary.store.errors import NotFound
from topiary.store.shares import LayerShares

COLUMNS = (
    CorpusColumn(0, "source", "category", ("BBC", "CNN")),
    CorpusColumn(1, "date", "date"),
    CorpusColumn(2, "rating", "number"),
    CorpusColumn(3, "author", "text"),
)
MISSING = np.iinfo(np.int64).min
DATES = np.array(["2004-01-01", "2004-12-31T23:59:59.999", "2005-06-15", "2006-01-01"], "datetime64[ms]").astype(
    np.int64
)
VALUES = {
    "source": np.array([0, 1, 0, -1, 1], np.int32),
    "date": np.array([*DATES, MISSING]),
    "rating": np.array([1.0, 2.5, 3.0, np.nan, 5.0]),
    "author": np.array(["Ann", "ann ", "Bo", "", "Cy"], object),
}
UNITS = np.array([65535, 13107, 0, 6554], np.uint16)  # 100 %, 20 %, 0 %, 10 % of topic 1
SHARES = LayerShares(np.array([0, 1, 2, 3, 3, 4]), np.array([1, 1, 0, 1], np.int32), UNITS, np.zeros(5, np.uint16))
POSITIONS = np.array([(0, 0), (1, 1), (5, 5), (-2, 3)], np.float32)  # of the first four documents
SOURCES = FilterSources(
    COLUMNS, lambda column: VALUES[column.name], lambda _: LayerUse(SHARES, np.ones(5)), lambda n: n.column,
    {6: POSITIONS}.__getitem__, lambda _: find_strongest_topics(SHARES, np.array([False, False])),
)  # fmt: skip


def select(*texts):
    found = select_by_conditions(SOURCES, [parse_condition(text) for text in texts], 5)
    return None if found is None else np.flatnonzero(found).tolist()


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("source=BBC", [0, 2]),
        ("Source = cnn", [1, 4]),
        ("source=", [3]),
        ("date=2004", [0, 1]),
        ("date=2004-12", [1]),
        ("date=2004-12-31..2005-06-15", [1, 2]),
        ("date=2005..", [2, 3]),
        ("date=..2004", [0, 1]),
        ("date=", [4]),
        ("rating=2..3", [1, 2]),
        ("rating=5", [4]),
        ("rating=3..", [2, 4]),
        ("rating=", [3]),
        ("author=ANN", [0, 1]),
        ("L1:2=15%..", [0, 1]),
        ("L1:2=0.05..0.5", [1, 4]),
        ("L1:2=strongest", [0, 1, 4]),
        ("L1:1=strongest", [2]),
        ("map:6=-3:-1~2:-1~2:2~-3:2", [0, 1]),
        ("map:6=0.5:0~2:0.25~0.75:2.5", [1]),
    ],
)
def test_a_condition_selects_the_documents_that_it_describes(text, numbers):
    assert select(text) == numbers


def test_all_conditions_have_to_be_met_and_none_selects_everything():
    assert select("source=BBC", "date=2005..") == [2]
    assert select() is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("BBC", "is no condition; write one as in source=BBC"),
        ("=x", "is no condition"),
        ("source=ITV", "has no category 'ITV'; it has BBC, CNN"),
        ("date=May", "has no range as in 2004"),
        ("date=2004-13", "has no range as in 2004"),
        ("rating=many", "has no range"),
        ("L1:1=20..", "a share is between 0 and 1, or 0% and 100%; got 'L1:1=20..'"),
        ("map:6=1:1~2:2", "is no line on the map"),
        ("map:6=1:1~2:2~x:3", "is no line on the map"),
    ],
)
def test_a_condition_that_means_nothing_is_one_sentence(text, message):
    with pytest.raises(ReadError, match=message):
        select(text)


def test_a_column_that_is_not_there_is_named_with_those_that_are():
    with pytest.raises(NotFound, match="no column 'colour'; the columns are source, date"):
        select("colour=red")


def test_a_condition_is_written_as_it_is_read():
    assert str(parse_condition(" date = 2004.. ")) == "date=2004.."
    assert parse_condition("a=b=c") == Condition("a", "b=c")


def test_a_line_on_the_map_is_written_by_few_corners_that_select_the_same():
    angles = np.linspace(0.0, 2 * np.pi, 700, endpoint=False)
    circle = np.stack([10 * np.cos(angles) - 3, 8 * np.sin(angles) + 100], axis=1)
    written = write_line(6, circle)
    assert written.map_snapshot == 6
    corners = read_line(parse_condition(str(written)))
    assert 8 < len(corners) <= MOST_CORNERS
    assert len(str(written)) < 600
    reach = np.hypot((corners[:, 0] + 3) / 10, (corners[:, 1] - 100) / 8)
    assert reach == pytest.approx(np.ones(len(corners)), abs=0.01)
    assert str(write_line(6, [(0, 0), (0.5, 0), (1, 0), (1, -0.25), (0, -1)])) == "map:6=0:0~1:0~1:-0.25~0:-1"


@pytest.mark.parametrize(
    ("first", "last", "value"),
    [
        ("2004-01-01", "2005-12-31", "2004..2005"),
        ("2005-12-31", "2004-01-01", "2004..2005"),
        ("2004-02-01", "2004-02-29", "2004-02"),
        ("2004-02-01", "2004-02-28", "2004-02-01..2004-02-28"),
        ("2004-02-01", "2004-02-01", "2004-02-01"),
        ("", "2004-12-31", "..2004-12-31"),
    ],
)
def test_a_range_of_days_is_written_as_short_as_it_can_be_and_selects_these_days(first, last, value):
    assert write_date_range(first, last) == value
    chosen = select(f"date={value}")
    days = DATES.astype("datetime64[ms]").astype("datetime64[D]").astype(str).tolist()
    low, high = sorted((first or "0000", last))
    assert chosen == [number for number, day in enumerate(days) if low <= day <= high]


@pytest.mark.parametrize(("first", "last"), [("", ""), ("yesterday", "2004-01-01"), ("2004-02-30", "")])
def test_what_is_no_range_of_days_is_refused_with_a_sentence(first, last):
    with pytest.raises(ReadError, match=r"needs a first or a last day|is no day as in"):
        write_date_range(first, last)


def test_ranges_of_a_column_are_split_from_other_conditions_and_narrow_each_other():
    others, picked = split_ranges(("source=BBC", "Date=2004..2005", "date=", "date=2005.."), "date")
    assert others == ("source=BBC", "date=")
    first, last = (np.datetime64(int(end), "ms").astype("datetime64[D]") for end in picked)
    assert (str(first), str(last)) == ("2005-01-01", "2005-12-31")
    assert split_ranges(("source=BBC",), "date") == (("source=BBC",), None)
