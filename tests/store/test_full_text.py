"""The full-text index: what it finds, that it can be interrupted, and that it goes with its corpus."""

import itertools

import numpy as np
import pytest
from sqlalchemy import inspect, text

from topiary.store import corpora, corpus_writer, full_text
from topiary.store.blocks import DocumentBlock, StoredCounts
from topiary.store.full_text import LONGEST, MOST_BYTES, TextQuery, list_words, split_query, split_words

TITLES = ["On Apples", "", "Plums", "Über Pflaumen", "果物"]
TEXTS = ["Green apples and PLUMS", "nothing of the kind", "applesauce, plum-cake", "Äpfel und Pflaumen", "機械学習の本"]


def add_corpus(db, n=5, name="fruit", block=2):
    """A corpus of ``n`` documents with those texts, again and again, in blocks of a few."""
    with corpus_writer.write_corpus(db, name, ["word"]) as writer:
        for first in range(0, n, block):
            here = range(first, min(first + block, n))
            writer.add(
                DocumentBlock(
                    first,
                    StoredCounts(np.arange(len(here) + 1), np.zeros(len(here), np.int32), np.ones(len(here), np.int32)),
                    np.zeros(len(here), np.int8),
                    np.full(len(here), -1, np.int32),
                    [TITLES[i % 5] for i in here],
                    [TEXTS[i % 5] for i in here],
                    [{} for _ in here],
                )
            )
    return writer.row.number


def found(db, corpus, words, offset=0, limit=20):
    total, page = corpora.search_documents(db, corpus, words, offset, limit)
    return total, [document.number for document in page]


SEARCHES = [
    ("apples", [0, 2]),
    ("APPLES plum", [0, 2]),
    ("on apples", [0]),
    ("plums", [0, 2]),
    ("über", [3]),
    ("ÄPFEL", [3]),
    ("学習", [4]),
    ("果", [4]),
    ("pears", []),
    ("the", [1]),
    ("", [0, 1, 2, 3, 4]),
]
READ = [
    ('"green apples"', [0]),
    ('"apples green"', []),
    ('"PLUM cake"', [2]),
    ('"plum-cake" applesauce', [2]),
    ('"plum-cake" pears', []),
    ("„Äpfel und“", [3]),
    ('"機械学"', [4]),
    (r"/apples\w/", [2]),
    (r"/^on|ä/", [0, 3]),
]


def test_the_index_finds_what_looking_through_the_documents_finds(db):
    corpus = add_corpus(db)
    expected = [(words, (len(numbers), numbers)) for words, numbers in (*SEARCHES, *READ)]
    assert [(words, found(db, corpus, words)) for words, _ in expected] == expected
    assert full_text.build_index(db, corpus)
    assert [(words, found(db, corpus, words)) for words, _ in expected] == expected


@pytest.mark.parametrize(("query", "message"), [("/(/", "is wrong"), ("/(a|aa)+$/", "takes longer than")])
def test_an_expression_that_is_wrong_or_never_ends_is_an_error(db, monkeypatch, query, message):
    monkeypatch.setattr(full_text, "LONGEST_SEARCH", 0.05)
    monkeypatch.setitem(globals(), "TEXTS", ["a" * 60 + "b"] * 5)
    with pytest.raises(full_text.QueryError, match=message):
        corpora.find_documents(db, add_corpus(db), query)


def test_all_documents_that_a_search_finds_are_known_without_their_texts(db, monkeypatch):
    corpus = add_corpus(db)
    assert [(words, corpora.find_documents(db, corpus, words).tolist()) for words, _ in SEARCHES] == SEARCHES
    full_text.build_index(db, corpus)
    monkeypatch.setattr(corpora, "_read_blob", None)
    assert [(words, corpora.find_documents(db, corpus, words).tolist()) for words, _ in SEARCHES] == SEARCHES


