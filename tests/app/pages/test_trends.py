"""The page Trends without a browser: what grew, what groups have, what filters leave, and what it says without data."""

import re

import pytest
from page_sessions import PageSession
from trend_samples import DOCUMENTS, plant_trends

from app.live.ticks import Tick
from app.pages import trends
from app.pages.session import from_query, to_query
from app.pages.trends import TrendsPage
from store import snapshots
from store.database import open_database


class Session(PageSession):
    """The page on a small store."""

    def __init__(self, db, **fields):
        super().__init__(db, "trends", **fields)
        self.page = TrendsPage(self.context)
        self.work()

    def say(self, do, **more):
        self.page._on_message({"do": do, **more})
        return self.work()

    @property
    def html(self):
        return self.page.board.html

    def card(self, heading):
        return re.search(rf"<h2>{heading}</h2>(.*?)</section>", self.html, re.DOTALL)[1]


@pytest.fixture
def db(tmp_path):
    opened = open_database(str(tmp_path / "store.db"))
    plant_trends(opened)
    yield opened
    opened.close()


def test_topics_over_time_are_drawn_and_what_grew_is_listed(db):
    session = Session(db)
    assert session.html.count('<polyline class="tr-line"') == 2
    grew, shrank = session.card("What grew"), session.card("What shrank")
    assert grew.count("<li>") == shrank.count("<li>") == 1
    assert 'data-value="L3:1"' in grew
    assert "1 document has no date" in session.html
    assert f"all {DOCUMENTS} documents" in session.html


def test_a_topic_alone_has_its_children_below(db):
    session = Session(db)
    session.say("topic", value="L3:1")
    assert session.view.trend_topic == ("L3:1",)
    assert session.html.count('<polyline class="tr-line"') > 1
    assert "<h2>Its children</h2>" in session.html
    session.say("trend_layer", value="1")
    assert (session.view.trend_layer, session.view.trend_topic) == (1, ())


def test_groups_differ_beyond_chance_and_a_click_on_one_filters(db):
    session = Session(db, trend="groups")
    assert "herald" in session.card("What is typical of the groups")
    assert session.card("Topics by source").count("▲") == 2
    session.say("topic", value="L3:1")
    session.say("group", value="source=herald")
    assert session.view.where == ("source=herald",)
    assert f"{DOCUMENTS // 2} of {DOCUMENTS} documents" in session.html
    session.say("column", value="rating")
    assert "Topics by rating" in session.html
    session.say("unfilter", value="source=herald")
    assert session.view.where == ()


def test_filters_are_part_of_the_address_whatever_they_hold(db):
    session = Session(db)
    session.say("filter", form={"column": "source", "value": "a, 100% b&c"})
    assert "has no category" in session.html
    assert from_query(to_query(session.view))["where"] == ("source=a, 100% b&c",)
    session.say("unfilter", value="source=a, 100% b&c")
    session.say("filter", form={"column": "day", "value": "2004-02"})
    assert f"29 of {DOCUMENTS} documents" in session.html
    session.say("filter", form={"column": "day", "value": "1999"})
    assert "No document meets all filters" in session.html


@pytest.mark.parametrize(
    "message",
    [
        {"do": "trend", "value": "space"},
        {"do": "unit", "value": "hour"},
        {"do": "trend_layer", "value": "x"},
        {"do": "topic", "value": "<b>"},
        {"do": "filter", "form": {"column": 1}},
        {"do": "group", "value": "nothing"},
        {"do": "no such request"},
    ],
)
def test_a_message_that_makes_no_sense_changes_nothing(db, message):
    session = Session(db)
    before = to_query(session.view)
    session.page._on_message(message)
    assert to_query(session.view) == before


def test_it_says_why_there_is_nothing_to_show(tmp_path):
    with_nothing = open_database(str(tmp_path / "other.db"))
    plant_trends(with_nothing, placed=False)
    assert "computed while the run trains, and when it ends" in Session(with_nothing).html
    assert "run 7" in Session(with_nothing, run=7).html
    with_nothing.close()


def test_a_run_that_trains_shows_the_last_snapshot_with_shares_and_says_so(tmp_path, monkeypatch):
    training = open_database(str(tmp_path / "training.db"))
    row = plant_trends(training, trains=True)
    session = Session(training)
    assert "topics and shares of mini-batch 400, the last one whose documents" in session.html
    assert "the newest topics are of mini-batch 500." in session.html
    assert "<svg" in session.html
    newest = max(snapshots.list_snapshots(training, row.number), key=lambda each: each.minibatch)
    chosen = Session(training, snapshot=newest.number)
    assert "not known yet" in chosen.html  # of the snapshot that was asked for
    measured = []
    monkeypatch.setattr(trends, "_measure", lambda *_: measured.append(1))
    session.page._on_tick(Tick(rows=frozenset({row.number})))
    session.work()
    assert measured == []  # the same shares are not measured again at every heartbeat
    assert "the newest topics are of mini-batch 500." in session.html
    training.close()
