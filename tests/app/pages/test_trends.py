"""The page Trends without a browser: what grew, what groups have, what filters leave, and what it says without data."""

import re
from dataclasses import replace

import pytest
from databases import open_filled
from page_sessions import PageSession
from trend_samples import DOCUMENTS, plant_trends

from topiary.app.live.feed import Tick
from topiary.app.pages import trends
from topiary.app.pages.session import from_query, to_query
from topiary.app.pages.trends import TrendsPage
from topiary.app.views.trends.trends_page import NO_DATES
from topiary.store import snapshots
from topiary.store.corpus_rows import DATE, CorpusColumn
from topiary.store.database import open_database


class Session(PageSession):
    """The page on a small store."""

    def __init__(self, db, **fields):
        super().__init__(db, "trends", **fields)
        self.asked = []
        self.places = True
        self.context = replace(self.context, actions=self)
        self.page = TrendsPage(self.context)
        self.work()

    def say(self, do, **more):
        self.page.handle({"do": do, **more})
        return self.work()

    def place_documents(self, *asked):
        return self.places

    def change_kind(self, *asked):
        self.asked.append(asked)
        return CorpusColumn(2, asked[1], asked[2], filled=DOCUMENTS)

    @property
    def html(self):
        return self.page.board.html

    def count_lines(self):
        wide = re.findall(r'class="tr-wide">(.*?)</svg>', self.html, re.DOTALL)
        return sum(each.count("<polyline") for each in wide)

    def card(self, heading):
        return re.search(rf"<h2>{heading}</h2>(.*?)</section>", self.html, re.DOTALL)[1]


@pytest.fixture
def db(tmp_path):
    opened = open_filled(tmp_path / "store.db", plant_trends)
    yield opened
    opened.close()


def test_what_changed_most_is_drawn_with_one_scale_and_all_topics_are_listed(db):
    session = Session(db)
    assert session.count_lines() == 2
    up, down = (
        re.findall(rf'<li class="tr-{side}"><button [^>]*data-value="(.*?)"', session.html) for side in ("up", "down")
    )
    assert up == ["L3:1"]
    assert len(down) == 1
    assert "The two that changed most for sure, one scale" in session.html
    assert "; one topic shrank for sure.</p>" in session.html
    assert "for all 2 together" in session.html
    assert "1 without a date is left out" in session.html
    session.say("filter", form={"column": "day", "value": "2004-02-10..2004-02-13"})
    assert "No topic changed for sure." in session.html


def test_a_topic_alone_has_its_children_below(db):
    session = Session(db)
    session.say("topic", value="L3:1")
    assert session.view.trend_topic == ("L3:1",)
    assert session.count_lines() > 1
    assert "<h2>Its children</h2>" in session.html
    session.say("trend_layer", value="1")
    assert (session.view.trend_layer, session.view.trend_topic) == (1, ())


def read_cells(session):
    """Return the numbers of the table of topics and groups, by topic."""
    body = re.search(r'<table class="tr-heat".*?</table>', session.html, re.DOTALL)[0]
    rows = re.findall(r'<th scope="row">(.*?)</tr>', body)
    return [re.findall(r'data-do="cell"[^>]*>([^<]*)<', row) for row in rows]


def test_cells_have_a_number_only_where_the_difference_is_sure(db):
    session = Session(db, trend="groups")
    cells = read_cells(session)
    assert sorted(map(sorted, cells)) == [["+9.9", "−9.9"], ["+9.9", "−9.9"]]
    assert "herald</em> differs most" in session.html or "tribune</em> differs most" in session.html
    assert "4 of 4 cells are" in session.html
    session.say("cells", value="share")
    assert {each for row in read_cells(session) for each in row} == {"45%", "55%"}
    session.say("cells", value="difference")
    session.say("column", value="rating")
    assert {each for row in read_cells(session) for each in row} == {"·"}
    assert "No group of rating differs for sure." in session.html
    session.say("numbers", value="all")
    assert "·" not in {each for row in read_cells(session) for each in row}
    assert 'style="--tint' not in session.html, "a number that may be chance has no colour"


