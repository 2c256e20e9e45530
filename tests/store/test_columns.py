"""Typed columns: their values come back as one array, change at once and whole, and go with their corpus."""

from dataclasses import replace

import numpy as np
import pytest
from sqlalchemy import func, select, update
from store_samples import LABELS, WORDS, block, write_corpus

from topiary.store import check, columns, corpora, corpus_writer, tables
from topiary.store.corpus_rows import CATEGORY, DATE, LABEL, NUMBER, TEXT, ColumnBlock, CorpusColumn, make_missing
from topiary.store.errors import Conflict, DamagedArrays, NotFound, StoreError

DATES = np.array([0, np.iinfo(np.int64).min, 86_400_000, 5, -5, 7])
NUMBERS = np.array([1.5, np.nan, 0.0, -2.0, 1e9, 3.0])
SPICES = np.array([0, 1, -1, 1, 0, 0], np.int32)
KNOWN = (
    CorpusColumn(0, "when", DATE, (), 6, 5, 1, "day first"),
    CorpusColumn(1, "price", NUMBER, (), 6, 5),
    CorpusColumn(2, "spice", CATEGORY, ("salt", "dill"), 6, 5),
    CorpusColumn(3, "year", TEXT, (), 6, 6),
)
BLOCKS = [
    ColumnBlock(place, first, values[first : first + 4])
    for place, values in enumerate((DATES, NUMBERS, SPICES))
    for first in (0, 4)
]


def typed_corpus(db):
    with corpus_writer.write_corpus(db, "food", WORDS, label_names=LABELS) as writer:
        for first in (0, 3):
            writer.add(block(first))
        for each in BLOCKS:
            writer.add_values(each)
        writer.set_columns(KNOWN)
    return writer.row


def count_rows(db):
    with db.read() as connection:
        found = (tables.corpus_columns, tables.column_blocks)
        return [connection.execute(select(func.count()).select_from(table)).scalar_one() for table in found]


def test_columns_come_back_as_they_were_stored_after_the_label(db):
    row = typed_corpus(db)
    found = columns.list_columns(db, row, "taste")
    assert found == (CorpusColumn(LABEL, "taste", CATEGORY, LABELS, 6), *KNOWN)
    assert columns.is_typed(row)
    values = [columns.read_column(db, row, column) for column in found]
    expected = (corpora.read_labels(db, row), DATES, NUMBERS, SPICES, [str(1900 + n) for n in range(6)])
    for array, given in zip(values, expected, strict=True):
        assert np.array_equal(array, given, equal_nan=array.dtype.kind == "f")
    assert np.isnat(values[1].view("datetime64[ms]")).tolist() == [False, True] + 4 * [False]


def test_a_run_sees_the_values_of_its_own_documents(db):
    row = replace(typed_corpus(db), documents=5)
    assert columns.read_column(db, row, KNOWN[2]).tolist() == SPICES[:5].tolist()
    assert columns.read_texts(db, row, "year") == ["1900", "1901", "1902", "1903", "1904"]


def test_a_name_that_another_column_has_does_not_hide_the_label(db):
    found = columns.list_columns(db, typed_corpus(db), "year")
    assert columns.find_column(found, "year").place == 3
    assert columns.find_column(found, "YEAR (label)").place == LABEL
    with pytest.raises(NotFound, match=r"no column 'yeer'; the columns are year \(label\), when, price, spice, year"):
        columns.find_column(found, "yeer")


def test_a_change_replaces_one_column_with_its_blocks(db):
    row = typed_corpus(db)
    years = np.arange(1900.0, 1906.0)
    changed = CorpusColumn(3, "year", NUMBER, (), 6, 6)
    columns.change_column(db, row, changed, [ColumnBlock(3, 0, years)])
    assert columns.list_columns(db, row)[1:] == (*KNOWN[:3], changed)
    assert columns.read_column(db, row, changed).tolist() == years.tolist()
    columns.change_column(db, row, KNOWN[3], [])
    assert count_rows(db) == [4, 6]


