"""A closer look from the pages: honest counts, the corpus and run that a click makes, and links in both directions."""

import re

import numpy as np
import pytest
from databases import open_filled
from page_sessions import PageSession
from trend_samples import DOCUMENTS, plant_refinement, plant_trends

from topiary.app.analysis.refinements import DocumentCount, count_documents, list_refinements, read_origin
from topiary.app.analysis.shares import find_shares, read_use
from topiary.app.jobs import launcher
from topiary.app.live.actions import Actions
from topiary.app.live.feed import Tick
from topiary.app.pages.documents_table import DocumentTable
from topiary.app.pages.explore import ExplorePage
from topiary.app.pages.trends import TrendsPage
from topiary.app.views.explore.refining import CloserLook, FinerTopic, RefiningRun, draw_closer_look
from topiary.engine.hierarchy.tree import Node
from topiary.store import corpora, runs, snapshots


class Session(PageSession):
    """A page on a small store, whose visitor may change it; queued runs stay queued."""

    def __init__(self, db, page, build, **fields):
        super().__init__(db, page, **fields)
        self.actions = Actions(db.url, self.feed)
        object.__setattr__(self.context, "actions", self.actions)
        self.page = build(self.context)
        self.work()

    def say(self, do, **more):
        self.page.handle({"do": do, **more})
        self.work()
        self.feed.look_now()
        for tick in self.ticks:
            tick(Tick(rows=frozenset(row.number for row in self.feed.runs())))
        return self.work()


@pytest.fixture
def db(tmp_path, monkeypatch):
    monkeypatch.setattr(launcher, "start_queued_runs", lambda *_: None)
    opened = open_filled(tmp_path / "store.db", plant_trends)
    yield opened
    opened.close()


def open_explore(db, **fields):
    return Session(db, "explore", ExplorePage, layer=3, topic=1, tab="more", **fields)


def read_section(html):
    return re.search(r'<section class="ex-closer">.*?</section>', html, re.DOTALL)[0]


def test_the_panel_says_how_many_documents_have_how_much_of_the_topic(db):
    section = read_section(open_explore(db).page._detail.html)
    run = runs.get_run(db, 1)
    use = read_use(db, find_shares(db, run, snapshots.find_latest(db, 1).number), 3)
    part = corpora.read_marks(db, corpora.get_corpus(db, run.corpus)).part
    numbers = np.arange(DOCUMENTS)
    shares = 0.2 + 0.5 * numbers / DOCUMENTS + 0.1 * (numbers % 2 == 0)
    for count in count_documents(use, 0, part, None):
        assert count.documents == (shares >= count.share).sum()
        assert count.words == 50 * count.documents
        assert f"{count.documents:,} documents, {count.words:,.0f} words" in section
    narrowed = read_section(open_explore(db, where=("source=herald",)).page._detail.html)
    assert f"Of the {DOCUMENTS // 2:,} selected documents" in narrowed


def test_a_click_makes_a_corpus_and_queues_a_run_that_both_runs_name(db):
    session = open_explore(db)
    session.say("refine", id="L3:1", form={"share": "0.5"})
    new = runs.get_run(db, 2)
    assert new.state == "queued"
    assert "Run 2 is queued on the corpus" in session.report[-1]
    origin = read_origin(corpora.get_corpus(db, new.corpus))
    assert (origin.run, origin.topic, origin.where) == (1, Node(3, 0), ("L3:1=50%..",))
    section = read_section(session.page._detail.html)
    assert 'href="?page=explore&amp;run=2"' in section
    assert "Refined in run 2" in section
    assert "No topics yet" in section


