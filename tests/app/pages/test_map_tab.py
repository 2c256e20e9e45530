"""The map of documents without a browser: points, captions, filters and what they select, colours, and no map yet."""

import re
from types import SimpleNamespace

import numpy as np
import pytest
from databases import open_filled
from page_sessions import PageSession
from trend_samples import DOCUMENTS, plant_map, plant_trends

from topiary.app.jobs.progress import Notice
from topiary.app.live.feed import Tick
from topiary.app.pages.documents import DocumentsPage
from topiary.app.pages.map_tab import MapView, read_polygon
from topiary.app.pages.session import from_query, to_query
from topiary.app.views.documents.map_page import NO_CODE, SELECTED
from topiary.store import corpora


def test_a_drawn_line_is_read():
    assert read_polygon({"polygon": [[0, 0.5], [1, 0], [1, 1]]}).tolist() == [[0, 0.5], [1, 0], [1, 1]]
    assert read_polygon({"polygon": []}).shape == (0, 2)


@pytest.mark.parametrize("corners", [None, "x", [[0, 1, 2]], [[0, "a"]], [[0]], [[0, float("nan")]], [[0, 1]] * 20_001])
def test_a_line_that_no_map_sends_is_refused(corners):
    assert read_polygon({"polygon": corners}) is None


def test_only_messages_that_say_what_to_do_are_passed_on():
    heard = []
    view = MapView(heard.append)
    for message in ({"do": "lasso", "polygon": []}, {"do": 3}, "lasso", {}):
        view._handle_msg(message)
    assert heard == [{"do": "lasso", "polygon": []}]


class Session(PageSession):
    """The map of a small store."""

    def __init__(self, db, **fields):
        super().__init__(db, "documents", tab="map", **fields)
        self.asked, self.notice, self.refined = [], Notice(), []
        actions = SimpleNamespace(
            make_map=lambda run, snapshot, documents: self.asked.append(("make", run.number, documents)),
            make_map_again=lambda run, snapshot, documents: self.asked.append(("again", run.number, documents)),
            maps=SimpleNamespace(read_notice=lambda _: self.notice),
        )
        object.__setattr__(self.context, "actions", actions)
        self.told = []
        self.page = DocumentsPage(self.context)
        self.tab = self.page._map
        self.tab._map._send_msg = self.told.append
        self.work()

    def say(self, do, **more):
        self.tab.handle({"do": do, **more})
        return self.work()

    def draw(self, *corners):
        """Draw a line through corners in the coordinates of the map."""
        places = self.tab._answer.packed.place(np.array(corners)).tolist()
        return self.say("lasso", polygon=places)

    @property
    def marked(self):
        """What every document is coloured by, with the mark of those selected."""
        data = self.feed.points.get(self.tab._map.url.removeprefix("points/"))
        codes = np.empty(DOCUMENTS, int)
        codes[self.tab._answer.packed.order] = np.frombuffer(data, "<u2")[2 * DOCUMENTS :]
        return codes

    @property
    def codes(self):
        return self.marked & NO_CODE

    @property
    def inside(self):
        return self.marked >= SELECTED

    @property
    def n_shown(self):
        """The number of documents selected, which map, table and sentence have in common."""
        n = int(self.inside.sum())
        assert n == self.tab._map.selected == self.page._table.selected.selection.total
        assert f"<em>{n}</em> of {DOCUMENTS} documents" in self.head or f"<em>{n}</em> documents" in self.head
        assert f">{n} document" in self.side
        return n

    @property
    def side(self):
        return self.tab._side.html

    @property
    def head(self):
        return re.sub('<span title="[^"]*">([^<]*)</span>', r"\1", self.tab._head.html)


@pytest.fixture
def db(tmp_path):
    opened = open_filled(tmp_path / "store.db", plant_map)
    yield opened
    opened.close()


@pytest.fixture
def session(db):
    made = Session(db)
    yield made
    made.feed.stop()


LEFT = (-9.0, -4.0), (0.0, -4.0), (0.0, 4.0), (-9.0, 4.0)


