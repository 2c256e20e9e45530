"""What a search asks for, and where a text has it."""

import pytest

from topiary.store.full_text import TextQuery


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