def test_a_cell_marks_its_row_which_leads_to_its_documents_and_columns_are_chosen(db):
    session = Session(db, trend="groups")
    session.say("cell", value="L3:2 source=herald")
    row = re.search(r'<tr aria-current="true".*?</tr>', session.html)[0]
    assert "herald" in row
    assert 'data-id="L3:2" data-value="source=herald"' in row
    session.say("head", value="source=herald")
    assert all(len(each) == 1 for each in read_cells(session))
    assert "1 of 2 groups" in session.html
    session.say("read", id="L3:2", value="source=herald")
    view = session.view
    assert (view.page, view.where, view.subject) == ("documents", ("source=herald",), ("L3:2",))


def test_a_group_is_a_filter(db):
    session = Session(db, trend="groups")
    session.say("group", value="source=herald")
    assert session.view.where == ("source=herald",)
    assert f"{DOCUMENTS // 2} of {DOCUMENTS} documents" in session.html
    assert "has a single group" not in session.html
    session.say("unfilter", value="source=herald")
    assert session.view.where == ()


def test_documents_without_dates_are_shown_by_group(db, monkeypatch):
    every = trends.list_columns
    monkeypatch.setattr(trends, "list_columns", lambda *of: [each for each in every(*of) if each.kind != DATE])
    session = Session(db)
    assert f'data-value="time" title="{NO_DATES}" aria-pressed="false" disabled' in session.html
    assert re.search(r'data-value="groups" title="[^"]*" aria-pressed="true"', session.html)
    assert session.page.answer.contents.by_group is not None


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


def read_rows(session):
    """Return the cells of the table of effects, as texts."""
    table = re.search(r'<table class="tr-effects">(.*?)</table>', session.html, re.DOTALL)[1]
    body = re.search(r"<tbody>(.*?)</tbody>", table, re.DOTALL)[1]
    rows = [re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row, re.DOTALL) for row in re.findall(r"<tr>(.*?)</tr>", body)]
    return [[re.sub(r"<[^>]+>", "", cell) for cell in row] for row in rows]


def test_a_drag_over_the_picture_selects_dates_and_the_picture_still_shows_the_others(db):
    session = Session(db, trend_topic=("L3:1",))
    before = session.count_lines()
    session.say("brush", **{"from": "2004-03-01", "to": "2004-05-31"})
    assert session.view.where == ("day=2004-03..2004-05",)
    assert f"92 of {DOCUMENTS} documents" in session.html
    assert session.count_lines() == before
    assert session.html.count("tr-picked") == 4  # with the children, for wide windows and for phones
    assert session.page.answer.contents.over_time.compared_documents == (31, 31)
    session.say("brush", **{"from": "2004-04-01", "to": "2004-04-30"})
    assert session.view.where == ("day=2004-04",), "another range takes the place of the first"
    session.say("filter", form={"column": "source", "value": "herald"})
    session.say("range", form={"first": "2004-04-10", "last": "2004-04-19"})
    assert session.view.where == ("source=herald", "day=2004-04-10..2004-04-19")
    session.say("zoom")
    assert "tr-picked" not in session.html
    assert 'name="first" value="2004-04-10"' in session.html.replace('class="tp-input" ', "")
    days = re.findall(r'data-from="(\S+)"', session.html)
    assert (min(days), max(days)) >= ("2004-04-09", "2004-04-19")
    session.say("whole")
    assert (session.view.where, session.view.zoomed) == (("source=herald",), "hidden")


def test_a_range_that_is_none_is_refused_with_a_sentence(db):
    session = Session(db)
    session.say("range", form={"first": "first", "last": ""})
    assert session.view.where == ()
    assert "is no day as in" in session.report[-1]