def test_the_points_have_an_address_of_their_own_and_captions_name_their_topics(session):
    assert re.fullmatch("points/[0-9a-f]{64}", session.tab._map.url)
    assert set(session.codes) == {0, 1}
    assert not session.inside.any()
    assert {caption["layer"] for caption in session.tab._map.captions} == {1, 2, 3}
    for layer in (1, 2, 3):
        own = [caption["documents"] for caption in session.tab._map.captions if caption["layer"] == layer]
        assert own == sorted(own, reverse=True)
        assert sum(own) == DOCUMENTS
    assert f"<em>{DOCUMENTS}</em> documents; most often their strongest topic is" in session.head
    assert f">{DOCUMENTS} documents" in session.side
    assert session.asked == []


def test_a_line_selects_documents_on_the_map_in_the_table_and_in_the_sentence(session):
    session.draw(*LEFT)
    inside = session.inside
    assert 0 < session.n_shown < DOCUMENTS
    assert "documents lie inside the line; <em>" in session.head
    assert session.side.count('data-do="read"') == 25
    number = int(re.search(r'data-do="read" data-number="(\d+)"', session.side)[1])
    assert inside[number]
    point = int(re.search(rf'data-key="d{number}" data-point="(\d+)"', session.side)[1])
    assert session.tab._answer.packed.order[point] == number
    session.say("page", number="1")
    assert "26–50 of" in session.side
    session.say("read", number=str(number))
    assert (session.view.documents, session.view.tab) == ((number,), "")


def test_what_is_typical_of_a_selection_is_found_when_asked_for(session):
    session.draw(*LEFT)
    assert "Topics with more" not in session.side
    session.tab.handle({"do": "typical"})
    assert "Counting …" in session.side
    session.work()
    assert "Topics with more" in session.side
    assert "Words that are more frequent" in session.side
    session.draw((20, 20), (21, 20), (21, 21))
    assert "Topics with more" not in session.side


def test_a_selection_is_part_of_the_address_and_of_the_table(db, session):
    session.draw(*LEFT)
    fields = from_query(to_query(session.view))
    again = Session(db, where=fields["where"])
    n_shown = again.n_shown
    assert n_shown == session.n_shown
    session.say("tab", value="")
    assert (session.view.tab, session.view.where) == ("", fields["where"])
    assert f"of {n_shown} documents" in session.page._table.board.html
    again.feed.stop()


def test_another_line_replaces_the_first_and_no_line_clears_the_selection(session):
    session.say("pick", column="source", value="herald")
    assert session.n_shown == DOCUMENTS // 2
    session.draw(*LEFT)
    session.draw((20, 20), (21, 20), (21, 21))
    assert len(session.view.where) == 2
    assert "No document fits all filters" in session.head
    session.say("lasso", polygon=[])
    assert session.view.where == ("source=herald",)


def test_a_caption_selects_the_documents_whose_strongest_topic_it_is_and_a_second_click_ends_that(session):
    first = session.tab._map.captions[0]
    session.say("select", id=first["id"])
    assert session.view.where == (f"{first['id']}=strongest",)
    assert session.n_shown == first["documents"]
    assert session.tab._map.chosen == [first["id"]]
    assert "as their strongest topic" in session.head
    shares = [float(text) for text in re.findall(r"<td title=[^>]*>([\d.]+)%", session.side)]
    assert shares == sorted(shares, reverse=True)
    session.draw(*LEFT)  # the documents that meet both
    assert session.n_shown == int((session.inside).sum())
    assert len(session.view.where) == 2
    session.say("select", id=first["id"])
    assert len(session.view.where) == 1
    session.say("select", id=first["id"]).say("lasso", polygon=[])
    assert session.view.where == ()
    session.draw(*LEFT)
    where = session.view.where
    session.say("seed-topic")
    assert (session.view.page, session.view.tab, session.view.where) == ("steer", "seed", where)
    session.view.param.update(page="documents", tab="map", where=())
    session.say("explore", id="L2:1")
    assert (session.view.page, session.view.layer, session.view.topic) == ("explore", 2, 1)


