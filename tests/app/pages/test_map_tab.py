"""The map of documents without a browser: points, captions, a line and what it selects, colours, and no map yet."""

import re
from types import SimpleNamespace

import numpy as np
import pytest
from databases import open_filled
from page_sessions import PageSession
from trend_samples import DOCUMENTS, plant_map, plant_trends

from topiary.app.jobs.progress import Notice
from topiary.app.live.ticks import Tick
from topiary.app.pages.map_tab import MapTab, MapView, read_polygon
from topiary.app.pages.session import from_query, to_query
from topiary.app.views.document_map import NOT_SELECTED
from topiary.store import corpora
from topiary.store.errors import Conflict


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


N_LEFT = 160  # documents of topic 1, on the left


class Session(PageSession):
    """The map of a small store."""

    def __init__(self, db, **fields):
        super().__init__(db, "documents", tab="map", **fields)
        self.asked, self.notice, self.refined = [], Notice(), []
        actions = SimpleNamespace(
            make_map=lambda run, snapshot, documents: self.asked.append(("make", run.number, documents)),
            make_map_again=lambda run, snapshot, documents: self.asked.append(("again", run.number, documents)),
            refine=self._refine,
            maps=SimpleNamespace(read_notice=lambda _: self.notice),
        )
        object.__setattr__(self.context, "actions", actions)
        self.saved = []
        self.tab = MapTab(self.context)
        self.tab._map._send_msg = self.saved.append
        self.work()

    def _refine(self, run, snapshot, name, where):
        if self.refined:
            raise Conflict(f"there is a corpus {name!r} already")
        self.refined.append((run, name, where))
        return SimpleNamespace(name=name)

    def say(self, do, **more):
        self.tab.handle({"do": do, **more})
        return self.work()

    def draw(self, *corners):
        """Draw a line through corners in the coordinates of the map."""
        places = self.tab._answer.packed.place(np.array(corners)).tolist()
        self.tab.handle({"do": "lasso", "polygon": places})
        return self.work()

    @property
    def codes(self):
        """What every document is coloured by."""
        data = self.feed.points.get(self.tab._map.url.removeprefix("points/"))
        codes = np.empty(DOCUMENTS, int)
        codes[self.tab._answer.packed.order] = np.frombuffer(data, "<u2")[2 * DOCUMENTS :]
        return codes

    @property
    def n_shown(self):
        return int((self.codes != NOT_SELECTED).sum())

    @property
    def side(self):
        return self.tab._side.html

    @property
    def controls(self):
        return self.tab._controls.html


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
    assert {caption["layer"] for caption in session.tab._map.captions} == {1, 2, 3}
    assert "Nothing is selected" in session.side
    assert "Regions of the map as a table" in session.tab._foot.html
    assert session.asked == []


def test_a_line_selects_documents_whose_topics_words_and_titles_are_shown(session):
    session.draw(*LEFT)
    inside = session.codes == 0
    assert session.n_shown == inside.sum() == session.tab._map.selected
    assert 0 < session.n_shown < DOCUMENTS
    assert f"{session.n_shown} of {DOCUMENTS} documents" in session.side
    assert "More than elsewhere" in session.side
    assert session.side.count('data-do="read"') == 12
    number = int(re.search(r'data-do="read" data-number="(\d+)"', session.side)[1])
    assert inside[number]
    session.say("read", number=str(number))
    assert (session.view.documents, session.view.tab) == ((number,), "")


def test_a_selection_is_part_of_the_address_and_of_the_table(db, session):
    session.draw(*LEFT)
    fields = from_query(to_query(session.view))
    again = Session(db, where=fields["where"])
    assert again.n_shown == session.n_shown
    session.say("list")
    assert (session.view.tab, session.view.where) == ("", fields["where"])
    session.view.tab = "map"
    session.say("seed-topic")
    assert (session.view.page, session.view.tab, session.view.where) == ("steer", "seed", fields["where"])
    again.feed.stop()


def test_another_line_replaces_the_first_and_no_line_clears_the_selection(session):
    session.say("filter", form={"column": "source", "value": "herald"})
    assert session.n_shown == DOCUMENTS // 2
    session.draw(*LEFT)
    session.draw((20, 20), (21, 20), (21, 21))
    assert len(session.view.where) == 2
    assert "0 of 400 documents" in session.side
    session.tab.handle({"do": "lasso", "polygon": []})
    session.work()
    assert session.view.where == ("source=herald",)