def test_the_largest_topics_of_a_run_that_refines_a_topic_are_listed_under_it_as_links():
    finer = [FinerTopic(Node(2, 4), "<b> soil", 0.25, ("worms", "compost"))]
    look = CloserLook([DocumentCount(0.2, 30, 25, 900.0)], 30, 30, 20, [RefiningRun(5, "running", 30, ("a=b",), finer)])
    section = draw_closer_look(Node(1, 0), look, busy=False)
    assert "Refined in run 5" in section
    assert '<a href="?page=explore&amp;run=5&amp;layer=2&amp;topic=5"' in section
    assert "&lt;b&gt; soil</a> <small>25%</small><span>worms; compost</span>" in section
    assert "30 documents with a=b · training" in section


def test_other_topics_do_not_name_it_and_a_link_leads_back_to_the_topic(db):
    session = open_explore(db)
    session.say("refine", id="L3:1", form={"share": "0.5"})
    session.say("select", id="L3:2")
    assert "Refined in" not in session.page._detail.html
    session.say("open-run", number="2")
    assert (session.view.page, session.view.run, session.view.topic) == ("explore", 2, 0)
    line = session.page._looks.draw_origin(2)
    session.work()
    line = session.page._looks.draw_origin(2)
    assert line.startswith('<div class="fl-row"><span>Refines “')
    assert 'href="?page=explore&amp;run=1&amp;layer=3&amp;topic=1"' in line
    session.say("open-run", number="1", id="L3:1")
    assert (session.view.run, session.view.layer, session.view.topic) == (1, 3, 1)


def test_a_refining_run_opens_at_the_topic_of_a_link(db):
    session = open_explore(db)
    plant_refinement(db)
    session.say("select", id="L3:1")
    session.work()
    assert 'href="?page=explore&amp;run=2&amp;layer=3&amp;topic=1"' in read_section(session.page._detail.html)
    session.say("open-run", number="2", id="L3:1")
    assert (session.view.run, session.view.layer, session.view.topic) == (2, 3, 1)


def test_selections_on_trends_and_documents_become_runs_too(db):
    trends = Session(db, "trends", TrendsPage, where=("source=herald",))
    assert f"The {DOCUMENTS // 2} of {DOCUMENTS} documents with <b>source=herald</b>" in trends.page.board.html
    trends.say("refine", form={})
    table = Session(db, "documents", lambda context: DocumentTable(context, [], lambda: None), query="rose",
                    subject=("L3:2",), where=("day=2004",))  # fmt: skip
    table.page.choose()
    table.work()
    assert "Look closer" in table.page.board.html
    table.say("refine", form={})
    found = [(corpus.documents, origin.where) for corpus, origin in list_refinements(db, 1)]
    assert found == [(DOCUMENTS // 2, ("source=herald",)), (366, ("day=2004", "L3:2=0.5%..", "rose"))]
    assert [row.state for row in runs.list_runs(db)].count("queued") == 2
    assert 'data-do="seed-topic"' in table.page.board.html
    table.say("seed-topic")
    view = table.view
    assert (view.page, view.tab, view.where, view.query) == ("steer", "seed", ("day=2004", "L3:2=0.5%.."), "rose")


def test_too_few_documents_and_unknown_shares_are_one_sentence(db, tmp_path):
    session = Session(db, "trends", TrendsPage, where=("day=2004-01-01..2004-01-05",))
    session.say("refine", form={})
    assert "a corpus needs 20" in session.report[-1]
    assert list_refinements(db, 1) == []
    few = open_explore(db, where=("day=2004-01-01..2004-01-05",)).page._detail.html
    assert "too few for a run, which needs 20" in read_section(few)
    unplaced = open_filled(tmp_path / "unplaced.db", plant_trends, placed=False)
    assert "computed when the run ends" in read_section(open_explore(unplaced).page._detail.html)
    unplaced.close()


@pytest.mark.parametrize(
    "message",
    [{"do": "refine", "id": "x", "form": {"share": "0.2"}}, {"do": "refine", "id": "L3:1", "form": {"share": "7"}}],
)
def test_a_message_that_makes_no_sense_makes_nothing(db, message):
    session = open_explore(db)
    session.page.handle(message)
    session.work()
    assert list_refinements(db, 1) == []
