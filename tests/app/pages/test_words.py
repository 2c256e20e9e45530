"""The page of a word without a browser: its topics, shares, contexts and filters, and what leads to it."""

import re

import pytest
from databases import open_filled
from page_sessions import PageSession
from trend_samples import DOCUMENTS, plant_trends

from topiary.app.pages.session import from_query, to_query
from topiary.app.pages.words import WordPage


class Session(PageSession):
    """The page on a small store."""

    def __init__(self, db, word="garden", **fields):
        super().__init__(db, "word", word=word, **fields)
        self.page = WordPage(self.context)
        self.work()

    def say(self, do, **more):
        self.page.handle({"do": do, **more})
        return self.work()

    @property
    def html(self):
        return self.page.board.html

    def card(self, heading):
        return re.search(rf"<h2>{heading}</h2>(.*?)</section>", self.html, re.DOTALL)[1]


@pytest.fixture
def db(tmp_path):
    opened = open_filled(tmp_path / "store.db", plant_trends)
    yield opened
    opened.close()


def test_a_word_has_its_topics_of_every_layer_a_line_over_time_and_bars_by_group(db):
    session = Session(db)
    assert [f"Topics of layer {layer}" in session.html for layer in (1, 2, 3)] == [True] * 3
    wide, narrow = session.card("Over time").split('<div class="tr-narrow">')
    assert [picture.count('class="tr-line"') for picture in (wide, narrow)] == [1, 1]
    assert "1 document has no date" in session.card("Over time")
    assert session.card("By source").count("<li>") == 2
    assert f"{DOCUMENTS} times in {DOCUMENTS} documents" in session.html


def test_a_group_filters_and_the_address_holds_everything(db):
    session = Session(db)
    session.say("group", value="source=herald")
    assert f"200 times in 200 documents, 100% of the words of 200 of {DOCUMENTS} documents" in session.html
    session.say("column", value="rating")
    assert session.card("By rating").count("<li>") == 5
    session.say("unit", value="quarter")
    assert "documents of every quarter" in session.html
    fields = from_query(to_query(session.view))
    assert (fields["page"], fields["word"], fields["where"]) == ("word", "garden", ("source=herald",))
    session.say("filter", form={"column": "day", "value": "1999"})
    assert "No document meets all filters" in session.html


def test_contexts_mark_the_words_of_the_topic_that_is_chosen(db):
    session = Session(db)
    assert session.card("In context").count("<li>") == 1  # all documents have the same text
    assert '<button type="button" data-do="place" data-number="' in session.card("In context")
    session.say("select", id="L2:1")
    assert session.view.trail == ("L2:1",)
    assert 'data-do="explore" data-id="L2:1"' in session.card("In context")
    session.say("place", number="7")
    assert (session.view.page, session.view.documents, session.view.trail) == ("documents", (7,), ("L2:1",))


def test_words_that_begin_alike_are_offered_for_one_that_is_not_in_the_vocabulary(db):
    session = Session(db, word="gardening")
    assert "is not in the vocabulary" in session.html
    session.say("word", value="garden")
    assert session.view.word == "garden"
    assert "Over time" in session.html
    empty = Session(db, word="").html
    assert "Type a word" in empty
    offered = re.findall(r'data-do="word" data-value="([^"]+)"', empty)
    assert offered[:2] == ["hedge", "drug"]
    assert len(set(offered)) == len(offered) > 2
    assert "<script>" not in Session(db, word="<script>alert(1)</script>").html


@pytest.mark.parametrize(
    "message",
    [
        {"do": "unit", "value": "hour"},
        {"do": "select", "id": "<b>"},
        {"do": "place", "number": "-1"},
        {"do": "explore", "id": "L0"},
        {"do": "no such request"},
    ],
)
def test_a_message_that_makes_no_sense_changes_nothing(db, message):
    session = Session(db)
    before = to_query(session.view)
    session.page.handle(message)
    assert to_query(session.view) == before


def test_it_says_why_there_is_nothing_to_show(db):
    assert "run 7" in Session(db, run=7).html