def test_a_topic_stands_out_and_a_second_click_ends_that(session):
    session.tab.handle({"do": "select", "id": "L1:1"})
    session.work()
    assert (session.view.layer, session.view.topic) == (1, 1)
    assert session.n_shown == DOCUMENTS  # every document has at least 20 % of it
    session.say("list")
    assert session.view.where == ("L1:1=20%..",)
    session.view.param.update(tab="map", where=("L1:1=60%..",))
    session.work()
    assert 0 < session.n_shown < DOCUMENTS
    session.say("select", value="L1:1").say("select", value="L1:1")
    assert session.view.topic == 0
    session.say("explore", id="L2:1")
    assert (session.view.page, session.view.layer, session.view.topic) == ("explore", 2, 1)


def test_documents_are_coloured_by_a_column_and_its_legend_selects(session):
    session.say("colour", value="source")
    assert (session.codes == np.arange(DOCUMENTS) % 2).all()
    assert session.tab._map.hues == [1, 2]
    assert '<span title="tribune">tribune</span></button>' in session.tab._foot.html
    session.say("group", value="source=tribune")
    assert session.view.where == ("source=tribune",)
    assert session.n_shown == DOCUMENTS // 2
    session.say("clear").say("colour", value="day")
    assert len(set(session.codes)) == 6  # five periods, and a document without a date
    assert "2004-01-01 to 2004-" in session.tab._foot.html
    session.say("colour", value="rating")
    assert session.tab._map.hues == [1, 2, 3, 4, 5]
    session.say("colour", value="no such column")
    assert set(session.codes) == {0, 1}


def test_the_title_of_a_point_is_told_and_a_click_opens_its_document(session):
    session.tab.handle({"do": "hover", "point": 5})
    session.work()
    number = int(session.tab._answer.packed.order[5])
    assert session.saved[-1] == {"point": 5, "text": "A garden with a rose."}  # the first words
    session.tab.handle({"do": "open", "point": DOCUMENTS})
    assert session.view.documents == ()
    session.tab.handle({"do": "open", "point": 5})
    assert session.view.documents == (number,)


def test_a_selection_is_exported_and_becomes_a_corpus(session):
    session.draw(*LEFT)
    session.say("export")
    assert session.saved[-1]["name"] == "topiary-run-1-selection.csv"
    lines = session.saved[-1]["text"].splitlines()
    said = "document,title,label,source,day,rating,tokens,topic,topic_title,topic_share,"
    assert re.fullmatch(said + r'("L2:\d [a-z, ]+",)+rest', lines[0])
    assert len(lines) == session.n_shown + 1
    session.say("refine")
    ((run, name, where),) = session.refined
    assert (run, where) == (1, session.view.where)
    assert name == f"dated · {len(lines) - 1} documents"
    assert (session.view.page, session.view.tab) == ("runs", "new")
    session.view.param.update(page="documents", tab="map")
    session.work().say("refine")
    assert "already" in session.report[-1]


def test_a_condition_that_means_nothing_is_said_and_all_points_stay(session):
    session.say("filter", form={"column": "source", "value": "gazette"})
    assert "has no category" in session.controls
    assert session.n_shown == DOCUMENTS


def test_without_a_map_one_is_made_and_its_progress_shown(tmp_path):
    db = open_filled(tmp_path / "store.db", plant_trends)
    session = Session(db)
    assert session.asked == [("make", 1, DOCUMENTS)]
    assert "a rough one appears first" in session.controls
    session.notice = Notice("Arranging the documents", 0.25)
    session.ticks[0](Tick())
    session.work()
    assert "Arranging the documents, 25 %" in session.controls
    session.notice = Notice("The map could not be made: no room", failed=True)
    session.ticks[0](Tick())
    session.work()
    assert "no room" in session.controls
    session.say("make")
    assert session.asked[-1] == ("again", 1, DOCUMENTS)
    session.feed.stop()
    db.close()


def test_without_shares_a_map_is_made_on_demand_only(tmp_path):
    db = open_filled(tmp_path / "store.db", plant_trends, placed=False)
    session = Session(db)
    assert session.asked == []
    assert "have no map yet" in session.controls
    assert "Make the map" in session.controls
    session.feed.stop()
    db.close()


def test_a_draft_is_shown_as_such_and_the_finished_map_is_asked_for(tmp_path):
    db = open_filled(tmp_path / "store.db", plant_map, finished=False)
    session = Session(db)
    assert "rough map" in session.controls
    assert session.tab._map.url
    assert session.asked == [("make", 1, DOCUMENTS)]
    assert corpora.list_corpora(db)[0].documents == DOCUMENTS
    session.feed.stop()
    db.close()
