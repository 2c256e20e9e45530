"""The page Steer without a browser: edits wait until they are applied, and the journal says what became of them."""

import re
from dataclasses import replace
from types import SimpleNamespace

import pytest
from databases import open_filled
from page_sessions import PageSession
from trend_samples import DOCUMENTS, plant_trends

from topiary.app.jobs.edit_orders import check_order, number_words
from topiary.app.jobs.edit_previews import EditHints, EditPreview, TopicOutline
from topiary.app.pages import steer, steer_reading
from topiary.app.pages.steer import SteerPage
from topiary.engine.hierarchy.tree import Node
from topiary.engine.steering.edit import KINDS, EditRefused
from topiary.store import corpora, edits, runs
from topiary.store.edits import NewEdit


class Actions:
    """What a visitor has asked for."""

    def __init__(self, db):
        self.db = db
        self.asked = []
        self.numbers = number_words(corpora.read_vocabulary(db, 1))

    def steer(self, run, orders):
        self.asked.append((run, [(each.kind, each.words, each.strength) for each in orders]))
        edits.add_edits(self.db, run, [check_order(each, self.numbers) for each in orders])
        return runs.get_run(self.db, run)

    def undo_edit(self, run, number):
        self.asked.append((run, number))
        return replace(runs.get_run(self.db, run), number=7)


class Session(PageSession):
    """The page on a small store."""

    def __init__(self, db, **fields):
        super().__init__(db, "steer", **fields)
        self.actions = Actions(db)
        self.context = replace(self.context, actions=self.actions)
        self.page = SteerPage(self.context)
        self.work()

    def say(self, do, **more):
        self.page.handle({"do": do, **more})
        return self.work()

    @property
    def html(self):
        return self.page._board.html

    def list_waiting(self):
        found = re.search(r'<ul aria-label="Edits to apply">(.*?)</ul>', self.html)
        return [] if found is None else re.findall(r"<li><span>([^<]*)<", found[1])


@pytest.fixture
def db(tmp_path):
    opened = open_filled(tmp_path / "store.db", plant_trends)
    yield opened
    opened.close()


def test_edits_wait_until_they_are_applied_together(db):
    session = Session(db, layer=1, topic=1)
    word = re.search(r'data-kind="out" data-id="L1:1" data-word="([^"]+)"', session.html)[1]
    session.say("steer", kind="out", id="L1:1", word=word)
    session.say("steer", kind="merge", id="L1:1", form={"other": "L1:2"})
    session.say("steer", kind="pin", id="L1:1")
    session.say("undraft", number=2)
    session.say("strength", value="strong")
    assert [each.split()[0] for each in session.list_waiting()] == ["Keep", "Merge"]
    assert "not here …" in session.html
    assert "Apply 2 edits and train 50 more" in session.html  # the run has ended
    assert edits.list_edits(db, 1) == []
    session.say("apply-edits")
    assert session.actions.asked == [(1, [("out", (word,), "strong"), ("merge", (), "strong")])]
    assert session.list_waiting() == []
    assert len(re.findall(r'data-key="edit-', session.html)) == 2


def test_the_page_is_drawn_again_only_where_topics_journal_or_state_have_changed(db, monkeypatch):
    session, drawn = Session(db, layer=1, topic=1), []
    for name in ("draw_steering", "draw_tiles"):
        real = getattr(steer, name)
        monkeypatch.setattr(steer, name, lambda *given, name=name, real=real: drawn.append(name) or real(*given))
    session.page._fetch()
    session.work()
    assert drawn == []
    edits.add_edits(db, 1, [NewEdit("pin", topics=(1,))])
    session.page._fetch()
    session.work()
    assert drawn == ["draw_steering"]
    assert session.html.count('data-key="edit-') == 1


def test_what_cannot_be_is_refused_in_a_sentence_and_does_not_wait(db):
    session = Session(db, layer=1, topic=1)
    session.say("steer", kind="seed", word="gardn, qqq")
    session.say("steer", kind="seed", word="garden")
    session.say("steer", kind="merge", id="L1:1", form={"other": "L1:1"})
    session.say("steer", kind="nonsense", id="L1:1")
    assert [sentence.split(";")[0][:22] for sentence in session.report] == [
        "The corpus has no 'gar", "An edit to make a new ", "Two different topics o",
    ]  # fmt: skip
    assert session.list_waiting() == []


HALVES = EditPreview(
    "sweep 40", (TopicOutline(Node(1, 0), ("rose", "bed"), 30, 9), TopicOutline(Node(1, 9), ("hoe",), 10, 4)), 10, 4
)


