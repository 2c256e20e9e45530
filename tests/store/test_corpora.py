import tracemalloc
from dataclasses import replace
from operator import attrgetter

import numpy as np
import pytest
from sqlalchemy import func, select, update
from store_samples import LABELS, WORDS, block, new_run, write_corpus

from topiary.store import blocks, corpora, corpus_writer, tables
from topiary.store.blocks import TEST, TRAIN, VALIDATION, DocumentBlock, StoredCounts
from topiary.store.errors import Conflict, LostClaim, NotFound, StoreError

TABLES = (tables.corpora, tables.corpus_words, tables.corpus_blocks, tables.corpus_texts)


def rows_left(db):
    with db.read() as connection:
        return [connection.execute(select(func.count()).select_from(table)).scalar() for table in TABLES]


def joined(pieces, name):
    return np.concatenate([attrgetter(name)(piece) for piece in pieces])


@pytest.mark.parametrize("kind", ["counts", "real"])
@pytest.mark.parametrize("scored", [False, True])
def test_a_corpus_comes_back_as_it_was_written(db, kind, scored):
    row = write_corpus(db, kind=kind, has_scored=scored)
    arrays = corpora.load_corpus(db, row.number)
    pieces = [block(0, scored=scored, real=kind == "real"), block(3, scored=scored, real=kind == "real")]
    lengths = np.concatenate([np.diff(piece.counts.starts) for piece in pieces])
    assert arrays.counts.starts.tolist() == [0, *np.cumsum(lengths)]
    for name in ("counts.words", "counts.values", "part", "labels"):
        assert np.array_equal(attrgetter(name)(arrays), joined(pieces, name)), name
    found = [array.dtype.name for array in (*arrays.counts, arrays.part, arrays.labels)]
    assert found == ["int64", "int32", "float32" if kind == "real" else "int32", "int8", "int32"]
    if scored:
        assert np.array_equal(arrays.scored.words, joined(pieces, "scored.words"))
        assert np.array_equal(arrays.scored.values, joined(pieces, "scored.values"))
        assert np.array_equal(arrays.scored.starts, arrays.counts.starts)
    else:
        assert arrays.scored is None


def test_the_row_of_a_corpus_says_what_is_in_it(db):
    row = write_corpus(db, split_seed=7, source="a shelf", meta={"shelf": 3})
    arrays = corpora.load_corpus(db, row.number)
    assert (row.name, row.documents, row.train_documents, row.words) == ("food", 6, 5, len(WORDS))
    assert (row.cells, row.tokens) == (len(arrays.counts.words), arrays.counts.values.sum())
    assert (row.kind, row.label_names, row.image_shape, row.has_scored) == ("counts", LABELS, None, False)
    assert (row.split_seed, row.source, row.meta) == (7, "a shelf", {"shelf": 3})
    assert row.created.utcoffset().total_seconds() == 0
    assert corpora.list_corpora(db) == [row]
    assert corpora.read_vocabulary(db, row.number) == WORDS


def test_the_row_of_a_corpus_counts_the_documents_of_its_three_parts(db):
    parts = np.array([TRAIN, VALIDATION, TEST], np.int8)
    with corpus_writer.write_corpus(db, "three", WORDS, label_names=LABELS) as writer:
        writer.add(replace(block(0), part=parts))
        writer.add(replace(block(3), part=np.array([TRAIN, TRAIN, VALIDATION], np.int8)))
    row = writer.row
    assert (row.documents, row.train_documents, row.validation_documents, row.test_documents) == (6, 3, 2, 1)
    assert [each.part for each in corpora.read_documents(db, row.number, range(3))] == parts.tolist()
    assert corpora.count_labels(db, row.number).sum() == np.count_nonzero(np.array([0, 3, 4]) % 3 - 1 >= 0)
    with corpus_writer.append_documents(db, row.number) as appender:
        appender.add(replace(block(6), part=np.full(3, VALIDATION, np.int8)))
    assert (appender.row.validation_documents, appender.row.test_documents) == (5, 1)
    strange = replace(block(9), part=np.array([TRAIN, TEST, 3], np.int8))
    with pytest.raises(StoreError, match="neither training nor validation nor test"):
        append_block(db, row.number, strange)


def append_block(db, number, piece):
    with corpus_writer.append_documents(db, number) as appender:
        appender.add(piece)


def test_a_corpus_is_found_by_name_and_by_number(db):
    first, second = write_corpus(db, "first"), write_corpus(db, str(10))
    assert (
        corpora.find_corpus(db, "first")
        == corpora.find_corpus(db, first.number)
        == corpora.find_corpus(db, str(first.number))
        == first
    )
    assert corpora.find_corpus(db, "10") == second
    with pytest.raises(NotFound, match=rf"the store has first \({first.number}\), 10 \({second.number}\)"):
        corpora.find_corpus(db, "third")