def test_columns_that_do_not_cover_all_documents_are_refused_and_nothing_is_kept(db):
    def write_partly():
        with corpus_writer.write_corpus(db, "food", WORDS, label_names=LABELS) as writer:
            for first in (0, 3):
                writer.add(block(first))
            for each in BLOCKS[:3]:
                writer.add_values(each)
            writer.set_columns(KNOWN)

    with pytest.raises(StoreError, match="column 'price' has 4 values for 6 documents"):
        write_partly()
    assert count_rows(db) == [0, 0]
    row = typed_corpus(db)
    with pytest.raises(StoreError, match="column 'year' has 5 values for 6 documents"):
        columns.change_column(db, row, CorpusColumn(3, "year", NUMBER, (), 6), [ColumnBlock(3, 0, np.zeros(5))])
    with pytest.raises(Conflict, match="got other documents meanwhile"):
        columns.replace_columns(db, replace(row, documents=5), (), [])
    assert columns.list_columns(db, row)[1:] == KNOWN


def append(db, row, written):
    with corpus_writer.append_documents(db, row.number) as appender:
        appender.add(block(6))
        written(appender)
    return appender.row


def test_appended_values_follow_those_that_are_there_and_a_new_column_is_missing_before(db):
    row = typed_corpus(db)
    later = tuple(replace(each, documents=9) for each in KNOWN)
    spices = replace(later[2], levels=("salt", "dill", "mint"))
    new = CorpusColumn(4, "stars", NUMBER, (), 9, 3)

    def write(appender):
        assert appender.columns_before == KNOWN
        appender.add_values(ColumnBlock(0, 6, DATES[:3]))
        appender.add_values(ColumnBlock(1, 6, NUMBERS[:3]))
        appender.add_values(ColumnBlock(2, 6, np.array([2, 2, -1], np.int32)))
        appender.add_values(ColumnBlock(4, 0, make_missing(NUMBER, 6)))
        appender.add_values(ColumnBlock(4, 6, np.arange(3.0)))
        appender.set_columns((*later[:2], spices, later[3], new))

    row = append(db, row, write)
    assert columns.is_typed(row)
    assert columns.read_column(db, row, spices).tolist() == [*SPICES.tolist(), 2, 2, -1]
    stars = columns.read_column(db, row, columns.find_column(columns.list_columns(db, row), "stars"))
    assert np.isnan(stars[:6]).all()
    assert stars[6:].tolist() == [0.0, 1.0, 2.0]
    assert check.check_store(db).damages == ()
    corpora.delete_corpus(db, row.number)
    assert count_rows(db) == [0, 0]


def test_a_kind_that_was_changed_during_an_addition_leaves_the_columns_to_be_typed_again(db):
    row = typed_corpus(db)

    def write(appender):
        appender.add_values(ColumnBlock(2, 6, SPICES[:3]))
        columns.change_column(db, row, replace(KNOWN[2], kind=TEXT, levels=()), [])
        appender.set_columns([replace(KNOWN[2], documents=9), replace(KNOWN[3], documents=9)])

    later = append(db, row, write)
    assert later.documents == 9
    assert not columns.is_typed(later)
    assert [each.kind for each in columns.list_columns(db, later)[1:]] == [DATE, NUMBER, TEXT, TEXT]
    assert count_rows(db) == [4, 4]


def test_a_corpus_without_columns_and_one_of_an_earlier_version_differ(db):
    earlier = write_corpus(db, "earlier")
    assert not columns.is_typed(earlier)
    columns.replace_columns(db, earlier, (), [])
    assert columns.is_typed(corpora.get_corpus(db, earlier.number))


def test_damaged_values_are_noticed_and_the_sentence_says_how_to_mend_them(db):
    row = typed_corpus(db)
    with db.write() as connection:
        of_column = tables.column_blocks.c.place == 1
        connection.execute(update(tables.column_blocks).where(of_column).values(arrays=b"TOPIARY2 and no more"))
    with pytest.raises(DamagedArrays, match=r"topiary columns 1 --kind 'price=number' reads them again"):
        columns.read_column(db, row, KNOWN[1])
    (damage,) = check.check_store(db).damages
    assert damage.what.startswith("corpus 'food', column 'price': ")
    assert damage.means == "topiary columns 1 --kind 'price=number' reads its values again"