def test_a_split_shows_its_halves_before_it_waits(db, monkeypatch):
    tried = []
    monkeypatch.setattr(steer_reading, "preview_edit", lambda db, row, order: tried.append(order) or HALVES)
    session = Session(db, layer=1, topic=1)
    session.page.handle({"do": "preview", "id": "L1:1"})
    assert "Looking for the two groups" in session.html
    html = session.work().html
    assert [(order.kind, order.topics) for order in tried] == [("split", (Node(1, 0),))]
    assert "Its documents form two groups at sweep 40" in html
    assert [html.index(each) for each in ("75%", "9 documents", "25%", "4 documents")] == sorted(
        html.index(each) for each in ("75%", "9 documents", "25%", "4 documents")
    )
    assert session.list_waiting() == []
    session.say("steer", kind="split", id="L1:1")
    assert [each.split()[0] for each in session.list_waiting()] == ["Split"]
    assert "form two groups" not in session.html


def test_a_new_topic_says_what_it_would_take_or_is_refused_at_once(db, monkeypatch):
    def answer(db, row, order):
        if len(order.words) > 2:
            raise EditRefused("only 4 documents have two of these words")
        return HALVES._replace(topics=HALVES.topics[1:])

    monkeypatch.setattr(steer_reading, "preview_edit", answer)
    session = Session(db)
    one, two, three = corpora.read_vocabulary(db, 1)[:3]
    session.say("steer", kind="seed", word=f"{one} {two}", name="Beds")
    session.say("steer", kind="seed", word=f"{one} {two} {three}")
    assert session.report == ["Only 4 documents have two of these words."]
    assert session.list_waiting() == [f"New topic Beds from {one}, {two}"]
    assert "It would take 10 words of 4 documents: hoe." in session.html


def test_documents_begin_a_new_topic_with_the_words_that_distinguish_them(db, monkeypatch):
    tried, words = [], [SimpleNamespace(word=word) for word in corpora.read_vocabulary(db, 1)[:3]]
    summed = []
    monkeypatch.setattr(steer_reading, "list_steerable", lambda db, row: (frozenset(KINDS), ""))
    monkeypatch.setattr(steer_reading, "preview_edit", lambda db, row, order: tried.append(order) or HALVES)
    monkeypatch.setattr(steer_reading, "sum_corpus_words", lambda *given: summed.append(given[-1].sum()))
    monkeypatch.setattr(steer_reading, "find_typical_words", lambda *given: SimpleNamespace(more=words))
    session = Session(db, tab="seed", where=("source=herald",))
    value = re.search(r'name="word" maxlength="300" value="([^"]*)"', session.html)[1]
    assert tried[0].words == tuple(value.split(", "))
    assert len(tried[0].words) == 3
    assert summed == [DOCUMENTS // 2]
    assert "Words that distinguish the 200 documents with source=herald; change them" in session.html
    assert "It would take 30 words of 9 documents: rose, bed." in session.html
    session.say("no-documents")
    assert session.view.tab == ""
    assert 'maxlength="300" value=""' in session.html


def test_merges_and_splits_are_judged_by_the_likelihood_where_it_is_known(db, monkeypatch):
    monkeypatch.setattr(steer_reading, "list_steerable", lambda db, row: (frozenset(KINDS), ""))
    known = EditHints("sweep 40", 0, {(Node(1, 1), Node(1, 0)): 0.01}, {Node(1, 0): (("rose",), ("hoe",))})
    monkeypatch.setattr(steer, "find_hints", lambda db, row: known)
    session = Session(db, layer=1, topic=1)
    assert "as one topic, −1.0% perplexity of their words." in session.html
    assert re.search(r'<option value="L1:2">[^<]*: −1.0% perplexity</option></select>', session.html.replace("\n", ""))
    assert "its documents form two groups, rose | hoe." in session.html
    assert "by the likelihood of all words at sweep 40" in session.html
    monkeypatch.setattr(steer, "find_hints", lambda db, row: "run 1 is too large")
    assert "By the likeness of words. Run 1 is too large." in Session(db).html


def test_the_journal_can_be_undone_and_shows_what_was_typed_as_text(db):
    edits.add_edits(db, 1, [NewEdit("seed", words=(0, 1), name="<b>x", author="Ann")])
    session = Session(db)
    assert "&lt;b&gt;x" in session.html
    assert "<b>x" not in session.html
    session.say("undo-edit", number="1")
    assert session.actions.asked == [(1, 1)]
    assert session.view.run == 7