def test_a_text_that_means_two_corpora_is_refused_where_only_one_may_be_meant(db):
    first, second, third = (write_corpus(db, name) for name in ("first", "1", "3"))
    assert (first.number, third.number) == (1, 3)
    with pytest.raises(Conflict, match="'1' is the name of corpus 2 and the number of corpus 'first'; say 2 for"):
        corpora.find_exact_corpus(db, "1")
    found = [corpora.find_exact_corpus(db, text) for text in ("first", "2", "3")]
    assert found == [first, second, third]
    with pytest.raises(NotFound, match="there is no corpus '4'"):
        corpora.find_exact_corpus(db, "4")


def test_an_empty_store_says_that_it_has_no_corpora(db):
    with pytest.raises(NotFound, match="import one first"):
        corpora.find_corpus(db, "any")
    with pytest.raises(NotFound, match="no corpus number 3"):
        corpora.load_corpus(db, 3)


def test_documents_come_in_the_order_asked_for(db):
    number = write_corpus(db).number
    found = corpora.read_documents(db, number, [4, 0, 4])
    assert [document.number for document in found] == [4, 0, 4]
    assert found[0] == corpora.Document(4, "title 4", "text of document 4", "sweet", {"year": "1904"}, 1)
    assert found[1].label is None
    assert corpora.read_documents(db, number, np.array([], dtype=np.int64)) == []
    with pytest.raises(NotFound, match="documents 0 to 5, and no 6"):
        corpora.read_documents(db, number, [6])


def test_search_finds_documents_that_have_every_word_page_by_page(db):
    number = write_corpus(db, blocks=4).number
    total, page = corpora.search_documents(db, number, "DOCUMENT text", 2, 3)
    assert total == 12
    assert [document.number for document in page] == [2, 3, 4]
    assert corpora.search_documents(db, number, "text 7") == (1, corpora.read_documents(db, number, [7]))
    assert corpora.search_documents(db, number, "nothing") == (0, [])
    turns = iter([True, False])
    some, page = corpora.search_documents(db, number, "text", is_wanted=lambda: next(turns))
    assert 0 < some == len(page) < corpora.search_documents(db, number, "text")[0]
    assert corpora.search_documents(db, number, " ", 10, 5) == (12, corpora.read_documents(db, number, [10, 11]))


def test_the_labels_of_all_documents_are_read_without_their_counts(db):
    row = write_corpus(db, blocks=4)
    assert corpora.read_labels(db, row).tolist() == corpora.load_corpus(db, row.number).labels.tolist()


def test_texts_with_any_character_come_back(db):
    text = 'NUL \x00, lone \ud800, quote " and backslash \\, 𝔘nicode'
    piece = block(0, 1)
    with corpus_writer.write_corpus(db, "strange", WORDS, label_names=LABELS) as writer:
        writer.add(DocumentBlock(**(vars(piece) | {"texts": [text], "titles": [text], "columns": [{text: text}]})))
    document = corpora.read_documents(db, writer.row.number, [0])[0]
    assert (document.title, document.text, document.columns) == (text, text, {text: text})


def test_large_blocks_are_cut_by_documents_and_by_characters():
    many = list(blocks.cut_block(block(10, 2500)))
    assert [(piece.first, piece.documents) for piece in many] == [(10, 1000), (1010, 1000), (2010, 500)]
    assert all(piece.counts.starts[0] == 0 and piece.counts.starts[-1] == len(piece.counts.words) for piece in many)
    long = block(0, 4, scored=True)
    long.texts[:] = ["x" * 600_000, "y" * 600_000, "z", "w" * 2_000_000]
    pieces = list(blocks.cut_block(long))
    assert [(piece.first, piece.documents) for piece in pieces] == [(0, 1), (1, 2), (3, 1)]
    for name in ("counts.words", "counts.values", "scored.words", "part", "labels"):
        assert np.array_equal(joined(pieces, name), attrgetter(name)(long)), name


def test_the_content_hash_depends_on_counts_and_words_but_not_on_blocks_or_texts(db):
    one = write_corpus(db, "one").content_hash
    with corpus_writer.write_corpus(db, "whole", WORDS, label_names=LABELS) as writer:
        piece = block(0, 6)
        piece.texts[0] = "another text"
        writer.add(piece)
    assert writer.row.content_hash == one
    with corpus_writer.write_corpus(db, "counts", WORDS, label_names=LABELS) as writer:
        piece = block(0, 6)
        piece.counts.values[-1] += 1
        writer.add(piece)
    assert writer.row.content_hash != one
    with corpus_writer.write_corpus(db, "words", [*WORDS[:-1], "fig"], label_names=LABELS) as writer:
        writer.add(block(0, 6))
    assert writer.row.content_hash != one


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_exception_inside_the_writer_leaves_the_store_as_it_was(db, error):
    write_corpus(db, "before")
    before = rows_left(db)

    def stop_half_way():
        with corpus_writer.write_corpus(db, "half", WORDS, label_names=LABELS) as writer:
            writer.add(block(0))
            raise error

    with pytest.raises(error):
        stop_half_way()
    assert rows_left(db) == before
    assert write_corpus(db, "half").documents == 6