def test_a_search_for_all_documents_ends_when_it_is_not_wanted_any_more(db):
    corpus = add_corpus(db)
    turns = iter([True, False])
    assert corpora.find_documents(db, corpus, "apples", lambda: next(turns)).tolist() == [0]


def test_with_the_index_no_text_is_read_to_find_the_documents(db, monkeypatch):
    corpus = add_corpus(db)
    full_text.build_index(db, corpus)
    monkeypatch.setattr(corpora, "_find_hits", None)
    assert found(db, corpus, "apples") == (2, [0, 2])


def test_a_search_of_signs_only_looks_through_the_documents(db):
    corpus = add_corpus(db)
    full_text.build_index(db, corpus)
    assert found(db, corpus, "-") == (1, [2])
    assert found(db, corpus, "'") == (0, [])


def test_signs_that_mean_something_to_a_database_are_none_to_the_search(db):
    corpus = add_corpus(db)
    full_text.build_index(db, corpus)
    for words in ('" OR "', "apples OR", "NEAR(", "* ^", "a:b", "'; DROP TABLE corpora; --", "\x00", "\\"):
        assert found(db, corpus, words)[0] in range(6), words


def test_pages_follow_each_other(db):
    corpus = add_corpus(db, 50)
    full_text.build_index(db, corpus)
    assert found(db, corpus, "apples", 0, 3) == (20, [0, 2, 5])
    assert found(db, corpus, "apples", 18, 5) == (20, [45, 47])
    assert found(db, corpus, "apples", 30, 5) == (20, [])


def test_many_documents_are_counted_as_few_are(db, monkeypatch):
    corpus = add_corpus(db, 20)
    full_text.build_index(db, corpus)
    every = [0, 2, 5, 7, 10, 12, 15, 17]
    for counted, offset, limit in itertools.product((1, 3, 4, 8, 9), (0, 1, 5, 7, 8, 30), (1, 3, 20)):
        monkeypatch.setattr(full_text, "COUNTED", counted)
        assert found(db, corpus, "apples", offset, limit) == (8, every[offset : offset + limit])


def test_each_search_is_planned_for_its_words(db):
    if not db.url.startswith("postgresql"):
        pytest.skip("only PostgreSQL keeps plans")
    corpus = add_corpus(db)
    full_text.build_index(db, corpus)
    with db.read() as connection:
        for _ in range(12):
            full_text.query_index(connection, corpus, "apples", 0, 20)
        kept = "SELECT sum(generic_plans), sum(custom_plans) FROM pg_prepared_statements WHERE statement LIKE '%@@%'"
        generic, custom = connection.execute(text(kept)).one()
    assert generic == 0
    assert custom > 0


def test_an_interrupted_index_is_finished_later_and_nothing_is_missed_meanwhile(db, monkeypatch):
    monkeypatch.setattr(full_text, "_AT_ONCE", 10)
    corpus = add_corpus(db, 50)
    assert full_text.list_unindexed(db) == [corpus]
    assert not full_text.build_index(db, corpus, lambda done, total: False)
    assert found(db, corpus, "apples", 0, 3) == (20, [0, 2, 5])
    assert found(db, corpus, "apples", 3, 3) == (20, [7, 10, 12])
    done = []
    assert full_text.build_index(db, corpus, lambda *report: done.append(report) or True)
    assert done == [(20, 50), (30, 50), (40, 50), (50, 50)]
    assert full_text.list_unindexed(db) == []
    assert found(db, corpus, "apples", 18, 5) == (20, [45, 47])


def test_two_that_index_at_once_do_not_write_twice(db):
    corpus = add_corpus(db)

    def slowly(function, pieces):
        for rows in map(function, pieces):
            full_text.build_index(db, corpus)  # somebody else is faster
            yield rows

    assert full_text.build_index(db, corpus, map_batches=slowly)
    assert full_text.list_unindexed(db) == []
    assert found(db, corpus, "apples") == (2, [0, 2])