def test_words_groups_and_dates_select_on_map_and_table_together(session):
    session.say("find", value="rose")
    assert session.n_shown == DOCUMENTS
    session.say("find", value="")
    session.say("pick", column="source", value="tribune")
    assert session.n_shown == DOCUMENTS // 2
    assert re.search('<option value="tribune" selected>', session.head)
    session.say("pick", column="source", value="herald")
    assert session.view.where == ("source=herald",)
    session.say("pick", column="source", value="")
    dates = session.tab._answer.dates
    assert sum(dates.counts) == DOCUMENTS - 1  # one has no date
    session.say("dates", form={"first": "0", "last": "18"})
    assert session.n_shown == sum(dates.counts[:18])
    dates = session.tab._answer.dates
    assert (dates.first, dates.last) == (0, 18)
    assert dates.selected == [*dates.counts[:18], *[0] * 18]
    session.say("dates", form={"first": "0", "last": "36"})
    assert session.view.where == ()


def test_documents_are_coloured_by_a_column_and_its_legend_selects(session):
    session.say("colour", value="source")
    assert (session.codes == np.arange(DOCUMENTS) % 2).all()
    assert session.tab._map.hues == [1, 2]
    assert {caption["hue"] for caption in session.tab._map.captions} == {0}
    assert '<span title="tribune">tribune</span></button>' in session.tab._foot.html
    session.say("group", value="source=tribune")
    assert session.view.where == ("source=tribune",)
    assert session.n_shown == DOCUMENTS // 2
    session.say("unfilter", value="source=tribune").say("colour", value="day")
    assert len(set(session.codes)) == 6  # five periods, and a document without a date
    assert "2004-01-01 to 2004-" in session.tab._foot.html
    session.say("colour", value="rating")
    assert session.tab._map.hues == [1, 2, 3, 4, 5]
    session.say("colour", value="no such column")
    assert set(session.codes) == {0, 1}


def test_the_title_of_a_point_is_told_and_a_click_opens_its_document(session):
    session.say("hover", point=5)
    number = int(session.tab._answer.packed.order[5])
    assert session.told[-1] == {"point": 5, "text": "A garden with a rose."}  # the first words
    session.tab.handle({"do": "open", "point": DOCUMENTS})
    assert session.view.documents == ()
    session.tab.handle({"do": "open", "point": 5})
    assert session.view.documents == (number,)


def test_a_condition_that_means_nothing_is_said_and_all_points_stay(session):
    session.say("filter", form={"column": "source", "value": "gazette"})
    assert "has no category" in session.head
    assert not session.inside.any()
    assert session.tab._map.selected == -1


def test_without_a_map_one_is_made_and_its_progress_shown(tmp_path):
    db = open_filled(tmp_path / "store.db", plant_trends)
    session = Session(db)
    assert session.asked == [("make", 1, DOCUMENTS)]
    assert "a rough one appears first" in session.head
    session.notice = Notice("Arranging the documents", 0.25)
    for follow in session.ticks:
        follow(Tick())
    session.work()
    assert "Arranging the documents, 25%" in session.head
    session.notice = Notice("The map could not be made: no room", failed=True)
    for follow in session.ticks:
        follow(Tick())
    session.work()
    assert "no room" in session.head
    session.say("make")
    assert session.asked[-1] == ("again", 1, DOCUMENTS)
    session.feed.stop()
    db.close()


def test_without_shares_a_map_is_made_on_demand_only(tmp_path):
    db = open_filled(tmp_path / "store.db", plant_trends, placed=False)
    session = Session(db)
    assert session.asked == []
    assert "have no map yet" in session.head
    assert "Make the map" in session.head
    session.feed.stop()
    db.close()


def test_a_draft_is_shown_as_such_and_the_finished_map_is_asked_for(tmp_path):
    db = open_filled(tmp_path / "store.db", plant_map, finished=False)
    session = Session(db)
    assert "rough map" in session.head
    assert session.tab._map.url
    assert session.asked == [("make", 1, DOCUMENTS)]
    assert corpora.list_corpora(db)[0].documents == DOCUMENTS
    session.feed.stop()
    db.close()
