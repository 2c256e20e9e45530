"""Answers to earlier requests change nothing, whenever they come."""

from app.pages.components.latest import Latest


def test_what_is_under_way_is_not_asked_for_again():
    latest = Latest()
    assert latest.begin("a")
    assert not latest.begin("a")
    assert latest.end("a")
    assert latest.begin("a")


def test_an_answer_to_an_earlier_request_leaves_the_later_one_under_way():
    latest = Latest()
    latest.begin("a")
    latest.begin("b")
    assert not latest.end("a")
    assert latest.pending == "b"
    assert not latest.begin("b")
    assert latest.end("b")
    assert latest.pending is None


def test_what_was_forgotten_may_be_asked_for_again():
    latest = Latest()
    latest.begin("a")
    latest.forget()
    assert not latest.end("a")
    assert latest.begin("a")


def test_what_was_asked_for_again_while_under_way_is_to_be_asked_once_more():
    latest = Latest()
    latest.begin("a")
    latest.begin("a")
    assert latest.end("a")
    assert latest.repeated
    latest.begin("a")
    assert latest.end("a")
    assert not latest.repeated