def test_a_corpus_being_written_is_not_seen(db):
    with corpus_writer.write_corpus(db, "slow", WORDS, label_names=LABELS) as writer:
        writer.add(block(0))
        assert corpora.list_corpora(db) == []
        with pytest.raises(NotFound):
            corpora.load_corpus(db, writer.number)
        with pytest.raises(NotFound):
            new_run(db, writer.number)
    assert len(corpora.list_corpora(db)) == 1


def test_a_name_is_taken_once(db):
    write_corpus(db, "food")
    with pytest.raises(Conflict, match="already a corpus called 'food'"):
        write_corpus(db, "food")

    def race():
        with corpus_writer.write_corpus(db, "drinks", WORDS, label_names=LABELS) as slow:
            slow.add(block(0))
            write_corpus(db, "drinks", blocks=1)

    with pytest.raises(Conflict, match="already a corpus called 'drinks'"):
        race()
    assert [row.name for row in corpora.list_corpora(db)] == ["food", "drinks"]
    assert rows_left(db)[0] == 2


def test_rows_of_a_killed_import_are_removed_by_a_later_one(db):
    writing = corpus_writer.write_corpus(db, "killed", WORDS, label_names=LABELS)
    killed = writing.__enter__()
    killed.add(block(0))
    write_corpus(db, "soon after")
    assert rows_left(db)[0] == 2
    hour_ago = {"touched": tables.corpora.c.touched - corpus_writer.ABANDONED_SECONDS - 1}
    with db.write() as connection:
        connection.execute(update(tables.corpora).where(tables.corpora.c.number == killed.number).values(hour_ago))
    write_corpus(db, "an hour later")
    assert rows_left(db) == [2, 2 * len(WORDS), 4, 4]
    with pytest.raises(LostClaim, match="import it again"):
        killed.add(block(3))
    with pytest.raises(LostClaim):
        writing.__exit__(None, None, None)


def test_a_deleted_corpus_leaves_nothing(db):
    keep, gone = write_corpus(db, "keep"), write_corpus(db, "gone")
    corpora.delete_corpus(db, gone.number)
    assert corpora.list_corpora(db) == [keep]
    assert rows_left(db) == [1, len(WORDS), 2, 2]
    with pytest.raises(NotFound):
        corpora.delete_corpus(db, gone.number)
    assert write_corpus(db, "gone").number > gone.number


def test_a_corpus_in_use_is_not_deleted_and_its_runs_are_named(db):
    row = write_corpus(db)
    numbers = [new_run(db).number for _ in range(2)]
    with pytest.raises(Conflict, match=f"corpus 'food' is used by runs {numbers[0]}, {numbers[1]}"):
        corpora.delete_corpus(db, row.number)
    assert corpora.load_corpus(db, row.number).counts.starts[-1] == row.cells


@pytest.mark.parametrize("kind", ["counts", "real"])
def test_the_counts_of_some_documents_are_those_of_the_whole_corpus(db, kind):
    row = write_corpus(db, blocks=3, kind=kind)
    whole = corpora.load_corpus(db, row.number).counts
    request = [7, 0, 4, 0]
    some = corpora.read_counts(db, row.number, request)
    for place, number in enumerate(request):
        cells, here = (slice(*starts[n : n + 2]) for starts, n in ((whole.starts, number), (some.starts, place)))
        assert some.words[here].tolist() == whole.words[cells].tolist()
        assert some.values[here].tolist() == whole.values[cells].tolist()
    assert [array.dtype for array in some] == [array.dtype for array in whole]


def test_labels_of_training_documents_are_counted(db):
    row = write_corpus(db, blocks=3)
    whole = corpora.load_corpus(db, row.number)
    chosen = whole.labels[whole.part == TRAIN]
    assert corpora.count_labels(db, row.number).tolist() == [np.sum(chosen == label) for label in (0, 1)]
    assert np.sum(whole.labels[whole.part != TRAIN] >= 0) > 0, "labels of test documents are not among them"