def test_the_index_goes_with_its_corpus(db):
    corpus, other = add_corpus(db), add_corpus(db, name="other")
    for each in (corpus, other):
        full_text.build_index(db, each)
    corpora.delete_corpus(db, corpus)
    with db.read() as connection:
        tables = set(inspect(connection).get_table_names())
        assert connection.execute(text("SELECT corpus FROM search_indexes")).scalars().all() == [other]
    assert f"search_words_{other}" in tables
    assert not {name for name in tables if name.startswith(f"search_words_{corpus}")}
    assert not full_text.build_index(db, corpus)
    assert found(db, other, "apples") == (2, [0, 2])


def test_a_database_without_a_full_text_index_is_searched_as_ever(db, monkeypatch):
    monkeypatch.setattr(full_text, "_can_index", lambda connection: False)
    corpus = add_corpus(db)
    assert not full_text.build_index(db, corpus)
    assert full_text.list_unindexed(db) == []
    assert found(db, corpus, "apples") == (2, [0, 2])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("New York's e-mail, 3.5 C++", ["new", "york", "s", "e", "mail", "3", "5", "c"]),
        ("snake_case", ["snake", "case"]),
        ("STRASSE Straße", ["strasse", "strasse"]),
        ("Ελλάδα Привет", ["ελλάδα", "привет"]),
        ("हिन्दी", ["हिन्दी"]),
        ("abc機械学習def", ["abc", "機械", "械学", "学習", "習", "def"]),
        ("-- ++", []),
    ],
)
def test_a_text_has_these_words(text, words):
    assert list(split_words(text)) == words


@pytest.mark.parametrize("part", ["機械学習", "械学", "学習", "習", "機"])
def test_any_part_of_a_run_without_spaces_is_found_by_its_words(part):
    there = list(split_words("これは機械学習の本"))
    assert all(any(word.startswith(asked) for word in there) for asked in split_query(part))


def test_a_part_that_is_not_there_is_not_found():
    there = list(split_words("これは機械学習の本"))
    assert not all(any(word.startswith(asked) for word in there) for asked in split_query("機学"))


def test_words_are_bounded_in_length_and_number():
    assert list(split_words("a" * 500)) == ["a" * LONGEST]
    many = list_words("", " ".join(f"{n:060d}" for n in range(30_000)))
    assert sum(len(word) + 4 for word in many) <= MOST_BYTES
    assert len(many) > 10_000


@pytest.mark.parametrize(
    ("query", "text", "matches"),
    [
        ("apple", "Apples, pineapple", ["Apples"]),
        ('"new york"', "New\nYork, new, york, New-York", ["New\nYork", "New-York"]),
        ('"new york" mayor', "mayors of New York", ["mayors", "New York"]),
        ('"U.S. dollar"', "the U.S. dollar, US dollar", ["U.S. dollar"]),
        ('"york"', "Yorkshire", []),
        ('"that that"', "that that is", ["that that"]),
        ('"習の"', "機械学習の本", ["習の"]),
        ("学習", "機械学習の本", ["学習の本"]),
        (r"/gr[ae]y/", "Grey, gray, groy", ["Grey", "gray"]),
        (r"/x*/", "yy", []),
        ('"', "a quotation mark", []),
        ("", "anything", []),
    ],
)
def test_matches_are_found_in_the_order_of_the_text(query, text, matches):
    assert [match.group() for match in TextQuery(query).find_matches(text)] == matches


def test_every_part_has_to_be_there():
    query = TextQuery('"new york" mayor')
    assert query.has_match("the mayor of New York")
    assert not query.has_match("the mayor of York, new")
    assert TextQuery(" ").has_match("")


def test_only_phrases_and_expressions_need_texts():
    assert [TextQuery(text).must_read for text in ('"a b"', "/a b/")] == [True, True]
    assert [TextQuery(text).must_read for text in ("a b", '"', "/")] == [False] * 3
    assert TextQuery('c "a-b"').indexed_words == "c a b"
