"""Documents appended to a corpus: as if they had come at once, all of them or none, and no run reads them."""

from dataclasses import replace

import numpy as np
import pytest
from sqlalchemy import func, select
from store_samples import block, new_run, write_corpus

from topiary.store import corpora, corpus_writer, events, tables
from topiary.store.errors import Conflict, NotFound, StoreError


def append(db, number, pieces, **more):
    with corpus_writer.append_documents(db, number) as appender:
        appender.meta |= {"file": "more.csv"}
        for first in pieces:
            appender.add(block(first, **more))
    return appender.row


def append_and(db, number, first, then):
    """Do something else before the end."""
    with corpus_writer.append_documents(db, number) as appender:
        appender.add(block(first))
        then()


def rows_left(db):
    with db.read() as connection:
        counted = (tables.corpora, tables.corpus_blocks, tables.corpus_texts, tables.corpus_words)
        return [connection.execute(select(func.count()).select_from(table)).scalar() for table in counted]


@pytest.mark.parametrize("kind", ["counts", "real"])
@pytest.mark.parametrize("scored", [False, True])
def test_a_corpus_that_grew_is_the_one_that_came_at_once(db, kind, scored):
    whole = write_corpus(db, "whole", blocks=4, kind=kind, has_scored=scored)
    grown = write_corpus(db, "grown", blocks=2, kind=kind, has_scored=scored)
    row = append(db, grown.number, (6, 9), scored=scored, real=kind == "real")
    same = ("documents", "train_documents", "words", "tokens", "cells", "scored_cells", "content_hash", "kind")
    assert [getattr(row, name) for name in same] == [getattr(whole, name) for name in same]
    one, other = corpora.load_corpus(db, whole.number), corpora.load_corpus(db, row.number)
    for mine, theirs in zip(
        (*one.counts, one.part, one.labels), (*other.counts, other.part, other.labels), strict=True
    ):
        assert mine.dtype == theirs.dtype
        assert np.array_equal(mine, theirs)
    assert scored == (other.scored is not None)
    numbers = [11, 0, 7]
    assert corpora.read_documents(db, row.number, numbers) == corpora.read_documents(db, whole.number, numbers)
    assert corpora.search_documents(db, row.number, "document 10")[0] == 1
    assert row.meta["additions"][0]["file"] == "more.csv"


def test_a_run_knows_the_documents_that_were_there_when_it_was_ordered(db):
    row = write_corpus(db)
    first = new_run(db, row.number)
    once = append(db, row.number, (6,))
    second = new_run(db, row.number)
    twice = append(db, row.number, (9,))
    third = new_run(db, row.number)
    known = [corpora.get_run_corpus(db, run) for run in (first, second, third)]
    assert [each.documents for each in known] == [6, 9, 12]
    assert [each.content_hash for each in known] == [row.content_hash, once.content_hash, twice.content_hash]
    assert [each.tokens for each in known] == [row.tokens, once.tokens, twice.tokens]
    before, after = corpora.load_counts(db, known[0]), corpora.load_counts(db, known[2])
    assert (len(before.part), len(after.part)) == (6, 12)
    assert np.array_equal(after.counts.starts[:7], before.counts.starts)
    assert len(before.counts.words) == row.cells
    assert corpus_writer.limit_corpus(replace(twice, meta={}), first.number).documents == 12
    early = [{name: size for name, size in twice.meta["additions"][0].items() if name != "validation_documents"}]
    older = replace(twice, meta={"additions": early}, validation_documents=2)
    assert corpus_writer.limit_corpus(older, first.number).validation_documents == 0, "there were none in that version"


def test_runs_are_told_that_their_corpus_has_more_documents(db):
    row = write_corpus(db)
    run, other = new_run(db, row.number), new_run(db, write_corpus(db, "other").number)
    append(db, row.number, (6,))
    (told,) = events.read_new_events(db, run.number)[0]
    assert (told.kind, told.change) == ("more documents", None)
    assert told.text == "the corpus has 9 documents now; this run stays with its 6, and a fork reads all"
    assert events.read_new_events(db, other.number)[0] == []


def test_after_an_exception_the_corpus_is_as_it_was(db):
    row = write_corpus(db)
    before = rows_left(db)
    with pytest.raises(KeyError):
        append_and(db, row.number, 6, lambda: {}[1])
    assert corpora.get_corpus(db, row.number) == row
    assert rows_left(db) == before
    with pytest.raises(StoreError, match="block begins at document 0 but 6"):
        append(db, row.number, (0,))
    assert corpora.get_corpus(db, row.number) == row
    assert rows_left(db) == before


def test_nothing_of_an_addition_is_seen_before_its_end(db):
    row = write_corpus(db)
    with corpus_writer.append_documents(db, row.number) as appender:
        appender.add(block(6))
        assert corpora.get_corpus(db, row.number) == row
        assert len(corpora.load_corpus(db, row.number).part) == 6
        assert corpora.search_documents(db, row.number, "document")[0] == 6
    assert corpora.search_documents(db, row.number, "document")[0] == 9


def test_of_two_additions_at_once_the_second_is_refused(db):
    row = write_corpus(db)
    with pytest.raises(Conflict, match="corpus 'food' got other documents meanwhile"):
        append_and(db, row.number, 6, lambda: append(db, row.number, (6, 9)))
    assert corpora.get_corpus(db, row.number).documents == 12
    assert len(corpora.load_corpus(db, row.number).part) == 12


def test_there_must_be_a_corpus_to_append_to(db):
    with pytest.raises(NotFound):
        append(db, 3, (0,))
    row = write_corpus(db)
    with pytest.raises(NotFound):
        append_and(db, row.number, 6, lambda: corpora.delete_corpus(db, row.number))
    assert rows_left(db) == [0, 0, 0, 0]