def test_counts_of_no_document_are_empty_and_of_a_missing_one_not_found(db):
    row = write_corpus(db)
    assert corpora.read_counts(db, row.number, []).starts.tolist() == [0]
    for number in (99, 2**63, 10**30):
        with pytest.raises(NotFound, match=f"and no {number}$"):
            corpora.read_counts(db, row.number, [0, number])


def changed(starts=None, words=None, values=None, **changes):
    usual = block(0).counts
    given = zip((starts, words, values), usual, strict=True)
    counts = StoredCounts(*(old if new is None else new for new, old in given))
    return DocumentBlock(**(vars(block(0)) | {"counts": counts} | changes))


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (block(3), "begins at document 3 but 0 is the next one"),
        (block(0, scored=True), "scored tokens"),
        (changed(titles=["one"]), "differ in length"),
        (changed(part=np.array([0, 1, 3])), "part is neither"),
        (changed(labels=np.array([0, 1, 2])), "outside the 2 label names"),
        (changed(words=block(0).counts.words + 3), "outside the 6 words"),
        (changed(words=block(0).counts.words - 1), "outside the 6 words"),
        (changed(words=np.zeros_like(block(0).counts.words)), "same word twice"),
        (changed(values=block(0).counts.values - block(0).counts.values.min()), "not a number above 0"),
        (changed(values=block(0).counts.values + 0.5), "not a whole number"),
        (changed(values=np.full(len(block(0).counts.values), np.nan)), "not a number above 0"),
        (changed(values=np.full(len(block(0).counts.values), 2**31)), "above 2147483647"),
        (changed(starts=block(0).counts.starts + 1), "starts do not fit"),
        (changed(starts=np.array([0, 5, 3, block(0).counts.starts[-1]])), "starts do not fit"),
    ],
)
def test_blocks_that_contradict_themselves_are_refused(db, wrong, sentence):
    def write():
        with corpus_writer.write_corpus(db, "wrong", WORDS, label_names=LABELS) as writer:
            writer.add(wrong)

    with pytest.raises(StoreError, match=f"documents from {wrong.first} on cannot be stored: .*{sentence}"):
        write()
    assert rows_left(db) == [0, 0, 0, 0]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"name": " "}, "needs a name"),
        *(({"name": f"a{letter}b"}, "one line without control characters") for letter in "\n\t\x1b\x7f\x85\u2028"),
        ({"kind": "letters"}, "not 'letters'"),
        ({"vocabulary": ()}, "no words"),
        ({"image_shape": (2, 2)}, "2 x 2 pixels"),
    ],
)
def test_descriptions_that_make_no_sense_are_refused(db, options, sentence):
    values = {"name": "x", "vocabulary": WORDS} | options
    with pytest.raises(StoreError, match=sentence), corpus_writer.write_corpus(db, **values):
        pass


def test_an_empty_corpus_and_empty_documents_can_be_kept(db):
    with corpus_writer.write_corpus(db, "empty", WORDS) as writer:
        pass
    assert corpora.load_corpus(db, writer.row.number).counts.starts.tolist() == [0]
    with corpus_writer.write_corpus(db, "blank", WORDS, image_shape=(2, 3)) as writer:
        empty = {"words": np.zeros(0, np.int32), "values": np.zeros(0, np.int32), "labels": np.full(3, -1)}
        writer.add(changed(starts=np.zeros(4, np.int64), **empty))
    assert corpora.load_corpus(db, writer.row.number).counts.starts.tolist() == [0, 0, 0, 0]
    assert writer.row.image_shape == (2, 3)
    assert corpora.search_documents(db, writer.row.number, "title 2")[0] == 1


def test_loading_takes_the_memory_of_the_result_and_one_block(db):
    rng = np.random.default_rng(3)
    cells, per_block, documents = 200, 50_000, 250
    words = [f"word {i}" for i in range(cells)]
    with corpus_writer.write_corpus(db, "large", words) as writer:
        for first in range(0, 40 * documents, documents):
            writer.add(
                DocumentBlock(
                    first,
                    StoredCounts(
                        np.arange(documents + 1) * cells,
                        np.tile(np.arange(cells, dtype=np.int32), documents),
                        rng.integers(1, 2**30, per_block, dtype=np.int32),
                    ),
                    np.zeros(documents, np.int8),
                    np.full(documents, -1, np.int32),
                    *(["a title"] * documents, ["a text " * 20] * documents, [{}] * documents),
                )
            )
    corpora.load_corpus(db, writer.row.number)  # warm: compiled queries are not what is measured
    tracemalloc.start()
    arrays = corpora.load_corpus(db, writer.row.number)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    result = sum(array.nbytes for array in (*arrays.counts, arrays.part, arrays.labels))
    one_block = per_block * 5 * 2  # a byte for a word, four for a count: as stored, and unpacked
    assert result > 15_000_000
    assert peak - result < 2 * one_block + 200_000