def test_documents_without_a_date_are_one_click_away(db):
    session = Session(db)
    condition = re.search(r'data-value="([^"]*)"[^>]*>Only the 1 without a date</button>', session.html)[1]
    session.say("group", value=condition)
    assert f"1 of {DOCUMENTS} documents" in session.html


def test_a_topic_alone_comes_with_lines_of_its_children(db):
    session = Session(db, trend_topic=("L3:1",))
    assert session.card("Its children").count('<polygon class="tr-band"') >= 2
    session.say("topic", value="")
    assert "Its children" not in session.html


def test_the_table_of_effects_has_the_means_of_groups_and_is_sorted_by_a_click(db):
    session = Session(db, trend="groups")
    rows = read_rows(session)
    assert len(rows) == 4
    assert "among 4 comparisons" in session.html
    shares = {(row[0], row[1]): row[2] for row in rows}
    assert sorted(shares.values()) == ["45%", "45%", "55%", "55%"]
    session.say("effects", value="-mean")
    assert [row[2] for row in read_rows(session)] == ["45%", "45%", "55%", "55%"]
    assert 'aria-sort="ascending"' in session.html
    session.say("topic", value="L3:1")
    assert [row[1] for row in read_rows(session)] == ["tribune", "herald"]


def test_two_groups_are_compared_with_as_many_comparisons_as_topics(db):
    session = Session(db, trend="groups", column="rating")
    session.say("contrast", value="0")
    session.say("against", value="4")
    rows = read_rows(session)
    assert {row[1] for row in rows} == {"0"}
    assert "among 2 comparisons" in session.html
    assert "No topic differs beyond chance between 0 and 4." in session.html
    session.say("column", value="source")
    assert (session.view.group, session.view.against) == ("", "")
    session.say("contrast", value="herald")
    assert "<b>More in herald than in all other groups:</b>" in session.html


def test_what_is_typical_of_a_selection_is_shown_with_the_number_of_comparisons(db):
    session = Session(db)
    assert "typical" not in session.html
    session.say("filter", form={"column": "source", "value": "herald"})
    card = session.card("What is typical of this selection")
    assert 'data-value="L3:1"' in card.split("Topics with less")[0]
    assert 'data-value="L3:2"' in card.split("Topics with less")[1]
    assert "none of 2 comparisons of topics and of 1 comparisons of words" in card
    assert f"{DOCUMENTS // 2} selected documents against {DOCUMENTS // 2} others" in card


def test_the_kind_of_a_column_is_changed_on_the_page(db):
    session = Session(db, trend="groups")
    assert 'data-column="rating"' in session.html
    session.say("kind", column="rating", value="text")
    assert session.asked == [(1, "rating", "text")]
    assert "rating is of kind text: 400 documents have one." in session.report


MESSAGES = [
    {"do": "trend", "value": "space"},
    {"do": "unit", "value": "hour"},
    {"do": "trend_layer", "value": "x"},
    {"do": "topic", "value": "<b>"},
    {"do": "filter", "form": {"column": 1}},
    {"do": "group", "value": "nothing"},
    {"do": "no such request"},
    {"do": "brush", "from": 1},
    {"do": "range", "form": {"first": "2004-01-01"}},
    {"do": "effects", "value": "colour"},
    {"do": "cells", "value": "colour"},
    {"do": "head", "value": "source=nobody"},
    {"do": "cell", "value": "L3:1"},
    {"do": "kind", "column": "rating", "value": "colour"},
]


def test_messages_that_make_no_sense_change_nothing(db):
    session = Session(db)
    before = to_query(session.view)
    for message in MESSAGES:
        session.page.handle(message)
        assert to_query(session.view) == before, message


def test_it_says_why_there_is_nothing_to_show(tmp_path):
    with_nothing = open_filled(tmp_path / "other.db", plant_trends, placed=False)
    placing = Session(with_nothing)
    assert "are being placed in the topics of this run" in placing.html
    placing.places = False
    placing.page._on_tick(Tick(labels=frozenset({1})))
    assert "topiary place 1 computes them" in placing.work().page.board.html
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
